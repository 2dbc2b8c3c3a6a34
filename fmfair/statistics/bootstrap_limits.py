"""Intervals from bootstrap replicates: percentile, and bias-corrected and accelerated (BCa)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.interval import BoolArray, FloatArray, IntArray, floats
from fmfair.statistics.quantiles import normal_cdf, normal_quantile

MOST_DROPPED = 0.05  # the share of undefined replicates above which there is no interval
_TIE = 1e-9  # sums of floats that should be equal differ in their last digits
_NO_WIDTH = 1e-12


class BootstrapInterval(NamedTuple):
    """Limits, NaN in both where there is none; undefined replicates; where BCa gave way to the percentile interval."""

    low: FloatArray
    high: FloatArray
    dropped: IntArray
    fell_back: BoolArray


def percentile(replicates: ArrayLike, level: ArrayLike = 0.95) -> BootstrapInterval:
    """The quantiles of the replicates that leave out as much on each side, interpolated linearly (type 7).

    Args:
        replicates: Along axis 0, of any number of values beside each other; NaN for an undefined replicate.
        level: Of confidence, above 0 and below 1; one for all, or of the shape of one replicate.

    Returns:
        Of the shape of one replicate. NaN where more than 5 % of the replicates are undefined, and where the limits
        are equal: replicates that never move (an AUC of 1) say nothing of the spread.

    Examples:
        >>> interval = percentile(np.arange(101.0))
        >>> print(np.round(interval.low, 6), np.round(interval.high, 6), interval.dropped)
        2.5 97.5 0
    """
    ordered, valid = _ordered(replicates)
    tail = _tail(level, valid)
    low, high = _limits(ordered, valid, tail, 1 - tail)
    return BootstrapInterval(low, high, len(ordered) - valid, np.zeros(valid.shape, dtype=bool))


def bca(
    replicates: ArrayLike, estimate: ArrayLike, acceleration: ArrayLike, level: ArrayLike = 0.95
) -> BootstrapInterval:
    """The bias-corrected and accelerated interval (Efron 1987).

    The quantiles at `Phi(z0 + (z0 + z) / (1 - a (z0 + z)))`, where z0 is the normal quantile of the share of the
    replicates below the estimate, ties to 1e-9 counted half.

    Args:
        replicates: Along axis 0, of any number of values beside each other; NaN for an undefined replicate.
        estimate: Of the shape of one replicate.
        acceleration: `sum U³ / (6 (sum U²)^1.5)` over the influence values, of the shape of one replicate.
        level: Of confidence, above 0 and below 1; one for all, or of the shape of one replicate.

    Returns:
        As `percentile`, whose limits stand, marked, where all replicates lie on one side of the estimate, the
        acceleration is undefined, or it is so large that the levels are.

    Examples:
        >>> interval = bca(np.arange(101.0), 50.0, 0.0)
        >>> print(np.round(interval.low, 6), np.round(interval.high, 6), interval.fell_back)
        2.5 97.5 False
    """
    ordered, valid = _ordered(replicates)
    value, a = (np.broadcast_to(x, valid.shape) for x in floats(estimate, acceleration))
    tail = _tail(level, valid)
    with np.errstate(all="ignore"):
        z0 = normal_quantile(_share_below(ordered, value) / valid)
        z = normal_quantile(tail)
        lower, upper = ((z0 + side) / (1 - a * (z0 + side)) for side in (z, -z))
        usable = np.isfinite(z0) & (1 - a * (z0 + z) > 0) & (1 - a * (z0 - z) > 0)
    low_at, high_at = (
        np.where(usable, normal_cdf(np.where(usable, z0 + move, 0.0)), plain)
        for move, plain in ((lower, tail), (upper, 1 - tail))
    )
    low, high = _limits(ordered, np.where(np.isnan(value), 0, valid), low_at, high_at)
    return BootstrapInterval(low, high, len(ordered) - valid, ~usable & ~np.isnan(low))


def percentile_p(replicates: ArrayLike, of: float = 0.0) -> FloatArray:
    """The p value that goes with `percentile`: that the true value is a given one, such as a difference of 0.

    Args:
        replicates: Along axis 0, of any number of values beside each other; NaN for an undefined replicate.
        of: The value.

    Returns:
        `2 min(1 + #{t <= of}, 1 + #{t >= of}) / (B + 1)`, at most 1: never below `2 / (B + 1)`. NaN where more than
        5 % of the replicates are undefined.

    Examples:
        >>> percentile_p(np.array([[0.1, -0.1], [0.2, 0.0], [0.3, 0.2]])).tolist()
        [0.5, 1.0]
    """
    below, above = _tails(np.asarray(replicates, dtype=np.float64), of)
    return np.asarray(np.minimum(2 * np.minimum(below, above), 1.0))


def bca_p(replicates: ArrayLike, estimate: ArrayLike, acceleration: ArrayLike, of: float = 0.0) -> FloatArray:
    """The p value that goes with `bca`: 1 less the level at which a limit touches a given value, such as 0.

    Args:
        replicates: Along axis 0, of any number of values beside each other; NaN for an undefined replicate.
        estimate: Of the shape of one replicate.
        acceleration: As `bca` takes it.
        of: The value.

    Returns:
        As `percentile_p`, which stands where BCa is undefined.

    Examples:
        >>> values = np.linspace(-0.2, 0.8, 999)
        >>> print(f"{bca_p(values, 0.3, 0.0):.3f} {percentile_p(values):.3f}")
        0.401 0.402
    """
    ordered, valid = _ordered(replicates)
    value, a = (np.broadcast_to(x, valid.shape) for x in floats(estimate, acceleration))
    least = 2 / (valid + 1)
    below, above = _tails(ordered, of)
    with np.errstate(all="ignore"):
        z0 = normal_quantile(_share_below(ordered, value) / valid)
        away = normal_quantile((below + 1 - above) / 2) - z0  # ties with the value counted half
        p = 2 * normal_cdf(-np.abs(away / (1 + a * away) - z0))
        p = np.where(1 + a * away > 0, np.maximum(p, least), least)
    return np.where(np.isfinite(z0) & ~np.isnan(a + below), p, percentile_p(ordered, of))


def _tails(replicates: FloatArray, of: float) -> tuple[FloatArray, FloatArray]:
    """The shares of the replicates at most, and at least, a value, itself counted as one of them; NaN if unusable."""
    known = np.isfinite(replicates)
    valid = np.asarray(known.sum(axis=0), dtype=np.int64)
    counts = ((known & side).sum(axis=0) for side in (replicates <= of, replicates >= of))
    usable = _enough(valid, len(replicates))
    below, above = (np.where(usable, (1 + count) / (valid + 1), np.nan) for count in counts)
    return below, above


def _enough(valid: IntArray, count: int) -> BoolArray:
    return np.asarray((valid > 0) & (count - valid <= MOST_DROPPED * count))


def _tail(level: ArrayLike, valid: IntArray) -> FloatArray:
    return np.broadcast_to((1 - np.asarray(level, dtype=np.float64)) / 2, valid.shape)


def _ordered(replicates: ArrayLike) -> tuple[FloatArray, IntArray]:
    """The replicates in rising order, the undefined ones last, and the number of the others."""
    given = np.asarray(replicates, dtype=np.float64)
    ordered = np.sort(np.where(np.isfinite(given), given, np.nan), axis=0)
    return ordered, np.asarray((~np.isnan(ordered)).sum(axis=0), dtype=np.int64)


def _share_below(ordered: FloatArray, value: FloatArray) -> FloatArray:
    near = _TIE * np.maximum(1.0, np.abs(value))
    below, not_above = (ordered < value - near).sum(axis=0), (ordered <= value + near).sum(axis=0)
    return np.asarray((below + not_above) / 2)


def _limits(
    ordered: FloatArray, valid: IntArray, low_at: FloatArray, high_at: FloatArray
) -> tuple[FloatArray, FloatArray]:
    low, high = _quantile(ordered, valid, low_at), _quantile(ordered, valid, high_at)
    kept = _enough(valid, len(ordered)) & (high - low > _NO_WIDTH)
    return np.where(kept, low, np.nan), np.where(kept, high, np.nan)


def _quantile(ordered: FloatArray, valid: IntArray, at: FloatArray) -> FloatArray:
    """Type 7: linear between the two neighbours of position `at (valid - 1)`."""
    if not len(ordered):
        return np.full(valid.shape, np.nan)
    place = np.maximum(at * (valid - 1), 0.0)
    before = np.floor(place).astype(np.int64)
    after = np.minimum(before + 1, np.maximum(valid - 1, 0))
    left, right = (np.take_along_axis(ordered, index[None], axis=0)[0] for index in (before, after))
    return np.asarray(left + (right - left) * (place - before))
