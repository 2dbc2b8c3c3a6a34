"""Intervals of differences, sums and ratios, made from the intervals of the two values (MOVER), and their p value.

The method of variance estimates recovery (Zou & Donner 2008; Donner & Zou 2012) needs no more than a good interval for
each value, so it serves every metric. With Wilson's limits the difference is Newcombe's method 10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.interval import FloatArray, Interval, floats
from fmfair.statistics.quantiles import normal_cdf

# Limits of both values at a level: lower and upper of the first, lower and upper of the second.
Limits: TypeAlias = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]

_FARTHEST = 7.5  # normal quantile: levels nearer to 1 have too few digits left
_CLOSE = 1e-13  # in normal quantiles
_MET = 1e-13  # of the difference
_EPSILON = 3e-16  # of a level
_MOST_STEPS = 200


def mover_difference(
    t1: ArrayLike,
    l1: ArrayLike,
    u1: ArrayLike,
    t2: ArrayLike,
    l2: ArrayLike,
    u2: ArrayLike,
    correlation: ArrayLike = 0.0,
) -> Interval:
    """Limits of t1 - t2.

    `d - sqrt((t1 - l1)^2 + (u2 - t2)^2)` and `d + sqrt((u1 - t1)^2 + (t2 - l2)^2)`, less twice the correlation times
    the product of the two distances under each root.

    Args:
        t1: The first value.
        l1: Its lower limit.
        u1: Its upper limit.
        t2: The second value.
        l2: Its lower limit.
        u2: Its upper limit.
        correlation: Of the two values, 0 where no patient is behind both.

    Returns:
        NaN where a value or limit is.

    Examples:
        >>> low, high = mover_difference(0.7, 0.577229, 0.799385, 0.6, 0.490460, 0.700405)
        >>> print(f"{low:.4f} {high:.4f}")
        -0.0586 0.2479
    """
    first, low1, up1, second, low2, up2, r = floats(t1, l1, u1, t2, l2, u2, correlation)
    with np.errstate(all="ignore"):
        down, up = (first - low1, up2 - second), (up1 - first, second - low2)
        difference = first - second
        low = difference - _length(*down, r)
        high = difference + _length(*up, r)
    defined = ~np.isnan(low) & ~np.isnan(high)
    return Interval(np.where(defined, low, np.nan), np.where(defined, high, np.nan))


def _length(a: FloatArray, b: FloatArray, r: FloatArray) -> FloatArray:
    """The root of a^2 + b^2 - 2 r a b, which rounding may take below 0 at a correlation of 1 or -1."""
    return np.sqrt(np.maximum(a * a + b * b - 2 * r * a * b, 0.0))


def mover_sum(
    t1: ArrayLike,
    l1: ArrayLike,
    u1: ArrayLike,
    t2: ArrayLike,
    l2: ArrayLike,
    u2: ArrayLike,
    correlation: ArrayLike = 0.0,
) -> Interval:
    """Limits of t1 + t2, as `mover_difference` of t1 and -t2; halve them for balanced accuracy.

    Args:
        t1: The first value.
        l1: Its lower limit.
        u1: Its upper limit.
        t2: The second value.
        l2: Its lower limit.
        u2: Its upper limit.
        correlation: Of the two values.

    Returns:
        NaN where a value or limit is.

    Examples:
        >>> low, high = mover_sum(0.5, 0.4, 0.6, 0.25, 0.25, 0.25)
        >>> print(f"{low:.4f} {high:.4f}")
        0.6500 0.8500
    """
    second, low2, up2, r = floats(t2, l2, u2, correlation)
    return mover_difference(t1, l1, u1, -second, -up2, -low2, -r)


def mover_ratio(
    t1: ArrayLike,
    l1: ArrayLike,
    u1: ArrayLike,
    t2: ArrayLike,
    l2: ArrayLike,
    u2: ArrayLike,
    correlation: ArrayLike = 0.0,
) -> Interval:
    """Limits of t1 / t2 for values that are not negative, by MOVER-R (Donner & Zou 2012).

    They are the ratios r for which a limit of `t1 - r t2`, as in `mover_difference`, is 0.

    Args:
        t1: The value above the line.
        l1: Its lower limit.
        u1: Its upper limit.
        t2: The value below the line, above 0.
        l2: Its lower limit.
        u2: Its upper limit.
        correlation: Of the two values.

    Returns:
        NaN where a value or limit is, and where t2 is not above 0. The upper limit alone is NaN where the ratio is
        unbounded (l2 = 0 or t2 <= l2 / 2), and either where limits are so wide that its root is of a negative number.

    Examples:
        >>> wilson = (0.436497177814, 0.969946630252), (0.150038989152, 0.849961010848)
        >>> low, high = mover_ratio(5 / 6, *wilson[0], 2 / 4, *wilson[1])
        >>> print(f"{low:.6f} {high:.6f}")
        0.724738 5.585889
    """
    first, low1, up1, second, low2, up2, r = values = floats(t1, l1, u1, t2, l2, u2, correlation)
    defined = (second > 0) & ~np.any(np.isnan(values), axis=0)
    with np.errstate(all="ignore"):
        both, most = (
            first * second - r * a * b for a, b in ((first - low1, up2 - second), (up1 - first, second - low2))
        )
        below, above = up2 * (2 * second - up2), low2 * (2 * second - low2)
        # The difference of two near numbers, written so that it keeps its digits: c / (b + root) for (b - root) / a.
        root = np.sqrt(both * both - low1 * (2 * first - low1) * below)
        low = np.where(both + root > 0, low1 * (2 * first - low1) / (both + root), 0.0)
        high = (most + np.sqrt(most * most - up1 * (2 * first - up1) * above)) / above
        bounded = (low2 > 0) & (2 * second > low2)
    low = np.where(defined & ~np.isnan(root), low, np.nan)
    return Interval(low, np.where(defined & bounded, high, np.nan))


def p_by_inversion(
    limits: Callable[[FloatArray], Limits], t1: ArrayLike, t2: ArrayLike, correlation: ArrayLike = 0.0
) -> FloatArray:
    """The p value of t1 - t2 that agrees with `mover_difference`: 1 less the level at which a limit touches 0.

    Args:
        limits: The limits of both values at the levels given, one level (0 to 1) per pair.
        t1: The first value.
        t2: The second value.
        correlation: Of the two values.

    Returns:
        From 6e-14, where the search ends, to 1, which equal values get; NaN where a value or limit is.

    Examples:
        >>> from fmfair.statistics.proportions import wilson
        >>> from fmfair.statistics.quantiles import normal_critical
        >>> def limits(level):
        ...     q = normal_critical(level)
        ...     return *wilson(56, 70, quantile=q), *wilson(48, 80, quantile=q)
        >>> p = p_by_inversion(limits, 56 / 70, 48 / 80)
        >>> print(f"{p:.6f}")
        0.008133
    """
    first, second, r = floats(t1, t2, correlation)
    difference = first - second

    def inside(z: FloatArray) -> FloatArray:
        """How far the limit on the side of 0 is from 0; negative where 0 is in the interval."""
        low, high = mover_difference(first, *_paired(limits(1 - 2 * normal_cdf(-z)), second), r)
        return np.where(difference > 0, low, -high)

    return np.where(difference == 0, 1.0, 2 * normal_cdf(-_crossing(inside, np.abs(difference))))


def _paired(limits: Limits, second: FloatArray) -> tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]:
    l1, u1, l2, u2 = limits
    return l1, u1, second, l2, u2


def _crossing(function: Callable[[FloatArray], FloatArray], at_0: FloatArray) -> FloatArray:
    """Where a falling function is 0 between 0 and the farthest point, which stands for all beyond; NaN if it is NaN.

    Chandrupatla's method (1997): inverse quadratic interpolation where three points show that it will do, else a
    bisection, so that kinks cannot hold it up.
    """
    other, above = np.zeros_like(at_0), at_0
    point = np.full_like(at_0, _FARTHEST)
    value = np.asarray(function(point))
    beyond, undefined = value > 0, np.isnan(value) | np.isnan(above)
    ended = beyond | undefined | ~(above > 0)
    with np.errstate(all="ignore"):
        share = np.where(ended, 0.0, value / (value - above))
    for _ in range(_MOST_STEPS):
        if ended.all():
            break
        new = point + share * (other - point)
        found = np.asarray(function(new))
        undefined |= ~ended & np.isnan(found)
        # The root is between the new point and the one of the two that lies on its other side.
        same = np.sign(found) == np.sign(value)
        third, third_value = np.where(same, point, other), np.where(same, value, above)
        other, above = np.where(same, other, point), np.where(same, above, value)
        point, value = new, found
        last_digits = _CLOSE + _EPSILON * np.exp(np.maximum(point, other) ** 2 / 2)  # of the level, in quantiles
        met = np.fmin(np.abs(value), np.abs(above)) <= _MET * at_0
        ended |= undefined | met | (np.abs(other - point) <= last_digits)
        share = np.where(ended, 0.0, _share(point, other, third, value, above, third_value, last_digits / 2))
    nearest = np.where(np.abs(value) < np.abs(above), point, other)
    return np.where(undefined, np.nan, np.where(beyond, _FARTHEST, nearest))


def _share(
    x1: FloatArray, x2: FloatArray, x3: FloatArray, f1: FloatArray, f2: FloatArray, f3: FloatArray, step: FloatArray
) -> FloatArray:
    """The share of the way from the first to the second point at which to look next, a `step` away from both."""
    with np.errstate(all="ignore"):
        xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        fits = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        inverse = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        least = np.fmin(step / np.abs(x2 - x1), 0.5)
        return np.clip(np.where(fits, inverse, 0.5), least, 1 - least)
