"""Reports that several test files look at."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache, partial
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

import fmfair
from fmfair.export import FRAMES
from fmfair.report import Report

# Reports without intervals, whatever the default; those with intervals have tests of their own.
evaluate = partial(fmfair.evaluate, ci=None)
evaluate_segmentation = partial(fmfair.evaluate_segmentation, ci=None)

# Sites that are really called NaN, Infinity and BaNaNa; the last has no positives.
CASE_56 = pl.DataFrame(
    {
        "y_true": [0, 1, 0, 1, 0, 0],
        "y_score": [0.1, 0.9, 0.3, 0.8, 0.2, 0.4],
        "site": ["NaN", "NaN", "Infinity", "Infinity", "BaNaNa", "BaNaNa"],
    }
)

HOSTILE = (
    '<script>alert("1")</script>',
    "a & b",
    "O'Brien",
    "x,y;z",
    "line\nbreak",
    "",
    "null",
    "1",
    "é 漢字 🩻",
    "\x1b[31m",
)


def sites(names: Sequence[str] = HOSTILE) -> Report:
    """The AUC of one site per name, with one case and one control each."""
    frame = pl.DataFrame({"y_true": [0, 1], "y_score": [1 / 3, 2 / 3]}).join(pl.DataFrame({"site": names}), how="cross")
    return evaluate(frame, metrics=["auc", "tpr"])


def by_key_report(by: Mapping[str, pl.Series]) -> Report:
    """A report with two by-keys, whose values are given per column."""
    keys = pl.DataFrame([values.alias(name) for name, values in by.items()])
    rows = pl.DataFrame({"y_true": [0, 1, 0, 1], "y_score": [0.1, 0.6, 0.7, 0.2], "sex": ["F", "F", "M", "M"]})
    return evaluate(keys.join(rows, how="cross"), by=list(by), attributes="sex", metrics=["auc", "tpr"])


BY_KEYS: dict[str, pl.Series] = {
    "day": pl.Series([date(2024, 5, 1), date(2024, 5, 2)]),
    "level": pl.Series(["low", "high"], dtype=pl.Enum(["low", "high"])),
    "kind": pl.Series(["b", "a"], dtype=pl.Categorical),
    "fold": pl.Series([1, 2], dtype=pl.Int8),
    "external": pl.Series([True, False]),
    "severity": pl.Series([0.5, 1.0]),
    "dose": pl.Series(["1.50", "2.00"]).cast(pl.Decimal(10, 2)),
    "model": pl.Series(["NaN", None], dtype=pl.String),
    "nothing": pl.Series([None, None], dtype=pl.Null),
}


def assert_same_report(left: Report, right: Report) -> None:
    for name in FRAMES:
        assert_frame_equal(left.to_frame(name), right.to_frame(name), check_exact=True, categorical_as_str=False)
    assert left.notes == right.notes
    assert left.metadata == right.metadata


def with_frames(report: Report, **changes: Any) -> Report:
    """The report with other frames, notes or metadata."""
    parts = {name: report.to_frame(name) for name in FRAMES}
    return Report(**{**parts, "notes": report.notes, "metadata": report.metadata, **changes})


def rows_of(report: Report, title: str) -> list[list[str]]:
    """The lines of one section of the text, split at two or more blanks."""
    section = str(report).split(f"{title}\n", 1)[1].split("\n\n", 1)[0]
    return [re.split(r" {2,}", line.strip()) for line in section.splitlines()]


def groups_of(report: Report) -> dict[str, list[str]]:
    """The cells of the table of groups, by the group's name."""
    return {row[1]: row[2:] for row in rows_of(report, "Groups")[1:] if len(row) > 2}


@cache
def big_report() -> Report:
    """Two models, three attributes with all pairs, 2,000 samples, two thresholds."""
    return evaluate(_big(["CLIP", "BiomedCLIP"]), intersections=2, thresholds=["best_f1", 0.5])


@cache
def big_model() -> Report:
    """One model, three attributes with all pairs, 2,000 samples."""
    return evaluate(_big(["CLIP"]), intersections=2)


def _big(models: Sequence[str]) -> pl.DataFrame:
    rng = random.Random(1)
    n = 2000
    return pl.DataFrame(
        {
            "model": [rng.choice(models) for _ in range(n)],
            "y_true": [rng.randint(0, 1) for _ in range(n)],
            "y_score": [rng.random() for _ in range(n)],
            "sex": [rng.choice("FM") for _ in range(n)],
            "race": [rng.choice(["Asian", "Black", "White", None]) for _ in range(n)],
            "site": [rng.choice("abcdefgh") for _ in range(n)],
        }
    )


def decided(groups: Mapping[str, tuple[int, int, int, int]], **columns: str) -> pl.DataFrame:
    """A table with decisions of groups `{name: (tp, fn, tn, fp)}` in the attribute `site`."""
    outcomes = [(1, 0.9), (1, 0.1), (0, 0.1), (0, 0.9)]
    rows = [
        (site, *outcome)
        for site, counts in groups.items()
        for outcome, count in zip(outcomes, counts, strict=True)
        for _ in range(count)
    ]
    frame = pl.DataFrame(rows, schema=["site", "y_true", "y_score"], orient="row")
    return frame.with_columns(pl.lit(text).alias(name) for name, text in columns.items())
