"""Limits and tests of differences between groups from replicates, in place of closed forms."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmfair.bootstrap.limits import AT_ONCE, Floats, Found, Positions, interval_of, limits_of
from fmfair.bootstrap.replicates import Replicates
from fmfair.errors import plural
from fmfair.forms import NO_INTERVAL, NO_INTERVAL_OF_PAIR, Differences, Forms, Gaps, has_ratio, widest
from fmfair.group_tests import GroupTest, Pairs
from fmfair.intervals import Limits, Values
from fmfair.metrics.metric import Metric
from fmfair.statistics.bootstrap_limits import MOST_DROPPED, bca_p, percentile_p
from fmfair.statistics.interval import Interval
from fmfair.statistics.quantiles import normal_critical


@dataclass(frozen=True)
class ResampledForms(Forms):
    """Forms of every metric that has replicates.

    The difference of two groups is smooth, so that its replicates tell its limits. The largest of several is not: a
    percentile interval of it would hardly ever hold 0. It comes from simultaneous limits of the groups, as in closed
    forms.

    Attributes:
        replicates: The values in all replicates.
        level: Of the limits that the values have, as columns.
    """

    replicates: Replicates
    level: float

    def has(self, metric: Metric) -> bool:
        """Of all metrics but counts."""
        return metric.family != "count"

    def kind(self, metric: Metric) -> Hashable:
        """Each for itself: what its limits rest on is its own."""
        return metric.name

    def limits(self, values: Values, metric: Metric, level: npt.ArrayLike) -> Limits:
        """From the replicates, at a level or one for each value.

        Few replicates do not reach far: at higher levels than that of the values the limits are no nearer than
        theirs, moved away from the value as those of a normal distribution would be.
        """
        asked = np.broadcast_to(np.asarray(level, dtype=np.float64), (len(values),))
        possible = np.where(np.isnan(asked), self.level, asked)
        found = limits_of(values, metric, self.replicates, possible, self.dependence)
        moved = np.maximum(normal_critical(possible) / normal_critical(self.level), 1.0)
        value = values["value"]
        low = np.fmin(found.low, value - moved * (value - values["ci_low"]))
        high = np.fmax(found.high, value + moved * (values["ci_high"] - value))
        low = low if metric.low is None else np.maximum(low, metric.low)
        high = high if metric.high is None else np.minimum(high, metric.high)
        known = ~np.isnan(asked) & ~np.isnan(found.low)
        return (
            np.where(known, low, np.nan),
            np.where(known, high, np.nan),
            np.where(known, found.method, "").astype(str),
        )

    def tested(self, values: Values, metric: Metric, family: npt.NDArray[np.intp], count: int) -> GroupTest:
        """The test in closed form where there is one; none of others, of which the variance is that of replicates."""
        if metric.interval is not None:
            return super().tested(values, metric, family, count)
        nothing = np.full(count, np.nan)
        return GroupTest(nothing, np.full(count, ""), self._variance(values, metric), np.full(count, "", dtype=object))

    def _variance(self, values: Values, metric: Metric) -> Floats:
        """Of the replicates; NaN where too many are undefined, and of errors of calibration, whose bias differs."""
        found = np.full(len(values), np.nan)
        if metric.parameters.kind == "ece":
            return found
        for i, row in enumerate(values.rows.tolist()):
            drawn = self.replicates.values[row]
            drawn = drawn[np.isfinite(drawn)]
            if len(drawn) > 1 and len(drawn) >= (1 - MOST_DROPPED) * self.replicates.count:
                found[i] = drawn.var(ddof=1)
        return found

    def _undefined(self, values: Values) -> npt.NDArray[np.int64]:
        """How many replicates of each value are undefined."""
        return np.array([(~np.isfinite(self.replicates.values[row])).sum() for row in values.rows], dtype=np.int64)

    def differences(self, first: Values, second: Values, metric: Metric, level: float) -> Differences:
        """From the differences and ratios in all replicates.

        Errors of calibration have a bias that differs between groups of different size: their difference has MOVER's
        limits from those of the groups, and no p value.
        """
        if metric.parameters.kind == "ece":
            return super().differences(first, second, metric, level)._replace(p=np.full(len(first), np.nan))
        bounded = ~np.isnan(first["ci_low"]) & ~np.isnan(second["ci_low"])
        found, p = self._compared(first, second, np.subtract, level)
        low, high = (np.where(bounded, limit, np.nan) for limit in (found.low, found.high))
        ratio = Interval(np.full(len(first), np.nan), np.full(len(first), np.nan))
        if has_ratio(metric):
            over, _ = self._compared(first, second, _over, level)
            ratio = Interval(*(np.where(bounded, limit, np.nan) for limit in (over.low, over.high)))
        note = np.where(bounded, found.note, NO_INTERVAL_OF_PAIR).astype(object)
        return Differences(Interval(low, high), ratio, found.method, np.where(bounded, p, np.nan), found.method, note)

    def _compared(
        self, first: Values, second: Values, operation: Callable[[Floats, Floats], Floats], level: float
    ) -> tuple[Found, Floats]:
        """The limits of differences or ratios, and the p value of a difference of 0."""
        value = operation(first["value"], second["value"])
        step = max(1, AT_ONCE // max(self.replicates.count, 1))
        parts, tested = [], []
        for start in range(0, max(len(first), 1), step):
            some = slice(start, start + step)
            a, b = first.rows[some], second.rows[some]
            drawn = operation(self.replicates.values[a], self.replicates.values[b])
            acceleration = self._acceleration(a, b, value[some] if operation is _over else np.ones(len(a)))
            found = interval_of(self.replicates, drawn, value[some], acceleration, level)
            known = ~np.isnan(found.low)
            low, high = np.fmin(found.low, value[some]), np.fmax(found.high, value[some])
            parts.append(found._replace(low=np.where(known, low, np.nan), high=np.where(known, high, np.nan)))
            p = percentile_p(drawn.T) if acceleration is None else bca_p(drawn.T, value[some], acceleration)
            tested.append(np.where(known, p, np.nan))
        return Found(*(np.concatenate(column) for column in zip(*parts, strict=True))), np.concatenate(tested)

    def _acceleration(self, a: Positions, b: Positions, times: Floats) -> Floats | None:
        return None if self.replicates.skewness is None else self.replicates.skewness.of_differences(a, b, times)

    def gaps(self, values: Values, metric: Metric, family: npt.NDArray[np.intp], count: int, level: float) -> Gaps:
        """Of two groups from the replicates of their difference, of more from simultaneous limits of each."""
        gaps = super().gaps(values, metric, family, count, level)
        undefined = np.zeros(count, dtype=np.int64)
        np.maximum.at(undefined, family, self._undefined(values))
        said = (f"{plural(int(n), 'replicate')} undefined and left out" if n else "" for n in undefined)
        both = ["; ".join(filter(None, notes)) for notes in zip(said, gaps.note, strict=True)]
        gaps = gaps._replace(note=np.where(gaps.note == NO_INTERVAL, gaps.note, both).astype(object))
        two = Pairs.of(family, count)
        if not len(two.family):
            return gaps
        found = self.differences(values.at(two.first), values.at(two.second), metric, level)
        gaps.tested.p[two.family] = found.p
        if metric.parameters.kind == "ece":
            return gaps
        low, high = found.difference
        at, method, note = two.family, gaps.method.astype(object), gaps.note
        p_method = gaps.tested.method.astype(object)
        gaps.limits.low[at] = np.maximum(np.maximum(low, -high), 0.0)
        gaps.limits.high[at] = np.minimum(np.maximum(high, -low), widest(metric))
        method[at], p_method[at], note[at], gaps.apart[at] = found.method, found.p_method, found.note, False
        return gaps._replace(method=method, tested=gaps.tested._replace(method=p_method))


def _over(first: Floats, second: Floats) -> Floats:
    """One over the other; NaN where that is undefined."""
    return np.asarray(np.divide(first, second, out=np.full(np.shape(first), np.nan), where=second > 0))
