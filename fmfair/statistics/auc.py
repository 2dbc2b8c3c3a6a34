"""Intervals of one area under the ROC curve: DeLong's variance on the logit scale, Newcombe's method 5, Wald."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.interval import (
    ZERO_VARIANCE,
    FloatArray,
    IntArray,
    Interval,
    floats,
    logit_interval,
    where_defined,
)
from fmfair.statistics.means import welch_df
from fmfair.statistics.quantiles import normal_critical, t_critical

SMALL_CLASS = 50  # below it, neither the logit interval nor Newcombe's is safe alone
_BISECTIONS = 60


class AucMethod(IntEnum):
    """Which rule gave an interval of an AUC."""

    UNDEFINED = 0
    LOGIT_T = 1
    UNION = 2  # of LOGIT_T and NEWCOMBE5
    NEWCOMBE5 = 3


class AucInterval(NamedTuple):
    """Limits, NaN in both where there is none, and the `AucMethod` that gave each."""

    low: FloatArray
    high: FloatArray
    method: IntArray


def auc_default(
    auc: ArrayLike,
    pos_variance: ArrayLike,
    neg_variance: ArrayLike,
    m: ArrayLike,
    n: ArrayLike,
    level: ArrayLike = 0.95,
) -> AucInterval:
    """The interval of an AUC of independent rows.

    `auc_logit_t`; united with `auc_newcombe5` (the smaller lower and the larger upper limit) where the smaller class
    has fewer than 50; the latter alone where the variance is 0 or undefined, as for an AUC of 0 or 1 or one positive.

    Args:
        auc: From 0 to 1.
        pos_variance: What the positives add to DeLong's variance, S10 / m.
        neg_variance: What the negatives add, S01 / n.
        m: Number of positives; with weights (sum w)² / sum w².
        n: Number of negatives, likewise.
        level: Of confidence, from 0 to 1.

    Examples:
        >>> low, high, method = auc_default([0.94, 1.0], [0.0016, 0.0], [0.0036, 0.0], 5, 5)
        >>> print(low.round(6), high.round(6), [AucMethod(code).name for code in method])
        [0.4318   0.642703] [0.996913 1.      ] ['UNION', 'NEWCOMBE5']
    """
    logit = auc_logit_t(auc, pos_variance, neg_variance, m, n, level)
    return _united(logit, auc_newcombe5(auc, m, n, level), np.minimum(*floats(m, n)))


def auc_clustered(
    auc: ArrayLike, variance: ArrayLike, pos_units: ArrayLike, neg_units: ArrayLike, level: ArrayLike = 0.95
) -> AucInterval:
    """The interval of an AUC of clustered rows, such as images of patients; otherwise as `auc_default`.

    Student's t has `min(pos_units, neg_units) - 1` degrees of freedom, and patients count where rows did.

    Args:
        auc: From 0 to 1.
        variance: Of the AUC over clusters (Obuchowski 1997).
        pos_units: Clusters with at least one positive.
        neg_units: Clusters with at least one negative.
        level: Of confidence, from 0 to 1.

    Returns:
        NaN also where there are not two clusters with a positive, nor two with a negative.

    Examples:
        >>> low, high, _ = auc_clustered(0.842222222222, 0.00520570344577, 11, 10)
        >>> print(f"{low:.6f} {high:.6f}")
        0.594623 0.948000
    """
    pos, neg = floats(pos_units, neg_units)
    fewer = np.minimum(pos, neg)
    logit = logit_interval(auc, variance, t_critical(level, fewer - 1))
    several = np.maximum(pos, neg) >= 2
    return _united(logit, auc_newcombe5(auc, np.where(several, pos, np.nan), neg, level), fewer)


def _united(logit: Interval, newcombe: Interval, smaller_class: FloatArray) -> AucInterval:
    alone = ~np.isnan(logit.low) & (smaller_class >= SMALL_CLASS)
    low = np.where(alone, logit.low, np.fmin(logit.low, newcombe.low))
    high = np.where(alone, logit.high, np.fmax(logit.high, newcombe.high))
    used = np.where(np.isnan(logit.low), AucMethod.NEWCOMBE5, AucMethod.UNION)
    method = np.where(np.isnan(low), AucMethod.UNDEFINED, np.where(alone, AucMethod.LOGIT_T, used))
    return AucInterval(low, high, method.astype(np.int64))


def auc_logit_t(
    auc: ArrayLike,
    pos_variance: ArrayLike,
    neg_variance: ArrayLike,
    m: ArrayLike,
    n: ArrayLike,
    level: ArrayLike = 0.95,
) -> Interval:
    """DeLong's variance on the logit scale with Student's t and Satterthwaite's degrees of freedom.

    Args:
        auc: From 0 to 1.
        pos_variance: What the positives add to DeLong's variance, S10 / m.
        neg_variance: What the negatives add, S01 / n.
        m: Number of positives.
        n: Number of negatives.
        level: Of confidence, from 0 to 1.

    Returns:
        NaN for an AUC of 0 or 1, a variance of 0, and fewer than 2 positives or negatives.

    Examples:
        >>> low, high = auc_logit_t(0.94, 0.0016, 0.0036, 5, 5)
        >>> print(f"{low:.6f} {high:.6f}")
        0.431800 0.996913
    """
    variance = np.add(*floats(pos_variance, neg_variance))
    return logit_interval(auc, variance, t_critical(level, welch_df(pos_variance, m, neg_variance, n)))


def auc_newcombe5(auc: ArrayLike, m: ArrayLike, n: ArrayLike, level: ArrayLike = 0.95) -> Interval:
    """Newcombe's method 5 (2006, part 2): from the AUC and the class sizes alone, also for an AUC of 0 or 1.

    The values t with `(auc - t)² <= z² v(t)`, where `v` is the variance that Hanley & McNeil's form gives at t with
    `(m + n) / 2` for both classes; their ends by bisection.

    Args:
        auc: From 0 to 1.
        m: Number of positives, 1 or more; with clusters the number that have one, with weights the effective number.
        n: Number of negatives, likewise.
        level: Of confidence, from 0 to 1.

    Examples:
        >>> low, high = auc_newcombe5([1, 0.5], [3, 5], [27, 5])
        >>> print(low.round(6), high.round(6))
        [0.676776 0.205613] [1.       0.794387]
    """
    a, m_, n_, z = floats(auc, m, n, normal_critical(level))
    defined = (a >= 0) & (a <= 1) & (m_ >= 1) & (n_ >= 1) & (np.maximum(m_, n_) < 1e100) & (z >= 0)
    a, m_, n_, z = (np.where(defined, x, 1.0) for x in (a, m_, n_, z))
    low, mirrored = _newcombe_lower(a, m_, n_, z), _newcombe_lower(1 - a, m_, n_, z)
    return where_defined(defined, low, np.maximum(1 - mirrored, a))


def _newcombe_lower(auc: FloatArray, m: FloatArray, n: FloatArray, z: FloatArray) -> FloatArray:
    """The root in [0, auc]; at an AUC of 1 the one below t = 1, which is a root as well and never tried."""
    low, high = np.zeros_like(auc), auc
    scale, half = np.minimum(z, 1e100) ** 2 / (m * n), (m + n) / 2 - 1
    for _ in range(_BISECTIONS):
        t = (low + high) / 2
        variance = scale * t * (1 - t) * (1 + half * ((1 - t) / (2 - t) + t / (1 + t)))
        outside = (auc - t) ** 2 > variance
        low, high = np.where(outside, t, low), np.where(outside, high, t)
    return low


def auc_wald(auc: ArrayLike, variance: ArrayLike, level: ArrayLike = 0.95) -> Interval:
    """The plain interval `auc -+ z se` cut to [0, 1], as pROC's `ci.auc` gives it; too short with few positives.

    Args:
        auc: From 0 to 1.
        variance: DeLong's.
        level: Of confidence, from 0 to 1.

    Returns:
        NaN where the variance is 0: an interval of no width would be read as certainty.

    Examples:
        >>> low, high = auc_wald(0.842222222222, 0.0062532627866)
        >>> print(f"{low:.6f} {high:.6f}")
        0.687233 0.997211
    """
    a, v = floats(auc, variance)
    defined = (a >= 0) & (a <= 1) & (v > ZERO_VARIANCE) & np.isfinite(v)
    reach = normal_critical(level) * np.sqrt(np.where(defined, v, np.nan))
    return where_defined(defined, np.maximum(a - reach, 0.0), np.minimum(a + reach, 1.0))
