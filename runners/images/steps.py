"""What a model does to a picture before it looks at it: a list of named steps that is read, checked and carried out.

The steps, as they are written:

    window8        deep grey levels to 8 bits: window8, window8:minmax, window8:percentiles:1:99, window8:window,
                   window8:window:-1250:250, window8:type
    rgb, grey      three channels, or one; opacity is dropped, and what is deeper than 8 bits goes through window8
    pad_square     grey level and smallest side: pad_square:0:224
    resize         size, mode, interpolation, backend, antialias: resize:224:short:bicubic:pil,
                   resize:448:squash:bilinear:tensor:noaa
    crop           size of the middle: crop:224, crop:224:down
    round8         a tensor back to grey levels: round8, round8:nearest
    scale          0 to 255 becomes 0 to 1, or stays: scale, scale:none
    normalise      statistics: normalise:clip, normalise:0.5056:0.252, normalise:0.43,0.411,0.296:0.213,0.156,0.143
    repeat3        one channel three times
    tensor_resize  as resize, after normalise: tensor_resize:224:bicubic:noaa
    multiple_of    a check: multiple_of:14
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from fmfair.errors import FmfairError, Problems, near
from fmfair.runners.images.order import State
from fmfair.runners.images.picture import ImageError, Picture, needs
from fmfair.runners.images.resizing import Crop, PadSquare, Resize
from fmfair.runners.images.values import Colours, MultipleOf, Normalise, Repeat3, Round8, Scale
from fmfair.runners.images.windowing import Window8


def _alone(step: Any) -> Callable[[list[str]], Any]:
    """Reads a step that is its name alone."""

    def of(words: list[str]) -> Any:
        if words:
            raise FmfairError(f"{':'.join(words)!r} is too much; the name is all")
        return step

    return of


STEPS: Mapping[str, Callable[[list[str]], Any]] = MappingProxyType(
    {
        "window8": Window8.of,
        "rgb": _alone(Colours("RGB")),
        "grey": _alone(Colours("L")),
        "pad_square": PadSquare.of,
        "resize": Resize.of,
        "crop": Crop.of,
        "round8": Round8.of,
        "scale": Scale.of,
        "normalise": Normalise.of,
        "repeat3": _alone(Repeat3()),
        "tensor_resize": Resize.of_tensor,
        "multiple_of": MultipleOf.of,
    }
)


@dataclass(frozen=True)
class Transform:
    """The steps from a picture to what a model is fed, the same size for every picture.

    Attributes:
        steps: The names of the steps and what each does, in their order.
        size: The side of the square that a model is fed, in pixels.

    Examples:
        >>> clip = Transform.of(["rgb", "resize:224:short:bicubic:pil", "crop:224", "scale", "normalise:clip"])
        >>> str(clip), clip.size
        ('rgb, resize:224:short:bicubic:pil, crop:224, scale, normalise:clip', 224)
        >>> Transform.of(str(clip)) == clip
        True
        >>> Transform.of("rgb, resize:224:squash:bicubik, normalize:clip, scale")
        Traceback (most recent call last):
        ...
        fmfair.errors.FmfairError: 2 problems:
          - step 2 of 4, 'resize:224:squash:bicubik': 'bicubik' is not known; expected some of short, squash, longest,
            nearest, bilinear, bicubic, lanczos, pil, tensor, aa, noaa; did you mean 'bicubic'?
          - step 3 of 4, 'normalize:clip': no such step; expected one of window8, rgb, grey, pad_square, resize, crop,
            round8, scale, normalise, repeat3, tensor_resize, multiple_of; did you mean 'normalise'?
    """

    steps: tuple[tuple[str, Any], ...]
    size: int

    @classmethod
    def of(cls, said: str | Sequence[str]) -> Transform:
        """From the texts of the steps, or from one text with ", " between them.

        Raises:
            FmfairError: A step is unknown or stands where it cannot, or the result is not what a model can be fed;
                everything of it at once.
        """
        # A comma alone stands between the three numbers of statistics.
        texts = [text.strip() for text in (said.split(", ") if isinstance(said, str) else said)]
        problems, steps = Problems(), list[tuple[str, Any]]()
        for number, text in enumerate(texts, 1):
            name, *words = text.split(":")
            with _told(problems, number, texts):
                if name not in STEPS:
                    raise FmfairError(f"no such step; expected one of {', '.join(STEPS)}{near(name, STEPS)}")
                steps.append((name, STEPS[name](words)))
        problems.raise_if_any()
        steps = _squared(steps)
        return cls(tuple(steps), _size(steps, texts))

    @property
    def texts(self) -> tuple[str, ...]:
        """The steps as `of` reads them back, each said in one way."""
        return tuple(":".join((name, *_words(name, step))) for name, step in self.steps)

    def __str__(self) -> str:
        return ", ".join(self.texts)

    def __call__(self, picture: Picture) -> Any:
        """A float32 tensor (3, size, size).

        Raises:
            ImageError: The picture does not hold what a step needs, or is too large.
        """
        value: Any = picture
        try:
            for _, step in self.steps:
                value = step(value)
        except MemoryError:
            raise ImageError("needs more memory than there is") from None
        # Only now a tensor: torch would share out every small step over threads, beside those that read the images.
        return needs("torch").from_numpy(np.ascontiguousarray(value))


def _squared(steps: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The steps, in which a square around a picture of a size has that size: a longer side may be a pixel less."""
    squared = steps[:1]
    for (_, before), (name, step) in pairwise(steps):
        padded = isinstance(step, PadSquare) and isinstance(before, Resize) and before.mode == "longest"
        squared.append((name, replace(step, least=max(step.least, before.size)) if padded else step))
    return squared


def _size(steps: list[tuple[str, Any]], texts: list[str]) -> int:
    """The side of what the steps give.

    Raises:
        FmfairError: One stands where it cannot, or something is missing at the end.
    """
    problems, state = Problems(), State()
    for number, (name, step) in enumerate(steps, 1):
        with _told(problems, number, texts):
            state = state.after(name, step)
        problems.raise_if_any()  # what follows would only be wrong because of it
    for missing in state.unfinished():
        problems.add(f"the steps {', '.join(texts)!r} are not all: {missing}")
    problems.raise_if_any()
    return state.short


@contextmanager
def _told(problems: Problems, number: int, texts: list[str]) -> Iterator[None]:
    """Adds the problems of a step with its place."""
    try:
        yield
    except FmfairError as error:
        for problem in error.problems:
            problems.add(f"step {number} of {len(texts)}, {texts[number - 1]!r}: {problem}")


def _words(name: str, step: Any) -> list[str]:
    if name == "tensor_resize":
        return list(step.words(backend=False))
    return list(step.words()) if hasattr(step, "words") else []
