"""Dice and IoU from masks: what counts as foreground, which shapes pair, and what is refused."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairmedfm._inputs import dice_scores

from fmfair.errors import FmfairError
from fmfair.masks import apply_empty, overlap

# Six slices: hit, oversized, hit, rightly empty, undersized, missed.
SLICES_PREDICTED = [
    *([[1, 1], [0, 0]], [[1, 1], [1, 1]], [[1, 1], [0, 0]]),
    *([[0, 0], [0, 0]], [[1, 1], [0, 0]], [[1, 1], [0, 0]]),
]
SLICES_TRUE = [
    *([[1, 1], [0, 0]], [[1, 1], [0, 0]], [[1, 1], [0, 0]]),
    *([[0, 0], [0, 0]], [[1, 1], [1, 1]], [[0, 0], [0, 0]]),
]
LOGITS = [[[3.0, 0.2], [-2, -4]], [[0.9, 0.1], [0.3, 0.2]], [[0.2, 0.4], [0.9, 0.3]], [[5, -1], [-3, -0.5]]]
LOGITS_TRUE = [[[1, 1], [0, 0]], [[1, 1], [1, 0]], [[1, 1], [1, 1]], [[1, 0], [0, 0]]]


def dice(pred_masks: Any, true_masks: Any, **options: Any) -> list[float | None]:
    values: list[float | None] = overlap(pred_masks, true_masks, **options).frame["dice"].to_list()
    return values


def test_frame_has_one_row_per_sample_with_the_counts_of_both_masks() -> None:
    frame, _ = overlap([[[1, 1], [1, 0]], [[0, 0], [0, 1]]], [[[0, 1], [1, 1]], [[1, 0], [0, 0]]])

    assert frame.columns == ["dice", "iou", "pred_pixels", "true_pixels", "intersection"]
    assert frame.dtypes == [pl.Float64] * 2 + [pl.Int64] * 3
    assert frame.rows() == [(2 * 2 / 6, 2 / 4, 3, 3, 2), (0.0, 0.0, 1, 1, 0)]


# Only both-empty is undefined
def test_only_two_empty_masks_are_undefined() -> None:
    frame = overlap(SLICES_PREDICTED, SLICES_TRUE).frame

    assert frame["dice"].to_list() == [1.0, 2 / 3, 1.0, None, 2 / 3, 0.0]
    assert frame["iou"].to_list() == [1.0, 1 / 2, 1.0, None, 1 / 2, 0.0]
    # An invented or a missed lesion is a plain 0, never undefined.
    assert dice([[[0, 0]]], [[[1, 0]]]) == dice([[[1, 0]]], [[[0, 0]]]) == [0.0]


@pytest.mark.parametrize(
    ("empty", "mean_m", "gap"), [("one", 5 / 9, 1 / 3), ("zero", 2 / 9, 2 / 3), ("drop", 1 / 3, 5 / 9)]
)
def test_policy_for_two_empty_masks_moves_the_gap(empty: str, mean_m: float, gap: float) -> None:
    values = overlap(SLICES_PREDICTED, SLICES_TRUE).frame["dice"]

    settled = apply_empty(values, values.is_null(), empty)
    means = [settled[:3].mean(), settled[3:].mean()]

    assert means == pytest.approx([8 / 9, mean_m], abs=1e-15)
    assert float(means[0]) - float(means[1]) == pytest.approx(gap, abs=1e-15)  # type: ignore[arg-type]  # two numbers
    assert settled[3:].count() == (2 if empty == "drop" else 3)
    assert settled.name == "dice"
    assert settled.dtype == pl.Float64


def test_policy_touches_no_other_sample() -> None:
    values = pl.Series("iou", [0.25, None, 0.0])

    assert apply_empty(values, pl.Series([False, False, False]), "one").to_list() == [0.25, None, 0.0]
    assert apply_empty(values, pl.Series([True, False, True]), "drop").to_list() == [None, None, None]


def test_policy_must_be_known_and_lengths_equal() -> None:
    with pytest.raises(
        FmfairError, match="empty='ones' is not known; expected one of 'one', 'zero', 'drop'; did you mean 'one'"
    ):
        apply_empty(pl.Series([1.0]), pl.Series([True]), "ones")
    with pytest.raises(FmfairError, match="values has 1 samples but both_empty has 2"):
        apply_empty(pl.Series([1.0]), pl.Series([True, False]), "one")


# What the values mean is decided once
@pytest.mark.parametrize("options", [{}, {"mask_type": "logit"}, {"threshold": 0.5}])
def test_logits_are_recognised_on_all_masks_together(options: dict[str, Any]) -> None:
    values = dice(LOGITS, LOGITS_TRUE, **options)

    assert values == [1.0, 6 / 7, 1.0, 1.0]
    assert values[1:3] != [0.5, 0.4]  # the second and third mask read by themselves as probabilities
    assert values != dice_scores(LOGITS, LOGITS_TRUE).tolist()


def test_logits_that_all_lie_in_the_unit_interval_can_be_named() -> None:
    assert dice(LOGITS[1:3], LOGITS_TRUE[1:3], mask_type="logit") == [6 / 7, 1.0]
    assert dice(LOGITS[1:3], LOGITS_TRUE[1:3]) == [0.5, 0.4]


def test_fairmedfm_convention_reads_each_predicted_mask_by_itself() -> None:
    frame, notes = overlap(LOGITS, LOGITS_TRUE, conventions="fairmedfm")

    assert frame["dice"].to_list() == dice_scores(LOGITS, LOGITS_TRUE).tolist() == [1.0, 0.5, 0.4, 1.0]
    assert notes[0].startswith("masks: as FairMedFM, each predicted mask")
    assert notes.warnings == []


@pytest.mark.parametrize(
    ("masks", "options", "marked", "words"),
    [
        ([[0, 1, 2]], {}, [2], "label (found on all predicted masks, values from 0 to 2), foreground > 0;"),
        ([[False, True, True]], {}, [2], "mask type label"),
        ([[-1, 1, 2]], {}, [2], "values from -1 to 2"),
        ([[0, 1, 1]], {"threshold": 0.9}, [2], "mask type label (found on all predicted masks, values from 0 to 1)"),
        ([[False, True, True]], {"threshold": 1}, [2], "foreground >= 1; true masks: foreground > 0"),
        ([[0, 1, 2]], {"threshold": 1}, [2], "foreground >= 1; true masks: foreground > 0"),
        ([[0, 1, 2]], {"threshold": 2}, [1], "foreground >= 2; true masks: foreground > 0"),
        ([[0, 1, 2]], {"threshold": 1.5}, [1], "foreground >= 1.5; true masks: foreground > 0"),
        ([[0.0, 2.0, 7.0]], {"threshold": 7}, [1], "mask type label (found on all predicted masks, values from 0 to 7"),
        ([[0.2, 0.3, 1.5]], {"mask_type": "label", "threshold": 1.25}, [1], "label (as given), foreground >= 1.25"),
        ([[0.0, 2.0, 7.0]], {}, [2], "mask type label"),
        ([[0.0, 0.4999, 0.5]], {}, [1], "probability (found on all predicted masks, values from 0 to 0.5)"),
        ([[0.2, 0.3, 0.4]], {"threshold": 0.3}, [2], "foreground >= 0.3"),
        ([[0.2, 0.3, 0.4]], {"mask_type": "label"}, [3], "label (as given), foreground > 0"),
        ([[-0.1, 0.0, 0.4]], {}, [1], "logit (found on all predicted masks, values from -0.1 to 0.4), foreground > 0;"),
        (
            [[-0.1, 0.8, 0.9]],
            {"threshold": 0.7},
            [1],
            "foreground > 0.847298 (mask_threshold=0.7 on the scale of logits)",
        ),
        ([[0.2, 3.5, -0.0]], {"mask_type": "logit"}, [2], "logit (as given)"),
        ([[-math.inf, math.inf, 0.1]], {}, [2], "mask type logit"),
        ([[-9.0, 9.0]], {"threshold": 0}, [2], "foreground > -inf"),
        ([[-9.0, 9.0]], {"threshold": 1}, [0], "foreground > inf"),
        ([[0, 1], [0.4, 0.6]], {}, [1, 1], "mask type probability"),
        ([[0, 1], [-0.4, 0.2]], {}, [1, 1], "mask type logit"),
        ([[0, 3], [0.0, 2.0]], {}, [1, 1], "mask type label"),
        ([[0, 1]], {"mask_type": "probability", "threshold": 0}, [2], "foreground >= 0;"),
    ],
)
def test_meaning_of_predicted_values_is_decided_and_said(
    masks: list[list[float]], options: dict[str, Any], marked: list[int], words: str
) -> None:
    frame, notes = overlap([np.array(mask) for mask in masks], [[1] * len(mask) for mask in masks], **options)

    assert frame["pred_pixels"].to_list() == marked
    assert words in notes[0]
    assert notes[0].endswith("true masks: foreground > 0")


@pytest.mark.parametrize(
    "masks",
    [
        [[0.2, 3.5]],
        [[0.5], [2.0]],
        [np.array([0, 255], np.uint8), np.array([0.2, 0.8])],
        [np.array([-1, 1]), np.array([0.2, 0.8])],
        [[0.0, math.inf]],
    ],
)
def test_decimal_values_that_could_be_anything_are_refused_and_mask_type_settles_them(masks: Any) -> None:
    true = [[1] * len(mask) for mask in masks]

    with pytest.raises(FmfairError, match=r"neither probabilities nor plainly logits; pass mask_type="):
        overlap(masks, true)
    assert overlap(masks, true, mask_type="label").frame.height == len(masks)


def test_probabilities_outside_the_unit_interval_are_refused_with_their_samples() -> None:
    masks = [[[0.2, 0.5]], [[0, 255]], [[-0.5, 0.5]]]

    with pytest.raises(FmfairError, match=r"2 predicted masks with values outside \[0, 1\].*: sample 1: values from 0"):
        overlap(masks, [[[1, 1]]] * 3, mask_type="probability")


def test_float32_probability_is_widened_and_not_the_threshold_rounded() -> None:
    mask = np.array([[0.7]], np.float32)

    assert overlap([mask], [[[1]]], threshold=0.7).frame["pred_pixels"].item() == 0
    assert overlap([mask], [[[1]]], threshold=0.7, conventions="fairmedfm").frame["pred_pixels"].item() == 1


def test_true_masks_are_foreground_above_zero_whatever_the_threshold() -> None:
    true = [[[0.0, 0.1, -3.0, 255.0]]]

    assert overlap([[[0.1, 0.9, 0.1, 0.1]]], true, threshold=0.8).frame.row(0)[2:] == (1, 2, 1)


def test_label_is_compared_for_equality_on_both_sides() -> None:
    predicted, true = [[0, 1, 2, 2, 2, 3]], [np.array([0, 2, 2, 2, 255, 2], np.uint8)]

    frame, notes = overlap(predicted, true, label=2)

    assert frame.rows() == [(2 * 2 / 7, 2 / 5, 3, 4, 2)]
    assert notes == [
        "masks: foreground is where the value equals label 2, on both sides (predicted values from 0 to 3)"
    ]
    assert notes.warnings == []


@pytest.mark.parametrize(
    ("options", "predicted", "words"),
    [
        ({"label": 1}, [[0.2, 1]], "label=1: the predicted masks hold values that are not whole numbers"),
        ({"label": 1, "threshold": 0.3}, [[0, 1]], "mask_threshold=0.3 is not used, since label= is compared"),
        ({"label": 1}, [[0, 2]], "label=1 occurs in 0 of 1 mask in pred_masks and in 1 of 1 mask in true_masks"),
        ({}, [[-2.5, -1]], "no pixel of any predicted mask is foreground (values from -2.5 to -1)"),
        ({"threshold": 128}, [[0, 1]], "no pixel of any predicted mask is foreground (values from 0 to 1)"),
    ],
)
def test_what_looks_wrong_is_a_warning(options: dict[str, Any], predicted: Any, words: str) -> None:
    notes = overlap(predicted, [[0, 1]], **options).notes

    assert [n for n in notes.warnings if n.startswith(words)]
    assert not notes[0].startswith(words)


def test_masks_without_any_foreground_are_a_warning_and_so_are_not_predictions_that_are_all_zero() -> None:
    assert overlap([[0, 0]], [[0, 0]]).notes.warnings == ["no pixel of any mask is foreground"]
    assert overlap([[0, 0]], [[0, 1]]).notes.warnings == []


@pytest.mark.parametrize("swap", [False, True])
def test_label_on_one_side_only_is_a_warning_with_both_counts(swap: bool) -> None:
    masks = [[0, 1], [0, 0], [1, 1]], [[0, 2], [2, 2], [1, 1]]

    notes = overlap(*(masks[::-1] if swap else masks), label=2, names=("column 'p'", "column 't'")).notes

    sides = ("2 of 3 masks in column 'p'", "0 of 3 masks in column 't'") if swap else (
        "0 of 3 masks in column 'p'", "2 of 3 masks in column 't'"
    )  # fmt: skip
    assert notes.warnings == [f"label=2 occurs in {sides[0]} and in {sides[1]}"]


@pytest.mark.parametrize(
    ("predicted", "true", "known"),
    [
        ([[0, 255]], [np.array([0, 255], np.uint8)], "0, 255"),
        ([[False, True]], [[0.0, 2.5]], "0, 1, 2.5"),
        ([range(30)], [[40] * 30], "0, 1, 2, 3, 4, 5, 6, 8, 9, 10, ..."),
        ([[0, 10**12]], [[0, 0]], "0, 1000000000000"),
        ([np.arange(24).reshape(2, 3, 4).T % 3], [np.zeros((4, 3, 2), int)], "0, 1, 2"),
    ],
)
def test_label_that_occurs_nowhere_is_an_error_with_the_values_that_do(predicted: Any, true: Any, known: str) -> None:
    words = "label=7 occurs in no mask, neither in pred_masks nor in true_masks; the values that occur are "

    with pytest.raises(FmfairError) as error:
        overlap([np.where(np.equal(mask, 7), 6, mask) for mask in predicted], true, label=7)

    assert str(error.value) == words + known
    # The package counts such pairs as empty.
    notes = overlap(predicted, true, label=99, conventions="fairmedfm").notes
    assert notes.warnings == ["label=99 occurs in 0 of 1 mask in pred_masks and in 0 of 1 mask in true_masks"]


# Shapes
def test_transposed_or_broadcastable_masks_are_refused() -> None:
    column, row = np.array([[1], [0], [1], [0]]), np.array([[1, 0, 1, 0]])

    with pytest.raises(
        FmfairError, match=re.escape("sample 0: mask in pred_masks has shape (4, 1) but that in true_masks has (1, 4)")
    ):
        overlap([column], [row])
    assert dice_scores([column], [row]).tolist() == [1.0]  # what squeezing makes of it
    with pytest.raises(
        FmfairError, match=re.escape("sample 0: mask in pred_masks has shape (4, 4) but that in true_masks has")
    ):
        overlap([np.ones((4, 4))], [np.ones((4, 1))])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(((1, 2, 3), (2, 3)), ((2, 3, 1), (2, 3)), ((1, 1, 2, 3), (2, 3)), ((1, 2, 3, 1), (2, 3))),
        *(((1, 1, 4), (1, 4)), ((1, 4, 1), (1, 4)), ((1, 4), (4,)), ((2, 1, 3), (2, 1, 3))),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_axes_of_size_one_around_one_side_are_dropped(one: tuple[int, ...], other: tuple[int, ...], swap: bool) -> None:
    values = np.arange(math.prod(one)) % 3
    masks = [values.reshape(one)], [np.asfortranarray(np.roll(values, 1).reshape(other))]
    both = np.count_nonzero((values > 0) & (np.roll(values, 1) > 0))

    frame = overlap(*(masks[::-1] if swap else masks)).frame

    assert frame["intersection"].item() == both


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(((1, 4), (4, 1)), ((4, 4), (4, 1)), ((4, 4), (1, 4)), ((4, 4), (4,)), ((1, 2, 3), (2, 3, 1))),
        *(((2, 1, 3), (2, 3)), ((1, 1, 4), (4, 1)), ((2, 3), (3, 2)), ((1, 3, 2), (2, 3)), ((2, 2, 3), (2, 3))),
        *(((6,), (2, 3)), ((1, 2, 3), (1, 1, 2, 3, 2)), ((1, 1), (2, 2))),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_other_shapes_never_pair(one: tuple[int, ...], other: tuple[int, ...], swap: bool) -> None:
    masks = [np.ones(one, int)], [np.ones(other, int)]

    with pytest.raises(FmfairError, match="1 sample with masks of different shapes"):
        overlap(*(masks[::-1] if swap else masks))


def test_all_wrong_shapes_are_counted_and_the_first_shown() -> None:
    predicted = [np.ones((2, 2), int)] + [np.ones((2, 3), int)] * 7

    with pytest.raises(FmfairError, match=r"7 samples with masks of different shapes.*sample 5: .*; and 2 more$") as e:
        overlap(predicted, [np.ones((2, 2), int)] * 8)
    assert "sample 6" not in str(e.value)


# 64-bit counts
def test_counts_of_uint8_masks_do_not_wrap() -> None:
    full, upper, row = (np.zeros((20, 20), np.uint8) for _ in range(3))
    full[:], upper[:15], row[0] = 1, 1, 1

    frame = overlap([full, row], [upper, full]).frame

    assert frame["dice"].to_list() == [6 / 7, 2 / 21]
    assert frame["intersection"].to_list() == [300, 20]
    assert int(np.logical_and(full, upper).astype(np.uint8).sum(dtype=np.uint8)) == 44  # what a narrow sum makes of it
    assert (frame["pred_pixels"] - frame["true_pixels"]).to_list() == [100, -380]


@pytest.mark.parametrize(
    ("predicted", "words"),
    [
        (None, "got nothing"),
        ("a.png", r"got the single path 'a.png'; put it in a list"),
        (3, "got one int"),
        ({"a": [[1]]}, "got one dict"),
        ((mask for mask in [[1]]), "got one generator"),
        ([], "but it is empty"),
        (np.empty((0, 2, 2)), "but it is empty"),
        (np.ma.masked_equal([[1, 0]], 0), "masked-out pixels"),
        ([[[1, 0]], [[1, 0]]], "pred_masks has 2 masks but true_masks has 1; they pair by position"),
        ([1], "sample 0: mask in pred_masks is a single value"),
        ([None], "sample 0: mask in pred_masks is missing"),
        (pd.Series([pd.NA]), "sample 0: mask in pred_masks is missing"),
        ([math.nan], "sample 0: mask in pred_masks is missing"),
        ([""], "sample 0: mask in pred_masks is missing"),
        ([[["a", "b"]]], "sample 0: mask in pred_masks holds values of type <U1, not numbers"),
        ([[[1, None]]], "holds values of type object, not numbers"),
        ([[[1, 0], [1]]], "cannot be turned into an array"),
        ([np.ones((0, 2))], r"has no pixels \(shape \(0, 2\)\)"),
        ([[[math.nan, 1.0]]], r"1 mask with NaN .*: sample 0: mask in pred_masks$"),
    ],
)
@pytest.mark.parametrize("conventions", ["standard", "fairmedfm"])
def test_unusable_input_is_explained(predicted: Any, words: str, conventions: str) -> None:
    with pytest.raises(FmfairError, match=words):
        overlap(predicted, [[[1, 0]]], conventions=conventions)


def test_nan_in_a_true_mask_is_refused_even_with_a_label() -> None:
    with pytest.raises(FmfairError, match=r"1 mask with NaN .*: sample 1: mask in true_masks"):
        overlap([[1.0], [1.0]], [[1.0], [math.nan]], label=1)


def test_faults_of_every_kind_are_reported_together() -> None:
    with pytest.raises(FmfairError) as error:
        overlap([None, [1.0, math.nan], [1, 0], [0, 1]], [[1, 0], [1, 0], [1, 0], None])

    message = str(error.value)
    assert message.startswith("2 problems:\n")
    assert "2 masks that cannot be used: sample 0: mask in pred_masks is missing; sample 3: mask in" in message
    assert "1 mask with NaN" in message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mask_type": "logits"}, "mask_type='logits' is not known; expected one of .*; did you mean 'logit'"),
        ({"conventions": "package"}, "conventions='package' is not known; expected one of 'standard', 'fairmedfm'"),
        ({"label": "liver"}, "label=.* is not one number"),
        ({"label": True}, "label=.* is not one number"),
        ({"label": math.nan}, "label=.* is not one number"),
        ({"threshold": -1}, r"mask_threshold=-1 is neither a probability in \[0, 1\] nor a grey level of 1 or more"),
        ({"threshold": math.inf}, "mask_threshold=inf is neither"),
        ({"threshold": True}, "mask_threshold=True is neither"),
        ({"threshold": 128, "mask_type": "probability"}, "is a grey level, but mask_type='probability' is cut at a"),
        ({"threshold": 128, "mask_type": "logit"}, "is a grey level, but mask_type='logit' is cut at a"),
        ({"threshold": 128, "conventions": "fairmedfm"}, 'is a grey level and needs conventions="standard"'),
        ({"threshold": "0.5"}, "mask_threshold='0.5' is neither"),
        ({"threshold": math.nan}, "mask_threshold=nan is neither"),
        ({"label": 1, "mask_type": "logit"}, "cannot go with mask_type='logit'"),
        ({"conventions": "fairmedfm", "mask_type": "logit"}, 'needs conventions="standard"'),
    ],
)
def test_options_out_of_range_or_at_odds_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(FmfairError, match=words):
        overlap([[1, 0]], [[1, 0]], **options)
