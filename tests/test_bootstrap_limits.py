"""Limits from replicates: methods, notes, accelerations against definitions, and the bar on the terminal."""

from __future__ import annotations

import io
from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from bootstrap_support import predictions, prepared
from engines import both
from rich.console import Console
from test_spread import influences

from fmfair.bootstrap.acceleration import skewness
from fmfair.bootstrap.progress import progress
from fmfair.options import Bootstrap
from fmfair.statistics.bootstrap_limits import bca, percentile


def only(table: pl.DataFrame, metric: str, grouping: int = 0) -> dict[str, Any]:
    rows = table.filter((pl.col("metric") == metric) & (pl.col("grouping") == grouping))
    return rows.row(0, named=True)


@pytest.mark.parametrize("cluster", [None, "patient"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_accelerations_are_those_of_the_influences(cluster: str | None, weight: str | None) -> None:
    table = predictions(40, 6, decimals=1)
    given = prepared(table, attributes="sex", cluster=cluster, weight=weight)
    long = given.measured()
    found = skewness(given.engine, given.groupings, long)
    long = long.with_columns(a=found.acceleration(range(long.height)))
    columns = table.select("label", "prob", weight or pl.lit(1.0).alias("w"), cluster or pl.int_range(pl.len()))
    rows = [(y, s, w, u) for y, s, w, u in columns.iter_rows()]

    expected = {}
    for metric in ("auc", "average_precision"):
        expected[metric] = influences(rows, metric)
    total = sum(w for *_, w, _ in rows)
    right = [float((s >= 0.5) == (y == 1)) for y, s, *_ in rows]
    for metric, values in (("accuracy", right), ("brier", [(s - y) ** 2 for y, s, *_ in rows])):
        mean = sum(w * v for (*_, w, _), v in zip(rows, values, strict=True)) / total
        expected[metric] = [w * (v - mean) / total for (*_, w, _), v in zip(rows, values, strict=True)]
    for metric, values in expected.items():
        units: dict[Any, float] = defaultdict(float)
        for (*_, unit), value in zip(rows, values, strict=True):
            units[unit] += value
        cubes, squares = (sum(v**k for v in units.values()) for k in (3, 2))
        tolerance = 1e-4 if metric == "average_precision" else 1e-9  # the oracle is a difference quotient
        assert only(long, metric, 1)["a"] == pytest.approx(cubes / (6 * squares**1.5), rel=tolerance, abs=tolerance)


def test_limits_are_quantiles_of_the_replicates() -> None:
    given = prepared(predictions(200, 7), attributes="sex")
    long = given.measured()
    row = int(long.with_row_index("row").filter(pl.col("metric") == "tpr")["row"][0])

    for method in ("percentile", "bca"):
        asked = Bootstrap(300, method)
        values = given.replicates(asked).values[row]
        found = given.limited(asked).row(row, named=True)
        if method == "percentile":
            expected = percentile(values)
            assert found["ci_method"] == "row bootstrap, percentile, 300 replicates"
        else:
            acceleration = skewness(given.engine, given.groupings, long).acceleration(row)
            expected = bca(values, long["value"][row], acceleration)
            assert found["ci_method"] == "row bootstrap, BCa, 300 replicates"
        assert (found["ci_low"], found["ci_high"]) == pytest.approx((float(expected.low), float(expected.high)))


def test_what_has_no_acceleration_has_a_percentile_interval_and_a_note() -> None:
    found = only(prepared(predictions(200, 7), metrics="mcc").limited(Bootstrap(100, "bca")), "mcc")

    assert found["ci_method"] == "row bootstrap, percentile, 100 replicates"
    assert found["ci_note"] == "not BCa, whose acceleration is not known here"


def test_few_positives_have_no_interval() -> None:
    table = pl.DataFrame(
        {
            "label": [1] * 4 + [0] * 36 + [1] * 12 + [0] * 28,
            "prob": np.linspace(0.1, 0.9, 80)[np.random.default_rng(0).permutation(80)],
            "sex": ["F"] * 40 + ["M"] * 40,
        }
    )
    found = prepared(table).limited(Bootstrap(200))

    assert only(found, "auc")["ci_low"] is None
    assert only(found, "auc")["ci_note"] == "fewer than 5 rows carry the value"
    assert only(found, "tnr")["ci_low"] is not None
    male = found.filter((pl.col("metric") == "auc") & (pl.col("grouping") == 0) & (pl.col("cell") == 1)).row(
        0, named=True
    )
    assert male["ci_note"] == "few rows; the interval may be too short"


def test_a_group_of_two_patients_has_no_interval_from_replicates_most_of_which_are_undefined() -> None:
    """FC-41: twenty rows of group a, one positive and one negative of b, whose AUC of 1 is no evidence."""
    table = pl.DataFrame(
        {
            "label": [1, 0] * 10 + [0, 1],
            "prob": [0.05 + 0.9 * k / 19 for k in range(20)] + [0.2, 0.9],
            "group": ["a"] * 20 + ["b"] * 2,
        }
    )
    every, count = prepared(table, attributes="group", metrics=["auc", "accuracy"]), 1000
    long = every.measured().with_row_index("row")
    drawn = every.replicates(Bootstrap(count)).values
    of_b = long.filter(pl.col("grouping") == 0, pl.col("cell") == 1)
    for metric, chance in (("auc", 0.5958670286175405), ("accuracy", 0.12284597357367238)):
        values = drawn[of_b.filter(pl.col("metric") == metric)["row"].item()]
        share = np.isnan(values).mean()
        assert abs(share - chance) < 3 * (chance * (1 - chance) / count) ** 0.5
        assert metric != "auc" or set(values[~np.isnan(values)]) == {1.0}

    polars, _ = both(table, y_true="label", y_score="prob", attributes="group", by=[], metrics="auc", bootstrap=count)
    b = polars.groups.row(by_predicate=pl.col("group") == "b", named=True)
    assert (b["value"], b["ci_low"], b["ci_note"]) == (1.0, None, "fewer than 5 rows carry the value")
    assert b["mark"] == "counts only"
    assert polars.gaps.row(0, named=True)["ci_note"] == "one of the groups has no interval"


def test_replicates_that_never_differ_give_no_interval() -> None:
    table = pl.DataFrame({"label": [0, 1] * 40, "prob": [0.2, 0.8] * 40, "sex": ["F"] * 40 + ["M"] * 40})

    found = prepared(table).limited(Bootstrap(200))

    for metric in ("auc", "tpr", "accuracy"):
        row = only(found, metric)
        assert (row["value"], row["ci_low"], row["ci_high"]) == (1.0, None, None)
        assert row["ci_note"] == "the replicates never differ"


def test_undefined_replicates_are_counted() -> None:
    """A rate of 6 rows is undefined in exp(-6) of the replicates; one that needs a certain row in exp(-1)."""
    n = 60
    score = [0.9] * 6 + [0.1] * (n - 6)
    label = [1, 1, 1, 1, 1, 0] + [1, 0] * (n // 2 - 3)
    table = pl.DataFrame({"label": label, "prob": score, "sex": ["F"] * n})
    found = prepared(table, attributes="sex", metrics=["ppv", "lr_positive"]).limited(Bootstrap(2000))

    row = only(found, "ppv")
    assert row["ci_low"] is not None
    assert row["ci_note"].endswith("undefined and left out")
    assert 0 < int(row["ci_note"].split()[0]) < 20
    row = only(found, "lr_positive")
    assert row["ci_low"] is None
    assert row["ci_note"].endswith("of 2000 replicates are undefined")


MANY = ["auc", "average_precision", "adjusted_auprc", "tpr", "ppv", "f1", "mcc", "lr_positive", "brier", "bce", "ece"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("given", [{}, {"cluster": "patient"}, {"weight": "w"}])
def test_limits_hold_the_value_and_stay_in_range(seed: int, given: dict[str, str]) -> None:
    prepared_ = prepared(predictions(25, seed, decimals=1), metrics=MANY, **given)
    for method in ("percentile", "bca"):
        found = prepared_.limited(Bootstrap(100, method)).drop_nulls("ci_low")
        assert (found["ci_low"] <= found["value"]).all()
        assert (found["value"] <= found["ci_high"]).all()
        assert (found["ci_low"] < found["ci_high"]).all()
        for metric in prepared_.engine.metrics:
            mine = found.filter(pl.col("metric") == metric.name)
            assert metric.low is None or (mine["ci_low"] >= metric.low).all()
            assert metric.high is None or (mine["ci_high"] <= metric.high).all()


def test_calibration_has_an_interval_from_0_where_chance_explains_it() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(400)
    calibrated = pl.DataFrame({"label": (rng.random(400) < p).astype(int), "prob": p, "sex": ["F", "M"] * 200})
    shifted = calibrated.with_columns(prob=pl.col("prob") ** 3)

    good, bad = (only(prepared(t).limited(Bootstrap(300)), "ece", 1) for t in (calibrated, shifted))

    assert good["ci_low"] == 0.0
    assert good["ci_low"] < good["value"] <= good["ci_high"]
    assert 0 < bad["ci_low"] < bad["value"] < bad["ci_high"]
    assert good["ci_method"] == "row bootstrap, debiased, 300 replicates"


@pytest.mark.parametrize(("terminal", "after"), [(True, 0.0), (True, 60.0), (False, 0.0)])
def test_a_bar_is_shown_on_terminals_once_it_has_taken_a_while(terminal: bool, after: float) -> None:
    screen = io.StringIO()

    with progress("bootstrap", 4, console=Console(file=screen, force_terminal=terminal), after=after) as advance:
        for _ in range(4):
            advance(1)

    assert ("bootstrap" in screen.getvalue()) == (terminal and after == 0.0)
