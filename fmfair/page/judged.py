"""Differences between the groups that are large enough to be judged.

A gap is between the extremes of all groups, and the smallest group is the likeliest extreme. Where one of the two has
counts only, the document tells the largest difference between the others instead, from the table of pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from fmfair.export import Frames
from fmfair.marks import MARKS
from fmfair.shown import metric_of

COUNTS_ONLY = MARKS[min(MARKS)]
# Above this, adjusted for the number of pairs, the largest difference of several pairs is not told from chance.
CHANCE = 0.05


def too_small(groups: pl.DataFrame, metric: str) -> dict[str, set[str]]:
    """The groups of each attribute whose value of a metric is shown as counts only."""
    if "mark" not in groups.columns:
        return {}
    few = groups.filter(pl.col("metric") == metric, pl.col("mark") == COUNTS_ONLY)
    found: dict[str, set[str]] = {}
    for attribute, group in few.select("attribute", "group").iter_rows():
        found.setdefault(attribute, set()).add(group)
    return found


def judged(gap: Mapping[str, Any], small: Collection[str], frames: Frames) -> Mapping[str, Any]:
    """A gap, or where one of its groups has counts only the largest difference between two groups that have more.

    Args:
        gap: The row of the largest difference.
        small: The groups with counts only.
        frames: The frames of one by-key at one threshold.
    """
    if not {gap.get("worst_group"), gap.get("best_group")} & set(small):
        return gap
    pairs, known = frames.get("pairs"), metric_of(gap["metric"])
    if pairs is None or known is None:
        return {**gap, **_nothing(gap), "note": "a group at one end has counts only"}
    other = pairs.filter(
        pl.col("attribute") == gap["attribute"],
        pl.col("metric") == gap["metric"],
        ~pl.col("group").is_in(list(small)),
        ~pl.col("other_group").is_in(list(small)),
        pl.col("difference").is_not_null(),
    )
    if other.is_empty():
        return {**gap, **_nothing(gap), "note": "fewer than two groups have more than counts"}
    row = other.sort(pl.col("difference").abs(), descending=True, maintain_order=True).row(0, named=True)
    count = pl.concat([other["group"], other["other_group"]]).n_unique()
    found = _of_pair(row, lower_is_better=known.direction == "lower")
    if count > 2 and found["ci_low"] and (row["p_holm"] is None or row["p_holm"] >= CHANCE):
        found["ci_low"] = 0.0  # the pair was picked from several for its difference, and does not stand out from them
    return {**gap, **_nothing(gap), **found, "n_groups": count}


def _nothing(gap: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a gap between all groups and not of another."""
    kept = ("attribute", "attribute_parts", "metric", "threshold", "threshold_rule", "statistic")
    return {name: None for name in gap if name not in kept}


def _of_pair(row: Mapping[str, Any], *, lower_is_better: bool) -> dict[str, Any]:
    """The difference of a pair without its sign, and which of the two is worse."""
    down = row["difference"] < 0
    low, high = row["ci_low"], row["ci_high"]
    if down and low is not None and high is not None:
        low, high = -high, -low
    smaller, larger = (row["group"], row["other_group"]) if down else (row["other_group"], row["group"])
    worst, best = (larger, smaller) if lower_is_better else (smaller, larger)
    return {
        "value": abs(row["difference"]),
        "ci_low": None if low is None else max(low, 0.0),
        "ci_high": high,
        "ci_method": row["ci_method"],
        "p_value": row["p_holm"],
        "p_method": row["p_method"],
        "verdict": row["verdict"],
        "worst_group": worst,
        "best_group": best,
        "note": row["note"],
    }
