"""`evaluate`: a table of predictions in, a report of how performance differs between groups out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair import readers
from fmfair.assemble import build_frames
from fmfair.longtable import widen
from fmfair.metadata import describe
from fmfair.measures import Engine, long_table
from fmfair.notes import Notes
from fmfair.options import Bins, Intersections, Options, Threshold, check_options
from fmfair.report import Report
from fmfair.roles import Columns, find_columns
from fmfair.samples import Samples, classification_samples
from fmfair.thresholds import check_thresholds


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
    score_type: str = "auto",
    missing_scores: str = "raise",
    missing_labels: str = "drop",
    missing_groups: str = "drop",
    missing_values: Sequence[str] = (),
    conventions: str = "standard",
) -> Report:
    """TODO docstring."""
    options = check_options(
        bins=bins, intersections=intersections, thresholds=thresholds, metrics=metrics, positive=positive, ignore=ignore,
        classes=classes, min_group_size=min_group_size, score_type=score_type, missing_scores=missing_scores,
        missing_labels=missing_labels, missing_groups=missing_groups, missing_values=missing_values,
        conventions=conventions,
    )
    check_thresholds(options.thresholds, options.conventions)
    given = {
        "y_true": y_true, "y_score": y_score, "y_pred": y_pred, "y_logit": y_logit, "attributes": attributes, "by": by,
        "labels": labels, "sample_id": sample_id, "cluster": cluster, "weight": weight, "bins": bins,
    }
    notes = Notes()
    source = readers.scan(frame)
    columns = find_columns(readers.schema(source), given, notes)
    table = readers.collect(source, columns.needed)
    if columns.long:
        table, columns = widen(table, columns)
    samples = classification_samples(table, source, columns, options, notes)
    return report_of(samples, columns, options, notes)


def report_of(samples: Samples, columns: Columns, options: Options, notes: Notes) -> Report:
    """The report of prepared samples."""
    engine = Engine(samples, options.metrics, options)
    scale = samples.scale

    def measure(groupings: Any, listed: Any) -> pl.DataFrame:
        measured = engine.measure(groupings, listed)
        return long_table(
            measured, options.metrics, probability=scale is not None and scale.is_probability, scored=scale is not None
        )

    frames = build_frames(samples, options.metrics, options, notes, "classification", measure)
    return Report(
        summary=frames.summary,
        groups=frames.groups,
        gaps=frames.gaps,
        overall=frames.overall,
        notes=tuple(notes),
        metadata=describe("classification", samples, columns, options, options.metrics),
    )
