"""From the frames to the sentences: what is said of gaps, of values on all rows, and of groups that are too small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.errors import plural
from fmfair.numerals import COUNTS_ONLY, FINE, joined
from fmfair.page import gap_wording, wording
from fmfair.page.carried import Carried, alike, carried
from fmfair.page.gap_wording import Gap
from fmfair.page.material import Material, View
from fmfair.render import visible
from fmfair.shown import bounded, number

# One side of an error is never told alone.
COMPANIONS: Mapping[str, str] = {"tpr": "tnr", "tnr": "tpr", "ppv": "npv", "npv": "ppv"}
# What a metric is, for readers who do not know its name.
GLOSSES: Mapping[str, str] = {
    "auc": "how often the model ranks a positive above a negative; a coin reaches 0.5, no error 1",
    "tpr": "the share of the positives that the model finds",
    "tnr": "the share of the negatives that the model does not flag",
    "ppv": "the share of positives among those that the model flags",
    "npv": "the share of negatives among those that the model does not flag",
    "accuracy": "the share that the model calls right, which moves with the share of positives",
    "brier": "the mean squared distance of the score from the outcome; lower is better",
    "dice": "the overlap of the drawn and the true region; no error is 1",
    "iou": "the overlap of the drawn and the true region as a share of both; no error is 1",
}
# Of fewer rows a value says next to nothing.
SMALL = 20


def rows_word(material: Material) -> str:
    """What the user calls a row, in the singular."""
    return material.plan.unit or "row"


def evaluated(material: Material) -> str:
    """What is evaluated, as a sentence names it."""
    return visible(material.plan.model) if material.plan.model else "the model"


def result_name(view: View) -> str:
    """A by-key as a sentence names it; empty where there is no other.

    Examples:
        >>> result_name(View({"label": "nodule", "fold": "2"}, {}, {}))
        'nodule, fold 2'
    """
    return "" if view.alone else visible(", ".join(named(key, value) for key, value in view.key.items()))


def results_of(material: Material) -> str:
    """How many results there are, and of what; labels are findings to those who read images."""
    counts = [(len({view.key[key] for view in material.views}), key) for key in material.keys]
    found = joined([plural(count, "finding" if key == "label" else visible(key)) for count, key in counts])
    return found if len(counts) == 1 else f"{len(material.views):,} results of {found}"


def names_of(attribute: str, group: str) -> tuple[str, ...]:
    """What a plan may call a group."""
    return (group, f"{attribute} {group}", f"{attribute}={group}", f"{attribute}: {group}")


def known_of(material: Material, attribute: str, group: str) -> str:
    """What the plan says of a group: what it is, and why it was named in advance."""
    plan, names = material.plan, names_of(attribute, group)
    found = [texts[name] for texts in (plan.descriptions, plan.groups) for name in names if texts.get(name)]
    return "; ".join(visible(text) for text in dict.fromkeys(found))


def told_metrics(material: Material) -> list[str]:
    """The metric that the first page speaks of, and the other side of the error where it is one of two."""
    other = COMPANIONS.get(material.headline, "")
    return [material.headline, *([other] if other in material.metrics else [])]


def gap_of(view: View, material: Material, attribute: str, metric: str) -> Gap | None:
    """The gap as the sentences need it; None where there is none."""
    row = view.difference(attribute, metric)
    if row is None or row["value"] is None:
        return None
    worst, best = (_group(view, attribute, metric, row[name]) for name in ("worst_group", "best_group"))
    if worst is None or best is None:
        return None
    counts, denominator = alike((worst, best))
    limits = None if row.get("ci_low") is None else (row["ci_low"], row["ci_high"])
    return Gap(
        metric=metric,
        value=row["value"],
        limits=limits,
        level=material.level,
        worst=(named(attribute, worst["group"]), worst["value"]),
        best=(named(attribute, best["group"]), best["value"]),
        n_groups=row["n_groups"],
        counts=(counts[0], counts[1]),
        denominator=denominator,
        rows=rows_word(material),
        chance=row.get("chance_gap"),
        margin=(material.metadata.get("margins") or {}).get(metric),
        p=row.get("p_value"),
        about=any(_is_open(one) for one in (row, worst, best)),
        signed=_signed(view, attribute, metric, (worst["group"], best["group"])),
    )


def named(attribute: str, group: str) -> str:
    """A group as a sentence names it: with its attribute where the name alone says little.

    Examples:
        >>> named("sex", "F"), named("age", ">=60"), named("AA", "1"), named("smoker", "True")
        ('F', 'age >=60', 'AA 1', 'smoker True')
    """
    says_little = group in ("True", "False") or not any(character.isalpha() for character in group)
    return f"{attribute} {group}".strip() if says_little else group


def gap_sentence(view: View, material: Material, attribute: str, metric: str) -> str:
    """What the sample says of the differences between the groups of an attribute."""
    gap = gap_of(view, material, attribute, metric)
    if gap is not None:
        return gap_wording.gap(gap)
    row = view.difference(attribute, metric)
    return gap_wording.not_compared(metric, row["note"] if row else "it has no gap")


def pair_is_shown(view: View, material: Material, attribute: str, gap: Gap) -> bool:
    """Whether the two groups at the ends differ by more than chance, not only some two of several."""
    if not gap.shown:
        return False
    if gap.n_groups == 2:
        return True
    row = view.difference(attribute, gap.metric) or {}
    pair = _pair(view, attribute, gap.metric, (row.get("worst_group", ""), row.get("best_group", "")))
    return pair is not None and pair["p_holm"] is not None and pair["p_holm"] < 1 - (material.level or 0.95)


def overall_row(view: View, metric: str) -> dict[str, Any] | None:
    """The value on all rows, at the threshold of the summary."""
    found = view.main["overall"].filter(pl.col("metric") == metric)
    return next(found.head(1).iter_rows(named=True), None)


def thousand(
    row: Mapping[str, Mapping[str, Any] | None], prevalence: float | None, rows: str, model: str = "the model"
) -> str | None:
    """What sensitivity and specificity mean for 1,000 rows; None where one is unknown or hardly anything carries it.

    Args:
        row: The rows of `tpr` and `tnr`, by name.
        prevalence: The share of positives to state.
        rows: What a row is.
        model: What is evaluated.
    """
    known = [one for name in ("tpr", "tnr") if (one := row.get(name)) is not None and one["value"] is not None]
    if not prevalence or len(known) < 2 or any((one["denominator"] or 0) < COUNTS_ONLY for one in known):
        return None
    first, second = ((one["value"], one.get("ci_low"), one.get("ci_high")) for one in known)
    return wording.of_a_thousand(prevalence, first, second, rows, model)


def prevalence_of(view: View) -> float | None:
    """The share of positives among all rows; None where it is hidden or there are no classes."""
    row = next(view.main["overall"].head(1).iter_rows(named=True), None)
    return None if row is None or not row["n"] or row["n_pos"] is None else row["n_pos"] / row["n"]


def carried_in_groups(
    views: Sequence[View], attributes: Sequence[str], metric: str
) -> dict[tuple[int, str, str], Carried]:
    """What carries a metric in every group, by the position of the by-key, the attribute and the group."""
    wanted = (pl.col("metric") == metric) & pl.col("attribute").is_in(list(attributes))
    return {
        (position, row["attribute"], row["group"]): carried(row)
        for position, view in enumerate(views)
        for row in view.main["groups"].filter(wanted).iter_rows(named=True)
    }


def groups_with_few(views: Sequence[View], attributes: Sequence[str], metric: str) -> dict[tuple[str, str], Carried]:
    """The groups of which fewer than 20 rows carry a metric somewhere, each with the smallest such count."""
    found: dict[tuple[str, str], Carried] = {}
    for (_, *who), (count, of) in carried_in_groups(views, attributes, metric).items():
        if count is not None and count < SMALL:
            attribute, group = who
            found[attribute, group] = min((count, of), found.get((attribute, group), (count, of)))
    return found


def group_row(view: View, attribute: str, group: str, metric: str) -> dict[str, Any] | None:
    """The value of a group, at the threshold of the summary."""
    found = view.main["groups"].filter(
        pl.col("attribute") == attribute, pl.col("group") == group, pl.col("metric") == metric
    )
    return next(found.head(1).iter_rows(named=True), None)


def _is_open(row: Mapping[str, Any]) -> bool:
    """Whether a value from counts is only the middle of its bounds, or has none."""
    return bounded(row, FINE) != number(row["value"], FINE)


def _group(view: View, attribute: str, metric: str, group: str | None) -> dict[str, Any] | None:
    row = None if group is None else group_row(view, attribute, group, metric)
    return None if row is None or row["value"] is None else row


def _pair(view: View, attribute: str, metric: str, groups: tuple[str, str]) -> dict[str, Any] | None:
    """The comparison of two groups, in either order."""
    if "pairs" not in view.main:
        return None
    both = pl.col("group").is_in(list(groups)) & pl.col("other_group").is_in(list(groups))
    found = view.main["pairs"].filter(both, pl.col("attribute") == attribute, pl.col("metric") == metric)
    return next(found.head(1).iter_rows(named=True), None)


def _signed(view: View, attribute: str, metric: str, groups: tuple[str, str]) -> tuple[float, float] | None:
    """The interval of the first group less the second."""
    pair = _pair(view, attribute, metric, groups)
    if pair is None or pair["ci_low"] is None or groups[0] == groups[1]:
        return None
    return (pair["ci_low"], pair["ci_high"]) if pair["group"] == groups[0] else (-pair["ci_high"], -pair["ci_low"])
