"""Ranks: the position of each row's score among all distinct scores, from one sort of packed keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.profiles import Numbers, holding

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Ranks:
    """The rank of each row's score among the distinct scores of the whole table.

    Attributes:
        column: Where the table of samples has twice the rank plus the label: the lower part of the keys of every
            grouping.
        distinct: The distinct scores in rising order; a rank is a position in it.
    """

    column: str
    distinct: pl.Series


def add_ranks(frame: pl.DataFrame) -> tuple[pl.DataFrame, Ranks, Ranks]:
    """The table with ranks of `score` (what is ranked) and of `prob` (what is cut); one column serves both if it can.

    A sigmoid may make different logits equal. Then the two orders differ, and each gets its own ranks.
    """
    score, prob = frame["score"].to_numpy(), frame["prob"].to_numpy()
    rows, ordered = rising(score)
    first = _starts(ordered)
    if np.array_equal(score, prob):
        frame, both = _ranked(frame, "rank", rows, ordered, first)
        return frame, both, both
    cut = prob[rows]
    if np.all(cut[1:] >= cut[:-1]) and np.array_equal(_starts(cut), first):
        frame, both = _ranked(frame, "rank", rows, cut, first)
        return frame, both, both
    frame, ranking = _ranked(frame, "rank", rows, ordered, first)
    rows, ordered = rising(prob)
    frame, cutting = _ranked(frame, "cut_rank", rows, ordered, _starts(ordered))
    return frame, ranking, cutting


def rising(values: Floats) -> tuple[Numbers, Floats]:
    """The rows in rising order of their finite values, and the values in that order.

    A key is made of the leading bits of the value and the row number, and sorting numbers is many times faster than
    finding an order. Values that differ only in the bits that did not fit are put right among themselves.
    """
    bits = values.view(np.int64)
    # As whole numbers the bits of positive floats are in order; those of negative floats are turned round.
    signed = bits >> 63
    signed &= 2**63 - 1
    signed ^= bits
    signed -= signed.min(initial=2**63 - 1)
    keys = signed.view(np.uint64)
    for_row = max(len(values) - 1, 1).bit_length()
    keys >>= max(int(keys.max(initial=0)).bit_length() + for_row - 64, 0)
    keys <<= for_row
    keys |= np.arange(len(values), dtype=np.uint64)
    keys.sort()
    rows = (keys & (2**for_row - 1)).astype(holding(2**for_row))
    ordered = values[rows]
    if np.any(ordered[1:] < ordered[:-1]):
        keys >>= for_row
        alike = np.concatenate([[False], keys[1:] == keys[:-1]])
        alike[:-1] |= alike[1:]
        doubtful = np.flatnonzero(alike)
        right = doubtful[np.lexsort((ordered[doubtful], keys[doubtful]))]
        rows[doubtful], ordered[doubtful] = rows[right], ordered[right]
    return rows, ordered


def _starts(ordered: Floats) -> Flags:
    """Where a new value begins."""
    return np.concatenate([np.full(min(len(ordered), 1), True), ordered[1:] != ordered[:-1]])


def _ranked(
    frame: pl.DataFrame, column: str, rows: Numbers, ordered: Floats, first: Flags
) -> tuple[pl.DataFrame, Ranks]:
    n = int(np.count_nonzero(first))
    rank = np.cumsum(first, dtype=holding(2 * n))
    rank -= rank.dtype.type(1)
    labelled = np.empty_like(rank)
    labelled[rows] = rank
    labelled <<= labelled.dtype.type(1)
    labelled |= frame["y"].to_numpy().astype(labelled.dtype)
    distinct = ordered if n == len(rows) else ordered[first]
    return frame.with_columns(pl.Series(column, labelled)), Ranks(column, pl.Series(distinct))
