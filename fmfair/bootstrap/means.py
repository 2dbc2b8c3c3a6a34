"""The replicates of a segmentation: means of values per sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.bootstrap.acceleration import skewness_of_means
from fmfair.bootstrap.bin_sums import make_parts, make_slots
from fmfair.bootstrap.cells import cells_of
from fmfair.bootstrap.drawing import Weights, draws_of, portions
from fmfair.bootstrap.replicates import Replicates, empty_values
from fmfair.groupings import Grouping
from fmfair.metrics.metric import Metric
from fmfair.options import Bootstrap
from fmfair.samples import Samples

Floats: TypeAlias = npt.NDArray[np.float64]


def resample_means(
    samples: Samples,
    metrics: Sequence[Metric],
    groupings: Sequence[Grouping],
    listed: Sequence[pl.DataFrame],
    long: pl.DataFrame,
    bootstrap: Bootstrap,
) -> Replicates:
    """The values of all replicates.

    Args:
        samples: The samples, with a column per metric that is NULL where a sample has no value.
        metrics: The metrics behind `order`.
        groupings: How the samples are divided.
        listed: The cells of each grouping.
        long: The values that the replicates are of: `order` and `listed` of every row, and what `acceleration` needs.
        bootstrap: How many replicates, and their seed.
    """
    cells = cells_of(groupings, listed)
    draws = draws_of(samples.frame, bootstrap.seed)
    summed: dict[str, Floats] = {}
    for metric in metrics:
        column = samples.frame[metric.name]
        summed[f"weight of {metric.name}"] = column.is_not_null().cast(pl.Float64).to_numpy()
        summed[metric.name] = column.fill_null(0.0).to_numpy()
    slots = make_slots(samples.profiles.of_row.astype(np.intp), summed)
    members = []
    for i in range(len(groupings)):
        cell = cells.of_profiles(i, samples.profiles.table)[slots.number]
        inside = np.flatnonzero(cell >= 0)
        members.append((inside, cell[inside] + cells.first[i]))
    parts = make_parts(members, np.zeros(len(slots.number), dtype=np.intp), 1)
    rows_of = [np.flatnonzero(long["order"].to_numpy() == order) for order in range(len(metrics))]
    position_of = [long["listed"].to_numpy()[rows] for rows in rows_of]
    values = empty_values(long.height, bootstrap.count)

    def draw(first: int, weights: Weights) -> None:
        for some in portions(weights):
            sums = {name: parts.per_cell(parts.sums(of), cells.count) for name, of in slots.sums(some).items()}
            for metric, rows, position in zip(metrics, rows_of, position_of, strict=True):
                with np.errstate(invalid="ignore", divide="ignore"):
                    mean = sums[metric.name] / sums[f"weight of {metric.name}"]
                values[rows, first : first + len(some)] = mean[:, position].T
            first += len(some)

    draws.run(bootstrap.count, draw)
    skewness = skewness_of_means(samples, metrics, groupings, long) if bootstrap.method == "bca" else None
    return Replicates(values, clustered=samples.clustered, skewness=skewness)
