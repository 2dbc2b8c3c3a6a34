"""The values on all rows."""

from __future__ import annotations

from typing import Any

import polars as pl

from fmfair.numerals import carried_by
from fmfair.page.carried import carried
from fmfair.page.drawings import Drawings
from fmfair.page.material import Material, View
from fmfair.page.section import Column, Section, Table
from fmfair.page.tables import NONE, Row, at, count_of, counted, legend, metric_columns, title_of, valued
from fmfair.shown import metric_of

# More by-keys than this are shown in one table instead of one block each.
MAX_BLOCKS = 4
MAX_ROWS = 300
# Of more by-keys than these only the first ones have figures of their scores.
MAX_CURVED = 2


def section(material: Material) -> Section:
    """Every metric on all rows; of many by-keys only the main ones."""
    if len(material.views) <= MAX_BLOCKS:
        drawings = Drawings(material, "overall")
        parts = [{"title": view.title, "figures": drawings.over_scores(view)} for view in material.views[:MAX_CURVED]]
        tables = [_every_metric(view, material) for view in material.views]
        return Section("overall", "Overall", {"tables": tables, "parts": [part for part in parts if part["figures"]]})
    return Section("overall", "Overall", {"tables": [_main_metrics(material)], "parts": []})


def _every_metric(view: View, material: Material) -> Table:
    columns = [Column("Metric"), Column("Value", numeric=True), Column("Threshold"), Column("Carried by", numeric=True)]
    rows, shown = [], []
    for row in view.frames["overall"].iter_rows(named=True):
        known = metric_of(row["metric"])
        if known is not None and known.family == "count" and row["value"] is None:
            continue
        shown.append(row)
        rows.append([title_of(row["metric"]), valued(row), at(row), _behind(row)])
    caption = "All rows" + (f": {view.title}" if view.title else "")
    told = "Carried by: how many rows are behind the value; of a metric of both classes, those of the rarer one."
    return Table(caption, columns, rows, note=f"{legend(shown, material.level)} {told}".strip())


def _behind(row: Row) -> str:
    """What carries a value: how many, and of what."""
    count, of = carried(row)
    return count_of(row, "denominator") if count is None else carried_by(count, of)


def _main_metrics(material: Material) -> Table:
    """A row per by-key with the main metrics at the threshold of the summary."""
    columns = [*map(Column, material.keys), Column("Rows", numeric=True), Column("Positives", numeric=True)]
    rows: list[list[str]] = []
    shown: list[dict[str, Any]] = []
    for view in material.views[:MAX_ROWS]:
        frame = view.main["overall"].filter(pl.col("metric").is_in(list(material.metrics)))
        cells = {row["metric"]: row for row in frame.iter_rows(named=True)}
        if not cells:
            continue
        shown += cells.values()
        first = next(iter(cells.values()))
        counts = [counted(first["n"]), NONE if material.task == "segmentation" else counted(first["n_pos"])]
        rows.append(
            [*view.key.values(), *counts, *(valued(cells[m]) if m in cells else NONE for m in material.metrics)]
        )
    note = legend(shown, material.level)
    if len(material.views) > MAX_ROWS:
        note += f" {len(material.views) - MAX_ROWS:,} more rows are in overall.parquet."
    columns += metric_columns(material.metrics)
    return Table(
        f"All rows, by {' and '.join(material.keys)}", columns, rows, note=note.strip(), keys=len(material.keys)
    )
