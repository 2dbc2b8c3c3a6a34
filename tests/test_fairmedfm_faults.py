"""Where the published package fairmedfm 0.4.2 misreads or cannot take its input: what it does, and what fmfair does.

fmfair reproduces its numbers on valid input. On the rest it gives an error that says what is wrong, or the right
value; `ours` are the same conventions all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairmedfm_support import (
    AB,
    LABELS,
    SCORES,
    approx,
    assert_same,
    groups_of,
    groups_of_package,
    numbers_of,
    ours,
    ours_scalar,
    theirs,
    theirs_scalar,
)

from fmfair import FmfairError

NAN = float("nan")
MATRIX = np.column_stack([1 - np.array(SCORES), SCORES])


# --- Missing values ---------------------------------------------------------------------------------------------------

MISSING_LABEL: dict[str, Callable[[list[Any]], Any]] = {
    "NaN in a list": lambda y: [NAN if v is None else v for v in y],
    "null in a Polars Int64": lambda y: pl.Series(y, dtype=pl.Int64),
    "NA in a pandas Int64": lambda y: pd.Series(y, dtype="Int64"),
    "NaN in a pandas float": lambda y: pd.Series(y, dtype="float64"),
}


@pytest.mark.parametrize("form", MISSING_LABEL.values(), ids=MISSING_LABEL)
def test_fc_02_a_missing_label_counts_as_negative_there_and_is_an_error_here(form: Callable[[list[Any]], Any]) -> None:
    y_true = form([0, 1, None, 1, 0, 1, 0, 1])
    arguments = (y_true, [0.3, 0.8, 0.9, 0.6, 0.2, 0.7, 0.75, 0.35])
    options: dict[str, Any] = {"sensitive_features": AB, "pos_label": 1}
    assert theirs_scalar("auc_gap", *arguments, **options) == 0.0
    with pytest.raises(FmfairError, match=r"y_true.*1 missing value \(row 2"):
        ours_scalar("auc_gap", *arguments, **options)
    assert ours_scalar("auc_gap", *arguments, **options, conventions="standard") == 0.5


@pytest.mark.parametrize("y_true", [[0, 1, None, 1, 0, 1, 0, 1], pl.Series([False, True, None, True] * 2)])
@pytest.mark.parametrize("pos_label", [None, True])
def test_a_missing_label_among_objects_crashes_there(y_true: Any, pos_label: Any) -> None:
    with pytest.raises(TypeError):
        theirs(y_true, SCORES, AB, pos_label=pos_label)
    with pytest.raises(FmfairError, match="missing value"):
        ours(y_true, SCORES, AB, pos_label=pos_label)


def test_without_pos_label_a_missing_label_leads_there_to_the_advice_to_give_one() -> None:
    y_true = [0, 1, NAN, 1, 0, 1, 0, 1]
    with pytest.raises(ValueError, match="pass pos_label"):
        theirs(y_true, SCORES, AB)
    with pytest.raises(FmfairError, match=r"1 missing value \(row 2"):
        ours(y_true, SCORES, AB)


FC_01 = ([0, 1, 0, 1, 0, 1, 1, 0, 1, 0], [0.2, 0.7, 0.4, 0.3, 0.1, 0.6, 0.8, 0.5, 0.05, 0.95])
KNOWN_GROUP = ["a"] * 4 + ["b"] * 4
MISSING_GROUP: dict[str, Any] = {
    "None in a list": [*KNOWN_GROUP, None, None],
    "NaN in an array of objects": np.array([*KNOWN_GROUP, NAN, NAN], dtype=object),
    "Polars null": pl.Series([*KNOWN_GROUP, None, None]),
    "pandas NaN": pd.Series([*KNOWN_GROUP, NAN, NAN]),
    "pandas NA": pd.Series([*KNOWN_GROUP, pd.NA, pd.NA], dtype="string"),
    "float codes with NaN": np.array([1.0] * 4 + [2.0] * 4 + [NAN, NAN]),
    "float codes with None": [*[1.0] * 4, *[2.0] * 4, NAN, None],
}


@pytest.mark.parametrize("group", MISSING_GROUP.values(), ids=MISSING_GROUP)
def test_fc_01_rows_without_a_group_are_left_out_by_both(group: Any) -> None:
    report = ours(*FC_01, group)
    assert_same(report, theirs(*FC_01, group))
    assert report.summary.select("n", "n_groups").row(0) == (8, 2)
    assert report.summary.select("auc-gap", "worst-auc", "overall-auc").row(0) == approx((0.25, 0.75, 0.875))
    assert numbers_of(report)["overall", "auc"] == approx(0.56)
    assert any("2 rows with a missing value" in note for note in report.notes)


def test_fc_01_nan_in_a_list_is_a_group_there_and_missing_here() -> None:
    group = [*KNOWN_GROUP, NAN, NAN]
    assert set(groups_of_package(theirs(*FC_01, group))) == {"nan", "a", "b"}
    assert theirs_scalar("auc_gap", *FC_01, sensitive_features=group) == 1.0
    report = ours(*FC_01, group)
    assert groups_of(report) == ["a", "b"]
    assert report.summary["auc-gap"].item() == 0.25


@pytest.mark.parametrize("bad", [NAN, None])
def test_a_missing_score_is_an_error_in_both(bad: Any) -> None:
    with pytest.raises(ValueError, match="y_score contains NaN"):
        theirs(LABELS, [*SCORES[:7], bad], AB)
    with pytest.raises(FmfairError, match=r"1 missing \(NULL or NaN\) \(row 7"):
        ours(LABELS, [*SCORES[:7], bad], AB)


def test_an_attribute_that_every_row_lacks_crashes_there_and_is_listed_without_numbers_here() -> None:
    nobody = np.array([None] * 8)
    with pytest.raises(KeyError):
        theirs(LABELS, SCORES, {"sex": nobody})
    assert ours(LABELS, SCORES, {"sex": nobody}).summary.select("n", "n_groups", "auc-gap").row(0) == (0, 0, None)
    # Beside another attribute it is listed in both; its intersection has no row either.
    both = {"sex": nobody, "site": AB}
    report = ours(LABELS, SCORES, both, intersections=[("sex", "site")])
    assert_same(report, theirs(LABELS, SCORES, both, intersectional=True))


# --- Labels and score columns -----------------------------------------------------------------------------------------

# FC-38: classes 1, 2 and 3, of which 3 does not occur in the test data; 2 is the positive class.
THREE = np.array(
    [
        [0.70, 0.20, 0.10],
        [0.10, 0.60, 0.30],
        [0.20, 0.70, 0.10],
        [0.80, 0.15, 0.05],
        [0.60, 0.30, 0.10],
        [0.30, 0.60, 0.10],
        [0.10, 0.25, 0.65],
        [0.90, 0.05, 0.05],
    ]
)
ONE_OR_TWO = [1, 2, 2, 1, 1, 2, 2, 1]


def test_fc_38_pos_label_is_taken_for_a_column_number_there() -> None:
    arguments = (ONE_OR_TWO, THREE)
    options: dict[str, Any] = {"sensitive_features": AB, "pos_label": 2}
    assert theirs_scalar("worst_group_auc", *arguments, **options) == 0.875
    with pytest.raises(FmfairError, match="3 columns but y_true has 2 distinct labels"):
        ours_scalar("worst_group_auc", *arguments, **options)
    report = ours(*arguments, AB, pos_label=2, classes=[1, 2, 3])
    numbers = numbers_of(report)
    assert (numbers["group", "sensitive", "a", "auc"], numbers["group", "sensitive", "b", "auc"]) == (1.0, 0.75)


def test_of_two_columns_for_three_labels_the_second_is_taken_there() -> None:
    # Column 1 is class b, and a the positive class.
    y_true = list("abcaabcc")
    assert theirs(y_true, THREE[:, :2], AB, pos_label="a").metadata["score_column"] == 1
    with pytest.raises(FmfairError, match="2 columns but y_true has 3 distinct labels"):
        ours(y_true, THREE[:, :2], AB, pos_label="a")


def test_one_hot_labels_with_positive_0_are_scored_by_column_1_there() -> None:
    one_hot = np.eye(2)[LABELS]
    right = theirs_scalar("worst_group_auc", LABELS, SCORES, sensitive_features=AB)
    assert theirs_scalar("worst_group_auc", one_hot, MATRIX, sensitive_features=AB, pos_label=0) == approx(0.0)
    assert ours_scalar("worst_group_auc", one_hot, MATRIX, sensitive_features=AB, pos_label=0) == right == 0.75


def test_columns_with_names_are_taken_in_sorted_order_there_and_by_name_here() -> None:
    y_true = ["malignant" if y else "benign" for y in LABELS]
    by_name = pd.DataFrame({"malignant": SCORES, "benign": 1 - np.array(SCORES)})
    options: dict[str, Any] = {"sensitive_features": AB, "pos_label": "malignant"}
    assert theirs_scalar("worst_group_auc", y_true, by_name, **options) == approx(0.0)
    assert ours_scalar("worst_group_auc", y_true, by_name, **options) == 0.75


def test_several_findings_per_row_are_read_as_one_hot_there() -> None:
    findings = np.array([[1, 1], [0, 1], [0, 0], [1, 1], [0, 1], [1, 0], [0, 1], [1, 0]])
    # argmax makes the rows with both findings and with none negatives.
    assert theirs(findings, SCORES, AB).overall["tp"] == 3
    with pytest.raises(FmfairError, match=r"3 rows \(rows 0, 2, 3.*do not hold exactly one 1"):
        ours(findings, SCORES, AB)


def test_true_is_not_the_label_1_here() -> None:
    assert theirs_scalar("auc_gap", LABELS, SCORES, sensitive_features=AB, pos_label=True) == 0.25
    with pytest.raises(FmfairError, match="True does not occur"):
        ours_scalar("auc_gap", LABELS, SCORES, sensitive_features=AB, pos_label=True)


def test_labels_of_one_class_are_an_error_there_and_give_no_numbers_here() -> None:
    with pytest.raises(ValueError, match="only one class"):
        theirs([0] * 8, SCORES, AB)
    report = ours([0] * 8, SCORES, AB)
    assert report.summary.select("n", "n_groups", "overall-auc", "auc-gap").row(0) == (8, 0, None, None)
    assert set(report.groups["note"]) == {"skipped: only label 0"}


# --- Scores -----------------------------------------------------------------------------------------------------------


def test_an_infinite_score_is_a_logit_there_and_an_error_here() -> None:
    scores = [*SCORES[:7], np.inf]
    assert theirs(LABELS, scores, AB).metadata["score_transform"] == "sigmoid"
    with pytest.raises(FmfairError, match=r"1 infinite \(row 7"):
        ours(LABELS, scores, AB)


def test_an_infinite_score_in_a_matrix_crashes_there() -> None:
    matrix = MATRIX.copy()
    matrix[0, 0] = np.inf
    with pytest.raises(ValueError, match="Input contains NaN"):
        theirs(LABELS, matrix, AB)
    with pytest.raises(FmfairError, match=r"1 infinite \(row 0"):
        ours(LABELS, matrix, AB)


def test_class_columns_outside_0_and_1_pass_as_probabilities_there() -> None:
    options: dict[str, Any] = {"sensitive_features": AB, "score_type": "probability"}
    assert np.isnan(theirs_scalar("bce_gap", LABELS, MATRIX * 1.5, **options))
    with pytest.raises(FmfairError, match=r"outside \[0, 1\]"):
        ours_scalar("bce_gap", LABELS, MATRIX * 1.5, **options)


def test_columns_of_independent_probabilities_are_read_as_logits_by_both_but_not_by_the_standard_conventions() -> None:
    # Sigmoid outputs of two findings; the second one is asked for.
    matrix = np.column_stack([np.array(SCORES)[::-1], SCORES])
    report, reference = ours(LABELS, matrix, AB), theirs(LABELS, matrix, AB)
    assert_same(report, reference)
    assert reference.metadata["score_transform"] == "softmax"
    assert any("read as logit" in note for note in report.notes)
    standard = ours(LABELS, matrix, AB, conventions="standard")
    assert standard.summary["overall-auc"].item() == numbers_of(ours(LABELS, SCORES, AB))["overall", "auc"]


SPACING = float(np.spacing(0.5))
# Group a: two probabilities that differ in the last digit, as a sigmoid makes them of 36.6 and 36.8.
LAST_DIGIT = [36.6, 36.8, 36.8, 36.6, -1.0, 2.0, 3.0, -2.0]
# Group a: four probabilities within some hundred last digits, so that the lowest falls out of the package's bins.
NARROW = [0.5, 0.5 + 20 * SPACING, 0.5 + 50 * SPACING, 0.5 + 100 * SPACING, 0.1, 0.9, 0.4, 0.6]


@pytest.mark.parametrize("scores", [LAST_DIGIT, [5e-324] * 8], ids=["two neighbouring numbers", "a constant near 0"])
def test_scores_that_hardly_differ_crash_its_calibration_error(scores: list[float]) -> None:
    with pytest.raises(ValueError, match="Bin edges must be unique"):
        theirs(LABELS, scores, AB)
    numbers = numbers_of(ours(LABELS, scores, AB))
    # Two bins of two, or one bin of four: the labels in a bin are half 0 and half 1, the scores 1 or 0.
    assert numbers["group", "sensitive", "a", "ece"] == approx(0.5)


def test_the_lowest_of_close_scores_falls_out_of_its_bins_and_the_gap_then_depends_on_the_order_of_the_groups() -> None:
    swapped = list("bbbbaaaa")
    assert np.isnan(theirs_scalar("ece_gap", LABELS, NARROW, sensitive_features=AB))
    assert theirs_scalar("ece_gap", LABELS, NARROW, sensitive_features=swapped) == 0.0
    numbers = numbers_of(ours(LABELS, NARROW, AB))
    assert numbers["group", "sensitive", "a", "ece"] == approx(0.5)
    assert numbers["group", "sensitive", "b", "ece"] == approx((0.9 + 0.9 + 0.6 + 0.6) / 4)
    for group in (AB, swapped):
        assert ours_scalar("ece_gap", LABELS, NARROW, sensitive_features=group) == approx(0.25)
