"""Which engine an evaluation runs in, and what it may use."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fmfair import readers
from fmfair.errors import FmfairError
from fmfair.notes import Notes
from fmfair.question import Question
from fmfair.roles import find_columns

# What Polars needs at its peak, in sizes of the columns that are read.
PEAK = 5
# The memory of a machine that cannot be asked.
_GUESS = 8 << 30
# Where Linux writes the limit of a container.
_CONTAINER = Path("/sys/fs/cgroup/memory.max")
# Bytes of a value in memory, text by its view.
WIDTH = 16


@dataclass(frozen=True)
class Place:
    """What DuckDB may use: memory such as `4GB`, and a folder for spilled data."""

    memory_limit: str | None = None
    temp_dir: str | os.PathLike[str] | None = None


def wants_database(question: Question, place: Place) -> bool:
    """Whether DuckDB evaluates a table.

    It does where it was asked to, by name or by a limit that only it can keep, and for Parquet files that are too
    large for comfort in memory.

    Raises:
        FmfairError: A memory limit or a folder is given for Polars, which takes none.
    """
    engine = question.options.engine
    if engine == "polars" and (place.memory_limit, place.temp_dir) != (None, None):
        raise FmfairError("memory_limit= and temp_dir= are DuckDB's; leave them out, or say engine='duckdb'")
    if engine != "auto":
        return engine == "duckdb"
    if (place.memory_limit, place.temp_dir) != (None, None):
        return True
    files, _ = readers.parquet_files(question.frame) or ((), None)
    if not files or question.metadata is not None:
        return False
    needed = find_columns(readers.schema(readers.scan(question.frame)), question.given, Notes()).needed
    return sum(map(_rows, files)) * len(needed) * WIDTH * PEAK > _memory() / 2


def _rows(path: Path) -> int:
    # The footer tells.
    return int(pl.scan_parquet(path, glob=False, hive_partitioning=False).select(pl.len()).collect().item())


def _memory() -> int:
    """What the process may hold in bytes: the machine's memory, or the limit of its container or shell."""
    limits = [_GUESS if sys.platform == "win32" else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(OSError, ValueError):
        limits.append(int(_CONTAINER.read_text()))  # the word `max` where there is no limit
    if sys.platform != "win32":
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits += [] if soft == resource.RLIM_INFINITY else [soft]
    return min(limits)
