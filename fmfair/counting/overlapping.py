"""Ranking metrics from bins that may overlap, as in the sum of tables whose small counts were suppressed differently.

A score is only known to lie in its bin, from `start` up to, without, `end`. With s the j-th largest score of the
positives, s is no smaller than the j-th largest start and smaller than the j-th largest end.

- AUC: a pair is surely right where the negative's bin ends before the positive's starts, surely wrong the other way
  round, and open otherwise.
- Average precision: at least j / (j + negatives whose bins end above the j-th largest start), since at least j
  positives are that high; at most the largest of T / (T + F) at any s that is possible, with T positives whose bins end
  above s and F negatives whose bins start above it.
- Sensitivity at a false positive rate: at least that of the positives whose bins start at an edge, where all negatives
  that may lie there stay below the rate; at most that of all that may lie there, where the sure negatives stay below.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.counting.ranking import Floats, worst_precisions
from fmfair.metrics import blocks
from fmfair.metrics.blocks import ROUNDING
from fmfair.metrics.metric import Metric


def ranked_overlapping(bins: pl.DataFrame, metrics: tuple[Metric, ...], grid: int, *, top: int | None) -> pl.DataFrame:
    """Bounds of the ranking metrics, as `ranking.ranked` gives them for bins that lie side by side."""
    found = []
    for (cell,), rows in bins.group_by("cell", maintain_order=True):
        bounds = _Cell(rows, grid, top).bounds(metrics)
        sides = {
            f"{side}:{name}": v for name, pair in bounds.items() for side, v in zip(("low", "high"), pair, strict=True)
        }
        found.append({"cell": cell, **sides})
    schema = {"cell": pl.UInt64, **{name: pl.Float64 for row in found for name in row if name != "cell"}}
    return pl.DataFrame(found, schema=schema)


class _Cell:
    """The bins of one cell, as counts at every edge k of the grid."""

    def __init__(self, rows: pl.DataFrame, grid: int, top: int | None) -> None:
        start, end = rows["bin"].to_numpy(), rows["bin_end"].to_numpy()
        pos = rows["n_pos"].to_numpy().astype(np.float64)
        neg = rows["n"].to_numpy() - pos
        self.pos, self.neg = pos.sum(), neg.sum()
        self.starts, self.ends = (_at(edge, pos, grid) for edge in (start, end))
        neg_starts, neg_ends = (_at(edge, neg, grid) for edge in (start, end))
        # Positives and negatives whose bins start at k or above, and whose bins end above k.
        self.pos_from, self.neg_from = _from(self.starts), _from(neg_starts)
        self.pos_beyond, self.neg_beyond = self.pos - np.cumsum(self.ends), self.neg - np.cumsum(neg_ends)
        equal = (start == top) if top is not None else np.zeros(len(start), dtype=bool)
        self.tied = pos[equal].sum() * neg[equal].sum()

    def bounds(self, metrics: tuple[Metric, ...]) -> dict[str, tuple[float, float]]:
        """The lower and upper bound of every metric that has them; nothing without both classes."""
        if not self.pos or not self.neg:
            return {}
        found: dict[str, tuple[float, float]] = {}
        for metric in metrics:
            if metric.name == "auc":
                found[metric.name] = self._auc()
            elif metric.name == "average_precision":
                found[metric.name] = self._average_precision()
            elif metric.name == "adjusted_auprc":
                share = np.log(self.pos / (self.pos + self.neg))
                low, high = (float(1.0 - np.log(ap) / share) for ap in self._average_precision())
                found[metric.name] = low, high
            elif isinstance(metric.aggregate, partial) and metric.aggregate.func is blocks.tpr_at_fpr:
                found[metric.name] = self._tpr_at_fpr(float(metric.aggregate.args[0]) + ROUNDING)
        return found

    def _auc(self) -> tuple[float, float]:
        pairs = self.pos * self.neg
        right = (self.starts * (self.neg - self.neg_beyond)).sum() + self.tied / 2
        wrong = (self.ends * self.neg_from).sum() + self.tied / 2
        return float(right / pairs), float(max(1.0 - wrong / pairs, right / pairs))

    def _average_precision(self) -> tuple[float, float]:
        above = self.pos_from - self.starts
        low = worst_precisions(self.starts, above, self.neg_beyond).sum() / self.pos
        reached, wrong = self.pos_beyond[:-1], self.neg_from[1:]
        highest = np.where(reached > 0, reached / np.maximum(reached + wrong, 1.0), 0.0)
        # Runs of positives, from the top, that share both their j-th largest start and their j-th largest end.
        starts, ends = (np.flatnonzero(at)[::-1] for at in (self.starts, self.ends))
        until_start, until_end = np.cumsum(self.starts[starts]), np.cumsum(self.ends[ends])
        until = np.union1d(until_start, until_end)
        first = np.concatenate([[0.0], until[:-1]])
        lower = starts[np.searchsorted(until_start, first, side="right")]
        upper = ends[np.searchsorted(until_end, first, side="right")]
        best = [highest[a:e].max() for a, e in zip(lower, upper, strict=True)]
        high = float((np.diff(until, prepend=0.0) * best).sum() / self.pos)
        return float(low), max(min(high, 1.0), float(low))

    def _tpr_at_fpr(self, limit: float) -> tuple[float, float]:
        low = self.pos_from[self.neg_beyond / self.neg <= limit].max(initial=0.0) / self.pos
        high = self.pos_beyond[:-1][self.neg_from[1:] / self.neg <= limit].max(initial=0.0) / self.pos
        return float(low), float(max(low, high))


def _at(edge: npt.NDArray[np.int32], rows: Floats, grid: int) -> Floats:
    """The rows at every edge of the grid."""
    return np.bincount(edge, rows, grid + 2).astype(np.float64)


def _from(counts: Floats) -> Floats:
    return np.cumsum(counts[::-1])[::-1]
