"""Forms: where limits and tests of differences between groups come from. These are closed; a bootstrap has others."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from fmfair.group_tests import NOTHING_VARIES, SPARSE, GroupTest, Pairs, group_test
from fmfair.intervals import OVERLAP, WHOLE, Dependence, Limits, Values, limits
from fmfair.metrics.metric import Metric
from fmfair.shared import Shared, Together
from fmfair.statistics.differences import delong_paired
from fmfair.statistics.interval import ZERO_VARIANCE, FloatArray, Interval
from fmfair.statistics.mover import mover_difference, mover_ratio
from fmfair.statistics.simultaneous import gap_interval, simultaneous_level

Texts = NDArray[np.object_]
Positions = NDArray[np.intp]

# What rounding leaves of a correlation of 1, and of no difference.
_ROUNDING = 1e-12

NO_INTERVAL = "a group has no interval"
NO_INTERVAL_OF_PAIR = "one of the groups has no interval"
DISAGREE = "the test and the interval disagree; groups this small are better judged by the interval"
NO_OVERLAP = "how it varies with all rows is not known"
SAME_ROWS = "the group is all rows"
ALIKE = "the patients are the same in both groups, and alike"


class Differences(NamedTuple):
    """Of pairs of groups: limits of the difference and of the ratio, the test, and what makes either doubtful."""

    difference: Interval
    ratio: Interval
    method: NDArray[np.str_] | Texts
    p: FloatArray
    p_method: NDArray[np.str_] | Texts
    note: Texts


class Gaps(NamedTuple):
    """Of comparisons of two groups or more: limits of the largest difference, the test, and what makes either doubtful.

    `apart` says whether the test is another one than whether the interval holds 0.
    """

    limits: Interval
    method: NDArray[np.str_] | Texts
    tested: GroupTest
    note: Texts
    apart: NDArray[np.bool_]


@dataclass(frozen=True)
class Forms:
    """Closed forms.

    Attributes:
        dependence: What keeps rows from counting alike.
        shared: How groups that share patients vary together; None where none do.
    """

    dependence: Dependence
    shared: Shared | None = field(default=None, kw_only=True)

    def has(self, metric: Metric) -> bool:
        """Whether there is a form for the metric."""
        return metric.interval is not None

    def alike(
        self, metrics: Mapping[int, Metric], order: NDArray[np.unsignedinteger]
    ) -> Iterator[tuple[Metric, Positions]]:
        """The positions of the values that are worked out together, each with one of their metrics.

        Args:
            metrics: Some metrics by their number.
            order: The number of the metric of each value.
        """
        kinds: dict[Hashable, list[int]] = {}
        for number, metric in metrics.items():
            if self.has(metric):
                kinds.setdefault(self.kind(metric), []).append(number)
        for numbers in kinds.values():
            at = np.flatnonzero(np.isin(order, numbers))
            if len(at):
                yield metrics[numbers[0]], at

    def kind(self, metric: Metric) -> Hashable:
        """What metrics have in common of which the same is worked out."""
        return metric.interval, metric.low, metric.high

    def limits(self, values: Values, metric: Metric, level: ArrayLike) -> Limits:
        """The limits of values of one kind of metric, at one level or at one for each."""
        return limits(values, metric, level, self.dependence)

    def tested(self, values: Values, metric: Metric, family: NDArray[np.intp], count: int) -> GroupTest:
        """The test that any group of a comparison differs."""
        return group_test(values, metric, family, count, self.dependence)

    def differences(self, first: Values, second: Values, metric: Metric, level: float) -> Differences:
        """Two values each: the first less, and over, the second."""
        value, other = first["value"], second["value"]
        low, high, method = self.limits(first, metric, level)
        other_low, other_high, _ = self.limits(second, metric, level)
        both = value, low, high, other, other_low, other_high
        count = len(first)
        tested = self.tested(first.beside(second), metric, np.tile(np.arange(count), 2), count)
        nothing = np.full(count, np.nan)
        together = None if self.shared is None else self.shared.of_pairs(first, second)
        correlation = 0.0 if together is None else np.nan_to_num(together.correlation)
        difference = mover_difference(*both, correlation)
        found = Differences(
            difference,
            mover_ratio(*both, correlation) if has_ratio(metric) else Interval(nothing, nothing),
            np.array([f"MOVER, {name}" for name in method]),
            tested.p,
            tested.method,
            np.where(np.isnan(difference.low), NO_INTERVAL_OF_PAIR, _disagreed(tested, difference, level)).astype(
                object
            ),
        )
        if together is not None:
            found = _sharing(found, first, second, together, tested.doubt, level)
        return _overlapping(found, first, both, second[WHOLE] == 1, level) if WHOLE in second.columns else found

    def gaps(self, values: Values, metric: Metric, family: NDArray[np.intp], count: int, level: float) -> Gaps:
        """The largest difference of each comparison, from simultaneous intervals of all its pairs.

        Args:
            values: A value per group.
            metric: Their metric.
            family: The comparison of each group.
            count: How many comparisons there are.
            level: At which all pairs hold.
        """
        pairwise = simultaneous_level(np.bincount(family, minlength=count), level)
        low, high, method = self.limits(values, metric, pairwise[family])
        gap = gap_interval(values["value"], low, high, family, widest(metric), count)
        whole = all_known(low, family, count)
        tested = self.tested(values, metric, family, count)
        gaps = Gaps(
            Interval(*(np.where(whole, limit, np.nan) for limit in gap)),
            np.array([f"simultaneous, {name}" for name in first_of(method, family, count)]),
            tested,
            np.where(whole, tested.doubt, NO_INTERVAL).astype(object),
            np.full(count, True),
        )
        return gaps if self.shared is None else self._of_two(gaps, values, metric, Pairs.of(family, count), level)

    def _of_two(self, gaps: Gaps, values: Values, metric: Metric, two: Pairs, level: float) -> Gaps:
        """The gaps, those of two groups that share patients as the difference of the two."""
        assert self.shared is not None
        together = self.shared.of_pairs(values.at(two.first), values.at(two.second))
        known = ~np.isnan(together.covariance)
        at, a, b = (positions[known] for positions in two)
        if not len(at):
            return gaps
        found = self.differences(values.at(a), values.at(b), metric, level)
        low, high = found.difference
        gaps.limits.low[at] = np.maximum(np.maximum(low, -high), 0.0)
        gaps.limits.high[at] = np.minimum(np.maximum(high, -low), widest(metric))
        p, null = gaps.tested.p.copy(), gaps.tested.null_variance.copy()
        p[at] = found.p
        # Equal groups differ by as much less, or more, as they vary together.
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = 2 * together.correlation[known] * np.sqrt(null[a] * null[b]) / (null[a] + null[b])
        null[a], null[b] = (null[g] * np.maximum(1 - np.nan_to_num(shares), 0.0) for g in (a, b))
        method, p_method, note = (t.astype(object) for t in (gaps.method, gaps.tested.method, gaps.note))
        method[at], p_method[at] = found.method, found.p_method
        note[at] = np.where(found.note == NO_INTERVAL_OF_PAIR, NO_INTERVAL, found.note)
        tested = gaps.tested._replace(p=p, method=p_method, null_variance=null)
        return gaps._replace(method=method, tested=tested, note=note)


def _disagreed(tested: GroupTest, difference: Interval, level: float) -> Texts:
    """What makes the tests doubtful; that they and the intervals disagree where they do."""
    outside = (difference.low > 0) | (difference.high < 0)
    return np.where(~np.isnan(tested.p) & ((tested.p < 1 - level) != outside), DISAGREE, tested.doubt)


def _sharing(
    found: Differences, first: Values, second: Values, together: Together, doubt: Texts, level: float
) -> Differences:
    """With the pairs that share patients as what varies together; their limits have the correlation already."""
    value, other = first["value"], second["value"]
    at = ~np.isnan(together.covariance)
    apart = first["variance"] + second["variance"]
    variance = apart - 2 * together.covariance
    alike = at & (together.correlation > 1 - _ROUNDING) & (np.abs(value - other) <= _ROUNDING)
    p = np.where(variance > ZERO_VARIANCE, delong_paired(value, other, variance, together.patients - 1).p, np.nan)
    difference, ratio = (
        Interval(*(np.where(alike, np.nan, limit) for limit in limits)) for limits in (found.difference, found.ratio)
    )
    outside = (difference.low > 0) | (difference.high < 0)
    # The test is another one than that of groups which vary apart.
    own = np.where(np.isin(doubt.astype(str), (SPARSE, NOTHING_VARIES)), "", doubt)
    own = np.where(np.isnan(p), NOTHING_VARIES, np.where((p < 1 - level) != outside, DISAGREE, own))
    note = np.where(alike, ALIKE, np.where(np.isnan(difference.low), NO_INTERVAL_OF_PAIR, own))
    return Differences(
        difference,
        ratio,
        np.where(at, [f"shared patients, {name}" for name in found.method], found.method),
        np.where(at, np.where(alike, np.nan, p), found.p),
        np.where(at, "influence, t", found.p_method),
        np.where(at, note, found.note).astype(object),
    )


def _overlapping(
    found: Differences, first: Values, both: tuple[FloatArray, ...], at: NDArray[np.bool_], level: float
) -> Differences:
    """With the pairs of a group and all rows as what overlaps: MOVER with the correlation, and the influences' test."""
    nothing = np.full(len(at), np.nan)
    correlation, variance, units = (first.columns.get(name, nothing) for name in OVERLAP)
    value, low, high, other, other_low, other_high = both
    p = delong_paired(value, other, variance, units - 1).p
    same = variance <= ZERO_VARIANCE
    bounds = mover_difference(value, low, high, other, other_low, other_high, correlation)
    limits_of_all = (np.where(same, np.nan, limit) for limit in bounds)
    difference = Interval(*(np.where(at, a, b) for a, b in zip(limits_of_all, found.difference, strict=True)))
    unknown = np.where(np.isnan(variance), NO_OVERLAP, NO_INTERVAL_OF_PAIR)
    outside = (difference.low > 0) | (difference.high < 0)
    doubt = np.where((p < 1 - level) != outside, DISAGREE, "")
    note = np.where(same, SAME_ROWS, np.where(np.isnan(difference.low), unknown, doubt))
    return Differences(
        difference,
        # Its form is for values that vary apart.
        Interval(*(np.where(at, np.nan, limit) for limit in found.ratio)),
        np.where(at, [f"overlapping, {name}" for name in found.method], found.method),
        np.where(at, np.where(same, np.nan, p), found.p),
        np.where(at, "influence, t", found.p_method),
        np.where(at, note, found.note).astype(object),
    )


def told(texts: NDArray[np.str_] | Texts, where: NDArray[np.bool_] | np.bool_ = np.True_) -> pl.Series:
    """Texts as a column, NULL elsewhere and where they are empty."""
    found = texts.astype(object)
    found[~where | (texts == "")] = None
    return pl.Series(found.tolist(), dtype=pl.String)


def has_ratio(metric: Metric) -> bool:
    """Whether one value over another means something."""
    return metric.low is not None and metric.low >= 0


def widest(metric: Metric) -> float:
    """The largest difference that two values of a metric can have."""
    return np.inf if metric.low is None or metric.high is None else metric.high - metric.low


def all_known(limit: FloatArray, family: NDArray[np.intp], count: int) -> NDArray[np.bool_]:
    """The comparisons all of whose groups have a limit: the one without might be the worst or the best."""
    unknown = np.bincount(family, ~np.isfinite(limit), minlength=count)
    return np.asarray(unknown == 0)


def first_of(names: NDArray[np.str_], family: NDArray[np.intp], count: int) -> NDArray[np.str_]:
    """The longest of the names in each comparison: the form that says most of what was done."""
    found = np.full(count, "", dtype=object)
    for name in sorted(set(names.tolist()), key=len):
        found[np.unique(family[names == name])] = name
    return found.astype(str)
