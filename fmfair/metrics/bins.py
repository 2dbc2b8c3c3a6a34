"""Calibration metrics as expressions over sums per score bin, and the row values that those sums add up.

The table of bins has, per group and bin: `weight`, `sum_y`, `sum_p`, `sum_bce` and `sum_brier`, each a weighted sum
over its rows. The ten equal bins lie on [0, 1], are closed on the left, and 1.0 belongs to the last; scores are
compared with the float64 edges k/10, so that every engine puts 0.3 and 0.7 into the same bin.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

WEIGHT, SUM_Y, SUM_P = pl.col("weight"), pl.col("sum_y"), pl.col("sum_p")
SUM_BCE, SUM_BRIER = pl.col("sum_bce"), pl.col("sum_brier")
LOG_FLOOR = -100.0
# No row loses more than this, so that sums and squares of losses stay finite whatever the logits are.
LARGEST_LOSS = 1e100


def bce_rows(y: pl.Expr, p: pl.Expr) -> pl.Expr:
    """Cross-entropy of each row from a probability, each log term clamped at -100; never -0.0, inf or NaN."""
    likelihood = pl.when(y == 1).then(p).otherwise(1.0 - p)
    return 0.0 - likelihood.log().clip(LOG_FLOOR, 0.0)


def bce_logit_rows(y: pl.Expr, logit: pl.Expr) -> pl.Expr:
    """Cross-entropy of each row from a logit: max(x, 0) - x y + ln(1 + exp(-|x|)), exact where a sigmoid saturates."""
    loss = logit.clip(lower_bound=0.0) - logit * y + (-logit.abs()).exp().log1p()
    return loss.clip(upper_bound=LARGEST_LOSS)


def brier_rows(y: pl.Expr, p: pl.Expr) -> pl.Expr:
    """Squared error of each row."""
    return (p - y) ** 2


def unit_bin(p: pl.Expr, n_bins: int = 10) -> pl.Expr:
    """Number of the equal-width bin on [0, 1], by comparing with the edges k / n_bins."""
    above = [(p >= k / n_bins).cast(pl.UInt32) for k in range(1, n_bins)]
    return pl.sum_horizontal(above) if above else pl.lit(0, pl.UInt32)


def in_unit_bin(p: pl.Expr, k: int, n_bins: int = 10) -> pl.Expr:
    """Whether `unit_bin` is k."""
    edges = ([p >= k / n_bins] if k > 0 else []) + ([p < (k + 1) / n_bins] if k < n_bins - 1 else [])
    return pl.all_horizontal(*edges) if edges else p.is_not_null()


def bce(loss: pl.Expr = SUM_BCE, weight: pl.Expr = WEIGHT) -> pl.Expr:
    """Mean cross-entropy."""
    return loss.sum() / weight.sum()


def brier(loss: pl.Expr = SUM_BRIER, weight: pl.Expr = WEIGHT) -> pl.Expr:
    """Mean squared error of the probability."""
    return loss.sum() / weight.sum()


def observed_expected(observed: pl.Expr = SUM_Y, expected: pl.Expr = SUM_P) -> pl.Expr:
    """Observed positives over expected positives; 1 is calibrated in the large."""
    return observed.sum() / expected.sum()


def ece(norm: str = "absolute") -> pl.Expr:
    """Weighted mean over bins of |mean score - share of positives|, or of its square, or the root of that."""
    return _ece_from(_bin_error(norm, SUM_Y - SUM_P, WEIGHT).sum(), norm, WEIGHT.sum())


def ece_over(bins: Iterable[pl.Expr], norm: str, *, excess: pl.Expr, weight: pl.Expr) -> pl.Expr:
    """The same from the rows (or blocks) of one group.

    Args:
        bins: Whether a row is in the bin, for every bin.
        norm: As for `ece`.
        excess: Weighted label minus weighted score of each row.
        weight: Weight of each row.
    """
    errors = [_bin_error(norm, excess.filter(b).sum(), weight.filter(b).sum()) for b in bins]
    total = pl.concat_list(errors).list.sum()  # sum_horizontal adds in an order that changes from run to run
    return _ece_from(total, norm, weight.sum())


def _bin_error(norm: str, excess: pl.Expr, weight: pl.Expr) -> pl.Expr:
    """What a bin adds: its weight times |d| or d^2, where d = excess / weight."""
    return excess.abs() if norm == "absolute" else pl.when(weight > 0).then(excess**2 / weight).otherwise(0.0)


def _ece_from(error: pl.Expr, norm: str, mass: pl.Expr) -> pl.Expr:
    mean = (error / mass).clip(upper_bound=1.0)  # which rounding may exceed in the last digit
    return mean.sqrt() if norm == "rms" else mean
