"""Tables from the containers of other libraries."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from table_files import read

from fmfair.convert import plain_errors
from fmfair.errors import FmfairError
from fmfair.readers import scan

# The same values and names from every container that has names.
COLUMNS: dict[str, list[Any]] = {
    "y_true": [0, 1, 0, 1],
    "y_score": [0.25, 0.9, 0.4, 0.3],
    "sex": ["F", None, "M", "M"],
    "site": ["x", "x", "y", "y"],
}
EXPECTED = pl.DataFrame(COLUMNS)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


class Capsule:
    """An object that speaks Arrow and nothing else."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return EXPECTED.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "source",
    [
        EXPECTED,
        EXPECTED.lazy(),
        COLUMNS,
        {name: EXPECTED[name] for name in COLUMNS},
        {name: pa.array(values) for name, values in COLUMNS.items()},
        {name: pa.chunked_array([values[:1], values[1:]]) for name, values in COLUMNS.items()},
        {name: pd.Series(values) for name, values in COLUMNS.items()},
        {name: np.array(values, dtype=object) for name, values in COLUMNS.items()},
        {name: tuple(values) for name, values in COLUMNS.items()},
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).convert_dtypes(),
        pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
        pd.DataFrame(COLUMNS).astype(object),
        pd.DataFrame(COLUMNS, index=[4, 3, 2, 1]),
        pa.table(COLUMNS),
        pa.record_batch(COLUMNS),
        pa.table(COLUMNS).to_reader(max_chunksize=2),
        Capsule(),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_container_gives_the_same_table(source: Any) -> None:
    assert read(source).equals(EXPECTED)


def test_a_lazyframe_is_returned_as_it_is() -> None:
    frame = EXPECTED.lazy()
    assert scan(frame) is frame


def test_a_duckdb_relation_can_be_read_again(connection: duckdb.DuckDBPyConnection) -> None:
    connection.register("t", EXPECTED.to_arrow())
    relation = connection.sql("select * from t")
    assert read(relation).equals(EXPECTED)
    assert read(relation).equals(EXPECTED)


def test_an_older_duckdb_relation_gives_an_arrow_table() -> None:
    relation = SimpleNamespace(fetch_arrow_table=lambda: pa.table(COLUMNS))
    assert read(relation).equals(EXPECTED)


def test_a_duckdb_enum_keeps_its_order_and_unused_levels(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("create type level as enum ('low', 'mid', 'high')")
    connection.execute("create table t (a level); insert into t values ('high'), (null), ('low')")

    found = read(connection.table("t"))["a"]

    assert found.dtype == pl.Enum(["low", "mid", "high"])
    assert found.to_list() == ["high", None, "low"]


def test_a_duckdb_query_that_fails_is_one_clear_error(connection: duckdb.DuckDBPyConnection) -> None:
    failing = connection.sql("select (case when range = 1 then 'x' else '1' end)::int a from range(3)")
    with pytest.raises(FmfairError, match=r"^cannot read the table: Conversion Error: Could not convert string 'x'.*$"):
        read(failing)


def test_a_duckdb_interval_does_not_spoil_the_table(connection: duckdb.DuckDBPyConnection) -> None:
    found = read(connection.sql("select 1 as a, interval 2 day as b union all select 2, null"))
    assert found["a"].to_list() == [1, 2]
    assert found["b"].null_count() == 1


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame([[1, 2, 3]], columns=["grp", "x", "grp"]),
        pa.table([[1], [2], [3]], names=["grp", "x", "grp"]),
        pa.record_batch([pa.array([1])] * 2, names=["grp", "grp"]),
    ],
    ids=lambda source: type(source).__name__,
)
def test_repeated_names_are_an_error_that_names_them(source: Any) -> None:
    with pytest.raises(FmfairError, match=r"^the table has more than one column named 'grp'; rename all but one$"):
        scan(source)


def test_repeated_names_of_a_duckdb_join(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(FmfairError, match=r"^the metadata has more than one column named 'id'; rename all but one$"):
        scan(connection.sql("select 1 as id, 2 as x, 3 as id"), name="the metadata")


def test_names_that_become_equal_as_text_are_repeated() -> None:
    with pytest.raises(FmfairError, match="more than one column named '1'"):
        scan(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(FmfairError, match="more than one column named '1'"):
        scan({1: [1], "1": [2]})


@pytest.mark.parametrize(
    "source",
    [[1, 2], None, 5, b"a.csv", pl.Series([1]), pd.Series([1]), np.zeros((2, 2)), torch.zeros(2), pa.array([1])],
    ids=lambda source: type(source).__name__,
)
def test_what_is_no_table_is_named_with_what_would_be(source: Any) -> None:
    kind = type(source).__name__
    with pytest.raises(FmfairError, match=rf"^the table is a {kind}; expected a Polars or pandas frame, .* glob$"):
        scan(source)


# Arrow


@pytest.mark.parametrize("ordered", [True, False])
def test_arrow_dictionaries_keep_their_order_and_unused_values(*, ordered: bool) -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), ["low", "mid", "high"], ordered=ordered)
    found = read(pa.table({"a": values}))["a"]
    assert found.dtype == pl.Enum(["low", "mid", "high"])
    assert found.to_list() == ["high", None, "low"]


def test_arrow_dictionaries_of_numbers_missing_values_and_several_chunks() -> None:
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([2.0, None])),
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([0.5, 2.0])),
    ]
    found = read(pa.table({"a": pa.chunked_array(chunks)}))["a"]
    assert found.dtype == pl.Enum(["2", "0.5"])
    assert found.to_list() == ["2", None, "0.5", "2"]


def test_an_empty_dictionary_column() -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    found = read(pa.table({"a": pa.chunked_array([], type=kind)}))["a"]
    assert (found.dtype, len(found)) == (pl.Enum([]), 0)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError("first line:\nsecond line"), "cannot do it: first line"),
        (KeyError(), "cannot do it: KeyError"),
        (pl.exceptions.ComputeError("found more fields than"), "cannot do it: a row has more fields than the header"),
        (pl.exceptions.PanicException("index out of bounds"), "cannot do it: index out of bounds"),
        (FmfairError("already clear"), "already clear"),
    ],
)
def test_errors_of_other_libraries_become_one_line(error: BaseException, message: str) -> None:
    with pytest.raises(FmfairError) as caught, plain_errors("do it"):
        raise error
    assert str(caught.value) == message


def test_ctrl_c_is_no_error_of_the_input() -> None:
    with pytest.raises(KeyboardInterrupt), plain_errors("do it"):
        raise KeyboardInterrupt


def test_importing_the_readers_loads_no_optional_library() -> None:
    code = "import sys, fmfair.readers, fmfair.join; print(sorted(set(sys.modules) & {%s}))"
    optional = "'pandas', 'pyarrow', 'duckdb', 'torch', 'fastexcel', 'scipy', 'sklearn'"
    done = subprocess.run([sys.executable, "-c", code % optional], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
