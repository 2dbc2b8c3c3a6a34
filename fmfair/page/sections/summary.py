"""The first page: what was evaluated, who is served worse by how much, how sure that is, and what cannot be said."""

from __future__ import annotations

from typing import Any

from fmfair.errors import plural
from fmfair.numerals import as_sentence, carried_by, joined, level_text, spoken
from fmfair.page import gap_wording
from fmfair.page.drawings import ALONE, Drawings
from fmfair.page.gap_wording import Gap
from fmfair.page.lead import lead
from fmfair.page.material import Material, View
from fmfair.page.plan import NOT_STATED
from fmfair.page.screening import Q, Screen, screen
from fmfair.page.section import Figure, Section
from fmfair.page.sections.limits import main_limits
from fmfair.page.telling import (
    GLOSSES,
    carried_in_groups,
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
from fmfair.page.wording import exploratory, not_compared_in, over_all, over_by_keys, pre_specified
from fmfair.render import visible
from fmfair.shown import metric_of

NOT_SHOWN, OPEN, NOT_COMPARED = "no difference shown", "cannot tell", "not compared"
NOT_CLEAR = "may be chance among so many comparisons"
# Of many by-keys, the gaps that are told one by one.
MAX_TOLD = 3
MAX_FEW = 10
# A plot of more groups than this is no summary.
MAX_DRAWN = 40


def section(material: Material) -> Section:
    """One page for those who decide; attributes with a difference that is shown come first."""
    found = screen(material)
    drawn = _drawn(material, found)
    attributes = [_attribute(name, material, found) for name in material.attributes]
    content = {
        "facts": _facts(material),
        "overall": _overall(material),
        "readings": _readings(material),
        "lead": lead(material, found),
        "attributes": sorted(attributes, key=lambda one: not any(part["shown"] for part in one["told"])),
        "screen": _screen(found),
        "drawn": f"The plot shows {visible(drawn.title)}." if drawn is not None and drawn.title else "",
        "figures": _figures(material, drawn),
        "few": _few(material),
        "limits": main_limits(material),
    }
    return Section("summary", "Summary", content)


def _screen(found: Screen) -> str:
    """How many differences were looked at for this page, and what was done about their number."""
    if not found.compared:
        return ""
    if found.planned:
        return pre_specified(found.compared)
    may = f" Of the differences told as shown, a share of up to {Q:.2f} may be chance." if found.passed else ""
    return exploratory(found.compared, Q) + may


def _readings(material: Material) -> list[str]:
    """What the words of the page mean that are no part of a sentence."""
    said = []
    if material.task == "classification":
        said.append("A positive has what the model looks for, by the reference standard; a negative does not.")
    if material.level is not None:
        said.append(f"A {level_text(material.level)} is the range of true values that go well with this sample.")
    return said


def _drawn(material: Material, found: Screen) -> View | None:
    """The by-key whose groups are drawn: of several the one with the clearest difference that stands out."""
    if len(material.views) == 1:
        return material.views[0]
    clear = [key for key in found.passed if key[2] == material.headline]
    return material.views[min(clear, key=lambda key: (-_low(found.gaps[key]), key))[0]] if clear else None


def _figures(material: Material, view: View | None) -> list[Figure]:
    """The groups of all attributes in one plot."""
    metric, attributes = material.headline, material.attributes
    if view is None or not 0 < len(carried_in_groups([view], attributes, metric)) <= MAX_DRAWN:
        return []
    figure = Drawings(material, "summary").forest(view, metric, attributes, ALONE)
    return [] if figure is None else [figure]


def _facts(material: Material) -> list[tuple[str, str]]:
    """What was evaluated, on whom and when."""
    plan = material.plan
    return [
        ("Intended use", plan.intended_use or NOT_STATED),
        ("Evaluated on", "; ".join([*([plan.population] if plan.population else []), _size(material)])),
        ("Data", plan.data or NOT_STATED),
        ("Reference standard", plan.reference_standard or NOT_STATED),
        ("Evaluated on the", _when(material)),
        ("Answers for it", plan.author or NOT_STATED),
    ]


def _when(material: Material) -> str:
    """The day, and with what."""
    day, versions = material.metadata.get("evaluated"), material.metadata.get("versions") or {}
    return f"{str(day)[:10]}, with fmfair {versions.get('fmfair', '')}".rstrip() if day else NOT_STATED


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
            said += [_glossed(over_all(metric, row, level, word), metric) for _, row in rows]
        else:
            values = [(title, row["value"]) for title, row in rows]
            said.append(_glossed(over_by_keys(metric, values, word), metric))
    if len(material.views) == 1:
        (view,) = material.views
        sentence = thousand({m: overall_row(view, m) for m in ("tpr", "tnr")}, prevalence_of(view), word)
        said += [sentence] if sentence else []
    return said


def _glossed(sentence: str, metric: str) -> str:
    """A sentence with what its metric is behind the name."""
    gloss = GLOSSES.get(metric)
    return sentence.replace(spoken(metric), f"{spoken(metric)} ({gloss})", 1) if gloss else sentence


def _attribute(attribute: str, material: Material, found: Screen) -> dict[str, Any]:
    if len(material.views) == 1:
        told = [_one(material, attribute, metric, found) for metric in told_metrics(material)]
        return {"title": attribute, "told": told}
    told = [part for metric in told_metrics(material) for part in _several(material, attribute, metric, found)]
    return {"title": attribute, "told": told}


def _one(material: Material, attribute: str, metric: str, found: Screen) -> dict[str, Any]:
    """A sentence, what it comes to, and what it means for 1,000 of either group where a difference is shown."""
    key, (view,) = (0, attribute, metric), material.views
    passed = key in found.passed
    means = _of_either(view, material, attribute) if passed and metric == material.headline and metric == "tpr" else []
    return {
        "label": f"{as_sentence(spoken(metric))}: {_label(view, material, attribute, found.gaps[key], passed=passed)}",
        "said": gap_sentence(view, material, attribute, metric),
        "means": means,
        "shown": passed,
    }


def _label(view: View, material: Material, attribute: str, gap: Gap | None, *, passed: bool) -> str:
    """What the sentence comes to, in a few words."""
    if gap is None:
        return NOT_COMPARED
    if not gap.shown:
        return OPEN if gap.limits is None or gap_wording.is_open(gap) else NOT_SHOWN
    if not passed:
        return NOT_CLEAR
    known = metric_of(gap.metric)
    if known is None or known.direction == "none":
        return "difference shown"
    if pair_is_shown(view, material, attribute, gap):
        return f"{visible(gap.worst[0])} served worse than {visible(gap.best[0])}"
    return "difference between some groups shown"


def _of_either(view: View, material: Material, attribute: str) -> list[tuple[str, str]]:
    """What the rates of the two groups mean for 1,000 of each, with as many cases as among all rows."""
    found = []
    row = view.difference(attribute, material.headline) or {}
    for group in (row.get("worst_group", ""), row.get("best_group", "")):
        rates = {metric: group_row(view, attribute, group, metric) for metric in ("tpr", "tnr")}
        sentence = thousand(rates, prevalence_of(view), rows_word(material))
        found += [(visible(named(attribute, group)), sentence)] if sentence else []
    return found


def _several(material: Material, attribute: str, metric: str, found: Screen) -> list[dict[str, Any]]:
    """Of several by-keys the clearest differences one by one, and the others together."""
    views = material.views
    gaps = [(position, found.gaps[position, attribute, metric]) for position in range(len(views))]
    known = sorted(((at, gap) for at, gap in gaps if gap is not None), key=lambda one: (-_low(one[1]), one[0]))
    passed = [one for one in known if (one[0], attribute, metric) in found.passed]
    alone = passed[:MAX_TOLD] if metric == material.headline else []
    told = [
        {
            "label": f"{visible(views[at].title)}: {_label(views[at], material, attribute, gap, passed=True)}",
            "said": gap_wording.gap(gap),
            "means": _of_either(views[at], material, attribute) if metric == "tpr" and not number else [],
            "shown": True,
        }
        for number, (at, gap) in enumerate(alone)
    ]
    more = [(views[at].title, gap) for at, gap in passed[len(alone) :]]
    unclear = [(views[at].title, gap) for at, gap in known if gap.shown and (at, attribute, metric) not in found.passed]
    others = [(views[at].title, gap) for at, gap in sorted(known, key=lambda one: one[0]) if not gap.shown]
    undefined = len(gaps) - len(known)
    said = [
        *([gap_wording.shown_in(metric, more)] if more else []),
        *([gap_wording.shown_by_chance(metric, unclear, len(views))] if unclear else []),
        *([gap_wording.not_shown_in(metric, others)] if others else []),
        *([not_compared_in(metric, undefined, len(views))] if undefined else []),
    ]
    label = f"{as_sentence(spoken(metric))}{', the others' if alone else ''}"
    return [*told, *([{"label": label, "said": " ".join(said), "means": [], "shown": bool(more)}] if said else [])]


def _low(gap: Gap | None) -> float:
    return gap.limits[0] if gap is not None and gap.limits else 0.0


def _few(material: Material) -> str:
    """The groups that are too small to judge, by name."""
    metric = material.headline
    few = groups_with_few(material.views, material.attributes, metric)
    if not few:
        return ""
    word = rows_word(material)
    listed = [
        f"{visible(attribute)} {visible(group)} ({carried_by(count or 0, of, word)})"
        for (attribute, group), (count, of) in sorted(few.items(), key=lambda one: one[1])[:MAX_FEW]
    ]
    more = [f"{len(few) - MAX_FEW:,} more"] if len(few) > MAX_FEW else []
    where = " in at least one result" if len(material.views) > 1 else ""
    return f"Too small to judge{where}: {joined([*listed, *more])}."
