"""Seven fairness numbers of a classifier, one float per call, in the manner of scikit-learn's metrics.

Each is a value of `fmfair.evaluate_arrays`. Several sensitive features are compared by their combinations. Where the
number is undefined it is NaN and a UserWarning says why; rows and groups that were left out and guesses about the input
are warnings too, since a bare number cannot carry notes.
"""

from __future__ import annotations

from typing import Any

from fmfair.options import Bins, Threshold
from fmfair.scalar_values import classification_value


def auc_gap(  # noqa: PLR0913 - the arguments of scikit-learn and of fmfair.evaluate_arrays
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    threshold: Threshold = "best_f1",
    score_type: str = "auto",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """Largest minus smallest group AUC.

    AUC is the probability that a positive scores above a negative, ties one half (Mann & Whitney 1947).

    Args:
        y_true: Labels of shape (n,): 0/1, booleans, or any with `pos_label`.
        y_score: Scores of shape (n,) or (n, classes): probabilities, logits, or anything that ranks.
        sensitive_features: Group of each sample; the combinations of several are compared.
        pos_label: The positive class.
        threshold: Not used by this metric; taken so that all twelve share their arguments.
        score_type: `"auto"`, `"probability"`, `"logit"` or `"rank"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A gap in [0, 1], 0 is fair. NaN when fewer than two groups have both classes.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> y_true, group = [0, 1, 0, 1, 1, 0, 1, 0], ["a", "a", "a", "a", "b", "b", "b", "b"]
        >>> y_score = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
        >>> fmfair.auc_gap(y_true, y_score, sensitive_features=group)
        0.25
    """
    return classification_value(
        ("auc", "difference"),
        {"y_true": y_true, "y_score": y_score, "sample_weight": sample_weight},
        sensitive_features,
        positive=pos_label,
        thresholds=threshold,
        score_type=score_type,
        bins=bins,
        conventions=conventions,
    )


def worst_group_auc(  # noqa: PLR0913 - the arguments of scikit-learn and of fmfair.evaluate_arrays
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    threshold: Threshold = "best_f1",
    score_type: str = "auto",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """Lowest group AUC.

    AUC is the probability that a positive scores above a negative, ties one half (Mann & Whitney 1947).

    Args:
        y_true: Labels of shape (n,): 0/1, booleans, or any with `pos_label`.
        y_score: Scores of shape (n,) or (n, classes): probabilities, logits, or anything that ranks.
        sensitive_features: Group of each sample; the combinations of several are compared.
        pos_label: The positive class.
        threshold: Not used by this metric; taken so that all twelve share their arguments.
        score_type: `"auto"`, `"probability"`, `"logit"` or `"rank"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        An AUC in [0, 1], higher is better. NaN when no group has both classes.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> y_true, group = [0, 1, 0, 1, 1, 0, 1, 0], ["a", "a", "a", "a", "b", "b", "b", "b"]
        >>> y_score = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
        >>> fmfair.worst_group_auc(y_true, y_score, sensitive_features=group)
        0.75
    """
    return classification_value(
        ("auc", "worst"),
        {"y_true": y_true, "y_score": y_score, "sample_weight": sample_weight},
        sensitive_features,
        positive=pos_label,
        thresholds=threshold,
        score_type=score_type,
        bins=bins,
        conventions=conventions,
    )


def accuracy_gap(  # noqa: PLR0913 - the arguments of scikit-learn and of fmfair.evaluate_arrays
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    threshold: Threshold = "best_f1",
    score_type: str = "auto",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """Largest minus smallest group accuracy at the threshold.

    Accuracy is the share of samples on the right side of the threshold; it moves with prevalence.

    Args:
        y_true: Labels of shape (n,): 0/1, booleans, or any with `pos_label`.
        y_score: Scores of shape (n,) or (n, classes): probabilities, logits, or anything that ranks.
        sensitive_features: Group of each sample; the combinations of several are compared.
        pos_label: The positive class.
        threshold: A number, a rule such as `"best_f1"`, `"youden"`, `"tpr=0.9"`; rules are tuned on these labels.
        score_type: `"auto"`, `"probability"`, `"logit"` or `"rank"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A gap in [0, 1], 0 is fair. NaN with fewer than two groups.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> y_true, group = [0, 1, 0, 1, 1, 0, 1, 0], ["a", "a", "a", "a", "b", "b", "b", "b"]
        >>> y_score = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
        >>> fmfair.accuracy_gap(y_true, y_score, sensitive_features=group, threshold=0.5)
        0.0
    """
    return classification_value(
        ("accuracy", "difference"),
        {"y_true": y_true, "y_score": y_score, "sample_weight": sample_weight},
        sensitive_features,
        positive=pos_label,
        thresholds=threshold,
        score_type=score_type,
        bins=bins,
        conventions=conventions,
    )


def bce_gap(  # noqa: PLR0913 - the arguments of scikit-learn and of fmfair.evaluate_arrays
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    threshold: Threshold = "best_f1",
    score_type: str = "auto",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """Largest minus smallest group binary cross-entropy.

    The mean of -[y ln p + (1 - y) ln(1 - p)] with each log clamped at -100, from logits without a sigmoid.

    Args:
        y_true: Labels of shape (n,): 0/1, booleans, or any with `pos_label`.
        y_score: Scores of shape (n,) or (n, classes): probabilities, logits, or anything that ranks.
        sensitive_features: Group of each sample; the combinations of several are compared.
        pos_label: The positive class.
        threshold: Not used by this metric; taken so that all twelve share their arguments.
        score_type: `"auto"`, `"probability"`, `"logit"` or `"rank"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A gap of 0 or more, 0 is fair. NaN with fewer than two groups, or when the scores are not probabilities.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> y_true, group = [0, 1, 0, 1, 1, 0, 1, 0], ["a", "a", "a", "a", "b", "b", "b", "b"]
        >>> y_score = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
        >>> round(fmfair.bce_gap(y_true, y_score, sensitive_features=group), 6)
        0.127706
    """
    return classification_value(
        ("bce", "difference"),
        {"y_true": y_true, "y_score": y_score, "sample_weight": sample_weight},
        sensitive_features,
        positive=pos_label,
        thresholds=threshold,
        score_type=score_type,
        bins=bins,
        conventions=conventions,
    )


def ece_gap(  # noqa: PLR0913 - the arguments of scikit-learn and of fmfair.evaluate_arrays
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    threshold: Threshold = "best_f1",
    score_type: str = "auto",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """Largest minus smallest group expected calibration error.

    Ten equal bins on [0, 1], the same for every group (Naeini, Cooper & Hauskrecht 2015). Small groups look badly
    calibrated by chance alone.

    Args:
        y_true: Labels of shape (n,): 0/1, booleans, or any with `pos_label`.
        y_score: Scores of shape (n,) or (n, classes): probabilities, logits, or anything that ranks.
        sensitive_features: Group of each sample; the combinations of several are compared.
        pos_label: The positive class.
        threshold: Not used by this metric; taken so that all twelve share their arguments.
        score_type: `"auto"`, `"probability"`, `"logit"` or `"rank"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A gap in [0, 1], 0 is fair. NaN with fewer than two groups, or when the scores are not probabilities.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> y_true, group = [0, 1, 0, 1, 1, 0, 1, 0], ["a", "a", "a", "a", "b", "b", "b", "b"]
        >>> y_score = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
        >>> round(fmfair.ece_gap(y_true, y_score, sensitive_features=group), 6)
        0.05
    """
    return classification_value(
        ("ece", "difference"),
        {"y_true": y_true, "y_score": y_score, "sample_weight": sample_weight},
        sensitive_features,
        positive=pos_label,
        thresholds=threshold,
        score_type=score_type,
        bins=bins,
        conventions=conventions,
    )


def equal_opportunity_difference(  # noqa: PLR0913 - the arguments of scikit-learn and of fmfair.evaluate_arrays
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    threshold: Threshold = "best_f1",
    score_type: str = "auto",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """Largest minus smallest group sensitivity (TPR) at the threshold.

    Hardt, Price & Srebro 2016; FairMedFM's `eo`.

    Args:
        y_true: Labels of shape (n,): 0/1, booleans, or any with `pos_label`.
        y_score: Scores of shape (n,) or (n, classes): probabilities, logits, or anything that ranks.
        sensitive_features: Group of each sample; the combinations of several are compared.
        pos_label: The positive class.
        threshold: A number, a rule such as `"best_f1"`, `"youden"`, `"tpr=0.9"`; rules are tuned on these labels.
        score_type: `"auto"`, `"probability"`, `"logit"` or `"rank"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A difference in [0, 1], 0 is fair. NaN when fewer than two groups have positives.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> y_true, group = [0, 1, 0, 1, 1, 0, 1, 0], ["a", "a", "a", "a", "b", "b", "b", "b"]
        >>> y_score = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
        >>> fmfair.equal_opportunity_difference(y_true, y_score, sensitive_features=group, threshold=0.5)
        0.5
    """
    return classification_value(
        ("equal_opportunity", "difference"),
        {"y_true": y_true, "y_score": y_score, "sample_weight": sample_weight},
        sensitive_features,
        positive=pos_label,
        thresholds=threshold,
        score_type=score_type,
        bins=bins,
        conventions=conventions,
    )


def equalized_odds_score(  # noqa: PLR0913 - the arguments of scikit-learn and of fmfair.evaluate_arrays
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    threshold: Threshold = "best_f1",
    score_type: str = "auto",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """1 - (TPR gap + TNR gap) / 2 at the threshold: a score, not a difference.

    FairMedFM's `eod`. Unlike fairlearn's `equalized_odds_difference`, where 0 is fair, here 1 is.

    Args:
        y_true: Labels of shape (n,): 0/1, booleans, or any with `pos_label`.
        y_score: Scores of shape (n,) or (n, classes): probabilities, logits, or anything that ranks.
        sensitive_features: Group of each sample; the combinations of several are compared.
        pos_label: The positive class.
        threshold: A number, a rule such as `"best_f1"`, `"youden"`, `"tpr=0.9"`; rules are tuned on these labels.
        score_type: `"auto"`, `"probability"`, `"logit"` or `"rank"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A score in [0, 1], 1 is fair. NaN when fewer than two groups have positives, or negatives.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> y_true, group = [0, 1, 0, 1, 1, 0, 1, 0], ["a", "a", "a", "a", "b", "b", "b", "b"]
        >>> y_score = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
        >>> fmfair.equalized_odds_score(y_true, y_score, sensitive_features=group, threshold=0.5)
        0.5
    """
    return classification_value(
        ("equalized_odds", "score"),
        {"y_true": y_true, "y_score": y_score, "sample_weight": sample_weight},
        sensitive_features,
        positive=pos_label,
        thresholds=threshold,
        score_type=score_type,
        bins=bins,
        conventions=conventions,
    )
