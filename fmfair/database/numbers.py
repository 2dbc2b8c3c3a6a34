"""Numbers of the source in DOUBLE, and the arithmetic that makes scores of them: the SQL twin of `fmfair.scores`.

The texts here are made of names and numbers of our own only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fmfair.database.connection import Database
from fmfair.metrics.bins import LARGEST_LOSS, LOG_FLOOR
from fmfair.scores import ScoreScale, as_float

# What DuckDB and Polars both read as a number; DuckDB would take `1_000` and ` 1` too.
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"


@dataclass(frozen=True)
class Scored:
    """The expressions behind a sample's columns, over the columns `s0`, `s1`, ... and `given_logit`."""

    score: str
    prob: str
    logit: str
    loss: str


def as_double(
    database: Database, column: str, dtype: pl.DataType, name: str, argument: str, missing: Sequence[str]
) -> str:
    """The expression that reads a column of the source as DOUBLE, NULL where missing.

    Raises:
        FmfairError: The column is not numeric, in the words of `fmfair.scores.as_float`.
    """
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return f"CAST(source.{column} AS DOUBLE)"
    text = f"CAST(source.{column} AS VARCHAR)"
    # A few values stand for all: those that are not plainly numbers, which the check of whole columns judges.
    few = _first_values(database, column, f"NOT regexp_full_match({text}, '{_NUMBER}')", 1000)
    as_float((few if len(few) else _first_values(database, column, "true", 1)).cast(dtype), name, argument, missing)
    is_missing = f"list_contains(getvariable('missing_values'), {text})"
    return f"CASE WHEN {is_missing} THEN NULL ELSE TRY_CAST({text} AS DOUBLE) END"


def _first_values(database: Database, column: str, condition: str, limit: int) -> pl.Series:
    """The distinct values that meet a condition, in the order in which they occur."""
    return database.fetch(
        f"SELECT {column} AS value FROM (SELECT {column}, row_number() OVER () AS row FROM source) AS source "
        f"WHERE {column} IS NOT NULL AND {condition} GROUP BY ALL ORDER BY min(row) LIMIT {limit}"
    )["value"]


def scored(columns: Sequence[str], position: int, scale: ScoreScale | None, *, by_probability: bool) -> Scored:
    """The expressions of a sample's score.

    Args:
        columns: The columns at hand, of `s0`, `s1`, ... and `given_logit`.
        position: Which of several is the positive class's.
        scale: How the scores are read; None where there are decisions only.
        by_probability: Whether probabilities are ranked, not logits.
    """
    nothing = "CAST(NULL AS DOUBLE)"
    if scale is None:
        return Scored(nothing, nothing, nothing, nothing)
    scores = [c for c in columns if c != "given_logit"]
    if len(scores) > 1:
        score, prob = _of_classes(scores, position, scale, by_probability)
    else:
        score, prob = _of_one(columns[0], scale, by_probability)
    exact = scale.has_logit and not by_probability
    loss = _logit_loss(score) if exact else _loss(prob)
    given = "given_logit" if "given_logit" in columns else nothing
    return Scored(score, prob, score if exact else given, loss if scale.is_probability else nothing)


def _of_one(column: str, scale: ScoreScale, by_probability: bool) -> tuple[str, str]:
    if scale.kind != "logit":
        return ("given_logit" if scale.has_logit and not by_probability else column), column
    if by_probability:
        prob = f"1.0 / (1.0 + exp(-{column}))"
        return prob, prob
    return column, sigmoid(column)


def _of_classes(columns: Sequence[str], position: int, scale: ScoreScale, by_probability: bool) -> tuple[str, str]:
    chosen = columns[position]
    if scale.kind == "probability":
        return ("given_logit" if scale.has_logit and not by_probability else chosen), chosen
    if by_probability:
        largest = f"greatest({', '.join(columns)})"
        raised = [f"exp({c} - {largest})" for c in columns]
        prob = f"{raised[position]} / ({' + '.join(raised)})"
        return prob, prob
    others = [c for i, c in enumerate(columns) if i != position]
    largest = f"greatest({', '.join(others)})"
    total = " + ".join(f"exp({c} - {largest})" for c in others)
    log_odds = f"({chosen} - {largest} - ln({total}))"
    return log_odds, sigmoid(log_odds)


def sigmoid(logit: str) -> str:
    """1 / (1 + exp(-x)) without overflow."""
    decay = f"exp(-abs({logit}))"
    return f"CASE WHEN {logit} >= 0 THEN 1.0 / (1.0 + {decay}) ELSE {decay} / (1.0 + {decay}) END"


def _loss(prob: str) -> str:
    """Cross-entropy from a probability, each log term clamped."""
    called = f"CASE WHEN y = 1 THEN {prob} ELSE 1.0 - ({prob}) END"
    return f"0.0 - least(greatest(ln({called}), {LOG_FLOOR}), 0.0)"


def _logit_loss(logit: str) -> str:
    """Cross-entropy from a logit."""
    loss = f"greatest({logit}, 0.0) - ({logit}) * y + ln(1.0 + exp(-abs({logit})))"
    return f"least({loss}, {LARGEST_LOSS!r})"
