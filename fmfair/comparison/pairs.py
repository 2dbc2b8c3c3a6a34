"""The values of two models side by side, in every group of a grouping, for one metric at one threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.comparison.aligned import Aligned
from fmfair.groupings import Grouping
from fmfair.metrics.metric import Metric
from fmfair.statistics.interval import FloatArray
from fmfair.units import Positions


@dataclass(frozen=True)
class Groups:
    """The groups of a grouping.

    Attributes:
        grouping: How the samples are divided.
        codes: The codes of the groups, rising.
        names: Their names; None for all rows.
    """

    grouping: Grouping
    codes: npt.NDArray[np.uint64]
    names: pl.Series

    @property
    def attribute(self) -> str | None:
        """The name of the attribute; None for all rows."""
        return self.grouping.attribute if self.grouping.parts else None


def groups_of(grouping: Grouping, listed: pl.DataFrame) -> Groups:
    """The groups among the cells to list, whatever the by-key."""
    codes = np.unique(listed["cell"].to_numpy() % np.uint64(max(grouping.size, 1)))
    cells = pl.DataFrame({"cell": pl.Series(codes, dtype=pl.UInt64)})
    names = cells.select(grouping.group()).to_series() if grouping.parts else pl.Series([None], dtype=pl.String)
    return Groups(grouping, codes, names)


@dataclass(frozen=True)
class Pairs:
    """Values of one metric at one threshold, of all pairs of models in all groups.

    Attributes:
        metric: The metric.
        order: Its position.
        t: The number of the threshold; None where the metric has none.
        groups: The groups.
        by: The baseline and the model of each pair.
        rows: The values as in the long table, with `row`, their positions there.
        index: By-keys by groups: the position in `rows`, -1 where there is none.
    """

    metric: Metric
    order: int
    t: int | None
    groups: Groups
    by: Positions
    rows: pl.DataFrame
    index: Positions

    @classmethod
    def of(
        cls, metric: Metric, key: tuple[int, int | None], groups: Groups, aligned: Aligned, rows: pl.DataFrame
    ) -> Pairs:
        """The pairs of a comparison, from the rows of the long table of one grouping, metric and threshold."""
        size = np.uint64(max(groups.grouping.size, 1))
        by, code = np.divmod(rows["cell"].to_numpy().astype(np.uint64), size)
        index = np.full((len(aligned.models), len(groups.codes)), -1, dtype=np.intp)
        index[by.astype(np.intp), np.searchsorted(groups.codes, code)] = np.arange(rows.height)
        pairs = np.array(aligned.pairs, dtype=np.intp).reshape(-1, 2)
        return cls(metric, *key, groups, pairs, rows, index)

    @property
    def shape(self) -> tuple[int, int]:
        """How many pairs and groups there are."""
        return len(self.by), len(self.groups.codes)

    def of_models(self, column: str) -> FloatArray:
        """A column, by-keys by groups; NaN where it is missing."""
        values = self.rows[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        if not len(values):
            return np.full(self.index.shape, np.nan)
        return np.where(self.index >= 0, values[self.index], np.nan)

    @cached_property
    def values(self) -> tuple[FloatArray, FloatArray]:
        """The values of the baseline and of the model, pairs by groups."""
        found = self.of_models("value")
        return found[self.by[:, 0]], found[self.by[:, 1]]

    @cached_property
    def listed(self) -> tuple[Positions, Positions]:
        """The pairs and groups that have rows, one after another: the position of the pair, and of the group."""
        there = self.of_models("n") > 0
        if "suppressed" in self.rows.columns:  # they have rows, but not how many is known
            there |= self.of_models("suppressed") > 0
        pair, group = np.nonzero(there[self.by[:, 0]] & there[self.by[:, 1]])
        return pair, group

    @cached_property
    def sides(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """What the long table says of the baseline and of the model, in the order of `listed`."""
        pair, group = self.listed
        first, second = (self.index[self.by[pair, side], group] for side in (0, 1))
        return self.rows[first], self.rows[second]

    def threshold(self, pair: Sequence[int] | Positions) -> dict[str, pl.Series]:
        """The threshold of some pairs, NULL where a rule chose two, and its rule."""
        any_row = self.index.max(axis=1)
        one, other = (self.rows[any_row[self.by[pair, side]]] for side in (0, 1))
        same = one["threshold"].eq_missing(other["threshold"])
        return {
            "threshold": one["threshold"].set(~same, None),
            "threshold_rule": one["threshold_rule"],
        }
