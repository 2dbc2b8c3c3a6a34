"""Tests of the difference of two values from their variances: DeLong's, unpaired and paired."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.interval import ZERO_VARIANCE, FloatArray, floats
from fmfair.statistics.quantiles import t_critical, t_two_sided


class UnpairedTest(NamedTuple):
    """The test of two independent values: their difference, its statistic, degrees of freedom and p value."""

    difference: FloatArray
    d: FloatArray
    df: FloatArray
    p: FloatArray


class PairedTest(NamedTuple):
    """The test of two values on the same rows: their difference, its statistic, p value and limits."""

    difference: FloatArray
    z: FloatArray
    p: FloatArray
    low: FloatArray
    high: FloatArray


def delong_unpaired(
    a1: ArrayLike, v1: ArrayLike, n1: ArrayLike, a2: ArrayLike, v2: ArrayLike, n2: ArrayLike
) -> UnpairedTest:
    """Unpaired DeLong, as pROC's `roc.test(paired = FALSE)`: Welch's t on two AUC values, or on any other values.

    Args:
        a1: The first value.
        v1: Its variance.
        n1: Independent units behind it: the rows or clusters of its group.
        a2: The second value.
        v2: Its variance.
        n2: Independent units behind it.

    Returns:
        NaN but for the difference where a variance is undefined, and where both are 0.

    Examples:
        >>> test = delong_unpaired(0.94, 0.0052, 10, 0.916666666667, 0.00925925925926, 10)
        >>> print(f"{test.d:.6f} {test.df:.6f} {test.p:.6f}")
        0.194046 16.684995 0.848483
    """
    first, var1, units1, second, var2, units2 = floats(a1, v1, n1, a2, v2, n2)
    difference = first - second
    with np.errstate(all="ignore"):
        variance = var1 + var2
        known = (var1 >= 0) & (var2 >= 0) & (variance > ZERO_VARIANCE)
        d = np.where(known, difference / np.sqrt(variance), np.nan)
        share = var1 / variance
        df = np.where(known, 1 / (_per_df(share, units1) + _per_df(1 - share, units2)), np.nan)
    return UnpairedTest(difference, d, df, t_two_sided(d, df))


def _per_df(share: FloatArray, units: FloatArray) -> FloatArray:
    return np.where(units > 1, share * share / (units - 1), np.nan)


def delong_paired(
    a1: ArrayLike, a2: ArrayLike, variance: ArrayLike, df: ArrayLike = np.inf, level: float = 0.95
) -> PairedTest:
    """Paired DeLong: two scores on the same rows, or any two values that are correlated.

    Args:
        a1: The first value.
        a2: The second value.
        variance: Of their difference.
        df: Degrees of freedom, clusters less 1; infinite for the normal distribution.
        level: Of the limits, which are not cut at the ends of the range.

    Returns:
        p = 1 and no limits where difference and variance are 0, which from few rows is no certainty; NaN but for the
        difference where the variance is undefined, or 0 with a difference.

    Examples:
        >>> test = delong_paired(0.842222222222, 0.884444444444, 0.003692379)
        >>> print(f"{test.z:.4f} {test.p:.4f} {test.low:.4f} {test.high:.4f}")
        -0.6948 0.4872 -0.1613 0.0769
    """
    first, second, var, free = floats(a1, a2, variance, df)
    difference = first - second
    with np.errstate(all="ignore"):
        same = (np.abs(difference) <= 1e-15 * np.abs(first)) & (np.abs(var) <= ZERO_VARIANCE)
        z = np.where(same, 0.0, np.where(var > ZERO_VARIANCE, difference / np.sqrt(var), np.nan))
        reach = t_critical(level, free) * np.sqrt(np.where(np.isnan(z) | same, np.nan, var))
    p = np.where(same, 1.0, t_two_sided(z, free))
    return PairedTest(difference, z, p, difference - reach, difference + reach)
