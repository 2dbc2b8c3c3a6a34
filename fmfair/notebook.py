"""`connect`: an evaluation as tables of a DuckDB connection, for notebooks."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from fmfair.errors import FmfairError, listing
from fmfair.in_database import evaluate_in, kept_database
from fmfair.place import Place
from fmfair.question import asked

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def connect(
    frame: Any = None,
    *,
    memory_limit: str | None = None,
    temp_dir: str | os.PathLike[str] | None = None,
    **arguments: Any,
) -> DuckDBPyConnection:
    """A DuckDB connection with an evaluation in it, to be looked into with SQL.

    It holds the report (`groups`, `gaps`, `overall`, `summary`, `notes`), what it is made of (`samples`, one row per
    sample; `cells` and `members`, which profile of by-keys and attributes is in which cell; `tallies`, `bins`,
    `blocks`, `thresholds`, `confusion`), and `registry`, which describes every metric. Without a table there is the
    registry only. The connection is in memory and the caller's own; the folder that it spills to goes with the process.

    Args:
        frame: Anything that `evaluate` takes; None for no evaluation.
        memory_limit: What the connection may hold in memory, such as `"4GB"`.
        temp_dir: Where it spills to.
        **arguments: The other arguments of `evaluate`.

    Returns:
        The connection. Every table of it is temporary.

    Raises:
        FmfairError: The input cannot be used.

    Examples:
        >>> df = pl.DataFrame({"y_true": [0, 1, 0, 1], "y_score": [0.1, 0.9, 0.8, 0.3], "sex": ["F", "F", "M", "M"]})
        >>> connection = fmfair.connect(df)
        >>> query = 'SELECT "group", value FROM groups WHERE metric = $1 ORDER BY "group"'
        >>> connection.execute(query, ["auc"]).fetchall()
        [('F', 1.0), ('M', 0.0)]
    """
    if frame is None and arguments:
        raise FmfairError(f"connect: {listing(arguments)} given without a table; give the table first")
    question = None if frame is None else asked(frame, **{**arguments, "engine": "duckdb"})
    with ExitStack() as stack:
        database = kept_database(Place(memory_limit, temp_dir), stack)
        database.script("metrics")
        if question is not None:
            report = evaluate_in(database, question)
            for name in ("summary", "groups", "gaps", "overall"):
                database.put(name, report.to_frame(name))
            database.put_column("notes", "note", report.notes)
        stack.pop_all()
    return database.connection
