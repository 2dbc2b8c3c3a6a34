"""Dot matrix: the value of every model, or other by-key, in every group, all on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.export import Frames
from fmfair.figures.data import SUPPRESSED, Where, attribute_of, context, measured, of_context, reading, valued
from fmfair.figures.grid import Grid, grid_of
from fmfair.figures.layers import end, layer, pixels, points, text, text_layer, text_lines, whiskers
from fmfair.figures.scale import Ends, cut_off, domain_of
from fmfair.figures.text import ALL, LINE, SIZE, axis_lines, first_few, name_of, short_name
from fmfair.figures.theme import BLUE, GRID, INK, MUTED, Area, Layer, Look, Spec, Words, drawn
from fmfair.numerals import amount, as_sentence, in_percent, joined

_CELL, _LEAST, _MOST, _FOOT, _SIDE = 24, 92, 240, 18, 9


def models(frames: Frames, metric: str, look: Look, *, attribute: str | None = None, where: Where = None) -> Spec:
    """A row per by-key, such as a model, and a column per group; in each a point with its interval, all on one scale.

    The line in each cell is the value of that row on all its samples.

    Args:
        frames: Those of the report.
        metric: The name of a metric of the report.
        look: The width and the level of the intervals.
        attribute: The attribute, or the intersection, whose groups are the columns; the first where left out.
        where: By-keys to hold, such as `{"label": "nodule"}`, and the threshold.

    Raises:
        FmfairError: There is no such metric, attribute or by-key.
    """
    attribute = attribute_of(frames["groups"], attribute)
    cells = model_rows(frames, metric, attribute=attribute, where=where)
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
    row_of, column_of = ({name: k for k, name in enumerate(names)} for names in (rows, columns))
    placed = [
        {**cell, **_positions(cell, grid.places[row_of[cell["label"]], column_of[cell["group"]]], grid, domain)}
        for cell in cells
    ]
    below = axis_lines(metric, grid.width)
    area = Area(grid.width, grid.height + 8 + LINE * len(below), 8, 8, 8, 8)
    of = context(measured(frames["groups"], metric, where, several=True), where)
    ends = _ticks(grid, domain, percent=in_percent(metric))
    texts = [*grid.texts, *ends, *text_lines(below, 0, grid.height + 8)]
    return drawn(_layers(placed, texts, area), area, _words(cells, metric, attribute, look, of))


def model_rows(frames: Frames, metric: str, *, attribute: str, where: Where = None) -> list[dict[str, Any]]:
    """The cells: of every by-key (`label`) the value of all rows, which has no `group`, then those of the groups.

    `whole` is the value of all rows.
    """
    rows = measured(frames["groups"], metric, where, several=True).filter(pl.col("attribute") == attribute)
    whole = measured(frames["overall"], metric, where, several=True).with_columns(group=pl.lit(None, pl.String))
    names = ("label", "group", "value", "ci_low", "ci_high", "n", "n_pos", "kind", "said")
    cells = pl.concat([valued(frame, metric).select(names) for frame in (whole, rows)])
    values = whole.select("label", whole="value").unique("label", keep="first")
    return cells.join(values, on="label", how="left", maintain_order="left").to_dicts()


def _words(cells: Sequence[Mapping[str, Any]], metric: str, attribute: str, look: Look, of: str) -> Words:
    whole = [cell for cell in cells if cell["group"] is None and cell["value"] is not None]
    there = [cell for cell in cells if cell["group"] is not None and cell["kind"] == "point"]
    title = f"{as_sentence(short_name(metric))} by {name_of(attribute)}"
    if whole and there:
        title += f": {_range(whole, metric)} on all rows, {_range(there, metric)} in groups"
    sure = any(cell["ci_low"] is not None for cell in cells)
    aid = [f"Point and {look.interval}" if sure else "Point without interval", "line: the value on all rows"]
    aid += ["counts where fewer than 10 samples carry the value"] if any(c["kind"] == "counts" for c in cells) else []
    hidden = any(cell["said"] == SUPPRESSED for cell in cells)
    dot = f"dot: not defined{' or suppressed' if hidden else ''}"
    aid += [dot] if any(cell["kind"] == "undefined" for cell in cells) else []
    said = [f"{cell['label'] or 'all'}: {amount(metric, cell['value'])}" for cell in whole]
    labels = joined([*dict.fromkeys(name_of(cell["group"]) for cell in cells if cell["group"] is not None)])
    alt_text = f"Dot matrix of {short_name(metric)}{of_context(of)}; columns: all rows, {labels}. {title}. "
    return Words(title, reading(of, f"{'; '.join(aid)}."), f"{alt_text}All rows: {first_few(said)}.")


def _range(cells: Sequence[Mapping[str, Any]], metric: str) -> str:
    values = [cell["value"] for cell in cells]
    low, high = amount(metric, min(values)), amount(metric, max(values))
    return low if low == high else f"{low} to {high}"


def _positions(cell: Mapping[str, Any], place: tuple[float, float], grid: Grid, domain: Ends) -> dict[str, Any]:
    """Where a cell and what is in it stands."""
    left, top = place
    wide, high = grid.cell

    def at(value: float | None) -> float | None:
        share = None if value is None else (value - domain[0]) / (domain[1] - domain[0])
        return None if share is None else left + _SIDE + share * (wide - 2 * _SIDE)

    ends: dict[str, Any] = {"from": None, "to": None}
    for cut in cut_off([cell], domain):
        ends = {"from": at(cut["from"]), "to": at(cut["to"]), "below": cut["below"], "above": cut["above"]}
    spots = {"x": at(cell["value"]), "line": at(cell["whole"]), "left": left + 3, "right": left + wide - 3}
    return {**ends, **spots, "top": top + 2, "end": top + high - 2, "y": top + high / 2}


def _layers(cells: Sequence[Mapping[str, Any]], texts: Sequence[Mapping[str, Any]], area: Area) -> list[Layer]:
    there = [cell for cell in cells if cell["kind"] == "point"]
    whole, groups = ([cell for cell in there if (cell["group"] is None) == w] for w in (True, False))
    others = [
        text(_said(cell), (cell["left"] + cell["right"]) / 2, cell["y"], side="center", tone="muted", size=SIZE - 1)
        for cell in cells
        if cell["kind"] != "point"
    ]

    def across(name: str) -> dict[str, Any]:
        return pixels(name, area.width)

    y = pixels("y", area.height)
    edges = {"x": across("left"), "x2": end("right"), "y": pixels("end", area.height)}
    upright = {"x": across("line"), "y": pixels("top", area.height), "y2": end("end")}
    return [
        layer("rule", cells, edges, color=GRID),
        layer("rule", [cell for cell in there if cell["line"] is not None], upright, color=MUTED),
        *whiskers([cell for cell in there if cell["from"] is not None], across, y, INK),
        points(whole, {"x": across("x"), "y": y}, INK, "square", 48),
        points(groups, {"x": across("x"), "y": y}, BLUE, "circle", 48),
        text_layer([*others, *texts], across("x"), y),
    ]


def _said(cell: Mapping[str, Any]) -> str:
    if cell["kind"] == "undefined":
        return "·"
    return "" if cell["n"] is None else f"n {cell['n']:,}"


def _ticks(grid: Grid, domain: Ends, *, percent: bool) -> list[dict[str, Any]]:
    """The ends of the scale below each column."""
    low, high = (f"{100 * at:.3g}%" if percent else f"{at:.3g}" for at in domain)
    wide = grid.cell[0]
    small: dict[str, Any] = {"tone": "muted", "size": SIZE - 1}
    places = [(left, end + 10) for end, lefts in grid.ends for left in lefts]
    return [
        *(text(low, left + 3, y, **small) for left, y in places),
        *(text(high, left + wide - 3, y, side="right", **small) for left, y in places),
    ]
