"""Intervals that hold for all groups of a family at once: of its largest gap, and of its worst group."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.families import by_size, chunks, numbered, total
from fmfair.statistics.interval import BoolArray, FloatArray, IntArray, Interval, floats
from fmfair.statistics.mover import mover_difference
from fmfair.statistics.quantiles import normal_cdf, studentized_range_quantile

# Of more groups only the pairs that can be the widest are looked at.
FEW = 64


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
        if k > FEW:
            for family_number, groups in zip(families, rows, strict=True):
                result[:, family_number] = _widest_of_many(values[:, groups])
            continue
        itself = np.arange(k)
        for part in chunks(np.arange(len(families) if k > 1 else 0), k * k):
            first, second = values[:, rows[part], None], values[:, rows[part]][:, :, None, :]
            pairs = np.stack(mover_difference(*first, *second))
            pairs[:, :, itself, itself] = -np.inf  # a group makes no pair with itself
            result[:, families[part]] = pairs.max(axis=(2, 3))
    with np.errstate(invalid="ignore"):
        return Interval(np.maximum(result[0], 0.0), np.minimum(result[1], cap))


def _widest_of_many(groups: FloatArray) -> FloatArray:
    """The largest lower and the largest upper limit of all pairs of one family, from the pairs that can have them.

    Of two groups the one that is larger, and nearer to its lower limit, has the larger lower limit beside any other;
    the same holds of what is subtracted, and of upper limits. Where the best on both sides is one group, which makes no
    pair with itself, the best pair has it on one side.

    Args:
        groups: Rows of values, lower and upper limits.
    """
    value, below, above = groups[0], groups[0] - groups[1], groups[2] - groups[0]
    everyone = np.arange(len(value))
    found = []
    for limit, first, second in (
        (0, _undominated(-value, below), _undominated(value, above)),
        (1, _undominated(-value, -above), _undominated(value, -below)),
    ):
        both = np.intersect1d(first, second)
        sides = [(first, second), (both, everyone), (everyone, both)]
        found.append(max(_largest(groups, a, b, limit) for a, b in sides))
    return np.array(found)


def _undominated(x: FloatArray, y: FloatArray) -> IntArray:
    """The points beside which no other has both coordinates as small: one of those that are alike."""
    order = np.lexsort((y, x))
    before = np.minimum.accumulate(np.append(np.inf, y[order][:-1]))
    kept: IntArray = order[y[order] < before]
    return kept


def _largest(groups: FloatArray, first: IntArray, second: IntArray, limit: int) -> float:
    """The largest lower (0) or upper (1) limit of the differences of some groups less others."""
    largest = -np.inf
    for some in chunks(first, max(len(second), 1)):
        pairs = mover_difference(*groups[:, some, None], *groups[:, None, second])[limit]
        pairs[some[:, None] == second] = -np.inf
        largest = max(largest, float(pairs.max(initial=-np.inf)))
    return largest


def worst_interval(
    low: ArrayLike,
    high: ArrayLike,
    family: ArrayLike,
    *,
    higher_is_better: ArrayLike = True,
    n_families: int | None = None,
) -> Interval:
    """The interval of the true value of the worst group of each family, whichever group that is.

    Args:
        low: The lower limit of each group at `sidak_level` of the groups of its family; NaN ones are left out.
        high: Its upper limit.
        family: The number of the family of each group.
        higher_is_better: Whether the smallest value is the worst, or the largest; for all families or for each.
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
    sign = np.broadcast_to(np.where(higher_is_better, 1.0, -1.0), (count,))
    smallest = (sign * _smallest(sign[numbers] * limit, usable, numbers, count) for limit in limits)
    return Interval(*smallest)


def _smallest(values: FloatArray, usable: BoolArray, numbers: IntArray, count: int) -> FloatArray:
    result = np.full(count, np.inf)
    np.minimum.at(result, numbers[usable], values[usable])
    return np.where(total(usable, numbers, count) > 0, result, np.nan)
