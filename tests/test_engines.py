"""Polars and DuckDB give the same report: every metric, threshold rule, gap and note, on random tables."""

from __future__ import annotations

import pytest
from engines import both
from hypothesis import given
from property_tests import unshrunk
from random_tables import Table, tables

import fmfair
from fmfair import FmfairError

# A fit stops when its step is small; what is left is the square of that.
WEIGHTED = 1e-9


@unshrunk(8)
@given(tables(max_attributes=3, max_levels=3))
def test_probabilities(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(4)
@given(tables(max_rows=60, max_levels=12, by=(2,)))
def test_many_groups_in_several_by_keys(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(4)
@given(tables(scale="logit", by=(2,)))
def test_logits(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(3)
@given(tables(scale="rank", decisions=True))
def test_rank_scores_beside_decisions(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(3)
@given(tables(scale="rank"))
def test_rank_scores(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(3)
@given(tables(scale=None, weights="whole"))
def test_decisions_alone(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(3)
@given(tables(beside=True))
def test_logits_beside_probabilities(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(4)
@given(tables(weights="whole", by=(2, 2)))
def test_whole_weights(table: Table) -> None:
    both(table.frame, **table.arguments)


@unshrunk(4)
@given(tables(weights="decimal"))
def test_fractional_weights(table: Table) -> None:
    both(table.frame, tolerance=WEIGHTED, **table.arguments)


@unshrunk(6)
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
