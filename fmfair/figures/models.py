"""Dot matrix: the value of every model, or other by-key, in every group, all on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from fmfair.figures.data import SUPPRESSED, Where, attributes_of, context, measured, valued
from fmfair.figures.forest import ALL
from fmfair.figures.grid import Grid, grid_of
from fmfair.figures.scale import domain_of
from fmfair.figures.text import LINE, SIZE, axis_lines, capital, first_few, name_of, names_in, number, short_name
from fmfair.figures.theme import (
    BLUE,
    GRID,
    INK,
    MUTED,
    PAPER,
    Area,
    Layer,
    Look,
    Words,
    drawn,
    pixels,
    pixels_across,
    rows_chart,
    text_layer,
    unchecked,
)

_CELL, _LEAST, _MOST, _FOOT, _SIDE = 24, 92, 240, 18, 9


@unchecked
def models(
    groups: pl.DataFrame,
    overall: pl.DataFrame,
    metric: str,
    *,
    attribute: str | None = None,
    where: Where = None,
    look: Look | None = None,
) -> alt.LayerChart:
    """A row per by-key, such as a model, and a column per group; in each a point with its interval, all on one scale.

    The line in each cell is the value of that row on all its samples.

    Args:
        groups: The frame of group values.
        overall: That of the values on all rows.
        metric: The name of a metric of the report.
        attribute: The attribute, or the intersection, whose groups are the columns; the first where left out.
        where: By-keys to hold, such as `{"label": "nodule"}`, and the threshold.
        look: The width and the level of the intervals.

    Raises:
        FmfairError: There is no such metric, attribute or by-key.
    """
    look = look or Look()
    cells = model_rows(groups, overall, metric, attribute=attribute, where=where)
    rows = list(dict.fromkeys(cell["label"] for cell in cells))
    columns = list(dict.fromkeys(cell["group"] for cell in cells))
    domain = domain_of([cell for cell in cells if cell["kind"] == "point"], metric)
    grid = grid_of(
        [label or "all" for label in rows],
        [ALL if column is None else name_of(column) for column in columns],
        look.width - 16.0,
        least=_LEAST,
        most=_MOST,
        height=_CELL,
        foot=_FOOT,
    )
    placed = [
        {**cell, **_positions(cell, grid.places[rows.index(cell["label"]), columns.index(cell["group"])], grid, domain)}
        for cell in cells
    ]
    below = axis_lines(metric, grid.width)
    area = Area(grid.width, grid.height + 8 + LINE * len(below), 8, 8, 8, 8)
    words = models_words(groups, overall, metric, attribute=attribute, where=where, look=look)
    return drawn(_layers(placed, grid, area, domain, below), area, words)


def model_rows(
    groups: pl.DataFrame, overall: pl.DataFrame, metric: str, *, attribute: str | None = None, where: Where = None
) -> list[dict[str, Any]]:
    """The cells: of every by-key (`label`) the value of all rows, which has no `group`, then those of the groups.

    `whole` is the value of all rows.
    """
    name = attributes_of(groups, None if attribute is None else [attribute])[0]
    rows = measured(groups, metric, where, several=True).filter(pl.col("attribute") == name)
    whole = measured(overall, metric, where, several=True).with_columns(group=pl.lit(None, pl.String))
    names = ("label", "group", "value", "ci_low", "ci_high", "n", "n_pos", "kind", "said")
    cells = pl.concat([valued(frame, metric).select(names) for frame in (whole, rows)])
    values = whole.select("label", whole="value").unique("label", keep="first")
    return cells.join(values, on="label", how="left", maintain_order="left").to_dicts()


def models_words(
    groups: pl.DataFrame,
    overall: pl.DataFrame,
    metric: str,
    *,
    attribute: str | None = None,
    where: Where = None,
    look: Look | None = None,
) -> Words:
    """Title, reading aid and description of a dot matrix; the arguments are those of `models`."""
    look = look or Look()
    name = attributes_of(groups, None if attribute is None else [attribute])[0]
    cells = model_rows(groups, overall, metric, attribute=name, where=where)
    whole = [cell for cell in cells if cell["group"] is None and cell["value"] is not None]
    points = [cell for cell in cells if cell["group"] is not None and cell["kind"] == "point"]
    title = f"{capital(short_name(metric))} by {name_of(name)}"
    if whole and points:
        title += f": {_range(whole, metric)} on all rows, {_range(points, metric)} in groups"
    sure = any(cell["ci_low"] is not None for cell in cells)
    aid = [f"Point and {look.interval}" if sure else "Point without interval", "line: the value on all rows"]
    aid += ["counts where fewer than 10 samples carry the value"] if any(c["kind"] == "counts" for c in cells) else []
    hidden = any(cell["said"] == SUPPRESSED for cell in cells)
    dot = f"dot: not defined{' or suppressed' if hidden else ''}"
    aid += [dot] if any(cell["kind"] == "undefined" for cell in cells) else []
    of = context(measured(groups, metric, where, several=True), where)
    said = [f"{cell['label'] or 'all'}: {number(cell['value'], metric)}" for cell in whole]
    labels = names_in([*dict.fromkeys(name_of(cell["group"]) for cell in cells if cell["group"] is not None)])
    alt_text = f"Dot matrix of {short_name(metric)}{f' ({of})' if of else ''}; columns: all rows, {labels}. {title}. "
    return Words(title, f"{f'{of}. ' if of else ''}{'; '.join(aid)}.", f"{alt_text}All rows: {first_few(said)}.")


def _range(cells: Sequence[Mapping[str, Any]], metric: str) -> str:
    values = [cell["value"] for cell in cells]
    low, high = number(min(values), metric), number(max(values), metric)
    return low if low == high else f"{low} to {high}"


def _positions(
    cell: Mapping[str, Any], place: tuple[float, float], grid: Grid, domain: tuple[float, float]
) -> dict[str, float | None]:
    """Where a cell and what is in it stands."""
    left, top = place
    wide, high = grid.cell

    def at(value: float | None) -> float | None:
        share = None if value is None else (value - domain[0]) / (domain[1] - domain[0])
        return None if share is None else left + _SIDE + share * (wide - 2 * _SIDE)

    spots = {"x": at(cell["value"]), "low": at(cell["ci_low"]), "high": at(cell["ci_high"]), "line": at(cell["whole"])}
    return {
        **spots,
        "left": left + 3,
        "right": left + wide - 3,
        "top": top + 2,
        "end": top + high - 2,
        "y": top + high / 2,
    }


def _layers(
    cells: Sequence[Mapping[str, Any]], grid: Grid, area: Area, domain: tuple[float, float], below: Sequence[str]
) -> list[Layer]:
    x, y = pixels_across("x", area.width), pixels("y", area.height)
    points = [cell for cell in cells if cell["kind"] == "point"]
    sure = [cell for cell in points if cell["low"] is not None and cell["high"] is not None]
    lined = [cell for cell in points if cell["line"] is not None]
    middle = [{**cell, "x": (cell["left"] + cell["right"]) / 2} for cell in cells if cell["kind"] != "point"]
    others = [{**cell, "text": _said(cell)} for cell in middle]
    edges = {"x": pixels_across("left", area.width), "x2": alt.X2("right:Q"), "y": pixels("end", area.height)}
    upright = {"y": pixels("top", area.height), "y2": alt.Y2("end:Q")}
    layers = [
        rows_chart(cells).mark_rule(color=GRID).encode(**edges),
        rows_chart(lined).mark_rule(color=MUTED).encode(x=pixels_across("line", area.width), **upright),
        rows_chart(sure).mark_rule(color=INK).encode(x=pixels_across("low", area.width), x2=alt.X2("high:Q"), y=y),
    ]
    for shape, colour, chosen in (("square", INK, True), ("circle", BLUE, False)):
        of = [cell for cell in points if (cell["group"] is None) == chosen]
        mark: dict[str, Any] = {"shape": shape, "size": 48, "fill": colour, "stroke": PAPER, "strokeWidth": 1}
        layers.append(rows_chart(of).mark_point(filled=True, opacity=1, **mark).encode(x=x, y=y))
    layers.append(text_layer(others, x, y, align="center", color=MUTED, fontSize=SIZE - 1))
    sides = {side: [text for text in grid.texts if text["side"] == side] for side in ("left", "center")}
    layers += [text_layer(texts, x, y, align=side) for side, texts in sides.items()]
    title = [{"text": "\n".join(below), "x": 0, "y": grid.height + 8 + LINE / 2}]
    layers.append(text_layer(title, x, y))
    for side, ticks in _ticks(grid, domain).items():
        layers.append(text_layer(ticks, x, y, align=side, color=MUTED, fontSize=SIZE - 2))
    return layers


def _said(cell: Mapping[str, Any]) -> str:
    if cell["kind"] == "undefined":
        return "·"
    return "" if cell["n"] is None else f"n {cell['n']:,}"


def _ticks(grid: Grid, domain: tuple[float, float]) -> dict[str, list[dict[str, Any]]]:
    """The ends of the scale below each column."""
    low, high = (f"{end:.3g}" for end in domain)
    wide = grid.cell[0]
    places = [(left, end + 10) for end, lefts in grid.ends for left in lefts]
    return {
        "left": [{"text": low, "x": left + 3, "y": y} for left, y in places],
        "right": [{"text": high, "x": left + wide - 3, "y": y} for left, y in places],
    }
