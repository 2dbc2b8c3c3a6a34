"""Confusion counts at thresholds from bins: exact on edges, else every corner of what a bin leaves open.

A threshold inside a bin leaves open how many of its positives, a of `pos`, and negatives, c of `neg`, are called
positive. Every rate of the registry rises or falls in a with c fixed, and in c with a fixed, wherever it is defined
(MCC too). Its smallest and largest values are therefore at the corners of the rectangle or, where a corner is
undefined, right beside it: at a in {0, 1, pos - 1, pos} and c in {0, 1, neg - 1, neg}.
"""

from __future__ import annotations

import polars as pl

from fmfair.blocks import Blocks
from fmfair.confusion import confusion_at


def cut_points(starts: Blocks, ends: Blocks, cells: pl.DataFrame, thresholds: pl.DataFrame) -> pl.DataFrame:
    """The counts of every cell at the thresholds of its by-key, as `confusion_at`, at every place they may be at.

    Args:
        starts: The bins as blocks at their lower edges.
        ends: The bins as blocks at their upper edges.
        cells: Columns `cell`, `by`.
        thresholds: As from `threshold_table`.

    Returns:
        The columns of `confusion_at`, and `row`: which cell and threshold; one row each where it is known.
    """
    counts = ("tp", "fp", "fn", "tn", "n_pred_pos")
    sure = confusion_at(starts, cells, thresholds).with_columns(pl.col(*counts).cast(pl.Int64))
    # What lies surely below the threshold are the bins that end there or before.
    above = ends.ranks.distinct.search_sorted(thresholds["threshold"], side="right")
    beyond = thresholds.with_columns(pl.Series("cut", above, dtype=pl.UInt64).set(thresholds["cut"].is_null(), None))
    possible = confusion_at(ends, cells, beyond)
    opened = [(possible[of] - sure[of]).cast(pl.Int64).alias(name) for name, of in (("a", "tp"), ("c", "fp"))]
    sure = sure.with_columns(opened).with_row_index("row")
    known = pl.col("a").fill_null(0) + pl.col("c").fill_null(0) == 0
    exact = sure.filter(known).drop("a", "c")
    places = [
        sure.filter(~known).with_columns(a=_place(pl.col("a"), i), c=_place(pl.col("c"), j))
        for i in range(4)
        for j in range(4)
    ]
    a, c = pl.col("a"), pl.col("c")
    moved = (
        pl.concat(places)
        .unique(["row", "a", "c"])
        .with_columns(
            pl.col("tp") + a, pl.col("fp") + c, pl.col("fn") - a, pl.col("tn") - c, pl.col("n_pred_pos") + a + c
        )
    )
    return pl.concat([exact, moved.drop("a", "c").select(exact.columns)])


def _place(count: pl.Expr, i: int) -> pl.Expr:
    """0, 1, count - 1 or count, inside 0 ... count."""
    return (pl.lit(i, pl.Int64) if i < 2 else count - (3 - i)).clip(0, count)
