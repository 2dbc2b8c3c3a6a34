"""`conventions="fairmedfm"` gives the numbers of the published package fairmedfm 0.4.2 for segmentations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fairmedfm_support import TOLERANCE, approx, assert_same, ours_scalar, theirs_scalar, theirs_segmentation
from fairmedfm_tables import MaskPairs, Values, dice_values, mask_pairs
from hypothesis import given
from property_tests import examples

import fmfair
from fmfair import FmfairError
from fmfair.masks import overlap

NAN = float("nan")


def report_of(dice: list[float], attributes: dict[str, Any], **options: Any) -> fmfair.Report:
    """Fmfair's report of Dice values in the package's conventions."""
    frame = pl.DataFrame({"dice": dice} | {name: pl.Series(values) for name, values in attributes.items()})
    names = list(attributes)
    return fmfair.evaluate_segmentation(frame, dice="dice", attributes=names, conventions="fairmedfm", **options)


@given(table=dice_values())
@examples(30)
def test_every_column_of_every_table_equals_the_package_also_for_the_full_intersection(table: Values) -> None:
    combined = [tuple(table.attributes)] if len(table.attributes) > 1 else 1
    report = report_of(table.dice, table.attributes, bins=table.bins, intersections=combined)
    reference = theirs_segmentation(table.attributes, dice=table.dice, bins=table.bins, intersectional=True)
    assert_same(report, reference)


def test_the_deviation_of_the_group_means_is_that_of_a_population() -> None:
    report = report_of([0.9, 0.7, 0.6, 0.5], {"site": list("xxzz")})
    assert_same(report, theirs_segmentation({"site": list("xxzz")}, dice=[0.9, 0.7, 0.6, 0.5]))
    assert report.summary["std_dice"].item() == pytest.approx(0.125, abs=TOLERANCE)


def test_a_perfect_group_has_no_skewness() -> None:
    report = report_of([1.0, 1.0, 0.6, 0.5], {"site": list("xxzz")})
    assert_same(report, theirs_segmentation({"site": list("xxzz")}, dice=[1.0, 1.0, 0.6, 0.5]))
    assert report.summary["skewness_dice"].item() is None


def test_a_group_without_a_usable_sample_is_listed_here_and_hidden_there() -> None:
    dice, site = [NAN, NAN, 0.7, 0.6, 0.5, 0.4], {"site": list("aabbcc")}
    report, reference = report_of(dice, site), theirs_segmentation(site, dice=dice)
    assert_same(report, reference)
    assert [group for _, group in reference.by_group.index] == ["b", "c"]
    groups = report.groups.filter(pl.col("metric") == "dice")
    assert groups.select("group", "n", "value").row(0) == ("a", 0, None)
    assert any("2 samples with a missing value" in note for note in report.notes)


def their_dice(masks: MaskPairs, empty_score: float) -> list[float]:
    """The package's Dice of each pair, by way of a group per pair."""
    site = {"pair": [f"{i:02}" for i in range(len(masks.pred))]}
    options: dict[str, Any] = {"label": masks.label, "mask_threshold": masks.threshold, "empty_score": empty_score}
    report = theirs_segmentation(site, pred_masks=masks.pred, true_masks=masks.true, **options)
    return [float(value) for value in report.by_group["mean_dice"]]


@given(masks=mask_pairs())
@examples(40)
def test_the_dice_of_every_pair_of_masks(masks: MaskPairs) -> None:
    frame = overlap(masks.pred, masks.true, label=masks.label, threshold=masks.threshold, conventions="fairmedfm").frame
    for score in (0.0, 1.0):
        found = frame["dice"].fill_null(score).to_list()
        assert found == pytest.approx(their_dice(masks, score), abs=TOLERANCE)


@pytest.mark.parametrize(("empty", "empty_score"), [("one", 1.0), ("zero", 0.0)])
def test_masks_in_files_with_both_policies_for_empty_pairs(tmp_path: Path, empty: str, empty_score: float) -> None:
    rng = np.random.default_rng(7)
    pred = [rng.integers(0, 3, (4, 5)), np.zeros((4, 5)), rng.random((4, 5)), rng.normal(size=(4, 5)), np.zeros((4, 5))]
    true = [rng.integers(0, 2, (4, 5)) for _ in range(4)] + [np.zeros((4, 5), dtype=int)]
    paths: dict[str, list[str]] = {"pred_mask": [], "true_mask": []}
    for i in range(5):
        for name, masks in (("pred_mask", pred), ("true_mask", true)):
            path = tmp_path / f"{name}_{i}.npy"
            np.save(path, masks[i])
            paths[name].append(str(path))
    site = list("aabbb")
    report = fmfair.evaluate_segmentation(
        pl.DataFrame({**paths, "site": site}), attributes="site", empty=empty, conventions="fairmedfm"
    )
    reference = theirs_segmentation(
        {"site": site}, pred_masks=paths["pred_mask"], true_masks=paths["true_mask"], empty_score=empty_score
    )
    assert_same(report, reference)


def test_a_mask_of_logits_within_0_and_1_is_read_as_probabilities_unlike_in_the_standard_conventions() -> None:
    # The first mask alone looks like probabilities; all masks together are plainly logits.
    pred = [np.array([[0.3, 0.6]]), np.array([[-2.0, 3.0]]), np.array([[2.0, 3.0]])]
    true = [np.array([[1, 1]])] * 3
    options: dict[str, Any] = {"sensitive_features": list("abb"), "pred_masks": pred, "true_masks": true}
    lowest = theirs_scalar("worst_group_dice", **options)
    assert ours_scalar("worst_group_dice", **options) == pytest.approx(lowest, abs=TOLERANCE)
    assert lowest == pytest.approx(2 / 3, abs=TOLERANCE)
    assert ours_scalar("worst_group_dice", **options, conventions="standard") == pytest.approx(5 / 6, abs=TOLERANCE)


# What the package misreads or cannot take


def test_nan_in_a_mask_is_background_there_and_an_error_here() -> None:
    masks: dict[str, Any] = {
        "pred_masks": [np.array([[NAN, 0.7]]), np.ones((1, 2))],
        "true_masks": [np.ones((1, 2))] * 2,
    }
    # The NaN makes the whole mask no probabilities, so that 0.7 is above 0 and the pixel of the NaN is not.
    assert theirs_scalar("worst_group_dice", sensitive_features=["a", "b"], **masks) == approx(2 / 3)
    with pytest.raises(FmfairError, match="1 mask with NaN"):
        ours_scalar("worst_group_dice", sensitive_features=["a", "b"], **masks)


def test_dice_values_of_which_none_is_usable_crash_there() -> None:
    with pytest.raises(KeyError):
        theirs_segmentation(["a", "b"], dice=[NAN, NAN])
    with pytest.raises(FmfairError, match="every value in 'dice' is missing"):
        ours_scalar("dice_gap", [NAN, NAN], sensitive_features=["a", "b"])


def test_invalid_dice_values_and_masks_are_errors_in_both() -> None:
    invalid: list[tuple[str, dict[str, Any]]] = [
        (r"in|outside \[0, 1\]", {"dice": [1.2, 0.3]}),
        ("give either dice", {"dice": [0.2, 0.3], "pred_masks": [[1]], "true_masks": [[1]]}),
        ("dice", {}),
        ("shape", {"pred_masks": [[[1, 0]], [[1, 0]]], "true_masks": [[[1, 0]], [[1, 0, 1]]]}),
    ]
    for message, options in invalid:
        for scalar, error in ((theirs_scalar, ValueError), (ours_scalar, FmfairError)):
            with pytest.raises(error, match=message):
                scalar("dice_gap", sensitive_features=["a", "b"], **options)
