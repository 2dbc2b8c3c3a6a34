"""`fmfair count` and `fmfair merge`: tables of counts from predictions and from one another; and reports from them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fmfair import readers
from fmfair.atomic import whole_file
from fmfair.cli import output
from fmfair.cli.arguments import OF_TASK, SHARED, find_roles, plain_arguments, typed_arguments
from fmfair.cli.options import COUNT_OPTIONS
from fmfair.cli.tables import table_path
from fmfair.cli.wording import in_flags
from fmfair.counting.count import counts
from fmfair.counting.evaluation import evaluate_counts
from fmfair.counting.merging import merge_counts
from fmfair.errors import FmfairError, plural
from fmfair.notes import Notes
from fmfair.report import Report

Given = Mapping[str, Any]

# What can be asked of a report from counts; what else was asked is decided in the counts.
OF_COUNTS = ("thresholds", "metrics", "min_group_size", "ci", "auc_interval", "reference", "margins")
OF_OUTPUT = ("predictions", "table_option", "output_path", "html_path", "plan", "form", "quiet", "fail_if", "task")
UNPROTECTED = (
    "small counts are not suppressed: fine bins of small groups single people out, so share the table only where the "
    "rows themselves may be shared, or count with suppress_below="
)
NO_WEIGHTS = "weights are not counted: sums of weights do not add up exactly, and small ones cannot be suppressed"


def count(given: Given, flags: Mapping[str, str]) -> int:
    """Counts a table of predictions and writes the counts.

    Args:
        given: The value of every option, by the name of the argument that it stands for; None where left out.
        flags: The options as they are typed, by the same names.

    Raises:
        FmfairError: The input or an option cannot be used. Then nothing was written.
    """
    path = table_path(given)
    place = _place(given["output_path"], [path])
    everything = {**dict.fromkeys((*SHARED, *OF_TASK["cls"], "score_column", "intersectional", "no_by")), **given}
    said: list[str] = []
    with output.spinner("counting", shown=not given["quiet"]):
        source = readers.scan(path)
        schema = readers.schema(source)
        arguments = plain_arguments(everything, schema.names(), "cls")
        columns = find_roles(arguments, schema, "cls")
        arguments |= typed_arguments(arguments, everything, columns, source, Notes())
        for role in ("y_true", "y_score"):
            if len(arguments.get(role, ())) == 1:
                (arguments[role],) = arguments[role]
        arguments |= {"grid": given["grid"]} if given["grid"] is not None else {}
        table = counts(path, **arguments, notes=said)
    status = _written(table, place, [in_flags(note, flags) for note in said], quiet=given["quiet"])
    if given["suppress_below"] is None and not given["quiet"]:
        output.say_note(in_flags(UNPROTECTED, flags), warning=True)
    return status


def merge(paths: Sequence[str], output_path: str | None, *, quiet: bool) -> int:
    """Adds tables of counts and writes the sum.

    Raises:
        FmfairError: A table is none of counts, or two do not fit together. Then nothing was written.
    """
    place = _place(output_path, [])
    notes: list[str] = []
    try:
        table = merge_counts(*paths, notes=notes)
    except FmfairError as error:
        raise FmfairError(in_flags(str(error), {"suppress_below": "--suppress-below"})) from None
    return _written(table, place, notes, quiet=quiet, warning=True)


def report_of(path: str, given: Given, flags: Mapping[str, str]) -> Report:
    """The report on a table of counts.

    Raises:
        FmfairError: An option was given that says how predictions are read.
    """
    misplaced = [
        name for name, value in given.items() if name not in (*OF_COUNTS, *OF_OUTPUT) and value not in (None, [], False)
    ]
    if misplaced:
        raise FmfairError("; ".join(_why_not(misplaced, flags)) + f"; {path} holds counts")
    asked = {**dict.fromkeys(given), **{name: given[name] for name in OF_COUNTS}}
    return evaluate_counts(path, **plain_arguments(asked, [], "cls"))


def _why_not(names: Sequence[str], flags: Mapping[str, str]) -> list[str]:
    """What to do about options that say how rows are read."""
    decided = {option.name for options in COUNT_OPTIONS.values() for option in options}
    kinds = (
        ([n for n in names if n in decided], "decided when rows are counted, give it to fmfair count"),
        ([n for n in names if n == "weight"], NO_WEIGHTS),
        ([n for n in names if n not in decided and n != "weight"], "only for rows, leave it out"),
    )
    return [f"{', '.join(flags[n] for n in of)}: {why}" for of, why in kinds if of]


def _place(path: str | None, inputs: Sequence[str]) -> Path:
    """Where the counts are written."""
    if not path:
        raise FmfairError("name the file of the counts with --output, for example --output counts.parquet")
    if Path(path).suffix.lower() != ".parquet":
        raise FmfairError(f"--output {path} must end in .parquet, for example --output counts.parquet")
    if any(Path(path).expanduser().resolve() == Path(given).expanduser().resolve() for given in inputs):
        raise FmfairError(f"--output {path} would replace the table that is read; name another path")
    return Path(path)


def _written(table: pl.DataFrame, place: Path, notes: Sequence[str], *, quiet: bool, warning: bool = False) -> int:
    with whole_file(place) as file:
        table.write_parquet(file)
    samples = int(table.filter(pl.col("attribute_parts").list.len() == 0)["n"].sum())
    output.say(f"{place}: {plural(table.height, 'row')} with the counts of {plural(samples, 'sample')}\n", sys.stdout)
    for note in [] if quiet else notes:
        output.say_note(note, warning=warning)
    return 0
