"""Polars and DuckDB give the same report: every metric, threshold rule, gap and note, on random and on edge tables."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from engines import both
from hypothesis import given
from property_tests import unshrunk
from random_tables import Table, tables

import fmfair
from fmfair import FmfairError

# A fit stops when its step is small; what is left is the square of that.
WEIGHTED = 1e-9


@unshrunk(20)
@given(tables(max_attributes=3, max_levels=3))
def test_probabilities(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(10)
@given(tables(max_rows=60, max_levels=12, by=(2,)))
def test_many_groups_in_several_by_keys(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(10)
@given(tables(scale="logit", by=(2,)))
def test_logits(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(8)
@given(tables(scale="rank", decisions=True))
def test_rank_scores_beside_decisions(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(5)
@given(tables(scale="rank"))
def test_rank_scores(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(5)
@given(tables(scale=None, weights="whole"))
def test_decisions_alone(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(5)
@given(tables(beside=True))
def test_logits_beside_probabilities(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(8)
@given(tables(weights="whole", by=(2, 2)))
def test_whole_weights(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(8)
@given(tables(weights="decimal"))
def test_fractional_weights(table: Table) -> None:
    both(table.frame, tolerance=WEIGHTED, **table.arguments)


@unshrunk(15)
@given(tables(max_attributes=3, max_levels=3))
def test_the_published_conventions(table: Table) -> None:
    thresholds = [t for t in table.arguments["thresholds"] or [] if not isinstance(t, str) or t == "best_f1"]
    arguments = {**table.arguments, "thresholds": thresholds or None, "conventions": "fairmedfm"}
    frame = table.frame.drop_nulls("truth")
    try:
        both(frame, **arguments)
    except FmfairError:
        with pytest.raises(FmfairError):
            fmfair.evaluate(frame, engine="duckdb", **arguments)


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
