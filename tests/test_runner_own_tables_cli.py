"""Tables of one's own on the command line: unusual columns, names of data sets, and splits made by `fmfair data`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import Result, run
from own_tables import COLUMNS, MINE, pictured
from runner_tiny import tiny_models

from fmfair.cli.run_options import EMBED_EPILOG, EMBED_OPTIONS, PROBE_EPILOG, PROBE_OPTIONS, ZERO_SHOT_EPILOG
from fmfair.errors import FmfairError
from fmfair.runners.datasets import make_manifest, recipes
from fmfair.runners.manifest import Manifest, read_manifest
from fmfair.runners.roles import SPLIT_WORDS, Roles
from fmfair.runners.splits import split_by_patient


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with the pictures and their table."""
    pictured(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def _models() -> Iterator[None]:
    with tiny_models():
        yield


def refused(*args: object) -> list[str]:
    """The problems of a command that refuses its input and writes nothing."""
    before = sorted(Path().rglob("*"))
    result = run(*args)
    assert (result.status, result.out) == (2, "")
    assert sorted(Path().rglob("*")) == before
    lines = result.err.removeprefix("fmfair: error: ").strip().splitlines()
    return [line.removeprefix("  - ") for line in (lines[1:] if len(lines) > 1 else lines)]


def made(*more: object) -> Result:
    result = run("data", "mine.csv", *COLUMNS, *more)
    assert result.status == 0, result.err
    return result


@pytest.mark.usefixtures("_models")
def test_a_missing_split_says_what_makes_one(folder: Path) -> None:
    MINE.with_columns(part=pl.lit("holdout")).write_csv("split.csv")
    asked = ("run", "linear-probe", "split.csv", *COLUMNS, "--model", "tiny_pixels", "--split", "part")

    problems = refused(*asked, "--splits", "train")

    assert len(problems) == 3
    for problem in problems:
        assert "fmfair data TABLE --ratio 0.7,0.1,0.2 splits by patient, in Python Manifest.split()" in problem
    assert (folder / "split.csv").is_file()


@pytest.mark.usefixtures("_models")
def test_unusual_columns_are_named_on_the_command_line(folder: Path) -> None:
    MINE.with_columns(part=pl.Series(["Training", "Holdout"] * 12), who=pl.arange(24)).write_csv("mine.csv")
    asked = ("run", "linear-probe", "mine.csv", *COLUMNS, "--split", "part", "--dataset", "clinic")

    result = run(*asked, "--model", "tiny_pixels", "--select", "last", "--output", "runs")

    assert result.status == 0, result.err
    assert "warning" not in result.err
    found = pl.read_parquet(folder / "runs/predictions/**/*.parquet", hive_partitioning=False)
    assert found.sort("y_true", "sample_id")["sample_id"][0] == "k1"
    assert set(found["dataset"]) == {"clinic"}
    assert (folder / "runs/embeddings/dataset=clinic/model=tiny_pixels").is_dir()


def test_columns_that_are_not_there_are_told_by_the_options_that_name_them(folder: Path) -> None:
    named = ("--path", "scan", "--patient", "whom", "--sample-id", "id", "--labels", "mas", "--sensitive", "sexx")
    expected = {"'scan' (--path)", "'whom' (--patient); did you mean 'who'?", "'id' (--sample-id)"}
    expected |= {"'mas' (--labels); did you mean 'mass'?", "'sexx' (--sensitive); did you mean 'sex'?"}
    expected |= {"'fold' (--split)"}

    for command in (("run", "embed", "mine.csv", "--model", "rad_dino"), ("data", "mine.csv")):
        problems = refused(*command, *named, "--split", "fold")
        assert {p.partition("no column ")[2].partition("; there is")[0] for p in problems} == expected
        assert "name it with --path; there is" in refused(*command)[0]
    with pytest.raises(FmfairError, match=r"name it with path= of Roles; there is 'scan, where'"):
        read_manifest(folder / "mine.csv")


def test_a_table_is_split_on_the_command_line_as_in_python(folder: Path) -> None:
    result = made("--ratio", "0.5,0.25,0.25", "--seed", 7, "--balance", "sex", "mass", "--output", "m.parquet")

    roles = Roles(path="scan, where", sample_id="key", patient_id="who", labels=["mass"], attributes=["sex"])
    twin = read_manifest("mine.csv", roles=roles).split(ratio=(0.5, 0.25, 0.25), seed=7, balance=["sex", "mass"])
    found = read_manifest("m.parquet")
    assert found.table.equals(twin.table)
    assert (found.about, found.labels, found.attributes) == (twin.about, twin.labels, twin.attributes)
    assert (found.root, found.about.dataset) == (folder, "mine")
    assert result.out == "m.parquet: 24 images of 12 patients (train 12, validation 6, test 6)\n"
    assert "note: split by patient, ratio 0.5/0.25/0.25, seed 7, balanced over sex, mass" in result.err
    assert "all images are test" not in result.err


def test_a_table_without_a_split_is_split_by_patient(folder: Path) -> None:
    assert made().out.startswith("mine.parquet: ")

    table = read_manifest(folder / "mine.parquet").table
    assert table["split"].equals(split_by_patient(table))


def test_a_split_column_stays_unless_another_split_is_asked_for(folder: Path) -> None:
    own = ["train"] * 12 + ["dev"] * 4 + ["holdout"] * 8
    MINE.with_columns(split=pl.Series(own), fold=pl.Series(own[::-1])).write_csv("mine.csv")

    def found(*more: object) -> Manifest:
        assert made("--quiet", *more).err == ""
        return read_manifest(folder / "mine.parquet")

    assert (found().table["split"].to_list(), found().about.split) == (
        [SPLIT_WORDS[word] for word in own],
        "as given",
    )
    assert found("--split", "fold").table["split"].to_list() == [SPLIT_WORDS[word] for word in own[::-1]]
    anew = split_by_patient(found().table)
    for options in (("--split", "patients"), ("--ratio", "0.7,0.1,0.2"), ("--seed", 0)):
        assert found(*options).table["split"].equals(anew)
    assert not found("--balance", "sex").table["split"].equals(anew)
    # Where the column is of no use, another split can be asked for all the same.
    MINE.with_columns(split=pl.Series(["1", "2"] * 12)).write_csv("mine.csv")
    assert found("--seed", 0).table["split"].equals(anew)


def test_a_manifest_that_was_made_can_be_split_anew(folder: Path) -> None:
    made("--output", "m.parquet")

    assert run("data", "m.parquet", "--output", "same.parquet").status == 0
    assert read_manifest("same.parquet").table.equals(read_manifest("m.parquet").table)
    assert run("data", "m.parquet", "--ratio", "0.5,0,0.5", "--output", "other.parquet").status == 0
    other = read_manifest(folder / "other.parquet")
    assert set(other.table["split"]) == {"train", "test"}
    assert other.about.split == "by patient, ratio 0.5/0/0.5, seed 0"


def test_images_that_are_missing_are_treated_as_in_a_release(folder: Path) -> None:
    (folder / "3.png").unlink()

    problem = refused("data", "mine.csv", *COLUMNS)[0]
    assert "1 of 24 images not found below .: '3.png'; name the folder that the paths start from with --root" in problem
    assert problem.endswith("or leave these rows out, as --missing-images drop does")
    assert "warning: 1 image not found below ., left out" in made("--missing-images", "drop").err
    assert "k3" not in read_manifest("mine.parquet").table["sample_id"]
    made("--missing-images", "keep")
    assert read_manifest("mine.parquet").table.height == 24
    assert "24 of 24 images" in refused("data", "mine.csv", *COLUMNS, "--root", "no", "--missing-images", "drop")[0]


def test_what_makes_no_sense_is_refused_at_once(folder: Path) -> None:
    options = ("--about", "--recipe", "--fairmedfm-split", "--split", "released", "--ratio", "a", "--bins", "age=q3")

    of_recipes = "--about, --recipe, --fairmedfm-split, --split released: only for data sets with a recipe"
    assert refused("data", "mine.csv", *options, "--output", "m.csv") == [
        "--output m.csv must end in .parquet, for example --output mine.parquet",
        "--ratio a: expected three shares such as 0.7,0.1,0.2",
        "--bins of splits are cut points, such as age=40,60",
        f"{of_recipes}, and mine.csv is a table of your own; --split takes patients or its column of splits",
    ]
    assert refused("data", "mine.csv", "--split", "fold", "--seed", 1)[0].startswith("--seed and --split fold exclude")
    assert "--missing-images no is not known" in refused("data", "mine.csv", "--missing-images", "no")[0]
    of_tables = ("--path", "x", "--dataset", "y", "--labels", "a", "b", "--ratio", "1;2")
    assert [problem.partition(":")[0] for problem in refused("data", "papila", "--root", ".", *of_tables)] == [
        "--path, --dataset",
        "--labels a b",
        "--ratio 1;2",
    ]
    assert (folder / "mine.csv").is_file()


def test_the_table_itself_is_not_written_over(folder: Path) -> None:
    MINE.write_parquet("mine.parquet")

    for output in ((), ("--output", folder / "mine.parquet")):
        problem = refused("data", "mine.parquet", *COLUMNS, *output)[0]
        assert problem.endswith("mine.parquet is the table itself; name another file with --output")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cxp", "did you mean 'chexpert'?"),
        ("MIMIC", "did you mean 'mimic_cxr'?"),
        ("nih", "did you mean 'nih_cxr14'?"),
        ("papilla", "did you mean 'papila'?"),
        ("mine", "no data set 'mine'; there is 'adni'"),
        ("m", "no data set 'm'; there is 'adni'"),
    ],
)
def test_near_names_and_tables_are_hinted_at(folder: Path, name: str, hint: str) -> None:
    (problem,) = refused("data", name, "--root", ".")
    assert hint in problem
    assert problem.endswith("a table of your own, such as mine.csv, needs none: fmfair data mine.csv")
    with pytest.raises(FmfairError, match=r"needs none: read_manifest \(command line"):
        make_manifest(name, folder)
    assert "no file or folder mien.csv; did you mean 'mine.csv'?" in refused("data", "mien.csv")[0]


def test_a_folder_that_is_called_as_a_data_set_is_none_of_tables(folder: Path) -> None:
    (folder / "PAPILA").mkdir()

    assert "no ClinicalData/patient_data_od.xlsx in PAPILA" in refused("data", "PAPILA", "--root", "PAPILA")[0]


def test_examples_of_the_help_use_names_that_exist() -> None:
    for epilog in (EMBED_EPILOG, PROBE_EPILOG, ZERO_SHOT_EPILOG):
        stems = [word.removesuffix(".parquet") for word in epilog.split() if word.endswith(".parquet")]
        assert set(stems) <= set(recipes())


def test_the_words_of_splits_are_said() -> None:
    helps = [_help(panels, "split") for panels in (EMBED_OPTIONS, PROBE_OPTIONS)]
    told = run("data", "--help").out
    for word in SPLIT_WORDS:
        assert word in (Roles.__doc__ or "")
        assert word in told
        assert all(word in text for text in helps)


def _help(panels: Any, name: str) -> str:
    return "".join(option.text for options in panels.values() for option in options if option.name == name)
