"""How the files of a data set are read: which array, which window, which slices; one line of text says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from fmfair.errors import FmfairError, Problems, near
from fmfair.runners.images.picture import MOST_SLICES, ImageError
from fmfair.runners.images.words import as_number, as_text, as_whole


@dataclass(frozen=True)
class Slices:
    """Which slices of a volume are read.

    Attributes:
        every: Each slice, each second one, ... from the first on.
        count: So many, each from the middle of one of as many equal parts; all where the volume has no more.
        axis: Which axis the slices follow. Of NIfTI volumes, turned to the patient: 0 from right to left (sagittal
            slices), 1 from front to back (coronal), 2 from feet to head (axial), which None means. Of arrays the
            axis itself, the first for None. DICOM has its frames, or the files of a folder, axis 0.
    """

    every: int = 1
    count: int | None = None
    axis: int | None = None

    def __post_init__(self) -> None:
        problems = Problems()
        for name, value in (("every", self.every), ("count", self.count)):
            if value is not None and value < 1:
                problems.add(f"{name}={value!r} must be at least 1")
        if self.axis not in (None, 0, 1, 2):
            problems.add(f"axis={self.axis!r} must be 0, 1 or 2")
        if self.count is not None and self.every != 1:
            problems.add("which slices are read is said with every= or with count=, not with both")
        problems.raise_if_any()

    def chosen(self, slices: int) -> list[int]:
        """The numbers of the slices to read, of so many.

        Raises:
            ImageError: They are more than any volume has.

        Examples:
            >>> Slices(every=4).chosen(10), Slices(count=3).chosen(9), Slices(count=3).chosen(2)
            ([0, 4, 8], [1, 4, 7], [0, 1])
        """
        count = -(-slices // self.every) if self.count is None else min(self.count, slices)
        if count > MOST_SLICES:
            raise ImageError(f"has {count:,} slices to read; more than {MOST_SLICES:,} are not read")
        if self.count is None:
            return list(range(0, slices, self.every))
        return [(2 * k + 1) * slices // (2 * count) for k in range(count)]


@dataclass(frozen=True)
class Reading:
    """How files become pictures.

    Attributes:
        key: The array of an npz archive; None for the only one.
        window: The values that are shown as black and as white, in place of the file's own: Hounsfield units of a CT,
            or the range that a map of thickness is drawn in.
        slices: Which slices of volumes.

    Examples:
        >>> Reading.of("key=rnflt window=-2:350")
        Reading(key='rnflt', window=(-2.0, 350.0), slices=Slices(every=1, count=None, axis=None))
        >>> str(Reading.of("count=34 axis=0 window=-1250:250"))
        'window=-1250:250 count=34 axis=0'
    """

    key: str | None = None
    window: tuple[float, float] | None = None
    slices: Slices = Slices()

    def __post_init__(self) -> None:
        if self.window is not None and not float("-inf") < self.window[0] < self.window[1] < float("inf"):
            raise FmfairError(f"window={self.window!r} must be two numbers, the lower first")
        if self.key is not None and (not self.key or self.key.split() != [self.key]):
            raise FmfairError(f"key={self.key!r} must name an array of the archives, in one word")

    @classmethod
    def of(cls, text: str) -> Reading:
        """The reading that a line such as `key=rnflt window=-2:350 every=2` says; an empty one says nothing.

        Raises:
            FmfairError: Something in it is unknown, said twice, or no number; all of it at once.
        """
        problems, said = Problems(), dict[str, Any]()
        for part in text.split():
            name, _, value = part.partition("=")
            if name not in _WORDS:
                expected = " ".join(f"{known}=" for known in _WORDS)
                problems.add(f"{part!r} is not known; expected some of {expected}{near(name, _WORDS)}")
            elif name in said:
                problems.add(f"{name}= is said twice")
            else:
                with problems.collecting():
                    said[name] = _WORDS[name](value, name)
        readings = []
        with problems.collecting():
            slices = Slices(**{name: said.pop(name) for name in _SLICES if name in said})
            readings.append(cls(**said, slices=slices))
        problems.raise_if_any()
        return readings[0]

    def __str__(self) -> str:
        window = self.window and ":".join(as_text(x) for x in self.window)
        said: dict[str, object] = {"key": self.key, "window": window}
        said |= {f.name: getattr(self.slices, f.name) for f in fields(Slices) if _differs(self.slices, f.name)}
        return " ".join(f"{name}={value}" for name, value in said.items() if value is not None)


def _differs(slices: Slices, name: str) -> bool:
    return bool(getattr(slices, name) != getattr(Slices(), name))


def _window(text: str, name: str) -> tuple[float, ...]:
    limits = tuple(as_number(word, name) for word in text.split(":"))
    if len(limits) != 2:
        raise FmfairError(f"{name}={text} must be two numbers, the lower first, as {name}=-1250:250")
    return limits


def _axis(text: str, name: str) -> int:
    return as_whole(text, name, 0, 2)


_SLICES = tuple(field.name for field in fields(Slices))
_WORDS: Mapping[str, Callable[[str, str], Any]] = {
    "key": lambda text, _: text,
    "window": _window,
    "every": as_whole,
    "count": as_whole,
    "axis": _axis,
}
