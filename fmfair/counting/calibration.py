"""Calibration from bins: exact where the sums say it, else bounds.

The bins of an ECE consist of whole score bins if their number divides the grid. Merged bins may lie across an edge; the
absolute ECE then has bounds: it is no smaller than with the bins on both sides made one, and the rows of such a bin
add no more than the sum of |y - p| over them, which is known from the sums.

The sums of residuals are rounded to whole numbers, for every row by up to half a unit: a mean score is off by no more
than that, the Brier score by no more than five times that, and an ECE, which is a mean or a root of a mean over bins,
by as much as a mean score. The bounds are wider by it.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from fmfair.counting.facts import Facts
from fmfair.metrics.bins import ece
from fmfair.metrics.metric import Metric

# Sums of doubles are off by less than this share of them.
ADDED = 1e-14
# Sums of logarithms, which engines take and add differently.
LOGARITHMS = 1e-12


def rounding(facts: Facts) -> float:
    """How far a mean score may be off: half a unit a row, and a little for what was moved between bins."""
    return 2.0 ** -(facts.scale + 1) * (1.0 + 2.0**-9)


def calibrated(bins: pl.DataFrame, metrics: tuple[Metric, ...], facts: Facts) -> pl.DataFrame:
    """The calibration metrics that bins give.

    Args:
        bins: Bins of cells, as `Counted.bins` makes them.
        metrics: What was asked for.
        facts: The grid and the units of the sums.

    Returns:
        Columns `cell`, `n`, `n_pos`, `sum_p`, and `low:`, `high:` and, where it is not their middle, `value:` with the
        name of each metric, NULL where the bins do not give it.
    """
    grid, unit = facts.grid, rounding(facts)
    n = pl.col("n").sum()
    squares = pl.col("pp").sum() - 2.0 * pl.col("p_pos").sum() + pl.col("n_pos").sum()
    bce, brier, positives, expected = pl.col("bce").sum() / n, squares / n, pl.col("n_pos").sum(), pl.col("p").sum()
    least = expected * (1.0 - ADDED) - unit * n
    known = {
        "bce": tuple(bce * (1.0 + k * LOGARITHMS) for k in (-1, 0, 1)),
        "brier": tuple((brier + 5.0 * k * (unit + ADDED)).clip(0.0, 1.0) for k in (-1, 0, 1)),
        "observed_expected": (
            pl.when((positives == 0) | (least > 0)).then(positives / (expected * (1.0 + ADDED) + unit * n)),
            positives / expected,
            pl.when(positives == 0).then(0.0).when(least > 0).then(positives / least),
        ),
    }
    wanted = [
        value.alias(f"{of}:{metric.name}")
        for metric in metrics
        if metric.name in known
        for of, value in zip(("low", "value", "high"), known[metric.name], strict=True)
    ]
    found = bins.group_by("cell", maintain_order=True).agg(
        pl.col("n", "n_pos").sum(), pl.col("p").sum().alias("sum_p"), *wanted
    )
    for metric in metrics:
        if is_binned_ece(metric) and grid % metric.n_bins == 0:
            errors = _widened(_ece(bins, metric, grid), metric, unit + ADDED)
            found = found.join(errors, on="cell", how="left", maintain_order="left")
    return found


def _widened(errors: pl.DataFrame, metric: Metric, unit: float) -> pl.DataFrame:
    """The bounds of an ECE with the rounding of the sums; the value is that between them."""
    low, high = (pl.col(f"{side}:{metric.name}") for side in ("low", "high"))
    wide = 2.0 * unit + unit**2 if _norm(metric) == "squared" else unit
    middle = pl.when(low == high).then(low).otherwise((low + high) / 2)
    return errors.with_columns(
        (low - wide).clip(0.0, 1.0), (high + wide).clip(0.0, 1.0), middle.alias(f"value:{metric.name}")
    )


def _norm(metric: Metric) -> str:
    assert isinstance(metric.aggregate, partial)
    return str(metric.aggregate.args[0]) if metric.aggregate.args else "absolute"


def is_binned_ece(metric: Metric) -> bool:
    """Whether the metric is an ECE over bins of equal width."""
    return isinstance(metric.aggregate, partial) and metric.aggregate.func is ece


def _ece(bins: pl.DataFrame, metric: Metric, grid: int) -> pl.DataFrame:
    """Bounds of one ECE: columns `cell`, `low:name`, `high:name`."""
    last = pl.min_horizontal(pl.col("bin_end") - 1, pl.lit(grid - 1))
    first = pl.min_horizontal(pl.col("bin"), pl.lit(grid - 1))
    placed = bins.with_columns(
        first=first.cast(pl.Int64) * metric.n_bins // grid,
        last=last.cast(pl.Int64) * metric.n_bins // grid,
        across_error=pl.col("n_pos") - 2.0 * pl.col("p_pos") + pl.col("p"),
    ).with_columns(across=pl.col("last") > pl.col("first"))
    names = [f"low:{metric.name}", f"high:{metric.name}"]
    if not placed["across"].any():
        sums = placed.group_by("cell", pl.col("first")).agg(_sums())
        assert metric.aggregate is not None
        value = metric.aggregate()
        return sums.group_by("cell").agg(value.alias(name) for name in names)
    if _norm(metric) != "absolute":
        # Known where no bin lies across an edge.
        whole = placed.filter(~pl.col("across").any().over("cell"))
        inner = _ece(whole, metric, grid) if whole.height else pl.DataFrame(schema={"cell": pl.UInt64})
        return (
            placed.select("cell")
            .unique()
            .join(inner, on="cell", how="left")
            .with_columns(pl.lit(None, pl.Float64).alias(name) for name in names if name not in inner.columns)
        )
    return _absolute_bounds(placed, names)


def _sums() -> list[pl.Expr]:
    return [
        pl.col("n").sum().cast(pl.Float64).alias("weight"),
        pl.col("n_pos").sum().alias("sum_y"),
        pl.col("p").sum().alias("sum_p"),
    ]


def _absolute_bounds(placed: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Bounds of the absolute ECE where merged bins lie across its edges."""
    excess = (pl.col("n_pos") - pl.col("p")).sum().abs()
    # ECE bins that merged bins tie together; the bins of a cell are in rising order.
    reached = pl.col("last").cum_max().shift(1).over("cell")
    tied = placed.with_columns(part=(pl.col("first") > reached).fill_null(value=True).cum_sum())
    low = tied.group_by("cell", "part").agg(excess.alias("error")).group_by("cell").agg(pl.col("error").sum())
    inside = placed.filter(~pl.col("across")).group_by("cell", "first").agg(excess.alias("error"))
    inside = inside.group_by("cell").agg(pl.col("error").sum().alias("inside"))
    total = placed.group_by("cell").agg(pl.col("n").sum(), pl.col("across_error").filter("across").sum())
    both = total.join(low, on="cell").join(inside, on="cell", how="left")
    high = pl.col("across_error") + pl.col("inside").fill_null(0.0)
    return both.select(
        "cell", (pl.col("error") / pl.col("n")).alias(names[0]), (high / pl.col("n")).clip(0.0, 1.0).alias(names[1])
    )
