"""Metrics of a segmenter: means of a value per sample."""

from __future__ import annotations

import polars as pl

from fmfair.metrics.metric import Metric


def _mean(name: str, title: str, source: str, definition: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        definition=definition,
        family="segmentation",
        direction="higher",
        low=0.0,
        high=1.0,
        moves_with_prevalence=False,
        denominator="n",
        needs=(("n", "no usable sample"),),
        source=source,
        table="values",
        aggregate=lambda: (pl.col("value") * pl.col("weight")).sum() / pl.col("weight").sum(),
    )


SEGMENTATION: tuple[Metric, ...] = (
    _mean("dice", "mean Dice", "Dice 1945", "mean over samples of 2 |A and B| / (|A| + |B|)"),
    _mean("iou", "mean IoU", "Jaccard 1912", "mean over samples of |A and B| / |A or B|"),
)
