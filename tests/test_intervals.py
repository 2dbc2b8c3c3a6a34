"""Intervals of group values: worked values, and what must hold on any table."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from engines import both
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from property_tests import examples
from small_tables import T, tables

import fmfair
from fmfair.metrics.registry import REGISTRY
from fmfair.statistics.proportions import wilson


def values(frame: pl.DataFrame, **given: Any) -> dict[tuple[str, str], dict[str, Any]]:
    report = fmfair.evaluate(frame, by=[], ci=0.95, **given)
    rows = pl.concat([report.groups, report.overall.with_columns(group=pl.lit("all"))], how="diagonal")
    return {(row["metric"], row["group"]): row for row in rows.iter_rows(named=True)}


@pytest.fixture(scope="module")
def of_rows() -> dict[tuple[str, str], dict[str, Any]]:
    return values(T, y_true="y", y_score="s1", attributes="group")


@pytest.fixture(scope="module")
def of_patients() -> dict[tuple[str, str], dict[str, Any]]:
    return values(T, y_true="y", y_score="s1", attributes="group", cluster="patient")


@pytest.mark.parametrize(
    ("metric", "group", "low", "high"),
    [
        ("auc", "A", 0.431800033585, 0.996913362141),
        ("auc", "all", 0.61109964074, 0.947736377045),
        ("average_precision", "all", 0.478980570684, 0.949287954742),
        ("average_precision", "C", 0.179266826977, 0.975613253696),
        ("tpr", "A", 0.375534629763, 0.963775891368),
        ("tpr", "B", 0.150038989152, 0.849961010848),
        ("tpr", "C", 0.436497177814, 0.969946630252),
        ("brier", "A", 0.00603968959567, 0.226960310404),
    ],
)
def test_worked_values_of_rows(of_rows: Any, metric: str, group: str, low: float, high: float) -> None:
    row = of_rows[metric, group]
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


@pytest.mark.parametrize(
    ("metric", "group", "low", "high"),
    [
        ("accuracy", "all", 0.571409282527, 0.890080616964),
        ("accuracy", "A", 0.374955481225, 0.963862038655),
        ("accuracy", "C", 0.32765003497, 0.970442700843),
    ],
)
def test_worked_values_of_patients(of_patients: Any, metric: str, group: str, low: float, high: float) -> None:
    row = of_patients[metric, group]
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
    assert row["ci_method"] == "Wilson, effective size"


def test_an_auc_of_patients_is_the_union_of_both_forms(of_patients: Any) -> None:
    row = of_patients["auc", "all"]
    assert row["ci_high"] == pytest.approx(0.948000224003, abs=1e-9)  # Obuchowski's, the higher
    assert row["ci_low"] < 0.609829914377  # Newcombe's on 11 and 10 patients, the lower
    assert row["ci_method"] == "Obuchowski, logit t and Newcombe 5"


def test_the_plain_interval_of_an_auc_is_asked_for_by_name(of_patients: Any) -> None:
    columns: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "auc_interval": "wald"}
    row = values(T, **columns)["auc", "all"]
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(0.687233024245), pytest.approx(0.9972114202))
    assert row["ci_method"] == "DeLong, Wald"
    assert row["ci_note"] == "few rows of the smaller class; the interval may be too short"
    reach = 1.959963984540054 * 0.00520570344577**0.5
    row = values(T, **columns, cluster="patient")["auc", "all"]
    assert (row["ci_low"], row["ci_method"]) == (pytest.approx(row["value"] - reach), "Obuchowski, Wald")
    assert row["ci_high"] == pytest.approx(row["value"] + reach)
    assert of_patients["auc", "all"]["ci_method"] == "Obuchowski, logit t and Newcombe 5"


def test_a_plain_interval_is_never_that_of_certainty() -> None:
    frame = pl.DataFrame({"y": [0, 0, 1, 1, 0, 0, 1], "s": [1, 2, 3, 4, 1, 2, 3], "g": list("aaaabbb")})
    rows = values(frame, y_true="y", y_score="s", attributes="g", metrics="auc", auc_interval="wald")
    assert rows["auc", "a"]["ci_note"] == "no spread between rows"
    assert rows["auc", "b"]["ci_note"] == "one row of a class only"
    assert [rows["auc", g]["ci_low"] for g in "ab"] == [None, None]


def test_what_cannot_be_asked_of_the_form_of_an_auc() -> None:
    with pytest.raises(fmfair.FmfairError, match="auc_interval"):
        values(T, y_true="y", y_score="s1", attributes="group", auc_interval="Wald")
    with pytest.raises(fmfair.FmfairError, match="which ci=None leaves out"):
        fmfair.evaluate(T, y_true="y", y_score="s1", attributes="group", by=[], auc_interval="wald", ci=None)


EQUAL = ["auc", "average_precision", "tpr", "tnr", "ppv", "accuracy", "selection_rate", "f1", "brier", "bce"]
EQUAL += ["balanced_accuracy", "net_benefit"]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("cluster", [None, "patient"])
def test_equal_weights_change_nothing(engine: str, cluster: str | None) -> None:
    one = T[:1].with_columns(group=pl.lit("one"))
    sure = T[:3].with_columns(y=pl.Series([0, 1, 1]), s1=pl.Series([0.1, 0.8, 0.9]), group=pl.lit("sure"))
    frame = pl.concat([T, one, sure])
    given: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "by": [], "metrics": EQUAL}
    plain = fmfair.evaluate(frame.drop("w"), **given, cluster=cluster, engine=engine)
    numbers = ["ci_low", "ci_high", "p_value"]
    for weight in (0.37, 3.0):
        equal = frame.with_columns(w=pl.lit(weight))
        weighted = fmfair.evaluate(equal, **given, cluster=cluster, engine=engine, weight="w")
        for name in ("groups", "overall", "gaps", "pairs"):
            found, expected = (report.to_frame(name).select(numbers) for report in (weighted, plain))
            assert_frame_equal(found, expected, rel_tol=1e-12, abs_tol=1e-12)
    assert plain.groups["ci_low"].count() > 30


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_weights_count_as_the_rows_of_equal_weight_that_say_as_much(engine: str) -> None:
    many = pl.concat([T] * 8).with_columns(w=pl.when(pl.int_range(pl.len()) < 15).then(100.0).otherwise(1.0))
    columns: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "metrics": ["auc", "tpr"]}
    weighted = values(many, **columns, weight="w", engine=engine)
    of_positives = many.filter(pl.col("y") == 1)["w"].to_list()
    assert len(of_positives) == 120
    size = sum(of_positives) ** 2 / sum(w * w for w in of_positives)
    assert size < 12
    assert weighted["auc", "all"]["ci_method"] == "DeLong, logit t and Newcombe 5"
    # At most as sure as Wilson's interval of so many rows.
    tpr = weighted["tpr", "all"]
    low, high = wilson(tpr["value"] * size, size, quantile=1.959963984540054)
    assert tpr["ci_high"] - tpr["ci_low"] >= float(high - low) - 1e-12


def test_marks_count_what_carries_the_value(of_rows: Any) -> None:
    assert of_rows["auc", "A"]["mark"] == "counts only"
    assert of_rows["accuracy", "A"]["mark"] == "very imprecise"
    assert of_rows["auc", "all"]["mark"] == "very imprecise"  # 15 of each class
    assert of_rows["accuracy", "all"]["mark"] == "imprecise"
    many = pl.concat([T] * 10)
    assert values(many, y_true="y", y_score="s1", attributes="group")["accuracy", "A"]["mark"] is None


def test_both_classes_carry_calibration_and_likelihood_ratios() -> None:
    """12 positives among 300 rows, and 12 negatives among 300: the rarer class counts, whichever it is."""
    frame = pl.DataFrame(
        {
            "y": [int(i < 12) for i in range(300)] + [int(i >= 12) for i in range(300)],
            "s1": [(37 * i % 101 + 0.5) / 101 for i in range(600)],
            "group": ["A"] * 300 + ["B"] * 300,
        }
    )
    names = [n for n, m in REGISTRY.items() if m.family in ("calibration", "fitted")] + ["lr_positive", "lr_negative"]
    reports = both(frame, y_true="y", y_score="s1", attributes="group", metrics=[*names, "accuracy"])
    for report in reports:
        marks = report.groups.filter(pl.col("metric") != "accuracy").select("metric", "group", "mark")
        assert marks["mark"].to_list() == ["very imprecise"] * 2 * len(names), marks
        assert report.groups.filter(pl.col("metric") == "accuracy")["mark"].to_list() == [None, None]


@pytest.mark.parametrize("ci", [0.95, None])
def test_calibration_of_few_positives_is_counted_in_print_by_the_rarer_class(ci: float | None) -> None:
    frame = pl.DataFrame({"y": [1] * 6 + [0] * 194, "s1": [0.4 + 0.002 * (i % 50) for i in range(200)]})
    frame = frame.with_columns(g=pl.Series(["a", "b"] * 100))
    text = fmfair.evaluate(frame, y_true="y", y_score="s1", attributes="g", metrics="brier", ci=ci).to_text()

    assert "brier: positives or negatives, the fewer" in text


def test_what_has_no_closed_form_says_so(of_rows: Any) -> None:
    row = of_rows["ece", "all"]
    assert (row["ci_low"], row["ci_method"], row["ci_note"]) == (None, None, "no closed form; a bootstrap gives it")


def test_an_ece_stands_beside_what_chance_would_show(of_rows: Any, of_patients: Any) -> None:
    row = of_rows["ece", "all"]
    assert row["value"] == pytest.approx(0.188333333333, abs=1e-9)
    assert row["expected"] == pytest.approx(0.181884765845, abs=1e-9)
    assert row["debiased"] == pytest.approx(0.116301090879, abs=1e-9)
    assert 0.3 < row["p_value"] < 0.6
    assert of_patients["ece", "all"]["p_value"] is None
    weighted = values(T.with_columns(w=pl.lit(2.0)), y_true="y", y_score="s1", attributes="group", weight="w")
    assert weighted["ece", "all"]["expected"] == pytest.approx(row["expected"], abs=1e-12)
    assert weighted["ece", "all"]["debiased"] == pytest.approx(row["debiased"], abs=1e-12)


def test_without_a_level_there_are_no_columns() -> None:
    report = fmfair.evaluate(T, y_true="y", y_score="s1", attributes="group", by=[], ci=None)
    assert "ci_low" not in report.groups.columns


def test_means_of_segmentation() -> None:
    frame = pl.DataFrame({"dice": [0.9, 0.7, 0.8, None, 1.0, 1.0], "site": ["x", "x", "x", "x", "z", "z"]})
    rows = fmfair.evaluate_segmentation(frame, attributes="site", ci=0.95).groups
    x, z = rows.iter_rows(named=True)
    reach = 4.302652729911275 * 0.1 / 3**0.5
    assert (x["ci_low"], x["ci_high"]) == (pytest.approx(0.8 - reach), 1.0)
    assert (z["ci_low"], z["ci_note"]) == (None, "no spread: the values are all alike")


@examples(12)
@given(tables("abc"), st.booleans(), st.booleans(), st.booleans(), st.sampled_from((0.8, 0.95, 0.999)))
def test_intervals_of_any_table(frame: pl.DataFrame, clustered: bool, weighted: bool, wald: bool, level: float) -> None:
    given: dict[str, Any] = {"cluster": "patient"} if clustered else {}
    if weighted:
        given["weight"] = "w"
    if wald:
        given["auc_interval"] = "wald"
    report = fmfair.evaluate(
        frame, y_true="y", y_score="s1", attributes="group", by=[], metrics="all", ci=level, **given
    )
    for row in pl.concat([report.groups, report.overall], how="diagonal").iter_rows(named=True):
        metric, low, high = REGISTRY[row["metric"]], row["ci_low"], row["ci_high"]
        assert (low is None) == (high is None) == (row["ci_method"] is None)
        if row["value"] is None:
            assert low is None
            continue
        if low is None:
            assert row["ci_note"] is not None or metric.family == "count"
            continue
        assert low <= row["value"] <= high
        assert low < high
        assert metric.low is None or low >= metric.low
        assert metric.high is None or high <= metric.high


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_weights_whose_squares_are_no_numbers_are_refused_or_leave_a_note(engine: str) -> None:
    given: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "by": [], "metrics": EQUAL}
    given |= {"weight": "w", "engine": engine}

    def weighted(size: float) -> pl.DataFrame:
        return T.with_columns(w=pl.when(pl.col("group") == "A").then(pl.col("w") * size).otherwise("w"))

    report = fmfair.evaluate(weighted(1e-200), **given)
    silent = (pl.col("value").is_not_null() & pl.col("ci_low").is_null()) & pl.col("ci_note").is_null()
    assert report.groups.filter(silent).is_empty()
    assert (report.groups["ci_note"] == "weights too small or too unlike for an interval").any()
    with pytest.raises(fmfair.FmfairError, match="too large to be squared"):
        fmfair.evaluate(weighted(1e200), **given)
    assert fmfair.evaluate(weighted(1e200), ci=None, **given).groups["value"].count() > 20


@pytest.mark.parametrize("bootstrap", [None, 100])
def test_a_range_of_the_roc_curve_with_few_rows_is_noted(bootstrap: int | None) -> None:
    """40 positives and 100 negatives in A, 60 and 99 in B."""
    y = [1] * 40 + [0] * 100 + [1] * 60 + [0] * 99
    frame = pl.DataFrame({"y": y, "s1": [(29 * i % 97 + 30 * y[i]) / 130 for i in range(299)]})
    frame = frame.with_columns(group=pl.when(pl.int_range(299) < 140).then(pl.lit("A")).otherwise(pl.lit("B")))
    metrics = [
        "partial_auc(fpr=(0, 0.1))",
        "partial_auc(fpr=(0.2, 0.3))",
        "tpr_at_fpr(0.1)",
        "partial_auc(tpr=(0.8, 1))",
        "partial_auc(fpr=(0, 0.2))",
    ]
    few = "fewer than 10 {} in its range, where it moves in coarse steps"
    expected = {  # of A and of B
        **dict.fromkeys(metrics[:3], (None, few.format("negatives"))),
        metrics[3]: (few.format("positives"), None),
        metrics[4]: (None, None),
    }

    for report in both(
        frame, y_true="y", y_score="s1", attributes="group", metrics=metrics, bootstrap=bootstrap, cluster=None
    ):
        for metric, notes in expected.items():
            found = report.groups.filter(pl.col("metric") == metric)["ci_note"].to_list()
            assert [text is not None and "range" in text for text in found] == [note is not None for note in notes]
            for text, note in zip(found, notes, strict=True):
                assert note is None or text.endswith(note)
                assert bootstrap or text.startswith("no closed form; a bootstrap gives it")


def test_a_range_without_values_is_not_noted() -> None:
    frame = pl.DataFrame({"y": [1, 1, 0, 1], "s1": [0.1, 0.4, 0.3, 0.2], "group": ["A", "A", "B", "B"]})
    report = fmfair.evaluate(frame, y_true="y", y_score="s1", attributes="group", metrics="tpr_at_fpr(0.1)")

    assert report.groups.select("value", "ci_note").row(0) == (None, None)
