"""Blocks: the rows of every cell in score order, ties merged, from one sort per grouping.

A row becomes one 64-bit key made of its cell, the rank of its score among all distinct scores, and its label. Sorting
the keys orders every cell at once; runs of equal cell and rank are the blocks. All ranking metrics, the search for
a threshold and the counts at any number of thresholds are arithmetic on blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from fmfair.errors import FmfairError
from fmfair.groupings import Grouping

KEY_LIMIT = 2**63


@dataclass(frozen=True)
class Ranks:
    """The rank of each row's score among the distinct scores of the whole table.

    Attributes:
        column: Where the ranks are in the table of samples.
        distinct: The distinct scores in rising order; a rank is a position in it.
    """

    column: str
    distinct: pl.Series


def add_ranks(frame: pl.DataFrame) -> tuple[pl.DataFrame, Ranks, Ranks]:
    """The table with ranks of `score` (what is ranked) and of `prob` (what is cut); one column serves both if it can.

    A sigmoid may make different logits equal. Then the two orders differ, and each gets its own ranks.
    """
    frame, ranking = _ranked(frame, "score", "rank")
    prob = frame["prob"].to_numpy()
    if np.array_equal(frame["score"].to_numpy(), prob):
        return frame, ranking, ranking
    value_of_rank = np.empty(len(ranking.distinct))
    value_of_rank[frame["rank"].to_numpy()] = prob
    if np.all(np.diff(value_of_rank) > 0) and np.array_equal(value_of_rank[frame["rank"].to_numpy()], prob):
        both = Ranks("rank", pl.Series(value_of_rank))
        return frame, both, both
    frame, cutting = _ranked(frame, "prob", "cut_rank")
    return frame, ranking, cutting


def _ranked(frame: pl.DataFrame, column: str, name: str) -> tuple[pl.DataFrame, Ranks]:
    distinct, ranks = np.unique(frame[column].to_numpy(), return_inverse=True)
    frame = frame.with_columns(pl.Series(name, ranks, dtype=pl.UInt64))
    # Rank and label together are the lower part of the keys of every grouping.
    labelled = (pl.col(name) * 2 + pl.col("y").cast(pl.UInt64)).alias(f"{name}_y")
    return frame.with_columns(labelled), Ranks(name, pl.Series(distinct))


@dataclass(frozen=True)
class Blocks:
    """The blocks of one grouping.

    Attributes:
        frame: One row per block in key order: `key` = cell * n_ranks + rank, `pos` and `neg` (rows, or their
            weights), `rows`.
        ranks: What the ranks stand for.
    """

    frame: pl.DataFrame
    ranks: Ranks

    @property
    def n_ranks(self) -> int:
        """How many distinct scores there are in the whole table."""
        return len(self.ranks.distinct)

    def by_cell(self) -> pl.LazyFrame:
        """The blocks with their `cell`, `rank` and `score`, cells and ranks rising."""
        key = pl.col("key")
        return self.frame.lazy().with_columns(
            (key // self.n_ranks).set_sorted().alias("cell"), (key % self.n_ranks).cast(pl.UInt32).alias("rank")
        )


def make_blocks(frame: pl.DataFrame, grouping: Grouping, ranks: Ranks, n_by: int) -> Blocks:
    """The blocks of every cell of a grouping.

    Raises:
        FmfairError: Cells and scores are too many to number in 64 bits.
    """
    n_ranks = len(ranks.distinct)
    if 2 * n_by * grouping.size * n_ranks >= KEY_LIMIT:
        raise FmfairError(
            f"{grouping.attribute or 'all rows'}: {n_by * grouping.size:,} cells times {n_ranks:,} distinct scores are "
            "too many; evaluate fewer attributes or by-keys at once"
        )
    if "weight" in frame.columns:
        return Blocks(_weighted(frame, grouping.cell() * n_ranks + pl.col(ranks.column)), ranks)
    return Blocks(_counted(frame, grouping.cell() * (2 * n_ranks) + pl.col(f"{ranks.column}_y")), ranks)


def _counted(frame: pl.DataFrame, labelled: pl.Expr) -> pl.DataFrame:
    """Blocks of rows that count once: sort the packed keys and take the ends of the runs."""
    packed = frame.select(labelled.alias("key")).to_series().drop_nulls().to_numpy()
    packed = np.sort(packed)
    block = packed >> np.uint64(1)
    last = np.flatnonzero(np.append(block[1:] != block[:-1], np.full(min(len(block), 1), True)))
    pos = np.diff(np.cumsum(packed & np.uint64(1), dtype=np.int64)[last], prepend=0)
    rows = np.diff(last + 1, prepend=0)
    return pl.DataFrame({"key": block[last], "pos": pos, "neg": rows - pos, "rows": rows}).with_columns(
        pl.col("key").set_sorted()
    )


def _weighted(frame: pl.DataFrame, key: pl.Expr) -> pl.DataFrame:
    y, weight = pl.col("y"), pl.col("weight")
    return (
        frame.lazy()
        .select(key.alias("key"), pos=y * weight, neg=(1 - y) * weight)
        .drop_nulls("key")
        .group_by("key")
        .agg(pl.col("pos", "neg").sum(), rows=pl.len().cast(pl.Int64))
        .sort("key")
        .with_columns(pl.col("key").set_sorted())
        .collect()
    )
