"""p values of many tests, adjusted within families."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from fmfair.statistics.families import by_size, numbered
from fmfair.statistics.interval import FloatArray


def holm(p: ArrayLike, family: ArrayLike) -> FloatArray:
    """Adjusted p values by Holm 1979: the chance of any false claim in a family stays below the level.

    The i-th smallest of M is multiplied by M - i + 1, then raised to the largest before it, at most 1. Needs no
    assumption on how the tests depend on each other.

    Args:
        p: p values; NaN ones are left out, and M does not count them.
        family: The number of the family of each p value.

    Returns:
        In the order of `p`, NaN where `p` is.

    Examples:
        >>> holm([0.01, np.nan, 0.04, 0.03], [0, 0, 0, 1])
        array([0.02,  nan, 0.04, 0.03])
    """

    def adjust(rising: FloatArray) -> FloatArray:
        tests = rising.shape[1]
        return np.maximum.accumulate(rising * (tests - np.arange(tests)), axis=1)

    return _within_families(adjust, p, family)


def benjamini_hochberg(p: ArrayLike, family: ArrayLike) -> FloatArray:
    """Adjusted p values by Benjamini & Hochberg 1995: the expected share of false claims stays below the level.

    The i-th smallest of M is multiplied by M / i, then lowered to the smallest after it.

    Args:
        p: p values; NaN ones are left out, and M does not count them.
        family: The number of the family of each p value.

    Returns:
        In the order of `p`, NaN where `p` is.

    Examples:
        >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.5], [0, 0, 0, 0]).round(6)
        array([0.04    , 0.053333, 0.053333, 0.5     ])
    """

    def adjust(rising: FloatArray) -> FloatArray:
        tests = rising.shape[1]
        stepped = rising * (tests / np.arange(1, tests + 1))
        return np.minimum.accumulate(stepped[:, ::-1], axis=1)[:, ::-1]

    return _within_families(adjust, p, family)


def _within_families(adjust: Callable[[FloatArray], FloatArray], p: ArrayLike, family: ArrayLike) -> FloatArray:
    """Adjust the rows of a matrix of rising p values, one family a row, and put them back in order."""
    values = np.asarray(p, dtype=np.float64)
    numbers, n_families = numbered(family)
    result = np.full(values.shape, np.nan)
    for _, rows in by_size(numbers, ~np.isnan(values), n_families):
        rising = np.take_along_axis(rows, np.argsort(values[rows], axis=1, kind="stable"), axis=1)
        result[rising] = np.minimum(adjust(values[rising]), 1.0)
    return result
