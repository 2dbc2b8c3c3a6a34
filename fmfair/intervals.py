"""Intervals: the limits between which the true value of a metric is likely to lie, in closed form.

Which form a metric has stands in its registry entry; the arithmetic is in `fmfair.statistics`. What a value rests on is
in the columns of `fmfair.spread`. A value that rests on too little for any form has no interval, and a note says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from fmfair.columns import BOUNDS
from fmfair.metrics.metric import IntervalKind, Metric
from fmfair.spread import FACTS
from fmfair.statistics.auc import AucMethod, auc_clustered, auc_default, auc_wald
from fmfair.statistics.interval import FloatArray, Interval
from fmfair.statistics.means import mean_interval
from fmfair.statistics.mover import mover_sum
from fmfair.statistics.precision import average_precision_binomial, average_precision_interval
from fmfair.statistics.proportions import effective_size, wilson, wilson_clustered
from fmfair.statistics.quantiles import normal_critical

# What an interval is arithmetic on.
RESTS_ON = ("value", "n", "n_pos", "denominator", *FACTS)

# With a bootstrap: the row of the long table that a value was in, as replicates are numbered, and its limits.
LONG_ROW = "long_row"
RESAMPLED = (LONG_ROW, "ci_low", "ci_high")

# Of a group that is compared with all rows: its correlation with them, the variance of the difference, and their units;
# and what is 1 of the values on all rows.
OVERLAP = ("overlap", "overlap_variance", "overlap_units")
WHOLE = "whole"

# The number of a group value, by which it is found among those that share patients.
GROUP_ROW = "group_row"

NO_CLOSED_FORM = "no closed form; a bootstrap gives it"
NO_FORM = "its bias is not known, and a resample adds it once more; no interval"


@dataclass(frozen=True)
class Dependence:
    """What intervals suppose: what keeps rows from counting alike, and the form of those of an AUC.

    Attributes:
        clustered: Rows belong to patients.
        weighted: Rows have weights.
        wald: An AUC has the plain interval of pROC, which is too short with few positives.
        counted: Only counts per score bin are at hand, and values have bounds.
    """

    clustered: bool = False
    weighted: bool = False
    wald: bool = False
    counted: bool = False

    @property
    def rows_count_alike(self) -> bool:
        """Whether every row is one independent sample."""
        return not (self.clustered or self.weighted)

    @property
    def unit(self) -> str:
        """What varies as a whole."""
        return "patient" if self.clustered else "row"


class Values:
    """Values of one metric with what they rest on, as arrays of floats, NaN where something is missing."""

    def __init__(self, rows: pl.DataFrame | Values) -> None:
        if isinstance(rows, Values):
            self.columns: Mapping[str, FloatArray] = rows.columns
            return
        known = [c for c in (*RESTS_ON, *RESAMPLED, *BOUNDS, *OVERLAP, WHOLE, GROUP_ROW) if c in rows.columns]
        floats = rows.select(pl.col(known).cast(pl.Float64).fill_null(np.nan))
        self.columns = {c.name: c.to_numpy() for c in floats.iter_columns()}

    def __getitem__(self, column: str) -> FloatArray:
        """One of the columns of `RESTS_ON` or `RESAMPLED`."""
        return self.columns[column]

    @property
    def rows(self) -> NDArray[np.intp]:
        """The numbers of their replicates."""
        return self[LONG_ROW].astype(np.intp)

    def __len__(self) -> int:
        """How many values there are."""
        return len(self.columns["value"])

    @classmethod
    def of(cls, columns: Mapping[str, FloatArray]) -> Values:
        """Values with these columns."""
        found = cls.__new__(cls)
        found.columns = columns
        return found

    def beside(self, others: Values) -> Values:
        """These values, then those of another."""
        return Values.of({name: np.concatenate([column, others[name]]) for name, column in self.columns.items()})

    def at(self, positions: NDArray[np.intp]) -> Values:
        """Some of the values."""
        return Values.of({name: column[positions] for name, column in self.columns.items()})


Limits = tuple[FloatArray, FloatArray, NDArray[np.str_]]


def limits(rows: pl.DataFrame | Values, metric: Metric, level: ArrayLike, dependence: Dependence) -> Limits:
    """The limits of values of one metric.

    Args:
        rows: The columns of `RESTS_ON`.
        metric: The metric.
        level: Confidence level, one for all or one for each row.
        dependence: What keeps rows from counting alike.

    Returns:
        Low, high and the name of the method; NaN and an empty name where there is no interval.
    """
    if metric.interval is None:
        nothing = np.full(len(rows), np.nan)
        return nothing, nothing, np.full(len(rows), "")
    values = Values(rows)
    low, high, method = _FORMS[metric.interval](values, metric, level, dependence)
    if dependence.counted:
        # What the bins leave open comes on top of what chance does.
        low = np.maximum(low - (values["value"] - values["bound_low"]), -np.inf if metric.low is None else metric.low)
        high = np.minimum(
            high + (values["bound_high"] - values["value"]), np.inf if metric.high is None else metric.high
        )
    return low, high, np.where(np.isnan(low), "", method)


def _auc(v: Values, _: Metric, level: ArrayLike, dependence: Dependence) -> Limits:
    if dependence.wald:
        name = "Obuchowski, Wald" if dependence.clustered else "DeLong, Wald"
        return _with_method(auc_wald(v["value"], v["variance"], level), name)
    if dependence.clustered:
        found = auc_clustered(v["value"], v["variance"], v["pos_units"], v["neg_units"], level)
        logit = "Obuchowski, logit t"
    else:
        classes = v["pos_variance"], v["neg_variance"], v["pos_units"], v["neg_units"]
        found = auc_default(v["value"], *classes, level)
        logit = "DeLong, logit t"
    names = {
        AucMethod.UNDEFINED: "",
        AucMethod.LOGIT_T: logit,
        AucMethod.UNION: f"{logit} and Newcombe 5",
        AucMethod.NEWCOMBE5: "Newcombe 5",
    }
    return found.low, found.high, np.array([names[m] for m in sorted(names)])[found.method]


def _average_precision(v: Values, _: Metric, level: ArrayLike, dependence: Dependence) -> Limits:
    # The variance and the units are those of patients already.
    found = average_precision_interval(v["value"], v["variance"], v["pos_units"], level)
    low, high, method = _with_method(found, "influence, logit t")
    if dependence.clustered:
        return low, high, method
    # One positive shows no variance; that of a proportion needs none.
    alone = average_precision_binomial(v["value"], v["pos_units"], level)
    unknown = np.isnan(low) & (v["units"] > 1)
    return (
        np.where(unknown, alone.low, low),
        np.where(unknown, alone.high, high),
        np.where(unknown, "binomial, logit", method),
    )


def _proportion(v: Values, _: Metric, level: ArrayLike, dependence: Dependence) -> Limits:
    if dependence.rows_count_alike:
        successes = np.round(v["value"] * v["denominator"])
        return _with_method(wilson(successes, v["denominator"], quantile=normal_critical(level)), "Wilson")
    found = wilson_clustered(
        v["value"], effective(v, dependence), v["units"] if dependence.clustered else np.inf, level
    )
    return _with_method(found, "Wilson, effective size")


def _ratio(v: Values, _: Metric, level: ArrayLike, dependence: Dependence) -> Limits:
    """Such as F1, which is no proportion of rows: Wilson's form on the size that its variance gives."""
    most = v["n"] if dependence.clustered else v["units"]
    size = effective_size(v["value"], v["variance"], most, v["same"], weight=v["same"])
    return _with_method(wilson_clustered(v["value"], size, v["units"], level), "Wilson, effective size")


def _balanced(v: Values, metric: Metric, level: ArrayLike, dependence: Dependence) -> Limits:
    """The mean of sensitivity and specificity from the limits of both, with their correlation over patients."""
    halves = []
    for side, rows in (("pos", v["n_pos"]), ("neg", v["n"] - v["n_pos"])):
        facts = {fact: v[f"{side}_{fact}"] for fact in ("variance", "units", "same")}
        rate = Values.of({**facts, "value": v[f"{side}_rate"], "denominator": rows})
        low, high, method = _proportion(rate, metric, level, dependence)
        halves.append((rate["value"] / 2, low / 2, high / 2, method))
    (tpr, l1, u1, method), (tnr, l2, u2, _) = halves
    pos, neg = v["pos_variance"], v["neg_variance"]
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = (4 * v["variance"] - pos - neg) / (2 * np.sqrt(pos * neg))
    correlation = np.where(np.isfinite(correlation), np.clip(correlation, -1, 1), 0.0)
    found = mover_sum(tpr, l1, u1, tnr, l2, u2, correlation)
    limited = Interval(np.minimum(found.low, v["value"]), np.maximum(found.high, v["value"]))
    return *limited, np.strings.add("MOVER, ", method)


def effective(v: Values, dependence: Dependence) -> FloatArray:
    """The number of independent rows that a rate is as sure as.

    Of patients at most as many as there are rows. With weights at most `(sum w)^2 / sum w^2`, which is all rows where
    they are equal: a variance that chance made small would give intervals that are too short.
    """
    if dependence.clustered:
        return effective_size(v["value"], v["variance"], v["denominator"], v["same"], weight=v["same"])
    rows = v["units"]
    variance = np.where(rows > 1, v["variance"] * (rows - 1) / rows, 0.0)
    return effective_size(v["value"], variance, v["same"], v["same"])


def _mean(v: Values, metric: Metric, level: ArrayLike, dependence: Dependence) -> Limits:
    found = mean_interval(v["value"], v["variance"], v["units"], level, low=metric.low, high=metric.high)
    return _with_method(found, "t, patients" if dependence.clustered else "t")


def _with_method(found: Interval, method: str) -> Limits:
    return found.low, found.high, np.full(found.low.shape, method)


_FORMS: Mapping[IntervalKind, Callable[[Values, Metric, ArrayLike, Dependence], Limits]] = {
    "auc": _auc,
    "average_precision": _average_precision,
    "proportion": _proportion,
    "ratio": _ratio,
    "balanced": _balanced,
    "mean": _mean,
    "benefit": _mean,
}
