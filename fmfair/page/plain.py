"""The words of the first page, for readers who know no names of metrics: cases found, false alarms, who has fewer.

Sensitivity is told as the share of the cases that are found, specificity as the share of the others that raise a false
alarm; other metrics keep their names. What is said of a difference is one of a few phrases, so that a table of many can
be read at a glance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fmfair.errors import plural
from fmfair.numerals import COUNTS_ONLY, as_sentence, carried_by, figures, level_text, sign, spoken, unit
from fmfair.page.gap_wording import Gap, amount_of, figures_of, is_open, margin_of
from fmfair.render import visible
from fmfair.shown import metric_of

SHOWN, SOME, NOT_SHOWN = "Difference shown", "Difference between some groups shown", "No difference shown"
OPEN, NOT_CLEAR, NOT_COMPARED = "The data cannot tell", "May be chance among so many comparisons", "Not compared"
_NAMES: Mapping[str, str] = {"tpr": "cases found", "tnr": "false alarms"}
_TITLES: Mapping[str, str] = {"tpr": "cases found (sensitivity)", "tnr": "false alarms (100% minus specificity)"}
_CARRIED: Mapping[str, str] = {"n_pos": "case", "n_neg": "non-case"}


@dataclass(frozen=True)
class Cell:
    """What the sample says of the groups of one attribute.

    Attributes:
        verdict: One of few phrases.
        said: The numbers behind it.
        shown: Whether a difference is shown.
    """

    verdict: str
    said: Sequence[str]
    shown: bool = False


def name(metric: str) -> str:
    """What a metric is called.

    Examples:
        >>> name("tpr"), name("tnr"), name("auc")
        ('cases found', 'false alarms', 'AUC')
    """
    return _NAMES.get(metric) or spoken(metric)


def title(metric: str) -> str:
    """What a metric is called, with the name that the other pages use."""
    return _TITLES.get(metric) or spoken(metric)


def told(metric: str, number: float) -> float:
    """A value as it is told: of specificity what it lacks to 1, which are the false alarms."""
    return 1 - number if metric == "tnr" else number


def counted(count: int, denominator: str, rows: str) -> str:
    """The count that carries a value.

    Examples:
        >>> counted(8, "n_pos", "image"), counted(1, "n_neg", "image"), counted(40, "n", "image")
        ('8 cases', '1 non-case', '40 images')
    """
    known = _CARRIED.get(denominator)
    return plural(count, known) if known else carried_by(count, denominator, rows)


def group_of(of: Gap, group: tuple[str, float], *, counts: bool = True) -> str:
    """A group with its value and, where wanted, what carries it; of hardly any samples only their count."""
    count = of.counts[0] if group == of.worst else of.counts[1]
    behind = "" if count is None else counted(count, of.denominator, of.rows)
    if count is not None and count < COUNTS_ONLY:
        return f"{visible(group[0])} ({behind}: counts only)"
    value = f"{'about ' if of.about else ''}{figures_of(of, told(of.metric, group[1]))[0]}{sign(of.metric)}"
    return f"{visible(group[0])} ({value}{f'; {behind}' if behind and counts else ''})"


def way(of: Gap, first: tuple[str, float], second: tuple[str, float], *, ends: bool = False) -> str:
    """How a group stands to another, or to all others."""
    less = told(of.metric, first[1]) < told(of.metric, second[1])
    if of.metric in _NAMES:
        return ("fewest" if ends else "fewer") if less else ("most" if ends else "more")
    return ("lowest" if ends else "lower") if less else ("highest" if ends else "higher")


def difference(of: Gap, attribute: str, first: str = "") -> str:
    """A difference that is shown, as part of a sentence.

    Args:
        of: The gap.
        attribute: Of whose groups.
        first: The group that is named first; the one that is served worse where it is none of the two.

    Examples:
        >>> view = Gap(
        ...     "tpr", 0.22, (0.09, 0.34), 0.95, ("AP", 0.36), ("PA", 0.58), counts=(133, 105), denominator="n_pos"
        ... )
        >>> difference(view, "view")
        'fewer cases are found in AP (36%) than in PA (58%), by 22 percentage points (95% interval 9 to 34)'
    """
    ends = (of.best, of.worst) if first == of.best[0] else (of.worst, of.best)
    who = " than ".join(f"in {group_of(of, end, counts=False)}" for end in ends)
    if of.n_groups > 2:
        who += f" among the {of.n_groups:,} groups of {visible(attribute)}"
    how = way(of, *ends)
    what = {"tpr": f"{how} cases are found", "tnr": f"there are {how} false alarms"}
    return f"{what.get(of.metric, f'{spoken(of.metric)} is {how}{_worse(of)}')} {who}, by {_by(of)}"


def without_difference(of: Gap) -> str:
    """What is said of one that is not shown, as part of a sentence."""
    if of.shown:
        return f"the difference in {name(of.metric)}, {_by(of)}, may be chance among so many comparisons"
    if of.limits is None:
        return f"in {name(of.metric)} nothing can be told from chance without an interval"
    if is_open(of):
        return f"the data cannot tell whether {name(of.metric)} {'differ' if of.metric in _NAMES else 'differs'}"
    return f"no difference in {name(of.metric)} was shown, {still_possible(of)}"


def still_possible(of: Gap) -> str:
    """Which difference the interval leaves possible."""
    most = f"{figures_of(of, (of.limits or (0.0, of.value))[1])[0]}{unit(of.metric)}"
    if of.excluded:
        return f"more than {most} is excluded (the margin is {margin_of(of)})"
    return f"up to {most} cannot be ruled out"


def cell(of: Gap, *, passed: bool, pair: bool) -> Cell:
    """What a table holds of a gap.

    Args:
        of: The gap.
        passed: Whether it stands out among all that were looked at.
        pair: Whether the two groups at the ends differ, not only some two of several.
    """
    if of.limits is None:
        return Cell(OPEN, [f"{amount_of(of)}, without an interval", _both(of)])
    if of.shown:
        within = " to ".join(figures_of(of, *of.limits))
        verdict = NOT_CLEAR if not passed else SHOWN if pair else SOME
        return Cell(verdict, [f"{amount_of(of)} ({within}){_by_chance(of)}", _ends(of)], passed)
    if is_open(of) and of.signed is not None:
        low, high = of.signed
        if of.metric == "tnr":
            low, high = -high, -low
        lower, higher = figures_of(of, -low, high)
        less, more = ("fewer", "more") if of.metric in _NAMES else ("lower", "higher")
        may = f"from {lower} {less} to {higher}{unit(of.metric)} {more} in {visible(of.worst[0])}"
        return Cell(OPEN, [f"{may}; the margin is {margin_of(of)}", _both(of)])
    return Cell(NOT_SHOWN, [as_sentence(still_possible(of)), _both(of)])


def together(metric: str, gaps: Sequence[Gap | None], passed: Sequence[bool]) -> Cell:
    """What a table holds of several gaps at once: how many are of which kind, and what the others leave possible."""
    known = [of for of, one in zip(gaps, passed, strict=True) if of is not None and not one]
    highs = [of.limits[1] for of in known if of.limits is not None and not of.shown]
    counts = {
        SHOWN: sum(passed),
        NOT_CLEAR: sum(of.shown for of in known),
        NOT_SHOWN: len(highs),
        OPEN: sum(of.limits is None for of in known),
        NOT_COMPARED: sum(of is None for of in gaps),
    }
    said = [f"{verdict} in {count:,} of {len(gaps):,}" for verdict, count in counts.items() if count]
    if highs:
        low, high = figures(metric, [min(highs), max(highs)], max(highs))
        most = f"Where none is shown, up to {low}{unit(metric)} cannot be ruled out in the most precise"
        said.append(f"{most} and up to {high}{unit(metric)} in the least")
    return Cell(said[0], said[1:], any(passed))


def _worse(of: Gap) -> str:
    """That the first of two groups is served worse, where the metric says so."""
    known = metric_of(of.metric)
    return " (worse)" if known is not None and known.direction != "none" else ""


def _by(of: Gap) -> str:
    if of.limits is None:
        return amount_of(of)
    low, high = figures_of(of, *of.limits)
    return f"{amount_of(of)} ({level_text(of.level)} {low} to {high})"


def _by_chance(of: Gap) -> str:
    """Of several groups, how large a gap is usual."""
    return "" if of.n_groups == 2 or of.chance is None else f"; {figures_of(of, of.chance)[0]} expected by chance"


def _ends(of: Gap) -> str:
    """The two groups at the ends of a difference, the one that is served worse first."""
    first, second = of.worst, of.best
    if of.n_groups > 2:
        start = f"{way(of, first, second, ends=True)} in {group_of(of, first)}"
        return as_sentence(f"{start}, {way(of, second, first, ends=True)} in {group_of(of, second)}")
    return as_sentence(f"{way(of, first, second)} in {group_of(of, first)} than in {group_of(of, second)}")


def _both(of: Gap) -> str:
    """The two groups at the ends where no difference is shown, without a word on which is better."""
    if of.worst[0] == of.best[0]:
        return f"{figures_of(of, told(of.metric, of.worst[1]))[0]}{sign(of.metric)} in every group"
    return f"{group_of(of, of.worst)}{' to ' if of.n_groups > 2 else ', '}{group_of(of, of.best)}"
