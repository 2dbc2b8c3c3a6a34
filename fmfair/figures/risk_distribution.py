"""How scores spread, by outcome; of a segmentation, how Dice spreads."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from fmfair.figures.binned import WIDTH, Binned, binned, distribution, median_below
from fmfair.figures.data import Where
from fmfair.figures.panels import Panels, by_name, panels_of
from fmfair.figures.text import first_few, number
from fmfair.figures.theme import BLUE, INK, Look, Words, drawn, unchecked

# Each outcome with its colour and how its line is broken.
_OUTCOMES: tuple[tuple[str, str, list[int]], ...] = (
    ("positive", BLUE, [1, 0]),
    ("all", BLUE, [1, 0]),
    ("negative", INK, [5, 3]),
)


@unchecked
def risk_distribution(
    curves: pl.DataFrame, *, attribute: str | None = None, where: Where = None, look: Look | None = None
) -> alt.LayerChart:
    """A panel per group: the share of positives and of negatives with scores in each twentieth of the scale.

    Args:
        curves: The frame of scores in bins.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key to show.
        look: The width.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    look = look or Look()
    whole, groups = binned(curves, attribute, where, labelled=False)
    shown = groups or [whole]
    highest = max((point["share"] for s in shown if s.said is None for point in distribution(s)), default=1.0)
    titles = (f"↑ share of rows per {WIDTH}", "score →" if whole.n_pos is not None else "Dice →")
    top = float(f"{float(highest) * 1.05:.2g}")
    panels = panels_of(shown, look, titles, y=(0.0, top), marks=(0.0, top))
    layers = panels.frames()
    for outcome, colour, dash in _OUTCOMES:
        rows = [row for k, s in panels.drawn for row in _steps(panels, k, s, outcome)]
        layers.append(panels.lines(rows, color=colour, strokeDash=dash, interpolate="step-after"))
    words = risk_distribution_words(curves, attribute=attribute, where=where, look=look)
    return drawn(layers, panels.area, words)


def _steps(panels: Panels, panel: int, scores: Binned, outcome: str) -> list[dict[str, Any]]:
    """The steps of one outcome; the last share once more at the end of the scale."""
    points: list[dict[str, Any]] = [dict(p) for p in distribution(scores) if p["outcome"] == outcome]
    last = [{**points[-1], "low": points[-1]["high"]}] if points else []
    return [{**row, "group": scores.group} for row in panels.line(panel, [*points, *last], "low", "share", outcome)]


def risk_distribution_words(
    curves: pl.DataFrame,
    *,
    attribute: str | None = None,
    where: Where = None,
    look: Look | None = None,  # noqa: ARG001
) -> Words:
    """Title, reading aid and description; the arguments are those of `risk_distribution`."""
    whole, groups = binned(curves, attribute, where, labelled=False)
    there = [scores for scores in groups or [whole] if scores.said is None]
    labelled = whole.n_pos is not None
    what, half = ("Scores by outcome", "half of the positives score") if labelled else ("Dice", "half of the cases lie")
    title = f"{what}{by_name(attribute)}"
    medians = [(median_below(s.n if s.n_pos is None else s.n_pos, s.high), s.group or "all rows") for s in there]
    if medians:
        (low, least), (high, most) = min(medians), max(medians)
        apart = f"{number(low)} ({least}) to {number(high)} ({most})" if len(medians) > 1 else number(low)
        title += f": {half} below {apart}"
    aid = "Solid: positives; dashed: negatives; each adds up to 1." if labelled else "Shares add up to 1."
    said = [f"{group}: {half} below {number(value)}" for value, group in medians]
    return Words(title, aid, f"{title}. {first_few(said)}.")
