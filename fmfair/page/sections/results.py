"""Every row of the frames of groups and gaps, as far as a page can hold them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fmfair.export import texts
from fmfair.numerals import amount, difference
from fmfair.page.material import Material
from fmfair.page.section import Column, Section, Table
from fmfair.page.tables import NONE, at, bounds, count_of, interval, p_cell, title_of, undefined

# A page with more rows than these is no longer read; the rest is in the Parquet files.
MAX_ROWS = 2000
_SPREADS = ("difference", "std", "average_difference", "difference_to_overall")


def section(material: Material) -> Section:
    """The tables of groups and gaps; of long ones the headline metric, and of that no more than a page can hold."""
    tables = [_groups(material), _gaps(material)]
    return Section(
        "results", "Full results", {"tables": [table for table, _ in tables], "said": [s for _, s in tables]}
    )


def _cut(frame: pl.DataFrame, material: Material, name: str) -> tuple[pl.DataFrame, str]:
    if frame.height <= MAX_ROWS:
        return frame, ""
    rows = frame.filter(pl.col("metric") == material.headline)
    shown = f"{title_of(material.headline)} only"
    if rows.height > MAX_ROWS:
        rows, shown = rows.head(MAX_ROWS), f"the first {MAX_ROWS:,} rows of {shown}"
    return rows, f"{name}.parquet holds all {frame.height:,} rows of {name}; the table here shows {shown}."


def _by_keys(frame: pl.DataFrame, material: Material) -> list[Sequence[str]]:
    """The by-keys of every row."""
    columns = [[text if text is not None else "(missing)" for text in texts(frame[name])] for name in material.keys]
    return list(zip(*columns, strict=True)) if columns else [()] * frame.height


def _groups(material: Material) -> tuple[Table, str]:
    frame, said = _cut(material.frames["groups"], material, "groups")
    classes = frame["n_pos"].count() > 0 or material.task == "classification"
    names = ["Value", "Interval", "Rows", *(["Positives"] if classes else []), "Denominator"]
    columns = [*map(Column, (*material.keys, "Attribute", "Group", "Metric", "Threshold"))]
    columns += [*(Column(name, numeric=True) for name in names), Column("Note")]
    rows = []
    for key, row in zip(_by_keys(frame, material), frame.iter_rows(named=True), strict=True):
        missing = row["value"] is None
        value = undefined(row["note"]) if missing else amount(row["metric"], row["value"])
        place = [row["attribute"], row["group"], row["metric"], at(row)]
        limits = interval(row) or bounds(row) or NONE
        told = ("n", "n_pos", "denominator") if classes else ("n", "denominator")
        counts = [count_of(row, name) for name in told]
        notes = [n for n in (None if missing else row["note"], row.get("mark"), row.get("ci_note")) if n]
        rows.append([*key, *place, value, limits, *counts, "; ".join(notes)])
    return Table("Groups: every metric", columns, rows, keys=len(material.keys) + 2), said


def _gaps(material: Material) -> tuple[Table, str]:
    frame, said = _cut(material.frames["gaps"], material, "gaps")
    columns = [*map(Column, (*material.keys, "Attribute", "Metric", "Threshold", "Statistic"))]
    columns += [*(Column(name, numeric=True) for name in ("Value", "Interval", "p", "By chance", "95% of chance"))]
    columns += [Column("Lowest"), Column("Highest"), Column("Groups", numeric=True), Column("Note")]
    rows = []
    for key, row in zip(_by_keys(frame, material), frame.iter_rows(named=True), strict=True):
        metric, missing = row["metric"], row["value"] is None
        value = undefined(row["note"]) if missing else _statistic(row)
        chance = [row.get(name) for name in ("chance_gap", "chance_gap_95")]
        sure = [interval(row) or NONE, p_cell(row.get("p_value"))]
        sure += [NONE if number is None else difference(metric, number) for number in chance]
        ends = [row["worst_group"] or NONE, row["best_group"] or NONE, f"{row['n_groups']:,}"]
        notes = [n for n in (None if missing else row["note"], row.get("ci_note")) if n]
        rows.append([*key, row["attribute"], metric, at(row), row["statistic"], value, *sure, *ends, "; ".join(notes)])
    return Table("Gaps: every statistic", columns, rows, keys=len(material.keys) + 1), said


def _statistic(row: dict[str, object]) -> str:
    metric, value = str(row["metric"]), float(str(row["value"]))
    if row["statistic"] in _SPREADS:
        return difference(metric, value)
    return amount(metric, value) if row["statistic"] in ("worst", "best") else f"{value:.3f}"
