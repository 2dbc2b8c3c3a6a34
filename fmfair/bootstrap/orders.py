"""Ranking metrics and confusion counts of many replicates from one order: no replicate sorts anything.

The rows of a grouping lie in the order of their cell and score, negatives and positives apart. A replicate brings its
weights into that order and adds them up; every count at a score is then a difference of two running sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.metrics.blocks import CUT
from fmfair.metrics.metric import Metric

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.intp]
Weights: TypeAlias = npt.NDArray[Any]

# Values of one replicate after another: what each is of, and an array of replicates by cells.
Found: TypeAlias = dict[str, Floats]


@dataclass(frozen=True)
class Span:
    """For each cell where its rows begin and end."""

    start: Positions
    end: Positions

    def of(self, running: Floats) -> Floats:
        """The sums of the cells, from running sums."""
        return running[:, self.end] - running[:, self.start]

    @property
    def some(self) -> Positions:
        """The cells that have any."""
        return np.flatnonzero(self.end > self.start)


@dataclass(frozen=True)
class Order:
    """The rows of a grouping that are in a cell, in the order of cell and score.

    A step is a score of a cell that has positives.

    Attributes:
        negatives: The rows of the negatives.
        positives: The rows of the positives.
        first: The first positive of each step; None where no step has two.
        below: How many negatives of this and all cells before lie before each step.
        upto: The same, those of the step's own score included; None where no step has any.
        negatives_of: The negatives of each cell.
        steps_of: The steps of each cell.
        cut_negatives: For each cut how many negatives lie before it, as `below`.
        cut_steps: For each cut how many steps lie before it.
        cut_cell: The cell of each cut.
    """

    negatives: Positions
    positives: Positions
    first: Positions | None
    below: Positions
    upto: Positions | None
    negatives_of: Span
    steps_of: Span
    cut_negatives: Positions
    cut_steps: Positions
    cut_cell: Positions

    def sums(self, weights: Weights) -> Sums:
        """What the metrics are arithmetic on, of replicates whose row weights are the rows of an array."""
        negative = _running(weights.take(self.negatives, axis=1, mode="clip"))
        positive = weights.take(self.positives, axis=1, mode="clip")
        if self.first is not None:
            positive = np.add.reduceat(positive, self.first, axis=1, dtype=np.float64)
        positive = positive.astype(np.float64, copy=False)
        return Sums(self, positive, _running(positive), negative)


def make_order(
    cell: npt.NDArray[np.integer[Any]], rank: npt.NDArray[np.integer[Any]], y: Weights, cells: int, cuts: pl.DataFrame
) -> Order:
    """The order of a grouping.

    Args:
        cell: The cell of each row, a position in the list of cells; -1 where it is in none.
        rank: The rank of its score; rows come in the order of rank where that saves time, and in any other.
        y: Its label.
        cells: How many cells there are.
        cuts: Columns `position` (of a cell) and `cut` (the lowest rank that counts as positive).
    """
    cell = cell.astype(np.int16 if cells < 2**15 else np.int64)
    falls = bool(np.any(rank[1:] < rank[:-1]))
    # Small numbers are sorted stably by their digits, which takes no time beside another sort.
    rows = np.lexsort((rank, cell)) if falls else np.argsort(cell, kind="stable")
    rows = rows[np.searchsorted(cell[rows], 0) :]
    positive = y[rows] == 1
    positives, negatives = rows[positive], rows[~positive]
    size = np.int64(int(rank.max(initial=0)) + 1)
    of_pos, of_neg = (cell[part].astype(np.int64) * size + rank[part] for part in (positives, negatives))
    first = np.flatnonzero(np.concatenate([np.full(min(len(of_pos), 1), True), of_pos[1:] != of_pos[:-1]]))
    step = of_pos[first]
    below, upto = (np.searchsorted(of_neg, step, side) for side in ("left", "right"))
    bounds = np.arange(cells + 1) * size
    at_neg, at_step = np.searchsorted(of_neg, bounds), np.searchsorted(step, bounds)
    cut_cell = cuts["position"].to_numpy().astype(np.intp)
    cut = cut_cell * size + np.minimum(cuts["cut"].fill_null(0).to_numpy().astype(np.int64), size)
    return Order(
        negatives,
        positives,
        None if len(first) == len(positives) else first,
        below,
        None if np.array_equal(below, upto) else upto,
        Span(at_neg[:-1], at_neg[1:]),
        Span(at_step[:-1], at_step[1:]),
        np.searchsorted(of_neg, cut),
        np.searchsorted(step, cut),
        cut_cell,
    )


def _running(values: Weights) -> Floats:
    """Running sums along the rows of an array, from 0 on."""
    sums = np.empty((values.shape[0], values.shape[1] + 1))
    sums[:, 0] = 0.0
    np.cumsum(values.astype(np.float64, copy=False), axis=1, out=sums[:, 1:])
    return sums


@dataclass(frozen=True)
class Sums:
    """The weights of an order's steps, and running sums over all cells.

    Attributes:
        order: The order.
        steps: The weight of the positives of each step, replicates by steps.
        positive: Running sums of these, from 0 on.
        negative: Running sums of the weights of the negatives, from 0 on.
    """

    order: Order
    steps: Floats
    positive: Floats
    negative: Floats

    def totals(self) -> Found:
        """The weights of the classes in each cell: `n_pos` and `n_neg`."""
        return {"n_pos": self.order.steps_of.of(self.positive), "n_neg": self.order.negatives_of.of(self.negative)}

    def auc(self) -> Floats:
        """The AUC of each cell; NaN without both classes."""
        order = self.order
        before = self.negative.take(order.below, axis=1, mode="clip")
        if order.upto is None:
            before *= 2.0
        else:
            before += self.negative.take(order.upto, axis=1, mode="clip")
        before *= self.steps
        m, n = self.totals().values()
        ranked = self._per_cell(before) - 2.0 * m * self.negative[:, order.negatives_of.start]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.clip(ranked / (2.0 * m * n), 0.0, 1.0)

    def average_precision(self) -> Floats:
        """The average precision of each cell; NaN without both classes."""
        tp, fp = self._tp(), self._fp()
        fp += tp
        with np.errstate(invalid="ignore", divide="ignore"):
            tp /= fp
            tp *= self.steps
            np.copyto(tp, 0.0, where=self.steps == 0.0)  # a score that was not drawn is no step
            m, n = self.totals().values()
            return np.where(n > 0, self._per_cell(tp) / m, np.nan)

    def confusion(self) -> Found:
        """The four counts at each cut: `tp`, `fp`, `fn` and `tn`."""
        order = self.order
        found = {}
        for running, span, cut, above, beneath in (
            (self.positive, order.steps_of, order.cut_steps, "tp", "fn"),
            (self.negative, order.negatives_of, order.cut_negatives, "fp", "tn"),
        ):
            at = running[:, cut]
            found[above] = running[:, span.end[order.cut_cell]] - at
            found[beneath] = at - running[:, span.start[order.cut_cell]]
        return found

    def others(self, metrics: Mapping[str, Metric]) -> Found:
        """Ranking metrics whose expressions are aggregates of steps, one replicate after another."""
        order = self.order
        cells = len(order.steps_of.end)
        found = {name: np.full((len(self.steps), cells), np.nan) for name in metrics}
        cell = np.repeat(np.arange(cells), order.steps_of.end - order.steps_of.start)
        tp, fp, lowest = self._tp(), self._fp(), self.negative[:, order.negatives_of.start]
        tied = 0.0 if order.upto is None else self.negative[:, order.upto] - self.negative[:, order.below]
        for i in range(len(self.steps)):
            table = {"cell": cell, "pos": self.steps[i], "tp": tp[i], "fp": fp[i]}
            table["neg"] = np.broadcast_to(tied, tp.shape)[i]
            table["tn"] = self.negative[i, order.below] - lowest[i, cell]
            values = [metric.aggregated(cut=CUT).alias(name) for name, metric in metrics.items()]
            steps = pl.LazyFrame(table).filter(pl.col("pos") > 0)
            rows = steps.group_by("cell", maintain_order=True).agg(values).collect()
            for name in metrics:
                found[name][i, rows["cell"].to_numpy()] = rows[name].to_numpy()
        return found

    def _tp(self) -> Floats:
        """The positives with a score at least that of each step."""
        span = self.order.steps_of
        total = np.repeat(self.positive[:, span.end], span.end - span.start, axis=1)
        total -= self.positive[:, :-1]
        return total

    def _fp(self) -> Floats:
        """The negatives with a score at least that of each step."""
        span, negatives = self.order.steps_of, self.order.negatives_of
        total = np.repeat(self.negative[:, negatives.end], span.end - span.start, axis=1)
        total -= self.negative.take(self.order.below, axis=1, mode="clip")
        return total

    def _per_cell(self, values: Floats) -> Floats:
        """Sums over the steps of each cell."""
        found = np.zeros((len(values), len(self.order.steps_of.end)))
        some = self.order.steps_of.some
        if len(some):
            found[:, some] = np.add.reduceat(values, self.order.steps_of.start[some], axis=1)
        return found
