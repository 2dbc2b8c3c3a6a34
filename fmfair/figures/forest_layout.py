"""Where everything in a forest plot stands, in pixels: in columns, or on a phone one below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from fmfair.figures.layers import text, text_lines
from fmfair.figures.text import LINE, axis_lines, metric_of, name_of, short_name, width_of, with_interval, wrapped
from fmfair.figures.theme import Area, Look

Row = Mapping[str, Any]
# Pixels between rows, above the name of an attribute, and for the strip of a group on a phone.
_GAP, _HEADING, _STRIP = 10, 10, 16
_EDGE = 8
# Beside the plot, and the least width in which what is said in place of a value is broken into lines.
_BESIDE, _SAID = 16, 120
_NAMES_SHARE = 0.27


@dataclass(frozen=True)
class Layout:
    """Where everything stands.

    Attributes:
        area: The plot and its margins.
        rows: The rows with their positions: `y`, and from `top` to `end` what the band of all rows crosses.
        texts: The texts with their positions from the left end of the plot, `side` and `tone`.
        grid: Whether lines of the scale may cross the whole plot.
    """

    area: Area
    rows: Sequence[Row]
    texts: Sequence[Row]
    grid: bool


def value_text(row: Row, metric: str) -> str:
    """The value with its interval, or what is said in its place."""
    return row["said"] or with_interval(metric, row["value"], row["ci_low"], row["ci_high"])


def layout_of(rows: Sequence[Row], metric: str, look: Look) -> Layout:
    """The layout at this width."""
    return _narrow(rows, metric, look) if look.narrow else _wide(rows, metric, look)


@dataclass(frozen=True)
class _Columns:
    """The columns of the wide layout: right ends of the counts, from the left end of the plot."""

    names: float
    left: float
    right: float
    counts: Mapping[str, float]
    value: float
    heading: str


def _columns(rows: Sequence[Row], metric: str, look: Look) -> _Columns:
    widest = max(width_of(name_of(row["group"])) for row in rows) + 2 * _EDGE
    names = ceil(min(max(widest, 70), look.width * _NAMES_SHARE))
    ends: dict[str, float] = {}
    at = float(names)
    for name in ("n", _class_of(metric)):
        counts = [f"{row[name]:,}" for row in (_counted(row, metric) for row in rows) if row[name] is not None]
        if counts or name == "n":
            at += _EDGE + max(width_of(count) for count in [name, *counts])
            ends[name] = at
    left = at + _BESIDE
    values = [value_text(row, metric) for row in rows if not row["said"]]
    sure = any(row["ci_low"] is not None for row in rows)
    heading = f"{short_name(metric)} ({look.interval})" if sure else short_name(metric)
    if width_of(heading) > look.width * 0.25:
        heading = f"value ({look.interval})" if sure else "value"
    said = max((width_of(row["said"]) for row in rows if row["said"]), default=0.0)
    wide = max(*map(width_of, [heading, *values]), min(said, _SAID))
    x = {name: end - left for name, end in ends.items()}
    return _Columns(names, left, ceil(wide) + _BESIDE, x, look.width - left - _EDGE, heading)


def _wide(rows: Sequence[Row], metric: str, look: Look) -> Layout:
    """Columns beside each other: name, n, positives, plot, value."""
    columns = _columns(rows, metric, look)
    edge = _EDGE - columns.left
    texts = [text(name, x, LINE / 2, side="right", tone="muted") for name, x in columns.counts.items()]
    texts.append(text(columns.heading, columns.value, LINE / 2, side="right", tone="muted"))
    placed, top = [], float(LINE + _GAP)
    for row, heading in _with_headings(rows):
        if heading:
            lines = wrapped(heading, look.width - 3 * _EDGE)
            texts += text_lines(lines, edge, top + _HEADING, tone="strong")
            top += _HEADING + LINE * len(lines) + 4
        lines = wrapped(name_of(row["group"]), columns.names - 2 * _EDGE)
        value = wrapped(value_text(row, metric), columns.right - _BESIDE + 0.5)
        height = LINE * max(len(lines), len(value))
        y = top + height / 2
        texts += text_lines(lines, edge + (_EDGE if row["attribute"] else 0), top)
        counts = _counted(row, metric)
        texts += [
            text(f"{counts[c]:,}", x, y, side="right") for c, x in columns.counts.items() if counts[c] is not None
        ]
        start = y - LINE * len(value) / 2
        texts += text_lines(value, columns.value, start, side="right", tone=_tone(row))
        placed.append({**row, "y": y})
        top += height + _GAP
    width = look.width - columns.left - columns.right
    area = Area(width, top, columns.left, columns.right, 6, _below(metric, width))
    return Layout(area, [{**row, "top": 0, "end": top} for row in placed], texts, grid=True)


def _narrow(rows: Sequence[Row], metric: str, look: Look) -> Layout:
    """One below the other: the name, counts and value, and a strip of the plot over the whole width."""
    width = look.width - 32.0  # the labels of the first and the last tick reach over the ends
    placed: list[Row] = []
    texts: list[dict[str, Any]] = []
    top = 0.0
    for row, heading in _with_headings(rows):
        if heading:
            lines = wrapped(heading, width)
            texts += text_lines(lines, 0, top + _HEADING, tone="strong")
            top += _HEADING + LINE * len(lines) + 4
        lines = wrapped(name_of(row["group"]), width)
        texts += text_lines(lines, 0, top)
        top += LINE * len(lines)
        counts, value = _counts(row, metric), value_text(row, metric)
        texts.append(text(counts, 0, top + LINE / 2, tone="muted"))
        if width_of(counts) + width_of(value) > width - _EDGE:
            top += LINE
        parts = wrapped(value, width)
        texts += text_lines(parts, width, top, side="right", tone=_tone(row))
        top += LINE * len(parts)
        strip = _STRIP if row["kind"] == "point" else 0
        placed.append({**row, "y": top + strip / 2 + 1, "top": top + 1, "end": top + strip + 1})
        top += strip + _GAP
    return Layout(Area(width, top, 14, 18, 6, _below(metric, width)), placed, texts, grid=False)


def _tone(row: Row) -> str:
    return "muted" if row["said"] else "plain"


def _class_of(metric: str) -> str:
    """The class whose rows are told beside all rows: that which carries the metric, or the positives."""
    known = metric_of(metric)
    return "negatives" if known is not None and known.denominator == "n_neg" else "positives"


def _counted(row: Row, metric: str) -> Mapping[str, int | None]:
    """How many rows there are, and how many of that class."""
    n, n_pos = row["n"], row["n_pos"]
    if _class_of(metric) == "positives":
        return {"n": n, "positives": n_pos}
    return {"n": n, "negatives": None if n is None or n_pos is None else n - n_pos}


def _counts(row: Row, metric: str) -> str:
    counts = _counted(row, metric)
    said = {"n": "n {:,}", "positives": "{:,} positive", "negatives": "{:,} negative"}
    return ", ".join(said[name].format(count) for name, count in counts.items() if count is not None)


def _with_headings(rows: Sequence[Row]) -> list[tuple[Row, str]]:
    """Each row with the name of its attribute where that begins."""
    before = ["", *(row["attribute"] for row in rows)]
    return [
        (row, name_of(row["attribute"]) if row["attribute"] != last else "")
        for row, last in zip(rows, before, strict=False)
    ]


def _below(metric: str, width: float) -> float:
    return 26 + LINE * len(axis_lines(metric, width)) + 8
