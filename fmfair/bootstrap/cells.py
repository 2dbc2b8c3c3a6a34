"""The cells of all groupings, numbered through: one axis of every array of the bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.groupings import Grouping

Positions: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Cells:
    """The cells of all groupings, numbered through.

    Attributes:
        groupings: The groupings.
        listed: The cells of each.
        first: The number of the first cell of each grouping, and how many there are.
    """

    groupings: Sequence[Grouping]
    listed: Sequence[pl.DataFrame]
    first: Positions

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.first[-1])

    def of_profiles(self, i: int, profiles: pl.DataFrame) -> Positions:
        """The position of each profile's cell among those of a grouping; -1 where it is in none."""
        cells = profiles.select(self.groupings[i].cell()).to_series()
        listed = self.listed[i]["cell"].to_numpy()
        found = np.searchsorted(listed, cells.fill_null(0).to_numpy())
        return np.where(cells.is_not_null().to_numpy(), found, -1).astype(np.intp)


def cells_of(groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> Cells:
    """The cells of groupings, from the cells to list of each."""
    return Cells(groupings, listed, np.cumsum([0, *(cells.height for cells in listed)]))
