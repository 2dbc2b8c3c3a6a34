"""Masks by way of the public functions: whose names messages have, what is said, and how often."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from lookup import by_group, warned
from PIL import Image

import fmfair
from fmfair import FmfairError

# f: hit, oversized; m: both empty, missed.
PREDICTED = [[[1, 1], [0, 0]], [[1, 1], [1, 1]], [[0, 0], [0, 0]], [[1, 1], [0, 0]]]
REFERENCE = [[[1, 1], [0, 0]], [[1, 1], [0, 0]], [[0, 0], [0, 0]], [[0, 0], [0, 1]]]
SEX = [*"ffmm"]
EFFECTS = {"one": "counted as 1", "zero": "counted as 0", "drop": "left out"}


def masks_table(folder: Path, pred: Any, true: Any, sex: Any, suffix: str = ".npy") -> pl.DataFrame:
    """A table of the paths of masks that are saved in a folder."""
    paths: dict[str, list[str]] = {"mine": [], "theirs": []}
    for column, masks in zip(paths, (pred, true), strict=True):
        for i, mask in enumerate(masks):
            path = folder / f"{column}{i}{suffix}"
            if suffix == ".npy":
                np.save(path, mask)
            else:
                Image.fromarray(np.array(mask, np.uint8)).save(path)
            paths[column].append(str(path))
    return pl.DataFrame({**paths, "sex": list(sex)})


COLUMNS: dict[str, Any] = {"pred_mask": "mine", "true_mask": "theirs"}


@pytest.mark.parametrize("empty", EFFECTS)
def test_the_samples_with_both_masks_empty_are_spoken_of_once(empty: str, tmp_path: Path) -> None:
    table = masks_table(tmp_path, PREDICTED, REFERENCE, SEX)

    report = fmfair.evaluate_segmentation(table, **COLUMNS, attributes="sex", empty=empty)
    _, told = warned(fmfair.dice_gap, pred_masks=PREDICTED, true_masks=REFERENCE, sensitive_features=SEX, empty=empty)

    sentence = f"1 sample with both masks empty {EFFECTS[empty]} (empty='{empty}')"
    assert [n for n in report.notes if "sample" in n] == [sentence]
    assert told == sentence


def test_where_every_pair_is_empty_nothing_is_left_to_evaluate(tmp_path: Path) -> None:
    nothing = [[[0, 0]], [[0, 0]]]
    table = masks_table(tmp_path, nothing, nothing, "fm")

    with pytest.raises(FmfairError, match="no sample is left to evaluate: both masks of every sample are empty"):
        fmfair.evaluate_segmentation(table, **COLUMNS, attributes="sex", empty="drop")
    with pytest.raises(FmfairError, match="no sample is left to evaluate: both masks of every sample are empty"):
        fmfair.dice_gap(pred_masks=nothing, true_masks=nothing, sensitive_features=["f", "m"], empty="drop")


def test_faults_of_masks_in_a_table_name_its_columns(tmp_path: Path) -> None:
    table = masks_table(tmp_path, [[[1, 0]], [[1, 0]]], [[[1, 0]], [[1, 0, 1]]], "fm")

    with pytest.raises(FmfairError) as error:
        fmfair.evaluate_segmentation(table, **COLUMNS, attributes="sex")
    assert "sample 1: mask in column 'mine' has shape (1, 2) but that in column 'theirs' has (1, 3)" in str(error.value)

    gone = table.with_columns(theirs=pl.Series(["gone.png", None]))
    with pytest.raises(FmfairError) as error:
        fmfair.evaluate_segmentation(gone, **COLUMNS, attributes="sex")
    assert str(error.value) == (
        "2 masks that cannot be used: sample 0: gone.png in column 'theirs' does not exist; "
        "sample 1: mask in column 'theirs' is missing"
    )

    with pytest.raises(FmfairError, match=r"^the table has no rows$"):
        fmfair.evaluate_segmentation(table.clear(), **COLUMNS, attributes="sex")


def test_a_label_on_one_side_only_is_told_by_the_report_and_by_the_number(tmp_path: Path) -> None:
    pred, true = [[[0, 1]], [[1, 1]]], [[[0, 2]], [[2, 1]]]
    table = masks_table(tmp_path, pred, true, "fm")

    report = fmfair.evaluate_segmentation(table, **COLUMNS, attributes="sex", label=2)
    value, told = warned(
        fmfair.worst_group_dice, pred_masks=pred, true_masks=true, sensitive_features=["f", "m"], label=2
    )

    assert value == 0.0
    assert told == "label=2 occurs in 0 of 2 masks in pred_masks and in 2 of 2 masks in true_masks"
    assert "label=2 occurs in 0 of 2 masks in column 'mine' and in 2 of 2 masks in column 'theirs'" in report.notes
    with pytest.raises(FmfairError, match="label=3 occurs in no mask, neither in column 'mine' nor in column 'theirs'"):
        fmfair.evaluate_segmentation(table, **COLUMNS, attributes="sex", label=3)


def test_options_of_masks_are_checked_beside_dice_values_too() -> None:
    wrong: list[dict[str, Any]] = [
        {"label": "liver"},
        {"mask_threshold": -1},
        {"mask_type": "logits"},
        {"empty": "nan"},
    ]
    for options in wrong:
        with pytest.raises(FmfairError, match=f"^{next(iter(options))}="):
            fmfair.dice_gap([0.1, 0.2], sensitive_features=["a", "b"], **options)
        with pytest.raises(FmfairError, match=f"^{next(iter(options))}="):
            fmfair.evaluate_segmentation({"dice": [0.1, 0.2], "sex": ["f", "m"]}, **options)


def discs(radii: Any) -> list[Any]:
    y, x = np.ogrid[:48, :48]
    return [((y - 20) ** 2 + (x - 25) ** 2 < radius**2) * 255 for radius in radii]


def test_jpeg_masks_give_the_dice_of_png_masks_or_none(tmp_path: Path) -> None:
    pred, true = discs((8, 9, 12, 5)), discs((9, 9, 10, 8))
    for folder in ("png", "jpg"):
        (tmp_path / folder).mkdir()
    png = masks_table(tmp_path / "png", pred, true, "ffmm", ".png")
    jpg = masks_table(tmp_path / "jpg", pred, true, "ffmm", ".jpg")

    expected = fmfair.evaluate_segmentation(png, **COLUMNS, attributes="sex")
    found = fmfair.evaluate_segmentation(jpg, **COLUMNS, attributes="sex", mask_threshold=128)

    assert by_group(found, "dice") == by_group(expected, "dice")
    with pytest.raises(FmfairError, match=r"^8 JPEG masks .* as PNG, or give .*, e\.g\. mask_threshold=128: "):
        fmfair.evaluate_segmentation(jpg, **COLUMNS, attributes="sex")
