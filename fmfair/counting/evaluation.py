"""`evaluate_counts`: the report from a table of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from fmfair.assemble import Backend, build_frames
from fmfair.counting.cells import Counted, numbered
from fmfair.counting.gap_bounds import compare_bounded
from fmfair.counting.measured import Measuring
from fmfair.counting.merging import added_up, read_counts
from fmfair.errors import listing, plural
from fmfair.inputs import hashed
from fmfair.metadata import describe, tested
from fmfair.notes import Notes
from fmfair.options import Threshold, check_options
from fmfair.report import Report
from fmfair.roles import Columns


def evaluate_counts(
    counts: Any,
    *,
    thresholds: Threshold | Sequence[Threshold] | None = None,
    metrics: str | Sequence[str] | None = None,
    min_group_size: int = 0,
    ci: float | None = 0.95,
    auc_interval: str = "logit",
    reference: Mapping[str, str] | None = None,
    margins: Mapping[str, float] | None = None,
) -> Report:
    """Evaluate a classifier from its counts: the report of `fmfair.evaluate`, with bounds where bins leave room.

    Exact, as from the rows: all rates and counts at thresholds that are bin edges (b / grid). To about 1e-12: ECE whose
    bins divide the grid, Brier score, BCE and observed/expected ratio. Known between `bound_low` and `bound_high`, two
    columns of the frames `groups`, `overall` and `gaps`, with `value` in their middle: AUC, average precision, adjusted
    AUPRC, sensitivity at an FPR, and rates at other thresholds. NULL with a note: partial AUC, calibration intercept
    and slope, ECE with other bins or quantiles.

    With `suppress_below` bins were merged: rates have bounds unless the threshold is an edge of the merged bins, the
    absolute ECE has bounds, other ECE are NULL where merged bins lie across an edge of theirs, and Brier score, BCE and
    observed/expected ratio are known to about 1e-9.

    The value from the rows always lies between the bounds, which include the rounding of sums. Those of a gap hold
    whatever the groups' values are between theirs; a statistic without bounds is one of values in the middle of theirs,
    and its note says so. There are no bounds where a group lacks rows that one of several tables left out.

    Intervals and tests are those of `fmfair.evaluate` for AUC, average precision and rates at bin edges, of scores that
    are rounded down to their bins; what the bounds leave open is added to the intervals. Every row counts as
    independent, since counts know no patients: where several rows are of one patient, intervals are too short and p
    values too small. Of merged bins AUC and average precision have no intervals.

    Rules such as `"best_f1"` choose among the bin edges. Intersections are those that were counted.

    Args:
        counts: A table that `fmfair.counts` or `fmfair.merge_counts` made, or the path of one; several files are
            added up.
        thresholds: Numbers, `"best_f1"`, `"youden"`, `"tpr=0.9"`, `"tnr=0.95"`, or a mapping from by-key to number;
            0.5 where left out.
        metrics: Names from `fmfair.metrics.list_metrics()`, some with parameters, or `"all"`.
        min_group_size: Groups with fewer rows are shown, but left out of the gaps.
        ci: As for `fmfair.evaluate`, like the following.
        auc_interval: The form of the intervals of AUC.
        reference: The groups that others are compared with.
        margins: The differences that matter.

    Returns:
        A report with the frames `summary`, `groups`, `gaps`, `overall` and, with `ci`, `pairs`, and the notes.

    Raises:
        FmfairError: The table is none of counts, or an option cannot be used.

    Examples:
        >>> import fmfair
        >>> df = {"label": [0, 1, 0, 1], "prob": [0.2, 0.9, 0.4, 0.4001], "sex": ["F", "F", "M", "M"]}
        >>> report = fmfair.evaluate_counts(fmfair.counts(df), metrics="auc")
        >>> report.groups.select("group", "value", "bound_low", "bound_high").rows()
        [('F', 1.0, 1.0, 1.0), ('M', 0.5, 0.0, 1.0)]
    """
    asked = check_options(
        thresholds=thresholds,
        metrics=metrics,
        min_group_size=min_group_size,
        ci=ci,
        auc_interval=auc_interval,
        reference=reference,
        margins=margins,
    )
    with hashed(counts=counts) as files:
        table, facts = added_up(read_counts(counts))
        inputs = files.facts()
    counted = numbered(table, facts)
    options = replace(
        asked,
        intersections=[parts for parts in facts.groupings if len(parts) > 1],
        score_type=facts.score_type,
        missing_groups=facts.missing_groups,
        positive=facts.positive,
        ignore=facts.ignore,
    )
    notes = Notes()
    _note_source(counted, notes)
    measuring = Measuring(counted, options, notes)
    backend = Backend(measuring.measure, compare_bounded, curves=None if facts.suppressed else counted.curves)
    frames = build_frames(counted, options, notes, "classification", backend)
    columns = Columns(attributes=tuple(facts.attributes), by=tuple(counted.by.columns))
    metadata = describe("classification", counted, columns, options, "counts") | tested(options, frames)
    metadata["counts"] = {"grid": facts.grid, "suppress_below": facts.suppress_below}
    metadata |= inputs
    return Report(**frames, notes=tuple(notes), metadata=metadata)


def _note_source(counted: Counted, notes: Notes) -> None:
    """Where the numbers come from, which groups are not shown, and which rows have none."""
    facts = counted.facts
    notes.say(
        f"computed from counts on a grid of {facts.grid:,} score bins: bound_low and bound_high enclose the value that "
        "the rows themselves have"
    )
    if facts.suppressed:
        notes.warn(
            f"numbers of rows below {facts.suppress_below} were suppressed: bins were merged, which widens the bounds, "
            "and small groups left out"
        )
    for number, parts in enumerate(facts.groupings, 1):
        rows = counted.rows.filter(pl.col("grouping") == number)
        left_out = rows.filter(pl.col("left_out") > 0)
        if left_out.height:
            cells = left_out.select("by", *_columns(counted, parts)).unique(maintain_order=True).rows()
            names = dict.fromkeys(_name(counted, parts, codes) for _, *codes in cells)
            notes.warn(
                f"{' & '.join(parts)}: rows of {listing(names)} were left out of the counts, or may have been, so that "
                "values of these groups lack them and have no bounds"
            )
    _note_missing(counted, notes)


def _columns(counted: Counted, parts: Sequence[str]) -> list[str]:
    return [next(a.column for a in counted.attributes if a.name == name) for name in parts]


def _name(counted: Counted, parts: Sequence[str], codes: Sequence[int]) -> str:
    of_name = {a.name: a for a in counted.attributes}
    return " & ".join(of_name[name].labels[code] for name, code in zip(parts, codes, strict=True))


def _note_missing(counted: Counted, notes: Notes) -> None:
    """How many rows are in no group of an attribute, and why."""
    for name in counted.facts.attributes:
        missing = counted.lacking(name)
        if missing and counted.facts.suppressed:
            notes.warn(
                f"{name}: {plural(missing, 'row')} in no listed group, left out with a small group or for want of a "
                "value, so that values on all rows with the attribute lack them"
            )
        elif missing:
            notes.warn(
                f"{name}: {plural(missing, 'row')} with a missing value left out for this attribute "
                f"(missing_groups='keep' in fmfair.counts shows them as a group)"
            )
