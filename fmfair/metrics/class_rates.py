"""Rates within the positives, the negatives, or the rows called one way, as expressions for anybody's `group_by`."""

from __future__ import annotations

import polars as pl

from fmfair.metrics.rows import Column
from fmfair.metrics.thresholded import at_threshold


def tpr(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Sensitivity (TPR, recall): tp / (tp + fn), the share of positives that is found.

    Range 0 to 1, higher is better. NULL without positives. Does not move with prevalence. Source: the confusion matrix
    at the threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `tpr`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(tpr("y", "p").round(6)).item()
        0.666667
    """
    return at_threshold("tpr", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def tnr(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Specificity (TNR): tn / (tn + fp), the share of negatives that is left alone.

    Range 0 to 1, higher is better. NULL without negatives. Does not move with prevalence. Source: the confusion matrix
    at the threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `tnr`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(tnr("y", "p")).item()
        0.5
    """
    return at_threshold("tnr", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def fpr(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """False positive rate: fp / (tn + fp), 1 - specificity.

    Range 0 to 1, lower is better. NULL without negatives. Does not move with prevalence. Source: the confusion matrix
    at the threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `fpr`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(fpr("y", "p")).item()
        0.5
    """
    return at_threshold("fpr", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def fnr(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """False negative rate (miss rate): fn / (tp + fn), 1 - sensitivity.

    Range 0 to 1, lower is better. NULL without positives. Does not move with prevalence. Source: the confusion matrix
    at the threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `fnr`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(fnr("y", "p").round(6)).item()
        0.333333
    """
    return at_threshold("fnr", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def ppv(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Positive predictive value (precision): tp / (tp + fp), the share of the called that is positive.

    Range 0 to 1, higher is better. NULL where no row is called positive. Moves with prevalence. Source: the confusion
    matrix at the threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `ppv`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(ppv("y", "p").round(6)).item()
        0.666667
    """
    return at_threshold("ppv", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def npv(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Negative predictive value: tn / (tn + fn), the share of the not called that is negative.

    Range 0 to 1, higher is better. NULL where every row is called positive. Moves with prevalence. Source: the
    confusion matrix at the threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `npv`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(npv("y", "p")).item()
        0.5
    """
    return at_threshold("npv", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def lr_positive(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Positive likelihood ratio: TPR / FPR, how much a positive call multiplies the odds of disease.

    At least 0 with no upper bound, higher is better, 1 says nothing. NULL without both classes, or without false
    positives. Does not move with prevalence. Source: the confusion matrix at the threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `lr_positive`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(lr_positive("y", "p").round(6)).item()
        1.333333
    """
    return at_threshold("lr_positive", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def lr_negative(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Negative likelihood ratio: FNR / TNR, how much a negative call multiplies the odds of disease.

    At least 0 with no upper bound, lower is better, 1 says nothing. NULL without both classes, or without true
    negatives. Does not move with prevalence. Source: the confusion matrix at the threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `lr_negative`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(lr_negative("y", "p").round(6)).item()
        0.666667
    """
    return at_threshold("lr_negative", y_true, y_score, threshold=threshold, weight=weight, strict=strict)
