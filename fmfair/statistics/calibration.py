"""What an expected calibration error (ECE) would be without miscalibration, the ECE without its bias, and a test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from fmfair.statistics.interval import FloatArray, Interval, floats, where_defined
from fmfair.statistics.quantiles import normal_critical

_CELLS_AT_ONCE = 256


class ScoreBins(NamedTuple):
    """Sums over the rows of each score bin of each cell, in any order; empty bins may be left out.

    With weights w, `n` is their sum, `positives` and `scores` are weighted sums, `variance` is the sum of w² p (1 - p)
    and `effective` (sum w)² / sum w²; without, `effective` is `n`. A bin of a cell is there once at most.
    """

    n: FloatArray
    positives: FloatArray  # sum of y
    scores: FloatArray  # sum of p
    variance: FloatArray  # sum of p (1 - p): of the sum of y if the scores are right
    effective: FloatArray
    cell: NDArray[np.integer]  # number of the cell that the bin belongs to, from 0
    bin: NDArray[np.integer]  # number of the bin within its cell, from 0


def expected_ece(bins: ScoreBins, cells: int) -> FloatArray:
    """The mean ECE of as many rows with these scores, were every score the true probability.

    `sqrt(2 / pi) / N * sum over bins of sqrt(sum of p (1 - p))`: the mean size of a normal deviation in each bin.

    Args:
        bins: Of all cells together.
        cells: Number of cells.

    Returns:
        One value from 0 to 1 per cell; NaN for a cell without rows.

    Examples:
        >>> n, cell, bin_ = np.array([5.0, 5.0]), np.array([0, 0]), np.array([2, 8])
        >>> bins = ScoreBins(n, n * [0.2, 0.8], n * [0.2, 0.8], n * 0.16, n, cell, bin_)
        >>> print(expected_ece(bins, 1).round(6), debiased_ece(bins, 1).round(6), debiased_squared(bins, 1).round(6))
        [0.14273] [0.] [-0.04]
    """
    spread = np.sqrt(np.maximum(bins.variance, 0.0))
    return _per_cell(bins, cells, np.sqrt(2 / np.pi) * spread)


def debiased_ece(bins: ScoreBins, cells: int) -> FloatArray:
    """The ECE less the bias that the chance of each bin gives it, at least 0.

    Per bin `2 |d| - F(|d|, s)`, where F is the mean of a normal around |d| folded at 0 and s the standard error of the
    share of positives: the idea of Kumar, Liang & Ma (2019) for absolute differences, in closed form. About 40 % of
    the bias goes when the model is calibrated, nearly all of it when it is not.

    Args:
        bins: Of all cells together.
        cells: Number of cells.

    Returns:
        One value from 0 to 1 per cell; NaN for a cell without rows.
    """
    size, error = np.abs(_deviation(bins)), np.sqrt(_share_variance(bins))
    known = error == 0
    scaled = size / np.where(known, 1.0, error)
    with np.errstate(under="ignore", over="ignore"):
        folded = error * np.sqrt(2 / np.pi) * np.exp(-scaled * scaled / 2) + size * (1 - 2 * special.ndtr(-scaled))
    return np.maximum(_per_cell(bins, cells, bins.n * (2 * size - np.where(known, size, folded))), 0.0)


def debiased_squared(bins: ScoreBins, cells: int) -> FloatArray:
    """The mean squared calibration error without bias: Bröcker 2012, Ferro & Fricker 2012, Kumar, Liang & Ma 2019.

    `sum over bins of n / N (d² - share (1 - share) / (n - 1))` over the bins of 2 rows or more.

    Args:
        bins: Of all cells together.
        cells: Number of cells.

    Returns:
        One value per cell, below 0 as often as above for a calibrated model; NaN for a cell without a bin of 2 rows.
    """
    several = bins.effective >= 2
    terms = bins.n * np.where(several, _deviation(bins) ** 2 - _share_variance(bins), 0.0)
    any_several = np.bincount(bins.cell, weights=several & (bins.n > 0), minlength=cells) > 0
    return np.where(any_several, _per_cell(bins, cells, terms), np.nan)


def calibration_p(bins: ScoreBins, cells: int, *, seed: int, draws: int = 2000) -> FloatArray:
    """The p value of perfect calibration: how often chance alone gives an ECE as large.

    In each draw the sum of y of a bin is normal around its sum of p with variance `sum of p (1 - p)`. The normal
    numbers belong to the seed, the draw and the number of the bin: all cells see the same, whatever their order.

    Args:
        bins: Of all cells together.
        cells: Number of cells.
        seed: Of the draws.
        draws: How many; the p value is a multiple of 1 / (draws + 1).

    Returns:
        One p value per cell; NaN for a cell without rows.

    Examples:
        >>> n, cell, bin_ = np.array([50.0, 50.0]), np.array([0, 0]), np.array([2, 8])
        >>> bins = ScoreBins(n, n * 0.4, n * [0.2, 0.8], n * 0.16, n, cell, bin_)
        >>> print(calibration_p(bins, 1, seed=1).round(6))
        [0.0005]
    """
    n, observed = _total(bins, cells, bins.n), _total(bins, cells, np.abs(bins.positives - bins.scores))
    kinds = int(bins.bin.max(initial=-1)) + 1
    noise = np.abs(np.random.Generator(np.random.Philox(seed)).standard_normal((kinds, draws)))
    spread = np.zeros((cells, kinds))
    spread[bins.cell, bins.bin] = np.sqrt(np.maximum(bins.variance, 0.0))
    reached = np.empty(cells)
    for start in range(0, cells, _CELLS_AT_ONCE):
        some = slice(start, start + _CELLS_AT_ONCE)
        # What differs by rounding alone is as large.
        reached[some] = (spread[some] @ noise >= (observed - 1e-12 * n)[some, None]).sum(axis=1)
    return np.where(n > 0, (1 + reached) / (draws + 1), np.nan)


def debiased_ece_interval(
    debiased: FloatArray, standard_deviation: FloatArray, p: FloatArray, level: ArrayLike = 0.95
) -> Interval:
    """`debiased -+ z sd` cut to [0, 1], from 0 where the test of calibration finds nothing at this level.

    Args:
        debiased: From `debiased_ece`.
        standard_deviation: Of its bootstrap replicates.
        p: From `calibration_p`.
        level: Of confidence, from 0 to 1; one for all or one for each.

    Returns:
        NaN where the standard deviation is 0 or undefined.

    Examples:
        >>> print(*debiased_ece_interval(np.array([0.1, 0.1]), np.array([0.02, 0.02]), np.array([0.01, 0.2])))
        [0.06080072 0.        ] [0.13919928 0.13919928]
    """
    value, deviation, p_ = floats(debiased, standard_deviation, p)
    reach = normal_critical(level) * deviation
    low = np.where(p_ >= 1 - np.asarray(level), 0.0, np.maximum(value - reach, 0.0))
    return where_defined((deviation > 0) & ~np.isnan(p_), low, np.minimum(value + reach, 1.0))


def _deviation(bins: ScoreBins) -> FloatArray:
    """Share of positives less mean score; 0 in an empty bin, which counts for nothing."""
    return (bins.positives - bins.scores) / np.where(bins.n > 0, bins.n, np.inf)


def _share_variance(bins: ScoreBins) -> FloatArray:
    """Of the share of positives, without bias; 0 in a bin of one row, where nothing is known of it."""
    share = bins.positives / np.where(bins.n > 0, bins.n, np.inf)
    return np.maximum(share * (1 - share), 0.0) / np.where(bins.effective > 1, bins.effective - 1, np.inf)


def _total(bins: ScoreBins, cells: int, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(bins.cell, weights=values, minlength=cells), dtype=np.float64)


def _per_cell(bins: ScoreBins, cells: int, values: FloatArray) -> FloatArray:
    n = _total(bins, cells, bins.n)
    return np.where(n > 0, _total(bins, cells, values) / np.where(n > 0, n, 1.0), np.nan)
