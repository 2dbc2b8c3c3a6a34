"""Reliability: the share of positives against the mean score, in bins of about equal counts."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from fmfair.figures.binned import Binned, binned, reliability_points
from fmfair.figures.data import Where
from fmfair.figures.panels import Panels, by_name, panels_of, whole_line
from fmfair.figures.text import first_few, number
from fmfair.figures.theme import BLUE, INK, MUTED, PAPER, Look, Words, drawn, rows_chart, unchecked

LEVEL = 0.95


@unchecked
def reliability(
    curves: pl.DataFrame, *, attribute: str | None = None, where: Where = None, look: Look | None = None
) -> alt.LayerChart:
    """A panel per group: observed share against mean score with Wilson's interval, all rows in grey behind.

    Points are larger where more rows are in their bin; those of a perfectly calibrated model lie on the diagonal.

    Args:
        curves: The frame of scores in bins.
        attribute: The attribute whose groups are shown; all rows alone where left out.
        where: The by-key to show.
        look: The width and the level of the intervals.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    look = look or Look()
    whole, groups = binned(curves, attribute, where)
    panels = panels_of(groups or [whole], look, ("↑ observed share of positives", "mean score →"))
    words = reliability_words(curves, attribute=attribute, where=where, look=look)
    level = look.level or LEVEL
    diagonal = [{"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}]
    ideal = [row for k, _ in panels.drawn for row in panels.line(k, diagonal, "a", "b")]
    behind = whole_line(panels, whole, reliability_points(whole, level), "predicted", "observed") if groups else []
    points = [row for k, scores in panels.drawn for row in _placed(panels, k, scores, level)]
    x, y = panels.horizontal("px"), panels.vertical("py")
    spans = {"y": panels.vertical("plow"), "y2": alt.Y2("phigh:Q")}
    most = max((row["n"] for row in points), default=1.0)
    size = alt.Size("n:Q", legend=None, scale=alt.Scale(domain=[0, most], range=[12, 80]))
    mark: dict[str, Any] = {"fill": BLUE, "stroke": PAPER, "strokeWidth": 1}
    layers = [
        *panels.frames(),
        panels.lines(ideal, color=MUTED, strokeWidth=1, strokeDash=[3, 3]),
        panels.lines(behind, color=MUTED, strokeWidth=1.25, opacity=0.6),
        rows_chart(points).mark_rule(color=INK).encode(x=x, **spans),
        rows_chart(points).mark_point(filled=True, opacity=1, **mark).encode(x=x, y=y, size=size),
    ]
    return drawn(layers, panels.area, words)


def _placed(panels: Panels, panel: int, scores: Binned, level: float) -> list[dict[str, Any]]:
    rows = panels.line(panel, reliability_points(scores, level), "predicted", "observed")
    limits = (("plow", "ci_low"), ("phigh", "ci_high"))
    return [{**row, "group": scores.group, **{p: panels.down(panel, row[c]) for p, c in limits}} for row in rows]


def reliability_words(
    curves: pl.DataFrame, *, attribute: str | None = None, where: Where = None, look: Look | None = None
) -> Words:
    """Title, reading aid and description; the arguments are those of `reliability`."""
    look = look or Look()
    whole, groups = binned(curves, attribute, where)
    there = [scores for scores in groups or [whole] if scores.said is None]
    shift = [(float(s.sum_score.sum()) / s.rows - s.positives / s.rows, s.group) for s in there]
    title = f"Reliability{by_name(attribute)}"
    if shift:
        (low, least), (high, most) = min(shift, key=lambda s: s[0]), max(shift, key=lambda s: s[0])
        title += f": mean score less share of positives {low:+.3f}"
        title += f" ({least}) to {high:+.3f} ({most})" if len(shift) > 1 else ""
    said = [
        f"{s.group or 'all rows'}: mean score {number(float(s.sum_score.sum()) / s.rows)}, "
        f"share of positives {number(s.positives / s.rows)}"
        for s in there
    ]
    grey = "grey: all rows; " if groups else ""
    limits = look.interval if look.level else "95% interval"
    aid = f"Larger points: more rows; lines: {limits}, rows taken as independent; {grey}dashed: perfect calibration."
    return Words(title, aid, f"{title}. {first_few(said)}.")
