"""Influence: the derivative of a metric by the weight of each row, in every cell of a grouping.

The influences of a cell add up to 0. Their squares give the variance of the metric, their products the covariance of
two metrics, models or groups, and the influence of a difference is the difference of the influences.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.blocks import Blocks
from fmfair.metrics.blocks import NEG, POS
from fmfair.metrics.metric import CONFUSION, IntervalKind, Metric
from fmfair.units import CellRows, Floats, corrected

Flags: TypeAlias = npt.NDArray[np.bool_]


def weights_of(rows: CellRows, frame: pl.DataFrame) -> Floats:
    """The weight of each row, 1 where all count alike."""
    if "weight" not in frame.columns:
        return np.ones(len(rows.cell))
    return rows.of(frame["weight"]).astype(np.float64, copy=False)


def ranking_influences(
    kinds: Collection[IntervalKind], blocks: Blocks, rows: CellRows, frame: pl.DataFrame
) -> dict[IntervalKind, Floats]:
    """The influences on the AUC and the average precision, of those that are asked for.

    Args:
        kinds: `auc` and `average_precision`.
        blocks: The blocks of the scores in the order that is ranked.
        rows: The rows of the cells.
        frame: The table of samples.

    Returns:
        One value per row; NaN in cells without positives or without negatives.
    """
    y, weight = rows.of(frame["y"]).astype(np.float64), weights_of(rows, frame)
    at = blocks.of_rows(rows.number, rows.of(frame[blocks.ranks.column]).astype(np.uint64) >> np.uint64(1))
    placed = _placed(blocks)
    shares = {name: placed[name].to_numpy()[at] for name in placed.columns}
    pos, neg = rows.sums(weight * y), rows.sums(weight * (1 - y))
    found: dict[IntervalKind, Floats] = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        if "auc" in kinds:
            value = rows.sums(weight * y * shares["of_pos"]) / pos
            share = np.where(y == 1, shares["of_pos"], shares["of_neg"])
            total = np.where(y == 1, pos[rows.cell], neg[rows.cell])
            found["auc"] = weight * (share - value[rows.cell]) / total
        if "average_precision" in kinds:
            value = rows.sums(weight * y * shares["precision"]) / pos
            gained = shares["precision"] + shares["risen"] - value[rows.cell]
            found["average_precision"] = weight * np.where(y == 1, gained, -shares["lost"]) / pos[rows.cell]
    return found


def _placed(blocks: Blocks) -> pl.DataFrame:
    """What the rows of each block have in common: their placements, and what they do to the precision."""
    pos, neg = POS.cast(pl.Float64), NEG.cast(pl.Float64)
    tp, fp = pos.cum_sum(reverse=True), neg.cum_sum(reverse=True)
    columns = {
        "of_pos": (neg.cum_sum() - neg / 2) / neg.sum(),
        "of_neg": (tp - pos / 2) / pos.sum(),
        "precision": tp / (tp + fp),
        "risen": (pos * fp / (tp + fp) ** 2).cum_sum(),
        "lost": (pos * tp / (tp + fp) ** 2).cum_sum(),
    }
    return blocks.by_cell().select(value.over("cell").alias(name) for name, value in columns.items()).collect()


def mean_influence(value: Floats, rows: CellRows, weight: Floats) -> Floats:
    """The influences on the mean of a value per row."""
    total = rows.sums(weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = rows.sums(weight * value) / total
        return np.asarray(weight * (value - mean[rows.cell]) / total[rows.cell])


class Cases:
    """Which count of the confusion matrix every row is of, and how many of each there are in every cell.

    Args:
        rows: The rows of the cells.
        cases: Which of the rows are `tp`, `fp`, `fn` and `tn`.
        weight: Their weights.
    """

    def __init__(self, rows: CellRows, cases: Mapping[str, Flags], weight: Floats) -> None:
        number = np.zeros(len(weight), dtype=np.intp)
        for position, name in enumerate(CONFUSION):
            number[cases[name]] = position
        self._case, self._weight = number, weight
        self._place = rows.cell * len(CONFUSION) + number
        cells = len(rows.numbers)
        self._counts = np.bincount(self._place, weight, cells * len(CONFUSION)).reshape(cells, len(CONFUSION))

    def influence(self, metric: Metric) -> tuple[Floats, Flags]:
        """The influences on a rate that is one sum of confusion counts over another, or the mean of two such.

        Returns:
            One value per row, NaN in cells without a denominator; and which rows the denominator counts.
        """
        assert metric.parts is not None
        share = np.zeros(self._counts.shape)
        counted = np.zeros(len(CONFUSION), dtype=bool)
        for factors in metric.parts:
            above, below = map(np.array, factors)
            total = self._counts @ below
            with np.errstate(divide="ignore", invalid="ignore"):
                value = self._counts @ above / total
                share += (above - value[:, None] * below) / total[:, None] / len(metric.parts)
            counted |= below > 0
        return self._weight * share.ravel().take(self._place), counted[self._case]


def auc_variance(rows: CellRows, y: Floats, influence: Floats) -> Floats:
    """Obuchowski's variance of an AUC, or of the difference of two.

    With rows as units it is DeLong's. It is never less than the sandwich `I / (I - 1) sum (a + b)^2` over all I units,
    as no more of them have a positive, or a negative; where rounding makes it negative the sandwich stands for it.

    Args:
        rows: The rows of the cells.
        y: Their labels.
        influence: Their influences.

    Returns:
        One value per cell; NaN where fewer than two units have a positive, or a negative.
    """
    a, b = rows.per_unit(np.where(y == 1, influence, 0.0)), rows.per_unit(np.where(y == 0, influence, 0.0))
    units, i_pos, i_neg = counted_units(rows, y)
    total = (
        corrected(i_pos) * rows.over_units(a**2)
        + corrected(i_neg) * rows.over_units(b**2)
        + 2 * corrected(units) * rows.over_units(a * b)
    )
    return np.where(total < 0, corrected(units) * rows.over_units((a + b) ** 2), total)


def counted_units(rows: CellRows, y: Floats) -> tuple[Floats, Floats, Floats]:
    """How many units there are in each cell, how many with a positive, and how many with a negative."""
    with_pos, with_neg = rows.per_unit(y) > 0, rows.per_unit(1 - y) > 0
    return (
        rows.over_units(np.ones(len(rows.cell_of_unit))),
        rows.over_units(with_pos),
        rows.over_units(with_neg),
    )
