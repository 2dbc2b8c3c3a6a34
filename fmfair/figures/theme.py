"""What all figures have in common: colours, sizes, and the drawing area with its title, margins and description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias

import altair as alt
from altair.utils.schemapi import debug_mode

from fmfair.figures.text import LINE, SIZE, wrapped

Figure: TypeAlias = alt.LayerChart
Layer: TypeAlias = alt.Chart
Parameters = ParamSpec("Parameters")

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
    def interval(self) -> str:
        """What the intervals are called."""
        return "interval" if self.level is None else f"{100 * self.level:.4g}% interval"


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


def unchecked(make: Callable[Parameters, Figure]) -> Callable[Parameters, Figure]:
    """Makes a figure without checking every piece against Vega-Lite's schema, which takes most of the time.

    The chart checks itself as a whole when it is shown or saved.
    """

    @wraps(make)
    def made(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Figure:
        with debug_mode(False):
            return make(*args, **kwargs)

    return made


def css() -> str:
    """The colours of the figures as CSS variables, light and dark; print is light."""
    light = "".join(f"--figure-{name}:{colour};" for colour, (name, _) in COLOURS.items())
    dark = "".join(f"--figure-{name}:{colour};" for name, colour in COLOURS.values())
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def rows_chart(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart on some rows, which are part of it."""
    # Altair copies lists with every step that it takes, and tuples never.
    return alt.Chart(alt.InlineData(values=tuple(dict(row) for row in rows)))


def text_layer(rows: Sequence[Mapping[str, Any]], x: alt.X, y: alt.Y, **mark: Any) -> alt.Chart:
    """The field `text` of some rows, which may be of several lines."""
    style: dict[str, Any] = {
        "align": "left",
        "baseline": "middle",
        "fontSize": SIZE,
        "color": INK,
        "lineBreak": "\n",
        **mark,
    }
    layer: alt.Chart = rows_chart(rows).mark_text(lineHeight=LINE, **style).encode(x=x, y=y, text=alt.Text("text:N"))
    return layer


def pixels(name: str, size: float) -> alt.Y:
    """A vertical position that is given in pixels from the top."""
    scale = alt.Scale(domain=[0, size], range=[0, size], nice=False, zero=False)
    return alt.Y(f"{name}:Q", axis=None, scale=scale)


def pixels_across(name: str, size: float) -> alt.X:
    """A horizontal position that is given in pixels from the left end of the plot."""
    scale = alt.Scale(domain=[0, size], range=[0, size], nice=False, zero=False)
    return alt.X(f"{name}:Q", axis=None, scale=scale)


def drawn(layers: Sequence[Layer], area: Area, words: Words) -> Figure:
    """The layers in their area, with title and description; exactly as wide as area and margins."""
    whole = area.left + area.width + area.right
    title, above = title_of(words, whole - 16, dx=8 - area.left, offset=area.top)
    return with_config(
        alt.LayerChart(layer=list(layers)).properties(
            width=area.width,
            height=area.height,
            padding={"left": area.left, "right": area.right, "top": area.top + above, "bottom": area.bottom},
            autosize=alt.AutoSizeParams(type="none"),
            title=title,
            description=words.alt,
        )
    )


def title_of(words: Words, width: float, **place: Any) -> tuple[alt.TitleParams, int]:
    """The title over a figure, and how high it is."""
    lines = wrapped(words.title, width, TITLE * 1.04)
    below = wrapped(words.subtitle, width, SIZE) if words.subtitle else []
    title = alt.TitleParams(text=lines, subtitle=below, anchor="start", frame="group", **place)
    return title, TITLE_LINE * len(lines) + TITLE_GAP + LINE * len(below) + 4


def with_config(chart: Figure) -> Figure:
    """The chart in the colours and sizes of all figures."""
    sizes: dict[str, Any] = {"labelFontSize": SIZE, "titleFontSize": SIZE, "titleFontWeight": "normal"}
    inks: dict[str, Any] = {"labelColor": INK, "titleColor": INK}
    lines: dict[str, Any] = {"gridColor": GRID, "domainColor": MUTED, "tickColor": MUTED}
    title: dict[str, Any] = {"fontSize": TITLE, "fontWeight": 600, "lineHeight": TITLE_LINE, "color": INK}
    below: dict[str, Any] = {"subtitleFontSize": SIZE, "subtitleLineHeight": LINE, "subtitlePadding": TITLE_GAP}
    styled: Figure = chart.configure(
        background=PAPER,
        font=FONT,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(**inks, **sizes, **lines),
        title=alt.TitleConfig(**title, **below, subtitleColor=MUTED),
        legend=alt.LegendConfig(**inks, **sizes),
    )
    return styled
