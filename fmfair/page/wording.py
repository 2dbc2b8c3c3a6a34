"""The sentences of the page that say what values, thresholds and models are: pure functions of numbers and names.

A sentence says what the sample shows, how sure that is, and how many samples carry it; none passes a verdict. Those on
differences between groups are in `fmfair.page.gap_wording`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fmfair.errors import plural
from fmfair.numerals import (
    COUNTS_ONLY,
    FRACTIONS,
    carried_by,
    figures,
    level_text,
    sign,
    spoken,
    unit,
)
from fmfair.page.carried import carried
from fmfair.render import visible
from fmfair.shown import metric_of

_RULES: Mapping[str, str] = {
    "best_f1": "the best F1",
    "youden": "the largest Youden index",
    "tpr": "a sensitivity of {}",
    "tnr": "a specificity of {}",
}
# Per 1,000, or per 10,000 where fewer than this many of 1,000 are cases.
FEW_CASES = 10


def subject(metric: str) -> str:
    """What a sentence on values is about.

    Examples:
        >>> subject("tpr"), subject("tp")
        ('sensitivity', 'the number of true positives')
    """
    known = metric_of(metric)
    return f"the number of {spoken(metric)}" if known is not None and known.family == "count" else spoken(metric)


def undefined(reason: str | None) -> str:
    """A value that does not exist.

    Examples:
        >>> undefined("no positives"), undefined("suppressed")
        ('not defined: no positives', 'suppressed')
    """
    if reason == "suppressed":
        return "suppressed"
    return f"not defined: {visible(reason)}" if reason else "not defined"


def too_few(count: int, denominator: str, rows: str = "row") -> str:
    """What is said in place of a value that hardly any samples carry.

    Examples:
        >>> too_few(8, "n_pos")
        '8 positives: counts only.'
    """
    return f"{carried_by(count, denominator, rows)}: counts only."


def share(value: float, low: float | None, high: float | None, count: int, of: str = "row") -> str:
    """A share of so many samples, with its fraction where these are fewer than 100.

    Args:
        value: The share.
        low: Lower limit of its interval.
        high: Upper limit.
        count: How many samples it is a share of.
        of: The denominator of the metric, or what a sample is.

    Examples:
        >>> share(0.8, 0.49, 0.943, 10, "n_pos")
        '8 of 10 (80%; 49 to 94)'
        >>> share(0.81, 0.77, 0.842, 500, "n_pos"), share(0.75, 0.3, 0.95, 4, "n_pos")
        ('81.0% (77.0 to 84.2; 500 positives)', '4 positives: counts only.')
    """
    if count < COUNTS_ONLY:
        return too_few(count, of, of)
    known = low is not None and high is not None
    numbers = [value, low, high] if low is not None and high is not None else [value]
    texts = figures("accuracy", numbers, high - low if low is not None and high is not None else None)
    within = f"{texts[1]} to {texts[2]}" if known else "no interval"
    if count < FRACTIONS:
        return f"{round(value * count):,} of {count:,} ({texts[0]}%; {within})"
    return f"{texts[0]}% ({within}; {carried_by(count, of, of)})"


def value(metric: str, number: float, low: float | None, high: float | None, level: float | None = None) -> str:
    """A value with its interval.

    Examples:
        >>> value("auc", 0.8421, 0.8012, 0.8763, 0.95), value("tpr", 0.4, None, None)
        ('0.842 (95% interval 0.801 to 0.876)', '40.0%')
        >>> value("tp", 1160.0, None, None)
        '1,160'
    """
    known = metric_of(metric)
    if known is not None and known.family == "count":
        return f"{number:,.6g}"
    if low is None or high is None:
        return f"{figures(metric, [number])[0]}{sign(metric)}"
    middle, lower, upper = figures(metric, [number, low, high], high - low)
    return f"{middle}{sign(metric)} ({level_text(level)} {lower} to {upper})"


def over_all(metric: str, row: Mapping[str, Any], level: float | None, rows: str = "row") -> str:
    """The value on all rows with its interval and what carries it.

    Examples:
        >>> row = {"value": 0.458, "ci_low": 0.392, "ci_high": 0.526, "n": 4376, "n_pos": 238, "denominator": 238}
        >>> over_all("tpr", row, 0.95, "image")
        'Over all images, sensitivity was 46% (95% interval 39 to 53; 238 positives).'
    """
    name = subject(metric)
    if row["value"] is None:
        return f"Over all {rows}s, {name} is {undefined(row.get('note'))}."
    count, of = carried({"metric": metric, **row})
    behind = "" if count is None else carried_by(count, of, rows)
    text = value(metric, row["value"], row.get("ci_low"), row.get("ci_high"), level)
    low, high = row.get("bound_low"), row.get("bound_high")
    if low is not None and high is not None and figures(metric, [low]) != figures(metric, [high]):
        ends = [f"{end}{sign(metric)}" for end in figures(metric, [low, high])]
        behind = f"from counts, which leave open {' to '.join(ends)}{f'; {behind}' if behind else ''}"
        text = f"about {text}"
    if behind:
        text = f"{text[:-1]}; {behind})" if text.endswith(")") else f"{text} ({behind})"
    return f"Over all {rows}s, {name} was {text}."


def tuned(threshold: float | None, rule: str) -> str:
    """A threshold that was chosen on the labels that it is judged by.

    Examples:
        >>> tuned(0.35241, "tpr=0.9")
        'Threshold 0.3524 was chosen on these labels (for a sensitivity of 0.9); rates are optimistic.'
    """
    name, _, number = rule.partition("=")
    why = _RULES.get(name, "{}").format(number or name)
    which = "The threshold" if threshold is None else f"Threshold {threshold:.4g}"
    return f"{which} was chosen on these labels (for {why}); rates are optimistic."


def exploratory(comparisons: int, screen: float | None = None) -> str:
    """What was looked at without having been settled before.

    Args:
        comparisons: How many comparisons were made.
        screen: The share of false finds that a screen over all of them was held to.

    Examples:
        >>> exploratory(12, 0.1), exploratory(1)
        ('Exploratory, 12 comparisons, screen at q = 0.10.', 'Exploratory, 1 comparison.')
        >>> exploratory(12)
        'Exploratory, 12 comparisons; intervals and p values take no account of their number.'
    """
    text = f"Exploratory, {plural(comparisons, 'comparison')}"
    if screen is not None:
        return f"{text}, screen at q = {screen:.2f}."
    return f"{text}; intervals and p values take no account of their number." if comparisons > 1 else f"{text}."


def pre_specified(comparisons: int) -> str:
    """What was looked at as it had been settled before.

    Examples:
        >>> pre_specified(6)
        "Pre-specified, 6 comparisons, adjusted by Holm's method."
    """
    return f"Pre-specified, {plural(comparisons, 'comparison')}, adjusted by Holm's method."


def model_difference(
    metric: str,
    models: tuple[str, str],
    difference: tuple[float, float | None, float | None],
    level: float | None = None,
    unit_of_analysis: str = "patients",
) -> str:
    """One model less another on the same patients, with the interval of the difference.

    Examples:
        >>> model_difference("auc", ("A", "B"), (0.03, 0.0101, 0.05), 0.95)
        'A minus B, same patients: AUC 0.030 (95% interval 0.010 to 0.050).'
    """
    middle, low, high = difference
    who = f"{visible(models[0])} minus {visible(models[1])}, same {unit_of_analysis}: {spoken(metric)}"
    if low is None or high is None:
        return f"{who} {figures(metric, [middle])[0]}{unit(metric)} (no interval)."
    texts = figures(metric, [middle, low, high], high - low)
    return f"{who} {texts[0]}{unit(metric)} ({level_text(level)} {texts[1]} to {texts[2]})."


def of_a_thousand(
    prevalence: float,
    sensitivity: tuple[float, float | None, float | None],
    specificity: tuple[float, float | None, float | None],
    rows: str = "patient",
    model: str = "the model",
) -> str:
    """What the rates mean for 1,000 of a group at a stated prevalence; for 10,000 where cases are rare.

    Args:
        prevalence: The share of cases.
        sensitivity: Its value and interval.
        specificity: Its value and interval.
        rows: What is counted.
        model: What is evaluated.

    Examples:
        >>> of_a_thousand(0.1, (0.8, 0.71, 0.87), (0.9, 0.88, 0.92))
        'Of 1,000 such patients with 100 cases, the model finds 80 (71 to 87), misses 20 and wrongly flags 90 (72 to
        108).'
    """
    size = 1000 if 1000 * prevalence >= FEW_CASES else 10_000
    cases = round(size * prevalence)
    found, flagged = round(cases * sensitivity[0]), round((size - cases) * (1 - specificity[0]))
    finds = f"{found:,}{_counts_within(cases, sensitivity[1], sensitivity[2])}"
    low, high = (None if limit is None else 1 - limit for limit in (specificity[2], specificity[1]))
    flags = f"{flagged:,}{_counts_within(size - cases, low, high)}"
    who = f"Of {size:,} such {rows}s with {plural(cases, 'case')}"
    return f"{who}, {model} finds {finds}, misses {cases - found:,} and wrongly flags {flags}."


def _counts_within(of: int, low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({round(of * low):,} to {round(of * high):,})"
