"""How Dice spreads over the cases of every group: median, quartiles, and the share below a limit."""

from __future__ import annotations

from typing import Any

from fmfair.errors import FmfairError
from fmfair.export import Frames
from fmfair.figures.binned import Binned, Curves, curves_of, quantile
from fmfair.figures.data import Where
from fmfair.figures.layers import end, layer, pixels
from fmfair.figures.panels import Panels, Scale, counts, panels_of
from fmfair.figures.risk_distribution import share_scale, steps
from fmfair.figures.text import apart, first_few
from fmfair.figures.theme import BAND, INK, VERMILLION, Look, Spec, Words, drawn
from fmfair.numerals import amount

_QUARTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}


def dice_distribution(
    frames: Frames, look: Look, *, attribute: str | None = None, where: Where = None, limit: float = 0.7
) -> Spec:
    """A panel per group: the share of cases in each twentieth of Dice, median, quartiles, and how many are below.

    Median and quartiles are exact to a hundredth, as the frame of curves counts Dice in hundredths.

    Args:
        frames: Those of the report.
        look: The width.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key to show.
        limit: The Dice below which cases are counted, in hundredths.

    Raises:
        FmfairError: The report has no curves or those of scores, no such attribute, or several by-keys and none is
            named; or the limit is not a number of hundredths.
    """
    if not 0 < limit <= 1 or abs(100 * limit - round(100 * limit)) > 1e-9:
        raise FmfairError(f"limit={limit!r} is no Dice in whole hundredths, such as 0.7")
    curves = curves_of(frames, attribute, where, labelled=False)
    if curves.whole.n_pos is not None:
        raise FmfairError("the report is not of a segmentation; plot.risk_distribution shows how scores spread")
    scale = Scale("Dice →")

    def told(scores: Binned) -> list[str]:
        return counts(scores) if scores.said else [f"median {_at(scores, 0.5):.2f}", _below(scores, limit)]

    panels = panels_of(curves.shown, look, share_scale(curves), scale, told=told)
    boxes = [_box(k, scores, panels) for k, scores in panels.drawn]
    below = [{"x": panels.across(k, limit), **_height(k, panels)} for k, _ in panels.drawn]
    x, down = pixels("x", panels.area.width), {"y": pixels("y", panels.area.height), "y2": end("y2")}
    layers = [
        layer("rect", boxes, {"x": pixels("q1", panels.area.width), "x2": end("q3"), **down}, color=BAND),
        layer("rule", boxes, {"x": pixels("median", panels.area.width), **down}, color=INK, strokeWidth=1.75),
        layer("rule", below, {"x": x, **down}, color=VERMILLION, strokeDash=[5, 3]),
        *panels.frames(),
        steps(panels, "all"),
    ]
    return drawn(layers, panels.area, _words(curves, limit))


def _at(scores: Binned, share: float) -> float:
    return quantile(scores.n, scores.low, scores.high, share)


def _below(scores: Binned, limit: float) -> str:
    """How many cases are below the limit, as a share and, of few, as a fraction."""
    below = int(scores.n[scores.high <= limit + 1e-9].sum())
    return f"{amount('tpr', below / scores.rows)} below {limit:g} ({below:,} of {scores.rows:,})"


def _box(panel: int, scores: Binned, panels: Panels) -> dict[str, Any]:
    """Quartiles and median, over the whole height of a panel."""
    places = {name: panels.across(panel, _at(scores, share)) for name, share in _QUARTILES.items()}
    return {"group": scores.group, **places, **_height(panel, panels)}


def _height(panel: int, panels: Panels) -> dict[str, float]:
    top = panels.corners[panel][1]
    return {"y": top, "y2": top + panels.size[1]}


def _words(curves: Curves, limit: float) -> Words:
    title = f"Dice{curves.by}"
    medians = [(_at(scores, 0.5), scores.name) for scores in curves.there]
    if medians:
        title += f": median {apart(medians, '{:.2f}'.format)}"
    aid = f"Line: median; band: middle half of the cases; dashed: {limit:g}. Shares add up to 100%."
    said = [
        f"{s.name}: median {_at(s, 0.5):.2f}, quartiles {_at(s, 0.25):.2f} and {_at(s, 0.75):.2f}, {_below(s, limit)}"
        for s in curves.there
    ]
    return Words(title, aid, f"{title}. {first_few(said)}.")
