"""One picture with its pixels as they are stored, and the error of a file that gives none."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fmfair.errors import FmfairError

Array = npt.NDArray[Any]

# What pixels are kept as; everything else becomes the next of these that holds it.
KEPT = ("uint8", "uint16", "int16", "int32", "float32")
# More is a file that unpacks to far more than it seems to hold, or by far too much for one picture or volume.
MOST_PIXELS, MOST_VOXELS, MOST_SLICES = 2**28, 2**30, 2**16


class ImageError(FmfairError):
    """A file that gives no picture.

    The message is one line that a table can hold: it has nothing of the patient, of the path, or of what the
    libraries that read files say, which quote both.
    """


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture, or one slice of a volume, with the values of its file.

    Attributes:
        pixels: (height, width), or (height, width, 3 or 4) with red, green, blue and opacity, of one of the types
            `KEPT`; 16 bits stay 16 bits until the step `window8`.
        inverted: The lowest value is white (MONOCHROME1, WhiteIsZero).
        window: The values that are shown as black and as white; None where the file names none.
        slice: The number of the slice in its volume, from 0; None of a picture.
    """

    pixels: Array
    inverted: bool = False
    window: tuple[float, float] | None = None
    slice: int | None = None

    @classmethod
    def of(
        cls,
        pixels: Array,
        *,
        inverted: bool = False,
        window: tuple[float, float] | None = None,
        number: int | None = None,
    ) -> Picture:
        """A picture from any array of numbers.

        Raises:
            ImageError: It has no pixels, another shape, or values that are no numbers.
        """
        colour = pixels.ndim == 3 and pixels.shape[-1] in (3, 4)
        if pixels.size == 0:
            raise ImageError(f"has no pixels (shape {_shape(pixels)})")
        if pixels.ndim != 2 and not colour:
            raise ImageError(f"has the shape {_shape(pixels)}; a picture is height x width, or that x 3 or 4 colours")
        if pixels.shape[0] * pixels.shape[1] > MOST_PIXELS:
            raise ImageError(f"has {_shape(pixels)} pixels; more than {MOST_PIXELS:,} are not read")
        return cls(kept(pixels), inverted, window, number)


def check_volume(voxels: int) -> None:
    """Before anything of a volume is read or unpacked.

    Raises:
        ImageError: It has no values, or more of them than are read.
    """
    if voxels < 1:
        raise ImageError("has no pixels")
    if voxels > MOST_VOXELS:
        raise ImageError(f"unpacks to {voxels:,} values; more than {MOST_VOXELS:,} are not read")


def kept(values: Array) -> Array:
    """The values in one of the types that pictures have, in the byte order of the machine.

    Raises:
        ImageError: They are no numbers.
    """
    kind, name = values.dtype.kind, values.dtype.name
    if kind == "b":
        return values.astype(np.uint8) * np.uint8(255)
    if kind not in "iuf":
        raise ImageError(f"holds values of the type {name}, which are no grey levels")
    if name in KEPT:
        return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
    if name == "int8":
        return values.astype(np.int16)
    with np.errstate(over="ignore"):  # what is beyond float32 is infinite there too
        return values.astype(np.float32)


def needs(module: str) -> Any:
    """A module of a package that runners need, imported at its first use.

    Raises:
        FmfairError: The package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = {"PIL": "pillow"}.get(module.partition(".")[0], module.partition(".")[0])
        raise FmfairError(f'this needs {package}: pip install "fmfair[runners]" ({type(error).__name__})') from error


def _shape(array: Array) -> str:
    return " x ".join(str(n) for n in array.shape) or "of one number"
