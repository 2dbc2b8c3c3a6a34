"""Recipes of one's own: a TOML file that is checked before the release is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import run
from releases import RELEASES, csv, images

from fmfair.errors import FmfairError
from fmfair.runners.datasets import make_manifest, recipe, recipes
from fmfair.runners.datasets.recipe import recipe_file, recipe_of
from fmfair.runners.manifest import read_manifest

OWN = """
path = ["scans/{file}", "scans/{file[:-4]}.png"]
sample_id = "{file[:-4]}"
patient_id = "{person}"

[[tables]]
file = ["people.csv"]

[[labels]]
names = { fracture = "finding" }
positive = ["fracture"]
negative = ["none"]
unknown = [""]

[attributes]
sex = { column = "sex", rule = "words", words = { 1 = "male", 2 = "female" } }
age = { column = "age", rule = "number" }
"""


def own(folder: Path, text: str = OWN) -> Path:
    """A recipe, with a release that it fits."""
    rows = [[f"x{n}.jpg", f"p{n // 2}", "12"[n // 2 % 2], 40 + n, ("fracture", "none", None)[n % 3]] for n in range(12)]
    csv(folder / "release" / "people.csv", ["file", "person", "sex", "age", "finding"], rows)
    images(folder / "release", *(f"scans/x{n}.{'png' if n == 5 else 'jpg'}" for n in range(12)))
    (folder / "hospital.toml").write_text(text, encoding="utf-8")
    return folder / "hospital.toml"


def test_a_recipe_of_ones_own_makes_a_manifest(tmp_path: Path) -> None:
    place = own(tmp_path)

    manifest = make_manifest(place, tmp_path / "release")

    table = manifest.table
    assert table["sample_id"].to_list() == [f"x{n}" for n in range(12)]
    assert table["path"].to_list()[4:6] == ["scans/x4.jpg", "scans/x5.png"]
    assert table["fracture"].to_list() == [1, 0, None] * 4
    assert table["sex"].to_list() == ["male", "male", "female", "female"] * 3
    assert (manifest.about.dataset, manifest.about.prompts) == ("hospital", {})
    with pytest.raises(FmfairError, match="this release of hospital holds no split"):
        make_manifest(place, tmp_path / "release", split="released")


def test_the_command_line_takes_a_recipe_and_prints_one_to_start_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(tmp_path)
    monkeypatch.chdir(tmp_path)

    made = run("data", "hospital.toml", "--root", "release", "--quiet")
    printed = run("data", "papila", "--recipe")

    assert (made.status, made.err) == (0, "")
    assert made.out.startswith("hospital.parquet: 12 images of 6 patients (")
    assert read_manifest(tmp_path / "hospital.parquet").about.dataset == "hospital"
    assert "fracture" in run("data", "hospital.toml").out
    assert printed.out == recipe_file("papila").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(printed.out, encoding="utf-8")
    (tmp_path / "papila").mkdir()
    RELEASES["papila"](tmp_path / "papila")
    assert run("data", "mine.toml", "--root", "papila", "--quiet").status == 0


def test_every_recipe_is_one_that_its_own_text_makes(tmp_path: Path) -> None:
    for name in recipes():
        (tmp_path / f"{name}.toml").write_text(recipe_file(name).read_text(encoding="utf-8"), encoding="utf-8")
        assert recipe(tmp_path / f"{name}.toml") == recipe(name)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("path = [", "paths = [", ["hospital: no field 'paths'; did you mean 'path'?", "hospital: 'path' is missing"]),
        ('["people.csv"]', '"people.csv"', ["hospital.tables[0].file: expected a list, got 'people.csv' (str)"]),
        ("[[labels]]", "[labels]", ["hospital.labels: expected a list, got"]),
        ('"number"', '"years old"', ["hospital.attributes.age.rule: 'years old' is not known; expected one of"]),
        ('"{person}"', '"person"', ["hospital: patient_id = 'person' is the same for every image; name a column"]),
        ('"{person}"', '"{person[3]}"', ["hospital: patient_id = '{person[3]}': a column stands in braces"]),
        ('"{person}"', '"{person[-3:2]}"', ["hospital: patient_id = '{person[-3:2]}': a part that starts from the"]),
        ('"scans/{file}"', '"/scans/{file}"', ["hospital: '/scans/{file}' is no path from the root of the release"]),
        ('"scans/{file}"', '"../{file}"', ["hospital: '../{file}' is no path from the root of the release"]),
        ('["people.csv"]', "[]", ["hospital: a table has no file; name at least one"]),
        ('["none"]', "[]", ["hospital.labels[0]: there must be values that are positive and values that are negative"]),
        ('["none"]', '["none", "fracture"]', ["hospital.labels[0]: 'fracture' is in more than one of positive, "]),
        ('unknown = [""]', 'unknown = [""]\nseparator = "|"', ["hospital.labels[0]: `column` and `separator` go"]),
        (
            'unknown = [""]',
            'prompts = { fracture = ["a"] }',
            ["hospital.labels[0]: prompts.fracture: expected a label"],
        ),
        (
            'unknown = [""]',
            'no_prompt = "no"\ntemplates = ["x"]',
            ["hospital.labels[0]: a template of a prompt has one {}"],
        ),
        ('unknown = [""]', "published = { neutral = [] }", ["hospital.labels[0]: published.neutral is none of the"]),
        (', words = { 1 = "male", 2 = "female" }', "", ["hospital.attributes.sex: the rule `words` needs the words"]),
        ('"number"', '"age_at"', ["hospital.attributes.age: the rule `age_at` needs the columns `year` and `date`"]),
        ("[attributes]", '[extracts]\nx = "file"\n[attributes]', ["hospital: extracts.x = 'file': expected `column"]),
        ("[attributes]", '[extracts]\nx = "file ~ ("\n[attributes]', ["hospital: extracts.x = 'file ~ (': expected"]),
        (
            "path = [",
            'reading = "window=1"\npath = [',
            ["hospital: reading = 'window=1': window=1 must be"],
        ),
        ("path = [", 'slices = "most"\npath = [', ["hospital.slices: 'most' is not known; expected one of"]),
        ("path = [", "path = = [", ["hospital.toml: it is not TOML: "]),
    ],
)
def test_what_cannot_be_carried_out_is_told_before_the_release_is_read(
    tmp_path: Path, old: str, new: str, expected: list[str]
) -> None:
    assert old in OWN
    place = own(tmp_path, OWN.replace(old, new, 1))

    with pytest.raises(FmfairError) as error:
        make_manifest(place, tmp_path / "nowhere")

    assert len(error.value.problems) == len(expected)
    for found, start in zip(error.value.problems, expected, strict=True):
        assert start in found
    refused = run("data", place, "--root", tmp_path / "release")
    assert (refused.status, refused.out) == (2, "")


def test_a_recipe_that_is_not_there_or_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"title = '\xff'")

    with pytest.raises(FmfairError, match=r"cannot read the recipe .*none.toml: No such file"):
        recipe(tmp_path / "none.toml")
    with pytest.raises(FmfairError, match=r"cannot read the recipe .*bad.toml: it is not TOML: it is no UTF-8 text"):
        recipe(tmp_path / "bad.toml")
    with pytest.raises(FmfairError, match=r"no data set 'hospital'; there is .*of your own is a file that ends"):
        recipe("hospital")


def test_all_faults_of_a_recipe_are_told_at_once() -> None:
    good: dict[str, Any] = {
        "tables": [{"file": ["t.csv"]}],
        "sample_id": "{id}",
        "patient_id": "{id}",
        "path": ["{id}.png"],
        "labels": [{"names": {"y": "y"}, "positive": ["1"], "negative": ["0"]}],
        "attributes": {"sex": {"column": "sex"}},
    }
    assert recipe_of("x", good).name == "x"

    with pytest.raises(FmfairError) as error:
        recipe_of("x", {**good, "tables": [{"fil": "t.csv"}], "attributes": {"sex": {"column": "sex", "rules": "a"}}})
    assert error.value.problems == [
        "x.tables[0]: no field 'fil'; did you mean 'file'?",
        "x.tables[0]: 'file' is missing; expected a list",
        "x.attributes.sex: no field 'rules'; did you mean 'rule'?",
    ]
    with pytest.raises(FmfairError) as error:
        recipe_of("x", {**good, "sample_id": "1", "path": [], "labels": []})
    assert len(error.value.problems) == 3


def test_names_that_lead_out_of_the_release_are_looked_for_where_they_lead(tmp_path: Path) -> None:
    place = own(tmp_path, OWN.replace('["scans/{file}", "scans/{file[:-4]}.png"]', '["{file}"]'))
    table = tmp_path / "release" / "people.csv"
    plain = table.read_text(encoding="utf-8")
    images(tmp_path, *(f"elsewhere/x{n}.jpg" for n in range(12)))

    table.write_text(plain.replace("\nx", f"\n{tmp_path}/elsewhere/x"), encoding="utf-8")
    assert make_manifest(place, tmp_path / "release").table.height == 12
    for lost in ("/nowhere/x", "../nowhere/x", "x*[]/"):
        table.write_text(plain.replace("\nx", f"\n{lost}"), encoding="utf-8")
        with pytest.raises(FmfairError, match="12 of 12 images not found"):
            make_manifest(place, tmp_path / "release")


def test_parts_of_columns_count_from_either_end() -> None:
    from fmfair.runners.datasets.templates import filled

    frame = pl.DataFrame({"name": ["data_0123.npz", "é"]})
    parts = {"{name[5:]}": "0123.npz", "{name[:-4]}": "data_0123", "{name[5:-4]}": "0123", "{name[-3:]}": "npz"}
    parts |= {"{name[-8:-4]}": "0123", "{name[2:4]}": "ta"}
    for template, expected in parts.items():
        assert frame.select(filled(template)).to_series()[0] == expected == eval(f"'data_0123.npz'{template[5:-1]}")
        assert len(frame.select(filled(template)).to_series()[1]) <= 1
