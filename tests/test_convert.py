from __future__ import annotations

import datetime as dt
import decimal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from fmfair.convert import column, plain_errors, text_of
from fmfair.errors import FmfairError
from fmfair.readers import scan

# FC-21: the same values and names from every container that has names.
COLUMNS: dict[str, list[Any]] = {
    "y_true": [0, 1, 0, 1],
    "y_score": [0.25, 0.9, 0.4, 0.3],
    "sex": ["F", None, "M", "M"],
    "site": ["x", "x", "y", "y"],
}
DAY = dt.datetime(2020, 1, 2)  # noqa: DTZ001  (tables often hold times without a zone)
EXPECTED = pl.DataFrame(COLUMNS)


def read(source: Any) -> pl.DataFrame:
    return scan(source).collect()


def one(values: Any) -> pl.Series:
    """The column of a pandas frame that holds nothing else."""
    return read(pd.DataFrame({"a": values}))["a"]


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
def test_repeated_names_are_an_error_that_names_them(source: Any) -> None:  # FC-46
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


# pandas


def test_an_unnamed_index_is_left_out_and_a_named_one_is_a_column() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=["p", "q"])
    assert read(frame).columns == ["a"]
    assert read(frame.rename_axis("patient")).to_dict(as_series=False) == {"patient": ["p", "q"], "a": [1, 2]}
    assert read(frame.reset_index(drop=True).rename_axis("row")).columns == ["row", "a"]


def test_the_named_levels_of_an_index_are_columns() -> None:
    index = pd.MultiIndex.from_tuples([("p", 1, "x"), ("q", 2, "y")], names=["patient", None, "site"])
    assert read(pd.DataFrame({"a": [1, 2]}, index=index)).columns == ["patient", "site", "a"]


def test_an_index_kept_as_a_column_too_is_one_column() -> None:
    frame = pd.DataFrame({"id": [3, 1], "a": [1, 2]}).set_index("id", drop=False)
    assert read(frame).to_dict(as_series=False) == {"id": [3, 1], "a": [1, 2]}


def test_an_index_that_contradicts_a_column_is_an_error() -> None:
    frame = pd.DataFrame({"id": [3, 1]}, index=pd.Index([1, 3], name="id"))
    with pytest.raises(FmfairError, match=r"the table \(with its pandas index\) has more than one column named 'id'"):
        scan(frame)


def test_several_levels_of_column_names_are_an_error() -> None:
    frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    with pytest.raises(FmfairError, match="several levels of column names"):
        scan(frame)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    ("values", "categories", "texts"),
    [
        (["low", "high", None], ["low", "mid", "high"], ["low", "mid", "high"]),
        ([2.0, 1.0, None], [2.0, 1.0, 0.5], ["2", "1", "0.5"]),
        ([10, 9, None], [10, 9, 7], ["10", "9", "7"]),
        ([True, False], [True, False], ["True", "False"]),
        ([dt.date(2020, 1, 2)], [dt.date(2020, 1, 2), dt.date(2019, 1, 1)], ["2020-01-02", "2019-01-01"]),
        ([], ["b", "a"], ["b", "a"]),
    ],
)
def test_categories_keep_their_order_and_unused_levels(
    *, values: list[Any], categories: list[Any], texts: list[str], ordered: bool
) -> None:
    found = one(pd.Categorical(values, categories=categories, ordered=ordered))
    assert found.dtype == pl.Enum(texts)
    shown = dict(zip(categories, texts, strict=True))
    assert found.to_list() == [shown.get(value) for value in values]


def test_the_bins_of_pandas_cut_are_categories() -> None:
    found = one(pd.cut(pd.Series([3, 1, 99]), [0, 2, 4, 6]))
    assert found.dtype == pl.Enum(["(0, 2]", "(2, 4]", "(4, 6]"])
    assert found.to_list() == ["(2, 4]", "(0, 2]", None]


def test_categories_that_print_alike_are_an_error() -> None:
    with pytest.raises(FmfairError, match="column 'a' of the table: different categories print alike: 1, '1'"):
        one(pd.Categorical([1, "1"]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", np.nan, None, pd.NA], ["a", None, None, None]),
        (["a", 1, 1.0, 2.5, True], ["a", "1", "1", "2.5", "True"]),
        (["NA", "None", "nan", ""], ["NA", "None", "nan", ""]),
        ([1, None, np.nan], [1, None, None]),
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([np.int64(1), np.float32(0.5)], [1.0, 0.5]),
        ([True, False, None], [True, False, None]),
        ([True, 0, None], [1, 0, None]),
        ([np.bool_(True), None], [True, None]),
        ([np.str_("a"), "b"], ["a", "b"]),
        ([decimal.Decimal("1.5"), decimal.Decimal("NaN")], [1.5, None]),
        ([2**70, 1], [str(2**70), "1"]),
        ([dt.date(2020, 1, 2), None], [dt.date(2020, 1, 2), None]),
        ([pd.Timestamp("2020-01-02"), pd.NaT], [DAY, None]),
        ([uuid.UUID(int=1), None], ["00000000-0000-0000-0000-000000000001", None]),
        ([Path("a.png"), "b.png"], ["a.png", "b.png"]),
        ([[1], [2, 3]], [[1], [2, 3]]),
        ([None, np.nan], [None, None]),
        ([], []),
    ],
)
def test_object_columns_of_any_content(values: list[Any], expected: list[Any]) -> None:
    found = one(pd.Series(values, dtype=object))
    assert found.to_list() == expected
    assert [type(value) for value in found.to_list()] == [type(value) for value in expected]
    assert column(values, "a").to_list() == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.array([1, None], dtype="Int64"), [1, None]),
        (pd.array([200, 1], dtype="UInt8"), [200, 1]),
        (pd.array([1.5, None], dtype="Float32"), [1.5, None]),
        (pd.array([True, None], dtype="boolean"), [True, None]),
        (pd.array(["a", None], dtype="string"), ["a", None]),
        (pd.array([1, None], dtype="int64[pyarrow]"), [1, None]),
        (pd.array(["a", None], dtype="string[pyarrow]"), ["a", None]),
        (pd.array([True, None], dtype="bool[pyarrow]"), [True, None]),
        (np.array([1.5, np.nan]), [1.5, None]),
        (np.array([1.5, 2.5], dtype=np.float16), [1.5, 2.5]),
        (pd.Series(["2020-01-02", None], dtype="datetime64[ns]"), [DAY, None]),
        (pd.arrays.SparseArray([1.0, np.nan]), [1.0, None]),
        (pd.PeriodIndex(["2020-01", None], freq="M"), ["2020-01", None]),
        (pd.arrays.IntervalArray.from_breaks([0, 1, 2]), ["(0, 1]", "(1, 2]"]),
    ],
    ids=str,
)
def test_pandas_dtypes(values: Any, expected: list[Any]) -> None:
    assert one(values).to_list() == expected


def test_an_arrow_backed_categorical_of_pandas() -> None:
    values = pd.Series(pd.Categorical(["b", None], categories=["b", "a"]))
    found = one(values.astype(pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))))
    assert found.dtype == pl.Enum(["b", "a"])
    assert found.to_list() == ["b", None]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1j, 2j], "cannot read column 'a' of the table: "),
        ([object()], "cannot read column 'a' of the table: values of type object are neither numbers nor text"),
        ([[1], 2], "cannot read column 'a' of the table: some values are lists and some are not"),
    ],
)
def test_values_that_are_no_column(values: list[Any], message: str) -> None:
    with pytest.raises(FmfairError, match=f"^{message}"):
        one(values)


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


# dictionaries


def test_columns_of_unequal_length_are_named_with_their_lengths() -> None:
    with pytest.raises(
        FmfairError, match=r"^the columns of the table differ in length: 'a' has 2 rows, 'b' has 1 row$"
    ):
        scan({"a": [1, 2], "b": [1]})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (5, "a list or an array is needed, got a single int"),
        ("text", "a list or an array is needed, got a single str"),
        ({"x": 1}, "a list or an array is needed, got a single dict"),
        (np.zeros((2, 2)), r"one dimension is needed, got the shape \(2, 2\)"),
        (np.float64(1.0), "a list or an array is needed, got a single float64"),
    ],
    ids=str,
)
def test_what_is_no_column_is_named(values: Any, message: str) -> None:
    with pytest.raises(FmfairError, match=f"^cannot read column 'a' of the table: {message}$"):
        scan({"a": values})


def test_pandas_columns_that_would_pair_by_label_are_refused() -> None:
    columns = {"a": pd.Series([1, 2]), "b": pd.Series([1, 2], index=[1, 0])}
    with pytest.raises(FmfairError, match="different indexes; put them into one DataFrame first"):
        scan(columns)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (torch.tensor([0.5, 0.25], dtype=torch.bfloat16, requires_grad=True), [0.5, 0.25]),
        (torch.tensor([1, 0]), [1, 0]),
        (np.ma.array([1, 2], mask=[True, False]), [None, 2]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([True, False]), [True, False]),
        (range(2), [0, 1]),
        (pd.Index([3, 4]), [3, 4]),
        (pd.Categorical(["b", "a"]), ["b", "a"]),
        (pd.array([1, None], dtype="Int64"), [1, None]),
        (pl.Series("other", [1, 2]), [1, 2]),
        (pa.array([1, None]), [1, None]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_columns_of_any_library(values: Any, expected: list[Any]) -> None:
    found = column(values, "a")
    assert (found.name, found.to_list()) == ("a", expected)


def test_a_nan_in_a_float_array_stays_to_be_judged_by_its_role() -> None:
    found = column(np.array([1.0, np.nan]), "a")
    assert found.is_nan().to_list() == [False, True]


# words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.5, "-0.5"),
        (0.1, "0.1"),
        (float("inf"), "inf"),
        (3, "3"),
        (True, "True"),
        ("1.0", "1.0"),
        (DAY, "2020-01-02T00:00:00"),
    ],
)
def test_the_text_of_a_category(value: object, text: str) -> None:
    assert text_of(value) == text


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
