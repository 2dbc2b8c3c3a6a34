"""Recipes: the release of each data set becomes the right manifest."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from releases import RELEASES

from fmfair.errors import FmfairError
from fmfair.notes import Notes
from fmfair.runners.datasets import make_manifest, recipe, recipes
from fmfair.runners.datasets.rules import RULES
from fmfair.runners.manifest import Manifest, read_manifest

# What each data set is about, with the counts of its imitation: images, patients, positives, negatives, unknown.
MAIN = {
    "adni": ("alzheimer", 30, 24, 10, 10, 10),
    "brset": ("retinopathy", 24, 12, 10, 14, 0),
    "chexpert": ("no_finding", 7, 6, 2, 4, 1),
    "covid_ct_md": ("pneumonia", 24, 24, 16, 8, 0),
    "fairvlmed10k": ("glaucoma", 20, 20, 10, 10, 0),
    "gf3300": ("glaucoma", 20, 20, 10, 10, 0),
    "ham10000": ("malignant", 12, 6, 5, 7, 0),
    "mimic_cxr": ("no_finding", 25, 12, 10, 12, 3),
    "nih_cxr14": ("pneumothorax", 24, 12, 8, 16, 0),
    "papila": ("glaucoma", 24, 12, 7, 12, 5),
}


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("releases")
    for name, make in RELEASES.items():
        (root / name).mkdir()
        make(root / name)
    return root


def made(releases: Path, name: str, **choices: Any) -> Manifest:
    return make_manifest(name, releases / name, **choices)


def column(manifest: Manifest, name: str) -> dict[str, object]:
    return dict(zip(manifest.table["sample_id"], manifest.table[name], strict=True))


def test_there_is_an_imitation_and_a_recipe_of_every_data_set() -> None:
    assert tuple(RELEASES) == recipes() == tuple(MAIN)


@pytest.mark.parametrize("name", MAIN)
def test_a_release_becomes_a_manifest(releases: Path, name: str, tmp_path: Path) -> None:
    label, images, patients, positive, negative, unknown = MAIN[name]

    manifest = made(releases, name)

    table, values = manifest.table, manifest.table[label].to_list()
    assert manifest.labels[0] == label
    assert (table.height, table["patient_id"].n_unique()) == (images, patients)
    assert (values.count(1), values.count(0), values.count(None)) == (positive, negative, unknown)
    assert set(table["split"]) == {"train", "validation", "test"}
    manifest.check_files()
    assert table.group_by("patient_id").agg(pl.col("split").n_unique())["split"].max() == 1
    manifest.write(tmp_path / "m.parquet")
    again = read_manifest(tmp_path / "m.parquet", check_files=True)
    assert again.table.equals(table)
    assert again.about == manifest.about


@pytest.mark.parametrize("name", MAIN)
def test_attributes_are_numbers_of_years_or_words_and_never_codes(releases: Path, name: str) -> None:
    manifest = made(releases, name)

    assert {"sex", "age"} <= set(manifest.attributes)
    for attribute in manifest.attributes:
        values = manifest.table[attribute].drop_nulls()
        if attribute in ("age", "anchor_age"):
            assert values.dtype == pl.Float64
            assert values.is_between(0, 120).all()
            assert 60.0 in values
            assert values.n_unique() > 3
        else:
            assert values.dtype == pl.String
            assert not set(values) & {"0", "1", "2", ""}
    assert {value.lower()[0] for value in manifest.table["sex"].drop_nulls()} == {"f", "m"}


@pytest.mark.parametrize("name", MAIN)
def test_every_label_has_prompts_and_every_data_set_says_what_it_is(releases: Path, name: str) -> None:
    about = made(releases, name).about

    assert set(about.prompts) == {label for group in recipe(name).labels for label in group.names}
    for prompts in about.prompts.values():
        assert prompts.texts(positive=True) != prompts.texts(positive=False)
    assert all((about.title, about.modality, about.licence, about.access))
    assert about.dataset == name
    assert about.split == "by patient, ratio 0.7/0.1/0.2, seed 0"
    assert about.slices == ("max" if name in ("adni", "covid_ct_md") else "")


@pytest.mark.parametrize("name", ["brset", "mimic_cxr", "ham10000"])
def test_splits_do_not_depend_on_the_order_of_rows(releases: Path, name: str, tmp_path: Path) -> None:
    RELEASES[name](tmp_path)
    before = column(made(releases, name), "split")
    plain = {"brset": "labels.csv", "ham10000": "HAM10000_metadata"}.get(name)
    if plain is None:
        text = pl.read_csv(tmp_path / "mimic-cxr-2.0.0-metadata.csv.gz", infer_schema=False)
        (tmp_path / "mimic-cxr-2.0.0-metadata.csv.gz").unlink()
        text.reverse().write_csv(tmp_path / "mimic-cxr-2.0.0-metadata.csv")
    else:
        header, *rows = (tmp_path / plain).read_text(encoding="utf-8").splitlines()
        random.Random(0).shuffle(rows)
        (tmp_path / plain).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")

    after = column(make_manifest(name, tmp_path), "split")

    assert after == before
    assert list(after) != list(before)


def test_splits_are_balanced_over_attributes_and_labels(releases: Path) -> None:
    manifest = made(releases, "covid_ct_md", balance=["sex", "pneumonia"], ratio=(0.5, 0.0, 0.5))

    cells = manifest.table.group_by("sex", "pneumonia", "split").len()["len"].to_list()
    assert sorted(cells) == [2, 2, 2, 2, 4, 4, 4, 4]
    assert manifest.about.split == "by patient, ratio 0.5/0/0.5, seed 0, balanced over sex, pneumonia"


@pytest.mark.parametrize(
    ("name", "split", "counts"),
    [
        ("fairvlmed10k", "released", {"train": 10, "validation": 5, "test": 5}),
        ("gf3300", "released", {"train": 10, "validation": 5, "test": 5}),
        ("nih_cxr14", "released", {"train": 16, "test": 8}),
        ("covid_ct_md", "fairmedfm", {"train": 20, "test": 4}),
        ("papila", "fairmedfm", {"train": 17, "test": 2}),
    ],
)
def test_splits_as_released_and_as_published(releases: Path, name: str, split: str, counts: dict[str, int]) -> None:
    manifest = made(releases, name, split=split)

    assert dict(manifest.table["split"].value_counts().iter_rows()) == counts
    assert manifest.about.shared_patients == (split == "fairmedfm")


def test_images_are_found_wherever_a_release_may_have_them(releases: Path, tmp_path: Path) -> None:
    assert column(made(releases, "ham10000"), "path")["ISIC_0000001"] == "HAM10000_images_part_2/ISIC_0000001.jpg"
    assert column(made(releases, "covid_ct_md"), "path")["cap003"] == "Cap Cases/cap003"
    assert column(made(releases, "adni"), "path")["I45001"].endswith("/I45001/ADNI_000_S_1000_MR_I45001.nii")  # type: ignore[attr-defined]
    assert column(made(releases, "nih_cxr14"), "path")["00000007_000.png"] == "images_002/images/00000007_000.png"
    RELEASES["nih_cxr14"](tmp_path)
    (tmp_path / "images").mkdir()
    for path in tmp_path.glob("images_*/images/*"):
        path.rename(tmp_path / "images" / path.name)

    moved = make_manifest("nih_cxr14", tmp_path)

    assert column(moved, "path")["00000007_000.png"] == "images/00000007_000.png"


def test_chexpert_is_read_from_the_folders_of_its_batches_too(releases: Path, tmp_path: Path) -> None:
    RELEASES["chexpert"](tmp_path)
    first = tmp_path / "CheXpert-v1.0 batch 1 (validate & csv)"
    first.mkdir()
    (tmp_path / "train.csv").rename(first / "train.csv")
    for n, patient in enumerate(sorted((tmp_path / "train").iterdir())):
        batch = tmp_path / f"CheXpert-v1.0 batch {2 + n % 3} (train {1 + n % 3})"
        batch.mkdir(exist_ok=True)
        patient.rename(batch / patient.name)

    manifest = make_manifest("chexpert", tmp_path)

    paths = column(manifest, "path")
    assert paths["train/patient00003/study4/view1_frontal.jpg"] == (
        "CheXpert-v1.0 batch 4 (train 3)/patient00003/study4/view1_frontal.jpg"
    )
    assert list(paths) == list(column(made(releases, "chexpert"), "path"))
    manifest.check_files()


def test_scans_of_adni_may_be_files_or_folders_of_slices(releases: Path, tmp_path: Path) -> None:
    RELEASES["adni"](tmp_path)
    scans = sorted(tmp_path.glob("ADNI/*/*/*/*/*.nii"))
    for scan in scans[:-1]:
        for number in range(3):
            (scan.parent / f"ADNI_MR_br_raw_{number}_{scan.parent.name}.dcm").touch()
        scan.unlink()

    manifest = make_manifest("adni", tmp_path)

    before, after = column(made(releases, "adni"), "path"), column(manifest, "path")
    assert {name: Path(str(path)).parent.as_posix() for name, path in before.items()} == {
        name: str(path).removesuffix(f"/{scans[-1].name}") for name, path in after.items()
    }
    assert after[scans[-1].parent.name] == scans[-1].relative_to(tmp_path).as_posix()
    manifest.check_files()
    for path in scans[0].parent.iterdir():
        path.unlink()
    with pytest.raises(FmfairError, match="1 of 30 images not found"):
        make_manifest("adni", tmp_path)


def test_a_root_with_marks_of_patterns_in_its_name_is_a_folder_like_others(tmp_path: Path) -> None:
    root = tmp_path / "data [v1]*"
    root.mkdir()
    RELEASES["ham10000"](root)
    RELEASES["papila"](root)

    assert make_manifest("ham10000", root).table.height == 12
    assert make_manifest("papila", root).table.height == 24


def test_maps_and_volumes_say_how_they_are_read(releases: Path) -> None:
    assert made(releases, "gf3300").about.reading == "key=rnflt window=-2:350"
    assert made(releases, "covid_ct_md").about.reading == "window=-1250:250"


def test_drains_of_neatx_are_an_attribute_and_unknown_where_nobody_looked(releases: Path) -> None:
    drains = column(made(releases, "nih_cxr14"), "drain")

    assert (drains["00000001_001.png"], drains["00000002_000.png"]) == ("drain", "no drain")
    assert list(drains.values()).count(None) == 22


def test_findings_of_nih_are_compared_as_a_whole(releases: Path) -> None:
    manifest = made(releases, "nih_cxr14")

    first = manifest.table.sort("sample_id").head(6)
    assert first["pneumothorax"].to_list() == [0, 1, 1, 0, 0, 0]
    assert first["pneumonia"].to_list() == [0, 0, 0, 0, 0, 1]
    assert first["pleural_thickening"].to_list() == [0, 0, 0, 0, 1, 0]
    assert first["no_finding"].to_list() == [1, 0, 0, 0, 0, 0]
    assert manifest.about.prompts["effusion"].texts(positive=True) == ("Chest Pleural Effusion",)
    assert manifest.about.prompts["effusion"].texts(positive=False) == ("Chest No findings",)


def test_tables_that_are_optional_may_be_missing(tmp_path: Path) -> None:
    RELEASES["chexpert"](tmp_path)
    (tmp_path / "CHEXPERT DEMO.xlsx").unlink()
    notes = Notes()

    manifest = make_manifest("chexpert", tmp_path, notes=notes)

    assert manifest.attributes == ("sex", "age", "view")
    assert any("no CHEXPERT DEMO.xlsx in the release" in note for note in notes.warnings)


@pytest.mark.parametrize("name", MAIN)
def test_who_has_no_value_is_no_group_that_the_test_could_lack(releases: Path, name: str) -> None:
    notes = Notes()
    make_manifest(name, releases / name, notes=notes)

    assert not any("missing" in note for note in notes if "is in the test" in note)


def test_counts_that_differ_from_the_published_ones_are_noted(releases: Path) -> None:
    notes = Notes()
    make_manifest("brset", releases / "brset", notes=notes)

    assert notes.warnings[0] == (
        "the release differs from what was published of it: 24 images where 16,266 were published; 12 patients where "
        "8,524 were published; 12 sex=female where 10,052 were published; 12 sex=male where 6,214 were published"
    )


def test_counts_of_positives_are_compared_too(releases: Path) -> None:
    notes = Notes()
    make_manifest("nih_cxr14", releases / "nih_cxr14", notes=notes)

    assert (
        "8 pneumothorax=1 where 5,302 were published; 4 no_finding=1 where 60,361 were published" in notes.warnings[1]
    )


def test_recipes_say_only_what_is_known_of_them() -> None:
    for name in recipes():
        how = recipe(name)
        assert {a.rule for a in how.attributes.values()} <= set(RULES)
        assert all(group.why for group in how.labels)
        assert set(how.published.require) <= set(how.attributes)
        labels = [label for group in how.labels for label in group.names]
        assert len(set(labels)) == len(labels)
        assert all((how.title, how.modality, how.licence, how.access, how.layout, how.counts.images))
