"""Heat map of an intersection: how far each cell is from all rows, with its value and number of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.errors import FmfairError, listing
from fmfair.export import Frames
from fmfair.figures.data import SUPPRESSED, Where, attributes_of, context, measured, of_context, reading, valued
from fmfair.figures.grid import Grid, grid_of
from fmfair.figures.layers import as_is, end, layer, pixels, text, text_layer
from fmfair.figures.text import LINE, SIZE, first_few, metric_of, name_of, short_name
from fmfair.figures.theme import GRID, INK, MUTED, Area, Layer, Look, Spec, Words, drawn
from fmfair.figures.words import differences, finding
from fmfair.numerals import amount, in_percent

# From far below all rows over no difference to far above; texts on all but the ends are dark. The same in the dark.
CLASSES = ("#b35806", "#e08214", "#fdb863", "#fee0b6", "#f5f5f5", "#d1e5f0", "#92c5de", "#4a98c9", "#1f5f9f")
DARK_TEXT, LIGHT_TEXT = "#111111", "#fefefe"
# Where the classes begin, for values between 0 and 1, so that two such figures compare.
LIMITS = (0.01, 0.05, 0.1, 0.2)
_CELL, _LEAST, _MOST = 38, 64, 130
_LEGEND = 3 * LINE + 14


def heat_map(frames: Frames, metric: str, look: Look, *, attribute: str | None = None, where: Where = None) -> Spec:
    """The cells of an intersection, coloured by their difference to the value of all rows.

    Cells with few samples are hatched and hold counts; undefined ones hold a dot; those that do not occur are empty.

    Args:
        frames: Those of the report.
        metric: The name of a metric of the report.
        look: The width.
        attribute: The intersection, as the frames name it; the first where left out.
        where: The by-key and threshold.

    Raises:
        FmfairError: There is no such metric, intersection or by-key.
    """
    attribute = _intersection(frames["groups"], attribute)
    every = measured(frames["groups"], metric, where)
    groups = valued(every.filter(pl.col("attribute") == attribute), metric)
    cells = _upright(_cells(groups, measured(frames["overall"], metric, where)["value"].first()))
    rows, columns = _sides(frames["groups"], cells)
    names = [[name_of(part) for part in row] for row in rows]
    grid = grid_of(
        [" & ".join(parts) for parts in names],
        [name_of(column) for column in columns],
        look.width - 16.0,
        least=_LEAST,
        most=_MOST,
        height=_CELL,
    )
    placed = [
        {**cell, "x": x, "y": y}
        for cell in cells
        for x, y in [grid.places[rows.index(tuple(cell["parts"][:-1])), columns.index(cell["parts"][-1])]]
    ]
    area = Area(grid.width, grid.height + _LEGEND, 8, 8, 8, 8)
    found = differences(frames["gaps"], groups, metric, [attribute], where)
    title = finding(found, metric, [attribute], look)
    words = _words(cells, metric, attribute, title, context(every, where))
    return drawn(_layers(placed, grid, area, limits_of(cells, metric), metric), area, words)


def _cells(groups: pl.DataFrame, whole: Any) -> list[dict[str, Any]]:
    """The cells of the intersection with their `difference` to all rows, NULL where either is undefined."""
    difference = pl.when(pl.col("kind") == "point").then(pl.col("value") - pl.lit(whole, pl.Float64))
    names = ("group", "group_parts", "value", "n", "n_pos", "kind", "said")
    return groups.select(*names, difference=difference).rename({"group_parts": "parts"}).to_dicts()


def _words(cells: Sequence[Mapping[str, Any]], metric: str, attribute: str, title: str, of: str) -> Words:
    kinds = {cell["kind"] for cell in cells}
    aid = ["Value and number of rows per cell; colour: difference to all rows"]
    aid += ["hatched: fewer than 10 samples carry the value"] if "counts" in kinds else []
    hidden = any(cell["said"] == SUPPRESSED for cell in cells)
    aid += [f"dot: not defined{' or suppressed' if hidden else ''}"] if "undefined" in kinds else []
    said = [f"{name_of(cell['group'])} {cell['said'] or amount(metric, cell['value'])}" for cell in cells]
    alt_text = f"Heat map of {short_name(metric)} by {name_of(attribute)}{of_context(of)}. {title}. {first_few(said)}."
    return Words(title, reading(of, f"{'; '.join(aid)}."), alt_text)


def limits_of(cells: Sequence[Mapping[str, Any]], metric: str) -> tuple[float, ...]:
    """Where the classes of colour begin, on either side of no difference."""
    known = metric_of(metric)
    if known is not None and (known.low, known.high) == (0.0, 1.0):
        return LIMITS
    largest = max((abs(cell["difference"]) for cell in cells if cell["difference"] is not None), default=0.0) or 1.0
    return tuple(float(f"{largest * share:.2g}") for share in (0.05, 0.25, 0.5, 0.8))


def class_of(difference: float, limits: Sequence[float]) -> int:
    """The class of a difference, an index of `CLASSES`.

    Examples:
        >>> [class_of(d, LIMITS) for d in (-0.3, -0.06, 0.0, 0.009, 0.01, 0.2)]
        [0, 2, 4, 4, 5, 8]
    """
    steps = sum(abs(difference) >= limit for limit in limits)
    return 4 + (steps if difference > 0 else -steps)


def _intersection(groups: pl.DataFrame, attribute: str | None) -> str:
    several = groups.filter(pl.col("attribute_parts").list.len() > 1)["attribute"].unique(maintain_order=True).to_list()
    if not several:
        raise FmfairError("the report has no intersections; evaluate with intersections=2")
    if attribute is None:
        return str(several[0])
    name = attributes_of(groups, [attribute])[0]
    if name not in several:
        raise FmfairError(f"{name!r} is no intersection; expected one of {listing(several)}")
    return name


def _upright(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of two attributes the one with more groups last but one, so that it is down the side, where long names fit."""
    parts = [cell["parts"] for cell in cells]
    several = any(len(names) != 2 for names in parts)
    if several or len({first for first, _ in parts}) >= len({second for _, second in parts}):
        return cells
    return [{**cell, "parts": [*reversed(cell["parts"])]} for cell in cells]


def _sides(groups: pl.DataFrame, cells: Sequence[Mapping[str, Any]]) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows, by all attributes but the last, and the columns, by the last; in the order of the groups."""
    there = [tuple(cell["parts"]) for cell in cells]
    order = groups.filter(pl.col("attribute_parts").list.len() == 1)["group"].unique(maintain_order=True).to_list()
    rank = {name: k for k, name in reversed(list(enumerate([*order, *(part for parts in there for part in parts)])))}
    rows = sorted({parts[:-1] for parts in there}, key=lambda parts: [rank[part] for part in parts])
    return rows, sorted({parts[-1] for parts in there}, key=lambda part: rank[part])


def _layers(
    cells: Sequence[Mapping[str, Any]], grid: Grid, area: Area, limits: Sequence[float], metric: str
) -> list[Layer]:
    wide, high = grid.cell[0] - 2, grid.cell[1] - 2
    boxes = [
        {
            **cell,
            "x2": cell["x"] + wide,
            "y2": cell["y"] + high,
            "fill": _fill(cell, limits),
            "shown": _shown(cell, metric),
        }
        for cell in cells
    ]
    x, y = pixels("x", area.width), pixels("y", area.height)
    spans = {"x": x, "y": y, "x2": end("x2"), "y2": end("y2")}
    filled = [box for box in boxes if box["fill"]]
    empty = [box for box in boxes if not box["fill"]]
    classes, legend = _legend(grid, limits, metric)
    texts = [
        text(
            b["shown"],
            b["x"] + wide / 2,
            b["y"] + high / 2 - _rise(b),
            side="center",
            tone=_ink(b["fill"]),
            size=SIZE - 1,
        )
        for b in boxes
    ]
    return [
        layer("rect", filled, {**spans, "color": as_is("fill")}),
        layer("rect", empty, spans, stroke=GRID, filled=False),
        layer("rule", _hatches(empty, wide, high), spans, color=GRID),
        layer("rect", classes, {**spans, "color": as_is("fill")}, stroke=MUTED, strokeWidth=0.5),
        text_layer([*grid.texts, *texts, *legend], x, y),
    ]


def _fill(cell: Mapping[str, Any], limits: Sequence[float]) -> str | None:
    return None if cell["difference"] is None else CLASSES[class_of(cell["difference"], limits)]


def _ink(fill: str | None) -> str:
    if fill is None:
        return INK
    return LIGHT_TEXT if fill in (CLASSES[0], CLASSES[-1]) else DARK_TEXT


def _shown(cell: Mapping[str, Any], metric: str) -> str:
    rows = "" if cell["n"] is None else f"\nn {cell['n']:,}"
    if cell["kind"] == "undefined":
        return f"·{rows}"
    return f"{amount(metric, cell['value'])}{rows}" if cell["kind"] == "point" else rows.strip()


def _rise(box: Mapping[str, Any]) -> float:
    return LINE / 2 * str(box["shown"]).count("\n")


def _hatches(boxes: Sequence[Mapping[str, Any]], wide: float, high: float) -> list[dict[str, float]]:
    """Lines across the cells that hold counts only."""
    step = 12
    lines = []
    for box in boxes:
        if box["kind"] != "counts":
            continue
        for start in range(step, int(wide + high), step):
            x, y = min(start, wide), max(0.0, start - wide)
            x2, y2 = max(0.0, start - high), min(start, high)
            lines.append({"x": box["x"] + x, "y": box["y"] + y, "x2": box["x"] + x2, "y2": box["y"] + y2})
    return lines


def _legend(grid: Grid, limits: Sequence[float], metric: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The classes of colour, and the differences at which they begin."""
    wide = min(grid.width / len(CLASSES), 56)
    top = grid.height + 14 + LINE
    boxes = [
        {"x": k * wide, "x2": (k + 1) * wide, "y": top, "y2": top + 12, "fill": colour}
        for k, colour in enumerate(CLASSES)
    ]
    scale, points = (100, ", in percentage points") if in_percent(metric) else (1, "")
    edges = [*(-limit for limit in reversed(limits)), *limits]
    marks: dict[str, Any] = {"side": "center", "tone": "muted", "size": SIZE - 1}
    texts = [text(f"{scale * edge:+.3g}", (k + 1) * wide, top + 12 + LINE / 2, **marks) for k, edge in enumerate(edges)]
    title = f"{short_name(metric)} less that of all rows{points}"
    return boxes, [*texts, text(title, 0, top - LINE / 2 - 2, tone="muted")]
