"""What the command line reads and writes: tables of every format, and files that appear whole or not at all."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import ROOT, TABLE, refused, scored, strict_json, written


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path)


# --- output that must not be left behind or overwritten


def test_an_output_below_a_file_is_refused_and_nothing_is_written(table: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())

    for name in ("report.json", "groups.csv", "results"):
        assert "cannot write" in refused(table, "--sensitive", "sex", "--output", table / name)

    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_with_other_files_is_not_replaced(table: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")

    message = refused(table, "--sensitive", "sex", "--output", tmp_path / "mine")

    assert "thesis.txt" in message
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "table.csv"]


def test_the_input_is_not_overwritten(table: Path, tmp_path: Path) -> None:
    before = table.read_bytes()
    people = written(tmp_path, TABLE.select("id", "sex"), "people.csv")

    assert "would replace the table" in refused(table, "--output", table)
    assert "would replace the table" in refused(table, "--metadata", people, "--output", people)
    assert table.read_bytes() == before


def test_an_ending_that_is_no_format_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    assert "cannot tell the format by '.txt'" in refused("absent.csv", "--output", tmp_path / "report.txt")


def test_one_parquet_file_is_refused_before_anything_is_read_and_a_folder_is_shown(tmp_path: Path) -> None:
    message = refused("absent.csv", "--output", tmp_path / "results.parquet")

    assert message == (
        f"--output {tmp_path}/results.parquet: a report is several tables, and a Parquet file holds one; name a folder "
        f"such as {tmp_path}/results/, where each becomes a Parquet file"
    )
    assert list(tmp_path.iterdir()) == []


def test_bad_input_leaves_no_output(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE.with_columns(score=pl.col("score") * float("inf")))

    refused(path, "--sensitive", "sex", "--output", tmp_path / "report.json")

    assert not (tmp_path / "report.json").exists()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty.csv", b"", "empty"),
        ("header.csv", b"label,score,sex\n", "no rows"),
        ("twice.csv", b"label,score,sex,sex\n1,0.5,F,F\n", "'sex'"),
        ("words.csv", b"label,score,sex\nyes,0.5,F\nno,0.1,M\n", "--positive yes"),
        ("text.csv", b"label,score,sex\n1,high,F\n0,0.1,M\n", "not a number: 'high'"),
        ("infinite.csv", b"label,score,sex\n1,inf,F\n0,0.1,M\n", "1 infinite (row 0)"),
        ("cut.csv.gz", gzip.compress(b"label,score,sex\n1,0.5,F\n" * 99, mtime=0)[:40], "cannot read"),
        ("cut.parquet", b"PAR1", "cannot read"),
        ("table.docx", b"PK", "cannot tell the format"),
    ],
)
def test_a_bad_table_is_one_message_without_a_traceback(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    (tmp_path / name).write_bytes(content)

    message = refused(tmp_path / name, "--sensitive", "sex", "--output", tmp_path / "report.json")

    assert expected in message
    assert "polars" not in message.lower()
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("extension", ["csv", "parquet"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_column_of_some_files_only_is_refused_where_it_is_used(tmp_path: Path, engine: str, extension: str) -> None:
    (runs := tmp_path / "runs").mkdir()
    for name, table in {"a": TABLE, "b": TABLE.drop("site").with_columns(age=pl.lit("old"))}.items():
        (table.write_csv if extension == "csv" else table.write_parquet)(runs / f"{name}.{extension}")

    assert "'site' is missing from 1 of 2, such as" in refused(runs, "--sensitive", "sex", "site", "--engine", engine)
    assert "2 problems" in refused(runs, "--engine", engine)  # both are found by name
    assert scored(runs, "--sensitive", "sex", "--engine", engine).groups()


def test_closed_standard_output_does_not_stop_the_files(table: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m fmfair score {table} --sensitive sex --output {tmp_path}/report.json >&-"

    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert strict_json((tmp_path / "report.json").read_text())["task"] == "classification"


# --- tables of every kind


@pytest.fixture(scope="module")
def of_csv(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float | None]:
    return scored(written(tmp_path_factory.mktemp("csv")), "--sensitive", "sex").groups()


@pytest.mark.parametrize("name", ["t.csv.gz", "t.xlsx", "t.jsonl", "t.parquet", "t.tsv", "t.feather", "t.json"])
def test_tables_of_every_format_give_the_same_numbers(
    tmp_path: Path, of_csv: dict[str, float | None], name: str
) -> None:
    path = tmp_path / name
    writers: dict[str, Callable[[], object]] = {
        "t.csv.gz": lambda: path.write_bytes(gzip.compress(TABLE.write_csv().encode())),
        "t.xlsx": lambda: TABLE.write_excel(path),
        "t.jsonl": lambda: TABLE.write_ndjson(path),
        "t.parquet": lambda: TABLE.write_parquet(path),
        "t.tsv": lambda: TABLE.write_csv(path, separator="\t"),
        "t.feather": lambda: TABLE.write_ipc(path),
        "t.json": lambda: TABLE.write_json(path),
    }
    writers[name]()

    assert scored(path, "--sensitive", "sex").groups() == of_csv


def test_a_folder_of_partitions_and_a_glob_are_one_table(tmp_path: Path) -> None:
    for model, part in (("a", TABLE[:6]), ("b", TABLE[6:])):
        written(tmp_path, part, f"runs/model={model}/part.csv")

    whole = scored(tmp_path / "runs", "--sensitive", "site")
    matched = scored(tmp_path / "runs" / "*" / "*.csv", "--sensitive", "site")

    assert {row["model"] for row in whole.report["summary"]} == {"a", "b"}
    assert matched.report["groups"] == whole.report["groups"]


def test_masks_lie_relative_to_the_table_not_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "masks").mkdir(parents=True)
    names = [f"masks/{i}.npy" for i in range(4)]
    for i, name in enumerate(names):
        np.save(tmp_path / "data" / name, np.array([[1, 1, 0, 0]]) >= i % 2)
    people = written(tmp_path, pl.DataFrame({"id": range(4), "sex": ["F", "F", "M", "M"]}), "elsewhere/people.csv")
    masks = pl.DataFrame({"id": range(4), "pred_path": names, "gt_path": [names[1]] * 4})
    path = written(tmp_path, masks, "data/masks.csv")
    monkeypatch.chdir(tmp_path)

    relative = scored("data/masks.csv", "--metadata", people, "--on", "id", "--sensitive", "sex")
    folder = scored("data", "--metadata", people, "--on", "id", "--sensitive", "sex")

    assert relative.groups("dice") == {"F": pytest.approx(5 / 6), "M": pytest.approx(5 / 6)}
    assert folder.groups("dice") == relative.groups("dice")
    assert path.exists()
