"""The connection to DuckDB. No other module imports duckdb."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fmfair.errors import FmfairError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

# What a name of ours may be called while a frame is handed over.
_INCOMING = "fmfair_incoming"
# Bytes of memory that DuckDB's own advice asks for each thread.
PER_THREAD = 125_000_000


def quoted(name: str) -> str:
    """A name as an identifier, whatever characters it has.

    Examples:
        >>> quoted('a"b')
        '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


class Database:
    """A DuckDB connection, with the few things that are done with it.

    Attributes:
        connection: The connection.
        folder: Where files of one evaluation may be put; removed with the database.
        limited: Whether it has a limit of memory to keep to, beyond that of the machine.
    """

    def __init__(self, connection: DuckDBPyConnection, folder: Path, *, limited: bool = False) -> None:
        self.connection = connection
        self.folder = folder
        self.limited = limited

    def run(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run statements; values are bound as parameters, never written into the text."""
        with _plain():
            self.connection.execute(statement, list(parameters) or None)

    def fetch(self, query: str, parameters: Sequence[Any] = ()) -> pl.DataFrame:
        """The result of a query, which must be small."""
        with _plain():
            table = self.connection.sql(query, params=list(parameters) or None).to_arrow_table()
        found = pl.from_arrow(table)
        assert isinstance(found, pl.DataFrame)
        return found

    def script(self, name: str) -> None:
        """Run a file of `fmfair.sql`."""
        self.run((files("fmfair.sql") / f"{name}.sql").read_text(encoding="utf-8"))

    def put(self, name: str, frame: pl.DataFrame) -> None:
        """Make a small frame a table."""
        with _plain():
            self.connection.register(_INCOMING, frame.to_arrow())
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {quoted(name)} AS FROM {_INCOMING}")
            self.connection.unregister(_INCOMING)

    def put_column(self, name: str, column: str, texts: Sequence[str]) -> None:
        """Make a list of texts a table of one column."""
        self.put(name, pl.DataFrame({column: list(texts)}, schema={column: pl.String}))

    def set(self, variables: Mapping[str, Any]) -> None:
        """Set variables that the files of `fmfair.sql` read."""
        for name, value in variables.items():
            self.run(f"SET VARIABLE {quoted(name)} = $1", [value])


@contextmanager
def open_database(
    *, memory_limit: str | None = None, temp_dir: str | os.PathLike[str] | None = None, threads: int | None = None
) -> Iterator[Database]:
    """A database of its own, in memory, which spills to a folder that goes with it.

    Args:
        memory_limit: What the database may hold in memory, such as `"4GB"`; None for DuckDB's own limit, or a quarter
            of the address space where the process has a limit on that (`ulimit -v`).
        temp_dir: Where the folder for spilled data is made; None for the system's.
        threads: How many threads it may use; None for all cores.

    Raises:
        FmfairError: The limit is not understood, or the folder cannot be made.
    """
    with new_folder(temp_dir) as folder:
        database = connected(Path(folder), memory_limit=memory_limit, threads=threads)
        with database.connection:
            yield database


def new_folder(temp_dir: str | os.PathLike[str] | None) -> tempfile.TemporaryDirectory[str]:
    """A folder for the files of one evaluation.

    Raises:
        FmfairError: It cannot be made.
    """
    if temp_dir is not None and not isinstance(temp_dir, (str, os.PathLike)):
        raise FmfairError(f"temp_dir={temp_dir!r} is no path of a folder")
    try:
        if temp_dir is not None:
            Path(temp_dir).mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix="fmfair-", dir=temp_dir)
    except OSError as error:
        raise FmfairError(f"temp_dir={str(temp_dir)!r}: {error.strerror or error}") from None


def connected(folder: Path, *, memory_limit: str | None = None, threads: int | None = None) -> Database:
    """A database in memory that spills to a folder; see `open_database`.

    Raises:
        FmfairError: The limit is not understood.
    """
    import duckdb

    limit = _quarter_of_address_space() if memory_limit is None else memory_limit
    connection = duckdb.connect()
    # A progress bar of DuckDB's own would be printed among the program's output.
    connection.execute("SET enable_progress_bar = false")
    # The statistics of a Parquet file leave NaN out, and DuckDB would conclude that there is none.
    connection.execute("SET parquet_can_have_nan = true")
    connection.execute("SET temp_directory = $1", [str(folder / "spilled")])
    if limit is not None:
        _limit(connection, limit)
    if threads is None and limit is not None:
        threads = _threads_within(connection)
    if threads is not None:
        connection.execute("SET threads = $1", [threads])
    return Database(connection, folder, limited=limit is not None)


def _threads_within(connection: DuckDBPyConnection) -> int:
    """How many threads the limit on memory is enough for: each holds blocks of its own, which cannot be spilled."""
    found = connection.execute(
        "SELECT current_setting('threads'), parse_formatted_bytes(current_setting('memory_limit'))"
    ).fetchone()
    assert found is not None
    threads, held = found
    return max(1, min(int(threads), int(held) // PER_THREAD))


def _quarter_of_address_space() -> str | None:
    """A limit that leaves room for the libraries and for memory that is reserved and not used."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else f"{soft // 4}B"


def _limit(connection: DuckDBPyConnection, memory_limit: object) -> None:
    import duckdb

    try:
        # DuckDB takes -1 and an empty text for no limit.
        understood = isinstance(memory_limit, str) and memory_limit.strip()[:1].isdecimal()
        if understood:
            connection.execute("SET memory_limit = $1", [memory_limit])
    except duckdb.Error:
        understood = False
    if not understood:
        connection.close()
        raise FmfairError(f"memory_limit={memory_limit!r} is not an amount of memory; write for example '4GB'")


@contextmanager
def _plain() -> Iterator[None]:
    """DuckDB's errors as one readable line."""
    import duckdb

    try:
        with interruptible():
            yield
    except duckdb.OutOfMemoryException as error:
        raise FmfairError(
            "DuckDB ran out of memory; give it more with memory_limit=, or a temp_dir= with more space "
            f"({_first_line(error)})"
        ) from error
    except duckdb.Error as error:
        raise FmfairError(f"DuckDB: {_first_line(error)}") from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C as Python's own exception: DuckDB makes a RuntimeError of it, which is taken for a fault."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
