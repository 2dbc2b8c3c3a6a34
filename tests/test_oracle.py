"""Whole evaluations of random tables, compared value by value with the plain-Python oracle."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from property_tests import unshrunk
from random_tables import Table, tables
from reference import at_threshold, of_probabilities, of_scores, weight
from reference_report import COUNTS, Answer, evaluate, sizes

import fmfair
from fmfair.metrics.registry import CLASSIFICATION, REGISTRY

FITTED = {m.name for m in CLASSIFICATION if m.family == "fitted"}
# Differences of sums that nearly cancel: their ratio is noise once both are small.
CANCELLING = {"ece", "ece_squared", "ece_rms", "ece_quantile"}


def assert_equals_oracle(table: Table) -> None:
    report = fmfair.evaluate(table.frame, ci=None, **table.arguments)  # the oracle knows values alone
    answer = evaluate(table.rows, table.question)
    by = table.arguments["by"]
    names = compare_values(report.groups, answer, by)
    compare_values(report.overall, answer, by)
    assert len(report.groups) + len(report.overall) == len(answer.values)
    compare_gaps(report.gaps, answer, by, names)
    assert len(report.gaps) == len(answer.gaps)


def compare_values(frame: pl.DataFrame, answer: Answer, by: list[str]) -> dict[tuple[Any, ...], str | None]:
    """Group or overall values; returns the display name of every group by its parts."""
    position: Counter[tuple[Any, ...]] = Counter()
    names: dict[tuple[Any, ...], str | None] = {}
    for row in frame.iter_rows(named=True):
        key = tuple(row[b] for b in by)
        parts = tuple(row.get("attribute_parts") or ()), tuple(row.get("group_parts") or ())
        names[parts] = row.get("group")
        cell, metric = (key, *parts, row["metric"]), REGISTRY[row["metric"]]
        t = position[cell]
        position[cell] += 1
        expected = answer.values[(*cell, t)]
        assert_close(row["value"], expected, metric.name, (*cell, t))
        assert (row["note"] is not None) == (expected is None), (cell, row["note"])
        rows = answer.rows[(key, *parts)]
        cut: Any = None
        if metric.at_threshold:
            cut = answer.thresholds.get((key, t))
            assert row["threshold"] == pytest.approx(cut, abs=1e-15) or row["threshold_rule"] == "fixed"
            cut = "y_pred" if row["threshold_rule"] == "y_pred" else cut
        counted = sizes(rows, cut)
        assert (row["n"], row["n_pos"]) == (counted["n"], counted["n_pos"]), cell
        if not metric.at_threshold or cut is not None:
            assert row["denominator"] == counted[metric.denominator], cell
        if row["weight_sum"] is not None:
            assert_close(row["weight_sum"], weight(rows), "weight_sum", cell)
    return names


def compare_gaps(frame: pl.DataFrame, answer: Answer, by: list[str], names: dict[tuple[Any, ...], str | None]) -> None:
    position: Counter[tuple[Any, ...]] = Counter()
    for row in frame.iter_rows(named=True):
        key, parts = tuple(row[b] for b in by), tuple(row["attribute_parts"])
        metric, statistic = row["metric"], row["statistic"]
        t = position[key, parts, metric, statistic]
        position[key, parts, metric, statistic] += 1
        where = (key, parts, metric, t, statistic)
        expected = answer.gaps[where]
        if statistic.startswith("ratio") and metric in CANCELLING and largest(answer, where) < 1e-4:
            continue
        assert_close(row["value"], expected.value, metric, where)
        assert (row["note"] is not None) == (expected.value is None), (where, row["note"])
        assert row["n_groups"] == expected.n_groups, where
        if metric not in FITTED | CANCELLING | {"equalized_odds"}:
            worst, best = names.get((parts, expected.worst)), names.get((parts, expected.best))
            assert (row["worst_group"], row["best_group"]) == (worst, best), where


def largest(answer: Answer, where: tuple[Any, ...]) -> float:
    key, parts, metric, t, _ = where
    best, worst = answer.gaps[key, parts, metric, t, "best"].value, answer.gaps[key, parts, metric, t, "worst"].value
    return max(float(best or 0), float(worst or 0))


def assert_close(actual: float | None, expected: Any, metric: str, where: object) -> None:
    if expected is None:
        assert actual is None, (where, actual)
        return
    assert actual is not None, (where, expected)
    tolerance = 1e-8 if metric in FITTED else 1e-12
    assert math.isclose(actual, float(expected), rel_tol=tolerance, abs_tol=tolerance), (where, actual, float(expected))


def test_the_oracle_knows_every_metric_of_the_registry() -> None:
    known = {*of_scores([]), *of_probabilities([]), *at_threshold([], 0.5)}
    assert known == {m.name for m in CLASSIFICATION}
    assert {m.name for m in CLASSIFICATION if m.family == "count"} == COUNTS


@unshrunk(25)
@given(tables(max_attributes=3, max_levels=3))
def test_probabilities(table: Table) -> None:
    assert_equals_oracle(table)


@unshrunk(12)
@given(tables(max_rows=60, max_attributes=2, max_levels=12))
def test_many_groups(table: Table) -> None:
    assert_equals_oracle(table)


@unshrunk(15)
@given(tables(scale="logit", by=(2,)))
def test_logits(table: Table) -> None:
    assert_equals_oracle(table)


@unshrunk(10)
@given(tables(scale="rank", decisions=True))
def test_rank_scores_beside_decisions(table: Table) -> None:
    assert_equals_oracle(table)


@unshrunk(8)
@given(tables(scale=None, weights="whole"))
def test_decisions_alone(table: Table) -> None:
    assert_equals_oracle(table)


@unshrunk(8)
@given(tables(beside=True))
def test_logits_beside_probabilities(table: Table) -> None:
    assert_equals_oracle(table)


@unshrunk(12)
@given(tables(weights="whole", by=(2, 2)))
def test_whole_weights(table: Table) -> None:
    assert_equals_oracle(table)


@unshrunk(15)
@given(tables(weights="decimal"))
def test_decimal_weights(table: Table) -> None:
    assert_equals_oracle(table)


@unshrunk(2)
@given(tables(max_rows=150, by=(5, 14), max_attributes=1))
def test_five_models_by_fourteen_labels(table: Table) -> None:
    assert_equals_oracle(table)
