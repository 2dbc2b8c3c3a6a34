"""The twelve scalar functions give the numbers of the published package fairmedfm 0.4.2."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fairmedfm_support import equal, ours_scalar, theirs_scalar
from fairmedfm_tables import (
    Arrays,
    Classes,
    MaskPairs,
    Values,
    arrays,
    classes,
    dice_values,
    mask_pairs,
)
from hypothesis import given, reject
from property_tests import examples

import fmfair

CLASSIFICATION = (
    *("auc_gap", "worst_group_auc", "accuracy_gap", "bce_gap", "ece_gap", "equal_opportunity_difference"),
    "equalized_odds_score",
)
SEGMENTATION = ("dice_gap", "worst_group_dice", "dice_std", "dice_skewness", "equity_scaled_dice")


def assert_same_number(name: str, *arguments: Any, **options: Any) -> None:
    """The two agree; NaN with NaN."""
    found, expected = (function(name, *arguments, **options) for function in (ours_scalar, theirs_scalar))
    assert equal(_defined(found), _defined(expected))


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


@pytest.mark.parametrize("name", CLASSIFICATION)
@given(table=arrays(max_rows=30, max_attributes=3))
@examples(4)
def test_a_number_of_a_classification(name: str, table: Arrays) -> None:
    assert_same_number(name, table.y_true, table.y_score, sensitive_features=table.attributes, bins=table.bins)


@pytest.mark.parametrize("name", CLASSIFICATION)
@given(table=classes())
@examples(2)
def test_a_number_of_class_columns(name: str, table: Classes) -> None:
    options: dict[str, Any] = {"pos_label": table.positive, "score_type": table.score_type}
    try:
        theirs_scalar(name, table.y_true, table.y_score, sensitive_features=table.group, **options)
    except ValueError:
        # It cannot bin probabilities that differ in the last digits only: see test_fairmedfm_faults.py.
        reject()
    assert_same_number(name, table.y_true, table.y_score, sensitive_features=table.group, **options)


@pytest.mark.parametrize("name", SEGMENTATION)
@given(table=dice_values())
@examples(8)
def test_a_number_of_dice_values(name: str, table: Values) -> None:
    assert_same_number(name, table.dice, sensitive_features=table.attributes, bins=table.bins)


@pytest.mark.parametrize("name", SEGMENTATION)
@given(masks=mask_pairs())
@examples(5)
def test_a_number_of_masks(name: str, masks: MaskPairs) -> None:
    shared: dict[str, Any] = {
        "sensitive_features": masks.group,
        "pred_masks": masks.pred,
        "true_masks": masks.true,
        "label": masks.label,
        "mask_threshold": masks.threshold,
    }
    for empty, empty_score in (("one", 1.0), ("zero", 0.0)):
        found = ours_scalar(name, **shared, empty=empty)
        expected = theirs_scalar(name, **shared, empty_score=empty_score)
        assert equal(_defined(found), _defined(expected))


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_one_usable_group_gives_nan_and_a_warning(name: str) -> None:
    arguments = ([0, 1, 0, 1, 1, 1], [0.1, 0.9, 0.4, 0.3, 0.2, 0.8])
    assert math.isnan(theirs_scalar(name, *arguments, sensitive_features=list("aaaabb")))
    with pytest.warns(UserWarning, match="only label 1"):
        found = getattr(fmfair, name)(*arguments, sensitive_features=list("aaaabb"), conventions="fairmedfm")
    assert math.isnan(found)


@pytest.mark.parametrize("name", SEGMENTATION)
def test_one_group_of_dice_values_gives_nan_and_a_warning(name: str) -> None:
    assert math.isnan(theirs_scalar(name, [0.5, 0.6], sensitive_features=["a", "a"]))
    with pytest.warns(UserWarning, match="1 of 1 groups can be compared"):
        found = getattr(fmfair, name)([0.5, 0.6], sensitive_features=["a", "a"], conventions="fairmedfm")
    assert math.isnan(found)
