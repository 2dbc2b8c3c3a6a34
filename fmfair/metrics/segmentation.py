"""Metrics of a segmenter, means of a value per sample: their registry entries, and expressions for any `group_by`."""

from __future__ import annotations

import polars as pl

from fmfair.metrics.metric import Direction, Metric
from fmfair.metrics.rows import Column, element, listed, widened

VALUE, WEIGHT = pl.col("value"), pl.col("weight")


def weighted_mean(value: pl.Expr = VALUE, weight: pl.Expr = WEIGHT) -> pl.Expr:
    """Sum of weight times value over the sum of the weights."""
    return (value * weight).sum() / weight.sum()


def _mean(name: str, title: str, definition: str, source: str, direction: Direction = "higher") -> Metric:
    return Metric(
        name=name,
        title=title,
        definition=definition,
        family="segmentation",
        direction=direction,
        low=0.0,
        high=1.0,
        moves_with_prevalence=False,
        denominator="n",
        needs=(("n", "no usable sample"),),
        source=source,
        table="values",
        aggregate=weighted_mean,
    )


DICE = _mean("dice", "mean Dice", "mean over samples of 2 |A and B| / (|A| + |B|)", "Dice 1945")
IOU = _mean("iou", "mean IoU", "mean over samples of |A and B| / |A or B|", "Jaccard 1912")
BOTH_EMPTY = _mean(
    "both_empty",
    "share of samples with both masks empty",
    "mean over samples of 1 where neither mask has foreground, else 0; Dice and IoU are 0/0 there",
    "the policy empty= of evaluate_segmentation",
    "none",
)

SEGMENTATION: tuple[Metric, ...] = (DICE, IOU, BOTH_EMPTY)


def dice(value: Column, *, weight: Column | None = None) -> pl.Expr:
    """Mean Dice: the mean over samples of 2 |A and B| / (|A| + |B|), from a Dice value per sample.

    Range 0 to 1, higher is better. NULL without a usable sample, or where a value lies outside [0, 1]. Samples whose
    value is NULL or NaN are left out. Does not move with prevalence. Source: Dice 1945.

    Args:
        value: The Dice of each sample, a column name or an expression.
        weight: Weight of each sample; None counts each once.

    Returns:
        A Float64 expression named `dice`, one value per group.

    Raises:
        FmfairError: An argument is neither a column name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"sex": ["F", "F", "M"], "dice": [0.75, 0.25, None]})
        >>> df.group_by("sex", maintain_order=True).agg(dice("dice")).rows()
        [('F', 0.5), ('M', None)]
    """
    return _mean_of(DICE, value, weight)


def iou(value: Column, *, weight: Column | None = None) -> pl.Expr:
    """Mean IoU: the mean over samples of |A and B| / |A or B|, from an IoU value per sample.

    Range 0 to 1, higher is better. NULL without a usable sample, or where a value lies outside [0, 1]. Samples whose
    value is NULL or NaN are left out. Does not move with prevalence. Source: Jaccard 1912.

    Args:
        value: The IoU of each sample, a column name or an expression.
        weight: Weight of each sample; None counts each once.

    Returns:
        A Float64 expression named `iou`, one value per group.

    Raises:
        FmfairError: An argument is neither a column name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"iou": [0.5, 1.0], "size": [3, 1]})
        >>> df.select(iou("iou", weight="size")).item()
        0.625
    """
    return _mean_of(IOU, value, weight)


def _mean_of(metric: Metric, value: Column, weight: Column | None) -> pl.Expr:
    samples = listed(weight, value=widened(value, "value"))
    values, weights = element("value"), element("weight")
    fine = values.is_between(0.0, 1.0) & (weights > 0) & weights.is_finite()
    mean = pl.when(fine.all() & metric.defined({"n": values.len()})).then(weighted_mean(values, weights))
    return samples.list.agg(mean).alias(metric.name)
