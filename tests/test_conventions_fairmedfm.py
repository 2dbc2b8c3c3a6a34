"""The rows of the convention table about numbers, in the column `fairmedfm`; a test's name names its row.

The numbers are computed by hand, and where the package takes the same input they are compared with its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from fairmedfm_support import assert_same, ours, theirs, theirs_scalar
from lookup import by_group, gap, overall, summary, warned

import fmfair
from fmfair import FmfairError

TRUTH = [0, 1, 0, 1, 1, 0, 1, 0]
SCORE = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
GROUP = [*"aaaabbbb"]


def _both(*arguments: Any, bins: Any = None, **options: Any) -> fmfair.Report:
    """Our report, after it was found to be the package's."""
    report = ours(*arguments, bins=bins, **options)
    assert_same(report, theirs(*arguments, bins=bins, **options))
    return report


def test_row_decision__fairmedfm() -> None:
    report = _both([1, 0, 1, 0], [0.5, 0.4, 0.6, 0.5], [*"aabb"])

    # A score at the threshold is negative.
    assert by_group(report, "tpr", threshold_rule="fixed") == {"a": 0.0, "b": 1.0}
    assert by_group(report, "tnr", threshold_rule="fixed") == {"a": 1.0, "b": 1.0}
    assert report.metadata["decision"] == "y_score > threshold"


def test_row_best_f1_threshold__fairmedfm() -> None:
    features = {"sex": ["a", "a", None, "a", "b", None, "b", "b"], "site": [*"xxyyxxyy"]}

    report = _both(TRUTH, SCORE, features)

    # The negatives at 0.4 and 0.5 have no sex: without them the cut at 0.3 is perfect, on all rows 0.6 is the best.
    assert by_group(report, "tpr", "threshold", threshold_rule="best_f1", attribute="sex") == {"a": 0.3, "b": 0.3}
    assert by_group(report, "tpr", "threshold", threshold_rule="best_f1", attribute="site") == {"x": 0.6, "y": 0.6}
    # Searched at or above, decided above: the case at 0.3 is lost.
    assert by_group(report, "fn", threshold_rule="best_f1", attribute="sex") == {"a": 1.0, "b": 0.0}
    assert [n for n in report.notes if "threshold best_f1: tuned on these labels" in n]


def test_row_best_f1_threshold__fairmedfm_has_the_small_number_in_the_denominator() -> None:
    # At 0.9: precision 1, recall 1/2, F1 2/3 at best; at 0.4: precision 1/2, recall 1, also 2/3 but for 1e-8.
    # With it 0.9 has 1 / 1.50000001 and 0.4 has 1 / 1.50000001: equal, and the lower is taken.
    report = _both([1, 0, 0, 1, 0], [0.9, 0.8, 0.7, 0.4, 0.1], {"g": [*"aabab"]})

    assert overall(report, "tpr", "threshold", threshold_rule="best_f1") == 0.4


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_row_number_types__fairmedfm(dtype: Any) -> None:
    score = np.array([0.7, 0.2, 0.9, 0.7, 0.7, 0.3, 0.7, 0.1], dtype=dtype)

    report = _both(TRUTH, score, GROUP)

    assert overall(report, "tpr", "threshold", threshold_rule="best_f1") in {float(v) for v in score}


def test_row_ece__fairmedfm() -> None:
    report = _both([1, 0, 1, 1, 0, 0, 1], [0.93, 1.0, 0.97, 0.0, 0.02, 0.04, 0.08], [*"aaabbbb"])

    # a is cut over [0.93, 1]: every score is alone. b over [0, 0.08]: every score is alone.
    assert by_group(report, "ece") == pytest.approx(
        {"a": (0.07 + 1.0 + 0.03) / 3, "b": (1.0 + 0.02 + 0.04 + 0.92) / 4}, abs=1e-12
    )


@pytest.mark.parametrize(("bins", "expected"), [(1, 0.0), (2, 1.0)])
def test_row_ece__fairmedfm_with_another_number_of_bins(bins: int, expected: float) -> None:
    report = fmfair.evaluate_arrays(
        [1, 0, 1, 0],
        [0.0, 1.0, 0.0, 0.0],
        sensitive_features=[*"aabb"],
        metrics=f"ece(bins={bins})",
        conventions="fairmedfm",
    )

    # The errors of a are 1 and -1 and cancel in one bin; the scores of b are equal and lie in one bin anyhow.
    assert report.groups["value"].to_list() == [expected, 0.5]


def test_row_bce__fairmedfm() -> None:
    report = _both([1, 0, 1, 0], [0.0, 0.5, 1.0, 0.5], [*"aabb"])

    assert by_group(report, "bce") == pytest.approx({"a": (100 + math.log(2)) / 2, "b": math.log(2) / 2})


def test_row_bce__fairmedfm_of_logits_goes_through_the_sigmoid() -> None:
    # A wrong logit of 40 has the probability 1 and costs 100 instead of 40.
    report = _both([0, 1, 0, 1], [40.0, 40.0, -1.0, 1.0], [*"aabb"])

    assert by_group(report, "bce") == pytest.approx({"a": 50.0, "b": math.log1p(math.exp(-1))})


def test_row_auc__fairmedfm() -> None:
    # The sigmoids of 40 and 41 are both 1.
    report = _both([0, 1, 0, 1], [40.0, 41.0, -1.0, 1.0], [*"aabb"])

    assert by_group(report, "auc") == {"a": 0.5, "b": 1.0}


def test_row_one_class__fairmedfm() -> None:
    report = _both([0, 1, 0, 1, 0, 0], [0.2, 0.9, 0.6, 0.8, 0.9, 0.7], [*"aabbcc"])

    # c has negatives only: its accuracy is the worst, and not seen.
    assert by_group(report, "accuracy", threshold_rule="fixed") == {"a": 1.0, "b": 0.5, "c": None}
    assert by_group(report, "accuracy", "note", threshold_rule="fixed")["c"] == "skipped: only label 0"
    assert summary(report, "n_groups") == 2
    assert gap(report, "accuracy", threshold_rule="fixed") == 0.5
    # Its rows count in the overall values.
    assert (summary(report, "n"), overall(report, "accuracy", threshold_rule="fixed")) == (6, 0.5)


def test_row_thresholds__fairmedfm() -> None:
    report = _both(TRUTH, SCORE, GROUP)

    assert report.overall.filter(metric="tpr")["threshold_rule"].to_list() == ["fixed", "best_f1"]
    assert report.overall.filter(metric="tpr")["threshold"].to_list() == [0.5, 0.6]
    # Any other number goes by the same strict rule.
    given = ours(TRUTH, SCORE, GROUP, thresholds=0.3)
    assert by_group(given, "tpr") == {"a": 0.5, "b": 1.0}
    for rule in ("youden", "tpr=0.9", "tnr=0.9"):
        with pytest.raises(FmfairError, match="the FairMedFM conventions know numbers and 'best_f1' only"):
            ours(TRUTH, SCORE, GROUP, thresholds=rule)


def test_row_std__fairmedfm() -> None:
    dice, group = [0.9, 0.8, 0.7, 0.6, 0.5], [*"aabbc"]

    value, _ = warned(fmfair.dice_std, dice, sensitive_features=group, conventions="fairmedfm")

    # Means 0.85, 0.65, 0.5 around 2/3, divided by 3.
    assert value == pytest.approx(math.sqrt(((0.85 - 2 / 3) ** 2 + (0.65 - 2 / 3) ** 2 + (0.5 - 2 / 3) ** 2) / 3))
    assert value == pytest.approx(theirs_scalar("dice_std", dice, sensitive_features=group), abs=1e-12)


@pytest.mark.parametrize(("empty", "empty_score", "expected"), [("one", 1.0, 0.3), ("zero", 0.0, 0.2)])
def test_row_both_empty__fairmedfm(empty: str, empty_score: float, expected: float) -> None:
    nothing, lesion, half = [[0, 0], [0, 0]], [[1, 1], [1, 1]], [[1, 0], [0, 0]]
    # a: both empty and perfect; b: 2 / 5 and perfect.
    pred, true, group = [nothing, lesion, half, lesion], [nothing, lesion, lesion, lesion], [*"aabb"]

    value, _ = warned(
        fmfair.dice_gap,
        pred_masks=pred,
        true_masks=true,
        sensitive_features=group,
        empty=empty,
        conventions="fairmedfm",
    )
    reference = theirs_scalar(
        "dice_gap", pred_masks=pred, true_masks=true, sensitive_features=group, empty_score=empty_score
    )

    assert value == pytest.approx(expected)
    assert value == pytest.approx(reference, abs=1e-12)
