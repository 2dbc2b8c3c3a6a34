"""Masks and Dice: empty pairs, what mask values mean, shapes, narrow integers, the spread of group means."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from lookup import assert_honest, by_group, gap, summary, warned

import fmfair
from fmfair import FmfairError

# Some predictions are rightly empty, some invent a lesion.
PREDICTED = [
    [[1, 1], [0, 0]],
    [[1, 1], [1, 1]],
    [[1, 1], [0, 0]],
    [[0, 0], [0, 0]],
    [[1, 1], [0, 0]],
    [[1, 1], [0, 0]],
]
REFERENCE = [
    [[1, 1], [0, 0]],
    [[1, 1], [0, 0]],
    [[1, 1], [0, 0]],
    [[0, 0], [0, 0]],
    [[1, 1], [1, 1]],
    [[0, 0], [0, 0]],
]
SEX = [*"fffmmm"]
# f: 1, 2/3, 1; m: both empty, 2/3, invented.
POLICY = {"one": 5 / 9, "zero": 2 / 9, "drop": 1 / 3}
FORMS: dict[str, Callable[[Any], Any]] = {
    "lists": lambda masks: masks,
    "stack": np.array,
    "bool arrays": lambda masks: [np.array(m, dtype=bool) for m in masks],
    "uint8 of 255": lambda masks: [np.array(m, dtype=np.uint8) * 255 for m in masks],
    "floats": lambda masks: [np.array(m, dtype=np.float32) for m in masks],
    "tensors": lambda masks: [torch.tensor(m) for m in masks],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("empty", POLICY)
def test_fc25_the_policy_for_both_empty_is_an_argument_and_counted(form: str, empty: str) -> None:
    pred, true = FORMS[form](PREDICTED), FORMS[form](REFERENCE)

    value, told = warned(fmfair.dice_gap, pred_masks=pred, true_masks=true, sensitive_features=SEX, empty=empty)

    assert value == pytest.approx(8 / 9 - POLICY[empty], abs=1e-12)
    assert "1 sample with both masks empty" in told


@pytest.mark.parametrize("empty", POLICY)
def test_fc25_the_report_shows_the_empty_samples_of_every_group(empty: str, tmp_path: Path) -> None:
    for i, (pred, true) in enumerate(zip(PREDICTED, REFERENCE, strict=True)):
        np.save(tmp_path / f"p{i}.npy", np.array(pred))
        np.save(tmp_path / f"t{i}.npy", np.array(true))
    table = pl.DataFrame(
        {"pred_mask": [f"p{i}.npy" for i in range(6)], "true_mask": [f"t{i}.npy" for i in range(6)], "sex": SEX}
    )
    table.write_csv(tmp_path / "masks.csv")

    report = fmfair.evaluate_segmentation(tmp_path / "masks.csv", empty=empty)

    assert by_group(report, "dice") == pytest.approx({"f": 8 / 9, "m": POLICY[empty]}, abs=1e-12)
    assert by_group(report, "dice", "n") == {"f": 3, "m": 2 if empty == "drop" else 3}
    assert gap(report, "dice") == pytest.approx(8 / 9 - POLICY[empty], abs=1e-12)
    assert by_group(report, "both_empty") == pytest.approx({"f": 0.0, "m": 1 / 3})
    assert [n for n in report.notes if "1 sample with both masks empty" in n and f"empty='{empty}'" in n]
    assert_honest(report)


def test_fc25_only_both_empty_is_undefined() -> None:
    lesion, nothing = [[1, 1], [0, 0]], [[0, 0], [0, 0]]

    for pred, true in ((lesion, nothing), (nothing, lesion)):
        value, told = warned(fmfair.worst_group_dice, pred_masks=[pred], true_masks=[true], sensitive_features=["a"])
        assert value == 0.0
        assert told == ""


def test_fc25_an_unknown_policy_is_an_error() -> None:
    with pytest.raises(FmfairError, match="empty='nan' is not known; expected one of 'one', 'zero', 'drop'"):
        fmfair.dice_gap(pred_masks=PREDICTED, true_masks=REFERENCE, sensitive_features=SEX, empty="nan")


# Raw mask logits; in images 1 and 2 every logit lies between 0 and 1.
LOGITS = [[[3.0, 0.2], [-2, -4]], [[0.9, 0.1], [0.3, 0.2]], [[0.2, 0.4], [0.9, 0.3]], [[5, -1], [-3, -0.5]]]
LOGIT_TRUE = [[[1, 1], [0, 0]], [[1, 1], [1, 0]], [[1, 1], [1, 1]], [[1, 0], [0, 0]]]


@pytest.mark.parametrize("mask_type", ["logit", "auto"])
def test_fc26_what_mask_values_mean_is_decided_once_for_all(mask_type: str) -> None:
    pred = [np.array(m, dtype=np.float32) for m in LOGITS]

    # Dice 1, 6/7, 1, 1; read as probabilities one by one, images 1 and 2 would have 0.5 and 0.4.
    value, told = warned(
        fmfair.dice_gap,
        pred_masks=pred,
        true_masks=LOGIT_TRUE,
        sensitive_features=[*"aabb"],
        mask_type=mask_type,
    )
    worst, _ = warned(
        fmfair.worst_group_dice,
        pred_masks=pred,
        true_masks=LOGIT_TRUE,
        sensitive_features=[*"aabb"],
        mask_type=mask_type,
    )

    assert value == pytest.approx(1 / 14, abs=1e-12)
    assert worst == pytest.approx(13 / 14, abs=1e-12)
    assert told == ""


def test_fc26_the_order_of_the_images_does_not_matter() -> None:
    order = [1, 2, 0, 3]

    value, _ = warned(
        fmfair.dice_gap,
        pred_masks=[np.array(LOGITS[i]) for i in order],
        true_masks=[LOGIT_TRUE[i] for i in order],
        sensitive_features=["aabb"[i] for i in order],
    )

    assert value == pytest.approx(1 / 14, abs=1e-12)


def test_fc26_the_report_states_the_rule(tmp_path: Path) -> None:
    for i, (pred, true) in enumerate(zip(LOGITS, LOGIT_TRUE, strict=True)):
        np.save(tmp_path / f"p{i}.npy", np.array(pred, dtype=np.float32))
        np.save(tmp_path / f"t{i}.npy", np.array(true, dtype=np.uint8))
    paths = {s: [str(tmp_path / f"{s}{i}.npy") for i in range(4)] for s in "pt"}
    table = {"pred_mask": paths["p"], "true_mask": paths["t"], "site": [*"aabb"]}

    report = fmfair.evaluate_segmentation(table)

    assert by_group(report, "dice") == pytest.approx({"a": 13 / 14, "b": 1.0}, abs=1e-12)
    assert [n for n in report.notes if "mask type logit (found on all predicted masks" in n and "foreground > 0" in n]


@pytest.mark.parametrize(
    ("mask_type", "threshold", "expected"),
    [("probability", None, 1.0), ("probability", 0.6, 2 / 3), ("logit", None, 2 / 3)],
)
def test_fc26_a_value_at_the_cut_counts_for_probabilities_and_not_for_logits(
    mask_type: str, threshold: float | None, expected: float
) -> None:
    # At 0.5 both pixels of the probabilities are foreground; of the logits the one at 0 is not.
    pred = [[[0.5, 0.7]]] if mask_type == "probability" else [[[0.0, 0.7]]]

    value, _ = warned(
        fmfair.worst_group_dice,
        pred_masks=pred,
        true_masks=[[[1, 1]]],
        sensitive_features=["a"],
        mask_type=mask_type,
        mask_threshold=threshold,
    )

    assert value == pytest.approx(expected)


SQUARE = np.ones((4, 4))


@pytest.mark.parametrize(
    ("pred", "true"),
    [
        ([[1], [0], [1], [0]], [[1, 0, 1, 0]]),
        (SQUARE, np.ones((4, 1))),
        (np.ones((2, 3)), np.ones((3, 2))),
        (np.ones((1, 4, 4)), np.ones((4, 1))),
        (np.ones((2, 4, 4)), SQUARE),
        (np.ones((4, 4, 3)), SQUARE),
        (np.ones(16), SQUARE),
        (np.ones((4, 1, 4)), SQUARE),
    ],
)
def test_fc28_shapes_that_differ_are_an_error_that_names_sample_and_shapes(pred: Any, true: Any) -> None:
    shapes = tuple(np.shape(m) for m in (pred, true))

    with pytest.raises(FmfairError) as error:
        fmfair.dice_gap(pred_masks=[SQUARE, pred], true_masks=[SQUARE, true], sensitive_features=["a", "b"])

    assert f"sample 1: mask in pred_masks has shape {shapes[0]} but that in true_masks has {shapes[1]}" in str(
        error.value
    )


@pytest.mark.parametrize("shape", [(1, 4, 4), (4, 4, 1), (1, 4, 4, 1), (1, 1, 4, 4)])
@pytest.mark.parametrize("swapped", [False, True])
def test_fc28_a_channel_or_batch_axis_on_one_side_is_dropped(shape: tuple[int, ...], swapped: bool) -> None:
    rng = np.random.default_rng(28)
    flat = rng.integers(0, 2, (4, 4))
    pair = (flat, flat.reshape(shape)) if swapped else (flat.reshape(shape), flat)

    value, told = warned(fmfair.worst_group_dice, pred_masks=[pair[0]], true_masks=[pair[1]], sensitive_features=["a"])

    assert value == 1.0
    assert told == ""


# Pixel counts beyond the width of the mask's type.
FULL = np.ones((20, 20), dtype=np.uint8)
ROWS_15, ROW_1 = FULL.copy(), FULL.copy()
ROWS_15[15:], ROW_1[1:] = 0, 0


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool, np.uint16, np.int64, np.float16, np.float32])
def test_fc30_pixel_counts_do_not_wrap(dtype: Any) -> None:
    pred, true = [FULL.astype(dtype), ROW_1.astype(dtype)], [ROWS_15.astype(dtype), FULL.astype(dtype)]

    value, _ = warned(fmfair.dice_gap, pred_masks=pred, true_masks=true, sensitive_features=["a", "b"])
    worst, _ = warned(fmfair.worst_group_dice, pred_masks=pred, true_masks=true, sensitive_features=["a", "b"])

    # 2 * 300 / 700 and 2 * 20 / 420
    assert worst == pytest.approx(2 / 21, abs=1e-12)
    assert value == pytest.approx(6 / 7 - 2 / 21, abs=1e-12)


@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Int8, pl.UInt32, pl.Boolean])
def test_fc30_counts_of_narrow_labels_and_weights_do_not_wrap(dtype: type[pl.DataType]) -> None:
    frame = pl.DataFrame(
        {
            "label": pl.Series([1] * 300 + [0] * 100, dtype=pl.Int64).cast(dtype),
            "prob": [0.9] * 280 + [0.1] * 20 + [0.9] * 90 + [0.1] * 10,
            "w": pl.Series([2**31] * 400, dtype=pl.UInt32),
            "site": ["x"] * 400,
        }
    )

    plain = fmfair.evaluate(frame, metrics="all")
    weighted = fmfair.evaluate(frame, weight="w", metrics="all")
    expressions = frame.group_by("site").agg(
        fmfair.metrics.tp("label", "prob"),
        fmfair.metrics.fp("label", "prob"),
        fmfair.metrics.mcc("label", "prob", weight="w"),
    )

    counts = {m: by_group(plain, m)["x"] for m in ("tp", "fp", "fn", "tn")}
    assert counts == {"tp": 280, "fp": 90, "fn": 20, "tn": 10}
    assert by_group(weighted, "tp")["x"] == 280.0 * 2**31
    mcc = (280 * 10 - 90 * 20) / math.sqrt(370 * 300 * 100 * 30)
    assert by_group(plain, "mcc")["x"] == pytest.approx(mcc, abs=1e-12)
    assert by_group(weighted, "mcc")["x"] == pytest.approx(mcc, abs=1e-12)
    assert expressions["tp"].item() == 280
    assert expressions["fp"].item() == 90
    assert expressions["mcc"].item() == pytest.approx(mcc, abs=1e-12)


# The spread of group means.
DICE = [0.9, 0.8, 0.7, 0.6, 0.5]
DICE_GROUP = [*"aabbc"]
SPREAD = {
    fmfair.dice_std: 0.14337208778404378,
    fmfair.equity_scaled_dice: 0.6122241459966561,
    fmfair.dice_skewness: 3.3333333333333335,
    fmfair.dice_gap: 0.35,
    fmfair.worst_group_dice: 0.5,
}


@pytest.mark.parametrize(("function", "expected"), SPREAD.items())
@pytest.mark.parametrize("conventions", ["standard", "fairmedfm"])
def test_fc31_the_spread_of_group_means_divides_by_their_number(
    function: Any, expected: float, conventions: str
) -> None:
    value, told = warned(function, DICE, sensitive_features=DICE_GROUP, conventions=conventions)

    assert value == pytest.approx(expected, abs=1e-12)
    assert told == ""
    # With one less than their number, the standard deviation is 0.1755942292142123.
    assert value != pytest.approx(0.1755942292142123, abs=1e-6)


def test_fc31_the_report_holds_the_same_numbers() -> None:
    report = fmfair.evaluate_segmentation({"dice": DICE, "site": DICE_GROUP})

    assert by_group(report, "dice") == pytest.approx({"a": 0.85, "b": 0.65, "c": 0.5}, abs=1e-12)
    assert summary(report, "mean_dice") == pytest.approx(0.7, abs=1e-12)
    found = [summary(report, c) for c in ("std_dice", "es_dice", "skewness_dice", "delta_dice", "min_dice")]
    assert found == pytest.approx(list(SPREAD.values()), abs=1e-12)
    assert gap(report, "dice", "std") == pytest.approx(0.14337208778404378, abs=1e-12)


@pytest.mark.parametrize(
    "function", [fmfair.dice_std, fmfair.equity_scaled_dice, fmfair.dice_skewness, fmfair.dice_gap]
)
def test_fc31_one_group_has_no_spread(function: Any) -> None:
    value, told = warned(function, [0.9, 0.8], sensitive_features=["a", "a"])

    assert math.isnan(value)
    assert "1 of 1 groups can be compared" in told


def test_fc31_one_group_has_no_spread_in_the_report_either() -> None:
    report = fmfair.evaluate_segmentation({"dice": [0.9, 0.8], "site": ["a", "a"]})

    for statistic in ("difference", "std", "equity_scaled_std", "skewness", "ratio"):
        assert gap(report, "dice", statistic) is None
        assert gap(report, "dice", statistic, "note") == "1 of 1 groups can be compared"
    assert summary(report, "mean_dice") == pytest.approx(0.85)
    assert_honest(report)


def test_fc31_where_the_best_group_is_perfect_the_skewness_is_empty() -> None:
    value, told = warned(fmfair.dice_skewness, [1.0, 1.0, 0.5], sensitive_features=[*"aab"])

    assert math.isnan(value)
    assert "the best group is perfect" in told


def test_fc31_equal_groups_have_no_spread_to_the_last_digit() -> None:
    dice = [0.1, 0.2, 0.7, 0.7, 0.2, 0.1]

    report = fmfair.evaluate_segmentation({"dice": dice, "site": [*"aaabbb"]})

    assert (summary(report, "std_dice"), summary(report, "delta_dice")) == (0.0, 0.0)
