"""p values of many tests, adjusted within families."""

from __future__ import annotations

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
    values = np.asarray(p, dtype=np.float64)
    numbers, n_families = numbered(family)
    result = np.full(values.shape, np.nan)
    for _, rows in by_size(numbers, ~np.isnan(values), n_families):
        rising = np.take_along_axis(rows, np.argsort(values[rows], axis=1, kind="stable"), axis=1)
        tests = rising.shape[1]
        adjusted = np.maximum.accumulate(values[rising] * (tests - np.arange(tests)), axis=1)
        result[rising] = np.minimum(adjusted, 1.0)
    return result


def benjamini_hochberg(p: ArrayLike) -> FloatArray:
    """Adjusted p values by Benjamini & Hochberg 1995: a screen at q takes those up to q, of which a share q is false.

    The i-th smallest of M is multiplied by M / i, then lowered to the smallest behind it. Holds for tests that are
    independent or depend positively on each other.

    Args:
        p: p values of one screen; NaN ones are left out, and M does not count them.

    Returns:
        In the order of `p`, NaN where `p` is.

    Examples:
        >>> benjamini_hochberg([0.01, np.nan, 0.04, 0.03])
        array([0.03,  nan, 0.04, 0.04])
    """
    values = np.asarray(p, dtype=np.float64)
    result = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values))
    rising = known[np.argsort(values[known], kind="stable")]
    scaled = values[rising] * len(rising) / np.arange(1, len(rising) + 1)
    result[rising] = np.minimum.accumulate(scaled[::-1])[::-1]
    return result
