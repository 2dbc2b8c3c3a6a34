"""Ranks: the position of each row's score among the distinct scores of its by-key, from one sort of packed keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.profiles import Numbers, holding

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Positions: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Ranks:
    """The rank of each row's score among the distinct scores of its by-key, which keeps the keys of blocks short.

    Attributes:
        column: Where the table of samples has twice the rank plus the label: the lower part of the keys of every
            grouping.
        distinct: The distinct scores, by-key after by-key, in rising order within each.
        start: Where those of each by-key begin, and where the last end; None where all by-keys share one list.
    """

    column: str
    distinct: pl.Series
    start: Positions | None = None

    @cached_property
    def size(self) -> int:
        """The ranks are less than this."""
        return len(self.distinct) if self.start is None else int(np.diff(self.start).max(initial=0))

    def score(self, by: pl.Expr, rank: pl.Expr) -> pl.Expr:
        """The score of a rank in a by-key."""
        first = 0 if self.start is None else pl.lit(pl.Series(self.start)).gather(by)
        return pl.lit(self.distinct).gather(first + rank)

    def position(self, by: Numbers, value: Floats, side: Literal["left", "right"] = "left") -> Positions:
        """How many distinct scores of a by-key are less than a value, or with `right` no greater."""
        distinct = self.distinct.to_numpy()
        if self.start is None:
            return np.searchsorted(distinct, value, side)
        # A binary search in the part of each by-key, for all of them at once.
        first, low, high = self.start[by], self.start[by], self.start[by + np.uint32(1)]
        while np.any(low < high):
            middle = (low + high) // 2
            seen = distinct.take(middle, mode="clip")
            above = (low < high) & ((seen < value) | ((seen == value) & (side == "right")))
            low, high = np.where(above, middle + 1, low), np.where(above, high, middle)
        return low - first


def add_ranks(frame: pl.DataFrame, n_by: int = 1) -> tuple[pl.DataFrame, Ranks, Ranks]:
    """The table with ranks of `score` (what is ranked) and of `prob` (what is cut); one column serves both if it can.

    A sigmoid may make different logits equal. Then the two orders differ, and each gets its own ranks.
    """
    score, prob = frame["score"].to_numpy(), frame["prob"].to_numpy()
    by = frame["by"].to_numpy() if n_by > 1 else None
    rows, ordered = rising(score, by)
    # Where the rows of each by-key begin, and where the last end.
    parts = np.array([0, len(rows)]) if by is None else np.cumsum([0, *np.bincount(by, minlength=n_by)])
    first = _starts(ordered, parts)
    if np.array_equal(score, prob):
        frame, both = _ranked(frame, "rank", rows, ordered, first, parts)
        return frame, both, both
    cut = prob[rows]
    if not _falls(cut, parts).any() and np.array_equal(_starts(cut, parts), first):
        frame, both = _ranked(frame, "rank", rows, cut, first, parts)
        return frame, both, both
    frame, ranking = _ranked(frame, "rank", rows, ordered, first, parts)
    rows, ordered = rising(prob, by)
    frame, cutting = _ranked(frame, "cut_rank", rows, ordered, _starts(ordered, parts), parts)
    return frame, ranking, cutting


def rising(values: Floats, by: Numbers | None = None) -> tuple[Numbers, Floats]:
    """The rows in rising order of their finite values, by-key after by-key, and the values in that order.

    A key is made of the by-key, the leading bits of the value and the row number, and sorting numbers is many times
    faster than finding an order. Values that differ only in the bits that did not fit are put right among themselves.
    """
    bits = values.view(np.int64)
    # As whole numbers the bits of positive floats are in order; those of negative floats are turned round.
    signed = bits >> 63
    signed &= 2**63 - 1
    signed ^= bits
    signed -= signed.min(initial=2**63 - 1)
    keys = signed.view(np.uint64)
    for_row = max(len(values) - 1, 1).bit_length()
    for_by = 0 if by is None else int(by.max(initial=0)).bit_length()
    keys >>= max(int(keys.max(initial=0)).bit_length() + for_row + for_by - 64, 0)
    keys <<= for_row
    keys |= np.arange(len(values), dtype=np.uint64)
    if by is not None:
        keys |= by.astype(np.uint64) << (64 - for_by)
    keys.sort()
    rows = (keys & (2**for_row - 1)).astype(holding(2**for_row))
    ordered = values[rows]
    falls = ordered[1:] < ordered[:-1]
    if np.any(falls):
        keys >>= for_row
        same = keys[1:] == keys[:-1]
        if np.any(falls & same):
            alike = np.concatenate([[False], same])
            alike[:-1] |= same
            doubtful = np.flatnonzero(alike)
            right = doubtful[np.lexsort((ordered[doubtful], keys[doubtful]))]
            rows[doubtful], ordered[doubtful] = rows[right], ordered[right]
    return rows, ordered


def _inner(parts: Positions) -> Positions:
    """Where a part begins that has another one before it."""
    inner: Positions = parts[(parts > 0) & (parts < parts[-1])]
    return inner


def _starts(ordered: Floats, parts: Positions) -> Flags:
    """Where a new value or a new part begins."""
    starts = np.concatenate([np.full(min(len(ordered), 1), True), ordered[1:] != ordered[:-1]])
    starts[_inner(parts)] = True
    return starts


def _falls(values: Floats, parts: Positions) -> Flags:
    """Where a value is less than the one before it in the same part."""
    falls = values[1:] < values[:-1]
    falls[_inner(parts) - 1] = False
    return falls


def _ranked(
    frame: pl.DataFrame, column: str, rows: Numbers, ordered: Floats, first: Flags, parts: Positions
) -> tuple[pl.DataFrame, Ranks]:
    distinct = ordered if first.all() else ordered[first]
    start = np.searchsorted(np.flatnonzero(first), parts) if len(parts) > 2 else None
    ranks = Ranks(column, pl.Series(distinct), start)
    rank = np.cumsum(first, dtype=holding(2 * len(distinct)))
    rank -= rank.dtype.type(1)
    if start is not None:
        rank -= np.repeat(start[:-1].astype(rank.dtype), np.diff(parts))
        rank = rank.astype(holding(2 * ranks.size), copy=False)
    labelled = np.empty_like(rank)
    labelled[rows] = rank
    labelled <<= labelled.dtype.type(1)
    labelled |= frame["y"].to_numpy().astype(labelled.dtype)
    return frame.with_columns(pl.Series(column, labelled)), ranks
