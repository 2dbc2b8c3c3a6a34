"""Ranking metrics: their registry entries, and expressions for anybody's `group_by`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from fmfair.errors import FmfairError
from fmfair.metrics import blocks
from fmfair.metrics.metric import NEGATIVES, POSITIVES, Metric


def _ranking(**facts: Any) -> Metric:
    shared = {"family": "ranking", "direction": "higher", "high": 1.0, "denominator": "n_pos", "table": "blocks"}
    return Metric(**{**shared, "needs": (POSITIVES, NEGATIVES), **facts})


def partial_auc_metric(
    fpr: tuple[float, float] | None = None, *, tpr: tuple[float, float] | None = None, corrected: bool = True
) -> Metric:
    """The registry entry of a partial AUC over a range of false positive rate or of sensitivity."""
    if (fpr is None) == (tpr is None):
        raise FmfairError("partial_auc takes one range: fpr=(low, high) or tpr=(low, high)")
    over, (low, high) = ("fpr", fpr) if fpr is not None else ("tpr", tpr or (0.0, 1.0))
    if not 0 <= low < high <= 1:
        raise FmfairError(f"partial_auc: {over}=({low}, {high}) is not a range inside [0, 1]")
    correction = "McClish-corrected so that 0.5 is chance" if corrected else "not corrected"
    return _ranking(
        name=f"partial_auc({over}=({low:g}, {high:g}){'' if corrected else ', corrected=False'})",
        title=f"partial AUC for {over.upper()} in [{low:g}, {high:g}]",
        definition=f"area under the ROC curve for {over.upper()} in [{low:g}, {high:g}], {correction}",
        low=0.0 if not corrected else None,
        moves_with_prevalence=False,
        source="McClish 1989",
        default=False,
        aggregate=partial(blocks.partial_auc, low, high, over=over, corrected=corrected),
    )


def tpr_at_fpr_metric(fpr: float) -> Metric:
    """The registry entry of the sensitivity at a given false positive rate."""
    if not 0 <= fpr <= 1:
        raise FmfairError(f"tpr_at_fpr({fpr}): the false positive rate lies in [0, 1]")
    return _ranking(
        name=f"tpr_at_fpr({fpr:g})",
        title=f"sensitivity at FPR {fpr:g}",
        definition=f"largest TPR of the thresholds with FPR <= {fpr:g}; each group has its own threshold",
        low=0.0,
        moves_with_prevalence=False,
        source="a point of the empirical ROC curve, not interpolated",
        default=False,
        aggregate=partial(blocks.tpr_at_fpr, fpr),
    )


RANKING: tuple[Metric, ...] = (
    _ranking(
        name="auc",
        title="AUC (area under the ROC curve)",
        definition="P(a positive scores above a negative) + 1/2 P(tie)",
        low=0.0,
        moves_with_prevalence=False,
        source="Mann & Whitney 1947; Hanley & McNeil 1982",
        aggregate=blocks.auc,
    ),
    _ranking(
        name="average_precision",
        title="average precision (AUPRC)",
        definition="sum over distinct scores of (R_k - R_{k-1}) P_k, a step sum and not a trapezoid",
        low=0.0,
        moves_with_prevalence=True,
        source="scikit-learn's average_precision_score",
        aggregate=blocks.average_precision,
    ),
    _ranking(
        name="adjusted_auprc",
        title="adjusted AUPRC",
        definition="1 - ln(average precision) / ln(prevalence); 0 is chance",
        low=None,
        moves_with_prevalence=True,
        source="chest X-ray literature; compare Mosquera et al. 2024",
        default=False,
        aggregate=blocks.adjusted_auprc,
    ),
    replace(partial_auc_metric(fpr=(0.0, 0.1)), name="partial_auc"),
    replace(tpr_at_fpr_metric(0.1), name="tpr_at_fpr"),
)
