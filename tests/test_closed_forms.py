"""Closed forms that rest on two rates, on an operating point, or on all pairs: plain loops, and both engines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from engines import both
from scipy import stats
from small_tables import T
from statistics_data import GROUP, PATIENT, S1, Y
from statsmodels.stats.proportion import proportion_confint

import fmfair

COLUMNS: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "by": []}


def row_of(report: fmfair.Report, metric: str, group: str) -> dict[str, Any]:
    return report.groups.row(by_predicate=(pl.col("metric") == metric) & (pl.col("group") == group), named=True)


def test_balanced_accuracy_has_movers_interval_from_both_rates() -> None:
    report, _ = both(T, **COLUMNS, metrics=["balanced_accuracy", "tpr", "tnr"])

    for group in "ABC":
        found = row_of(report, "balanced_accuracy", group)
        low, high = 0.0, 0.0
        for metric in ("tpr", "tnr"):
            rate = row_of(report, metric, group)
            hits = round(rate["value"] * rate["denominator"])
            limits = proportion_confint(hits, rate["denominator"], method="wilson")
            low, high = low + (rate["value"] - limits[0]) ** 2, high + (limits[1] - rate["value"]) ** 2
        assert found["ci_low"] == pytest.approx(found["value"] - math.sqrt(low) / 2, abs=1e-12)
        assert found["ci_high"] == pytest.approx(found["value"] + math.sqrt(high) / 2, abs=1e-12)
        assert (found["ci_method"], found["ci_note"]) == ("MOVER, Wilson", None)


def test_the_rates_of_patients_are_correlated() -> None:
    report, _ = both(T, **COLUMNS, metrics=["balanced_accuracy", "tpr", "tnr"], cluster="patient")

    for group in "AB":
        rows = [(y, s >= 0.5, p) for y, s, g, p in zip(Y, S1, GROUP, PATIENT, strict=True) if g == group]
        u: list[dict[int, float]] = []
        for label in (1, 0):
            rate = sum(called == label for y, called, _ in rows if y == label) / sum(y == label for y, *_ in rows)
            of_class = [(p, (called == label) - rate) for y, called, p in rows if y == label]
            u.append({q: sum(d for p, d in of_class if p == q) / len(of_class) for q in {p for *_, p in rows}})
        units = [len({p for y, _, p in rows if y == label}) for label in (1, 0)]
        patients = len({p for *_, p in rows})
        pos, neg = (n / (n - 1) * sum(x * x for x in of.values()) for n, of in zip(units, u, strict=True))
        r = patients / (patients - 1) * sum(u[0][p] * u[1][p] for p in u[0]) / math.sqrt(pos * neg)
        assert abs(r) > 0.01
        tpr, tnr, found = (row_of(report, metric, group) for metric in ("tpr", "tnr", "balanced_accuracy"))
        a, b = tpr["value"] - tpr["ci_low"], tnr["value"] - tnr["ci_low"]
        expected = math.sqrt(a * a + b * b + 2 * r * a * b) / 2
        assert found["value"] - found["ci_low"] == pytest.approx(expected, abs=1e-12)
        assert found["ci_method"] == "MOVER, Wilson, effective size"


@pytest.mark.parametrize("thresholds", [[0.5], [0.2, 0.7]])
def test_net_benefit_is_the_mean_of_a_value_per_row(thresholds: list[float]) -> None:
    report, _ = both(T, **COLUMNS, metrics=["net_benefit"], thresholds=thresholds)

    for (group,), part in T.partition_by("group", as_dict=True).items():
        for threshold in thresholds:
            weight = np.where(part["y"] == 1, 1.0, -threshold / (1 - threshold))
            worth = np.where(part["s1"] >= threshold, weight, 0.0)
            expected = stats.ttest_1samp(worth, 0.0).confidence_interval(0.95)
            at = (pl.col("group") == group) & (pl.col("threshold") == threshold)
            found = report.groups.row(by_predicate=at, named=True)
            assert found["value"] == pytest.approx(worth.mean())
            assert found["ci_low"] == pytest.approx(expected.low, abs=1e-12)
            assert found["ci_high"] == pytest.approx(min(expected.high, 1.0), abs=1e-12)
    losses = [
        np.where(part["s1"] >= thresholds[0], np.where(part["y"] == 1, 1, -thresholds[0] / (1 - thresholds[0])), 0.0)
        for part in T.partition_by("group")
    ]
    pair = report.pairs.row(by_predicate=(pl.col("group") == "C") & (pl.col("threshold") == thresholds[0]), named=True)
    assert pair["p_value"] == pytest.approx(
        stats.ttest_ind(losses[2], losses["AB".index(pair["other_group"])], equal_var=False).pvalue
    )


@pytest.mark.parametrize("given", [{"cluster": "patient"}, {"weight": "w"}])
def test_both_engines_agree_with_weights_and_patients(given: dict[str, str]) -> None:
    report, _ = both(T, 1e-9, **COLUMNS, metrics=["balanced_accuracy", "net_benefit", "f1", "auc"], **given)

    assert report.groups["ci_low"].null_count() == 0


@pytest.mark.parametrize("metric", ["balanced_accuracy", "f1", "average_precision"])
def test_the_p_value_of_several_groups_is_where_their_simultaneous_interval_touches_0(metric: str) -> None:
    many = pl.concat([T] * 12).with_columns(
        y=pl.when(pl.int_range(pl.len()) % 7 == 0).then(1 - pl.col("y")).otherwise("y")
    )
    report, _ = both(many, **COLUMNS, metrics=[metric])
    difference = pl.col("statistic") == "difference"
    p, method = report.gaps.filter(difference).select("p_value", "p_method").row(0)
    assert (0 < p < 0.5, method) == (True, "interval inverted")

    ends = [
        fmfair.evaluate(many, **COLUMNS, metrics=[metric], ci=1 - p + move).gaps.filter(difference)["ci_low"].item()
        for move in (-1e-5, 1e-5)
    ]
    assert ends[0] > 0
    assert ends[1] == 0


def test_one_positive_gives_average_precision_the_interval_of_a_proportion() -> None:
    frame = pl.DataFrame(
        {"y": [0, 0, 0, 1, 0], "s1": [0.1, 0.2, 0.9, 0.8, 0.4], "group": ["x"] * 5, "patient": range(5)}
    )
    report, _ = both(frame, **COLUMNS, metrics=["average_precision"])

    found = row_of(report, "average_precision", "x")
    assert (found["value"], found["ci_method"]) == (0.5, "binomial, logit")
    edge = 1 / (1 + math.exp(1.959963984540054 * 2))
    assert (found["ci_low"], found["ci_high"]) == (pytest.approx(edge), pytest.approx(1 - edge))
    assert found["ci_note"] == "few rows with positives; the value itself is biased upward"
    of_patients = fmfair.evaluate(frame, **COLUMNS, metrics=["average_precision"], cluster="patient")
    assert row_of(of_patients, "average_precision", "x")["ci_low"] is None


def test_adjusted_average_precision_of_worked_rows() -> None:
    report, _ = both(T, **COLUMNS, metrics=["adjusted_auprc"])

    assert report.overall["value"].item() == pytest.approx(0.68842749811, abs=1e-10)
    assert row_of(report, "adjusted_auprc", "C")["value"] == pytest.approx(0.429565318787, abs=1e-10)
