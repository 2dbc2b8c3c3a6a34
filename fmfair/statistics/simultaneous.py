"""Intervals that hold for all groups of a family at once: of its largest gap, and of its worst group."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.families import by_size, chunks, numbered, total
from fmfair.statistics.interval import BoolArray, FloatArray, IntArray, Interval, floats
from fmfair.statistics.mover import mover_difference
from fmfair.statistics.quantiles import normal_cdf, studentized_range_quantile


def simultaneous_level(k: ArrayLike, level: float = 0.95) -> FloatArray:
    """The level of each group's interval with which the differences of all pairs of k groups hold at once.

    Its normal quantile is that of the studentised range over sqrt(2) (Tukey & Kramer), 1.96 for two groups and 2.73
    for five. Exact for equal variances, on the safe side for others.

    Args:
        k: Groups with an interval, 2 or more.
        level: At which all pairs hold.

    Returns:
        In (0, 1); NaN for fewer than 2 groups.

    Examples:
        >>> simultaneous_level([2, 3, 5]).round(6)
        array([0.95    , 0.980907, 0.993624])
    """
    sizes, place = np.unique(np.asarray(k, dtype=np.float64), return_inverse=True)
    q = np.array([_range_quantile(level, size) for size in sizes.tolist()], dtype=np.float64)[place] / np.sqrt(2)
    return 1 - 2 * normal_cdf(-q)


@lru_cache(maxsize=4096)
def _range_quantile(level: float, k: float) -> float:
    """Asked for the same few sizes again and again: once per metric."""
    return float(studentized_range_quantile(level, k))


def sidak_level(k: ArrayLike, level: float = 0.95) -> FloatArray:
    """The level of each group's interval with which the intervals of k independent groups hold at once (Sidak).

    Args:
        k: Groups with an interval, 1 or more.
        level: At which all hold.

    Returns:
        In (0, 1); NaN for fewer than 1 group.

    Examples:
        >>> sidak_level([1, 2, 5]).round(6)
        array([0.95    , 0.974679, 0.989794])
    """
    (groups,) = floats(k)
    return np.where(groups >= 1, level ** (1 / np.maximum(groups, 1.0)), np.nan)


def gap_interval(
    value: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    family: ArrayLike,
    cap: float = 1.0,
    n_families: int | None = None,
) -> Interval:
    """The interval of the gap (largest less smallest value) of each family.

    From the MOVER limits of the difference of every ordered pair: the largest lower limit, at least 0, and the largest
    upper limit, at most the cap. A lower limit of 0 says that no pair differs. With two groups it is the interval of
    the absolute difference.

    Args:
        value: The value of each group; groups with NaN in it or in a limit are left out.
        low: Its lower limit at `simultaneous_level` of the groups of its family.
        high: Its upper limit.
        family: The number of the family of each group.
        cap: The largest gap that there can be; infinity for metrics without bounds.
        n_families: How many families there are, where the last may have no group.

    Returns:
        Per family; NaN with fewer than 2 groups.

    Examples:
        >>> low, high = gap_interval([0.9, 0.8, 0.6], [0.85, 0.7, 0.5], [0.93, 0.88, 0.7], [0, 0, 0])
        >>> print(f"{low[0]:.4f} {high[0]:.4f}")
        0.1882 0.4044
    """
    values = np.stack(floats(value, low, high))
    numbers, count = numbered(family, n_families)
    result = np.full((2, count), np.nan)
    usable: BoolArray = ~np.any(np.isnan(values), axis=0)
    for families, rows in by_size(numbers, usable, count):
        k = rows.shape[1]
        itself = np.arange(k)  # a group makes no pair with itself
        for part in chunks(np.arange(len(families) if k > 1 else 0), k * k):
            t2, l2, u2 = values[:, rows[part]][:, :, None, :]
            widest = np.full((2, len(part)), -np.inf)
            for some in chunks(itself, k * len(part)):
                t1, l1, u1 = values[:, rows[part][:, some], None]
                pairs = np.stack(mover_difference(t1, l1, u1, t2, l2, u2))
                pairs[:, :, np.arange(len(some)), some] = -np.inf
                widest = np.maximum(widest, pairs.max(axis=(2, 3)))
            result[:, families[part]] = widest
    with np.errstate(invalid="ignore"):
        return Interval(np.maximum(result[0], 0.0), np.minimum(result[1], cap))


def worst_interval(
    low: ArrayLike,
    high: ArrayLike,
    family: ArrayLike,
    *,
    higher_is_better: bool = True,
    n_families: int | None = None,
) -> Interval:
    """The interval of the true value of the worst group of each family, whichever group that is.

    Args:
        low: The lower limit of each group at `sidak_level` of the groups of its family; NaN ones are left out.
        high: Its upper limit.
        family: The number of the family of each group.
        higher_is_better: Whether the smallest value is the worst, or the largest.
        n_families: How many families there are, where the last may have no group.

    Returns:
        The smallest lower and smallest upper limit of each family (the largest ones where lower is better); NaN
        without a group.

    Examples:
        >>> low, high = worst_interval([0.8, 0.5], [0.9, 0.95], [0, 0])
        >>> print(f"{low[0]:.4f} {high[0]:.4f}")
        0.5000 0.9000
    """
    limits = np.stack(floats(low, high))
    numbers, count = numbered(family, n_families)
    usable: BoolArray = ~np.any(np.isnan(limits), axis=0)
    sign = 1.0 if higher_is_better else -1.0
    smallest = (sign * _smallest(sign * limit, usable, numbers, count) for limit in limits)
    return Interval(*smallest)


def _smallest(values: FloatArray, usable: BoolArray, numbers: IntArray, count: int) -> FloatArray:
    result = np.full(count, np.inf)
    np.minimum.at(result, numbers[usable], values[usable])
    return np.where(total(usable, numbers, count) > 0, result, np.nan)
