"""The order of groups in a table of counts: declared levels, or a natural order, that every table agrees with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import polars as pl

from fmfair.attributes import Attribute, natural_order
from fmfair.counting.facts import Facts
from fmfair.errors import FmfairError, Problems, listing

# Levels of an attribute of numbers: in rising order.
NUMBER = "number"


def agreed_levels(groups: pl.DataFrame, table: pl.DataFrame, facts: Facts, name: str) -> list[str | None]:
    """The column `levels` of every grouping, all rows first; only attributes alone have levels.

    Raises:
        FmfairError: Two tables declare other levels, or one has a group that the other does not declare.
    """
    given = table.lazy().filter(pl.col("attribute_parts").list.len() == 1)
    given = given.select(pl.col("attribute_parts").list.first().alias("attribute"), "levels").unique()
    said: dict[str, list[str | None]] = {}
    for attribute, levels in given.collect().iter_rows():
        said.setdefault(attribute, []).append(levels)
    seen: dict[str, list[str]] = {}
    for attributes, parts in groups.select("attribute_parts", "group_parts").iter_rows():
        if len(attributes) == 1 and parts[0] is not None:
            seen.setdefault(attributes[0], []).append(parts[0])
    problems = Problems()
    found: list[str | None] = [None]
    for parts in facts.groupings:
        levels = None
        with problems.collecting():
            if len(parts) == 1:
                levels = _one(parts[0], said.get(parts[0], []), seen.get(parts[0], []), name)
        found.append(levels)
    problems.raise_if_any()
    return found


def _one(attribute: str, texts: Iterable[str | None], groups: Sequence[str], name: str) -> str | None:
    """The longest declared list, in which all others must be contained in their order, and so must the groups."""
    read = {text: _read(text, attribute, name) for text in texts}
    declared = sorted({tuple(v) for v in read.values() if isinstance(v, list)}, key=lambda v: (-len(v), v))
    if not declared:
        return None if any(v is None for v in read.values()) or not read else json.dumps(NUMBER)
    longest = declared[0]
    for other in declared[1:]:
        remaining = iter(longest)
        if not all(level in remaining for level in other):
            raise FmfairError(
                f"{name}: attribute {attribute!r} has the levels {listing(longest, limit=8)} in one table and "
                f"{listing(other, limit=8)} in another; declare the same levels (or bins=) in every table"
            )
    strange = sorted(set(groups) - set(longest))
    if strange:
        raise FmfairError(
            f"{name}: attribute {attribute!r} has the levels {listing(longest, limit=8)} in one table and the groups "
            f"{listing(strange)} in another; declare the same levels (or bins=) in every table"
        )
    return json.dumps(list(longest), ensure_ascii=False)


def _read(text: str | None, attribute: str, name: str) -> list[str] | str | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = None
    are_levels = isinstance(value, list) and all(isinstance(v, str) for v in value) and len(set(value)) == len(value)
    if value != NUMBER and not are_levels:
        raise FmfairError(f"{name}: attribute {attribute!r} has levels {text[:60]!r}; expected a JSON list of texts")
    levels: list[str] | str = value
    return levels


def attribute_of(name: str, column: str, levels: str | None, groups: Sequence[str | None], missing: str) -> Attribute:
    """The attribute with its groups in their order, the missing one last.

    Args:
        name: Its name.
        column: What its codes are called.
        levels: As in the column `levels`.
        groups: The groups that occur, None for the missing one.
        missing: What that one is called, unless a group has the name.
    """
    read = None if levels is None else json.loads(levels)
    present = [g for g in groups if g is not None]
    if isinstance(read, list):
        labels = list(read)
    else:
        labels = sorted(present, key=_as_float) if read == NUMBER else natural_order(present)
    if None in groups:
        while missing in labels:
            missing = f"({missing})"
        labels.append(missing)
    return Attribute(name, column, tuple(labels), declared=isinstance(read, list))


def _as_float(name: str) -> tuple[float, str]:
    try:
        return float(name), name
    except ValueError:
        return float("inf"), name
