"""Decision curve: net benefit of the model against the threshold, beside calling all or none positive."""

from __future__ import annotations

from fmfair.export import Frames
from fmfair.figures.binned import Binned, Curves, benefit_points, curves_of
from fmfair.figures.data import Where
from fmfair.figures.panels import Panels, Scale, panels_of
from fmfair.figures.text import first_few
from fmfair.figures.theme import BLUE, INK, MUTED, Layer, Look, Spec, Words, drawn

# The lowest net benefit that is shown, as a share of the highest: what lies far below none is of no interest.
_BELOW = 0.25


def decision_curve(frames: Frames, look: Look, *, attribute: str | None = None, where: Where = None) -> Spec:
    """A panel per group: the net benefit of the model at every threshold, beside those of calling all or none positive.

    Args:
        frames: Those of the report.
        look: The width.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key to show.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    curves = curves_of(frames, attribute, where)
    rates = [scores.positives / scores.rows for scores in curves.there]
    top = float(f"{1.05 * max(rates, default=1.0):.2g}")
    scale = Scale("↑ net benefit, higher is better", (-_BELOW * top, top), (0.0, top))
    panels = panels_of(curves.shown, look, scale, Scale("threshold →"))
    none = [{"threshold": at, "none": 0.0} for at in (0.0, 1.0)]
    layers = [
        *panels.frames(),
        panels.lines(panels.everywhere(none, "threshold", "none"), color=MUTED, strokeWidth=1),
        _line(panels, "all", color=INK, strokeDash=[5, 3]),
        _line(panels, "model", color=BLUE),
    ]
    return drawn(layers, panels.area, _words(curves))


def _line(panels: Panels, series: str, **style: object) -> Layer:
    """The line of one strategy in every panel, as far as it is not below the panel."""

    def points_of(scores: Binned) -> list[dict[str, float]]:
        points = benefit_points(scores)
        lowest = panels.y.ends[0]
        return points[: next((k for k, point in enumerate(points) if point[series] < lowest), None)]

    return panels.lines(panels.each(points_of, "threshold", series, series), **style)


def _words(curves: Curves) -> Words:
    title = f"Net benefit{curves.by}"
    if curves.whole.said is None:
        title += f": on all rows {_best(curves.whole)}"
    aid = "Solid: the model; dashed: all called positive; line at 0: none called positive."
    said = [f"{scores.name}: {_best(scores)}" for scores in curves.there]
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
