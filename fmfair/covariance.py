"""Covariance: how groups of an attribute vary together, where patients have rows in several of them.

With the influences u and v of a patient's rows on two groups the covariance of their values is `C / (C - 1) sum u v`
over the C patients behind either, and their correlation `sum u v / sqrt(sum u^2 sum v^2)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl

from fmfair.bootstrap.acceleration import Influence, influences, influences_of_means
from fmfair.groupings import Grouping
from fmfair.measures import Engine
from fmfair.metrics.metric import Metric
from fmfair.samples import Samples
from fmfair.shared import PLACE, TOGETHER
from fmfair.units import CellRows, Floats, Positions, cell_rows, corrected

# The influences on all metrics in the cells of a grouping, each with the rows of the cells.
Influences: TypeAlias = Callable[[Grouping], Iterator[tuple[CellRows, Influence]]]


def covariances(engine: Callable[[], Engine], groupings: Sequence[Grouping], wanted: Sequence[int]) -> pl.DataFrame:
    """How the groups of some groupings vary together: `PLACE` and `TOGETHER` of `fmfair.shared`.

    Args:
        engine: Gives the engine on arrays, which every row of the influences needs.
        groupings: How the samples are divided.
        wanted: The positions of those whose groups share patients.
    """
    found = engine()

    def of(grouping: Grouping) -> Iterator[tuple[CellRows, Influence]]:
        rows = cell_rows(found.frame, found.profiles, grouping)
        return ((rows, influence) for influence in influences(found, grouping, rows))

    return _together(of, found.frame["unit"], groupings, wanted)


def covariances_of_means(
    samples: Samples, metrics: Sequence[Metric], groupings: Sequence[Grouping], wanted: Sequence[int]
) -> pl.DataFrame:
    """The same of means of a value per sample, which may be missing."""

    def of(grouping: Grouping) -> Iterator[tuple[CellRows, Influence]]:
        return influences_of_means(samples, metrics, grouping)

    return _together(of, samples.frame["unit"], groupings, wanted)


def _together(of: Influences, patient: pl.Series, groupings: Sequence[Grouping], wanted: Sequence[int]) -> pl.DataFrame:
    schema = {**PLACE, **TOGETHER}
    parts = [pl.DataFrame(schema=schema)]
    for number in wanted:
        joint = None
        for rows, influence in of(groupings[number]):
            if joint is None or joint.rows is not rows:
                joint = _Joint.of(rows, patient, groupings[number].size)
            facts = joint.facts(influence)
            place = {"grouping": number, "metric": influence.metric, "t": influence.t}
            parts.append(pl.DataFrame({**place, **joint.cells, **facts}, schema_overrides=schema).select(*schema))
    return pl.concat(parts).with_columns(pl.col(pl.Float64).fill_nan(None)).drop_nulls(list(TOGETHER))


class _Joint(NamedTuple):
    """The units of two cells of a by-key that are of one patient.

    Attributes:
        rows: The rows of the cells.
        one: A unit of the first cell.
        other: That of the same patient in the second.
        pair: Which pair of cells these two are of.
        cell: The position of the first cell of each pair.
        other_cell: That of the second.
    """

    rows: CellRows
    one: Positions
    other: Positions
    pair: Positions
    cell: Positions
    other_cell: Positions

    @classmethod
    def of(cls, rows: CellRows, patient: pl.Series, size: int) -> _Joint:
        """Of the rows of cells, with the patient of every row of the table; `size` cells have one by-key."""
        assert rows.unit is not None
        of_unit = np.zeros(len(rows.cell_of_unit), dtype=np.int64)
        of_unit[rows.unit] = rows.of(patient)
        by = rows.numbers.to_numpy() // max(size, 1)
        units = pl.DataFrame({"patient": of_unit, "by": by[rows.cell_of_unit], "cell": rows.cell_of_unit})
        several = units.with_row_index("unit").filter(pl.len().over("patient", "by") > 1)
        both = several.join(several, on=["patient", "by"], suffix="_other").filter(
            pl.col("cell") < pl.col("cell_other")
        )
        both = both.with_columns((pl.struct("cell", "cell_other").rank("dense") - 1).alias("pair")).sort("pair")
        pairs = both.unique("pair", keep="first", maintain_order=True)
        columns = [both["unit"], both["unit_other"], both["pair"], pairs["cell"], pairs["cell_other"]]
        return cls(rows, *(column.to_numpy().astype(np.intp) for column in columns))

    @property
    def cells(self) -> dict[str, pl.Series]:
        """The numbers of the cells of each pair."""
        return {"cell": self.rows.numbers.gather(self.cell), "other_cell": self.rows.numbers.gather(self.other_cell)}

    def facts(self, influence: Influence) -> dict[str, Floats]:
        """The columns of `TOGETHER`."""
        rows = self.rows
        u = rows.per_unit(influence.values)
        carried = np.ones(len(rows.cell)) if influence.carried is None else influence.carried
        counted = np.minimum(rows.per_unit(carried), 1.0)
        together, shared = (self._sums(values[self.one] * values[self.other]) for values in (u, counted))
        own, units = rows.over_units(u**2), rows.over_units(counted)
        alone = own[self.cell] * own[self.other_cell]
        patients = units[self.cell] + units[self.other_cell] - shared
        with np.errstate(divide="ignore", invalid="ignore"):
            # What never varies is not correlated.
            correlation = np.where(alone == 0, 0.0, np.clip(together / np.sqrt(alone), -1.0, 1.0))
        return {"correlation": correlation, "covariance": corrected(patients) * together, "patients": patients}

    def _sums(self, values: Floats) -> Floats:
        return np.bincount(self.pair, values, len(self.cell)).astype(np.float64, copy=False)
