"""Sums per cell and score bin: the counts of every cell, and all that calibration needs, from one grouped pass."""

from __future__ import annotations

import polars as pl

from fmfair.conventions import Conventions
from fmfair.groupings import Grouping
from fmfair.metrics.bins import brier_rows, unit_bin


def bin_table(frame: pl.DataFrame, grouping: Grouping, n_bins: int, conventions: Conventions) -> pl.DataFrame:
    """Sums per cell and bin.

    Args:
        frame: The table of samples; without `bce` (scores that are not probabilities, or decisions alone) there is
            one bin and the sums of the scores are left out.
        grouping: How the samples are divided.
        n_bins: Number of bins.
        conventions: Where the bins lie.

    Returns:
        Columns `cell`, `bin`, `n`, `n_pos`, `weight`, and where scores are probabilities `sum_y`, `sum_p`,
        `sum_bce`, `sum_brier`.
    """
    weight = pl.col("weight") if "weight" in frame.columns else pl.lit(1.0)
    y, p = pl.col("y"), pl.col("prob")
    sums = [pl.len().cast(pl.Int64).alias("n"), y.sum().alias("n_pos")]
    sums.append((weight.sum() if "weight" in frame.columns else pl.len().cast(pl.Float64)).alias("weight"))
    rows = frame.lazy().with_columns(cell=grouping.cell()).drop_nulls("cell")
    if "bce" not in frame.columns:
        return rows.group_by("cell").agg(sums).with_columns(bin=pl.lit(0, pl.UInt32)).collect()
    number = _range_bin(p, n_bins) if conventions.ece_on_group_range else unit_bin(p, n_bins)
    sums += [
        (y * weight).sum().alias("sum_y"),
        (p * weight).sum().alias("sum_p"),
        (pl.col("bce") * weight).sum().alias("sum_bce"),
        (brier_rows(y, p) * weight).sum().alias("sum_brier"),
    ]
    cell_bin = (pl.col("cell") * (n_bins + 1) + number).alias("cell_bin")
    return (
        rows.with_columns(cell_bin)
        .group_by("cell_bin")
        .agg(sums)
        .with_columns(cell=pl.col("cell_bin") // (n_bins + 1), bin=(pl.col("cell_bin") % (n_bins + 1)).cast(pl.UInt32))
        .drop("cell_bin")
        .sort("cell", "bin")
        .collect()
    )


def _range_bin(p: pl.Expr, n_bins: int) -> pl.Expr:
    """Number of the right-closed bin over the range of the cell's own scores, edges as `pandas.cut` places them."""
    low, high = p.min().over("cell"), p.max().over("cell")
    flat = low == high
    widen = pl.when(low == 0.0).then(0.001).otherwise(low.abs() * 0.001)
    start = pl.when(flat).then(low - widen).otherwise(low)
    stop = pl.when(flat).then(high + widen).otherwise(high)
    # NumPy's division: Polars multiplies by the reciprocal of a number, which moves an edge by the last digit.
    step = (stop - start).map_batches(lambda width: pl.Series(width.to_numpy() / n_bins), return_dtype=pl.Float64)
    above = [(p > start + step * k).cast(pl.UInt32) for k in range(1, n_bins)]
    return pl.sum_horizontal(above)
