"""The answer at the top of the document: who is served worse, by how much and how sure that is, and what stays open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fmfair.numerals import as_sentence, figures, joined, level_text, sign, spoken, unit
from fmfair.page import plain
from fmfair.page.carried import carried
from fmfair.page.gap_wording import Gap, is_open
from fmfair.page.material import Material, View
from fmfair.page.screening import Q, Screen
from fmfair.page.telling import (
    GLOSSES,
    evaluated,
    known_of,
    overall_row,
    prevalence_of,
    result_name,
    rows_word,
    thousand,
    told_metrics,
)
from fmfair.page.wording import over_all, value
from fmfair.render import visible

# Of the results and attributes with a difference that is shown, those that are told here.
MAX_SHOWN = 3
# What the two rates are.
RATES: Mapping[str, str] = {
    "tpr": "{model} finds {text} of the cases",
    "tnr": "false alarms are raised for {text} of the non-cases",
}


@dataclass(frozen=True)
class Point:
    """One line of the answer.

    Attributes:
        head: What it is about.
        said: The line.
        beside: What must be known to read it, from the plan.
    """

    head: str
    said: str
    beside: str = ""


def lead(material: Material, found: Screen) -> list[Point]:
    """The clearest differences, what the sample cannot tell of every attribute, how good it is, and how sure."""
    ranked = clearest(found)
    points = _once([_shown(material, found, *pair) for pair in ranked[:MAX_SHOWN]])
    if len(ranked) > MAX_SHOWN:
        points.append(Point("More", f"{_differences(len(ranked) - MAX_SHOWN)} are in the table below."))
    if material.level is not None:
        points += [point for attribute in by_shown(material, found) if (point := _open(material, found, attribute))]
    return [*points, Point("Overall", _overall(material)), *_sure(material, found)]


def _once(points: Sequence[Point]) -> list[Point]:
    """What stands beside several lines only beside the first of them."""
    first = [point.beside not in [one.beside for one in points[:at]] for at, point in enumerate(points)]
    return [point if new else Point(point.head, point.said) for point, new in zip(points, first, strict=True)]


def clearest(found: Screen) -> list[tuple[int, str]]:
    """The results and attributes with a difference that is shown, those first that are the furthest from none."""
    low: dict[tuple[int, str], float] = {}
    for key in found.passed:
        gap = found.gaps[key]
        if gap is not None and gap.limits is not None:
            low[key[:2]] = max(gap.limits[0], low.get(key[:2], 0.0))
    return sorted(low, key=lambda pair: (-low[pair], pair))


def by_shown(material: Material, found: Screen) -> list[str]:
    """The attributes, those with a difference that is shown first."""
    shown = {attribute for _, attribute, _ in found.passed}
    return sorted(material.attributes, key=lambda name: name not in shown)


def _differences(count: int) -> str:
    return f"{count:,} more {'result' if count == 1 else 'results'} with a difference that is shown"


def _shown(material: Material, found: Screen, position: int, attribute: str) -> Point:
    """Both errors side by side, of the two groups at the ends."""
    gaps = [(metric, found.gaps[position, attribute, metric]) for metric in told_metrics(material)]
    known = [gap for _, gap in gaps if gap is not None]
    passed = [gap for metric, gap in gaps if gap is not None and (position, attribute, metric) in found.passed]
    (first, *others), open_ = passed, [gap for gap in known if gap not in passed]
    said = plain.difference(first, attribute)
    for gap in others:
        against = (gap.worst[0], gap.best[0]) == (first.best[0], first.worst[0])
        said += f"{', but' if against else ', and'} {plain.difference(gap, attribute, first.worst[0])}"
    said = as_sentence("; ".join([said, *map(plain.without_difference, open_)]))
    view = material.views[position]
    head = head_of(attribute, result_name(view))
    return Point(head, f"{said}.", _beside(material, view, attribute, first.metric))


def head_of(attribute: str, result: str = "") -> str:
    """What a line is about, with a capital at its start."""
    return as_sentence(", ".join(part for part in (visible(attribute), result) if part))


def _beside(material: Material, view: View, attribute: str, metric: str) -> str:
    """What the plan says of the groups that are compared."""
    row = view.difference(attribute, metric) or {}
    groups = sorted(group for end in ("worst_group", "best_group") if (group := row.get(end)) is not None)
    told = [(group, known_of(material, attribute, group)) for group in groups]
    return " ".join(f"{visible(group)}: {text.rstrip('.')}." for group, text in told if text)


def _open(material: Material, found: Screen, attribute: str) -> Point | None:
    """How large a difference between the groups of an attribute may be in the results where none is shown."""
    keys = [(at, attribute, metric) for metric in told_metrics(material) for at in range(len(material.views))]
    gaps = {key: gap for key in keys if (gap := found.gaps[key]) is not None and gap.limits is not None}
    if not gaps:
        return Point(head_of(attribute), _not_compared(material, attribute))
    told = {at for at, of, _ in found.passed if of == attribute}
    left = {key: gap for key, gap in gaps.items() if key[0] not in told}
    if not left:
        return None
    (first, *more) = {result_name(material.views[key[0]]): None for key in left}
    which = "" if not told else "the others" if more else first
    return Point(
        head_of(attribute, which), f"{_verdict(list(left.values()))}{_bounds(material, left, alone=not more)}."
    )


def _not_compared(material: Material, attribute: str) -> str:
    row = material.views[0].difference(attribute, material.headline)
    if row is not None and row["value"] is not None:
        return "Without an interval no difference can be told from chance."
    return f"Not compared: {visible((row or {}).get('note') or 'there is no gap')}."


def _verdict(gaps: Sequence[Gap]) -> str:
    if any(is_open(gap) for gap in gaps):
        return "The data cannot tell: "
    if any(gap.shown for gap in gaps):
        return "No difference stands out among so many comparisons, but "
    return "No difference was shown, but " if not all(gap.excluded for gap in gaps) else "No difference was shown, and "


def _bounds(material: Material, gaps: Mapping[tuple[int, str, str], Gap], *, alone: bool) -> str:
    """The largest difference that is still possible, by metric; and in which result."""
    parts, excluded = [], all(gap.excluded for gap in gaps.values())
    for metric in told_metrics(material):
        highs = {key: gap for key, gap in gaps.items() if key[2] == metric}
        if not highs:
            continue
        key = max(highs, key=lambda one: (_high(highs[one]), -one[0]))
        most = figures(metric, [_high(highs[key])], _high(highs[key]))[0]
        of = "" if alone else result_name(material.views[key[0]])
        parts.append(f"{most}{unit(metric)} in {plain.name(metric)}{f' ({of})' if of else ''}")
    if excluded:
        return f"differences larger than {joined(parts)} are excluded, which is within the margin"
    return f"the sample is too small to rule out differences of up to {joined(parts)}"


def _high(gap: Gap) -> float:
    return gap.limits[1] if gap.limits is not None else 0.0


def _overall(material: Material) -> str:
    """How good it is over all rows; of several results from which to which."""
    metrics = told_metrics(material)
    if len(material.views) > 1:
        return " ".join(_from_to(material, metric) for metric in metrics)
    (view,) = material.views
    rows = {metric: row for metric in metrics if (row := overall_row(view, metric)) is not None}
    said = [_whole(material, metric, row) for metric, row in rows.items()]
    both = {metric: overall_row(view, metric) for metric in ("tpr", "tnr")}
    of_many = thousand(both, prevalence_of(view), rows_word(material), evaluated(material))
    return " ".join([*said, *([of_many] if of_many else [])])


def _whole(material: Material, metric: str, row: Mapping[str, Any]) -> str:
    """The value over all rows."""
    rows, level = rows_word(material), material.level
    if metric not in RATES or row["value"] is None or row.get("bound_low") is not None:
        return _with_gloss(material, over_all(metric, row, level, rows), metric)
    ends = [plain.told(metric, row[end]) for end in ("ci_low", "ci_high") if row.get(end) is not None]
    low, high = sorted(ends) if ends else (None, None)
    text, _, within = value(metric, plain.told(metric, row["value"]), low, high, level).partition(" (")
    count, of = carried(row)
    behind = [within.removesuffix(")"), "" if count is None else plain.counted(count, of, rows)]
    told = "; ".join(part for part in behind if part)
    sentence = as_sentence(RATES[metric].format(model=evaluated(material), text=text))
    return f"{sentence} ({told})." if told else f"{sentence}."


def _with_gloss(material: Material, sentence: str, metric: str) -> str:
    """A sentence with what its metric is behind the name."""
    gloss = GLOSSES.get(metric, "").replace("the model", evaluated(material))
    return sentence.replace(spoken(metric), f"{spoken(metric)} ({gloss})", 1) if gloss else sentence


def _from_to(material: Material, metric: str) -> str:
    """The lowest and the highest value over all rows, with the results that have them."""
    rows = [(view, row) for view in material.views if (row := overall_row(view, metric)) is not None]
    known = [
        (plain.told(metric, row["value"]), result_name(view), row) for view, row in rows if row["value"] is not None
    ]
    if not known:
        return f"{as_sentence(plain.name(metric))}: not defined in any of {len(rows):,} results."
    (low, lowest, first), (high, highest, last) = (
        min(known, key=lambda one: one[:2]),
        max(known, key=lambda one: one[:2]),
    )
    ends = [row for row in (first, last) if row.get("ci_low") is not None]
    width = max((row["ci_high"] - row["ci_low"] for row in ends), default=None)
    texts = figures(metric, [low, high], width)
    within = f"{texts[0]}{sign(metric)} ({lowest}) to {texts[1]}{sign(metric)} ({highest})"
    of = f" in {len(known):,} of {len(rows):,} results" if len(known) < len(rows) else ""
    if metric in RATES:
        return as_sentence(f"{RATES[metric].format(model=evaluated(material), text=within)}{of}.")
    return _with_gloss(material, f"{as_sentence(spoken(metric))} is {within}{of}.", metric)


def _sure(material: Material, found: Screen) -> list[Point]:
    """What was done about chance and about how many differences were looked at, in words."""
    if material.level is None:
        return [Point("How sure", "Without intervals no difference can be told from chance.")]
    if not found.compared:
        return []
    level = (
        f"A {level_text(material.level)} holds the true difference in {100 * material.level:.6g} of 100 such samples."
    )
    if found.planned:
        said = f"Planned: which differences to look at was settled before the data were seen. {level}"
        return [Point("How sure", f"{said} {_called(found)}.")]
    said = f"Exploratory: which differences to look at was not settled before the data were seen. {level}"
    false = f", so that on average no more than 1 in {1 / Q:.0f} of those called so are there by chance alone"
    return [Point("How sure", f"{said} {_called(found)}{false if found.passed else ''}.")]


def _called(found: Screen) -> str:
    if found.compared == 1:
        return "One difference was looked at"
    return f"A difference is called shown only where it stands out among all {found.compared:,} that were looked at"
