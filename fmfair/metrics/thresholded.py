"""Rates and counts at a threshold from a caller's rows: the confusion counts, then the formula of the registry."""

from __future__ import annotations

import polars as pl

from fmfair.errors import FmfairError
from fmfair.metrics.formula import to_expr
from fmfair.metrics.rates import COUNTS, RATES
from fmfair.metrics.rows import WEIGHT, Column, Y, element, is_number, rows_of, structs, usable

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
    score = element("score")
    counts = _counts(Y == 1, score > limit if strict else score >= limit)
    valid = usable(probability=metric.needs_probability)
    counted = rows_of(y_true, y_score, weight).list.eval(structs({"valid": valid, **counts}))
    given = {**{count: element(count).first() for count in counts}, "threshold": pl.lit(limit)}
    value = given[name] if name in given else to_expr(str(metric.formula), given)
    return counted.list.agg(pl.when(element("valid").first() & metric.defined(given)).then(value)).alias(name)


def _counts(truth: pl.Expr, called: pl.Expr) -> dict[str, pl.Expr]:
    """Sums of weights of the four cases, and the numbers of rows that formulas and needs name."""
    cases = {"tp": truth & called, "fp": ~truth & called, "fn": truth & ~called, "tn": ~truth & ~called}
    rows = {"n_pos": truth, "n_neg": ~truth, "n_pred_pos": called, "n_pred_neg": ~called}
    return {
        "n": truth.len().cast(pl.Int64),
        **{name: case.sum().cast(pl.Int64) for name, case in rows.items()},
        **{name: WEIGHT.filter(case).sum() for name, case in cases.items()},
    }
