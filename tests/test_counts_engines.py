"""Counting: the same table from every kind of input, what is refused, what is said."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from counts_support import COLUMNS, random_frame
from reports import evaluate

import fmfair
from fmfair.counting.keys import Key, packs

HOSTILE = ['"; DROP TABLE x; --', "*", "^.*$", "a b\n'c'", "select", "n" * 10_000]


def same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    loss = np.allclose(one["sum_bce"].to_numpy(), other["sum_bce"].to_numpy(), rtol=1e-12, atol=1e-12)
    return loss and one.drop("sum_bce").equals(other.drop("sum_bce"))


@pytest.mark.parametrize("logit", [False, True])
def test_duckdb_counts_what_polars_counts(logit: bool) -> None:
    frame = random_frame(30, models=8, logit=logit).with_columns(pl.col("tone").cast(pl.String))
    connection = duckdb.connect()
    connection.register("rows", frame.to_arrow())

    found = fmfair.counts(connection.sql("SELECT * FROM rows"), **COLUMNS, intersections=3, score_type="auto")

    assert same(found, fmfair.counts(frame, **COLUMNS, intersections=3))


def test_the_levels_of_a_duckdb_enum_are_declared() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TYPE tones AS ENUM ('light', 'mid', 'dark')")
    rows = connection.sql("SELECT 'dark'::tones AS tone, 1 AS y, 0.5 AS s")

    report = fmfair.evaluate_counts(fmfair.counts(rows, y_true="y", y_score="s", attributes="tone"), metrics="tpr")

    assert report.groups.select("group", "n").rows() == [("light", 0), ("mid", 0), ("dark", 1)]


def test_duckdb_sees_a_nan_that_the_statistics_of_a_file_leave_out(tmp_path: Path) -> None:
    nan, n = float("nan"), 5_000
    scores, ages = [0.25, nan, 0.75, 0.5] * n, [70.0, 10.0, nan, 30.0] * n
    frame = pl.DataFrame({"y": [0, 1, 1, 0] * n, "s": scores, "age": ages, "sex": ["F", "M", "F", "M"] * n})
    pq.write_table(frame.to_arrow(), tmp_path / "rows.parquet")
    columns: dict[str, Any] = {"y_true": "y", "y_score": "s", "attributes": ["sex", "age"], "missing_scores": "drop"}
    notes: list[str] = []

    found = fmfair.counts(duckdb.connect().read_parquet(str(tmp_path / "rows.parquet")), **columns, notes=notes)

    assert same(found, fmfair.counts(frame, **columns))
    assert any("5,000 rows with 5000 missing (NULL or NaN)" in note for note in notes)


def test_files_frames_and_lazy_frames_are_counted_alike(tmp_path: Path) -> None:
    frame = random_frame(31, models=4)
    whole = fmfair.counts(frame, **COLUMNS)
    for i in range(5):
        frame[i::5].write_parquet(tmp_path / f"{i}.parquet")

    assert same(fmfair.counts(tmp_path / "*.parquet", **COLUMNS), whole)
    assert same(fmfair.counts(frame.lazy(), **COLUMNS), whole)
    assert same(fmfair.counts(frame.to_arrow(), **COLUMNS), whole)
    assert same(fmfair.counts(frame.sample(fraction=1.0, shuffle=True, seed=1), **COLUMNS), whole)
    assert fmfair.counts(frame.to_pandas(), **COLUMNS)["n"].sum() == whole["n"].sum()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_hostile_names_pass_unharmed(engine: str) -> None:
    data = {name: ["a", "b", name, None] for name in HOSTILE}
    frame = pl.DataFrame({**data, "\0y": [0, 1, 1, 0], "s'": [0.1, 0.2, 0.3, 0.4]})
    columns: dict[str, Any] = {"y_true": "\0y", "y_score": "s'", "attributes": HOSTILE[1:], "by": HOSTILE[:1]}
    source: Any = frame
    if engine == "duckdb":
        frame = frame.rename({"\0y": "y"})
        columns["y_true"] = "y"
        connection = duckdb.connect()
        connection.register("rows", frame.to_arrow())
        source = connection.table("rows")

    report = fmfair.evaluate_counts(fmfair.counts(source, **columns), metrics="accuracy", ci=None)

    truth = evaluate(frame, **columns, score_type="probability", metrics="accuracy")
    assert report.groups.drop("bound_low", "bound_high").equals(truth.groups)


@pytest.mark.parametrize("dtype", [pl.Boolean, pl.Float32, pl.String, pl.Enum(["0", "1"]), pl.Decimal(5, 1)])
def test_labels_of_every_type(dtype: Any) -> None:
    numbers = pl.Series([0, 1, 1, None])
    values = (numbers.cast(pl.String) if dtype.is_(pl.String) or isinstance(dtype, pl.Enum) else numbers).cast(dtype)
    frame = pl.DataFrame({"y": values, "s": [0.1, 0.6, 0.7, 0.2], "sex": ["F", "M", "F", "M"]})
    options: dict[str, Any] = {"y_true": "y", "y_score": "s", "positive": "1" if dtype == pl.String else None}

    table = fmfair.counts(frame, **options)

    assert table.filter(pl.col("attribute") == "").select(pl.col("n", "n_pos").sum()).row(0) == (3, 2)
    bce = fmfair.evaluate_counts(table, metrics="bce").overall["value"].item()
    assert abs(bce - evaluate(frame, **options, metrics="bce").overall["value"].item()) < 1e-12


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([1e-05, 2.5, 10.0, 1e17], {}),
        ([10, 9, -1, 2], {}),
        ([True, False, None, True], {}),
        (["10", "9", "x", "NA"], {"missing_values": ["NA"]}),
        ([12, 17, 45, 90], {}),
        ([0.5, float("nan"), None, 0.25], {"missing_groups": "keep"}),
    ],
)
def test_groups_have_the_names_and_the_order_of_a_report_from_rows(values: list[Any], options: dict[str, Any]) -> None:
    frame = pl.DataFrame({"y": [0, 1, 1, 0], "s": [0.1, 0.6, 0.7, 0.2], "age": values}, strict=False)
    columns: dict[str, Any] = {"y_true": "y", "y_score": "s", "attributes": "age", **options}

    report = fmfair.evaluate_counts(fmfair.counts(frame, **columns), metrics="accuracy")

    truth = evaluate(frame, **columns, metrics="accuracy")
    assert report.groups["group"].to_list() == truth.groups["group"].to_list()
    assert report.groups["n"].to_list() == truth.groups["n"].to_list()


def test_scores_that_cannot_be_used_are_counted_and_left_out() -> None:
    frame = {"y": [0, 1, 1, 0], "s": [0.1, None, float("inf"), float("nan")], "sex": ["F", "F", "M", "M"]}
    notes: list[str] = []

    with pytest.raises(fmfair.FmfairError, match=r"3 scores that cannot be used: 2 missing .* and 1 infinite"):
        fmfair.counts(frame, y_true="y", y_score="s")
    table = fmfair.counts(frame, y_true="y", y_score="s", missing_scores="drop", notes=notes)

    assert table.filter(pl.col("attribute") == "")["n"].sum() == 1
    assert any("3 rows with 2 missing (NULL or NaN) and 1 infinite in 's' left out" in note for note in notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"conventions": "fairmedfm"}, "conventions='fairmedfm' cannot be counted"),
        ({"score_type": "rank"}, "ranks have no fixed range"),
        ({"grid": 0}, "grid=0 is not a whole number"),
        ({"grid": 10.5}, "grid=10.5 is not a whole number"),
        ({"suppress_below": 1}, "suppress_below=1 is not a whole number of rows, 2 or more"),
        ({"bins": {"age": 4}}, "quantiles differ from one table to the next"),
        ({"bins": {"age": ["x"]}}, "bins for 'age' must be cut points"),
        ({"by": "n"}, "by-key 'n' has the name of a column of the results"),
        ({"y_true": "sex"}, "say which is the positive class with positive="),
        ({"y_true": "none"}, "no column 'none'"),
        ({"y_score": "sex"}, "column 'sex' has the type String, expected numbers"),
        ({"y_score": "age"}, "holds ranks, which have no fixed range"),
        ({"y_score": ["s", "age"]}, "counts take one column"),
        ({"score_type": "probability", "y_score": "age"}, "outside \\[0, 1\\]"),
        ({"missing_labels": "raise"}, "1 missing value \\(rows are not looked up in counts\\)"),
        ({"attributes": ["id"], "bins": {}}, "looks continuous"),
    ],
)
def test_what_cannot_be_counted_is_refused(options: dict[str, Any], message: str) -> None:
    n = 200
    frame = pl.DataFrame(
        {
            "y": [0, 1] * (n // 2 - 1) + [0, None],
            "s": np.linspace(0, 1, n),
            "sex": ["F", "M"] * (n // 2),
            "age": np.linspace(20, 90, n),
            "n": ["x"] * n,
            "id": range(n),
        }
    )
    columns: dict[str, Any] = {"y_true": "y", "y_score": "s", "attributes": ["sex", "age"], "bins": {"age": [40]}}

    with pytest.raises(fmfair.FmfairError, match=message):
        fmfair.counts(frame, **{**columns, **options})


def test_an_attribute_of_many_values_is_refused_before_anything_is_counted_by_it() -> None:
    n = 6_000
    frame = pl.DataFrame({"y": [0, 1] * (n // 2), "s": [0.5] * n, "patient": [f"p{i}" for i in range(n)]})

    with pytest.raises(fmfair.FmfairError, match="nearly every value of 'patient' is different"):
        fmfair.counts(frame, y_true="y", y_score="s", attributes="patient")


def test_empty_tables_and_tables_without_labels_are_refused() -> None:
    schema = {"y": pl.Int64, "s": pl.Float64, "sex": pl.String}

    with pytest.raises(fmfair.FmfairError, match="the table has no rows"):
        fmfair.counts(pl.DataFrame(schema=schema), y_true="y", y_score="s")
    with pytest.raises(fmfair.FmfairError, match="no row is left to evaluate"):
        fmfair.counts(pl.DataFrame({"y": [None], "s": [0.1], "sex": ["F"]}, schema=schema), y_true="y", y_score="s")


def test_the_table_is_small() -> None:
    rng = np.random.default_rng(0)
    n = 200_000
    attributes = {f"a{k}": rng.integers(0, k, n).astype(str) for k in (2, 5, 6, 10)}
    frame = pl.DataFrame({"y": rng.integers(0, 2, n), "s": rng.beta(0.5, 1, n), **attributes})

    table = fmfair.counts(frame, y_true="y", y_score="s", attributes=list(attributes))

    file = io.BytesIO()
    table.write_parquet(file)
    assert table.height <= 24 * 4001
    assert len(file.getvalue()) < 5_000_000


def test_attributes_are_counted_together_while_their_combinations_are_few() -> None:
    keys = [
        Key(name, f"a{i}", pl.String(), size=size)
        for i, (name, size) in enumerate({"a": 2, "b": 5, "c": 5, "d": 10}.items())
    ]

    assert packs(keys, [("a",), ("b",), ("c",), ("d",)]) == [("d",), ("b", "a"), ("c",)]
    assert packs(keys, [("a",), ("b",), ("a", "b"), ("b", "a")]) == [("a", "b")]


def test_pandas_categories_are_levels() -> None:
    sex = pd.Categorical(["F", "M"], categories=["M", "X", "F"])

    table = fmfair.counts(pd.DataFrame({"y": [0, 1], "s": [0.1, 0.9], "sex": sex}), y_true="y", y_score="s")

    assert fmfair.evaluate_counts(table, metrics="accuracy").groups["group"].to_list() == ["M", "X", "F"]
