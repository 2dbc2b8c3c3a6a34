"""Tables of a release put together: stacked, joined, and with parts of columns as columns of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from fmfair.errors import FmfairError, Problems, plural
from fmfair.notes import Notes
from fmfair.runners.datasets.recipe import Table
from fmfair.runners.datasets.rules import cleaned
from fmfair.runners.datasets.sources import check_columns, find_table, read_table
from fmfair.runners.datasets.templates import col


def stacked(root: Path, tables: Sequence[Table]) -> pl.DataFrame:
    """The tables whose rows are images, one below the other; an empty cell is an empty text, never NULL."""
    problems, parts = Problems(), []
    for table in tables:
        with problems.collecting():
            path = find_table(root, table)
            if path is not None:
                part = read_table(path, table.sheet, table.headings).fill_null("")
                if part.is_empty():
                    raise FmfairError(f"{path} holds no row")
                parts.append(part.with_columns(pl.lit(value).alias(name) for name, value in table.values.items()))
    problems.raise_if_any()
    return pl.concat(parts, how="diagonal")


def extracted(frame: pl.DataFrame, extracts: Mapping[str, str]) -> pl.DataFrame:
    """The table with parts of columns as further columns, each said as `column ~ pattern`."""
    for name, how in extracts.items():
        column, _, pattern = (part.strip() for part in how.partition(" ~ "))
        wrong = check_columns(frame, {column: "the release"})
        if wrong:
            raise FmfairError(wrong[0])
        frame = frame.with_columns(col(column).str.extract(pattern).alias(name))
        without = frame[name].null_count()
        if without:
            raise FmfairError(
                f"column {column!r}: {plural(without, 'value')} without a part like {pattern!r}, which is the {name}"
            )
    return frame


def joined(root: Path, frame: pl.DataFrame, table: Table, notes: Notes) -> pl.DataFrame | None:
    """The images with the columns of another table; None where that is optional and missing.

    Raises:
        FmfairError: It is missing, lacks a column, or has several rows for one image.
    """
    path = find_table(root, table)
    if path is None:
        return None
    right = read_table(path, table.sheet, table.headings)
    needed = dict.fromkeys((*table.on, *table.columns), path.name)
    wrong = check_columns(right, needed) + check_columns(frame, dict.fromkeys(table.on.values(), "the images"))
    if wrong:
        problems = Problems()
        for message in wrong:
            problems.add(message)
        problems.raise_if_any()
    left_keys = [cleaned(col(name)).alias(f"key {n}") for n, name in enumerate(table.on.values())]
    keys = [f"key {n}" for n in range(len(table.on))]
    right = right.select(
        *(cleaned(col(name)).alias(key) for key, name in zip(keys, table.on, strict=True)),
        *(cleaned(col(name), table.missing).fill_null("").alias(name) for name in table.columns),
    )
    right = _one_each(right, keys, table, path.name, notes)
    there = right.with_columns(pl.lit(value=True).alias("there"))
    both = frame.drop(table.columns, strict=False).with_columns(left_keys)
    both = both.join(there, on=keys, how="left", maintain_order="left")
    without = both["there"].null_count()
    if without and not table.optional:
        notes.warn(f"{plural(without, 'image')} have no row in {path.name}: what it tells is unknown of them")
    return both.drop(*keys, "there")


def _one_each(right: pl.DataFrame, keys: Sequence[str], table: Table, name: str, notes: Notes) -> pl.DataFrame:
    """At most one row for each key."""
    distinct = right.unique(maintain_order=True)
    twice = distinct.filter(pl.struct(keys).is_duplicated()).select(keys).n_unique()
    if not twice:
        return distinct
    if table.several == "refuse":
        raise FmfairError(f"{name} has several rows for {plural(twice, 'value')} of {', '.join(table.on)}")
    of = f"{plural(twice, 'value')} of {', '.join(table.on)}"
    notes.say(f"{name} says different things of {of}: the most common counts")
    return _most_common(right, keys, table.columns)


def _most_common(right: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Of each column the value that most rows of a key have, the first of those; an empty one only if all are."""
    one = right.select(keys).unique(maintain_order=True)
    for name in columns:
        counted = (
            right.with_row_index("row")
            .group_by(*keys, name, maintain_order=True)
            .agg(pl.len().alias("n"), pl.col("row").min())
            .sort(pl.col(name) == "", -pl.col("n").cast(pl.Int64), pl.col("row"))
            .unique(list(keys), keep="first", maintain_order=True)
        )
        one = one.join(counted.select(*keys, name), on=list(keys), how="left", maintain_order="left")
    return one
