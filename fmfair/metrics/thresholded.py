"""Rates and counts at a threshold from a caller's rows: the confusion counts, then the formula of the registry."""

from __future__ import annotations

import polars as pl

from fmfair.errors import FmfairError
from fmfair.metrics.formula import to_expr
from fmfair.metrics.rates import COUNTS, RATES
from fmfair.metrics.rows import Column, is_number, rows_of

_BY_NAME = {m.name: m for m in (*RATES, *COUNTS)}


def at_threshold(
    name: str, y_true: Column, y_score: Column, *, threshold: float, weight: Column | None, strict: bool
) -> pl.Expr:
    """The rate or count of that name, with the arguments that all of them share."""
    if not is_number(threshold):
        raise FmfairError(
            f"threshold={threshold!r} is not a number; rules such as 'best_f1' choose one in "
            "fmfair.evaluate(..., thresholds=[...])"
        )
    metric, limit = _BY_NAME[name], float(threshold)
    rows = rows_of(y_true, y_score, weight, probability=metric.needs_probability)
    truth = rows.y == 1
    called = rows.score > limit if strict else rows.score >= limit
    cases = {"tp": truth & called, "fp": ~truth & called, "fn": truth & ~called, "tn": ~truth & ~called}
    if rows.weight is None:
        counts = {count: case.sum().cast(pl.Int64) for count, case in cases.items()}
    else:
        counts = {count: rows.weight.filter(case).sum() for count, case in cases.items()}
    given = {
        **counts,
        "n_pred_pos": called.sum().cast(pl.Int64),
        "n_pred_neg": (~called).sum().cast(pl.Int64),
        "threshold": pl.lit(limit),
    }
    return rows.value(metric, counts[name] if name in counts else to_expr(str(metric.formula), given), given)
