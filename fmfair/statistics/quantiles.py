"""Quantiles and tail areas of the normal, t, F and chi-square distributions, and of the studentised range.

All take arrays that broadcast and give NaN where a result is undefined, without a warning.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fmfair.statistics.interval import FloatArray, floats

_HALF_WIDTH = 9.0  # standard deviations: what lies outside has a probability of 2e-19
_STEP = 1 / 16  # the trapezoid rule on a smooth function that dies out at both ends is exact to the last digits
_MAX_RANGE = 40.0


def normal_quantile(p: ArrayLike) -> FloatArray:
    """The x that a standard normal stays below with probability `p`; -inf at 0, inf at 1, NaN outside.

    Examples:
        >>> print(f"{normal_quantile(0.975):.6f}")
        1.959964
    """
    return np.asarray(special.ndtri(np.asarray(p, dtype=np.float64)))


def normal_cdf(x: ArrayLike) -> FloatArray:
    """The probability that a standard normal is at most `x`.

    Examples:
        >>> print(f"{normal_cdf(1.96):.6f}")
        0.975002
    """
    return np.asarray(special.ndtr(np.asarray(x, dtype=np.float64)))


def normal_critical(level: ArrayLike) -> FloatArray:
    """Standard errors to each side for a two-sided `level` from 0 to 1, such as 0.95; NaN outside.

    Examples:
        >>> print(f"{normal_critical(0.95):.6f}")
        1.959964
    """
    (level_,) = floats(level)
    return np.where((level_ >= 0) & (level_ <= 1), -normal_quantile((1 - level_) / 2), np.nan)


def t_quantile(p: ArrayLike, df: ArrayLike) -> FloatArray:
    """The x that Student's t with `df` > 0 (fractions and infinity included) stays below with probability `p`.

    Examples:
        >>> print(f"{t_quantile(0.975, 9):.6f} {t_quantile(0.975, np.inf):.6f}")
        2.262157 1.959964
    """
    p_, df_ = floats(p, df)
    defined = (p_ >= 0) & (p_ <= 1) & (df_ > 0)
    inside = defined & (p_ > 0) & (p_ < 1) & np.isfinite(df_)
    # The lower tail is the accurate one: a p just under 1 has lost its digits.
    tail = np.where(inside, np.minimum(p_, 1 - p_), 0.25)
    size = -special.stdtrit(np.where(inside, df_, 1.0), tail)
    return np.where(inside, np.where(p_ < 0.5, -size, size), np.where(defined, normal_quantile(p_), np.nan))


def t_critical(level: ArrayLike, df: ArrayLike) -> FloatArray:
    """Standard errors to each side for a two-sided `level` with Student's t; NaN for `df` not above 0.

    Examples:
        >>> print(f"{t_critical(0.95, 9):.6f}")
        2.262157
    """
    (level_,) = floats(level)
    return -t_quantile((1 - level_) / 2, df)


def t_two_sided(t: ArrayLike, df: ArrayLike) -> FloatArray:
    """The p value of `t`: the probability that Student's t with `df` > 0 is at least as far from 0.

    Examples:
        >>> print(f"{t_two_sided(-0.194045583626, 16.6849945312):.9f}")
        0.848483041
    """
    t_, df_ = floats(t, df)
    defined = ~np.isnan(t_) & (df_ > 0)
    size, finite = np.abs(np.where(defined, t_, 1.0)), np.where(defined & np.isfinite(df_), df_, 1.0)
    with np.errstate(over="ignore", under="ignore"):
        ratio = (size / np.sqrt(finite)) ** 2
    # Each form of the incomplete beta function holds its digits on its side.
    small = np.minimum(ratio, 1.0)
    near = special.betaincc(0.5, finite / 2, small / (1 + small))
    far = special.betainc(finite / 2, 0.5, 1 / (1 + ratio))
    tail = np.where(ratio < 1, near, far)
    return np.where(defined, np.where(np.isinf(df_), 2 * special.ndtr(-size), tail), np.nan)


def f_tail(f: ArrayLike, df1: ArrayLike, df2: ArrayLike) -> FloatArray:
    """The p value of `f` >= 0: the probability that F with `df1` and `df2` > 0 (`df2` may be infinite) is larger.

    Examples:
        >>> print(f"{f_tail(1.31654508707, 2, 23.0317257588):.9f}")
        0.287488196
    """
    f_, a, b = floats(f, df1, df2)
    defined = (f_ >= 0) & (a > 0) & np.isfinite(a) & (b > 0)
    finite = defined & np.isfinite(b)
    tail = special.fdtrc(np.where(finite, a, 1.0), np.where(finite, b, 1.0), np.where(finite, f_, 1.0))
    return np.where(finite, tail, np.where(defined, chi2_tail(f_ * np.where(defined, a, 1.0), a), np.nan))


def chi2_tail(x: ArrayLike, df: ArrayLike) -> FloatArray:
    """The p value of `x` >= 0: the probability that chi-square with `df` > 0 is larger.

    Examples:
        >>> print(f"{chi2_tail(1.54522763578, 2):.9f}")
        0.461804417
    """
    x_, df_ = floats(x, df)
    defined = (x_ >= 0) & (df_ > 0) & np.isfinite(df_)
    return np.where(defined, special.chdtrc(np.where(defined, df_, 1.0), np.where(defined, x_, 1.0)), np.nan)


def studentized_range_quantile(p: ArrayLike, k: ArrayLike) -> FloatArray:
    """The range that `k` independent standard normals stay within with probability `p`.

    The studentised range with infinite degrees of freedom: `P(range <= q) = k ∫ φ(x) [Φ(x + q) - Φ(x)]^(k - 1) dx`
    (x is the smallest of them), by the trapezoid rule and Newton's method inside a bracket.

    Args:
        p: Probability; 0 gives 0, 1 gives infinity.
        k: How many, 2 or more.

    Returns:
        NaN for a `p` outside [0, 1] and for fewer than 2.

    Examples:
        >>> print(np.round(studentized_range_quantile(0.95, [2, 3, 10]) / np.sqrt(2), 4))
        [1.96   2.3437 3.1637]
    """
    p_, k_ = floats(p, k)
    defined = (p_ >= 0) & (p_ <= 1) & (k_ >= 2) & np.isfinite(k_)
    inside = defined & (p_ > 0) & (p_ < 1)
    result = np.where(defined & (p_ == 1), np.inf, np.where(defined, 0.0, np.nan))
    if inside.any():
        pairs, back = np.unique(np.stack([p_[inside], k_[inside]]), axis=1, return_inverse=True)
        result[inside] = _range_quantile(pairs[0], pairs[1])[back.reshape(-1)]
    return result


def _range_quantile(p: FloatArray, k: FloatArray) -> FloatArray:
    low, high = np.zeros_like(p), np.full_like(p, _MAX_RANGE)
    guess: FloatArray = np.sqrt(2) * normal_critical(p) + np.sqrt(np.log(k / 2))
    for _ in range(200):  # a dozen steps in practice
        reached, density = _range_distribution(guess, k)
        low, high = np.where(reached < p, guess, low), np.where(reached < p, high, guess)
        with np.errstate(all="ignore"):
            step = guess - (reached - p) / density
        step = np.where((step > low) & (step < high), step, (low + high) / 2)
        settled = np.abs(step - guess) <= 1e-12 * (1 + guess)
        guess = step
        if settled.all():
            break
    return guess


def _range_distribution(r: FloatArray, k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distribution function and the density of the range of k standard normals at r."""
    x = np.arange(-_HALF_WIDTH, _HALF_WIDTH + _STEP / 2, _STEP)
    upper = x + r[:, None]
    between = special.ndtr(upper) - special.ndtr(x)
    smallest = np.exp(-x * x / 2)
    with np.errstate(under="ignore"):
        inner = smallest * between ** (k[:, None] - 2)
        density = (inner * np.exp(-upper * upper / 2)).sum(axis=1) * k * (k - 1) / (2 * np.pi)
        reached = (inner * between).sum(axis=1) * k / np.sqrt(2 * np.pi)
    return np.asarray(reached * _STEP), np.asarray(density * _STEP)
