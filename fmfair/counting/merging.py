"""`merge_counts`: tables of counts added up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from fmfair import readers
from fmfair.columns import COUNTS, LIST_OF_TEXT
from fmfair.counting.facts import Facts, differing, of_all
from fmfair.counting.table import SUMS, added, by_keys, checked, plain_keys
from fmfair.errors import FmfairError, Problems, listing


def merge_counts(*tables: Any, notes: list[str] | None = None) -> pl.DataFrame:
    """Add tables of counts: of several hospitals, of the shards of one table, of one night more.

    The counts of any split of the rows add up to exactly the counts of the whole, in any order; the sums of log terms
    (`sum_bce`) to about 1e-12. Tables must agree in their facts: grid, attributes and intersections, score type,
    positive class and so on. Declared levels must agree too, or one list be contained in the other. Tables with
    suppressed counts are added to others of the kind; the smallest `suppress_below` is what then holds. A group that
    one of them may have left out and another one lists is marked in `left_out`: its counts lack rows. Tables that were
    only stacked are not marked.

    Args:
        *tables: Tables that `fmfair.counts` made: anything `fmfair.evaluate` takes as a table, or paths of files,
            folders and globs of them. One table is brought into its one form: duplicate rows are added up.
        notes: A list to which the notes are added, such as that two tables are identical.

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
    check_notes(notes)
    problems = Problems()
    read: list[tuple[str, pl.DataFrame, Facts]] = []
    for i, given in enumerate(tables):
        with problems.collecting():
            read += read_counts(given, f"table {i + 1}")
    problems.raise_if_any()
    whole, _ = added_up(read)
    if notes is not None:
        notes.extend(_identical(read))
    return whole


def added_up(read: Sequence[tuple[str, pl.DataFrame, Facts]]) -> tuple[pl.DataFrame, Facts]:
    """The sum of checked tables, each with its name and facts, and the facts of the sum.

    Raises:
        FmfairError: Two do not fit together; all problems are reported.
    """
    problems = Problems()
    first, one, facts = read[0]
    for name, table, others in read[1:]:
        different = differing(facts, others)
        if facts.suppressed != others.suppressed:
            problems.add(f"{first if others.suppressed else name} is not suppressed; count it with suppress_below= too")
        elif different:
            problems.add(f"{first} and {name} cannot be added, since they differ in {'; '.join(different)}")
        if set(by_keys(one)) != set(by_keys(table)):
            problems.add(f"{first} has the by-keys {_listed(one)}, and {name} has {_listed(table)}")
    problems.raise_if_any()
    if not read[1:]:
        return one, facts
    tables = [table for _, table, _ in read]
    whole, facts = _stacked(tables), of_all([facts for *_, facts in read])
    if facts.suppressed:
        whole = _marked(whole, [table.height for table in tables], facts)
    name = " and ".join(name for name, _, _ in read[:3]) + (" and others" if read[3:] else "")
    return added(whole, facts, name), facts


def check_notes(notes: object) -> None:
    """Raises where notes could not be added to what was given for them."""
    if notes is not None and not isinstance(notes, list):
        raise FmfairError(f"notes={notes!r} is no list; give one to which the notes are added: notes=[]")


def read_counts(source: Any, name: str = "the counts") -> list[tuple[str, pl.DataFrame, Facts]]:
    """The tables of counts that a table, a file, a folder or a glob is, checked, with their names and facts."""
    if not isinstance(source, str | os.PathLike):
        return [(name, *checked(_whole(source, name), name))]
    name = os.fspath(source)
    files, keys = readers.parquet_files(source) or ([], pl.DataFrame())
    # Suppressed tables are told apart: which groups one left out is seen in what it lacks.
    if len(files) > 1 and not keys.width:
        return [(str(file), *checked(_whole(str(file), str(file)), str(file))) for file in files]
    return [(name, *checked(_whole(source, name), name))]


def _whole(source: Any, name: str) -> pl.DataFrame:
    frame = readers.scan(source, name=name)
    return readers.collect(frame, readers.column_names(frame, name), name)


def _identical(read: Sequence[tuple[str, pl.DataFrame, Facts]]) -> list[str]:
    """What to say of tables that were most likely given twice."""
    found = []
    for i, (name, table, _) in enumerate(read):
        twin = next((other for other, of, _ in read[:i] if of.equals(table)), None)
        if twin is not None:
            found.append(f"{twin} and {name} are identical: are the same patients counted twice?")
    return found


def _marked(table: pl.DataFrame, heights: Sequence[int], facts: Facts) -> pl.DataFrame:
    """The stacked rows, and one with `left_out` for every group that a table may have left out and another one lists.

    A table does not name what it left out. It shows that there are rows in no group of a grouping; any group of
    another table may be theirs.
    """
    plain, names = plain_keys(table)
    origin = np.repeat(np.arange(len(heights)), heights)
    plain = plain.with_columns(pl.Series("\0table", origin))
    place = ["\0table", *names]
    group = ["attribute_parts", "group_parts"]
    sums = plain.group_by(*place, "attribute_parts").agg(pl.col("n").sum())
    divided = pl.DataFrame(
        {"attribute_parts": list(map(list, facts.groupings))}, schema={"attribute_parts": LIST_OF_TEXT}
    )
    whole = sums.filter(pl.col("attribute_parts").list.len() == 0).select(*place, pl.col("n").alias("whole"))
    lacking = whole.join(divided, how="cross").join(sums, on=[*place, "attribute_parts"], how="left", nulls_equal=True)
    lacking = lacking.filter(pl.col("n").fill_null(0) < pl.col("whole")).select(*place, "attribute_parts")
    listed = plain.filter(pl.col("n") > 0).unique([*names, *group], keep="first", maintain_order=True)
    maybe = lacking.join(listed.drop("\0table"), on=[*names, "attribute_parts"], nulls_equal=True)
    absent = maybe.join(plain, on=[*place, *group], how="anti", nulls_equal=True)
    none = {"bin": 0, "bin_end": 1, **dict.fromkeys(SUMS, 0), "left_out": 1}
    absent = absent.with_columns(pl.lit(value).cast(COUNTS[c]).alias(c) for c, value in none.items())
    return pl.concat([plain, absent.select(plain.columns)]).drop("\0table").rename(names)


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
