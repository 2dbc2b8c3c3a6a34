"""Rows behind values: the checks of a column work on its rows, or on its distinct values with their counts.

An engine that keeps its rows elsewhere looks at each distinct value once. What is said of a column counts rows either
way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from fmfair.errors import rows_at


@dataclass(frozen=True)
class Tally:
    """How many rows each value of a column stands for, and where they are.

    Attributes:
        counts: Rows per value; None where each value is a row.
        locate: The first few row numbers of chosen values (a Boolean mask); None where each value is a row.
    """

    counts: pl.Series | None = None
    locate: Callable[[pl.Series], Sequence[int]] | None = None

    def count(self, which: pl.Series) -> int:
        """The rows of the chosen values."""
        return int(which.sum()) if self.counts is None else int(self.counts.filter(which).sum())

    def at(self, which: pl.Series) -> str:
        """Where the rows of the chosen values are, for a message."""
        return rows_at(which.arg_true().to_list() if self.locate is None else self.locate(which))

    def value_counts(self, values: pl.Series) -> pl.DataFrame:
        """The distinct values that are not missing, in rising order: columns `value` and `rows`."""
        if self.counts is None:
            counted = values.drop_nulls().alias("value").value_counts(name="rows", sort=False)
        else:
            table = pl.DataFrame({"value": values, "rows": self.counts})
            counted = table.drop_nulls("value").group_by("value").agg(pl.col("rows").sum())
        return counted.sort("value")


# Each value is a row of the table.
EACH = Tally()
