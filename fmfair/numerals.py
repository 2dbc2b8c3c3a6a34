"""Numbers as a reader needs them: shares as per cent, no more digits than the interval supports, exact counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fmfair.errors import plural
from fmfair.metrics.registry import REGISTRY
from fmfair.shown import metric_of

# Decimals of a rate or an AUC; one fewer where the interval is at least this wide.
FINE, COARSE, WIDE = 3, 2, 0.1
# Below these counts a share is its fraction too; below the other it is nothing else.
FRACTIONS, COUNTS_ONLY = 100, 10
# Shorter than the titles of the registry, which say every name that a metric has.
_SPOKEN: Mapping[str, str] = {
    "auc": "AUC",
    "average_precision": "average precision",
    "tpr": "sensitivity",
    "ppv": "positive predictive value",
    "tnr": "specificity",
    "bce": "cross-entropy",
    "ece": "expected calibration error",
}
_CARRIED: Mapping[str, str] = {
    "n_pos": "positive",
    "n_neg": "negative",
    "n_pred_pos": "predicted positive",
    "n_pred_neg": "predicted negative",
}


def spoken(metric: str) -> str:
    """The name of a metric in a sentence.

    Examples:
        >>> spoken("tpr"), spoken("dice"), spoken("partial_auc(fpr=(0, 0.2))")
        ('sensitivity', 'mean Dice', 'partial_auc(fpr=(0, 0.2))')
    """
    known = REGISTRY.get(metric)
    return _SPOKEN.get(metric) or (known.title if known else metric)


def as_sentence(text: str) -> str:
    """The text with a capital at its start.

    Examples:
        >>> as_sentence("sensitivity was lower")
        'Sensitivity was lower'
    """
    return text[:1].upper() + text[1:]


def joined(texts: Sequence[str]) -> str:
    """Texts as a list in a sentence.

    Examples:
        >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"])
        ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def in_percent(metric: str) -> bool:
    """Whether the values of a metric are shares of samples, which are told in per cent."""
    known = metric_of(metric)
    return known is not None and known.interval == "proportion"


def figures(metric: str, numbers: Sequence[float], width: float | None = None) -> list[str]:
    """Numbers on the scale of a metric, all with the digits that an interval of this width supports.

    What is not 0 or 1 is never rounded to it.

    Args:
        metric: The metric, shares in per cent but without the sign.
        numbers: Values, limits or differences.
        width: From one limit of the interval to the other; None where there is none.

    Examples:
        >>> figures("tpr", [0.22005, 0.0845, 0.34473], 0.26)
        ['22', '8', '34']
        >>> figures("auc", [0.8421, 0.81, 0.87], 0.06), figures("tpr", [0.0, 0.0023], 0.2), figures("auc", [0.0001])
        (['0.842', '0.810', '0.870'], ['0.0', '0.2'], ['below 0.001'])
    """
    percent = in_percent(metric)
    places = COARSE if width is not None and width >= WIDE else FINE
    if any(_hides_an_edge(number, places) for number in numbers):
        places = FINE
    return [_figure(number, places, percent=percent) for number in numbers]


def _hides_an_edge(number: float, places: int) -> bool:
    return any(number != edge and round(number, places) == edge for edge in (0.0, 1.0))


def _figure(number: float, places: int, *, percent: bool) -> str:
    """A number with so many decimals; of a share two of these are before the point of the per cent."""
    scale, decimals = (100, places - 2) if percent else (1, places)
    shown, before = round(number, places), ""
    if _hides_an_edge(number, places):
        before = "below " if number > shown else "above "
        shown += 10.0**-places if number > shown else -(10.0**-places)
    text = f"{scale * shown:,.{decimals}f}"
    return before + (text.removeprefix("-") if shown == 0 else text)


def unit(metric: str) -> str:
    """What stands behind a difference of a metric."""
    return " percentage points" if in_percent(metric) else ""


def sign(metric: str) -> str:
    """What stands behind a value of a metric."""
    return "%" if in_percent(metric) else ""


def amount(metric: str, value: float) -> str:
    """A value of a metric, shares in per cent, counts as they are.

    Examples:
        >>> amount("tpr", 0.8567), amount("auc", 0.8567), amount("tp", 1700.0)
        ('85.7%', '0.857', '1,700')
    """
    known = metric_of(metric)
    if known is not None and known.family == "count":
        return f"{value:,.6g}"
    (text,) = figures(metric, [value])
    return f"{text}%" if in_percent(metric) else text


def difference(metric: str, value: float) -> str:
    """A difference of a metric, between shares in percentage points.

    Examples:
        >>> difference("tpr", 0.2201), difference("auc", -0.034)
        ('22.0 points', '-0.034')
    """
    (text,) = figures(metric, [value])
    return f"{text} points" if in_percent(metric) else text


def carried_by(count: int, denominator: str, rows: str = "row") -> str:
    """The count that carries a value, named.

    Examples:
        >>> carried_by(8, "n_pos"), carried_by(1, "n", "image"), carried_by(12, "n_pred_pos")
        ('8 positives', '1 image', '12 predicted positives')
    """
    if denominator == "n_rarer":
        return f"{count:,} of the rarer class"
    return plural(count, _CARRIED.get(denominator, rows))


def carriers(counts: Sequence[int | None], denominator: str, rows: str = "row") -> str:
    """The counts behind several values, where all are known.

    Examples:
        >>> carriers([97, 141], "n_pos"), carriers([97, None], "n_pos")
        ('97 and 141 positives', '')
    """
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return ""
    first = " and ".join(f"{count:,}" for count in known[:-1])
    last = carried_by(known[-1], denominator, rows)
    return f"{first} and {last}" if first else last


def p_text(p: float) -> str:
    """A p value with two digits.

    Examples:
        >>> p_text(0.0312), p_text(0.0002), p_text(0.5606), p_text(0.998)
        ('p = 0.031', 'p < 0.001', 'p = 0.56', 'p > 0.99')
    """
    if p < 0.001:
        return "p < 0.001"
    if p > 0.99:
        return "p > 0.99"
    decimals = 2 if p >= 0.0995 else 3 if p >= 0.00995 else 4
    return f"p = {p:.{decimals}f}"


def level_text(level: float | None) -> str:
    """What an interval of a level is called.

    Examples:
        >>> level_text(0.95), level_text(None)
        ('95% interval', 'interval')
    """
    return "interval" if level is None else f"{100 * level:.6g}% interval"
