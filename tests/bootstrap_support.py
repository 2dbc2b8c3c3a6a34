"""What the tests of the bootstrap share: random tables, and the engine behind an evaluation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from fmfair.bootstrap.classification import resample
from fmfair.bootstrap.limits import with_bootstrap
from fmfair.bootstrap.replicates import Replicates
from fmfair.groupings import Grouping, groupings
from fmfair.interval_table import with_intervals
from fmfair.intervals import Dependence
from fmfair.measures import Engine, long_table
from fmfair.notes import Notes
from fmfair.options import Bootstrap
from fmfair.question import asked
from fmfair.roles import find_columns
from fmfair.samples import Samples, classification_samples
from fmfair.spread import with_spread


def predictions(n: int, seed: int, decimals: int | None = None) -> pl.DataFrame:
    """A table with ties where decimals are few, missing groups, patients, weights and decisions."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    p = 0.05 + 0.5 * rng.random(n) + 0.4 * y * rng.random(n)
    return pl.DataFrame(
        {
            "label": y,
            "prob": p if decimals is None else np.round(p, decimals),
            "sex": np.array(["F", "M"])[rng.integers(0, 2, n)],
            "site": [None if v == 3 else f"s{v}" for v in rng.integers(0, 4, n)],
            "patient": [f"p{v}" for v in rng.integers(0, n // 3 + 1, n)],
            "w": rng.integers(1, 5, n) * 0.37,
            "decision": rng.integers(0, 2, n),
        }
    )


class Prepared(NamedTuple):
    """An evaluation before anything is measured."""

    engine: Engine
    groupings: list[Grouping]
    listed: list[pl.DataFrame]

    @property
    def samples(self) -> Samples:
        return self.engine.samples

    def measured(self) -> pl.DataFrame:
        """The long table with what intervals need."""
        found = self.engine.measure(self.groupings, self.listed)
        scale = self.samples.scale
        probability = scale is not None and scale.is_probability
        long = long_table(found, self.engine.metrics, probability=probability, scored=scale is not None)
        if self.engine.options.ci is None:
            return long
        return with_spread(long, found.spread, found.confusion, self.engine.metrics)

    def replicates(self, bootstrap: Bootstrap, **given: Any) -> Replicates:
        return resample(self.engine, self.groupings, self.listed, self.measured(), bootstrap, **given)

    def limited(self, bootstrap: Bootstrap, level: float = 0.95) -> pl.DataFrame:
        """The long table with bootstrap intervals."""
        long = self.measured()
        dependence = Dependence(self.samples.clustered, self.samples.weighted)
        closed = with_intervals(long, self.engine.metrics, level, dependence)
        drawn = resample(self.engine, self.groupings, self.listed, long, bootstrap)
        return with_bootstrap(closed, drawn, self.engine.metrics, level, dependence)


def prepared(frame: pl.DataFrame, **given: Any) -> Prepared:
    """The engine of an evaluation, and its groupings with the cells to list."""
    question = asked(frame, **{"ci": 0.95, "by": [], **given})
    notes, source = Notes(), frame.lazy()
    columns = find_columns(frame.schema, question.given, notes)
    samples = classification_samples(frame, source, columns, question.options, notes)
    options = question.options
    divided = groupings(samples.attributes, options.intersections)
    wholes = dict.fromkeys([Grouping(), *(g.all_rows(samples.incomplete) for g in divided)])
    every = [*divided, *wholes]
    return Prepared(Engine(samples, options, notes), every, [g.cells(samples) for g in every])
