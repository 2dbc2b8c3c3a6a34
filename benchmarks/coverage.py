"""Simulates how often the intervals of 95 % hold the true value, and writes the tables into `benchmarks/coverage.md`.

    python -m benchmarks.coverage
    python -m benchmarks.coverage --quick
    python -m benchmarks.coverage --samples 1000 --only gaps clusters

With `--quick` or `--only` the tables are printed and the file stays as it is.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks import coverage_tables as tables

OUT = Path(__file__).with_name("coverage.md")
SEED = 20_261
SAMPLES = 4000
QUICK = 400

HEAD = """# Coverage

How often the intervals of 95 % hold the true value, measured through `fmfair.evaluate` itself on simulated samples;
`python -m benchmarks.coverage` writes this file. A share in bold is lower than asked by more than two Monte Carlo
standard errors. Where nothing else is said, scores are normal with equal spread in both classes, and the numbers of
positives and negatives are fixed. Beside the most frequent note stands the share of samples that carry any.
"""


@dataclass(frozen=True)
class Section:
    """A table of the report.

    Attributes:
        title: Its heading.
        text: What is in it.
        rows: Makes its rows from the number of samples and the seed.
    """

    title: str
    text: str
    rows: Callable[[int, int], Iterator[tables.Row]]


SECTIONS: Mapping[str, Section] = {
    "values": Section(
        "AUC and accuracy of a group",
        "At least 93 % are asked. Scores are cut midway between the means of both classes.",
        tables.value_rows,
    ),
    "rates": Section(
        "TPR and accuracy of a group, exactly",
        "Sums of binomial probabilities, over true rates from .50 to .99. Of TPR a mean between 94 and 97 % is asked, "
        "of accuracy at least 93 %. A count can only be whole, so no interval covers alike at all rates.",
        tables.rate_rows,
    ),
    "dice": Section(
        "Mean Dice of a group",
        "At least 93 % are asked. beta(9, 1.5) has mean .86 and standard deviation .10; beside it a model that finds "
        "nothing in one image of twenty.",
        tables.dice_rows,
    ),
    "gaps": Section(
        "Gaps of AUC and TPR",
        "At least 94 % are asked. All groups are as good as `best` but one, which is worse by the true gap. The 2, 5 "
        "and 10 groups are those of the same samples.",
        tables.gap_rows,
    ),
    "equal": Section(
        "Tests and chance gaps of equal groups",
        "The true AUC is .85, the true TPR .80. p values of counts come in steps, the largest of which is that of two "
        "equal counts (p = 1); the distance to the uniform cannot be smaller than half of it.",
        tables.equal_rows,
    ),
    "clusters": Section(
        "Five images per patient",
        "At least 93 % are asked. Half of the variance of the scores lies between patients. `clustered` is with "
        "`cluster=`, the other column without. Where a patient has images of both classes, what they share moves both "
        "alike, and an AUC hardly notices.",
        tables.cluster_rows,
    ),
    "clustered gaps": Section(
        "Gaps between equal groups with five images per patient",
        "At least 94 % are asked. The true AUC is .85, the true TPR .80, the prevalence .5.",
        tables.clustered_gap_rows,
    ),
}


def written(rows: Iterator[tables.Row]) -> list[str]:
    """Rows as a table in Markdown; they are shown on the way."""
    lines: list[str] = []
    for row in rows:
        if not lines:
            lines = [f"| {' | '.join(row)} |", f"|{'---|' * len(row)}"]
        lines.append(f"| {' | '.join(str(cell) for cell in row.values())} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} samples")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    samples = QUICK if args.quick else args.samples
    began = time.perf_counter()
    parts, short = [], []
    for name in args.only:
        section = SECTIONS[name]
        print(name, file=sys.stderr, flush=True)
        lines = written(section.rows(samples, args.seed))
        parts += ["", f"## {section.title}", "", section.text, "", *lines]
        short += [f"- {section.title}: {line}" for line in lines if "**" in line]
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    minutes = (time.perf_counter() - began) / 60
    run = (
        f"{today}, fmfair {version('fmfair')}, {samples:,} samples per cell, seed {args.seed}, {minutes:.0f} minutes. "
        f"Two Monte Carlo standard errors are {200 * (0.95 * 0.05 / samples) ** 0.5:.1f} points where 95 % hold."
    )
    text = "\n".join([HEAD, run, "", "Lower than asked:", "", *(short or ["- nothing"]), *parts, ""])
    print(text)
    if not args.quick and args.only == list(SECTIONS):
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
