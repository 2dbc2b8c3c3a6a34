"""Distinct values of columns: a small table in the database, and the same as a frame with a tally of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fmfair.attributes import encode
from fmfair.database.connection import Database
from fmfair.errors import SHOWN, FmfairError, Problems, listing
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.tally import Tally

# More combinations than this are no groups, and would be too many to hold.
MAX_LEVELS = 5_000_000


@dataclass(frozen=True)
class Levels:
    """The distinct combinations of some columns.

    Attributes:
        table: The table in the database: `id`, `v0`, `v1`, ..., `rows`.
        frame: The same, ids as row numbers, under the columns' own names and types.
        tally: The rows behind each.
        columns: The columns of `source` that they come from.
    """

    table: str
    frame: pl.DataFrame
    tally: Tally
    columns: tuple[str, ...]

    def matches(self, source: str) -> str:
        """The condition that a row of the source has these values."""
        same = (f"{source}.{c} IS NOT DISTINCT FROM {self.table}.v{i}" for i, c in enumerate(self.columns))
        return " AND ".join(same) or "true"


def levels_of(
    database: Database, table: str, names: Sequence[str], columns: Mapping[str, str], schema: pl.Schema
) -> Levels:
    """The distinct combinations of columns of the source.

    Args:
        database: Where `source` is.
        table: The name of the table to make.
        names: The user's names of the columns.
        columns: The column of `source` behind each name.
        schema: The user's columns and their types.

    Raises:
        FmfairError: There are more than can be groups.
    """
    chosen = tuple(columns[name] for name in names)
    values = ", ".join(f"{c} AS v{i}" for i, c in enumerate(chosen))
    database.run(
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT row_number() OVER () - 1 AS id, * FROM ("
        f"SELECT {values + ', ' if values else ''}count(*) AS rows FROM source GROUP BY ALL ORDER BY ALL)"
    )
    count = int(database.fetch(f"SELECT count(*) FROM {table}").item())
    if count > MAX_LEVELS:
        raise FmfairError(
            f"{listing(names)} together have {count:,} different values, which are too many to be groups; bin numbers "
            "with bins=, or leave a column out"
        )
    found = database.fetch(f"FROM {table} ORDER BY id")
    frame = pl.DataFrame({name: _typed(found[f"v{i}"], schema[name]) for i, name in enumerate(names)})

    def locate(which: pl.Series) -> list[int]:
        return _first_rows(database, Levels(table, frame, Tally(), chosen), which)

    return Levels(table, frame, Tally(found["rows"], locate), chosen)


def _typed(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The values in the type that the user's column has, so that an Enum keeps its order."""
    return values if values.dtype == dtype else values.cast(dtype)


def _first_rows(database: Database, levels: Levels, which: pl.Series) -> list[int]:
    """The numbers of the first rows with one of the chosen values."""
    database.put("chosen", pl.DataFrame({"id": which.arg_true()}))
    found = database.fetch(
        f"SELECT source.row FROM (SELECT *, row_number() OVER () - 1 AS row FROM source) AS source "
        f"JOIN {levels.table} ON {levels.matches('source')} JOIN chosen ON chosen.id = {levels.table}.id "
        f"ORDER BY source.row LIMIT {SHOWN + 1}"
    )
    return found["row"].to_list()


def check_each(levels: Sequence[Levels], names: Sequence[str], options: Options) -> None:
    """Raises what is wrong with attributes whose values are too many; the first of each is looked at alone."""
    problems = Problems()
    for one, name in zip(levels, names, strict=True):
        with problems.collecting():
            encode(one.frame[name], name, "g0", options, Notes(), one.tally)
    problems.raise_if_any()
