"""What the published benchmark gets wrong of each data set, and what is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from releases import PAPILA, RELEASES, csv

import fmfair
from fmfair.notes import Notes
from fmfair.runners.datasets import make_manifest
from fmfair.runners.manifest import Manifest


def made(folder: Path, name: str, notes: Notes | None = None, **choices: Any) -> Manifest:
    """The manifest of an imitation, made in a folder of its own."""
    root = folder / name
    if not root.exists():
        root.mkdir()
        RELEASES[name](root)
    return make_manifest(name, root, notes=notes, **choices)


def of(manifest: Manifest, sample: str, name: str) -> Any:
    return manifest.table.filter(pl.col("sample_id") == sample)[name].item()


def groups(manifest: Manifest, attribute: str, **options: Any) -> dict[str, int]:
    """How many images each group of an attribute has, as `fmfair.evaluate` counts them."""
    label = manifest.labels[0]
    rows = manifest.table.drop_nulls(label).with_columns(y_score=pl.lit(0.5))
    report = fmfair.evaluate(
        rows, y_true=label, y_score="y_score", attributes=[attribute], by=[], metrics=["accuracy"], ci=None, **options
    )
    counted = report.groups.filter(pl.col("metric") == "accuracy")
    return dict(counted.select("group", "n").iter_rows())


def test_papila_ages_are_years_where_the_published_code_looks_for_sixty_among_zeros_and_ones(tmp_path: Path) -> None:
    manifest = made(tmp_path, "papila")

    assert {f"RET{n:03}OS": float(age) for n, age, *_ in PAPILA} == {
        sample: of(manifest, sample, "age") for sample in manifest.table["sample_id"] if sample.endswith("OS")
    }
    assert groups(manifest, "age", bins={"age": [60]}) == {"<60": 6, ">=60": 13}


@pytest.mark.parametrize("name", ["fairvlmed10k", "gf3300", "ham10000"])
def test_male_and_female_are_two_groups_where_the_published_code_compares_with_m(tmp_path: Path, name: str) -> None:
    counted = groups(made(tmp_path, name), "sex")

    assert set(counted) == {"female", "male"}
    assert min(counted.values()) > 0


def test_codes_of_sexes_are_read_by_what_each_release_means_by_them(tmp_path: Path) -> None:
    papila, brset = made(tmp_path, "papila"), made(tmp_path, "brset")

    assert [of(papila, sample, "sex") for sample in ("RET002OD", "RET004OD")] == ["male", "female"]  # 0, 1
    assert [of(brset, sample, "sex") for sample in ("img00001", "img00003")] == ["female", "male"]  # 2, 1
    assert [of(brset, sample, "eye") for sample in ("img00001", "img00002")] == ["right", "left"]  # 1, 2


@pytest.mark.parametrize("name", ["fairvlmed10k", "gf3300"])
def test_language_is_an_attribute_where_the_published_key_is_never_found(tmp_path: Path, name: str) -> None:
    manifest = made(tmp_path, name)

    assert set(groups(manifest, "language")) == {"english", "other", "spanish"}
    assert manifest.table["language"].null_count() == 1  # "unknown" is no language


@pytest.mark.parametrize("name", sorted(RELEASES))
def test_an_age_of_exactly_sixty_is_in_the_older_group_of_every_data_set(tmp_path: Path, name: str) -> None:
    manifest = made(tmp_path, name)
    label = manifest.labels[0]
    sixty = manifest.table.filter(pl.col("age") == 60.0).drop_nulls(label).height
    older = manifest.table.filter(pl.col("age") >= 60.0).drop_nulls(label).height

    assert sixty > 0
    assert groups(manifest, "age", bins={"age": [60]})[">=60"] == older


def test_a_test_without_the_young_of_adni_is_told_and_balancing_shares_them_out(tmp_path: Path) -> None:
    notes, balanced = Notes(), Notes()

    published = made(tmp_path, "adni", notes, split="fairmedfm")
    shared = made(tmp_path, "adni", balanced, balance=["age"], bins={"age": [70]}, ratio=(0.5, 0.0, 0.5))

    assert published.of_split("test")["age"].min() >= 60  # type: ignore[operator]
    assert any("no image of '40-60' is in the test" in note for note in notes.warnings)
    young = shared.table.filter(pl.col("age") < 70)["split"].to_list()
    assert abs(young.count("test") - young.count("train")) <= 1
    with_young = groups(
        Manifest(published.of_split("test"), published.labels, ("age",), tmp_path), "age", bins={"age": [60]}
    )
    assert with_young["<60"] == 0


def test_an_empty_group_has_no_gap_but_a_reason(tmp_path: Path) -> None:
    test = made(tmp_path, "adni", split="fairmedfm").of_split("test").with_columns(y_score=pl.lit(0.5))

    report = fmfair.evaluate(
        test, y_true="alzheimer", y_score="y_score", attributes=["age"], by=[], bins={"age": [60]}, ci=None
    )

    gap = report.gaps.filter(pl.col("metric") == "accuracy").head(1)
    assert gap["value"].item() is None
    assert gap["note"].item()


def test_basal_cell_carcinoma_is_malignant_and_benign_only_by_the_published_rule(tmp_path: Path) -> None:
    standard, published = made(tmp_path, "ham10000"), made(tmp_path, "ham10000", labels="fairmedfm")

    kinds = {"mel": "ISIC_0000003", "akiec": "ISIC_0000004", "bcc": "ISIC_0000005", "nv": "ISIC_0000002"}
    assert {kind: of(standard, s, "malignant") for kind, s in kinds.items()} == {
        "mel": 1,
        "akiec": 1,
        "bcc": 1,
        "nv": 0,
    }
    assert {kind: of(published, s, "malignant") for kind, s in kinds.items()} == {
        "mel": 1,
        "akiec": 1,
        "bcc": 0,
        "nv": 0,
    }


def test_an_unknown_sex_is_no_group(tmp_path: Path) -> None:
    assert of(made(tmp_path, "ham10000"), "ISIC_0000008", "sex") is None
    assert made(tmp_path, "chexpert").table["sex"].to_list().count(None) == 1


def test_the_published_rows_of_ham10000_have_an_age_and_a_sex(tmp_path: Path) -> None:
    notes = Notes()
    published = made(tmp_path, "ham10000", notes, split="fairmedfm")

    left_out = {"ISIC_0000008": "sex", "ISIC_0000009": "age"}
    assert not {*left_out} & {*published.table["sample_id"]}
    assert {"1 image without age left out, as in the published benchmark"} <= {*notes.warnings}
    assert {"1 image without sex left out, as in the published benchmark"} <= {*notes.warnings}


def test_images_of_a_lesion_are_in_one_split(tmp_path: Path) -> None:
    notes = Notes()
    manifest = made(tmp_path, "ham10000", notes)

    assert manifest.table.group_by("patient_id").agg(pl.col("split").n_unique())["split"].to_list() == [1] * 6
    assert any("the lesion takes their place" in note for note in notes)


@pytest.mark.parametrize("name", ["mimic_cxr", "adni", "papila", "brset"])
def test_no_patient_is_on_both_sides_where_the_published_split_puts_some(tmp_path: Path, name: str) -> None:
    notes = Notes()
    ours, published = made(tmp_path, name), made(tmp_path, name, notes, split="fairmedfm")

    def shared(manifest: Manifest) -> int:
        return manifest.table.group_by("patient_id").agg(pl.col("split").n_unique()).filter(pl.col("split") > 1).height

    assert shared(ours) == 0
    assert shared(published) > 0
    assert any(f"{shared(published)} of " in note and "are in both" in note for note in notes.warnings)


def test_two_eyes_are_two_images_of_one_patient(tmp_path: Path) -> None:
    manifest = made(tmp_path, "papila")

    eyes = manifest.table.filter(pl.col("patient_id") == "#004").sort("sample_id")
    assert eyes["eye"].to_list() == ["OD", "OS"]
    assert eyes["split"].n_unique() == 1
    assert of(manifest, "RET005OD", "glaucoma") == 1
    assert of(manifest, "RET005OS", "glaucoma") == 0  # each eye has its own diagnosis


def test_suspects_and_mild_impairment_are_unknown_and_left_out_only_by_the_published_rule(tmp_path: Path) -> None:
    papila, adni = made(tmp_path, "papila"), made(tmp_path, "adni")
    notes = Notes()
    published = made(tmp_path, "papila", notes, split="fairmedfm")

    assert of(papila, "RET002OD", "glaucoma") is None
    assert adni.table["alzheimer"].null_count() == 10
    assert published.table["glaucoma"].null_count() == 0
    assert "5 images without the label 'glaucoma' left out, as in the published benchmark" in notes.warnings


def test_ages_of_covid_ct_md_lose_their_letter(tmp_path: Path) -> None:
    manifest = made(tmp_path, "covid_ct_md")

    assert of(manifest, "P001", "age") == 60.0
    assert of(manifest, "P002", "age") == 38.0  # 038Y
    assert of(manifest, "normal002", "age") == 36.0


def test_both_kinds_of_pneumonia_are_positive(tmp_path: Path) -> None:
    manifest = made(tmp_path, "covid_ct_md")

    assert [of(manifest, sample, "pneumonia") for sample in ("P001", "cap001", "normal001")] == [1, 1, 0]


def test_empty_and_uncertain_cells_of_chexpert_have_a_rule_each(tmp_path: Path) -> None:
    standard, published = made(tmp_path, "chexpert"), made(tmp_path, "chexpert", labels="fairmedfm")

    def cells(manifest: Manifest, label: str) -> list[int | None]:
        return manifest.table.sort("sample_id")[label].to_list()[:4]

    # 1.0, empty, -1.0, empty; of pneumothorax 0.0, 1.0, -1.0, empty
    assert cells(standard, "no_finding") == [1, 0, None, 0]
    assert cells(published, "no_finding") == [1, 0, 0, 0]
    assert cells(standard, "pneumothorax") == [0, 1, None, 0]
    assert cells(published, "pneumothorax") == [0, 1, 0, 0]


def test_races_of_chexpert_are_kept_as_released(tmp_path: Path) -> None:
    races = made(tmp_path, "chexpert").table.sort("sample_id")["race"].to_list()

    assert races == ["Other", *["White, non-Hispanic"] * 2, "Black or African American", "White", None, None]


def test_the_published_rows_of_chexpert_have_a_race_and_one_sex_in_both_tables(tmp_path: Path) -> None:
    root = tmp_path / "chexpert"
    root.mkdir()
    RELEASES["chexpert"](root)
    header, *rows = (root / "train.csv").read_text(encoding="utf-8").splitlines()
    more = [row.replace("study", f"study{k}") for k in range(9) for row in rows]
    (root / "train.csv").write_text("\n".join([header, *more]), encoding="utf-8")
    notes = Notes()

    manifest = make_manifest("chexpert", root, split="fairmedfm", missing_images="keep", notes=notes)

    assert set(manifest.table["patient_id"]) == {"patient00001", "patient00002", "patient00003"}
    assert dict(manifest.of_split("test")["sex"].value_counts().iter_rows()) == {"Female": 1, "Male": 1}
    assert "9 images whose Sex and GENDER differ left out, as in the published benchmark" in notes.warnings
    assert manifest.table["no_finding"].null_count() == 9  # the published rule keeps -1, which is unknown here


def test_the_age_of_mimic_is_that_at_the_image_and_the_released_one_is_kept(tmp_path: Path) -> None:
    manifest = made(tmp_path, "mimic_cxr")

    assert (of(manifest, "00aapa", "age"), of(manifest, "00aapa", "anchor_age")) == (60.0, 60.0)
    assert (of(manifest, "02aapa", "age"), of(manifest, "02aapa", "anchor_age")) == (50.0, 48.0)  # two years later


def test_admissions_of_mimic_that_disagree_give_the_most_common_race(tmp_path: Path) -> None:
    notes = Notes()
    manifest = made(tmp_path, "mimic_cxr", notes)

    assert of(manifest, "00aapa", "race") == "WHITE"  # said twice, BLACK/AFRICAN AMERICAN once
    assert of(manifest, "01aapa", "race") == "WHITE"  # UNKNOWN, said twice, does not count
    assert of(manifest, "00aapa", "language") == "ENGLISH"
    assert any("admissions.csv.gz says different things of 2 values of subject_id" in note for note in notes)


def test_studies_of_mimic_are_of_one_patient_and_uncertain_ones_unknown_but_to_the_published_rule(
    tmp_path: Path,
) -> None:
    standard, published = made(tmp_path, "mimic_cxr"), made(tmp_path, "mimic_cxr", labels="fairmedfm")

    assert of(standard, "20aapa", "patient_id") == of(standard, "00aapa", "patient_id") == "10000032"
    assert of(standard, "20aapa", "path") == "files/p10/p10000032/s51000000/20aapa.jpg"
    assert of(standard, "20aapa", "split") == of(standard, "00aapa", "split")
    assert of(standard, "20aapa", "no_finding") is None
    assert of(published, "20aapa", "no_finding") == 0


def test_the_released_split_of_mimic_is_in_a_table_of_its_own(tmp_path: Path) -> None:
    before = made(tmp_path, "mimic_cxr").table
    words = {"train": "train", "validate": "validation", "test": "test"}
    given = {
        sample: list(words)[int(patient[2]) % 3] for sample, patient in before.select("sample_id", "patient_id").rows()
    }
    csv(tmp_path / "mimic_cxr" / "mimic-cxr-2.0.0-split.csv.gz", ["dicom_id", "split"], [*given.items()])

    released = made(tmp_path, "mimic_cxr", split="released").table

    assert dict(released.select("sample_id", "split").iter_rows()) == {s: words[word] for s, word in given.items()}


def test_a_study_that_the_labeller_did_not_see_is_unknown_and_not_negative(tmp_path: Path) -> None:
    notes = Notes()
    manifest = made(tmp_path, "mimic_cxr", notes)

    assert of(manifest, "05aapa", "no_finding") is None
    assert of(manifest, "05aapa", "pneumothorax") is None
    assert any("2 images have no row in mimic-cxr-2.0.0-chexpert.csv.gz" in note for note in notes.warnings)


def test_ages_that_nobody_has_are_missing_and_told(tmp_path: Path) -> None:
    notes = Notes()
    manifest = made(tmp_path, "nih_cxr14", notes)

    assert of(manifest, "00000004_000.png", "age") is None  # 414
    assert of(manifest, "00000004_001.png", "age") == 60.0
    assert "attribute 'age', column 'Patient Age': 1 age below 0 or above 120 read as missing" in notes.warnings


def test_the_published_split_of_sets_with_unpublished_files_says_that_it_differs(tmp_path: Path) -> None:
    for name in ("papila", "ham10000", "brset"):
        notes = Notes()
        made(tmp_path, name, notes, split="fairmedfm")
        assert any(note.startswith("the published split of") for note in notes.warnings)
    notes = Notes()
    made(tmp_path, "nih_cxr14", notes, split="fairmedfm")
    assert "FairMedFM does not use NIH ChestX-ray14; this is the rule of its data sets" in notes.warnings
    notes = Notes()
    made(tmp_path, "adni", notes, split="fairmedfm")
    assert not any(note.startswith("the published split of") for note in notes.warnings)


def test_the_published_split_is_that_of_its_own_code(tmp_path: Path) -> None:
    from sklearn.model_selection import train_test_split

    manifest = made(tmp_path, "adni", split="fairmedfm")

    size = min(int(0.2 * n) for n in manifest.table["sex"].value_counts()["count"])
    expected = set[str]()
    for sex in ("M", "F"):
        ids = np.unique(manifest.table.filter(pl.col("sex") == sex)["sample_id"].to_numpy())
        expected |= set(train_test_split(ids, test_size=size, random_state=0)[1])
    assert set(manifest.of_split("test")["sample_id"]) == expected
