"""What all figures have in common: colours, sizes, and the drawing area with its title, margins and description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from fmfair.figures.text import LINE, SIZE, wrapped
from fmfair.numerals import level_text

# A figure and a layer of one, as Vega-Lite reads them.
Spec: TypeAlias = dict[str, Any]
Layer: TypeAlias = dict[str, Any]

INK, MUTED, GRID, PAPER, BAND = "#1b1b1b", "#595959", "#e2e2e2", "#ffffff", "#dde6ee"
# Okabe and Ito's colours with at least 3:1 on white, in the order in which they are taken.
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
# The name of each colour as a CSS variable, and what it is in the dark.
COLOURS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        INK: ("ink", "#ececec"),
        MUTED: ("muted", "#b8b8b8"),
        GRID: ("grid", "#3d3d3d"),
        PAPER: ("paper", "#161616"),
        BAND: ("band", "#2c3d4b"),
        BLUE: ("blue", "#56b4e9"),
        VERMILLION: ("vermillion", "#f5924e"),
        GREEN: ("green", "#2fc79b"),
        PURPLE: ("purple", "#e0a0c4"),
    }
)
WIDTH = 720
# Below this width a figure is laid out for a phone.
NARROW = 560
FONT = "system-ui, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
TITLE = 14
TITLE_LINE = 19
# Between the title and the line below it.
TITLE_GAP = 4


@dataclass(frozen=True)
class Look:
    """How a figure is drawn.

    Attributes:
        width: In pixels; below 560 it is laid out for a phone.
        level: Of the intervals, for the words beside them; None where it is not known or there are none.
        reference: By attribute, the group to mark; the largest where none is named.
        by_value: Whether groups are sorted by their values rather than left in their natural order.
    """

    width: int = WIDTH
    level: float | None = None
    reference: Mapping[str, str] = field(default_factory=dict)
    by_value: bool = False

    @property
    def narrow(self) -> bool:
        """Whether it is drawn for a phone."""
        return self.width < NARROW

    @property
    def band(self) -> float:
        """The level of intervals that a figure computes itself."""
        return self.level or 0.95

    @property
    def interval(self) -> str:
        """What the intervals are called."""
        return level_text(self.level)


@dataclass(frozen=True)
class Words:
    """What is said of a figure.

    Attributes:
        title: What it shows, as a sentence.
        subtitle: How it is read.
        alt: What is drawn, for those who do not see it.
    """

    title: str
    subtitle: str
    alt: str


@dataclass(frozen=True)
class Area:
    """The drawing area and the margins around it, in pixels."""

    width: float
    height: float
    left: float = 8
    right: float = 8
    top: float = 8
    bottom: float = 44


def css() -> str:
    """The colours of the figures as CSS variables, light and dark; print is light."""
    light = "".join(f"--figure-{name}:{colour};" for colour, (name, _) in COLOURS.items())
    dark = "".join(f"--figure-{name}:{colour};" for name, colour in COLOURS.values())
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def drawn(layers: Sequence[Layer], area: Area, words: Words) -> Spec:
    """The layers that hold anything in their area, with title and description; as wide as area and margins."""
    whole = area.left + area.width + area.right
    title, above = _title_of(words, whole - 16, dx=8 - area.left, offset=area.top)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": area.width,
        "height": area.height,
        "padding": {"left": area.left, "right": area.right, "top": area.top + above, "bottom": area.bottom},
        "autosize": {"type": "none"},
        "title": title,
        "description": words.alt,
        "layer": [layer for layer in layers if layer["data"]["values"]],
        "config": _config(),
    }


def _title_of(words: Words, width: float, **place: float) -> tuple[dict[str, Any], int]:
    """The title over a figure, and how high it is."""
    lines = wrapped(words.title, width, TITLE * 1.04)
    below = wrapped(words.subtitle, width, SIZE) if words.subtitle else []
    title = {"text": lines, "subtitle": below, "anchor": "start", "frame": "group", **place}
    return title, TITLE_LINE * len(lines) + TITLE_GAP + LINE * len(below) + 4


def _config() -> dict[str, Any]:
    """The colours and sizes of all figures."""
    axis = {"labelFontSize": SIZE, "titleFontSize": SIZE, "titleFontWeight": "normal"}
    inks = {"labelColor": INK, "titleColor": INK, "gridColor": GRID, "domainColor": MUTED, "tickColor": MUTED}
    title = {"fontSize": TITLE, "fontWeight": 600, "lineHeight": TITLE_LINE, "color": INK}
    below = {"subtitleFontSize": SIZE, "subtitleLineHeight": LINE, "subtitlePadding": TITLE_GAP}
    return {
        "background": PAPER,
        "font": FONT,
        "view": {"stroke": None},
        "axis": axis | inks,
        "title": {**title, **below, "subtitleColor": MUTED},
    }
