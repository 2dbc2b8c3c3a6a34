"""Calibration intercept and slope: logistic regression of the label on the logit of the score, in every cell at once.

Each Newton step is one grouped sum over the rows. It ends when no cell moves by more than `TOLERANCE` of its size, or after
`MAX_STEPS`; a cell whose labels the scores separate has no finite slope and is NULL.
"""

from __future__ import annotations

import polars as pl

from fmfair.groupings import Grouping

TOLERANCE = 1e-12
MAX_STEPS = 50
MAX_MOVE = 5.0
# A slope or intercept beyond this comes from separated classes, whose likelihood has no maximum.
DIVERGED = 1e6


def fit_cells(frame: pl.DataFrame, grouping: Grouping) -> pl.DataFrame:
    """Intercept (slope fixed at 1) and slope (free intercept) of every cell.

    Args:
        frame: The table of samples with `prob`, or with `logit` where one is at hand.
        grouping: How the samples are divided.

    Returns:
        Columns `cell`, `calibration_intercept`, `calibration_slope`, NULL where undefined, and `fit_note`.
    """
    logit = pl.col("logit") if "logit" in frame.columns else pl.col("prob").log() - (1.0 - pl.col("prob")).log()
    weight = pl.col("weight") if "weight" in frame.columns else pl.lit(1.0)
    rows = (
        frame.lazy()
        .select(grouping.cell().alias("cell"), logit.alias("x"), pl.col("y").cast(pl.Float64), weight.alias("w"))
        .drop_nulls("cell")
        .collect()
    )
    cells = rows.group_by("cell").agg(
        finite=pl.col("x").is_finite().all(),
        both=(pl.col("y").min() == 0) & (pl.col("y").max() == 1),
        flat=pl.col("x").min() == pl.col("x").max(),
        apart=(pl.col("x").filter(pl.col("y") == 1).min() >= pl.col("x").filter(pl.col("y") == 0).max())
        | (pl.col("x").filter(pl.col("y") == 1).max() <= pl.col("x").filter(pl.col("y") == 0).min()),
    )
    why = (
        pl.when(~pl.col("finite"))
        .then(pl.lit("scores of exactly 0 or 1 have no logit"))
        .when(pl.col("flat"))
        .then(pl.lit("all scores are equal"))
        .when(pl.col("apart"))
        .then(pl.lit("the scores separate the classes, no finite slope"))
    )
    cells = cells.with_columns(fit_note=why)
    fixed = _newton(rows, cells.filter(pl.col("finite") & pl.col("both")), free_slope=False)
    free = _newton(rows, cells.filter(pl.col("both") & pl.col("fit_note").is_null()), free_slope=True)
    return (
        cells.select("cell", "fit_note")
        .join(fixed.select("cell", calibration_intercept="a"), on="cell", how="left")
        .join(free.select("cell", calibration_slope="b"), on="cell", how="left")
    )


def _newton(rows: pl.DataFrame, cells: pl.DataFrame, *, free_slope: bool) -> pl.DataFrame:
    """Fitted `a` and `b` of the cells; NULL where the steps did not settle."""
    rows = rows.join(cells.select(pl.col("cell").sort()).with_row_index("i"), on="cell", how="inner").sort("i")
    slope = 0.0 if free_slope else 1.0
    fitted = cells.select(pl.col("cell").sort()).with_columns(a=pl.lit(0.0), b=pl.lit(slope), move=pl.lit(float("inf")))
    for _ in range(MAX_STEPS):
        if not fitted.height or (fitted["move"] <= TOLERANCE).all():
            break
        fitted = _step(rows, fitted, free_slope=free_slope)
    settled = (pl.col("move") <= TOLERANCE * 1e3) & (pl.col("a").abs() < DIVERGED) & (pl.col("b").abs() < DIVERGED)
    return fitted.select("cell", *(pl.when(settled).then(pl.col(c)).alias(c) for c in ("a", "b")))


def _step(rows: pl.DataFrame, fitted: pl.DataFrame, *, free_slope: bool) -> pl.DataFrame:
    """One Newton step in every cell; a step that leaves the finite numbers is not taken."""
    x, y, w = pl.col("x"), pl.col("y"), pl.col("w")
    eta = fitted["a"].gather(rows["i"]) + fitted["b"].gather(rows["i"]) * rows["x"]
    p = 1.0 / (1.0 + (-pl.col("eta")).exp())
    sums = (
        rows.lazy()
        .with_columns(eta.alias("eta"))
        .with_columns(r=w * (y - p), v=w * p * (1.0 - p))
        .group_by("i")
        .agg(g0=pl.col("r").sum(), g1=(pl.col("r") * x).sum(), h00=pl.col("v").sum(), h01=(pl.col("v") * x).sum(),
             h11=(pl.col("v") * x * x).sum())
        .sort("i")
        .collect()
    )
    if free_slope:
        det = pl.col("h00") * pl.col("h11") - pl.col("h01") ** 2
        da = (pl.col("h11") * pl.col("g0") - pl.col("h01") * pl.col("g1")) / det
        db = (pl.col("h00") * pl.col("g1") - pl.col("h01") * pl.col("g0")) / det
    else:
        # Where every score is saturated the curvature is nearly 0 and a full step would leave the range of exp().
        da, db = (pl.col("g0") / pl.col("h00")).clip(-MAX_MOVE, MAX_MOVE), pl.lit(0.0)
    step = sums.select(da=da, db=db)
    usable = step["da"].is_finite() & step["db"].is_finite()
    step = step.with_columns(pl.when(usable).then(pl.col("da", "db")).otherwise(0.0))
    size = step.select(pl.max_horizontal(pl.col("da").abs(), pl.col("db").abs())).to_series()
    size = size / (1.0 + fitted["a"].abs() + fitted["b"].abs())
    # A step that is not usable keeps the cell open, so that it ends as NULL.
    return fitted.with_columns(a=fitted["a"] + step["da"], b=fitted["b"] + step["db"], move=size.set(~usable, float("inf")))
