"""Both engines on one table, and the comparison of their reports."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

import fmfair
from fmfair import Report

FRAMES = ("groups", "gaps", "overall", "summary", "pairs", "curves")


def both(frame: Any, tolerance: float = 1e-12, **arguments: Any) -> tuple[Report, Report]:
    """The reports of Polars and of DuckDB, after a look that they say the same."""
    polars = fmfair.evaluate(frame, engine="polars", **arguments)
    database = fmfair.evaluate(frame, engine="duckdb", **arguments)
    assert_same_reports(database, polars, tolerance)
    return polars, database


def assert_same_reports(found: Report, expected: Report, tolerance: float = 1e-12) -> None:
    """The same rows in the same order with the same words, and numbers that differ by the tolerance at most."""
    for name in FRAMES:
        assert_same_frames(found.to_frame(name), expected.to_frame(name), tolerance, name)
    assert found.notes == expected.notes
    facts = [
        {k: v for k, v in report.metadata.items() if k not in ("engine", "versions", "inputs", "evaluated")}
        for report in (found, expected)
    ]
    assert facts[0] == facts[1]


# These come from integrals and root finding.
CHANCE, INTEGRATED = ("chance_gap", "chance_gap_95", "detectable_gap"), 1e-7


def assert_same_frames(found: pl.DataFrame, expected: pl.DataFrame, tolerance: float, name: str = "frame") -> None:
    """The same columns and rows; numbers may differ by the tolerance, beyond [-1, 1] relative to their size."""
    assert found.schema == expected.schema, name
    assert found.height == expected.height, name
    for column in expected.columns:
        pairs = zip(found[column].to_list(), expected[column].to_list(), strict=True)
        for row, (a, b) in enumerate(pairs):
            near = max(tolerance, INTEGRATED) if column in CHANCE else tolerance
            assert _alike(a, b, near), f"{name}.{column}: {a!r} is not {b!r} in {expected.row(row, named=True)}"


def _alike(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    return bool(a == b)
