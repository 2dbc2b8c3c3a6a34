"""What the report cannot say: what this evaluation lacks, what its author names, and what holds for all of its kind."""

from __future__ import annotations

import polars as pl

from fmfair.errors import plural
from fmfair.numerals import as_sentence, carried_by, joined, spoken
from fmfair.page.carried import EITHER
from fmfair.page.material import Material
from fmfair.page.section import Section
from fmfair.page.telling import carried_in_groups, rows_word, told_metrics
from fmfair.page.wording import exploratory, tuned
from fmfair.render import visible
from fmfair.shown import metric_of

# Words of notes that change how numbers must be read, the gravest first.
_GRAVE = (
    *("may be too narrow", "left out", "missing", "say nothing", "says nothing", "do not sum", "not probabilities"),
    *("hidden", "suppress", "in several groups", "paired by position", "bound", "count as empty", "compression noise"),
)
IMPRECISE = 100
MAIN = 3
# What the author of a report ought to say, and what it is called.
_OWED = {
    "intended_use": "intended use",
    "population": "population",
    "reference_standard": "reference standard",
    "data": "data set",
}

STANDING = (
    (
        "A difference is not its cause: groups may differ in severity, in case mix, or in how they came to be "
        "examined. Where no difference is shown, there may still be one that so few could not show."
    ),
    (
        "The labels may be less right in some groups than in others; a lower sensitivity can then be that of those who "
        "made the labels."
    ),
    (
        "The group that came out worst was picked for that: its own interval is not the interval of the worst group, "
        "and the largest of several differences is large by chance too."
    ),
    "A gap that became smaller because the better served group is served worse is no gain; read both values.",
    (
        "The results are those of the patients evaluated; at other sites, with other devices and at other times they "
        "may be others. Where patients were selected, a difference and its absence may both mislead."
    ),
)


def section(material: Material) -> Section:
    """All limits, in three lists."""
    content = {"raised": raised(material), "author": list(material.plan.limits), "standing": standing(material)}
    return Section("limits", "Limits", content)


def main_limits(material: Material) -> list[str]:
    """Those for the first page: the gravest of this evaluation, one that its author names, then the others."""
    found, author = _of_numbers(material), list(material.plan.limits)
    first = [*found[:2], *author[:1], *STANDING[:1], *found[2:], *author[1:], *STANDING]
    return list(dict.fromkeys(first))[:MAIN]


def raised(material: Material) -> list[str]:
    """What this evaluation lacks, the gravest first."""
    said = [*_of_numbers(material), *_comparisons(material), *_without_data(material), *_unstated(material)]
    return list(dict.fromkeys(said))


def _of_numbers(material: Material) -> list[str]:
    """What changes how the numbers must be read."""
    notes = [note for word in _GRAVE for note in material.notes if word in note]
    said = [
        *_without_intervals(material),
        *_tuned(material),
        *(_in_full(note) for note in dict.fromkeys(notes)),
        *_imprecise(material),
    ]
    return list(dict.fromkeys(said))


def standing(material: Material) -> list[str]:
    """What holds for every report of this kind, with the metrics of this one."""
    metrics = [(name, known) for name in _asked(material) if (known := metric_of(name)) is not None]
    rates = [(name, known) for name, known in metrics if known.family != "count"]
    moving = [spoken(name) for name, known in rates if known.moves_with_prevalence]
    others = [spoken(name) for name, known in rates if not known.moves_with_prevalence]
    said = list(STANDING)
    if moving and material.task == "classification":
        said.insert(1, f"Differences in {joined(moving)} are also those of the share of positives in the groups.")
    if others and material.task == "classification":
        change = "change" if len(others) > 1 else "changes"
        said.insert(1, f"{as_sentence(joined(others))} {change} where the disease is milder or more severe.")
    return said


def n_comparisons(material: Material) -> int:
    """How many gaps were tested, or without tests are told; those that go by another name too are counted once."""
    gaps = material.frames["gaps"].filter(pl.col("statistic") == "difference")
    names = [name for name in gaps["metric"].unique() if metric_of(name) is not None]
    return int(gaps.filter(pl.col("metric").is_in(names))["p_value" if "p_value" in gaps.columns else "value"].count())


def _without_intervals(material: Material) -> list[str]:
    if material.level is not None:
        return []
    return ["No intervals were computed: no difference in this report can be told from chance."]


def _tuned(material: Material) -> list[str]:
    groups = material.frames["groups"]
    if "threshold_rule" not in groups.columns:
        return []
    pairs = groups.select("threshold", "threshold_rule").drop_nulls("threshold_rule").unique(maintain_order=True)
    chosen = pairs.filter(~pl.col("threshold_rule").is_in(["fixed", "y_pred"]))
    found: dict[str, list[float | None]] = {}
    for threshold, rule in chosen.iter_rows():
        found.setdefault(rule, []).append(threshold)
    return [tuned(values[0] if len(values) == 1 else None, rule) for rule, values in found.items()]


def _imprecise(material: Material) -> list[str]:
    """How many groups have too few samples for a precise value."""
    metric = material.headline
    found = carried_in_groups(material.views, material.attributes, metric)
    counts = [count for count, _ in found.values() if count is not None]
    few = sum(count < IMPRECISE for count in counts)
    if not few:
        return []
    who = f"{few:,} of {plural(len(counts), 'group')} {'has' if few == 1 else 'have'}"
    kinds = {of for _, of in found.values()}
    least = carried_by(IMPRECISE, kinds.pop() if len(kinds) == 1 else EITHER, rows_word(material))
    return [f"{who} fewer than {least} behind {spoken(metric)}; such values are imprecise."]


def _comparisons(material: Material) -> list[str]:
    """That differences were looked for in many places, unless all of these had been settled before."""
    count = n_comparisons(material)
    named = set(material.plan.pre_specified)
    if not count or {*material.attributes, *material.intersections} <= named:
        return []
    return [exploratory(count)]


def _without_data(material: Material) -> list[str]:
    missing = [visible(name) for name in material.plan.groups_without_data]
    return [f"Groups of interest that the data do not hold: {', '.join(missing)}."] if missing else []


def _unstated(material: Material) -> list[str]:
    owed = [name for key, name in _OWED.items() if not getattr(material.plan, key)]
    return [f"Not stated by the author of the report: {', '.join(owed)}."] if owed else []


def _asked(material: Material) -> list[str]:
    return list(dict.fromkeys([*told_metrics(material), *material.metrics]))


def _in_full(note: str) -> str:
    """A note on one line, with a full stop; names at its start keep their case."""
    return f"{visible(note).rstrip('.')}."
