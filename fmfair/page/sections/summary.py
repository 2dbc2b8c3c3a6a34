"""The first page: who is served worse, by how much, how sure that is, what cannot be said, and of what all this is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fmfair.errors import plural
from fmfair.numerals import as_sentence, joined, level_text
from fmfair.page import plain
from fmfair.page.drawings import ALONE, Drawings
from fmfair.page.gap_wording import Gap
from fmfair.page.lead import Point, by_shown, clearest, lead
from fmfair.page.material import Material, View
from fmfair.page.plain import Cell
from fmfair.page.plan import NOT_STATED
from fmfair.page.screening import Screen, screen
from fmfair.page.section import Figure, Section
from fmfair.page.sections.limits import main_limits
from fmfair.page.telling import (
    carried_in_groups,
    evaluated,
    group_row,
    groups_with_few,
    named,
    overall_row,
    pair_is_shown,
    prevalence_of,
    result_name,
    results_of,
    rows_word,
    thousand,
    told_metrics,
)
from fmfair.render import visible

# Up to so many results have rows of their own in the table of differences; of more those with the clearest ones.
MAX_ROWS, MAX_CLEAR = 8, 5
MAX_FEW = 10
# A plot of more groups than this is no summary.
MAX_DRAWN = 40


@dataclass(frozen=True)
class Differences:
    """The table of what the sample says of the groups.

    Attributes:
        caption: What it shows.
        columns: The attributes.
        rows: The result, the metric, and a cell for every attribute.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[Cell]]]


@dataclass(frozen=True)
class Means:
    """What the rates of two groups mean for 1,000 of each.

    Attributes:
        result: Of which result; empty where there is no other.
        said: A sentence for each group, behind its name.
        why: Where the number of cases comes from.
    """

    result: str
    said: Sequence[tuple[str, str]]
    why: str


def section(material: Material) -> Section:
    """One page for those who decide: the answer, the table behind it, and what was evaluated."""
    found = screen(material)
    drawn = _drawn(material, found)
    points, means = lead(material, found), _means(material, found)
    content = {
        "lead": points,
        "differences": _differences(material, found),
        "readings": _readings(material, points),
        "means": means,
        "figures": _figures(material, drawn),
        "few": _few(material),
        "limits": main_limits(material),
        "facts": _facts(material),
    }
    return Section("summary", "Summary", content)


def _differences(material: Material, found: Screen) -> Differences | None:
    """All results against all attributes; attributes with a difference that is shown come first."""
    if not material.attributes:
        return None
    attributes = by_shown(material, found)
    alone = list(range(len(material.views)))
    if len(alone) > MAX_ROWS:
        alone = list(dict.fromkeys(position for position, _ in clearest(found)))[:MAX_CLEAR]
    others = [position for position in range(len(material.views)) if position not in alone]
    rows = []
    for position in alone:
        for metric in told_metrics(material):
            cells = [_cell(material, found, (position, attribute, metric)) for attribute in attributes]
            rows.append((as_sentence(result_name(material.views[position])), plain.title(metric), cells))
    for metric in told_metrics(material) if others else ():
        cells = [_together(found, others, attribute, metric) for attribute in attributes]
        which = f"{len(others):,} {'others' if alone else 'results'}, together"
        rows.append((as_sentence(which), plain.title(metric), cells))
    rows = [(name, metric if name else as_sentence(metric), cells) for name, metric, cells in rows]
    least = f" ({level_text(material.level)} in brackets)" if material.level is not None else ""
    caption = f"The largest difference between groups{least}"
    return Differences(caption, [as_sentence(visible(name)) for name in attributes], rows)


def _cell(material: Material, found: Screen, key: tuple[int, str, str]) -> Cell:
    position, attribute, metric = key
    view, gap = material.views[position], found.gaps[key]
    if gap is None:
        row = view.difference(attribute, metric)
        return Cell(plain.NOT_COMPARED, [visible((row or {}).get("note") or "it has no gap")])
    pair = pair_is_shown(view, material, attribute, gap)
    return plain.cell(gap, passed=key in found.passed, pair=pair)


def _together(found: Screen, positions: Sequence[int], attribute: str, metric: str) -> Cell:
    keys = [(position, attribute, metric) for position in positions]
    return plain.together(metric, [found.gaps[key] for key in keys], [key in found.passed for key in keys])


def _readings(material: Material, points: Sequence[Point]) -> list[str]:
    """What the words of the page mean that are no part of a sentence, and what the groups are."""
    said = []
    if material.task == "classification":
        said.append("A case (a positive) has what is looked for, by the reference standard; others are non-cases.")
        if "tnr" in told_metrics(material):
            said.append(f"A false alarm is a non-case that {evaluated(material)} flags.")
    above = " ".join(point.beside for point in points)
    for name, text in material.plan.descriptions.items():
        if text and text.rstrip(".") not in above:
            said.append(f"{visible(name)}: {visible(text).rstrip('.')}.")
    return said


def _means(material: Material, found: Screen) -> Means | None:
    """Of the result whose cases found differ most clearly between groups."""
    where = [pair for pair in clearest(found) if (*pair, "tpr") in found.passed and material.headline == "tpr"]
    for position, attribute in where[:1]:
        view = material.views[position]
        said, whole = _of_either(view, material, attribute), overall_row(view, "tpr")
        if said and whole is not None:
            of = result_name(view)
            rows = plural(whole["n"], rows_word(material))
            why = f"The number of cases is the same for both, so that they compare: as many as among all {rows}"
            return Means(as_sentence(of), said, f"{why} evaluated, of which {whole['n_pos']:,} are cases.")
    return None


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
    if figure is None:
        return []
    if not (name := result_name(view)):
        return [figure]
    title = f"{as_sentence(name)} alone. {figure.title}"
    table = figure.table and replace(figure.table, caption=figure.table.caption.replace(view.title, name))
    return [replace(figure, title=title, table=table)]


def _facts(material: Material) -> list[tuple[str, str]]:
    """What was evaluated, on whom and when."""
    plan = material.plan
    return [
        ("Intended use", plan.intended_use or NOT_STATED),
        ("Whom", "; ".join([*([plan.population] if plan.population else []), _size(material)])),
        ("Data", plan.data or NOT_STATED),
        ("Reference standard", plan.reference_standard or NOT_STATED),
        ("Date", _when(material)),
        ("Responsible", plan.author or NOT_STATED),
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
        said.append(results_of(material))
    elif (row := overall_row(material.views[0], material.headline)) is not None and row["n_pos"] is not None:
        said.append(plural(row["n_pos"], "case"))
    cluster = (material.metadata.get("columns") or {}).get("cluster")
    said.append(f"those of one {visible(cluster)} taken together" if cluster else f"each {word} counted as independent")
    return "; ".join(said)


def _of_either(view: View, material: Material, attribute: str) -> list[tuple[str, str]]:
    """What the rates of the two groups mean for 1,000 of each, with as many cases as among all rows."""
    found = []
    row = view.difference(attribute, material.headline) or {}
    for group in (row.get("worst_group", ""), row.get("best_group", "")):
        rates = {metric: group_row(view, attribute, group, metric) for metric in ("tpr", "tnr")}
        sentence = thousand(rates, prevalence_of(view), rows_word(material), evaluated(material))
        found += [(visible(named(attribute, group)), sentence)] if sentence else []
    return found


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
        f"{visible(attribute)} {visible(group)} ({plain.counted(count or 0, of, word)})"
        for (attribute, group), (count, of) in sorted(few.items(), key=lambda one: one[1])[:MAX_FEW]
    ]
    more = [f"{len(few) - MAX_FEW:,} more"] if len(few) > MAX_FEW else []
    where = " in at least one result" if len(material.views) > 1 else ""
    return f"Too small to judge{where}: {joined([*listed, *more])}."
