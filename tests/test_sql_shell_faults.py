"""The SQL files stop in clear words at what they cannot use, and leave no results behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pytest
from duckdb_alone import type_in
from sql_shell import BOTH, ROOT, column, commands, in_process, long, wide

WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a column that is not there": ({}, {"attributes": ["sex", "sext"]}, 'attributes: no column "sext"'),
    "a column named twice": ({}, {"by": ["sex"]}, 'the column "sex" is named twice'),
    "text as labels": ({"label": ["yes"] * 300}, {}, 'y_true: the column "label" has the type VARCHAR'),
    "labels other than 0 and 1": ({"label": column(1, [0, 1, 2])}, {}, "labels are neither 0 nor 1"),
    "no label": ({"label": pl.Series([None] * 300, dtype=pl.Int8)}, {}, "no row is left to evaluate"),
    "missing scores": ({"prob": column(1, [0.5, None])}, {}, "scores are missing or infinite"),
    "infinite scores": ({"prob": column(1, [0.5, float("inf")])}, {}, "scores are missing or infinite"),
    "codes among probabilities": ({"prob": [-1.0, *column(1, [0.5], 299)]}, {}, "1 of 300 scores lie outside"),
    "scores as probabilities": ({"prob": column(1, [0.5, 2])}, {"score_type": "probability"}, "are no probabilities"),
    "a negative weight": ({"w": column(1, [1, -1])}, {"weight": "w"}, "weights are negative"),
    "weights of zero": (
        {"w": [int(s != "F") for s in wide()["sex"]]},
        {"weight": "w"},
        'rows of weight zero only: "F"',
    ),
    "a list as attribute": ({"sex": [["F"]] * 300}, {}, 'the column "sex" has the type VARCHAR[]'),
    "a by-key with a name of ours": (
        {"Value": [1] * 300},
        {"by": ["Value"]},
        "has the name of a column of the results",
    ),
    "numbers as groups": ({"sex": [k / 7 for k in range(300)]}, {}, "looks continuous (300 distinct numbers)"),
    "a column with a name of ours": ({"(FmFair)": [1] * 300}, {}, "no column may be called (fmfair)"),
    "no attribute": ({}, {"attributes": []}, "attributes: name at least one column"),
    "an age": ({"age": column(1, [20, 30])}, {"attributes": ["age"]}, '"age" looks continuous'),
    "names as groups": ({"sex": [f"name {k}" for k in range(300)]}, {}, 'nearly every value of "sex" is different'),
    "repeated samples": ({"id": column(1, [1, 2])}, {"sample_id": "id"}, "ids repeat inside a by-key"),
    "an unknown metric": ({}, {"metrics": ["auc", "auk"]}, 'metrics: "auk" is not known'),
    "a rate beyond 1": ({}, {"metrics": ["tpr_at_fpr(1.5)"]}, "has parameters out of range"),
    "an unknown rule": ({}, {"thresholds": ["best"]}, 'rules: "best" is no best_f1'),
    "an unknown intersection": ({}, {"intersections": [["sex", "age"]]}, "must name different attributes"),
    "intersections of nothing": ({}, {"intersections": 0}, "intersections: 0 is no number"),
    "unknown conventions": ({}, {"conventions": "usual"}, "conventions: standard or fairmedfm"),
    "weights of the package": ({"w": [1] * 300}, {"weight": "w", "conventions": "fairmedfm"}, "weights are not part"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_used_stops_in_clear_words(name: str) -> None:
    columns, arguments, message = WRONG[name]
    with pytest.raises(duckdb.Error, match=re.escape(message)):
        in_process(wide(**columns), {**BOTH, **arguments})


LONG_WRONG: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "no group": (lambda t: t.drop("group"), 'no column "group"'),
    "no sample": (lambda t: t.drop("sample_id"), 'no column "sample_id"'),
    "two groups": (lambda t: pl.concat([t, t[:1]]), "1 samples have more than one group of an attribute"),
    "two labels": (lambda t: t.with_columns(prob=t["prob"] + 1e-9 * (t["attribute"] == "sex")), "ids repeat"),
    "no attribute": (lambda t: t.with_columns(attribute=pl.lit(None, pl.String)), "names no attribute"),
    "a name twice": (lambda t: t.with_columns(attribute=pl.lit("prob"))[:300], "the name of another column"),
    "names that differ by case": (lambda t: t.with_columns(attribute=t["attribute"].replace("site", "Sex")), "by case"),
}


@pytest.mark.parametrize("name", LONG_WRONG)
def test_a_long_table_that_cannot_be_used_stops_in_clear_words(name: str) -> None:
    change, message = LONG_WRONG[name]
    with pytest.raises(duckdb.Error, match=message):
        in_process(change(long(wide(), ["sex", "site"])), {})


def test_a_second_evaluation_leaves_nothing_of_the_first() -> None:
    with duckdb.connect() as connection:
        connection.register("first", wide().to_arrow())
        type_in(connection, commands("first", BOTH), ROOT)
        with pytest.raises(duckdb.Error, match="no column"):
            type_in(connection, commands("first", {"attributes": ["nothing"]}), ROOT)
        with pytest.raises(duckdb.CatalogException):
            connection.table("gaps")
