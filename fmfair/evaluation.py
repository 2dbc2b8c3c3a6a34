"""`evaluate`: a table of predictions in, a report of how performance differs between groups out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from fmfair import readers
from fmfair.assemble import Backend, build_frames
from fmfair.curves import score_curves
from fmfair.errors import FmfairError
from fmfair.groupings import Grouping
from fmfair.inputs import hashed
from fmfair.join import join_metadata
from fmfair.longtable import widen
from fmfair.measures import Engine, long_table
from fmfair.metadata import describe, disclosed, rows_read, tested
from fmfair.notes import Notes
from fmfair.options import OVERALL, Bins, Bootstrap, Intersections, Options, Threshold
from fmfair.patients import note_patients, sizes_of, unused_patients
from fmfair.place import Place, wants_database
from fmfair.question import Question, asked
from fmfair.report import Report
from fmfair.roles import Columns, find_columns
from fmfair.row_counts import RowsInMemory
from fmfair.samples import Samples, classification_samples
from fmfair.spread import with_spread


def evaluate(  # noqa: PLR0913 - the public door; everything behind it takes Options
    frame: Any,
    *,
    y_true: str | Sequence[str] | None = None,
    y_score: str | Sequence[str] | None = None,
    y_pred: str | None = None,
    y_logit: str | None = None,
    attributes: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    labels: Mapping[str, tuple[str, str]] | None = None,
    metadata: Any = None,
    on: str | tuple[str, str] | None = None,
    bins: Bins | None = None,
    intersections: Intersections = 1,
    thresholds: Threshold | Sequence[Threshold] | None = None,
    metrics: str | Sequence[str] | None = None,
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
    conventions: str = "standard",
    ci: float | None = 0.95,
    auc_interval: str = "logit",
    bootstrap: Bootstrap | int | str | None = None,
    model_based: bool = False,
    reference: Mapping[str, str] | None = None,
    margins: Mapping[str, float] | None = None,
    engine: str = "auto",
    memory_limit: str | None = None,
    temp_dir: str | os.PathLike[str] | None = None,
) -> Report:
    """Evaluate a classifier on groups of patients.

    Columns that are not named are found by their usual names (label, y_true, prob, score, sex, age, race, site,
    model, ...); the report's notes say which were.

    Args:
        frame: One row per sample (and by-key): a Polars DataFrame or LazyFrame, pandas DataFrame, pyarrow Table,
            RecordBatchReader, DuckDB relation, or the path of a file, glob or folder (CSV, TSV, Parquet, Arrow, JSON,
            JSON Lines, Excel). Only the needed columns are read. A long table with columns `attribute` and `group`
            is taken too; then `sample_id` is needed.
        y_true: Column of labels, or one-hot columns.
        y_score: Column of scores, or one column per class.
        y_pred: Column of decisions already made, beside or instead of scores.
        y_logit: Column of logits beside the probabilities; it is used for ranking and cross-entropy.
        attributes: Columns whose groups are compared.
        by: Columns to evaluate separately, such as model or dataset; `[]` switches the search by name off.
        labels: Several findings per row as `{name: (y_true column, y_score column)}`; `label` becomes a by-key.
        metadata: A table with the attributes, joined by `on`; anything that `frame` may be.
        on: The id column of both tables, or its two names.
        bins: Cut points (left-closed) or a number of quantiles per numeric attribute, e.g. `{"age": [40, 60]}`.
        intersections: 2 for all pairs of attributes, 3 for triples too, `"all"`, or a list of tuples of attributes.
        thresholds: Numbers, `"best_f1"`, `"youden"`, `"tpr=0.9"`, `"tnr=0.95"`, or a mapping from by-key to number;
            0.5 where left out. A score at the threshold counts as positive.
        metrics: Names from `fmfair.metrics.list_metrics()`, some with parameters such as `"tpr_at_fpr(0.1)"`, or
            `"all"`.
        positive: The positive class, where labels are not 0/1 or booleans; all others count as negative.
        ignore: Labels to leave out.
        classes: Names of the score columns in order, where their number differs from that of the labels seen.
        sample_id: Column that identifies a sample, which may occur once per by-key.
        cluster: Column of the patient, where several rows of one are meant.
        weight: Column of sample weights; a row with weight 0 is left out.
        min_group_size: Groups with fewer rows are shown, but left out of the gaps.
        suppress_below: The smallest number of rows that may be read from the report, such as 11; None for all. What
            would tell a smaller one is NULL with the note `suppressed`, in every frame and form, and takes no part in
            gaps: of a group with so few rows everything; with so few positives or negatives all but the rows; with so
            few called positive or negative among them the values at that threshold; and the same of further groups,
            where totals would tell. docs/sharing.md says what this does not protect.
        score_type: `"probability"`, `"logit"` or `"rank"` (any scale; no calibration); `"auto"` decides once for the
            whole table and says so.
        missing_scores: `"raise"`, or `"drop"` to leave rows with a missing or infinite score out and count them.
        missing_labels: `"drop"` and count, or `"raise"`.
        missing_groups: `"drop"` leaves rows with a missing attribute out of that attribute, `"keep"` shows them.
        missing_values: Texts that mean missing, such as `["NA", "unknown"]`.
        conventions: `"standard"`, or `"fairmedfm"` for the numbers of the published package.
        ci: Confidence level of the intervals of all values and gaps, from 0.5 up to 1; None leaves their columns out.
            Whole patients vary where `cluster` is given; else rows count as independent.
        auc_interval: `"logit"`, which holds what it promises with few positives too, or `"wald"` for the plain interval
            of DeLong's variance, equal to that of R's pROC.
        model_based: Whether to add to intersections the columns `model_based`, `model_based_low` and
            `model_based_high`: the value drawn toward what its attributes alone lead to expect, by as much as it is
            uncertain (Fay & Herriot 1979). NULL where an intersection has too few cells, such as 2 x 2.
        reference: The group that others are compared with in `report.pairs`, by attribute: `{"sex": "M"}`; the largest
            where none is named. `"overall"` stands for all rows with the attribute, which a group is part of: the
            interval and the test take account of that. The rows are then held in memory.
        margins: The difference that matters, by metric: `{"auc": 0.05}`. The column `verdict` of gaps and pairs then
            says whether the interval leaves a larger difference `excluded`, `shown`, or `cannot tell`.
        bootstrap: Intervals from resampled patients (`cluster`), samples (`sample_id`) or rows instead of closed forms,
            for every metric, gap and pair: a number of replicates, `"percentile"` (2,000), `"bca"` (10,000), or
            `fmfair.Bootstrap(replicates, method, seed)`. Thresholds stay those of the estimates. The rows are held in
            memory.
        engine: `"polars"`, `"duckdb"` (rows stay on disk: Parquet is read where it lies, anything else is written to
            a temporary Parquet file first), or `"auto"`: DuckDB where `memory_limit` or `temp_dir` is given and for
            Parquet files that would need more than half of the memory, Polars for all else. Both give the same
            numbers; `report.metadata["engine"]` says which ran.
        memory_limit: What DuckDB may hold in memory, such as `"4GB"`; beyond it data are spilled to disk.
        temp_dir: Where DuckDB spills to, and temporary files are put; the system's folder where left out.

    Returns:
        A report with the frames `summary`, `groups`, `gaps` and `overall`, and the notes. With `ci`, `groups` and
        `overall` have an interval, its method and a mark of imprecision beside each value, and `gaps` an interval, a p
        value and what chance alone would show; `fmfair.Report` describes the columns.

    Raises:
        FmfairError: The input cannot be used; the message says what is wrong, where, and what to do.

    Examples:
        >>> df = pl.DataFrame(
        ...     {
        ...         "label": [0, 1, 0, 1, 1, 0, 1, 0],
        ...         "prob": [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1],
        ...         "sex": ["F", "F", "M", "M", "F", "F", "M", "M"],
        ...     }
        ... )
        >>> report = df.pipe(fmfair.evaluate)
        >>> report.summary.select("attribute", "overall-auc", "worst-auc", "auc-gap").rows()
        [('sex', 0.875, 0.75, 0.25)]

        How sure are the values?

        >>> sure = fmfair.evaluate(df, metrics="accuracy", ci=0.95).overall
        >>> sure.select("value", pl.col("ci_low", "ci_high").round(3), "ci_method", "mark").rows()
        [(0.75, 0.409, 0.929, 'Wilson', 'counts only')]
    """
    place = Place(memory_limit, temp_dir)
    question = asked(
        frame,
        metadata,
        on,
        y_true=y_true,
        y_score=y_score,
        y_pred=y_pred,
        y_logit=y_logit,
        attributes=attributes,
        by=by,
        labels=labels,
        sample_id=sample_id,
        cluster=cluster,
        weight=weight,
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
        conventions=conventions,
        ci=ci,
        auc_interval=auc_interval,
        bootstrap=bootstrap,
        model_based=model_based,
        reference=reference,
        margins=margins,
        engine=engine,
    )
    with hashed(frame=frame, metadata=metadata) as files:
        if wants_database(question, place):
            from fmfair.in_database import evaluate_in, open_database

            with open_database(place) as database:
                report = evaluate_in(database, question)
        else:
            report = _in_polars(question)
        return replace(report, metadata=report.metadata | files.facts())


def _in_polars(question: Question) -> Report:
    """The report of a table whose needed columns are held in memory."""
    notes = Notes(question.options.suppress_below)
    source = read_source(question.frame, question.metadata, question.on, notes)
    columns = find_columns(readers.schema(source), question.given, notes)
    patients = unused_patients(readers.schema(source), columns, question.options)
    table = readers.collect(source, [*columns.needed, *patients])
    wide, found = widen(table, columns) if columns.long else (table, columns)
    samples = classification_samples(wide, source, found, question.options, notes)
    for patient in patients:
        note_patients(patient, sizes_of(table, columns, patient), notes)
    report = report_of(samples, found, question.options, notes)
    return replace(report, metadata=report.metadata | rows_read(columns, question.options, table.height))


def read_source(frame: Any, metadata: Any, on: str | tuple[str, str] | None, notes: Notes) -> pl.LazyFrame:
    """The table to evaluate, with the metadata joined where there are any; nothing but the ids is read yet."""
    source = readers.scan(frame)
    if metadata is None:
        if on is not None:
            raise FmfairError(f"on={on!r} joins the table with metadata=, which is not given")
        return source
    return join_metadata(source, readers.scan(metadata, name="the metadata"), on, notes)


def report_of(samples: Samples, columns: Columns, options: Options, notes: Notes) -> Report:
    """The report of the samples of a classification."""
    engine = Engine(samples, options, notes)
    scale = samples.scale

    def measure(groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> pl.DataFrame:
        measured = engine.measure(groupings, listed)
        probability = scale is not None and scale.is_probability
        long = long_table(measured, options.metrics, probability=probability, scored=scale is not None)
        if options.ci is None:
            return long
        known = with_spread(long, measured.spread, measured.confusion, options.metrics)
        if OVERALL not in options.reference.values():
            return known
        from fmfair.overlap import with_overlap  # with SciPy, which takes its time to load

        return with_overlap(known, groupings, samples.attributes, options, lambda: engine)

    resample = None
    if options.bootstrap is not None:
        from fmfair.bootstrap.classification import resampling  # with SciPy, which takes its time to load

        resample = resampling(lambda: engine, options.bootstrap)
    curves = partial(curves_of, samples, "prob") if scale is not None and scale.is_probability else None

    def together(groupings: Sequence[Grouping], wanted: Sequence[int]) -> pl.DataFrame:
        from fmfair.covariance import covariances  # with SciPy, which takes its time to load

        return covariances(lambda: engine, groupings, wanted)

    backend = Backend(measure, resample=resample, rows=RowsInMemory(samples), curves=curves, covariances=together)
    return make_report("classification", samples, columns, options, notes, backend)


def curves_of(
    samples: Samples, column: str, groupings: Sequence[Grouping], wanted: Sequence[int]
) -> Sequence[pl.DataFrame]:
    """The values of a column in bins, for some of the groupings."""
    y = samples.frame["y"] if "y" in samples.frame.columns else None
    return score_curves(samples.frame[column], y, samples.profiles, [groupings[i] for i in wanted])


def make_report(
    task: str, samples: Samples, columns: Columns, options: Options, notes: Notes, backend: Backend
) -> Report:
    """The report of either task, from the samples and what the engine does."""
    frames = build_frames(samples, options, notes, task, backend)
    facts = describe(task, samples, columns, options, "polars") | tested(options, frames)
    facts |= disclosed(options, frames["overall"])
    return Report(**frames, notes=tuple(notes), metadata=facts)
