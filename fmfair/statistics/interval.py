"""What every interval is: two arrays of limits; and the logit interval, which metrics in [0, 1] share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

# A variance that is 0 by arithmetic may come out of sums of floats as the square of their last digit.
ZERO_VARIANCE = 1e-30


class Interval(NamedTuple):
    """The limits of an interval, one element per value; NaN in both where there is none."""

    low: FloatArray
    high: FloatArray


def floats(*values: ArrayLike) -> list[FloatArray]:
    """The values as arrays of 64-bit floats of one common shape; read only, since some may share their memory."""
    return list(np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values)))


def where_defined(defined: BoolArray, low: FloatArray, high: FloatArray) -> Interval:
    """The limits where they are defined and both are finite, NaN elsewhere."""
    kept = defined & np.isfinite(low) & np.isfinite(high)
    return Interval(np.where(kept, low, np.nan), np.where(kept, high, np.nan))


def logit_interval(value: ArrayLike, variance: ArrayLike, quantile: ArrayLike) -> Interval:
    """Limits of a value in (0, 1): symmetric on the logit scale, so that they never leave [0, 1].

    `expit(logit(v) -+ quantile * se / (v (1 - v)))`: Pepe 2003, Qin & Hotilovac 2008.

    Args:
        value: In [0, 1].
        variance: Of the value.
        quantile: How many standard errors to each side, from a normal or t distribution.

    Returns:
        NaN for a value of 0 or 1, which has no logit, and where the variance is 0 or undefined.

    Examples:
        >>> low, high = logit_interval(0.842222222222, 0.0062532627866, 1.959963984540054)
        >>> print(f"{low:.6f} {high:.6f}")
        0.624456 0.944862
    """
    v, var, q = floats(value, variance, quantile)
    defined = (v > 0) & (v < 1) & (var > ZERO_VARIANCE) & (q >= 0)
    with np.errstate(all="ignore"):  # what overflows ends at 0 or 1, as it should; the rest is masked
        centre = special.logit(v)
        reach = q * np.sqrt(var) / v / (1 - v)
        low, high = special.expit(centre - reach), special.expit(centre + reach)
    return where_defined(defined, np.minimum(low, v), np.maximum(high, v))
