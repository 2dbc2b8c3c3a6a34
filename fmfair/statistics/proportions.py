"""Wilson's interval of a proportion, and of one from clusters or weights by its effective size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.interval import FloatArray, Interval, floats, where_defined
from fmfair.statistics.quantiles import t_critical

# Next to the variance of as many independent rows; clusters that differ at all lie far above.
_ALL_ALIKE = 1e-20


def wilson(successes: ArrayLike, n: ArrayLike, *, quantile: ArrayLike) -> Interval:
    """Wilson's interval of a proportion `successes / n` (Wilson 1927), without a continuity correction.

    Args:
        successes: From 0 to n; need not be whole, as with an effective size.
        n: Above 0, of any size.
        quantile: 1.96 for 95 %: a normal or t quantile, 0 or more; infinity gives all of [0, 1].

    Returns:
        Limits in [0, 1] around the proportion, exactly 0 without successes and exactly 1 without failures; NaN for an
        `n` of 0, and where there are more successes than `n`.

    Examples:
        >>> low, high = wilson([81, 0], [263, 20], quantile=1.959963984540054)
        >>> print(low.round(4), high.round(4))
        [0.2553 0.    ] [0.3662 0.1611]
    """
    x, size = floats(successes, n)
    with np.errstate(all="ignore"):
        return _score_limits(x / size, (size - x) / size, size, quantile)


def _score_limits(hits: FloatArray, misses: FloatArray, n: FloatArray, quantile: ArrayLike) -> Interval:
    """Wilson's limits from the shares of successes and failures."""
    p, q, size, z = floats(hits, misses, n, quantile)
    defined = (size > 0) & np.isfinite(size) & (p >= 0) & (q >= 0) & (z >= 0)
    with np.errstate(all="ignore"):
        added = np.minimum(z, 1e100) ** 2 / size
        reach = added / 2 + np.sqrt(added) * np.sqrt(p * q + added / 4)
        # The product of the roots gives the smaller one without a difference of nearly equal numbers.
        low = np.where(p > 0, p * (p / (p + reach)), 0.0)
        high = 1 - np.where(q > 0, q * (q / (q + reach)), 0.0)
    return where_defined(defined, np.minimum(low, p), np.maximum(high, p))


def effective_size(
    p: ArrayLike, variance: ArrayLike, n: ArrayLike, sum_of_squares: ArrayLike, *, weight: ArrayLike | None = None
) -> FloatArray:
    """The number of independent rows that would give a proportion the variance that it has.

    `p (1 - p) / variance`, at most `n` (a design effect below 1 is noise). Where the variance is 0, as for a
    proportion of 0 or 1, `weight² / sum_of_squares`, which takes the rows of one cluster for copies of each other
    (Rao & Scott 1992; Korn & Graubard 1998).

    Args:
        p: The proportion, from 0 to 1.
        variance: Its variance over clusters, or linearised with weights.
        n: Number of rows.
        sum_of_squares: Sum over the clusters of the squares of their sizes (of their sums of weights).
        weight: Sum of the weights of the rows where they have weights; else they are `n` rows.

    Returns:
        Above 0 and at most `n`; NaN without rows and where the variance is undefined (one cluster).

    Examples:
        >>> effective_size([0.5, 0.5, 1.0], [0.01, 1e-4, 0.0], 40, [300, 300, 400]).tolist()
        [25.0, 40.0, 4.0]
    """
    p_, v, rows, squares, total = floats(p, variance, n, sum_of_squares, n if weight is None else weight)
    spread = p_ * (1 - p_)
    with np.errstate(all="ignore"):
        alike = (v >= 0) & (v * rows <= _ALL_ALIKE * spread)
        size = np.minimum(rows, np.where(alike, total * (total / squares), spread / v))
    return np.where((rows > 0) & (v >= 0) & (spread >= 0) & (size > 0) & np.isfinite(size), size, np.nan)


def wilson_clustered(p: ArrayLike, n_eff: ArrayLike, units: ArrayLike, level: ArrayLike = 0.95) -> Interval:
    """Wilson's interval on the effective size, with Student's t (Franco, Little, Louis & Slud 2019).

    Args:
        p: The proportion, from 0 to 1.
        n_eff: Its effective size, from `effective_size`.
        units: Clusters that have any rows of the denominator; `units - 1` degrees of freedom.
        level: Of confidence, from 0 to 1.

    Returns:
        Limits in [0, 1]; NaN for fewer than 2 units.

    Examples:
        >>> low, high = wilson_clustered(0.8, 10, 5)  # 8 of 10 images of 5 patients
        >>> print(f"{low:.6f} {high:.6f}")
        0.374955 0.963862
    """
    p_, size = floats(p, n_eff)
    return _score_limits(p_, 1 - p_, size, t_critical(level, np.asarray(units, dtype=np.float64) - 1))
