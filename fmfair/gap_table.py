"""The table of the largest gaps: who is worst served, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from fmfair.marks import of_both_classes
from fmfair.render import Table, visible
from fmfair.shown import (
    FEW,
    UNDEFINED,
    Shown,
    beside_groups,
    compared_metrics,
    header_and_rows,
    key_columns,
    metric_of,
    names,
    number,
)
from fmfair.shown_certainty import LOW, brackets_legend, valued, valued_or_counted

MAX_GAPS = 10
DIGITS = 3
MARK = "!"

CHANCE, DETECTABLE, VERDICT = "by chance <=", "detectable", "verdict"
# The columns that say what a gap is worth, and those of the report that they show.
TESTS = {"p": "p_value", CHANCE: "chance_gap_95", DETECTABLE: "detectable_gap", VERDICT: "verdict"}
SIDES = {"worst_": "worst_group", "best_": "best_group"}


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
    metrics = compared_metrics(shown)
    compared = shown.gaps.filter((pl.col("statistic") == "difference") & pl.col("metric").is_in(metrics))
    if compared.is_empty():
        return None
    ranked = _ranked(shown, compared.filter(pl.col("value").is_finite() & (pl.col("value") > 0)))
    rows = ranked.head(MAX_GAPS)
    full, *leaner = (_table(shown, rows, form) for form in (FORMS if LOW in shown.groups.columns else FORMS[:1]))
    cells = [cell for row in full.rows for cell in row[full.keys :]]
    remarks = (*brackets_legend(shown, cells), *_tests(rows, shown), *_remarks(metrics, compared, ranked))
    return replace(full, remarks=remarks, leaner=tuple(leaner))


def _table(shown: Shown, rows: pl.DataFrame, form: Form) -> Table:
    """The rows as a table that leaves out what there is no room for."""
    columns = list(key_columns(shown, rows, "metric"))
    keys = len(columns)
    columns.append(("gap", [valued(row, DIGITS) for row in rows.iter_rows(named=True)]))
    columns += [(name, [_test(v) for v in rows[c]]) for name, c in _tested(rows).items()]
    marked: list[tuple[int, int]] = []
    for side, counts in (("worst", ("n", "n_pos")), ("best", ("n",))):
        groups = rows[f"{side}_group"]
        named = zip(names(groups), groups.is_null(), strict=True)
        columns.append((f"{side} group", [UNDEFINED if unknown else name for name, unknown in named]))
        marked += [(r, len(columns)) for r, few in enumerate(rows[f"{side}_few"]) if few]
        of = rows.iter_rows(named=True)
        columns.append(("value", [valued_or_counted(row, DIGITS, f"{side}_", interval=form.intervals) for row in of]))
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


def _test(value: float | str | None) -> str:
    return visible(value) if isinstance(value, str) else number(value, DIGITS)


def _tests(rows: pl.DataFrame, shown: Shown) -> list[str]:
    """What the columns beside the gap say, and what makes them doubtful."""
    count = shown.tested.get("gaps")
    meanings = {
        "p": f"p: of no difference, each {f'of {count:,} gaps' if count else 'gap'} for itself",
        CHANCE: f"{CHANCE}: exceeded by 1 in 20 gaps of equal groups",
        DETECTABLE: f"{DETECTABLE}: the smallest true gap that such a sample shows in 4 of 5 cases",
        VERDICT: verdict_meaning(shown.margins),
    }
    said = "; ".join(meanings[name] for name in _tested(rows))
    doubts = rows["ci_note"].drop_nulls().unique(maintain_order=True).to_list() if "ci_note" in rows.columns else []
    more = "; more in ci_note" if len(doubts) > 1 else ""
    doubt = f"of some gaps: {visible(doubts[0])}{more}" if doubts else ""
    return [line for line in (said, doubt) if line]


def verdict_meaning(margins: Mapping[str, float]) -> str:
    """What a verdict is on.

    Examples:
        >>> verdict_meaning({"tpr": 0.05})
        'verdict: whether a difference above the margin (tpr 0.05) is shown, excluded, or neither (cannot tell)'
    """
    listed = ", ".join(f"{visible(metric)} {margin:g}" for metric, margin in margins.items())
    return f"verdict: whether a difference above the margin ({listed}) is shown, excluded, or neither (cannot tell)"


def _ranked(shown: Shown, gaps: pl.DataFrame) -> pl.DataFrame:
    """The gaps from the largest on, beside each the two groups; those between groups of few samples last."""
    ranked = beside_groups(shown, gaps, SIDES)
    return ranked.sort("few", "value", descending=[False, True], maintain_order=True)


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
    few = listed.filter("few")["metric"]
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
    if metric is not None and of_both_classes(metric):
        return "positives or negatives, the fewer"
    return _CARRIERS.get("n" if metric is None else metric.denominator, "samples")
