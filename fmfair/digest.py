"""The digest of a report: who is worst served, the summary, the groups and the notes, ready to be printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from fmfair.columns import ROLE_NAMES
from fmfair.errors import FmfairError
from fmfair.export import Frames
from fmfair.gap_table import gap_table
from fmfair.group_table import group_table
from fmfair.pair_table import pair_table
from fmfair.render import Digest, Table, visible
from fmfair.shown import (
    ABOUT,
    MAX_ROWS,
    THRESHOLD,
    UNDEFINED,
    Shown,
    compared_metrics,
    header_and_rows,
    key_columns,
    names,
    number,
    shown_of,
    threshold_text,
)
from fmfair.shown_certainty import certainty_remarks
from fmfair.summary import GAP_COLUMNS, OVERALL_COLUMNS

MAX_NOTES = 20
ALL_METRICS = 1000
_MAX_ATTRIBUTES = 6

# How to read the columns of the summary; those that end in -gap are spoken of together.
_READINGS: Mapping[str, tuple[str, ...]] = {
    "0 is fair": ("gaps", "eo", "delta_dice", "std_dice"),
    "1 is fair": ("eod", "skewness_dice"),
    "higher is better": (*("worst-auc", "overall-auc", "overall-acc", "mean_dice", "min_dice", "max_dice", "es_dice"),),
    "lower is better": ("overall-bce", "overall-ece"),
}
# The metric behind each column of the summary.
_METRIC_OF: Mapping[str, str] = {
    **{column: metric for columns in OVERALL_COLUMNS.values() for column, metric in columns.items()},
    **{column: metric for columns in GAP_COLUMNS.values() for column, (metric, _) in columns.items()},
}


def digest(frames: Frames, notes: Sequence[str], metadata: Mapping[str, Any]) -> Digest:
    """The title, the largest gaps, the summary, the main metrics of every group, and the notes."""
    shown = shown_of(frames, metadata)
    pairs = _pairs(shown, metadata)
    tables = [table for table in (gap_table(shown), pairs, _summary(shown), group_table(shown)) if table]
    said = [*certainty_remarks(shown, metadata), *([_thresholds(shown)] if shown.others else [])]
    if pairs is None and shown.pairs.height and (shown.gaps["n_groups"] > 2).any():
        said.append("which two groups differ: report.to_text('pairs'), fmfair score --format pairs")
    tables[0] = replace(tables[0], remarks=(*tables[0].remarks, *said))
    listed = [visible(note) for note in notes[:MAX_NOTES]]
    if len(notes) > MAX_NOTES:
        listed.append(f"{len(notes) - MAX_NOTES:,} more in report.notes")
    return Digest(_title(shown, metadata), tuple(tables), tuple(listed))


def digest_of_pairs(frames: Frames, metadata: Mapping[str, Any]) -> Digest:
    """The title and the pairs of groups, of all metrics.

    Raises:
        FmfairError: There are none.
    """
    if "pairs" not in frames:
        raise FmfairError(
            "there are no pairs of groups: they need intervals (ci=None leaves these out) and an attribute with two "
            "groups that have one"
        )
    shown = shown_of(frames, metadata, most=ALL_METRICS)
    table = pair_table(shown, shown.metrics, metadata.get("reference") or {}, alone=True)
    said = [_thresholds(shown)] if shown.others else []
    return Digest(_title(shown, metadata), (replace(table, remarks=(*table.remarks, *said)),), ())


def _pairs(shown: Shown, metadata: Mapping[str, Any]) -> Table | None:
    """The pairs of groups, where a reference or a margin says that they are of interest."""
    reference = metadata.get("reference") or {}
    metrics = compared_metrics(shown)
    if shown.pairs.is_empty() or not (reference or shown.margins):
        return None
    return pair_table(shown, metrics, reference)


def _title(shown: Shown, metadata: Mapping[str, Any]) -> str:
    attributes = shown.summary["attribute"].unique(maintain_order=True).to_list()
    facts = [f"{metadata.get('task', 'evaluation')}, {_size(shown, metadata)}"]
    constant = [name for name in shown.by if name not in shown.varying and shown.overall.height]
    facts += [f"{visible(shown.by[name])}={names(shown.overall[name].head(1))[0]}" for name in constant]
    more = len(attributes) - _MAX_ATTRIBUTES
    listed = ", ".join(visible(a) for a in attributes[:_MAX_ATTRIBUTES])
    facts.append(f"attributes {listed}" + (f" and {more} more" if more > 0 else ""))
    if "conventions" in metadata:
        decision = f" ({metadata['decision']})" if metadata.get("decision") else ""
        facts.append(f"{metadata['conventions']} conventions{decision}")
    return "fmfair report: " + "; ".join(facts)


def _size(shown: Shown, metadata: Mapping[str, Any]) -> str:
    """`12 samples`, `12 samples x 2 models` where each by-key has as many, else `20 rows; by model (2)`."""
    by, varying = list(shown.by), shown.varying
    each = (shown.overall.unique(by, maintain_order=True) if by else shown.overall.head(1))["n"]
    total = metadata.get("n_samples", each.sum())
    if total is None:
        return "number of samples suppressed"
    if not varying:
        return f"{total:,} {'sample' if total == 1 else 'samples'}"
    numbers = [shown.overall[name].n_unique() for name in varying]
    if each.n_unique() > 1 or each.sum() != total or prod(numbers) != each.len():
        listed = (f"{visible(shown.by[n])} ({k:,})" for n, k in zip(varying, numbers, strict=True))
        return f"{total:,} rows; by {', '.join(listed)}"
    times = " x ".join(_times(shown.by[name], k) for name, k in zip(varying, numbers, strict=True))
    return f"{each[0]:,} {'sample' if each[0] == 1 else 'samples'} x {times}"


def _times(name: str, count: int) -> str:
    if name.lower() not in ROLE_NAMES["by"]:
        return f"{count:,} values of {visible(name)}"
    return f"{count:,} {name[:-1] + 'ies' if name.endswith('y') else name + 's'}"


def _thresholds(shown: Shown) -> str:
    """Which of several thresholds is shown, and where the others are."""
    rates = ", ".join(map(visible, shown.rates)) or "rates"
    others = ", ".join(shown.others)
    return f"{rates}: here at threshold {shown.threshold}; the others ({others}) are in report.groups and report.gaps"


def _summary(shown: Shown) -> Table:
    summary, rows = shown.summary, shown.summary.head(MAX_ROWS)
    numbers = [n for n in summary.columns if n not in (*shown.keys, *THRESHOLD)]
    empty = [n for n in numbers if summary.height and summary[n].null_count() == summary.height]
    columns = list(key_columns(shown, rows))
    keys = len(columns)
    middles = {name for name, metric in _METRIC_OF.items() if metric in shown.open}
    for name in numbers:
        if name not in empty:
            columns.append((name, [_about(number(v), middle=name in middles) for v in rows[name]]))
        if name == "n_groups" and "threshold" in summary.columns and summary["threshold_rule"].count():
            columns.append(("threshold", [threshold_text(*row) for row in rows.select(THRESHOLD).iter_rows()]))
    header, cells = header_and_rows(columns)
    remarks = []
    if summary.height > MAX_ROWS:
        remarks.append(f"... {summary.height - MAX_ROWS:,} more rows; report.summary holds all {summary.height:,}")
    remarks += _readings(header)
    if any(cell.startswith(ABOUT) for row in cells for cell in row[keys:]):
        remarks.append(f"{ABOUT} middle of bounds, between which the value from the rows lies; report.gaps has them")
    if empty:
        remarks.append(f"empty in every row, undefined or not asked for: {', '.join(empty)}")
    if any(UNDEFINED in row[keys:] for row in cells):
        remarks.append(f"{UNDEFINED} undefined; report.gaps and report.groups say why in note")
    return Table("Summary", header, cells, keys, remarks=tuple(remarks))


def _about(text: str, *, middle: bool) -> str:
    return f"{ABOUT}{text}" if middle and text != UNDEFINED else text


def _readings(columns: Sequence[str]) -> list[str]:
    """One line on which way the shown columns of the summary are fair or better."""
    there = {"gaps" if name.endswith("-gap") else name for name in columns}
    readings = {how: [name for name in named if name in there] for how, named in _READINGS.items()}
    line = "; ".join(f"{', '.join(named)}: {how}" for how, named in readings.items() if named)
    return [line] if line else []
