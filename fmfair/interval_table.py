"""The long table with intervals beside its values, and why a value has none or a doubtful one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfair.intervals import NO_CLOSED_FORM, NO_FORM, Dependence, Values, limits
from fmfair.marks import marks, with_coarse
from fmfair.metrics.metric import Metric
from fmfair.statistics.interval import ZERO_VARIANCE

NOT_FROM_COUNTS = "not known from counts per score bin; the rows give it"
# The squares of weights below 1e-162 are 0.
_UNLIKE = "weights too small or too unlike for an interval"
_NEITHER = "no closed form, nor p value of patients; a bootstrap gives both"


def with_intervals(long: pl.DataFrame, metrics: Sequence[Metric], level: float, dependence: Dependence) -> pl.DataFrame:
    """The long table with the columns of `columns.INTERVALS` beside every value.

    Args:
        long: Values with `FACTS`; `order` is the position of the metric.
        metrics: The metrics behind `order`.
        level: Confidence level.
        dependence: What keeps rows from counting alike.
    """
    order = long["order"].to_numpy()
    low, high = np.full(long.height, np.nan), np.full(long.height, np.nan)
    method, note = np.full(long.height, "", dtype=object), np.full(long.height, "", dtype=object)
    values = Values(long)
    for position, metric in enumerate(metrics):
        at = np.flatnonzero(order == position)
        rows = values.at(at)
        low[at], high[at], method[at] = limits(rows, metric, level, dependence)
        note[at] = _notes(rows, metric, dependence, np.isnan(low[at]))
    texts = {"ci_method": method, "ci_note": note}
    return long.with_columns(
        pl.Series("ci_low", low).fill_nan(None),
        pl.Series("ci_high", high).fill_nan(None),
        *(pl.Series(name, text, dtype=pl.String).replace("", None) for name, text in texts.items()),
        marks(metrics).alias("mark"),
        # Where the rows of a patient are alike, errors are larger by chance than the test supposes.
        (pl.lit(None, pl.Float64) if dependence.clustered else pl.col("p")).alias("p_value"),
    )


def _notes(v: Values, metric: Metric, dependence: Dependence, without: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Why there is no interval, where it is `without` one, or what makes it doubtful; empty where neither."""
    if metric.family == "count":
        return np.full(len(v), "", dtype=object)
    if metric.interval is None:
        of_patients = dependence.clustered and metric.parameters.kind == "ece" and not metric.is_biased
        note = _NEITHER if of_patients else without_form(metric, dependence)
        noted = with_coarse(np.full(len(v), note, dtype=object), metric, v["n"], v["n_pos"])
        return np.where(np.isnan(v["value"]), "", noted).astype(object)
    one = f"one {dependence.unit} only"
    few = f"few {dependence.unit}s"
    mean = metric.interval in ("mean", "benefit")
    with np.errstate(invalid="ignore"):
        still = v["variance"] <= ZERO_VARIANCE * np.maximum(v["value"] ** 2, 0.0 if mean else 1.0)
        cases = {
            "": np.isnan(v["value"]),
            one: v["units"] < 2,
            **_without_limits(v, metric, dependence),
            **_not_counted(v, metric, dependence),
            "no spread: the values are all alike": still & mean,
            "no spread between rows; interval from the counts alone": still
            & (metric.interval in ("auc", "average_precision")),
            _UNLIKE if dependence.weighted else f"too {few} for an interval": without,
            **_too_few(v, metric, few, dependence),
        }
    return np.select(list(cases.values()), list(cases), default="").astype(object)


def _without_limits(v: Values, metric: Metric, dependence: Dependence) -> dict[str, NDArray[np.bool_]]:
    """Why there is no interval although there are rows of both classes, or patients with rows of both."""
    plain = metric.interval == "auc" and dependence.wald
    if not plain and (metric.interval != "balanced" or not dependence.clustered):
        return {}
    one = {f"one {dependence.unit} of a class only": np.fmin(v["pos_units"], v["neg_units"]) < 2}
    return one | ({"no spread between rows": v["variance"] <= ZERO_VARIANCE} if plain else {})


def without_form(metric: Metric, dependence: Dependence) -> str:
    """Why a metric without a form has no interval."""
    if dependence.counted:
        return NOT_FROM_COUNTS
    return NO_FORM if metric.is_biased else NO_CLOSED_FORM


def _not_counted(v: Values, metric: Metric, dependence: Dependence) -> dict[str, NDArray[np.bool_]]:
    """What needs the rows; a proportion takes no more than what it is a share of, where that is known."""
    if not dependence.counted:
        return {}
    unknown = v["denominator"] == 0 if metric.interval == "proportion" else np.isnan(v["units"])
    return {NOT_FROM_COUNTS: unknown | np.isnan(v["bound_low"])}


def _too_few(v: Values, metric: Metric, few: str, dependence: Dependence) -> dict[str, NDArray[np.bool_]]:
    """From where on a form covers as it should in simulations; what lies below is named."""
    negatives = v["n"] - v["n_pos"]
    smaller = np.fmin(v["pos_units"], v["neg_units"])
    if metric.interval == "auc" and dependence.wald:
        return {f"{few} of the smaller class; the interval may be too short": smaller < 100}
    if metric.interval == "auc":
        limit = 15 if dependence.clustered else 5
        return {f"{few} of the smaller class; wide": smaller < limit}
    if metric.interval == "average_precision":
        return {f"{few} with positives; the value itself is biased upward": v["pos_units"] < 30}
    if metric.interval == "benefit" or (metric.interval == "mean" and metric.family == "calibration"):
        skewed = (np.fmin(v["n_pos"], negatives) < 10) | (v["units"] < 100)
        return {f"{few}; the interval may be too short": skewed}
    if metric.interval == "mean":
        # With a few failures of 0 among good values it covers 86 % at 30, 94 % at 100.
        return {f"{few}; the interval may be too short": v["units"] < 100}
    return {}
