"""What happens to the values: the steps `rgb`, `grey`, `round8`, `scale`, `normalise`, `repeat3` and `multiple_of`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fmfair.errors import FmfairError, near
from fmfair.runners.images.picture import Picture, needs
from fmfair.runners.images.resizing import as_values
from fmfair.runners.images.statistics import NAMED
from fmfair.runners.images.windowing import Window8
from fmfair.runners.images.words import as_number, as_text, as_whole


@dataclass(frozen=True)
class Colours:
    """The steps `rgb` and `grey`: 8 bits of three channels or of one, opacity dropped.

    Deeper pictures go through `window8` first, by its own rule.

    Attributes:
        mode: `RGB` or `L`, as Pillow has them.
    """

    mode: str

    def __call__(self, picture: Picture) -> Any:
        """A Pillow image."""
        pixels = Window8()(picture).pixels
        return needs("PIL.Image").fromarray(pixels).convert(self.mode)


@dataclass(frozen=True)
class Round8:
    """The step `round8`: what was resized as a tensor becomes grey levels from 0 to 255 again.

    Attributes:
        nearest: To the nearest; otherwise fractions are cut off, as a cast to 8 bits does and MedSigLIP's evaluation.
    """

    nearest: bool = False

    @classmethod
    def of(cls, words: list[str]) -> Round8:
        """From the words of a step.

        Raises:
            FmfairError: They are another word than `nearest`.
        """
        if words not in ([], ["nearest"]):
            raise FmfairError(f"{':'.join(words)!r} is not known; expected nothing, or nearest")
        return cls(bool(words))

    def words(self) -> list[str]:
        """The words of the step, which `of` reads back."""
        return ["nearest"] if self.nearest else []

    def __call__(self, values: Any) -> Any:
        """Whole values."""
        return (np.rint(values) if self.nearest else np.trunc(values)).clip(0, 255)


@dataclass(frozen=True)
class Scale:
    """The step `scale`: 0 to 255 becomes 0 to 1, or stays (`scale:none`).

    Attributes:
        divided: Whether values are divided by 255.
    """

    divided: bool = True

    @classmethod
    def of(cls, words: list[str]) -> Scale:
        """From the words of a step.

        Raises:
            FmfairError: They are another word than `none`.
        """
        if words not in ([], ["none"]):
            raise FmfairError(f"{':'.join(words)!r} is not known; expected nothing, or none")
        return cls(not words)

    def words(self) -> list[str]:
        """The words of the step, which `of` reads back."""
        return [] if self.divided else ["none"]

    def __call__(self, image: Any) -> Any:
        """Values (channels, height, width)."""
        values = as_values(image)
        return values / np.float32(255) if self.divided else values


@dataclass(frozen=True)
class Normalise:
    """The step `normalise`: less the mean, by the standard deviation, each for all channels or for each of three.

    Attributes:
        mean: One value or three.
        std: As many.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, words: list[str]) -> Normalise:
        """From the words of a step: a name, or `mean:std` with one number or three with commas between.

        Raises:
            FmfairError: They name no statistics.
        """
        if len(words) == 1 and words[0] in NAMED:
            return cls(*NAMED[words[0]])
        if len(words) != 2:
            hint = near(words[0], NAMED) if len(words) == 1 else ""
            raise FmfairError(
                f"{':'.join(words)!r} names no statistics; expected {', '.join(NAMED)}, or a mean and a standard "
                f"deviation such as 0.5:0.25{hint}"
            )
        mean, std = (tuple(as_number(x, "statistics") for x in word.split(",")) for word in words)
        if {len(mean), len(std)} not in ({1}, {3}):
            raise FmfairError(f"{':'.join(words)!r} must have one mean and one standard deviation, or three of each")
        if min(std) <= 0:
            raise FmfairError(f"a standard deviation of {as_text(min(std))} must be above 0")
        return cls(mean, std)

    def words(self) -> list[str]:
        """The words of the step, which `of` reads back."""
        named = next((name for name, statistics in NAMED.items() if statistics == (self.mean, self.std)), None)
        return [named] if named else [",".join(as_text(x) for x in some) for some in (self.mean, self.std)]

    def __call__(self, values: Any) -> Any:
        """The values, normalised."""
        mean, std = (np.array(some, dtype=np.float32).reshape(-1, 1, 1) for some in (self.mean, self.std))
        return (values - mean) / std


@dataclass(frozen=True)
class Repeat3:
    """The step `repeat3`: the one channel three times."""

    def __call__(self, values: Any) -> Any:
        """Values of three channels."""
        return np.repeat(values, 3, axis=0)


@dataclass(frozen=True)
class MultipleOf:
    """The step `multiple_of`: a check that patches of a size fill the picture; it changes nothing.

    Attributes:
        size: The side of a patch.
    """

    size: int

    @classmethod
    def of(cls, words: list[str]) -> MultipleOf:
        """From the words of a step.

        Raises:
            FmfairError: They are no size.
        """
        return cls(as_whole(":".join(words), "size"))

    def words(self) -> list[str]:
        """The words of the step, which `of` reads back."""
        return [str(self.size)]

    def __call__(self, values: Any) -> Any:
        """The same."""
        return values
