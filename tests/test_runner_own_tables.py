"""Tables of one's own in Python: frames, names of data sets, warnings, and splits by patient."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from own_tables import MINE, pictured

import fmfair.runners
from fmfair.errors import FmfairError
from fmfair.notes import Notes
from fmfair.runners.datasets import recipes
from fmfair.runners.manifest import read_manifest
from fmfair.runners.roles import Roles
from fmfair.runners.splits import split_by_patient


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with the pictures and their table."""
    pictured(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FRAME = pl.DataFrame({"file": ["a.png", "b.png"], "mrn": ["p", "q"], "set": ["Dev", "test"], "label": [0, 1]})


@pytest.mark.parametrize("kind", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, dict])
def test_frames_are_tables_as_for_evaluate(kind: Any, tmp_path: Path) -> None:
    source = kind(FRAME.to_dict(as_series=False))

    mine = read_manifest(source)

    assert mine.table.rows() == [("a.png", "p", "a.png", "validation", 0), ("b.png", "q", "b.png", "test", 1)]
    assert (mine.root, mine.about.dataset) == (Path(), "data")
    other = read_manifest(source, root=tmp_path, dataset="clinic")
    assert (other.root, other.about.dataset) == (tmp_path, "clinic")


def test_what_is_no_table_is_refused_in_words() -> None:
    with pytest.raises(FmfairError, match="the table is a int; expected a Polars or pandas frame"):
        read_manifest(3)
    with pytest.raises(FmfairError) as error:
        read_manifest(FRAME, roles={"path": "file"}, notes=[], dataset="")  # type: ignore[arg-type]
    assert [problem.partition(" ")[0] for problem in error.value.problems] == ["dataset=''", "roles=", "notes="]
    assert "roles= is of the type dict; expected fmfair.runners.Roles" in str(error.value)
    with pytest.raises(FmfairError, match="cannot read the columns of the table"):
        read_manifest(pl.LazyFrame({"a": [1]}).select("b"))


def test_only_the_columns_that_are_meant_are_read() -> None:
    def never(_: pl.Series) -> pl.Series:
        raise AssertionError("nobody needs it")

    lazy = FRAME.lazy().with_columns(other=pl.col("file").map_batches(never, return_dtype=pl.String))

    assert read_manifest(lazy).table.height == 2


def test_a_data_set_is_called_as_one_says(folder: Path) -> None:
    roles = Roles(path="scan, where", patient_id="who", labels=["mass"])
    assert read_manifest("mine.csv", roles=roles).about.dataset == "mine"

    named = read_manifest("mine.csv", roles=roles, dataset="clinic")
    named.write("stored.parquet")

    assert named.about.dataset == read_manifest("stored.parquet").about.dataset == "clinic"
    assert read_manifest("stored.parquet", dataset="other").about.dataset == "other"
    for nothing in ("", " ", 3):
        with pytest.raises(FmfairError, match="is no name; give a short text, such as dataset='clinic'"):
            read_manifest("mine.csv", roles=roles, dataset=nothing)  # type: ignore[arg-type]
    assert folder.is_dir()


def test_what_changes_how_results_are_read_is_warned_of_without_notes() -> None:
    without = FRAME.drop("mrn")

    with pytest.warns(UserWarning, match="every image counts as a patient of its own; name one with patient_id=") as w:
        read_manifest(without)

    assert [warning.filename for warning in w] == [__file__]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        notes = Notes()
        read_manifest(without, notes=notes)
        read_manifest(without, roles=Roles(patient_id=""))  # said by the user, so no surprise
        read_manifest(FRAME)  # columns found by name are no warning
    assert said == []
    assert len(notes.warnings) == 1


def test_what_a_user_needs_is_exported() -> None:
    assert {"Manifest", "Notes", "Roles", "make_manifest", "read_manifest", "recipes"} <= set(fmfair.runners.__all__)
    assert fmfair.runners.Notes is Notes
    assert fmfair.runners.recipes is recipes
    for name in fmfair.runners.__all__:
        if name not in ("How", "Probe", "Schedule", "Similarity", "Study", "load_model"):  # these need torch
            assert getattr(fmfair.runners, name)


def test_a_manifest_is_split_by_patient() -> None:
    roles = Roles(path="scan, where", sample_id="key", patient_id="who", labels=["mass"])
    mine = read_manifest(MINE, roles=roles)

    split = mine.split(ratio=(0.5, 0.25, 0.25), seed=3, balance=["sex", "mass"])

    expected = split_by_patient(mine.table, ratio=(0.5, 0.25, 0.25), seed=3, balance=["sex", "mass"])
    assert split.table["split"].equals(expected)
    assert split.table.drop("split").equals(mine.table.drop("split"))
    assert split.about.split == "by patient, ratio 0.5/0.25/0.25, seed 3, balanced over sex, mass"
    assert (mine.about.split, set(mine.table["split"])) == ("", {"test"})
    assert (split.labels, split.attributes, split.root) == (mine.labels, mine.attributes, mine.root)


def test_groups_that_a_split_leaves_out_of_the_test_are_told() -> None:
    table = pl.DataFrame(
        {
            "path": [f"{i}.png" for i in range(10)],
            "patient": range(10),
            "site": ["a"] * 9 + ["b"],
            "age": [50.5] * 10,
            "weight": range(10),
        }
    )
    roles = Roles(attributes=["site", "age", "weight"])
    told = "attribute 'site': no image of 'b' is in the test; balance= shares it out"
    seeds = [s for s in range(9) if "b" not in set(read_manifest(table, roles=roles).split(
        ratio=(0.9, 0, 0.1), seed=s, notes=Notes()).of_split("test")["site"])]  # fmt: skip
    notes = Notes()

    read_manifest(table, roles=roles).split(ratio=(0.9, 0, 0.1), seed=seeds[0], notes=notes)

    assert notes == notes.warnings == [told]
    with pytest.warns(UserWarning, match="no image of 'b' is in the test"):
        read_manifest(table, roles=roles).split(ratio=(0.9, 0, 0.1), seed=seeds[0])
    none = Notes()
    read_manifest(table, roles=roles).split(ratio=(0.9, 0.1, 0), notes=none)
    assert none == []


def test_what_cannot_be_split_is_refused_at_once() -> None:
    mine = read_manifest(MINE, roles=Roles(path="scan, where", patient_id="who", labels=["mass"]))

    with pytest.raises(FmfairError) as error:
        mine.split(ratio=0.7, balance=["sexx"], bins={"age": [60]})  # type: ignore[arg-type]
    assert error.value.problems == [
        "ratio= must be three shares, of training, validation and test, such as (0.7, 0.1, 0.2); it is 0.7",
        "bins= cuts 'age', which is not balanced over; name it in balance= too",
        "no column 'sexx' (balance=); did you mean 'sex'?; there is 'mass', 'sex'",
    ]
    with pytest.raises(FmfairError) as error:
        mine.split(seed="1", balance="sex", bins={"sex": 3})  # type: ignore[arg-type, dict-item]
    assert error.value.problems[:3] == [
        "balance='sex' is no list of columns; give one, such as balance=['sex']",
        "seed='1' must be a whole number",
        "bins= of 'sex' must be a list of finite cut points, such as [40, 60]",
    ]


def test_a_split_column_can_be_left_out_of_account() -> None:
    shared = FRAME.with_columns(mrn=pl.lit("p"))
    with pytest.raises(FmfairError, match=r"fmfair data TABLE --ratio 0.7,0.1,0.2 splits by patient, in Python Manif"):
        read_manifest(shared)

    mine = read_manifest(shared, roles=Roles(split=""))

    assert mine.table["split"].to_list() == ["test", "test"]
    assert mine.split(ratio=(1, 0, 0)).table["split"].to_list() == ["train", "train"]
