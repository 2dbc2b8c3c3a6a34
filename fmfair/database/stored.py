"""The rows that can be evaluated, as the table `stored`, and what the metrics need of them, as the view `samples`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from fmfair.database.levels import Levels
from fmfair.database.numbers import scored
from fmfair.database.outcomes import Part, Table, first_rows
from fmfair.errors import SHOWN, FmfairError, rows_at
from fmfair.outcomes import note_two_valued
from fmfair.scores import LABELS, SUM_TOLERANCE, ScoreFacts, ScoreScale, leave_out, read_scale


@dataclass(frozen=True)
class Rows:
    """The rows of the source beside their outcomes.

    Attributes:
        table: The source and what is asked of it.
        parts: The outcomes.
        profiles: The combinations of by-keys and attributes.
    """

    table: Table
    parts: Sequence[Part]
    profiles: Levels

    @cached_property
    def weight(self) -> str:
        """The expression of the weight."""
        name = self.table.columns.weight
        return self.table.double(name, "weight") if name else "1e0"

    @property
    def clustered(self) -> bool:
        """Whether it matters whose rows these are."""
        options = self.table.options
        wanted = options.ci is not None or options.suppress_below is not None
        return self.table.columns.cluster is not None and wanted

    def joined(self, part: Part) -> str:
        """The source with its profiles and what an outcome's labels and decisions are."""
        tables = [self.profiles, *part.judged]
        return " ".join(["source", *(f"JOIN {levels.table} ON {levels.matches('source')}" for levels in tables)])

    def counted(self, part: Part) -> str:
        """The condition that a row has a label and a weight."""
        return f"{part.judged[0].table}.y IS NOT NULL AND {self.weight} > 0"

    def at(self, condition: Callable[[Part], str], parts: Iterable[Part]) -> str:
        """Where the rows are that count and meet a condition, for a message."""
        found: list[int] = []
        for part in parts:
            if len(found) <= SHOWN:
                meets = f"({condition(part)}) AND {self.counted(part)}"
                found += first_rows(self.table.database, self.joined(part), meets)
        return rows_at(found)


def store(rows: Rows) -> None:
    """Make the table `stored` of the rows with a label and a weight.

    Columns `profile` (the profiles of a second pair follow those of the first), `y`, `s0`, ..., `given_logit`,
    `pred`, `weight`, `unit`.
    """
    unit, units = _numbered_units(rows) if rows.clustered else ([], "")
    for i, part in enumerate(rows.parts):
        values = [f"{expression} AS {name}" for name, expression in part.numbers.items()]
        pred = [f"CAST({levels.table}.pred AS TINYINT) AS pred" for levels in part.judged[1:]]
        profile = f"CAST({rows.profiles.table}.id + {i * rows.profiles.frame.height} AS INTEGER) AS profile"
        label = f"CAST({part.judged[0].table}.y AS TINYINT) AS y"
        query = (
            f"SELECT {', '.join([profile, label, *values, *pred, f'{rows.weight} AS weight', *unit])} "
            f"FROM {rows.joined(part)}{units} WHERE {rows.counted(part)}"
        )
        rows.table.database.run(
            f"INSERT INTO stored {query}" if i else f"CREATE OR REPLACE TEMP TABLE stored AS {query}"
        )


def _numbered_units(rows: Rows) -> tuple[list[str], str]:
    """Number the patients; the column of a row's number, and the join that finds it."""
    name = rows.table.names[str(rows.table.columns.cluster)]
    rows.table.database.run(
        "CREATE OR REPLACE TEMP TABLE patients AS SELECT id, CAST(row_number() OVER () - 1 AS INTEGER) AS unit "
        f"FROM (SELECT DISTINCT {name} AS id FROM source)"
    )
    return ["patients.unit"], f" JOIN patients ON patients.id = source.{name}"


def finite_rows(rows: Rows) -> None:
    """Leave rows with missing or infinite scores out of `stored`, or refuse them.

    Raises:
        FmfairError: There are such rows and `missing_scores` does not say to leave them out; or no row is left.
    """
    table, height = rows.table, rows.profiles.frame.height
    for i, part in enumerate(rows.parts):
        for column, name in zip(part.numbers, part.names, strict=True):
            facts = table.database.fetch(
                f"SELECT count(*) FILTER (NOT coalesce(isfinite({column}), false)) AS bad, "
                f"count(*) FILTER (coalesce(isinf({column}), false)) AS infinite "
                f"FROM stored WHERE profile BETWEEN {i * height} AND {(i + 1) * height - 1}"
            )
            bad, infinite = int(facts["bad"][0]), int(facts["infinite"][0])
            if bad:
                where = partial(rows.at, partial(_not_finite, column), [part])
                leave_out(name, bad - infinite, infinite, where, table.options, table.notes, part.argument)
    for column in rows.parts[0].numbers:
        table.database.run(f"DELETE FROM stored WHERE NOT coalesce(isfinite({column}), false)")
    if not int(table.database.fetch("SELECT count(*) FROM stored").item()):
        notes = table.notes
        raise FmfairError("no row is left to evaluate" + (f" ({'; '.join(notes)})" if notes else ""))


def _not_finite(column: str, part: Part) -> str:
    return f"NOT coalesce(isfinite({part.numbers[column]}), false)"


def _outside(column: str, part: Part) -> str:
    """The condition that a score lies outside [0, 1] and the row is evaluated."""
    finite = [f"isfinite({number})" for number in part.numbers.values()]
    number = part.numbers[column]
    return " AND ".join([f"({number} < 0 OR {number} > 1)", *finite])


def score_samples(rows: Rows) -> ScoreScale | None:
    """Make the view `samples`, and say how the scores are read; None where there are decisions only.

    Raises:
        FmfairError: The scores do not fit their kind.
    """
    table, part = rows.table, rows.parts[0]
    database = table.database
    scale = _scale(rows)
    by_probability = table.options.conventions.rank_on_probability
    made = scored(list(part.numbers), part.position, scale, by_probability=by_probability)
    pred = "pred" if len(part.judged) > 1 else "CAST(NULL AS TINYINT)"
    unit = "unit" if rows.clustered else "CAST(NULL AS INTEGER)"
    query = (
        f"SELECT profile, y, {made.score} AS score, {made.prob} AS prob, {made.logit} AS logit, {made.loss} AS loss, "
        f"{pred} AS pred, weight, {unit} AS unit FROM stored"
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
        low, high = database.fetch("SELECT min(score), max(score) FROM samples").row(0)
        between = database.fetch(
            "SELECT count(*) FROM (FROM samples WHERE score > $1 AND score < $2 LIMIT 1)", [low, high]
        )
        note_two_valued(2 if low < high and not between.item() else 1 if low == high else 3, table.notes)
    return scale


def _scale(rows: Rows) -> ScoreScale | None:
    table, part = rows.table, rows.parts[0]
    scores = [c for c in part.numbers if c != "given_logit"]
    if not part.numbers:
        return None
    if not scores:
        return ScoreScale("logit", has_logit=True)
    names = [LABELS] if table.columns.pairs else part.names
    facts = [_facts(rows, column, name) for column, name in zip(scores, names, strict=False)]
    total = " + ".join(scores)
    query = f"SELECT coalesce(bool_and(abs({total} - 1.0) <= {SUM_TOLERANCE!r}), true) FROM stored"
    scale = read_scale(facts, lambda: bool(table.database.fetch(query).item()), table.options, table.notes)
    if "given_logit" in part.numbers:
        table.notes.say("y_logit is used for ranking and BCE, y_score for the rest")
        return ScoreScale(scale.kind, has_logit=True)
    return scale


def _facts(rows: Rows, column: str, name: str) -> ScoreFacts:
    database, outside = rows.table.database, f"{column} < 0.0 OR {column} > 1.0"
    found = database.fetch(
        f"SELECT count(*) AS rows, min({column}) AS low, max({column}) AS high, count(*) FILTER ({outside}) AS outside "
        "FROM stored"
    ).row(0, named=True)

    def examples() -> list[float]:
        few = f"SELECT DISTINCT {column} AS value FROM stored WHERE {outside} ORDER BY value LIMIT 1000"
        return database.fetch(few)["value"].to_list()

    where = partial(rows.at, partial(_outside, column), rows.parts)
    return ScoreFacts(name, found["rows"], found["low"], found["high"], found["outside"], examples, where)
