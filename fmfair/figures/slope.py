"""Slope chart: how the value of every group changes from one condition to the next, such as from clean to perturbed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import polars as pl

from fmfair.errors import FmfairError, listing, near
from fmfair.export import Frames, texts
from fmfair.figures.data import Where, attribute_of, by_keys, context, measured, reading, valued
from fmfair.figures.layers import Rows, as_is, end, layer, pixels, text, text_layer, text_lines
from fmfair.figures.scale import Ends, cut_off, domain_of, ticks_of
from fmfair.figures.text import ALL, LINE, axis_lines, first_few, name_of, short_name, width_of, wrapped
from fmfair.figures.theme import (
    BLUE,
    GREEN,
    GRID,
    MUTED,
    PAPER,
    PURPLE,
    VERMILLION,
    Area,
    Layer,
    Look,
    Spec,
    Words,
    drawn,
)
from fmfair.numerals import amount, as_sentence, in_percent

# The groups that change most, in the order of the report; lines of more are thin and without intervals.
_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE)
_LEFT, _TOP, _LEAST, _DODGE = 44.0, 14.0, 240.0, 6.0
_NAMES_SHARE = 0.34


def slope(
    frames: Frames,
    metric: str,
    look: Look,
    *,
    across: str,
    order: Sequence[Any] | None = None,
    attribute: str | None = None,
    where: Where = None,
) -> Spec:
    """A line per group over the values of a by-key, with its interval at each, and a broad grey one of all rows.

    Args:
        frames: Those of the report.
        metric: The name of a metric of the report.
        look: The width and the level of the intervals.
        across: The by-key whose values are conditions in an order, such as `severity`.
        order: These values from left to right; in the order of the report where left out.
        attribute: The attribute whose groups have lines; the first where left out.
        where: The other by-keys, and the threshold.

    Raises:
        FmfairError: There is no such metric, attribute, by-key or value of it, it has but one, or another by-key has
            several and none is named.
    """
    attribute = attribute_of(frames["groups"], attribute)
    conditions = _conditions(frames["overall"], across, order)
    rows = slope_rows(frames, metric, across=across, conditions=conditions, attribute=attribute, where=where)
    there = [row for row in rows if row["kind"] == "point"]
    names = [name_of(name) for name in texts(pl.Series(conditions))]
    places = _Places(rows, names, metric, look, domain_of(there, metric))
    said = context(measured(frames["overall"], metric, {**(where or {}), across: conditions[0]}), where)
    words = _words(rows, names, metric, attribute, across, look, said)
    return drawn(_layers(places, there), places.area, words)


def slope_rows(
    frames: Frames, metric: str, *, across: str, conditions: Sequence[Any], attribute: str, where: Where = None
) -> list[dict[str, Any]]:
    """The values of all rows (`group` None) and of every group in every condition, whose number is `condition`."""
    names = ("group", "value", "ci_low", "ci_high", "n", "kind", "said")
    parts = []
    for k, condition in enumerate(conditions):
        here = {**(where or {}), across: condition}
        whole = measured(frames["overall"], metric, here).head(1).with_columns(group=pl.lit(None, pl.String))
        groups = measured(frames["groups"], metric, here).filter(pl.col("attribute") == attribute)
        parts += [valued(frame, metric).select(*names, condition=pl.lit(k)) for frame in (whole, groups)]
    return pl.concat(parts).to_dicts()


def _conditions(overall: pl.DataFrame, across: str, order: Sequence[Any] | None) -> list[Any]:
    """The values of the by-key from left to right."""
    keys = by_keys(overall)
    if across not in keys:
        raise FmfairError(f"across: no by-key {across!r}{near(across, keys)}; expected one of {listing(keys)}")
    known = overall[across].unique(maintain_order=True).to_list()
    chosen = known if order is None else list(order)
    absent = [value for value in chosen if value not in known]
    if absent:
        raise FmfairError(f"order: {across!r} has no value {absent[0]!r}; expected some of {listing(known)}")
    if len(chosen) < 2:
        raise FmfairError(f"across: a slope needs several values of {across!r}, and there is one")
    return chosen


class _Places:
    """Where everything stands, in pixels."""

    def __init__(self, rows: Rows, names: Sequence[str], metric: str, look: Look, domain: Ends) -> None:
        self.metric, self.names, self.domain = metric, names, domain
        there = [row for row in rows if row["kind"] == "point"]
        self.groups = list(dict.fromkeys(row["group"] for row in there))
        changes = {group: _change(there, group) for group in self.groups if group is not None}
        most = sorted(changes, key=lambda group: -changes[group])[: len(_COLOURS)]
        self.inks = dict(zip([group for group in changes if group in most], _COLOURS, strict=False))
        missing = [row for row in rows if row["group"] not in self.groups]
        width = look.width - 16.0
        labels = [_named(group) for group in self.groups]
        beside = min(max(map(width_of, labels), default=0.0) + 26, width * _NAMES_SHARE)
        self.right = width - beside
        self.labels = {g: wrapped(_named(g), beside - 22) for g in self.groups}
        lines = sum(map(len, self.labels.values()))
        self.bottom = _TOP + max(_LEAST, LINE * (lines + 1.0))
        foot = [wrapped(name, (self.right - _LEFT) / len(names)) for name in names]
        said = {row["group"]: row["said"] for row in missing}
        notes = [line for g, why in said.items() for line in wrapped(f"{_named(g)}: {why}", width)]
        below = [*(axis_lines(metric, width)), *notes]
        self.foot = foot
        self.below = below
        self.under = self.bottom + 8 + LINE * max(map(len, foot)) + 8
        self.area = Area(width, ceil(self.under + LINE * len(below)), 8, 8, 8, 8)

    def across(self, condition: int) -> float:
        """The place of a condition."""
        step = (self.right - _LEFT) / len(self.names)
        return _LEFT + step * (condition + 0.5)

    def down(self, value: float) -> float:
        """The place of a value."""
        low, high = self.domain
        return _TOP + (high - value) / (high - low) * (self.bottom - _TOP)

    def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A value with its places; groups stand a little beside each other, so that intervals do not hide others."""
        group = row["group"]
        marked = [None, *self.inks]
        shift = _DODGE * (marked.index(group) - (len(marked) - 1) / 2) if group in marked else 0.0
        place = {"x": self.across(row["condition"]) + shift, "y": self.down(row["value"])}
        found = {**row, **place, "ink": self.inks.get(group, MUTED), "from": None, "to": None}
        for cut in cut_off([row], self.domain) if group in marked else []:
            found |= {"from": self.down(cut["from"]), "to": self.down(cut["to"])}
        return found


def _named(group: str | None) -> str:
    return ALL if group is None else name_of(group)


def _change(rows: Rows, group: str) -> float:
    """How far the last value of a group is from its first."""
    values = [row["value"] for row in rows if row["group"] == group]
    return abs(float(values[-1] - values[0]))


def _layers(places: _Places, there: Rows) -> list[Layer]:
    """Lines of the scale, the lines of the groups with their intervals and points, and the texts."""
    x, y = pixels("x", places.area.width), pixels("y", places.area.height)
    rows = [places.row(row) for row in there]
    ticks = [(at, places.down(at)) for at in ticks_of(places.domain, 6)]
    grid = [{"x": _LEFT, "x2": places.right, "y": at} for _, at in ticks]
    sure = [row for row in rows if row["from"] is not None]
    upright = {"x": x, "y": pixels("from", places.area.height), "y2": end("to"), "color": as_is("ink")}
    layers = [
        layer("rule", grid, {"x": x, "x2": end("x2"), "y": y}, color=GRID),
        layer("rule", sure, upright, strokeWidth=1.25, opacity=0.75),
    ]
    order = {"field": "condition", "type": "quantitative"}
    for group in places.groups:
        line = [row for row in rows if row["group"] == group]
        wide = 3 if group is None else 1.75 if group in places.inks else 0.75
        layers.append(layer("line", line, {"x": x, "y": y, "order": order}, color=line[0]["ink"], strokeWidth=wide))
    mark: dict[str, Any] = {"filled": True, "opacity": 1, "stroke": PAPER, "strokeWidth": 1}
    names, dots = _labels(places, rows)
    for size, chosen in ((20, False), (55, True)):
        marks = [row for row in [*rows, *dots] if (row["group"] is None or row["group"] in places.inks) == chosen]
        layers.append(layer("point", marks, {"x": x, "y": y, "fill": as_is("ink")}, size=size, **mark))
    scale = 100 if in_percent(places.metric) else 1
    sign = "%" if scale == 100 else ""
    said = [text(f"{scale * at:.6g}{sign}", _LEFT - 6, y_, side="right", tone="muted") for at, y_ in ticks]
    for k, lines in enumerate(places.foot):
        said += text_lines(lines, places.across(k), places.bottom + 8, side="center")
    said += text_lines(places.below, 0, places.under, tone="muted")
    return [*layers, text_layer([*said, *names], x, y)]


def _labels(places: _Places, rows: Rows) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The name of each group at the end of its line, clear of the others, and a dot in its colour before it."""
    ends = {row["group"]: row for row in rows}
    wanted = sorted(ends, key=lambda group: float(ends[group]["y"]))
    highs = [LINE * len(places.labels[group]) for group in wanted]
    tops: list[float] = []
    for group, high in zip(wanted, highs, strict=True):
        free = tops[-1] + highs[len(tops) - 1] if tops else 0.0
        tops.append(max(free, ends[group]["y"] - high / 2))
    limit = places.bottom + LINE / 2
    for k in reversed(range(len(wanted))):
        limit = tops[k] = min(tops[k], limit - highs[k])
    said: list[dict[str, Any]] = []
    dots: list[dict[str, Any]] = []
    for group, top in zip(wanted, tops, strict=True):
        tone = "plain" if group is None or group in places.inks else "muted"
        said += text_lines(places.labels[group], places.right + 18, top, tone=tone)
        dots.append({**ends[group], "x": places.right + 9, "y": top + LINE / 2})
    return said, dots


def _words(rows: Rows, names: Sequence[str], metric: str, attribute: str, across: str, look: Look, said: str) -> Words:
    ends: dict[str | None, list[float]] = {}
    for row in rows:
        if row["kind"] == "point" and row["condition"] in (0, len(names) - 1):
            ends.setdefault(row["group"], []).append(row["value"])
    told = {g: " to ".join(amount(metric, v) for v in pair) for g, pair in ends.items() if len(pair) == 2}
    title = f"{as_sentence(short_name(metric))} by {name_of(attribute)}"
    title += f" from {name_of(across)} {names[0]} to {names[-1]}"
    whole = [f"all rows {told[None]}"] if None in told else []
    groups = [group for group in told if group is not None]
    if groups:
        furthest = max(groups, key=lambda group: abs(ends[group][1] - ends[group][0]))
        title += f": {'; '.join([*whole, f'largest change in {_named(furthest)}, {told[furthest]}'])}"
    sure = any(row["ci_low"] is not None for row in rows)
    aid = f"Point and {look.interval} per group" if sure else "A point per group, without intervals"
    aid += f"; from left to right: {name_of(across)}; broad and grey: all rows"
    aid += f"; in colour: the {len(_COLOURS)} groups that change most." if len(ends) - 1 > len(_COLOURS) else "."
    listed = [f"{_named(group)} {change}" for group, change in told.items()]
    return Words(title, reading(said, aid), f"{title}. {first_few(listed)}.")
