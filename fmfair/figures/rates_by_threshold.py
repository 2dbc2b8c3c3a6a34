"""Sensitivity and false positive rate of every group against the threshold."""

from __future__ import annotations

from functools import partial

from fmfair.export import Frames
from fmfair.figures.binned import Binned, Curves, curves_of, rate_points
from fmfair.figures.data import Where
from fmfair.figures.layers import layer
from fmfair.figures.panels import Scale, panels_of
from fmfair.figures.text import apart, first_few
from fmfair.figures.theme import BLUE, INK, Look, Spec, Words, drawn
from fmfair.numerals import amount, level_text

# Each rate with its colour and how its line is broken.
_RATES: tuple[tuple[str, str, list[int]], ...] = (("tpr", BLUE, [1, 0]), ("fpr", INK, [5, 3]))


def rates_by_threshold(frames: Frames, look: Look, *, attribute: str | None = None, where: Where = None) -> Spec:
    """A panel per group: sensitivity and false positive rate at every threshold, with bands of Wilson's limits.

    Args:
        frames: Those of the report.
        look: The width and the level of the bands.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key to show.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    curves = curves_of(frames, attribute, where)
    panels = panels_of(curves.shown, look, Scale("↑ rate", percent=True), Scale("threshold →"))
    layers = panels.frames()
    for rate, colour, dash in _RATES:
        rows = panels.each(partial(_points, look.band, rate), "threshold", rate, rate)
        detail = {"field": "line", "type": "nominal"}
        layers += [
            layer("area", rows, {**panels.spans, "detail": detail}, color=colour, opacity=0.18),
            panels.lines(rows, color=colour, strokeDash=dash),
        ]
    return drawn(layers, panels.area, _words(curves, look))


def _points(level: float, rate: str, scores: Binned) -> list[dict[str, float]]:
    limits = {"ci_low": f"{rate}_low", "ci_high": f"{rate}_high"}
    return [{**row, **{to: row[name] for to, name in limits.items()}} for row in rate_points(scores, level)]


def _words(curves: Curves, look: Look) -> Words:
    title = f"Sensitivity and false positive rate against the threshold{curves.by}"
    half = [(_at_half(scores), scores.name) for scores in curves.there]
    if half:
        title += f": at 0.5 sensitivity {apart(half, partial(amount, 'tpr'))}"
    limits = level_text(look.band)
    aid = f"Solid: sensitivity; dashed: false positive rate; bands: {limits}, rows taken as independent."
    said = [f"{name}: sensitivity {amount('tpr', value)} at 0.5" for value, name in half]
    return Words(title, aid, f"{title}. {first_few(said)}.")


def _at_half(scores: Binned) -> float:
    """The sensitivity at the threshold 0.5, which is an edge of the bins."""
    low, tp, _ = scores.at_least()
    above = tp[low >= 0.5]
    return float(above[0] / tp[0]) if above.size else 0.0
