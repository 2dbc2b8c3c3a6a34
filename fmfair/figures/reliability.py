"""Reliability: the share of positives against the mean score, in bins of about equal counts."""

from __future__ import annotations

from fmfair.export import Frames
from fmfair.figures.binned import Binned, Curves, curves_of, reliability_points
from fmfair.figures.data import Where
from fmfair.figures.layers import layer, points
from fmfair.figures.panels import Scale, panels_of
from fmfair.figures.text import apart, first_few
from fmfair.figures.theme import BLUE, INK, Look, Spec, Words, drawn
from fmfair.numerals import amount, level_text


def reliability(frames: Frames, look: Look, *, attribute: str | None = None, where: Where = None) -> Spec:
    """A panel per group: observed share against mean score with Wilson's interval, all rows in grey behind.

    Points are larger where more rows are in their bin; those of a perfectly calibrated model lie on the diagonal.

    Args:
        frames: Those of the report.
        look: The width and the level of the intervals.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key to show.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    curves = curves_of(frames, attribute, where)
    panels = panels_of(curves.shown, look, Scale("↑ observed share of positives"), Scale("mean score →"))

    def bins_of(scores: Binned) -> list[dict[str, float]]:
        return reliability_points(scores, look.band)

    bins = panels.each(bins_of, "predicted", "observed")
    most = max((row["n"] for row in bins), default=1.0)
    scale = {"domain": [0, most], "range": [12, 80]}
    size = {"field": "n", "type": "quantitative", "legend": None, "scale": scale}
    layers = [
        *panels.frames(),
        panels.diagonal(),
        panels.behind(curves.whole, bins_of, "predicted", "observed"),
        layer("rule", bins, panels.spans, color=INK),
        points(bins, {**panels.places, "size": size}, BLUE),
    ]
    return drawn(layers, panels.area, _words(curves, look))


def _words(curves: Curves, look: Look) -> Words:
    means = [(float(s.sum_score.sum()) / s.rows, s.positives / s.rows, s.name) for s in curves.there]
    title = f"Reliability{curves.by}"
    shift = [(mean - share, name) for mean, share, name in means]
    if shift:
        title += f": mean score less share of positives {apart(shift, '{:+.3f}'.format)}"
    said = [f"{name}: mean score {amount('', m)}, share of positives {amount('', share)}" for m, share, name in means]
    grey = "grey: all rows; " if curves.groups else ""
    limits = f"lines: {level_text(look.band)}, rows taken as independent"
    aid = f"Larger points: more rows; {limits}; {grey}dashed: perfect calibration."
    return Words(title, aid, f"{title}. {first_few(said)}.")
