"""Masks as NumPy arrays: from lists, arrays and tensors of any library, and from files."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fmfair.convert import is_missing, library
from fmfair.errors import FmfairError

Array = npt.NDArray[Any]

ARRAY_FILES = (".npy", ".npz")
IMAGE_FILES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".gif")
VOLUME_FILES = (".nii", ".nii.gz")


class Mask(NamedTuple):
    """The values of a mask, and whether they went through a lossy compression that adds stray grey levels."""

    values: Array
    lossy: bool = False


class UnusableMaskError(Exception):
    """Why one mask cannot be used; the caller adds the sample and reports all of them together."""


def is_path(mask: object) -> bool:
    """Whether a mask is given as a file path."""
    return isinstance(mask, (str, os.PathLike))


def mask_list(masks: Any, name: str) -> list[Any]:
    """One mask or path per sample, from a list, a Series, or an array stacked along its first axis.

    Raises:
        FmfairError: If there is nothing to iterate over by sample, or no sample.
    """
    expected = f"{name} must hold one mask or file path per sample (a list, a Series or a stacked array)"
    if masks is None or is_path(masks):
        got = "nothing" if masks is None else f"the single path {os.fspath(masks)!r}; put it in a list"
        raise FmfairError(f"{expected}, got {got}")
    if isinstance(masks, (list, tuple)):
        items = list(masks)
    elif library(masks) in ("pandas", "polars") and hasattr(masks, "to_list"):
        items = masks.to_list()
    else:
        try:
            stacked = as_array(masks)
        except UnusableMaskError as fault:
            raise FmfairError(f"{expected}; it {fault}") from None
        if stacked.ndim == 0:
            raise FmfairError(f"{expected}, got one {type(masks).__name__}")
        items = list(stacked)
    if not items:
        raise FmfairError(f"{expected}, but it is empty")
    return items


def as_array(values: Any) -> Array:
    """A NumPy array from nested lists, an array or a tensor (on any device, with or without gradients).

    Raises:
        UnusableMaskError: If the values have no rectangular shape, or some are masked out.
    """
    try:
        if np.ma.is_masked(values):
            raise UnusableMaskError("has masked-out pixels; fill them first")
        if hasattr(values, "detach") and hasattr(values, "cpu"):
            values = values.detach().cpu()
            # NumPy has no bfloat16; float32 holds all of its values.
            values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
        elif hasattr(values, "to_numpy"):
            values = values.to_numpy()
        elif hasattr(values, "numpy") and not hasattr(values, "__array__"):
            values = values.numpy()
        return np.asarray(values)
    except UnusableMaskError:
        raise
    except Exception as error:  # noqa: BLE001 - foreign objects fail in their own ways, all meaning "no array"
        raise UnusableMaskError(f"cannot be turned into an array ({_first_line(error)})") from None


def load_mask(mask: Any, *, base: str | os.PathLike[str] | None = None, squeeze: bool = False) -> Mask:
    """One mask with its numeric values.

    Args:
        mask: Array, tensor, nested lists, or the path of a file.
        base: Folder that relative paths start from; the working directory by default.
        squeeze: Drop all axes of size 1, except those of images, which always have their two.

    Raises:
        UnusableMaskError: If it is missing, cannot be read, is no array of numbers, or has no pixels.
        FmfairError: If the package that reads such files is not installed.
    """
    if is_missing(mask) or (isinstance(mask, str) and not mask):
        raise UnusableMaskError("is missing")
    loaded = read_mask(Path(base or "", mask)) if is_path(mask) else Mask(as_array(mask))
    array = loaded.values
    if array.ndim == 0:
        raise UnusableMaskError("is a single value, not an array of pixels")
    if array.dtype.kind not in "biuf":
        raise UnusableMaskError(f"holds values of type {array.dtype}, not numbers")
    if array.size == 0:
        raise UnusableMaskError(f"has no pixels (shape {array.shape})")
    if squeeze and not (is_path(mask) and os.fspath(mask).lower().endswith(IMAGE_FILES)):
        return Mask(np.squeeze(array), loaded.lossy)
    return loaded


def read_mask(path: Path) -> Mask:
    """The values in a mask file, unscaled, as the file stores them.

    NumPy archives give their first array; images their first channel, and several pages or frames are stacked in
    front; the indexes of a palette are the values (class labels), except in GIF files, whose writers renumber the
    palette: there the grey values count. NIfTI volumes are in voxel order; their orientation is not looked at.

    Raises:
        UnusableMaskError: If the file does not exist, has an unknown extension, or cannot be read.
        FmfairError: If the package that reads such files is not installed.
    """
    name = path.name.lower()
    readers: dict[tuple[str, ...], Callable[[Path], Mask]] = {
        ARRAY_FILES: _read_numpy,
        VOLUME_FILES: _read_nifti,
        IMAGE_FILES: _read_image,
    }
    reader = next((read for endings, read in readers.items() if name.endswith(endings)), None)
    if reader is None:
        raise UnusableMaskError(f"is no mask file; use {', '.join(ARRAY_FILES + VOLUME_FILES + IMAGE_FILES)}")
    try:
        if not path.is_file():
            raise UnusableMaskError("does not exist")
        return reader(path)
    except (UnusableMaskError, FmfairError):
        raise
    except Exception as error:  # noqa: BLE001 - each reader has exceptions of its own, all meaning "unreadable"
        raise UnusableMaskError(f"cannot be read ({_first_line(error)})") from None


def _read_numpy(path: Path) -> Mask:
    # Opened here, since NumPy leaves a broken archive open.
    with path.open("rb") as file:
        loaded = np.load(file, allow_pickle=False)
        if not hasattr(loaded, "files"):
            return Mask(np.asarray(loaded))
        if not loaded.files:
            raise UnusableMaskError("is an archive without arrays")
        return Mask(np.asarray(loaded[loaded.files[0]]))


def _read_nifti(path: Path) -> Mask:
    return Mask(np.asanyarray(_optional("nibabel").load(str(path)).dataobj))


def _read_image(path: Path) -> Mask:
    with _optional("PIL.Image").open(path) as image:
        # Pillow keeps only the upper 8 bits of 16-bit colour, which turns small labels into 0.
        if image.mode.startswith(("RGB", "LA")) and any(";16" in str(tile) for tile in image.tile):
            raise UnusableMaskError("is a 16-bit colour image; save one channel as 16-bit grey")
        # Told by what is in the file: TIFF may hold JPEG, and the name may be wrong.
        lossy = image.format in ("JPEG", "MPO") or image.info.get("compression") == "jpeg"
        pages = []
        for page in range(getattr(image, "n_frames", 1)):
            image.seek(page)
            grey = image.convert("RGB") if image.format == "GIF" and image.mode == "P" else image
            values = np.array(grey)
            pages.append(values if values.ndim == 2 else values[..., 0])
    return Mask(pages[0] if len(pages) == 1 else np.stack(pages), lossy)


def _optional(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        package = "pillow" if module.startswith("PIL") else module
        raise FmfairError(f'reading these mask files needs {package}: pip install "fmfair[masks]"') from None


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
