"""Rows of a caller's own table, as the metric functions take them in: what is used, what is left out, what is refused.

Labels, scores and weights are widened to Float64 first, so that a Float32 0.7 lies below 0.7. A row counts when its
label, its score and its weight are all there: NULL and NaN are missing, and a weight of 0 is an absent row. An
expression cannot raise an error that says what is wrong with the values, and a number from wrong values would be
believed. So labels other than 0 and 1, weights that are negative or infinite, and, where a probability is needed,
scores outside [0, 1] make the result of the group NULL.

Polars evaluates an expression wherever it is written, and a metric reads its rows in many places. The elements of
a list are evaluated once. So the rows of a group become one list of structs, and a metric is an expression over its
elements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import TypeGuard

import polars as pl

from fmfair.errors import FmfairError
from fmfair.metrics.metric import Metric

# A column of the caller's table: its name, or an expression.
Column = str | pl.Expr


def element(name: str) -> pl.Expr:
    """A field of the structs in a list, inside `list.eval` and `list.agg`."""
    return pl.element().struct.field(name)


Y, SCORE, WEIGHT = element("y"), element("score"), element("weight")


def rows_of(y_true: Column, y_score: Column, weight: Column | None) -> pl.Expr:
    """The rows of a group as a list of structs `y`, `score` and `weight`.

    Raises:
        FmfairError: An argument is neither a column name nor an expression.
    """
    return listed(weight, y=widened(y_true, "y_true"), score=widened(y_score, "y_score"))


def listed(weight: Column | None, **columns: pl.Expr) -> pl.Expr:
    """The rows of a group where nothing is missing, as a list of structs of the columns and `weight`.

    Without weights each row has the whole number 1, so that sums of weights are counts.
    """
    present = pl.all_horizontal(*(c.is_not_null() for c in columns.values()))
    w = present.cast(pl.Int64)
    if weight is not None:
        w = widened(weight, "weight")
        present = present & w.is_not_null() & (w != 0)
    return structs({**columns, "weight": w}).filter(present).implode()


def structs(fields: Mapping[str, pl.Expr]) -> pl.Expr:
    """A struct with these fields."""
    return pl.struct(value.alias(name) for name, value in fields.items())


def usable(*, probability: bool) -> pl.Expr:
    """Whether labels, weights and scores can be used, in a list of rows."""
    fine = Y.is_in([0.0, 1.0]) & (WEIGHT > 0) & WEIGHT.is_finite()
    return (fine & SCORE.is_between(0.0, 1.0) if probability else fine).all()


def defined(metric: Metric) -> pl.Expr:
    """Whether the metric has a value, in a list of rows."""
    counts = {"n": Y.len(), "n_pos": (Y == 1).sum(), "n_neg": (Y == 0).sum(), "sum_p": (SCORE * WEIGHT).sum()}
    return usable(probability=metric.needs_probability) & metric.defined(counts)


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
