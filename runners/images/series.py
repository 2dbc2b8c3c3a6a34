"""A folder of DICOM files with one slice each as one volume.

The slices are numbered from 0 by where they lie: from right to left, from front to back or from feet to head, as those
of NIfTI volumes. Without places the files' own numbers count, and without those their names. Slices that lie at one
place and slices that are missing are left as they are. Only headers are read to find the order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fmfair.errors import FmfairError, plural
from fmfair.runners.images.dicom import ENDINGS, is_dicom, read_dicom
from fmfair.runners.images.picture import Array, ImageError, Picture, check_volume, needs
from fmfair.runners.images.reading import Reading
from fmfair.runners.images.reasons import check_file, why

_HEADER = (
    *("SeriesInstanceUID", "InstanceNumber", "ImagePositionPatient", "ImageOrientationPatient"),
    *("Rows", "Columns", "NumberOfFrames"),
)
# Cosines of one direction differ by no more than this between the slices of a volume.
_TURN = 1e-3


@dataclass(frozen=True)
class _Slice:
    """What the header of a file says of where its slice belongs.

    Attributes:
        path: The file.
        series: Which series it is of.
        number: Its own number; None where it has none.
        place: Where the first pixel lies, in millimetres towards left, back and head.
        turn: The directions of rows and of columns.
        pixels: How many it has.
        frames: How many slices are in the file.
    """

    path: Path
    series: str
    number: float | None
    place: Array | None
    turn: Array | None
    pixels: int
    frames: int


def read_series(folder: Path, reading: Reading) -> list[Picture]:
    """The chosen slices of the volume in a folder. Files that are no DICOM images are left out, as are its folders.

    Raises:
        ImageError: There is no slice, there are several series, or a slice cannot be read; the reason says which.
    """
    if reading.slices.axis not in (None, 0):
        raise ImageError(
            f"is a folder of DICOM slices, which is read along them: axis=0, not axis={reading.slices.axis}"
        )
    slices = _in_order(_headers(folder))
    _check(slices)
    numbers = reading.slices.chosen(len(slices))
    check_volume(sum(slices[n].pixels for n in numbers))
    pictures = []
    for number in numbers:
        with _told(f"slice {number} (of 0 to {len(slices) - 1})"):
            picture = read_dicom(slices[number].path, reading)
            pictures += [replace(p, slice=number) for p in (picture if isinstance(picture, list) else [picture])]
    return pictures


def _headers(folder: Path) -> list[_Slice]:
    """The slices of a folder, by the names of their files."""
    paths = sorted((path for path in folder.iterdir() if _may_be_a_slice(path)), key=_by_name)
    slices = []
    for position, path in enumerate(paths, 1):
        with _told(f"file {position} (of 1 to {len(paths)}, by name)"):
            slices += _header(path)
    return slices


def _may_be_a_slice(path: Path) -> bool:
    """Whether a file is DICOM, or should be: one that is lost or damaged must not be missing in silence."""
    if path.name.startswith(".") or path.is_dir():
        return False
    return path.name.lower().endswith(ENDINGS) or not path.is_file() or is_dicom(path)


def _header(path: Path) -> list[_Slice]:
    """The slice of a file; none where that is a directory of files, a report, or anything else without pixels."""
    check_file(path)
    if not is_dicom(path):
        raise ImageError("is no DICOM file: the mark DICM is not where it must be")
    said = needs("pydicom").dcmread(path, stop_before_pixels=True, specific_tags=list(_HEADER))
    if "Rows" not in said and _is_something_else(said.file_meta):
        return []
    number = _numbers(said, "InstanceNumber", 1)
    return [
        _Slice(
            path=path,
            series=str(said.get("SeriesInstanceUID") or ""),
            number=None if number is None else float(number[0]),
            place=_numbers(said, "ImagePositionPatient", 3),
            turn=_numbers(said, "ImageOrientationPatient", 6),
            pixels=int(said.get("Rows") or 0) * int(said.get("Columns") or 0),
            frames=int(said.get("NumberOfFrames") or 1),
        )
    ]


def _is_something_else(meta: Any) -> bool:
    """Whether a file is meant to be without pixels, as it is not where it was cut off."""
    kind, syntax = meta.get("MediaStorageSOPClassUID"), meta.get("TransferSyntaxUID")
    return bool(kind and syntax and "Image Storage" not in kind.name)


def _numbers(said: Any, name: str, count: int) -> Array | None:
    """The numbers of an attribute; None unless there are so many, all finite."""
    try:
        numbers = np.atleast_1d(np.asarray(said.get(name), dtype=np.float64))
    except (TypeError, ValueError):
        return None
    return numbers if numbers.shape == (count,) and np.isfinite(numbers).all() else None


def _check(slices: Sequence[_Slice]) -> None:
    """Whether the slices of a folder are those of one volume."""
    if not slices:
        raise ImageError("is a folder without DICOM images")
    several = [part for part in slices if part.frames > 1]
    if several:
        count = plural(len(several), "DICOM file")
        raise ImageError(f"is a folder with {count} of several frames; name one file in place of the folder")
    series = len({part.series for part in slices})
    if series > 1:
        raise ImageError(f"is a folder with the slices of {series} series; give each series a folder of its own")


def _in_order(slices: list[_Slice]) -> list[_Slice]:
    """The slices by their places, else by their own numbers, else by the names of their files, as they come."""
    places = _places(slices)
    numbers = [math.inf if part.number is None else part.number for part in slices]
    if places is None:
        places = [0.0] * len(slices)
        if math.inf in numbers:
            return slices
    order = sorted(range(len(slices)), key=lambda k: (places[k], numbers[k]))  # which keeps names in their order
    return [slices[k] for k in order]


def _places(slices: Sequence[_Slice]) -> list[float] | None:
    """How far each slice lies along the normal of all; None unless all are parallel and say where they are."""
    places = [part.place for part in slices if part.place is not None]
    turns = [part.turn for part in slices if part.turn is not None]
    if not slices or len(places) < len(slices) or len(turns) < len(slices):
        return None
    if np.ptp(turns, axis=0).max() > _TURN:
        return None
    turn = np.mean(turns, axis=0)
    normal = np.cross(turn[:3], turn[3:])
    if np.linalg.norm(normal) < _TURN:
        return None
    normal *= np.sign(normal[np.abs(normal).argmax()])  # towards left, back or head
    return [float(place @ normal) for place in places]


def _by_name(path: Path) -> tuple[list[str | int], str]:
    """Numbers in names count as numbers: IM2 comes before IM10."""
    parts = re.split(r"([0-9]+)", path.name)
    return [int(part) if k % 2 else part for k, part in enumerate(parts)], path.name


@contextmanager
def _told(which: str) -> Iterator[None]:
    """Adds to a reason which slice it is of."""
    try:
        yield
    except ImageError as error:
        raise ImageError(f"{which} {error}") from None
    except FmfairError:
        raise
    except Exception as error:  # noqa: BLE001 - each library has exceptions of its own, all meaning "unreadable"
        raise ImageError(f"{which} {why(error)}") from None
