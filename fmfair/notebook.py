"""`connect`: an evaluation as tables of a DuckDB connection, for notebooks."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from fmfair.errors import FmfairError, Problems, listing, near
from fmfair.evaluation import evaluate
from fmfair.in_database import evaluate_in, kept_database
from fmfair.place import Place
from fmfair.question import asked

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_PARAMETERS = inspect.signature(evaluate).parameters


def _check(arguments: Mapping[str, Any]) -> None:
    """Arguments that `evaluate` does not know, and another engine, are refused."""
    known = [name for name in _PARAMETERS if name not in ("frame", "engine")]
    problems = Problems()
    for name in arguments:
        if name != "engine" and name not in known:
            problems.add(f"connect: evaluate has no argument {name!r}{near(name, known)}")
    if arguments.get("engine", "duckdb") not in ("auto", "duckdb"):
        problems.add(f"connect: engine={arguments['engine']!r} has no connection; it is always 'duckdb'")
    problems.raise_if_any()


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
    _check(arguments)
    level = {"ci": _PARAMETERS["ci"].default}
    question = None if frame is None else asked(frame, **{**level, **arguments, "engine": "duckdb"})
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
