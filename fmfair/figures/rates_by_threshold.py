"""Sensitivity and false positive rate of every group against the threshold."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from fmfair.figures.binned import Binned, binned, rate_points
from fmfair.figures.data import Where
from fmfair.figures.panels import Panels, by_name, panels_of
from fmfair.figures.reliability import LEVEL
from fmfair.figures.text import first_few, number
from fmfair.figures.theme import BLUE, INK, Look, Words, drawn, rows_chart, unchecked

# Each rate with its colour and how its line is broken.
_RATES: tuple[tuple[str, str, list[int]], ...] = (("tpr", BLUE, [1, 0]), ("fpr", INK, [5, 3]))


@unchecked
def rates_by_threshold(
    curves: pl.DataFrame, *, attribute: str | None = None, where: Where = None, look: Look | None = None
) -> alt.LayerChart:
    """A panel per group: sensitivity and false positive rate at every threshold, with bands of Wilson's limits.

    Args:
        curves: The frame of scores in bins.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key to show.
        look: The width and the level of the bands.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    look = look or Look()
    whole, groups = binned(curves, attribute, where)
    panels = panels_of(groups or [whole], look, ("↑ rate", "threshold →"))
    words = rates_by_threshold_words(curves, attribute=attribute, where=where, look=look)
    layers = panels.frames()
    for rate, colour, dash in _RATES:
        rows = [row for k, scores in panels.drawn for row in _placed(panels, k, scores, rate, look.level or LEVEL)]
        band = {"y": panels.vertical("plow"), "y2": alt.Y2("phigh:Q")}
        layers += [
            rows_chart(rows)
            .mark_area(color=colour, opacity=0.18)
            .encode(x=panels.horizontal("px"), **band, detail="line:N"),
            panels.lines(rows, color=colour, strokeDash=dash),
        ]
    return drawn(layers, panels.area, words)


def _placed(panels: Panels, panel: int, scores: Binned, rate: str, level: float) -> list[dict[str, Any]]:
    rows = panels.line(panel, rate_points(scores, level), "threshold", rate, rate)
    limits = (("plow", f"{rate}_low"), ("phigh", f"{rate}_high"))
    return [{**row, "group": scores.group, **{p: panels.down(panel, row[c]) for p, c in limits}} for row in rows]


def rates_by_threshold_words(
    curves: pl.DataFrame, *, attribute: str | None = None, where: Where = None, look: Look | None = None
) -> Words:
    """Title, reading aid and description; the arguments are those of `rates_by_threshold`."""
    look = look or Look()
    whole, groups = binned(curves, attribute, where)
    there = [scores for scores in groups or [whole] if scores.said is None]
    title = f"Sensitivity and false positive rate against the threshold{by_name(attribute)}"
    half = [(_at_half(scores), scores.group or "all rows") for scores in there]
    if half:
        (low, least), (high, most) = min(half), max(half)
        apart = f"{number(low)} ({least}) to {number(high)} ({most})" if len(half) > 1 else number(low)
        title += f": at 0.5 sensitivity {apart}"
    limits = look.interval if look.level else "95% interval"
    aid = f"Solid: sensitivity; dashed: false positive rate; bands: {limits}, rows taken as independent."
    said = [f"{group}: sensitivity {number(value)} at 0.5" for value, group in half]
    return Words(title, aid, f"{title}. {first_few(said)}.")


def _at_half(scores: Binned) -> float:
    """The sensitivity at the threshold 0.5, which is an edge of the bins."""
    low, tp, _ = scores.at_least()
    above = tp[low >= 0.5]
    return float(above[0] / tp[0]) if above.size else 0.0
