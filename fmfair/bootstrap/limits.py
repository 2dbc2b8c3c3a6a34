"""Limits of values, and of differences and ratios, from their replicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.bootstrap.replicates import Replicates
from fmfair.errors import plural
from fmfair.intervals import LONG_ROW, NO_FORM, Dependence, Values
from fmfair.marks import carrier, with_coarse
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

UNMOVED = "the replicates never differ"
_NO_ACCELERATION = "not BCa, whose acceleration is not known here"
_WIDENED = "most replicates lie on one side of the value, to which the interval was widened"


class Found(NamedTuple):
    """Limits, NaN where there are none, the method, empty there, and what makes them doubtful, empty where nothing."""

    low: Floats
    high: Floats
    method: Texts
    note: Texts


def with_bootstrap(
    long: pl.DataFrame, replicates: Replicates, metrics: Sequence[Metric], level: float, dependence: Dependence
) -> pl.DataFrame:
    """The long table with `ci_low`, `ci_high`, `ci_method` and `ci_note` from replicates in place of closed forms.

    The p value of perfect calibration is that of patients where these were drawn.

    Args:
        long: Values with the columns of `columns.INTERVALS`, `debiased`, `p` and `units`, as the replicates have them.
        replicates: The values in all replicates.
        metrics: The metrics behind `order`.
        level: Confidence level.
        dependence: What keeps rows from counting alike.

    Returns:
        With the column `intervals.LONG_ROW` beside, by which the replicates of a value are found.
    """
    long = long.with_row_index(LONG_ROW)
    values, order = Values(long), long["order"].to_numpy()
    nothing, empty = np.full(long.height, np.nan), np.full(long.height, "", dtype=object)
    found = Found(nothing, nothing.copy(), empty, empty.copy())
    p = long["p_value"].fill_null(np.nan).to_numpy().copy()
    for position, metric in enumerate(metrics):
        if metric.family == "count":
            continue
        rows = np.flatnonzero(order == position)
        for whole, part in zip(found, limits_of(values.at(rows), metric, replicates, level, dependence), strict=True):
            whole[rows] = part
        if replicates.chance and metric.parameters.kind == "ece":
            p[rows] = _calibration_p(values.at(rows), replicates)
    return long.with_columns(
        pl.Series("ci_low", found.low).fill_nan(None),
        pl.Series("ci_high", found.high).fill_nan(None),
        pl.Series("p_value", p).fill_nan(None),
        *(
            pl.Series(name, text, dtype=pl.String).replace("", None)
            for name, text in {"ci_method": found.method, "ci_note": found.note}.items()
        ),
    )


def limits_of(
    values: Values, metric: Metric, replicates: Replicates, level: npt.ArrayLike, dependence: Dependence
) -> Found:
    """The limits of values of one metric that rest on enough, at one level or at one for each."""
    rows = values.rows
    levels = np.broadcast_to(np.asarray(level, dtype=np.float64), rows.shape)
    of = _of_calibration if metric.parameters.kind == "ece" else _of_values
    step = max(1, AT_ONCE // max(replicates.count, 1))
    parts = []
    for start in range(0, max(len(rows), 1), step):
        some = np.arange(start, min(start + step, len(rows)))
        mine = values.at(some)
        parts.append(_held(of(mine, replicates, levels[some]), mine, metric, dependence))
    return Found(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _of_values(values: Values, replicates: Replicates, level: Floats) -> Found:
    rows = values.rows
    acceleration = None if replicates.skewness is None else replicates.skewness.acceleration(rows)
    return interval_of(replicates, replicates.values[rows], values["value"], acceleration, level)


def interval_of(
    replicates: Replicates, drawn: Floats, value: Floats, acceleration: Floats | None, level: npt.ArrayLike
) -> Found:
    """The limits of values, from the value in every replicate.

    Args:
        replicates: Which these come from.
        drawn: Values by replicates.
        value: The values themselves.
        acceleration: Of BCa, NaN where it is not known; None for percentiles.
        level: Of confidence, one for all or one for each value.
    """
    count = drawn.shape[1]
    unknown = np.zeros(len(drawn), dtype=bool) if acceleration is None else np.isnan(acceleration)
    if acceleration is None:
        found = percentile(drawn.T, level)
    else:
        found = bca(drawn.T, value, np.where(unknown, 0.0, acceleration), level)
        if unknown.any():
            plain = percentile(drawn[unknown].T, np.broadcast_to(level, unknown.shape)[unknown])
            found.low[unknown], found.high[unknown], found.fell_back[unknown] = plain.low, plain.high, True
    is_bca = np.full(len(drawn), acceleration is not None) & ~found.fell_back
    method = np.where(is_bca, replicates.named("BCa"), replicates.named("percentile")).astype(object)
    note = np.where(found.fell_back, "BCa is undefined here", "").astype(object)
    note = np.where(unknown, _NO_ACCELERATION, note)
    dropped = found.dropped
    some = np.array([f"{plural(int(n), 'replicate')} undefined and left out" for n in dropped], dtype=object)
    many = np.array([f"{n} of {count} replicates are undefined" for n in dropped], dtype=object)
    too_many = dropped > MOST_DROPPED * count
    note = np.where((dropped > 0) & ~too_many, some, note)
    note = np.where(np.isnan(found.low), np.where(too_many, many, UNMOVED), note)
    return Found(found.low, found.high, method, note)


def _of_calibration(values: Values, replicates: Replicates, level: Floats) -> Found:
    """The interval around the value without its bias; there is none of errors of which that is not known."""
    rows = values.rows
    nothing = np.full(len(rows), np.nan)
    if not all(row in replicates.debiased for row in rows.tolist()):
        return Found(nothing, nothing, np.full(len(rows), "", dtype=object), np.full(len(rows), NO_FORM, dtype=object))
    drawn = np.array([replicates.debiased[row] for row in rows.tolist()]).reshape(len(rows), replicates.count)
    undefined = np.isnan(drawn).sum(axis=1)
    spread = nothing.copy()
    usable = undefined <= MOST_DROPPED * replicates.count
    spread[usable] = np.nanstd(drawn[usable], axis=1, ddof=1)
    p = _calibration_p(values, replicates)
    p = np.where(np.isnan(p), values["p"], p)
    found = debiased_ece_interval(values["debiased"], spread, p, level)
    method = np.full(len(rows), replicates.named("debiased"), dtype=object)
    return Found(found.low, found.high, method, np.where(np.isnan(found.low), UNMOVED, "").astype(object))


def _calibration_p(values: Values, replicates: Replicates) -> Floats:
    """The p values of perfect calibration from patients; NaN where rows were drawn."""
    of_rows = zip(values.rows.tolist(), values["value"].tolist(), strict=True)
    return np.array([replicates.calibration_p(row, value) for row, value in of_rows], dtype=np.float64)


def _held(found: Found, values: Values, metric: Metric, dependence: Dependence) -> Found:
    """The limits around the value itself, where it is defined and rests on enough."""
    low, high, method, note = found
    value = values["value"]
    counts = pl.DataFrame({name: values[name] for name in ("n", "n_pos", "denominator")})
    carried = counts.fill_nan(None).select(carrier(metric)).to_series().fill_null(0).to_numpy()
    units = values["units"]
    least = np.fmin(carried, units) if dependence.clustered else carried
    known = ~np.isnan(low) & ~np.isnan(value) & (least >= FEWEST)
    outside = known & ((low > value) | (high < value))
    note = np.where((note == "") & outside, _WIDENED, note)
    note = np.where((note == "") & (least < FEW), f"few {dependence.unit}s; the interval may be too short", note)
    note = np.where(least < FEWEST, f"fewer than {FEWEST} {dependence.unit}s carry the value", note)
    note = with_coarse(note.astype(object), metric, values["n"], values["n_pos"])
    return Found(
        np.where(known, np.fmin(low, value), np.nan),
        np.where(known, np.fmax(high, value), np.nan),
        np.where(known, method, ""),
        np.where(np.isnan(value), "", note),
    )
