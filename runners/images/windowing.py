"""Deep grey levels to 8 bits: which value becomes black and which white, the ones between in equal steps.

The result is cut to whole numbers as a cast does, which is what the published pipelines do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmfair.errors import FmfairError, near
from fmfair.runners.images.picture import Array, ImageError, Picture
from fmfair.runners.images.words import as_number, as_text

RULES = ("auto", "minmax", "percentiles", "window", "type")


@dataclass(frozen=True)
class Window8:
    """The step `window8`.

    Attributes:
        rule: `auto`: the window of the picture if it has one, else 8 bits stay as they are, deeper grey levels go
            from the lowest to the highest, and colours from 0 to the highest of their type, or fractions to 1.
            `minmax`: always from the lowest to the highest. `percentiles`: from one percentile to another. `window`:
            between two values, or the window that the picture must have. `type`: from 0 to the highest value of an
            unsigned type.
        low: The lower percentile or value; None where the rule has none.
        high: The upper one.
    """

    rule: str = "auto"
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, words: list[str]) -> Window8:
        """From the words of a step.

        Raises:
            FmfairError: They say no rule.
        """
        rule, *limits = words or ["auto"]
        if rule not in RULES:
            raise FmfairError(f"{rule!r} is no rule; expected one of {', '.join(RULES)}{near(rule, RULES)}")
        numbers = [as_number(word, rule) for word in limits]
        if len(numbers) not in {"percentiles": (2,), "window": (0, 2)}.get(rule, (0,)):
            raise FmfairError(f"{rule!r} with {len(numbers)} numbers; percentiles has two, window two or none")
        if numbers and not numbers[0] < numbers[1]:
            raise FmfairError(f"{rule!r} needs the lower number first")
        if rule == "percentiles" and not (numbers[0] >= 0 and numbers[1] <= 100):
            raise FmfairError("percentiles are between 0 and 100")
        return cls(rule, *numbers)

    def words(self) -> list[str]:
        """The words of the step, which `of` reads back."""
        if self.low is None or self.high is None:
            return [] if self.rule == "auto" else [self.rule]
        return [self.rule, as_text(self.low), as_text(self.high)]

    def __call__(self, picture: Picture) -> Picture:
        """The picture with 8 bits, white high.

        Raises:
            ImageError: It has no value that is a number, or not what the rule needs.
        """
        pixels = picture.pixels[..., :3] if picture.pixels.ndim == 3 else picture.pixels
        if self.rule == "auto" and picture.window is None and pixels.dtype == np.uint8:
            return Picture(255 - pixels if picture.inverted else pixels, slice=picture.slice)
        low, high = self._limits(pixels, picture.window)
        return Picture(_spread(pixels, low, high, inverted=picture.inverted), slice=picture.slice)

    def _limits(self, pixels: Array, window: tuple[float, float] | None) -> tuple[float, float]:
        if self.rule == "window" and self.low is not None and self.high is not None:
            return self.low, self.high
        if self.rule in ("auto", "window") and window is not None:
            return window
        if self.rule == "window":
            raise ImageError("names no window; say one, as window8:window:-1250:250")
        colours = self.rule == "auto" and pixels.ndim == 3  # which are shown as they are
        if self.rule == "type" or (colours and pixels.dtype.kind == "u"):
            if pixels.dtype.kind != "u":
                raise ImageError(f"holds {pixels.dtype.name} values, whose type has no first and last grey level")
            return 0.0, float(np.iinfo(pixels.dtype).max)
        known = pixels[np.isfinite(pixels)]
        if known.size == 0:
            raise ImageError("holds no value that is a number")
        if colours and known.min() >= 0 and known.max() <= 1:
            return 0.0, 1.0
        if colours:
            raise ImageError("holds colours that are no fractions; say which is black and white, as window=0:255")
        if self.rule == "percentiles":
            low, high = np.percentile(known.astype(np.float64), [self.low or 0.0, self.high or 0.0]).tolist()
            return low, high
        return float(known.min()), float(known.max())


def _spread(values: Array, low: float, high: float, *, inverted: bool) -> Array:
    """0 at and below `low`, 255 at and above `high`; what is not a number is 0 before it is inverted."""
    known = np.nan_to_num(values.astype(np.float64), nan=low, posinf=high, neginf=low).clip(low, high)
    if high == low:  # one value alone, and a window that is a threshold
        above = np.nan_to_num(values.astype(np.float64), nan=low) > low
        return np.asarray(above != inverted).astype(np.uint8) * np.uint8(255)
    risen = high - known if inverted else known - low
    return np.asarray(risen / (high - low) * 255).astype(np.uint8)
