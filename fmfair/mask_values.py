"""What the numbers in masks can mean, and the facts by which that is decided once for the whole run."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fmfair.conventions import conventions_named
from fmfair.errors import FmfairError, check_choice
from fmfair.mask_files import Array, Mask

MASK_TYPES = ("auto", "label", "probability", "logit")
# Masks read as labels that hold more different values than this are rather probabilities stored as grey levels.
MANY = 20
# So many pixels are looked at together, which keeps the copies small.
CHUNK = 1 << 16

Rule = Callable[[Array], Array]


class Reading(NamedTuple):
    """Which pixels are foreground, in a predicted and in a true mask."""

    pred: Rule
    true: Rule


@dataclass(frozen=True)
class MaskOptions:
    """How the user wants the masks read; `fmfair.masks.overlap` describes each option."""

    label: float | None
    threshold: float | None
    mask_type: str
    conventions: str
    base: str | os.PathLike[str] | None = None
    names: tuple[str, str] = ("pred_masks", "true_masks")

    @property
    def per_mask(self) -> bool:
        """Whether each predicted mask is read by its own values, as FairMedFM does."""
        return self.conventions == "fairmedfm"

    @property
    def grey(self) -> bool:
        """Whether the threshold can only be a grey level. At 1 it may be either, with the same outcome."""
        return self.threshold is not None and self.threshold > 1

    def check(self) -> None:
        """Raises where an option is out of range or contradicts another."""
        check_choice("mask_type", self.mask_type, MASK_TYPES)
        conventions_named(self.conventions)
        if self.label is not None and not _is_number(self.label):
            raise FmfairError(f"label={self.label!r} is not one number, the class label in the masks")
        if self.per_mask and self.mask_type != "auto":
            raise FmfairError(
                f'mask_type={self.mask_type!r} needs conventions="standard": with "fairmedfm" each predicted mask '
                "is read by its own values"
            )
        if self.label is not None and self.mask_type in ("probability", "logit"):
            raise FmfairError(f"label= compares class labels, so it cannot go with mask_type={self.mask_type!r}")
        self._check_threshold()

    def _check_threshold(self) -> None:
        if self.threshold is None:
            return
        if not _is_number(self.threshold) or self.threshold < 0:
            raise FmfairError(
                f"mask_threshold={self.threshold!r} is neither a probability in [0, 1] nor a grey level of 1 or more"
            )
        if self.grey and self.per_mask:
            raise FmfairError(
                f'mask_threshold={self.threshold:g} is a grey level and needs conventions="standard": "fairmedfm" '
                "cuts decimal masks at a probability in [0, 1] and all others above 0"
            )
        if self.grey and self.mask_type in ("probability", "logit"):
            raise FmfairError(
                f"mask_threshold={self.threshold:g} is a grey level, but mask_type={self.mask_type!r} is cut at a "
                "probability in [0, 1]; give such a number, or leave out mask_type="
            )

    @property
    def cut(self) -> float:
        """The threshold as a probability."""
        return 0.5 if self.threshold is None else float(self.threshold)

    @property
    def logit_cut(self) -> float:
        """The threshold as a logit."""
        if self.cut in (0.0, 1.0):
            return math.copysign(math.inf, self.cut - 0.5)
        return math.log(self.cut / (1 - self.cut))

    def refuses_lossy(self, side: int) -> bool:
        """Whether a JPEG mask on a side, 0 for predicted and 1 for true, would count compression noise."""
        if self.per_mask or (self.grey and self.label is None):
            return False
        return not (side == 0 and self.mask_type == "probability")

    def readings(self) -> dict[str, Reading]:
        """The readings that are still open before all masks have been seen.

        All of them are counted on the way, so that no mask has to be read a second time.
        """
        if self.label is not None:
            return {"class": Reading(lambda mask: mask == self.label, lambda mask: mask == self.label)}
        if self.per_mask:
            return {"per mask": Reading(lambda mask: _fairmedfm_foreground(mask, self.cut), _above_zero)}
        if self.grey:
            level = _at_least(self.cut)
            return {"label": Reading(level, _above_zero), "grey": Reading(level, level)}
        logit_cut = np.array([self.logit_cut])
        found = {
            "label": Reading(_at_least(1) if self.threshold == 1 else _above_zero, _above_zero),
            "probability": Reading(_at_least(self.cut), _above_zero),
            "logit": Reading(lambda mask: mask > logit_cut, _above_zero),
        }
        if self.mask_type == "probability":
            return {"probability": found["probability"], "scaled": Reading(_scaled_at_least(self.cut), _above_zero)}
        return found if self.mask_type == "auto" else {self.mask_type: found[self.mask_type]}


@dataclass
class MaskValues:
    """Types and range of all masks of one side.

    Attributes:
        listed: Whether the different values are kept as well, in `different`, up to one more than `MANY`.
        lossy: How many of the masks come from JPEG files.
        full: The full range of each type of grey levels seen, by the name of the type.
        scaled: Whether some grey levels are more than 0 and 1, so that they are parts of the full range.
    """

    listed: bool = False
    low: float = math.inf
    high: float = -math.inf
    any_float: bool = False
    float_low: float = math.inf
    whole: bool = True
    lossy: int = 0
    full: dict[str, int] = field(default_factory=dict)
    scaled: bool = False
    different: set[float] = field(default_factory=set)

    def add(self, mask: Mask) -> None:
        """Takes in one more mask."""
        values = mask.values
        low, high = float(values.min()), float(values.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.lossy += mask.lossy
        if values.dtype.kind == "f":
            self.any_float = True
            self.float_low = min(self.float_low, low)
            self.whole = self.whole and math.isfinite(high) and all(map(_whole, _chunks(values)))
        full = full_range(values)
        if full is not None:
            self.full[values.dtype.name] = full
            self.scaled = self.scaled or high > 1 or mask.lossy
        if self.listed:
            self._list(values)

    @property
    def binary(self) -> bool:
        """Whether there is nothing but 0 and 1."""
        return self.whole and self.low >= 0 and self.high <= 1

    @property
    def span(self) -> str:
        """The range, for a message."""
        return f"from {self.low:g} to {self.high:g}"

    def _list(self, values: Array) -> None:
        ends = values.min(), values.max()
        # Most masks hold two values, which is seen without sorting the pixels.
        if sum(int(np.count_nonzero(values == end)) for end in ends) >= values.size:
            self.different.update(float(end) for end in ends)
            return
        for chunk in _chunks(values):
            if len(self.different) > MANY:
                return
            self.different.update(map(float, _different(chunk)))


def _chunks(values: Array) -> Iterator[Array]:
    flat = values.ravel(order="K")
    return (flat[start : start + CHUNK] for start in range(0, flat.size, CHUNK))


def _whole(values: Array) -> bool:
    return bool((np.floor(values) == values).all())


def _different(values: Array) -> Array:
    if values.dtype.kind in "iu" and values.min() >= 0 and values.max() < CHUNK:
        # Several times faster than sorting.
        return np.flatnonzero(np.bincount(values.astype(np.intp)))
    return np.unique(values)


def full_range(values: Array) -> int | None:
    """The grey level that stands for a probability of 1: 255 or 65535; None for types of no such meaning."""
    return int(np.iinfo(values.dtype).max) if values.dtype.kind == "u" and values.dtype.itemsize <= 2 else None


def _above_zero(mask: Array) -> Array:
    return np.asarray(mask > 0)


def _at_least(cut: float) -> Rule:
    # A one-element Float64 array, so that a Float32 mask is widened and not the threshold rounded.
    exact, whole = np.array([float(cut)]), math.ceil(cut)
    return lambda mask: np.asarray(mask >= (whole if mask.dtype.kind in "iu" else exact))


def _scaled_at_least(cut: float) -> Rule:
    """Grey levels as parts of their full range; all other types as they are."""
    unscaled = _at_least(cut)

    def rule(mask: Array) -> Array:
        full = full_range(mask)
        if full is None:
            return unscaled(mask)
        return np.asarray(mask >= int(np.searchsorted(np.arange(full + 1) / full, cut)))

    return rule


def _fairmedfm_foreground(mask: Array, cut: float) -> Array:
    probabilities = mask.dtype.kind == "f" and mask.min() >= 0 and mask.max() <= 1
    return np.asarray(mask >= cut if probabilities else mask > 0)


def _is_number(value: object) -> bool:
    """Whether a value is one finite number; booleans are not."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    return math.isfinite(value)
