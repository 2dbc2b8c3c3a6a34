"""Calibration metrics as expressions over sums per score bin, and the row values that those sums add up.

The table of bins has, per group and bin: `weight`, `sum_y`, `sum_p`, `sum_bce` and `sum_brier`, each a weighted sum
over its rows. The ten equal bins lie on [0, 1], are closed on the left, and 1.0 belongs to the last; scores are
compared with the float64 edges k/10, so that every engine puts 0.3 and 0.7 into the same bin.
"""

from __future__ import annotations

import polars as pl

WEIGHT, SUM_Y, SUM_P = pl.col("weight"), pl.col("sum_y"), pl.col("sum_p")
LOG_FLOOR = -100.0


def bce_rows(y: pl.Expr, p: pl.Expr) -> pl.Expr:
    """Cross-entropy of each row from a probability, each log term clamped at -100; never -0.0, inf or NaN."""
    log_p = p.log().clip(LOG_FLOOR, 0.0)
    log_not_p = (1.0 - p).log().clip(LOG_FLOOR, 0.0)
    return pl.when(y == 1).then(0.0 - log_p).otherwise(0.0 - log_not_p)


def bce_logit_rows(y: pl.Expr, logit: pl.Expr) -> pl.Expr:
    """Cross-entropy of each row from a logit: max(x, 0) - x y + ln(1 + exp(-|x|)), exact where a sigmoid saturates."""
    return logit.clip(lower_bound=0.0) - logit * y + (-logit.abs()).exp().log1p()


def brier_rows(y: pl.Expr, p: pl.Expr) -> pl.Expr:
    """Squared error of each row."""
    return (p - y) ** 2


def unit_bin(p: pl.Expr, n_bins: int = 10) -> pl.Expr:
    """Number of the equal-width bin on [0, 1], by comparing with the edges k / n_bins."""
    above = [(p >= k / n_bins).cast(pl.UInt32) for k in range(1, n_bins)]
    return pl.sum_horizontal(above) if above else pl.lit(0, pl.UInt32)


def bce() -> pl.Expr:
    """Mean cross-entropy."""
    return pl.col("sum_bce").sum() / WEIGHT.sum()


def brier() -> pl.Expr:
    """Mean squared error of the probability."""
    return pl.col("sum_brier").sum() / WEIGHT.sum()


def observed_expected() -> pl.Expr:
    """Observed positives over expected positives; 1 is calibrated in the large."""
    return SUM_Y.sum() / SUM_P.sum()


def ece(norm: str = "absolute") -> pl.Expr:
    """Weighted mean over bins of |mean score - share of positives|, or of its square, or the root of that."""
    if norm == "absolute":
        return (SUM_Y - SUM_P).abs().sum() / WEIGHT.sum()
    squared = ((SUM_Y - SUM_P) ** 2 / WEIGHT).filter(WEIGHT > 0).sum() / WEIGHT.sum()
    return squared.sqrt() if norm == "rms" else squared
