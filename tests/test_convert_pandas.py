"""pandas frames: indexes, categories, dtypes, columns of objects."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from table_files import read

from fmfair.convert import column
from fmfair.errors import FmfairError
from fmfair.readers import scan

DAY = dt.datetime(2020, 1, 2)  # noqa: DTZ001  (tables often hold times without a zone)


def one(values: Any) -> pl.Series:
    """The column of a pandas frame that holds nothing else."""
    return read(pd.DataFrame({"a": values}))["a"]


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
