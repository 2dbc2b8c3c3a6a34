"""Ranking metrics: their registry entries, and expressions for anybody's `group_by`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from fmfair.errors import FmfairError
from fmfair.metrics import blocks
from fmfair.metrics.metric import NEGATIVES, POSITIVES, Metric, Parameters
from fmfair.metrics.rows import Column, defined, is_number, rows_of

Range = tuple[float, float]


def _ranking(**facts: Any) -> Metric:
    shared = {"family": "ranking", "direction": "higher", "high": 1.0, "denominator": "n_pos", "table": "blocks"}
    return Metric(**{**shared, "needs": (POSITIVES, NEGATIVES), **facts})


def partial_auc_metric(fpr: Range | None = None, *, tpr: Range | None = None, corrected: bool = True) -> Metric:
    """The registry entry of a partial AUC over a range of false positive rate or of sensitivity.

    Raises:
        FmfairError: Not exactly one range is given, or it is not a range inside [0, 1].
    """
    if (fpr is None) == (tpr is None):
        raise FmfairError("partial_auc takes one range: fpr=(low, high) or tpr=(low, high)")
    over, given = ("fpr", fpr) if tpr is None else ("tpr", tpr)
    low, high = _range(over, given)
    shown = f"{over}=({low:.15g}, {high:.15g})"
    within = f"{over.upper()} in [{low:.15g}, {high:.15g}]"
    middle = (low + high) / 2 if over == "fpr" else 1.0 - (low + high) / 2
    correction = "McClish-corrected so that 0.5 is chance" if corrected else "not corrected"
    return _ranking(
        name=f"partial_auc({shown}{'' if corrected else ', corrected=False'})",
        title=f"partial AUC for {within}",
        definition=f"area under the ROC curve for {within}, {correction}",
        low=0.5 * (1.0 - middle / (1.0 - middle)) if corrected else 0.0,
        high=1.0 if corrected else high - low,
        moves_with_prevalence=False,
        source="McClish 1989",
        default=False,
        aggregate=partial(blocks.partial_auc, low, high, over=over, corrected=corrected),
        given=Parameters("partial_auc", low, high, over, corrected),
    )


def tpr_at_fpr_metric(fpr: float) -> Metric:
    """The registry entry of the sensitivity at a given false positive rate.

    Raises:
        FmfairError: The rate is not a number in [0, 1].
    """
    if not _is_share(fpr):
        raise FmfairError(f"tpr_at_fpr: fpr={fpr!r} is not a number in [0, 1]")
    return _ranking(
        name=f"tpr_at_fpr({fpr:.15g})",
        title=f"sensitivity at FPR {fpr:.15g}",
        definition=f"largest TPR of the thresholds with FPR <= {fpr:.15g}; each group has its own threshold",
        low=0.0,
        moves_with_prevalence=False,
        source="a point of the empirical ROC curve, not interpolated",
        default=False,
        aggregate=partial(blocks.tpr_at_fpr, float(fpr)),
        given=Parameters("tpr_at_fpr", high=float(fpr)),
    )


def _is_share(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def _range(over: str, given: Any) -> Range:
    if isinstance(given, tuple | list) and len(given) == 2 and all(map(_is_share, given)) and given[0] < given[1]:
        return float(given[0]), float(given[1])
    raise FmfairError(f"partial_auc: {over}={given!r} is not a range (low, high) with 0 <= low < high <= 1")


AUC = _ranking(
    name="auc",
    title="AUC (AUROC, area under the ROC curve)",
    definition="P(a positive scores above a negative) + 1/2 P(tie)",
    low=0.0,
    moves_with_prevalence=False,
    source="Mann & Whitney 1947; Hanley & McNeil 1982",
    aggregate=blocks.auc,
)
AVERAGE_PRECISION = _ranking(
    name="average_precision",
    title="average precision (AP, AUPRC)",
    definition="sum over distinct scores of (R_k - R_{k-1}) P_k, a step sum and not a trapezoid",
    low=0.0,
    moves_with_prevalence=True,
    source="scikit-learn's average_precision_score",
    aggregate=blocks.average_precision,
)
ADJUSTED_AUPRC = _ranking(
    name="adjusted_auprc",
    title="adjusted AUPRC",
    definition="1 - ln(average precision) / ln(prevalence); 0 is chance",
    low=None,
    moves_with_prevalence=True,
    source="chest X-ray literature; compare Mosquera et al. 2024",
    default=False,
    aggregate=blocks.adjusted_auprc,
)

RANKING: tuple[Metric, ...] = (
    AUC,
    AVERAGE_PRECISION,
    ADJUSTED_AUPRC,
    replace(partial_auc_metric(fpr=(0.0, 0.1)), name="partial_auc"),
    replace(tpr_at_fpr_metric(0.1), name="tpr_at_fpr"),
)


def auc(y_true: Column, y_score: Column, *, weight: Column | None = None) -> pl.Expr:
    """AUC: P(a positive scores above a negative) + 1/2 P(tie), exact.

    Range 0 to 1, higher is better, 0.5 at chance. NULL without both classes. Does not move with prevalence. With
    weights every pair counts with the product of its two. Source: Mann & Whitney 1947; Hanley & McNeil 1982.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores on any scale, ranked in Float64; rows where it is NULL or NaN are left out.
        weight: Weight of each row; None counts each once.

    Returns:
        A Float64 expression named `auc`, one value per group.

    Raises:
        FmfairError: An argument is neither a column name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"sex": ["F", "F", "F", "M"], "y": [0, 1, 1, 1], "p": [0.5, 0.5, 0.9, 0.4]})
        >>> df.group_by("sex", maintain_order=True).agg(auc("y", "p")).rows()
        [('F', 0.75), ('M', None)]
    """
    return _ranked(AUC, y_true, y_score, weight)


def average_precision(y_true: Column, y_score: Column, *, weight: Column | None = None) -> pl.Expr:
    """Average precision: the sum over distinct scores, from the top, of (R_k - R_{k-1}) P_k.

    A step sum with ties as one step, not the trapezoid under the precision-recall curve, which is optimistic. Range 0
    to 1, higher is better, the prevalence at chance. NULL without both classes: scikit-learn gives 1 without
    negatives and 0 without positives, where nothing is ranked. Moves with prevalence. Source: scikit-learn's
    average_precision_score.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores on any scale, ranked in Float64; rows where it is NULL or NaN are left out.
        weight: Weight of each row; None counts each once.

    Returns:
        A Float64 expression named `average_precision`, one value per group.

    Raises:
        FmfairError: An argument is neither a column name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.6, 0.1]})
        >>> df.select(average_precision("y", "p").round(6)).item()
        0.833333
    """
    return _ranked(AVERAGE_PRECISION, y_true, y_score, weight)


def adjusted_auprc(y_true: Column, y_score: Column, *, weight: Column | None = None) -> pl.Expr:
    """Adjusted AUPRC: 1 - ln(average precision) / ln(prevalence).

    At most 1 with no lower bound, higher is better, 0 at chance. NULL without both classes. Moves with prevalence,
    less than average precision does. Source: chest X-ray literature; compare Mosquera et al. 2024.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores on any scale, ranked in Float64; rows where it is NULL or NaN are left out.
        weight: Weight of each row; None counts each once.

    Returns:
        A Float64 expression named `adjusted_auprc`, one value per group.

    Raises:
        FmfairError: An argument is neither a column name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.6, 0.1]})
        >>> df.select(adjusted_auprc("y", "p").round(6)).item()
        0.736966
    """
    return _ranked(ADJUSTED_AUPRC, y_true, y_score, weight)


def partial_auc(
    y_true: Column,
    y_score: Column,
    *,
    fpr: Range | None = None,
    tpr: Range | None = None,
    corrected: bool = True,
    weight: Column | None = None,
) -> pl.Expr:
    """Partial AUC: the area under the ROC curve between two false positive rates or two sensitivities.

    The curve has straight lines between its points. For a range of sensitivity the area is that of specificity over
    sensitivity. The McClish correction 1/2 (1 + (area - chance) / (width - chance)) is 0.5 at chance and 1 for
    a perfect model; a curve below the diagonal gives less than 0.5, and that value is returned. Uncorrected the range
    is 0 to the width. Higher is better. NULL without both classes. Does not move with prevalence. Values over
    different ranges cannot be compared. Source: McClish 1989.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores on any scale, ranked in Float64; rows where it is NULL or NaN are left out.
        fpr: Range (low, high) of the false positive rate.
        tpr: Range (low, high) of the sensitivity, instead of `fpr`.
        corrected: Whether to apply the McClish correction.
        weight: Weight of each row; None counts each once.

    Returns:
        A Float64 expression named `partial_auc`, one value per group.

    Raises:
        FmfairError: Not exactly one range is given, it is not inside [0, 1], or a column argument is neither a name
            nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.6, 0.1]})
        >>> df.select(partial_auc("y", "p", fpr=(0, 0.5), corrected=False)).item()
        0.375
    """
    metric = partial_auc_metric(fpr, tpr=tpr, corrected=corrected)
    return _ranked(metric, y_true, y_score, weight).alias("partial_auc")


def tpr_at_fpr(y_true: Column, y_score: Column, fpr: float, *, weight: Column | None = None) -> pl.Expr:
    """Sensitivity at a false positive rate: the largest TPR of the thresholds whose FPR is at most `fpr`.

    A point of the empirical curve, not interpolated; every group has its own threshold. Range 0 to 1, higher is
    better, 0 where ties at the top leave no threshold. NULL without both classes. Does not move with prevalence.
    Source: a point of the empirical ROC curve, not interpolated.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores on any scale, ranked in Float64; rows where it is NULL or NaN are left out.
        fpr: The largest false positive rate allowed, in [0, 1].
        weight: Weight of each row; None counts each once.

    Returns:
        A Float64 expression named `tpr_at_fpr`, one value per group.

    Raises:
        FmfairError: `fpr` is not in [0, 1], or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.6, 0.1]})
        >>> df.select(tpr_at_fpr("y", "p", 0.1)).item()
        0.5
    """
    return _ranked(tpr_at_fpr_metric(fpr), y_true, y_score, weight).alias("tpr_at_fpr")


def _ranked(metric: Metric, y_true: Column, y_score: Column, weight: Column | None) -> pl.Expr:
    """The metric over blocks made from the caller's rows."""
    rows = rows_of(y_true, y_score, weight)
    value = blocks.over_blocks(metric.aggregated, rows)
    return pl.when(rows.list.agg(defined(metric))).then(value).alias(metric.name)
