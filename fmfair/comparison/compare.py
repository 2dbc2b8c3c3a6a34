"""`compare`: a table of the predictions of several models in; which is better, and which is fairer, out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from fmfair import readers
from fmfair.comparison.aligned import Aligned, align, sample_numbers, with_drawn
from fmfair.comparison.frames import Comparing
from fmfair.comparison.measuring import ScoreMeasuring, ValueMeasuring
from fmfair.comparison.result import Comparison
from fmfair.comparison.roles import RENAMED, are_values, model_columns
from fmfair.errors import FmfairError, listing, near
from fmfair.evaluation import read_source
from fmfair.groupings import Grouping, groupings
from fmfair.intervals import Dependence
from fmfair.longtable import widen
from fmfair.metadata import describe
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import CLASSIFICATION, REGISTRY
from fmfair.metrics.segmentation import SEGMENTATION
from fmfair.notes import Notes
from fmfair.options import Bins, Bootstrap, Intersections, Options, Threshold, check_least, check_options
from fmfair.patients import note_patients, sizes_of, unused_patients
from fmfair.roles import Columns
from fmfair.row_counts import RowsInMemory
from fmfair.samples import Samples, classification_samples, value_samples
from fmfair.segmentation import Masks, with_overlap
from fmfair.suppression import Suppression

# What the trade-off is about unless something else is asked for: the first of these that is measured.
HEADLINES = ("auc", "dice", "balanced_accuracy", "accuracy")


def compare(  # noqa: PLR0913 - the public door
    frame: Any,
    by: str | Sequence[str] = "model",
    baseline: Any = None,
    *,
    y_true: str | Sequence[str] | None = None,
    y_score: str | Sequence[str] | None = None,
    y_pred: str | None = None,
    y_logit: str | None = None,
    dice: str | None = None,
    iou: str | None = None,
    pred_mask: str | None = None,
    true_mask: str | None = None,
    attributes: str | Sequence[str] | None = None,
    labels: Mapping[str, tuple[str, str]] | None = None,
    metadata: Any = None,
    on: str | tuple[str, str] | None = None,
    bins: Bins | None = None,
    intersections: Intersections = 1,
    thresholds: Threshold | Sequence[Threshold] | None = None,
    metrics: str | Sequence[str] | None = None,
    headline: str | None = None,
    positive: Any = None,
    ignore: Sequence[Any] = (),
    classes: Sequence[Any] | None = None,
    sample_id: str | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    min_group_size: int = 0,
    suppress_below: int | None = None,
    score_type: str = "auto",
    missing_scores: str = "raise",
    missing_labels: str = "drop",
    missing_groups: str = "drop",
    missing_values: Sequence[str] = (),
    label: float | None = None,
    mask_threshold: float | None = None,
    mask_type: str = "auto",
    empty: str = "one",
    ci: float = 0.95,
    bootstrap: int | str | bool | Bootstrap | None = None,
) -> Comparison:
    """Compare models on the same samples: which is better, which is fairer, and for whom one is worse.

    Only samples of which every model has a usable row count. The rows of a sample are paired: AUC by the paired
    DeLong test (Obuchowski's form with patients), rates by Newcombe's paired interval, means by the paired t test,
    average precision by its influence values. Models of a segmentation are compared by the mean Dice and IoU, from a
    value per sample or from masks.

    Args:
        frame: One row per sample and model; anything that `evaluate` takes.
        by: The column of the models. In a list it is the first, followed by the columns within whose values models
            are compared, such as dataset; where it is alone, those are found by their usual names.
        baseline: The model with which each other one is compared; all pairs where left out.
        y_true: Column of labels.
        y_score: Column of scores.
        y_pred: Column of decisions already made.
        y_logit: Column of logits beside the probabilities.
        dice: Column of the Dice of each sample, instead of labels and scores; found by name (dice, dsc, ...) where the
            table has no labels. A sample without a value for one of the models is left out.
        iou: Column of the IoU of each sample, beside or instead of `dice`.
        pred_mask: Column with the paths of the predicted masks, from which Dice and IoU are computed.
        true_mask: Column with the paths of the reference masks, the same for all models.
        attributes: Columns whose groups are compared.
        labels: Several findings per row; models are compared within each.
        metadata: A table with the attributes, joined by `on`.
        on: The id column of both tables, or its two names.
        bins: Cut points or numbers of quantiles per numeric attribute.
        intersections: Combinations of attributes.
        thresholds: Numbers or rules; a rule chooses a threshold for each model.
        metrics: Names of metrics.
        headline: The metric of `tradeoff`; AUC or Dice where left out.
        positive: The positive class.
        ignore: Labels to leave out.
        classes: Names of the score columns in order.
        sample_id: Column that identifies a sample, once per model; found by name (sample_id, image_id). Without one,
            every model must have the same rows in the same order.
        cluster: Column of the patient.
        weight: Column of sample weights.
        min_group_size: Groups with fewer rows are left out of the gaps.
        suppress_below: The smallest number of samples that may be read from the comparison; None for all. What would
            tell a smaller one, of either model, is NULL with the note `suppressed`; see `fmfair.evaluate`.
        score_type: How scores are read.
        missing_scores: `"raise"`, or `"drop"` to leave such samples out.
        missing_labels: `"drop"` or `"raise"`.
        missing_groups: `"drop"` or `"keep"`.
        missing_values: Texts that mean missing.
        label: The class to evaluate in masks with several; see `evaluate_segmentation`, also for the next three.
        mask_threshold: The lowest probability, or grey level, that is foreground.
        mask_type: What predicted masks hold: `"auto"`, `"label"`, `"probability"` or `"logit"`.
        empty: What a sample counts whose masks are both empty: `"one"`, `"zero"`, or `"drop"` to leave it out.
        ci: Confidence level of the intervals.
        bootstrap: A number of replicates, True, or a `Bootstrap`, for what has no closed form: all other metrics, and
            gaps between more than two groups. All models of a patient or sample are drawn together.

    Returns:
        A comparison with the frames `differences`, `gaps` and `tradeoff`, and the notes.

    Raises:
        FmfairError: The input cannot be used, a sample repeats within a model, or models do not agree on the label or
            the attributes of a sample.

    Examples:
        >>> df = pl.DataFrame(
        ...     {
        ...         "model": ["old"] * 8 + ["new"] * 8,
        ...         "image_id": [*range(8)] * 2,
        ...         "label": [0, 1, 0, 1, 1, 0, 1, 0] * 2,
        ...         "prob": [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1, 0.3, 0.8, 0.4, 0.7, 0.9, 0.2, 0.6, 0.5],
        ...         "sex": ["F", "F", "M", "M"] * 4,
        ...     }
        ... )
        >>> found = fmfair.compare(df, by="model", baseline="old", metrics=["auc", "accuracy"])
        >>> found.gaps.select("model", "metric", "gap_baseline", "gap_model", "difference").row(0)
        ('new', 'auc', 0.25, 0.0, -0.25)
        >>> found.differences.select("group", "metric", "difference", "ci_method").row(0)
        (None, 'auc', 0.125, 'paired DeLong, z')
    """
    scores = {"y_true": y_true, "y_score": y_score, "y_pred": y_pred, "y_logit": y_logit, "labels": labels}
    values = {"dice": dice, "iou": iou, "pred_mask": pred_mask, "true_mask": true_mask}
    given = {
        "attributes": attributes,
        "sample_id": sample_id,
        "cluster": cluster,
        "weight": weight,
        "bins": bins,
    }
    only = {
        "classification": {
            "thresholds": thresholds is not None,
            "positive": positive is not None,
            "ignore": len(ignore) > 0,
            "classes": classes is not None,
            "score_type": score_type != "auto",
            "missing_scores": missing_scores != "raise",
            "missing_labels": missing_labels != "drop",
        },
        "segmentation": {
            "label": label is not None,
            "mask_threshold": mask_threshold is not None,
            "mask_type": mask_type != "auto",
            "empty": empty != "one",
        },
    }
    notes = Notes(check_least(suppress_below))
    source = read_source(frame, metadata, on, notes)
    of_values = are_values(readers.schema(source), scores, values, only)
    options = check_options(
        among=SEGMENTATION if of_values else CLASSIFICATION,
        bins=bins,
        intersections=intersections,
        thresholds=thresholds,
        metrics=metrics,
        positive=positive,
        ignore=ignore,
        classes=classes,
        min_group_size=min_group_size,
        suppress_below=suppress_below,
        score_type=score_type,
        missing_scores=missing_scores,
        missing_labels=missing_labels,
        missing_groups=missing_groups,
        missing_values=missing_values,
        ci=ci,
        bootstrap=bootstrap,
    )
    if options.ci is None:
        raise FmfairError("ci=None: a comparison says how sure its differences are; give a level such as 0.95")
    if options.bootstrap is not None and options.bootstrap.method != "percentile":
        raise FmfairError(f"bootstrap={bootstrap!r}: differences have percentile limits; give a number of replicates")
    base = Path(frame).parent if isinstance(frame, str | Path) else None
    masks = Masks(label, mask_threshold, mask_type, empty, base=base)
    masks.check(options)
    columns = model_columns(readers.schema(source), given | (values if of_values else scores), by, of_values, notes)
    samples, found = _samples(source, columns, options, notes, masks)
    if of_values:
        options = replace(options, metrics=_measured(options, found, metrics is None))
        samples = _with_all_values(samples, options.metrics)
    return _compared(samples, found, options, (baseline, headline), notes)


def _samples(
    source: pl.LazyFrame, columns: Columns, options: Options, notes: Notes, masks: Masks
) -> tuple[Samples, Columns]:
    """The samples of all models, each with its number, and their columns."""
    patients = unused_patients(readers.schema(source), columns, options)
    table = readers.collect(source, [*columns.needed, *patients])
    wide, found = widen(table, columns) if columns.long else (table, columns)
    numbers = sample_numbers(wide, found, notes)
    if "pred_mask" in found.values:
        wide, found = with_overlap(wide, found, masks.of_columns(wide, found, masks.base), options, notes)
    read = value_samples if found.values else classification_samples
    samples = read(wide, source, found, options, notes, [numbers])
    for patient in patients:
        note_patients(patient, sizes_of(table, columns, patient), notes)
    return samples, found


def _compared(
    samples: Samples, columns: Columns, options: Options, asked: tuple[Any, str | None], notes: Notes
) -> Comparison:
    """The comparison of the models of samples."""
    baseline, headline = asked
    if options.bootstrap is not None:
        samples = with_drawn(samples)
    aligned = align(samples, columns.by[0], baseline, notes)
    renamed = {name: other for name, other in RENAMED.items() if name in aligned.keys.columns}
    for name, other in renamed.items():
        notes.say(f"the by-key {name!r} is called {other!r} in the results, whose {name!r} is what was compared")
    aligned = replace(aligned, keys=aligned.keys.rename(renamed))
    main = _headline(options.metrics, headline)
    divided = groupings(aligned.samples.attributes, options.intersections)
    every = [Grouping(), *divided]
    listed = [g.cells(aligned.samples) for g in every]
    measuring = (ValueMeasuring if columns.values else ScoreMeasuring).of(aligned.samples, options, notes)
    long = measuring.long(every, listed)
    replicates = None if options.bootstrap is None else measuring.resample(every, listed, long, options.bootstrap)
    if options.suppress_below is not None:
        hidden = Suppression.of(long, aligned.samples, every, listed, RowsInMemory(aligned.samples), options)
        long = hidden.applied(long)
        hidden.note(notes)
    dependence = Dependence(aligned.samples.clustered, aligned.samples.weighted)
    comparing = Comparing(aligned, measuring, options.ci or 0.95, options.min_group_size, main, dependence)
    frames = comparing.frames(every, listed, long, replicates)
    facts = _facts(aligned, columns, options, main, baseline)
    if options.suppress_below is not None:
        shown = long.filter(pl.col("grouping") == 0)["n"].null_count() == 0
        facts |= {"suppress_below": options.suppress_below, "n_samples": aligned.samples.n if shown else None}
    return Comparison(**frames, notes=tuple(notes), metadata=facts)


def _measured(options: Options, columns: Columns, every: bool) -> tuple[Metric, ...]:
    """The metrics that there are values of: all, or those that were asked for."""
    there = [REGISTRY[name] for name in columns.values]
    found = tuple(metric for metric in there if every or metric in options.metrics)
    if not found:
        asked, values = (listing(m.name for m in some) for some in (options.metrics, there))
        raise FmfairError(f"metrics: there are values of {values}, not of {asked}")
    return found


def _with_all_values(samples: Samples, metrics: Sequence[Metric]) -> Samples:
    """The samples that have all values."""
    whole = samples.frame.select(pl.all_horizontal(pl.col([m.name for m in metrics]).is_not_null())).to_series()
    return replace(samples, frame=samples.frame.filter(whole), profiles=samples.profiles.of(whole))


def _headline(metrics: Sequence[Metric], name: str | None) -> Metric:
    """The metric of the trade-off."""
    by_name = {metric.name: metric for metric in metrics if metric.direction != "none"}
    if name is not None and name not in by_name:
        raise FmfairError(
            f"headline={name!r} is not one of the metrics that are compared and have a better direction: "
            f"{listing(by_name, limit=30)}{near(str(name), by_name)}"
        )
    if not by_name:
        return metrics[0]
    chosen = name if name is not None else next((h for h in HEADLINES if h in by_name), next(iter(by_name)))
    return by_name[chosen]


def _facts(aligned: Aligned, columns: Columns, options: Options, headline: Metric, baseline: Any) -> dict[str, Any]:
    """The metadata, of plain values only."""
    task = "segmentation" if columns.values else "classification"
    described = describe(task, aligned.samples, columns, options, "polars")
    compared = [by for by, key in enumerate(aligned.key) if key >= 0]
    return {
        **described,
        "task": f"comparison of models, {task}",
        "by": aligned.keys.columns,
        "model": columns.by[0],
        "models": list(dict.fromkeys(aligned.models[by] for by in compared)),
        "baseline": None if baseline is None else str(baseline),
        "headline": headline.name,
        "n_samples": aligned.samples.n,
    }
