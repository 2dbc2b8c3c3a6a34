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
    number = f"TRY_CAST(CAST(source.{column} AS VARCHAR) AS DOUBLE)"
    # A few values stand for all: those that are no numbers come first, and the check of whole columns judges them.
    few = database.fetch(
        f"SELECT DISTINCT {column} AS value, {number} IS NULL AS odd FROM source WHERE {column} IS NOT NULL "
        "ORDER BY odd DESC, value LIMIT 1000"
    )["value"]
    as_float(few.cast(dtype), name, argument, missing)
    is_missing = f"list_contains(getvariable('missing_values'), CAST(source.{column} AS VARCHAR))"
    return f"CASE WHEN {is_missing} THEN NULL ELSE {number} END"


def scored(count: int, position: int, scale: ScoreScale | None, *, by_probability: bool) -> Scored:
    """The expressions of a sample's score.

    Args:
        count: The number of score columns; 0 with logits alone.
        position: Which of several is the positive class's.
        scale: How the scores are read; None where there are decisions only.
        by_probability: Whether probabilities are ranked, not logits.
    """
    nothing = "CAST(NULL AS DOUBLE)"
    if scale is None:
        return Scored(nothing, nothing, nothing, nothing)
    if count > 1:
        score, prob = _of_classes(count, position, scale, by_probability)
    else:
        score, prob = _of_one("s0" if count else "given_logit", scale, by_probability)
    exact = scale.has_logit and not by_probability
    loss = _logit_loss(score) if exact else _loss(prob)
    return Scored(score, prob, score if exact else nothing, loss if scale.is_probability else nothing)


def _of_one(column: str, scale: ScoreScale, by_probability: bool) -> tuple[str, str]:
    if scale.kind != "logit":
        return ("given_logit" if scale.has_logit and not by_probability else column), column
    if by_probability:
        prob = f"1.0 / (1.0 + exp(-{column}))"
        return prob, prob
    return column, sigmoid(column)


def _of_classes(count: int, position: int, scale: ScoreScale, by_probability: bool) -> tuple[str, str]:
    columns = [f"s{i}" for i in range(count)]
    chosen = columns[position]
    if scale.kind == "probability":
        return chosen, chosen
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
