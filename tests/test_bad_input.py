"""Files, names and output that look odd or cannot be used: the right answer or one clear sentence, and no half file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from lookup import by_group, gap, summary
from refusals import TABLE, refusal

import fmfair
from fmfair import FmfairError

# --- tables without anything to evaluate


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (pl.DataFrame(), "the table has no columns"),
        ({}, "the table has no columns"),
        (pl.DataFrame(TABLE).head(0), "the table has no rows"),
        (pl.DataFrame(TABLE).head(0).lazy(), "the table has no rows"),
        ({name: [] for name in TABLE}, "the table has no rows"),
    ],
)
def test_an_empty_table_is_refused(table: Any, expected: str) -> None:
    assert expected in refusal(table)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("header.csv", "label,prob,sex\n", "the table has no rows"),
        ("nothing.csv", "", "the file is empty"),
        ("blank.csv", "\n\n", "cannot read"),
        ("header.tsv", "label\tprob\tsex\n", "the table has no rows"),
        ("ragged.csv", "label,prob,sex\n0,0.1,F,9\n", "a row has more fields than the header"),
        ("open.csv", 'label,prob,sex\n0,0.1,"F\n1,0.2,M\n', "never closed"),
        ("text.parquet", "label,prob,sex\n0,0.1,F\n", "cannot read"),
        ("text.feather", "no arrow", "cannot read"),
        ("text.xlsx", "no excel", "cannot read"),
        ("text.json", "{label: 0", "cannot read"),
        ("one.json", '"label"', "cannot read"),
        ("text.jsonl", '{"label": 0}\n{"label":', "cannot read"),
        ("short.csv.gz", "no gzip, taken as text\n1\n", "no y_true column found"),
        ("latin.csv", b"label,prob,sex\n0,0.1,m\xe4nnlich\n", "it is not UTF-8 text"),
        ("twice.csv", "label,prob,sex,sex\n0,0.1,F,F\n", "more than one column named 'sex'"),
        ("unknown.dat", "label,prob,sex\n", "cannot tell the format"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_name(
    name: str, content: str | bytes, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    message = refusal(path)

    assert expected in message
    assert name in message or "rows" in expected or "y_true" in expected


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv.gz", "xlsx"])
def test_a_truncated_file_is_refused_by_name(suffix: str, tmp_path: Path) -> None:
    frame, path = pl.DataFrame(TABLE), tmp_path / f"cut.{suffix}"
    if suffix == "parquet":
        frame.write_parquet(path)
    elif suffix == "feather":
        frame.write_ipc(path)
    elif suffix == "xlsx":
        frame.write_excel(path)
    else:
        import gzip

        path.write_bytes(gzip.compress(frame.write_csv().encode() * 100))
    whole = path.read_bytes()

    for share in (0.3, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        assert f"cut.{suffix}" in refusal(path)


def test_a_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert "no file or folder" in refusal(tmp_path / "missing.csv")


def test_files_of_a_folder_with_other_columns_or_types_are_refused_by_name(tmp_path: Path) -> None:
    frame = pl.DataFrame(TABLE)
    frame.write_parquet(tmp_path / "a.parquet")
    frame.rename({"sex": "gender"}).write_parquet(tmp_path / "b.parquet")
    said = refusal(tmp_path)
    assert re.search(r"'sex' is missing from 1 of 2, such as \S*b.parquet, but not from \S*a.parquet", said)
    assert re.search(r"'gender' is missing from 1 of 2, such as \S*a.parquet, but not from \S*b.parquet", said)

    frame.with_columns(label=pl.col("label").cast(pl.String)).write_parquet(tmp_path / "b.parquet")
    assert "differ in the type of 'label': Int64 in" in refusal(tmp_path)


def test_ids_that_do_not_match_are_refused_with_examples() -> None:
    table = {**TABLE, "id": [f"p{i}" for i in range(8)]}
    metadata = {"id": [f"P{i}" for i in range(8)], "site": [*"xxxxyyyy"]}

    message = refusal(table, metadata=metadata, on="id", attributes="site")

    assert "no id of the predictions is in the metadata" in message
    assert "'p0'" in message
    assert "'P0'" in message


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("nr", "no column 'nr' in the predictions to join on"),
        (("id", "nr"), "no column 'nr' in the metadata to join on"),
        (("id", "id", "id"), "on has 3 names"),
        ("", "no column ''"),
        (7, "on=7 is neither the name of a column nor a pair"),
        (["id", 3], "no column 3"),
    ],
)
def test_a_join_column_that_does_not_exist_is_refused(on: Any, expected: str) -> None:
    table, metadata = {**TABLE, "id": list(range(8))}, {"id": list(range(8)), "site": [*"xxxxyyyy"]}

    assert expected in refusal(table, metadata=metadata, on=on)


def test_a_join_column_without_metadata_is_refused() -> None:
    assert "joins the table with metadata=, which is not given" in refusal(TABLE, on="id")


@pytest.mark.parametrize("source", [None, 7, "", " ", b"x.csv", object(), [1, 2], {1, 2}, TABLE["label"], np.eye(2)])
def test_what_is_no_table_is_refused(source: Any) -> None:
    assert refusal(source)


# --- group names and many groups

NAMES = ['say "hi"', "O'Brien", "line\nbreak", "tab\tbed", "🩻 漢字", "\0", "a,b;c", "", " ", "NULL", "\\", "x" * 5000]


def test_group_names_of_every_kind_are_kept_through_files_and_output(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"label": [0, 1] * len(NAMES), "prob": [0.1, 0.9] * len(NAMES), "site": [n for n in NAMES for _ in range(2)]}
    )
    frame.write_parquet(tmp_path / "p.parquet")
    text = frame.filter(~pl.col("site").is_in(["", "\0"]))
    text.write_csv(tmp_path / "p.csv", quote_style="always")

    report = fmfair.evaluate(tmp_path / "p.parquet")
    from_csv = fmfair.evaluate(tmp_path / "p.csv")

    assert by_group(report, "auc") == dict.fromkeys(sorted(NAMES), 1.0)
    # An empty name is a missing value in CSV, and a null byte is no text.
    assert by_group(from_csv, "auc") == dict.fromkeys(text["site"].unique().sort(), 1.0)
    report.write_parquet(tmp_path / "out")
    assert fmfair.Report.read_parquet(tmp_path / "out").groups.equals(report.groups)
    assert repr(report)
    assert report._repr_html_()


def test_ten_thousand_groups() -> None:
    frame = pl.DataFrame(
        {"label": [0, 1] * 10_000, "prob": [0.1, 0.9] * 10_000, "site": [f"s{i // 2:05}" for i in range(20_000)]}
    )

    report = fmfair.evaluate(frame, metrics=["auc", "accuracy", "ece"])

    assert summary(report, "n_groups") == 10_000
    assert gap(report, "auc") == 0.0
    assert by_group(report, "auc", "n")["s09999"] == 2
    assert len(repr(report)) < 100_000


def test_ten_thousand_by_keys() -> None:
    frame = pl.DataFrame(
        {
            "label": [0, 1] * 10_000,
            "prob": [0.1, 0.9] * 10_000,
            "sex": [*"FF"] * 10_000,
            "model": [i // 2 for i in range(20_000)],
        }
    )

    report = fmfair.evaluate(frame, metrics=["auc"])

    assert report.summary.height == 10_000
    assert report.overall["value"].unique().to_list() == [1.0]


# --- output


def test_a_refusal_leaves_no_file_behind(tmp_path: Path) -> None:
    report = fmfair.evaluate(TABLE)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))

    writers: list[Callable[[], object]] = [
        lambda: report.to_json(tmp_path / "file" / "report.json"),
        lambda: report.to_json(tmp_path / "folder"),
        lambda: report.write_csv(tmp_path / "folder"),
        lambda: report.write_csv(tmp_path / "x.csv", which="nope"),
        lambda: report.write_parquet(tmp_path / "folder"),
        lambda: report.write_parquet(tmp_path / "file"),
    ]
    for write in writers:
        with pytest.raises(FmfairError):
            write()

    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "mine"
