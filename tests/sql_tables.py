"""The input tables of the SQL files, made from what the engine in Polars starts from; and both engines' cells as one.

`Case.of(frame, y_true=..., ...)` reads a table as `fmfair.evaluate` does. `load` makes the tables `samples`, `members`,
`cells`, `wanted` and `requested` and the variables in a DuckDB connection; `run` runs files of `sql/` there. Cells of
all groupings are numbered through; `Case.numbered` turns a Polars result per grouping into one with those numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from random_tables import Table

from fmfair import readers
from fmfair.evaluation import read_source
from fmfair.groupings import Grouping, groupings
from fmfair.measures import Engine
from fmfair.metrics.to_sql import requested_table
from fmfair.notes import Notes
from fmfair.options import Options, as_number, check_options
from fmfair.roles import find_columns
from fmfair.samples import Samples, classification_samples

SQL = Path(__file__).parent.parent / "sql"
COLUMNS = ("y_true", "y_score", "y_pred", "y_logit", "attributes", "by", "labels", "sample_id", "cluster", "weight")


@dataclass(frozen=True)
class Case:
    """A table as the engine reads it, and the groupings that it measures."""

    samples: Samples
    options: Options
    groupings: list[Grouping]

    @classmethod
    def of(cls, frame: pl.DataFrame, **arguments: Any) -> Case:
        """The samples and groupings of a call of `fmfair.evaluate`."""
        given = {name: arguments.pop(name, None) for name in COLUMNS}
        options = check_options(**arguments)
        notes = Notes()
        source = read_source(frame, None, None, notes)
        columns = find_columns(readers.schema(source), {**given, "bins": arguments.get("bins")}, notes)
        samples = classification_samples(readers.collect(source, columns.needed), source, columns, options, notes)
        divided = groupings(samples.attributes, options.intersections)
        wholes = dict.fromkeys([Grouping(), *(g.all_rows(samples.incomplete) for g in divided)])
        return cls(samples, options, [*divided, *wholes])

    @classmethod
    def drawn(cls, table: Table, **options: Any) -> Case:
        """The same of a table of `random_tables`."""
        return cls.of(table.frame, **{**table.arguments, **options})

    @cached_property
    def engine(self) -> Engine:
        """The engine in Polars on these samples."""
        return Engine(self.samples, self.options, Notes())

    @cached_property
    def cells(self) -> pl.DataFrame:
        """Columns `cell` (numbered through), `grouping`, `local` (the number inside the grouping), `by`, `scope`."""
        parts = [
            g.cells(self.samples).select(pl.lit(i, pl.Int32).alias("grouping"), pl.col("cell").alias("local"), "by")
            for i, g in enumerate(self.groupings)
        ]
        cells = pl.concat(parts).with_row_index("cell").cast({"cell": pl.Int32, "by": pl.Int32})
        rows = {g: i for i, g in enumerate(self.groupings)}
        scope = pl.Series("whole", [rows[self.scope(g)] for g in self.groupings], dtype=pl.Int32)
        cells = cells.with_columns(scope.gather(cells["grouping"]))
        wholes = cells.select(pl.col("grouping").alias("whole"), "by", pl.col("cell").alias("scope"))
        return cells.join(wholes, on=["whole", "by"], how="left", maintain_order="left").drop("whole")

    def scope(self, grouping: Grouping) -> Grouping:
        """The grouping of all rows on which the thresholds of a grouping are tuned."""
        per_attribute = self.options.conventions.threshold_per_attribute
        return grouping.all_rows(self.samples.incomplete) if per_attribute else Grouping()

    def numbered(self, measure: Callable[[Grouping], pl.DataFrame]) -> pl.DataFrame:
        """What `measure` finds for each grouping (a column `cell` among others), with cells numbered through."""
        parts = []
        for i, grouping in enumerate(self.groupings):
            own = self.cells.filter(grouping=i).select("local", pl.col("cell").alias("number"))
            found = measure(grouping).join(own, left_on="cell", right_on="local", how="inner", maintain_order="left")
            parts.append(found.drop("cell").rename({"number": "cell"}))
        return pl.concat([p.select("cell", pl.exclude("cell")) for p in parts], how="vertical_relaxed")

    @cached_property
    def profiles(self) -> pl.DataFrame:
        """The combinations of by-key and group codes that occur, with the number `profile`."""
        return self.samples.frame.select(self._codes).unique(maintain_order=True).with_row_index("profile")

    @property
    def _codes(self) -> list[str]:
        return ["by", *(a.column for a in self.samples.attributes)]

    def tables(self) -> dict[str, pl.DataFrame]:
        """The input tables by name."""
        joined = self.samples.frame.join(
            self.profiles, on=self._codes, how="left", nulls_equal=True, maintain_order="left"
        )
        return {
            "samples": joined.select(_column(joined, *c) for c in SAMPLES),
            "members": self.numbered(lambda g: self.profiles.select(g.cell().alias("cell"), "profile").drop_nulls())
            .join(self.cells.select("cell", "grouping"), on="cell", maintain_order="left")
            .select(pl.col("profile", "grouping", "cell").cast(pl.Int32)),
            "cells": self.cells.select("cell", "grouping", "by", "scope"),
            "wanted": pl.DataFrame(list(self._wanted()), WANTED, orient="row"),
            "requested": requested_table(self.options.metrics),
        }

    def variables(self) -> dict[str, bool | None]:
        """The variables by name."""
        scale, conventions = self.samples.scale, self.options.conventions
        return {
            "strict": conventions.strict,
            "smoothed_f1": conventions.smoothed_f1,
            "ece_on_group_range": conventions.ece_on_group_range,
            "weighted": self.samples.weighted,
            "scored": scale is not None,
            "probability": scale is not None and scale.is_probability,
            "decided": "pred" in self.samples.frame.columns,
            "grouping": None,
        }

    def _wanted(self) -> Iterator[tuple[int, str, int | None, float | None]]:
        """The thresholds asked for, with the defaults where there are any; `wanted` is empty otherwise."""
        wanted = self.options.thresholds
        if not wanted and self.variables()["probability"] and not self.variables()["decided"]:
            wanted = self.options.conventions.thresholds
        for t, item in enumerate(wanted if self.samples.scale is not None else ()):
            if isinstance(item, Mapping):
                for by, key in enumerate(self.samples.by.iter_rows()):
                    yield t, "fixed", by, as_number(item[key if len(key) > 1 else key[0]])
            else:
                number = as_number(item)
                yield t, str(item) if number is None else "fixed", None, number


SAMPLES: tuple[tuple[str, str, Any, Any], ...] = (
    ("profile", "profile", pl.Int32, None),
    ("y", "y", pl.Int8, None),
    ("score", "score", pl.Float64, None),
    ("prob", "prob", pl.Float64, None),
    ("logit", "logit", pl.Float64, None),
    ("loss", "bce", pl.Float64, None),
    ("pred", "pred", pl.Int8, None),
    ("weight", "weight", pl.Float64, 1.0),
    ("unit", "unit", pl.Int32, None),
)
WANTED = {"t": pl.Int32, "rule": pl.String, "by": pl.Int32, "threshold": pl.Float64}


def _column(frame: pl.DataFrame, name: str, ours: str, dtype: Any, absent: Any) -> pl.Expr:
    return (pl.col(ours) if ours in frame.columns else pl.lit(absent)).cast(dtype).alias(name)


@contextmanager
def connected(case: Case, threads: int = 2) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in which the input tables and variables of a case are made."""
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {threads}")
        load(connection, case)
        yield connection


def load(connection: duckdb.DuckDBPyConnection, case: Case, *, seed: int | None = None) -> None:
    """Makes the input tables and variables; with a seed the rows of the samples are shuffled."""
    for name, value in case.variables().items():
        connection.execute(f"SET VARIABLE {name} = {'NULL::INTEGER' if value is None else value}")
    for name, frame in case.tables().items():
        mixed = name == "samples" and seed is not None
        given = frame.sample(fraction=1.0, shuffle=True, seed=seed) if mixed else frame
        connection.register("given", given.to_arrow())
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM given")
        connection.unregister("given")


def run(connection: duckdb.DuckDBPyConnection, *stems: str) -> None:
    """Runs files of `sql/` in order."""
    for stem in stems:
        connection.execute((SQL / f"{stem}.sql").read_text(encoding="utf-8"))


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> pl.DataFrame:
    """A query's rows as a Polars frame."""
    return pl.DataFrame(pl.from_arrow(connection.sql(query).to_arrow_table()))


def assert_same(found: pl.DataFrame, expected: pl.DataFrame, keys: list[str], tolerance: float = 1e-12) -> None:
    """Both frames hold the same rows under the keys; numbers may differ by the tolerance, relative to their size."""
    found, expected = (f.select(sorted(expected.columns)).sort(keys) for f in (found, expected))
    assert found.select(keys).rows() == expected.select(keys).rows()
    for name in expected.columns:
        for row, (a, b) in enumerate(zip(found[name].to_list(), expected[name].to_list(), strict=True)):
            alike = a == b if not isinstance(a, float) or not isinstance(b, float) else _close(a, b, tolerance)
            assert alike, f"{name}: {a!r} is not {b!r} in {expected.row(row, named=True)}"


def _close(a: float, b: float, tolerance: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))
