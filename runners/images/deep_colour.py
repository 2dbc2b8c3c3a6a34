"""Colours of 16 bits in PNG and TIFF files, of which Pillow gives the upper 8: read twice, once for each half."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fmfair.runners.images.decoding import opened, upright
from fmfair.runners.images.picture import Array, ImageError

# How Pillow calls 16-bit samples with the upper byte first, with the lower one first, and as the machine has them.
_BIG, _LITTLE, _NATIVE = ";16B", ";16L", ";16N"
# The tag of a TIFF file that says how many bits a sample has.
_BITS_PER_SAMPLE = 258
_OTHER = {_BIG: _LITTLE, _LITTLE: _BIG, _NATIVE: _BIG if sys.byteorder == "little" else _LITTLE}


def is_deep(image: Any) -> bool:
    """Whether an image that is not decoded yet has colours, or grey and opacity, of 16 bits."""
    tags = getattr(image, "tag_v2", {})
    bits = max(tags.get(_BITS_PER_SAMPLE) or (8,))
    return not image.mode.startswith(("I", "F")) and (bits > 8 or any(";16" in raw for raw in _raw_modes(image)))


def deep_colours(path: Path, image: Any) -> Array:
    """All 16 bits of such an image: (height, width, 3 or 4), or (height, width) of grey whose opacity is dropped.

    Raises:
        ImageError: Its samples lie in an order that is not known here.
    """
    modes = set(_raw_modes(image))
    if modes == {f"LA{_BIG}"}:
        halves = _decoded(path, dict.fromkeys(modes, "RGBA"))  # four bytes for a pixel, as the file has them
        return (halves[..., 0].astype(np.uint16) << 8) + halves[..., 1]
    order = {raw[-4:] for raw in modes}
    if len(modes) != 1 or not modes <= {f"{colours}{end}" for colours in ("RGB", "RGBA", "RGBX") for end in _OTHER}:
        raise ImageError("has 16 bits per colour in an order that is not read; save 8 bits per colour, or 16-bit grey")
    end = order.pop()
    upper = _decoded(path, {})
    lower = _decoded(path, {raw: raw.replace(end, _OTHER[end]) for raw in modes})
    return (upper.astype(np.uint16) << 8) + lower


def _raw_modes(image: Any) -> Iterator[str]:
    for tile in image.tile:
        raw = tile[3] if isinstance(tile[3], str) else tile[3][0]
        yield str(raw)


def _decoded(path: Path, other: dict[str, str]) -> Array:
    """The pixels with their samples read as others."""
    with opened(path) as image:
        image.tile = [tile._replace(args=_replaced(tile.args, other)) for tile in image.tile]
        return upright(np.array(image), image)


def _replaced(arguments: Any, other: dict[str, str]) -> Any:
    if isinstance(arguments, str):
        return other.get(arguments, arguments)
    return (other.get(arguments[0], arguments[0]), *arguments[1:])
