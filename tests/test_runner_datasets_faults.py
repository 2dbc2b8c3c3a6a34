"""Releases that are not what they should be: every problem is told, at once."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from releases import csv, edited, problems, release, sheet

from fmfair.errors import FmfairError, Problems
from fmfair.notes import Notes
from fmfair.runners.datasets import make_manifest
from fmfair.runners.datasets.recipe import Attribute, Labels
from fmfair.runners.datasets.rules import read_attribute, read_labels
from fmfair.runners.datasets.sources import read_table
from fmfair.runners.datasets.templates import filled


def test_missing_images_unknown_values_and_differing_counts_are_told_together(tmp_path: Path) -> None:
    root = release(tmp_path, "ham10000")
    (root / "HAM10000_images_part_1" / "ISIC_0000002.jpg").unlink()
    edited(root / "HAM10000_metadata", ",nv,", ",naevus,")
    edited(root / "HAM10000_metadata", ",female,", ",woman,")
    edited(root / "HAM10000_metadata", "60.0", "sixty")

    found = problems("ham10000", root)

    assert [text.split("(")[0].split(":")[0].strip() for text in found] == [
        "label 'malignant', column 'dx'",
        "attribute 'sex', column 'sex'",
        "attribute 'age', column 'age'",
        f"1 of 12 images not found below {root}",
        "the release differs from what was published of it",
    ]
    assert "1 value that the recipe does not know ('naevus'); it knows 'akiec', 'bcc'" in found[0]
    assert found[2].endswith("1 value cannot be read as a number (row 3)")
    assert "sixty" not in found[2]
    assert "'*/ISIC_0000002.jpg'" in found[3]


def test_missing_images_are_left_out_or_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    root = release(tmp_path, "papila")
    (root / "FundusImages" / "RET002OD.jpg").unlink()
    notes = Notes()

    dropped = make_manifest("papila", root, missing_images="drop", notes=notes)
    kept = make_manifest("papila", root, missing_images="keep")

    assert (dropped.table.height, kept.table.height) == (23, 24)
    assert f"1 image not found below {root}, left out" in notes.warnings
    assert problems("papila", root)[0].endswith("missing_images='drop' leaves them out")


def test_missing_images_take_no_part_in_the_published_split(tmp_path: Path) -> None:
    root = release(tmp_path, "brset")
    (root / "fundus_photos" / "img00002.jpg").unlink()

    manifest = make_manifest("brset", root, split="fairmedfm", missing_images="drop")

    assert manifest.table.height == 23
    assert "img00002" not in manifest.table["sample_id"]


def test_a_finding_is_compared_as_a_whole() -> None:
    labels = Labels({"mass": "Mass"}, column="said", separator="|", positive=("Mass effect", "none"))
    frame = pl.DataFrame({"said": ["Mass effect", "none | Mass", "none", None]})

    assert read_labels(frame, labels, "standard", Problems())[0].to_list() == [0, 1, 0, None]


def test_a_missing_cell_is_a_value_and_a_missing_row_is_not() -> None:
    labels = Labels({"y": "y"}, positive=("1",), negative=("0",))
    found = Problems()

    read = read_labels(pl.DataFrame({"y": ["1", "0", None]}), labels, "standard", found)
    found.raise_if_any()

    assert read[0].to_list() == [1, 0, None]
    read_labels(pl.DataFrame({"y": ["1", ""]}), labels, "standard", found)
    with pytest.raises(FmfairError, match="1 value that the recipe does not know \\('an empty cell'\\)"):
        found.raise_if_any()


def test_ages_of_dicom_are_years_and_impossible_ones_are_missing() -> None:
    frame = pl.DataFrame({"a": ["058Y", "018M", "073D", "9.25", "-1", "121", ""]})
    notes, found = Notes(), Problems()

    ages = read_attribute(frame, "age", Attribute("a", "years"), found, notes)

    found.raise_if_any()
    assert ages.to_list() == [58.0, 1.5, pytest.approx(0.19986, abs=1e-5), 9.25, None, None, None]
    assert notes.warnings == ["attribute 'age', column 'a': 2 ages below 0 or above 120 read as missing"]
    read_attribute(pl.DataFrame({"a": ["58X", "inf"]}), "age", Attribute("a", "years"), found, notes)
    with pytest.raises(FmfairError, match="2 values cannot be read as a number"):
        found.raise_if_any()


def test_an_image_that_only_a_look_can_find_cannot_be_kept_unseen(tmp_path: Path) -> None:
    root = release(tmp_path, "adni")
    next(root.glob("ADNI/003*/*/*/*/*.nii")).unlink()

    assert problems("adni", root, missing_images="keep")[0].startswith("1 of 30 images not found")


def test_missing_tables_are_told_together(tmp_path: Path) -> None:
    root = release(tmp_path, "mimic_cxr")
    (root / "hosp" / "patients.csv.gz").unlink()
    (root / "mimic-cxr-2.0.0-chexpert.csv.gz").unlink()

    assert [text.split(" in ")[0].split(" (")[0] for text in problems("mimic_cxr", root)] == [
        "no mimic-cxr-2.0.0-chexpert.csv.gz",
        "no patients.csv.gz",
    ]


def test_both_missing_tables_of_papila_are_told_together(tmp_path: Path) -> None:
    assert len(problems("papila", tmp_path)) == 2


def test_missing_columns_are_told_together_with_a_hint(tmp_path: Path) -> None:
    root = release(tmp_path, "ham10000")
    edited(root / "HAM10000_metadata", "lesion_id,image_id,dx,", "Lesion_ID,image_id,diagnosis,")

    found = problems("ham10000", root)

    assert [text.split(" in ")[0] for text in found] == [
        "no column 'lesion_id'; did you mean 'Lesion_ID'?",
        "no column 'dx'",
    ]


def test_a_join_with_a_missing_column_or_several_rows_is_refused(tmp_path: Path) -> None:
    root = release(tmp_path, "nih_cxr14")
    table = root / "NIH-CX14_TubeAnnotations_NonExperts_aggregated.csv"
    csv(table, ["", "Image Index", "Drains"], [[0, "00000001_001.png", 1]])
    assert problems("nih_cxr14", root)[0].startswith("no column 'Drain'; did you mean 'Drains'? in NIH-CX14")

    csv(table, ["", "Image Index", "Drain"], [[0, "00000001_001.png", 1], [1, "00000001_001.png", 0]])
    assert problems("nih_cxr14", root) == [f"{table.name} has several rows for 1 value of Image Index"]

    csv(table, ["", "Image Index", "Drain"], [[0, "00000001_001.png", 1], [1, "00000001_001.png", 1]])
    assert make_manifest("nih_cxr14", root).table["drain"].drop_nulls().to_list() == ["drain"]


def test_a_part_of_a_column_that_is_missing_is_refused(tmp_path: Path) -> None:
    root = release(tmp_path, "chexpert")
    edited(root / "train.csv", "patient00001", "someone")

    assert problems("chexpert", root) == [
        "column 'Path': 1 value without a part like '(patient[0-9]+)', which is the patient"
    ]


def test_a_finding_that_is_in_no_list_is_told(tmp_path: Path) -> None:
    root = release(tmp_path, "nih_cxr14")
    edited(root / "Data_Entry_2017.csv", "Mass|Nodule", "Mass|Nodules")

    found = problems("nih_cxr14", root)

    assert "column 'Finding Labels': 1 value that the recipe does not know ('Nodules')" in found[0]


def test_a_repeated_sample_is_refused(tmp_path: Path) -> None:
    root = release(tmp_path, "brset")
    edited(root / "labels.csv", "img00002", "img00001")

    found = problems("brset", root)

    assert found[0] == "2 rows of only 1 image, by {image_id}: 'img00001'; leave one row for each"
    assert "differs" in found[1]


def test_a_word_that_is_no_split_is_refused(tmp_path: Path) -> None:
    root = release(tmp_path, "fairvlmed10k")
    edited(root / "ReadMe" / "data_summary.csv", ",validation\n", ",tuning\n")

    assert make_manifest("fairvlmed10k", root).table.height == 20
    assert problems("fairvlmed10k", root, split="released") == [
        "column 'use': no split 'tuning'; known are 'training', 'validation', 'test'"
    ]


def test_lists_of_a_released_split_must_be_there(tmp_path: Path) -> None:
    root = release(tmp_path, "nih_cxr14")
    (root / "test_list.txt").unlink()

    assert problems("nih_cxr14", root, split="released")[0].startswith(f"cannot read {root / 'test_list.txt'}")
    assert problems("papila", release(tmp_path, "papila"), split="released") == [
        "this release of PAPILA holds no split; use split='patients'"
    ]


def test_choices_that_are_none_are_told_together(tmp_path: Path) -> None:
    found = problems("papila", tmp_path, split="patient", labels="publisched", missing_images="skip")

    assert [text.split(" is not known")[0] for text in found] == [
        "split='patient'",
        "labels='publisched'",
        "missing_images='skip'",
    ]
    assert problems("papila", tmp_path, split="fairmedfm", balance=["sex"])[0].startswith("balance= is for splits")


def test_no_such_folder_and_no_such_data_set(tmp_path: Path) -> None:
    assert "name the one that holds the folders ClinicalData and FundusImages" in problems("papila", tmp_path / "no")[0]
    assert "no data set 'papilla'; did you mean 'papila'?" in problems("papilla", tmp_path)[0]


def test_several_faults_of_rows_are_told_with_those_of_values_and_images(tmp_path: Path) -> None:
    root = release(tmp_path, "brset")
    edited(root / "labels.csv", "img00002,1,", "img00001,,")
    edited(root / "labels.csv", "img00003,2,Canon CR,28.0,", "img00003,2,Canon CR,old,")
    (root / "fundus_photos" / "img00004.jpg").unlink()

    found = problems("brset", root)

    assert [text.split(":")[0].split(",")[0] for text in found] == [
        "attribute 'age'",
        f"1 of 24 images not found below {root}",
        "1 row without a patient_id",
        "2 rows of only 1 image",
        "the release differs from what was published of it",
    ]


def test_a_damaged_table_is_told(tmp_path: Path) -> None:
    root = release(tmp_path, "papila")
    (root / "ClinicalData" / "patient_data_od.xlsx").write_bytes(b"no zip")
    (root / "ClinicalData" / "patient_data_os.xlsx").write_bytes(b"")

    assert all(text.startswith("cannot read ") for text in problems("papila", root))


def test_headings_of_a_sheet_are_its_lowest_filled_cells(tmp_path: Path) -> None:
    sheet(tmp_path / "t.xlsx", [("a", None, "c", "d", "d"), (None, "b", None, None, None), ("001", 2, 3.5, None, "x")])

    table = read_table(tmp_path / "t.xlsx", headings=2)

    assert table.to_dicts() == [{"a": "001", "b": "2", "c": "3.5", "d": None, "d (5)": "x"}]


def test_cells_are_text_whatever_they_look_like(tmp_path: Path) -> None:
    csv(tmp_path / "t.csv.gz", ["id", "x"], [["007", "1e5"], ["008", None]])

    assert read_table(tmp_path / "t.csv.gz").rows() == [("007", "1e5"), ("008", None)]


def test_templates_take_parts_of_columns_and_are_missing_where_one_is() -> None:
    frame = pl.DataFrame({"a b": ["xyz", None], "c": ["1", "2"]})

    assert frame.select(filled("p{a b[:2]}/{a b[2:3]}{c}.png")).to_series().to_list() == ["pxy/z1.png", None]
