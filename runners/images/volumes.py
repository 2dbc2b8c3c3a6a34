"""Volumes as their slices: NIfTI files turned to the patient, and NumPy arrays as they lie."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from fmfair.errors import listing, near
from fmfair.runners.images.picture import Array, ImageError, Picture, check_volume, needs
from fmfair.runners.images.reading import Reading

# Of NIfTI volumes, the slices from feet to head.
_AXIAL = 2


def read_nifti(path: Path, reading: Reading) -> list[Picture]:
    """The chosen slices of a NIfTI volume, as a radiologist sees them, whichever way the voxels are stored.

    The patient's right is at the left of axial and coronal slices, the face is on top of axial slices, the head on
    top of coronal and sagittal ones, and sagittal slices look to the left.

    Raises:
        ImageError: It is no volume of one grey value per voxel, or does not say how it lies in the patient.
    """
    nibabel = needs("nibabel")
    try:
        image = nibabel.load(path)
    except (nibabel.filebasedimages.ImageFileError, nibabel.spatialimages.HeaderDataError):
        raise ImageError("is no NIfTI volume; .nii.gz is the ending of a packed one, .nii of any other") from None
    shape = (*image.shape, 1, 1)[: max(3, len(image.shape))]
    _check(shape, image.get_data_dtype())
    if any(n != 1 for n in shape[3:]):
        volumes = math.prod(shape[3:])
        raise ImageError(f"holds {volumes} volumes (shape {_shape(shape)}); save the one that counts in its own file")
    raw, slope, intercept = _stored(image.dataobj)
    volume = _turned(raw.reshape(shape[:3]), nibabel.io_orientation(image.affine))
    axis = _AXIAL if reading.slices.axis is None else reading.slices.axis
    pictures = []
    for number in reading.slices.chosen(volume.shape[axis]):
        plane = volume.take(number, axis=axis)
        # Rows go down the patient, which is backwards through the last axis, except in axial slices.
        rows = plane.T if axis == _AXIAL else plane[:, ::-1].T
        values = rows if (slope, intercept) == (1, 0) else rows * slope + intercept
        pictures.append(Picture.of(values, window=reading.window, number=number))
    return pictures


def read_arrays(path: Path, reading: Reading) -> Picture | list[Picture]:
    """The picture, or the chosen slices of the volume, in a `.npy` file or in one array of an `.npz` archive.

    An array of height x width, or of that x 1, 3 or 4 channels, is a picture; a third axis of any other length, or one
    that is named (`axis=`), makes it a volume, whose slices may have channels on a fourth.

    Raises:
        ImageError: There is no such array, or it is no picture and no volume of numbers.
    """
    with path.open("rb") as file:
        if path.name.lower().endswith(".npy"):
            return _of_array(_array(file), reading)
        if not zipfile.is_zipfile(file):
            raise ImageError("is no npz archive")
        with zipfile.ZipFile(file) as archive, archive.open(_member(archive, reading.key)) as member:
            return _of_array(_array(member), reading)


def _member(archive: zipfile.ZipFile, key: str | None) -> str:
    names = [name.removesuffix(".npy") for name in archive.namelist()]
    if key is None and len(names) != 1:
        raise ImageError(f"holds {len(names)} arrays ({listing(names)}); say which with key=")
    if key is not None and key not in names:
        raise ImageError(f"holds no array {key!r}{near(key, names)}; it holds {listing(names)}")
    return archive.namelist()[names.index(key) if key is not None else 0]


def _array(file: IO[bytes]) -> Array:
    """An array whose header has been looked at before its values are read."""
    try:
        version = np.lib.format.read_magic(file)
    except ValueError:
        raise ImageError("is no NumPy array") from None
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in headers:
        raise ImageError("holds an array with named fields, which is no picture")
    shape, _, dtype = headers[version](file)
    if dtype.hasobject:
        raise ImageError("holds Python objects, which are not read")
    _check(shape, dtype)
    file.seek(0)
    try:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    except ValueError:
        raise ImageError("ends too early: it was cut off") from None


def _of_array(array: Array, reading: Reading) -> Picture | list[Picture]:
    channels = array.shape[-1] if array.ndim > 3 or (array.ndim == 3 and reading.slices.axis is None) else 0
    array, colours = array[..., 0] if channels == 1 else array, channels in (3, 4)
    if array.ndim <= 2 + colours:
        return Picture.of(array, window=reading.window)
    if array.ndim > 3 + colours:
        raise ImageError(f"has the shape {_shape(array.shape)}, which is no picture and no volume")
    axis = reading.slices.axis or 0
    numbers = reading.slices.chosen(array.shape[axis])
    return [Picture.of(array.take(n, axis=axis), window=reading.window, number=n) for n in numbers]


def _check(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Before any value is read."""
    check_volume(math.prod(shape))
    if dtype.kind not in "biuf":
        raise ImageError(f"holds values of the type {dtype.name}, which are no grey levels")


def _stored(proxy: Any) -> tuple[Array, float, float]:
    """The values as the file has them, and what makes them the ones that are meant."""
    if hasattr(proxy, "get_unscaled"):
        return np.asanyarray(proxy.get_unscaled()), float(proxy.slope), float(proxy.inter)
    return np.asanyarray(proxy), 1.0, 0.0


def _turned(volume: Array, orientation: Array) -> Array:
    """The volume with its axes towards the patient's left, back and head, as DICOM has them."""
    if not np.isfinite(orientation).all():
        raise ImageError("does not say how it lies in the patient: two axes of its affine are one")
    axes, directions = orientation[:, 0].astype(int), orientation[:, 1]
    volume = volume.transpose(np.argsort(axes))
    towards = directions[np.argsort(axes)] * np.array([-1, -1, 1])  # NIfTI counts to the right, front and head
    return volume[tuple(slice(None, None, int(step)) for step in towards)]


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(str(n) for n in shape) or "of one number"
