"""Sums per cell and score bin: the counts of every cell, and all that calibration needs, from one grouped pass."""

from __future__ import annotations

import numpy as np
import polars as pl

from fmfair.conventions import Conventions
from fmfair.groupings import Grouping
from fmfair.metrics.bins import brier_rows, unit_bin

# Slots are counted in an array as long as the largest slot, unless that is far longer than the rows.
SPARSE, SMALL = 4, 100_000


def binned_rows(frame: pl.DataFrame, n_bins: int, conventions: Conventions) -> pl.DataFrame:
    """What every grouping sums up, computed once: the values of each row (times its weight) and its bin.

    Args:
        frame: The table of samples; without `bce` (scores that are not probabilities, or decisions alone) there is
            one bin and the sums of the scores are left out.
        n_bins: Number of bins.
        conventions: Where the bins lie; where that depends on the cell there is no `bin` yet.

    Returns:
        Columns `by`, `g0`, ..., `bin`, `n_pos`, and where at hand `weight` and `sum_y`, `prob`, `sum_p`, `sum_bce`,
        `sum_brier`.
    """
    y, p = pl.col("y"), pl.col("prob")
    keys = [pl.col(c) for c in frame.columns if c == "by" or c[0] == "g"]
    weight = [pl.col("weight")] if "weight" in frame.columns else []
    positives = y.cast(pl.Float64).alias("n_pos")
    if "bce" not in frame.columns:
        return frame.select(*keys, *weight, positives, pl.lit(0, pl.UInt32).alias("bin"))
    number = [] if conventions.ece_on_group_range else [unit_bin(p, n_bins).alias("bin")]
    values = {"sum_p": p, "sum_bce": pl.col("bce"), "sum_brier": brier_rows(y, p)}
    if weight:
        values = {"sum_y": y.cast(pl.Float64), **values}  # without weights that is n_pos
    sums = [(value * weight[0] if weight else value).alias(name) for name, value in values.items()]
    return frame.select(*keys, *weight, positives, p, *number, *sums)


def compressed(rows: pl.DataFrame, finest: Grouping, n_bins: int) -> pl.DataFrame:
    """The rows summed up per bin and cell of the intersection of all attributes, for coarser groupings to add up.

    Args:
        rows: As from `binned_rows`, with no attribute missing anywhere.
        finest: The grouping by all attributes.
        n_bins: Number of bins.

    Returns:
        The columns of `rows`, and `n`, the number of rows behind each.
    """
    table = bin_table(rows, finest, n_bins)
    kept = [c for c in table.columns if c != "cell" and (c != "weight" or "weight" in rows.columns)]
    return table.select(*finest.codes(), *kept).with_columns(pl.col("n_pos").cast(pl.Float64))


def bin_table(rows: pl.DataFrame, grouping: Grouping, n_bins: int) -> pl.DataFrame:
    """Sums per cell and bin.

    Args:
        rows: As from `binned_rows` or `compressed`.
        grouping: How the samples are divided.
        n_bins: Number of bins.

    Returns:
        Columns `cell`, `bin`, `n`, `n_pos`, `weight`, and where scores are probabilities `sum_y`, `sum_p`,
        `sum_bce`, `sum_brier`.
    """
    cells = rows.lazy().with_columns(grouping.cell().alias("cell")).drop_nulls("cell")
    if "bin" not in rows.columns:
        cells = cells.with_columns(_range_bin(pl.col("prob"), n_bins).alias("bin"))
    summed = [c for c in rows.columns if c in ("n", "n_pos", "weight") or c.startswith("sum_")]
    slots = cells.select((pl.col("cell") * n_bins + pl.col("bin")).cast(pl.Int64).alias("slot"), *summed).collect()
    weight = "weight" if "weight" in rows.columns else "n"
    known = "sum_y" in rows.columns or "sum_p" not in rows.columns
    positives = [] if known else [pl.col("n_pos").alias("sum_y")]
    return _summed(slots).select(
        (pl.col("slot") // n_bins).cast(pl.UInt64).alias("cell"),
        (pl.col("slot") % n_bins).cast(pl.UInt32).alias("bin"),
        pl.col("n", "n_pos").cast(pl.Int64),
        pl.col(weight).cast(pl.Float64).alias("weight"),
        *positives,
        *(c for c in summed if c.startswith("sum_")),
    )


def _summed(rows: pl.DataFrame) -> pl.DataFrame:
    """Sums of all columns per slot, and the number of rows `n` where it is not among them; empty slots are left out.

    Rows are added in their order, one after another, so that the same table gives the same last digit every time.
    """
    slot = rows["slot"].to_numpy()
    largest = int(slot.max()) if len(slot) else 0
    if largest <= max(SPARSE * len(slot), SMALL):
        numbers, position = np.arange(largest + 1), slot
    else:
        numbers, position = np.unique(slot, return_inverse=True)
    sums = {
        # NumPy counts nothing in whole numbers
        name: np.bincount(position, weights=rows[name].to_numpy(), minlength=len(numbers)).astype(np.float64)
        for name in rows.columns
        if name != "slot"
    }
    if "n" not in sums:
        sums["n"] = np.bincount(position, minlength=len(numbers)).astype(np.float64)
    return pl.DataFrame({"slot": numbers, **sums}).filter(pl.col("n") > 0)


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
