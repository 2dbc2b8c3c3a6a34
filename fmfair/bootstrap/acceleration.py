"""Skewness of the influences behind values, from which the BCa interval has its acceleration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from fmfair.bootstrap.replicates import Skewness
from fmfair.groupings import Grouping
from fmfair.influence import Cases, Flags, mean_influence, ranking_influences, weights_of
from fmfair.measures import Engine
from fmfair.metrics.bins import brier_rows
from fmfair.metrics.metric import IntervalKind, Metric
from fmfair.moments import confusion_cases
from fmfair.samples import Samples
from fmfair.units import CellRows, Floats, cell_rows

_ROWS = {"bce": pl.col("bce"), "brier": brier_rows(pl.col("y"), pl.col("prob"))}
_PLACE = {"grouping": pl.UInt32, "cell": pl.UInt64, "metric": pl.String, "t": pl.UInt32}
_SCHEMA = {**_PLACE, "cubes": pl.Float64, "squares": pl.Float64}


def skewness(engine: Engine, groupings: Sequence[Grouping], long: pl.DataFrame) -> Skewness:
    """The sums over the influences of the units behind every row of the long table.

    Args:
        engine: With the samples.
        groupings: How they are divided.
        long: Columns `grouping`, `cell`, `metric` and `t`.

    Returns:
        NaN where no influence is known of a metric.
    """
    parts = []
    for i, grouping in enumerate(groupings):
        rows = cell_rows(engine.frame, engine.profiles, grouping)
        parts += [_of_cells(rows, i, influence) for influence in influences(engine, grouping, rows)]
    return _of_long(parts, long)


def skewness_of_means(
    samples: Samples, metrics: Sequence[Metric], groupings: Sequence[Grouping], long: pl.DataFrame
) -> Skewness:
    """The same of means of a value per sample, which may be missing."""
    parts = []
    for i, grouping in enumerate(groupings):
        parts += [_of_cells(rows, i, influence) for rows, influence in influences_of_means(samples, metrics, grouping)]
    return _of_long(parts, long)


class Influence(NamedTuple):
    """The influence of every row on one metric at one threshold.

    Attributes:
        metric: Its name.
        t: The number of the threshold; None where it has none.
        values: One per row; NaN in cells where the metric is undefined.
        carried: The rows that the denominator counts; None for all.
    """

    metric: str
    t: int | None
    values: Floats
    carried: Flags | None = None


def influences_of_means(
    samples: Samples, metrics: Sequence[Metric], grouping: Grouping
) -> Iterator[tuple[CellRows, Influence]]:
    """The influences on means of a value per sample, with the rows that have one."""
    for metric in metrics:
        values = samples.frame[metric.name]
        rows = cell_rows(samples.frame, samples.profiles, grouping, values.is_not_null().to_numpy())
        influence = mean_influence(rows.of(values), rows, weights_of(rows, samples.frame))
        yield rows, Influence(metric.name, None, influence)


def influences(engine: Engine, grouping: Grouping, rows: CellRows) -> Iterator[Influence]:
    """The influences of all rows, by metric and threshold."""
    frame, metrics = engine.frame, engine.metrics
    weight = weights_of(rows, frame)
    kinds: Mapping[IntervalKind, str] = {m.interval: m.name for m in metrics if m.interval and m.table == "blocks"}
    if engine.scored and kinds:
        blocks = engine.blocks(grouping, engine.ranking)
        for kind, influence in ranking_influences(kinds, blocks, rows, frame).items():
            yield Influence(kinds[kind], None, influence)
    if "bce" in frame.columns:
        for metric in metrics:
            if metric.name in _ROWS:
                values = frame.select(_ROWS[metric.name].alias("value")).to_series()
                yield Influence(metric.name, None, mean_influence(rows.of(values), rows, weight))
    rates = [m for m in metrics if m.parts is not None]
    if rates:
        cuts = engine.thresholds(grouping) if engine.cutting is not None else None
        rank = None if engine.cutting is None else engine.cutting.column
        for t, cases in confusion_cases(frame, rows, cuts, rank, decided="pred" in frame.columns):
            counted = Cases(rows, cases, weight)
            for metric in rates:
                yield Influence(metric.name, t, *counted.influence(metric))


def _of_cells(rows: CellRows, grouping: int, influence: Influence) -> pl.DataFrame:
    u = rows.per_unit(influence.values)
    sums = {"cubes": rows.over_units(u**3), "squares": rows.over_units(u**2)}
    table = {"grouping": grouping, "cell": rows.numbers, "metric": influence.metric, "t": influence.t, **sums}
    return pl.DataFrame(table, schema_overrides=_SCHEMA)


def _of_long(parts: Sequence[pl.DataFrame], long: pl.DataFrame) -> Skewness:
    known = pl.concat([pl.DataFrame(schema=_SCHEMA), *parts])
    rows = long.select(pl.col(c).cast(dtype) for c, dtype in _PLACE.items())
    found = rows.join(known, on=list(_PLACE), how="left", nulls_equal=True, maintain_order="left")
    return Skewness(*(found[name].fill_null(np.nan).to_numpy() for name in Skewness._fields))
