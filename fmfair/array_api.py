"""`evaluate_arrays`: lists, NumPy, pandas, Polars, Arrow and torch in, the same report out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from fmfair.arrays import ArrayTable, from_arrays
from fmfair.errors import in_words, reworded
from fmfair.evaluation import report_of
from fmfair.notes import Notes
from fmfair.options import Bins, Intersections, Options, Threshold, check_options
from fmfair.report import Report
from fmfair.roles import Columns, as_names
from fmfair.samples import classification_samples

# How the array functions call the arguments of `evaluate`.
WORDS: Mapping[str, str] = MappingProxyType(
    {"positive=": "pos_label=", "attributes=": "sensitive_features=", "weight=": "sample_weight="}
)


def evaluate_arrays(  # noqa: PLR0913 - the public door; everything behind it takes Options
    y_true: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any,
    y_pred: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    bins: Bins | None = None,
    intersections: Intersections = 1,
    thresholds: Threshold | Sequence[Threshold] | None = None,
    metrics: str | Sequence[str] | None = None,
    ignore: Sequence[Any] = (),
    classes: Sequence[Any] | None = None,
    min_group_size: int = 0,
    suppress_below: int | None = None,
    score_type: str = "auto",
    missing_scores: str = "raise",
    missing_labels: str = "drop",
    missing_groups: str = "drop",
    missing_values: Sequence[str] = (),
    conventions: str = "standard",
    ci: float | None = 0.95,
) -> Report:
    """Evaluate arrays that hold one value per sample; the names are scikit-learn's and fairlearn's.

    Args:
        y_true: Labels: 0/1, booleans, class names with `pos_label`, or one-hot columns.
        y_score: Scores of shape (n,) or (n, classes): probabilities, logits, or anything that ranks.
        sensitive_features: Groups: one array, a 2-D array, a table or a mapping of name to array.
        y_pred: Decisions already made, beside or instead of scores.
        sample_weight: Weights; 0 leaves a sample out.
        pos_label: The positive class, `positive=` of `fmfair.evaluate`.
        bins: As in `fmfair.evaluate`, and so are all the others.
        intersections: See there.
        thresholds: See there.
        metrics: See there.
        ignore: See there.
        classes: Names of the columns of `y_score` in order.
        min_group_size: See there.
        suppress_below: See there.
        score_type: See there.
        missing_scores: See there.
        missing_labels: See there.
        missing_groups: See there.
        missing_values: See there.
        conventions: See there.
        ci: See there; all samples count as independent.

    Returns:
        The report of `fmfair.evaluate`. Arrays pair by position, and pandas inputs whose indexes hold the same
        labels in another order by index, with a note. With `ci` its frames hold intervals; see `fmfair.Report`.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> report = fmfair.evaluate_arrays(
        ...     [0, 1, 0, 1], [0.2, 0.9, 0.4, 0.3], sensitive_features={"sex": ["F", "F", "M", "M"]}
        ... )
        >>> report.summary["auc-gap"].item()
        1.0
    """
    with reworded(WORDS):
        options = check_options(
            bins=bins,
            intersections=intersections,
            thresholds=thresholds,
            metrics=metrics,
            positive=pos_label,
            ignore=ignore,
            classes=classes,
            min_group_size=min_group_size,
            suppress_below=suppress_below,
            score_type=score_type,
            missing_scores=missing_scores,
            missing_labels=missing_labels,
            missing_groups=missing_groups,
            missing_values=missing_values,
            conventions=conventions,
            ci=ci,
        )
        notes = Notes(options.suppress_below)
        table = from_arrays(
            y_true=y_true,
            y_score=y_score,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            notes=notes,
        )
        report = report_of_arrays(table, options, notes)
    return replace(report, notes=tuple(in_words(note, WORDS) for note in report.notes))


def report_of_arrays(table: ArrayTable, options: Options, notes: Notes) -> Report:
    """The report of arrays that were brought into one frame."""
    columns = Columns(
        y_true=as_names(table.y_true),
        y_score=as_names(table.y_score),
        score_names=tuple(table.y_score_names or ()),
        y_pred=table.y_pred,
        attributes=tuple(table.attributes),
        weight=table.weight,
    )
    samples = classification_samples(table.frame, table.frame.lazy(), columns, options, notes)
    return report_of(samples, columns, options, notes)
