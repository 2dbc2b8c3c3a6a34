"""Anything tabular as the view `source` of a database, with columns `c0`, `c1`, ... for the needed ones.

Parquet files are read where they lie. Everything else is written to a Parquet file in the database's folder first, row
group by row group, so that no table needs to fit into memory and no connection of the user's is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
import polars.selectors as cs

from fmfair import readers
from fmfair.convert import from_arrow, is_a, plain_errors, refuse_duplicates
from fmfair.database.connection import Database, interruptible, quoted
from fmfair.errors import FmfairError, listing
from fmfair.join import join_metadata
from fmfair.notes import Notes

# What the column with each row's file is called while files are read.
_FILE = "fmfair: file of the row"

# Whole numbers that Parquet holds as decimals.
LARGE = (pl.Int128, pl.UInt128)

# What the columns of a relation are written as where Parquet, or Polars that looks at the values, lacks DuckDB's type.
_STORED_AS: Mapping[str, str] = MappingProxyType(
    {"hugeint": "DECIMAL(38, 0)", "uhugeint": "DECIMAL(38, 0)", "interval": "VARCHAR", "time with time zone": "TIME"}
)


@dataclass(frozen=True)
class Source:
    """A table that has not been read yet.

    Attributes:
        schema: Its columns as Polars sees them.
        lazy: The table, where it is not a relation.
        relation: A DuckDB relation of the user's.
        files: The Parquet files that the table consists of, where it does.
        keys: The values of their `key=value` folders, one row a file.
    """

    schema: pl.Schema
    lazy: pl.LazyFrame | None = None
    relation: Any = None
    files: Sequence[Path] = ()
    keys: pl.DataFrame | None = None


def open_source(frame: Any, metadata: Any, on: str | tuple[str, str] | None, notes: Notes) -> Source:
    """The table behind anything that `evaluate` takes, with the metadata joined where there are any.

    Raises:
        FmfairError: It is no table, or cannot be read.
    """
    if metadata is None and on is not None:
        raise FmfairError(f"on={on!r} joins the table with metadata=, which is not given")
    if is_relation(frame) and metadata is None:
        return Source(_relation_schema(frame), relation=frame)
    lazy = readers.scan(frame)
    if metadata is not None:
        lazy = join_metadata(lazy, readers.scan(metadata, name="the metadata"), on, notes)
        return Source(readers.schema(lazy), lazy)
    files, keys = readers.parquet_files(frame) or ((), None)
    return Source(readers.schema(lazy), lazy, None, files, keys)


def is_relation(frame: Any) -> bool:
    """Whether a table is a relation of DuckDB."""
    return is_a(frame, "duckdb", "DuckDBPyRelation")


def _relation_schema(relation: Any) -> pl.Schema:
    """The columns of a relation as Polars sees them; no row is read, and so the levels of an ENUM come from its type.

    The names are those of the relation itself: an operation on it renames those that differ in case only.
    """
    refuse_duplicates(relation.columns, "the table")
    with plain_errors("read the table"):
        seen = from_arrow(relation.limit(0), "the table").schema.dtypes()
    types = [
        pl.Enum(dict(kind.children)["values"]) if kind.id == "enum" else dtype
        for kind, dtype in zip(relation.types, seen, strict=True)
    ]
    return pl.Schema(zip(relation.columns, types, strict=True))


def _column_of(relation: Any, name: str) -> str:
    """The expression of a relation's column: by its position, in a type that Parquet and Polars know."""
    position = relation.columns.index(name)
    kind = _STORED_AS.get(str(relation.types[position].id))
    return f"CAST(#{position + 1} AS {kind})" if kind else f"#{position + 1}"


def load(source: Source, needed: Sequence[str], database: Database) -> dict[str, str]:
    """Make the view `source`.

    Returns:
        The view's column for each needed column of the table.

    Raises:
        FmfairError: The table cannot be read, or its files do not share a needed column.
    """
    columns = {name: f"c{i}" for i, name in enumerate(needed)}
    # DuckDB takes names that differ in case only for one name.
    ambiguous = len({name.lower() for name in source.schema}) < len(source.schema)
    files: Sequence[Path] = [] if ambiguous else source.files
    if source.lazy is not None:
        readers.require_shared(source.lazy, needed)
    if files:
        _view_of_files(source, columns, database)
        return columns
    path = database.folder / "source.parquet"
    if source.relation is not None:
        with plain_errors("read the table"), interruptible():
            chosen = ", ".join(f"{_column_of(source.relation, name)} AS {column}" for name, column in columns.items())
            source.relation.select(chosen).write_parquet(str(path))
    elif source.lazy is not None:
        _refuse_objects(source.schema, columns)
        with plain_errors("read the table"):
            _renamed(source.lazy, columns).with_columns(cs.by_dtype(*LARGE).cast(pl.Decimal(38, 0))).sink_parquet(path)
    database.set({"files": [str(path)]})
    database.run("CREATE OR REPLACE TEMP VIEW source AS FROM read_parquet(getvariable('files'))")
    return columns


def _refuse_objects(schema: pl.Schema, names: Iterable[str]) -> None:
    """Python objects can be held in memory only."""
    objects = [name for name in names if schema[name] == pl.Object]
    if objects:
        raise FmfairError(
            f"{listing(objects)}: Python objects (type Object), which DuckDB cannot read; cast them to text or numbers"
        )


def _renamed(lazy: pl.LazyFrame, columns: Mapping[str, str]) -> pl.LazyFrame:
    # Not by pl.col, which expands names such as `*` and `^...$`.
    return lazy.select(cs.by_name(*columns)).rename(dict(columns))


def _view_of_files(source: Source, columns: Mapping[str, str], database: Database) -> None:
    """The view of files that lie anywhere, with the values of their folders joined by the file's name."""
    database.set({"files": [str(path) for path in source.files]})
    values = source.keys if source.keys is not None else pl.DataFrame()
    keys = [name for name in columns if name in values.columns]
    names = {name: f"k{i}" for i, name in enumerate(keys)}
    database.put(
        "source_keys",
        pl.DataFrame({"file": [str(path) for path in source.files], **{k: values[name] for name, k in names.items()}}),
    )
    chosen = ", ".join(
        f"{names[name]} AS {column}" if name in names else f"rows.{quoted(name)} AS {column}"
        for name, column in columns.items()
    )
    join = f' JOIN source_keys ON source_keys.file = rows."{_FILE}"' if keys else ""
    database.run(
        f"CREATE OR REPLACE TEMP VIEW source AS SELECT {chosen} FROM read_parquet("
        f"getvariable('files'), union_by_name = true, hive_partitioning = false, filename = '{_FILE}') AS rows{join}"
    )
