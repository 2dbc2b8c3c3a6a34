"""Sums per cell and score bin: the counts of every cell, and all that calibration needs, from one grouped pass."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.conventions import Conventions
from fmfair.metrics.bins import brier_rows, unit_bin
from fmfair.profiles import Profiles

Floats: TypeAlias = npt.NDArray[np.float64]

# Slots are counted in an array as long as the largest slot, unless that is far longer than the rows.
SPARSE, SMALL = 4, 100_000

# Rows that are summed up at once: their values stay close to the processor and are never held for all rows.
BATCH = 100_000


def binned_rows(frame: pl.DataFrame, n_bins: int, conventions: Conventions, *, chance: bool = False) -> pl.DataFrame:
    """What every grouping sums up: the values of each row (times its weight) and its bin.

    Args:
        frame: The table of samples; without `bce` (scores that are not probabilities, or decisions alone) there is
            one bin and the sums of the scores are left out.
        n_bins: Number of bins.
        conventions: Where the bins lie; where that depends on the cell there is no `bin` yet.
        chance: Whether to add up too what tells an error of calibration from chance.

    Returns:
        Columns `bin`, `n_pos`, and where at hand `weight` and `sum_y`, `prob`, `sum_p`, `sum_bce`, `sum_brier`, and
        `sum_pq`: p (1 - p) times the square of the weight; with weights `sum_ww`: that square.
    """
    y, p = pl.col("y"), pl.col("prob")
    weight = [pl.col("weight")] if "weight" in frame.columns else []
    positives = y.cast(pl.Float64).alias("n_pos")
    if "bce" not in frame.columns:
        return frame.select(*weight, positives, pl.lit(0, pl.UInt32).alias("bin"))
    number = [] if conventions.ece_on_group_range else [unit_bin(p, n_bins).alias("bin")]
    values = {"sum_p": p, "sum_bce": pl.col("bce"), "sum_brier": brier_rows(y, p)}
    if chance:
        spread = p * (1.0 - p)  # times the weight, and once more below
        values |= {"sum_pq": spread * weight[0], "sum_ww": weight[0]} if weight else {"sum_pq": spread}
    if weight:
        values = {"sum_y": y.cast(pl.Float64), **values}  # without weights that is n_pos
    sums = [(value * weight[0] if weight else value).alias(name) for name, value in values.items()]
    return frame.select(*weight, positives, p, *number, *sums)


def profile_sums(
    frame: pl.DataFrame, profiles: Profiles, n_bins: int, conventions: Conventions, *, chance: bool = False
) -> pl.DataFrame:
    """The rows summed up per profile and bin, for all groupings to add up.

    Args:
        frame: The table of samples.
        profiles: The profile of each of its rows.
        n_bins: Number of bins.
        conventions: Where the bins lie, which must not depend on the cell.
        chance: As for `binned_rows`.

    Returns:
        The columns of `binned_rows` but `prob`, `profile`, and `n`, the number of rows behind each.
    """
    size = profiles.table.height * n_bins
    sums: dict[str, Floats] = {}
    step = max(BATCH, SPARSE * size)
    for start in range(0, frame.height, step):
        rows = binned_rows(frame.slice(start, step), n_bins, conventions, chance=chance)
        slot = profiles.of_row[start : start + step].astype(np.intp) * n_bins + rows["bin"].to_numpy()
        part = _sums(slot, rows.select(_summed_columns(rows)), size)
        sums = {name: sums[name] + values for name, values in part.items()} if sums else part
    slot = np.arange(size)
    return pl.DataFrame({"profile": slot // n_bins, "bin": slot % n_bins, **sums}).filter(pl.col("n") > 0)


def bin_table(rows: pl.DataFrame, cells: pl.Series, n_bins: int) -> pl.DataFrame:
    """Sums per cell and bin.

    Args:
        rows: As from `binned_rows` with the `profile` of each, or as from `profile_sums`.
        cells: The cell of every profile, NULL where it is in none.
        n_bins: Number of bins.

    Returns:
        Columns `cell`, `bin`, `n`, `n_pos`, `weight`, and where scores are probabilities `sum_y`, `sum_p`,
        `sum_bce`, `sum_brier`, and what else was added up.
    """
    if cells.null_count():
        rows = rows.filter(cells.is_not_null().gather(rows["profile"]))
    first = cells.fill_null(0).to_numpy().astype(np.intp) * n_bins
    slot = first.take(rows["profile"].to_numpy(), mode="clip")
    if "bin" not in rows.columns:
        rows = rows.with_columns(cell=pl.Series(slot)).with_columns(_range_bin(pl.col("prob"), n_bins).alias("bin"))
    summed = _summed_columns(rows)
    slot += rows["bin"].to_numpy()
    weight = "weight" if "weight" in rows.columns else "n"
    known = "sum_y" in rows.columns or "sum_p" not in rows.columns
    positives = [] if known else [pl.col("n_pos").alias("sum_y")]
    return _per_slot(slot, rows.select(summed)).select(
        (pl.col("slot") // n_bins).cast(pl.UInt64).alias("cell"),
        (pl.col("slot") % n_bins).cast(pl.UInt32).alias("bin"),
        pl.col("n", "n_pos").cast(pl.Int64),
        pl.col(weight).cast(pl.Float64).alias("weight"),
        *positives,
        *(c for c in summed if c.startswith("sum_")),
    )


def _summed_columns(rows: pl.DataFrame) -> list[str]:
    return [c for c in rows.columns if c in ("n", "n_pos", "weight") or c.startswith("sum_")]


def _per_slot(slot: npt.NDArray[np.int64], rows: pl.DataFrame) -> pl.DataFrame:
    """Sums of all columns per slot; empty slots are left out."""
    largest = int(slot.max()) if len(slot) else 0
    if largest <= max(SPARSE * len(slot), SMALL):
        numbers = np.arange(largest + 1)
    else:
        numbers, slot = np.unique(slot, return_inverse=True)
    return pl.DataFrame({"slot": numbers, **_sums(slot, rows, len(numbers))}).filter(pl.col("n") > 0)


def _sums(slot: npt.NDArray[np.intp], rows: pl.DataFrame, size: int) -> dict[str, Floats]:
    """Sums of all columns per slot, and the number of rows `n` where it is not among them.

    Rows are added in their order, one after another, so that the same table gives the same last digit every time.
    """
    # NumPy counts nothing in whole numbers
    columns: dict[str, Floats | None] = {"n": None, **{c.name: c.to_numpy() for c in rows.iter_columns()}}
    return {name: np.bincount(slot, v, size).astype(np.float64, copy=False) for name, v in columns.items()}


def _range_bin(p: pl.Expr, n_bins: int) -> pl.Expr:
    """Number of the right-closed bin over the range of the cell's own scores, edges as `pandas.cut` places them."""
    if n_bins == 1:
        return pl.lit(0, pl.UInt32)
    low, high = p.min().over("cell"), p.max().over("cell")
    flat = low == high
    widen = pl.when(low == 0.0).then(0.001).otherwise(low.abs() * 0.001)
    start = pl.when(flat).then(low - widen).otherwise(low)
    stop = pl.when(flat).then(high + widen).otherwise(high)
    # NumPy's division: Polars multiplies by the reciprocal of a number, which moves an edge by the last digit.
    step = (stop - start).map_batches(lambda width: pl.Series(width.to_numpy() / n_bins), return_dtype=pl.Float64)
    above = [(p > start + step * k).cast(pl.UInt32) for k in range(1, n_bins)]
    return pl.sum_horizontal(above)
