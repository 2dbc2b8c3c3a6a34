"""Gaps in SQL equal those in Polars: every statistic, group and note, on values by hand and of whole evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples, unshrunk
from random_tables import Table, tables
from sql_tables import assert_same, rows, run

import fmfair
from fmfair import assemble, evaluation
from fmfair.gaps import compare
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import CLASSIFICATION, REGISTRY, requested
from fmfair.metrics.to_sql import requested_table

# The columns of the arguments of `compare`.
CUT = {"t": pl.UInt32, "threshold": pl.Float64, "threshold_rule": pl.String}
PLACE = {"grouping": pl.UInt32, "by": pl.UInt32, "order": pl.UInt16, "metric": pl.String, **CUT}
GROUPS = {**PLACE, "group": pl.String, "value": pl.Float64, "in_gaps": pl.Boolean, "note": pl.String}
WHOLE = {**PLACE, "value": pl.Float64}
KEYS = ["by", "grouping", "order", "metric", "t", "statistic"]

# Ties but for noise, values around 0 and 1, and some whose sums or ratios leave the range of numbers.
VALUES = [0.0, 1.0, 0.5, 0.5 + 1e-13, 0.5 - 4e-13, 0.75, 1 / 3, 1e-16, -0.25, 1e-9, 3e200, -3e200]
NOTES = ["no positives", "no negatives", 'a "quoted" reason; with a semicolon']


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET threads = 2")
        run(opened, "metrics")
        # Segmentation has no rows in the registry of the SQL files; its gaps are compared by the same rules.
        opened.execute(
            "INSERT INTO registry (metric, kind, family, direction, signed) "
            "VALUES ('dice', 'dice', 'segmentation', 'higher', FALSE), ('iou', 'iou', 'segmentation', 'higher', FALSE)"
        )
        yield opened


def in_sql(
    connection: duckdb.DuckDBPyConnection,
    groups: pl.DataFrame,
    whole: pl.DataFrame,
    metrics: list[Metric],
    least_for_worst: int,
) -> pl.DataFrame:
    """What sql/gaps.sql makes of the arguments of `compare`."""
    made = {
        "group_values": groups.select(*GROUPS).with_row_index("cell_order").rename({"order": "position"}),
        "whole_values": whole.select(*WHOLE).rename({"order": "position"}),
        "requested": requested_table(metrics),
    }
    for name, frame in made.items():
        connection.register("given", frame.to_arrow())
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM given")
        connection.unregister("given")
    connection.execute(f"SET VARIABLE least_for_worst = {least_for_worst}")
    run(connection, "gaps")
    return rows(connection, "FROM compared")


def assert_twins(connection: duckdb.DuckDBPyConnection, *arguments: Any) -> pl.DataFrame:
    groups, whole, metrics, least = arguments
    expected = compare(groups, whole, metrics, least)
    found = in_sql(connection, groups, whole, list(metrics), least)
    assert found.columns == expected.columns
    assert found.select(KEYS).rows() == expected.select(KEYS).rows()  # the order of rows, too
    assert_same(found, expected, KEYS)
    return expected


@st.composite
def compared_values(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame, list[Metric], int]:
    """Arguments of `compare`: one or two by-keys and groupings, some groups missing, undefined or too small."""
    names = ["tpr", "fpr", "tnr", "selection_rate", "auc", "mcc", "brier", "dice", "tp", "observed_expected"]
    asked = draw(st.lists(st.sampled_from([*names, "partial_auc(fpr=(0.6, 1))"]), min_size=1, max_size=5, unique=True))
    metrics = [REGISTRY.get(m) or requested(m)[0] for m in asked]
    lacks = draw(st.booleans())
    groups, whole = [], []
    for grouping, by in [(0, 0), (1, 0), (0, 1)][: draw(st.integers(1, 3))]:
        labels = draw(st.lists(st.sampled_from(["a", "b", "", "ä & é", "d"]), max_size=5, unique=True))
        for position, metric in enumerate(metrics):
            cuts = [(0, 0.5, "fixed"), (1, None, "best_f1")] if metric.at_threshold else [(None, None, None)]
            for cut in cuts:
                place = (grouping, by, position, metric.name, *cut)
                whole.append((*place, draw(st.none() | st.sampled_from(VALUES))))
                for label in labels:
                    value = draw(st.sampled_from([None, *VALUES]))
                    note = draw(st.sampled_from(NOTES)) if value is None else None
                    groups.append((*place, label, value, draw(st.sampled_from([True, True, not lacks])), note))
    return (
        pl.DataFrame(groups, schema=GROUPS, orient="row"),
        pl.DataFrame(whole, schema=WHOLE, orient="row"),
        metrics,
        draw(st.sampled_from([1, 2])),
    )


@given(compared_values())
@examples(12)
def test_sql_compares_any_values_as_polars_does(
    connection: duckdb.DuckDBPyConnection, arguments: tuple[Any, ...]
) -> None:
    assert_twins(connection, *arguments)


@given(st.data())
@unshrunk(5)
@pytest.mark.parametrize("conventions", ["standard", "fairmedfm"])
def test_sql_compares_the_groups_of_whole_evaluations_as_polars_does(
    connection: duckdb.DuckDBPyConnection, conventions: str, data: st.DataObject
) -> None:
    table: Table = data.draw(tables(by=data.draw(st.sampled_from([(), (2,)]))))
    arguments = table.arguments
    if conventions == "fairmedfm":
        arguments = {**arguments, "thresholds": None, "conventions": conventions}
    spy = mock.Mock(wraps=compare)
    with mock.patch.object(evaluation, "Backend", partial(assemble.Backend, compare=spy)):
        fmfair.evaluate(table.frame.drop_nulls("truth"), **arguments)
    gaps = assert_twins(connection, *spy.call_args.args)
    assert gaps.height > 0


def test_every_statistic_occurs(connection: duckdb.DuckDBPyConnection) -> None:
    metrics = [*CLASSIFICATION, REGISTRY["dice"], REGISTRY["iou"]]
    cut = {m.name: (0, 0.5, "fixed") if m.at_threshold else (None, None, None) for m in metrics}
    place = [(0, 0, i, m.name, *cut[m.name]) for i, m in enumerate(metrics)]
    groups = [(*p, g, v, True, None) for p in place for g, v in (("a", 0.25), ("b", 0.75))]
    found = assert_twins(
        connection,
        pl.DataFrame(groups, schema=GROUPS, orient="row"),
        pl.DataFrame([(*p, 0.5) for p in place], schema=WHOLE, orient="row"),
        metrics,
        1,
    )
    every = {"difference", "ratio", "worst", "best", "difference_to_overall", "ratio_to_overall", "std", "score"}
    assert set(found["statistic"]) == {*every, "average_difference", "equity_scaled", "equity_scaled_std", "skewness"}
    assert {"equal_opportunity", "equalized_odds", "demographic_parity"} < set(found["metric"])
