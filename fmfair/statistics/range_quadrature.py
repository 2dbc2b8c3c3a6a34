"""The integrals behind the range of independent normal values, for many families at once.

Families come as a matrix, one row of standard deviations each, scaled so that the largest is 1. The integrands bend
within the smallest standard deviation and die out within the largest, which may be thousands of times as large. So `x`
runs as `centre + smallest * sinh(u)`, which gives every scale in between its share of points, and Gauss and Legendre's
rule with few of them is exact to 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
from scipy import special

from fmfair.statistics.families import chunks
from fmfair.statistics.interval import FloatArray, IntArray
from fmfair.statistics.quantiles import normal_quantile, studentized_range_quantile

_REACH = 8.3  # standard deviations: what lies outside has a probability of 1e-16
_SMALLEST = 1e-8  # a smaller standard deviation, next to the largest, is taken for this
_BEYOND = 60.0  # no range of standard deviations up to 1 exceeds this
_WIDE = 0.3  # a group that is moved and is narrower than this needs points of its own
_NOTHING = 1e-290  # a smaller probability has lost digits, and makes the product nothing
_MOST_STEPS = 60
_ROUGH, _FINE = 1e-3, 2e-5  # a Newton step of this size leaves an error of about its square
_STRAIGHT = 1e-4  # and a secant step on a nearly straight curve one of a thousandth of it


def mean_range(spread: FloatArray) -> FloatArray:
    """The mean range of each family.

    Args:
        spread: Standard deviations, one family a row.

    Returns:
        NaN where all standard deviations are 0.
    """
    mean: FloatArray = _by_scale(_mean, spread) * spread.max(axis=1)
    return mean


def probability_within(spread: FloatArray, r: FloatArray) -> FloatArray:
    """The probability of a range of at most r, one r per family; NaN as in `mean_range` and where r is."""
    return np.where(np.isnan(r), np.nan, _by_scale(_probability, spread, np.where(np.isnan(r), 0.0, r)))


def quantile(spread: FloatArray, probability: float) -> FloatArray:
    """The range that each family stays within with a probability; NaN as in `mean_range`."""
    k = spread.shape[1]
    equals = np.ones((1, k))
    # A family of unequal groups is much like one of equal groups with the same mean range.
    ratio = float(studentized_range_quantile(probability, k)) / mean_range(equals)[0]

    def solve(points: int, within: FloatArray) -> FloatArray:
        guess = ratio * _mean(points, within)
        rough = _solve(points // 2, within, guess, probability, _ROUGH)
        return _solve(points, within, rough, probability, _FINE)

    found: FloatArray = _by_scale(solve, spread) * spread.max(axis=1)
    return found


def detectable_shift(spread: FloatArray, threshold: FloatArray, power: float) -> FloatArray:
    """How far apart the last two groups must lie for the range to exceed a threshold with a power.

    Args:
        spread: Standard deviations, one family a row, rising.
        threshold: One per family, which equal groups exceed less often than that.
        power: The probability wanted.

    Returns:
        One distance per family, with the other groups in the middle; NaN as in `mean_range`.
    """

    def solve(points: int, within: FloatArray, limit: FloatArray) -> FloatArray:
        return _shift(2 * points // 3, within, limit, float(normal_quantile(power)))

    found = np.full(len(spread), np.nan)
    wide = spread[:, -2] >= _WIDE * spread[:, -1]
    for alike in (wide, ~wide):
        found[alike] = _by_scale(solve, spread[alike], threshold[alike]) * spread[alike, -1]
    return found


def _by_scale(task: Callable[..., FloatArray], spread: FloatArray, *given: FloatArray) -> FloatArray:
    """Run a task on families scaled so that the largest standard deviation is 1, alike ones together.

    Args:
        task: Takes the number of points, the standard deviations and the given values, both scaled.
        spread: Standard deviations, one family a row.
        given: Further values on the same scale, one per family.

    Returns:
        What the task returns, NaN where all standard deviations are 0.
    """
    largest = spread.max(axis=1)
    result = np.full(len(spread), np.nan)
    within = np.maximum(spread / np.where(largest > 0, largest, 1.0)[:, None], _SMALLEST)
    counts = _points(within)
    for points in np.unique(counts):
        for part in chunks(np.flatnonzero((counts == points) & (largest > 0)), 2 * int(points) * spread.shape[1]):
            with np.errstate(over="ignore"):
                values = [np.minimum(value[part] / largest[part], _BEYOND) for value in given]
            result[part] = task(int(points), within[part], *values)
    return result


def _points(spread: FloatArray) -> IntArray:
    """How many points each half of the line needs: more for unequal families and for large ones; in steps of 8."""
    needed = 14 - 5 * np.log(spread.min(axis=1)) + 3 * np.log(spread.shape[1])
    counts: IntArray = 8 * np.ceil(needed / 8).astype(np.int64)
    return counts


@cache
def _gauss(points: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights of Gauss and Legendre on [0, 1]."""
    x, weight = np.polynomial.legendre.leggauss(points)
    return (x + 1) / 2, weight / 2


def _stretch(points: int, smallest: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points and weights from 0 to an end, densest at 0, one row per family."""
    x, weight = _gauss(points)
    last = np.arcsinh(end / smallest)[:, None]
    u = last * x
    return smallest[:, None] * np.sinh(u), smallest[:, None] * np.cosh(u) * last * weight


def _mean(points: int, spread: FloatArray) -> FloatArray:
    """The mean range."""
    x, weight = _stretch(points, spread.min(axis=1), np.full(len(spread), _REACH))
    below = special.ndtr(x[:, None, :] / spread[:, :, None])
    beyond = 1 - below.prod(axis=1) - (1 - below).prod(axis=1)
    return np.asarray(2 * np.einsum("fq,fq->f", beyond, weight))


def _half_line(points: int, spread: FloatArray, marks: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points and weights from 0 to an end, densest to both sides of each mark; marks rise along the rows."""
    smallest = spread.min(axis=1)
    pieces = [(marks[:, 0], -1.0, marks[:, 0]), (marks[:, -1], 1.0, end - marks[:, -1])]
    for left, right in pairwise(marks.T):
        half = (right - left) / 2
        pieces += [(left, 1.0, half), (right, -1.0, half)]
    x, weight = zip(*(_stretch(points, smallest, length) for _, _, length in pieces), strict=True)
    placed = [start[:, None] + sign * away for (start, sign, _), away in zip(pieces, x, strict=True)]
    return np.concatenate(placed, axis=1), np.concatenate(weight, axis=1)


def _within(
    x: FloatArray, spread: FloatArray, r: FloatArray, shift: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """At middle x: the probability that all groups are within r / 2 of it, and what makes one of them an end.

    Returns:
        The product of the probabilities, f x q; and for each group, f x k x q, its density at the lower end and at the
        upper end over its probability.
    """
    half, sd = r[:, None, None] / 2, spread[:, :, None]
    centred = x[:, None, :] if shift is None else x[:, None, :] - shift[:, :, None]
    lower, upper = (centred - half) / sd, (centred + half) / sd
    between = special.ndtr(-lower) - special.ndtr(-upper)
    some = between > _NOTHING
    share = np.where(some, 1 / (sd * np.sqrt(2 * np.pi)), 0.0) / np.where(some, between, 1.0)
    return between.prod(axis=1), np.exp(-lower * lower / 2) * share, np.exp(-upper * upper / 2) * share


def _distribution(points: int, spread: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The probability of a range of at most r, and its density there."""
    x, weight = _half_line(points, spread, r[:, None] / 2, r / 2 + _REACH)
    together, smallest, largest = _within(x, spread, r)
    low, high = smallest.sum(axis=1), largest.sum(axis=1)
    weighted = together * weight
    density = 2 * (weighted * (low * high - np.einsum("fkq,fkq->fq", smallest, largest))).sum(axis=1)
    return (weighted * (low + high)).sum(axis=1), density


def _probability(points: int, spread: FloatArray, r: FloatArray) -> FloatArray:
    return _distribution(points, spread, r)[0]


def _shifted_probability(points: int, spread: FloatArray, r: FloatArray, distance: FloatArray) -> FloatArray:
    """The probability of a range of at most r when the last two groups lie a distance apart, the others between."""
    shift = np.zeros_like(spread)
    shift[:, -2], shift[:, -1] = -distance / 2, distance / 2
    marks, end = r[:, None] / 2, (r + distance) / 2 + _REACH
    if spread[:, -2].min() < _WIDE:
        marks = np.sort(np.abs(np.stack([r - distance, r, r + distance], axis=1)), axis=1) / 2
    x, weight = _half_line(points, spread, marks, end)
    result = np.zeros(len(spread))
    for side in (x, -x):
        together, smallest, largest = _within(side, spread, r, shift)
        result += (together * weight * (smallest.sum(axis=1) + largest.sum(axis=1))).sum(axis=1) / 2
    return result


def _probit(probability: FloatArray) -> FloatArray:
    """The normal quantile, finite also where rounding has left nothing or all."""
    return normal_quantile(np.clip(probability, 1e-300, 1 - 1e-16))


def _solve(points: int, spread: FloatArray, guess: FloatArray, probability: float, step: float) -> FloatArray:
    """Newton's method for a quantile, on the probit scale where its distribution is nearly straight."""
    wanted = float(normal_quantile(probability))
    low, high, r = np.zeros_like(guess), np.full_like(guess, _BEYOND), guess
    for _ in range(_MOST_STEPS):
        reached, density = _distribution(points, spread, r)
        score = _probit(reached)
        low, high = np.where(score < wanted, r, low), np.where(score < wanted, high, r)
        with np.errstate(all="ignore"):
            new = r - (score - wanted) * np.exp(-score * score / 2) / np.sqrt(2 * np.pi) / density
        new = np.where((new >= low) & (new <= high), new, (low + high) / 2)
        settled, r = bool(np.all(np.abs(new - r) <= step * r)), new
        if settled:
            break
    return r


def _shift(points: int, spread: FloatArray, limit: FloatArray, wanted: float) -> FloatArray:
    """The secant method for the distance of the last two groups, on the probit scale, from above."""
    apart = np.hypot(spread[:, -2], spread[:, -1])

    def score(distance: FloatArray) -> FloatArray:
        return -_probit(_shifted_probability(points, spread, limit, distance)) - wanted

    last = limit + wanted * apart  # at this distance the two alone have the power
    reached = score(last)
    distance = last - reached * apart
    for _ in range(_MOST_STEPS):
        new = score(distance)
        with np.errstate(all="ignore"):
            step = new * (distance - last) / (new - reached)
        step = np.where(np.isfinite(step), step, 0.0)
        last, reached, distance = distance, new, distance - step
        if np.all(np.abs(step) <= _STRAIGHT * last):
            break
    return distance
