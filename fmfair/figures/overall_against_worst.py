"""The value of all rows beside that of the group that is served worst, for every model or other by-key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import polars as pl

from fmfair.errors import FmfairError
from fmfair.export import Frames
from fmfair.figures.data import Where, attribute_of, context, measured, reading
from fmfair.figures.layers import pixels, points, text_layer, text_lines, whiskers
from fmfair.figures.scale import Along, cut_off, domain_of, value_axis
from fmfair.figures.text import (
    LINE,
    axis_lines,
    first_few,
    metric_of,
    name_lines,
    name_of,
    short_name,
    width_of,
    with_interval,
)
from fmfair.figures.theme import BLUE, INK, Area, Layer, Look, Spec, Words, drawn
from fmfair.numerals import amount, as_sentence

_SHARE = 0.4
_KINDS = (("overall", "square", INK, -5.0), ("worst", "circle", BLUE, 5.0))


def overall_against_worst(
    frames: Frames, metric: str, look: Look, *, attribute: str | None = None, where: Where = None
) -> Spec:
    """A row per by-key, such as a model: the value of all rows and that of its worst group, both with intervals.

    The interval of the worst group is that of the worst of all groups, which is wider than its own: it was picked for
    being worst.

    Args:
        frames: Those of the report.
        metric: The name of a metric of the report in which one direction is better.
        look: The width, the level of the intervals, and whether rows are sorted by the worst group's value.
        attribute: The attribute, or the intersection; the first where left out.
        where: By-keys to hold, and the threshold.

    Raises:
        FmfairError: There is no such metric, attribute or by-key.
    """
    attribute = attribute_of(frames["gaps"], attribute)
    rows = worst_rows(frames, metric, attribute=attribute, where=where)
    if look.by_value:
        rows = sorted(rows, key=lambda row: (row["worst"] is None, row["worst"] or 0.0))
    of = context(measured(frames["gaps"], metric, where, several=True), where)
    area, placed, texts = _layout(rows, metric, look)
    ends = [_side(row, side) for row in rows for side in ("overall", "worst")]
    x = Along(domain_of(ends, metric), value_axis(metric, area.width, grid=not look.narrow))
    return drawn(_layers(placed, texts, area, x), area, _words(rows, metric, attribute, look, of))


def _layout(
    rows: Sequence[Mapping[str, Any]], metric: str, look: Look
) -> tuple[Area, list[dict[str, Any]], list[dict[str, Any]]]:
    """The area, the rows with their heights, and their names: beside the plot, or on a phone above each row."""
    names = [(row["label"] or "all rows", f"worst: {_worst(row)}") for row in rows]
    labels, worst = (max(map(width_of, side)) for side in zip(*names, strict=True))
    beside = labels + 12 if labels + worst + 28 <= look.width * (1 if look.narrow else _SHARE) else 0.0
    widest = beside + worst + 16 if beside else max(labels, worst) + 16
    left = 12 if look.narrow else ceil(min(widest, look.width * _SHARE))
    width = look.width - left - 16
    placed, texts, top = [], [], 4.0
    for row, pair in zip(rows, names, strict=True):
        start, high = (0.0 if look.narrow else 8.0 - left), 0.0
        for said, tone in zip(pair, ("plain", "muted"), strict=True):
            parts = name_lines(said, width if look.narrow else left - 16)
            if beside and tone == "muted":
                texts += text_lines(parts, start + beside, top, tone=tone)
                continue
            texts += text_lines(parts, start, top + high, tone=tone)
            high += LINE * len(parts)
        placed.append({**row, "y": top + high + 14 if look.narrow else top + max(high, 26) / 2})
        top += high + 32 if look.narrow else max(high, 26) + 4
    return Area(width, top, left, 16, 8, 34 + LINE * len(axis_lines(metric, width))), placed, texts


def worst_rows(frames: Frames, metric: str, *, attribute: str, where: Where = None) -> list[dict[str, Any]]:
    """Of every by-key (`label`) the value `overall` and `worst` with their limits, and the `worst_group`."""
    known = metric_of(metric)
    if known is not None and known.direction == "none":
        raise FmfairError(f"{metric} has no worst group, since neither direction of it is better")
    worst = measured(frames["gaps"], metric, where, several=True)
    worst = worst.filter((pl.col("attribute") == attribute) & (pl.col("statistic") == "worst"))
    whole = measured(frames["overall"], metric, where, several=True)
    sides = [
        frame.select("label", *_limits(frame, side), *others)
        for frame, side, others in ((whole, "overall", []), (worst, "worst", ["worst_group", "note"]))
    ]
    return sides[0].join(sides[1], on="label", how="left", maintain_order="left").to_dicts()


def _limits(frame: pl.DataFrame, side: str) -> list[pl.Expr]:
    limits = {"ci_low": f"{side}_low", "ci_high": f"{side}_high"}
    absent = pl.lit(None, pl.Float64)
    there = [(pl.col(c) if c in frame.columns else absent).alias(name) for c, name in limits.items()]
    return [pl.col("value").alias(side), *there]


def _words(rows: Sequence[Mapping[str, Any]], metric: str, attribute: str, look: Look, of: str) -> Words:
    there = [row for row in rows if row["worst"] is not None and row["overall"] is not None]
    title = f"{as_sentence(short_name(metric))} on all rows and in the worst group by {name_of(attribute)}"
    if there:
        furthest = max(there, key=lambda row: abs(row["worst"] - row["overall"]))
        ends = " and ".join(amount(metric, furthest[side]) for side in ("overall", "worst"))
        title += f": furthest apart{' in ' + furthest['label'] if furthest['label'] else ''}, {ends}"
    sure = any(row["worst_low"] is not None for row in rows)
    aid = f"Square: all rows; circle: worst group{f'; lines: {look.interval}s' if sure else '; no intervals'}."
    said = [f"{row['label'] or 'all'}: {_pair(row, metric)}" for row in rows]
    return Words(title, reading(of, aid), f"{title}. {aid} {first_few(said)}.")


def _pair(row: Mapping[str, Any], metric: str) -> str:
    parts = [
        f"{side} {with_interval(metric, row[side], row[f'{side}_low'], row[f'{side}_high'])}"
        for side in ("overall", "worst")
        if row[side] is not None
    ]
    return ", ".join(parts) or "not defined"


def _worst(row: Mapping[str, Any]) -> str:
    if row["worst"] is None:
        return f"not defined{': ' + row['note'] if row['note'] else ''}"
    return name_of(row["worst_group"])


def _side(row: Mapping[str, Any], side: str) -> dict[str, float | None]:
    return {"value": row[side], "ci_low": row[f"{side}_low"], "ci_high": row[f"{side}_high"]}


def _layers(rows: Sequence[Mapping[str, Any]], texts: Sequence[Mapping[str, Any]], area: Area, x: Along) -> list[Layer]:
    y = pixels("y", area.height)
    layers: list[Layer] = []
    for side, shape, colour, shift in _KINDS:
        there = [{**row, "y": row["y"] + shift} for row in rows if row[side] is not None]
        layers += whiskers(cut_off(there, x.domain, f"{side}_low", f"{side}_high"), x.at, y, colour)
        layers.append(points(there, {"x": x.at(side), "y": y}, colour, shape))
    return [*layers, text_layer(x.beside(texts, area.width), x.at("x"), y)]
