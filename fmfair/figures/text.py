"""Texts in figures: names broken into lines that fit, and numbers with the digits that they bear."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from fmfair.errors import FmfairError
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import REGISTRY, requested
from fmfair.numerals import amount, figures, in_percent
from fmfair.render import visible

# The name of all rows together, beside those of groups.
ALL = "all rows"
# The size of all texts but the title, and the height of their lines.
SIZE = 12
LINE = 15
# Widths of letters, as shares of their size, in the widest of the usual fonts.
_SLIM, _USUAL, _BROAD, _SQUARE = 0.36, 0.62, 0.82, 1.0
UNITS = {
    "n": "rows",
    "n_pos": "positives",
    "n_neg": "negatives",
    "n_pred_pos": "predicted positives",
    "n_pred_neg": "predicted negatives",
}
_DIRECTIONS = {"higher": "higher is better →", "lower": "← lower is better", "none": "neither direction is better"}


def width_of(text: str, size: float = SIZE) -> float:
    """About how wide a text is, in pixels; rather too much than too little.

    Examples:
        >>> width_of("MMM") > width_of("nnn") > width_of("iii")
        True
    """
    return size * sum(map(_letter, text))


@cache
def _letter(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return _SQUARE
    if letter in "iljtfrI.,;:'|! ()[]":
        return _SLIM
    return _BROAD if letter.isupper() or letter in "mwMW%@&" else _USUAL


def wrapped(text: str, width: float, size: float = SIZE) -> list[str]:
    """The text in lines that are no wider than so many pixels; nothing of it is lost but blanks at line ends.

    Examples:
        >>> wrapped("a name of several words", 90)
        ['a name of', 'several words']
        >>> "".join(wrapped("x" * 40, 80)) == "x" * 40
        True
    """
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and width_of(longer, size) > width:
            lines.append(line)
            longer = word
        *whole, line = _broken(longer, width, size)
        lines += whole
    return [*lines, line]


def name_lines(text: str, width: float, most: int = 4) -> list[str]:
    """A name in lines; of one with more lines than `most` the first ones and the last, where names differ.

    Examples:
        >>> name_lines("site " * 12 + "A", 60, most=3)
        ['site site', 'site sit…', 'A']
    """
    lines = wrapped(text, width)
    return lines if len(lines) <= most else [*lines[: most - 2], f"{lines[most - 2][:-1]}…", lines[-1]]


def _broken(word: str, width: float, size: float) -> list[str]:
    """A word in pieces that fit."""
    if width_of(word, size) <= width:
        return [word]
    pieces, piece = [], ""
    for letter in word:
        if piece and width_of(piece + letter, size) > width:
            pieces.append(piece)
            piece = ""
        piece += letter
    return [*pieces, piece]


def name_of(group: str | None) -> str:
    """The name of a group on one line, with what does not print as escapes."""
    return "(missing)" if group is None else visible(group)


@lru_cache(256)
def metric_of(name: str) -> Metric | None:
    """The metric of that name, with its parameters."""
    try:
        return requested([name], tuple(REGISTRY.values()))[0]
    except FmfairError:
        return None


def short_name(name: str) -> str:
    """What a metric is called in titles: `AUC`, `sensitivity`.

    Examples:
        >>> short_name("auc"), short_name("tpr"), short_name("tpr_at_fpr(0.2)")
        ('AUC', 'sensitivity', 'sensitivity at FPR 0.2')
    """
    metric = metric_of(name)
    return visible(name) if metric is None else metric.title.partition(" (")[0]


def axis_lines(name: str, width: float) -> list[str]:
    """What stands at the axis of a metric, in lines: its name, its range, and which direction is better.

    Examples:
        >>> axis_lines("tpr", 400)
        ['sensitivity (TPR, recall), from 0 to 100%', 'higher is better →']
    """
    metric = metric_of(name)
    if metric is None:
        return wrapped(visible(name), width)
    bounded = None not in (metric.low, metric.high)
    ends = "0 to 100%" if in_percent(name) else f"{metric.low:.3g} to {metric.high:.3g}" if bounded else ""
    whole = wrapped(f"{metric.title}, from {ends}" if ends else metric.title, width)
    first = whole if len(whole) == 1 or not ends else [*wrapped(metric.title, width), f"from {ends}"]
    return [*first, _DIRECTIONS[metric.direction]]


def with_interval(metric: str, value: float, low: float | None, high: float | None) -> str:
    """A value with its interval.

    Examples:
        >>> with_interval("tpr", 0.8567, 0.821, 0.8887), with_interval("auc", 0.5, None, None)
        ('85.7% (82.1 to 88.9)', '0.500')
    """
    shown = amount(metric, value)
    return shown if low is None or high is None else f"{shown} ({' to '.join(figures(metric, [low, high]))})"


def apart(ends: Sequence[tuple[float, str]], shown: Callable[[float], str]) -> str:
    """The lowest and the highest of some values with their names; one where they look the same, or there is one.

    Examples:
        >>> apart([(0.8, "F"), (0.6, "M")], "{:.1f}".format), apart([(0.62, "F"), (0.61, "M")], "{:.1f}".format)
        ('0.6 (M) to 0.8 (F)', '0.6')
    """
    (low, least), (high, most) = min(ends), max(ends)
    return shown(low) if shown(low) == shown(high) else f"{shown(low)} ({least}) to {shown(high)} ({most})"


def first_few(parts: Sequence[str], most: int = 12, more: Callable[[int], str] = "and {} more".format) -> str:
    """The first parts as a sentence, and how many there are beyond."""
    left = len(parts) - most
    return "; ".join([*parts[:most], more(left)] if left > 0 else parts)
