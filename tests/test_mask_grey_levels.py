"""Masks of whole numbers: grey levels, probabilities stored as such, and what the threshold means for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from fmfair.errors import FmfairError
from fmfair.masks import overlap

GREY = [np.array([[0, 1, 127, 128, 255]], np.uint8), np.array([[0, 0, 3, 51, 200]], np.uint8)]


@pytest.mark.parametrize(
    ("true", "threshold", "counts", "rule"),
    [
        ([0, 0, 1, 1, 1], 128, (2, 3, 2), "foreground >= 128; true masks: foreground > 0"),
        ([0, 0, 255, 255, 255], 128, (2, 3, 2), "foreground >= 128; true masks: foreground >= 128"),
        ([0, 9, 127, 128, 255], 128, (2, 2, 2), "foreground >= 128; true masks: foreground >= 128"),
        ([0, 9, 127, 128, 255], 127.5, (2, 2, 2), "foreground >= 127.5; true masks: foreground >= 127.5"),
        ([0, 9, 127, 128, 255], 300, (0, 4, 0), "foreground >= 300; true masks: foreground > 0"),
        ([0, 9, 127, 128, 255], None, (4, 4, 4), "foreground > 0; true masks: foreground > 0"),
    ],
)
def test_grey_level_cuts_both_sides_unless_the_true_masks_are_on_another_scale(
    true: list[int], threshold: float | None, counts: tuple[int, ...], rule: str
) -> None:
    frame, notes = overlap(GREY[:1], [np.array([true])], threshold=threshold)

    assert frame.row(0)[2:] == counts
    assert notes[0].endswith(rule)


def test_grey_level_that_empties_some_true_masks_is_a_warning() -> None:
    true = [[[0, 1, 1, 1, 1]], [[0, 255, 0, 0, 0]], [[0, 0, 0, 0, 0]]]

    frame, notes = overlap([*GREY, GREY[0]], true, threshold=128)

    assert frame["true_pixels"].to_list() == [0, 1, 0]
    empties = "1 mask in true_masks with values above 0, but none of mask_threshold=128 or more, count as empty"
    assert notes.warnings == [empties]


@pytest.mark.parametrize("threshold", [0, 0.3, 0.99])
@pytest.mark.parametrize(
    ("masks", "mask_type"), [(GREY, "auto"), (GREY, "label"), ([[[0.0, 2.0]]], "auto"), ([[[0.2, 0.4]]], "label")]
)
def test_probability_as_the_cut_of_labels_is_an_error_that_explains_both_meanings(
    masks: Any, mask_type: str, threshold: float
) -> None:
    with pytest.raises(FmfairError) as error:
        overlap(masks, masks, threshold=threshold, mask_type=mask_type)

    assert f"mask_threshold={threshold:g} does not fit the predicted masks" in str(error.value)
    assert "From 1 on it is the grey level from which a pixel counts, e.g. mask_threshold=128" in str(error.value)
    assert "between 0 and 1 it is a probability" in str(error.value)


def test_cut_of_masks_of_0_and_1_means_the_same_anywhere_above_0() -> None:
    for masks in ([np.array([[0, 1, 1]], np.uint8)], [np.array([[False, True, True]])]):
        found = [overlap(masks, masks, threshold=cut).frame["pred_pixels"].item() for cut in (None, 0.01, 0.5, 0.99, 1)]
        assert found == [2] * 5
        with pytest.raises(FmfairError, match="mask_threshold=0 does not fit the predicted masks"):
            overlap(masks, masks, threshold=0)


@pytest.mark.parametrize("masks", [[[[0.2, 0.8]]], [[[-3.0, 2.0]]]])
def test_grey_level_as_the_cut_of_decimal_masks_is_an_error(masks: Any) -> None:
    with pytest.raises(
        FmfairError, match=r"mask_threshold=128 is a grey level, but the predicted masks hold .*\[0, 1\]$"
    ):
        overlap(masks, masks, threshold=128)


@pytest.mark.parametrize(
    ("masks", "threshold", "marked", "words"),
    [
        (GREY, None, [2, 1], "(as given), grey levels divided by their full range (uint8 by 255), foreground >= 0.5;"),
        (GREY, 0.2, [3, 2], "foreground >= 0.2;"),
        (GREY, 0.201, [3, 1], "foreground >= 0.201;"),
        (GREY, 1, [1, 0], "foreground >= 1;"),
        (GREY, 0, [5, 5], "foreground >= 0;"),
        ([m.astype(np.uint16) * 257 for m in GREY], None, [2, 1], "(uint16 by 65535), foreground >= 0.5;"),
        ([GREY[0].astype(">u2") * 257, GREY[1]], 0.2, [3, 2], "(uint16 by 65535 and uint8 by 255), foreground >= 0.2;"),
        # One small value is 1 / 255 where others are larger, and 1 where none is.
        ([np.array([[0, 0, 0, 0, 1]], np.uint8), GREY[0]], None, [0, 2], "(uint8 by 255)"),
        ([np.array([[0, 0, 0, 0, 1]], np.uint8), GREY[0] > 0], None, [1, 4], "mask type probability (as given), fore"),
        ([GREY[0], np.array([[0.0, 0.4, 0.6, 1.0, 0.5]])], None, [2, 3], "(uint8 by 255)"),
        ([GREY[0], np.array([[0, 1, 0, 1, 1]])], None, [2, 3], "(uint8 by 255)"),
    ],
)
def test_probabilities_stored_as_grey_levels_are_parts_of_the_full_range(
    masks: Any, threshold: float | None, marked: list[int], words: str
) -> None:
    frame, notes = overlap(masks, [[[1] * 5]] * 2, mask_type="probability", threshold=threshold)

    assert frame["pred_pixels"].to_list() == marked
    assert words in notes[0]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@given(cut=st.floats(0, 1))
@examples(50)
def test_grey_level_counts_exactly_where_its_quotient_reaches_the_cut(dtype: Any, cut: float) -> None:
    levels = np.arange(np.iinfo(dtype).max + 1, dtype=dtype)

    found = overlap([levels], [levels], mask_type="probability", threshold=cut).frame["pred_pixels"].item()

    assert found == sum(level / (levels.size - 1) >= cut for level in range(levels.size))


@pytest.mark.parametrize(
    ("masks", "level"),
    [
        ([np.arange(20, dtype=np.uint8), np.arange(1, 21, dtype=np.uint8)], 128),
        ([np.arange(65515, 65536, dtype=np.uint16)], 32768),
        ([np.arange(-10, 11)], 128),
        ([np.arange(22.0)], 128),
        ([np.repeat([[7, 9], [8, 6]], 40_000, axis=0), np.arange(100, 122).reshape(2, 11, order="F").T], 128),
    ],
)
def test_labels_of_many_different_values_are_suspected_to_be_probabilities(masks: Any, level: int) -> None:
    notes = overlap(masks, masks).notes

    (warning,) = notes.warnings
    assert "hold more than 20 different values" in warning
    assert 'pass mask_type="probability", or the grey level from which a pixel counts' in warning
    assert warning.endswith(f"e.g. mask_threshold={level}")
    assert overlap(masks, masks, mask_type="label").notes.warnings == []
    assert overlap(masks, masks, threshold=2).notes.warnings == []
    assert overlap(masks, masks, conventions="fairmedfm").notes.warnings == []


@pytest.mark.parametrize(
    "masks", [[np.arange(20)], [np.arange(10), np.arange(10, 20)], [np.linspace(0, 1, 99)], [np.linspace(-1, 1, 99)]]
)
def test_few_labels_and_decimal_masks_are_not_suspected(masks: Any) -> None:
    assert overlap(masks, masks).notes.warnings == []
