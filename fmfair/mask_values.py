"""What the numbers in predicted masks mean: labels, probabilities or logits, decided once for the whole run."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fmfair.conventions import conventions_named
from fmfair.errors import FmfairError, check_choice
from fmfair.mask_files import Array

MASK_TYPES = ("auto", "label", "probability", "logit")


@dataclass(frozen=True)
class MaskOptions:
    """How the user wants the masks read; `fmfair.masks.overlap` describes each option."""

    label: float | None
    threshold: float | None
    mask_type: str
    conventions: str
    base: str | os.PathLike[str] | None

    @property
    def per_mask(self) -> bool:
        """Whether each predicted mask is read by its own values, as FairMedFM does."""
        return self.conventions == "fairmedfm"

    def check(self) -> None:
        """Raises where an option is out of range or contradicts another."""
        check_choice("mask_type", self.mask_type, MASK_TYPES)
        conventions_named(self.conventions)
        if self.label is not None and not _is_number(self.label):
            raise FmfairError(f"label={self.label!r} is not one number, the class label in the masks")
        if self.threshold is not None and not (_is_number(self.threshold) and 0 <= self.threshold <= 1):
            raise FmfairError(
                f"mask_threshold={self.threshold!r} is not a probability in [0, 1]; logits are compared with the "
                "threshold moved to their scale, and integer masks count as foreground above 0"
            )
        if self.per_mask and self.mask_type != "auto":
            raise FmfairError(
                f'mask_type={self.mask_type!r} needs conventions="standard": with "fairmedfm" each predicted mask '
                "is read by its own values"
            )
        if self.label is not None and self.mask_type in ("probability", "logit"):
            raise FmfairError(f"label= compares class labels, so it cannot go with mask_type={self.mask_type!r}")

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

    def foreground_rules(self) -> dict[str, Callable[[Array], Array]]:
        """The readings of a predicted mask that are still open before all have been seen.

        All of them are counted on the way, so that no mask has to be read a second time.
        """
        if self.label is not None:
            return {"class": lambda mask: mask == self.label}
        if self.per_mask:
            return {"per mask": lambda mask: _fairmedfm_foreground(mask, self.cut)}
        # One-element Float64 arrays, so that a Float32 mask is widened and not the threshold rounded.
        cut, logit_cut = np.array([self.cut]), np.array([self.logit_cut])
        rules: dict[str, Callable[[Array], Array]] = {
            "label": lambda mask: mask > 0,
            "probability": lambda mask: mask >= cut,
            "logit": lambda mask: mask > logit_cut,
        }
        return rules if self.mask_type == "auto" else {self.mask_type: rules[self.mask_type]}


@dataclass
class MaskValues:
    """Types and range of all predicted masks."""

    low: float = math.inf
    high: float = -math.inf
    any_float: bool = False
    float_low: float = math.inf
    whole: bool = True

    def add(self, mask: Array) -> None:
        """Takes in one more mask."""
        low, high = float(mask.min()), float(mask.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        if mask.dtype.kind == "f":
            self.any_float = True
            self.float_low = min(self.float_low, low)
            self.whole = self.whole and math.isfinite(high) and bool((np.floor(mask) == mask).all())

    @property
    def span(self) -> str:
        """The range, for a message."""
        return f"from {self.low:g} to {self.high:g}"


def decide(options: MaskOptions, values: MaskValues) -> tuple[str, str]:
    """The rule that reads the predicted masks, and a note that says so."""
    unused = "" if options.threshold is None else f"; mask_threshold={options.threshold:g} is not used"
    if options.label is not None:
        fractions = "" if values.whole else "; the predicted masks hold values that are not whole numbers"
        rule = f"foreground is where the value equals label {options.label:g}, on both sides"
        return "class", f"masks: {rule} (predicted values {values.span}){fractions}{unused}"
    if options.per_mask:
        return "per mask", (
            "masks: as FairMedFM, each predicted mask with decimal values within [0, 1] is foreground >= "
            f"{options.cut:g}, any other > 0; true masks are foreground > 0"
        )
    kind = _guess(values) if options.mask_type == "auto" else options.mask_type
    why = f"found on all predicted masks, values {values.span}" if options.mask_type == "auto" else "as given"
    scale = "" if options.threshold is None else f" (mask_threshold={options.threshold:g} on the scale of logits)"
    rule = {
        "label": f"foreground > 0{unused}",
        "probability": f"foreground >= {options.cut:g}",
        "logit": f"foreground > {options.logit_cut:g}{scale}",
    }[kind]
    return kind, f"predicted masks: score type {kind} ({why}), {rule}; true masks: foreground > 0"


def _guess(values: MaskValues) -> str:
    if not values.any_float:
        return "label"
    if values.float_low < 0:
        return "logit"
    if values.low >= 0 and values.high <= 1:
        return "probability"
    if values.whole:
        return "label"
    raise FmfairError(
        f"the predicted masks hold decimal values, {values.span} over all masks, which are neither probabilities nor "
        'plainly logits; pass mask_type="label" (foreground > 0), "logit", or "probability" with values in [0, 1]'
    )


def _fairmedfm_foreground(mask: Array, cut: float) -> Array:
    probabilities = mask.dtype.kind == "f" and mask.min() >= 0 and mask.max() <= 1
    return np.asarray(mask >= cut if probabilities else mask > 0)


def _is_number(value: object) -> bool:
    """Whether a value is one finite number; booleans are not."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    return math.isfinite(value)
