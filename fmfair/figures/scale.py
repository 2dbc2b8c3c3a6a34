"""The horizontal axis of values: its range, and where on it a pixel is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from fmfair.figures.text import axis_lines, metric_of


def domain_of(rows: Sequence[Mapping[str, Any]], metric: str) -> tuple[float, float]:
    """From the lowest to the highest value or limit, with a little room, within the range of the metric.

    Examples:
        >>> domain_of([{"value": 0.6, "ci_low": 0.5, "ci_high": 0.7}], "auc")
        (0.49, 0.71)
        >>> domain_of([], "auc")
        (0.0, 1.0)
    """
    known = metric_of(metric)
    least = known.low if known is not None else None
    most = known.high if known is not None else None
    there = [row[name] for row in rows for name in ("ci_low", "value", "ci_high") if row[name] is not None]
    if not there:
        return (0.0 if least is None else least, 1.0 if most is None else most)
    low, high = min(there), max(there)
    room = 0.05 * (high - low) or 0.05 * (abs(high) or 1.0)
    step = 10.0 ** (math.floor(math.log10(high - low + 2 * room)) - 1)
    low = round(math.floor((low - room) / step) * step, 12)
    high = round(math.ceil((high + room) / step) * step, 12)
    return (low if least is None else max(low, least), high if most is None else min(high, most))


@dataclass(frozen=True)
class Along:
    """A horizontal axis that all layers of a figure share, also those of texts beside the plot."""

    domain: tuple[float, float]
    axis: alt.Axis

    def at(self, name: str) -> alt.X:
        """The position of a field."""
        scale = alt.Scale(domain=list(self.domain), nice=False, zero=False)
        return alt.X(f"{name}:Q", scale=scale, axis=self.axis)

    def value(self, pixel: float, width: float) -> float:
        """The value at so many pixels from the left end of the axis."""
        low, high = self.domain
        return low + pixel * (high - low) / width


def value_axis(metric: str, width: float, *, grid: bool = True) -> alt.Axis:
    """The axis of a metric, with as many ticks as there is room for."""
    ticks = max(4, int(width // 60))
    return alt.Axis(title=axis_lines(metric, width), tickCount=ticks, titlePadding=8, labelFlush=False, grid=grid)
