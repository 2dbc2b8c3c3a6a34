"""Arguments and options that make no sense are refused in one clear sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from lookup import by_group
from refusals import EVERYTHING, TABLE, refusal

import fmfair
from fmfair import FmfairError

# --- roles


def test_a_by_key_with_the_name_of_a_result_column_is_refused() -> None:
    for name in ("value", "metric", "n", "n_groups", "overall-auc", "eo"):
        frame = pl.DataFrame(TABLE).rename({"model": name})
        assert f"by-key '{name}' has the name of a column of the results; rename it" in refusal(
            frame, **{**EVERYTHING, "by": name}
        )


def test_an_attribute_that_is_also_a_by_key_is_refused() -> None:
    message = refusal(TABLE, attributes=["sex", "model"], by=["model"])

    assert message == "'model' cannot be an attribute and a by-key at once"


def test_an_attribute_that_is_also_a_by_key_by_its_name_only_is_an_attribute() -> None:
    report = fmfair.evaluate(TABLE, attributes=["sex", "model"])

    assert report.summary["attribute"].to_list() == ["sex", "model"]


def test_an_attribute_that_is_also_the_label_has_groups_of_one_class() -> None:
    report = fmfair.evaluate(TABLE, attributes="label", by=[])

    assert by_group(report, "auc") == {"0": None, "1": None}
    assert by_group(report, "auc", "note") == {"0": "no positives", "1": "no negatives"}
    assert by_group(report, "accuracy") == {"0": 0.5, "1": 0.5}


def test_one_column_may_play_several_parts() -> None:
    twice = fmfair.evaluate(TABLE, y_true="label", y_score="label", y_pred="label", attributes=["label", "sex"], by=[])

    assert by_group(twice, "accuracy", attribute="sex") == {"F": 1.0, "M": 1.0}
    assert "label '0' has only rows of weight zero" in refusal(TABLE, attributes="label", weight="label", by=[])


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ([], "attributes=[] names no column"),
        ((), "attributes=() names no column"),
        ("", "no column ''"),
        ([""], "no column ''"),
        ("Sex", "no column 'Sex'; did you mean 'sex'?"),
        (["sex", "sexx"], "no column 'sexx'; did you mean 'sex'?"),
        ("zzz", "no column 'zzz'. Columns: 'label', 'prob', 'sex', 'model'"),
        (["sex", "sex"], "duplicate attribute name 'sex'"),
        (7, "attributes=7 is neither the name of a column nor a list of them"),
        ([7], "no column 7"),
        ([None], "no column None"),
        ({"sex": [40]}, "attributes={'sex': [40]} is neither the name of a column nor a list of them"),
    ],
)
def test_attributes_that_cannot_be_are_refused(attributes: Any, expected: str) -> None:
    assert expected in refusal(TABLE, attributes=attributes)


@pytest.mark.parametrize("role", ["y_true", "y_score", "y_pred", "y_logit", "by", "sample_id", "cluster", "weight"])
@pytest.mark.parametrize("value", ["probb", "", 7, ["probb"], [7], 0.5, True, object()])
def test_a_column_that_does_not_exist_is_refused_in_every_role(role: str, value: Any) -> None:
    message = refusal(TABLE, **{**EVERYTHING, role: value})

    assert role in message
    if value == "probb":
        assert "did you mean 'prob'?" in message


@pytest.mark.parametrize("role", ["y_pred", "y_logit", "sample_id", "cluster", "weight"])
def test_several_columns_for_a_role_of_one_are_refused(role: str) -> None:
    assert role in refusal(TABLE, **{**EVERYTHING, role: ["prob", "label"]})


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"a": "label"}, "is not a pair"),
        ({"a": ("label",)}, "is not a pair"),
        ({"a": ("label", "prob", "x")}, "is not a pair"),
        ({"a": ("label", "nope")}, "no column 'nope'"),
        ({"a": (1, 2)}, "is not a pair"),
        ({}, "labels={} is not a mapping"),
        ([("label", "prob")], "is not a mapping"),
        ("label", "labels='label' is not a mapping"),
    ],
)
def test_pairs_of_labels_that_cannot_be_are_refused(labels: Any, expected: str) -> None:
    assert expected in refusal({"label": [0, 1], "prob": [0.1, 0.9], "sex": [*"FM"]}, labels=labels)


# --- options


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"thresholds": "best"}, "threshold 'best' is not understood"),
        ({"thresholds": "tpr=2"}, "threshold 'tpr=2' is not understood"),
        ({"thresholds": "tpr="}, "threshold 'tpr=' is not understood"),
        ({"thresholds": math.nan}, "threshold nan is not understood"),
        ({"thresholds": math.inf}, "threshold inf is not understood"),
        ({"thresholds": True}, "threshold True is not understood"),
        ({"thresholds": [None]}, "threshold None is not understood"),
        ({"thresholds": [[0.5]]}, "threshold [0.5] is not understood"),
        ({"thresholds": {}}, "a mapping from by-key to number needs by="),
        ({"thresholds": {"A": "x", "B": 0.5}, "by": "model"}, "not all finite numbers"),
        ({"thresholds": []}, "thresholds=[] names no threshold"),
        ({"metrics": "aucc"}, "no metric 'aucc'; did you mean 'auc'?"),
        ({"metrics": []}, "names no metric"),
        ({"metrics": ["auc", 7]}, "7 is not the name of a metric"),
        ({"metrics": [None]}, "None is not the name of a metric"),
        ({"metrics": 7}, "metrics"),
        ({"metrics": "ece(bins=0)"}, "ece"),
        ({"metrics": "ece(bins=1e9)"}, "ece"),
        ({"metrics": "ece(x=1)"}, "ece"),
        ({"metrics": "partial_auc(fpr=(0.5, 0.2))"}, "partial_auc"),
        ({"metrics": "tpr_at_fpr(__import__('os'))"}, "cannot read the metric"),
        ({"metrics": "tpr_at_fpr(2)"}, "tpr_at_fpr"),
        ({"metrics": "tpr_at_fpr("}, "cannot read the metric"),
        ({"metrics": "dice"}, "no metric 'dice'"),
        ({"intersections": 0}, "intersections=0 is not understood"),
        ({"intersections": -1}, "intersections=-1 is not understood"),
        ({"intersections": True}, "intersections=True is not understood"),
        ({"intersections": 1.5}, "intersections=1.5 is not understood"),
        ({"intersections": "some"}, "intersections='some' is not understood"),
        ({"intersections": ["sex"]}, "intersections=['sex'] is not understood"),
        ({"intersections": [("sex",)]}, "is not understood"),
        ({"intersections": [("sex", "age")]}, "must name different attributes among 'sex'"),
        ({"intersections": [("sex", "sex")]}, "must name different attributes among 'sex'"),
        ({"intersections": None}, "intersections=None is not understood"),
        ({"intersections": [("sex", ["x"])]}, "is not understood"),
        ({"min_group_size": -1}, "min_group_size=-1 is not a whole number of rows"),
        ({"min_group_size": 1.5}, "min_group_size=1.5 is not a whole number of rows"),
        ({"min_group_size": None}, "min_group_size=None is not a whole number of rows"),
        ({"conventions": "x"}, "conventions='x' is not known"),
        ({"conventions": None}, "conventions=None is not known"),
        ({"conventions": ["standard"]}, "conventions=['standard'] is not known"),
        ({"score_type": "log"}, "score_type='log' is not known"),
        ({"score_type": None}, "score_type=None is not known"),
        ({"score_type": ["logit"]}, "score_type=['logit'] is not known"),
        ({"missing_scores": "keep"}, "missing_scores='keep' is not known"),
        ({"missing_labels": "keep"}, "missing_labels='keep' is not known"),
        ({"missing_groups": True}, "missing_groups=True is not known"),
        ({"missing_values": 7}, "missing_values=[7] are not all texts"),
        ({"missing_values": ["NA", 7]}, "are not all texts"),
        ({"bins": {"age": [40]}}, "bins= names 'age', which is not among the attributes 'sex'"),
        ({"bins": [40, 60]}, "bins=[40, 60] is not a mapping"),
        ({"bins": {"sex": [40]}}, "attribute 'sex' cannot be binned: 8 values are not numbers"),
        ({"bins": {"label": []}, "attributes": "label"}, "at least one finite cut point"),
        ({"bins": {"label": [math.nan]}, "attributes": "label"}, "at least one finite cut point"),
        ({"bins": {"label": 1}, "attributes": "label"}, "1 quantile groups make no sense"),
        ({"bins": {"label": True}, "attributes": "label"}, "bins for 'label'"),
        ({"bins": {"label": "40"}, "attributes": "label"}, "bins for 'label'"),
        ({"bins": {"label": None}, "attributes": "label"}, "bins for 'label'"),
        ({"bins": {"label": 10**9}, "attributes": "label"}, "1000000000 quantile groups make no sense"),
        ({"bins": {"label": range(10**6)}, "attributes": "label"}, "1,000,000 cut points make no groups"),
        ({"positive": 7}, "positive=7 does not occur in column 'label'"),
        ({"positive": "1"}, "positive='1' does not occur in column 'label'"),
        ({"positive": [1]}, "positive=[1]"),
        ({"ignore": [0, 1]}, "no row is left to evaluate"),
        ({"classes": [0, 1, 2]}, "classes=[0, 1, 2] names the columns of y_score, but there is only one"),
        ({"classes": 7}, "classes=7 is not a list of the classes"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any], expected: str) -> None:
    assert expected in refusal(TABLE, **{**EVERYTHING, "by": [], **options})


def test_problems_of_options_are_reported_together() -> None:
    message = refusal(TABLE, metrics="aucc", score_type="x", min_group_size=-1, conventions="x")

    assert message.startswith("4 problems:")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"sensitive_features": None}, "sensitive_features"),
        ({"sensitive_features": []}, "lengths differ"),
        ({"sensitive_features": {}}, "sensitive_features has no column"),
        ({"sensitive_features": "sex"}, "sensitive_features"),
        ({"sensitive_features": 7}, "sensitive_features"),
        ({"sensitive_features": np.zeros((2, 2, 2))}, "shape"),
        ({"y_score": None}, "y_score"),
        ({"y_score": [0.1]}, "lengths differ: y_true 2, y_score 1"),
        ({"y_score": "prob"}, "y_score must hold one value per sample"),
        ({"y_score": [object(), object()]}, "y_score"),
        ({"y_score": [[0.1, 0.9], [0.2]]}, "rows of different shapes"),
        ({"y_score": [1j, 2j]}, "y_score"),
        ({"y_true": 1}, "y_true"),
        ({"y_true": [[[0]], [[1]]]}, "y_true"),
        ({"sample_weight": [1]}, "lengths differ"),
        ({"sample_weight": [[1, 2], [3, 4]]}, "sample_weight must have one value per sample"),
        ({"bins": {"age": [40]}}, "bins= names 'age'"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(options: dict[str, Any], expected: str) -> None:
    arguments: dict[str, Any] = {"y_true": [0, 1], "y_score": [0.1, 0.9], "sensitive_features": ["a", "b"], **options}

    for function in (fmfair.evaluate_arrays, fmfair.auc_gap, fmfair.equalized_odds_score):
        with pytest.raises(FmfairError) as error:
            function(**arguments)
        assert expected in str(error.value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "give either dice, or both pred_masks and true_masks"),
        ({"dice": [0.1, 0.2], "pred_masks": [[[1]], [[1]]]}, "give either dice, or both pred_masks and true_masks"),
        ({"pred_masks": [[[1]], [[1]]]}, "true_masks"),
        ({"dice": [0.1, 7.0]}, "outside [0, 1]"),
        ({"dice": ["x", "y"]}, "expected numbers"),
        ({"dice": [0.1]}, "lengths differ"),
        ({"dice": [0.1, 0.2], "empty": "x"}, "empty"),
        ({"dice": [0.1, 0.2], "mask_type": "x"}, "mask_type"),
        ({"pred_masks": ["nope.png", "nope.png"], "true_masks": ["nope.png", "nope.png"]}, "nope.png"),
        ({"pred_masks": [[[1]], [[math.nan]]], "true_masks": [[[1]], [[1]]]}, "NaN"),
        ({"pred_masks": [[[1]]], "true_masks": [[[1]]]}, "lengths differ"),
    ],
)
def test_masks_and_dice_that_cannot_be_used_are_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(FmfairError) as error:
        fmfair.dice_gap(**options, sensitive_features=["a", "b"])
    assert expected in str(error.value)
