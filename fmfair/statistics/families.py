"""Families of groups: which elements of an array are compared with each other.

A family is given as one whole number per element, from 0 up, in any order; a number may have no element.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.interval import BoolArray, FloatArray, IntArray


def numbered(family: ArrayLike, n_families: int | None = None) -> tuple[IntArray, int]:
    """The number of the family of each element, and how many families there are: one above the largest unless given."""
    numbers = np.asarray(family, dtype=np.int64)
    return numbers, int(numbers.max(initial=-1)) + 1 if n_families is None else n_families


def total(values: ArrayLike, family: IntArray, n_families: int) -> FloatArray:
    """The sum of the values of each family, 0 for an empty one."""
    weights = np.asarray(values, dtype=np.float64)
    return np.bincount(family, weights=weights, minlength=n_families).astype(np.float64)


def by_size(family: IntArray, usable: BoolArray, n_families: int) -> Iterator[tuple[IntArray, IntArray]]:
    """The families with equally many usable elements, one size after the other.

    Yields:
        The numbers of f families with k usable elements each, and the f x k positions of these elements, in order.
    """
    rows = np.flatnonzero(usable)
    rows = rows[np.argsort(family[rows], kind="stable")]
    sizes = np.bincount(family[rows], minlength=n_families)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]):
        found = np.flatnonzero(sizes == size)
        yield found, rows[starts[found][:, None] + np.arange(size)]


def chunks(positions: IntArray, cost: int, limit: int = 1 << 17) -> Iterator[IntArray]:
    """Positions in parts, so that a part of elements that each take `cost` numbers stays within `limit` numbers."""
    length = max(1, limit // max(1, cost))
    for start in range(0, len(positions), length):
        yield positions[start : start + length]
