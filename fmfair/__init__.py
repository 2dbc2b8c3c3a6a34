"""Fairness audits of medical-imaging models: how performance differs between groups of patients.

`fmfair.evaluate` takes a table of predictions and gives a report; `fmfair.metrics` holds every metric as a Polars
expression. The README is the guide.
"""

from __future__ import annotations

from fmfair import metrics
from fmfair.array_api import evaluate_arrays
from fmfair.errors import FmfairError
from fmfair.evaluate import evaluate
from fmfair.report import Report
from fmfair.scalars import (
    accuracy_gap,
    auc_gap,
    bce_gap,
    dice_gap,
    dice_skewness,
    dice_std,
    ece_gap,
    equal_opportunity_difference,
    equalized_odds_score,
    equity_scaled_dice,
    worst_group_auc,
    worst_group_dice,
)
from fmfair.segmentation import evaluate_segmentation

__all__ = [
    "FmfairError",
    "Report",
    "accuracy_gap",
    "auc_gap",
    "bce_gap",
    "dice_gap",
    "dice_skewness",
    "dice_std",
    "ece_gap",
    "equal_opportunity_difference",
    "equalized_odds_score",
    "equity_scaled_dice",
    "evaluate",
    "evaluate_arrays",
    "evaluate_segmentation",
    "metrics",
    "worst_group_auc",
    "worst_group_dice",
]
