"""Groups, folds and tables in which only one class occurs."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from lookup import DOORS, Door, assert_honest, by_group, gap, summary, warned
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import make_scorer
from sklearn.model_selection import PredefinedSplit, cross_validate

import fmfair
from fmfair import FmfairError

# Site c has healthy patients only: no AUC and no TPR, but the worst accuracy, TNR and cross-entropy.
TRUTH = [0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0]
SCORE = [0.1, 0.9, 0.6, 0.8, 0.7, 0.3, 0.55, 0.4, 0.9, 0.8, 0.2]
SITE = ["a"] * 4 + ["b"] * 4 + ["c"] * 3


@DOORS
def test_fc06_a_group_without_positives_loses_only_what_is_undefined_there(door: Door) -> None:
    report = door(TRUTH, SCORE, SITE, thresholds=0.5, metrics="all")

    assert by_group(report, "auc") == {"a": 1.0, "b": 1.0, "c": None}
    assert by_group(report, "tpr") == {"a": 1.0, "b": 1.0, "c": None}
    assert by_group(report, "auc", "note")["c"] == "no positives"
    assert by_group(report, "tpr", "note")["c"] == "no positives"
    assert by_group(report, "accuracy") == {"a": 0.75, "b": 1.0, "c": 1 / 3}
    assert by_group(report, "tnr") == {"a": 0.5, "b": 1.0, "c": 1 / 3}
    assert by_group(report, "bce") == pytest.approx(
        {"a": 0.3375388286260043, "b": 0.455503128099769, "c": 1.3783888522474521}, abs=1e-12
    )
    assert by_group(report, "selection_rate") == {"a": 0.75, "b": 0.5, "c": 2 / 3}
    assert by_group(report, "brier")["c"] == pytest.approx((0.81 + 0.64 + 0.04) / 3)
    # Bins 0.2, 0.8 and 0.9 hold one negative each.
    assert by_group(report, "ece")["c"] == pytest.approx((0.9 + 0.8 + 0.2) / 3)
    assert_honest(report)


@DOORS
def test_fc06_gaps_hold_the_group_where_it_is_defined_and_say_where_it_is_not(door: Door) -> None:
    report = door(TRUTH, SCORE, SITE, thresholds=0.5)

    assert gap(report, "auc") == 0.0
    assert gap(report, "tpr") == 0.0
    assert gap(report, "equal_opportunity") == 0.0
    assert gap(report, "accuracy") == pytest.approx(2 / 3)
    assert gap(report, "tnr") == pytest.approx(2 / 3)
    assert gap(report, "bce") == pytest.approx(1.0408500236214477, abs=1e-12)
    assert (gap(report, "auc", column="n_groups"), gap(report, "accuracy", column="n_groups")) == (2, 3)
    assert gap(report, "accuracy", column="worst_group") == "c"
    assert gap(report, "bce", column="worst_group") == "c"
    assert summary(report, "n_groups") == 3
    # The TPR is compared between two groups and the TNR between three: 1 - (0 + 2/3) / 2.
    assert summary(report, "eod") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("function", "expected", "undefined"),
    [
        (fmfair.auc_gap, 0.0, "auc is undefined for 1 of 3 groups, which are left out: c (no positives)"),
        (fmfair.worst_group_auc, 1.0, "auc is undefined for 1 of 3 groups"),
        (fmfair.accuracy_gap, 2 / 3, ""),
        (fmfair.bce_gap, 1.0408500236214477, ""),
        (fmfair.equal_opportunity_difference, 0.0, "tpr is undefined for 1 of 3 groups"),
        (fmfair.equalized_odds_score, 2 / 3, "tpr is undefined for 1 of 3 groups"),
    ],
)
def test_fc06_the_scalars_warn_of_the_group_that_they_leave_out(function: Any, expected: float, undefined: str) -> None:
    value, told = warned(function, TRUTH, SCORE, sensitive_features=SITE, threshold=0.5)

    assert value == pytest.approx(expected, abs=1e-12)
    assert undefined in told
    assert bool(told) == bool(undefined)


@DOORS
def test_fc06_a_group_without_negatives_is_the_mirror_image(door: Door) -> None:
    flipped = [1 - y for y in TRUTH]

    report = door(flipped, [1 - p for p in SCORE], SITE, thresholds=0.5, metrics="all")

    assert by_group(report, "auc") == {"a": 1.0, "b": 1.0, "c": None}
    assert by_group(report, "tnr")["c"] is None
    assert by_group(report, "tnr", "note")["c"] == "no negatives"
    assert by_group(report, "tpr")["c"] == pytest.approx(1 / 3)
    assert by_group(report, "accuracy")["c"] == pytest.approx(1 / 3)
    assert gap(report, "tpr") == pytest.approx(2 / 3)
    assert_honest(report)


@DOORS
def test_fc06_when_no_group_has_both_classes_there_is_no_gap_but_accuracy_has_one(door: Door) -> None:
    report = door([0, 0, 1, 1], [0.1, 0.7, 0.8, 0.9], ["a", "a", "b", "b"])

    assert by_group(report, "auc") == {"a": None, "b": None}
    assert gap(report, "auc") is None
    assert gap(report, "auc", column="note") == "0 of 2 groups can be compared: no positives; no negatives"
    assert gap(report, "auc", "worst") is None
    assert gap(report, "accuracy") == 0.5
    assert_honest(report)


# Two folds; in the second each group has one class.
FEATURE = [0.3, 0.9, 0.2, 0.4, 0.1, 0.6, 0.5, 0.8, 0.7, 0.9, 0.2, 0.3]
LABEL = [0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0]
GROUP = [*"aaaabbbbaabb"]
FOLD = [0] * 8 + [1] * 4


class Echo(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier whose probability of the positive class is its only feature."""

    def fit(self, features: Any, y: Any) -> Echo:
        self.classes_ = np.unique(y)
        self.n_features_in_ = features.shape[1]
        return self

    def predict_proba(self, features: Any) -> Any:
        return np.column_stack([1 - features[:, 0], features[:, 0]])


def test_fc07_an_undefined_fold_of_a_cross_validation_is_nan_and_says_why() -> None:
    scorer = make_scorer(fmfair.auc_gap, response_method="predict_proba", greater_is_better=False)
    features, labels = np.array(FEATURE)[:, None], np.array(LABEL)

    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = cross_validate(
            Echo(),
            features,
            labels,
            cv=PredefinedSplit(FOLD),
            scoring=scorer.set_score_request(sensitive_features=True),
            params={"sensitive_features": np.array(GROUP)},
        )["test_score"]

    assert scores[0] == pytest.approx(-0.5)
    assert math.isnan(scores[1])
    assert any("difference of auc across sensitive is undefined" in str(w.message) for w in caught)


def test_fc07_the_undefined_fold_in_a_direct_call() -> None:
    rows = [i for i, fold in enumerate(FOLD) if fold == 1]

    value, told = warned(
        fmfair.auc_gap,
        [LABEL[i] for i in rows],
        [[1 - FEATURE[i], FEATURE[i]] for i in rows],
        sensitive_features=[GROUP[i] for i in rows],
    )

    assert math.isnan(value)
    assert "0 of 2 groups can be compared: no negatives; no positives" in told


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("function", [fmfair.auc_gap, fmfair.worst_group_auc])
def test_fc07_one_class_in_the_whole_data_is_nan_with_the_reason(function: Any, label: int) -> None:
    value, told = warned(function, [label] * 4, [0.1, 0.2, 0.3, 0.4], sensitive_features=[*"aabb"])

    assert math.isnan(value)
    assert ("no positives", "no negatives")[label] in told


def test_fc07_best_f1_without_positives_is_nan_with_the_reason() -> None:
    value, told = warned(fmfair.accuracy_gap, [0] * 4, [0.1, 0.2, 0.3, 0.4], sensitive_features=[*"aabb"])

    assert math.isnan(value)
    assert "no positives" in told


@DOORS
def test_fc07_the_whole_table_with_one_class_keeps_what_is_defined(door: Door) -> None:
    report = door([0] * 4, [0.1, 0.6, 0.3, 0.4], [*"aabb"], metrics="all", thresholds=[0.5, "best_f1", "youden"])

    assert by_group(report, "tnr", threshold_rule="fixed") == {"a": 0.5, "b": 1.0}
    assert by_group(report, "tnr", threshold_rule="best_f1") == {"a": None, "b": None}
    assert by_group(report, "tnr", "note", threshold_rule="best_f1") == {"a": "no positives", "b": "no positives"}
    assert_honest(report)


def test_fc07_one_group_only_has_no_gap_and_a_reason() -> None:
    value, told = warned(fmfair.auc_gap, [0, 1], [0.1, 0.9], sensitive_features=["a", "a"])

    assert math.isnan(value)
    assert "1 of 1 groups can be compared" in told


def test_fc07_no_group_at_all_has_no_gap_and_a_reason() -> None:
    value, told = warned(fmfair.auc_gap, [0, 1], [0.1, 0.9], sensitive_features=[None, None])

    assert math.isnan(value)
    assert "2 rows with a missing value left out" in told


def test_fc07_labels_that_are_all_missing_are_an_error() -> None:
    with pytest.raises(FmfairError, match=r"no row is left to evaluate .*2 rows with a missing label"):
        fmfair.auc_gap([None, None], [0.1, 0.9], sensitive_features=["a", "b"])


@DOORS
def test_fc07_an_attribute_that_no_row_has_is_listed_with_no_groups(door: Door) -> None:
    report = door([0, 1, 1], [0.1, 0.9, 0.3], [None] * 3)

    assert report.groups.is_empty()
    assert (summary(report, "n"), summary(report, "n_groups"), summary(report, "auc-gap")) == (0, 0, None)
    assert gap(report, "auc", column="note") == "0 of 0 groups can be compared"
    assert [n for n in report.notes if "3 rows with a missing value left out" in n]
    assert_honest(report)


def test_fc07_an_attribute_that_one_model_lacks_is_listed_for_it_with_no_groups() -> None:
    table = {
        "model": [*"AAAABBBB"],
        "label": [0, 1, 0, 1] * 2,
        "prob": [0.1, 0.9, 0.8, 0.3] * 2,
        "sex": [*"FFMM", None, None, None, None],
    }

    report = fmfair.evaluate(table)

    assert report.summary.select("model", "n", "n_groups", "auc-gap").rows() == [("A", 4, 2, 1.0), ("B", 0, 0, None)]
    assert gap(report, "auc", model="B") is None
    assert gap(report, "auc", column="note", model="B") == "0 of 0 groups can be compared"
