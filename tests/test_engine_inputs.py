"""The form of the input changes nothing: files, folders, relations, row order, threads, names, long tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from engines import assert_same_reports, both

import fmfair
from fmfair import FmfairError, Report

ROWS = 3_000
ARGUMENTS: dict[str, Any] = {
    "metrics": "all",
    "thresholds": [0.5, "best_f1", "youden"],
    "intersections": 2,
    "by": ["model"],
    "attributes": ["sex", "site"],
}


def predictions(rows: int = ROWS) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "image": np.arange(rows) // 2,
            "model": pl.Series(["a", "b"])[np.arange(rows) % 2],
            "label": rng.integers(0, 2, rows),
            "prob": rng.random(rows).round(3),
            "sex": pl.Series(["F", "M", None])[rng.integers(0, 3, rows)],
            "site": pl.Series([f"site {k}" for k in range(5)])[rng.integers(0, 5, rows)],
        }
    )


@pytest.fixture(scope="module")
def expected() -> Report:
    return fmfair.evaluate(predictions(), engine="polars", **ARGUMENTS)


def in_files(folder: Path, count: int) -> str:
    size = -(-ROWS // count)
    for i, part in enumerate(predictions().iter_slices(size)):
        part.write_parquet(folder / f"{i:02}.parquet")
    return str(folder / "*.parquet")


def in_hive(folder: Path) -> str:
    for (model,), part in predictions().group_by("model", maintain_order=True):
        (folder / f"model={model}").mkdir()
        part.drop("model").write_parquet(folder / f"model={model}" / "part.parquet")
    return str(folder)


def in_csv(folder: Path) -> str:
    predictions().write_csv(folder / "predictions.csv")
    return str(folder / "predictions.csv")


def in_relation(_: Path) -> Any:
    connection = duckdb.connect()
    connection.register("given", predictions().to_arrow())
    connection.execute("CREATE TABLE predictions AS FROM given")
    return connection.table("predictions")


FORMS: dict[str, Callable[[Path], Any]] = {
    "one file": lambda folder: in_files(folder, 1),
    "fifty files": lambda folder: in_files(folder, 50),
    "a hive folder": in_hive,
    "CSV": in_csv,
    "a relation": in_relation,
    "a lazy frame": lambda _: predictions().lazy(),
    "pandas": lambda _: predictions().to_pandas(),
    "Arrow": lambda _: predictions().to_arrow(),
    "shuffled": lambda _: predictions().sample(fraction=1.0, shuffle=True, seed=1),
}


@pytest.mark.parametrize("form", FORMS)
def test_any_form_of_a_table_gives_the_same_report(form: str, tmp_path: Path, expected: Report) -> None:
    found = fmfair.evaluate(FORMS[form](tmp_path), engine="duckdb", **ARGUMENTS)

    assert found.metadata["engine"] == "duckdb"
    assert_same_reports(found, expected)


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_do_not_change_the_numbers(threads: int, expected: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    from fmfair import in_database
    from fmfair.database import connection

    def with_threads(_: object) -> Any:
        return connection.open_database(threads=threads)

    monkeypatch.setattr(in_database, "open_database", with_threads)
    found = fmfair.evaluate(predictions(), engine="duckdb", **ARGUMENTS)

    assert_same_reports(found, expected)


def test_a_long_table_gives_what_the_wide_one_gives() -> None:
    wide = predictions()
    long = wide.unpivot(on=["sex", "site"], index=["image", "model", "label", "prob"], variable_name="attribute")
    long = long.rename({"value": "group"})
    arguments = {**ARGUMENTS, "attributes": None, "sample_id": "image"}

    polars, _ = both(long, **arguments)

    same = fmfair.evaluate(wide, engine="duckdb", **{**ARGUMENTS, "sample_id": "image"})
    assert polars.groups.equals(fmfair.evaluate(wide, **{**ARGUMENTS, "sample_id": "image"}).groups)
    assert same.groups["group"].equals(polars.groups["group"])


def test_the_users_connection_is_left_as_it_was() -> None:
    connection = duckdb.connect()
    connection.register("given", predictions().to_arrow())
    connection.execute("CREATE TABLE predictions AS FROM given")
    before = (
        connection.execute("SELECT * FROM duckdb_tables()").fetchall(),
        connection.execute("SELECT * FROM duckdb_views() WHERE NOT internal").fetchall(),
    )

    fmfair.evaluate(connection.sql("FROM predictions WHERE prob > 0.1"), engine="duckdb", **ARGUMENTS)

    after = (
        connection.execute("SELECT * FROM duckdb_tables()").fetchall(),
        connection.execute("SELECT * FROM duckdb_views() WHERE NOT internal").fetchall(),
    )
    assert after == before


HOSTILE = [
    '"; DROP TABLE x; --',
    "'; DROP TABLE samples; --",
    "select",
    "group",
    "profile",
    "c0",
    "y\nz",
    "\ttab",
    "*",
    "^.*$",
    "{} %s $1 ?",
    "Zoë 🩻",
    "a" * 10_000,
    " ",
]


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: repr(name[:12]))
def test_names_pass_through_both_engines_unharmed(name: str) -> None:
    frame = pl.DataFrame(
        {
            "y": [0, 1, 0, 1, 1, 0],
            f"{name} score": [0.1, 0.8, 0.3, 0.4, 0.9, 0.6],
            name: [name, "b", name, name, "b", "b"],
            f"{name} model": [name, name, name, "m", "m", "m"],
        }
    )
    arguments: dict[str, Any] = {"y_true": "y", "y_score": f"{name} score", "attributes": name, "metrics": "all"}

    polars, _ = both(frame, by=[f"{name} model"], **arguments)

    assert set(polars.groups["attribute"]) == {name}
    assert set(polars.groups["group"]) == {name, "b"}


def test_columns_that_differ_in_case_only_are_kept_apart(tmp_path: Path) -> None:
    frame = predictions().with_columns(Sex=pl.col("site"))
    frame.write_parquet(tmp_path / "p.parquet")

    both(str(tmp_path / "p.parquet"), **{**ARGUMENTS, "attributes": ["sex", "Sex"]})


def wrong_magic(path: Path) -> None:
    path.write_bytes(b"not a Parquet file, whatever its name says" * 10)


def truncated(path: Path) -> None:
    predictions().write_parquet(path)
    path.write_bytes(path.read_bytes()[:-200])


def a_list_column(path: Path) -> None:
    predictions().with_columns(sex=pl.concat_list("sex", "site")).write_parquet(path)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    ("spoil", "says"), [(wrong_magic, "p.parquet"), (truncated, "p.parquet"), (a_list_column, "sex")]
)
def test_a_hostile_parquet_file_is_one_clear_error(
    spoil: Callable[[Path], None], says: str, engine: str, tmp_path: Path
) -> None:
    spoil(tmp_path / "p.parquet")

    with pytest.raises(FmfairError, match=says) as caught:
        fmfair.evaluate(str(tmp_path / "p.parquet"), engine=engine, **ARGUMENTS)

    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_table_without_rows_says_so(engine: str) -> None:
    with pytest.raises(FmfairError, match="no rows"):
        fmfair.evaluate(predictions().clear(), engine=engine, **ARGUMENTS)
