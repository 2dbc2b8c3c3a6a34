"""The plan: what only the user knows of an evaluation, such as the intended use; what is missing is "not stated"."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError, Problems, listing, near
from fmfair.metrics.registry import list_metrics, requested

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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
        data: The data set, its version, and when it was collected.
        population: For whom it is meant, and whom the evaluated rows come from.
        reference_standard: How the truth was found, by whom.
        thresholds: Where the thresholds come from.
        groups: The groups named in advance, such as `"age >=60"`, each with the reason.
        groups_without_data: Groups of interest that the data do not hold, each with the reason.
        claim: Whether something is claimed for groups, and what.
        criteria: Acceptance criteria, by metric.
        pre_specified: The attributes and other analyses that were settled before the data were seen.
        recorded_by: By attribute, who recorded it: the patient, a clerk, a model.
        author: Who answers for the report.
        date: When the plan was made.
        limits: Limits that the author knows of.
    """

    title: str = ""
    intended_use: str = ""
    unit: str = ""
    data: str = ""
    population: str = ""
    reference_standard: str = ""
    thresholds: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    groups_without_data: Mapping[str, str] = field(default_factory=dict)
    claim: str = ""
    criteria: Mapping[str, Criterion] = field(default_factory=dict)
    pre_specified: tuple[str, ...] = ()
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
    given = source if isinstance(source, Mapping) else _read(Path(source).expanduser())
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


def _read(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise FmfairError(f"cannot read the plan {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FmfairError(f"cannot read the plan {path}: it is not TOML: {error}") from error


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
            requested([metric], list_metrics())
            found[str(metric)] = _criterion(f"{where}: {metric}", entry)
    problems.raise_if_any()
    return found


def _criterion(where: str, value: object) -> Criterion:
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
        elif isinstance(limit, bool) or not isinstance(limit, int | float) or not math.isfinite(limit):
            problems.add(f"{where}: {key} is {limit!r}; expected a number")
    problems.raise_if_any()
    return Criterion(value.get("at_least"), value.get("at_most"), _text(where, value.get("text")))


_READERS: Mapping[str, Callable[[str, object], Any]] = {
    "groups": _reasons,
    "groups_without_data": _reasons,
    "recorded_by": _reasons,
    "claim": _claim,
    "date": _date,
    "criteria": _criteria,
    "pre_specified": _texts,
    "limits": _texts,
}
