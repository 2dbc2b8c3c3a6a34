"""Rates over all rows of a group, as expressions for anybody's `group_by`."""

from __future__ import annotations

import polars as pl

from fmfair.metrics.rows import Column
from fmfair.metrics.thresholded import at_threshold


def accuracy(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Accuracy: (tp + tn) / n, the share of rows that is called rightly.

    Range 0 to 1, higher is better. NULL without rows. Moves with prevalence. Source: the confusion matrix at the
    threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `accuracy`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(accuracy("y", "p")).item()
        0.6
    """
    return at_threshold("accuracy", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def balanced_accuracy(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Balanced accuracy: (TPR + TNR) / 2.

    Range 0 to 1, higher is better, 0.5 at chance. NULL without both classes. Does not move with prevalence. Source: the
    confusion matrix at the threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `balanced_accuracy`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(balanced_accuracy("y", "p").round(6)).item()
        0.583333
    """
    return at_threshold("balanced_accuracy", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def f1(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """F1: 2 tp / (2 tp + fp + fn), the harmonic mean of sensitivity and positive predictive value.

    Range 0 to 1, higher is better. NULL where there are no positives and none is called; 0 where only one of the two is
    empty. Moves with prevalence. Source: van Rijsbergen 1979; Dice of the two sets of positives.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `f1`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(f1("y", "p").round(6)).item()
        0.666667
    """
    return at_threshold("f1", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def mcc(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Matthews correlation coefficient: the correlation of label and call.

    (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn)). Range -1 to 1, higher is better, 0 at chance. NULL
    without both classes, or where all rows are called alike: scikit-learn gives 0 there. Moves with prevalence.
    Source: Matthews 1975.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `mcc`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(mcc("y", "p").round(6)).item()
        0.166667
    """
    return at_threshold("mcc", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def selection_rate(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Selection rate: (tp + fp) / n, the share of rows that is called positive.

    Range 0 to 1, neither direction is better. NULL without rows. Moves with prevalence. Source: the confusion matrix at
    the threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `selection_rate`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(selection_rate("y", "p")).item()
        0.6
    """
    return at_threshold("selection_rate", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def net_benefit(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """Net benefit: tp / n - fp / n * t / (1 - t), where t is the threshold.

    True positives gained per row, less the false positives at the exchange rate that the threshold says. At most the
    prevalence with no lower bound, higher is better; treating nobody has 0. NULL without rows, for a threshold of 1 or
    more, or where a score lies outside [0, 1]. Moves with prevalence. Source: Vickers & Elkin 2006.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Probabilities; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        A Float64 expression named `net_benefit`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(net_benefit("y", "p").round(6)).item()
        0.2
    """
    return at_threshold("net_benefit", y_true, y_score, threshold=threshold, weight=weight, strict=strict)
