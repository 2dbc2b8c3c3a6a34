"""The sentences of the page on differences between groups: pure functions of numbers and names.

A difference is shown where its interval leaves out 0. Where it does not, the sentence says which differences remain
possible, and never that there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from fmfair.numerals import (
    COUNTS_ONLY,
    as_sentence,
    carried_by,
    carriers,
    figures,
    in_percent,
    level_text,
    p_text,
    sign,
    spoken,
    unit,
)
from fmfair.page.wording import subject
from fmfair.render import visible


@dataclass(frozen=True)
class Gap:
    """The largest difference between the groups of an attribute.

    Attributes:
        metric: Of which metric.
        value: How large it is.
        limits: Of its interval, the lower 0 where it includes 0; None where there is no interval.
        level: Of the interval.
        worst: The group that the metric serves worst, where there is a better and a worse, and its value.
        best: The group at the other end, and its value.
        n_groups: How many groups were compared.
        counts: What carries the values of the two groups; None where that is not known.
        denominator: What these counts are of.
        rows: What a row is, such as `image`.
        chance: The gap that chance alone makes usual at these sizes.
        margin: The difference that matters, where the user named one.
        p: The p value of no difference.
        signed: The limits of worst less best, of two groups.
        about: Whether the values are only the middle of bounds, as of counts.
    """

    metric: str
    value: float
    limits: tuple[float, float] | None
    level: float | None
    worst: tuple[str, float]
    best: tuple[str, float]
    n_groups: int = 2
    counts: tuple[int | None, int | None] = (None, None)
    denominator: str = "n"
    rows: str = "row"
    chance: float | None = None
    margin: float | None = None
    p: float | None = None
    signed: tuple[float, float] | None = None
    about: bool = False

    @property
    def shown(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.limits is not None and self.limits[0] > 0

    @property
    def excluded(self) -> bool:
        """Whether the interval leaves out a difference as large as the margin."""
        return self.margin is not None and self.limits is not None and self.limits[1] < self.margin


def gap(of: Gap) -> str:
    """What the sample says of the largest difference: shown, not shown, or that it cannot tell.

    Examples:
        >>> print(gap(Gap("auc", 0.05, (0.012, 0.088), 0.95, ("A", 0.8), ("B", 0.85), counts=(120, 240), p=0.01)))
        AUC was lower in A (0.800) than in B (0.850) by 0.050 (95% interval 0.012 to 0.088; p = 0.010; 120 and 240
        rows).
    """
    if of.limits is None:
        return without_interval(of)
    if of.n_groups > 2:
        return several_groups(of, of.limits)
    if of.shown:
        return f"{difference_shown(of, of.limits)}{_beside_margin(of, of.limits)}"
    if of.signed and is_open(of):
        return cannot_tell(of, of.signed)
    return f"{no_difference_shown(of)} {still_possible(of, of.limits[1])}"


def is_open(of: Gap) -> bool:
    """Whether the interval reaches beyond the margin in favour of either of two groups."""
    if of.n_groups > 2 or of.shown or of.margin is None or of.signed is None:
        return False
    return of.signed[0] < -of.margin and of.signed[1] > of.margin


def difference_shown(of: Gap, limits: tuple[float, float]) -> str:
    """The interval of the difference between two groups leaves out 0."""
    ends = f"{lower_or_higher(of)} in {group_of(of, of.worst)} than in {group_of(of, of.best)}"
    text = f"{spoken(of.metric)} was {ends} by {amount_of(of)}"
    return f"{as_sentence(text)} ({_within(of, limits)})."


def no_difference_shown(of: Gap) -> str:
    """The interval includes 0."""
    who = f"{group_of(of, of.worst)} and {group_of(of, of.best)}" if of.worst[0] != of.best[0] else "the groups"
    behind = _carried(of)
    return f"No difference in {spoken(of.metric)} was shown between {who}{f'; {behind}' if behind else ''}."


def still_possible(of: Gap, high: float) -> str:
    """Which difference the interval leaves possible, or leaves out where that is within the margin."""
    most = f"{figures_of(of, high)[0]}{unit(of.metric)}"
    if of.excluded:
        return f"A difference larger than {most} ({level_text(of.level)}) is excluded; the margin is {margin_of(of)}."
    return f"Differences up to {most} ({level_text(of.level)}) cannot be ruled out."


def cannot_tell(of: Gap, signed: tuple[float, float]) -> str:
    """The interval reaches beyond the margin on both sides.

    Args:
        of: The gap.
        signed: The interval of the worst group less the best.
    """
    lower, higher = figures_of(of, -signed[0], signed[1])
    who = f"against {group_of(of, of.best)}, {spoken(of.metric)} in {group_of(of, of.worst)}"
    behind = "; ".join(part for part in (level_text(of.level), _carried(of)) if part)
    may = f"may be from {lower} lower to {higher}{unit(of.metric)} higher ({behind})"
    return f"The data cannot tell: {who} {may}; the margin is {margin_of(of)}."


def several_groups(of: Gap, limits: tuple[float, float]) -> str:
    """More than two groups: the largest gap beside the gap that chance alone makes usual."""
    ends = ("highest", "lowest") if of.worst[1] >= of.best[1] else ("lowest", "highest")
    where = f"was {ends[0]} in {group_of(of, of.worst)} and {ends[1]} in {group_of(of, of.best)}"
    if of.worst[0] == of.best[0]:
        where = f"was {figures_of(of, of.worst[1])[0]}{sign(of.metric)} in every group"
    chance = ""
    if of.chance is not None:
        chance = f"; a gap of {figures_of(of, of.chance)[0]} is expected by chance at these sizes"
    largest = f"The largest gap of {of.n_groups:,} groups was {amount_of(of)} ({_within(of, limits)}){chance}."
    if of.shown:
        return f"{as_sentence(spoken(of.metric))} {where}. {largest}{_beside_margin(of, limits)}"
    none = f"No difference in {spoken(of.metric)} was shown; it {where}."
    return f"{none} {largest} {still_possible(of, limits[1])}"


def without_interval(of: Gap) -> str:
    """There is no interval, so that nothing can be said of chance."""
    behind = f" ({_carried(of)})" if _carried(of) else ""
    if of.worst[0] == of.best[0]:
        return f"No difference in {spoken(of.metric)} was seen{behind}; without an interval chance is not known."
    who = f"{group_of(of, of.worst)} and {group_of(of, of.best)}"
    text = f"{spoken(of.metric)} differed most between {who}, by {amount_of(of)}{behind}"
    return f"{as_sentence(text)}; without an interval this cannot be told from chance."


def not_compared(metric: str, reason: str | None) -> str:
    """There is no gap.

    Examples:
        >>> not_compared("tpr", "1 of 2 groups can be compared: no positives")
        'Sensitivity was not compared: 1 of 2 groups can be compared: no positives.'
    """
    return f"{as_sentence(subject(metric))} was not compared: {visible(reason or 'no reason is known')}."


def group_of(of: Gap, group: tuple[str, float]) -> str:
    """A group and its value; in place of a value that hardly any samples carry, their count."""
    count = of.counts[0] if group == of.worst else of.counts[1]
    if count is not None and count < COUNTS_ONLY:
        return f"{visible(group[0])} ({carried_by(count, of.denominator, of.rows)}: counts only)"
    return f"{visible(group[0])} ({_about(of)}{figures_of(of, group[1])[0]}{sign(of.metric)})"


def lower_or_higher(of: Gap) -> str:
    """How the group that is served worst stands to the best."""
    return "lower" if of.worst[1] < of.best[1] else "higher"


def figures_of(of: Gap, *numbers: float) -> list[str]:
    """Numbers of a gap with the digits that its interval supports."""
    return figures(of.metric, numbers, None if of.limits is None else of.limits[1] - of.limits[0])


def amount_of(of: Gap) -> str:
    """How large a gap is."""
    return f"{_about(of)}{figures_of(of, of.value)[0]}{unit(of.metric)}"


def _about(of: Gap) -> str:
    return "about " if of.about else ""


def _carried(of: Gap) -> str:
    return carriers(of.counts, of.denominator, of.rows)


def _within(of: Gap, limits: tuple[float, float]) -> str:
    """The interval of the gap, its p value and what carries it."""
    low, high = figures_of(of, *limits)
    parts = [f"{level_text(of.level)} {low} to {high}", "" if of.p is None else p_text(of.p), _carried(of)]
    return "; ".join(part for part in parts if part)


def margin_of(of: Gap) -> str:
    """The difference that matters, as named."""
    scale = 100 if in_percent(of.metric) else 1
    return f"{scale * (of.margin or 0.0):.4g}{unit(of.metric)}"


def _beside_margin(of: Gap, limits: tuple[float, float]) -> str:
    """How a difference that is shown stands to the margin, where there is one."""
    if of.margin is None:
        return ""
    if limits[0] > of.margin:
        return f" The whole interval lies beyond the margin of {margin_of(of)}."
    if of.excluded:
        return f" The whole interval lies within the margin of {margin_of(of)}."
    return f" Whether it exceeds the margin of {margin_of(of)}, the data cannot tell."
