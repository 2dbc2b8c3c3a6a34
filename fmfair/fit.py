"""Calibration intercept and slope: logistic regression of the label on the logit of the score, in every cell at once.

Each Newton step is one grouped sum over the rows. The steps of a cell end when one is at most `TOLERANCE` of its size,
which leaves an error of the order of its square. The intercept has a bracket, so that a Newton step that leaves it or
hardly moves is replaced by halving. A cell whose labels the scores separate has no finite slope and is NULL, and so is
one that does not settle in `MAX_STEPS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.groupings import Grouping

TOLERANCE = 1e-6
MAX_STEPS = 100

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Rows:
    """Rows of the cells that are fitted: the cell's position, the logit, the label and the weight."""

    cell: npt.NDArray[np.intp]
    x: Floats
    y: Floats
    w: Floats
    n_cells: int

    def sums(self, values: Floats) -> Floats:
        """The sum of a value over the rows of every cell."""
        return np.bincount(self.cell, weights=values, minlength=self.n_cells).astype(np.float64, copy=False)

    def of(self, cells: npt.NDArray[np.bool_]) -> _Rows:
        """The rows of some of the cells, which keep their positions."""
        if cells.all():
            return self
        mine = cells[self.cell]
        return _Rows(self.cell[mine], self.x[mine], self.y[mine], self.w[mine], self.n_cells)


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
    table = (
        frame.lazy()
        .select(grouping.cell().alias("cell"), logit.alias("x"), pl.col("y").cast(pl.Float64), weight.alias("w"))
        .drop_nulls("cell")
        .collect()
    )
    numbers, position = np.unique(table["cell"].to_numpy(), return_inverse=True)
    x, y, w = (table[c].to_numpy() for c in ("x", "y", "w"))
    rows = _Rows(position, x, y, w, len(numbers))
    cells = _conditions(table)
    both, finite = (cells[c].to_numpy() for c in ("both", "finite"))
    fixed = _intercepts(rows.of(both & finite))
    slope = _slopes(rows.of(both & cells["fit_note"].is_null().to_numpy()))
    return cells.select("cell", "fit_note").with_columns(
        pl.Series("calibration_intercept", fixed, nan_to_null=True),
        pl.Series("calibration_slope", slope, nan_to_null=True),
    )


def _conditions(table: pl.DataFrame) -> pl.DataFrame:
    """Per cell, in order: whether both classes occur, all logits are finite, and why no slope can be fitted."""
    x, positive = pl.col("x"), pl.col("y") == 1
    above, below = pl.when(positive).then(x), pl.when(~positive).then(x)
    facts = (
        table.lazy()
        .group_by("cell")
        .agg(
            finite=x.is_finite().all(),
            both=positive.any() & ~positive.all(),
            flat=x.min() == x.max(),
            apart=(above.min() >= below.max()) | (above.max() <= below.min()),
        )
    )
    why = (
        pl.when(~pl.col("finite"))
        .then(pl.lit("scores of exactly 0 or 1 have no logit"))
        .when(pl.col("flat"))
        .then(pl.lit("all scores are equal"))
        .when(pl.col("apart"))
        .then(pl.lit("the scores separate the classes, no finite slope"))
    )
    return facts.with_columns(fit_note=why).sort("cell").collect()


def _intercepts(rows: _Rows) -> Floats:
    """Where the sum of y - sigmoid(a + x) crosses 0 in every cell; NaN in cells without rows."""
    some = rows.sums(np.ones_like(rows.w)) > 0
    lowest, highest = np.full(rows.n_cells, np.inf), np.full(rows.n_cells, -np.inf)
    np.minimum.at(lowest, rows.cell, rows.x)
    np.maximum.at(highest, rows.cell, rows.x)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # The mean of the sigmoids is the share of positives, so that some a + x lies on either side of its logit.
        centre = np.log(rows.sums(rows.w * rows.y) / rows.sums(rows.w * (1.0 - rows.y)))
        low, high = np.where(some, centre - highest, np.nan), np.where(some, centre - lowest, np.nan)
        a, last = np.clip(0.0, low, high), high - low
        moving = some
        for _ in range(MAX_STEPS):
            if not moving.any():
                break
            excess, curvature = _excess(rows, a)
            low, high = np.where(moving & (excess >= 0), a, low), np.where(moving & (excess <= 0), a, high)
            newton = excess / curvature
            good = (low <= a + newton) & (a + newton <= high) & (abs(newton) <= last / 2)
            last = np.where(good, newton, (low + high) / 2 - a)
            a = np.where(moving, a + last, a)
            last = abs(last)
            moving = moving & ~(last <= np.where(good, TOLERANCE, np.finfo(float).eps) * (1.0 + abs(a)))
            rows = rows.of(moving)
    return np.where(moving | ~np.isfinite(a), np.nan, a)


def _slopes(rows: _Rows) -> Floats:
    """The slope of the largest likelihood in every cell; NaN where there are no rows or the steps did not settle."""
    a, b = np.zeros(rows.n_cells), np.zeros(rows.n_cells)
    moving = rows.sums(np.ones_like(rows.w)) > 0
    fitted = np.zeros(rows.n_cells, dtype=bool)
    for _ in range(MAX_STEPS):
        if not moving.any():
            break
        da, db = _step(rows, a, b)
        usable = moving & np.isfinite(da) & np.isfinite(db)
        a, b = np.where(usable, a + da, a), np.where(usable, b + db, b)
        done = usable & (np.maximum(abs(da), abs(db)) <= TOLERANCE * (1.0 + abs(a) + abs(b)))
        fitted |= done
        moving = usable & ~done
        rows = rows.of(moving) if done.any() or not usable.all() else rows
    return np.where(fitted, b, np.nan)


def _step(rows: _Rows, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """One Newton step in every cell; not finite where it cannot be taken."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        residual, curvature = _residuals(rows, a, b)
        g0, h00 = rows.sums(residual), rows.sums(curvature)
        g1, h01 = rows.sums(residual * rows.x), rows.sums(curvature * rows.x)
        h11 = rows.sums(curvature * rows.x**2)
        determinant = h00 * h11 - h01**2
        return (h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant


def _residuals(rows: _Rows, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """`w (y - p)` and `w p (1 - p)` of every row."""
    called, tail, curvature = _sigmoid(a[rows.cell] + b[rows.cell] * rows.x)
    return rows.w * (rows.y - called + tail), rows.w * curvature


def _excess(rows: _Rows, a: Floats) -> tuple[Floats, Floats]:
    """Sums of `w (y - p)` and `w p (1 - p)` at slope 1; whole parts and tails apart, so that no part hides another."""
    called, tail, curvature = _sigmoid(a[rows.cell] + rows.x)
    return rows.sums(rows.w * (rows.y - called)) + rows.sums(rows.w * tail), rows.sums(rows.w * curvature)


def _sigmoid(eta: Floats) -> tuple[Floats, Floats, Floats]:
    """Parts of p = `called - tail`: 0 or 1 and the rest, which keeps its digits where p is saturated; and p (1 - p)."""
    from scipy.special import expit  # here, because it costs 50 ms to import and few evaluations need it

    tail = expit(-abs(eta))
    called = (eta >= 0).astype(np.float64)
    return called, np.copysign(tail, called - 0.5), tail * (1.0 - tail)
