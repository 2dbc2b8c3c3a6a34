"""From the options as typed to the arguments of `evaluate` and `evaluate_segmentation`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from fmfair import readers
from fmfair.cli import parsing
from fmfair.columns import ROLE_NAMES, SCORE_FAMILY, normalise
from fmfair.errors import FmfairError, plural
from fmfair.notes import Notes
from fmfair.roles import Columns, find_columns, find_values

SHARED = (
    *("attributes", "by", "bins", "intersections", "sample_id", "cluster", "weight", "min_group_size", "ci"),
    *("suppress_below", "bootstrap", "reference", "margins", "model_based"),
    *("missing_groups", "missing_values", "conventions"),
)
# The arguments of each task, those that name its columns first.
COLUMNS = {
    "cls": ("y_true", "y_score", "y_pred", "y_logit", "labels"),
    "seg": ("dice", "iou", "pred_mask", "true_mask"),
}
OF_TASK = {
    "cls": (
        *(*COLUMNS["cls"], "thresholds", "metrics", "positive", "ignore", "classes", "score_type"),
        *("auc_interval", "missing_scores", "missing_labels", "engine", "memory_limit", "temp_dir"),
    ),
    "seg": (*COLUMNS["seg"], "label", "mask_threshold", "mask_type", "empty"),
}
# Options of one task that stand for no argument of their own.
ALIASES = {"cls": ("score_column",), "seg": ("empty_score",)}
SEVERAL_COLUMNS = ("y_true", "y_score", "attributes", "by")

Given = Mapping[str, Any]


def choose_task(given: Given, names: Sequence[str]) -> str | None:
    """`cls` or `seg`: as named, else by the options that name columns, else by the columns; None where nothing tells.

    Raises:
        FmfairError: The table has the columns of both, or the task is not known.
    """
    task = given["task"] or "auto"
    if task not in ("auto", "cls", "seg"):
        raise FmfairError(f"--task {task} is not known; expected auto, cls or seg")
    if task != "auto":
        return str(task)
    named = [task for task, roles in COLUMNS.items() if any(given[role] for role in roles)]
    if len(named) == 1:
        return named[0]
    found = {normalise(name) for name in names}
    has = {role: bool(found & set(usual)) for role, usual in ROLE_NAMES.items()}
    family = any(SCORE_FAMILY.fullmatch(name) for name in found)
    scored = has["y_score"] or has["y_pred"] or has["y_logit"] or family
    seg = has["dice"] or (has["pred_mask"] and has["true_mask"])
    if named or (seg and has["y_true"] and scored):
        raise FmfairError("there are both classification and segmentation columns; say --task cls or --task seg")
    if seg:
        return "seg"
    if has["y_true"] or scored:
        return "cls"
    return "seg" if has["pred_mask"] or has["true_mask"] else None


def refuse_other_task(given: Given, flags: Mapping[str, str], task: str) -> None:
    """Refuses options that would be without effect."""
    other, name = ("seg", "segmentation") if task == "cls" else ("cls", "classification")
    misplaced = [flags[option] for option in (*OF_TASK[other], *ALIASES[other]) if given[option] not in (None, [])]
    if misplaced:
        raise FmfairError(f"{', '.join(misplaced)}: only for {name}, but the task is {task}; see --task")


def plain_arguments(given: Given, names: Sequence[str], task: str) -> dict[str, Any]:
    """The arguments that were given and do not depend on what is in the columns."""
    found = {name: given[name] for name in (*SHARED, *OF_TASK[task]) if given[name] not in (None, [])}
    parsers: dict[str, Callable[[Any], Any]] = {
        **dict.fromkeys(SEVERAL_COLUMNS, lambda texts: parsing.column_names(texts, names)),
        "bins": parsing.bins,
        "ci": parsing.level,
        "bootstrap": lambda given: int(given) if str(given).isdecimal() else given,
        "reference": lambda texts: parsing.assigned(texts, "--reference", "sex=M"),
        "margins": lambda texts: parsing.assigned(texts, "--margin", "auc=0.05"),
        "labels": lambda texts: parsing.pairs(texts, names),
        "thresholds": parsing.thresholds,
        "metrics": parsing.metrics,
        "intersections": lambda texts: parsing.intersections(texts, names),
        "label": _mask_label,
    }
    found.update({name: parse(found[name]) for name, parse in parsers.items() if name in found})
    if given["no_by"]:
        if "by" in found:
            raise FmfairError("--by and --no-by contradict each other; give one of them")
        found["by"] = []
    if task == "seg" and given["empty_score"] is not None:
        if "empty" in found or given["empty_score"] not in (0.0, 1.0):
            raise FmfairError("--empty-score is 1 or 0, and another name for --empty one or --empty zero")
        found["empty"] = "one" if given["empty_score"] else "zero"
    return found


def find_roles(arguments: Mapping[str, Any], schema: pl.Schema, task: str | None) -> Columns:
    """Which column plays which part; the evaluation finds the same, and notes it."""
    names = (*COLUMNS[task or "cls"], "attributes", "by", "sample_id", "cluster", "weight", "bins")
    roles = {name: arguments.get(name) for name in names}
    if task == "seg":
        return find_values(schema, roles, Notes())
    try:
        return find_columns(schema, roles, Notes())
    except FmfairError as error:
        if task is not None:
            raise
        raise FmfairError(f"{error}. For a segmentation name --dice, or --pred-mask and --true-mask") from None


def typed_arguments(
    arguments: Mapping[str, Any], given: Given, columns: Columns, source: pl.LazyFrame, notes: Notes
) -> dict[str, Any]:
    """The arguments that depend on the columns: labels in the type of theirs, classes, intersections of all."""
    found: dict[str, Any] = {}
    true = [*columns.y_true, *(pair[0] for pair in columns.pairs.values())]
    one_hot = len(columns.y_true) > 1
    dtype = None if one_hot or not true else readers.schema(source)[true[0]]
    for name in ("ignore", "classes"):
        if name in arguments:
            found[name] = [parsing.typed(text, dtype) for text in arguments[name]]
    if "positive" in arguments:
        text = arguments["positive"]
        position = parsing.number(text) if one_hot and text not in columns.y_true else None
        found["positive"] = parsing.typed(text, dtype) if position is None else position
    if given["intersectional"]:
        found["intersections"] = _full_combination(arguments, columns, source)
    position = _score_position(given, columns, notes)
    if position is not None:
        if "classes" in arguments:
            raise FmfairError("--classes and --score-column both say which score column is which; give one of them")
        positive = found.get("positive", 1)
        found["classes"] = [positive if i == position else f"not {positive} {i}" for i in range(len(columns.y_score))]
    return found


def _full_combination(arguments: Mapping[str, Any], columns: Columns, source: pl.LazyFrame) -> Any:
    """The one intersection of all attributes; nothing to add where there is only one attribute."""
    if "intersections" in arguments:
        raise FmfairError("--intersectional and --intersections contradict each other; give one of them")
    attributes = columns.attributes
    if columns.long:
        listed = readers.collect(source, ["attribute"])["attribute"].drop_nulls()
        attributes = tuple(listed.unique(maintain_order=True).cast(pl.String))
    return [attributes] if len(attributes) > 1 else 1


def _score_position(given: Given, columns: Columns, notes: Notes) -> int | None:
    """The position of the positive class among several score columns, where an option says it."""
    names, position = columns.y_score, given["score_column"]
    if position is not None:
        if not 0 <= position < len(names) or len(names) < 2:
            raise FmfairError(
                f"--score-column {position}: expected a position from 0 among several score columns, but there is "
                f"{plural(len(names), 'score column')}"
            )
        return int(position)
    positive = given["positive"]
    if given["conventions"] == "fairmedfm" and positive is not None and len(names) > 1:
        # The published command line goes by any part of a column's name, not by whole words.
        named = [i for i, name in enumerate(names) if normalise(positive) in normalise(name)]
        if len(named) == 1:
            notes.say(f"positive class {positive!r}: score column {names[named[0]]!r}")
            return named[0]
    return None


def _mask_label(text: str) -> int | float:
    value = parsing.number(text)
    if value is None:
        raise FmfairError(f"--mask-label {text}: expected the number of a class in the masks")
    return value
