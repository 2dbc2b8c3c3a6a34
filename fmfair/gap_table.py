"""The table of the largest gaps: who is worst served, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from fmfair.columns import BOUNDS
from fmfair.render import Table, visible
from fmfair.shown import (
    FEW,
    HEADLINE,
    Shown,
    header_and_rows,
    key_columns,
    metric_of,
    names,
    number,
)
from fmfair.shown_certainty import HIGH, LOW, brackets_legend, valued

MAX_GAPS = 12
DIGITS = 3
MARK = "!"

CHANCE = "by chance"
# The columns that say what a gap is worth, and those of the report that they show.
TESTS = {"p": "p_value", CHANCE: "chance_gap_95"}


class Form(NamedTuple):
    """What is shown of the groups of a gap: the intervals of their values, and how many samples they have."""

    intervals: bool
    counts: bool


# From the fullest on.
FORMS = (Form(intervals=True, counts=True), Form(intervals=False, counts=True), Form(intervals=False, counts=False))

_CARRIERS = {
    "n_pos": "positives",
    "n_neg": "negatives",
    "n_pred_pos": "samples called positive",
    "n_pred_neg": "samples called negative",
    "n": "samples",
}


def gap_table(shown: Shown) -> Table | None:
    """The largest gaps of the headline metrics, those between groups of few samples last; None where none has one."""
    directed = set(shown.gaps.filter(pl.col("statistic") == "worst")["metric"])
    metrics = [m for m in shown.metrics if m in directed]
    metrics = [m for m in metrics if m in HEADLINE] or metrics
    compared = shown.gaps.filter((pl.col("statistic") == "difference") & pl.col("metric").is_in(metrics))
    if compared.is_empty():
        return None
    ranked = _ranked(shown, compared.filter(pl.col("value").is_finite() & (pl.col("value") > 0)))
    rows = ranked.head(MAX_GAPS)
    full, *leaner = (_table(shown, rows, form) for form in (FORMS if LOW in shown.groups.columns else FORMS[:1]))
    cells = [cell for row in full.rows for cell in row[full.keys :]]
    remarks = (*brackets_legend(shown, cells), *_tests(rows), *_remarks(metrics, compared, ranked))
    return replace(full, remarks=remarks, leaner=tuple(leaner))


def _table(shown: Shown, rows: pl.DataFrame, form: Form) -> Table:
    """The rows as a table that leaves out what there is no room for."""
    columns = list(key_columns(shown, rows, "metric"))
    keys = len(columns)
    columns.append(("gap", [valued(row, DIGITS) for row in rows.iter_rows(named=True)]))
    columns += [(name, [number(v, DIGITS) for v in rows[c]]) for name, c in _tested(rows).items()]
    marked: list[tuple[int, int]] = []
    for side, counts in (("worst", ("n", "n_pos")), ("best", ("n",))):
        columns.append((f"{side} group", names(rows[f"{side}_group"])))
        marked += [(r, len(columns)) for r, few in enumerate(rows[f"{side}_few"]) if few]
        values = (valued(row, DIGITS, f"{side}_", interval=form.intervals) for row in rows.iter_rows(named=True))
        columns.append(("value", list(values)))
        shown_counts = [c for c in counts if form.counts and rows[f"{side}_{c}"].count()]
        columns += [(c, [number(v) for v in rows[f"{side}_{c}"]]) for c in shown_counts]
    header, cells = header_and_rows(columns)
    return Table(
        title="Largest gaps",
        header=header,
        rows=cells,
        keys=keys,
        names=frozenset(c for c, name in enumerate(header) if c > keys and name.endswith(" group")),
        marked=frozenset(marked),
        mark=MARK,
    )


def _tested(rows: pl.DataFrame) -> dict[str, str]:
    """The columns of `TESTS` in which something stands."""
    return {name: c for name, c in TESTS.items() if c in rows.columns and rows[c].count()}


def _tests(rows: pl.DataFrame) -> list[str]:
    """What the columns beside the gap say, and what makes them doubtful."""
    meanings = {
        "p": "p: of no difference, each gap for itself",
        CHANCE: f"{CHANCE}: exceeded by 1 in 20 gaps of equal groups",
    }
    said = "; ".join(meanings[name] for name in _tested(rows))
    doubts = rows["ci_note"].drop_nulls().unique(maintain_order=True).to_list() if "ci_note" in rows.columns else []
    more = "; more in ci_note" if len(doubts) > 1 else ""
    doubt = f"of some gaps: {visible(doubts[0])}{more}" if doubts else ""
    return [line for line in (said, doubt) if line]


def _ranked(shown: Shown, gaps: pl.DataFrame) -> pl.DataFrame:
    """The gaps from the largest on, beside each the two groups; `few` where hardly any sample carries one of them."""
    place = [*shown.keys, "metric"]
    facts = [c for c in ("value", *BOUNDS, LOW, HIGH, "mark", "n", "n_pos", "few") if c in shown.groups.columns]
    for side in ("worst", "best"):
        group = f"{side}_group"
        values = shown.groups.select(
            *place, pl.col("group").alias(group), *(pl.col(c).alias(f"{side}_{c}") for c in facts)
        ).unique([*place, group], keep="first", maintain_order=True)
        gaps = gaps.join(values, on=[*place, group], how="left", nulls_equal=True, maintain_order="left")
        gaps = gaps.with_columns(pl.col(f"{side}_few").fill_null(value=False))
    few = pl.any_horizontal("worst_few", "best_few")
    return gaps.sort(few, "value", descending=[False, True], maintain_order=True)


def _remarks(metrics: Sequence[str], compared: pl.DataFrame, ranked: pl.DataFrame) -> list[str]:
    remarks = []
    listed = ranked.head(MAX_GAPS)
    if ranked.is_empty() and compared["value"].count():
        remarks.append(f"no difference between groups in {', '.join(map(visible, metrics))}")
    if ranked.height > MAX_GAPS:
        remarks.append(
            f"... {ranked.height - MAX_GAPS:,} more, and those of every other metric and statistic, in report.gaps"
        )
    if listed.height:
        remarks.append(_readings([m for m in metrics if m in set(listed["metric"])]))
    few = listed.filter(pl.any_horizontal("worst_few", "best_few"))["metric"]
    if few.len():
        carriers = ", ".join(f"{visible(m)}: {_carrier(m)}" for m in metrics if m in set(few))
        remarks.append(f"{MARK} fewer than {FEW} samples carry the value ({carriers}); such rows come last")
    undefined = compared.filter(pl.col("value").is_null())
    if undefined.height:
        whose = [m for m in metrics if m in set(undefined["metric"])]
        of = compared.filter(pl.col("metric").is_in(whose)).height
        reasons = undefined["note"].drop_nulls().unique(maintain_order=True).to_list()
        why = visible(reasons[0]) if len(reasons) == 1 else "note in report.gaps says why"
        remarks.append(f"{', '.join(map(visible, whose))}: {undefined.height:,} of {of:,} gaps undefined ({why})")
    return remarks


def _readings(metrics: Sequence[str]) -> str:
    """What the metrics are called in prose, and which way is better."""
    readings = []
    for name in metrics:
        metric = metric_of(name)
        title = name if metric is None else metric.title.partition(" (")[0]
        if title.lower() not in (name, f"mean {name}"):
            readings.append(f"{visible(name)}: {visible(title)}")
    for direction in ("higher", "lower"):
        such = [visible(m) for m in metrics if (known := metric_of(m)) is not None and known.direction == direction]
        if such:
            readings.append(f"{', '.join(such)}: {direction} is better")
    return "; ".join(readings)


def _carrier(name: str) -> str:
    metric = metric_of(name)
    if metric is not None and metric.family == "ranking":
        return "positives or negatives, the fewer"
    return _CARRIERS.get("n" if metric is None else metric.denominator, "samples")
