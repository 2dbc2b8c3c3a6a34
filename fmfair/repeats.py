"""Repeated sample ids: rows that are pooled without anybody noticing, such as those of several models."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import polars as pl
import polars.selectors as cs

from fmfair.errors import FmfairError, plural
from fmfair.notes import Notes
from fmfair.roles import Columns

# Columns that are tried, alone and in pairs, when an error looks for those that tell repeated rows apart.
MAX_TRIED = 12


def check_repeats(
    table: pl.DataFrame, source: pl.LazyFrame, columns: Columns, numbers: pl.Series, notes: Notes
) -> None:
    """A sample may occur once per by-key; otherwise rows of several models are pooled without anybody noticing."""
    if columns.sample_id is None:
        return
    ids = table[columns.sample_id]
    if ids.dtype.is_nested() or ids.dtype == pl.Object:
        raise FmfairError(
            f"sample_id: column {columns.sample_id!r} has the type {ids.dtype}; an id must be a number, text or date"
        )
    keys = pl.DataFrame([numbers, ids.alias("id")]).drop_nulls("id")
    # With one by-key the ids alone are told apart sooner.
    repeated = keys.height - (keys["id"].n_unique() if not columns.by else keys.n_unique())
    if repeated:
        refuse_repeats(
            columns,
            repeated,
            example=lambda: keys.filter(keys.is_duplicated())["id"][0],
            telling=lambda: telling_columns(source, columns),
            notes=notes,
        )


def refuse_repeats(
    columns: Columns, repeated: int, *, example: Callable[[], Any], telling: Callable[[], str], notes: Notes
) -> None:
    """Notes rows whose id was seen before in the by-key where that is meant.

    Raises:
        FmfairError: It is not meant: there is no `cluster`.
    """
    if columns.cluster is not None:
        notes.warn(
            f"sample_id: {notes.counted(repeated, 'row')} with an id of {columns.sample_id!r} seen before in the "
            "by-key; with cluster= that is taken as meant"
        )
        return
    names = telling()
    hint = f"add {names} to by=" if names else "remove the repeats"
    raise FmfairError(
        f"sample_id: column {columns.sample_id!r} repeats inside a by-key ({plural(repeated, 'repeated row')}, "
        f"e.g. {example()!r}); {hint}, or give cluster= if several rows of one patient are meant"
    )


def telling_columns(source: pl.LazyFrame, columns: Columns) -> str:
    """Columns not used so far, or pairs of them, that make every row different beside the id and the by-keys."""
    known = {str(columns.sample_id), *columns.by}
    schema = source.collect_schema()
    free = [n for n, t in schema.items() if n not in columns.needed and not t.is_nested() and not t.is_float()]
    for size in (1, 2):
        tried = list(combinations(free[:MAX_TRIED], size))
        if not tried:
            break
        distinct = [pl.struct(cs.by_name(*known, *names)).n_unique() for names in tried]
        counts = source.select(pl.len().alias("n"), *(d.alias(f"k{i}") for i, d in enumerate(distinct))).collect()
        telling = [names for i, names in enumerate(tried) if counts[f"k{i}"][0] == counts["n"][0]]
        if telling:
            return " or ".join(" and ".join(repr(n) for n in names) for names in telling[:3])
    return ""
