"""Roles: which task a table of several models is of, and which column plays which part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from fmfair.columns import ROLE_NAMES, normalise
from fmfair.comparison.frames import NAMES
from fmfair.errors import FmfairError, listing, near
from fmfair.notes import Notes
from fmfair.roles import Columns, as_names, find_columns, find_values

# A by-key beside what is compared, such as the usage, and what the results call it: their `model` is what is compared.
RENAMED = {"model": "by_model"}


def are_values(
    schema: Mapping[str, pl.DataType],
    scores: Mapping[str, Any],
    values: Mapping[str, Any],
    only: Mapping[str, Mapping[str, bool]],
) -> bool:
    """Whether models are compared by a value per sample, as of a segmentation, and not by scores against labels.

    Args:
        schema: The table's columns.
        scores: The columns of a classification as they are named; None where they are not.
        values: Those of a segmentation: dice, iou, pred_mask, true_mask.
        only: By either task the options that only it can use, and whether they were set.

    Raises:
        FmfairError: Columns of both are named, or an option is one of the other task.
    """
    named = [[role for role, name in roles.items() if name is not None] for roles in (scores, values)]
    if all(named):
        raise FmfairError(f"{listing(named[0])} and {listing(named[1])} are columns of two tasks; name those of one")
    found = {normalise(name) for name in schema}
    has = {role: bool(found & set(ROLE_NAMES[role])) for role in ("y_true", "dice", "pred_mask", "true_mask")}
    of_values = bool(named[1]) or (
        not named[0] and not has["y_true"] and (has["dice"] or (has["pred_mask"] and has["true_mask"]))
    )
    other, task = ("classification", "segmentation") if of_values else ("segmentation", "classification")
    misplaced = [name for name, is_set in only[other].items() if is_set]
    if misplaced:
        raise FmfairError(f"{', '.join(misplaced)}: only for a {other}, but this is a {task}")
    return of_values


def model_columns(
    schema: Mapping[str, pl.DataType], given: Mapping[str, Any], by: Any, of_values: bool, notes: Notes
) -> Columns:
    """Which column plays which part; by-keys beside that of the models are found by name where `by` is one name."""
    find = find_values if of_values else find_columns
    names = as_names(by)
    if not names:
        raise FmfairError("by= names the column of the models, such as by='model'")
    if names[0] not in schema:
        raise FmfairError(
            f"by={names[0]!r}: no column {names[0]!r}{near(str(names[0]), schema)}; name the column of the models. "
            f"Columns: {listing(schema, limit=30)}"
        )
    if isinstance(by, str):
        others = [name for name in find(schema, {**given, "by": None}, Notes()).by if name != by]
        if others:
            notes.say(f"compared within each {' and '.join(others)}, found by name; a list in by= chooses them")
        names = (by, *others)
    taken = [name for name in names[1:] if RENAMED.get(str(name), name) in NAMES]
    taken += [name for name, other in RENAMED.items() if name in names[1:] and other in names]
    if taken:
        raise FmfairError(f"by-key {listing(taken)} has the name of a column of the results; rename it")
    return find(schema, {**given, "by": names}, notes)
