"""ROC curve of every group, with its operating point."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from fmfair.export import Frames
from fmfair.figures.binned import Curves, curves_of, roc_points
from fmfair.figures.data import Where, context, measured, reading
from fmfair.figures.layers import points
from fmfair.figures.panels import Scale, panels_of
from fmfair.figures.text import ALL, first_few, name_of
from fmfair.figures.theme import BLUE, INK, Look, Spec, Words, drawn
from fmfair.numerals import amount

# The rates of an operating point by group; None is all rows.
Points = Mapping[str | None, Mapping[str, float]]


def roc(frames: Frames, look: Look, *, attribute: str | None = None, where: Where = None) -> Spec:
    """A panel per group: sensitivity against false positive rate, all rows in grey behind.

    The curve is exact at the edges of the bins of scores and straight between them. The diamond is the operating point:
    the rates at the threshold, where the report has both.

    Args:
        frames: Those of the report.
        look: The width.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key and threshold.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    curves = curves_of(frames, attribute, where)
    y, x = Scale("↑ sensitivity (TPR)", percent=True), Scale("false positive rate →", percent=True)
    panels = panels_of(curves.shown, look, y, x)
    drawn_groups = {scores.group for scores in curves.there}
    found = operating_points(frames, attribute, where)
    at = {group: point for group, point in found.items() if group in drawn_groups}
    layers = [
        *panels.frames(),
        panels.diagonal(),
        panels.behind(curves.whole, roc_points, "fpr", "tpr"),
        panels.lines(panels.each(roc_points, "fpr", "tpr"), color=BLUE),
        points(
            panels.each(lambda s: [at[s.group]] if s.group in at else [], "fpr", "tpr"),
            panels.places,
            INK,
            "diamond",
            90,
        ),
    ]
    metric = "tpr" if "tpr" in frames["overall"]["metric"] else "fnr"
    of = context(measured(frames["overall"], metric, where), where) if at else ""
    return drawn(layers, panels.area, _words(curves, at, of))


def operating_points(frames: Frames, attribute: str | None, where: Where = None) -> dict[str | None, dict[str, float]]:
    """The `tpr` and `fpr` at the threshold by group, of all rows where no attribute is named; none without both."""
    frame = frames["overall"]
    if attribute is not None:
        frame = frames["groups"].filter(pl.col("attribute") == attribute)
    sides: list[dict[str | None, float]] = []
    for metric, other in (("tpr", "fnr"), ("fpr", "tnr")):
        name = next((n for n in (metric, other) if n in frame["metric"]), None)
        if name is None:
            return {}
        rows = measured(frame, name, where).drop_nulls("value")
        names = [None] * rows.height if attribute is None else [name_of(group) for group in rows["group"]]
        values = rows["value"] if name == metric else 1 - rows["value"]
        sides.append(dict(zip(names, values, strict=True)))
    return {group: {"tpr": sides[0][group], "fpr": sides[1][group]} for group in sides[0] if group in sides[1]}


def _words(curves: Curves, at: Points, of: str) -> Words:
    title = f"ROC curves{curves.by}" if curves.groups else "ROC curve"
    if at:
        title += f": sensitivity {_span(at, 'tpr')} at false positive rate {_span(at, 'fpr')}"
    parts = [*(["diamond: operating point"] if at else []), *(["grey: all rows"] if curves.groups else [])]
    aid = "; ".join([*parts, "dashed: chance"])
    said = [f"{group or ALL}: {_rates(point)}" for group, point in at.items()]
    return Words(title, reading(of, f"{aid}."), f"{title}. {first_few(said)}.")


def _rates(at: Mapping[str, float]) -> str:
    return f"sensitivity {amount('tpr', at['tpr'])} at false positive rate {amount('fpr', at['fpr'])}"


def _span(points: Points, side: str) -> str:
    values = sorted(point[side] for point in points.values())
    low, high = amount(side, values[0]), amount(side, values[-1])
    return low if low == high else f"{low} to {high}"
