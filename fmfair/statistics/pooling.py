"""Shrinkage of the values of a table's cells toward what its attributes alone would give (Fay & Herriot 1979)."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fmfair.statistics.interval import BoolArray, FloatArray, floats

LEAST_DF = 4  # cells less parameters; with fewer the variance between cells cannot be told
_HALVINGS = 200
_NOTHING = 1e-10


class Shrunken(NamedTuple):
    """Shrunken values: one variance between the cells, and per cell what the table gives.

    `b` is the weight of the additive expectation: near 1 it says "too little data", not "equal".
    """

    tau2: float
    additive: FloatArray
    b: FloatArray
    shrunken: FloatArray
    mse: FloatArray


class Design(NamedTuple):
    """A design matrix, and whether its cells are connected, so that all main effects can be told apart."""

    x: FloatArray
    connected: bool


def additive_design(codes: ArrayLike, used: ArrayLike | None = None, *, pairs: bool = False) -> Design:
    """The design matrix of main effects: 1, and a column per attribute and level but its first.

    Args:
        codes: Whole numbers for the levels, one row per cell and one column per attribute.
        used: Which cells have a value. Levels without one get no column, and their cells a row of NaN.
        pairs: Whether to add the products of the columns of every two attributes, to shrink triples.

    Returns:
        The matrix, and whether the cells used are connected.

    Examples:
        >>> additive_design([[0, 0], [0, 1], [1, 0], [1, 1]])
        Design(x=array([[1., 0., 0.],
               [1., 0., 1.],
               [1., 1., 0.],
               [1., 1., 1.]]), connected=True)
    """
    levels = np.asarray(codes, dtype=np.int64)
    kept: BoolArray = np.full(len(levels), True) if used is None else np.asarray(used, dtype=np.bool_)
    present = [np.unique(column[kept]) for column in levels.T]
    effects = [
        (column[:, None] == known[None, 1:]).astype(np.float64) for column, known in zip(levels.T, present, strict=True)
    ]
    x = np.concatenate([np.ones((len(levels), 1)), *effects], axis=1)
    connected = bool(kept.any()) and int(np.linalg.matrix_rank(x[kept])) == x.shape[1]
    if pairs:
        products = [(a[:, :, None] * b[:, None, :]).reshape(len(x), -1) for a, b in combinations(effects, 2)]
        x = np.concatenate([x, *products], axis=1)
    unknown = np.any([~np.isin(column, known) for column, known in zip(levels.T, present, strict=True)], axis=0)
    x[unknown] = np.nan
    return Design(x, connected)


def fay_herriot(x: ArrayLike, y: ArrayLike, v: ArrayLike, least_df: int = LEAST_DF) -> Shrunken:
    """Shrink the values of cells toward their additive expectation, each by how little is known of it.

    `y = x beta + u + e` with u of variance tau2, the same for all cells, and e of variance v. tau2 is the one at which
    the weighted sum of squares equals its degrees of freedom, 0 if it is below them already. The mean squared error
    allows for the estimation of beta and of tau2 (Datta, Rao & Smith 2005).

    Args:
        x: Design matrix, one row per cell, as from `additive_design`.
        y: The value of each cell, on the logit scale for values in [0, 1]. Cells with NaN get their additive
            expectation, with b = 1.
        v: Its variance, above 0, from the pooled variance rather than from the cell alone; NaN where y is.
        least_df: How many more cells than parameters there must be.

    Returns:
        All NaN with too few cells; NaN in a cell whose expectation the other cells do not tell.

    Examples:
        >>> x, _ = additive_design([[i, j] for i in range(2) for j in range(6)])
        >>> y = [0.8, 1.1, 1.0, 1.4, 0.9, 1.2, 0.9, 1.9, 1.0, 1.5, 0.6, np.nan]
        >>> found = fay_herriot(x, y, np.full(12, 0.04))
        >>> print(f"{found.tau2:.4f} {found.additive[-1]:.4f} {found.shrunken[1]:.4f}")
        0.0415 1.3400 1.2620
    """
    design = np.asarray(x, dtype=np.float64)
    value, variance = floats(y, v)
    rows: BoolArray = np.all(np.isfinite(design), axis=1)
    known = rows & np.isfinite(value) & (variance > 0) & np.isfinite(variance)
    cells = int(known.sum())
    basis, rank = _basis(design[known])
    if cells == 0 or cells - rank < least_df:
        return Shrunken(np.nan, *(np.full(value.shape, np.nan) for _ in range(4)))
    told = rows & _told(design, rows, basis)
    z = np.where(told[:, None], np.where(rows[:, None], design, 0.0) @ basis, np.nan)
    tau2 = _variance_between(z[known], value[known], variance[known])
    beta, covariance = _fit(z[known], value[known], variance[known] + tau2)
    additive = z @ beta
    with np.errstate(invalid="ignore"):
        b = np.where(known, variance / (tau2 + variance), np.where(told, 1.0, np.nan))
        shrunken = np.where(known, (1 - b) * value + b * additive, additive)
    expected = np.einsum("jp,pq,jq->j", z, covariance, z)
    mse = tau2 + expected
    mse[known] = _mse(variance[known], b[known], expected[known], 1 / (tau2 + variance[known]))
    return Shrunken(tau2, additive, b, shrunken, mse)


def _basis(design: FloatArray) -> tuple[FloatArray, int]:
    """An orthogonal basis of the rows of a design, scaled so that the design on it has orthonormal columns."""
    if not design.size:
        return np.zeros((design.shape[1], 0)), 0
    _, size, right = np.linalg.svd(design, full_matrices=False)
    rank = int((size > _NOTHING * size[0]).sum())
    return right[:rank].T / size[:rank], rank


def _told(design: FloatArray, rows: BoolArray, basis: FloatArray) -> BoolArray:
    """Which rows of a design are combinations of those behind a basis."""
    direction = basis / np.linalg.norm(basis, axis=0)
    given = np.where(rows[:, None], design, 0.0)
    left = given - (given @ direction) @ direction.T
    return np.asarray(np.linalg.norm(left, axis=1) <= 1e-8 * np.linalg.norm(given, axis=1))


def _fit(z: FloatArray, y: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted least squares: the coefficients and their covariance."""
    weighted = z / variance[:, None]
    covariance: FloatArray = np.asarray(np.linalg.inv(z.T @ weighted), dtype=np.float64)
    return covariance @ (weighted.T @ y), covariance


def _variance_between(z: FloatArray, y: FloatArray, v: FloatArray) -> float:
    """The variance between cells at which the weighted sum of squares is its degrees of freedom, by bisection."""
    df = len(y) - int(z.shape[1])

    def excess(tau2: float) -> float:
        beta, _ = _fit(z, y, v + tau2)
        return float((np.square(y - z @ beta) / (v + tau2)).sum()) - df

    if df == 0 or excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, float(np.square(y - z @ (z.T @ y)).sum()) / df  # the plain sum of squares is never smaller
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def _mse(v: FloatArray, b: FloatArray, expected: FloatArray, w: FloatArray) -> FloatArray:
    """The mean squared error of the shrunken values of all cells with a value; `w` are their weights.

    Never less than it would be if tau2 were known: between cells of very unlike variances the correction for the bias
    of tau2 exceeds all else.
    """
    cells, total, squares = len(w), float(w.sum()), float((w * w).sum())
    spread = 2 * cells / total**2  # of tau2
    bias = 2 * (cells * squares - total**2) / total**3
    known: FloatArray = (1 - b) * v + b * b * expected
    return known + np.maximum(2 * v * v * w**3 * spread - b * b * bias, 0.0)


def to_logit(value: ArrayLike, size: ArrayLike) -> FloatArray:
    """The logit of values in [0, 1], with 0 and 1 moved inwards: `(size * value + 1/2) / (size + 1)`.

    Args:
        value: In [0, 1].
        size: What the value is a share of: the denominator of a rate, positives times negatives for AUC.

    Returns:
        Finite; NaN for a value outside [0, 1] and a size that is not above 0.

    Examples:
        >>> to_logit([0.5, 1.0], [10, 19]).round(6)
        array([0.      , 3.663562])
    """
    share, n = floats(value, size)
    defined = (share >= 0) & (share <= 1) & (n > 0)
    with np.errstate(all="ignore"):
        inner = np.where((share == 0) | (share == 1), (n * share + 0.5) / (n + 1), share)
        return np.where(defined, special.logit(np.where(defined, inner, 0.5)), np.nan)
