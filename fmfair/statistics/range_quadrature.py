"""The integrals behind the range of independent normal values, for many families at once.

Families come as a matrix, one row of standard deviations each, scaled so that the largest is 1. The integrands are
smooth and die out at both ends, where the trapezoid rule converges faster than any power of its step. They bend within
the smallest standard deviation at two places, `c` to both sides of the middle, and elsewhere within the others, which
may be thousands of times as large. So `x` runs as `tanh(v) sqrt(c^2 + w^2 cosh(v)^2)`: evenly spaced `v` are `x` whose
distances grow from a share of `w` as they go away from the two places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy import special

from fmfair.statistics.families import chunks
from fmfair.statistics.interval import BoolArray, FloatArray
from fmfair.statistics.quantiles import normal_quantile, studentized_range_quantile

_REACH = 5.8  # standard deviations: what lies outside has a probability below 1e-9
_FAR_REACH = 8.3  # and here of 1e-16
_SMALLEST = 1e-8  # a smaller standard deviation, next to the largest, is taken for this
_ALIKE = 1e-12  # standard deviations this much apart, next to the largest, are equal
_BEYOND = 60.0  # no range of standard deviations up to 1 exceeds this
_RATIO = 100.0  # of the largest standard deviation to the smallest, from which families are worked on apart
_WIDTH = 1.5  # times the smallest standard deviation: the w of the substitution
_WIDE = 0.15  # a second largest standard deviation below this leaves the middle groups no room
_BIT = 3e-3  # of a distance, for a slope by differences
_NOTHING = 1e-140  # a smaller probability makes the product nothing
_MOST_STEPS = 60
_COARSE, _TAIL, _EXACT = 2.1, 0.8, 0.6  # times the usual step: for a guess, quantiles far out, and small p values
_NEAR, _CLOSE = 0.01, 1e-3  # on the probit scale: Newton's step from here is exact, and with its curvature from here
_ROOT = np.sqrt(2 * np.pi)


def mean_range(spread: FloatArray) -> FloatArray:
    """The mean range of each family.

    Args:
        spread: Standard deviations, one family a row.

    Returns:
        NaN where all standard deviations are 0.
    """
    mean: FloatArray = _in_chunks(_mean, spread) * spread.max(axis=1)
    return mean


def probability_within(spread: FloatArray, r: FloatArray) -> FloatArray:
    """The probability of a range of at most r, one r per family; NaN as in `mean_range` and where r is."""
    return np.where(np.isnan(r), np.nan, _in_chunks(_probability, spread, np.where(np.isnan(r), 0.0, r)))


def quantile(spread: FloatArray, probability: float, count: FloatArray | None = None) -> FloatArray:
    """The range that each family stays within with a probability; NaN as in `mean_range`.

    Args:
        spread: Standard deviations, one family a row.
        probability: Above 0 and below 1.
        count: How many groups each of them stands for; one where left out.
    """
    wanted = float(normal_quantile(probability))
    finer = 1.0 if 0.02 < probability < 0.98 else _TAIL

    def solve(groups: _Groups) -> FloatArray:
        def score(these: BoolArray, r: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
            return _probit(*_distribution(groups.of(these), r, step * finer), wanted)

        return _solve(score, _much_like_equals(groups, probability))

    largest = spread.max(axis=1)
    equal = spread.min(axis=1) > largest * (1 - _ALIKE)
    found = np.full(len(spread), np.nan)
    if equal.any():
        found[equal] = studentized_range_quantile(probability, _number(spread, count)[equal])
    found[~equal] = _in_chunks(solve, spread[~equal], count=None if count is None else count[~equal])
    return np.asarray(found * largest)


def detectable_shift(
    spread: FloatArray, threshold: FloatArray, power: float, count: FloatArray | None = None
) -> FloatArray:
    """How far apart the last two groups must lie for the range to exceed a threshold with a power.

    Args:
        spread: Standard deviations, one family a row, rising.
        threshold: One per family, which equal groups exceed less often than that.
        power: The probability wanted.
        count: How many groups each standard deviation stands for, the last two for one; one where left out.

    Returns:
        One distance per family, with the other groups in the middle; NaN as in `mean_range`.
    """
    wanted = -float(normal_quantile(power))

    def solve(groups: _Groups, limit: FloatArray) -> FloatArray:
        def score(these: BoolArray, distance: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
            moved = partial(_shifted, groups.of(these), limit[these], step=step)
            reached, change = moved(distance)
            if groups.sd[-2].min() < _WIDE:  # the terms of the change are huge and cancel
                change = (moved(distance * (1 + _BIT))[0] - moved(distance * (1 - _BIT))[0]) / (2 * _BIT * distance)
            return _probit(reached, change, wanted)

        # At this distance the two alone have the power.
        return _solve(score, limit - wanted * np.hypot(groups.sd[-2], groups.sd[-1]))

    found = np.full(len(spread), np.nan)
    wide = spread[:, -2] >= _WIDE * spread[:, -1]
    for alike in (wide, ~wide):
        part = None if count is None else count[alike]
        found[alike] = _in_chunks(solve, spread[alike], threshold[alike], count=part) * spread[alike, -1]
    return found


@dataclass(frozen=True)
class _Groups:
    """The groups of families.

    Attributes:
        sd: Standard deviations, one family a column.
        count: How many groups each stands for; None where it is one.
    """

    sd: FloatArray
    count: FloatArray | None

    def of(self, families: BoolArray) -> _Groups:
        """Those of some of the families."""
        return _Groups(self.sd[:, families], None if self.count is None else self.count[:, families])

    @property
    def number(self) -> FloatArray:
        """How many groups each family has."""
        return _number(self.sd.T, None if self.count is None else self.count.T)

    def total(self, values: FloatArray) -> FloatArray:
        """The sum of a value per group."""
        found: FloatArray = (values if self.count is None else values * _beside(self.count, values)).sum(axis=0)
        return found

    def product(self, values: FloatArray) -> FloatArray:
        """The product of a value per group."""
        found: FloatArray = (values if self.count is None else values ** _beside(self.count, values)).prod(axis=0)
        return found


def _number(spread: FloatArray, count: FloatArray | None) -> FloatArray:
    return np.full(len(spread), float(spread.shape[1])) if count is None else count.sum(axis=1)


def _beside(count: FloatArray, values: FloatArray) -> FloatArray:
    """Counts as values of more dimensions want them."""
    return count.reshape(count.shape + (1,) * (values.ndim - count.ndim))


def _in_chunks(
    task: Callable[..., FloatArray], spread: FloatArray, *given: FloatArray, count: FloatArray | None = None
) -> FloatArray:
    """Run a task on families scaled so that the largest standard deviation is 1, alike ones together.

    Args:
        task: Takes the groups, and the given values, both scaled.
        spread: Standard deviations, one family a row.
        given: Further values on the same scale, one per family.
        count: How many groups each standard deviation stands for.

    Returns:
        What the task returns, NaN where all standard deviations are 0.
    """
    largest = spread.max(axis=1)
    result = np.full(len(spread), np.nan)
    within = np.maximum(spread / np.where(largest > 0, largest, 1.0)[:, None], _SMALLEST)
    smallest = within.min(axis=1)
    even = smallest > 1 / _RATIO  # the others take many more points
    for some, points in ((even, 20), (~even, 60)):
        order = np.flatnonzero(some & (largest > 0))
        order = order[np.argsort(-smallest[order], kind="stable")]
        for part in chunks(order, points * spread.shape[1], 1 << 14):
            counts = None if count is None else np.ascontiguousarray(count[part].T)
            groups = _Groups(np.ascontiguousarray(within[part].T), counts)
            with np.errstate(over="ignore", under="ignore"):
                result[part] = task(groups, *(np.minimum(value[part] / largest[part], _BEYOND) for value in given))
    return result


@cache
def _equals(probability: float) -> tuple[FloatArray, FloatArray]:
    """Quantiles of the range of equal groups, by the logarithm of their number."""
    k = 2 ** np.arange(0.0, 12.0, 0.25) * 2
    return np.log(k), studentized_range_quantile(probability, k)


def _much_like_equals(groups: _Groups, probability: float) -> FloatArray:
    """Nearly the quantile of the range: that of fewer equal groups with the same sums of two powers."""
    # Found by trial, to within a twentieth: the further out, the more the largest of many groups decide.
    power = probability**0.8 * (1.05 + 0.4 * np.log(groups.number))
    raised = groups.sd**power
    total, twice = groups.total(raised), groups.total(raised * raised)
    number = total * total / twice
    scale = (twice / total) ** (1 / power) * np.sqrt(np.minimum(number / 2, 1.0))
    return np.asarray(scale * np.interp(np.log(number), *_equals(probability)))


class _Line(NamedTuple):
    """Points and weights of a half line from its middle, one family a row."""

    x: FloatArray
    weight: FloatArray


def _half_line(groups: _Groups, c: FloatArray, end: FloatArray, step: float) -> _Line:
    """Points from 0 to an end, densest at c; a step of 1 is enough for 1e-8."""
    smallest = groups.sd.min(axis=0)
    w = _WIDTH * smallest
    last = (np.arcsinh((end - c) / w) + np.arcsinh((end + c) / w)) / 2
    # How fine the steps must be was found by trial, with 3 to 50 groups and ratios up to 1,000.
    density = (2.9 + 1.05 * np.sqrt(groups.number)) * (1 + 0.18 * np.minimum(-np.log(smallest), 4.2)) / step
    points = int(np.ceil((last * density).max())) + 1
    h = last[:, None] / (points - 1)
    v = h * np.arange(points)
    cosh, tanh = np.cosh(v), np.tanh(v)
    root = np.sqrt((c * c)[:, None] + (w[:, None] * cosh) ** 2)
    weight = h * (root / cosh**2 + (w[:, None] * cosh * tanh) ** 2 / root)
    weight[:, 0] /= 2
    return _Line(tanh * root, weight)


def _mean(groups: _Groups) -> FloatArray:
    """The mean range."""
    families = groups.sd.shape[1]
    x, weight = _half_line(groups, np.zeros(families), np.full(families, _FAR_REACH), 1.0)
    z = x / groups.sd[:, :, None]
    beyond = 1 - groups.product(special.ndtr(z)) - groups.product(special.ndtr(-z))
    return np.asarray(2 * (beyond * weight).sum(axis=1))


class _Within(NamedTuple):
    """At each middle x: what makes the range fit in a window around it.

    Attributes:
        together: The probability that all groups are in the window, f x q.
        near: The density of each group at the end of the window on its side of it over its probability, k x f x q.
        far: That at the other end.
        z_near: How many standard deviations within the near end the middle is.
        z_far: How many within the far end.
    """

    together: FloatArray
    near: FloatArray
    far: FloatArray
    z_near: FloatArray
    z_far: FloatArray


def _exponential(z: FloatArray, share: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """The density at z without its constant, times a share; in place, as this takes a third of all the time."""
    found: FloatArray = np.multiply(z, z, out=out)
    found *= -0.5
    np.exp(found, out=found)
    found *= share
    return found


def _within(away: FloatArray, groups: _Groups, c: FloatArray) -> _Within:
    """For middles that are so far away (not below 0) from the centre of each group, with c to both sides."""
    precision = 1 / groups.sd[:, :, None]
    bound, z_far = c[:, None] * precision, away * precision
    z_near = bound - z_far
    z_far += bound
    between = special.ndtr(z_near)
    far = np.negative(z_far)
    between -= special.ndtr(far, out=far)
    share = np.maximum(between, _NOTHING)
    np.divide(precision / _ROOT, share, out=share)
    near = _exponential(z_near, share)
    far = _exponential(z_far, share, far)
    return _Within(groups.product(between), near, far, z_near, z_far)


def _together(groups: _Groups) -> FloatArray:
    """The scale on which all groups at once leave a window."""
    return np.asarray(1 / np.sqrt(groups.total(1 / groups.sd**2)))


def _distribution(groups: _Groups, r: FloatArray, step: float, reach: float = _REACH) -> tuple[FloatArray, FloatArray]:
    """The probability of a range of at most r, and its density there."""
    c = r / 2
    x, weight = _half_line(groups, c, c + reach * _together(groups), step)
    found = _within(x, groups, c)
    low, high = groups.total(found.near), groups.total(found.far)
    weighted = found.together * weight
    near = found.near if groups.count is None else found.near * groups.count[:, :, None]
    both = np.einsum("kfq,kfq->fq", near, found.far)
    return (weighted * (low + high)).sum(axis=1), 2 * (weighted * (low * high - both)).sum(axis=1)


def _probability(groups: _Groups, r: FloatArray) -> FloatArray:
    return _distribution(groups, r, _EXACT, _FAR_REACH)[0]


def _shifted(groups: _Groups, r: FloatArray, distance: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """The probability of a range of at most r with the last two groups a distance apart, and how it changes with it."""
    c, half = r / 2, distance / 2
    spread = groups.sd
    if spread[-2].min() >= _WIDE:
        others = _Groups(spread[:-2], None if groups.count is None else groups.count[:-2])
        middle, mark, reach = np.zeros_like(c), c, _together(others)
    else:  # the second largest is far to one side: the window reaches from its far end to the near end of the others
        middle, mark, reach = -half / 2, np.abs(c - half / 2), spread[-2]
    x, weight = _half_line(groups, mark, mark + _REACH * reach, step)
    x = np.concatenate([-x[:, ::-1], x], axis=1) + middle[:, None]
    weight = np.concatenate([weight[:, ::-1], weight], axis=1) / 2
    away = np.broadcast_to(x, (len(spread), *x.shape)).copy()
    away[-2] += half[:, None]
    away[-1] -= half[:, None]
    side = np.sign(away[-2:]) * np.array([-1.0, 1.0])[:, None, None]
    found = _within(np.abs(away, out=away), groups, c)
    ends = groups.total(found.near + found.far)
    # A group that moves away from the middle loses what is at the near end and gains what is at the far end.
    near, far = found.near[-2:], found.far[-2:]
    gained = side * (near - far) / 2
    slope = side * (near * found.z_near[-2:] * -1 + far * found.z_far[-2:]) / spread[-2:, :, None] / 2
    weighted = found.together * weight
    change = gained.sum(axis=0) * ends + (slope - gained * (near + far)).sum(axis=0)
    return (weighted * ends).sum(axis=1), (weighted * change).sum(axis=1)


def _probit(probability: FloatArray, density: FloatArray, wanted: float) -> tuple[FloatArray, FloatArray]:
    """How far the normal quantile of a probability, which is nearly straight, is from the wanted one; and its slope."""
    quantile_ = normal_quantile(np.clip(probability, 1e-300, 1 - 1e-16))
    with np.errstate(over="ignore"):
        return quantile_ - wanted, density * _ROOT * np.exp(quantile_ * quantile_ / 2)


def _solve(
    score: Callable[[BoolArray, FloatArray, float], tuple[FloatArray, FloatArray]], guess: FloatArray
) -> FloatArray:
    """The root of a nearly straight score of each family: Newton's method, corrected for curvature as the slopes show.

    Args:
        score: Takes which families are meant, where they stand and the step of the quadrature; gives value and slope.
        guess: Above 0.
    """
    found, open_ = guess.copy(), np.ones(len(guess), dtype=bool)
    value, slope = score(open_, guess, _COARSE)
    for _ in range(_MOST_STEPS):
        last = found[open_]
        with np.errstate(all="ignore"):
            at = last - value / slope
        at = np.where(np.isfinite(at), np.clip(at, last / 2, last * 2), np.where(value > 0, last / 2, last * 2))
        now, new = score(open_, at, 1.0)
        with np.errstate(all="ignore"):
            newton = now / new
            bend = (new - slope) / (at - last) / new / 2
            step = newton + np.where(np.abs(value) > _NEAR, bend * newton * newton, 0.0)
        close = np.abs(now) < _CLOSE
        found[open_] = np.where(close, at - step, at)
        open_[open_] = ~close
        value, slope = now[~close], new[~close]
        if not open_.any():
            break
    return found
