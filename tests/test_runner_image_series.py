"""Folders of DICOM slices: their order in the patient, what else lies there, and slices that cannot be read."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pydicom
import pytest
from dicom_files import write_dicom, write_slice
from pydicom.pixels.processing import apply_modality_lut
from pydicom.uid import BasicTextSRStorage, MediaStorageDirectoryStorage
from releases import RELEASES

from fmfair.errors import FmfairError
from fmfair.runners.batches import decoded, reader
from fmfair.runners.datasets.making import make_manifest
from fmfair.runners.images import ImageError, Picture, Reading, read
from fmfair.runners.images.dicom import read_dicom
from fmfair.runners.images.windowing import Window8

PACKAGED = Path(pydicom.__file__).parent / "data" / "test_files" / "dicomdirtests"
AXIAL, CORONAL, SAGITTAL = (1, 0, 0, 0, 1, 0), (1, 0, 0, 0, 0, -1), (0, 1, 0, 0, 0, -1)


def volume(folder: Path, reading: str = "") -> list[Picture]:
    pictures = read(folder, Reading.of(reading))
    assert isinstance(pictures, list)
    return pictures


def values(folder: Path, reading: str = "") -> list[int]:
    """The value of each slice that is read."""
    return [int(picture.pixels[0, 0]) for picture in volume(folder, reading)]


def shuffled(count: int, seed: int = 3) -> list[str]:
    """Names whose order is none of the slices'."""
    return [f"IM{k:04}" for k in np.random.default_rng(seed).permutation(count)]


def refused(folder: Path, reading: str = "") -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ImageError) as caught:
            read(folder, Reading.of(reading))
    text = str(caught.value)
    assert "\n" not in text
    assert "DOE" not in text
    assert str(folder) not in text
    return text


@pytest.mark.parametrize(
    ("turn", "step"),
    [
        (AXIAL, (0, 0, 2.5)),  # from feet to head
        ((1, 0, 0, 0, -1, 0), (0, 0, 2.5)),  # seen from above, where the normal points down
        (CORONAL, (0, 3, 0)),  # from front to back
        (SAGITTAL, (1, 0, 0)),  # from right to left
        ((1, 0, 0, 0, 0.8, 0.6), (0, -0.6, 0.8)),  # a tilted gantry
        ((1, 0, 0, 0, 0.8, 0.6), (0, 0, 0.8)),  # and slices that are not pushed along the normal
    ],
)
def test_slices_lie_in_the_order_of_their_places_whatever_the_files_are_called(
    tmp_path: Path, turn: Sequence[float], step: Sequence[float]
) -> None:
    for n, name in enumerate(shuffled(12)):
        place = [-200 + n * length for length in step]
        write_slice(tmp_path / name, 10 * n, place, turn, InstanceNumber=50 - n)

    pictures = volume(tmp_path)

    assert [p.slice for p in pictures] == list(range(12))
    assert [p.pixels.tolist() for p in pictures] == [[[10 * n] * 3] * 2 for n in range(12)]


def test_orientations_that_differ_by_a_rounding_are_one(tmp_path: Path) -> None:
    for n, name in enumerate(shuffled(5)):
        write_slice(tmp_path / name, n, (0, 0, n), (1, n * 1e-6, 0, 0, 1, 0), InstanceNumber=9 - n)

    assert values(tmp_path) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "other",
    [
        {"place": None},
        {"place": (0, 0)},
        {"place": (0, 0, 0), "turn": CORONAL},
        {"place": (0, 0, 0), "turn": (1, 0, 0, 1, 0, 0)},
        {"place": (0, 0, 0), "ImageOrientationPatient": None},
        {"place": (0, 0, 0), "ImagePositionPatient": None},
    ],
)
def test_where_one_slice_does_not_say_its_place_the_numbers_of_the_files_count(tmp_path: Path, other: Any) -> None:
    for n, name in enumerate(shuffled(11)):
        where = other if n == 4 else {"place": (0, 0, -n)}
        write_slice(tmp_path / name, n, **where, InstanceNumber=n + 1)

    assert values(tmp_path) == list(range(11))


def test_slices_in_one_direction_that_is_none_go_by_their_numbers(tmp_path: Path) -> None:
    for n, name in enumerate(shuffled(4)):
        write_slice(tmp_path / name, n, (0, 0, -n), (1, 0, 0, 1, 1e-4, 0), InstanceNumber=n)

    assert values(tmp_path) == [0, 1, 2, 3]


def test_where_one_slice_has_no_number_either_the_names_count(tmp_path: Path) -> None:
    for n in (10, 2, 1, 9, 0):
        write_slice(tmp_path / f"IM{n}", n, None, InstanceNumber=None if n == 9 else 99 - n)

    assert values(tmp_path) == [0, 1, 2, 9, 10]


def test_duplicates_and_gaps_stay(tmp_path: Path) -> None:
    for value, height, number in ((5, 30, 5), (3, 10, 4), (2, 10, 3), (1, 0, 9)):
        write_slice(tmp_path / f"{value % 3}{value}", value, (0, 0, height), InstanceNumber=number)

    assert values(tmp_path) == [1, 2, 3, 5]


def test_chosen_slices_alone_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n, name in enumerate(shuffled(9)):
        write_slice(tmp_path / name, n, (0, 0, n))
    opened: list[str] = []

    def counted(path: Path, reading: Reading) -> Any:
        opened.append(path.name)
        return read_dicom(path, reading)

    monkeypatch.setattr("fmfair.runners.images.series.read_dicom", counted)

    for said, numbers in (("every=4", [0, 4, 8]), ("count=3", [1, 4, 7]), ("count=20 axis=0", list(range(9)))):
        opened.clear()
        pictures = volume(tmp_path, said)
        assert [p.slice for p in pictures] == numbers
        assert [int(p.pixels[0, 0]) for p in pictures] == numbers
        assert opened == [shuffled(9)[n] for n in numbers]
    assert refused(tmp_path, "axis=2").endswith("axis=0, not axis=2")


def test_what_is_no_dicom_image_is_left_out(tmp_path: Path) -> None:
    for n, name in enumerate(("b.dcm", "a", "c.IMA")):
        write_slice(tmp_path / name, n, (0, 0, n))
    directory = write_dicom(tmp_path / "DICOMDIR", np.zeros((1, 1), np.uint8), MediaStorageDirectoryStorage)
    report = write_dicom(tmp_path / "report", np.zeros((1, 1), np.uint8), BasicTextSRStorage, SeriesInstanceUID="1.9")
    for path in (directory, report):
        data = pydicom.dcmread(path)
        del data.Rows, data.Columns, data.PixelData
        data.save_as(path)
    for name in ("Thumbs.db", "notes.txt", "short", "._b.dcm", "picture.png"):
        (tmp_path / name).write_bytes(b"DOE^JOHN")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "more.dcm").mkdir()
    write_slice(tmp_path / "more.dcm" / "d", 7, (0, 0, 7))

    assert values(tmp_path) == [0, 1, 2]


@pytest.mark.parametrize(
    ("folder", "names"),
    [
        ("77654033/CT2", ["17106", "17136", "17166", "17196"]),
        ("98892001/CT5N", ["3353", "3023", "2693", "2392", "2062"]),  # numbered from the head down
        ("98892001/CT2N", ["6293", "6924"]),  # scouts from the side and from the front
        ("98892003/MR700", ["4558", "4528", "4588", "4467", "4618", "4678", "4648"]),  # turned around an axis
    ],
)
def test_real_series_are_read_in_their_order(folder: str, names: list[str]) -> None:
    pictures = volume(PACKAGED / folder)

    stored = [pydicom.dcmread(PACKAGED / folder / name) for name in names]
    for picture, data in zip(pictures, stored, strict=True):
        expected = apply_modality_lut(data.pixel_array, data)
        np.testing.assert_array_equal(picture.pixels, expected)


def test_real_folders_that_are_no_volume_say_why() -> None:
    assert refused(PACKAGED) == "is a folder without DICOM images"  # but with directories of files
    assert refused(PACKAGED / "98892003/MR1").startswith("is a folder with the slices of 3 series")
    assert refused(PACKAGED / "TINY_ALPHA/PT000000/ST000000/SE000000") == "has no pixels"


def test_a_folder_of_something_else_says_so(tmp_path: Path) -> None:
    assert refused(tmp_path) == "is a folder without DICOM images"
    (tmp_path / "notes.txt").write_text("DOE^JOHN", encoding="utf-8")
    assert refused(tmp_path) == "is a folder without DICOM images"
    write_slice(tmp_path / "a", 1, (0, 0, 0))
    write_dicom(tmp_path / "b", np.zeros((4, 2, 3), np.uint16))
    assert refused(tmp_path) == (
        "is a folder with 1 DICOM file of several frames; name one file in place of the folder"
    )


def test_several_series_are_not_one_volume(tmp_path: Path) -> None:
    for n in range(6):
        write_slice(tmp_path / str(n), n, (0, 0, n), SeriesInstanceUID=f"1.2.{n % 3}")

    assert refused(tmp_path) == "is a folder with the slices of 3 series; give each series a folder of its own"


def test_a_slice_without_a_series_is_of_another_one(tmp_path: Path) -> None:
    write_slice(tmp_path / "a", 0, (0, 0, 0))
    write_slice(tmp_path / "b", 1, (0, 0, 1), SeriesInstanceUID=None)
    assert refused(tmp_path).startswith("is a folder with the slices of 2 series")

    write_slice(tmp_path / "a", 0, (0, 0, 0), SeriesInstanceUID=None)
    assert values(tmp_path) == [0, 1]


def test_a_slice_whose_pixels_are_damaged_makes_the_volume_unreadable_by_its_number(tmp_path: Path) -> None:
    for n, name in enumerate(shuffled(10)):
        write_slice(tmp_path / name, n, (0, 0, n))
    path = tmp_path / shuffled(10)[7]
    content = path.read_bytes()

    path.write_bytes(content[:-5])
    assert refused(tmp_path) == "slice 7 (of 0 to 9) ends too early: it was cut off"
    assert values(tmp_path, "every=3") == [0, 3, 6, 9]  # where it is not asked for

    write_slice(path, 7, (0, 0, 7), WindowCenter=1, WindowWidth=0)
    assert refused(tmp_path).startswith("slice 7 (of 0 to 9) names a window without width")
    assert values(tmp_path, "window=-1250:250") == list(range(10))

    data = pydicom.dcmread(path)
    del data.PixelData
    data.save_as(path)
    assert refused(tmp_path) == "slice 7 (of 0 to 9) is a DICOM file without pixels"


def test_a_file_without_a_readable_header_makes_the_volume_unreadable(tmp_path: Path) -> None:
    for n in range(3):
        write_slice(tmp_path / f"IM{n + 9}.dcm", n, (0, 0, n))
    path = tmp_path / "IM10.dcm"
    content = path.read_bytes()

    path.write_bytes(b"")
    assert refused(tmp_path) == "file 2 (of 1 to 3, by name) is empty"
    path.write_bytes(b"DOE^JOHN" * 40)
    assert refused(tmp_path) == "file 2 (of 1 to 3, by name) is no DICOM file: the mark DICM is not where it must be"
    path.unlink()
    path.symlink_to(tmp_path / "lost")
    assert refused(tmp_path) == "file 2 (of 1 to 3, by name) does not exist"
    path.rename(tmp_path / "IM10")
    assert refused(tmp_path) == "file 2 (of 1 to 3, by name) does not exist"
    (tmp_path / "IM10").unlink()
    os.mkfifo(tmp_path / "IM10")
    assert refused(tmp_path) == "file 2 (of 1 to 3, by name) is no regular file"
    (tmp_path / "IM10").unlink()
    for end in range(133, len(content) - 12, 23):  # wherever it was cut off, it is no slice less
        path.write_bytes(content[:end])
        assert refused(tmp_path)


def test_a_volume_of_too_many_values_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        write_slice(tmp_path / str(n), n, (0, 0, n), Rows=30_000, Columns=20_000)
    monkeypatch.setattr("fmfair.runners.images.series.read_dicom", None)

    assert refused(tmp_path).startswith("unpacks to 1,800,000,000 values")


def test_a_package_that_is_missing_is_no_fault_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_slice(tmp_path / "a", 0, (0, 0, 0))
    monkeypatch.setitem(sys.modules, "pydicom", None)

    with pytest.raises(FmfairError, match="this needs pydicom") as missing:
        read(tmp_path)
    assert not isinstance(missing.value, ImageError)


def test_a_release_of_folders_is_read_with_its_window(tmp_path: Path) -> None:
    RELEASES["covid_ct_md"](tmp_path)
    manifest = make_manifest("covid_ct_md", tmp_path)
    lost = next((tmp_path / manifest.table["path"][1]).iterdir())
    lost.write_bytes(b"")
    model: Any = SimpleNamespace(transform=lambda picture: Window8()(picture).pixels)
    paths = [tmp_path / path for path in manifest.table["path"][:2]]

    images = list(decoded(paths, reader(model, manifest), 2))

    assert [(image.row, image.slice) for image in images] == [(0, 0), (0, 1), (1, None)]
    assert [image.pixels.tolist() for image in images[:2]] == [[[255] * 3] * 2, [[0] * 3] * 2]  # the foot of it first
    assert images[2].reason is not None
    assert images[2].reason.endswith("of 1 to 2, by name) is empty")
