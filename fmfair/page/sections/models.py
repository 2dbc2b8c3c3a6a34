"""Several by-keys, such as models and labels, beside each other."""

from __future__ import annotations

from typing import Any

import polars as pl

from fmfair.numerals import difference
from fmfair.page.drawings import Drawings
from fmfair.page.material import Material, View
from fmfair.page.section import Column, Figure, Section, Table
from fmfair.page.tables import NONE, interval, legend, title_of, undefined, valued

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
    places = sorted(largest, key=lambda place: -largest[place])[:MAX_FIGURES]
    return [
        figure
        for attribute, *values in places
        for figure in drawings.beside_each_other(attribute, dict(zip(held, values, strict=True)))
    ]


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
