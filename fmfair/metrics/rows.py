"""Rows of a caller's own table, as the metric functions take them in: what is used, what is left out, what is refused.

Labels, scores and weights are widened to Float64 first, so that a Float32 0.7 lies below 0.7. A row counts when its
label, its score and its weight are all there: NULL and NaN are missing, and a weight of 0 is an absent row. An
expression cannot raise an error that says what is wrong with the values, and a number from wrong values would be
believed. So labels other than 0 and 1, weights that are negative or infinite, and, where a probability is needed,
scores outside [0, 1] make the result of the group NULL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TypeGuard

import polars as pl

from fmfair.errors import FmfairError
from fmfair.metrics.metric import Metric

# A column of the caller's table: its name, or an expression.
Column = str | pl.Expr


@dataclass(frozen=True)
class Rows:
    """The rows of a group that count, and whether their values can be used.

    Attributes:
        y: The label, 0 or 1, Int64.
        score: The score, Float64.
        weight: The weight, Float64; None where every row counts once.
        valid: Whether all values can be used, one Boolean per group.
    """

    y: pl.Expr
    score: pl.Expr
    weight: pl.Expr | None
    valid: pl.Expr

    @property
    def amount(self) -> pl.Expr:
        """What each row adds to a sum of weights."""
        return (self.y >= 0).cast(pl.Float64) if self.weight is None else self.weight

    def value(self, metric: Metric, value: pl.Expr, also: Mapping[str, pl.Expr] | None = None) -> pl.Expr:
        """The value where the metric is defined, else NULL, under the metric's name.

        Args:
            metric: Says what must be positive.
            value: The value, one per group.
            also: What further names in the metric's needs stand for, besides `n`, `n_pos` and `n_neg`.
        """
        counts = {"n": self.y.len(), "n_pos": self.y.sum(), "n_neg": (1 - self.y).sum(), **(also or {})}
        return pl.when(self.valid & metric.defined(counts)).then(value).alias(metric.name)


def rows_of(y_true: Column, y_score: Column, weight: Column | None, *, probability: bool = False) -> Rows:
    """The rows that count.

    Args:
        y_true: Labels: booleans, or the numbers 0 and 1.
        y_score: Scores.
        weight: Weights; None counts every row once.
        probability: Whether the scores must be probabilities.

    Raises:
        FmfairError: An argument is neither a column name nor an expression.
    """
    y, score = widened(y_true, "y_true"), widened(y_score, "y_score")
    used, weighed, valid = used_rows(y.is_not_null() & score.is_not_null(), weight)
    valid = valid & y.filter(used).is_in([0.0, 1.0]).all()
    if probability:
        valid = valid & score.filter(used).is_between(0.0, 1.0).all()
    return Rows((y.filter(used) == 1).cast(pl.Int64), score.filter(used), weighed, valid)


def used_rows(present: pl.Expr, weight: Column | None) -> tuple[pl.Expr, pl.Expr | None, pl.Expr]:
    """Which rows count, their weights, and whether all of these can be used."""
    if weight is None:
        return present, None, pl.lit(True)
    w = widened(weight, "weight")
    used = present & w.is_not_null() & (w != 0)
    weighed = w.filter(used)
    return used, weighed, ((weighed > 0) & weighed.is_finite()).all()


def is_number(value: object) -> TypeGuard[float]:
    """Whether an argument is a real number, NumPy's included; True, False and NaN are none."""
    return not isinstance(value, bool) and isinstance(value, Real) and not math.isnan(value)


def widened(column: Column, argument: str) -> pl.Expr:
    """The column in Float64 with NaN as NULL.

    Raises:
        FmfairError: It is neither a column name nor an expression.
    """
    if isinstance(column, str):
        column = pl.col(column)
    if not isinstance(column, pl.Expr):
        raise FmfairError(
            f"{argument} is a column name or a Polars expression, not {type(column).__name__}; "
            "fmfair.evaluate_arrays takes arrays, lists and series"
        )
    return column.cast(pl.Float64).fill_nan(None)
