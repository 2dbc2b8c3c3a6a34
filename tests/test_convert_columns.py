"""Single columns, and the text that names a category."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from fmfair.convert import column, text_of
from fmfair.errors import FmfairError
from fmfair.readers import scan


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
        (dt.datetime(2020, 1, 2), "2020-01-02T00:00:00"),  # noqa: DTZ001  (tables often hold times without a zone)
    ],
)
def test_the_text_of_a_category(value: object, text: str) -> None:
    assert text_of(value) == text
