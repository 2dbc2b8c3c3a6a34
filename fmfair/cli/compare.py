"""`fmfair compare`: from the options as typed to a comparison of models."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fmfair import readers
from fmfair.cli import output
from fmfair.cli.arguments import OF_TASK, SHARED, choose_task, find_roles, plain_arguments, typed_arguments
from fmfair.cli.command import command
from fmfair.cli.tables import mask_paths, predictions, table_path
from fmfair.cli.wording import in_flags
from fmfair.comparison.compare import compare as compare_models
from fmfair.comparison.result import Comparison
from fmfair.inputs import hashed
from fmfair.notes import Notes

Given = Mapping[str, Any]

_ASKED = ("baseline", "headline", "bootstrap")


def compare(given: Given, flags: Mapping[str, str]) -> int:
    """Compares and prints.

    Args:
        given: The value of every option, by the name of the argument that it stands for; None where left out.
        flags: The options as they are typed, by the same names.

    Returns:
        The exit status: 0 done, 1 nothing could be computed.

    Raises:
        FmfairError: The input or an option cannot be used. Then nothing was written.
    """
    form = given["form"] or "table"
    output.check_format(form)
    write = output.destination(given["output_path"], [table_path(given), given["metadata"]])
    found = _compared(given, flags)
    if write is not None:
        write(found)
    output.say(output.formatted(found, form), sys.stdout)
    if not given["quiet"]:
        for note in found.notes:
            output.say_note(in_flags(note, flags))
    if found.differences["difference"].count():
        return 0
    output.say("fmfair: failed: nothing could be computed: no value is defined in two models\n", sys.stderr)
    return 1


def _compared(given: Given, flags: Mapping[str, str]) -> Comparison:
    """The comparison of the models in the table that the options name."""
    everything = {**dict.fromkeys((*SHARED, *OF_TASK["cls"], *OF_TASK["seg"], "task", "empty_score")), **given}
    everything["no_by"] = False
    notes, shown = Notes(given["suppress_below"]), not given["quiet"]
    with output.spinner("reading", shown=shown):
        source = predictions(given, notes)
        schema = readers.schema(source)
    task = choose_task(everything, schema.names()) or "cls"
    arguments = plain_arguments(everything, schema.names(), task)
    columns = find_roles(arguments, schema, task)
    arguments |= typed_arguments(arguments, everything, columns, source, notes)
    if task == "seg":
        if "pred_mask" in columns.values:
            source = mask_paths(source, columns, table_path(given))
        arguments |= columns.values
    by = arguments.pop("by", ["model"])
    arguments |= {name: given[name] for name in _ASKED if given[name] is not None}
    with output.spinner("comparing", shown=shown), hashed(frame=table_path(given), metadata=given["metadata"]) as files:
        found = compare_models(source, by if given["no_by"] or len(by) > 1 else by[0], **arguments)
        facts = {"command": command("compare", given, flags)} | files.facts()
    return replace(found, notes=(*notes, *found.notes), metadata=found.metadata | facts)
