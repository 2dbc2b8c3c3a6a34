"""Question and plan: what the user states of the evaluation, what was settled before, and what was to be reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.errors import plural
from fmfair.numerals import FINE, as_sentence, figures, in_percent, joined, sign, spoken, unit
from fmfair.page.material import Material, View
from fmfair.page.plan import NOT_STATED, Criterion
from fmfair.page.section import Column, Section, Table
from fmfair.page.telling import named, names_of, rows_word
from fmfair.render import visible
from fmfair.shown import threshold_text

PRE_SPECIFIED, EXPLORATORY = "pre-specified", "exploratory"
MAX_NAMED = 8
NOT_FOUND = "not found by this name"
# What the user may state, and what it is called.
_STATED: Mapping[str, str] = {
    "intended_use": "Intended use",
    "population": "Population",
    "data": "Data set, version, period",
    "unit": "One row is",
    "model": "What is evaluated",
    "reference_standard": "Reference standard",
    "thresholds": "Where the thresholds come from",
    "claim": "Claim for groups",
    "author": "Answers for the report",
    "date": "Date of the plan",
}


def section(material: Material) -> Section:
    """The plan; what the user did not state stands as such."""
    tables = [_stated(material), _analyses(material), _groups(material), _absent(material), _criteria(material)]
    return Section("plan", "Question and plan", {"tables": [table for table in tables if table is not None]})


def _stated(material: Material) -> Table:
    plan = material.plan
    rows = [[name, getattr(plan, key) or NOT_STATED] for key, name in _STATED.items()]
    rows.insert(7, ["Thresholds", _thresholds(material)])
    margins = material.metadata.get("margins") or {}
    rows.insert(8, ["Differences that matter (margins)", _margins(margins) or NOT_STATED])
    columns = [Column("Of the evaluation"), Column("Stated")]
    return Table("What is asked, of whom, and how", columns, rows)


def _thresholds(material: Material) -> str:
    """The thresholds of the results; of a rule only its name, where the by-keys have different ones."""
    overall = material.frames["overall"]
    used = overall.select("threshold", "threshold_rule").drop_nulls("threshold_rule").unique(maintain_order=True)
    by_rule: dict[str, list[float | None]] = {}
    for threshold, rule in used.iter_rows():
        by_rule.setdefault(rule, []).append(threshold)
    texts = []
    for rule, values in by_rule.items():
        one = rule == "fixed" or len(values) == 1
        texts += [threshold_text(value, rule) for value in values] if one else [visible(rule)]
    texts = ["decisions as given" if text == "y_pred" else text for text in texts]
    return ", ".join(texts) if texts else "none"


def _margins(margins: Mapping[str, float]) -> str:
    return "; ".join(f"{spoken(metric)}: {_limit(metric, margin)}{unit(metric)}" for metric, margin in margins.items())


def _limit(metric: str, number: float) -> str:
    """A number that the user named, as named."""
    return f"{(100 if in_percent(metric) else 1) * number:.6g}"


def _analyses(material: Material) -> Table:
    """Which analyses were settled before the data were seen, and who recorded the attributes."""
    plan = material.plan
    stated = set(plan.pre_specified)
    rows = []
    for name in [*material.attributes, *material.intersections]:
        single = name in material.attributes
        by = plan.recorded_by.get(name, NOT_STATED) if single else ""
        rows.append([name, PRE_SPECIFIED if name in stated else EXPLORATORY, by or NOT_STATED if single else ""])
    others = [name for name in plan.pre_specified if name not in {*material.attributes, *material.intersections}]
    rows += [[name, f"{PRE_SPECIFIED}; no attribute of this report", ""] for name in others]
    columns = [Column("Analysis by"), Column("Settled before the data were seen"), Column("Recorded by")]
    note = "" if stated else "No analysis was stated to be pre-specified, so that all are read as exploratory."
    return Table("Analyses", columns, rows, note=note)


def _groups(material: Material) -> Table | None:
    """The groups named in advance, and what the data hold of them."""
    wanted = material.plan.groups
    if not wanted:
        return None
    rows = [[name, reason or NOT_STATED, held(name, material)] for name, reason in wanted.items()]
    columns = [Column("Group"), Column("Reason"), Column("In the data")]
    note = "A group is found by its name, or by that of its attribute and its own, such as “sex F”."
    return Table("Groups named in advance", columns, rows, note=note)


def held(name: str, material: Material) -> str:
    """What the data hold of a group that is named in words."""
    groups = material.frames["groups"].unique(["attribute", "group"], keep="first", maintain_order=True)
    for attribute, group, n in groups.select("attribute", "group", "n").iter_rows():
        if name in names_of(attribute, group):
            return (
                f"{visible(named(attribute, group))}: {'suppressed' if n is None else plural(n, rows_word(material))}"
            )
    return "as an attribute" if name in material.attributes else NOT_FOUND


def _absent(material: Material) -> Table | None:
    missing = material.plan.groups_without_data
    if not missing:
        return None
    rows = [[name, reason or NOT_STATED] for name, reason in missing.items()]
    return Table("Groups of interest without data", [Column("Group"), Column("Reason")], rows)


def _criteria(material: Material) -> Table | None:
    """The acceptance criteria, held against the limits of intervals of all rows and of every group."""
    criteria = material.plan.criteria
    if not criteria:
        return None
    rows = [[as_sentence(spoken(m)), _asked(m, one), judged(m, one, material)] for m, one in criteria.items()]
    columns = [Column("Metric"), Column("Criterion"), Column("Intervals of all rows and of every group")]
    note = "A criterion is held against the limits of intervals, never against values alone."
    return Table("Acceptance criteria", columns, rows, note=note)


def _asked(metric: str, criterion: Criterion) -> str:
    parts = [
        f"{word} {_limit(metric, limit)}{sign(metric)}"
        for word, limit in (("at least", criterion.at_least), ("at most", criterion.at_most))
        if limit is not None
    ]
    return "; ".join([*parts, *([criterion.text] if criterion.text else [])])


def judged(metric: str, criterion: Criterion, material: Material) -> str:
    """For how many of all rows and groups the interval lies within a criterion, and for which it does not."""
    if criterion.at_least is None and criterion.at_most is None:
        return "not judged by fmfair"
    rows = [row for view in material.views for row in _rows(metric, view, material.attributes)]
    known = [(name, row) for name, row in rows if row.get("ci_low") is not None]
    if not known:
        return "no interval of this metric"
    outside = [_with_limits(metric, name, row, criterion) for name, row in known if not _within(row, criterion)]
    said = f"within it in {len(known) - len(outside):,} of {len(known):,}"
    if outside:
        more = [f"{len(outside) - MAX_NAMED:,} more"] if len(outside) > MAX_NAMED else []
        said += f"; not in {joined([*outside[:MAX_NAMED], *more])}"
    return said + (f"; {len(rows) - len(known):,} without an interval" if len(rows) > len(known) else "")


def _rows(metric: str, view: View, attributes: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """The values of a metric on all rows and in every group, each with its name."""
    before = f"{view.title}: " if view.title else ""
    found = [(f"{before}all rows", row) for row in view.main["overall"].to_dicts() if row["metric"] == metric]
    wanted = (pl.col("metric") == metric) & pl.col("attribute").is_in(list(attributes))
    rows = view.main["groups"].filter(wanted).iter_rows(named=True)
    return [*found, *((f"{before}{named(row['attribute'], row['group'])}", row) for row in rows)]


def _within(row: Mapping[str, Any], criterion: Criterion) -> bool:
    low = criterion.at_least is None or row["ci_low"] >= criterion.at_least
    return low and (criterion.at_most is None or row["ci_high"] <= criterion.at_most)


def _with_limits(metric: str, name: str, row: Mapping[str, Any], criterion: Criterion) -> str:
    """A name with the limits of its interval; one that is outside never reads as if rounding had brought it inside."""
    low, high = figures(metric, [row["ci_low"], row["ci_high"]])
    if criterion.at_least is not None and row["ci_low"] < criterion.at_least <= round(row["ci_low"], FINE):
        low = f"just below {low}"
    if criterion.at_most is not None and row["ci_high"] > criterion.at_most >= round(row["ci_high"], FINE):
        high = f"just above {high}"
    return f"{visible(name)} ({low} to {high})"
