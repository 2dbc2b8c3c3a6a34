"""Tests that the values of all groups of a family are equal, and the variances that groups have if they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.families import numbered, total
from fmfair.statistics.interval import ZERO_VARIANCE, BoolArray, FloatArray, IntArray, floats
from fmfair.statistics.quantiles import chi2_tail, f_tail


class WelchTest(NamedTuple):
    """Cochran's Q and Welch's F of each family."""

    q: FloatArray
    f: FloatArray
    df1: FloatArray
    df2: FloatArray
    p: FloatArray


class PooledTest(NamedTuple):
    """The F test of the AUC of each family, its common AUC, and the variance of each group under equality."""

    mean: FloatArray
    f: FloatArray
    df1: FloatArray
    df2: FloatArray
    p: FloatArray
    null_variance: FloatArray


class ChiSquareTest(NamedTuple):
    """Pearson's chi-square of each family, and whether an expected count is below 5."""

    chi2: FloatArray
    df: FloatArray
    p: FloatArray
    sparse: BoolArray


def welch(
    mean: ArrayLike, variance: ArrayLike, units: ArrayLike, family: ArrayLike, n_families: int | None = None
) -> WelchTest:
    """Welch's test that the values of a family are equal; for two groups the same as unpaired DeLong.

    `Q = sum w (t - mu)^2` with w = 1 / V (Cochran 1954), corrected for the units behind each variance (Welch 1951).
    Right for means; for AUC near 1 or groups of unequal size see `pooled_placement_f`.

    Args:
        mean: The value of each group.
        variance: Its variance; groups where it is NaN are left out.
        units: Independent units behind it, 2 or more.
        family: The number of the family of each group.
        n_families: How many families there are, where the last may have no group.

    Returns:
        Per family. NaN with fewer than 2 groups, or where a variance is 0.

    Examples:
        >>> test = welch([1.0, 2.0, 4.0], [0.5, 0.25, 0.5], [10, 20, 10], [0, 0, 0])
        >>> print(f"{test.q[0]:.4f} {test.f[0]:.4f} {test.df2[0]:.4f} {test.p[0]:.4f}")
        9.5000 4.5914 19.3016 0.0234
    """
    value, var, size = floats(mean, variance, units)
    numbers, count = numbered(family, n_families)
    with np.errstate(all="ignore"):
        used = np.isfinite(value) & (var >= 0) & np.isfinite(var) & (size > 1)
        weight = np.where(used & (var > ZERO_VARIANCE), 1 / var, 0.0)
        k = total(used, numbers, count)
        defined = (k > 1) & (total(used & (weight == 0), numbers, count) == 0)
        q, _ = _spread(value, weight, numbers, count)
        share = weight / total(weight, numbers, count)[numbers]
        doubt = total(np.where(used, (1 - share) ** 2 / (size - 1), 0.0), numbers, count)
        f = q / (k - 1) / (1 + 2 * (k - 2) * doubt / (k * k - 1))
        df2 = (k * k - 1) / (3 * doubt)
    q, f, df1, df2 = (np.where(defined, x, np.nan) for x in (q, f, k - 1, df2))
    return WelchTest(q, f, df1, df2, f_tail(f, df1, df2))


def _spread(value: FloatArray, weight: FloatArray, numbers: IntArray, count: int) -> tuple[FloatArray, FloatArray]:
    """The weighted squares around the weighted mean of each family, and the mean; weight 0 leaves a group out."""
    used = np.where(weight > 0, value, 0.0)
    mean = total(weight * used, numbers, count) / total(weight, numbers, count)
    return total(np.where(weight > 0, weight * (used - mean[numbers]) ** 2, 0.0), numbers, count), mean


def pooled_placement_f(  # noqa: PLR0913 - what an engine delivers of an AUC
    auc: ArrayLike,
    pos_variance: ArrayLike,
    neg_variance: ArrayLike,
    m: ArrayLike,
    n: ArrayLike,
    family: ArrayLike,
    *,
    design_effect: ArrayLike | None = None,
    patients: ArrayLike | None = None,
    n_families: int | None = None,
) -> PooledTest:
    """The test that the AUC values of a family are equal: an analysis of variance on placement values.

    The variances of the placements within the groups are pooled, so that a small group that scored high by luck gets
    no large weight, and a group with an AUC of 1 takes part. Supposes equal variances of the placements.

    Args:
        auc: The AUC of each group; groups where it is NaN are left out.
        pos_variance: The positives' part of its DeLong variance, S10 / m. Where it is NaN, as with one positive, the
            group adds no degree of freedom for positives.
        neg_variance: The negatives' part, S01 / n.
        m: Positives of each group.
        n: Negatives of each group.
        family: The number of the family of each group.
        design_effect: With clusters, what the variances of each family are multiplied with.
        patients: With clusters, the number of each group; their sum less the groups limits df2.
        n_families: How many families there are, where the last may have no group.

    Returns:
        Per family, and `null_variance` per group: its variance if all placements vary alike. NaN with fewer than 2
        groups, without degrees of freedom in a class, and where both pooled sums are 0.

    Examples:
        >>> test = pooled_placement_f([0.9, 0.8], [0.001, 0.002], [0.002, 0.003], [20, 20], [40, 30], [0, 0])
        >>> print(f"{test.f[0]:.4f} {test.df2[0]:.4f} {test.p[0]:.4f}")
        1.2634 105.8064 0.2636
    """
    value, pos, neg, positives, negatives = floats(auc, pos_variance, neg_variance, m, n)
    numbers, count = numbered(family, n_families)
    with np.errstate(all="ignore"):
        used = np.isfinite(value) & (positives >= 1) & (negatives >= 1)
        pos_pool, pos_df, pos_scale = _pooled(used, pos, positives, numbers, count)
        neg_pool, neg_df, neg_scale = _pooled(used, neg, negatives, numbers, count)
        null_variance = pos_pool[numbers] / positives + neg_pool[numbers] / negatives
        if design_effect is not None:
            null_variance = null_variance * np.asarray(design_effect, dtype=np.float64)[numbers]
        null_variance = np.where(used & (null_variance > ZERO_VARIANCE), null_variance, np.nan)
        k = total(used, numbers, count)
        square, mean = _spread(value, np.where(np.isnan(null_variance), 0.0, 1 / null_variance), numbers, count)
        a, b = pos_pool * pos_scale, neg_pool * neg_scale
        df2 = (a + b) ** 2 / (a * a / pos_df + b * b / neg_df)
        if patients is not None:
            clusters = np.where(used, np.asarray(patients, dtype=np.float64), 0.0)
            df2 = np.minimum(df2, total(clusters, numbers, count) - k)
        defined = (k > 1) & np.isfinite(mean) & (df2 > 0)
    mean, f, df1, df2 = (np.where(defined, x, np.nan) for x in (mean, square / np.maximum(k - 1, 1), k - 1, df2))
    return PooledTest(mean, f, df1, df2, f_tail(f, df1, df2), null_variance)


def _pooled(
    used: BoolArray, variance: FloatArray, size: FloatArray, numbers: IntArray, count: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The pooled variance of the placements of one class in each family, its degrees of freedom, and the sum of 1/size.

    A variance of the mean placement is S / size, so its group has size (size - 1) times that as sum of squares.
    """
    informed = used & (size > 1) & np.isfinite(variance)
    squares = total(np.where(informed, variance * size * (size - 1), 0.0), numbers, count)
    df = total(np.where(informed, size - 1, 0.0), numbers, count)
    return squares / df, df, total(np.where(used, 1 / size, 0.0), numbers, count)


def chi_square(
    successes: ArrayLike,
    n: ArrayLike,
    family: ArrayLike,
    *,
    design_effect: ArrayLike | None = None,
    patients: ArrayLike | None = None,
    n_families: int | None = None,
) -> ChiSquareTest:
    """Pearson's chi-square test that the rates of a family are equal, without a continuity correction.

    Args:
        successes: Of each group, 0 to n.
        n: Its denominator; groups where it is 0 or NaN are left out.
        family: The number of the family of each group.
        design_effect: With clusters, the mean design effect of each family, which chi-square is divided by (Rao &
            Scott 1992).
        patients: With clusters, the number of each group; p is then that of F with their sum less the groups.
        n_families: How many families there are, where the last may have no group.

    Returns:
        Per family. NaN with fewer than 2 groups, and where all or none succeed.

    Examples:
        >>> test = chi_square([8, 9, 6], [10, 10, 10], [0, 0, 0])
        >>> print(f"{test.chi2[0]:.4f} {test.p[0]:.4f} {test.sparse[0]}")
        2.6087 0.2713 True
    """
    hits, size = floats(successes, n)
    numbers, count = numbered(family, n_families)
    used = (size > 0) & np.isfinite(size) & (hits >= 0) & (hits <= size)
    hits, size = np.where(used, hits, 0.0), np.where(used, size, 0.0)
    with np.errstate(all="ignore"):
        rate = total(hits, numbers, count) / total(size, numbers, count)
        expected, rarer = size * rate[numbers], size * np.minimum(rate, 1 - rate)[numbers]
        k = total(used, numbers, count)
        defined = (k > 1) & (rate > 0) & (rate < 1)
        away = np.where(used, (hits - expected) ** 2 / (size * (rate * (1 - rate))[numbers]), 0.0)
        chi2 = np.where(defined, total(away, numbers, count), np.nan)
        if design_effect is not None:
            chi2 = chi2 / np.asarray(design_effect, dtype=np.float64)
        df = np.where(defined, k - 1, np.nan)
        p = chi2_tail(chi2, df)
        if patients is not None:
            clusters = np.where(used, np.asarray(patients, dtype=np.float64), 0.0)
            p = f_tail(chi2 / df, df, total(clusters, numbers, count) - k)
    sparse = defined & (total(used & (rarer < 5), numbers, count) > 0)
    return ChiSquareTest(chi2, df, p, sparse)


def null_variance_of_rates(
    successes: ArrayLike,
    n: ArrayLike,
    family: ArrayLike,
    effective: ArrayLike | None = None,
    n_families: int | None = None,
) -> FloatArray:
    """The variance of each group's rate if all groups of a family have the same: that of the pooled rate, over n.

    Args:
        successes: Of each group.
        n: Its denominator; groups where it is 0 or NaN are left out.
        family: The number of the family of each group.
        effective: With clusters or weights, the effective size that the variance is divided by instead of n.
        n_families: How many families there are.

    Returns:
        Per group; NaN where all or none of a family succeed, whose variance nobody knows.

    Examples:
        >>> null_variance_of_rates([40, 80, 320], [50, 100, 400], [0, 0, 0]).round(6)
        array([0.0032, 0.0016, 0.0004])
    """
    hits, size = floats(successes, n)
    numbers, count = numbered(family, n_families)
    used = (size > 0) & np.isfinite(size) & (hits >= 0) & (hits <= size)
    divisor = size if effective is None else np.asarray(effective, dtype=np.float64)
    with np.errstate(all="ignore"):
        rate = total(np.where(used, hits, 0.0), numbers, count) / total(np.where(used, size, 0.0), numbers, count)
        variance = (rate * (1 - rate))[numbers] / divisor
        return np.where(used & (divisor > 0) & (variance > 0), variance, np.nan)


def null_variance_of_means(
    variance: ArrayLike, n: ArrayLike, family: ArrayLike, n_families: int | None = None
) -> FloatArray:
    """The variance of each group's mean if the values of all groups of a family vary alike: pooled, over n.

    Args:
        variance: Of each mean, s^2 / n; where it is NaN, as with one row, the group adds no degree of freedom.
        n: Rows or clusters of each group.
        family: The number of the family of each group.
        n_families: How many families there are.

    Returns:
        Per group; NaN where the pooled variance is 0 or undefined.

    Examples:
        >>> null_variance_of_means([0.1, 0.3, np.nan], [11, 11, 1], [0, 0, 0]).round(6)
        array([0.2, 0.2, 2.2])
    """
    var, size = floats(variance, n)
    numbers, count = numbered(family, n_families)
    with np.errstate(all="ignore"):
        used = size >= 1
        pool, _, _ = _pooled(used, var, size, numbers, count)
        null = pool[numbers] / size
        return np.where(used & (null > ZERO_VARIANCE), null, np.nan)


def design_effect(
    clustered: ArrayLike, independent: ArrayLike, family: ArrayLike, n_families: int | None = None
) -> FloatArray:
    """How many times as large the variances of a family are with clusters: the ratio of their sums.

    Args:
        clustered: Variance of each group's value over clusters.
        independent: Its variance as if rows were independent; groups where either is NaN are left out.
        family: The number of the family of each group.
        n_families: How many families there are.

    Returns:
        Per family; NaN where no group has both, or the independent ones are all 0.

    Examples:
        >>> design_effect([0.02, 0.04], [0.01, 0.02], [0, 0])
        array([2.])
    """
    over, rows = floats(clustered, independent)
    numbers, count = numbered(family, n_families)
    both = np.isfinite(over) & np.isfinite(rows)
    below = total(np.where(both, rows, 0.0), numbers, count)
    with np.errstate(all="ignore"):
        return np.where(below > 0, total(np.where(both, over, 0.0), numbers, count) / below, np.nan)
