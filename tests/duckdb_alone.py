"""Runs what a user types into a DuckDB shell through DuckDB alone: `python duckdb_alone.py JOBS`, nothing of fmfair.

JOBS is a JSON file: a list of `{"folder", "commands", "results"}`, run in a connection of their own each, from the
folder that holds `sql/`. The tables `groups` and `gaps` of each are written to the folder `results` as Parquet.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import duckdb


def type_in(connection: duckdb.DuckDBPyConnection, commands: str, folder: Path) -> None:
    """Runs SQL statements and the shell's commands `.read` and `.bail`, which stand on lines of their own."""
    statements: list[str] = []
    for line in [*commands.splitlines(), ".bail on"]:
        if not line.startswith("."):
            statements.append(line)
            continue
        if "".join(statements).strip():
            connection.execute("\n".join(statements)).fetchall()
        statements = []
        command, argument = line.split(maxsplit=1)
        if command == ".read":
            type_in(connection, (folder / argument).read_text(encoding="utf-8"), folder)
        elif line != ".bail on":
            raise ValueError(f"{line!r} is not known here")


def main(jobs: str) -> None:
    for job in json.loads(Path(jobs).read_text(encoding="utf-8")):
        os.chdir(job["folder"])
        with duckdb.connect() as connection:
            connection.execute("SET threads = 2")
            type_in(connection, job["commands"], Path.cwd())
            for table in ("groups", "gaps"):
                connection.table(table).write_parquet(str(Path(job["results"]) / f"{table}.parquet"))
    if "fmfair" in sys.modules or "polars" in sys.modules:
        raise AssertionError("this is to be DuckDB alone")


if __name__ == "__main__":
    main(sys.argv[1])
