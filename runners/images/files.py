"""Files as pictures, told by their names: images, DICOM, NIfTI and NumPy arrays, and folders of DICOM slices.

A file that cannot be read is an `ImageError` with one reason, never a warning and never another error.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fmfair.errors import FmfairError
from fmfair.runners.images.decoding import opened, upright
from fmfair.runners.images.deep_colour import deep_colours, is_deep
from fmfair.runners.images.dicom import ENDINGS, is_dicom, read_dicom
from fmfair.runners.images.picture import MOST_PIXELS, ImageError, Picture, needs
from fmfair.runners.images.reading import Reading
from fmfair.runners.images.reasons import check_file, why
from fmfair.runners.images.series import read_series
from fmfair.runners.images.volumes import read_arrays, read_nifti

# Formats that Pillow reads without another program, by its names; the content counts, whatever the name says.
FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "JPEG2000")
SUFFIXES = {
    "image": (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".jp2"),
    "dicom": ENDINGS,
    "nifti": (".nii", ".nii.gz"),
    "arrays": (".npy", ".npz"),
}
_TALKS = logging.getLogger("nibabel.global")
# The tag of a TIFF file that says what its lowest value is, and its value for white.
_PHOTOMETRIC, _WHITE_IS_ZERO = 262, 0
# The tag that says whether samples have a sign, and what Pillow takes for the other kind, by its mode and that tag.
_SAMPLE_FORMAT = 339
_MISTAKEN: Mapping[tuple[str, int], str] = {("L", 2): "int8", ("I", 1): "uint32"}


def read(path: Path, reading: Reading | None = None) -> Picture | list[Picture]:
    """The picture in a file, or the slices of its volume that are asked for.

    Args:
        path: A picture (8 or 16 bits, grey, colour or palette; turned by its EXIF orientation), a DICOM file, a NIfTI
            volume, or a NumPy array or archive. A name without a known ending is a DICOM file if its content is, and
            a folder is the volume whose slices are the DICOM files in it.
        reading: Which array, window and slices; all slices and the file's own window by default.

    Raises:
        ImageError: The file gives no picture.
        FmfairError: A package that it needs is not installed.
    """
    path = Path(path)
    reader = _READERS[_kind(path)]
    try:
        with _quiet():
            return reader(path, reading or Reading())
    except FmfairError:
        raise
    except Exception as error:  # noqa: BLE001 - each library has exceptions of its own, all meaning "unreadable"
        raise ImageError(why(error)) from None


def _kind(path: Path) -> str:
    """The kind of a folder, or of a file that exists and is not empty."""
    try:
        if path.is_dir():
            return "series"
        check_file(path)
        name = path.name.lower()
        kind = next((kind for kind, endings in SUFFIXES.items() if name.endswith(endings)), None)
        if kind is None and is_dicom(path):
            kind = "dicom"
    except OSError as error:
        raise ImageError(why(error)) from None
    if kind is None:
        known = " ".join(ending for endings in SUFFIXES.values() for ending in endings)
        raise ImageError(f"is of no kind that is read, which are {known} and DICOM of any name")
    return kind


def _read_image(path: Path, reading: Reading) -> Picture:
    image_module = needs("PIL.Image")
    image_module.init()  # which of them this Pillow can read
    formats = [name for name in FORMATS if name in image_module.OPEN]
    try:
        with opened(path, formats) as image:
            _check(image)
            if is_deep(image):
                return Picture.of(deep_colours(path, image), window=reading.window)
            return _picture(image, reading)
    except image_module.UnidentifiedImageError:
        raise ImageError(_refused(path, {name: image_module.OPEN[name][1] for name in formats})) from None
    except image_module.DecompressionBombError:
        raise ImageError("unpacks to more pixels than any picture should have") from None


def _refused(path: Path, accepts: Mapping[str, Any]) -> str:
    """Why Pillow knows no image in a file, by what the file begins with."""
    with path.open("rb") as file:
        start = file.read(16)
    name = next((name for name, accept in accepts.items() if accept(start) is True), None)
    if name is None:
        return f"holds no picture of a format that is read, which are {', '.join(FORMATS)}"
    return f"is a {name} file that is damaged, or of a kind that is not read; save 8 or 16 bits, or 32-bit grey"


def _check(image: Any) -> None:
    """Before anything is decoded."""
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise ImageError(f"unpacks to {height} x {width} pixels; more than {MOST_PIXELS:,} are not read")
    count = getattr(image, "n_frames", 1)
    if count > 1 and image.format != "MPO":  # which holds one photograph, and smaller copies of it
        raise ImageError(f"is a {image.format} file of {count} pages; give each page that counts a file of its own")


def _picture(image: Any, reading: Reading) -> Picture:
    """The values of an image: grey levels as they are, and everything else as red, green and blue."""
    tags = getattr(image, "tag_v2", {})
    deep = image.mode.startswith(("I", "F"))
    inverted = deep and tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO  # of 8 bits, Pillow has turned it already
    meant = _MISTAKEN.get((image.mode, tags.get(_SAMPLE_FORMAT, (1,))[0])) if tags else None
    decoded = image
    if image.mode in ("LA", "La"):
        decoded = image.convert("L")
    elif not deep and image.mode not in ("1", "L", "RGB", "RGBA"):
        decoded = image.convert("RGB")
    pixels = upright(np.array(decoded), image)
    return Picture.of(pixels if meant is None else pixels.view(meant), inverted=inverted, window=reading.window)


class _Quiet:
    """Warnings are off while any thread reads a file: they would be one more way to fail, and quote the file.

    So is what nibabel prints of headers that it repairs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0
        self._filters: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._readers == 0:
                self._filters = warnings.catch_warnings()
                self._filters.__enter__()
                warnings.simplefilter("ignore")
                _TALKS.disabled = True
            self._readers += 1

    def leave(self) -> None:
        with self._lock:
            self._readers -= 1
            if self._readers == 0:
                self._filters.__exit__()
                _TALKS.disabled = False


_QUIET = _Quiet()


@contextmanager
def _quiet() -> Iterator[None]:
    _QUIET.enter()
    try:
        yield
    finally:
        _QUIET.leave()


_READERS: dict[str, Callable[[Path, Reading], Picture | list[Picture]]] = {
    "image": _read_image,
    "dicom": read_dicom,
    "series": read_series,
    "nifti": read_nifti,
    "arrays": read_arrays,
}
