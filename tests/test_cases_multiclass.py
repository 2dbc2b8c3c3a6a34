"""Several classes: which score column belongs to the positive class, and scores that are no probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lookup import DOORS, Door, assert_honest, by_group, from_arrays, gap, warned

import fmfair
from fmfair import FmfairError

# A model of three classes on a split in which the third does not occur.
TRUTH = [1, 2, 2, 1, 1, 2, 2, 1]
MATRIX = [
    [0.7, 0.2, 0.1],
    [0.1, 0.6, 0.3],
    [0.2, 0.7, 0.1],
    [0.8, 0.15, 0.05],
    [0.6, 0.3, 0.1],
    [0.3, 0.6, 0.1],
    [0.1, 0.25, 0.65],
    [0.9, 0.05, 0.05],
]
GROUP = [*"aaaabbbb"]
COLUMNS = [[row[k] for row in MATRIX] for k in range(3)]


@pytest.mark.parametrize(
    "score",
    [MATRIX, np.array(MATRIX), pl.DataFrame(MATRIX, orient="row"), pd.DataFrame(MATRIX)],
    ids=["list", "NumPy", "Polars", "pandas"],
)
def test_fc38_without_names_three_columns_for_two_labels_are_an_error(score: Any) -> None:
    message = r"y_score has 3 columns but y_true has 2 distinct labels \(1, 2\); name the classes of the columns"

    with pytest.raises(FmfairError, match=message):
        fmfair.worst_group_auc(TRUTH, score, sensitive_features=GROUP, pos_label=2)
    with pytest.raises(FmfairError, match=message):
        fmfair.evaluate_arrays(TRUTH, score, sensitive_features=GROUP, pos_label=2)


@pytest.mark.parametrize("classes", [[1, 2, 3], ["1", "2", "3"], [1.0, 2.0, 3.0], np.array([1, 2, 3])])
def test_fc38_with_the_classes_named_the_right_column_is_scored(classes: Any) -> None:
    report = fmfair.evaluate_arrays(TRUTH, MATRIX, sensitive_features=GROUP, pos_label=2, classes=classes)

    # pos_label as a column number gives 0.875 in both groups.
    assert by_group(report, "auc") == {"a": 1.0, "b": 0.75}
    assert gap(report, "auc") == 0.25


def test_fc38_in_a_table_the_named_classes_belong_to_the_columns_in_their_order() -> None:
    table = {"label": TRUTH, **{f"prob_{k}": c for k, c in enumerate(COLUMNS)}, "sex": GROUP}

    with pytest.raises(FmfairError, match="name the classes of the columns in order with classes="):
        fmfair.evaluate(table, positive=2)

    report = fmfair.evaluate(table, positive=2, classes=[1, 2, 3])
    assert by_group(report, "auc") == {"a": 1.0, "b": 0.75}


@pytest.mark.parametrize("order", [["normal", "covid", "other"], ["other", "normal", "covid"]])
def test_fc38_columns_that_bear_the_names_of_the_classes_are_matched_by_name(order: list[str]) -> None:
    names = {1: "normal", 2: "covid", 3: "other"}
    columns = dict(zip(names.values(), COLUMNS, strict=True))
    label = [names[y] for y in TRUTH]

    arrays = fmfair.evaluate_arrays(
        label, pl.DataFrame({n: columns[n] for n in order}), sensitive_features=GROUP, pos_label="covid"
    )
    table = fmfair.evaluate(
        {"label": label, **{f"prob {n}": columns[n] for n in order}, "sex": GROUP},
        y_score=[f"prob {n}" for n in order],
        positive="covid",
    )

    for report in (arrays, table):
        assert by_group(report, "auc") == {"a": 1.0, "b": 0.75}


def test_fc38_as_many_labels_as_columns_are_matched_in_sorted_order() -> None:
    truth = [*TRUTH, 3, 3]
    matrix = [*MATRIX, [0.1, 0.1, 0.8], [0.2, 0.3, 0.5]]

    report = fmfair.evaluate_arrays(truth, matrix, sensitive_features=[*GROUP, "a", "b"], pos_label=2)

    assert by_group(report, "auc") == {"a": 1.0, "b": pytest.approx(4 / 6)}
    assert [n for n in report.notes if "2 against the rest; '1', '3' count as negative" in n]


def test_fc38_several_labels_without_a_positive_are_an_error() -> None:
    with pytest.raises(FmfairError, match="say which is the positive class with pos_label="):
        fmfair.evaluate_arrays([1, 2, 3, 1], MATRIX[:4], sensitive_features=[*"aabb"], classes=[1, 2, 3])


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([1, 2], "classes= names 2 classes, but y_score has 3 columns"),
        ([4, 5, 6], "pos_label=2 is not among classes="),
        ([1, 2, 2], "names '2' twice"),
    ],
)
def test_fc38_classes_that_do_not_fit_are_an_error(classes: list[int], message: str) -> None:
    with pytest.raises(FmfairError, match=message):
        fmfair.evaluate_arrays(TRUTH, MATRIX, sensitive_features=GROUP, pos_label=2, classes=classes)


def test_fc38_a_positive_class_that_does_not_occur_is_an_error() -> None:
    with pytest.raises(FmfairError, match="pos_label=3 does not occur in column 'y_true', which has the values 1, 2"):
        fmfair.evaluate_arrays(TRUTH, MATRIX, sensitive_features=GROUP, pos_label=3, classes=[1, 2, 3])


def test_fc38_two_columns_for_labels_0_and_1_are_taken_as_they_come() -> None:
    truth = [y - 1 for y in TRUTH]
    matrix = [[1 - row[1], row[1]] for row in MATRIX]

    report = from_arrays(truth, matrix, GROUP)

    assert by_group(report, "auc") == {"a": 1.0, "b": 0.75}


# Only one prompt was scored: its softmax is 1 for every image, its cosine is not.
PROMPT_TRUTH = [0, 1, 0, 1, 0, 1, 1, 0]
COSINE = [0.21, 0.25, 0.19, 0.24, 0.23, 0.22, 0.26, 0.2]


@pytest.mark.parametrize("score", [[1.0] * 8, [[1.0]] * 8, np.ones((8, 1))], ids=["list", "rows", "NumPy"])
def test_fc40_a_constant_score_is_warned_of(score: Any) -> None:
    report = fmfair.evaluate_arrays(PROMPT_TRUTH, score, sensitive_features=GROUP)
    worst, told = warned(fmfair.worst_group_auc, PROMPT_TRUTH, score, sensitive_features=GROUP)

    assert by_group(report, "auc") == {"a": 0.5, "b": 0.5}
    assert gap(report, "auc") == 0.0
    assert [n for n in report.notes if "y_score is constant" in n]
    assert worst == 0.5
    assert "y_score is constant" in told


def test_fc40_a_constant_score_in_a_table_is_noted() -> None:
    report = fmfair.evaluate({"label": PROMPT_TRUTH, "prob": [1.0] * 8, "sex": GROUP})

    assert [n for n in report.notes if "y_score is constant" in n]


def test_fc40_a_score_that_is_constant_for_one_model_only_is_noted() -> None:
    table = {"model": [*"AAAAAAAABBBBBBBB"], "label": PROMPT_TRUTH * 2, "prob": COSINE + [1.0] * 8, "sex": GROUP * 2}

    report = fmfair.evaluate(table)

    assert [n for n in report.notes if "y_score is constant in 1 of 2 by-keys (B)" in n]


@DOORS
@pytest.mark.parametrize("conventions", ["standard", "fairmedfm"])
def test_fc40_the_cosine_ranks(door: Door, conventions: str) -> None:
    report = door(PROMPT_TRUTH, COSINE, GROUP, conventions=conventions)

    assert by_group(report, "auc") == {"a": 1.0, "b": 0.75}
    assert gap(report, "auc") == 0.25


@DOORS
def test_fc40_a_cosine_that_is_called_a_rank_has_no_calibration(door: Door) -> None:
    report = door(PROMPT_TRUTH, COSINE, GROUP, score_type="rank", metrics="all")

    assert by_group(report, "auc") == {"a": 1.0, "b": 0.75}
    for metric in ("bce", "brier", "ece", "calibration_slope", "accuracy", "tpr"):
        assert by_group(report, metric) == {"a": None, "b": None}
        assert set(by_group(report, metric, "note").values()) == {"the score is not a probability"}
    assert_honest(report)


def test_fc40_the_scalars_of_calibration_are_undefined_for_a_rank() -> None:
    for function in (fmfair.ece_gap, fmfair.bce_gap):
        value, told = warned(function, PROMPT_TRUTH, COSINE, sensitive_features=GROUP, score_type="rank")
        assert math.isnan(value)
        assert "the score is not a probability" in told


@DOORS
def test_fc40_a_rank_takes_thresholds_on_its_own_scale(door: Door) -> None:
    report = door(PROMPT_TRUTH, COSINE, GROUP, score_type="rank", thresholds=[0.22, "best_f1"])

    assert by_group(report, "tpr", threshold_rule="fixed") == {"a": 1.0, "b": 1.0}
    assert by_group(report, "tnr", threshold_rule="fixed") == {"a": 1.0, "b": 0.5}


@DOORS
def test_fc40_similarities_outside_the_unit_interval_are_never_taken_for_probabilities(door: Door) -> None:
    scaled = [100 * c for c in COSINE]

    report = door(PROMPT_TRUTH, scaled, GROUP)

    assert report.metadata["score_type"] == "rank"
    assert by_group(report, "auc") == {"a": 1.0, "b": 0.75}
    assert set(by_group(report, "ece").values()) == {None}
    assert [n for n in report.notes if "read as rank (scores from 19 to 26)" in n]
