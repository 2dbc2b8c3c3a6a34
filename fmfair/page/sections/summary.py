"""The first page: what was evaluated, who is served worse by how much, how sure that is, and what cannot be said."""

from __future__ import annotations

from typing import Any

from fmfair.errors import plural
from fmfair.page import gap_wording
from fmfair.page.drawings import ALONE, Drawings
from fmfair.page.gap_wording import Gap
from fmfair.page.material import Material, View
from fmfair.page.numerals import as_sentence, carried_by, joined, spoken
from fmfair.page.plan import NOT_STATED
from fmfair.page.section import Figure, Section
from fmfair.page.sections.limits import main_limits
from fmfair.page.telling import (
    READINGS,
    carried_counts,
    few_of,
    gap_of,
    gap_row,
    gap_sentence,
    group_row,
    groups_with_few,
    named,
    overall_row,
    pair_is_shown,
    prevalence_of,
    rows_word,
    thousand,
    told_metrics,
)
from fmfair.page.wording import not_compared_in, over_all, over_by_keys
from fmfair.render import visible
from fmfair.shown import metric_of

NOT_SHOWN, OPEN, NOT_COMPARED = "no difference shown", "cannot tell", "not compared"
# Of many by-keys, the gaps that are told one by one.
MAX_TOLD = 3
MAX_FEW = 10
# A plot of more groups than this is no summary.
MAX_DRAWN = 40


def section(material: Material) -> Section:
    """One page for those who decide; attributes with a difference that is shown come first."""
    attributes = [_attribute(name, material) for name in material.attributes]
    content = {
        "facts": _facts(material),
        "overall": _overall(material),
        "readings": [READINGS[name] for name in told_metrics(material) if name in READINGS],
        "attributes": sorted(attributes, key=lambda one: not any(part["shown"] for part in one["told"])),
        "figures": _figures(material),
        "few": _few(material),
        "limits": main_limits(material),
    }
    return Section("summary", "Summary", content)


def _figures(material: Material) -> list[Figure]:
    """The groups of all attributes in one plot; of several by-keys those of the one with the clearest difference."""
    metric, views = material.headline, list(material.views)
    if len(views) > 1:
        gaps = [(v, gap_of(v, material, name, metric)) for name in material.attributes for v in views]
        shown = [(v, gap) for v, gap in gaps if gap is not None and gap.shown]
        views = [max(shown, key=lambda pair: _low(pair[1]))[0]] if shown else []
    drawings = Drawings(material, "summary")
    figures = [
        drawings.forest(view, metric, material.attributes, ALONE)
        for view in views
        if 0 < len(carried_counts([view], material.attributes, metric)) <= MAX_DRAWN
    ]
    return [figure for figure in figures if figure is not None]


def _facts(material: Material) -> list[tuple[str, str]]:
    """What was evaluated, on whom and when."""
    plan = material.plan
    return [
        ("Intended use", plan.intended_use or NOT_STATED),
        ("Evaluated on", "; ".join([*([plan.population] if plan.population else []), _size(material)])),
        ("Data", plan.data or NOT_STATED),
        ("Reference standard", plan.reference_standard or NOT_STATED),
    ]


def _size(material: Material) -> str:
    """How many rows and positives, and whether rows of one patient were taken together."""
    word, several = rows_word(material), len(material.views) > 1
    counts = [row["n"] for view in material.views if (row := overall_row(view, material.headline)) is not None]
    sizes = [count for count in counts if count is not None]
    said = [f"number of {word}s suppressed"]
    if sizes and len(sizes) == len(counts):
        ends = "" if min(sizes) == max(sizes) else f"{min(sizes):,} to "
        said = [f"{ends}{plural(max(sizes), word)}"]
    if several:
        said.append(f"{len(material.views):,} results, by {' and '.join(map(visible, material.keys))}")
    elif (row := overall_row(material.views[0], material.headline)) is not None and row["n_pos"] is not None:
        said.append(carried_by(row["n_pos"], "n_pos"))
    cluster = (material.metadata.get("columns") or {}).get("cluster")
    said.append(f"clustered by {visible(cluster)}" if cluster else f"each {word} counted as independent")
    return "; ".join(said)


def _overall(material: Material) -> list[str]:
    """The values on all rows; of several by-keys from which to which they go."""
    word, level = rows_word(material), material.level
    said = []
    for metric in told_metrics(material):
        rows = [(view.title, row) for view in material.views if (row := overall_row(view, metric)) is not None]
        if len(material.views) == 1:
            said += [over_all(metric, row, level, word) for _, row in rows]
        else:
            said.append(over_by_keys(metric, [(title, row["value"]) for title, row in rows]))
    if len(material.views) == 1:
        (view,) = material.views
        sentence = thousand({m: overall_row(view, m) for m in ("tpr", "tnr")}, prevalence_of(view), word)
        said += [sentence] if sentence else []
    return said


def _attribute(attribute: str, material: Material) -> dict[str, Any]:
    if len(material.views) == 1:
        (view,) = material.views
        told = [_one(view, material, attribute, metric) for metric in told_metrics(material)]
        return {"title": attribute, "told": told}
    return {"title": attribute, "told": _several(material, attribute)}


def _one(view: View, material: Material, attribute: str, metric: str) -> dict[str, Any]:
    """A sentence, what it comes to, and what it means for 1,000 of either group where a difference is shown."""
    gap = gap_of(view, material, attribute, metric)
    label = _label(view, material, attribute, gap)
    means = []
    if gap is not None and gap.shown and metric in ("tpr", "tnr") and metric == material.headline:
        means = _of_either(view, material, attribute)
    return {
        "label": f"{as_sentence(spoken(metric))}: {label}",
        "said": gap_sentence(view, material, attribute, metric),
        "means": means,
        "shown": gap is not None and gap.shown,
    }


def _label(view: View, material: Material, attribute: str, gap: Gap | None) -> str:
    """What the sentence comes to, in a few words."""
    if gap is None:
        return NOT_COMPARED
    if not gap.shown:
        return OPEN if gap.limits is None or gap_wording.is_open(gap) else NOT_SHOWN
    known = metric_of(gap.metric)
    if known is None or known.direction == "none":
        return "difference shown"
    if pair_is_shown(view, material, attribute, gap):
        return f"{visible(gap.worst[0])} served worse than {visible(gap.best[0])}"
    return "difference between some groups shown"


def _of_either(view: View, material: Material, attribute: str) -> list[tuple[str, str]]:
    """What the rates of the two groups mean for 1,000 of each, with as many cases as among all rows."""
    found = []
    row = gap_row(view, attribute, material.headline) or {}
    for group in (row.get("worst_group", ""), row.get("best_group", "")):
        rates = {metric: group_row(view, attribute, group, metric) for metric in ("tpr", "tnr")}
        sentence = thousand(rates, prevalence_of(view), rows_word(material))
        found += [(visible(named(attribute, group)), sentence)] if sentence else []
    return found


def _several(material: Material, attribute: str) -> list[dict[str, Any]]:
    """Of several by-keys the clearest differences one by one, and the others together."""
    told: list[dict[str, Any]] = []
    for metric in told_metrics(material):
        found = [(view, gap_of(view, material, attribute, metric)) for view in material.views]
        clear = sorted(((v, g) for v, g in found if g is not None and g.shown), key=lambda pair: -_low(pair[1]))
        alone = MAX_TOLD if metric == material.headline else 0
        for view, gap in clear[:alone]:
            label = f"{visible(view.title)}: {_label(view, material, attribute, gap)}"
            told.append({"label": label, "said": gap_wording.gap(gap), "means": [], "shown": True})
        more = [(view.title, gap) for view, gap in clear[alone:]]
        others = [(view.title, gap) for view, gap in found if gap is not None and not gap.shown]
        undefined = sum(gap is None for _, gap in found)
        said = [
            *([gap_wording.shown_in(metric, more)] if more else []),
            *([gap_wording.not_shown_in(metric, others)] if others else []),
            *([not_compared_in(metric, undefined, len(found))] if undefined else []),
        ]
        label = f"{as_sentence(spoken(metric))}{', the others' if clear[:alone] else ''}"
        told += [{"label": label, "said": " ".join(said), "means": [], "shown": bool(more)}] if said else []
    return told


def _low(gap: Gap) -> float:
    return gap.limits[0] if gap.limits else 0.0


def _few(material: Material) -> str:
    """The groups that are too small to judge, by name."""
    metric = material.headline
    few = groups_with_few(material.views, material.attributes, metric)
    if not few:
        return ""
    word, of = rows_word(material), few_of(metric)
    listed = [
        f"{visible(attribute)} {visible(group)} ({carried_by(count, of, word)})"
        for (attribute, group), count in sorted(few.items(), key=lambda one: one[1])[:MAX_FEW]
    ]
    more = [f"{len(few) - MAX_FEW:,} more"] if len(few) > MAX_FEW else []
    where = " in at least one result" if len(material.views) > 1 else ""
    return f"Too small to judge{where}: {joined([*listed, *more])}."
