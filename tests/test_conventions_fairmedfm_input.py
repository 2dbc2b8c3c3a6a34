"""The rows of the convention table about input, in the column `fairmedfm`; a test's name names its row.

The numbers are computed by hand, and where the package takes the same input they are compared with its own.
"""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairmedfm_support import assert_same, ours, theirs, theirs_scalar, theirs_segmentation
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


def _refused(message: str, *arguments: Any, **options: Any) -> None:
    """An error whatever the options that ask for tolerance say."""
    with pytest.raises(FmfairError, match=message):
        ours(*arguments, **options)
    with pytest.raises(FmfairError, match=message):
        ours(*arguments, missing_labels="drop", missing_scores="drop", **options)


def test_row_missing_label__fairmedfm() -> None:
    # The package takes a missing label for a negative wherever the positive class is named.
    for label in ([*TRUTH[:7], None], [*TRUTH[:7], math.nan], pd.Series([*TRUTH[:7], None], dtype="Int64")):
        _refused(r"column 'y_true' has 1 missing value \(row 7\)", label, SCORE, GROUP)
        _refused(r"column 'y_true' has 1 missing value \(row 7\)", label, SCORE, GROUP, pos_label=1)


@pytest.mark.parametrize("bad", [None, math.nan, math.inf, -math.inf])
def test_row_missing_score__fairmedfm(bad: float | None) -> None:
    _refused(r"column 'y_score' has 1 score that cannot be used: 1 .*\(row 7\)", TRUTH, [*SCORE[:7], bad], GROUP)


def test_row_missing_dice__fairmedfm() -> None:
    dice, group = [0.9, None, math.nan, 0.5], [*"aabc"]

    report = fmfair.evaluate_segmentation({"dice": dice, "g": group}, attributes="g", conventions="fairmedfm")

    assert by_group(report, "dice") == {"a": 0.9, "b": None, "c": 0.5}
    assert by_group(report, "dice", "n") == {"a": 1, "b": 0, "c": 1}
    # The package gives the same numbers and hides the group.
    reference = theirs_segmentation({"g": group}, dice=np.array(dice, dtype=float))
    assert_same(report, reference)
    assert list(reference.by_group.index) == [("g", "a"), ("g", "c")]


def test_row_mask_values__fairmedfm() -> None:
    # The first mask has values outside [0, 1] and is cut at 0, the second is cut at 0.5.
    pred = [np.array([[-2.0, 0.3]]), np.array([[0.1, 0.3]]), np.array([[0.5, 0.4]]), np.array([[1, 255]], np.uint8)]
    true = [[[0, 1]], [[1, 1]], [[1, 0]], [[1, 1]]]
    arguments: dict[str, Any] = {"pred_masks": pred, "true_masks": true, "sensitive_features": [*"abcd"]}

    value, _ = warned(fmfair.worst_group_dice, **arguments, conventions="fairmedfm")
    gap_, _ = warned(fmfair.dice_gap, **arguments, conventions="fairmedfm")

    assert (value, gap_) == (0.0, 1.0)
    assert value == theirs_scalar("worst_group_dice", **arguments)
    with pytest.raises(FmfairError, match="each predicted mask is read by its own values"):
        fmfair.dice_gap(**arguments, mask_type="logit", conventions="fairmedfm")


def test_row_weights__fairmedfm() -> None:
    with pytest.raises(FmfairError, match="weights are not part of the FairMedFM conventions"):
        ours(TRUTH, SCORE, GROUP, sample_weight=[1] * 8)
    with pytest.raises(FmfairError, match="weights are not part of the FairMedFM conventions"):
        fmfair.dice_gap([0.1, 0.2], sensitive_features=[*"ab"], sample_weight=[1, 1], conventions="fairmedfm")


def test_row_missing_attribute__fairmedfm() -> None:
    report = _both(TRUTH, SCORE, {"sex": [*GROUP[:6], None, None], "site": [*"xxyyxxyy"]})

    assert by_group(report, "auc", "n", attribute="sex") == {"a": 4, "b": 2}
    assert summary(report, "n", attribute="site") == 8
    # The package makes NaN in a plain list a group called nan; here it is missing like everything else.
    group = [*GROUP[:6], math.nan, math.nan]
    assert list(theirs(TRUTH, SCORE, {"sex": group}).by_group.index) == [("sex", "nan"), ("sex", "a"), ("sex", "b")]
    assert by_group(ours(TRUTH, SCORE, {"sex": group}), "auc", "n") == {"a": 4, "b": 2}


def test_row_labels__fairmedfm() -> None:
    label = ["mel", "nv", "bcc", "mel", "nv", "nv", "mel", "nv"]

    report = _both(label, SCORE, GROUP, pos_label="mel")

    assert by_group(report, "accuracy", "n_pos", threshold_rule="fixed") == {"a": 2, "b": 1}
    with pytest.raises(FmfairError, match="say which is the positive class"):
        ours(label, SCORE, GROUP)


def test_row_labels__fairmedfm_a_positive_class_is_no_column_number() -> None:
    # Class 3 does not occur. The package takes column 2 for class 2, which is that of class 3.
    label = [1, 2, 2, 1, 1, 2, 2, 1]
    matrix = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.7, 0.1], [0.8, 0.15, 0.05]] * 2)

    assert theirs_scalar("worst_group_auc", label, matrix, sensitive_features=GROUP, pos_label=2) < 1.0
    with pytest.raises(FmfairError, match="name the classes of the columns"):
        ours(label, matrix, GROUP, pos_label=2)
    assert by_group(ours(label, matrix, GROUP, pos_label=2, classes=[1, 2, 3]), "auc") == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ([0.0, 1.0, 0.3, 0.7], "probability"),
        ([-0.1, 1.0, 0.3, 0.7], "logit"),
        ([0.0, 1.1, 0.3, 0.7], "logit"),
        ([4.0, 11.0, 3.0, 7.0], "logit"),
    ],
)
def test_row_score_type__fairmedfm(scores: list[float], kind: str) -> None:
    report = _both([0, 1, 0, 1], scores, [*"aabb"])

    # Outside [0, 1] is a logit, also where nothing lies below 0.
    assert report.metadata["score_type"] == kind
    probability = scores if kind == "probability" else [1 / (1 + math.exp(-s)) for s in scores]
    squares = [(p - y) ** 2 for p, y in zip(probability, [0, 1, 0, 1], strict=True)]
    brier = fmfair.evaluate_arrays(
        [0, 1, 0, 1], scores, sensitive_features=[*"aabb"], metrics="brier", conventions="fairmedfm"
    )
    assert by_group(brier, "brier") == pytest.approx({"a": sum(squares[:2]) / 2, "b": sum(squares[2:]) / 2})


@pytest.mark.parametrize(("distinct", "refused"), [(20, False), (21, True)])
@pytest.mark.parametrize("kind", [int, float])
def test_row_many_values__fairmedfm(distinct: int, refused: bool, kind: Any) -> None:
    truth, score = [0, 1] * distinct, [((7 * i) % 41) / 41 for i in range(2 * distinct)]
    age = [kind(i // 2) for i in range(2 * distinct)]

    if refused:
        _refused("looks continuous", truth, score, {"age": age})
        with pytest.raises(ValueError, match="looks continuous"):
            theirs(truth, score, {"age": age})
    else:
        # And an age is not cut by itself.
        report = _both(truth, score, {"age": age})
        assert list(by_group(report, "auc")) == [str(i) for i in range(distinct)]


def test_row_nearly_distinct__fairmedfm() -> None:
    truth, score = [0, 1] * 8, [i / 16 for i in range(16)]
    patients = [f"p{i:02}" for i in (*range(11), *range(5))]

    report = _both(truth, score, {"patient": patients})

    assert len(by_group(report, "auc")) == 11


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1.0, 2.0], ["1", "2"]),
        ([0.5, 2.0], ["0.5", "2"]),
        ([True, False], ["False", "True"]),
        ([date(2024, 5, 1), date(2023, 12, 31)], ["2023-12-31", "2024-05-01"]),
        (["a & b", ""], ["", "a & b"]),
    ],
)
def test_row_group_names__fairmedfm(values: list[Any], names: list[str]) -> None:
    report = _both(TRUTH, SCORE, {"g": [values[0]] * 4 + [values[1]] * 4})

    assert list(by_group(report, "auc")) == names


def test_row_few_groups__fairmedfm() -> None:
    report = _both(TRUTH, SCORE, {"g": [*"aaaaaaaa"]})

    assert by_group(report, "auc") == {"a": None}
    assert (summary(report, "n"), summary(report, "n_groups")) == (8, 1)
    empty = report.summary.drop("attribute", "n", "n_groups", "threshold", "threshold_rule").row(0)
    assert set(empty) == {None}
    assert gap(report, "auc", "worst") is None
    # The numbers of all rows stay in `overall`.
    assert overall(report, "auc") == 0.875


def test_row_bins__fairmedfm() -> None:
    ages = {"age": [39.9, 40, 59, 60, 10, 90, math.inf, 60]}

    report = _both(TRUTH, SCORE, ages, bins={"age": [40, 60]})

    # The package puts infinity into no bin.
    assert by_group(report, "auc", "n") == {"<40": 2, "40-60": 2, ">=60": 3}
    digits = _both(TRUTH, SCORE, {"age": [1000, 2000] * 4}, bins={"age": [1234.5678]})
    assert list(by_group(digits, "auc")) == ["<1235", ">=1235"]
    with pytest.raises(FmfairError, match=r"with 4 digits the cut points .* print alike"):
        ours(TRUTH, SCORE, ages, bins={"age": [100001, 100002, 100003]})


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["10", "9", "x", "-2.5"], ["-2.5", "9", "10", "x"]),
        ([10, 9, 10, 9], ["9", "10"]),
        (["1e3", "9", "1e3", "9"], ["9", "1e3"]),
        (["b", "B", "a", "a"], ["B", "a", "b"]),
        (pd.Series(["lo", "hi"] * 2, dtype=pd.CategoricalDtype(["lo", "mid", "hi"])), ["lo", "hi"]),
    ],
)
def test_row_group_order__fairmedfm(values: Any, order: list[str]) -> None:
    # The package sees the order of categories in a pandas table only.
    report = _both(TRUTH, SCORE, pd.concat([pd.DataFrame({"g": values})] * 2, ignore_index=True))

    # Numbers come first even beside text, and 1e3 is one.
    assert [g for g, n in by_group(report, "auc", "n").items() if n] == order


def test_row_repeated_id__fairmedfm() -> None:
    table = pl.DataFrame({"image_id": [1, 2] * 4, "label": TRUTH, "prob": SCORE, "sex": GROUP})

    # Not looked at: two runs of one image are two rows.
    report = fmfair.evaluate(table, conventions="fairmedfm", metrics=["auc"])

    assert by_group(report, "auc", "n") == {"a": 4, "b": 4}


def test_row_intersections__fairmedfm() -> None:
    features = {"sex": [*"FFFFMMMM"], "age": [*"yyooyyoo"], "site": [*"xxxxxxyy"]}
    full = [("sex", "age", "site")]

    report = ours(TRUTH, SCORE, features, intersections=full)
    two = ours(TRUTH, SCORE, {k: features[k] for k in ("sex", "site")}, intersections=2)

    assert_same(report, theirs(TRUTH, SCORE, features, intersectional=True))
    assert_same(two, theirs(TRUTH, SCORE, {k: features[k] for k in ("sex", "site")}, intersectional=True))
    assert report.summary["attribute"].to_list() == ["sex", "age", "site", "sex & age & site"]
    # The single numbers compare the full combination of several attributes.
    value, _ = warned(
        fmfair.auc_gap,
        TRUTH,
        SCORE,
        sensitive_features={k: features[k] for k in ("sex", "site")},
        conventions="fairmedfm",
    )
    reference = theirs_scalar(
        "auc_gap", TRUTH, SCORE, sensitive_features=pd.DataFrame({k: features[k] for k in ("sex", "site")})
    )
    assert value == pytest.approx(reference, abs=1e-12)
