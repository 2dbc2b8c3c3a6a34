"""`fmfair score`: from the options as typed to a report and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from fmfair import readers
from fmfair.cli import fail_if, output, page
from fmfair.cli.arguments import choose_task, find_roles, plain_arguments, refuse_other_task, typed_arguments
from fmfair.cli.command import command
from fmfair.cli.count import report_of
from fmfair.cli.tables import complete_rows, mask_paths, predictions, table_path
from fmfair.cli.wording import in_flags
from fmfair.columns import holds_counts
from fmfair.errors import plural
from fmfair.evaluation import evaluate
from fmfair.inputs import hashed
from fmfair.notes import Notes
from fmfair.report import Report
from fmfair.segmentation import evaluate_segmentation

Given = Mapping[str, Any]


def score(given: Given, flags: Mapping[str, str]) -> int:
    """Evaluates and prints.

    Args:
        given: The value of every option, by the name of the argument that it stands for; None where left out.
        flags: The options as they are typed, by the same names.

    Returns:
        The exit status: 0 done, 1 nothing could be computed or a condition holds.

    Raises:
        FmfairError: The input or an option cannot be used. Then nothing was written.
    """
    conditions = [fail_if.parse(text) for text in given["fail_if"] or []]
    form = given["form"] or "table"
    output.check_format(form, output.REPORT_FORMATS)
    read = [table_path(given), given["metadata"]]
    writes = [output.destination(given["output_path"], read), page.document(given["html_path"], given["plan"], read)]
    report = evaluated(given, flags)
    verdicts = [fail_if.check(condition, report) for condition in conditions]
    text = f"{report.to_text(form)}\n" if form == "pairs" else output.formatted(report, form)
    for write in writes:
        if write is not None:
            write(report)
    output.say(text, sys.stdout)
    if not given["quiet"]:
        for note in report.notes:
            output.say_note(in_flags(note, flags))
        for condition, verdict in zip(conditions, verdicts, strict=True):
            if verdict.undefined:
                output.say_note(f"--fail-if {condition.text}: undefined in {plural(verdict.undefined, 'row')}")
            if verdict.undecided:
                why = "; ".join(verdict.undecided)
                output.say_note(f"--fail-if {condition.text}: undecided, since {why}", warning=True)
    failures = [f"--fail-if {v.fails}" for v in verdicts if v.fails] + nothing_computed(report)
    for failure in failures:
        output.say(f"fmfair: failed: {failure}\n", sys.stderr)
    return 1 if failures else 0


def nothing_computed(report: Report) -> list[str]:
    """A sentence where not a single gap is defined."""
    gaps = report.gaps.filter(pl.col("statistic") == "difference")
    if gaps["value"].count():
        return []
    reasons = gaps["note"].drop_nulls().unique(maintain_order=True).to_list()
    return ["nothing could be computed: no gap is defined" + (f" ({reasons[0]})" if reasons else "")]


def evaluated(given: Given, flags: Mapping[str, str]) -> Report:
    """The report on the table that the options name."""
    report = _evaluated(given, flags)
    return replace(report, metadata=report.metadata | {"command": command("score", given, flags)})


def _evaluated(given: Given, flags: Mapping[str, str]) -> Report:
    path, notes, shown = table_path(given), Notes(given["suppress_below"]), not given["quiet"]
    with output.spinner("reading", shown=shown):
        source = predictions(given, notes)
        schema = readers.schema(source)
    if holds_counts(schema.names()):
        return report_of(path, given, flags)
    task = choose_task(given, schema.names())
    refuse_other_task(given, flags, task or "cls")
    arguments = plain_arguments(given, schema.names(), task or "cls")
    columns = find_roles(arguments, schema, task)
    arguments |= typed_arguments(arguments, given, columns, source, notes)
    with hashed(frame=path, metadata=given["metadata"]) as files:
        if task == "seg":
            if "pred_mask" in columns.values:
                source = mask_paths(source, columns, path)
            report = evaluate_segmentation(source, **arguments)
        else:
            complete = complete_rows(source, given, columns, notes)
            # Parquet is handed over as the path that it is, so that it may be read where it lies.
            as_it_is = complete is source and given["metadata"] is None and readers.parquet_files(path)
            with output.spinner("evaluating", shown=shown):
                report = evaluate(path if as_it_is else complete, **arguments)
        return replace(report, notes=(*notes, *report.notes), metadata=report.metadata | files.facts())
