"""Profiles: the combinations of a by-key and a group of every attribute that occur, numbered.

There are few of them beside the rows. A row keeps the number of its profile; whatever divides the rows by attributes,
intersections or by-keys divides profiles, and looks the rows up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
Positions: TypeAlias = npt.NDArray[np.intp]
Value = TypeVar("Value", bound=np.generic)

# Numbers are marked in an array as long as the largest, unless that is far longer than the rows.
SPARSE, SMALL = 8, 100_000


@dataclass(frozen=True)
class Profiles:
    """The profiles of a table of samples.

    Attributes:
        table: One row per profile, in order: `by` and the group codes, NULL where missing.
        of_row: The profile of each row, a position in `table`.
    """

    table: pl.DataFrame
    of_row: Numbers

    def lookup(self, values: npt.NDArray[Value]) -> npt.NDArray[Value]:
        """For each row the value of its profile."""
        return values.take(self.of_row, mode="clip")  # `clip` trusts the positions and needs no check

    def of(self, rows: pl.Series) -> Profiles:
        """The profiles of some of the rows, those where a mask is true."""
        return Profiles(self.table, self.of_row[rows.to_numpy()])


def find_profiles(codes: pl.DataFrame, n_by: int, levels: Mapping[str, int]) -> Profiles:
    """The profiles of rows.

    Args:
        codes: Columns `by` and the group codes, with at least one row.
        n_by: How many by-keys there are.
        levels: How many groups each column of codes has.
    """
    number, size = codes["by"].to_numpy(), n_by
    for column, count in levels.items():
        size *= count + 1  # the last is for rows without a group
        number = number.astype(holding(size))
        number *= number.dtype.type(count + 1)
        number += codes[column].fill_null(count).to_numpy()
        if size > _limit(number):
            number, size = _renumbered(number, size)
    number, size = _renumbered(number, size)
    some_row = np.empty(size, dtype=np.intp)
    some_row[number] = np.arange(len(number))
    return Profiles(codes[some_row].select("by", *levels), number)


def holding(size: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The smaller of two types that holds the numbers below `size`; half the bytes are sorted in half the time."""
    return np.dtype(np.uint32 if size <= 2**32 else np.uint64)


def occurring(number: Numbers, size: int) -> Positions:
    """The numbers below `size` that occur, rising."""
    if size > _limit(number):
        return np.unique(number).astype(np.intp)
    return np.flatnonzero(_marked(number, size))


def _limit(number: Numbers) -> int:
    return max(SPARSE * len(number), SMALL)


def _marked(number: Numbers, size: int) -> npt.NDArray[np.bool_]:
    occurs = np.zeros(size, dtype=bool)
    occurs[number] = True
    return occurs


def _renumbered(number: Numbers, size: int) -> tuple[Numbers, int]:
    """The numbers without those that do not occur, in their order, and how many are left."""
    if size > _limit(number):
        distinct, position = np.unique(number, return_inverse=True)
        return position.astype(np.uint32), len(distinct)
    last = np.cumsum(_marked(number, size), dtype=np.uint32)
    return (last - np.uint32(1)).take(number, mode="clip"), int(last[-1])
