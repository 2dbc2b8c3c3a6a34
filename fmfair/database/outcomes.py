"""Outcomes of the rows of a database: the SQL twin of `fmfair.outcomes`.

Labels and decisions are judged on their distinct values; what each row has of them is joined by those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from fmfair import labels
from fmfair.database.connection import Database
from fmfair.database.levels import Levels, levels_of
from fmfair.database.numbers import as_double
from fmfair.errors import SHOWN, Problems, rows_at
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.outcomes import check_weights_taken, decisions, label_column, refuse_weights
from fmfair.roles import Columns
from fmfair.samples import check_unit_type, refuse_missing_units
from fmfair.scores import class_position


@dataclass(frozen=True)
class Table:
    """The source and what is asked of it.

    Attributes:
        database: Where the view `source` is.
        schema: The user's columns and their types.
        columns: Which column plays which part.
        names: The column of `source` behind each of the user's.
        options: What the user asked for.
        notes: Says what was left out or assumed.
        whole: The table with all its columns, looked at only to word an error; None for a relation.
    """

    database: Database
    schema: pl.Schema
    columns: Columns
    names: dict[str, str]
    options: Options
    notes: Notes
    whole: pl.LazyFrame | None = None

    def levels(self, table: str, names: Sequence[str]) -> Levels:
        """The distinct combinations of some columns."""
        return levels_of(self.database, table, names, self.names, self.schema)

    def double(self, name: str, argument: str) -> str:
        """A column as DOUBLE."""
        missing = self.options.missing_values if argument != "weight" else ()
        return as_double(self.database, self.names[name], self.schema[name], name, argument, missing)


@dataclass(frozen=True)
class Part:
    """One outcome of every row: its label, and what was scored and decided.

    Attributes:
        argument: What the scores were given as.
        judged: The distinct labels, and decisions where there are any; their tables have the columns `y` and `pred`.
        numbers: The expression of each score (`s0`, `s1`, ... and `given_logit`), in the order of the names.
        names: The user's names of these.
        position: Which score is the positive class's.
    """

    argument: str
    judged: tuple[Levels, ...]
    numbers: dict[str, str]
    names: tuple[str, ...]
    position: int = 0


def read_parts(table: Table) -> list[Part]:
    """The outcomes: one, or one per pair of `labels=`.

    Raises:
        FmfairError: A column cannot be used as what it was named for; all problems of the columns are reported.
    """
    table.database.set({"missing_values": list(table.options.missing_values)})
    return list(_pairs(table)) if table.columns.pairs else [_single(table)]


def _single(table: Table) -> Part:
    columns, options, problems = table.columns, table.options, Problems()
    judged, numbers, names = [], {}, list(columns.y_score)
    truth = table.levels("labels", columns.y_true)
    label, seen, positive = label_column(truth.frame, columns, options, truth.tally)
    asked = options if positive is options.positive else replace(options, positive=positive)
    with problems.collecting():
        y = labels.binary(label, columns.y_true[0], asked, table.notes, tally=truth.tally)
        judged.append(_with(table.database, truth, y.alias("y")))
    for i, name in enumerate(columns.y_score):
        with problems.collecting():
            numbers[f"s{i}"] = table.double(name, "y_score")
    if columns.y_logit is not None:
        with problems.collecting():
            numbers["given_logit"] = table.double(columns.y_logit, "y_logit")
            names.append(columns.y_logit)
    if columns.y_pred is not None:
        with problems.collecting():
            made = table.levels("decisions", [columns.y_pred])
            pred = decisions(made.frame[columns.y_pred], columns.y_pred, asked, made.tally)
            judged.append(_with(table.database, made, pred.alias("pred")))
    position = 0
    if len(columns.y_score) > 1:
        with problems.collecting():
            position = class_position(columns.score_names or columns.y_score, seen, positive, options.classes)
    elif options.classes is not None:
        problems.add(f"classes={list(options.classes)!r} names the columns of y_score, but there is only one")
    problems.raise_if_any()
    return Part("y_score", tuple(judged), numbers, tuple(names), position)


def _pairs(table: Table) -> Iterator[Part]:
    problems, parts = Problems(), []
    for i, (name, (true, score)) in enumerate(table.columns.pairs.items()):
        argument = f"labels[{name!r}]"
        with problems.collecting():
            truth = table.levels(f"labels_{i}", [true])
            y = labels.binary(truth.frame[true], true, table.options, table.notes, argument, truth.tally)
            number = table.double(score, argument)
            judged = _with(table.database, truth, y.alias("y"))
            parts.append(Part(argument, (judged,), {"s0": number}, (score,)))
    problems.raise_if_any()
    yield from parts


def _with(database: Database, levels: Levels, judged: pl.Series) -> Levels:
    """The levels with one more column in the database."""
    database.put("judged", pl.DataFrame([judged]).with_row_index("id"))
    database.run(
        f"CREATE OR REPLACE TEMP TABLE {levels.table} AS "
        f"SELECT * FROM {levels.table} JOIN judged USING (id) ORDER BY id"
    )
    return levels


def check_weights(table: Table, profiles: Levels) -> pl.Series | None:
    """The largest weight of every profile; None without weights.

    Raises:
        FmfairError: A weight is negative, missing or not a number, or they are too large.
    """
    name = table.columns.weight
    if name is None:
        return None
    check_weights_taken(table.options)
    weight = table.double(name, "weight")
    bad = f"NOT coalesce(isfinite({weight}) AND {weight} >= 0, false)"
    found = table.database.fetch(f"SELECT count(*) FILTER ({bad}) AS bad, sum({weight}) AS total FROM source")
    refuse_weights(
        name,
        int(found["bad"][0]),
        lambda: rows_at(first_rows(table.database, "source", bad)),
        found["total"][0] or 0.0,
        table.options,
    )
    largest = table.database.fetch(
        f"SELECT {profiles.table}.id, max({weight}) AS weight FROM source JOIN {profiles.table} "
        f"ON {profiles.matches('source')} GROUP BY ALL ORDER BY id"
    )
    return largest["weight"]


def check_units(table: Table) -> None:
    """Looks at the column of patients, where there is one.

    Raises:
        FmfairError: A patient is missing, or the column has a type that cannot be told apart.
    """
    name = table.columns.cluster
    if name is None:
        return
    dtype, unit = table.schema[name], f"source.{table.names[name]}"
    check_unit_type(dtype, name)
    missing = f"{unit} IS NULL" + (f" OR isnan({unit})" if dtype.is_float() else "")
    count = table.database.fetch(f"SELECT count(*) FILTER ({missing}) FROM source").item()
    refuse_missing_units(name, int(count), lambda: rows_at(first_rows(table.database, "source", missing)))


def first_rows(database: Database, tables: str, condition: str) -> list[int]:
    """The numbers of the first rows that meet a condition, for a message."""
    numbered = tables.replace("source", "(SELECT *, row_number() OVER () - 1 AS row FROM source) AS source", 1)
    found = database.fetch(f"SELECT source.row FROM {numbered} WHERE {condition} ORDER BY source.row LIMIT {SHOWN + 1}")
    return [int(row) for row in found["row"]]
