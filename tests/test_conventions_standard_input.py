"""The rows of the convention table about input, in the column `standard`; a test's name names its row."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lookup import by_group, from_arrays, gap, overall, summary, warned

import fmfair
from fmfair import FmfairError

TRUTH = [0, 1, 0, 1, 1, 0, 1, 0]
SCORE = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
GROUP = [*"aaaabbbb"]


def test_row_missing_label__standard() -> None:
    report = from_arrays([*TRUTH, None, None], [*SCORE, 0.5, 0.6], [*GROUP, "a", "c"])

    assert overall(report, "auc", "n") == 8
    assert by_group(report, "accuracy", "n") == {"a": 4, "b": 4, "c": 0}
    assert "y_true: 2 rows with a missing label in 'y_true' left out" in report.notes


@pytest.mark.parametrize("bad", [None, math.nan, math.inf, -math.inf])
def test_row_missing_score__standard(bad: float | None) -> None:
    score = [*SCORE[:7], bad]

    with pytest.raises(FmfairError, match=r"column 'y_score' has 1 score that cannot be used: 1 .* \(row 7\)"):
        from_arrays(TRUTH, score, GROUP)

    report = from_arrays(TRUTH, score, GROUP, missing_scores="drop")
    assert by_group(report, "auc", "n") == {"a": 4, "b": 3}
    assert [n for n in report.notes if "1 row with 1" in n and "left out (missing_scores='drop')" in n]


def test_row_missing_dice__standard() -> None:
    report = fmfair.evaluate_segmentation({"dice": [0.9, None, math.nan, 0.5], "site": [*"aabc"]})

    assert by_group(report, "dice") == {"a": 0.9, "b": None, "c": 0.5}
    assert by_group(report, "dice", "n") == {"a": 1, "b": 0, "c": 1}
    assert "dice: 2 samples with a missing value in 'dice' left out" in report.notes


def test_row_mask_values__standard() -> None:
    # As one run the values are logits: 0.3 is foreground in both. Mask by mask the second would be probabilities.
    pred = [np.array([[-2.0, 0.3]]), np.array([[0.1, 0.3]])]
    true = [[[0, 1]], [[1, 1]]]

    assert warned(fmfair.worst_group_dice, pred_masks=pred, true_masks=true, sensitive_features=["a", "b"])[0] == 1.0

    # Probabilities: foreground at 0.5, not below.
    halves = [np.array([[0.5, 0.49]])]
    assert fmfair.worst_group_dice(pred_masks=halves, true_masks=[[[1, 0]]], sensitive_features=["a"]) == 1.0


def test_row_weights__standard() -> None:
    table = {"label": TRUTH, "prob": SCORE, "sex": GROUP, "w": [1, 2, 3, 0, 1, 1, 1, 1]}

    report = fmfair.evaluate(table, weight="w")

    # The positive 0.3 of a has weight 0 and is not there.
    assert by_group(report, "auc") == {"a": 1.0, "b": 1.0}
    assert by_group(report, "auc", "n") == {"a": 3, "b": 4}
    assert by_group(report, "auc", "weight_sum") == {"a": 6.0, "b": 4.0}
    for bad in (-1.0, None, math.nan):
        with pytest.raises(FmfairError, match=r"1 weight .*\(row 7\)"):
            fmfair.evaluate({**table, "w": [1.0] * 7 + [bad]}, weight="w")
    with pytest.raises(FmfairError, match="sex 'b' has only rows of weight zero"):
        fmfair.evaluate({**table, "w": [1] * 4 + [0] * 4}, weight="w")


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, pd.NaT])
def test_row_missing_attribute__standard(missing: Any) -> None:
    features = {"sex": [*GROUP[:7], missing], "site": [*"xxyyxxyy"]}

    report = fmfair.evaluate_arrays(TRUTH, SCORE, sensitive_features=features)

    assert by_group(report, "auc", "n", attribute="sex") == {"a": 4, "b": 3}
    # Left out for that attribute only.
    assert by_group(report, "auc", "n", attribute="site") == {"x": 4, "y": 4}
    assert [n for n in report.notes if "sex: 1 row with a missing value left out for this attribute" in n]
    kept = fmfair.evaluate_arrays(TRUTH, SCORE, sensitive_features=features, missing_groups="keep")
    assert by_group(kept, "auc", "n", attribute="sex") == {"a": 4, "b": 3, "(missing)": 1}


def test_row_labels__standard() -> None:
    label = ["mel", "nv", "bcc", "mel", "unsure", "nv", "mel", "nv"]

    with pytest.raises(FmfairError, match="say which is the positive class with pos_label="):
        from_arrays(label, SCORE, GROUP)

    report = from_arrays(label, SCORE, GROUP, positive="mel", ignore=["unsure"])
    assert by_group(report, "auc", "n") == {"a": 4, "b": 3}
    assert by_group(report, "auc", "n_pos") == {"a": 2, "b": 1}
    assert "y_true: 'mel' against the rest; 'bcc', 'nv' count as negative" in report.notes
    assert [n for n in report.notes if "1 row with 'unsure' left out (ignore=)" in n]


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ([0.0, 1.0, 0.3, 0.7], "probability"),
        ([-0.1, 1.0, 0.3, 0.7], "logit"),
        ([-3.0, 8.0, 0.3, 0.7], "logit"),
        ([0.0, 1.1, 0.3, 0.7], "rank"),
        ([4.0, 11.0, 3.0, 7.0], "rank"),
    ],
)
def test_row_score_type__standard(scores: list[float], kind: str) -> None:
    report = from_arrays([0, 1, 0, 1], scores, [*"aabb"])

    assert report.metadata["score_type"] == kind
    assert [n for n in report.notes if f"score_type: read as {kind} (scores from " in n]
    assert by_group(report, "auc")["a"] == 1.0
    for metric in ("bce", "brier", "ece", "accuracy"):
        assert (by_group(report, metric)["a"] is None) == (kind == "rank")
    if kind == "rank":
        assert by_group(report, "bce", "note")["a"] == "the score is not a probability"
        assert by_group(report, "accuracy", "note")["a"] == "the score is not a probability"


def test_row_score_type__standard_a_rank_has_rates_at_thresholds_on_its_own_scale() -> None:
    report = from_arrays([0, 1, 0, 1], [4.0, 11.0, 3.0, 7.0], [*"aabb"], thresholds=[5, "best_f1"])

    assert by_group(report, "tpr", threshold=5.0) == {"a": 1.0, "b": 1.0}
    assert by_group(report, "accuracy", threshold_rule="best_f1") == {"a": 1.0, "b": 1.0}


def test_row_score_type__standard_is_decided_once_and_a_constant_is_noted() -> None:
    # Group b alone would be probabilities.
    report = from_arrays([0, 1, 0, 1], [-1.0, 3.0, 0.2, 0.4], [*"aabb"])
    assert by_group(report, "bce")["b"] == pytest.approx((math.log1p(math.exp(0.2)) + math.log1p(math.exp(-0.4))) / 2)

    assert [n for n in from_arrays([0, 1], [0.5, 0.5], [*"ab"]).notes if "y_score is constant" in n]


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ([i + 0.5 for i in range(21)], True),
        ([i + 0.5 for i in range(20)], False),
        (list(range(101)), True),
        (list(range(100)), False),
        ([float(i) for i in range(100)], False),
        ([float(i) for i in range(101)], True),
    ],
)
def test_row_many_values__standard(values: list[float], refused: bool) -> None:
    n = 2 * len(values)
    arguments: tuple[Any, ...] = ([0, 1] * len(values), np.linspace(0, 1, n), [v for v in values for _ in range(2)])

    if refused:
        with pytest.raises(FmfairError, match="looks continuous") as error:
            from_arrays(*arguments)
        assert "bins={'group': [40, 60]}" in str(error.value)
    else:
        report = from_arrays(*arguments)
        assert len(by_group(report, "auc")) == len(values)
        codes = [n for n in report.notes if "whole numbers were taken as group codes" in n]
        assert bool(codes) == (len(values) == 100)


def test_row_many_values__standard_an_age_is_cut_and_the_report_says_so() -> None:
    table = {"label": [0, 1] * 3, "prob": [0.1, 0.9] * 3, "age": [17, 18, 39, 40, 80, 79]}

    report = fmfair.evaluate(table)

    assert by_group(report, "accuracy", "n") == {"<18": 1, "18-40": 2, "40-60": 1, "60-80": 1, ">=80": 1}
    assert "age: cut at 18, 40, 60, 80 since no bins= were given" in report.notes
    codes = fmfair.evaluate({**table, "age": [0, 1, 0, 1, 2, 2]})
    assert list(by_group(codes, "accuracy")) == ["0", "1", "2"]


@pytest.mark.parametrize("kind", [str, lambda i: date(2024, 1, 1 + i), float, lambda i: f"patient {i}"])
def test_row_nearly_distinct__standard(kind: Callable[[int], Any]) -> None:
    # 11 groups in 16 rows, 6 of them of one row; then 5 of one row, which is not more than half.
    many = [kind(i) for i in (*range(11), *range(5))]
    fewer = [kind(i) for i in (*range(11), *range(6))]

    with pytest.raises(FmfairError, match=r"nearly every value of 'group' is different \(11 groups for 16 rows"):
        from_arrays([0, 1] * 8, np.linspace(0, 1, 16), many)
    assert len(by_group(from_arrays([0, 1] * 8 + [0], np.linspace(0, 1, 17), fewer), "accuracy")) == 11


def test_row_nearly_distinct__standard_ten_groups_of_one_row_are_groups() -> None:
    report = from_arrays([0, 1] * 5, np.linspace(0, 1, 10), [f"site {i}" for i in range(10)])

    assert len(by_group(report, "accuracy")) == 10


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1.0, 2.0], ["1", "2"]),
        ([0.5, 2.0], ["0.5", "2"]),
        ([True, False], ["False", "True"]),
        ([date(2024, 5, 1), date(2023, 12, 31)], ["2023-12-31", "2024-05-01"]),
        (["1.0", "2"], ["1.0", "2"]),
        ([1e20, -3.0], ["-3", "100000000000000000000"]),
    ],
)
def test_row_group_names__standard(values: list[Any], names: list[str]) -> None:
    assert list(by_group(from_arrays([0, 1, 0, 1], [0.1, 0.9] * 2, values * 2), "auc")) == names


def test_row_few_groups__standard() -> None:
    report = from_arrays([0, 1], [0.1, 0.9], [*"aa"])

    assert by_group(report, "auc") == {"a": 1.0}
    assert gap(report, "auc") is None
    assert gap(report, "auc", column="note") == "1 of 1 groups can be compared"
    # The worst of one group is that group.
    assert gap(report, "auc", "worst") == 1.0
    assert (summary(report, "overall-auc"), summary(report, "auc-gap"), summary(report, "n_groups")) == (1.0, None, 1)


def test_row_bins__standard() -> None:
    cut = from_arrays([0, 1] * 4, [0.1, 0.9] * 4, [39.9, 40, 59, 60, 10, 90, 40, 60], bins={"group": [60, 40]})
    quantiles = from_arrays([0, 1] * 5, [0.1, 0.9] * 5, list(range(1, 11)), bins={"group": 4})
    merged = from_arrays([0, 1] * 3, [0.1, 0.9] * 3, [1, 1, 1, 1, 2, 3], bins={"group": 4})

    assert by_group(cut, "accuracy", "n") == {"<40": 2, "40-60": 3, ">=60": 3}
    assert by_group(quantiles, "accuracy", "n") == {"<3.25": 3, "3.25-5.5": 2, "5.5-7.75": 2, ">=7.75": 3}
    # Quartiles 1, 1 and 1.75.
    assert by_group(merged, "accuracy", "n") == {"<1": 0, "1-1.75": 4, ">=1.75": 2}
    assert [n for n in merged.notes if "4 quantile groups were asked for, but edges coincide; 3 bins are left" in n]


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (pl.Series(["hi", "lo", "hi", "lo"], dtype=pl.Enum(["lo", "mid", "hi"])), ["lo", "mid", "hi"]),
        (pd.Categorical(["hi", "lo", "hi", "lo"], categories=["lo", "mid", "hi"]), ["lo", "mid", "hi"]),
        ([10, 9, 10, 9], ["9", "10"]),
        (["10", "9", "10", "9"], ["9", "10"]),
        (["-2.5", "10", "-2.5", "10"], ["-2.5", "10"]),
        (["10", "9", "x", "9"], ["10", "9", "x"]),
        (["1e3", "9", "1e3", "9"], ["1e3", "9"]),
        (["b", "B", "a", "a"], ["B", "a", "b"]),
        (pl.Series(["hi", "lo", "hi", "lo"], dtype=pl.Categorical), ["hi", "lo"]),
    ],
)
def test_row_group_order__standard(values: Any, order: list[str]) -> None:
    report = from_arrays([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], values)

    assert list(by_group(report, "accuracy")) == order
    unused = [g for g, n in by_group(report, "accuracy", "n").items() if n == 0]
    assert unused == (["mid"] if "mid" in order else [])


def test_row_repeated_id__standard() -> None:
    table = {
        "image_id": [1, 2, 1, 2],
        "label": [0, 1, 0, 1],
        "prob": [0.1, 0.9, 0.3, 0.8],
        "sex": [*"FMFM"],
        "run": ["x", "x", "y", "y"],
        "patient": [7, 8, 7, 8],
    }

    with pytest.raises(FmfairError) as error:
        fmfair.evaluate(table)

    assert "sample_id: column 'image_id' repeats inside a by-key (2 repeated rows, e.g. 1)" in str(error.value)
    assert "add 'run' to by=" in str(error.value)
    assert "cluster=" in str(error.value)
    assert fmfair.evaluate(table, by="run").summary["n"].to_list() == [2, 2]
    assert fmfair.evaluate(table, cluster="patient").summary["n"].to_list() == [4]


def test_row_intersections__standard() -> None:
    features = {"sex": [*"FFFFMMMM"], "age": [*"yyooyyoo"], "site": [*"xxxxxxyy"]}

    pairs = fmfair.evaluate_arrays(TRUTH, SCORE, sensitive_features=features, intersections=2)
    every = fmfair.evaluate_arrays(TRUTH, SCORE, sensitive_features=features, intersections="all")
    chosen = fmfair.evaluate_arrays(TRUTH, SCORE, sensitive_features=features, intersections=[("site", "sex")])

    singles = ["sex", "age", "site"]
    assert pairs.summary["attribute"].to_list() == [*singles, "sex & age", "sex & site", "age & site"]
    assert every.summary["attribute"].to_list()[-1] == "sex & age & site"
    assert chosen.summary["attribute"].to_list() == [*singles, "site & sex"]
    # Only the cells that occur, each the tuple of its parts.
    cells = pairs.groups.filter(attribute="sex & site", metric="auc")
    assert cells["group"].to_list() == ["F & x", "M & x", "M & y"]
    assert cells["group_parts"].to_list() == [["F", "x"], ["M", "x"], ["M", "y"]]
    assert cells["value"].to_list() == [0.75, 1.0, 1.0]
