"""The differences in short, for those who read nothing else: which are shown, and which may be there unseen."""

from __future__ import annotations

from collections.abc import Sequence

from fmfair.numerals import as_sentence, figures, joined, level_text, spoken, unit
from fmfair.page import gap_wording
from fmfair.page.gap_wording import Gap
from fmfair.page.material import Material
from fmfair.page.screening import Screen
from fmfair.render import visible

# Of the differences that are shown, those that are told here.
MAX_SHOWN = 3


def lead(material: Material, found: Screen) -> list[str]:
    """A sentence for each of the clearest differences, and one on what the sample cannot tell from chance."""
    if not material.attributes:
        return []
    ranked = sorted(found.passed, key=lambda key: (-_limits(found.gaps[key])[0], key))
    said = []
    for position, attribute, metric in ranked[:MAX_SHOWN]:
        gap, title = found.gaps[position, attribute, metric], material.views[position].title
        if gap is not None:
            said.append(f"{visible(title)}: {_shown(gap, attribute)}" if title else as_sentence(_shown(gap, attribute)))
    if len(ranked) > MAX_SHOWN:
        said.append(f"{len(ranked) - MAX_SHOWN:,} more differences are shown below.")
    if not ranked and any(gap is not None for gap in found.gaps.values()):
        said.append("No difference between groups was shown.")
    return [*said, *_unknown(material, found)]


def _shown(gap: Gap, attribute: str) -> str:
    """A difference that is shown, without the numbers that only a statistician asks for."""
    low, high = gap_wording.figures_of(gap, *_limits(gap))
    within = f"({level_text(gap.level)} {low} to {high})"
    ends = f"in {gap_wording.group_of(gap, gap.worst)} than in {gap_wording.group_of(gap, gap.best)}"
    among = f" among the {gap.n_groups:,} groups of {visible(attribute)}" if gap.n_groups > 2 else ""
    way = gap_wording.lower_or_higher(gap)
    return f"{spoken(gap.metric)} is {way} {ends}{among}, by {gap_wording.amount_of(gap)} {within}."


def _unknown(material: Material, found: Screen) -> list[str]:
    """What the sample cannot tell from chance, of the metric that the page speaks of."""
    metric, parts, excluded = material.headline, [], []
    for attribute in material.attributes:
        gaps = {at: found.gaps[at, attribute, metric] for at in range(len(material.views))}
        open_ = {at: gap for at, gap in gaps.items() if gap is not None and (at, attribute, metric) not in found.passed}
        known = {at: gap for at, gap in open_.items() if gap.limits is not None}
        if known and all(gap.excluded for gap in known.values()):
            excluded.append(visible(attribute))
        elif known:
            parts.append(_up_to(material, attribute, known))
    said = []
    if parts:
        said.append(f"This sample cannot tell from chance: differences in {spoken(metric)} {joined(parts)}.")
    if excluded:
        said.append(
            f"Differences in {spoken(metric)} beyond the margin are excluded between groups of {joined(excluded)}."
        )
    if material.level is None:
        said.append("Without intervals no difference can be told from chance.")
    return said


def _up_to(material: Material, attribute: str, gaps: dict[int, Gap]) -> str:
    """How large a difference between the groups of an attribute may be."""
    highs = sorted(_limits(gap)[1] for gap in gaps.values())
    texts = list(dict.fromkeys(_most(material.headline, highs)))
    which = ""
    if len(material.views) > 1:
        (first, *_) = gaps
        few = visible(material.views[first].title) if len(gaps) == 1 else f"{len(gaps):,} results"
        which = f" ({few})"
    return f"of up to {' to '.join(texts)}{unit(material.headline)} between groups of {visible(attribute)}{which}"


def _most(metric: str, highs: Sequence[float]) -> list[str]:
    return figures(metric, [highs[0], highs[-1]], highs[-1])


def _limits(gap: Gap | None) -> tuple[float, float]:
    return gap.limits if gap is not None and gap.limits is not None else (0.0, 0.0)
