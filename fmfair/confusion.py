"""Confusion counts: true and false positives and negatives of every cell at every threshold.

A cell's blocks lie next to one another in score order, so that the counts at a threshold come from a position that
a binary search finds. A thousand thresholds cost a thousand searches per cell and no further pass over the rows.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from fmfair.blocks import Blocks
from fmfair.groupings import Grouping
from fmfair.thresholds import DECIDED, DECIDED_T


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
    cell, end = asked["cell"].to_numpy(), np.uint64(blocks.n_ranks)
    cut = np.minimum(asked["cut"].fill_null(0).to_numpy(), end)
    pos_below, neg_below, rows_below = blocks.below(cell, cut)
    pos, neg, rows = blocks.below(cell, np.full_like(cut, end))
    counts = {
        "tp": pos - pos_below,
        "fp": neg - neg_below,
        "fn": pos_below,
        "tn": neg_below,
        "n_pred_pos": rows - rows_below,
    }
    known = pl.col("cut").is_not_null()
    return asked.with_columns(pl.Series(name, values) for name, values in counts.items()).select(
        "cell",
        "t",
        "threshold",
        "threshold_rule",
        "why",
        *(pl.when(known).then(pl.col(name)).alias(name) for name in counts),
    )


def confusion_of_decisions(frame: pl.DataFrame, grouping: Grouping, cells: pl.DataFrame) -> pl.DataFrame:
    """The counts of decisions already made in the cells, in the columns of `confusion_at`; they come after all cuts."""
    y, pred = pl.col("y") == 1, pl.col("pred") == 1
    amount = pl.col("weight") if "weight" in frame.columns else pl.lit(1, pl.Int64)

    def count(cases: pl.Expr) -> pl.Expr:
        return pl.when(cases).then(amount).otherwise(0).sum()

    found = (
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
    )
    return (
        cells.lazy()
        .join(found, on="cell", how="left", maintain_order="left")
        .select(
            "cell",
            pl.lit(DECIDED_T, pl.UInt32).alias("t"),
            pl.lit(None, pl.Float64).alias("threshold"),
            pl.lit(DECIDED).alias("threshold_rule"),
            pl.lit(None, pl.String).alias("why"),
            pl.col("tp", "fp", "fn", "tn", "n_pred_pos").fill_null(0),
        )
        .collect()
    )
