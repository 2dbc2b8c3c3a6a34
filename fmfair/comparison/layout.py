"""Layout: the rows of the models of a comparison side by side, in the cells of one grouping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.comparison.aligned import Aligned
from fmfair.comparison.measuring import Influence
from fmfair.influence import Flags, auc_variance
from fmfair.metrics.metric import Metric
from fmfair.statistics.interval import FloatArray
from fmfair.units import CellRows, Positions, corrected

Signs: TypeAlias = FloatArray


class PairSpread(NamedTuple):
    """How much the differences between models vary, pairs by groups; NaN where that is unknown.

    Attributes:
        variance: Of the difference of the two values.
        units: The rows or patients that carry either value.
        correlation: Of the two values, 0 where one does not vary.
    """

    variance: FloatArray
    units: FloatArray
    correlation: FloatArray


@dataclass(frozen=True)
class Layout:
    """The rows of the models of one comparison.

    Attributes:
        pairs: The positions of its pairs among all pairs, and their two by-keys.
        parts: The rows of each by-key.
        local: The rows of any of its models in their cells.
        at: The position of each of these cells among the groups.
        y: Their labels; None for values.
        patient: The patient of every unit; None where rows are units.
    """

    pairs: tuple[tuple[int, int, int], ...]
    parts: dict[int, slice]
    local: CellRows
    at: Positions
    y: FloatArray | None
    patient: Positions | None

    def spread(self, influence: Influence, metric: Metric, into: PairSpread) -> None:
        """Put what is known of the differences of this comparison's pairs where it belongs."""
        squares = {
            by: self.local.over_units(self.local.per_unit(influence.values[part]) ** 2)
            for by, part in self.parts.items()
        }
        for pair, a, b in self.pairs:
            units = self._units(influence, a, b)
            difference = influence.values[self.parts[b]] - influence.values[self.parts[a]]
            apart = self.local.over_units(self.local.per_unit(difference) ** 2)
            product = np.sqrt(squares[a] * squares[b])
            with np.errstate(invalid="ignore", divide="ignore"):
                correlation = np.where(product > 0, (squares[a] + squares[b] - apart) / (2 * product), 0.0)
            variance = self._variance(difference, metric, units)
            for target, values in zip(into, (variance, units, np.clip(correlation, -1, 1)), strict=True):
                target[pair, self.at] = values

    def gap_variances(self, influence: Influence, metric: Metric, signs: Signs) -> Iterator[tuple[int, float, float]]:
        """The variance of the difference of two gaps between two groups each.

        A gap is the larger value less the smaller one, so that its influence is that of either value with a sign.

        Args:
            influence: The influence of every row.
            metric: What it is the influence on.
            signs: By-keys by pairs by groups: 1 for the larger value, -1 for the smaller one, 0 for other groups.

        Yields:
            The pair, the variance, and the degrees of freedom.
        """
        for pair, a, b in self.pairs:
            first, second = signs[:, pair, :][:, self.at]
            inside = (first != 0)[self.local.cell]
            if not inside.any():
                continue
            ours, theirs = (
                np.where(inside, influence.values[self.parts[by]] * sign[self.local.cell], 0.0)
                for by, sign in ((b, second), (a, first))
            )
            difference = ours - theirs
            groups = np.flatnonzero(first != 0)
            units = self._units(influence, a, b)
            variances = self._variance(difference, metric, units)[groups]
            carried = inside if influence.carried is None else inside & self._either(influence.carried, a, b)
            yield pair, *self._joined(difference, variances, units[groups], carried)

    def _joined(
        self, difference: FloatArray, variances: FloatArray, units: FloatArray, carried: Flags
    ) -> tuple[float, float]:
        """The variance of a sum over two groups, and its degrees of freedom: of Welch, or patients less 1.

        With patients in both groups the covariance is added, C / (C - 1) times the sum of the products of patients.
        """
        total = float(variances.sum())
        with np.errstate(invalid="ignore", divide="ignore"):
            welch = float(total**2 / np.sum(variances**2 / (units - 1)))
        if self.patient is None:
            return total, welch
        counted = self.local.per_unit(carried) > 0
        count = int(np.count_nonzero(np.bincount(self.patient, counted)))
        if count == np.count_nonzero(counted) or count < 2:
            return total, welch
        of_units = self.local.per_unit(difference)
        of_patients = np.bincount(self.patient, of_units)
        factor = count / (count - 1)
        sandwich = factor * float(np.sum(of_patients**2))
        joint = total + sandwich - factor * float(np.sum(of_units**2))
        return (joint if joint > 0 else sandwich), count - 1

    def _variance(self, difference: FloatArray, metric: Metric, units: FloatArray) -> FloatArray:
        """The variance of a difference with these influences, in every cell."""
        if metric.interval == "auc" and self.y is not None:
            return auc_variance(self.local, self.y, difference)
        return corrected(units) * self.local.over_units(self.local.per_unit(difference) ** 2)

    def _units(self, influence: Influence, a: int, b: int) -> FloatArray:
        """The units that the denominator of either model counts."""
        if influence.carried is None:
            return self.local.over_units(np.ones(len(self.local.cell_of_unit)))
        return self.local.over_units(self.local.per_unit(self._either(influence.carried, a, b)) > 0)

    def _either(self, carried: Flags, a: int, b: int) -> Flags:
        return np.asarray(carried[self.parts[a]] | carried[self.parts[b]])


def layouts(aligned: Aligned, rows: CellRows, size: int, codes: npt.NDArray[np.uint64]) -> list[Layout]:
    """The layout of every comparison.

    Args:
        aligned: The samples.
        rows: The rows of a grouping that are in a cell, in the order of the samples.
        size: How many codes the grouping has.
        codes: The codes of its groups, rising.
    """
    frame = aligned.samples.frame
    bounds = np.searchsorted(rows.of(frame["by"]), np.arange(len(aligned.models) + 1))
    patient = rows.of(frame["unit"]).astype(np.intp) if "unit" in frame.columns else None
    y = rows.of(frame["y"]).astype(np.float64) if "y" in frame.columns else None
    found = []
    for key in range(aligned.keys.height):
        bys = aligned.of_key(key)
        if not bys:
            continue
        parts = {by: slice(int(bounds[by]), int(bounds[by + 1])) for by in bys}
        one = parts[bys[0]]
        code = rows.number[one] - np.uint64(bys[0] * size)
        distinct, cell = np.unique(code, return_inverse=True)
        unit = None if rows.unit is None else np.unique(rows.unit[one], return_inverse=True)[1].astype(np.intp)
        found.append(
            Layout(
                pairs=tuple((i, a, b) for i, (a, b) in enumerate(aligned.pairs) if a in parts),
                parts=parts,
                local=CellRows(pl.Series(distinct, dtype=pl.UInt64), cell.astype(np.intp), unit, None),
                at=np.asarray(np.searchsorted(codes, distinct), dtype=np.intp),
                y=None if y is None else y[one],
                patient=None if patient is None or unit is None else _of_units(patient[one], unit),
            )
        )
    return found


def _of_units(patient: Positions, unit: Positions) -> Positions:
    found = np.zeros(int(unit.max(initial=-1)) + 1, dtype=np.intp)
    found[unit] = patient
    return found


def nothing_known(pairs: int, groups: int) -> PairSpread:
    """A spread to be filled in."""
    return PairSpread(*(np.full((pairs, groups), np.nan) for _ in range(3)))


def spread_of_pairs(
    parts: Sequence[Layout], influence: Influence, metric: Metric, shape: tuple[int, int]
) -> PairSpread:
    """What is known of the differences of all pairs in all groups."""
    found = nothing_known(*shape)
    for layout in parts:
        layout.spread(influence, metric, found)
    return found
