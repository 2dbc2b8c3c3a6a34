"""Decision curve: net benefit of the model against the threshold, beside calling all or none positive."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from fmfair.figures.binned import Binned, benefit_points, binned
from fmfair.figures.data import Where
from fmfair.figures.panels import Panels, by_name, panels_of
from fmfair.figures.text import first_few
from fmfair.figures.theme import BLUE, INK, MUTED, Look, Words, drawn, unchecked

# The lowest net benefit that is shown, as a share of the highest: what lies far below none is of no interest.
_BELOW = 0.25


@unchecked
def decision_curve(
    curves: pl.DataFrame, *, attribute: str | None = None, where: Where = None, look: Look | None = None
) -> alt.LayerChart:
    """A panel per group: the net benefit of the model at every threshold, beside those of calling all or none positive.

    Args:
        curves: The frame of scores in bins.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key to show.
        look: The width.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    look = look or Look()
    whole, groups = binned(curves, attribute, where)
    shown = groups or [whole]
    rates = [scores.positives / scores.rows for scores in shown if scores.said is None]
    top = float(f"{1.05 * max(rates, default=1.0):.2g}")
    titles = ("↑ net benefit, higher is better", "threshold →")
    panels = panels_of(shown, look, titles, y=(-_BELOW * top, top), marks=(0.0, top))
    none = [{"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 0.0}]
    zero = [row for k, _ in panels.drawn for row in panels.line(k, none, "a", "b")]
    layers = [*panels.frames(), panels.lines(zero, color=MUTED, strokeWidth=1)]
    for series, colour, dash in (("all", INK, [5, 3]), ("model", BLUE, [1, 0])):
        rows = [row for k, s in panels.drawn for row in _placed(panels, k, s, series)]
        layers.append(panels.lines(rows, color=colour, strokeDash=dash))
    words = decision_curve_words(curves, attribute=attribute, where=where, look=look)
    return drawn(layers, panels.area, words)


def _placed(panels: Panels, panel: int, scores: Binned, series: str) -> list[dict[str, Any]]:
    """The line of one strategy as far as it is not below the panel."""
    points: list[dict[str, Any]] = []
    for point in benefit_points(scores):
        if point[series] < panels.y[0]:
            break
        points.append(point)
    return [{**row, "group": scores.group} for row in panels.line(panel, points, "threshold", series, series)]


def decision_curve_words(
    curves: pl.DataFrame,
    *,
    attribute: str | None = None,
    where: Where = None,
    look: Look | None = None,  # noqa: ARG001
) -> Words:
    """Title, reading aid and description; the arguments are those of `decision_curve`."""
    whole, groups = binned(curves, attribute, where)
    there = [scores for scores in groups or [whole] if scores.said is None]
    title = f"Net benefit{by_name(attribute)}"
    if whole.said is None and whole.n_pos is not None:
        title += f": on all rows {_best(whole)}"
    aid = "Solid: the model; dashed: all called positive; line at 0: none called positive."
    said = [f"{scores.group or 'all rows'}: {_best(scores)}" for scores in there]
    return Words(title, aid, f"{title}. {first_few(said)}.")


def _best(scores: Binned) -> str:
    """At which thresholds the model is of more use than calling all or none positive."""
    points = benefit_points(scores)
    best = [k for k, point in enumerate(points) if point["model"] > max(point["all"], 0.0)]
    if not best:
        return "the model is nowhere above calling all or none positive"
    ends = f"{points[best[0]]['threshold']:.3g} to {points[best[-1]]['threshold']:.3g}"
    whole = len(best) == best[-1] - best[0] + 1
    return f"the model is above calling all or none positive at {'' if whole else 'most '}thresholds from {ends}"
