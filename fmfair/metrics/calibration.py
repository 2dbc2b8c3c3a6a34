"""Calibration metrics: their registry entries, and expressions for anybody's `group_by`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from fmfair.errors import FmfairError, listing
from fmfair.metrics import bins as bin_sums
from fmfair.metrics.blocks import quantile_ece
from fmfair.metrics.metric import NEGATIVES, POSITIVES, ROWS, Metric

N_BINS = 10
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
    """The registry entry of an expected calibration error."""
    if not isinstance(bins, int) or isinstance(bins, bool) or bins < 1:
        raise FmfairError(f"ece: bins={bins!r} is not a positive whole number")
    if norm not in _NORMS or strategy not in ("uniform", "quantile"):
        raise FmfairError(f"ece: norm is one of {listing(_NORMS)} and strategy 'uniform' or 'quantile'")
    if strategy == "quantile" and norm != "absolute":
        raise FmfairError("ece: quantile bins go with norm='absolute'")
    quantile = strategy == "quantile"
    kind = "bins of equal mass, ties in one bin" if quantile else "equal-width bins on [0, 1]"
    return _calibration(
        name=f"ece(bins={bins}, norm={norm!r}, strategy={strategy!r})",
        title=f"expected calibration error (ECE, {norm}, {strategy} bins)",
        definition=f"{_NORMS[norm]} over {bins} {kind}, weighted by their size; d = mean score - share of positives",
        high=1.0,
        source="Naeini, Cooper & Hauskrecht 2015",
        default=False,
        aggregate=partial(quantile_ece, bins) if quantile else partial(bin_sums.ece, norm),
        table="score_blocks" if quantile else "bins",
        n_bins=bins,
    )


def _ece(name: str, default: bool = False, **options: Any) -> Metric:
    return replace(ece_metric(**options), name=name, default=default)


CALIBRATION: tuple[Metric, ...] = (
    _calibration(
        name="bce",
        title="binary cross-entropy (BCE, log loss)",
        definition="mean of -[y ln p + (1 - y) ln(1 - p)], each log clamped at -100; from logits without a sigmoid",
        high=None,
        source="Good 1952; the clamp of torch.nn.BCELoss",
        aggregate=bin_sums.bce,
    ),
    _calibration(
        name="brier",
        title="Brier score",
        definition="mean of (p - y)^2",
        source="Brier 1950",
        aggregate=bin_sums.brier,
    ),
    _ece("ece", default=True),
    _ece("ece_squared", norm="squared"),
    _ece("ece_rms", norm="rms"),
    _ece("ece_quantile", strategy="quantile"),
    _calibration(
        name="observed_expected",
        title="observed/expected ratio",
        definition="positives over the sum of the scores; 1 is calibrated in the large",
        direction="none",
        high=None,
        needs=(ROWS, ("sum_p", "all scores are 0")),
        source="Riley et al. 2019",
        default=False,
        aggregate=bin_sums.observed_expected,
    ),
)


def _fitted(name: str, title: str, definition: str) -> Metric:
    return _calibration(
        name=name,
        title=title,
        definition=definition,
        family="fitted",
        direction="none",
        low=None,
        high=None,
        needs=(POSITIVES, NEGATIVES),
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
    _fitted("calibration_slope", "calibration slope", "b in logit P(y=1) = a + b logit(p); 1 is ideal, below 1 too extreme"),
)
