"""Cells and tables that several sections show: a value with its interval and its denominator, groups, gaps, pairs.

The templates write them as plain HTML, not through a package for tables, so that every table has its caption, the
scope of its headings and a place to scroll in, as screen readers and phones need them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.columns import BOUNDS
from fmfair.numerals import amount, as_sentence, carried_by, difference, figures, in_percent, level_text, p_text, spoken
from fmfair.page.carried import carried
from fmfair.page.section import Column, Table
from fmfair.shown import metric_of, threshold_text

NONE = "\N{EN DASH}"
# Behind a value that few samples carry.
SIGNS: Mapping[str, str] = {"imprecise": "\N{DAGGER}", "very imprecise": "\N{DOUBLE DAGGER}"}
FEW = "counts only"
_WIDE = 0.0005

Row = Mapping[str, Any]


def valued(row: Row) -> str:
    """A value, its interval and its counts on a line each; why there is no value where it is not defined.

    Examples:
        >>> row = {"metric": "tpr", "value": 0.75, "denominator": 48, "weight_sum": None, "note": None, "mark": None}
        >>> print(valued({**row, "ci_low": 0.612, "ci_high": 0.851}))
        75.0%
        61.2 to 85.1
        36 of 48
        >>> valued({**row, "value": None, "note": "no positives"})
        'not defined: no positives'
        >>> valued({**row, "metric": "auc", "mark": "counts only", "denominator": 8, "n": 12})
        '8 positives: counts only'
    """
    if row["value"] is None:
        return undefined(row["note"])
    counts = _counts(row)
    if row.get("mark") == FEW:
        return counts or _carried(row)
    value = amount(row["metric"], row["value"]) + SIGNS.get(row.get("mark") or "", "")
    return "\n".join(text for text in (value, interval(row), bounds(row), counts) if text)


def undefined(note: str | None) -> str:
    """What stands in place of a value that is not defined."""
    if note == "suppressed":
        return "suppressed"
    return f"not defined: {note}" if note else "not defined"


def interval(row: Row, low: str = "ci_low", high: str = "ci_high") -> str:
    """From one limit to the other; empty where there are none."""
    if row.get(low) is None or row.get(high) is None:
        return ""
    return " to ".join(figures(row["metric"], [row[low], row[high]]))


def bounds(row: Row) -> str:
    """Of a report from counts, what the value from the rows lies between, where that is not one number."""
    low, high = (row.get(name) for name in BOUNDS)
    if low is None or high is None or high - low < _WIDE:
        return ""
    return f"between {' and '.join(figures(row['metric'], [low, high]))}"


def counted(value: int | None) -> str:
    """A count; what is hidden is called so."""
    return "suppressed" if value is None else f"{value:,}"


def count_of(row: Row, name: str) -> str:
    """A count of a row; what is hidden is called so, and what there is not is left open."""
    return NONE if row[name] is None and row["note"] != "suppressed" else counted(row[name])


def _counts(row: Row) -> str:
    """A share as the two counts that it is; empty of other metrics, and with weights."""
    exact = not any(row.get(name) is None for name in ("value", "denominator")) and row.get("weight_sum") is None
    if not in_percent(row["metric"]) or not exact or bounds(row):
        return ""
    return f"{round(row['value'] * row['denominator']):,} of {row['denominator']:,}"


def _carried(row: Row) -> str:
    """How few samples carry a value, in place of it."""
    count, of = carried(row)
    return FEW if count is None else f"{carried_by(count, of)}: {FEW}"


def title_of(metric: str) -> str:
    """The heading of a metric.

    Examples:
        >>> title_of("tpr"), title_of("auc")
        ('Sensitivity', 'AUC')
    """
    return as_sentence(spoken(metric))


def metric_columns(metrics: Sequence[str]) -> list[Column]:
    """A column for each metric, with its full name behind the short one."""
    named = [(metric, metric_of(metric)) for metric in metrics]
    return [Column(title_of(m), numeric=True, title=known.title if known else m) for m, known in named]


def group_table(groups: pl.DataFrame, metrics: Sequence[str], caption: str, level: float | None) -> Table:
    """A row per group with its counts and the metrics.

    Args:
        groups: Of one by-key, at one threshold; several attributes have a column of their own.
        metrics: The metrics, each a column.
        caption: What the table shows.
        level: Of the intervals.
    """
    classes = groups["n_pos"].null_count() < groups.height or groups["n"].null_count() == groups.height
    several = groups["attribute"].n_unique() > 1
    head = [*([Column("Attribute")] if several else []), Column("Group"), Column("Rows", numeric=True)]
    head += [Column("Positives", numeric=True)] if classes else []
    rows, shown = [], []
    for who, part in groups.partition_by("attribute", "group", as_dict=True, maintain_order=True).items():
        cells = {row["metric"]: row for row in part.iter_rows(named=True)}
        first = next(iter(cells.values()))
        shown += [cells[m] for m in metrics if m in cells]
        counts = [counted(first["n"]), *([positives(first)] if classes else [])]
        names = [str(name) for name in (who if several else who[1:])]
        rows.append([*names, *counts, *(valued(cells[m]) if m in cells else NONE for m in metrics)])
    columns = [*head, *metric_columns(metrics)]
    return Table(caption, columns, rows, note=legend(shown, level), keys=2 if several else 1)


def positives(row: Row) -> str:
    """How many rows are positive, and which share of all that is."""
    n, n_pos = row["n"], row["n_pos"]
    if n is None or n_pos is None:
        return "suppressed"
    return f"{n_pos:,} ({100 * n_pos / n:.1f}%)" if n else f"{n_pos:,}"


def legend(rows: Sequence[Row], level: float | None) -> str:
    """What the lines and the signs of cells are, where there are any."""
    below = [f"its {level_text(level)}"] if any(row.get("ci_low") is not None for row in rows) else []
    below += ["the counts that it is a share of"] if any(map(_counts, rows)) else []
    said = [f"Below a value: {' and '.join(below)}."] if below else []
    marks = {row.get("mark") for row in rows if row["value"] is not None}
    ranges = {"imprecise": "20 to 99", "very imprecise": "10 to 19"}
    said += [f"{SIGNS[mark]} {mark}: {ranges[mark]} rows carry the value." for mark in ranges if mark in marks]
    if FEW in marks:
        said.append("Counts only: fewer than 10 rows carry the value.")
    return " ".join(said)


def gap_table(rows: Sequence[tuple[Sequence[str], Row]], keys: Sequence[str], caption: str) -> Table:
    """The largest gaps between groups, with what chance makes of equal groups.

    Args:
        rows: What each comparison is, and its row of the frame of gaps.
        keys: The headings of what it is.
        caption: What the table shows.
    """
    sure = any(row.get("ci_low") is not None or row.get("chance_gap") is not None for _, row in rows)
    columns = [*map(Column, keys), Column("Lowest group"), Column("Highest group"), Column("Gap", numeric=True)]
    if sure:
        columns += [Column("Interval", numeric=True), Column("p", numeric=True)]
        columns += [Column("Expected by chance", numeric=True, title="Median gap between equal groups of these sizes")]
    cells = [[*key, *_gap_cells(row, sure=sure)] for key, row in rows]
    note = "p: of no difference between any two groups." if sure else ""
    return Table(caption, columns, cells, note=note, keys=len(keys))


def _gap_cells(row: Row, *, sure: bool) -> list[str]:
    ends = [row["worst_group"] or NONE, row["best_group"] or NONE]
    known = metric_of(row["metric"])
    if known is not None and known.direction == "lower":
        ends.reverse()
    value = undefined(row["note"]) if row["value"] is None else difference(row["metric"], row["value"])
    if not sure:
        return [*ends, value]
    chance = row.get("chance_gap")
    by_chance = NONE if chance is None else difference(row["metric"], chance)
    return [*ends, value, interval(row) or NONE, p_cell(row.get("p_value")), by_chance]


def p_cell(p: float | None) -> str:
    """A p value under its heading."""
    return NONE if p is None else p_text(p).removeprefix("p ").removeprefix("= ")


def pair_table(pairs: pl.DataFrame, caption: str, level: float | None) -> Table:
    """Groups two by two: difference and ratio with their intervals."""
    columns = [Column("Metric"), Column("Group"), Column("Compared with")]
    columns += [Column("Difference", numeric=True), Column("Interval of the difference", numeric=True)]
    columns += [Column("Ratio", numeric=True), Column("p, Holm", numeric=True)]
    rows = []
    for row in pairs.iter_rows(named=True):
        missing = row["difference"] is None
        less = undefined(row["note"]) if missing else difference(row["metric"], row["difference"])
        who = [title_of(row["metric"]), row["group"], row["other_group"]]
        rows.append([*who, less, interval(row) or NONE, _ratio(row), p_cell(row["p_holm"])])
    note = f"Intervals: {level_text(level)}. p: of no difference, adjusted for the pairs of the attribute (Holm)."
    return Table(caption, columns, rows, note=note if rows else "", keys=3)


def _ratio(row: Row) -> str:
    if row["ratio"] is None:
        return NONE
    if row["ratio_low"] is None:
        return f"{row['ratio']:.2f}"
    high = "no upper limit" if row["ratio_high"] is None else f"{row['ratio_high']:.2f}"
    return f"{row['ratio']:.2f}\n{row['ratio_low']:.2f} to {high}"


def at(row: Row) -> str:
    """At which threshold a value is; empty where it has none."""
    if row["threshold_rule"] is None:
        return ""
    given = row["threshold_rule"] == "y_pred"
    return "decisions as given" if given else threshold_text(row["threshold"], row["threshold_rule"])


def score_table(curves: pl.DataFrame, attribute: str | None) -> Table:
    """How the scores spread over twentieths of the scale: rows and positives in each.

    Args:
        curves: The frame of binned scores of one by-key.
        attribute: The attribute whose groups are listed; all rows alone where None.
    """
    middle = (pl.col("low") + pl.col("high")) / 2
    rows = curves.filter(pl.col("attribute") == (attribute or "")).with_columns(part=(20 * middle).floor())
    parts = rows.group_by("group", "part", maintain_order=True).agg(pl.col("n", "n_pos", "sum_score").sum())
    classes = rows["n_pos"].null_count() < rows.height
    columns = [Column("Group")] if attribute else []
    columns += [Column("Values from"), Column("Rows", numeric=True), Column("Mean", numeric=True)]
    columns += [Column("Positives", numeric=True)] if classes else []
    cells = []
    for row in parts.iter_rows(named=True):
        low = row["part"] / 20
        mean = f"{row['sum_score'] / row['n']:.3f}"
        cell = [*([row["group"]] if attribute else []), f"{low:.2f} to {low + 0.05:.2f}", counted(row["n"]), mean]
        cells.append([*cell, *([positives(row)] if classes else [])])
    caption = f"The numbers: {'scores' if classes else 'values'}{f' by {attribute}' if attribute else ''}"
    return Table(caption, columns, cells, keys=2 if attribute else 1)
