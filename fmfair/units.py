"""Units: what varies from sample to sample as a whole, a row or all rows of one patient, in the cells of a grouping.

The influence of a row on a metric is the derivative of the metric by the row's weight. Those of a cell add up to 0,
those of a patient are added up, and the squares of the sums give the variance of the metric in other samples of
patients: the linearised variance of survey statistics, the infinitesimal jackknife, DeLong's variance of an AUC.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.groupings import Grouping
from fmfair.profiles import Numbers, Profiles

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.intp]
Values: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class CellRows:
    """The rows of a grouping that are in a cell, and the unit of each.

    Attributes:
        numbers: The numbers of the cells that have rows, rising.
        cell: For each row the position of its cell in `numbers`.
        unit: For each row the position of its unit, those of a cell together; None where every row is one of its own.
        rows: Which rows of the table these are, as a mask; None for all.
    """

    numbers: pl.Series
    cell: Positions
    unit: Positions | None
    rows: npt.NDArray[np.bool_] | None

    def of(self, column: pl.Series) -> Values:
        """The values of these rows in a column of the table."""
        values: Values = column.to_numpy()
        return values if self.rows is None else values[self.rows]

    def sums(self, values: Values) -> Floats:
        """The sum of row values in every cell."""
        return np.bincount(self.cell, values, len(self.numbers)).astype(np.float64, copy=False)

    @property
    def number(self) -> Numbers:
        """The number of the cell of each row."""
        return self.numbers.to_numpy()[self.cell]

    @cached_property
    def cell_of_unit(self) -> Positions:
        """The position of the cell of every unit."""
        if self.unit is None:
            return self.cell
        cell = np.zeros(int(self.unit.max(initial=-1)) + 1, dtype=np.intp)
        cell[self.unit] = self.cell
        return cell

    @cached_property
    def units(self) -> Floats:
        """How many units every cell has."""
        return np.bincount(self.cell_of_unit, minlength=len(self.numbers)).astype(np.float64)

    def per_unit(self, values: Values) -> Floats:
        """The sum of row values in every unit."""
        if self.unit is None:
            return values.astype(np.float64, copy=False)
        return np.bincount(self.unit, values, len(self.cell_of_unit)).astype(np.float64, copy=False)

    def over_units(self, values: Values) -> Floats:
        """The sum of unit values in every cell."""
        return np.bincount(self.cell_of_unit, values, len(self.numbers)).astype(np.float64, copy=False)

    def variance(self, influence: Floats) -> Floats:
        """The variance of a statistic from the influence of each row: C / (C - 1) times the sum of the units' squares.

        NaN in a cell with fewer than two units.
        """
        return corrected(self.units) * self.over_units(self.per_unit(influence) ** 2)


def corrected(units: Floats) -> Floats:
    """The factor C / (C - 1) of C units; NaN below two."""
    return np.where(units > 1, units / np.maximum(units - 1, 1), np.nan)


def cell_rows(
    frame: pl.DataFrame, profiles: Profiles, grouping: Grouping, kept: npt.NDArray[np.bool_] | None = None
) -> CellRows:
    """The rows of the cells of a grouping.

    Args:
        frame: The table of samples; a column `unit` numbers the patients where there are any.
        profiles: The profile of each of its rows.
        grouping: How the samples are divided.
        kept: Rows to take; None for all.
    """
    cells = profiles.table.select(grouping.cell()).to_series()
    numbers = cells.drop_nulls().unique().sort()
    position = profiles.lookup(_places(cells, numbers))
    inside = position >= 0 if cells.null_count() else None
    if kept is not None:
        inside = kept if inside is None else inside & kept
    if inside is not None:
        position = position[inside]
    unit = _units(frame, position, inside)
    return CellRows(numbers, position, unit, inside)


def _places(cells: pl.Series, numbers: pl.Series) -> Positions:
    """The position of each profile's cell among the numbers; -1 where it is in none."""
    known = cells.is_not_null().to_numpy()
    found = np.searchsorted(numbers.to_numpy(), cells.fill_null(0).to_numpy())
    return np.where(known, found, -1).astype(np.intp)


def _units(frame: pl.DataFrame, cell: Positions, inside: npt.NDArray[np.bool_] | None) -> Positions | None:
    if "unit" not in frame.columns:
        return None
    unit = frame["unit"].to_numpy().astype(np.int64)
    if inside is not None:
        unit = unit[inside]
    pair = cell * (int(unit.max(initial=0)) + 1) + unit
    _, number = np.unique(pair, return_inverse=True)
    return number.astype(np.intp, copy=False)
