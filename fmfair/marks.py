"""Marks: how imprecise a value is, by the count of samples that carries it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from fmfair.metrics.metric import Metric

# Below these counts of what carries a value it is marked; what is called `counts only` is shown as counts in print.
MARKS: Mapping[int, str] = {10: "counts only", 20: "very imprecise", 100: "imprecise"}


def of_both_classes(metric: Metric) -> bool:
    """Whether positives and negatives carry a metric alike: rankings, calibration, and what sets both rates off."""
    of_rates = ("balanced_accuracy", "mcc", "lr_positive", "lr_negative")
    return metric.family in ("ranking", "calibration", "fitted") or metric.name in of_rates


def carrier(metric: Metric) -> pl.Expr:
    """The count that carries a value: a metric of both classes is as uncertain as the rarer of them is rare."""
    n_pos, n_neg = pl.col("n_pos"), pl.col("n") - pl.col("n_pos")
    return pl.min_horizontal(n_pos, n_neg) if of_both_classes(metric) else pl.col("denominator")


def marks(metrics: Sequence[Metric]) -> pl.Expr:
    """How imprecise a value is, by the count that carries it; NULL from 100 on and for counts."""
    carried = pl.lit(None, pl.Int64)
    for position, metric in enumerate(metrics):
        if metric.family != "count":
            carried = pl.when(pl.col("order") == position).then(carrier(metric)).otherwise(carried)
    mark = pl.lit(None, pl.String)
    for most, text in sorted(MARKS.items(), reverse=True):
        mark = pl.when(carried < most).then(pl.lit(text)).otherwise(mark)
    return pl.when(pl.col("value").is_not_null()).then(mark)
