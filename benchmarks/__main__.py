"""Measures fmfair beside other packages and floors, and prints one table.

    python -m benchmarks
    python -m benchmarks --only many scalars
    python -m benchmarks --only large
    python -m benchmarks --refresh

`--refresh` also puts the table of a whole run into `benchmarks/README.md`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.cases import SECTIONS, Case
from benchmarks.measuring import Figure, Job, in_a_process, machine, measure, run

README = Path(__file__).with_name("README.md")
MARK = "## Last run\n"
COLUMNS = ("section", "measured", "beside", "measured s", "beside s", "ratio", "promised", "memory added (loaded) MB")
IMPORT_ROUNDS = 9
# What runs where nothing is named; the tables of 100 million rows take a quarter of an hour.
USUAL = [name for name in SECTIONS if name != "large"]


class Table:
    """Figures, each job measured once, however many cases share it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._figures: dict[str, Figure] = {}

    def _figure(self, job: Job) -> Figure:
        if job.key not in self._figures:
            self._figures[job.key] = in_a_process(job, self._folder)
        return self._figures[job.key]

    def line(self, section: str, case: Case) -> str:
        """A line of the Markdown table."""
        ours = self._figure(case.job)
        if case.other is None:
            beside, ratio = "-", ours.added / ours.loaded
        else:
            seconds = self._figure(case.other).seconds * case.scale
            beside, ratio = f"{seconds:.3f}", seconds / ours.seconds if case.faster else ours.seconds / seconds
        cells = [
            *(section, case.what, case.beside, f"{ours.seconds:.3f}", beside, f"{ratio:.3g}"),
            "-" if case.promised is None else f"at {'least' if case.faster else 'most'} {case.promised:g}",
            f"{ours.added:.0f} ({ours.loaded:.0f})",
        ]
        return f"| {' | '.join(cells)} |"


def import_ratio() -> str:
    """How long `import fmfair` takes beside `import polars`, measured by turns in new processes."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    seconds: dict[str, list[float]] = {"polars": [], "fmfair": []}
    for turn in range(IMPORT_ROUNDS + 1):
        for module, times in seconds.items():
            taken = float(run("-c", code.format(module)))
            if turn:  # the first turn fills the disk cache and compiles
                times.append(taken)
    polars, ours = (statistics.median(times) for times in seconds.values())
    return (
        f"`import fmfair`: {ours * 1000:.0f} ms, `import polars`: {polars * 1000:.0f} ms, ratio {ours / polars:.2f} "
        f"(promised: at most 2; medians of {IMPORT_ROUNDS})"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure fmfair beside other packages and floors.")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=USUAL, help="these sections")
    parser.add_argument("--refresh", action="store_true", help="put the table into benchmarks/README.md")
    parser.add_argument("--folder", type=Path, help="keep the generated tables here")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        from benchmarks.tasks import TASKS

        job = Job(**json.loads(args.measure))
        print(json.dumps(asdict(measure(job, args.folder, TASKS[job.task]))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        table = Table(args.folder or Path(temporary))
        lines = [f"| {' | '.join(COLUMNS)} |", "|---|---|---|---:|---:|---:|---|---:|"]
        lines += [table.line(section, case) for section in args.only for case in SECTIONS[section]]
    text = "\n".join([machine(), "", *lines, "", import_ratio(), ""])
    print(text)
    if args.refresh:
        kept = README.read_text(encoding="utf-8").partition(MARK)[0]
        README.write_text(f"{kept}{MARK}\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
