"""Tables of predictions, calls of `fmfair.evaluate` as commands of a DuckDB shell, and the results of both compared."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from duckdb_alone import type_in

from fmfair.options import as_number

ROOT = Path(__file__).parent.parent

BOTH = {"attributes": ["sex", "site"]}

# A sum may differ in its last digits.
TOLERANCE = 1e-12
SUMS = ("value", "weight_sum")


def column(seed: int, values: list[Any], rows: int = 300) -> list[Any]:
    """Values chosen at random."""
    return random.Random(seed).choices(values, k=rows)


def wide(**columns: list[Any] | pl.Series) -> pl.DataFrame:
    """Labels, scores with ties, and two attributes with missing values; `columns` are added or take their place."""
    usual = {
        "label": column(1, [0, 1, 1]),
        "prob": column(2, [k / 20 for k in range(21)]),
        "sex": column(3, ["F", "M", "M", None]),
        "site": column(4, ["a", "b", "c", None]),
    }
    return pl.DataFrame({**usual, **columns})


def long(frame: pl.DataFrame, attributes: list[str], dropped: bool = False) -> pl.DataFrame:
    """A row per sample and attribute; rows without a group may be dropped."""
    frame = frame.with_row_index("sample_id")
    index = [c for c in frame.columns if c not in attributes]
    rows = frame.unpivot(attributes, index=index, variable_name="attribute", value_name="group")
    return rows.drop_nulls("group") if dropped else rows


def literal(value: Any) -> str:
    """A value as SQL text."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else repr(value)


def commands(predictions: str, arguments: Mapping[str, Any]) -> str:
    """What a user of the shell types for `evaluate(predictions, **arguments)`; thresholds are numbers, then rules."""
    values = dict(arguments)
    thresholds = values.pop("thresholds", None) or []
    values["thresholds"] = [t for t in map(as_number, thresholds) if t is not None] or None
    values["rules"] = [t for t in thresholds if as_number(t) is None] or None
    long = "attributes" not in values
    values["long_predictions" if long else "predictions"] = predictions
    lines = [f'SET VARIABLE "{name}" = {literal(value)};' for name, value in values.items()]
    return "\n".join([*lines, f".read sql/{'evaluate_long' if long else 'evaluate'}.txt"])


def assert_same_table(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    """The same columns, types, rows and order of rows; numbers may differ by the tolerance."""
    assert found.schema == expected.schema
    sums = [c for c in expected.columns if c in SUMS]
    assert found.drop(sums).rows() == expected.drop(sums).rows()
    for name in sums:
        for row, (a, b) in enumerate(zip(found[name], expected[name], strict=True)):
            close = a == b if a is None or b is None else abs(a - b) <= TOLERANCE * max(1.0, abs(b))
            assert close, f"{name}: {a} is not {b} in {expected.row(row, named=True)}"


def in_process(predictions: pl.DataFrame, arguments: dict[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Groups and gaps by the SQL files, of a table in a connection of this process."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        connection.register("given", predictions.to_arrow())
        # An Enum of Arrow is text in DuckDB.
        enums = {n: t.categories.to_list() for n, t in predictions.schema.items() if isinstance(t, pl.Enum)}
        typed = ", ".join(f"""CAST("{n}" AS ENUM({literal(v)[1:-1]})) AS "{n}\"""" for n, v in enums.items())
        replaced = f"REPLACE ({typed})" if typed else ""
        connection.execute(f'CREATE TABLE "some rows" AS SELECT * {replaced} FROM given')
        type_in(connection, commands("some rows", arguments), ROOT)
        groups, gaps = (pl.from_arrow(connection.table(t).to_arrow_table()) for t in ("groups", "gaps"))
    assert isinstance(groups, pl.DataFrame)
    assert isinstance(gaps, pl.DataFrame)
    return groups, gaps
