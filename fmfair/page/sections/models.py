"""Several by-keys, such as models and labels, beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from fmfair.numerals import difference
from fmfair.page.drawings import Drawings
from fmfair.page.material import Material, View
from fmfair.page.section import Column, Figure, Section, Table
from fmfair.page.tables import NONE, counted, interval, legend, title_of, undefined, valued

MAX_ROWS = 300
# More rows than these are too many for one figure; and figures for one section.
MAX_BESIDE = 30
MAX_FIGURES = 3


def section(material: Material) -> Section | None:
    """The headline metric of every by-key on all rows, beside the gaps of every attribute."""
    if len(material.views) < 2:
        return None
    return Section(
        "models", f"By {' and '.join(material.keys)}", {"table": _gaps(material), "figures": _figures(material)}
    )


def _figures(material: Material) -> list[Figure]:
    """By-keys beside each other; of many the first by-key alone, where the others and the attribute gap most."""
    drawings = Drawings(material, "models")
    held = [] if len(material.views) <= MAX_BESIDE else list(material.keys[1:])
    largest: dict[tuple[Any, ...], float] = {}
    for view in material.views:
        for attribute in material.attributes:
            row = view.difference(attribute, material.headline)
            if row is not None:
                place = (attribute, *(view.values[name] for name in held))
                largest[place] = max(largest.get(place, 0.0), row["value"] or 0.0)
    figures = []
    for attribute, *values in sorted(largest, key=lambda place: -largest[place])[:MAX_FIGURES]:
        where = dict(zip(held, values, strict=True))
        views = [view for view in material.views if all(view.values[key] == value for key, value in where.items())]
        table = _numbers(views, attribute, material, [key for key in material.keys if key not in where])
        figures += [replace(one, table=table) for one in drawings.beside_each_other(attribute, where)]
    return figures


def _numbers(views: Sequence[View], attribute: str, material: Material, free: Sequence[str]) -> Table:
    """The values of all rows and of every group, by-key by by-key.

    Args:
        views: The by-keys of a figure.
        attribute: Whose groups are listed.
        material: What the document is made of.
        free: The names of the by-keys that differ between them.
    """
    metric, rows, shown = material.headline, [], []
    wanted = pl.col("metric") == metric
    for view in views:
        groups = view.main["groups"].filter(wanted, pl.col("attribute") == attribute).to_dicts()
        worst = (view.difference(attribute, metric) or {}).get("worst_group")
        for row in [*view.main["overall"].filter(wanted).head(1).to_dicts(), *groups]:
            shown.append(row)
            name = row.get("group", "all rows")
            place = [*(view.key[key] for key in free), name, counted(row["n"])]
            rows.append([*place, valued(row), "worst" if "group" in row and name == worst else ""])
    columns = [*map(Column, (*free, "Group")), Column("Rows", numeric=True), Column(title_of(metric), numeric=True)]
    held = "".join(f", {key} {text}" for key, text in views[0].key.items() if key not in free)
    caption = f"The numbers: {title_of(metric)} of every {' and '.join(free)}, by {attribute}{held}"
    return Table(caption, [*columns, Column("Served")], rows, legend(shown, material.level), keys=len(free) + 1)


def _gaps(material: Material) -> Table:
    name = title_of(material.headline)
    columns = [*map(Column, material.keys), Column(f"{name}, all rows", numeric=True)]
    columns += [Column(f"Gap by {attribute}", numeric=True) for attribute in material.attributes]
    rows, shown = [], []
    for view in material.views[:MAX_ROWS]:
        whole = view.main["overall"].filter(pl.col("metric") == material.headline).head(1).to_dicts()
        shown += whole
        gaps = [_gap(view, attribute, material.headline) for attribute in material.attributes]
        rows.append([*view.key.values(), valued(whole[0]) if whole else NONE, *gaps])
    note = legend(shown, material.level)
    more = len(material.views) - MAX_ROWS
    if more > 0:
        note += f" {more:,} more rows are in gaps.parquet."
    note += " Whether models differ on the same patients is answered by fmfair.compare, which pairs them."
    return Table(f"{name} and its gaps", columns, rows, note=note.strip(), keys=len(material.keys))


def _gap(view: View, attribute: str, metric: str) -> str:
    row = view.difference(attribute, metric)
    if row is None:
        return NONE
    if row["value"] is None:
        return undefined(None if row["note"] is None else str(row["note"]))
    return "\n".join(text for text in (difference(metric, row["value"]), interval(row)) if text)
