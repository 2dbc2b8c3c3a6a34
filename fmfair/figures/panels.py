"""Small panels on one scale, one per group, with their frames, ticks and names: places in pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from fmfair.figures.binned import Binned
from fmfair.figures.forest import ALL
from fmfair.figures.text import LINE, SIZE, name_of, wrapped
from fmfair.figures.theme import (
    GRID,
    MUTED,
    Area,
    Layer,
    Look,
    pixels,
    pixels_across,
    rows_chart,
    text_layer,
)

_LEFT, _GAP, _FOOT = 34, 14, 20
_MOST, _COLUMNS = 340, 6


@dataclass(frozen=True)
class Panels:
    """Where the panels are.

    Attributes:
        shown: The scores that each shows.
        area: The whole.
        size: Width and height of a panel.
        corners: The left upper corner of each.
        names: Name and counts above each, with their positions.
        x: The range of the horizontal axis.
        y: That of the vertical one.
        titles: What stands at the axes, the vertical one first.
        marks: The values that are named on the vertical axis.
    """

    shown: Sequence[Binned]
    area: Area
    size: tuple[float, float]
    corners: Sequence[tuple[float, float]]
    names: Sequence[Mapping[str, Any]]
    x: tuple[float, float]
    y: tuple[float, float]
    titles: tuple[str, str]
    marks: tuple[float, ...]

    @property
    def drawn(self) -> list[tuple[int, Binned]]:
        """The panels with a curve."""
        return [(k, scores) for k, scores in enumerate(self.shown) if scores.said is None]

    def across(self, panel: int, value: float) -> float:
        """The pixel of a value on the horizontal axis of a panel."""
        low, high = self.x
        return self.corners[panel][0] + (value - low) / (high - low) * self.size[0]

    def down(self, panel: int, value: float) -> float:
        """The pixel of a value on the vertical axis of a panel."""
        low, high = self.y
        return self.corners[panel][1] + (high - value) / (high - low) * self.size[1]

    def line(
        self, panel: int, points: Sequence[Mapping[str, Any]], x: str, y: str, series: str = ""
    ) -> list[dict[str, Any]]:
        """The points of a line in a panel, with their places; `line` keeps the lines of a layer apart."""
        return [
            {
                **point,
                "line": f"{panel} {series}",
                "order": k,
                "px": self.across(panel, point[x]),
                "py": self.down(panel, point[y]),
            }
            for k, point in enumerate(points)
        ]

    def lines(self, rows: Sequence[Mapping[str, Any]], **mark: Any) -> alt.Chart:
        """A layer of lines."""
        style: dict[str, Any] = {"strokeWidth": 1.75, **mark}
        layer: alt.Chart = (
            rows_chart(rows)
            .mark_line(**style)
            .encode(x=self.horizontal("px"), y=self.vertical("py"), detail="line:N", order="order:Q")
        )
        return layer

    def horizontal(self, name: str) -> alt.X:
        """A horizontal place."""
        return pixels_across(name, self.area.width)

    def vertical(self, name: str) -> alt.Y:
        """A vertical place."""
        return pixels(name, self.area.height)

    def frames(self) -> list[Layer]:
        """Frames, ticks, names and the titles of the axes, and what is said in panels without a curve."""
        x, y = self.horizontal("x"), self.vertical("y")
        ends = {"x2": alt.X2("x2:Q"), "y2": alt.Y2("y2:Q")}
        wide, high = self.size
        boxes = [{"x": left, "y": top, "x2": left + wide, "y2": top + high} for left, top in self.corners]
        said = [
            {"text": "\n".join(wrapped(s.said, wide - 8)), "x": left + wide / 2, "y": top + high / 2}
            for s, (left, top) in zip(self.shown, self.corners, strict=True)
            if s.said is not None
        ]
        axes = [
            {"text": self.titles[0], "x": 0, "y": LINE / 2},
            {"text": self.titles[1], "x": 0, "y": self.area.height - LINE / 2},
        ]
        across, down = self._ticks()
        return [
            rows_chart(boxes).mark_rect(filled=False, stroke=GRID).encode(x=x, y=y, **ends),
            text_layer(self.names, x, y),
            text_layer(said, x, y, align="center", color=MUTED),
            text_layer(axes, x, y, color=MUTED),
            text_layer(across, x, y, align="center", fontSize=SIZE - 1, color=MUTED),
            text_layer(down, x, y, align="right", fontSize=SIZE - 1, color=MUTED),
        ]

    def _ticks(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The ends and the middle of the horizontal axis of each panel, and the marks of the vertical one."""
        across, down = [], []
        for panel, (left, top) in enumerate(self.corners):
            for value in (self.x[0], (self.x[0] + self.x[1]) / 2, self.x[1]):
                place = {"x": self.across(panel, value), "y": top + self.size[1] + 10}
                across.append({"text": f"{value:.3g}", **place})
            down += [{"text": f"{value:.3g}", "x": left - 5, "y": self.down(panel, value)} for value in self.marks]
        return across, down


def panels_of(
    shown: Sequence[Binned],
    look: Look,
    titles: tuple[str, str],
    *,
    x: tuple[float, float] = (0.0, 1.0),
    y: tuple[float, float] = (0.0, 1.0),
    marks: tuple[float, ...] = (0.0, 0.5, 1.0),
) -> Panels:
    """Panels in as many columns as fit; `titles` stand at the vertical and the horizontal axis."""
    width = look.width - 24.0
    columns = min(len(shown), 2 if look.narrow else max(1, min(_COLUMNS, look.width // 190)))
    wide = min((width - columns * _LEFT - (columns - 1) * _GAP) / columns, _MOST)
    heads = [[*wrapped(s.group if s.group is not None else ALL, wide), *wrapped(s.counts, wide)] for s in shown]
    corners, names, top = [], [], LINE + 8.0
    for first in range(0, len(shown), columns):
        row = heads[first : first + columns]
        tall = LINE * max(len(head) for head in row)
        for k, head in enumerate(row):
            left = _LEFT + k * (wide + _LEFT + _GAP)
            start = top + tall - LINE * len(head)
            names += [{"text": t, "x": left, "y": start + LINE * (j + 0.5)} for j, t in enumerate(head)]
            corners.append((left, top + tall + 6))
        top += tall + 6 + wide * 0.9 + _FOOT + _GAP
    area = Area(width, top + LINE, 8, 16, 8, 8)
    return Panels(shown, area, (wide, wide * 0.9), corners, names, x, y, titles, marks)


def whole_line(
    panels: Panels, whole: Binned, points: Sequence[Mapping[str, Any]], x: str, y: str
) -> list[dict[str, Any]]:
    """The line of all rows in every panel."""
    if whole.said is not None:
        return []
    return [row for k, _ in panels.drawn for row in panels.line(k, points, x, y)]


def by_name(attribute: str | None) -> str:
    """Of which attribute a figure is, for its title."""
    return "" if attribute is None else f" by {name_of(attribute)}"
