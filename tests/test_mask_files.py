"""Masks from arrays of any library and from files: every format, relative paths, and files that cannot be read."""

from __future__ import annotations

import io
import struct
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import nibabel
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from fairmedfm._inputs import dice_scores
from PIL import Image

from fmfair import mask_files, masks
from fmfair.errors import FmfairError
from fmfair.mask_files import read_mask
from fmfair.masks import overlap

SMALL = np.array([[0, 3, 255], [255, 0, 0]], np.uint8)
WIDE = np.array([[0, 300, 65535], [1, 0, 256]], np.uint16)
DECIMAL = np.array([[0.0, 0.25, 0.5], [1.0, 0.0, 0.75]], np.float32)
VOLUME = np.arange(24, dtype=np.int16).reshape(2, 3, 4)


def array_kinds() -> Iterator[tuple[str, Any]]:
    masks = [[[0.1, 0.9], [0.6, 0.2]], [[0.7, 0.0], [1.0, 0.3]]]
    yield "lists", masks
    yield "tuple of tuples", tuple(tuple(map(tuple, mask)) for mask in masks)
    yield "stacked array", np.array(masks)
    yield "array of objects", np.array([None, *map(np.array, masks)], dtype=object)[1:]
    yield "arrays of several types", [np.array(masks[0], np.float32), np.array(masks[1], ">f8")]
    yield "stacked tensor with gradient", torch.tensor(masks, requires_grad=True)
    yield "tensors", [torch.tensor(mask, requires_grad=True) for mask in masks]
    yield "bfloat16 tensors", [torch.tensor(mask, dtype=torch.bfloat16) for mask in masks]
    yield "polars lists", pl.Series(masks)
    yield "polars arrays", pl.Series(masks, dtype=pl.Array(pl.Float64, (2, 2)))
    yield "polars frames", [pl.DataFrame(mask, orient="row") for mask in masks]
    yield "pandas series", pd.Series([np.array(mask) for mask in masks], index=[7, 3])
    yield "pandas frames", [pd.DataFrame(mask) for mask in masks]
    yield "numpy()", [type("Tensor", (), {"numpy": lambda _, m=mask: np.array(m)})() for mask in masks]


@pytest.mark.parametrize(
    ("kind", "masks"), list(array_kinds()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_masks_come_in_arrays_of_any_library(kind: str, masks: Any) -> None:
    true = np.array([[[0, 1], [0, 0]], [[1, 0], [1, 1]]], np.uint8)

    assert overlap(masks, true).frame["dice"].to_list() == [2 / 3, 4 / 5], kind
    assert overlap(true, masks).frame["dice"].to_list() == [2 / 5, 1.0], kind


def save(path: Path, values: np.ndarray[Any, Any]) -> Path:
    if path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".npz":
        np.savez(path, values, np.zeros(5))
    elif ".nii" in path.name:
        nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), path)  # type: ignore[no-untyped-call]  # untyped there
    else:
        Image.fromarray(values).save(path)
    return path


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *(("m.npy", SMALL), ("m.npy", DECIMAL), ("m.npy", VOLUME), ("m.npz", WIDE), ("m.npz", SMALL > 0)),
        *(("m.png", SMALL), ("m.png", WIDE), ("m.png", SMALL > 0), ("m.PNG", SMALL), ("m.bmp", SMALL)),
        *(("m.tif", SMALL), ("m.tiff", WIDE), ("m.tif", DECIMAL), ("m.gif", SMALL), ("m.gif", SMALL > 0)),
        *(("m.nii", SMALL), ("m.nii.gz", VOLUME), ("m.nii", DECIMAL), ("m.nii.gz", DECIMAL)),
    ],
)
def test_lossless_formats_give_back_their_values(tmp_path: Path, name: str, values: np.ndarray[Any, Any]) -> None:
    path = save(tmp_path / name, values)

    read, lossy = read_mask(path)

    wanted = values * 255 if name.endswith(".gif") and values.dtype == bool else values
    np.testing.assert_array_equal(read, wanted)
    assert not lossy
    frame = overlap([str(path)], [values]).frame
    assert frame["pred_pixels"].item() == np.count_nonzero(values >= 0.5 if values is DECIMAL else values)
    assert frame["true_pixels"].item() == np.count_nonzero(values)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_probabilities_in_png_files_are_read_as_such(tmp_path: Path, dtype: Any) -> None:
    chance = np.random.default_rng(5).random((16, 16))
    full = np.iinfo(dtype).max
    path = save(tmp_path / "m.png", np.round(chance * full).astype(dtype))

    frame, notes = overlap([path], [chance >= 0.5], mask_type="probability")

    assert frame["dice"].item() == 1.0
    assert f"({np.dtype(dtype).name} by {full})" in notes[0]


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA"])
def test_first_channel_of_an_image_counts(tmp_path: Path, mode: str) -> None:
    channels = [SMALL] + [np.full_like(SMALL, 7)] * (len(mode) - 1)
    Image.merge(mode, [Image.fromarray(channel) for channel in channels]).save(tmp_path / "m.png")

    np.testing.assert_array_equal(read_mask(tmp_path / "m.png").values, SMALL)


def test_palette_indexes_are_the_labels_except_in_gif(tmp_path: Path) -> None:
    indexes = np.array([[0, 1], [2, 2]], np.uint8)
    image = Image.fromarray(indexes).convert("P")
    image.putpalette([255, 255, 255, 0, 0, 0, 9, 9, 9])
    image.save(tmp_path / "m.png")
    image.save(tmp_path / "m.gif")

    np.testing.assert_array_equal(read_mask(tmp_path / "m.png").values, indexes)
    np.testing.assert_array_equal(read_mask(tmp_path / "m.gif").values, [[255, 0], [9, 9]])


def test_pages_of_an_image_are_stacked(tmp_path: Path) -> None:
    pages = [Image.fromarray(page) for page in (SMALL, SMALL[::-1].copy(), np.zeros_like(SMALL))]
    pages[0].save(tmp_path / "m.tif", save_all=True, append_images=pages[1:])

    np.testing.assert_array_equal(read_mask(tmp_path / "m.tif").values, [SMALL, SMALL[::-1], np.zeros_like(SMALL)])


def png_of_16_bit_colour() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0" + struct.pack(">3H", 1, 0, 0)))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b"")


def test_colour_image_that_would_lose_its_small_labels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.png"
    path.write_bytes(png_of_16_bit_colour())
    with Image.open(path) as image:
        assert np.asarray(image).max() == 0  # the label 1 is gone

    with pytest.raises(FmfairError, match=r"sample 0: .*m\.png in pred_masks is a 16-bit colour image"):
        overlap([path], [[[1]]])


@pytest.mark.parametrize("column", [list, tuple, np.array, pd.Series, pl.Series])
def test_relative_paths_start_from_the_base_folder(tmp_path: Path, column: Callable[[Any], Any]) -> None:
    (tmp_path / "masks").mkdir()
    save(tmp_path / "masks" / "a.png", SMALL)
    save(tmp_path / "b.npy", SMALL)

    paths = column(["masks/a.png", str(tmp_path / "b.npy")])

    assert overlap(paths, [SMALL, SMALL], base=tmp_path).frame["dice"].to_list() == [1.0, 1.0]


def test_paths_and_arrays_mix_and_a_channel_of_one_is_dropped(tmp_path: Path) -> None:
    volume = save(tmp_path / "a.nii.gz", SMALL[..., None])

    assert overlap([volume, SMALL], [SMALL, volume]).frame["iou"].to_list() == [1.0, 1.0]


def test_mask_type_is_decided_over_all_files(tmp_path: Path) -> None:
    low = save(tmp_path / "low.npy", np.array([[0.1, 0.9]]))
    high = save(tmp_path / "high.npy", np.array([[-2.0, 4.0]]))
    true = np.array([[1, 1]])

    frame, notes = overlap([low, high], [true, true])

    assert frame["pred_pixels"].to_list() == [2, 1]
    assert overlap([low], [true]).frame["pred_pixels"].to_list() == [1]
    assert "mask type logit" in notes[0]


def test_every_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "m.npy", DECIMAL)
    spy = Mock(wraps=read_mask)
    monkeypatch.setattr(mask_files, "read_mask", spy)

    overlap([path, path], [DECIMAL, path])

    assert spy.call_count == 3


@pytest.mark.parametrize("name", ["m.png", "m.npy", "m.npz", "m.tif", "m.gif", "m.nii", "m.nii.gz"])
@pytest.mark.parametrize("label", [None, 3])
def test_fairmedfm_convention_reads_files_as_the_package(tmp_path: Path, name: str, label: int | None) -> None:
    # No gap in the grey levels, so that the palette of the GIF is the identity.
    values = np.array([[0, 1, 2, 3]], np.uint8)
    path = save(tmp_path / name, values)
    other = save(tmp_path / f"other-{name}", values[:, ::-1].copy())

    expected = dice_scores([path], [other], label=label)

    assert overlap([path], [other], label=label, conventions="fairmedfm").frame["dice"].to_list() == expected.tolist()


def test_fairmedfm_convention_does_not_squeeze_images(tmp_path: Path) -> None:
    row = save(tmp_path / "row.png", np.ones((1, 4), np.uint8))
    column = save(tmp_path / "column.png", np.ones((4, 1), np.uint8))

    for other in (column, np.ones((1, 4))):
        with pytest.raises(ValueError, match="shape"):
            dice_scores([row], [other])
        with pytest.raises(FmfairError, match="different shapes"):
            overlap([row], [other], conventions="fairmedfm")


def broken(folder: Path, name: str) -> Path:
    path = folder / name
    ends = {".npy": b"\x93NUMPY\x01\x00", ".npz": b"PK\x03\x04", ".gz": b"\x1f\x8b\x08\x00"}
    path.write_bytes(ends.get(path.suffix, b"not an image"))
    return path


@pytest.mark.parametrize("name", ["m.npy", "m.npz", "m.png", "m.jpg", "m.tif", "m.gif", "m.bmp", "m.nii", "m.nii.gz"])
@pytest.mark.parametrize("empty", [False, True])
def test_a_broken_file_is_named(tmp_path: Path, name: str, empty: bool) -> None:
    path = broken(tmp_path, name)
    if empty:
        path.write_bytes(b"")

    with pytest.raises(
        FmfairError, match=f"1 mask that cannot be used: sample 0: .*{name} in true_masks cannot be read"
    ):
        overlap([SMALL], [path])


@pytest.mark.parametrize("name", ["m.npy", "m.npz", "m.png", "m.tif", "m.nii", "m.nii.gz"])
def test_a_truncated_file_is_named(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / name, np.random.default_rng(0).integers(0, 255, (64, 64), np.uint8))
    path.write_bytes(path.read_bytes()[:-600])

    with pytest.raises(FmfairError, match=f"sample 0: .*{name} in pred_masks cannot be read"):
        overlap([path], [np.ones((64, 64), np.uint8)])


def test_pickled_arrays_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)

    with pytest.raises(FmfairError, match=r"m\.npy in pred_masks cannot be read .*allow_pickle"):
        overlap([tmp_path / "m.npy"], [[1]])


def test_archive_without_arrays_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz")

    with pytest.raises(FmfairError, match=r"m\.npz in pred_masks is an archive without arrays"):
        overlap([tmp_path / "m.npz"], [[1]])


def test_all_unreadable_files_are_reported_together(tmp_path: Path) -> None:
    paths = [save(tmp_path / "ok.png", SMALL), broken(tmp_path, "bad.png"), "gone.png", tmp_path, "m.txt"]
    paths += [f"gone{i}.png" for i in range(3)]

    with pytest.raises(FmfairError) as error:
        overlap(paths, [SMALL] * 8, base=tmp_path)

    message = str(error.value)
    assert message.startswith(f"7 masks that cannot be used: sample 1: {paths[1]} in pred_masks cannot be read (")
    assert "sample 2: gone.png in pred_masks does not exist; sample 3: " in message
    assert "sample 4: m.txt in pred_masks is no mask file; use .npy, .npz, .nii, .nii.gz, .png, " in message
    assert message.endswith("sample 5: gone0.png in pred_masks does not exist; and 2 more")


@pytest.mark.parametrize(
    ("name", "module", "package"), [("m.png", "PIL.Image", "pillow"), ("m.nii", "nibabel", "nibabel")]
)
def test_missing_reader_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, package: str
) -> None:
    path = save(tmp_path / name, SMALL)
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(FmfairError, match=rf'needs {package}: pip install "fmfair\[masks\]"'):
        overlap([path], [SMALL])


def test_one_pair_is_in_memory_at_a_time(tmp_path: Path) -> None:
    size = 1 << 20
    path = save(tmp_path / "m.npy", np.ones(size, np.uint8))
    overlap([path], [path])  # whatever a first call loads

    tracemalloc.start()
    overlap([path] * 20, [path] * 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 8 * size


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("count", "as_files", "terminal", "shown"),
    [(4, True, True, True), (3, True, True, False), (4, False, True, False), (4, True, False, False)],
)
def test_progress_shows_on_a_terminal_for_many_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, as_files: bool, terminal: bool, shown: bool
) -> None:
    mask: Any = save(tmp_path / "m.npy", SMALL) if as_files else SMALL
    stderr = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(masks, "PROGRESS_FROM", 3)
    monkeypatch.setattr(sys, "stderr", stderr)

    frame = overlap([mask] * count, [SMALL] * count).frame

    assert frame["dice"].to_list() == [1.0] * count
    assert ("Reading masks" in stderr.getvalue()) == shown
