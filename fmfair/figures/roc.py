"""ROC curve of every group, with its operating point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from fmfair.figures.binned import binned, roc_points
from fmfair.figures.data import Where, context, measured
from fmfair.figures.panels import by_name, panels_of, whole_line
from fmfair.figures.text import capital, first_few, name_of, number
from fmfair.figures.theme import BLUE, INK, MUTED, PAPER, Look, Words, drawn, rows_chart, unchecked


@unchecked
def roc(
    curves: pl.DataFrame,
    groups: pl.DataFrame,
    overall: pl.DataFrame,
    *,
    attribute: str | None = None,
    where: Where = None,
    look: Look | None = None,
) -> alt.LayerChart:
    """A panel per group: sensitivity against false positive rate, all rows in grey behind.

    The curve is exact at the edges of the bins of scores and straight between them. The diamond is the operating point:
    the rates at the threshold, where the report has both.

    Args:
        curves: The frame of scores in bins.
        groups: That of group values, for the operating points.
        overall: That of the values on all rows.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key and threshold.
        look: The width.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    look = look or Look()
    whole, parts = binned(curves, attribute, where)
    panels = panels_of(parts or [whole], look, ("↑ sensitivity (TPR)", "false positive rate →"))
    words = roc_words(curves, groups, overall, attribute=attribute, where=where, look=look)
    lines = [row for k, scores in panels.drawn for row in panels.line(k, roc_points(scores), "fpr", "tpr")]
    chance = [{"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}]
    diagonal = [row for k, _ in panels.drawn for row in panels.line(k, chance, "a", "b")]
    points = operating_points(groups, overall, attribute, where)
    at = [
        row | {"group": scores.group}
        for k, scores in panels.drawn
        if scores.group in points
        for row in panels.line(k, [points[scores.group]], "fpr", "tpr")
    ]
    behind = whole_line(panels, whole, roc_points(whole) if whole.said is None else [], "fpr", "tpr") if parts else []
    mark: dict[str, Any] = {"shape": "diamond", "size": 90, "fill": INK, "stroke": PAPER, "strokeWidth": 1}
    place = {"x": panels.horizontal("px"), "y": panels.vertical("py")}
    layers = [
        *panels.frames(),
        panels.lines(diagonal, color=MUTED, strokeWidth=1, strokeDash=[3, 3]),
        panels.lines(behind, color=MUTED, strokeWidth=1.25, opacity=0.6),
        panels.lines(lines, color=BLUE),
        rows_chart(at).mark_point(filled=True, opacity=1, **mark).encode(**place),
    ]
    return drawn(layers, panels.area, words)


def operating_points(
    groups: pl.DataFrame, overall: pl.DataFrame, attribute: str | None, where: Where = None
) -> dict[str | None, dict[str, float]]:
    """The `tpr` and `fpr` at the threshold by group, of all rows where no attribute is named; none without both."""
    frame = overall if attribute is None else groups.filter(pl.col("attribute") == attribute)
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


def roc_words(
    curves: pl.DataFrame,
    groups: pl.DataFrame,
    overall: pl.DataFrame,
    *,
    attribute: str | None = None,
    where: Where = None,
    look: Look | None = None,  # noqa: ARG001
) -> Words:
    """Title, reading aid and description; the arguments are those of `roc`."""
    whole, parts = binned(curves, attribute, where)
    there = {scores.group for scores in parts or [whole] if scores.said is None}
    points = {group: at for group, at in operating_points(groups, overall, attribute, where).items() if group in there}
    title = f"ROC curves{by_name(attribute)}" if parts else "ROC curve"
    of = ""
    if points:
        title += f": sensitivity {_span(points, 'tpr')} at false positive rate {_span(points, 'fpr')}"
        metric = "tpr" if "tpr" in overall["metric"] else "fnr"
        of = context(measured(overall, metric, where), where)
    diamond = "diamond: operating point; " if points else ""
    grey = "grey: all rows; " if parts else ""
    aid = capital(f"{of + '. ' if of else ''}{capital(diamond)}{grey if diamond else capital(grey)}dashed: chance.")
    said = [f"{group or 'all rows'}: {_rates(at)}" for group, at in points.items()]
    return Words(title, aid, f"{title}. {first_few(said)}.")


def _rates(at: Mapping[str, float]) -> str:
    return f"sensitivity {number(at['tpr'])} at false positive rate {number(at['fpr'])}"


def _span(points: Mapping[str | None, Mapping[str, float]], side: str) -> str:
    values = sorted(number(at[side]) for at in points.values())
    return values[0] if values[0] == values[-1] else f"{values[0]} to {values[-1]}"
