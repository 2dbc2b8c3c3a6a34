"""Limits of values from their replicates, in the columns that intervals in closed form have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.bootstrap.replicates import Replicates
from fmfair.errors import plural
from fmfair.intervals import Dependence
from fmfair.marks import carrier
from fmfair.metrics.metric import Metric
from fmfair.statistics.bootstrap_limits import MOST_DROPPED, bca, percentile
from fmfair.statistics.calibration import debiased_ece_interval

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.intp]
Texts: TypeAlias = npt.NDArray[np.object_]

# What carries a value: below the first there is no interval, below the second it is marked as too short.
FEWEST, FEW = 5, 15

# Replicates that are put in order at once.
AT_ONCE = 2**22

_BIASED = "resampling adds its bias once more; no interval"
_UNMOVED = "the replicates never differ"
_NO_ACCELERATION = "not BCa, whose acceleration is not known here"
_WIDENED = "most replicates lie on one side of the value, to which the interval was widened"


def with_bootstrap(
    long: pl.DataFrame, replicates: Replicates, metrics: Sequence[Metric], level: float, dependence: Dependence
) -> pl.DataFrame:
    """The long table with `ci_low`, `ci_high`, `ci_method` and `ci_note` from replicates in place of closed forms.

    Args:
        long: Values with the columns of `columns.INTERVALS`, `debiased`, `p` and `units`, as the replicates have them.
        replicates: The values in all replicates.
        metrics: The metrics behind `order`.
        level: Confidence level.
        dependence: What keeps rows from counting alike.
    """
    size = long.height
    low, high = np.full(size, np.nan), np.full(size, np.nan)
    method, note = np.full(size, "", dtype=object), np.full(size, "", dtype=object)
    order = long["order"].to_numpy()
    for position, metric in enumerate(metrics):
        if metric.family == "count":
            continue
        rows = np.flatnonzero(order == position)
        step = max(1, AT_ONCE // max(replicates.count, 1))
        carried = long[rows].select(carrier(metric)).to_series().fill_null(0).to_numpy()
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            found = _limits(long[some], some, replicates, metric, level)
            low[some], high[some], method[some], note[some] = _held(
                found, long[some], carried[start : start + step], dependence
            )
    return long.with_columns(
        pl.Series("ci_low", low).fill_nan(None),
        pl.Series("ci_high", high).fill_nan(None),
        *(
            pl.Series(name, text, dtype=pl.String).replace("", None)
            for name, text in {"ci_method": method, "ci_note": note}.items()
        ),
    )


Found: TypeAlias = tuple[Floats, Floats, Texts, Texts]


def _limits(long: pl.DataFrame, rows: Positions, replicates: Replicates, metric: Metric, level: float) -> Found:
    """Low, high, method and note of rows of one metric, whatever carries them."""
    if metric.parameters.kind == "ece":
        return _of_calibration(long, rows, replicates, level)
    values = replicates.values[rows].T
    count = replicates.count
    named = f"{replicates.unit} bootstrap, {{}}, {count} replicates"
    unknown = np.zeros(len(rows), dtype=bool)
    if replicates.acceleration is None:
        found = percentile(values, level)
    else:
        found = bca(values, long["value"].fill_null(np.nan).to_numpy(), replicates.acceleration[rows], level)
        unknown = np.isnan(replicates.acceleration[rows])
        if unknown.any():
            plain = percentile(values[:, unknown], level)
            for name in ("low", "high"):
                getattr(found, name)[unknown] = getattr(plain, name)
            found.fell_back[unknown] = True
    is_bca = np.full(len(rows), replicates.acceleration is not None) & ~found.fell_back
    method = np.where(is_bca, named.format("BCa"), named.format("percentile")).astype(object)
    note = np.where(found.fell_back, "BCa is undefined here", "").astype(object)
    note = np.where(unknown, _NO_ACCELERATION, note)
    dropped = found.dropped
    some = np.array([f"{plural(int(n), 'replicate')} undefined and left out" for n in dropped], dtype=object)
    many = np.array([f"{n} of {count} replicates are undefined" for n in dropped], dtype=object)
    too_many = dropped > MOST_DROPPED * count
    note = np.where((dropped > 0) & ~too_many, some, note)
    note = np.where(np.isnan(found.low), np.where(too_many, many, _UNMOVED), note)
    return found.low, found.high, method, note


def _of_calibration(long: pl.DataFrame, rows: Positions, replicates: Replicates, level: float) -> Found:
    """The interval around the value without its bias; there is none of errors of which that is not known."""
    nothing = np.full(len(rows), np.nan)
    if not all(row in replicates.debiased for row in rows.tolist()):
        return nothing, nothing, np.full(len(rows), "", dtype=object), np.full(len(rows), _BIASED, dtype=object)
    drawn = np.array([replicates.debiased[row] for row in rows.tolist()])
    undefined = np.isnan(drawn).sum(axis=1)
    spread = np.full(len(rows), np.nan)
    usable = undefined <= MOST_DROPPED * replicates.count
    spread[usable] = np.nanstd(drawn[usable], axis=1, ddof=1)
    debiased = long["debiased"].fill_null(np.nan).to_numpy()
    p = np.array([replicates.calibration_p(row, value) for row, value in zip(rows, long["value"], strict=True)])
    p = np.where(np.isnan(p), long["p"].fill_null(np.nan).to_numpy(), p)
    found = debiased_ece_interval(debiased, spread, p, level)
    method = np.full(len(rows), f"{replicates.unit} bootstrap, debiased, {replicates.count} replicates", dtype=object)
    return found.low, found.high, method, np.where(np.isnan(found.low), _UNMOVED, "").astype(object)


def _held(found: Found, long: pl.DataFrame, carried: npt.NDArray[np.int64], dependence: Dependence) -> Found:
    """The limits around the value itself, where it is defined and rests on enough."""
    low, high, method, note = found
    value = long["value"].fill_null(np.nan).to_numpy()
    units = long["units"].fill_null(np.nan).to_numpy()
    least = np.fmin(carried, units) if dependence.clustered else carried.astype(np.float64)
    known = ~np.isnan(low) & ~np.isnan(value) & (least >= FEWEST)
    outside = known & ((low > value) | (high < value))
    note = np.where((note == "") & outside, _WIDENED, note)
    note = np.where((note == "") & (least < FEW), f"few {dependence.unit}s; the interval may be too short", note)
    note = np.where(least < FEWEST, f"fewer than {FEWEST} {dependence.unit}s carry the value", note)
    return (
        np.where(known, np.fmin(low, value), np.nan),
        np.where(known, np.fmax(high, value), np.nan),
        np.where(known, method, ""),
        np.where(np.isnan(value), "", note),
    )
