"""Conditions for the exit status, such as `tpr.gap>0.1` or `auc.worst@best_f1[sex]<0.8`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any, NoReturn

import polars as pl

from fmfair.columns import BOUNDS
from fmfair.errors import FmfairError, listing, near
from fmfair.export import by_keys
from fmfair.metrics.registry import REGISTRY, list_metrics, requested
from fmfair.render import visible
from fmfair.report import Report
from fmfair.summary import GAP_COLUMNS, OVERALL_COLUMNS

_OPERATORS: dict[str, Callable[[float, float], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt}
_CONDITION = re.compile(r"(?P<left>.+)(?P<operator>>=|<=|>|<)(?P<limit>[^<>]*)", re.DOTALL)
_LEFT = re.compile(
    r"(?P<metric>\w[\w-]*(?:\([^@\[\]]*\))?)(?:\.(?P<statistic>\w+))?\s*"
    r"(?:@(?P<threshold>[^@\[\]]+))?(?:\[(?P<attribute>.*)\])?\s*(?:@(?P<late>[^@\[\]]+))?",
    re.DOTALL,
)
_ALIASES = {"gap": "difference"}
# What the columns of the summary stand for; the summary itself shows one threshold only.
_SUMMARY: dict[str, tuple[str, str]] = {
    **{name: (metric, "overall") for columns in OVERALL_COLUMNS.values() for name, metric in columns.items()},
    **{name: pair for columns in GAP_COLUMNS.values() for name, pair in columns.items()},
}
# The statistics with names of their own come from these metrics.
_PARTS = {"equal_opportunity": "tpr", "equalized_odds": "tpr tnr", "demographic_parity": "selection_rate"}
_FORM = "METRIC.STATISTIC>NUMBER, for example tpr.gap>0.1, auc.worst[sex]<0.8, ppv.ratio@best_f1<0.8 or auc-gap>0.05"
# Values that differ from the limit by this share of it, the noise of float sums, count as equal to it.
_NOISE = 1e-12
MAX_ROWS = 5


@dataclass(frozen=True)
class Condition:
    """One condition; `statistic` is None where `metric` names a column of the summary, `overall` for all rows."""

    text: str
    metric: str
    statistic: str | None
    threshold: str | None
    attribute: str | None
    operator: str
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value satisfies the condition."""
        if math.isclose(value, self.limit, rel_tol=_NOISE, abs_tol=_NOISE):
            return self.operator in (">=", "<=")
        return _OPERATORS[self.operator](value, self.limit)


@dataclass(frozen=True)
class Verdict:
    """What became of a condition.

    Attributes:
        fails: The reason for exit status 1; None where the condition does not hold.
        undefined: The rows without a value.
        undecided: The rows in which bounds leave open whether it holds; their values decided.
    """

    fails: str | None
    undefined: int = 0
    undecided: tuple[str, ...] = ()


def parse(text: str) -> Condition:
    """The condition that a text spells.

    Raises:
        FmfairError: The text has another form.

    Examples:
        >>> condition = parse("tpr.gap@0.5[sex]>=0.1")
        >>> condition.metric, condition.statistic, condition.threshold, condition.attribute, condition.limit
        ('tpr', 'difference', '0.5', 'sex', 0.1)
    """
    whole = _CONDITION.fullmatch(text.strip())
    left = _LEFT.fullmatch(whole["left"].strip()) if whole else None
    if whole is None or left is None or (left["threshold"] and left["late"]):
        raise FmfairError(f"--fail-if {text!r} is not understood; write {_FORM}")
    try:
        limit = float(whole["limit"])
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise FmfairError(f"--fail-if {text!r}: {whole['limit'].strip()!r} is not a number; write {_FORM}")
    metric, statistic, threshold = left["metric"], left["statistic"], left["threshold"] or left["late"]
    if "(" in metric:
        metric = requested([metric], list_metrics())[0].name
    return Condition(
        text=text.strip(),
        metric=metric,
        statistic=_ALIASES.get(statistic or "", statistic),
        threshold=threshold.strip() if threshold else None,
        attribute=left["attribute"],
        operator=whole["operator"],
        limit=limit,
    )


def check(condition: Condition, report: Report) -> Verdict:
    """Whether a condition holds in any row of the report that it speaks of.

    Raises:
        FmfairError: It speaks of a metric, statistic, attribute or threshold that the report does not have.
    """
    rows = _at_threshold(_of_attribute(_rows(condition, report), condition), condition)
    defined = rows.filter(pl.col("value").is_not_null())
    if defined.is_empty():
        notes = rows["note"].drop_nulls().unique(maintain_order=True).to_list() if "note" in rows.columns else []
        why = f" ({'; '.join(visible(n) for n in notes[:3])})" if len(notes) else ""
        return Verdict(f"{condition.text} could not be computed: undefined in every row{why}")
    holding = [row for row in defined.iter_rows(named=True) if condition.holds(row["value"])]
    undefined = rows.height - defined.height
    undecided = _undecided(condition, report, defined)
    if not holding:
        return Verdict(None, undefined, undecided)
    shown = [_described(row, report) for row in holding[:MAX_ROWS]]
    more = [f"{len(holding) - MAX_ROWS} more rows"] if len(holding) > MAX_ROWS else []
    return Verdict(f"{condition.text} holds: {'; '.join(shown + more)}", undefined, undecided)


def _undecided(condition: Condition, report: Report, rows: pl.DataFrame) -> tuple[str, ...]:
    """The rows of a report from counts in which the value may lie on the other side of the limit."""
    if not set(BOUNDS) <= set(rows.columns):
        return ()
    found = []
    for row in rows.iter_rows(named=True):
        low, high = (row[name] for name in BOUNDS)
        if low is None or high is None:
            found.append(f"{_described(row, report)} has no bounds")
        elif condition.holds(low) != condition.holds(high):
            found.append(f"{_described(row, report)} lies between {low:.6g} and {high:.6g}")
    more = [f"{len(found) - MAX_ROWS} more rows"] if len(found) > MAX_ROWS else []
    return (*found[:MAX_ROWS], *more)


def _rows(condition: Condition, report: Report) -> pl.DataFrame:
    """The rows with the value, by-keys, attribute and threshold, at every threshold."""
    metric, statistic = condition.metric, condition.statistic
    if statistic is None:
        if metric not in _SUMMARY or metric not in report.summary.columns:
            _refuse_metric(condition, report, metric)
        metric, statistic = _SUMMARY[metric]
    overall = statistic == "overall"
    if overall and condition.attribute is not None:
        raise FmfairError(f"--fail-if {condition.text!r}: an overall value is on all rows and has no attribute")
    rows = (report.overall if overall else report.gaps).filter(pl.col("metric") == metric)
    if rows.is_empty():
        _refuse_metric(condition, report, metric)
    found = rows if overall else rows.filter(pl.col("statistic") == statistic)
    if found.is_empty():
        known = rows["statistic"].unique(maintain_order=True).to_list()
        raise FmfairError(
            f"--fail-if {condition.text!r}: {metric} has no statistic {statistic!r}{near(statistic, known)}; it has "
            f"{', '.join(known)}, gap (the difference) and overall"
        )
    return found


def _refuse_metric(condition: Condition, report: Report, metric: str) -> NoReturn:
    computed = report.gaps["metric"].unique(maintain_order=True).to_list()
    summary = [name for name in report.summary.columns if name in _SUMMARY]
    if condition.statistic is None and metric in computed:
        raise FmfairError(f"--fail-if {condition.text!r} lacks the statistic; write for example {metric}.gap")
    if metric in REGISTRY or metric in _PARTS:
        problem = (
            f"{metric!r} was not computed or is not compared between groups; ask for it with --metrics "
            f"{_PARTS.get(metric, metric)}"
        )
    else:
        problem = f"no metric {metric!r}{near(metric, [*computed, *summary])}"
    raise FmfairError(
        f"--fail-if {condition.text!r}: {problem}. There are {', '.join(computed)} with a statistic, and of the "
        f"summary {', '.join(summary)}"
    )


def _of_attribute(rows: pl.DataFrame, condition: Condition) -> pl.DataFrame:
    if condition.attribute is None:
        return rows
    found = rows.filter(pl.col("attribute") == condition.attribute)
    if found.is_empty():
        known = rows["attribute"].unique(maintain_order=True).to_list()
        raise FmfairError(
            f"--fail-if {condition.text!r}: no attribute {condition.attribute!r}{near(condition.attribute, known)}; "
            f"there are {listing(known, limit=30)}"
        )
    return found


def _at_threshold(rows: pl.DataFrame, condition: Condition) -> pl.DataFrame:
    if condition.threshold is None:
        return rows
    try:
        fixed = pl.col("threshold") == float(condition.threshold)
        matches = fixed & (pl.col("threshold_rule") == "fixed")
    except ValueError:
        matches = pl.col("threshold_rule") == condition.threshold
    found = rows.filter(matches)
    if found.is_empty():
        pairs = rows.select("threshold", "threshold_rule").unique(maintain_order=True).drop_nulls("threshold_rule")
        known = list(dict.fromkeys(f"{t:g}" if rule == "fixed" else rule for t, rule in pairs.iter_rows()))
        has = f"it has {', '.join(known)}" if known else "it has no threshold"
        raise FmfairError(f"--fail-if {condition.text!r}: nothing at the threshold {condition.threshold}; {has}")
    return found


def _described(row: dict[str, Any], report: Report) -> str:
    """Where a condition holds, e.g. `model=a, sex at 0.5: 0.22 (worst M, best F)`."""
    parts = [f"{visible(name)}={visible(str(row[name]))}" for name in by_keys({"groups": report.groups})]
    parts.append(visible(row["attribute"]) if "attribute" in row else "overall")
    if row.get("threshold_rule") is not None:
        rule = [] if row["threshold_rule"] == "fixed" else [row["threshold_rule"]]
        parts[-1] += " at " + " ".join(rule + ([] if row["threshold"] is None else [f"{row['threshold']:.6g}"]))
    worst, best = row.get("worst_group"), row.get("best_group")
    sides = [
        f"{side} {visible(g)}" for side, g in (("worst", worst), ("best", best)) if g is not None and worst != best
    ]
    return f"{', '.join(parts)}: {row['value']:.6g}" + (f" ({', '.join(sides)})" if sides else "")
