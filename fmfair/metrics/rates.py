"""Rates at a threshold: each is one line of data, a formula over the four counts of a confusion matrix."""

from __future__ import annotations

from fmfair.metrics.metric import NEGATIVES, POSITIVES, ROWS, Direction, Metric, Need

_PRED_POS: Need = ("n_pred_pos", "no sample is predicted positive")
_PRED_NEG: Need = ("n_pred_neg", "no sample is predicted negative")
_CONFUSION = "the confusion matrix at the threshold"


def _rate(  # noqa: PLR0913 - one argument per fact of a registry entry
    name: str,
    title: str,
    formula: str,
    denominator: str,
    *needs: Need,
    direction: Direction = "higher",
    low: float | None = 0.0,
    high: float | None = 1.0,
    moves: bool = False,
    default: bool = True,
    needs_probability: bool = False,
    source: str = _CONFUSION,
) -> Metric:
    return Metric(
        name=name,
        title=title,
        definition=formula,
        family="rate",
        direction=direction,
        low=low,
        high=high,
        moves_with_prevalence=moves,
        denominator=denominator,
        needs=needs,
        source=source,
        default=default,
        formula=formula,
        needs_probability=needs_probability,
    )


def _count(name: str, title: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        definition=f"samples (or their weight) that are {title}",
        family="count",
        direction="none",
        low=0.0,
        high=None,
        moves_with_prevalence=True,
        denominator="n",
        needs=(),
        source=_CONFUSION,
        formula=name,
    )


RATES: tuple[Metric, ...] = (
    _rate("accuracy", "accuracy", "(tp + tn) / (tp + fp + fn + tn)", "n", ROWS, moves=True),
    _rate(
        "balanced_accuracy",
        "balanced accuracy",
        "(tp / (tp + fn) + tn / (tn + fp)) / 2",
        "n_pos",
        POSITIVES,
        NEGATIVES,
    ),
    _rate("tpr", "sensitivity (TPR, recall)", "tp / (tp + fn)", "n_pos", POSITIVES),
    _rate("tnr", "specificity (TNR)", "tn / (tn + fp)", "n_neg", NEGATIVES),
    _rate("fpr", "false positive rate", "fp / (tn + fp)", "n_neg", NEGATIVES, direction="lower"),
    _rate("fnr", "false negative rate", "fn / (tp + fn)", "n_pos", POSITIVES, direction="lower"),
    _rate("ppv", "positive predictive value (precision)", "tp / (tp + fp)", "n_pred_pos", _PRED_POS, moves=True),
    _rate("npv", "negative predictive value", "tn / (tn + fn)", "n_pred_neg", _PRED_NEG, moves=True),
    _rate(
        "f1",
        "F1",
        "2 * tp / (2 * tp + fp + fn)",
        "n_pos",
        ("n_pos + n_pred_pos", "no positives and none predicted"),
        moves=True,
        source="van Rijsbergen 1979; Dice of the two sets of positives",
    ),
    _rate(
        "mcc",
        "Matthews correlation coefficient",
        # In this order a perfect model has exactly 1: the root of x * x is x, that of another product may round below.
        "(tp * tn - fp * fn) / sqrt((tp + fp) * (tn + fn) * ((tp + fn) * (tn + fp)))",
        "n_pos",
        POSITIVES,
        NEGATIVES,
        _PRED_POS,
        _PRED_NEG,
        low=-1.0,
        moves=True,
        source="Matthews 1975",
    ),
    _rate(
        "selection_rate",
        "selection rate",
        "(tp + fp) / (tp + fp + fn + tn)",
        "n",
        ROWS,
        direction="none",
        moves=True,
    ),
    _rate(
        "lr_positive",
        "positive likelihood ratio",
        "(tp / (tp + fn)) / (fp / (tn + fp))",
        "n_pos",
        POSITIVES,
        NEGATIVES,
        ("fp", "no false positives, the ratio is unbounded"),
        high=None,
        default=False,
    ),
    _rate(
        "lr_negative",
        "negative likelihood ratio",
        "(fn / (tp + fn)) / (tn / (tn + fp))",
        "n_pos",
        POSITIVES,
        NEGATIVES,
        ("tn", "no true negatives, the ratio is unbounded"),
        direction="lower",
        high=None,
        default=False,
    ),
    _rate(
        "net_benefit",
        "net benefit",
        "tp / (tp + fp + fn + tn) - fp / (tp + fp + fn + tn) * threshold / (1 - threshold)",
        "n",
        ROWS,
        ("1 - threshold", "net benefit needs a threshold below 1"),
        low=None,
        moves=True,
        default=False,
        needs_probability=True,
        source="Vickers & Elkin 2006",
    ),
)

COUNTS: tuple[Metric, ...] = (
    _count("tp", "true positives"),
    _count("fp", "false positives"),
    _count("fn", "false negatives"),
    _count("tn", "true negatives"),
)
