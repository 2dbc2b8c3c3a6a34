"""Pixel counts of pairs of masks, and all that is wrong with single masks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from fmfair.errors import SHOWN, Problems, plural
from fmfair.mask_files import Array, Mask, UnusableMaskError, is_path, load_mask
from fmfair.mask_values import MANY, MaskOptions, MaskValues, full_range
from fmfair.notes import Notes

COUNTS = ("pred_pixels", "true_pixels", "intersection")

UNUSABLE = ("mask", "that cannot be used")
NAN = ("mask", "with NaN (set such pixels to 0, or leave the sample out)")
SHAPE = (
    "sample",
    "with masks of different shapes (only axes of size 1 in front or at the back of one side are dropped)",
)
NO_PROBABILITY = (
    "predicted mask",
    'with values outside [0, 1] (mask_type="probability"; only uint8 and uint16 are divided by their full range)',
)


@dataclass
class Faults:
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


class Tally:
    """Pixel counts of the samples seen so far, under every reading of the masks that is still open.

    Attributes:
        pred: What the predicted masks hold.
        true: What the true masks hold.
        faults: What is wrong with single samples.
    """

    def __init__(self, options: MaskOptions) -> None:
        chosen = (options.label, options.threshold)
        guessed = options.mask_type == "auto" and chosen == (None, None) and not options.per_mask
        self.pred = MaskValues(listed=guessed)
        self.true = MaskValues()
        self.faults = Faults()
        self._options = options
        self._readings = options.readings()
        self._counts: dict[str, list[tuple[int, int, int]]] = {name: [] for name in self._readings}
        self._faint = 0

    def add(self, sample: int, pred_mask: Any, true_mask: Any) -> None:
        """Counts one pair, or notes what is wrong with it."""
        pred, true = self._load(sample, 0, pred_mask), self._load(sample, 1, true_mask)
        if pred is None or true is None:
            return
        pair = (pred.values, true.values)
        if pair[0].shape != pair[1].shape:
            aligned = None if self._options.per_mask else _without_extra_axes(*pair)
            if aligned is None:
                pred_name, true_name = self._options.names
                shapes = f"mask in {pred_name} has shape {pair[0].shape} but that in {true_name} has {pair[1].shape}"
                self.faults.add(SHAPE, f"sample {sample}: {shapes}")
                return
            pair = aligned
        self.pred.add(pred)
        self.true.add(true)
        if self._options.mask_type == "probability" and full_range(pair[0]) is None:
            self._check_probabilities(sample, pair[0])
        self._count(*pair)
        if self._options.grey and not true.lossy and "grey" in self._readings:
            self._faint += not self._counts["grey"][-1][1] and self._counts["label"][-1][1] > 0

    def frame(self, reading: str, notes: Notes) -> pl.DataFrame:
        """One row per sample; null Dice and IoU where both masks are empty."""
        if reading == "grey" and self._faint:
            notes.warn(
                f"{notes.counted(self._faint, 'mask')} in {self._options.names[1]} with values above 0, but none of "
                f"mask_threshold={self._options.threshold:g} or more, count as empty"
            )
        counts = pl.DataFrame(self._counts[reading], schema=dict.fromkeys(COUNTS, pl.Int64), orient="row")
        both = pl.col("intersection")
        total = pl.col("pred_pixels") + pl.col("true_pixels")
        return counts.select(
            pl.when(total > 0).then(2 * both / total).alias("dice"),
            pl.when(total > 0).then(both / (total - both)).alias("iou"),
            pl.all(),
        )

    def _load(self, sample: int, side: int, mask: Any) -> Mask | None:
        what = os.fspath(mask) if is_path(mask) and os.fspath(mask) else "mask"
        where = f"sample {sample}: {what} in {self._options.names[side]}"
        try:
            loaded = load_mask(mask, base=self._options.base, squeeze=self._options.per_mask)
        except UnusableMaskError as fault:
            self.faults.add(UNUSABLE, f"{where} {fault}")
            return None
        if loaded.values.dtype.kind == "f" and np.isnan(loaded.values.min()):
            self.faults.add(NAN, where)
            return None
        if loaded.lossy and self._options.refuses_lossy(side):
            self.faults.add(_jpeg(self._options), where)
            return None
        return loaded

    def _check_probabilities(self, sample: int, pred: Array) -> None:
        if pred.min() < 0 or pred.max() > 1:
            span = f"values from {pred.min():g} to {pred.max():g} ({pred.dtype})"
            self.faults.add(NO_PROBABILITY, f"sample {sample}: {span}")

    def _count(self, pred: Array, true: Array) -> None:
        marked = {rule: rule(true) for rule in {reading.true for reading in self._readings.values()}}
        for name, reading in self._readings.items():
            pred_marked, true_marked = reading.pred(pred), marked[reading.true]
            both = np.logical_and(pred_marked, true_marked)
            # count_nonzero gives Python integers, so nothing wraps at the width of the mask's type.
            self._counts[name].append(
                (int(np.count_nonzero(pred_marked)), int(np.count_nonzero(true_marked)), int(np.count_nonzero(both)))
            )


def different_values(masks: Iterable[Any], options: MaskOptions) -> list[float]:
    """Values that occur in usable masks, up to a few more than `MANY`; reads no more masks than that takes."""
    values = MaskValues(listed=True)
    for mask in masks:
        values.add(load_mask(mask, base=options.base))
        if len(values.different) > MANY:
            break
    return sorted(values.different)


def _jpeg(options: MaskOptions) -> tuple[str, str]:
    """What is wrong with JPEG masks, and what to do."""
    if options.label is not None:
        return "JPEG mask", "whose compression changes class labels, so that label= cannot find them; save them as PNG"
    level = "" if options.mask_type in ("probability", "logit") else (
        ", or give the grey level from which a pixel counts, e.g. mask_threshold=128"
    )  # fmt: skip
    return "JPEG mask", f"whose compression leaves stray grey levels in the background; save them as PNG{level}"


def _without_extra_axes(pred: Array, true: Array) -> tuple[Array, Array] | None:
    """The pair in the shape of the side with fewer axes, if the other has only axes of size 1 around that shape."""
    longer, shorter = (pred, true) if pred.ndim > true.ndim else (true, pred)
    extra = longer.ndim - shorter.ndim
    fitting = [(1,) * front + shorter.shape + (1,) * (extra - front) for front in range(extra + 1)]
    return (pred.reshape(shorter.shape), true.reshape(shorter.shape)) if longer.shape in fitting else None
