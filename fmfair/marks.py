"""Marks: how imprecise a value is, by the count of samples that carries it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfair.metrics.metric import Metric

# Below these counts of what carries a value it is marked; what is called `counts only` is shown as counts in print.
MARKS: Mapping[int, str] = {10: "counts only", 20: "very imprecise", 100: "imprecise"}
# A range of the ROC curve in which fewer rows lie moves in steps too coarse to be read.
COARSE = 10


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


def with_coarse(
    notes: NDArray[np.object_], metric: Metric, n: NDArray[np.float64], n_pos: NDArray[np.float64]
) -> NDArray[np.object_]:
    """Notes on values that say too where few rows lie in the range of the ROC curve that a metric is of.

    Args:
        notes: One per value, empty where there is none; NaN counts leave it as it is.
        metric: The metric; only `partial_auc` and `tpr_at_fpr` have a range.
        n: The rows behind each value.
        n_pos: The positives among them.
    """
    given = metric.parameters
    if given.kind not in ("partial_auc", "tpr_at_fpr") or given.high is None:
        return notes
    of, rows = ("positives", n_pos) if given.over == "tpr" else ("negatives", n - n_pos)
    # A product such as (0.3 - 0.2) * 100 is 10.
    inside = np.round(rows * (given.high - (given.low or 0.0)), 9)
    said = f"fewer than {COARSE} {of} in its range, where it moves in coarse steps"
    return np.where(inside < COARSE, np.where(notes == "", said, notes + "; " + said), notes).astype(object)
