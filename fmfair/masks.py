"""Per-sample overlap (Dice and IoU) of predicted and true segmentation masks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

import polars as pl

from fmfair.errors import FmfairError, check_choice, plural
from fmfair.mask_counts import Tally, different_values
from fmfair.mask_files import is_path, mask_list
from fmfair.mask_reading import decide, label_not_found, look_at
from fmfair.mask_values import MaskOptions
from fmfair.notes import Notes

EMPTY = ("one", "zero", "drop")
# Fewer pairs of files than this are read without a progress bar.
PROGRESS_FROM = 200


class Overlap(NamedTuple):
    """The overlap of every sample, and in words how the numbers in the masks were read."""

    frame: pl.DataFrame
    notes: Notes


def overlap(  # noqa: PLR0913 - the door to masks
    pred_masks: Any,
    true_masks: Any,
    *,
    label: float | None = None,
    threshold: float | None = None,
    mask_type: str = "auto",
    conventions: str = "standard",
    base: str | os.PathLike[str] | None = None,
    names: tuple[str, str] = ("pred_masks", "true_masks"),
    least: int | None = None,
) -> Overlap:
    """Dice, IoU and pixel counts of each pair of masks.

    Dice is `2 * intersection / (pred_pixels + true_pixels)`, IoU is `intersection / union`; both lie in [0, 1],
    higher is better. Where both masks are empty they are undefined and null (see `apply_empty`); where only one is
    empty they are 0 (Dice 1945, doi:10.2307/1932409; Jaccard 1912).

    A pixel of a true mask is foreground where its value is above 0. What the values of the predicted masks mean is
    decided once, on all of them, never mask by mask. `mask_type="auto"` goes by types and range: booleans and
    integers are labels (foreground > 0); else with a decimal value below 0 all are logits (foreground > 0); else
    within [0, 1] all are probabilities (foreground >= 0.5); else, if whole, labels. Logits that all happen to lie
    within [0, 1] look like probabilities, so say `mask_type="logit"` where you know it. Labels of more than 20
    different values may be probabilities stored as grey levels, which is said as a warning.

    JPEG masks hold stray grey levels, so they are refused, unless a grey level from which a pixel counts is given.

    Masks pair by position. Each is read once and one pair at a time is held in memory.

    Args:
        pred_masks: One mask per sample: a list, a pandas or Polars Series, or an array stacked along its first axis,
            of arrays, tensors, nested lists or file paths (.npy, .npz, .nii, .nii.gz, .png, .jpg, .bmp, .tif, .gif;
            images give their first channel, archives their first array, NIfTI volumes their voxels as stored).
        true_masks: The reference masks, likewise. The shapes of a pair must be equal, but for leading or trailing
            axes of size 1 that only one of the two has; nothing is broadcast.
        label: Class label to measure: pixels equal to it on both sides are foreground.
        threshold: For probabilities the lowest that counts as foreground, 0.5 by default. For logits it is moved to
            their scale, and values above it are foreground. For labels 1 or more, the grey level from which a pixel
            counts, such as 128; it holds for the true masks too where some of them reach it or are JPEG files.
            Between 0 and 1 it fits labels only where all are 0 or 1.
        mask_type: `"auto"`, or what the predicted values are: `"label"`, `"probability"` or `"logit"`. Probabilities
            stored as uint8 or uint16 are divided by 255 or 65535, unless all of them are 0 or 1.
        conventions: `"fairmedfm"` reads the masks as that package: axes of size 1 are squeezed away, and each
            predicted mask is by itself taken as probabilities (decimal values within [0, 1]) or as labels.
        base: Folder that relative paths start from.
        names: What the caller calls the two, for messages.
        least: The smallest number of samples that notes may tell; None for all.

    Returns:
        `frame`, one row per sample with dice and iou (Float64), pred_pixels, true_pixels and intersection (Int64);
        and `notes`, how the values were read, and as warnings what about them looks wrong.

    Raises:
        FmfairError: If lengths or shapes differ, masks are missing, unreadable, JPEG or hold NaN (samples are counted
            from 0), the predicted values or the threshold fit no type, or the label occurs nowhere.

    Examples:
        >>> predicted = [[[1, 1], [0, 0]], [[0, 0], [0, 0]]]
        >>> true = [[[1, 0], [0, 0]], [[0, 0], [0, 0]]]
        >>> frame, notes = overlap(predicted, true)
        >>> frame["dice"].to_list(), frame["iou"].to_list()
        ([0.6666666666666666, None], [0.5, None])
        >>> frame.row(0, named=True)["intersection"]
        1
        >>> overlap([[[2.0, 0.3]]], [[[1, 0]]], mask_type="logit").frame["dice"].to_list()
        [0.6666666666666666]
    """
    options = MaskOptions(label, threshold, mask_type, conventions, base, names)
    options.check()
    predicted, true = mask_list(pred_masks, names[0]), mask_list(true_masks, names[1])
    if len(predicted) != len(true):
        counts = f"{names[0]} has {plural(len(predicted), 'mask')} but {names[1]} has {len(true):,}"
        raise FmfairError(f"{counts}; they pair by position, so pass one of each per sample")
    tally = Tally(options)
    pairs = list(zip(predicted, true, strict=True))
    for sample, (pred_mask, true_mask) in enumerate(_progress(pairs)):
        tally.add(sample, pred_mask, true_mask)
    tally.faults.raise_if_any()
    notes = Notes(least)
    frame = tally.frame(decide(options, tally.pred, tally.true, notes), notes)
    if label is not None and not options.per_mask and frame["dice"].is_null().all():
        raise label_not_found(options, different_values(chain.from_iterable(pairs), options))
    look_at(frame, options, tally.pred, notes)
    return Overlap(frame, notes)


def apply_empty(values: pl.Series, both_empty: pl.Series, empty: str) -> pl.Series:
    """Per-sample Dice or IoU with the samples whose two masks are both empty settled.

    Args:
        values: Dice or IoU per sample.
        both_empty: Whether neither mask of the sample has foreground, per sample.
        empty: `"one"` (rightly empty is perfect), `"zero"`, or `"drop"` (null, so that it is left out).

    Raises:
        FmfairError: If `empty` is something else, or the lengths differ.

    Examples:
        >>> frame = overlap([[[0, 0]], [[1, 0]]], [[[0, 0]], [[1, 1]]]).frame
        >>> apply_empty(frame["dice"], frame["dice"].is_null(), "one").to_list()
        [1.0, 0.6666666666666666]
    """
    check_choice("empty", empty, EMPTY)
    if len(values) != len(both_empty):
        raise FmfairError(f"values has {len(values):,} samples but both_empty has {len(both_empty):,}")
    settled = {"one": 1.0, "zero": 0.0, "drop": None}[empty]
    replacement = pl.lit(settled, dtype=pl.Float64)
    return pl.select(pl.when(both_empty).then(replacement).otherwise(values).alias(values.name)).to_series()


def _progress(pairs: list[tuple[Any, Any]]) -> Iterable[tuple[Any, Any]]:
    """The pairs, with a progress bar on a terminal where many are read from files."""
    n_read = sum(is_path(pred) or is_path(true) for pred, true in pairs)
    if n_read <= PROGRESS_FROM or not sys.stderr.isatty():
        return pairs
    from rich.console import Console
    from rich.progress import track

    return track(pairs, description="Reading masks", console=Console(stderr=True), transient=True)
