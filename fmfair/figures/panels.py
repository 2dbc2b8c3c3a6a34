"""Small panels on one scale, one per group, with their frames, ticks and names: places in pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fmfair.figures.binned import Binned
from fmfair.figures.layers import Channel, Rows, end, layer, pixels, text, text_layer, text_lines
from fmfair.figures.text import LINE, SIZE, name_lines, width_of, wrapped
from fmfair.figures.theme import GRID, MUTED, Area, Layer, Look

_LEFT, _GAP, _FOOT = 34, 14, 20
_MOST, _COLUMNS = 340, 6


@dataclass(frozen=True)
class Scale:
    """An axis of all panels.

    Attributes:
        title: What it is of, and where more is.
        ends: Its range.
        marks: The values that are named.
        percent: Whether they are named in per cent.
    """

    title: str
    ends: tuple[float, float] = (0.0, 1.0)
    marks: tuple[float, ...] = (0.0, 0.5, 1.0)
    percent: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value is."""
        low, high = self.ends
        return (value - low) / (high - low)

    @property
    def named(self) -> list[tuple[float, str]]:
        """The marks and their names."""
        return [(at, f"{100 * at:.3g}%" if self.percent else f"{at:.3g}") for at in self.marks]


@dataclass(frozen=True)
class Panels:
    """Where the panels are.

    Attributes:
        shown: The scores that each shows.
        area: The whole.
        size: Width and height of a panel.
        corners: The left upper corner of each.
        names: Name and counts above each, with their positions.
        x: The horizontal axis.
        y: The vertical one.
    """

    shown: Sequence[Binned]
    area: Area
    size: tuple[float, float]
    corners: Sequence[tuple[float, float]]
    names: Rows
    x: Scale
    y: Scale

    @property
    def drawn(self) -> list[tuple[int, Binned]]:
        """The panels with a curve."""
        return [(k, scores) for k, scores in enumerate(self.shown) if scores.said is None]

    def across(self, panel: int, value: float) -> float:
        """The pixel of a value on the horizontal axis of a panel."""
        return self.corners[panel][0] + self.x.share(value) * self.size[0]

    def down(self, panel: int, value: float) -> float:
        """The pixel of a value on the vertical axis of a panel."""
        return self.corners[panel][1] + (1 - self.y.share(value)) * self.size[1]

    def line(self, panel: int, points: Rows, x: str, y: str, series: str = "") -> list[dict[str, Any]]:
        """The points of a line in a panel, with their places; `line` keeps the lines of a layer apart.

        Limits of the interval of a point, `ci_low` and `ci_high`, have places too.
        """
        limits = {"plow": "ci_low", "phigh": "ci_high"}
        return [
            {
                **point,
                "line": f"{panel} {series}",
                "order": k,
                "px": self.across(panel, point[x]),
                "py": self.down(panel, point[y]),
                **{place: self.down(panel, point[limit]) for place, limit in limits.items() if limit in point},
            }
            for k, point in enumerate(points)
        ]

    def each(self, points_of: Callable[[Binned], Rows], x: str, y: str, series: str = "") -> list[dict[str, Any]]:
        """The line of its own scores in every panel that has a curve."""
        return [
            {**row, "group": scores.group}
            for k, scores in self.drawn
            for row in self.line(k, points_of(scores), x, y, series)
        ]

    def everywhere(self, points: Rows, x: str, y: str) -> list[dict[str, Any]]:
        """The same line in every panel that has a curve."""
        return [row for k, _ in self.drawn for row in self.line(k, points, x, y)]

    def lines(self, rows: Rows, **mark: Any) -> Layer:
        """A layer of lines."""
        detail = {"field": "line", "type": "nominal"}
        order = {"field": "order", "type": "quantitative"}
        return layer("line", rows, {**self.places, "detail": detail, "order": order}, **{"strokeWidth": 1.75, **mark})

    @property
    def places(self) -> dict[str, Channel]:
        """Where a point is."""
        return {"x": pixels("px", self.area.width), "y": pixels("py", self.area.height)}

    @property
    def spans(self) -> dict[str, Channel]:
        """From one limit of a point's interval to the other."""
        return {**self.places, "y": pixels("plow", self.area.height), "y2": end("phigh")}

    def diagonal(self) -> Layer:
        """A broken line from corner to corner in every panel."""
        ends = [{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]
        return self.lines(self.everywhere(ends, "x", "y"), color=MUTED, strokeWidth=1, strokeDash=[3, 3])

    def behind(self, whole: Binned, points_of: Callable[[Binned], Rows], x: str, y: str) -> Layer:
        """The line of all rows in grey in every panel of a group."""
        grouped = whole.said is None and any(scores.group is not None for scores in self.shown)
        rows = self.everywhere(points_of(whole), x, y) if grouped else []
        return self.lines(rows, color=MUTED, strokeWidth=1.25, opacity=0.6)

    def frames(self) -> list[Layer]:
        """Frames, ticks, names and the titles of the axes, and what is said in panels without a curve."""
        x, y = pixels("x", self.area.width), pixels("y", self.area.height)
        wide, high = self.size
        boxes = [{"x": left, "y": top, "x2": left + wide, "y2": top + high} for left, top in self.corners]
        said = [
            text("\n".join(wrapped(s.said, wide - 8)), left + wide / 2, top + high / 2, side="center", tone="muted")
            for s, (left, top) in zip(self.shown, self.corners, strict=True)
            if s.said is not None
        ]
        axes = [
            text(self.y.title, 0, LINE / 2, tone="muted"),
            text(self.x.title, 0, self.area.height - LINE / 2, tone="muted"),
        ]
        return [
            layer("rect", boxes, {"x": x, "y": y, "x2": end("x2"), "y2": end("y2")}, filled=False, stroke=GRID),
            text_layer([*self.names, *said, *axes, *self._ticks()], x, y),
        ]

    def _ticks(self) -> list[dict[str, Any]]:
        """The named values below and beside each panel."""
        small: dict[str, Any] = {"tone": "muted", "size": SIZE - 1}
        ticks = []
        for panel, (left, top) in enumerate(self.corners):
            below = top + self.size[1] + 10
            ticks += [text(name, self.across(panel, at), below, side="center", **small) for at, name in self.x.named]
            ticks += [text(name, left - 5, self.down(panel, at), side="right", **small) for at, name in self.y.named]
        return ticks


def counts(scores: Binned) -> list[str]:
    """The counts in words."""
    positives = [] if scores.n_pos is None else [f"{scores.positives:,} positive"]
    return [f"n {scores.rows:,}", *positives]


def _head(name: str, told: Sequence[str], width: float) -> list[str]:
    """The name and what is told of it, in one line where that fits."""
    line = ", ".join(told)
    parts = [line] if width_of(line) <= width else told
    return [*name_lines(name, width), *(piece for part in parts for piece in wrapped(part, width))]


def panels_of(
    shown: Sequence[Binned], look: Look, y: Scale, x: Scale, *, told: Callable[[Binned], Sequence[str]] = counts
) -> Panels:
    """Panels in as many columns as fit; `told` is what stands below the name of each."""
    width = look.width - 24.0
    columns = min(len(shown), 2 if look.narrow else max(1, min(_COLUMNS, look.width // 190)))
    wide = min((width - columns * _LEFT - (columns - 1) * _GAP) / columns, _MOST)
    heads = [_head(s.name, told(s), wide) for s in shown]
    corners: list[tuple[float, float]] = []
    names: list[dict[str, Any]] = []
    top = LINE + 8.0
    for first in range(0, len(shown), columns):
        row = heads[first : first + columns]
        tall = LINE * max(len(head) for head in row)
        for k, head in enumerate(row):
            left = _LEFT + k * (wide + _LEFT + _GAP)
            names += text_lines(head, left, top + tall - LINE * len(head))
            corners.append((left, top + tall + 6))
        top += tall + 6 + wide * 0.9 + _FOOT + _GAP
    area = Area(width, top + LINE, 8, 16, 8, 8)
    return Panels(shown, area, (wide, wide * 0.9), corners, names, x, y)
