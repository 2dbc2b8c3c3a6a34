"""The plan: what only the user knows of an evaluation, such as the intended use; what is missing is "not stated"."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from numbers import Real
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError, Problems, listing, near
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import list_metrics, requested
from fmfair.toml import read_toml

NOT_STATED = "not stated"
CLAIMS = {True: "a claim is made for groups", False: "no claim is made for groups"}
# What a table of an acceptance criterion may say.
_LIMITS = ("at_least", "at_most", "text")


@dataclass(frozen=True)
class Criterion:
    """What a metric has to reach in all rows and in every group; judged on the limits of intervals, never on values.

    Attributes:
        at_least: What the lower limit of the interval has to reach.
        at_most: What the upper limit must not exceed.
        text: The criterion in words, which are shown and not judged.
    """

    at_least: float | None = None
    at_most: float | None = None
    text: str = ""


@dataclass(frozen=True)
class Plan:
    """What was to be found out, and how, in the words of the user; everything may be missing.

    Attributes:
        title: Of the report.
        intended_use: What the model is for, in whose hands.
        unit: What one row is, in the singular: `image`, `examination`.
        model: What is evaluated, as a sentence names it: `the text-mined label`.
        data: The data set, its version, and when it was collected.
        population: For whom it is meant, and whom the evaluated rows come from.
        reference_standard: How the truth was found, by whom.
        thresholds: Where the thresholds come from.
        groups: The groups named in advance, such as `"age >=60"`, each with the reason.
        groups_without_data: Groups of interest that the data do not hold, each with the reason.
        claim: Whether something is claimed for groups, and what.
        criteria: Acceptance criteria, by metric.
        pre_specified: The attributes and other analyses that were settled before the data were seen.
        descriptions: What groups are, such as `"view AP"`, in words.
        recorded_by: By attribute, who recorded it: the patient, a clerk, a model.
        author: Who answers for the report.
        date: When the plan was made.
        limits: Limits that the author knows of.
    """

    title: str = ""
    intended_use: str = ""
    unit: str = ""
    model: str = ""
    data: str = ""
    population: str = ""
    reference_standard: str = ""
    thresholds: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    groups_without_data: Mapping[str, str] = field(default_factory=dict)
    claim: str = ""
    criteria: Mapping[str, Criterion] = field(default_factory=dict)
    pre_specified: tuple[str, ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    recorded_by: Mapping[str, str] = field(default_factory=dict)
    author: str = ""
    date: str = ""
    limits: tuple[str, ...] = ()


def plan_of(source: Plan | Mapping[str, Any] | str | os.PathLike[str] | None) -> Plan:
    """The plan of a mapping, or of a TOML file with the same keys.

    Args:
        source: The mapping or the path; None for a plan in which nothing is stated.

    Raises:
        FmfairError: A key is not known or holds something else than it should, or the file cannot be read; all
            problems are reported.

    Examples:
        >>> plan = plan_of({"population": "adults", "criteria": {"tpr": {"at_least": 0.8}}, "claim": False})
        >>> plan.population, plan.criteria["tpr"].at_least, plan.claim, plan.intended_use
        ('adults', 0.8, 'no claim is made for groups', '')
        >>> plan_of({"populaton": "adults"})
        Traceback (most recent call last):
        ...
        fmfair.errors.FmfairError: plan: no key 'populaton'; did you mean 'population'?
    """
    if source is None or isinstance(source, Plan):
        return source or Plan()
    if not isinstance(source, Mapping | str | os.PathLike):
        kind = type(source).__name__  # type: ignore[unreachable]
        raise FmfairError(f"plan is of the type {kind!r}; expected a mapping, or the path of a TOML file")
    given = source if isinstance(source, Mapping) else read_toml(source, "the plan")
    problems, found = Problems(), {}
    known = [entry.name for entry in fields(Plan)]
    for key, value in given.items():
        with problems.collecting():
            if key not in known:
                hint = near(str(key), known) or f"; expected some of {', '.join(known)}"
                raise FmfairError(f"plan: no key {key!r}{hint}")
            found[key] = _READERS.get(key, _text)(f"plan: {key}", value)
    problems.raise_if_any()
    return Plan(**found)


def template() -> str:
    """A TOML file with every key of a plan, each with what belongs there, in which nothing is stated yet."""
    return (Path(__file__).parent / "templates" / "plan.toml").read_text(encoding="utf-8")


def _text(where: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FmfairError(f"{where} is {value!r}; expected text")
    return value.strip()


def _texts(where: str, value: object) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise FmfairError(f"{where} is {value!r}; expected a list of texts")
    return tuple(text for item in items if (text := _text(where, item)))


def _reasons(where: str, value: object) -> dict[str, str]:
    """Texts by name; a list of names gives no reasons."""
    if isinstance(value, str | list | tuple):
        return dict.fromkeys(_texts(where, value), "")
    if not isinstance(value, Mapping):
        raise FmfairError(f"{where} is {value!r}; expected a table of texts by name")
    problems, found = Problems(), {}
    for name, text in value.items():
        with problems.collecting():
            found[str(name)] = _text(f"{where}: {name}", text)
    problems.raise_if_any()
    return found


def _claim(where: str, value: object) -> str:
    return CLAIMS[value] if isinstance(value, bool) else _text(where, value)


def _date(where: str, value: object) -> str:
    return value.isoformat() if isinstance(value, date | datetime) else _text(where, value)


def _criteria(where: str, value: object) -> dict[str, Criterion]:
    if not isinstance(value, Mapping):
        raise FmfairError(f"{where} is {value!r}; expected a table with one criterion per metric")
    problems, found = Problems(), {}
    for metric, entry in value.items():
        with problems.collecting():
            found[str(metric)] = _criterion(f"{where}: {metric}", entry, _metric(where, metric))
    problems.raise_if_any()
    return found


def _criterion(where: str, value: object, of: Metric) -> Criterion:
    if isinstance(value, str):
        return Criterion(text=value.strip())
    if not isinstance(value, Mapping) or not value:
        raise FmfairError(f"{where} is {value!r}; expected text, or a table such as {{at_least = 0.8}}")
    problems = Problems()
    for key, limit in value.items():
        if key not in _LIMITS:
            problems.add(f"{where}: no key {key!r}{near(str(key), _LIMITS)}; expected some of {listing(_LIMITS)}")
        elif key == "text":
            with problems.collecting():
                _text(f"{where}: text", limit)
        else:
            with problems.collecting():
                _check_limit(f"{where}: {key}", limit, of)
    problems.raise_if_any()
    least, most = (None if value.get(key) is None else float(value[key]) for key in ("at_least", "at_most"))
    if least is not None and most is not None and least > most:
        raise FmfairError(f"{where}: at_least is {least:g} and at_most {most:g}, which no value reaches")
    return Criterion(least, most, _text(where, value.get("text")))


def _metric(where: str, name: object) -> Metric:
    try:
        (found,) = requested([name], list_metrics())  # type: ignore[list-item]
    except FmfairError as error:
        raise FmfairError(f"{where}: {error}") from None
    return found


def _check_limit(where: str, limit: object, of: Metric) -> None:
    """Raises where a limit is no number, or none that the metric can have, such as 80 for 80%."""
    if isinstance(limit, bool) or not isinstance(limit, Real) or not abs(limit) <= sys.float_info.max:  # type: ignore[operator]
        raise FmfairError(f"{where} is {limit!r}; expected a number")
    number = float(limit)
    if (of.low is not None and number < of.low) or (of.high is not None and number > of.high):
        bounds = f"from {of.low:g}" if of.high is None else f"from {of.low:g} to {of.high:g}"
        raise FmfairError(f"{where} is {limit!r}; expected a number {bounds}")


_READERS: Mapping[str, Callable[[str, object], Any]] = {
    "groups": _reasons,
    "groups_without_data": _reasons,
    "descriptions": _reasons,
    "recorded_by": _reasons,
    "claim": _claim,
    "date": _date,
    "criteria": _criteria,
    "pre_specified": _texts,
    "limits": _texts,
}
