"""Ranking metrics and confusion counts of many replicates from one order: no replicate sorts anything.

The rows of a grouping lie in the order of their cell and falling score, negatives and positives apart. A replicate
brings its weights into that order and adds them up; every count at a score is then one running sum. Before the rows of
each cell lies a place of its own, where the running sum starts anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.bootstrap.lanes import Packed
from fmfair.bootstrap.scratch import Scratch
from fmfair.metrics.blocks import CUT
from fmfair.metrics.metric import Metric

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.intp]
Weights: TypeAlias = npt.NDArray[Any]

# Values of one replicate after another: what each is of, and an array of replicates by cells.
Found: TypeAlias = dict[str, Floats]


_SCRATCH = Scratch()
_TINY = 1e-300


@dataclass(frozen=True)
class Places:
    """Rows, or steps, of a grouping in order, a place for the start of every cell before those of the cell.

    Attributes:
        rows: The row in each place; any at the start of a cell.
        starts: The places of the starts.
    """

    rows: Positions
    starts: Positions

    def weights(self, weights: Packed, name: str) -> Weights:
        """The weights in order, 0 at the starts: floats, or whole numbers whose lanes are replicates."""
        numbers, lanes = weights.numbers, weights.lanes
        shape = (len(numbers), len(self.rows))
        drawn = _SCRATCH.array(f"{name} {numbers.dtype}", shape, numbers.dtype)
        np.take(numbers, self.rows, axis=1, mode="clip", out=drawn)
        drawn[:, self.starts] = 0
        if drawn.dtype == np.float64:
            return drawn
        values = _SCRATCH.array(name, shape, np.int64 if lanes else np.float64)
        if lanes is None:
            np.copyto(values, drawn)
        else:
            np.multiply(drawn, lanes.spread, out=values, dtype=np.int64)
            values &= lanes.mask
        return values


def _places(rows: Positions, bounds: Positions) -> Places:
    """Places of rows, from where those of each cell begin, and where the last end."""
    starts = bounds[:-1] + np.arange(len(bounds) - 1)
    held = np.zeros(len(rows) + len(starts), dtype=np.intp)
    inside = np.ones(len(held), dtype=bool)
    inside[starts] = False
    held[inside] = rows
    return Places(held, starts)


def _running(values: Weights, starts: Positions, name: str) -> tuple[Weights, Weights]:
    """Running sums that start anew in every cell, and the sum of every cell; the values are 0 at the starts."""
    totals = np.add.reduceat(values, starts, axis=1)
    values[:, starts[1:]] = -totals[:, :-1]
    sums = _SCRATCH.array(f"{name} running", values.shape, values.dtype)
    np.cumsum(values, axis=1, out=sums)
    values[:, starts] = 0
    return sums, totals


@dataclass(frozen=True)
class Order:
    """The rows of a grouping that are in a cell, in the order of cell and falling score.

    A step is a score of a cell that has positives.

    Attributes:
        negatives: The places of the negatives.
        positives: The places of the positives.
        first: The place of the first positive of each step; None where no step has two.
        starts: The starts of the cells among the steps.
        reached: For each step the place of the last negative with its score or a higher one.
        passed: The same for a higher one; None where no step has negatives.
        cut_cell: The cell of each cut.
        cut_negatives: For each cut the place of the last negative that is called positive.
        cut_steps: The same of the steps.
    """

    negatives: Places
    positives: Places
    first: Positions | None
    starts: Positions
    reached: Positions
    passed: Positions | None
    cut_cell: Positions
    cut_negatives: Positions
    cut_steps: Positions

    def sums(self, weights: Packed) -> Sums:
        """What the metrics are arithmetic on, of replicates whose row weights are the rows of an array.

        It holds until the same thread asks for the next.

        Args:
            weights: Of rows, the rows of the array replicates.
        """
        negative = self.negatives.weights(weights, "negatives")
        negative, n_neg = _running(negative, self.negatives.starts, "negatives")
        steps = self.positives.weights(weights, "positives")
        if self.first is not None:
            steps = np.add.reduceat(steps, self.first, axis=1)
        positive, n_pos = _running(steps, self.starts, "positives")
        return Sums(
            self,
            weights,
            weights.unpacked(steps, "steps"),
            weights.unpacked(positive, "positive"),
            negative,
            weights.unpacked(n_pos, "n_pos").copy(),
            weights.unpacked(n_neg, "n_neg").copy(),
        )


def make_order(
    cell: npt.NDArray[np.integer[Any]], rank: npt.NDArray[np.integer[Any]], y: Weights, cells: int, cuts: pl.DataFrame
) -> Order:
    """The order of a grouping.

    Args:
        cell: The cell of each row, a position in the list of cells; -1 where it is in none.
        rank: The rank of its score; rows come in falling order of rank where that saves time, and in any other.
        y: Its label.
        cells: How many cells there are.
        cuts: Columns `position` (of a cell) and `cut` (the lowest rank that counts as positive).
    """
    cell = cell.astype(np.int16 if cells < 2**15 else np.int64)
    size = np.int64(int(rank.max(initial=0)) + 1)
    fallen = size - 1 - rank.astype(np.int64)
    sorted_before = bool(np.all(fallen[1:] >= fallen[:-1]))
    # Small numbers are sorted stably by their digits, which takes no time beside another sort.
    rows = np.argsort(cell, kind="stable") if sorted_before else np.lexsort((fallen, cell))
    rows = rows[np.searchsorted(cell[rows], 0) :]
    called = y[rows] == 1
    positives, negatives = rows[called], rows[~called]
    of_pos, of_neg = (cell[part].astype(np.int64) * size + fallen[part] for part in (positives, negatives))
    bounds = np.arange(cells + 1) * size
    first = np.flatnonzero(np.concatenate([np.full(min(len(of_pos), 1), True), of_pos[1:] != of_pos[:-1]]))
    steps = _places(of_pos[first], np.searchsorted(of_pos[first], bounds))
    step = steps.rows
    step[steps.starts] = bounds[:-1]
    cell_of_step = step // size
    before = np.searchsorted(of_neg, step, "left") + cell_of_step
    upto = np.searchsorted(of_neg, step, "right") + cell_of_step
    upto[steps.starts] = before[steps.starts]
    in_pos = _places(positives, np.searchsorted(of_pos, bounds))
    tied = len(first) < len(positives)
    first_places = np.searchsorted(of_pos, step) + cell_of_step + 1
    first_places[steps.starts] = in_pos.starts
    cut_cell = cuts["position"].to_numpy().astype(np.intp)
    cut = np.minimum(cuts["cut"].fill_null(0).to_numpy().astype(np.int64), size)
    limit = cut_cell * size + (size - cut)
    return Order(
        negatives=_places(negatives, np.searchsorted(of_neg, bounds)),
        positives=in_pos,
        first=first_places if tied else None,
        starts=steps.starts,
        reached=upto,
        passed=None if np.array_equal(before, upto) else before,
        cut_cell=cut_cell,
        cut_negatives=np.searchsorted(of_neg, limit) + cut_cell,
        cut_steps=np.searchsorted(of_pos[first], limit) + cut_cell,
    )


@dataclass(frozen=True)
class Sums:
    """Running sums of the weights of an order, replicates by places.

    Attributes:
        order: The order.
        weights: Those that were added up.
        steps: The weight of the positives of each step, 0 at the starts.
        positive: That of all positives with a score at least as high.
        negative: That of all negatives with a score at least as high as that in each place, still packed.
        n_pos: The weight of the positives of each cell.
        n_neg: The weight of the negatives of each cell.
    """

    order: Order
    weights: Packed
    steps: Floats
    positive: Floats
    negative: Weights
    n_pos: Floats
    n_neg: Floats

    @cached_property
    def fp(self) -> Floats:
        """The negatives with a score at least that of each step."""
        return self._negatives(self.order.reached, "fp")

    def auc(self) -> Floats:
        """The AUC of each cell; NaN without both classes."""
        product = _SCRATCH.array("product", self.steps.shape)
        pairs = self.n_pos * self.n_neg
        if self.order.passed is None:
            np.multiply(self.fp, self.steps, out=product)
        else:
            np.add(self.fp, self._negatives(self.order.passed, "passed"), out=product)
            product *= self.steps
            pairs = 2.0 * pairs
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.clip((pairs - self._per_cell(product)) / pairs, 0.0, 1.0)

    def average_precision(self) -> Floats:
        """The average precision of each cell; NaN without both classes."""
        product = _SCRATCH.array("product", self.steps.shape)
        np.add(self.positive, self.fp, out=product)
        np.maximum(product, _TINY, out=product)  # where nothing was drawn, 0 / 0 is 0
        np.divide(self.positive, product, out=product)
        product *= self.steps
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.n_neg > 0, self._per_cell(product) / self.n_pos, np.nan)

    def confusion(self) -> Found:
        """The four counts at each cut: `tp`, `fp`, `fn` and `tn`."""
        order = self.order
        found = {}
        for running, starts, cut, called, others in (
            (self.positive, order.starts, order.cut_steps, "tp", "fn"),
            (self.negative, order.negatives.starts, order.cut_negatives, "fp", "tn"),
        ):
            ends = np.append(starts[1:], running.shape[1]) - 1
            start, end, at = (
                (running.take(places, axis=1) if running is self.positive else self._negatives(places, "cuts")).copy()
                for places in (starts[order.cut_cell], ends[order.cut_cell], cut)
            )
            found[called], found[others] = at - start, end - at
        return found

    def others(self, metrics: Mapping[str, Metric]) -> Found:
        """Ranking metrics whose expressions are aggregates of steps, one replicate after another."""
        cells = len(self.order.starts)
        found = {name: np.full((len(self.steps), cells), np.nan) for name in metrics}
        cell = np.zeros(self.steps.shape[1], dtype=np.intp)
        cell[self.order.starts] = 1
        cell = np.cumsum(cell) - 1
        passed = self.fp if self.order.passed is None else self._negatives(self.order.passed, "passed")
        values = [metric.aggregated(cut=CUT).alias(name) for name, metric in metrics.items()]
        for i in range(len(self.steps)):
            table = {"cell": cell, "pos": self.steps[i], "tp": self.positive[i], "fp": self.fp[i]}
            table |= {"neg": self.fp[i] - passed[i], "tn": self.n_neg[i, cell] - self.fp[i]}
            steps = pl.LazyFrame(table).filter(pl.col("pos") > 0).reverse()  # the expressions want them rising
            rows = steps.group_by("cell", maintain_order=True).agg(values).collect()
            for name in metrics:
                found[name][i, rows["cell"].to_numpy()] = rows[name].to_numpy()
        return found

    def _negatives(self, places: Positions, name: str) -> Floats:
        shape = (len(self.negative), len(places))
        taken = _SCRATCH.array(f"{name} taken", shape, self.negative.dtype)
        return self.weights.unpacked(np.take(self.negative, places, axis=1, mode="clip", out=taken), name)

    def _per_cell(self, values: Floats) -> Floats:
        """Sums over the steps of each cell."""
        return np.add.reduceat(values, self.order.starts, axis=1)
