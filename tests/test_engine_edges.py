"""Polars and DuckDB give the same report of edge tables: every metric, threshold rule, gap and note."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from engines import both

EDGES: dict[str, dict[str, Any]] = {
    "one class": {"y": [1, 1, 1, 1], "p": [0.1, 0.2, 0.3, 0.4], "g": list("aabb")},
    "one group": {"y": [1, 0, 1, 0], "p": [0.1, 0.2, 0.3, 0.4], "g": list("aaaa")},
    "tied scores": {"y": [1, 0, 1, 0, 1], "p": [0.5, 0.5, 0.3, 0.3, 0.3], "g": list("aabba")},
    "all scores equal": {"y": [1, 0, 1, 0], "p": [0.5] * 4, "g": list("aabb")},
    "scores of 0 and 1": {"y": [1, 0, 1, 0], "p": [1.0, 0.0, 0.0, 1.0], "g": list("aabb")},
    "missing everywhere": {"y": [1, 0, None, 0, 1], "p": [0.9, 0.1, 0.5, 0.4, 0.6], "g": ["a", None, "b", "b", "a"]},
    "no group at all": {"y": [1, 0], "p": [0.9, 0.1], "g": [None, None]},
    "the lowest score is the best cut": {"y": [1, 1, 0, 1], "p": [0.0, 0.0, 0.1, 0.4], "g": list("abab")},
    "one row": {"y": [1], "p": [0.9], "g": ["a"]},
    "unicode": {"y": [1, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.4], "g": ["Zoë", "日本", "Zoë", "🩻"]},
    "scores on the edges of bins": {"y": [1, 0, 1, 0], "p": [0.3, 0.7, 0.6, 0.1], "g": list("abab")},
}


@pytest.mark.parametrize("conventions", ["standard", "fairmedfm"])
@pytest.mark.parametrize("name", EDGES)
def test_edge_tables(name: str, conventions: str) -> None:
    frame = pl.DataFrame(EDGES[name], schema_overrides={"g": pl.String})
    rules: list[Any] = [0.5, "best_f1"] + ([] if conventions == "fairmedfm" else ["youden", "tpr=0.9", "tnr=0.9", 1.0])
    if conventions == "fairmedfm":
        frame = frame.drop_nulls("y")
    both(frame, y_true="y", y_score="p", attributes="g", metrics="all", thresholds=rules, conventions=conventions)


def test_intersections_without_a_row_leave_the_intervals_of_others_as_they_are() -> None:
    frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.4], "g": list("aabb"), "h": [None] * 4})
    frame = frame.with_columns(pl.col("h").cast(pl.String))
    arguments: dict[str, Any] = {"attributes": ["g", "h"], "metrics": ["brier", "auc", "tpr"], "intersections": 2}
    for cluster in (None, "g"):
        polars, _ = both(frame, y_true="y", y_score="p", by=[], cluster=cluster, **arguments)
        assert polars.overall.filter(pl.col("metric") == "brier")["ci_low"].item() is not None
