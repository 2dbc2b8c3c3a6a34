"""Blocks: the rows of every cell in score order, ties merged, from one sort per grouping.

A row becomes one number made of its cell, the rank of its score among those of its by-key, and its label. Sorting
the keys orders every cell at once; runs of equal cell and rank are the blocks, in each of which the negatives come
first. All ranking metrics, the search for a threshold and the counts at any number of thresholds are arithmetic on
blocks.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.errors import FmfairError
from fmfair.groupings import Grouping
from fmfair.metrics.blocks import NEG, POS, Cut
from fmfair.profiles import Numbers, Profiles, holding
from fmfair.ranks import Ranks

KEY_LIMIT = 2**63

Positions: TypeAlias = npt.NDArray[np.intp]
Values: TypeAlias = npt.NDArray[Any]


class Blocks:
    """The blocks of one grouping, from a table of them: of rows with weights, or of rows that were counted elsewhere.

    Attributes:
        ranks: What the ranks stand for.
    """

    def __init__(self, frame: pl.DataFrame, ranks: Ranks) -> None:
        self._frame = frame
        self.ranks = ranks

    @property
    def frame(self) -> pl.DataFrame:
        """One row per block in key order: `key` = cell * n_ranks + rank, `pos` and `neg` (or their weights), `rows`."""
        return self._frame

    @property
    def n_ranks(self) -> int:
        """How many ranks there can be in a cell."""
        return self.ranks.size

    def by_cell(self) -> pl.LazyFrame:
        """The blocks with their `cell` and `rank`, cells and ranks rising."""
        key = pl.col("key")
        return self.frame.lazy().with_columns(
            (key // self.n_ranks).set_sorted().alias("cell"), (key % self.n_ranks).cast(pl.UInt32).alias("rank")
        )

    def steps(self) -> pl.LazyFrame:
        """The blocks that hold positives: `cell`, `pos`, `neg`, and the counts at a cut there, `tp`, `fp` and `tn`."""
        counts = Cut.of(POS, NEG)._asdict().items()
        return self.by_cell().with_columns(sums.over("cell").alias(name) for name, sums in counts).filter(POS > 0)

    def below(self, cell: Numbers, cut: Numbers) -> tuple[Values, Values, Positions]:
        """Sums of `pos`, `neg` and `rows` over the blocks of a cell whose rank is less than `cut`."""
        start, end = (self._position(cell, rank) for rank in (np.zeros_like(cut), cut))
        rows = np.concatenate([[0], np.cumsum(self.frame["rows"].to_numpy())])
        pos, neg = (np.where(end > start, sums[end], 0) for sums in self._running)
        return pos, neg, rows[end] - rows[start]

    def of_rows(self, cell: Numbers, rank: Numbers) -> Positions:
        """The block of each row, a position in `frame`, from the row's cell and rank."""
        return np.searchsorted(self.frame["key"].to_numpy(), cell * np.uint64(self.n_ranks) + rank)

    def _position(self, cell: Numbers, rank: Numbers) -> Positions:
        return self.of_rows(cell, rank)

    @cached_property
    def _running(self) -> list[Values]:
        """Running sums of `pos` and `neg` within each cell, so that a large cell costs a small one no digits."""
        sums = self.by_cell().select(pl.col("pos", "neg").cum_sum().over("cell")).collect()
        return [np.concatenate([[0], column.to_numpy()]) for column in sums]


class CountedBlocks(Blocks):
    """The blocks of rows that count once, from the sorted keys of the rows.

    Attributes:
        keys: (cell * n_ranks + rank) * 2 + label of every row, in rising order.
        ranks: What the ranks stand for.
    """

    def __init__(self, keys: Numbers, ranks: Ranks) -> None:
        self.keys = keys
        self.ranks = ranks

    @cached_property
    def positives(self) -> Positions:
        """Where the positives are among the keys."""
        return np.flatnonzero((self.keys & 1).astype(bool))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """As for all blocks; few evaluations need it."""
        block = self.keys >> 1
        last = _ends(block)
        rows = np.diff(last, prepend=-1)
        pos = np.diff(np.searchsorted(self.positives, last, side="right"), prepend=0)
        table = {"key": block[last].astype(np.uint64), "pos": pos, "neg": rows - pos, "rows": rows}
        return pl.DataFrame(table).with_columns(pl.col("key").set_sorted())

    def steps(self) -> pl.LazyFrame:
        """As for all blocks, straight from where the positives are: negatives are counted by the places between."""
        block = self.keys[self.positives] >> 1
        last = _ends(block)
        first = np.concatenate([np.zeros(min(len(last), 1), dtype=np.intp), last[:-1] + 1])
        block = block[last]
        start = self.positives[first]
        # Negatives of the same block lie just below its positives.
        low = start.copy()
        tied = np.flatnonzero(self.keys[start - 1] == block << 1)
        low[tied] = np.searchsorted(self.keys, block[tied] << 1)
        below = low - first
        cell = block // block.dtype.type(self.n_ranks)
        end = _ends(cell)
        below_cell, up_to_cell = self._negatives(cell[end])
        per_cell = np.diff(end, prepend=-1)
        table = {
            "cell": cell.astype(np.uint64),
            "pos": last - first + 1,
            "neg": start - low,
            "tp": np.repeat(last[end] + 1, per_cell) - first,
            "fp": np.repeat(up_to_cell, per_cell) - below,
            "tn": below - np.repeat(below_cell, per_cell),
        }
        return pl.LazyFrame(table).with_columns(pl.col("cell").set_sorted())

    def _negatives(self, cell: Numbers) -> list[Positions]:
        """How many negatives lie below cells, and up to their end."""
        rank = np.zeros(len(cell), dtype=np.uint64)
        bounds = [self._position(cell.astype(np.uint64) + np.uint64(c), rank) for c in (0, 1)]
        return [bound - np.searchsorted(self.positives, bound) for bound in bounds]

    def below(self, cell: Numbers, cut: Numbers) -> tuple[Values, Values, Positions]:
        """As for all blocks: positives are counted by their places, and the other rows are negatives."""
        start, end = (self._position(cell, rank) for rank in (np.zeros_like(cut), cut))
        pos = np.searchsorted(self.positives, end) - np.searchsorted(self.positives, start)
        return pos, end - start - pos, end - start

    def _position(self, cell: Numbers, rank: Numbers) -> Positions:
        key = (cell * np.uint64(self.n_ranks) + rank) << np.uint64(1)
        return np.searchsorted(self.keys, key.astype(self.keys.dtype))  # keys of another type would all be converted


def make_blocks(frame: pl.DataFrame, profiles: Profiles, grouping: Grouping, ranks: Ranks, n_by: int) -> Blocks:
    """The blocks of every cell of a grouping.

    Args:
        frame: The table of samples.
        profiles: The profile of each of its rows.
        grouping: How the samples are divided.
        ranks: The rank of each sample.
        n_by: How many by-keys there are.

    Raises:
        FmfairError: Cells and scores are too many to number in 64 bits.
    """
    n_ranks = ranks.size
    limit = 2 * n_by * grouping.size * n_ranks
    if limit >= KEY_LIMIT:
        raise FmfairError(
            f"{grouping.attribute or 'all rows'}: {n_by * grouping.size:,} cells times {n_ranks:,} distinct scores are "
            "too many; evaluate fewer attributes or by-keys at once"
        )
    cells = profiles.table.select(grouping.cell()).to_series()
    first: Numbers = (cells.fill_null(0) * (2 * n_ranks)).to_numpy()
    keys = profiles.lookup(first.astype(holding(limit + 1)))
    keys += frame[ranks.column].to_numpy().astype(keys.dtype, copy=False)
    inside = profiles.lookup(cells.is_not_null().to_numpy()) if cells.null_count() else slice(None)
    if "weight" in frame.columns:
        y, weight = frame["y"].to_numpy()[inside], frame["weight"].to_numpy()[inside]
        return Blocks(_summed(keys[inside], y, weight), ranks)
    keys = keys[inside]
    keys.sort()
    return CountedBlocks(keys, ranks)


def _summed(keys: Numbers, y: Values, weight: Values) -> pl.DataFrame:
    rows = pl.LazyFrame({"key": keys.astype(np.uint64) >> 1, "pos": y * weight, "neg": (1 - y) * weight})
    sums = rows.group_by("key").agg(pl.col("pos", "neg").sum(), rows=pl.len().cast(pl.Int64))
    return sums.sort("key").with_columns(pl.col("key").set_sorted()).collect()


def _ends(values: Values) -> Positions:
    """The last position of every run of equal values."""
    return np.flatnonzero(np.concatenate([values[1:] != values[:-1], np.full(min(len(values), 1), True)]))
