"""Outcomes of the rows of a database: the SQL twin of `fmfair.outcomes`.

Labels and decisions are judged on their distinct values, scores on a few facts; the rows that can be evaluated become
the table `stored`, and what the metrics need of them the view `samples`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from fmfair import labels
from fmfair.database.connection import Database
from fmfair.database.levels import Levels, levels_of
from fmfair.database.numbers import as_double, scored
from fmfair.errors import SHOWN, FmfairError, Problems, rows_at
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.outcomes import check_weights_taken, decisions, label_column, note_two_valued, refuse_weights
from fmfair.roles import Columns
from fmfair.scores import SUM_TOLERANCE, ScoreFacts, ScoreScale, class_position, leave_out, read_scale


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
        judged: The distinct labels, and decisions where there are any; their tables have the columns `y` and `pred`.
        numbers: The expression of each score (`s0`, `s1`, ... and `given_logit`), in the order of the names.
        names: The user's names of these.
        position: Which score is the positive class's.
    """

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
    return Part(tuple(judged), numbers, tuple(names), position)


def _pairs(table: Table) -> Iterator[Part]:
    problems, parts = Problems(), []
    for i, (name, (true, score)) in enumerate(table.columns.pairs.items()):
        argument = f"labels[{name!r}]"
        with problems.collecting():
            truth = table.levels(f"labels_{i}", [true])
            y = labels.binary(truth.frame[true], true, table.options, table.notes, argument, truth.tally)
            number = table.double(score, argument)
            parts.append(Part((_with(table.database, truth, y.alias("y")),), {"s0": number}, ("labels=",)))
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
    where = partial(_rows, table.database, "source", bad)
    refuse_weights(name, int(found["bad"][0]), where, found["total"][0] or 0.0)
    largest = table.database.fetch(
        f"SELECT {profiles.table}.id, max({weight}) AS weight FROM source JOIN {profiles.table} "
        f"ON {profiles.matches('source')} GROUP BY ALL ORDER BY id"
    )
    return largest["weight"]


def _rows(database: Database, tables: str, condition: str) -> str:
    """Where the rows are that meet a condition, for a message."""
    numbered = tables.replace("source", "(SELECT *, row_number() OVER () - 1 AS row FROM source) AS source", 1)
    found = database.fetch(f"SELECT source.row FROM {numbered} WHERE {condition} ORDER BY source.row LIMIT {SHOWN + 1}")
    return rows_at(found["row"].to_list())


def store(table: Table, parts: Sequence[Part], profiles: Levels) -> None:
    """Make the table `stored` of the rows with a label and a weight.

    Columns `profile` (the profiles of a second pair follow those of the first), `y`, `s0`, ..., `given_logit`, `pred`,
    `weight`.
    """
    weight = table.double(table.columns.weight, "weight") if table.columns.weight else "1.0"
    made = False
    for i, part in enumerate(parts):
        values = [f"{expression} AS {name}" for name, expression in part.numbers.items()]
        pred = [f"CAST({levels.table}.pred AS TINYINT) AS pred" for levels in part.judged[1:]]
        query = (
            f"SELECT CAST({profiles.table}.id + {i * profiles.frame.height} AS INTEGER) AS profile, "
            f"CAST({part.judged[0].table}.y AS TINYINT) AS y, {', '.join([*values, *pred, f'{weight} AS weight'])} "
            f"FROM {_joined(part, profiles)} WHERE {_counted(part, weight)}"
        )
        table.database.run(f"INSERT INTO stored {query}" if made else f"CREATE OR REPLACE TEMP TABLE stored AS {query}")
        made = True


def _joined(part: Part, profiles: Levels) -> str:
    tables = [profiles, *part.judged]
    return " ".join(["source", *(f"JOIN {levels.table} ON {levels.matches('source')}" for levels in tables)])


def _counted(part: Part, weight: str) -> str:
    return f"{part.judged[0].table}.y IS NOT NULL AND {weight} > 0"


def finite_rows(table: Table, parts: Sequence[Part], profiles: Levels) -> None:
    """Leave rows with missing or infinite scores out of `stored`, or refuse them.

    Raises:
        FmfairError: There are such rows and `missing_scores` does not say to leave them out; or no row is left.
    """
    database = table.database
    weight = table.double(table.columns.weight, "weight") if table.columns.weight else "1.0"
    for column, name in zip(parts[0].numbers, parts[0].names, strict=True):
        facts = database.fetch(
            f"SELECT count(*) FILTER (NOT coalesce(isfinite({column}), false)) AS bad, "
            f"count(*) FILTER (coalesce(isinf({column}), false)) AS infinite FROM stored"
        )
        bad, infinite = int(facts["bad"][0]), int(facts["infinite"][0])
        if bad:
            where = partial(_bad_rows, table, parts, profiles, column, weight)
            leave_out(name, bad - infinite, infinite, where, table.options, table.notes)
    for column in parts[0].numbers:
        database.run(f"DELETE FROM stored WHERE NOT coalesce(isfinite({column}), false)")
    if not int(database.fetch("SELECT count(*) FROM stored").item()):
        notes = table.notes
        raise FmfairError("no row is left to evaluate" + (f" ({'; '.join(notes)})" if notes else ""))


def _bad_rows(table: Table, parts: Sequence[Part], profiles: Levels, column: str, weight: str) -> str:
    part = parts[0]
    number = part.numbers[column]
    condition = f"NOT coalesce(isfinite({number}), false) AND {_counted(part, weight)}"
    return _rows(table.database, _joined(part, profiles), condition)


def score_samples(table: Table, part: Part) -> ScoreScale | None:
    """Make the view `samples`, and say how the scores are read; None where there are decisions only.

    Raises:
        FmfairError: The scores do not fit their kind.
    """
    database = table.database
    scale = _scale(table, part)
    by_probability = table.options.conventions.rank_on_probability
    count = len([name for name in part.numbers if name != "given_logit"])
    made = scored(count, part.position, scale, by_probability=by_probability)
    pred = "pred" if len(part.judged) > 1 else "CAST(NULL AS TINYINT)"
    query = (
        f"SELECT profile, y, {made.score} AS score, {made.prob} AS prob, {made.logit} AS logit, {made.loss} AS loss, "
        f"{pred} AS pred, weight FROM stored"
    )
    if made.score == made.prob and made.score in part.numbers:
        database.run(f"CREATE OR REPLACE TEMP VIEW samples AS {query}")
    else:
        # What needs an exponential is computed once.
        database.run(
            f"CREATE OR REPLACE TEMP TABLE computed AS {query}; DROP TABLE stored; "
            "CREATE OR REPLACE TEMP VIEW samples AS FROM computed"
        )
    if scale is not None:
        _note_two_valued(database, table.notes)
    return scale


def _scale(table: Table, part: Part) -> ScoreScale | None:
    scores = [c for c in part.numbers if c != "given_logit"]
    if not part.numbers:
        return None
    if not scores:
        return ScoreScale("logit", has_logit=True)
    facts = [_facts(table.database, column, name) for column, name in zip(scores, part.names, strict=False)]
    total = " + ".join(scores)
    query = f"SELECT coalesce(bool_and(abs({total} - 1.0) <= {SUM_TOLERANCE!r}), true) FROM stored"
    scale = read_scale(facts, lambda: bool(table.database.fetch(query).item()), table.options, table.notes)
    if "given_logit" in part.numbers:
        table.notes.say("y_logit is used for ranking and BCE, y_score for the rest")
        return ScoreScale(scale.kind, has_logit=True)
    return scale


def _facts(database: Database, column: str, name: str) -> ScoreFacts:
    outside = f"{column} < 0.0 OR {column} > 1.0"
    found = database.fetch(
        f"SELECT count(*) AS rows, min({column}) AS low, max({column}) AS high, count(*) FILTER ({outside}) AS outside "
        "FROM stored"
    ).row(0, named=True)

    def examples() -> list[float]:
        few = f"SELECT DISTINCT {column} AS value FROM stored WHERE {outside} ORDER BY value LIMIT 1000"
        return database.fetch(few)["value"].to_list()

    return ScoreFacts(
        name,
        rows=found["rows"],
        low=found["low"],
        high=found["high"],
        outside=found["outside"],
        examples=examples,
        where=lambda: f"the smallest is {found['low']:.6g}, the largest {found['high']:.6g}",
    )


def _note_two_valued(database: Database, notes: Notes) -> None:
    low, high = database.fetch("SELECT min(score), max(score) FROM samples").row(0)
    between = database.fetch("SELECT count(*) FROM (FROM samples WHERE score > $1 AND score < $2 LIMIT 1)", [low, high])
    note_two_valued(2 if low < high and not between.item() else 1 if low == high else 3, notes)
