"""What a comparison needs of the samples: the values of all models, and the influence of every row on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import polars as pl

from fmfair.bootstrap.replicates import Replicates
from fmfair.groupings import Grouping
from fmfair.influence import Cases, Flags, mean_influence, ranking_influences, weights_of
from fmfair.measures import Engine, long_table
from fmfair.metrics.metric import IntervalKind, Metric
from fmfair.moments import confusion_cases
from fmfair.notes import Notes
from fmfair.options import Bootstrap, Options
from fmfair.samples import Samples
from fmfair.segmentation import long_values
from fmfair.spread import with_spread
from fmfair.units import CellRows, Floats


class Influence(NamedTuple):
    """The influence of every row on one metric at one threshold.

    Attributes:
        order: The position of the metric.
        t: The number of the threshold; None where the metric has none.
        values: One per row; NaN in cells where the metric is undefined.
        carried: The rows that the denominator counts; None for all.
    """

    order: int
    t: int | None
    values: Floats
    carried: Flags | None = None


class Measuring(Protocol):
    """What measures the cells of groupings."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What is measured."""

    def long(self, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The long table, with what the spread of every value is known by."""

    def influences(self, grouping: Grouping, rows: CellRows) -> Iterator[Influence]:
        """The influences on all metrics with a closed form."""

    def resample(
        self, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame], long: pl.DataFrame, bootstrap: Bootstrap
    ) -> Replicates:
        """The values of the long table in all replicates."""


@dataclass(frozen=True)
class ScoreMeasuring:
    """Measures a classification."""

    engine: Engine

    @classmethod
    def of(cls, samples: Samples, options: Options, notes: Notes) -> ScoreMeasuring:
        """What measures the samples."""
        return cls(Engine(samples, options, notes))

    def resample(
        self, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame], long: pl.DataFrame, bootstrap: Bootstrap
    ) -> Replicates:
        """The values of the long table in all replicates."""
        from fmfair.bootstrap.classification import resample

        return resample(self.engine, groupings, listed, long, bootstrap)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What is measured."""
        return self.engine.metrics

    def long(self, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The long table, with what the spread of every value is known by."""
        measured = self.engine.measure(groupings, listed)
        scale = self.engine.samples.scale
        probability = scale is not None and scale.is_probability
        long = long_table(measured, self.metrics, probability=probability, scored=scale is not None)
        return with_spread(long, measured.spread, measured.confusion, self.metrics)

    def influences(self, grouping: Grouping, rows: CellRows) -> Iterator[Influence]:
        """The influences on all metrics with a closed form."""
        engine, frame = self.engine, self.engine.frame
        order = {metric.name: i for i, metric in enumerate(self.metrics)}
        ranked: dict[IntervalKind, int] = {
            m.interval: order[m.name] for m in self.metrics if m.interval in ("auc", "average_precision")
        }
        if ranked and engine.scored:
            found = ranking_influences(ranked, engine.blocks(grouping, engine.ranking), rows, frame)
            for kind, values in found.items():
                yield Influence(ranked[kind], None, values)
        weight = weights_of(rows, frame)
        for name, column in engine.row_values().items():
            yield Influence(order[name], None, mean_influence(rows.of(column), rows, weight))
        rates = [metric for metric in self.metrics if metric.parts is not None]
        if not rates:
            return
        cuts = engine.thresholds(grouping) if engine.scored else None
        rank = None if engine.cutting is None else engine.cutting.column
        for t, cases in confusion_cases(frame, rows, cuts, rank, decided="pred" in frame.columns):
            counted = Cases(rows, cases, weight)
            for metric in rates:
                yield Influence(order[metric.name], t, *counted.influence(metric))


@dataclass(frozen=True)
class ValueMeasuring:
    """Measures a segmentation, whose metrics are means of a value per sample."""

    samples: Samples
    options: Options

    @classmethod
    def of(cls, samples: Samples, options: Options, _: Notes) -> ValueMeasuring:
        """What measures the samples."""
        return cls(samples, options)

    def resample(
        self, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame], long: pl.DataFrame, bootstrap: Bootstrap
    ) -> Replicates:
        """The values of the long table in all replicates."""
        from fmfair.bootstrap.means import resample_means

        return resample_means(self.samples, self.metrics, groupings, listed, long, bootstrap)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What is measured."""
        return self.options.metrics

    def long(self, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The long table, with what the spread of every value is known by."""
        return long_values(self.samples, self.options, groupings, listed)

    def influences(self, _: Grouping, rows: CellRows) -> Iterator[Influence]:
        """The influences on all metrics; no sample lacks a value."""
        weight = weights_of(rows, self.samples.frame)
        for order, metric in enumerate(self.metrics):
            yield Influence(order, None, mean_influence(rows.of(self.samples.frame[metric.name]), rows, weight))
