"""Ranking metrics from bins: what the order inside the bins, which is not known, can make of them.

Within a bin every order of positives and negatives, and every tie, is possible, except among scores of exactly 1.

- AUC: the pairs of a bin may all be right, all be wrong, or ties; ties, as one half each, are the middle.
- Average precision: the i-th positive of a bin has at least i positives of the bin and at most all its negatives
  ranked as high, and at most all its positives and no negative. With T positives and F negatives above the bin its
  precision lies between (T + i) / (T + i + F + neg) and (T + pos) / (T + pos + F). All positives below all negatives,
  one after another, reach the lower bounds together; all positives tied above all negatives the upper ones.
- Sensitivity at a false positive rate: at least that at the lowest bin edge that has it; at most with the positives of
  the next bin, ranked above its negatives.
"""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import digamma

from fmfair.metrics import blocks
from fmfair.metrics.blocks import ROUNDING
from fmfair.metrics.metric import Metric

Floats: TypeAlias = npt.NDArray[np.float64]

# From here on the series of the harmonic numbers is exact in the last digits.
LARGE = 32.0


def ranked(bins: pl.DataFrame, metrics: tuple[Metric, ...], *, top: int | None) -> pl.DataFrame:
    """Lower and upper bounds of the ranking metrics that bins give.

    Args:
        bins: One row per `cell` and `bin`, both rising: `n`, `n_pos`.
        metrics: What was asked for.
        top: The bin whose scores are all equal; None where there is no such bin.

    Returns:
        Columns `cell`, and `low:` and `high:` with the name of each metric.
    """
    rows = _placed(bins, top)
    wanted: dict[Metric, tuple[pl.Expr, pl.Expr]] = {}
    pos, neg, fixed = pl.col("pos"), pl.col("neg"), pl.col("fixed")
    for metric in metrics:
        if metric.name == "auc":
            middle = blocks.auc(pos, neg)
            apart = (pos * neg * (1.0 - fixed)).sum() / (2 * pos.sum() * neg.sum())
            wanted[metric] = (middle - apart, middle + apart)
        elif metric.name in ("average_precision", "adjusted_auprc"):
            low, high = (pl.col(c).sum() / pos.sum() for c in ("worst", "best"))
            if metric.name == "adjusted_auprc":
                share = (pos.sum() / (pos.sum() + neg.sum())).log()
                low, high = 1.0 - low.log() / share, 1.0 - high.log() / share
            wanted[metric] = (low, high)
        elif isinstance(metric.aggregate, partial) and metric.aggregate.func is blocks.tpr_at_fpr:
            limit = float(metric.aggregate.args[0])
            reached, total = neg.cum_sum(reverse=True), neg.sum()
            before = (reached - neg * (1.0 - fixed)) / total
            tpr = pos.cum_sum(reverse=True) / pos.sum()
            high = tpr.filter(before <= limit + ROUNDING).max().fill_null(0.0)
            wanted[metric] = (metric.aggregate(pos=pos, neg=neg), high)
    sides = []
    for metric, pair in wanted.items():
        low, high = (bound.clip(metric.low, metric.high) for bound in pair)
        sides += [low.alias(f"low:{metric.name}"), pl.max_horizontal(low, high).alias(f"high:{metric.name}")]
    both = (pos.sum() > 0) & (neg.sum() > 0)
    return rows.lazy().group_by("cell", maintain_order=True).agg(pl.when(both).then(s) for s in sides).collect()


def _placed(bins: pl.DataFrame, top: int | None) -> pl.DataFrame:
    """`pos` and `neg` of every bin, whether its scores are all equal, and the sums of its worst and best precisions."""
    pos = pl.col("n_pos").alias("pos")
    rows = bins.select(
        "cell",
        pos.cast(pl.Float64),
        (pl.col("n") - pl.col("n_pos")).cast(pl.Float64).alias("neg"),
        (pl.col("bin") == (-1 if top is None else top)).cast(pl.Float64).alias("fixed"),
    )
    above = [(pl.col(c).cum_sum(reverse=True).over("cell") - pl.col(c)).alias(f"{c}_above") for c in ("pos", "neg")]
    rows = rows.with_columns(above)
    p, q, t, f, fixed = (rows[c].to_numpy() for c in ("pos", "neg", "pos_above", "neg_above", "fixed"))
    tied = _share(p, t + p, f + q)
    known = (fixed == 1.0) | (p == 0) | ((p == 1) & (q == 0))
    worst = np.where(known, tied, worst_precisions(p, t, f + q))
    best = np.where(known, tied, _share(p, t + p, f))
    return rows.with_columns(pl.Series("worst", worst), pl.Series("best", best))


def _share(p: Floats, right: Floats, wrong: Floats) -> Floats:
    """The p-fold precision; 0 where p is."""
    return np.where(p > 0, p * right / np.maximum(right + wrong, 1.0), 0.0)


def worst_precisions(p: Floats, t: Floats, c: Floats) -> Floats:
    """The sum over i = 1 ... p of (t + i) / (t + i + c), as p - c (H(t + c + p) - H(t + c)) with harmonic numbers H."""
    return np.where(p > 0, p - c * _harmonic_difference(t + c, p), 0.0)


def _harmonic_difference(x: Floats, p: Floats) -> Floats:
    """1 / (x + 1) + ... + 1 / (x + p)."""
    y, a, b = x + p, np.maximum(x, LARGE), np.maximum(x, LARGE) + p
    series = np.log1p(p / a)
    for power, factor in ((1, 1 / 2), (2, -1 / 12), (4, 1 / 120), (6, -1 / 252), (8, 1 / 240)):
        series += factor * (b**-power - a**-power)
    exact: Floats = np.where(x >= LARGE, series, digamma(y + 1.0) - digamma(x + 1.0))
    return exact
