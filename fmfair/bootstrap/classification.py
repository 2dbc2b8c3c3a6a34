"""The replicates of a classification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.bootstrap.acceleration import skewness
from fmfair.bootstrap.cells import cells_of
from fmfair.bootstrap.drawing import Weights, draws_of
from fmfair.bootstrap.orders import Found
from fmfair.bootstrap.replicates import Replicates, empty_values
from fmfair.bootstrap.resampler import CHANCE, Resampler
from fmfair.groupings import Grouping
from fmfair.measures import Engine, value_of
from fmfair.metrics.metric import CONFUSION, Metric
from fmfair.options import Bootstrap
from fmfair.thresholds import DECIDED_T

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.intp]


def resample(
    engine: Engine,
    groupings: Sequence[Grouping],
    listed: Sequence[pl.DataFrame],
    long: pl.DataFrame,
    bootstrap: Bootstrap,
    *,
    threads: int | None = None,
) -> Replicates:
    """The values of all replicates.

    Thresholds are those of the estimates: a rule chooses none anew in a replicate.

    Args:
        engine: With the samples.
        groupings: How they are divided.
        listed: The cells of each grouping.
        long: The values that the replicates are of: `order`, `listed` and `t` of every row.
        bootstrap: How many replicates, and their seed.
        threads: How many threads; as many as there are, but few, where left out.
    """
    resampler = Resampler(engine, cells_of(groupings, listed), draws_of(engine.samples.frame, bootstrap.seed))
    places = _places(resampler, long)
    values = empty_values(long.height, bootstrap.count)
    beside: dict[str, dict[int, Floats]] = {}

    def draw(first: int, weights: Weights) -> None:
        some = slice(first, first + len(weights))
        of_cells, of_cuts, calibration = resampler.raw(weights)
        found = _values(resampler, of_cells, of_cuts)
        for name, (rows, position) in places.items():
            if name in found:
                values[rows, some] = found[name][:, position].T
            for key in (name, CHANCE + name):
                if key in calibration:
                    for row, cell in zip(rows.tolist(), position.tolist(), strict=True):
                        beside[key][row][some] = calibration[key][:, cell]

    for metric in resampler.debiased:
        for key in (metric, CHANCE + metric):
            beside[key] = {row: np.full(bootstrap.count, np.nan) for row in places[metric][0].tolist()}
    resampler.draws.run(bootstrap.count, draw, threads=threads)
    return Replicates(
        values,
        {row: drawn for metric in resampler.debiased for row, drawn in beside[metric].items()},
        engine.samples.clustered,
        {row: drawn for metric in resampler.debiased for row, drawn in beside[CHANCE + metric].items()}
        if engine.samples.clustered
        else {},
        skewness(engine, groupings, long) if bootstrap.method == "bca" else None,
    )


def _places(resampler: Resampler, long: pl.DataFrame) -> dict[str, tuple[Positions, Positions]]:
    """For each metric its rows in the long table, and which cell or cut each is of."""
    cuts = _cells_of_cuts(resampler).select(pl.col("cell").cast(pl.UInt32).alias("listed"), "t").with_row_index("cut")
    rows = long.select("order", pl.col("listed").cast(pl.UInt32), "t").with_row_index("row")
    found = {}
    for order, metric in enumerate(resampler.engine.metrics):
        mine = rows.filter(pl.col("order") == order)
        if metric.at_threshold:
            mine = mine.join(cuts, on=["listed", "t"], how="inner", maintain_order="left")
        position = mine["cut" if metric.at_threshold else "listed"]
        found[metric.name] = mine["row"].to_numpy().astype(np.intp), position.to_numpy().astype(np.intp)
    return found


def _values(resampler: Resampler, of_cells: Found, of_cuts: Found) -> dict[str, Floats]:
    """The values of every metric by the registry's own expressions, replicates by cells or cuts; undefined ones NaN."""
    replicates = len(of_cells["n"])
    plain = pl.LazyFrame({name: column.ravel() for name, column in of_cells.items()})
    plain = plain.with_columns(fit_note=pl.lit(None, pl.String))
    at = _cells_of_cuts(resampler)
    of_cell = {name: of_cells[name][:, at["cell"].to_numpy()].ravel() for name in ("n", "n_pos", "n_neg", "weight")}
    counts = pl.LazyFrame({**{name: column.ravel() for name, column in of_cuts.items()}, **of_cell})
    repeated = at.select("threshold", "known")[np.tile(np.arange(at.height), replicates)]
    known = pl.col("known")
    rates = pl.concat([counts, repeated.lazy()], how="horizontal").with_columns(
        *(pl.when(known).then(pl.col(c)).alias(c) for c in CONFUSION),
        n_pred_pos=pl.col("tp") + pl.col("fp"),
        n_pred_neg=pl.col("fn") + pl.col("tn"),
    )
    found: dict[str, Floats] = {}
    for table, at_threshold in ((plain, False), (rates, True)):
        wanted = [m for m in resampler.metrics if m.at_threshold == at_threshold]
        columns = [_value(resampler, metric).alias(metric.name) for metric in wanted]
        rows = table.select("n", *columns).collect()
        for metric in wanted:
            found[metric.name] = np.reshape(rows[metric.name].to_numpy(), (replicates, -1))
    return found


def _value(resampler: Resampler, metric: Metric) -> pl.Expr:
    value, _ = value_of(metric, probability=resampler.probability, scored=resampler.engine.scored)
    return value.cast(pl.Float64).fill_null(np.nan)


def _cells_of_cuts(resampler: Resampler) -> pl.DataFrame:
    """The `cell`, `threshold` and whether it is `known`, of every cut, decisions last."""
    cells = resampler.cells
    parts = [
        table.select(
            pl.col("position").cast(pl.Int64).alias("cell") + int(first),
            "t",
            "threshold",
            pl.col("cut").is_not_null().alias("known"),
        )
        for table, first in zip(resampler.asked, cells.first, strict=False)
    ]
    if resampler.decided:
        decided = pl.select(cell=pl.int_range(cells.count), t=pl.lit(DECIDED_T, pl.UInt32), known=True)
        parts.append(decided)
    return pl.concat(parts, how="diagonal")


Resample: TypeAlias = Callable[[Sequence[Grouping], Sequence[pl.DataFrame], pl.DataFrame], Replicates]


def resampling(engine: Callable[[], Engine], bootstrap: Bootstrap) -> Resample:
    """What draws the replicates of a long table, from what gives the engine once that is needed."""

    def draw(groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame], long: pl.DataFrame) -> Replicates:
        return resample(engine(), groupings, listed, long, bootstrap)

    return draw
