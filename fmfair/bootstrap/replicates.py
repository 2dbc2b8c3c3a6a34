"""Replicates: every value of the long table again, once per resample, and what follows from them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fmfair.statistics.bootstrap_limits import BootstrapInterval, percentile, percentile_p

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.intp]

# Values kept in memory; more are kept in a temporary file.
IN_MEMORY = 2**27


class Skewness(NamedTuple):
    """Sums over the influences of the units behind every row of the long table; NaN where these are not known."""

    cubes: Floats
    squares: Floats

    def acceleration(self, rows: npt.ArrayLike) -> Floats:
        """`sum u^3 / (6 (sum u^2)^1.5)`: how fast the spread of a value changes with the value."""
        at = np.asarray(rows, dtype=np.intp)
        return _acceleration(self.cubes[at], self.squares[at])

    def of_differences(self, a: npt.ArrayLike, b: npt.ArrayLike, times: npt.ArrayLike = 1.0) -> Floats:
        """That of rows of the long table less a multiple of others, as if no unit were behind both."""
        first, second = (np.asarray(rows, dtype=np.intp) for rows in (a, b))
        factor = np.asarray(times, dtype=np.float64)
        return _acceleration(
            self.cubes[first] - factor**3 * self.cubes[second], self.squares[first] + factor**2 * self.squares[second]
        )


def _acceleration(cubes: Floats, squares: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(cubes / (6.0 * squares**1.5))


@dataclass(frozen=True)
class Replicates:
    """The values of all replicates.

    Attributes:
        values: One row per row of the long table, one column per replicate; NaN where undefined.
        debiased: The error of calibration without its bias, by the row of the long table.
        clustered: Whether whole patients were drawn.
        chance: The error of calibration that chance alone shows in each replicate, by the row of the long table.
        skewness: Where the method is BCa.
    """

    values: Floats
    debiased: dict[int, Floats] = field(default_factory=dict)
    clustered: bool = False
    chance: dict[int, Floats] = field(default_factory=dict)
    skewness: Skewness | None = None

    @property
    def unit(self) -> str:
        """What was drawn as a whole."""
        return "patient" if self.clustered else "row"

    def named(self, method: str) -> str:
        """The name of a method with what was drawn, and how often."""
        return f"{self.unit} bootstrap, {method}, {self.count} replicates"

    @property
    def count(self) -> int:
        """How many replicates there are."""
        return int(self.values.shape[1])

    def calibration_p(self, row: int, value: float | None) -> float:
        """How often chance alone, as patients have it in common, gives an error of calibration as large as a value.

        NaN where it is not known: without patients a test that needs no replicates is at hand.
        """
        if value is None or np.isnan(value) or row not in self.chance:
            return np.nan
        chance = self.chance[row][~np.isnan(self.chance[row])]
        return float((1 + (chance >= value - 1e-12).sum()) / (len(chance) + 1))

    def differences(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
        """The signed difference of two rows of the long table in every replicate, pairs by replicates.

        Args:
            a: Rows of the long table.
            b: The rows that are subtracted, as many.

        Examples:
            >>> Replicates(np.array([[0.5, 0.75], [0.25, 1.0]])).differences([0], [1]).tolist()
            [[0.25, -0.25]]
        """
        first, second = (np.asarray(rows, dtype=np.intp) for rows in (a, b))
        if not self.debiased:
            return np.asarray(self.values[first] - self.values[second])
        return self._rows(first) - self._rows(second)

    def _rows(self, rows: Positions) -> Floats:
        """Values, those of the error of calibration without their bias."""
        found = np.asarray(self.values[rows])
        for i, row in enumerate(rows.tolist()):
            if row in self.debiased:
                found[i] = self.debiased[row]
        return found

    def difference_limits(self, a: npt.ArrayLike, b: npt.ArrayLike, level: float) -> tuple[BootstrapInterval, Floats]:
        """Percentile limits and p values of the signed differences between rows of the long table.

        A difference between one group and another is smooth, so that these hold; the largest difference of several
        groups is not.

        Args:
            a: Rows of the long table.
            b: The rows that are subtracted, as many.
            level: Of confidence.

        Returns:
            The limits and `2 min(1 + #{d <= 0}, 1 + #{d >= 0}) / (B + 1)`, at most 1; NaN in both where more than 5 %
            of the replicates are undefined.
        """
        difference = self.differences(a, b)
        interval = percentile(difference.T, level)
        return interval, percentile_p(difference.T)

    def extremes(self, rows: npt.ArrayLike, family: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The smallest and the largest value of each family of rows in every replicate; NaN where none is defined.

        Args:
            rows: Rows of the long table.
            family: The family of each, rising from 0 on without a gap.
        """
        number = np.asarray(family, dtype=np.intp)
        start = np.searchsorted(number, np.arange(int(number.max(initial=-1)) + 1))
        values = self.values[np.asarray(rows, dtype=np.intp)]
        return np.fmin.reduceat(values, start, axis=0), np.fmax.reduceat(values, start, axis=0)


def empty_values(rows: int, replicates: int) -> Floats:
    """An array for the values: in memory, or where it is large in a temporary file that goes with it."""
    if rows * replicates <= IN_MEMORY:
        return np.full((rows, replicates), np.nan)
    with tempfile.TemporaryFile(prefix="fmfair-") as file:
        values: np.memmap[Any, np.dtype[np.float64]] = np.memmap(file, np.float64, "w+", shape=(rows, replicates))
    values[:] = np.nan
    return values
