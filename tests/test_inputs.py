"""Provenance: when a report was made, with what, and from which files."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

import polars as pl
import pytest

import fmfair
from fmfair.cli import main
from fmfair.errors import FmfairError
from fmfair.inputs import MOST, hashed

TABLE = pl.DataFrame({"label": [0, 1, 0, 1], "prob": [0.2, 0.9, 0.4, 0.3], "sex": ["F", "F", "M", "M"]})


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    TABLE.write_csv(tmp_path / "preds.csv")
    return tmp_path / "preds.csv"


def test_files_are_known_by_name_and_hash(csv: Path, tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "preds.parquet")
    for path, engine in (
        (csv, "polars"),
        (tmp_path / "preds.parquet", "polars"),
        (tmp_path / "preds.parquet", "duckdb"),
    ):
        found = fmfair.evaluate(path, engine=engine).metadata["inputs"]
        assert found == [{"table": "frame", "name": path.name, "sha256": digest(path)}]


def test_every_door_says_what_it_read(tmp_path: Path) -> None:
    pl.DataFrame({"dice": [0.5, 0.75, 1.0, 0.25], "sex": ["F", "F", "M", "M"]}).write_csv(tmp_path / "dice.csv")
    fmfair.counts(TABLE, attributes="sex").write_parquet(tmp_path / "all.counts.parquet")

    segmented = fmfair.evaluate_segmentation(tmp_path / "dice.csv", attributes="sex").metadata["inputs"]
    counted = fmfair.evaluate_counts(tmp_path / "all.counts.parquet").metadata["inputs"]

    assert [one["name"] for one in (*segmented, *counted)] == ["dice.csv", "all.counts.parquet"]
    assert counted[0]["table"] == "counts"


def test_rows_in_memory_have_no_file() -> None:
    assert "inputs" not in fmfair.evaluate(TABLE).metadata


def test_folders_are_read_file_by_file_and_very_many_are_told_together(tmp_path: Path) -> None:
    for model in range(2):
        (tmp_path / f"model={model}").mkdir()
        TABLE.write_parquet(tmp_path / f"model={model}" / "part.parquet")
    found = fmfair.evaluate(tmp_path, by="model").metadata["inputs"]
    assert [one["name"] for one in found] == ["model=0/part.parquet", "model=1/part.parquet"]

    for model in range(2, MOST + 1):
        (tmp_path / f"model={model}").mkdir()
        TABLE.write_parquet(tmp_path / f"model={model}" / "part.parquet")
    (together,) = fmfair.evaluate(tmp_path, by="model").metadata["inputs"]
    names = sorted(tmp_path.rglob("*.parquet"))
    lines = "".join(f"{digest(path)}  {path.relative_to(tmp_path)}\n" for path in names)
    assert together == {
        "table": "frame",
        "name": f"{MOST + 1} files",
        "sha256": hashlib.sha256(lines.encode()).hexdigest(),
    }


def test_a_file_that_is_gone_has_no_hash(csv: Path) -> None:
    with hashed(frame=csv) as files:
        pass
    files.facts()
    path = csv.with_name("gone.csv")
    TABLE.write_csv(path)
    gone = hashed(frame=path)
    path.unlink()
    with gone as files:
        assert files.facts() == {}  # nothing is there from the start


def test_what_fails_says_why_and_nothing_of_hashes(tmp_path: Path) -> None:
    with pytest.raises(FmfairError, match="no file or folder"):
        fmfair.evaluate(tmp_path / "nowhere.csv")


def test_the_command_line_remembers_the_command_and_no_folder(csv: Path, tmp_path: Path) -> None:
    people = tmp_path / "the people.csv"
    TABLE.with_columns(image_id=pl.int_range(4)).drop("sex").write_csv(csv)
    TABLE.select("sex", image_id=pl.int_range(4)).write_csv(people)
    out = tmp_path / "results"
    typed = [
        "score",
        str(csv),
        "--metadata",
        str(people),
        "--sensitive",
        "sex",
        "--threshold",
        "0.5",
        "--output",
        str(out),
    ]
    assert main([*typed, "--quiet"]) == 0

    facts = fmfair.Report.read_parquet(out).metadata

    assert facts["command"] == "fmfair score preds.csv --sensitive sex --metadata 'the people.csv' --threshold 0.5"
    assert shlex.split(facts["command"])[2] == csv.name
    assert [(one["table"], one["name"], one["sha256"]) for one in facts["inputs"]] == [
        ("frame", "preds.csv", digest(csv)),
        ("metadata", "the people.csv", digest(people)),
    ]
    assert str(tmp_path) not in (out / "groups.parquet").read_bytes().decode("latin-1")


def test_a_report_knows_when_and_with_what_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1764504000")
    facts = fmfair.evaluate(TABLE).metadata
    assert facts["evaluated"] == "2025-11-30T12:00:00+00:00"
    assert facts["versions"]["polars"] == pl.__version__
    assert "duckdb" in fmfair.evaluate(TABLE, engine="duckdb").metadata["versions"]

    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    now = fmfair.evaluate(TABLE).metadata["evaluated"]
    assert pl.Series([now]).str.to_datetime("%Y-%m-%dT%H:%M:%S%z").item().year > 2025  # with a zone


def test_the_document_says_so_too_and_is_the_same_from_stored_results(csv: Path, tmp_path: Path) -> None:
    report = fmfair.evaluate(csv)
    report.write_parquet(tmp_path / "results")
    report.write_html(tmp_path / "now.html")

    fmfair.Report.read_parquet(tmp_path / "results").write_html(tmp_path / "later.html")

    text = (tmp_path / "now.html").read_text(encoding="utf-8")
    assert digest(csv) in text
    assert report.metadata["evaluated"].replace("+", "&#43;") in text or report.metadata["evaluated"] in text
    assert (tmp_path / "later.html").read_bytes() == text.encode()
