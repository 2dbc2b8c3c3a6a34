"""The rows of the convention table about numbers, in the column `standard`; a test's name names its row."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from lookup import assert_honest, by_group, from_arrays, gap, overall, summary

import fmfair
from fmfair import FmfairError

TRUTH = [0, 1, 0, 1, 1, 0, 1, 0]
SCORE = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
GROUP = [*"aaaabbbb"]


def test_row_decision__standard() -> None:
    report = from_arrays([1, 0, 1, 0], [0.5, 0.5, 0.4, 0.4], [*"aabb"], thresholds=0.5)

    # A score at the threshold is positive.
    assert by_group(report, "tpr") == {"a": 1.0, "b": 0.0}
    assert by_group(report, "fpr") == {"a": 1.0, "b": 0.0}
    assert report.metadata["decision"] == "y_score >= threshold"


def test_row_best_f1_threshold__standard() -> None:
    # Cuts from below: F1 of 0.1: 8/12, 0.2: 8/11, 0.3: 8/10, 0.4: 6/9, 0.5: 6/8, 0.6: 6/7, 0.8: 4/6, 0.9: 2/5.
    report = from_arrays(TRUTH, SCORE, GROUP, thresholds="best_f1")

    assert overall(report, "f1", "threshold") == 0.6
    assert overall(report, "f1") == pytest.approx(6 / 7)
    # One threshold for both groups, not one for each.
    assert by_group(report, "f1", "threshold") == {"a": 0.6, "b": 0.6}


def test_row_best_f1_threshold__standard_takes_the_lowest_of_equals() -> None:
    # 0.9: tp 1, F1 2/3; 0.4: tp 2, fp 2, F1 4/6.
    report = from_arrays([1, 0, 0, 1, 0], [0.9, 0.8, 0.7, 0.4, 0.1], [*"aaaaa"], thresholds="best_f1")

    assert overall(report, "f1", "threshold") == 0.4


def test_row_best_f1_threshold__standard_uses_all_evaluated_rows_and_one_per_by_key() -> None:
    # The rows without a sex decide: without them the best cut is 0.8.
    table: dict[str, list[Any]] = {
        "label": [0, 1, 1, 1],
        "prob": [0.6, 0.8, 0.3, 0.3],
        "sex": ["F", "F", None, None],
        "model": ["m"] * 4,
    }
    other = {**table, "prob": [0.1, 0.2, 0.05, 0.3], "model": ["k"] * 4}

    both = {name: [*table[name], *other[name]] for name in table}
    report = fmfair.evaluate(both, thresholds="best_f1")

    assert by_group(report, "f1", "threshold", model="m") == {"F": 0.3}
    assert by_group(report, "f1", "threshold", model="k") == {"F": 0.05}


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_row_number_types__standard(dtype: type[pl.DataType]) -> None:
    frame = pl.DataFrame(
        {"label": pl.Series([1, 0], dtype=pl.UInt8), "prob": pl.Series([0.7, 0.2], dtype=dtype), "sex": ["F", "F"]}
    )

    report = fmfair.evaluate(frame, thresholds=[0.7, float(np.float32(0.7))])

    # A Float32 0.7 is 0.699999988 and lies below 0.7, as a score and as a threshold.
    below = dtype == pl.Float32
    thresholds = report.overall.filter(metric="tp")["threshold"].to_list()
    assert thresholds == [0.7, float(np.float32(0.7))]
    assert report.overall.filter(metric="tp")["value"].to_list() == [0.0 if below else 1.0, 1.0]
    assert report.groups["value"].dtype == pl.Float64


def test_row_ece__standard() -> None:
    # Bins [0, 0.1): 0.05; [0.3, 0.4): 0.3, 0.35; [0.9, 1]: 0.9, 1.0. 0.3 is on the edge although 0.1 * 3 is more.
    report = from_arrays([0, 1, 0, 1, 0], [0.05, 0.3, 0.35, 0.9, 1.0], [*"aaaaa"])

    assert by_group(report, "ece")["a"] == pytest.approx((0.05 + abs(0.65 - 1) + abs(1.9 - 1)) / 5)


def test_row_ece__standard_has_the_same_bins_for_every_group() -> None:
    # Within [0.9, 1] the errors of a cancel; over its own range they would not.
    report = from_arrays([1, 0, 0, 1], [0.9, 1.0, 0.5, 0.55], [*"aabb"])

    assert by_group(report, "ece") == pytest.approx({"a": 0.45, "b": 0.025})


def test_row_bce__standard() -> None:
    report = from_arrays([1, 0, 1, 0], [0.0, 1.0, 1.0, 0.0], [*"aabb"])

    # Each log is clamped at -100; right and certain costs 0, not -0.
    assert by_group(report, "bce") == {"a": 100.0, "b": 0.0}
    assert math.copysign(1.0, by_group(report, "bce")["b"]) == 1.0


def test_row_bce__standard_of_logits_is_computed_from_the_logits() -> None:
    # The sigmoid of 40 is 1: from the probability a wrong 40 would cost 100.
    report = from_arrays([0, 1], [40.0, 40.0], [*"ab"], score_type="logit")

    assert by_group(report, "bce") == pytest.approx({"a": 40.0, "b": math.exp(-40)}, rel=1e-12)


def test_row_auc__standard() -> None:
    # a: (0.9 beats 0.2, 0.4; 0.3 beats 0.2) of 4; b: 0.6, 0.8 beat 0.5, 0.1.
    assert by_group(from_arrays(TRUTH, SCORE, GROUP), "auc") == {"a": 0.75, "b": 1.0}
    tied = from_arrays([0, 1, 1], [0.5, 0.5, 0.9], [*"aaa"])
    assert by_group(tied, "auc") == {"a": 0.75}


def test_row_auc__standard_ranks_logits_and_log_odds_unsaturated() -> None:
    one = from_arrays([0, 1], [40.0, 41.0], [*"aa"], score_type="logit")
    # The third column alone ties; its odds against the other two do not.
    matrix = [[0.0, 1.0, 50.0], [-4.0, -2.0, 50.0]]
    several = fmfair.evaluate_arrays(
        [0, 2], matrix, sensitive_features=[*"aa"], pos_label=2, classes=[0, 1, 2], score_type="logit"
    )

    assert by_group(one, "auc") == {"a": 1.0}
    assert by_group(several, "auc") == {"a": 1.0}
    # Loss of row 0: softplus of 50 - ln(e^0 + e^1); of row 1: about 0.
    assert by_group(several, "bce")["a"] == pytest.approx((50 - math.log(1 + math.e)) / 2)


def test_row_auc__standard_of_class_columns_of_probabilities_is_that_of_the_column() -> None:
    # By the odds against the larger of the others the order would turn.
    matrix = [[0.3, 0.3, 0.4], [0.6, 0.05, 0.35]]

    report = fmfair.evaluate_arrays([0, 2], matrix, sensitive_features=[*"aa"], pos_label=2, classes=[0, 1, 2])

    assert by_group(report, "auc") == {"a": 0.0}


def test_row_one_class__standard() -> None:
    report = from_arrays([0, 1, 0, 0], [0.2, 0.9, 0.8, 0.6], [*"aabb"], metrics="all")

    undefined = {m for m, v in report.groups.filter(group="b").select("metric", "value").iter_rows() if v is None}
    assert {"auc", "average_precision", "tpr", "fnr"} <= undefined
    assert not {"accuracy", "bce", "ece", "brier", "selection_rate", "tnr", "fpr"} & undefined
    assert gap(report, "accuracy") == 1.0
    assert gap(report, "accuracy", column="worst_group") == "b"
    assert gap(report, "auc") is None


@pytest.mark.parametrize(
    ("rule", "threshold"),
    [
        (0.35, 0.35),
        ("0.35", 0.35),
        # tp n_neg - fp n_pos from the top: 0.9: 4, 0.8: 8, 0.6: 12, 0.5: 8, 0.4: 4, 0.3: 8, 0.2: 4, 0.1: 0.
        ("youden", 0.6),
        ("tpr=0.75", 0.6),
        ("tpr=0.76", 0.3),
        ("tpr=1", 0.3),
        ("tpr=0", 0.9),
        ("tnr=0.75", 0.5),
        ("tnr=1", 0.6),
        ("tnr=0", 0.1),
    ],
)
def test_row_thresholds__standard(rule: Any, threshold: float) -> None:
    report = from_arrays(TRUTH, SCORE, GROUP, thresholds=rule)

    assert overall(report, "tpr", "threshold") == threshold
    tuned = isinstance(rule, str) and rule != "0.35"
    assert overall(report, "tpr", "threshold_rule") == (rule if tuned else "fixed")
    assert any("tuned on these labels" in n for n in report.notes) == tuned


def test_row_thresholds__standard_youden_takes_the_lowest_of_equals() -> None:
    # One negative beside one positive moves the sum by nothing.
    report = from_arrays([1, 1, 0, 0], [0.9, 0.4, 0.4, 0.1], [*"aaaa"], thresholds="youden")

    assert overall(report, "tpr", "threshold") == 0.4


def test_row_thresholds__standard_none_that_qualifies_is_null_with_a_note() -> None:
    # Both classes share the one score, so that no cut on it calls all negatives negative.
    report = from_arrays([0, 1], [0.5, 0.5], [*"aa"], thresholds="tnr=0.9")

    assert overall(report, "tpr") is None
    assert overall(report, "tpr", "threshold") is None
    assert overall(report, "tpr", "note") == "no observed score reaches tnr=0.9"
    assert_honest(report)


def test_row_thresholds__standard_a_mapping_gives_each_by_key_its_own() -> None:
    table = {"model": [*"mmkk"], "fold": [1, 1, 1, 1], "label": [0, 1, 0, 1], "prob": [0.3, 0.6] * 2, "sex": [*"FFFF"]}

    by_model = fmfair.evaluate(table, by="model", thresholds={"m": 0.2, "k": 0.4})
    by_both = fmfair.evaluate(table, thresholds={("m", 1): 0.2, ("k", 1): 0.4})

    for report in (by_model, by_both):
        assert [overall(report, "fpr", model=m) for m in "mk"] == [1.0, 0.0]
    with pytest.raises(FmfairError, match=r"the mapping from by-key \(model\) to number lacks 'k'"):
        fmfair.evaluate(table, by="model", thresholds={"m": 0.2})
    with pytest.raises(FmfairError, match="names 'x', which does not occur"):
        fmfair.evaluate(table, by="model", thresholds={"m": 0.2, "k": 0.4, "x": 0.1})


def test_row_std__standard() -> None:
    report = fmfair.evaluate_segmentation({"dice": [0.9, 0.8, 0.7, 0.6, 0.5], "site": [*"aabbc"]})

    # Means 0.85, 0.65, 0.5 around 2/3, divided by 3.
    spread = math.sqrt(((0.85 - 2 / 3) ** 2 + (0.65 - 2 / 3) ** 2 + (0.5 - 2 / 3) ** 2) / 3)
    assert gap(report, "dice", "std") == pytest.approx(spread, abs=1e-14)
    assert summary(report, "std_dice") == pytest.approx(spread, abs=1e-14)
    auc = from_arrays(TRUTH, SCORE, GROUP)
    assert gap(auc, "auc", "std") == 0.125


@pytest.mark.parametrize(("empty", "expected"), [(None, 1.0), ("one", 1.0), ("zero", 0.0), ("drop", None)])
def test_row_both_empty__standard(empty: str | None, expected: float | None, tmp_path: Path) -> None:
    np.save(tmp_path / "nothing.npy", np.zeros((2, 2)))
    np.save(tmp_path / "all.npy", np.ones((2, 2)))
    paths = ["nothing.npy", "all.npy"]
    pl.DataFrame({"pred_mask": paths, "true_mask": paths, "sex": ["F", "M"]}).write_csv(tmp_path / "masks.csv")

    options: dict[str, Any] = {} if empty is None else {"empty": empty}
    report = fmfair.evaluate_segmentation(tmp_path / "masks.csv", **options)

    assert by_group(report, "dice") == {"F": expected, "M": 1.0}
    assert by_group(report, "both_empty") == {"F": 1.0, "M": 0.0}
    assert [n for n in report.notes if "1 sample with both masks empty" in n]
