"""How sure gaps are: worked values, and what must hold on any table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from engines import both
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from small_tables import T, tables

import fmfair


def gaps(frame: pl.DataFrame, **given: Any) -> dict[tuple[str, str], dict[str, Any]]:
    options = {"y_true": "y", "y_score": "s1", "attributes": "group", "by": [], "ci": 0.95, **given}
    report = fmfair.evaluate(frame, **options)
    return {(row["metric"], row["statistic"]): row for row in report.gaps.iter_rows(named=True)}


def test_worked_values_of_three_groups() -> None:
    found = gaps(T)
    auc = found["auc", "difference"]
    assert auc["p_value"] == pytest.approx(0.287488196371, abs=1e-9)
    assert auc["p_method"] == "pooled placements, F"
    assert auc["chance_gap_95"] == pytest.approx(0.500273248649, abs=1e-7)
    assert found["accuracy", "difference"]["p_value"] == pytest.approx(0.82999516482, abs=1e-9)
    assert found["auc", "worst"]["ci_method"].startswith("worst of all")


def test_worked_values_of_two_groups() -> None:
    for pair, p in (("AB", 0.848483041308), ("AC", 0.24074748781), ("BC", 0.286658272338)):
        row = gaps(T.filter(pl.col("group").is_in(list(pair))))["auc", "difference"]
        assert (row["p_method"], row["p_value"]) == ("DeLong, t", pytest.approx(p, abs=1e-9))
    row = gaps(T.filter(pl.col("group") != "A"))["tpr", "difference"]
    assert row["ci_low"] == 0.0
    assert row["ci_high"] == pytest.approx(0.709013918417, abs=1e-9)  # Newcombe's method 10 of C - B


def test_the_smallest_gap_that_could_be_seen() -> None:
    row = gaps(pl.concat([T] * 4).filter(pl.col("group") != "C"))["auc", "difference"]
    assert row["chance_gap"] < row["chance_gap_95"] < row["detectable_gap"] < 1.0


def test_named_gaps_have_the_certainty_of_their_rates() -> None:
    found = gaps(T)
    named = {"equal_opportunity": "tpr", "demographic_parity": "selection_rate"}
    for name, rate in named.items():
        for column in ("value", "ci_low", "ci_high", "p_value", "chance_gap_95"):
            assert found[name, "difference"][column] == found[rate, "difference"][column]
    odds = found["equalized_odds", "difference"]
    wider = gaps(T, ci=0.975)
    assert odds["ci_high"] == max(wider[rate, "difference"]["ci_high"] for rate in ("tpr", "fpr"))
    assert odds["p_value"] == min(1.0, 2 * min(found[rate, "difference"]["p_value"] for rate in ("tpr", "fpr")))


def test_what_is_known_of_a_metric_is_the_same_whatever_others_are_asked_for() -> None:
    together = gaps(T, metrics="all")
    for metric in ("tnr", "fnr", "selection_rate", "f1", "balanced_accuracy", "brier"):
        for key, row in gaps(T, metrics=metric).items():
            assert row == together[key]


def test_a_group_without_an_interval_leaves_none_for_the_gap() -> None:
    frame = T.with_columns(patient=pl.when(pl.col("group") == "A").then(0).otherwise("patient"))
    row = gaps(frame, cluster="patient")["accuracy", "difference"]
    assert (row["ci_low"], row["ci_note"]) == (None, "a group has no interval")


def few_and_many(patients: int) -> pl.DataFrame:
    """Five images of every patient, so many patients in group a and 80 in b, where accuracy is .6 of either."""
    rng = np.random.default_rng(5)
    parts = []
    for group, count in (("a", patients), ("b", 80)):
        y = rng.integers(0, 2, 5 * count)
        right = rng.random(5 * count) < 0.6
        who = [f"{group}{k // 5}" for k in range(5 * count)]
        parts.append(pl.DataFrame({"y": y, "s1": np.where(right, y, 1 - y) * 1.0, "group": group, "patient": who}))
    return pl.concat(parts)


@pytest.mark.parametrize(("patients", "doubt"), [(49, True), (50, False)])
def test_the_test_of_few_patients_says_that_it_is_too_sure(patients: int, doubt: bool) -> None:
    note = "a group has fewer than 50 patients, for which p is somewhat too small" if doubt else None
    columns: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "by": []}
    frame = few_and_many(patients)

    for report in both(frame, cluster="patient", metrics=["accuracy", "auc"], **columns):
        tested = report.gaps.filter(pl.col("statistic") == "difference").select("metric", "p_method", "ci_note").rows()
        assert {m: p for m, p, _ in tested}["accuracy"] == "chi-square, effective sizes"
        assert {m: n for m, _, n in tested} == {"accuracy": note, "auc": None}
        assert report.pairs.filter(pl.col("metric") == "accuracy")["note"].item() == note
    # Rows that count alike are tested as they should be.
    assert gaps(frame)["accuracy", "difference"]["ci_note"] is None


def test_other_statistics_have_none() -> None:
    found = gaps(T)
    assert found["auc", "ratio"]["ci_low"] is None
    assert found["ece", "difference"]["ci_note"] == "no closed form; a bootstrap gives it"


def test_a_gap_of_segmentation() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"dice": rng.uniform(0.6, 0.9, 90), "site": ["x", "y", "z"] * 30})
    row = fmfair.evaluate_segmentation(frame, attributes="site", ci=0.95).gaps.row(0, named=True)
    assert row["statistic"] == "difference"
    assert 0 <= row["ci_low"] <= row["value"] <= row["ci_high"]
    assert row["p_method"] == "Welch"


@examples(30)
@given(frame=tables(), clustered=st.booleans())
def test_gaps_of_any_table(frame: pl.DataFrame, clustered: bool) -> None:
    given: dict[str, Any] = {"cluster": "patient"} if clustered else {}
    for (metric, statistic), row in gaps(frame, metrics="all", **given).items():
        low, high = row["ci_low"], row["ci_high"]
        assert (low is None) == (high is None) == (row["ci_method"] is None)
        assert row["p_value"] is None or 0 <= row["p_value"] <= 1
        if row["value"] is None:
            assert low is None
            assert row["p_value"] is None
        elif low is not None:
            assert low < high, (metric, statistic)
            assert low <= row["value"] <= high, (metric, statistic)
        elif statistic == "difference":
            assert row["ci_note"] is not None, metric
        if row["chance_gap"] is not None:
            assert 0 < row["chance_gap"] <= row["chance_gap_95"]


def test_chance_shows_no_gap_beyond_the_largest_there_can_be() -> None:
    frame = pl.DataFrame({"y": [1] * 6, "s": [0.9, 0.1, 0.8, 0.2, 0.9, 0.3], "g": list("abcdab")})
    gaps = fmfair.evaluate(frame, y_true="y", y_score="s", attributes="g", by=[], metrics="tpr").gaps
    row = gaps.row(by_predicate=(pl.col("statistic") == "difference") & (pl.col("metric") == "tpr"), named=True)
    assert 0 < row["chance_gap"] < row["chance_gap_95"] == 1.0
