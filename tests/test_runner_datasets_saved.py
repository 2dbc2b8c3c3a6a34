"""Releases that were saved by another program, moved, converted or got in parts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from releases import problems, release

from fmfair.notes import Notes
from fmfair.runners.datasets import make_manifest

# What may be the matter with a table of a release, and what is said; nothing where it is read all the same.
TABLES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a mark of byte order": (lambda b: b"\xef\xbb\xbf" + b, ""),
    "line ends of Windows": (lambda b: b.replace(b"\n", b"\r\n"), ""),
    "a further column": (lambda b: b.replace(b"\n", b",x\n"), ""),
    "lines without cells": (lambda b: b.replace(b"\n", b"\n\n", 3) + b"\n\n", ""),
    "spaces around names": (lambda b: b.replace(b"lesion_id,image_id", b" lesion_id , image_id", 1), ""),
    "UTF-16": (lambda b: b.decode().encode("utf-16"), "it is text in UTF-16; save it as CSV in UTF-8"),
    "Latin-1": (lambda b: b.replace(b"back", b"r\xfccken", 1), "it is no text in UTF-8; save it as CSV in UTF-8"),
    "semicolons": (lambda b: b.replace(b",", b";"), "its cells are separated by ';'; save it with commas"),
    "tabs": (lambda b: b.replace(b",", b"\t"), "its cells are separated by tabs; save it with commas"),
    "no lines": (lambda _: b"", "empty CSV"),
    "no rows": (lambda b: b.split(b"\n")[0] + b"\n", "holds no row"),
    "cells without a name": (lambda b: b + b"1,2,3,4,5,6,7,8,9\n", "more fields than defined"),
    "a name in capitals": (lambda b: b.replace(b"dx,", b"DX,", 1), "no column 'dx'"),
    "one row twice": (lambda b: b + b.splitlines()[1] + b"\n", "2 rows of only 1 image, by {image_id}: 'ISIC_0000000'"),
    "a row without a patient": (
        lambda b: b.replace(b"HAM_0000001", b"", 1),
        "1 row without a patient_id, which is {les",
    ),
    "a row without an image": (
        lambda b: b.replace(b"ISIC_0000001", b""),
        "1 row without a sample_id, which is {image_id}",
    ),
}


@pytest.mark.parametrize("what", TABLES)
def test_tables_are_read_however_they_were_saved_or_it_is_told_what_to_do(tmp_path: Path, what: str) -> None:
    root = release(tmp_path, "ham10000")
    change, expected = TABLES[what]
    table = root / "HAM10000_metadata"
    table.write_bytes(change(table.read_bytes()))

    if expected:
        assert any(expected in text for text in problems("ham10000", root))
    else:
        assert make_manifest("ham10000", root).table.equals(
            make_manifest("ham10000", release(tmp_path, "ham10000")).table
        )


@pytest.mark.parametrize(("ending", "other"), [(".jpg", ".JPG"), (".jpg", ".png")])
def test_an_image_of_another_name_is_shown_in_place_of_the_missing_one(tmp_path: Path, ending: str, other: str) -> None:
    root = release(tmp_path, "ham10000")
    for path in root.glob(f"*/*{ending}"):
        path.rename(path.with_suffix(other))

    found = problems("ham10000", root)[0]

    assert f"; there is 'HAM10000_images_part_1/ISIC_0000000{other}' in place of the first" in found
    assert "missing_images" not in found  # which would leave out every image


def test_a_part_of_the_images_makes_a_manifest_of_that_part_and_says_how_many_are_missing(tmp_path: Path) -> None:
    root = release(tmp_path, "nih_cxr14")
    shutil.rmtree(root / "images_002")
    notes = Notes()

    manifest = make_manifest("nih_cxr14", root, missing_images="drop", notes=notes)

    assert manifest.table.height == 12
    manifest.check_files()
    assert f"12 images not found below {root}, left out" in notes.warnings
    shutil.rmtree(root / "images_001")
    assert problems("nih_cxr14", root, missing_images="drop")[0].startswith("24 of 24 images not found")


def test_images_may_lie_behind_links_and_beside_other_files(tmp_path: Path) -> None:
    root = release(tmp_path, "ham10000")
    expected = make_manifest("ham10000", root).table
    (root / "HAM10000_images_part_1").rename(tmp_path / "elsewhere")
    (root / "HAM10000_images_part_1").symlink_to(tmp_path / "elsewhere")
    (root / "thumbnails").mkdir()
    (root / "thumbnails" / "ISIC_0000002.jpg").touch()
    (root / "HAM10000_images_part_2" / ".DS_Store").touch()

    assert make_manifest("ham10000", root).table.equals(expected)


def test_a_folder_without_slices_is_a_missing_volume(tmp_path: Path) -> None:
    root = release(tmp_path, "covid_ct_md")
    for path in (root / "Cap Cases" / "cap003").iterdir():
        path.unlink()
    (root / "Cap Cases" / "cap003" / ".DS_Store").touch()

    found = problems("covid_ct_md", root)[0]

    assert "1 of 24 images not found" in found
    assert "'* Cases/cap003'; missing_images" in found


def test_a_root_that_is_one_folder_too_high_is_told(tmp_path: Path) -> None:
    root = release(tmp_path, "brset")
    root.rename(tmp_path / "1.0.1")
    (tmp_path / "1.0.1" / "labels.csv").rename(tmp_path / "1.0.1" / "labels_brset.csv")

    assert problems("brset", tmp_path) == [
        f"no labels.csv (or labels_brset.csv) in {tmp_path}; there is one below {tmp_path / '1.0.1'}: is that the root?"
    ]
    assert make_manifest("brset", tmp_path / "1.0.1").table.height == 24


def test_two_files_that_fit_are_not_chosen_from(tmp_path: Path) -> None:
    root = release(tmp_path, "adni")
    (root / "ADNI1_Screening_1.5T_1_11_2024.csv").write_text("Image Data ID\nI1\n", encoding="utf-8")

    names = "'ADNI1_Screening_1.5T_1_11_2024.csv', 'ADNI1_Screening_1.5T_2_20_2024.csv'"
    told = f"2 files fit ADNI1_Screening_1.5T_*.csv in {root}: {names}; leave the one that is meant"
    assert problems("adni", root) == [told]
