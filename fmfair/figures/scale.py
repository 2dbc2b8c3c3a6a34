"""The horizontal axis of values: its range, and where on it a pixel is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from fmfair.figures.layers import Channel
from fmfair.figures.text import axis_lines, metric_of
from fmfair.numerals import in_percent

Ends = tuple[float, float]
Row = dict[str, Any]
# An interval that goes further beyond all values than so many usual ones is cut off there.
_USUAL = 4.0


def domain_of(rows: Sequence[Mapping[str, Any]], metric: str) -> Ends:
    """From the lowest to the highest value or limit, with a little room, within the range of the metric.

    Where the metric has no bounds, an interval that is much wider than most is cut off, so that the others are seen.

    Examples:
        >>> domain_of([{"value": 0.6, "ci_low": 0.5, "ci_high": 0.7}], "auc")
        (0.49, 0.71)
        >>> domain_of([], "auc")
        (0.0, 1.0)
        >>> usual = [{"value": v, "ci_low": v - 0.1, "ci_high": v + 0.1} for v in (0.9, 1.0, 1.1)]
        >>> domain_of([*usual, {"value": 1.2, "ci_low": -30.0, "ci_high": 40.0}], "calibration_slope")
        (0.4, 1.7)
    """
    known = metric_of(metric)
    least = known.low if known is not None else None
    most = known.high if known is not None else None
    values = [row["value"] for row in rows if row["value"] is not None]
    if not values:
        return (0.0 if least is None else least, 1.0 if most is None else most)
    below, above = (
        [sign * (row[name] - row["value"]) for row in rows if None not in (row["value"], row[name])]
        for name, sign in (("ci_low", -1), ("ci_high", 1))
    )
    low, high = (min([*values, *_limits(rows, "ci_low")]), max([*values, *_limits(rows, "ci_high")]))
    if least is None and below and median(below) > 0:
        low = max(low, min(values) - _USUAL * median(below))
    if most is None and above and median(above) > 0:
        high = min(high, max(values) + _USUAL * median(above))
    room = 0.05 * (high - low) or 0.05 * (abs(high) or 1.0)
    step = 10.0 ** (math.floor(math.log10(high - low + 2 * room)) - 1)
    low = round(math.floor((low - room) / step) * step, 12)
    high = round(math.ceil((high + room) / step) * step, 12)
    return (low if least is None else max(low, least), high if most is None else min(high, most))


def _limits(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None]


def ticks_of(ends: Ends, most: int) -> list[float]:
    """Round numbers within the ends, about as many as there is room for.

    Examples:
        >>> ticks_of((0.487, 0.912), 6)
        [0.5, 0.6, 0.7, 0.8, 0.9]
    """
    low, high = ends
    rough = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def cut_off(rows: Sequence[Mapping[str, Any]], ends: Ends, low: str = "ci_low", high: str = "ci_high") -> list[Row]:
    """The rows with an interval, with what of it is within the ends: `from` and `to`, and whether it goes on.

    Examples:
        >>> cut_off([{"ci_low": 0.2, "ci_high": 7.0}], (0.0, 1.0))
        [{'ci_low': 0.2, 'ci_high': 7.0, 'from': 0.2, 'to': 1.0, 'below': False, 'above': True}]
    """
    there = [row for row in rows if row[low] is not None and row[high] is not None]
    return [
        {
            **row,
            "from": max(row[low], ends[0]),
            "to": min(row[high], ends[1]),
            "below": row[low] < ends[0],
            "above": row[high] > ends[1],
        }
        for row in there
    ]


@dataclass(frozen=True)
class Along:
    """A horizontal axis that all layers of a figure share, also those of texts beside the plot."""

    domain: Ends
    axis: Mapping[str, Any]

    def at(self, name: str) -> Channel:
        """The position of a field."""
        scale = {"domain": list(self.domain), "nice": False, "zero": False}
        return {"field": name, "type": "quantitative", "scale": scale, "axis": self.axis}

    def value(self, pixel: float, width: float) -> float:
        """The value at so many pixels from the left end of the axis."""
        low, high = self.domain
        return low + pixel * (high - low) / width

    def beside(self, texts: Sequence[Mapping[str, Any]], width: float) -> list[Row]:
        """Texts that are placed in pixels, on this axis."""
        return [{**row, "x": self.value(row["x"], width)} for row in texts]


def value_axis(metric: str, width: float, *, grid: bool = True) -> dict[str, Any]:
    """The axis of a metric, with as many ticks as there is room for."""
    percent = {"format": "%"} if in_percent(metric) else {}
    ticks = {"tickCount": max(3, int(width // 55)), "labelFlush": False, "grid": grid}
    return {"title": axis_lines(metric, width), "titlePadding": 8, **ticks, **percent}
