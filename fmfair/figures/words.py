"""What titles say: the finding of a comparison, in the words that its interval allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.figures.data import Where, measured
from fmfair.figures.text import metric_of, name_of, short_name
from fmfair.figures.theme import Look
from fmfair.numerals import as_sentence, figures, joined, unit


def differences(
    gaps: pl.DataFrame, groups: pl.DataFrame, metric: str, attributes: Sequence[str], where: Where
) -> list[dict[str, Any]]:
    """The largest difference between groups of each attribute; none where the report has no such comparison.

    `few` says whether one of the two groups is shown as counts only, so that it is not to be named; the groups are
    those that are `valued`.
    """
    if metric not in gaps["metric"]:
        return []
    rows = measured(gaps, metric, where).filter(pl.col("statistic") == "difference")
    rows = rows.filter(pl.col("attribute").is_in(attributes)).unique("attribute", keep="first", maintain_order=True)
    small = groups.filter(pl.col("kind") != "point")
    names = set(small.select("attribute", "group").iter_rows())
    sides = ("worst_group", "best_group")
    return [{**row, "few": any((row["attribute"], row[s]) in names for s in sides)} for row in rows.to_dicts()]


def finding(rows: Sequence[Mapping[str, Any]], metric: str, attributes: Sequence[str], look: Look) -> str:
    """A sentence that says what the groups differ by, and how sure that is.

    Args:
        rows: The largest difference of each attribute, as `differences` gives them.
        metric: The name of the metric.
        attributes: The attributes that are shown.
        look: Holds the level of the intervals.
    """
    name = as_sentence(short_name(metric))
    there = [row for row in rows if row["value"] is not None and (row.get("ci_high") is not None or not row["few"])]
    if not there:
        small = "a group at one end has too few samples" if any(row["value"] is not None for row in rows) else None
        reason = next((row["note"] for row in rows if row["note"]), small)
        return f"{name} by {_names(attributes)}" + (f": no comparison ({reason})" if reason else "")
    if len(attributes) == 1:
        return _of_one(there[0], metric, look)
    judged = [row for row in there if row.get("ci_high") is not None]
    if not judged:
        largest = max(there, key=lambda row: float(row["value"]))
        return f"{name}: largest difference {_difference(largest, metric)}, by {name_of(largest['attribute'])}"
    shown = [row["attribute"] for row in judged if row["ci_low"] > 0]
    not_shown = [row["attribute"] for row in judged if row["ci_low"] <= 0]
    parts = [f"a difference was shown between groups of {_names(shown)}"] if shown else []
    parts += (
        [f"{'none' if shown else 'no difference was shown'} between groups of {_names(not_shown)}"] if not_shown else []
    )
    return f"{name}: {', '.join(parts)}"


def _of_one(row: Mapping[str, Any], metric: str, look: Look) -> str:
    name, by = as_sentence(short_name(metric)), name_of(row["attribute"])
    low, high = row.get("ci_low"), row.get("ci_high")
    if low is None or high is None:
        return f"{name} by {by}: largest difference {_difference(row, metric)}"
    value, least, most = figures(metric, [row["value"], low, high], high - low)
    of = unit(metric)
    if low <= 0:
        return f"{name} by {by}: no difference was shown; differences up to {most}{of} cannot be ruled out"
    span = f"{look.interval} {least} to {most}"
    if row["few"]:
        return f"{name} by {by}: a difference was shown ({span}{of})"
    worst, best = name_of(row["worst_group"]), name_of(row["best_group"])
    ends = f"{value}{of} ({worst} to {best}; {span})"
    if row["n_groups"] > 2:
        return f"{name} by {by}: the largest difference was {ends}"
    known = metric_of(metric)
    direction = known.direction if known is not None else "none"
    if direction == "none":
        return f"{name} by {by}: difference {ends}"
    way = "lower" if direction == "higher" else "higher"
    return f"{name} was {way} in {worst} than in {best} by {value}{of} ({span})"


def _difference(row: Mapping[str, Any], metric: str) -> str:
    (value,) = figures(metric, [row["value"]])
    return f"{value}{unit(metric)} ({name_of(row['worst_group'])} to {name_of(row['best_group'])})"


def _names(attributes: Sequence[str]) -> str:
    return joined([name_of(name) for name in attributes]) if attributes else "no attribute"
