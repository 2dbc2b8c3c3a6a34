"""`fmfair data`: lists data sets, tells about one, makes its manifest, and refuses what it cannot use."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from command_line import run
from releases import release

from fmfair.runners.datasets import make_manifest, recipe, recipes
from fmfair.runners.manifest import read_manifest


def test_the_command_line_makes_a_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = release(tmp_path, "papila")
    monkeypatch.chdir(tmp_path)

    result = run("data", "papila", "--root", root, "--balance", "sex", "glaucoma", "--ratio", "0.5,0,0.5", "--seed", 3)

    assert (result.status, result.out) == (0, "papila.parquet: 24 images of 12 patients (train 12, test 12)\n")
    assert "fmfair: warning: the release differs" in result.err
    made = make_manifest("papila", root, balance=["sex", "glaucoma"], ratio=(0.5, 0, 0.5), seed=3)
    assert read_manifest(tmp_path / "papila.parquet").table.equals(made.table)


def test_the_command_line_knows_the_published_split_and_labels(tmp_path: Path) -> None:
    root, out = release(tmp_path, "ham10000"), tmp_path / "deep" / "h.parquet"
    options = ("--fairmedfm-split", "--labels", "fairmedfm", "--missing-images", "keep", "--output", out, "--quiet")

    result = run("data", "ham10000", "--root", root, *options)

    assert (result.status, result.err) == (0, "")
    read = read_manifest(out)
    assert read.about.shared_patients
    assert read.table.filter(pl.col("sample_id") == "ISIC_0000005")["malignant"].item() == 0
    assert run("data", "ham10000", "--root", root, "--split", "fairmedfm", *options[1:]).status == 0
    assert read_manifest(out).table.equals(read.table)


def test_the_command_line_lists_and_tells() -> None:
    listed = run("data")
    assert listed.status == 0
    assert [line.split()[0] for line in listed.out.splitlines()[1:] if not line.startswith(" ")] == list(recipes())

    for args in (("papila", "--about"), ("papila",)):
        told = run("data", *args).out
        assert "licence     CC BY 4.0" in told
        assert "sex, from column 'Gender': 0 is male, 1 is female" in told
        assert "suspects (2) the label is unknown" in told
        assert "table       ClinicalData/patient_data_od.xlsx, columns ID, Diagnosis, Gender, Age\n" in told
        assert "images      FundusImages/RET{ID[1:]}{eye}.jpg\n" in told
    told = run("data", "chexpert", "--about").out
    assert "table       train.csv or CheXpert-v1.0 batch 1 (validate & csv)/train.csv, columns No" in told
    assert "CHEXPERT DEMO.xlsx or */CHEXPERT DEMO.xlsx (optional), columns PATIENT, GENDER,\n" in told
    assert "column      file, a part of 'Path'\n" in told
    assert "list        test_list.txt, the images of test\n" in run("data", "nih_cxr14", "--about").out
    assert recipe("mimic_cxr").licence in run("data", "mimic_cxr", "--about").out


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["papilla"], "no data set 'papilla'; did you mean 'papila'?"),
        (["--root", "x"], "name the data set before --root"),
        (["--path", "x", "--seed", "0"], "name the data set before --path, --seed: adni, "),
        (["papila", "--root", "nowhere"], "no folder nowhere"),
        (["papila", "--root", ".", "--output", "m.csv"], "--output m.csv must end in .parquet"),
        (["papila", "--root", ".", "--ratio", "a,b"], "--ratio a,b: expected three shares such as 0.7,0.1,0.2"),
        (["papila", "--root", ".", "--bins", "age=q4"], "--bins of splits are cut points"),
        (["papila", "--root", ".", "--split", "patient"], "--split patient is not known"),
        (["papila", "--root", ".", "--fairmedfm-split", "--split", "released"], "exclude each other"),
        (["papila", "--root", "."], "no ClinicalData/patient_data_od.xlsx in ."),
    ],
)
def test_the_command_line_refuses(
    args: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    result = run("data", *args)

    assert (result.status, result.out) == (2, "")
    assert expected in result.err
    assert list(tmp_path.iterdir()) == []


def test_messages_are_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    root = release(tmp_path, "papila")
    (root / "FundusImages" / "RET002OD.jpg").unlink()

    assert "--missing-images drop leaves them out" in run("data", "papila", "--root", root).err
    assert "use --split patients" in run("data", "adni", "--root", release(tmp_path, "adni"), "--split", "released").err
