"""Per-sample overlap (Dice and IoU) of predicted and true segmentation masks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from fmfair.errors import SHOWN, FmfairError, Problems, check_choice, plural
from fmfair.mask_files import Array, UnusableMaskError, is_path, load_mask, mask_list
from fmfair.mask_values import MaskOptions, MaskValues, decide

EMPTY = ("one", "zero", "drop")
# Fewer pairs of files than this are read without a progress bar.
PROGRESS_FROM = 200


class Overlap(NamedTuple):
    """The overlap of every sample, and in words how the numbers in the masks were read."""

    frame: pl.DataFrame
    note: str


def overlap(
    pred_masks: Any,
    true_masks: Any,
    *,
    label: float | None = None,
    threshold: float | None = None,
    mask_type: str = "auto",
    conventions: str = "standard",
    base: str | os.PathLike[str] | None = None,
) -> Overlap:
    """Dice, IoU and pixel counts of each pair of masks.

    Dice is `2 * intersection / (pred_pixels + true_pixels)`, IoU is `intersection / union`; both lie in [0, 1],
    higher is better. Where both masks are empty they are undefined and null (see `apply_empty`); where only one is
    empty they are 0 (Dice 1945, doi:10.2307/1932409; Jaccard 1912).

    A pixel of a true mask is foreground where its value is above 0. What the values of the predicted masks mean is
    decided once, on all of them, never mask by mask. `mask_type="auto"` goes by types and range: booleans and
    integers are labels (foreground > 0); else with a decimal value below 0 all are logits (foreground > 0); else
    within [0, 1] all are probabilities (foreground >= 0.5); else, if whole, labels. Logits that all happen to lie
    within [0, 1] look like probabilities, so say `mask_type="logit"` where you know it.

    Masks pair by position. Each is read once and one pair at a time is held in memory.

    Args:
        pred_masks: One mask per sample: a list, a pandas or Polars Series, or an array stacked along its first axis,
            of arrays, tensors, nested lists or file paths (.npy, .npz, .nii, .nii.gz, .png, .jpg, .bmp, .tif, .gif;
            images give their first channel, archives their first array, NIfTI volumes their voxels as stored).
        true_masks: The reference masks, likewise. The shapes of a pair must be equal, but for leading or trailing
            axes of size 1 that only one of the two has; nothing is broadcast.
        label: Class label to measure: pixels equal to it on both sides are foreground.
        threshold: Lowest probability that counts as foreground, 0.5 by default. For logits it is moved to their
            scale, and values above it are foreground.
        mask_type: `"auto"`, or what the predicted values are: `"label"`, `"probability"` or `"logit"`.
        conventions: `"fairmedfm"` reads the masks as that package: axes of size 1 are squeezed away, and each
            predicted mask is by itself taken as probabilities (decimal values within [0, 1]) or as labels.
        base: Folder that relative paths start from.

    Returns:
        `frame`, one row per sample with dice and iou (Float64), pred_pixels, true_pixels and intersection (Int64);
        and `note`, how the values were read.

    Raises:
        FmfairError: If lengths or shapes differ, masks are missing, unreadable or hold NaN (samples are counted from
            0), or the predicted values fit no score type.

    Examples:
        >>> predicted = [[[1, 1], [0, 0]], [[0, 0], [0, 0]]]
        >>> true = [[[1, 0], [0, 0]], [[0, 0], [0, 0]]]
        >>> frame, note = overlap(predicted, true)
        >>> frame["dice"].to_list(), frame["iou"].to_list()
        ([0.6666666666666666, None], [0.5, None])
        >>> frame.row(0, named=True)["intersection"]
        1
        >>> overlap([[[2.0, 0.3]]], [[[1, 0]]], mask_type="logit").frame["dice"].to_list()
        [0.6666666666666666]
    """
    options = MaskOptions(label, threshold, mask_type, conventions, base)
    options.check()
    predicted, true = mask_list(pred_masks, "pred_masks"), mask_list(true_masks, "true_masks")
    if len(predicted) != len(true):
        counts = f"pred_masks has {plural(len(predicted), 'mask')} but true_masks has {len(true):,}"
        raise FmfairError(f"{counts}; they pair by position, so pass one of each per sample")
    tally = _Tally(options)
    for sample, (pred_mask, true_mask) in enumerate(_progress(list(zip(predicted, true, strict=True)))):
        tally.add(sample, pred_mask, true_mask)
    tally.faults.raise_if_any()
    rule, note = decide(options, tally.values)
    frame = tally.frame(rule)
    nothing = "; no pixel of any mask is foreground" if frame["dice"].is_null().all() else ""
    return Overlap(frame, note + nothing)


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


@dataclass
class _Faults:
    """What is wrong with single samples, by kind, so that all of it is reported in one error."""

    found: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, kind: tuple[str, str], text: str) -> None:
        """Takes in one fault of a kind: what is counted, and what is wrong with it."""
        self.found.setdefault(kind, []).append(text)

    def raise_if_any(self) -> None:
        """Raises one error that counts each kind and shows its first samples."""
        problems = Problems()
        for (noun, what), texts in self.found.items():
            more = f"; and {len(texts) - SHOWN:,} more" if len(texts) > SHOWN else ""
            problems.add(f"{plural(len(texts), noun)} {what}: {'; '.join(texts[:SHOWN])}{more}")
        problems.raise_if_any()


UNUSABLE = ("mask", "that cannot be used")
NAN = ("mask", "with NaN (set such pixels to 0, or leave the sample out)")
SHAPE = (
    "sample",
    "with masks of different shapes (only axes of size 1 in front or at the back of one side are dropped)",
)
NO_PROBABILITY = ("predicted mask", 'with values outside [0, 1] (mask_type="probability")')


class _Tally:
    """Pixel counts of the samples seen so far, under every reading of the predicted masks that is still open."""

    def __init__(self, options: MaskOptions) -> None:
        self.values = MaskValues()
        self.faults = _Faults()
        self._options = options
        self._rules = options.foreground_rules()
        self._true: list[int] = []
        self._pred: dict[str, list[int]] = {rule: [] for rule in self._rules}
        self._both: dict[str, list[int]] = {rule: [] for rule in self._rules}

    def add(self, sample: int, pred_mask: Any, true_mask: Any) -> None:
        """Counts one pair, or notes what is wrong with it."""
        pred, true = self._load(sample, "predicted", pred_mask), self._load(sample, "true", true_mask)
        if pred is None or true is None:
            return
        if pred.shape != true.shape:
            aligned = None if self._options.per_mask else _without_extra_axes(pred, true)
            if aligned is None:
                text = f"sample {sample}: predicted mask has shape {pred.shape} but the reference has {true.shape}"
                self.faults.add(SHAPE, text)
                return
            pred, true = aligned
        self.values.add(pred)
        if self._options.mask_type == "probability" and (pred.min() < 0 or pred.max() > 1):
            self.faults.add(NO_PROBABILITY, f"sample {sample}: values from {pred.min():g} to {pred.max():g}")
        self._count(pred, (true > 0) if self._options.label is None else (true == self._options.label))

    def frame(self, rule: str) -> pl.DataFrame:
        """One row per sample; null Dice and IoU where both masks are empty."""
        counts = pl.DataFrame(
            {"pred_pixels": self._pred[rule], "true_pixels": self._true, "intersection": self._both[rule]},
            schema=dict.fromkeys(("pred_pixels", "true_pixels", "intersection"), pl.Int64),
        )
        both = pl.col("intersection")
        total = pl.col("pred_pixels") + pl.col("true_pixels")
        return counts.select(
            pl.when(total > 0).then(2 * both / total).alias("dice"),
            pl.when(total > 0).then(both / (total - both)).alias("iou"),
            pl.all(),
        )

    def _load(self, sample: int, side: str, mask: Any) -> Array | None:
        where = f"sample {sample}: {side} mask {os.fspath(mask) if is_path(mask) else ''}".rstrip()
        try:
            array = load_mask(mask, base=self._options.base, squeeze=self._options.per_mask)
        except UnusableMaskError as fault:
            self.faults.add(UNUSABLE, f"{where} {fault}")
            return None
        if array.dtype.kind == "f" and np.isnan(array.min()):
            self.faults.add(NAN, where)
            return None
        return array

    def _count(self, pred: Array, true: Array) -> None:
        # count_nonzero gives Python integers, so nothing wraps at the width of the mask's type.
        self._true.append(int(np.count_nonzero(true)))
        for rule, foreground in self._rules.items():
            marked = foreground(pred)
            self._pred[rule].append(int(np.count_nonzero(marked)))
            self._both[rule].append(int(np.count_nonzero(np.logical_and(marked, true))))


def _without_extra_axes(pred: Array, true: Array) -> tuple[Array, Array] | None:
    """The pair in the shape of the side with fewer axes, if the other has only axes of size 1 around that shape."""
    longer, shorter = (pred, true) if pred.ndim > true.ndim else (true, pred)
    extra = longer.ndim - shorter.ndim
    fitting = [(1,) * front + shorter.shape + (1,) * (extra - front) for front in range(extra + 1)]
    return (pred.reshape(shorter.shape), true.reshape(shorter.shape)) if longer.shape in fitting else None


def _progress(pairs: list[tuple[Any, Any]]) -> Iterable[tuple[Any, Any]]:
    """The pairs, with a progress bar on a terminal where many are read from files."""
    n_read = sum(is_path(pred) or is_path(true) for pred, true in pairs)
    if n_read <= PROGRESS_FROM or not sys.stderr.isatty():
        return pairs
    from rich.console import Console
    from rich.progress import track

    return track(pairs, description="Reading masks", console=Console(stderr=True), transient=True)
