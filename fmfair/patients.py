"""Patients with several rows: nobody told them apart, or they are in several groups of an attribute."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fmfair.columns import ROLE_NAMES, normalise
from fmfair.errors import listing
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.roles import Columns

# How alike two rows of one patient are taken to be: between not at all and fully.
CORRELATION = 0.5


@dataclass(frozen=True)
class Sizes:
    """How many rows patients have within a by-key.

    Attributes:
        rows: The rows of all patients.
        patients: How many patients there are, once per by-key.
        squares: The squares of the rows of each patient, added up.
    """

    rows: int
    patients: int
    squares: float

    def too_narrow(self, correlation: float) -> float:
        """How many times narrower than they should be intervals are if rows of one patient correlate like that.

        It is the square root of the design effect 1 + (m - 1) r, where m is the mean number of rows of a row's patient.

        Examples:
            >>> round(Sizes(rows=50, patients=10, squares=250.0).too_narrow(0.5) ** 2, 9)
            3.0
        """
        return math.sqrt(1 + (self.squares / self.rows - 1) * correlation)


def unused_patients(schema: Mapping[str, pl.DataType], columns: Columns, options: Options) -> list[str]:
    """The column of patients by its usual name, where intervals take their rows for independent; at most one."""
    if options.ci is None or columns.cluster is not None:
        return []
    named = [name for name in schema if normalise(name) in ROLE_NAMES["patient"] and name not in columns.needed]
    return [name for name in named if not (schema[name].is_nested() or schema[name] == pl.Object)][:1]


def sizes_of(table: pl.DataFrame, columns: Columns, patient: str) -> Sizes:
    """The sizes of the patients of a table, wide or long."""
    # Under names of our own, since Polars reads names such as `*` and `^x$` as patterns.
    keys = {f"k{i}": table[name] for i, name in enumerate(columns.by)}
    rows = pl.DataFrame({**keys, "patient": table[patient]})
    if columns.long:
        rows = rows.with_columns(table[str(columns.sample_id)].alias("sample")).unique()
    rows = rows.drop_nulls("patient")
    counts = rows.group_by(*keys, "patient").len()["len"].cast(pl.Float64)
    return Sizes(rows.height, counts.len(), float((counts**2).sum()))


def note_patients(patient: str, sizes: Sizes, notes: Notes) -> None:
    """Says how much too narrow intervals are, where patients have several rows."""
    if sizes.rows <= sizes.patients:
        return
    notes.warn(
        f"column {patient!r}: {sizes.rows / sizes.patients:.1f} rows per patient on average, but the intervals count "
        f"all rows as independent, since cluster={patient!r} was not given; they may be too narrow, about "
        f"{sizes.too_narrow(CORRELATION):.1f} times where rows of a patient correlate by {CORRELATION:g} and up to "
        f"{sizes.too_narrow(1.0):.1f} times where they are all alike"
    )


def sharing(groups: pl.DataFrame, whole: pl.DataFrame, attributes: int) -> list[tuple[int, int]]:
    """The positions of the attributes of which some patients are in several groups, and how many groups these have.

    Args:
        groups: The group values, with `units`, how many patients are behind each.
        whole: The values on all rows of each grouping.
        attributes: How many there are; they come first among the groupings.
    """
    place = ["by", "grouping", "metric", "t"]
    single = groups.filter(pl.col("grouping") < attributes)
    of_groups = single.group_by(place).agg(pl.col("units").sum(), (pl.col("units") > 0).sum().alias("groups"))
    both = of_groups.join(whole.select(*place, "units"), on=place, nulls_equal=True, suffix="_of_all")
    shared = both.filter((pl.col("units") > pl.col("units_of_all")) & (pl.col("groups") >= 2))
    return shared.group_by("grouping").agg(pl.col("groups").max()).sort("grouping").rows()


def note_shared_patients(
    shared: Sequence[tuple[str, int]], unknown: Sequence[str], notes: Notes, *, resampled: bool
) -> None:
    """Says where patients are in several groups, and what takes account of it.

    Args:
        shared: The names of such attributes, and how many groups they have.
        unknown: The metrics of which it is not known how two groups vary together.
        notes: What is said.
        resampled: Whether intervals come from a bootstrap, which draws both of two groups together.
    """
    several = [name for name, groups in shared if groups > 2]
    named = several if resampled else [name for name, _ in shared]
    if not named:
        return
    what = "intervals" if resampled else "intervals and tests"
    but = f" (not of {listing(unknown)})" if unknown else ""
    wrong = "; of more groups they do not, and may be too narrow or too wide" if several else ""
    notes.say(
        f"{listing(named)}: some patients have rows in several groups; {what} of two groups allow for that{but}{wrong}"
    )
