"""`merge_counts`: tables of counts added up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import polars as pl

from fmfair import readers
from fmfair.counting.facts import Facts, differing
from fmfair.counting.table import added, by_keys, checked
from fmfair.errors import FmfairError, Problems, listing


def merge_counts(*tables: Any) -> pl.DataFrame:
    """Add tables of counts: of several hospitals, of the shards of one table, of one night more.

    The counts of any split of the rows add up to exactly the counts of the whole, in any order; the sums of log terms
    (`sum_bce`) to about 1e-12. Tables must agree in their facts: grid, attributes and intersections, score type,
    positive class and so on. Declared levels must agree too, or one list be contained in the other.

    Args:
        *tables: Tables that `fmfair.counts` made: anything `fmfair.evaluate` takes as a table, or paths of files,
            folders and globs of them. One table is brought into its one form: duplicate rows are added up.

    Returns:
        The table of counts of all of them.

    Raises:
        FmfairError: There is no table, one is no table of counts, or two do not fit together; the message names what
            differs, and all problems are reported.

    Examples:
        >>> import fmfair
        >>> north = {"label": [0, 1], "prob": [0.2, 0.9], "sex": ["F", "M"]}
        >>> south = {"label": [1, 1, 0], "prob": [0.2, 0.7, 0.1], "sex": ["F", "M", "M"]}
        >>> both = fmfair.merge_counts(fmfair.counts(north), fmfair.counts(south))
        >>> both.group_by("group").agg(pl.col("n", "n_pos").sum()).sort("group").rows()
        [('', 5, 3), ('F', 2, 1), ('M', 3, 2)]
    """
    if not tables:
        raise FmfairError("merge_counts needs at least one table of counts")
    problems = Problems()
    read: list[tuple[str, pl.DataFrame, Facts]] = []
    for i, given in enumerate(tables):
        name = os.fspath(given) if isinstance(given, str | os.PathLike) else f"table {i + 1}"
        with problems.collecting():
            read.append((name, *checked(read_counts(given, name), name)))
    problems.raise_if_any()
    first, one, facts = read[0]
    for name, table, others in read[1:]:
        different = differing(facts, others)
        if different:
            problems.add(f"{first} and {name} cannot be added, since they differ in {'; '.join(different)}")
        if set(by_keys(one)) != set(by_keys(table)):
            problems.add(f"{first} has the by-keys {_listed(one)}, and {name} has {_listed(table)}")
    problems.raise_if_any()
    stacked = _stacked([table for _, table, _ in read])
    return added(stacked, facts, " and ".join(name for name, _, _ in read[:3]) + (" and others" if read[3:] else ""))


def read_counts(source: Any, name: str = "the counts") -> pl.DataFrame:
    """All columns of a table of counts, wherever it is."""
    frame = readers.scan(source, name=name)
    return readers.collect(frame, readers.column_names(frame, name), name)


def _listed(table: pl.DataFrame) -> str:
    return listing(sorted(by_keys(table)), limit=10) or "none"


def _stacked(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all tables; by-keys may differ in the width of numbers and in categories."""
    columns = tables[0].columns
    problems = Problems()
    for name in by_keys(tables[0]):
        types = list(dict.fromkeys(table[name].dtype for table in tables))
        numbers = [t.is_numeric() for t in types]
        texts = [t in (pl.String, pl.Categorical, pl.Enum, pl.Null) for t in types]
        if len(types) == 1 or all(numbers):
            continue
        if not all(texts):
            problems.add(f"by-key {name!r} has the type {types[0]} in one table and {types[1]} in another")
        tables = [table.with_columns(table[name].cast(pl.String)) for table in tables]
    problems.raise_if_any()
    ordered = [pl.DataFrame({name: table[name] for name in columns}) for table in tables]
    return pl.concat(ordered, how="vertical_relaxed")
