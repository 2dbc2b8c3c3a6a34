"""Intersections of attributes: all cells by size, and those that deviate most."""

from __future__ import annotations

from typing import Any

import polars as pl

from fmfair.errors import plural
from fmfair.numerals import amount, difference
from fmfair.page.drawings import Drawings
from fmfair.page.material import Material, View
from fmfair.page.section import Column, Figure, Section, Table
from fmfair.page.sections.overall import MAX_BLOCKS
from fmfair.page.tables import NONE, counted, gap_table, legend, positives, title_of, valued
from fmfair.shown import metric_of

MAX_CELLS = 10
MAX_GAPS = 20
MAX_MAPS = 6


def section(material: Material) -> Section | None:
    """The cells that deviate most from all rows; of many by-keys only the largest gaps."""
    if not material.intersections:
        return None
    if len(material.views) > MAX_BLOCKS:
        parts: list[dict[str, Any]] = [{"title": "", "said": "", "figures": [], "cells": _largest_gaps(material)}]
    else:
        drawings = Drawings(material, "intersections")
        parts = [_part(view, material, drawings) for view in material.views]
    return Section("intersections", "Intersections", {"parts": parts})


def _part(view: View, material: Material, drawings: Drawings) -> dict[str, Any]:
    metric = material.headline
    cells = view.main["groups"].filter(
        pl.col("attribute").is_in(list(material.intersections)) & (pl.col("metric") == metric)
    )
    whole = view.main["overall"].filter(pl.col("metric") == metric)["value"].head(1).to_list()
    return {
        "title": view.title,
        "said": _size(cells),
        "figures": _heat_maps(view, material, drawings),
        "cells": _deviating(cells, whole[0] if whole else None, material, view.title),
    }


def _heat_maps(view: View, material: Material, drawings: Drawings) -> list[Figure]:
    figures = (drawings.heat_map(view, name) for name in material.intersections[:MAX_MAPS])
    return [figure for figure in figures if figure is not None]


def _size(cells: pl.DataFrame) -> str:
    """How many cells there are, and how many are too small to say anything."""
    text = f"{plural(cells.height, 'cell')} of intersections."
    if "mark" in cells.columns:
        small = cells.filter(pl.col("mark") == "counts only")
        if small.height:
            text += f" {small.height:,} of them with {int(small['n'].sum()):,} rows are too small for more than counts."
    undefined = cells.filter(pl.col("value").is_null()).height
    return f"{text} In {undefined:,} the value is not defined or not shown." if undefined else text


def _deviating(cells: pl.DataFrame, whole: float | None, material: Material, of: str) -> Table:
    """The cells furthest from the value on all rows, those of counts only left out."""
    judged = cells.filter(pl.col("value").is_not_null())
    if "mark" in cells.columns:
        judged = judged.filter(pl.col("mark").ne_missing("counts only"))
    if whole is not None:
        judged = judged.sort((pl.col("value") - whole).abs(), descending=True, maintain_order=True)
    rows = judged.head(MAX_CELLS).to_dicts()
    pooled = "model_based" in cells.columns and judged["model_based"].count() > 0
    known = metric_of(material.headline)
    classes = known is None or known.family != "segmentation"
    columns = [Column("Intersection"), Column("Cell"), Column(title_of(material.headline), numeric=True)]
    columns += [Column("Less all rows", numeric=True), Column("Rows", numeric=True)]
    columns += [Column("Positives", numeric=True)] if classes else []
    columns += [Column("Model-based", numeric=True)] if pooled else []
    body = []
    for row in rows:
        counts = [counted(row["n"]), *([positives(row)] if classes else [])]
        away = NONE if whole is None else difference(row["metric"], row["value"] - whole)
        drawn = [_model_based(row)] if pooled else []
        body.append([row["attribute"], row["group"], valued(row), away, *counts, *drawn])
    caption = f"{title_of(material.headline)}: the {len(rows):,} cells furthest from all rows"
    note = "They were picked for being far away, so that their true values are likely to be nearer. "
    return Table(f"{caption}, {of}" if of else caption, columns, body, note + legend(rows, material.level), keys=2)


def _model_based(row: dict[str, Any]) -> str:
    if row["model_based"] is None:
        return NONE
    limits = [
        amount(row["metric"], row[name]) for name in ("model_based_low", "model_based_high") if row[name] is not None
    ]
    return "\n".join([amount(row["metric"], row["model_based"]), " to ".join(limits)])


def _largest_gaps(material: Material) -> Table:
    found = [
        ([*view.key.values(), row["attribute"]], row)
        for view in material.views
        for row in view.main["gaps"]
        .filter(
            pl.col("attribute").is_in(list(material.intersections))
            & (pl.col("metric") == material.headline)
            & (pl.col("statistic") == "difference")
            & pl.col("value").is_not_null()
        )
        .iter_rows(named=True)
    ]
    largest = sorted(found, key=lambda pair: -pair[1]["value"])[:MAX_GAPS]
    caption = f"{title_of(material.headline)}: the largest gaps between cells"
    return gap_table(largest, [*material.keys, "Intersection"], caption)
