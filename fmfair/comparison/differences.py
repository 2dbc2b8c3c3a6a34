"""Differences: how much better a model is than a baseline on the same rows, in every group and on all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from fmfair.bootstrap.replicates import Replicates
from fmfair.comparison.layout import PairSpread
from fmfair.comparison.pairs import Pairs
from fmfair.intervals import NO_CLOSED_FORM, Dependence, Values, limits
from fmfair.metrics.metric import IntervalKind, Metric
from fmfair.statistics.differences import delong_paired
from fmfair.statistics.interval import BoolArray, FloatArray
from fmfair.statistics.mover import mover_difference, p_by_inversion
from fmfair.statistics.multiplicity import holm

BOOTSTRAP = "paired bootstrap, percentile"
UNUSABLE = "more than 5 % of the replicates are undefined, or they never move"
DEBIASED = "the interval is that of the errors without their bias"
TUNED = "thresholds chosen on these rows, taken as fixed"
# A smaller class below this makes DeLong's test and interval rough.
FEW = 10
ROUGH = f"fewer than {FEW} rows of the smaller class; the test is rough"


class Tested(NamedTuple):
    """Limits and p values of differences, and how they were found."""

    low: FloatArray
    high: FloatArray
    p: FloatArray
    method: str


def differences(
    pairs: Pairs, spread: PairSpread, level: float, dependence: Dependence, replicates: Replicates | None
) -> pl.DataFrame:
    """The differences of one metric at one threshold: one row per pair and group with rows.

    Args:
        pairs: The values.
        spread: How much their differences vary.
        level: Of confidence.
        dependence: What keeps rows from counting alike.
        replicates: The values in all replicates; None without a bootstrap.

    Returns:
        Columns `pair`, `grouped` (the position of the group) and those of `DIFFERENCES` but for the names.
    """
    pair, group = pairs.listed
    first, second = pairs.sides
    a, b = Values(first)["value"], Values(second)["value"]
    tested = _tested(pairs, PairSpread(*(values[pair, group] for values in spread)), level, dependence, replicates)
    metric = pairs.metric
    widest = np.inf if metric.low is None or metric.high is None else metric.high - metric.low
    # Limits without width are those of models that agree on every row: no certainty.
    known = ~np.isnan(a - b) & (tested.low < tested.high)
    low, high = (np.where(known, np.clip(limit, -widest, widest), np.nan) for limit in (tested.low, tested.high))
    p = np.where(np.isnan(a - b), np.nan, tested.p)
    return pl.DataFrame(
        {
            "pair": pair,
            "grouped": group,
            **pairs.threshold(pair),
            "value_baseline": a,
            "value_model": b,
            "difference": b - a,
            "ci_low": low,
            "ci_high": high,
            "ci_method": pl.Series(np.where(known, tested.method, "")).replace("", None),
            "p_value": p,
            "p_holm": holm(p, pair),
            "n": second["n"],
            "n_pos": second["n_pos"],
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None), note=_notes(pairs, known, tested.method, replicates))


def _tested(
    pairs: Pairs, spread: PairSpread, level: float, dependence: Dependence, replicates: Replicates | None
) -> Tested:
    form = None if pairs.metric.interval is None else _FORMS.get(pairs.metric.interval)
    if form is not None:
        return form(pairs, spread, level, dependence)
    first, second = pairs.sides
    if replicates is None or pairs.metric.family == "count":
        nothing = np.full(first.height, np.nan)
        return Tested(nothing, nothing, nothing, "")
    found, p = replicates.difference_limits(second["row"].to_numpy(), first["row"].to_numpy(), level)
    return Tested(found.low, found.high, np.where(np.isnan(found.low), np.nan, p), BOOTSTRAP)


def _auc(pairs: Pairs, spread: PairSpread, level: float, dependence: Dependence) -> Tested:
    """Paired DeLong; with patients by Obuchowski's variance and t with the patients of the rarer class less 1."""
    if not dependence.clustered:
        return _by_variance(pairs, spread, np.inf, level, "paired DeLong, z")
    carried = Values(pairs.sides[0])
    df = np.fmin(carried["pos_units"], carried["neg_units"]) - 1
    return _by_variance(pairs, spread, df, level, "paired Obuchowski, t")


def _average_precision(pairs: Pairs, spread: PairSpread, level: float, _: Dependence) -> Tested:
    return _by_variance(pairs, spread, Values(pairs.sides[0])["pos_units"] - 1, level, "paired influence, t")


def _mean(pairs: Pairs, spread: PairSpread, level: float, _: Dependence) -> Tested:
    return _by_variance(pairs, spread, spread.units - 1, level, "paired t")


def _by_variance(pairs: Pairs, spread: PairSpread, df: FloatArray | float, level: float, method: str) -> Tested:
    first, second = (Values(side)["value"] for side in pairs.sides)
    found = delong_paired(second, first, spread.variance, df, level)
    return Tested(found.low, found.high, found.p, method)


def _rate(pairs: Pairs, spread: PairSpread, level: float, dependence: Dependence) -> Tested:
    """From the limits of the two rates and their correlation: of two 0/1 columns that is Newcombe's, with phi."""
    first, second = pairs.sides
    metric = pairs.metric
    a, b = Values(first)["value"], Values(second)["value"]

    stacked = pl.concat([second, first])

    def both(at: FloatArray | float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        level_of_each = np.tile(np.broadcast_to(at, a.shape), 2)
        low, high, _ = limits(stacked, metric, level_of_each, dependence)
        return low[: len(a)], high[: len(a)], low[len(a) :], high[len(a) :]

    l1, u1, l2, u2 = both(level)
    low, high = mover_difference(b, l1, u1, a, l2, u2, spread.correlation)
    p = p_by_inversion(both, b, a, spread.correlation)
    name = "Newcombe, paired" if metric.interval == "proportion" and dependence.rows_count_alike else "MOVER, paired"
    return Tested(low, high, np.where(np.isnan(low), np.nan, p), name)


_FORMS: Mapping[IntervalKind, Callable[[Pairs, PairSpread, float, Dependence], Tested]] = {
    "auc": _auc,
    "average_precision": _average_precision,
    "proportion": _rate,
    "ratio": _rate,
    "balanced": _rate,
    "mean": _mean,
}


def _notes(pairs: Pairs, known: BoolArray, method: str, replicates: Replicates | None) -> pl.Series:
    """Why there is no difference or no interval, or what makes it doubtful."""
    first, second = pairs.sides
    values = pl.DataFrame(
        {
            "a": first["value"],
            "b": second["value"],
            "note_a": first["note"],
            "note_b": second["note"],
            "known": known,
            "smaller": _smaller(first),
            "tuned": first["threshold_rule"].is_in(["fixed", "y_pred"]).not_().fill_null(value=False),
        }
    )
    undefined = pl.coalesce("note_b", "note_a", pl.lit("undefined"))
    return values.select(
        pl.when(pl.col("a").is_null() | pl.col("b").is_null())
        .then(undefined)
        .when(~pl.col("known"))
        .then(pl.lit(why_unknown(pairs.metric, method)))
        .when(pl.lit(pairs.metric.interval == "auc") & (pl.col("smaller") < FEW))
        .then(pl.lit(ROUGH))
        .when(_debiased(first, method, replicates))
        .then(pl.lit(DEBIASED))
        .when("tuned")
        .then(pl.lit(TUNED))
        .alias("note")
    ).to_series()


def _debiased(rows: pl.DataFrame, method: str, replicates: Replicates | None) -> bool:
    """Whether limits are those of an error of calibration without its bias."""
    return replicates is not None and method == BOOTSTRAP and any(r in replicates.debiased for r in rows["row"][:1])


def _smaller(rows: pl.DataFrame) -> pl.Series:
    """The rows of the smaller class."""
    return rows.select(pl.min_horizontal("n_pos", pl.col("n") - pl.col("n_pos"))).to_series()


def why_unknown(metric: Metric, method: str) -> str | None:
    """Why a difference has no interval."""
    if metric.family == "count":
        return None
    if method == BOOTSTRAP:
        return UNUSABLE
    return (
        NO_CLOSED_FORM if metric.interval not in _FORMS else "too few rows or patients, or none whose difference varies"
    )
