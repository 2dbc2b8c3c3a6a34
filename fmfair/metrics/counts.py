"""The four counts of a confusion matrix, as expressions for anybody's `group_by`."""

from __future__ import annotations

import polars as pl

from fmfair.metrics.rows import Column
from fmfair.metrics.thresholded import at_threshold


def tp(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """True positives: how many positives are called, or the sum of their weights.

    At least 0, neither direction is better. 0 without rows. Moves with prevalence. Source: the confusion matrix at the
    threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        An Int64 (with weights Float64) expression named `tp`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(tp("y", "p")).item()
        2
    """
    return at_threshold("tp", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def fp(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """False positives: how many negatives are called, or the sum of their weights.

    At least 0, neither direction is better. 0 without rows. Moves with prevalence. Source: the confusion matrix at the
    threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        An Int64 (with weights Float64) expression named `fp`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(fp("y", "p")).item()
        1
    """
    return at_threshold("fp", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def fn(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """False negatives: how many positives are not called, or the sum of their weights.

    At least 0, neither direction is better. 0 without rows. Moves with prevalence. Source: the confusion matrix at the
    threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        An Int64 (with weights Float64) expression named `fn`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(fn("y", "p")).item()
        1
    """
    return at_threshold("fn", y_true, y_score, threshold=threshold, weight=weight, strict=strict)


def tn(
    y_true: Column,
    y_score: Column,
    *,
    threshold: float = 0.5,
    weight: Column | None = None,
    strict: bool = False,
) -> pl.Expr:
    """True negatives: how many negatives are not called, or the sum of their weights.

    At least 0, neither direction is better. 0 without rows. Moves with prevalence. Source: the confusion matrix at the
    threshold.

    Args:
        y_true: Labels, booleans or 0 and 1; a column name or an expression.
        y_score: Scores; rows where it is NULL or NaN are left out.
        threshold: A row is called positive from this score on.
        weight: Weight of each row; None counts each once.
        strict: Whether a score equal to the threshold is called negative.

    Returns:
        An Int64 (with weights Float64) expression named `tn`, one value per group.

    Raises:
        FmfairError: `threshold` is not a number, or a column argument is neither a name nor an expression.

    Examples:
        >>> df = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.5, 0.2, 0.7, 0.1]})
        >>> df.select(tn("y", "p")).item()
        1
    """
    return at_threshold("tn", y_true, y_score, threshold=threshold, weight=weight, strict=strict)
