"""The texts of the command line as the values that the Python API takes."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from fmfair.errors import FmfairError, listing

TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no")
_DECIMAL_COMMA = re.compile(r"(?:(?:tpr|tnr)=)?[+-]?\d*,\d+")


def column_names(texts: Sequence[str], names: Collection[str]) -> list[str]:
    """Column names from texts that may hold several, separated by commas.

    A text that is a column as it stands is that column, also where its name holds a comma.

    Examples:
        >>> column_names(["sex,age", "site"], ["sex", "age", "site"])
        ['sex', 'age', 'site']
        >>> column_names(["Race, self-reported,sex"], ["sex", "Race, self-reported"])
        ['Race, self-reported', 'sex']
    """
    found: list[str] = []
    for text in texts:
        parts = text.split(",")
        while parts:
            found.append(_longest(parts, names))
    return [name for name in found if name]


def _longest(parts: list[str], names: Collection[str]) -> str:
    """Takes the longest column name at the start of the parts off them; one part where there is none."""
    for count in range(len(parts), 0, -1):
        text = ",".join(parts[:count])
        for name in (text, text.strip()):
            if name in names:
                del parts[:count]
                return name
    return parts.pop(0).strip()


def assigned(texts: Sequence[str], flag: str, example: str) -> dict[str, str]:
    """`name=value` by name.

    Examples:
        >>> assigned(["sex=M", "site=St. Mary = West"], "--reference", "sex=M")
        {'sex': 'M', 'site': 'St. Mary = West'}
    """
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (sign and name.strip() and value.strip()):
            raise FmfairError(f"{flag} {text}: expected a name and a value, such as {example}")
        found[name.strip()] = value.strip()
    return found


def bins(texts: Sequence[str]) -> dict[str, int | list[float]]:
    """`age=40,60` (cut points) or `age=q4` (quantile groups), by column.

    Examples:
        >>> bins(["age=40,60", "bmi=q4"])
        {'age': [40.0, 60.0], 'bmi': 4}
    """
    found: dict[str, int | list[float]] = {}
    for text in texts:
        column, _, spec = (part.strip() for part in text.rpartition("="))
        try:
            value = int(spec[1:]) if spec[:1] in ("q", "Q") else [float(p) for p in spec.split(",") if p.strip()]
        except ValueError:
            value = []
        if not column or not value:
            raise FmfairError(f"--bins {text!r}: use COLUMN=40,60 (cut points) or COLUMN=q4 (quantile groups)")
        if column in found:
            raise FmfairError(f"--bins: column {column!r} has bins twice")
        found[column] = value
    return found


def pairs(texts: Sequence[str], names: Collection[str]) -> dict[str, tuple[str, str]]:
    """`NAME=Y_TRUE,Y_SCORE` by name.

    Examples:
        >>> pairs(["edema=truth_e,model_e"], ["truth_e", "model_e"])
        {'edema': ('truth_e', 'model_e')}
    """
    found: dict[str, tuple[str, str]] = {}
    for text in texts:
        name, equals, columns = text.partition("=")
        pair = column_names([columns], names)
        if not (name.strip() and equals and len(pair) == 2):
            raise FmfairError(f"--pair {text!r}: use NAME=Y_TRUE,Y_SCORE, for example edema=expert_edema,model_edema")
        if name.strip() in found:
            raise FmfairError(f"--pair: the name {name.strip()!r} occurs twice")
        found[name.strip()] = (pair[0], pair[1])
    return found


def thresholds(texts: Sequence[str]) -> list[float | str]:
    """Numbers and rules, one per text.

    Raises:
        FmfairError: A text holds a comma, which may stand for a decimal point or between two thresholds.

    Examples:
        >>> thresholds(["0.3", "0.5", "best_f1"])
        [0.3, 0.5, 'best_f1']
    """
    for text in texts:
        if "," in text:
            raise FmfairError(f"--threshold {text}: {_ways_without_comma(text.strip())}")
    items = [text.strip() for text in texts if text.strip()]
    return [item if (value := number(item)) is None else float(value) for item in items]


def _ways_without_comma(text: str) -> str:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    decimal = [f"--threshold {text.replace(',', '.')} for a decimal number"] if _DECIMAL_COMMA.fullmatch(text) else []
    plain = f"--threshold {' '.join(parts)}" + (" for several thresholds" if len(parts) > 1 else "")
    return f"a comma neither makes a decimal number nor separates thresholds; write {' or '.join([*decimal, plain])}"


def metrics(texts: Sequence[str]) -> str | list[str]:
    """Names of metrics, split at commas outside brackets; `all` for all of them.

    Examples:
        >>> metrics(["auc,tpr", "partial_auc(fpr=(0, 0.2)),ece"])
        ['auc', 'tpr', 'partial_auc(fpr=(0, 0.2))', 'ece']
    """
    items: list[str] = []
    for text in texts:
        depth, start = 0, 0
        for i, char in enumerate(text + ","):
            depth += (char in "([") - (char in ")]")
            if char == "," and (depth == 0 or i == len(text)):
                items.append(text[start:i].strip())
                start = i + 1
    items = [item for item in items if item]
    return "all" if "all" in items else items


def intersections(texts: Sequence[str], names: Collection[str]) -> int | str | list[tuple[str, ...]]:
    """A number, `all`, or combinations such as `sex,age`.

    Examples:
        >>> intersections(["2"], []), intersections(["sex,age", "sex,site"], ["sex", "age", "site"])
        (2, [('sex', 'age'), ('sex', 'site')])
    """
    whole = [text.strip() for text in texts]
    if len(whole) == 1 and (whole[0] == "all" or whole[0].isdecimal()):
        return "all" if whole[0] == "all" else int(whole[0])
    combinations = [tuple(column_names([text], names)) for text in texts]
    if not all(len(combination) > 1 for combination in combinations):
        raise FmfairError(
            f"--intersections {listing(texts)}: use a number (2 = all pairs), all, or combinations of columns such as "
            "sex,age"
        )
    return combinations


def level(text: str) -> float | None:
    """A confidence level; None for `none`.

    Examples:
        >>> level("0.9"), level("none")
        (0.9, None)
    """
    if text.strip().lower() == "none":
        return None
    value = number(text)
    if value is None:
        raise FmfairError(f"--ci {text}: expected a level such as 0.95, or none to leave the intervals out")
    return float(value)


def number(text: str) -> int | float | None:
    """The number that a text spells; None where it spells none or NaN.

    Examples:
        >>> number("2"), number("0.5"), number("malignant")
        (2, 0.5, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() else value


def typed(text: str, dtype: pl.DataType | None) -> Any:
    """A label as the label column's type, e.g. 1 for a column of numbers; the text itself where it is no such value.

    Examples:
        >>> typed("1", pl.Int64()), typed("yes", pl.Boolean()), typed("1", pl.String())
        (1, True, '1')
    """
    if dtype is not None and dtype.is_numeric():
        value = number(text)
        return text if value is None else value
    if dtype == pl.Boolean and text.strip().lower() in (*TRUE, *FALSE):
        return text.strip().lower() in TRUE
    return text
