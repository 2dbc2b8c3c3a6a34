"""Shared patients: how two groups vary together, where a patient has rows in both of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.intervals import GROUP_ROW, Values
from fmfair.statistics.interval import FloatArray

# Of two groups of a grouping: what is known of them together, on a metric at a threshold.
PLACE = {"grouping": pl.UInt32, "cell": pl.UInt64, "other_cell": pl.UInt64, "metric": pl.String, "t": pl.UInt32}
TOGETHER = {"correlation": pl.Float64, "covariance": pl.Float64, "patients": pl.Float64}


class Together(NamedTuple):
    """Of pairs of groups; NaN where no patient is in both.

    Attributes:
        correlation: Of the two values.
        covariance: Of the two values.
        patients: How many patients are behind either.
    """

    correlation: FloatArray
    covariance: FloatArray
    patients: FloatArray


class Shared(NamedTuple):
    """What is known of all pairs of groups that share patients.

    Attributes:
        size: How many group values there are.
        pair: The numbers of two group values as one number, rising.
        together: What is known of each pair.
    """

    size: int
    pair: npt.NDArray[np.int64]
    together: Together

    @classmethod
    def of(cls, groups: pl.DataFrame, found: pl.DataFrame) -> Shared:
        """Of the group values, whose rows are numbered by `intervals.GROUP_ROW`.

        Args:
            groups: Columns `grouping`, `cell`, `metric` and `t`.
            found: `PLACE` and `TOGETHER`, a pair in either order, once.
        """
        rows = groups.select(GROUP_ROW, "grouping", "cell", "metric", "t")
        for column, name in (("cell", "one"), ("other_cell", "other")):
            named = rows.rename({"cell": column, GROUP_ROW: name})
            found = found.join(named, on=["grouping", column, "metric", "t"], how="inner", nulls_equal=True)
        one, other = (found[name].to_numpy().astype(np.int64) for name in ("one", "other"))
        pair = np.minimum(one, other) * groups.height + np.maximum(one, other)
        order = np.argsort(pair)
        return cls(groups.height, pair[order], Together(*(found[c].to_numpy()[order] for c in TOGETHER)))

    def of_pairs(self, first: Values, second: Values) -> Together:
        """What is known of two group values each."""
        one, other = (np.nan_to_num(values[GROUP_ROW], nan=-1.0).astype(np.int64) for values in (first, second))
        wanted = np.where((one < 0) | (other < 0), -1, np.minimum(one, other) * self.size + np.maximum(one, other))
        if not len(self.pair):
            return Together(*(np.full(len(wanted), np.nan) for _ in TOGETHER))
        at = np.minimum(np.searchsorted(self.pair, wanted), len(self.pair) - 1)
        known = self.pair[at] == wanted
        return Together(*(np.where(known, column[at], np.nan) for column in self.together))
