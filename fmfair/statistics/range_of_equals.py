"""The range (largest less smallest) of independent normal values around one common value: the noise floor of a gap.

Groups that are equal still show a gap, since each value is estimated. Given the standard deviation of each estimate
under equality, this module gives the mean of that gap, its quantiles, the p value of an observed gap, and the gap that
the data could have shown. With the half line of `x` from 0 and `D_g(x) = F_g(x + r/2) - F_g(x - r/2)`,

    E[range]      = 2 ∫ 1 - prod F_g(x) - prod F_g(-x) dx
    P(range <= r) = ∫ sum_g [f_g(x - r/2) + f_g(x + r/2)] prod_{h≠g} D_h(x) dx

where F_g and f_g are the distribution function and density of a normal with the standard deviation of group g. The
second adds the two cases "g is the smallest, at x - r/2" and "g is the largest, at x + r/2", each of which alone is the
whole probability. All of it changes scale with the standard deviations, and two groups have closed forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.families import by_size, chunks, numbered
from fmfair.statistics.interval import FloatArray, IntArray
from fmfair.statistics.quantiles import normal_cdf, normal_critical, normal_quantile
from fmfair.statistics.range_quadrature import detectable_shift, mean_range, probability_within, quantile

_RARE = 1e-6  # below this the pairs are added up as well
_LOST = 1e-9  # below this 1 - P has lost its digits
MANY = 64  # groups, from which those with the same standard deviation are worked out together
_DIGITS = 11  # to which families with the same standard deviations, up to a factor, are one


class ChanceGap(NamedTuple):
    """What there is to know of the gap between groups, one value per family.

    Attributes:
        median: The gap that equal groups exceed in every second sample.
        point: The gap that they exceed in one of twenty.
        detectable: The true gap that would have been found significant.
    """

    median: FloatArray
    point: FloatArray
    detectable: FloatArray


def range_mean(sd: ArrayLike, family: ArrayLike, n_families: int | None = None) -> FloatArray:
    """The mean gap (largest less smallest) of groups that are equal: the noise floor.

    Args:
        sd: Standard deviation of each group's estimate under equality, 0 or more; groups with NaN are left out.
        family: The number of the family of each group.
        n_families: How many families there are, where the last may have no group.

    Returns:
        One value per family; NaN with fewer than 2 groups, or where all standard deviations are 0.

    Examples:
        >>> range_mean([1, 1, 1, 1, 1], [0, 0, 1, 1, 1]).round(6)
        array([1.128379, 1.692569])
        >>> rate = np.sqrt(0.8 * 0.2 / np.array([50, 100, 400]))
        >>> print(f"{range_mean(rate, [0, 0, 0])[0]:.6f}")
        0.069417
    """
    result = _empty(family, n_families)
    for families, spread in _families(sd, family, n_families):
        if spread.shape[1] == 2:
            result[families] = np.sqrt(2 / np.pi) * _pair(spread)
        else:
            result[families] = mean_range(spread)
    return result


def range_quantile(
    sd: ArrayLike, family: ArrayLike, probability: float = 0.95, n_families: int | None = None
) -> FloatArray:
    """The gap that equal groups stay within with a probability.

    Args:
        sd: Standard deviation of each group's estimate under equality; groups with NaN are left out.
        family: The number of the family of each group.
        probability: Above 0 and below 1; 0.5 for the median.
        n_families: How many families there are.

    Returns:
        One value per family; NaN as in `range_mean`.

    Examples:
        >>> rate = np.sqrt(0.8 * 0.2 / np.array([50, 100, 400]))
        >>> print(f"{range_quantile(rate, [0, 0, 0])[0]:.6f}")
        0.142012
    """
    result = _empty(family, n_families)
    if not 0 < probability < 1:
        return result
    for families, spread in _families(sd, family, n_families):
        result[families] = _quantile(spread, probability)
    return result


def range_p(sd: ArrayLike, family: ArrayLike, observed: ArrayLike, n_families: int | None = None) -> FloatArray:
    """The p value of an observed gap: the probability that equal groups show a larger one.

    Args:
        sd: Standard deviation of each group's estimate under equality; groups with NaN are left out.
        family: The number of the family of each group.
        observed: The gap of each family, in the order of their numbers.
        n_families: How many families there are; as many as gaps are given.

    Returns:
        One value per family, exact to 1e-9; NaN as in `range_mean` and without a gap. Below 1e-9 it is an upper bound:
        the sum over the pairs, at most as many times too large as there are groups.

    Examples:
        >>> rate = np.sqrt(0.8 * 0.2 / np.array([50, 100, 400]))
        >>> print(f"{range_p(rate, [0, 0, 0], [0.10])[0]:.6f}")
        0.200071
    """
    gaps = np.asarray(observed, dtype=np.float64)
    result = _empty(family, len(gaps) if n_families is None else n_families)
    for families, spread in _families(sd, family, len(result)):
        gap = np.maximum(gaps[families], 0.0)
        if spread.shape[1] == 2:
            with np.errstate(all="ignore"):
                p = 2 * normal_cdf(-gap / _pair(spread))
        else:
            p = np.minimum(1 - probability_within(spread, gap), 1.0)
            rare = p < _RARE
            p[rare] = _rare(p[rare], spread[rare], gap[rare])
        result[families] = np.where(spread.max(axis=1) > 0, p, np.nan)
    return result


def detectable_gap(
    sd: ArrayLike, family: ArrayLike, alpha: float = 0.05, power: float = 0.8, n_families: int | None = None
) -> FloatArray:
    """The true gap that would have been found significant with the power asked for.

    Two groups: `(z_{1 - alpha/2} + z_power) sqrt(V_1 + V_2)`. More: the gap at which the observed one exceeds the
    1 - alpha quantile of equal groups with that power, when one group lies half of it above the others and one half of
    it below. These two are the groups with the largest standard deviations, where a gap is hardest to see.

    Args:
        sd: Standard deviation of each group's estimate under equality; groups with NaN are left out.
        family: The number of the family of each group.
        alpha: Two-sided level of the test.
        power: Above alpha and below 1.
        n_families: How many families there are.

    Returns:
        One value per family; NaN as in `range_mean`.

    Examples:
        >>> print(f"{detectable_gap([1, 1], [0, 0])[0]:.4f}")
        3.9620
    """
    result = _empty(family, n_families)
    for families, spread in _families(sd, family, n_families):
        result[families] = _detectable(np.sort(spread, axis=1), alpha, power)
    return result


def chance_of(
    sd: ArrayLike, family: ArrayLike, alpha: float = 0.05, power: float = 0.8, n_families: int | None = None
) -> ChanceGap:
    """`range_quantile` at 0.5 and 0.95 and `detectable_gap` in one go.

    Families whose standard deviations are those of another up to a factor, such as those of a rate and its complement,
    are worked out once.

    Args:
        sd: Standard deviation of each group's estimate under equality; groups with NaN are left out.
        family: The number of the family of each group.
        alpha: Two-sided level of the test behind the detectable gap.
        power: Above alpha and below 1.
        n_families: How many families there are.

    Returns:
        One value of each per family; NaN as in `range_mean`.

    Examples:
        >>> found = chance_of(np.sqrt(0.8 * 0.2 / np.array([50, 100, 400])), [0, 0, 0])
        >>> print(f"{found.median[0]:.6f} {found.point[0]:.6f} {found.detectable[0]:.6f}")
        0.063604 0.142012 0.198514
    """
    result = ChanceGap(*(_empty(family, n_families) for _ in range(3)))
    for families, spread in _families(sd, family, n_families):
        if spread.shape[1] > MANY:
            for number, own in zip(families, spread, strict=True):
                for column, value in zip(result, _chance_of_many(own, alpha, power), strict=True):
                    column[number] = value
            continue
        largest = spread.max(axis=1)
        rising = np.sort(spread, axis=1) / np.where(largest > 0, largest, 1.0)[:, None]
        _, first, which = np.unique(np.round(rising, _DIGITS), axis=0, return_index=True, return_inverse=True)
        each = rising[first]
        for column, found in zip(result, _chance(each, alpha, power), strict=True):
            column[families] = found[which.reshape(-1)] * largest
    return result


def _chance(spread: FloatArray, alpha: float, power: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What `chance_of` gives for families of one size, each in rising order."""
    point = _quantile(spread, 0.95)
    needed = point if np.isclose(alpha, 0.05, rtol=0, atol=1e-12) else None
    return _quantile(spread, 0.5), point, _detectable(spread, alpha, power, needed)


def _chance_of_many(spread: FloatArray, alpha: float, power: float) -> tuple[float, float, float]:
    """What `chance_of` gives for one family of many groups, of which few have standard deviations of their own."""
    rising = np.sort(spread)
    distinct, count = np.unique(rising[:-2], return_counts=True)
    # The two groups that are moved apart stand for themselves.
    groups = np.concatenate([distinct, rising[-2:]])[None]
    counts = np.concatenate([count, [1, 1]]).astype(np.float64)[None]
    median, point = (quantile(groups, p, counts) for p in (0.5, 0.95))
    needed = point if np.isclose(alpha, 0.05, rtol=0, atol=1e-12) else quantile(groups, 1 - alpha, counts)
    found = detectable_shift(groups, needed, power, counts) if 0 < alpha < power < 1 else np.array([np.nan])
    return float(median[0]), float(point[0]), float(found[0])


def _quantile(spread: FloatArray, probability: float) -> FloatArray:
    if spread.shape[1] == 2:
        return np.asarray(normal_critical(probability) * _pair(spread))
    return quantile(spread, probability)


def _detectable(rising: FloatArray, alpha: float, power: float, needed: FloatArray | None = None) -> FloatArray:
    """The detectable gap of families in rising order; `needed`: the 1 - alpha quantile of equal groups, if known."""
    if not 0 < alpha < power < 1:
        return np.full(len(rising), np.nan)
    if rising.shape[1] == 2:
        return np.asarray((normal_critical(1 - alpha) + normal_quantile(power)) * _pair(rising))
    return detectable_shift(rising, quantile(rising, 1 - alpha) if needed is None else needed, power)


def _empty(family: ArrayLike, n_families: int | None) -> FloatArray:
    return np.full(numbered(family, n_families)[1], np.nan)


def _families(sd: ArrayLike, family: ArrayLike, n_families: int | None) -> Iterator[tuple[IntArray, FloatArray]]:
    """Families with equally many groups, 2 or more, and their standard deviations as a matrix.

    Of the groups without variance two are kept: their values are the same, so more of them change nothing.
    """
    spread = np.asarray(sd, dtype=np.float64)
    numbers, count = numbered(family, n_families)
    usable = np.isfinite(spread) & (spread >= 0)
    for _, certain in by_size(numbers, spread == 0, count):
        usable[certain[:, 2:]] = False
    for families, rows in by_size(numbers, usable, count):
        if rows.shape[1] > 1:
            yield families, spread[rows]


def _pair(spread: FloatArray) -> FloatArray:
    """The standard deviation of the difference of two groups; NaN where it is 0."""
    both = np.hypot(spread[:, 0], spread[:, 1])
    return np.where(both > 0, both, np.nan)


def _rare(p: FloatArray, spread: FloatArray, gap: FloatArray) -> FloatArray:
    """A small p value, at most the probability that two groups are further apart than the gap, summed over the pairs.

    The sum is never too small, and nearly exact where no group is much wider than all others.
    """
    k = spread.shape[1]
    result = np.full(len(spread), np.nan)
    first, second = np.triu_indices(k, 1)
    for part in chunks(np.arange(len(spread)), len(first)):
        apart = np.hypot(spread[part][:, first], spread[part][:, second])
        with np.errstate(all="ignore"):
            tails = normal_cdf(-gap[part][:, None] / apart)
        result[part] = 2 * np.where(apart > 0, tails, 0.0).sum(axis=1)
    return np.asarray(np.minimum(np.maximum(p, _LOST), result))
