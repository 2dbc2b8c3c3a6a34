"""Overlap: how groups vary together with all rows, which they are part of, for `reference={...: "overall"}`.

With the influences u of the rows on a group and U on all rows, the difference of the two values has the variance
`N / (N - 1) sum (u - U)^2` over the N units, rows or patients, of all rows; u is 0 outside the group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from fmfair.attributes import Attribute
from fmfair.bootstrap.acceleration import influences
from fmfair.groupings import Grouping
from fmfair.intervals import OVERLAP
from fmfair.measures import Engine
from fmfair.options import Options
from fmfair.pairs import overall_references
from fmfair.units import CellRows, Floats, Positions, cell_rows, corrected

_KEY = {"grouping": pl.UInt32, "cell": pl.UInt64, "metric": pl.String, "t": pl.UInt32}


def with_overlap(
    long: pl.DataFrame,
    groupings: Sequence[Grouping],
    attributes: Sequence[Attribute],
    options: Options,
    engine: Callable[[], Engine],
) -> pl.DataFrame:
    """The long table with `forms.OVERLAP` beside the groups that are compared with all rows; as it is without such.

    Args:
        long: As from `measures.long_table`.
        groupings: The attributes come first.
        attributes: The attributes.
        options: What the user asked for.
        engine: Gives the engine on arrays, which every row of the influences needs.
    """
    wanted = overall_references(options.reference, {a.name: a.labels for a in attributes})
    if not wanted:
        return long
    found = engine()
    parts = [_of_grouping(found, number, groupings[number]) for number in wanted]
    return long.join(pl.concat(parts), on=list(_KEY), how="left", nulls_equal=True, maintain_order="left")


def _of_grouping(engine: Engine, number: int, grouping: Grouping) -> pl.DataFrame:
    whole = grouping.all_rows(engine.samples.incomplete)
    of_groups, of_all = (cell_rows(engine.frame, engine.profiles, g) for g in (grouping, whole))
    both = _Both.of(of_groups, of_all, engine.frame.height)
    pairs = zip(influences(engine, grouping, of_groups), influences(engine, whole, of_all), strict=True)
    parts = [pl.DataFrame(schema={**_KEY, **dict.fromkeys(OVERLAP, pl.Float64)})]
    for group, overall in pairs:
        facts = dict(zip(OVERLAP, both.overlap(group.values, overall.values), strict=True))
        place = {"grouping": number, "cell": of_groups.numbers, "metric": group.metric, "t": group.t}
        parts.append(pl.DataFrame({**place, **facts}, schema_overrides=_KEY).select(*_KEY, *OVERLAP))
    return pl.concat(parts).with_columns(pl.col(OVERLAP).fill_nan(None))


class _Both(NamedTuple):
    """The rows of groups among all rows.

    Attributes:
        of_groups: The rows of the groups.
        of_all: All rows.
        unit: For each unit of the groups its number among those of all rows.
        cell: For each group the position of the cell of all rows.
    """

    of_groups: CellRows
    of_all: CellRows
    unit: Positions
    cell: Positions

    @classmethod
    def of(cls, of_groups: CellRows, of_all: CellRows, height: int) -> _Both:
        """The rows of groups, all of which are among all rows, of a table of this height."""
        every = np.arange(height)
        inside = every if of_groups.rows is None else every[of_groups.rows]
        place = every if of_all.rows is None else np.cumsum(of_all.rows) - 1
        row = place[inside]
        cell = np.zeros(len(of_groups.numbers), dtype=np.intp)
        cell[of_groups.cell] = of_all.cell[row]
        if of_groups.unit is None or of_all.unit is None:
            return cls(of_groups, of_all, row.astype(np.intp), cell)
        unit = np.zeros(len(of_groups.cell_of_unit), dtype=np.intp)
        unit[of_groups.unit] = of_all.unit[row]
        return cls(of_groups, of_all, unit, cell)

    def overlap(self, group: Floats, overall: Floats) -> tuple[Floats, Floats, Floats]:
        """The correlation of each group with all rows, the variance of their difference, and the units of all rows."""
        u, of_all = self.of_groups.per_unit(group), self.of_all.per_unit(overall)
        own, whole = self.of_groups.over_units(u**2), self.of_all.over_units(of_all**2)[self.cell]
        together = self.of_groups.over_units(u * of_all[self.unit])
        units = self.of_all.units[self.cell]
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = np.clip(together / np.sqrt(own * whole), -1.0, 1.0)
        variance = corrected(units) * np.maximum(own + whole - 2 * together, 0.0)
        return correlation, variance, units
