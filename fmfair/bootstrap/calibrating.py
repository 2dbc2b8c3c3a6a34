"""Errors of calibration of many replicates, from sums per cell and score bin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.bootstrap.bin_sums import Parts
from fmfair.statistics.calibration import ScoreBins, debiased_ece

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True)
class ScoreSums:
    """Sums per score bin, replicates by bins, those of a cell together.

    Attributes:
        cell: The cell of each bin.
        bin: Its number within the cell.
        cells: How many cells there are.
        sums: `weight`, `sum_y` and whatever else is summed up.
    """

    cell: Positions
    bin: Positions
    cells: int
    sums: Mapping[str, Floats]

    @property
    def replicates(self) -> int:
        """How many there are."""
        return len(self.sums["weight"])

    def table(self) -> pl.DataFrame:
        """The table that the metrics of `metrics.bins` aggregate; the cells of the replicates follow one another."""
        cell = (np.arange(self.replicates)[:, None] * self.cells + self.cell).ravel()
        columns = {name: column.ravel() for name, column in self.sums.items()}
        bins = np.tile(self.bin, self.replicates)
        return pl.DataFrame({"cell": cell, "bin": bins, **columns}).filter(pl.col("weight") > 0)

    def per_cell(self, values: Floats) -> Floats:
        """The sums of the bins of every cell."""
        found = np.zeros((len(values), self.cells))
        first = _starts(self.cell)
        found[:, self.cell[first]] = np.add.reduceat(values, first, axis=1) if len(first) else 0.0
        return found

    def debiased(self) -> Floats:
        """The error of calibration without its bias, replicates by cells."""
        table = self.table()
        weight = table["weight"].to_numpy()
        squares = table["sum_ww"].to_numpy() if "sum_ww" in table.columns else weight
        sums = ScoreBins(
            n=weight,
            positives=table["sum_y"].to_numpy(),
            scores=table["sum_p"].to_numpy(),
            variance=np.zeros(len(weight)),
            effective=weight**2 / squares,
            cell=table["cell"].to_numpy(),
            bin=table["bin"].to_numpy(),
        )
        return debiased_ece(sums, self.replicates * self.cells).reshape(self.replicates, self.cells)

    def share(self) -> Floats:
        """Positives less scores of every bin, as a share of the cell; NaN where nothing of the cell was drawn."""
        weight = self.per_cell(self.sums["weight"])[:, self.cell]
        with np.errstate(invalid="ignore", divide="ignore"):
            return (self.sums["sum_y"] - self.sums["sum_p"]) / weight

    def chance(self, observed: Floats) -> Floats:
        """What the error of calibration would be if the shares that were observed were all 0."""
        return self.per_cell(np.abs(self.share() - observed))


def score_sums(parts: Parts, kinds: int, cells: int, sums: Mapping[str, Floats]) -> ScoreSums:
    """Sums per score bin from those of parts, of which each bin has `kinds`."""
    bins = parts.part // kinds
    number = parts.cell * (int(bins.max(initial=0)) + 1) + bins
    first = _starts(number)
    whole = {name: np.add.reduceat(column, first, axis=1) for name, column in sums.items()}
    return ScoreSums(parts.cell[first], bins[first], cells, whole)


def _starts(values: Positions) -> Positions:
    """Where runs of equal values start."""
    return np.flatnonzero(np.concatenate([np.full(min(len(values), 1), True), values[1:] != values[:-1]]))
