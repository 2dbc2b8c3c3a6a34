"""Relations of the user's own DuckDB connection, in both engines."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from engines import both

import fmfair
from fmfair import FmfairError

ARGUMENTS: dict[str, Any] = {"y_true": "y", "y_score": "p", "by": []}


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect()
    opened.execute(
        "CREATE TABLE samples AS SELECT (i * 7 % 3 = 0)::INT AS y, (i * 37 % 100) / 100 AS p, i, "
        "(CASE i % 3 WHEN 0 THEN 'mild' WHEN 1 THEN 'severe' END)::ENUM('severe', 'moderate', 'mild') AS grade "
        "FROM range(60) AS r(i)"
    )
    return opened


# Expressions of the attribute g over the table above.
TYPES = {
    "an ENUM keeps its order and unused levels": "grade",
    "HUGEINT beyond doubles": "(9007199254740993 + i % 2)::HUGEINT * 1000000000000",
    "UHUGEINT": "(i % 2)::UHUGEINT",
    "DECIMAL": "(i % 2)::DECIMAL(20, 3)",
    "a time with a zone": "CASE WHEN i % 2 = 0 THEN '01:02:03+01'::TIMETZ ELSE '03:02:03+05'::TIMETZ END",
    "a date": "DATE '2020-02-29' + (i % 2)::INT",
    "a moment with a zone": "TIMESTAMPTZ '2020-01-01 00:00:00+02' + INTERVAL (i % 2) DAY",
    "seconds": "TIMESTAMP_S '2020-01-01 00:00:00'",
    "UUID": "'12345678-1234-1234-1234-123456789012'::UUID",
    "BOOLEAN": "i % 2 = 0",
    "REAL": "(i % 2)::REAL / 3",
}


@pytest.mark.parametrize("values", TYPES)
def test_attributes_of_the_types_of_duckdb(values: str, connection: duckdb.DuckDBPyConnection) -> None:
    both(connection.sql(f"SELECT y, p, {TYPES[values]} AS g FROM samples"), attributes="g", **ARGUMENTS)


def test_unused_levels_of_an_enum_are_listed(connection: duckdb.DuckDBPyConnection) -> None:
    report = fmfair.evaluate(connection.table("samples"), attributes="grade", engine="duckdb", **ARGUMENTS)

    assert list(dict.fromkeys(report.groups["group"])) == ["severe", "moderate", "mild"]


def test_an_interval_names_groups(connection: duckdb.DuckDBPyConnection) -> None:
    relation = connection.sql("SELECT y, p, INTERVAL (1 + i % 2) DAY AS g FROM samples")
    report = fmfair.evaluate(relation, attributes="g", engine="duckdb", **ARGUMENTS)

    assert set(report.groups["group"]) == {"1 day", "2 days"}


def test_names_that_differ_in_case_only(connection: duckdb.DuckDBPyConnection) -> None:
    relation = connection.sql('SELECT y, p, i % 2 AS g, i % 3 AS "G" FROM samples')
    polars, _ = both(relation, attributes=["G", "g"], **ARGUMENTS)

    assert polars.groups.filter(polars.groups["attribute"] == "G")["group"].n_unique() == 3


def test_a_name_that_occurs_twice_is_refused(connection: duckdb.DuckDBPyConnection) -> None:
    relation = connection.sql("SELECT y, p, i % 2 AS g, i AS g FROM samples")
    said = {refusal(relation, engine) for engine in ("polars", "duckdb")}

    assert said == {"the table has more than one column named 'g'; rename all but one"}


def test_a_relation_that_fails_says_so_in_the_same_words(connection: duckdb.DuckDBPyConnection) -> None:
    relation = connection.sql("SELECT y, p, (CASE WHEN i = 5 THEN 'x' ELSE '1' END)::INT AS g FROM samples")
    said = {refusal(relation, engine) for engine in ("polars", "duckdb")}

    assert said == {"cannot read the table: Conversion Error: Could not convert string 'x' to INT32"}


def refusal(relation: duckdb.DuckDBPyRelation, engine: str) -> str:
    with pytest.raises(FmfairError) as caught:
        fmfair.evaluate(relation, attributes="g", engine=engine, **ARGUMENTS)
    return str(caught.value)


def test_settings_of_the_connection_change_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "SET TimeZone = 'Asia/Tokyo'; SET default_order = 'DESC'; SET default_null_order = 'nulls_first'; "
        "SET preserve_insertion_order = false; SET threads = 1"
    )
    both(connection.table("samples"), attributes="grade", **ARGUMENTS)
