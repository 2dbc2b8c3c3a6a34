"""Confusion counts: true and false positives and negatives of every cell at every threshold.

A cell's blocks lie next to one another in score order, so that the counts at a threshold are the difference of two
running sums at a position that a binary search finds. A thousand thresholds cost a thousand searches per cell and no
further pass over the rows.
"""

from __future__ import annotations

import polars as pl

from fmfair.blocks import Blocks
from fmfair.groupings import Grouping
from fmfair.thresholds import DECIDED


def confusion_at(blocks: Blocks, cells: pl.DataFrame, thresholds: pl.DataFrame) -> pl.DataFrame:
    """The counts of every cell at the thresholds of its by-key.

    Args:
        blocks: Blocks of the cut scores.
        cells: Columns `cell`, `by`.
        thresholds: As from `threshold_table`.

    Returns:
        Columns `cell`, `t`, `threshold`, `threshold_rule`, `why`, `tp`, `fp`, `fn`, `tn` (rows or their weights)
        and `n_pred_pos` (rows called positive); the counts are NULL where the threshold is.
    """
    asked = cells.select("cell", "by").join(thresholds, on="by", how="inner", maintain_order="left_right")
    n_ranks, keys = blocks.n_ranks, blocks.frame["key"]
    first = asked["cell"] * n_ranks
    start = pl.Series("start", keys.search_sorted(first, side="left"), dtype=pl.Int64)
    end = pl.Series("end", keys.search_sorted(first + n_ranks, side="left"), dtype=pl.Int64)
    cut = first + asked["cut"].fill_null(0).clip(0, n_ranks)
    at = pl.Series("at", keys.search_sorted(cut, side="left"), dtype=pl.Int64)
    bounds = pl.DataFrame([start, at, end])
    below, total = _sums(blocks, bounds, "at"), _sums(blocks, bounds, "end")
    defined = asked["cut"].is_not_null()
    counts = pl.DataFrame(
        [
            (total["pos"] - below["pos"]).alias("tp"),
            (total["neg"] - below["neg"]).alias("fp"),
            below["pos"].alias("fn"),
            below["neg"].alias("tn"),
            (total["rows"] - below["rows"]).alias("n_pred_pos"),
        ]
    )
    known = pl.concat([asked, counts], how="horizontal").with_columns(
        pl.when(defined).then(pl.col(c)).alias(c) for c in counts.columns
    )
    return known.select("cell", "t", "threshold", "threshold_rule", "why", *counts.columns)


def _sums(blocks: Blocks, bounds: pl.DataFrame, upto: str) -> dict[str, pl.Series]:
    """Sums of `pos`, `neg` and `rows` over the blocks from `start` up to a position, which is left out."""
    sums = {}
    for name in ("pos", "neg", "rows"):
        values = blocks.frame[name]
        if values.dtype.is_float():
            sums[name] = _float_sums(blocks, name, bounds, upto)
            continue
        # Whole numbers: the difference of two running sums over all cells is exact.
        running = pl.concat([pl.Series(name, [0], dtype=values.dtype), values.cum_sum()])
        sums[name] = running.gather(bounds[upto]) - running.gather(bounds["start"])
    return sums


def _float_sums(blocks: Blocks, name: str, bounds: pl.DataFrame, upto: str) -> pl.Series:
    """Weights: each cell has its own running sum, so that a large cell costs a small one no digits."""
    running = (
        blocks.by_cell().select(pl.col(name).cum_sum().over("cell", order_by="rank")).collect().to_series()
    )
    inside = bounds[upto] > bounds["start"]
    last = (bounds[upto] - 1).clip(0)
    values = running.gather(last) if len(running) else pl.repeat(0.0, len(last), eager=True)
    return values.set(~inside, 0.0).alias(name)


def confusion_of_decisions(frame: pl.DataFrame, grouping: Grouping) -> pl.DataFrame:
    """The counts of decisions already made, in the columns of `confusion_at`; `t` is NULL-safe and sorts last."""
    y, pred = pl.col("y") == 1, pl.col("pred") == 1
    amount = pl.col("weight") if "weight" in frame.columns else pl.lit(1, pl.Int64)

    def count(cases: pl.Expr) -> pl.Expr:
        return pl.when(cases).then(amount).otherwise(0).sum()

    return (
        frame.lazy()
        .with_columns(cell=grouping.cell())
        .drop_nulls("cell")
        .group_by("cell")
        .agg(
            tp=count(y & pred),
            fp=count(~y & pred),
            fn=count(y & ~pred),
            tn=count(~y & ~pred),
            n_pred_pos=pred.sum().cast(pl.Int64),
        )
        .select(
            "cell",
            pl.lit(2**32 - 1, pl.UInt32).alias("t"),
            pl.lit(None, pl.Float64).alias("threshold"),
            pl.lit(DECIDED).alias("threshold_rule"),
            pl.lit(None, pl.String).alias("why"),
            *("tp", "fp", "fn", "tn", "n_pred_pos"),
        )
        .collect()
    )
