"""The keys by which rows are counted: raw values in the engine, named as groups once the counts are small."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import narwhals as nw
import polars as pl

from fmfair.attributes import AGE_CUTS, MAX_CONTINUOUS, check_distinct, encode, looks_continuous, natural_order
from fmfair.binning import bin_codes, bin_labels
from fmfair.columns import normalise
from fmfair.convert import text_of
from fmfair.counting.levels import NUMBER
from fmfair.counting.query import cut, extent, sizes, spread
from fmfair.errors import FmfairError, Problems
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.tally import Tally

# An attribute with more groups, as far as its size is known, is looked at as a whole before anything is counted by it.
SUSPICIOUS = 2_000
# Attributes are counted together, and added up later, while they have no more combinations than this: the sums of more
# times 4000 bins do not stay in a processor's cache. Where Polars groups, its memory would grow with the rows.
TOGETHER = 12


@dataclass(frozen=True)
class Key:
    """An attribute as the engine groups by it.

    Attributes:
        name: The attribute.
        column: The column of raw values or interval numbers.
        dtype: The type of the attribute's own column.
        edges: The cut points, where the engine cuts numbers.
        size: Roughly how many groups there are, at least 1.
    """

    name: str
    column: str
    dtype: pl.DataType
    edges: tuple[float, ...] | None = None
    size: int = 1


class Counted(Tally):
    """A tally of rows that are not numbered."""

    def at(self, which: pl.Series) -> str:  # noqa: ARG002 - there is nothing to look it up in
        """Nowhere in particular."""
        return "rows are not looked up in counts"


def keys_of(
    frame: nw.LazyFrame[Any], names: Mapping[str, str], schema: pl.Schema, options: Options, notes: Notes
) -> list[Key]:
    """The attributes as keys; `names` are the attributes by their columns in the frame.

    Raises:
        FmfairError: An attribute cannot name groups, is a measurement without cut points, or nearly every row has
            another value; all are reported.
    """
    problems = Problems()
    keys: list[Key] = []
    for column, name in names.items():
        with problems.collecting():
            keys.append(Key(name, column, schema[name], _edges(name, schema[name], options)))
    problems.raise_if_any()
    size = sizes(frame, [key.column for key in keys if key.edges is None])
    found = []
    for key in keys:
        with problems.collecting():
            found.append(_looked_at(frame, key, size.get(key.column, 1), options, notes))
    problems.raise_if_any()
    return found


def _edges(name: str, dtype: pl.DataType, options: Options) -> tuple[float, ...] | None:
    """The cut points of an attribute of numbers."""
    wanted = options.bins.get(name)
    if isinstance(wanted, int):
        raise FmfairError(
            f"bins for {name!r}: quantiles differ from one table to the next, so that their counts could not be added; "
            "give cut points such as [40, 60]"
        )
    empty = pl.Series(name, [], dtype=dtype)
    if wanted is None:
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
            encode(empty, name, name, options, Notes())
        return None
    bin_codes(empty, name, wanted, options.conventions, Notes())  # are they cut points?
    return tuple(sorted({float(edge) for edge in wanted})) if dtype.is_numeric() else None


def _looked_at(frame: nw.LazyFrame[Any], key: Key, size: int, options: Options, notes: Notes) -> Key:
    """The key, ages cut; what has very many values is checked as a whole, so that nothing is counted by a name."""
    if key.edges is not None:
        return replace(key, size=len(key.edges) + 1)
    if normalise(key.name) == "age" and key.dtype.is_numeric() and options.bins.get(key.name) is None:
        _, highest = extent(frame, key.column)
        if size > MAX_CONTINUOUS or (highest is not None and highest >= AGE_CUTS[0]):
            notes.say(f"{key.name}: cut at {', '.join(f'{c:g}' for c in AGE_CUTS)} since no bins= were given")
            return replace(key, edges=AGE_CUTS, size=len(AGE_CUTS) + 1)
    if size > SUSPICIOUS and options.bins.get(key.name) is None and not isinstance(key.dtype, pl.Enum):
        found = spread(frame, key.column)
        if key.dtype.is_numeric():
            raise looks_continuous(key.name, found["groups"], *map(text_of, extent(frame, key.column)))
        check_distinct(key.name, found["groups"], found["single"], found["rows"])
    return replace(key, size=max(size, 1))


def expressions(keys: Sequence[Key]) -> list[nw.Expr]:
    """The columns to group by."""
    return [cut(k.column, k.edges).alias(k.column) for k in keys if k.edges is not None]


def packs(keys: Sequence[Key], groupings: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Which attributes are counted together, so that every grouping is contained in one pack."""
    size = {key.name: key.size for key in keys}
    found: list[tuple[str, ...]] = []
    for parts in sorted(groupings, key=lambda p: (-len(p), -prod(size[a] for a in p))):
        if any(set(parts) <= set(pack) for pack in found):
            continue
        for i, pack in enumerate(found):
            joined = tuple(dict.fromkeys([*pack, *parts]))
            if prod(size[a] for a in joined) <= TOGETHER:
                found[i] = joined
                break
        else:
            found.append(parts)
    return found


@dataclass(frozen=True)
class Names:
    """The groups of an attribute.

    Attributes:
        of: The name of each raw value's group, NULL where missing: columns `raw` and `group`.
        levels: The order of the groups, as in the column `levels` of a table of counts.
    """

    of: pl.DataFrame
    levels: str | None


def named_groups(counts: pl.DataFrame, key: Key, options: Options, notes: Notes) -> Names:
    """The groups behind the raw values of a counted table (columns of the keys, and `rows`).

    Raises:
        FmfairError: The attribute looks continuous, or nearly all its values differ.
    """
    levels = counts.group_by(key.column).agg(pl.col("rows").sum())
    raw = levels[key.column]
    if key.edges is not None:
        names = bin_labels(key.edges)
        groups = pl.Series(names, dtype=pl.String).gather(raw.cast(pl.UInt32))
        return Names(pl.DataFrame({"raw": raw, "group": groups}), _as_json(names))
    values = raw.cast(key.dtype) if isinstance(key.dtype, pl.Enum) else raw
    groups, order = encoded(values, key, options, notes, Counted(levels["rows"]))
    return Names(pl.DataFrame({"raw": raw, "group": groups}), order)


def encoded(values: pl.Series, key: Key, options: Options, notes: Notes, tally: Tally) -> tuple[pl.Series, str | None]:
    """The group of each value by the library's own rules, and the order of the groups."""
    attribute, codes = encode(values, key.name, "g", replace(options, missing_groups="drop"), notes, tally)
    labels = list(attribute.labels)
    order = None
    if attribute.declared:
        order = _as_json(labels)
    elif key.dtype.is_numeric() or labels != natural_order(labels):
        order = _as_json(NUMBER)
    return pl.Series("group", labels, dtype=pl.String).gather(codes), order


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
