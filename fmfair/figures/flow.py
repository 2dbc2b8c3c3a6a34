"""Flow of rows: what was left out and why, what was evaluated, and how many rows have each attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from fmfair.errors import plural
from fmfair.export import Frames
from fmfair.figures.data import SUPPRESSED, Where, attributes_of, picked
from fmfair.figures.layers import end, layer, pixels, text_layer, text_lines
from fmfair.figures.text import LINE, first_few, name_of, wrapped
from fmfair.figures.theme import BAND, MUTED, Area, Look, Spec, Words, drawn
from fmfair.render import visible

_EDGE, _GAP, _INDENT = 10.0, 14.0, 28.0
_SHARE = 0.46
# Notes that say so are of rows that do not count.
_OUT = "left out"


@dataclass(frozen=True)
class Step:
    """A box of the flow.

    Attributes:
        said: What is counted, and how many rows that is.
        beside: What was left out on the way to it.
    """

    said: str
    beside: Sequence[str] = field(default_factory=tuple)


@dataclass
class _Places:
    """Where everything stands, in pixels."""

    width: float
    height: float = 0.0
    boxes: list[dict[str, Any]] = field(default_factory=list)
    texts: list[dict[str, Any]] = field(default_factory=list)

    def branches(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """A line down from the first box, and one from it to each of the others."""
        trunk, *others = self.boxes
        middles = [(box["y"] + box["y2"]) / 2 for box in others]
        down = {"x": _INDENT / 2, "x2": _INDENT / 2, "y": trunk["y2"], "y2": max(middles, default=trunk["y2"])}
        return [down], [{"x": _INDENT / 2, "x2": _INDENT - 3, "y": at, "y2": at} for at in middles]


def flow(frames: Frames, notes: Sequence[str], look: Look, *, where: Where = None) -> Spec:
    """Boxes from the rows that were evaluated to those that have each attribute; what was left out stands beside them.

    Args:
        frames: Those of the report.
        notes: Its notes, of which those on rows that were left out are shown in their words.
        look: The width.
        where: The by-key to show.

    Raises:
        FmfairError: There is no such by-key, or several and none is named.
    """
    steps = flow_steps(frames, notes, where=where)
    places = _placed(steps, look)
    x, y = pixels("x", places.width), pixels("y", places.height)
    first, *others = [step.said for step in steps]
    title = "; ".join([first, *others]) if len(others) == 1 else first
    beside = [said for step in steps for said in step.beside]
    aid = f"{'Below' if look.narrow else 'Beside'} a box: what was left out." if beside else "Nothing was left out."
    told = f"Flow of rows. {first_few([first, *others])}. {aid} {first_few(beside)}"
    down, across = places.branches()
    ends = {"x": x, "x2": end("x2"), "y": y, "y2": end("y2")}
    heads = {"x": pixels("x2", places.width), "y": y}
    layers = [
        layer("rect", places.boxes, ends, color=BAND, cornerRadius=3),
        layer("rule", [*down, *across], ends, color=MUTED, strokeWidth=1.25),
        layer("point", across, heads, shape="triangle-right", filled=True, fill=MUTED, size=50, opacity=1),
        text_layer(places.texts, x, y),
    ]
    return drawn(layers, Area(places.width, places.height, 8, 8, 8, 8), Words(title, aid, told.strip()))


def flow_steps(frames: Frames, notes: Sequence[str], *, where: Where = None) -> list[Step]:
    """The boxes from top to bottom: all rows, then one for each attribute."""
    whole = picked(frames["overall"], where)["n"].head(1).to_list()
    total = whole[0] if whole else None
    attributes = attributes_of(frames["groups"])
    # What has no value of an attribute is counted at that attribute.
    out = [note for note in notes if _OUT in note and not any(note.startswith(f"{name}: ") for name in attributes)]
    steps = [Step(f"{_rows(total)} evaluated", [visible(note) for note in out])]
    there = picked(frames["summary"], where)
    for attribute in attributes:
        found = there.filter(pl.col("attribute") == attribute)["n"].head(1).to_list()
        n = found[0] if found else None
        groups = picked(frames["groups"], where).filter(pl.col("attribute") == attribute)["group"].n_unique()
        lacking = None if n is None or total is None else total - n
        missing = [f"{_rows(lacking)} without {name_of(attribute)}"] if lacking else []
        said = f"{name_of(attribute)}: {_rows(n)} in {plural(groups, 'group')}"
        steps.append(Step(said, missing))
    return steps


def _rows(n: int | None) -> str:
    return f"{SUPPRESSED} number of rows" if n is None else plural(n, "row")


def _placed(steps: Sequence[Step], look: Look) -> _Places:
    """Boxes one below the other; what was left out is beside a box, or on a phone below it."""
    width = look.width - 16.0
    wide = width if look.narrow else width * _SHARE
    found = _Places(width)
    for k, step in enumerate(steps):
        left = _INDENT if k else 0.0
        top = found.height
        lines = wrapped(step.said, wide - left - 2 * _EDGE)
        under = top + LINE * len(lines) + 2 * _EDGE
        found.boxes.append({"said": step.said, "x": left, "x2": wide, "y": top, "y2": under})
        found.texts += text_lines(lines, left + _EDGE, top + _EDGE, tone="plain" if k else "strong")
        start, side = (under + 4, _INDENT + _EDGE) if look.narrow else (top + _EDGE, wide + _GAP)
        beside = [line for said in step.beside for line in wrapped(f"- {said}", width - side)]
        found.texts += text_lines(beside, side, start, tone="muted")
        found.height = max(under, start + LINE * len(beside) if beside else 0.0) + _GAP
    return found
