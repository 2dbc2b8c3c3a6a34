"""The digest of a report: which rows and numbers are shown, and how each is printed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.export import Frames, by_keys, texts
from fmfair.metrics.registry import REGISTRY
from fmfair.render import Digest, Table, visible

MAX_ROWS = 30
MAX_NOTES = 20
# Fewer samples than this say too little for a decimal number; their counts are printed instead.
FEW = 10
UNDEFINED = "-"

HEADLINE = ("auc", "tpr", "tnr", "dice")
_PROPORTIONS = ("accuracy", "tpr", "tnr", "fpr", "fnr", "ppv", "npv", "selection_rate")
_THRESHOLD = ["threshold", "threshold_rule"]


def digest(frames: Frames, notes: Sequence[str], metadata: Mapping[str, Any]) -> Digest:
    """The title, the summary, the main metrics of every group, and the notes."""
    # By-keys under names of our own, since Polars reads names such as `*` as patterns, and as they are shown.
    by = {f"\0{i}": name for i, name in enumerate(by_keys(frames))}
    own = {name: plain for plain, name in by.items()}
    frames = {name: frame.rename(own) for name, frame in frames.items()}
    varying = [name for name in by if frames["overall"][name].n_unique() > 1]
    tables = [_summary(frames["summary"], by, varying)]
    metrics = _headline(frames["groups"], metadata)
    if metrics:
        tables.append(_groups(frames, by, varying, metrics))
    shown = [visible(note) for note in notes[:MAX_NOTES]]
    if len(notes) > MAX_NOTES:
        shown.append(f"{len(notes) - MAX_NOTES:,} more in report.notes")
    return Digest(_title(frames, by, varying, metadata), tuple(tables), tuple(shown))


def _title(frames: Frames, by: Mapping[str, str], varying: Sequence[str], metadata: Mapping[str, Any]) -> str:
    overall, attributes = frames["overall"], frames["summary"]["attribute"].unique(maintain_order=True).to_list()
    first = overall.unique(list(by), maintain_order=True) if by else overall.head(1)
    count = metadata.get("n_samples", first["n"].sum())
    facts = [f"{metadata.get('task', 'evaluation')}, {count:,} {'sample' if count == 1 else 'samples'}"]
    if varying:
        facts.append("by " + ", ".join(f"{visible(by[n])} ({overall[n].n_unique():,})" for n in varying))
    facts += [f"{visible(by[n])}={_names(overall[n].head(1))[0]}" for n in by if n not in varying and overall.height]
    shown = ", ".join(visible(a) for a in attributes[:6])
    facts.append(f"attributes {shown}" + (f" and {len(attributes) - 6} more" if len(attributes) > 6 else ""))
    if "conventions" in metadata:
        decision = f" ({metadata['decision']})" if metadata.get("decision") else ""
        facts.append(f"{metadata['conventions']} conventions{decision}")
    return "fmfair report: " + "; ".join(facts)


def _summary(summary: pl.DataFrame, by: Mapping[str, str], varying: Sequence[str]) -> Table:
    shown = summary.head(MAX_ROWS)
    numbers = [n for n in summary.columns if n not in (*by, "attribute", *_THRESHOLD)]
    empty = [n for n in numbers if summary.height and summary[n].null_count() == summary.height]
    columns = {name: _names(shown[name]) for name in [*varying, "attribute"]}
    keys = len(columns)
    for name in numbers:
        if name not in empty:
            columns[name] = [_number(v) for v in shown[name]]
        if name == "n_groups" and "threshold" in summary.columns and summary["threshold_rule"].count():
            columns["threshold"] = [_threshold(*row) for row in shown.select(_THRESHOLD).iter_rows()]
    remarks = []
    if summary.height > MAX_ROWS:
        remarks.append(f"... {summary.height - MAX_ROWS:,} more rows; report.summary holds all {summary.height:,}")
    if empty:
        remarks.append(f"empty in every row, undefined or not asked for: {', '.join(empty)}")
    if any(UNDEFINED in cells for cells in list(columns.values())[keys:]):
        remarks.append(f"{UNDEFINED} undefined; report.gaps and report.groups say why in note")
    return _table("Summary", columns, by, keys, remarks)


def _headline(groups: pl.DataFrame, metadata: Mapping[str, Any]) -> list[str]:
    """Up to three metrics to show of every group; one where each has its own number of usable samples."""
    named = groups["metric"].unique(maintain_order=True).to_list()
    rates = [m for m in named if m not in REGISTRY or REGISTRY[m].family != "count"]
    ranked = sorted(rates or named, key=lambda m: HEADLINE.index(m) if m in HEADLINE else len(HEADLINE))
    return ranked[: 1 if metadata.get("task") == "segmentation" else 3]


def _groups(frames: Frames, by: Mapping[str, str], varying: Sequence[str], metrics: Sequence[str]) -> Table:
    cell = [*by, "attribute", "group"]
    values, marks = _chosen(frames, by, metrics)
    everything = values.unique(cell, maintain_order=True).select(*cell, "n", "n_pos")
    listed = _within_limit(everything.join(marks, on=cell, how="left", nulls_equal=True, maintain_order="left"), cell)
    columns = {name: _names(listed[name]) for name in [*varying, "attribute", "group"]}
    keys = len(columns)
    columns["n"] = [_number(v) for v in listed["n"]]
    if listed["n_pos"].count():
        columns["n_pos"] = [_number(v) for v in listed["n_pos"]]
    marked: list[tuple[int, int]] = []
    reasons: dict[str, None] = {}
    for metric in metrics:
        facts = values.filter(pl.col("metric") == metric)
        facts = listed.select(cell).join(facts, on=cell, how="left", nulls_equal=True, maintain_order="left")
        worst = marks.filter(pl.col("metric") == metric).select(*cell, "worst_group")
        facts = facts.join(worst, on=cell, how="left", nulls_equal=True, maintain_order="left")
        marked += [(r, len(columns)) for r, name in enumerate(facts["worst_group"]) if name is not None]
        reasons |= dict.fromkeys(facts.filter(pl.col("value").is_null())["note"].drop_nulls())
        columns[metric] = [_value(metric, row) for row in facts.iter_rows(named=True)]
    remarks = []
    if everything.height > listed.height:
        remarks.append(
            f"... {everything.height - listed.height:,} more groups; report.groups holds all {everything.height:,}"
        )
    rates = [m for m in metrics if m in REGISTRY and REGISTRY[m].at_threshold]
    if rates and frames["groups"]["threshold_rule"].drop_nulls().n_unique() > 1:
        remarks.append(f"{', '.join(rates)} at the threshold of the summary")
    if marked:
        remarks.append("* worst group of its attribute")
    remarks += _legend({cell for metric in metrics for cell in columns[metric]}, list(reasons))
    return _table("Groups", columns, by, keys, remarks, marked)


def _table(
    title: str,
    columns: Mapping[str, Sequence[str]],
    shown: Mapping[str, str],
    keys: int,
    remarks: Sequence[str],
    marked: Sequence[tuple[int, int]] = (),
) -> Table:
    header = tuple(visible(shown.get(name, name)) for name in columns)
    rows = tuple(zip(*columns.values(), strict=True))
    return Table(title, header, rows, keys, frozenset(marked), tuple(remarks))


def _chosen(frames: Frames, by: Iterable[str], metrics: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The group values at the summary's thresholds, and the worst group of each comparison."""
    summary = frames["summary"]
    where = [*by, "attribute", *_THRESHOLD]

    def at_threshold(frame: pl.DataFrame) -> pl.DataFrame:
        frame = frame.filter(pl.col("metric").is_in(list(metrics)))
        if "threshold" not in summary.columns:
            return frame
        everywhere = frame.filter(pl.col("threshold_rule").is_null())
        there = frame.filter(pl.col("threshold_rule").is_not_null()).join(
            summary.select(where), on=where, how="semi", nulls_equal=True, maintain_order="left"
        )
        return pl.concat([everywhere, there])

    gaps = at_threshold(frames["gaps"].filter(pl.col("worst_group") != pl.col("best_group")))
    differing = gaps.filter((pl.col("statistic") == "difference") & (pl.col("value") > 0))
    comparison = [*by, "attribute", "metric"]
    worst = gaps.filter(pl.col("statistic") == "worst").join(differing, on=comparison, how="semi", nulls_equal=True)
    marks = worst.select(*by, "attribute", pl.col("worst_group").alias("group"), "metric", "worst_group")
    values = at_threshold(frames["groups"]).drop("attribute_parts", "group_parts")
    return values, marks


def _within_limit(groups: pl.DataFrame, cell: Sequence[str]) -> pl.DataFrame:
    """The first groups in their order, the worst ones among them whatever their place."""
    groups = groups.unique(cell, maintain_order=True)
    is_worst = groups["worst_group"].is_not_null()
    places = [*is_worst.arg_true().to_list(), *(~is_worst).arg_true().to_list()]
    return groups[sorted(places[:MAX_ROWS])]


def _legend(cells: Collection[str], reasons: Sequence[str]) -> list[str]:
    """What a dash and a count stand for, where there are any."""
    legend = []
    if UNDEFINED in cells:
        why = f": {'; '.join(visible(r) for r in reasons[:3])}" if reasons else ""
        legend.append(f"{UNDEFINED} undefined{why}")
    if any("/" in cell or "=" in cell for cell in cells):
        legend.append(f"counts only where fewer than {FEW} samples carry a value; report.groups holds the value")
    return legend


def _value(metric: str, row: Mapping[str, Any]) -> str:
    """A group's value, or its counts where few samples carry it."""
    value, carried = row["value"], row["denominator"]
    if value is None or carried is None:
        return _number(value)
    n_pos, unit = row["n_pos"], "n"
    known = REGISTRY.get(metric)
    if known is not None and known.family == "ranking" and n_pos is not None:
        carried, unit = min((n_pos, "n_pos"), (row["n"] - n_pos, "n_neg"), key=lambda count: count[0])
    if carried >= FEW or (known is not None and known.family == "count"):
        return _number(value)
    if metric in _PROPORTIONS and row["weight_sum"] is None:
        return f"{round(value * carried)}/{carried}"
    return f"{unit}={carried}"


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if isinstance(value, int):
        return str(value)
    return f"{round(value, 4) + 0.0:.4f}" if abs(value) < 1e6 else f"{value:.4e}"


def _threshold(value: float | None, rule: str | None) -> str:
    name = "" if rule in (None, "fixed") else visible(str(rule))
    number = "" if value is None else f"{value:.4g}"
    return " ".join(part for part in (name, number) if part) or UNDEFINED


def _names(values: pl.Series) -> list[str]:
    """The values of a by-key or the names of groups; a missing by-key is `(missing)`."""
    return [visible(name) if name is not None else "(missing)" for name in texts(values)]
