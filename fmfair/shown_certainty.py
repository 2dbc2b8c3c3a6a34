"""How sure a shown value is: its interval, a sign where few samples carry it, and the lines that say what both are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from fmfair.columns import INTERVALS
from fmfair.errors import plural
from fmfair.marks import MARKS
from fmfair.render import visible
from fmfair.shown import ABOUT, UNDEFINED, Shown, bounded, bounds_legend, metric_of, number

DIGITS = 3
# An interval that is narrower than this is shown with more decimals.
NARROW = 0.002
MAX_DOUBTS = 3
SIGNS: Mapping[str, str] = {"imprecise": "?", "very imprecise": "??"}
LOW, HIGH = list(INTERVALS)[:2]
# Metrics that are a share of samples, of which two counts say everything.
_PROPORTIONS = ("accuracy", "tpr", "tnr", "fpr", "fnr", "ppv", "npv", "selection_rate")


def valued(row: Mapping[str, Any], digits: int, of: str = "", *, interval: bool = True) -> str:
    """A value with its interval, three decimals each; from counts with its bounds, else the number alone.

    An error of calibration has behind it what chance alone makes of it.

    Args:
        row: Holds `value`; where intervals were asked for `ci_low`, `ci_high` and, of groups, `mark` and `expected`.
        digits: The decimals where no intervals were asked for; from counts `~` stands before a value that has room
            between its bounds, by which its interval is wider, or none.
        of: What stands before these names.
        interval: Whether there is room for the interval.

    Examples:
        >>> row = {"value": 0.8421, "ci_low": 0.6112, "ci_high": 0.9481, "mark": "imprecise"}
        >>> valued(row, 4), valued(row, 4, interval=False), valued({"value": 0.8421}, 4)
        ('?0.842 [0.611, 0.948]', '?0.842', '0.8421')
        >>> valued({"value": 1.0, "ci_low": None, "ci_high": None}, 4)
        '1.000'
        >>> valued({"value": 0.123, "ci_low": None, "ci_high": None, "expected": 0.081}, 4)
        '0.123 (0.081)'
    """
    if f"{of}{LOW}" not in row:
        return bounded(row, digits, of)
    value, low, high = (row[f"{of}{name}"] for name in ("value", LOW, HIGH))
    if value is None:
        return UNDEFINED
    sign, expected = SIGNS.get(row.get(f"{of}mark") or "", ""), row.get(f"{of}expected")
    if expected is not None:
        return f"{sign}{number(value, DIGITS)} ({number(expected, DIGITS)})"
    if bounded(row, DIGITS, of) != number(value, DIGITS):
        sign += ABOUT
    if not interval or low is None or high is None or low == high:
        return f"{sign}{number(value, DIGITS)}"
    shown = DIGITS if high - low >= NARROW else DIGITS + 2
    return f"{sign}{number(value, shown)} [{number(low, shown)}, {number(high, shown)}]"


def valued_or_counted(row: Mapping[str, Any], digits: int, of: str = "", *, interval: bool = True) -> str:
    """A group's value as in `valued`, or its counts where few samples carry it.

    Examples:
        >>> row = {"metric": "tpr", "value": 4 / 9, "few": True, "carried": 9, "unit": "n_pos", "weight_sum": None}
        >>> valued_or_counted(row, 4), valued_or_counted({**row, "metric": "auc"}, 4)
        ('4/9', 'n_pos=9')
    """
    metric, value = row["metric"], row[f"{of}value"]
    if value is None or not row[f"{of}few"] or ((known := metric_of(metric)) is not None and known.family == "count"):
        return valued(row, digits, of, interval=interval)
    carried = row[f"{of}carried"]
    if metric in _PROPORTIONS and row[f"{of}weight_sum"] is None and bounded(row, of=of) == number(value):
        return f"{round(value * carried)}/{carried}"
    return f"{row[f'{of}unit']}={carried}"


def is_count(text: str) -> bool:
    """Whether a cell holds counts in place of a value."""
    return "/" in text or "=" in text


def brackets_legend(shown: Shown, cells: Iterable[str]) -> list[str]:
    """What brackets behind a value stand for, where there are any and `certainty_remarks` does not say it."""
    if LOW not in shown.groups.columns:
        return bounds_legend(cells)
    texts = list(cells)
    chance = "(number): what a perfectly calibrated model shows on average in such a group"
    middle = (
        f"{ABOUT} middle of bounds, between which the value from the rows lies, or without known bounds; report.groups "
        "and report.gaps have them"
    )
    occurs = {chance: any(text.endswith(")") for text in texts), middle: any(ABOUT in text for text in texts)}
    return [line for line, shows in occurs.items() if shows]


def certainty_remarks(shown: Shown, metadata: Mapping[str, Any]) -> list[str]:
    """What the brackets and signs of a report with intervals are; nothing of one without."""
    if LOW not in shown.groups.columns:
        return []
    kind = _dependence(metadata)
    level = metadata.get("ci")
    of_level = "" if level is None else f"{100 * level:.6g} % "
    methods = "; ".join(_methods(shown))
    remarks = [f"[low, high]: {of_level}interval ({methods}); {kind}" if methods else f"no intervals; {kind}"]
    remarks += _bootstrap(metadata.get("bootstrap"))
    remarks += _doubts(shown.groups, [visible(metric) for metric in shown.metrics])
    signs = _signs(shown.groups)
    return [*remarks, signs] if signs else remarks


def _doubts(groups: pl.DataFrame, metrics: Sequence[str]) -> list[str]:
    """Why values have no interval or a doubtful one, the most frequent reasons first."""
    defined = groups.filter(pl.col("value").is_not_null())
    noted = defined.drop_nulls("ci_note")
    reasons = noted["ci_note"].value_counts(sort=True, name="n").sort("n", "ci_note", descending=[True, False])
    said = []
    for reason, count in reasons.head(MAX_DOUBTS).iter_rows():
        whose = set(noted.filter(pl.col("ci_note") == reason)["metric"])
        of = defined.filter(pl.col("metric").is_in(whose)).height
        said.append(f"{', '.join(m for m in metrics if m in whose)}: {visible(reason)} ({count:,} of {of:,} values)")
    more = reasons.height - MAX_DOUBTS
    return [*said, f"{plural(more, 'more note')} in report.groups, ci_note"] if more > 0 else said


def _dependence(metadata: Mapping[str, Any]) -> str:
    cluster = (metadata.get("columns") or {}).get("cluster")
    return f"clustered by {visible(str(cluster))}" if cluster else "rows counted as independent"


def _bootstrap(drawn: Mapping[str, Any] | None) -> list[str]:
    """How the replicates of a bootstrap were drawn, so that the same can be drawn again."""
    if drawn is None:
        return []
    return [f"bootstrap: {drawn['replicates']:,} replicates, method {drawn['method']}, seed {drawn['seed']}"]


def _methods(shown: Shown) -> list[str]:
    """The methods of each metric, those with the same ones together, and those of the gaps."""
    metrics: dict[str, list[str]] = {}
    for metric in shown.metrics:
        methods = _distinct(shown.groups.filter(pl.col("metric") == metric)["ci_method"])
        if methods:
            metrics.setdefault(methods, []).append(visible(metric))
    found = [f"{', '.join(names)}: {methods}" for methods, names in metrics.items()]
    if LOW in shown.gaps.columns:
        # What follows the comma are the methods of the groups again.
        of_gaps = shown.gaps.filter(pl.col("statistic") == "difference")["ci_method"]
        methods = _distinct(of_gaps.str.split(", ").list.first())
        found += [f"gaps: {methods}"] if methods else []
    return found


def _distinct(methods: pl.Series) -> str:
    return " or ".join(methods.drop_nulls().unique(maintain_order=True))


def _signs(groups: pl.DataFrame) -> str:
    """What the signs that occur mean: from which count to which."""
    there = set(groups["mark"])
    ranges = reversed(list(pairwise(sorted(MARKS))))
    shown = [(MARKS[most], f"{least} to {most - 1}") for least, most in ranges if MARKS[most] in there]
    meanings = [f"{SIGNS[mark]} {mark} ({counts})" for mark, counts in shown]
    return f"{', '.join(meanings)}: so few samples carry the value" if meanings else ""
