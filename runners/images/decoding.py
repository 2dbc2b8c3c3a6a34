"""Image files as Pillow opens and decodes them, turned as they are meant to be seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fmfair.runners.images.picture import Array, needs

# The tag that says how a camera was held, and its values for pictures that lie on their side or are reversed.
_ORIENTATION = 0x0112
_LYING, _UPSIDE_DOWN, _MIRRORED = (5, 6, 7, 8), (3, 4, 7, 8), (2, 3, 6, 7)


@contextmanager
def opened(path: Path, formats: Sequence[str] | None = None) -> Iterator[Any]:
    """The image in a file, not decoded yet, of the formats that are named."""
    # From a handle: of a path, Pillow maps some files into memory, and there mixes up the rows of TIFF files that
    # are to be turned; where such a file becomes shorter meanwhile, the program ends.
    with path.open("rb") as file, needs("PIL.Image").open(file, formats=formats) as image:
        yield image


def upright(pixels: Array, image: Any) -> Array:
    """The pixels of a decoded image, turned by its EXIF orientation, as viewers do and `PIL.Image.open` does not.

    Of TIFF files Pillow has turned them when it decodes, and then says nothing of it any more.
    """
    try:
        orientation = image.getexif().get(_ORIENTATION)
    except Exception:  # noqa: BLE001 - whatever Pillow has against a note beside the picture, the picture is there
        return pixels
    turned = pixels.swapaxes(0, 1) if orientation in _LYING else pixels
    return turned[:: -1 if orientation in _UPSIDE_DOWN else 1, :: -1 if orientation in _MIRRORED else 1]
