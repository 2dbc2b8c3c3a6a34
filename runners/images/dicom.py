"""DICOM files as pictures: stored values through the modality's rescaling, with the window that the file names.

Several frames are the slices of a volume. Grey values stay as deep as they are; the window, the first where there are
several, is kept beside them. A curve (VOI LUT, sigmoid) has no two ends and is applied at once. Pixels are taken as
squares, whatever spacing or aspect ratio the file names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fmfair.runners.images.picture import Array, ImageError, Picture, check_volume, needs
from fmfair.runners.images.reading import Reading

Window = tuple[float, float]

ENDINGS = (".dcm", ".dicom", ".ima")
# An attribute that holds pixels; a DICOM file may as well hold a report or a plan.
_PIXELS = ("PixelData", "FloatPixelData", "DoubleFloatPixelData")
_DECODERS = 'most are in: pip install "pylibjpeg[all]"'


def is_dicom(path: Path) -> bool:
    """Whether the file begins as DICOM files do."""
    with path.open("rb") as file:
        return file.read(132)[128:] == b"DICM"


def read_dicom(path: Path, reading: Reading) -> Picture | list[Picture]:
    """The picture of a DICOM file, or the chosen ones of its frames.

    Raises:
        ImageError: It is no DICOM file, holds no pixels, or its compression is one that is not decoded.
    """
    if not is_dicom(path):
        raise ImageError("is no DICOM file: the mark DICM is not where it must be")
    data = needs("pydicom").dcmread(path)
    if not any(name in data for name in _PIXELS):
        raise ImageError("is a DICOM file without pixels")
    frames = int(data.get("NumberOfFrames") or 1)
    if reading.slices.axis not in (None, 0):
        raise ImageError(f"is a DICOM file, which is read frame by frame: axis=0, not axis={reading.slices.axis}")
    _check(data, frames)
    numbers = reading.slices.chosen(frames) if frames > 1 else [0]
    pictures = [_picture(data, n, values, reading) for n, values in zip(numbers, _decoded(data, numbers), strict=True)]
    return [_numbered(p, n) for p, n in zip(pictures, numbers, strict=True)] if frames > 1 else pictures[0]


def _check(data: Any, frames: int) -> None:
    """Before anything is decoded."""
    check_volume(int(data.get("Rows") or 0) * int(data.get("Columns") or 0) * frames)
    syntax = data.file_meta.get("TransferSyntaxUID")
    if syntax is None:
        raise ImageError("does not say how its pixels are stored (no transfer syntax)")
    try:
        ready = needs("pydicom.pixels").get_decoder(syntax).is_available
    except NotImplementedError:
        raise ImageError(f"is compressed ({_named(syntax)}), which nothing here decodes; unpack it first") from None
    if not ready:
        raise ImageError(f"is compressed ({_named(syntax)}), and no decoder for that is installed; {_DECODERS}")


def _named(syntax: Any) -> str:
    """The name of a transfer syntax of the standard; what else stands there may be any text."""
    return str(syntax.name) if syntax.name != str(syntax) else "in a way that the standard does not name"


def _decoded(data: Any, numbers: list[int]) -> Iterator[Array]:
    """The stored values of the frames, colours as red, green and blue."""
    pixels = needs("pydicom.pixels")
    try:
        yield from pixels.iter_pixels(data, indices=numbers)
    except (RuntimeError, NotImplementedError):
        name = _named(data.file_meta.TransferSyntaxUID)
        raise ImageError(f"holds pixels ({name}) that the installed decoders cannot read; {_DECODERS}") from None


def _picture(data: Any, frame: int, stored: Array, reading: Reading) -> Picture:
    photometric = str(data.get("PhotometricInterpretation") or "")
    if photometric == "PALETTE COLOR":
        return Picture.of(_as_array(needs("pydicom.pixels").apply_color_lut(stored, data)))
    if stored.ndim == 3:
        deep = stored.dtype != np.uint8
        return Picture.of(stored, window=(0.0, 2.0 ** int(data.get("BitsStored") or 8) - 1) if deep else None)
    values = _rescaled(stored, _holder(data, frame, "PixelValueTransformationSequence"))
    window = reading.window
    if window is None:
        values, window = _with_window(values, _holder(data, frame, "FrameVOILUTSequence"))
        window = _without_padding(data, stored, values) if window is None else window
    return Picture.of(values, inverted=photometric == "MONOCHROME1", window=window)


def _numbered(picture: Picture, number: int) -> Picture:
    return Picture(picture.pixels, picture.inverted, picture.window, number)


def _holder(data: Any, frame: int, sequence: str) -> Any:
    """Where the attributes of a frame stand: with the frame, with what all frames share, or with the whole."""
    groups = data.get("PerFrameFunctionalGroupsSequence") or []
    shared = data.get("SharedFunctionalGroupsSequence") or []
    for group in [*groups[frame : frame + 1], *shared[:1]]:
        if group.get(sequence):
            return group.get(sequence)[0]
    return data


def _rescaled(stored: Array, holder: Any) -> Array:
    """Values of the modality, such as Hounsfield units; whole numbers where the rescaling keeps them whole."""
    if holder.get("ModalityLUTSequence"):
        return _as_array(needs("pydicom.pixels").apply_modality_lut(stored, holder))
    slope, intercept = (_number(holder, name, other) for name, other in (("RescaleSlope", 1), ("RescaleIntercept", 0)))
    if (slope, intercept) == (1, 0):
        return stored
    values = stored * slope + intercept
    whole = slope == int(slope) and intercept == int(intercept) and stored.dtype.kind in "iu"
    fits = np.abs(values).max(initial=0) < 2**31
    return _as_array(values.astype(np.int32 if whole and fits else np.float32))


def _with_window(values: Array, holder: Any) -> tuple[Array, Window | None]:
    """The values, through the curve of the file if it has one, and those of them that are black and white."""
    if holder.get("VOILUTSequence"):
        whole = values if values.dtype.kind in "iu" else np.rint(values).astype(np.int32)
        bits = int(holder.VOILUTSequence[0].LUTDescriptor[2])
        return _as_array(needs("pydicom.pixels").apply_voi(whole, holder)), (0.0, 2.0**bits - 1)
    centre, width = _number(holder, "WindowCenter"), _number(holder, "WindowWidth")
    if centre is None or width is None:
        return values, None
    function = str(holder.get("VOILUTFunction") or "LINEAR")
    if width <= 0 or (function == "LINEAR" and width < 1):
        raise ImageError("names a window without width; say window= to read it by another one")
    if function == "SIGMOID":
        with np.errstate(over="ignore"):  # far from the centre the curve is flat
            curve = 1 / (1 + np.exp(-4.0 * (values - centre) / width))
        return curve.astype(np.float32), (0.0, 1.0)
    if function == "LINEAR_EXACT":
        return values, (centre - width / 2, centre + width / 2)
    return values, (centre - 0.5 - (width - 1) / 2, centre - 0.5 + (width - 1) / 2)


def _without_padding(data: Any, stored: Array, values: Array) -> Window | None:
    """From the lowest to the highest value of the picture itself, where a value is set aside for what is around it."""
    padding = _number(data, "PixelPaddingValue")
    if padding is None:
        return None
    low, high = sorted((padding, _number(data, "PixelPaddingRangeLimit", padding)))
    inside = values[(stored < low) | (stored > high)]
    return (float(inside.min()), float(inside.max())) if inside.size else None


def _number(holder: Any, name: str, other: float | None = None) -> Any:
    """The value of an attribute, of several the first; the other where it is absent or empty."""
    value = holder.get(name)
    if value is None or value == "":
        return other
    if not isinstance(value, (str, bytes)) and hasattr(value, "__len__"):
        return float(value[0]) if len(value) else other
    return float(value)


def _as_array(values: Any) -> Array:
    return np.asarray(values)
