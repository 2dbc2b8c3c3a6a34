"""Other sizes: the steps `resize`, `tensor_resize`, `crop` and `pad_square`.

Pillow and tensors resize differently, and so do bicubic with and without antialias: which one a model was made with
is part of its transform.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fmfair.errors import FmfairError, Problems, near
from fmfair.runners.images.picture import MOST_PIXELS, ImageError, needs
from fmfair.runners.images.words import as_whole

MODES = ("short", "squash", "longest")
INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos")
BACKENDS = ("pil", "tensor")
ANTIALIAS = ("aa", "noaa")


@dataclass(frozen=True)
class Resize:
    """The step `resize`, and after the statistics `tensor_resize`.

    Attributes:
        size: The length in pixels that is asked for.
        mode: Of the shorter side (`short`), of the longer one (`longest`), or of both, whatever the shape (`squash`).
        interpolation: One of `INTERPOLATIONS`.
        backend: `pil`, which rounds to whole grey levels, or `tensor`, which keeps fractions.
        antialias: Whether what is made smaller is smoothed first; Pillow always does.
    """

    size: int
    mode: str
    interpolation: str
    backend: str = "pil"
    antialias: bool = True

    @classmethod
    def of(cls, words: list[str]) -> Resize:
        """From the words of a step: the size, then the others in any order.

        Raises:
            FmfairError: A word is unknown, missing or doubled; all of them at once.
        """
        said = _said(words, {"mode": MODES, "interpolation": INTERPOLATIONS, "backend": BACKENDS, "aa": ANTIALIAS})
        return cls._checked(said, said.get("mode"), said.get("backend", "pil"))

    @classmethod
    def of_tensor(cls, words: list[str]) -> Resize:
        """From the words of `tensor_resize`: the same without a backend, of both sides where no mode is named.

        Raises:
            FmfairError: A word is unknown, missing or doubled; all of them at once.
        """
        said = _said(words, {"mode": MODES, "interpolation": INTERPOLATIONS, "aa": ANTIALIAS})
        return cls._checked(said, said.get("mode", "squash"), "tensor")

    @classmethod
    def _checked(cls, said: dict[str, str], mode: str | None, backend: str) -> Resize:
        problems, interpolation = Problems(), said.get("interpolation")
        for name, value, choices in (("mode", mode, MODES), ("interpolation", interpolation, INTERPOLATIONS)):
            if value is None:
                problems.add(f"it names no {name}; expected one of {', '.join(choices)}")
        if backend == "pil" and said.get("aa") == "noaa":
            problems.add("noaa needs tensor: Pillow always smooths what it makes smaller")
        if backend == "tensor" and interpolation == "lanczos":
            problems.add("lanczos needs pil: tensors have no such interpolation")
        size = 0
        with problems.collecting():
            size = as_whole(said["size"], "size")
        problems.raise_if_any()
        return cls(size, str(mode), str(interpolation), backend, said.get("aa") != "noaa")

    def words(self, *, backend: bool = True) -> list[str]:
        """The words of the step, which `of` reads back, or without the backend `of_tensor`."""
        named = [self.backend] if backend else []
        return [str(self.size), self.mode, self.interpolation, *named, *([] if self.antialias else ["noaa"])]

    def __call__(self, image: Any) -> Any:
        """The image or its values in their new size."""
        if self.backend == "pil":
            resampling = needs("PIL.Image").Resampling[self.interpolation.upper()]
            width, height = image.size
            new_height, new_width = self.sides(height, width)
            return image.resize((new_width, new_height), resampling)
        values = as_values(image)
        smoothed = self.antialias and self.interpolation != "nearest"
        interpolate = needs("torch.nn.functional").interpolate
        aligned = {} if self.interpolation == "nearest" else {"align_corners": False, "antialias": smoothed}
        tensor = needs("torch").from_numpy(np.ascontiguousarray(values))[None]
        return interpolate(tensor, size=self.sides(*values.shape[1:]), mode=self.interpolation, **aligned)[0].numpy()

    def sides(self, height: int, width: int) -> tuple[int, int]:
        """Height and width after it. Fractions are cut off, as the libraries do, and no side becomes 0.

        The longer side of `longest` is so a pixel short at times, as in the published pipeline that has it.

        Raises:
            ImageError: A picture that is all length would become too large.

        Examples:
            >>> Resize(224, "short", "bicubic").sides(300, 401), Resize(320, "longest", "lanczos").sides(100, 33)
            ((224, 299), (320, 105))
        """
        if self.mode == "squash":
            return self.size, self.size
        if self.mode == "short":
            short, long = sorted((height, width))
            longer = bounded(self.size, int(self.size * long / short))[1]
            return (self.size, longer) if height <= width else (longer, self.size)
        ratio = float(self.size) / max(height, width)
        return max(int(height * ratio), 1), max(int(width * ratio), 1)


@dataclass(frozen=True)
class Crop:
    """The step `crop`: the square in the middle.

    Attributes:
        size: Its side in pixels.
        middle: Where an odd number of pixels is cut off, `even` cuts an even number of them on the left and top, as
            torchvision does, and `down` the smaller half, as transformers does.
    """

    size: int
    middle: str = "even"

    @classmethod
    def of(cls, words: list[str]) -> Crop:
        """From the words of a step.

        Raises:
            FmfairError: There is no size, or another word than `down`.
        """
        size, *rest = words or [""]
        if rest not in ([], ["down"], ["even"]):
            raise FmfairError(f"{':'.join(rest)!r} is not known; expected nothing, even or down")
        return cls(as_whole(size, "size"), *rest)

    def words(self) -> list[str]:
        """The words of the step, which `of` reads back."""
        return [str(self.size), *([] if self.middle == "even" else [self.middle])]

    def __call__(self, image: Any) -> Any:
        """The middle of an image or of values that are at least as large."""
        if hasattr(image, "crop"):
            left, top = (self._offset(side) for side in image.size)
            return image.crop((left, top, left + self.size, top + self.size))
        top, left = (self._offset(side) for side in image.shape[1:])
        return image[:, top : top + self.size, left : left + self.size]

    def _offset(self, side: int) -> int:
        return (side - self.size) // 2 if self.middle == "down" else round((side - self.size) / 2)


@dataclass(frozen=True)
class PadSquare:
    """The step `pad_square`: a square with the image in its middle.

    Attributes:
        value: The grey level around it.
        least: The smallest side of the square.
    """

    value: int = 0
    least: int = 1

    @classmethod
    def of(cls, words: list[str]) -> PadSquare:
        """From the words of a step.

        Raises:
            FmfairError: They are no grey level and no size.
        """
        if len(words) > 2:
            raise FmfairError(f"{':'.join(words)!r} is too much; expected a grey level and a smallest side")
        value, least = (*words, *("0", "1")[len(words) :])
        return cls(as_whole(value, "grey level", 0, 255), as_whole(least, "smallest side"))

    def words(self) -> list[str]:
        """The words of the step, which `of` reads back."""
        return [str(self.value), *([] if self.least == 1 else [str(self.least)])]

    def __call__(self, image: Any) -> Any:
        """The image in the middle of a square.

        Raises:
            ImageError: A picture that is all length would become too large.
        """
        width, height = image.size
        side, _ = bounded(*[max(width, height, self.least)] * 2)
        if (side, side) == image.size:
            return image
        square = needs("PIL.Image").new(image.mode, (side, side), (self.value,) * len(image.getbands()))
        square.paste(image, ((side - width) // 2, (side - height) // 2))
        return square


def as_values(image: Any) -> Any:
    """An image as float32 values (channels, height, width) from 0 to 255; values as they are."""
    if isinstance(image, np.ndarray):
        return image
    values = np.asarray(image, dtype=np.float32)
    return values[None] if values.ndim == 2 else np.ascontiguousarray(values.transpose(2, 0, 1))


def bounded(height: int, width: int) -> tuple[int, int]:
    """Sides that a picture may grow to.

    Raises:
        ImageError: They are more than any memory should be asked for.
    """
    if height * width > MOST_PIXELS:
        raise ImageError(f"is so long and thin that it would be resized to {height:,} x {width:,} pixels")
    return height, width


def _said(words: list[str], choices: dict[str, Iterable[str]]) -> dict[str, str]:
    """The words by what they say, of which the first is the size."""
    problems, said = Problems(), {"size": words[0] if words else ""}
    known = {word: kind for kind, some in choices.items() for word in some}
    for word in words[1:]:
        kind = known.get(word)
        if kind is None:
            problems.add(f"{word!r} is not known; expected some of {', '.join(known)}{near(word, known)}")
        elif kind in said:
            problems.add(f"both {said[kind]!r} and {word!r}")
        else:
            said[kind] = word
    problems.raise_if_any()
    return said
