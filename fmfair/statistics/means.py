"""Student's t interval of a mean: Brier score, cross-entropy, Dice; and the degrees of freedom of two estimates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.interval import ZERO_VARIANCE, FloatArray, Interval, floats, where_defined
from fmfair.statistics.quantiles import t_critical


def mean_interval(
    mean: ArrayLike,
    variance: ArrayLike,
    units: ArrayLike,
    level: ArrayLike = 0.95,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Interval:
    """`mean -+ t se` with `units - 1` degrees of freedom, cut to the range that the mean has.

    Args:
        mean: Of any size.
        variance: Of the mean: s² / N, or over clusters.
        units: Rows, or clusters.
        level: Of confidence, from 0 to 1.
        low: The least that the mean can be, if there is such a value.
        high: The most.

    Returns:
        NaN for fewer than 2 units, and where the variance is 0: an interval of no width would be read as certainty.

    Examples:
        >>> below, above = mean_interval(0.1165, 0.00238450617284, 10, low=0.0, high=1.0)
        >>> print(f"{below:.6f} {above:.6f}")
        0.006036 0.226964
    """
    value, v = floats(mean, variance)
    with np.errstate(over="ignore", under="ignore"):
        defined = np.isfinite(value) & np.isfinite(v) & (v > ZERO_VARIANCE * value * value)
    reach = t_critical(level, np.asarray(units, dtype=np.float64) - 1) * np.sqrt(np.where(defined, v, np.nan))
    below, above = value - reach, value + reach
    below = below if low is None else np.maximum(below, low)
    above = above if high is None else np.minimum(above, high)
    return where_defined(defined, below, above)


def welch_df(variance: ArrayLike, units: ArrayLike, other_variance: ArrayLike, other_units: ArrayLike) -> FloatArray:
    """Degrees of freedom of the sum or difference of two independent estimates (Satterthwaite, Welch).

    Args:
        variance: Of the first estimate.
        units: Behind it, 2 or more: rows, or clusters.
        other_variance: Of the second.
        other_units: Behind the second.

    Returns:
        At least `units - 1` of the one with fewer; NaN for fewer than 2 units in either, and where both variances
        are 0.

    Examples:
        >>> print(f"{welch_df(0.0052, 10, 0.00925925925926, 10):.6f}")
        16.684995
    """
    a, n, b, m = floats(variance, units, other_variance, other_units)
    defined = (n >= 2) & (m >= 2) & (a >= 0) & (b >= 0) & (a + b > 0)
    with np.errstate(all="ignore"):
        share = a / (a + b)
        df = 1 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))
    return np.where(defined, df, np.nan)
