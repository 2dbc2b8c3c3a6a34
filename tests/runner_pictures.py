"""Pictures for the tests of the steps: synthetic ones whose every wrong pixel shows, and a chest radiograph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

RADIOGRAPH = Path(__file__).parent / "data" / "chest_radiograph.png"

SHORT = next(side for side in range(330, 999) if int(side * (320.0 / side)) == 319)

Pixels = npt.NDArray[np.uint8]


def ramp() -> Pixels:
    """Red rises to the right and green downwards; higher than wide, by an odd number of pixels."""
    rows, columns = np.mgrid[0:401, 0:300]
    return np.stack([columns * 255 // 299, rows * 255 // 400, (rows + columns) % 256], axis=-1).astype(np.uint8)


def checkerboard() -> Pixels:
    """Grey squares of 7 pixels, wider than high."""
    rows, columns = np.mgrid[0:520, 0:603]
    return np.asarray(((rows // 7 + columns // 7) % 2) * 200 + 30, dtype=np.uint8)


def small() -> Pixels:
    """Smaller than any model wants, so that everything is made larger; every colour at random."""
    return np.random.default_rng(7).integers(0, 256, (97, 61, 3), dtype=np.uint8)


def radiograph() -> Pixels:
    """A paediatric chest radiograph of 150 x 150 pixels."""
    with Image.open(RADIOGRAPH) as image:
        return np.array(image)


def pixel_short() -> Pixels:
    """A square that a longer side of 320 makes one of 319, in floating point."""
    return np.random.default_rng(9).integers(0, 256, (SHORT, SHORT), dtype=np.uint8)


PICTURES = {
    "ramp": ramp,
    "checkerboard": checkerboard,
    "small": small,
    "radiograph": radiograph,
    "pixel_short": pixel_short,
}
