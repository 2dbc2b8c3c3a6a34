"""Which engine an evaluation runs in, and what it may use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fmfair import readers
from fmfair.errors import FmfairError
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.roles import find_columns

# What Polars needs at its peak, in sizes of the columns that are read.
PEAK = 5
# Bytes of a value in memory, text by its view.
WIDTH = 16


@dataclass(frozen=True)
class Place:
    """What DuckDB may use: memory such as `4GB`, and a folder for spilled data."""

    memory_limit: str | None = None
    temp_dir: str | os.PathLike[str] | None = None


def wants_database(frame: Any, metadata: Any, given: Mapping[str, Any], options: Options, place: Place) -> bool:
    """Whether DuckDB evaluates a table: it was asked to, or Parquet files are too large for comfort in memory.

    Raises:
        FmfairError: A memory limit or a folder is given for Polars, which takes none.
    """
    if options.engine == "polars" and (place.memory_limit, place.temp_dir) != (None, None):
        raise FmfairError("memory_limit= and temp_dir= are DuckDB's; leave them out, or say engine='duckdb'")
    if options.engine != "auto":
        return options.engine == "duckdb"
    if metadata is not None:
        return False
    files, _ = readers.parquet_files(frame) or ((), None)
    if not files:
        return False
    lazy = readers.scan(frame)
    needed = find_columns(readers.schema(lazy), given, Notes()).needed
    rows = sum(_rows(path) for path in files)
    return rows * len(needed) * WIDTH * PEAK > _memory() / 2


def _rows(path: Path) -> int:
    return int(pl.scan_parquet(path).select(pl.len()).collect().item())


def _memory() -> int:
    """The machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
