"""Where DuckDB runs: its memory and folder, what it leaves behind, and when it is chosen."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fmfair
from fmfair import FmfairError, place
from fmfair.database.connection import interruptible, open_database

ARGUMENTS: dict[str, Any] = {"y_true": "y", "y_score": "p", "attributes": "g", "by": []}


def table(rows: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    groups = pl.Series(["a", "b", "c"])
    return pl.DataFrame({"y": np.arange(rows) % 2, "p": rng.random(rows), "g": groups[rng.integers(0, 3, rows)]})


@pytest.mark.parametrize("limit", ["", "0", "-1", "-1GB", "abc", "200%", "GB", 5, 4e9, True])
def test_a_memory_limit_that_is_none(limit: Any) -> None:
    with pytest.raises(FmfairError, match=r"^memory_limit=.* is not an amount of memory; write for example '4GB'$"):
        fmfair.evaluate(table(), engine="duckdb", memory_limit=limit, **ARGUMENTS)


@pytest.mark.parametrize("limit", ["4GB", "512 MB", "1gib", "50%"])
def test_memory_limits_in_any_spelling(limit: str) -> None:
    fmfair.evaluate(table(), engine="duckdb", memory_limit=limit, **ARGUMENTS)


@pytest.mark.parametrize("folder", ["/dev/null", "/proc/none", 5, b"x"])
def test_a_folder_that_cannot_be_one(folder: Any) -> None:
    with pytest.raises(FmfairError, match=r"^temp_dir="):
        fmfair.evaluate(table(), engine="duckdb", temp_dir=folder, **ARGUMENTS)


@pytest.mark.parametrize("wrong", [{}, {"attributes": "none"}, {"y_score": "g"}, {"thresholds": {"x": 0.5}}], ids=str)
def test_the_folder_is_left_empty(wrong: dict[str, Any], tmp_path: Path) -> None:
    try:
        fmfair.evaluate(table(), engine="duckdb", temp_dir=tmp_path / "new", **{**ARGUMENTS, **wrong})
    except FmfairError:
        assert wrong

    assert not list((tmp_path / "new").iterdir())


def test_ctrl_c_is_python_s_own_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        _interrupted(tmp_path)

    assert not list(tmp_path.iterdir())


def _interrupted(folder: Path) -> None:
    with open_database(temp_dir=folder) as database, interruptible():
        database.run("CREATE TEMP TABLE t AS FROM range(3)")
        raise RuntimeError("Query interrupted")  # as DuckDB words it


def test_another_runtime_error_stays_what_it_is() -> None:
    with pytest.raises(RuntimeError, match="other"), interruptible():
        raise RuntimeError("other")


def test_evaluations_at_once() -> None:
    frames = [table(200 + 20 * k) for k in range(4)]
    expected = [fmfair.evaluate(f, engine="polars", **ARGUMENTS).groups["n"].to_list() for f in frames]
    found: dict[int, list[int]] = {}

    def run(k: int) -> None:
        found[k] = fmfair.evaluate(frames[k], engine="duckdb", **ARGUMENTS).groups["n"].to_list()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [found[k] for k in range(4)] == expected


@pytest.mark.parametrize("name", ["predictions", "pre[d]ictions", "p*", "it's ü"])
def test_auto_takes_duckdb_for_files_beyond_half_of_the_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"{name}.parquet"
    table().write_parquet(path)
    needed = 200 * 3 * place.WIDTH * place.PEAK

    def chosen(frame: Any, memory: int) -> Any:
        monkeypatch.setattr(place, "_memory", lambda: memory)
        return fmfair.evaluate(frame, **ARGUMENTS).metadata["engine"]

    assert chosen(str(path), 2 * needed) == "polars"
    assert chosen(str(path), 2 * needed - 1) == "duckdb"
    assert chosen(table(), 1) == "polars"  # what is in memory fits


def test_the_memory_is_that_of_the_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(place, "_CONTAINER", limit)
    whole = place._memory()
    limit.write_text("1048576\n")
    assert place._memory() == 1 << 20
    limit.write_text("max\n")
    assert place._memory() == whole > 1 << 28


def test_connect_without_a_table_takes_no_arguments() -> None:
    with pytest.raises(FmfairError, match="without a table"):
        fmfair.connect(attributes="g")


def test_connect_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FmfairError, match="no rows"):
        fmfair.connect(table().clear(), temp_dir=tmp_path, **ARGUMENTS)

    assert not list(tmp_path.iterdir())


def test_a_connection_that_nobody_uses_gives_its_memory_back() -> None:
    connection = fmfair.connect(table(), **ARGUMENTS)
    assert connection.execute("SELECT count(*) FROM samples").fetchone() == (200,)
    types = dict(connection.execute("SELECT column_name, column_type FROM (DESCRIBE samples)").fetchall())
    assert types["weight"] == types["score"] == "DOUBLE"
    gone = weakref.ref(connection)
    del connection
    gc.collect()

    assert gone() is None


def test_a_limit_that_only_duckdb_can_keep_chooses_it(tmp_path: Path) -> None:
    frame = pl.DataFrame({"y_true": [0, 1, 0, 1], "y_score": [0.1, 0.9, 0.8, 0.3], "sex": ["F", "F", "M", "M"]})

    assert fmfair.evaluate(frame).metadata["engine"] == "polars"
    assert fmfair.evaluate(frame, memory_limit="1GB").metadata["engine"] == "duckdb"
    assert fmfair.evaluate(frame, temp_dir=tmp_path).metadata["engine"] == "duckdb"


def test_connect_knows_the_arguments_of_evaluate() -> None:
    frame = pl.DataFrame({"y_true": [0, 1, 0, 1], "y_score": [0.1, 0.9, 0.8, 0.3], "sex": ["F", "F", "M", "M"]})

    with pytest.raises(FmfairError, match="no argument 'attribute'; did you mean 'attributes'"):
        fmfair.connect(frame, attribute="sex")
    with pytest.raises(FmfairError, match="engine='polars' has no connection"):
        fmfair.connect(frame, engine="polars")
