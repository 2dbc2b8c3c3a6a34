"""Every metric as a plain function that returns a Polars expression, for anybody's `group_by`, `over` or `select`.

The functions take column names or expressions and compute in Float64. Labels are booleans or the numbers 0 and 1. Rows
whose label, score or weight is NULL or NaN are left out, and so are rows of weight 0. Where a metric is undefined, and
where labels are not 0 and 1, weights are negative or infinite, or scores that must be probabilities are not, the result
is NULL, never NaN. `fmfair.evaluate` computes the same numbers for many groups at once, with the reason for each NULL;
`list_metrics` describes them. Calibration intercept and slope are fitted there and have no expression.

Examples:
    >>> import polars as pl
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "y": [0, 1, 1, 1], "p": [0.2, 0.7, 0.6, 0.4]})
    >>> df.group_by("sex", maintain_order=True).agg(auc("y", "p"), tpr("y", "p"), n=pl.len()).rows()
    [('F', 1.0, 1.0, 2), ('M', None, 0.5, 2)]
    >>> df.with_columns(tpr("y", "p").over("sex").alias("tpr of the group"))["tpr of the group"].to_list()
    [1.0, 1.0, 0.5, 0.5]
"""

from __future__ import annotations

from fmfair.metrics.calibration import bce, brier, ece, observed_expected
from fmfair.metrics.class_rates import fnr, fpr, lr_negative, lr_positive, npv, ppv, tnr, tpr
from fmfair.metrics.counts import fn, fp, tn, tp
from fmfair.metrics.metric import Metric
from fmfair.metrics.overall_rates import accuracy, balanced_accuracy, f1, mcc, net_benefit, selection_rate
from fmfair.metrics.ranking import adjusted_auprc, auc, average_precision, partial_auc, tpr_at_fpr
from fmfair.metrics.registry import REGISTRY, list_metrics
from fmfair.metrics.segmentation import dice, iou

__all__ = [
    "REGISTRY",
    "Metric",
    "accuracy",
    "adjusted_auprc",
    "auc",
    "average_precision",
    "balanced_accuracy",
    "bce",
    "brier",
    "dice",
    "ece",
    "f1",
    "fn",
    "fnr",
    "fp",
    "fpr",
    "iou",
    "list_metrics",
    "lr_negative",
    "lr_positive",
    "mcc",
    "net_benefit",
    "npv",
    "observed_expected",
    "partial_auc",
    "ppv",
    "selection_rate",
    "tn",
    "tnr",
    "tp",
    "tpr",
    "tpr_at_fpr",
]
