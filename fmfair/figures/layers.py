"""Layers of a figure, as Vega-Lite reads them: marks on rows, texts, and positions in pixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fmfair.figures.text import LINE, SIZE
from fmfair.figures.theme import INK, MUTED, PAPER, Layer

Row = Mapping[str, Any]
Rows = Sequence[Row]
Channel = dict[str, Any]
# Colour and weight of each tone of a text.
_TONES: Mapping[str, tuple[str, str]] = {
    "plain": (INK, "normal"),
    "muted": (MUTED, "normal"),
    "strong": (INK, "bold"),
}


def layer(mark: str, rows: Rows, places: Mapping[str, Channel], **style: Any) -> Layer:
    """A mark for each of the rows, which are part of the figure."""
    return {"data": {"values": list(rows)}, "mark": {"type": mark, **style}, "encoding": dict(places)}


def points(rows: Rows, places: Mapping[str, Channel], fill: str, shape: str = "circle", size: float = 70) -> Layer:
    """Filled points with a rim in the colour of the paper, which keeps them apart from lines."""
    rim = {"stroke": PAPER, "strokeWidth": 1}
    return layer("point", rows, places, shape=shape, size=size, fill=fill, filled=True, opacity=1, **rim)


def whiskers(rows: Rows, x: Callable[[str], Channel], y: Channel, colour: str) -> list[Layer]:
    """Intervals `from` one place `to` another, with the head of an arrow where they go on beyond."""
    layers = [layer("rule", rows, {"x": x("from"), "x2": end("to"), "y": y}, color=colour, strokeWidth=1.5)]
    for further, place, shape in (("below", "from", "triangle-left"), ("above", "to", "triangle-right")):
        heads = [row for row in rows if row[further]]
        layers.append(
            layer("point", heads, {"x": x(place), "y": y}, shape=shape, fill=colour, filled=True, size=60, opacity=1)
        )
    return layers


def text(
    said: str, x: float, y: float, *, side: str = "left", tone: str = "plain", size: float = SIZE
) -> dict[str, Any]:
    """A text, or several lines of one, at a place.

    Args:
        said: The text.
        x: Where it begins, ends or is centred, after `side`.
        y: The middle of its first line.
        side: `left`, `right` or `center`.
        tone: `plain`, `muted` or `strong`, or a colour.
        size: Of its letters.
    """
    ink, weight = _TONES.get(tone, (tone, "normal"))
    return {"text": said, "x": x, "y": y, "side": side, "ink": ink, "weight": weight, "size": size}


def text_lines(
    said: Sequence[str], x: float, top: float, *, side: str = "left", tone: str = "plain", size: float = SIZE
) -> list[dict[str, Any]]:
    """Lines of a text one below the other."""
    return [text(t, x, top + LINE * (k + 0.5), side=side, tone=tone, size=size) for k, t in enumerate(said)]


def text_layer(rows: Rows, x: Channel, y: Channel) -> Layer:
    """All texts of a figure."""
    # What a row may decide and a channel cannot say is an expression.
    style = {"align": {"expr": "datum.side"}, "fontWeight": {"expr": "datum.weight"}}
    places = {
        "x": x,
        "y": y,
        "text": {"field": "text", "type": "nominal"},
        "color": as_is("ink"),
        "size": {"field": "size", "type": "quantitative", "scale": None, "legend": None},
    }
    shown = [row for row in rows if row["text"]]
    return layer("text", shown, places, baseline="middle", lineBreak="\n", lineHeight=LINE, **style)


def as_is(name: str) -> Channel:
    """The colour that a field holds."""
    return {"field": name, "type": "nominal", "scale": None, "legend": None}


def end(name: str) -> Channel:
    """The other end of a mark, on the scale of the first."""
    return {"field": name}


def pixels(name: str, size: float) -> Channel:
    """A position that is given in pixels from the top, or from the left end, of a plot of this size."""
    scale = {"domain": [0, size], "range": [0, size], "nice": False, "zero": False}
    return {"field": name, "type": "quantitative", "axis": None, "scale": scale}
