"""Calibration metrics: their registry entries, and expressions for anybody's `group_by`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import polars as pl

from fmfair.errors import FmfairError, check_choice
from fmfair.metrics import bins as bin_sums
from fmfair.metrics.blocks import over_blocks, quantile_ece
from fmfair.metrics.metric import N_BINS, NEGATIVES, POSITIVES, ROWS, Metric, Parameters
from fmfair.metrics.rows import SCORE, WEIGHT, Column, Y, defined, element, rows_of

MAX_BINS = 1000
_NORMS = {"absolute": "mean of |d|", "squared": "mean of d^2", "rms": "root of the mean of d^2"}


def _calibration(**facts: Any) -> Metric:
    shared = {
        "family": "calibration",
        "direction": "lower",
        "low": 0.0,
        "high": 1.0,
        "moves_with_prevalence": True,
        "denominator": "n",
        "needs": (ROWS,),
        "needs_probability": True,
        "table": "bins",
    }
    return Metric(**{**shared, **facts})


def ece_metric(bins: int = N_BINS, *, norm: str = "absolute", strategy: str = "uniform") -> Metric:
    """The registry entry of an expected calibration error.

    Raises:
        FmfairError: An argument is not one of those that there are.
    """
    if not _is_whole(bins) or not 1 <= bins <= MAX_BINS:
        raise FmfairError(f"ece: bins={bins!r} is not a whole number from 1 to {MAX_BINS}")
    check_choice("ece: norm", norm, _NORMS)
    check_choice("ece: strategy", strategy, ("uniform", "quantile"))
    quantile = strategy == "quantile"
    kind = "bins of equal mass, ties in one bin" if quantile else "equal-width bins on [0, 1]"
    return _calibration(
        name=f"ece(bins={bins}, norm={norm!r}, strategy={strategy!r})",
        title=f"expected calibration error (ECE, {norm}, {strategy} bins)",
        definition=f"{_NORMS[norm]} over {bins} {kind}, weighted by their size; d = mean score - share of positives",
        source="Naeini, Cooper & Hauskrecht 2015",
        default=False,
        aggregate=partial(quantile_ece, bins, norm) if quantile else partial(bin_sums.ece, norm),
        table="score_blocks" if quantile else "bins",
        given=Parameters("ece", bins=int(bins), norm=norm, strategy=strategy),
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _ece(name: str, default: bool = False, **options: Any) -> Metric:
    return replace(ece_metric(**options), name=name, default=default)


BCE = _calibration(
    name="bce",
    title="binary cross-entropy (BCE, log loss)",
    definition="mean of -[y ln p + (1 - y) ln(1 - p)], each log clamped at -100; from logits without a sigmoid",
    high=None,
    source="Good 1952; the clamp of torch.nn.BCELoss",
    aggregate=bin_sums.bce,
)
BRIER = _calibration(
    name="brier", title="Brier score", definition="mean of (p - y)^2", source="Brier 1950", aggregate=bin_sums.brier
)
OBSERVED_EXPECTED = _calibration(
    name="observed_expected",
    title="observed/expected ratio",
    definition="positives over the sum of the scores; 1 is calibrated in the large",
    direction="none",
    high=None,
    # Less than that would make the ratio, or the square of it, infinite.
    needs=(ROWS, ("sum_p - 1e-100", "all scores are 0")),
    source="Riley et al. 2019",
    default=False,
    aggregate=bin_sums.observed_expected,
)

CALIBRATION: tuple[Metric, ...] = (
    BCE,
    BRIER,
    _ece("ece", default=True),
    _ece("ece_squared", norm="squared"),
    _ece("ece_rms", norm="rms"),
    _ece("ece_quantile", strategy="quantile"),
    OBSERVED_EXPECTED,
)


def _fitted(name: str, title: str, definition: str, *fails: str) -> Metric:
    return _calibration(
        name=name,
        title=title,
        definition=definition,
        family="fitted",
        direction="none",
        low=None,
        high=None,
        needs=(POSITIVES, NEGATIVES),
        fails=("scores of exactly 0 or 1 have no logit", *fails),
        source="Cox 1958; Van Calster et al. 2019",
        default=False,
        table="fit",
    )


FITTED: tuple[Metric, ...] = (
    _fitted(
        "calibration_intercept",
        "calibration intercept",
        "a in logit P(y=1) = a + logit(p); 0 is calibrated in the large",
    ),
    _fitted(
        "calibration_slope",
        "calibration slope",
        "b in logit P(y=1) = a + b logit(p); 1 is ideal, below 1 too extreme",
        "all scores are equal",
        "the scores separate the classes, no finite slope",
    ),
)


def bce(y_true: Column, y_score: Column, *, weight: Column | None = None) -> pl.Expr:
    """Binary cross-entropy (log loss): the mean of -[y ln p + (1 - y) ln(1 - p)], each log clamped at -100.

    Range 0 to 100, lower is better, never infinite or NaN. NULL without rows, or where a score lies outside [0, 1].
    Moves with prevalence. Source: Good 1952; the clamp of torch.nn.BCELoss.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Probabilities; rows where it is NULL or NaN are left out.
        weight: Weight of each row; None counts each once.

    Returns:
        A Float64 expression named `bce`, one value per group.

    Raises:
        FmfairError: An argument is neither a column name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 0], "p": [0.5, 0.0]})
        >>> df.select(bce("y", "p").round(6)).item()
        0.346574
    """
    value = bin_sums.bce(bin_sums.bce_rows(Y, SCORE) * WEIGHT, WEIGHT)
    return _over_rows(BCE, value, y_true, y_score, weight)


def brier(y_true: Column, y_score: Column, *, weight: Column | None = None) -> pl.Expr:
    """Brier score: the mean of (p - y)^2.

    Range 0 to 1, lower is better; always predicting the prevalence q gives q (1 - q). NULL without rows, or where
    a score lies outside [0, 1]. Moves with prevalence. Source: Brier 1950.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Probabilities; rows where it is NULL or NaN are left out.
        weight: Weight of each row; None counts each once.

    Returns:
        A Float64 expression named `brier`, one value per group.

    Raises:
        FmfairError: An argument is neither a column name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 0], "p": [0.5, 0.5]})
        >>> df.select(brier("y", "p")).item()
        0.25
    """
    value = bin_sums.brier(bin_sums.brier_rows(Y, SCORE) * WEIGHT, WEIGHT)
    return _over_rows(BRIER, value, y_true, y_score, weight)


def observed_expected(y_true: Column, y_score: Column, *, weight: Column | None = None) -> pl.Expr:
    """Observed/expected ratio: the positives over the sum of the scores.

    At least 0 with no upper bound; neither direction is better, 1 is calibrated in the large, below 1 the scores are
    too high. NULL without rows, where all scores are 0, or where one lies outside [0, 1]. Moves with prevalence.
    Source: Riley et al. 2019.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Probabilities; rows where it is NULL or NaN are left out.
        weight: Weight of each row; None counts each once.

    Returns:
        A Float64 expression named `observed_expected`, one value per group.

    Raises:
        FmfairError: An argument is neither a column name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 0, 0], "p": [0.5, 0.75, 0.75]})
        >>> df.select(observed_expected("y", "p")).item()
        0.5
    """
    value = bin_sums.observed_expected(Y * WEIGHT, SCORE * WEIGHT)
    return _over_rows(OBSERVED_EXPECTED, value, y_true, y_score, weight)


def ece(
    y_true: Column,
    y_score: Column,
    *,
    bins: int = N_BINS,
    norm: Literal["absolute", "squared", "rms"] = "absolute",
    strategy: Literal["uniform", "quantile"] = "uniform",
    weight: Column | None = None,
) -> pl.Expr:
    """Expected calibration error: the mean over bins, weighted by their size, of |mean score - share of positives|.

    Range 0 to 1, lower is better. A small group has a larger value by chance alone. NULL without rows, or where
    a score lies outside [0, 1]. Moves with prevalence. Source: Naeini, Cooper & Hauskrecht 2015.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Probabilities; rows where it is NULL or NaN are left out.
        bins: Number of bins, 1 to 1000.
        norm: `absolute` as above; `squared` has the square of the difference instead; `rms` is the root of that.
        strategy: `uniform` for equal-width bins on [0, 1], closed on the left at the numbers k / bins, 1.0 in the
            last; `quantile` for bins of equal mass in which equal scores stay together.
        weight: Weight of each row; None counts each once.

    Returns:
        A Float64 expression named `ece`, one value per group.

    Raises:
        FmfairError: `bins`, `norm` or `strategy` is not one of those, or a column argument is neither a name nor an
            expression.

    Examples:
        >>> df = pl.DataFrame({"y": [0, 0, 1, 1, 1], "p": [0.25, 0.25, 0.55, 0.75, 0.75]})
        >>> df.select(ece("y", "p", bins=2).round(6)).item()
        0.29
    """
    metric = ece_metric(bins, norm=norm, strategy=strategy)
    rows = rows_of(y_true, y_score, weight)
    if strategy == "quantile":
        value = over_blocks(metric.aggregated, rows, ("pos", "neg", "score"))
    else:
        excess = rows.list.eval(pl.struct(SCORE, WEIGHT, excess=(Y - SCORE) * WEIGHT))
        in_bins = (bin_sums.in_unit_bin(SCORE, k, bins) for k in range(bins))
        value = excess.list.agg(bin_sums.ece_over(in_bins, norm, excess=element("excess"), weight=WEIGHT))
    return pl.when(rows.list.agg(defined(metric))).then(value).alias("ece")


def _over_rows(metric: Metric, value: pl.Expr, y_true: Column, y_score: Column, weight: Column | None) -> pl.Expr:
    """A value that is an aggregate of the caller's rows, each a score bin of its own."""
    return rows_of(y_true, y_score, weight).list.agg(pl.when(defined(metric)).then(value)).alias(metric.name)
