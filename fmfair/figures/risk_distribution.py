"""How the scores of positives and negatives spread."""

from __future__ import annotations

from functools import partial
from typing import Any

from fmfair.export import Frames
from fmfair.figures.binned import WIDTH, Binned, Curves, curves_of, distribution, median_below
from fmfair.figures.data import Where
from fmfair.figures.panels import Panels, Scale, panels_of
from fmfair.figures.text import apart, first_few
from fmfair.figures.theme import BLUE, INK, Layer, Look, Spec, Words, drawn
from fmfair.numerals import amount


def risk_distribution(frames: Frames, look: Look, *, attribute: str | None = None, where: Where = None) -> Spec:
    """A panel per group: the share of positives and of negatives with scores in each twentieth of the scale.

    Args:
        frames: Those of the report.
        look: The width.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key to show.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    curves = curves_of(frames, attribute, where)
    panels = panels_of(curves.shown, look, share_scale(curves), Scale("score →"))
    layers = [*panels.frames(), steps(panels, "negative", color=INK, strokeDash=[5, 3]), steps(panels, "positive")]
    return drawn(layers, panels.area, _words(curves))


def share_scale(curves: Curves) -> Scale:
    """An axis of shares, high enough for the largest of any panel."""
    highest = max((float(point["share"]) for s in curves.there for point in distribution(s)), default=1.0)
    top = float(f"{highest * 1.05:.2g}")
    return Scale(f"↑ share of rows per {WIDTH}", (0.0, top), (0.0, top), percent=True)


def steps(panels: Panels, outcome: str, **style: Any) -> Layer:
    """The steps of one outcome in every panel; the last share once more at the end of the scale."""

    def points_of(scores: Binned) -> list[dict[str, Any]]:
        points = [dict(point) for point in distribution(scores) if point["outcome"] == outcome]
        return [*points, {**points[-1], "low": points[-1]["high"]}] if points else []

    rows = panels.each(points_of, "low", "share", outcome)
    return panels.lines(rows, interpolate="step-after", **{"color": BLUE, **style})


def _words(curves: Curves) -> Words:
    title = f"Scores by outcome{curves.by}"
    medians = [(median_below(s.n_pos, s.high), s.name) for s in curves.there if s.n_pos is not None]
    if medians:
        title += f": half of the positives score below {apart(medians, partial(amount, ''))}"
    said = [f"{name}: half of the positives score below {amount('', value)}" for value, name in medians]
    aid = "Solid: positives; dashed: negatives; each adds up to 100%."
    return Words(title, aid, f"{title}. {first_few(said)}.")
