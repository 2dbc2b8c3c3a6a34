"""Which column plays which part: given by the user, or found by the usual names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from fmfair.attributes import check_bins, check_names
from fmfair.columns import ROLE_NAMES, SCORE_FAMILY, holds_counts, normalise
from fmfair.errors import FmfairError, Problems, listing, near
from fmfair.notes import Notes

# How the command line spells the arguments that name columns.
FLAGS: Mapping[str, str] = {
    "y_true": "--label",
    "y_score": "--score",
    "y_pred": "--pred",
    "y_logit": "--logit",
    "attributes": "--sensitive",
    "by": "--by",
    "dice": "--dice",
    "pred_mask": "--pred-mask",
    "true_mask": "--true-mask",
}

# Arguments that may name several columns.
_SEVERAL = ("y_true", "y_score", "attributes", "by")


@dataclass(frozen=True)
class Columns:
    """The columns that an evaluation reads; several y_true are one-hot columns, several y_score one per class.

    `score_names` are the user's names of the class columns where they differ from the columns' own.
    `pairs` are the column pairs of `labels=`, by the name that becomes the by-key `label`. `values` are the columns
    with a segmentation metric per sample, by metric; while there are only masks, those with their paths, by role.
    `from_masks` says that the metrics were computed from masks and are no columns of the user's.
    """

    y_true: tuple[str, ...] = ()
    y_score: tuple[str, ...] = ()
    score_names: tuple[str, ...] = ()
    y_pred: str | None = None
    y_logit: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    from_masks: bool = False
    attributes: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    pairs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    sample_id: str | None = None
    cluster: str | None = None
    weight: str | None = None
    long: bool = False

    @property
    def needed(self) -> list[str]:
        """Every column to read, each once."""
        single = (self.y_pred, self.y_logit, *self.values.values(), self.sample_id, self.cluster, self.weight)
        paired = [c for pair in self.pairs.values() for c in pair]
        wanted = [
            *self.by,
            *self.attributes,
            *self.y_true,
            *self.y_score,
            *paired,
            *(c for c in single if c is not None),
        ]
        return list(dict.fromkeys(wanted))


def find_columns(schema: Mapping[str, pl.DataType], given: Mapping[str, Any], notes: Notes) -> Columns:
    """The columns of a classification, from what the user named and from the usual names.

    Args:
        schema: The table's columns.
        given: The arguments y_true, y_score, y_pred, y_logit, attributes, by, labels, sample_id, cluster, weight;
            None where the user said nothing.
        notes: Says what was found by name.

    Raises:
        FmfairError: A named column does not exist, a role has two candidates, or none.
    """
    names = list(schema)
    _require(names, given)
    columns = Columns(
        y_true=as_names(given["y_true"]),
        y_score=as_names(given["y_score"]),
        y_pred=given["y_pred"],
        y_logit=given["y_logit"],
        pairs={str(k): _pair(k, v) for k, v in (given["labels"] or {}).items()},
        cluster=given["cluster"],
        weight=given["weight"],
    )
    outcome = (columns.y_true or None, columns.y_score or None, columns.y_pred, columns.y_logit)
    if columns.pairs and any(named is not None for named in outcome):
        raise FmfairError("labels= names the pairs of y_true and y_score columns; leave out the other y_ arguments")
    if not columns.pairs:
        columns = _find_outcome(schema, columns)
    taken = set(columns.needed)
    _note_found(columns, given, notes)
    columns = _find_context(names, columns, given, taken, notes)
    columns = _find_attributes(names, columns, given, notes)
    _note_unused(names, columns, notes)
    return columns


def find_values(schema: Mapping[str, pl.DataType], given: Mapping[str, Any], notes: Notes) -> Columns:
    """The columns of a segmentation: a metric per sample, or paths of masks from which it is computed.

    Args:
        schema: The table's columns.
        given: The arguments dice, iou, pred_mask, true_mask, attributes, by, sample_id, cluster, weight, bins.
        notes: Says what was found by name.

    Raises:
        FmfairError: A named column does not exist, a role has two candidates, or there is nothing to evaluate.
    """
    names = list(schema)
    _require(names, given)
    found = {role: given[role] for role in ("dice", "iou", "pred_mask", "true_mask")}
    if not any(found.values()):
        found.update({role: _one_by_name(names, role) for role in ("dice", "pred_mask", "true_mask")})
        if found["dice"]:
            found["pred_mask"] = found["true_mask"] = None
    values = {metric: found[metric] for metric in ("dice", "iou") if found[metric]}
    masks = (found["pred_mask"], found["true_mask"])
    if (any(masks) and not all(masks)) or not (values or all(masks)):
        raise FmfairError(
            "no segmentation columns found; name a value per sample with dice= (--dice) or iou=, or the paths of the "
            f"masks with pred_mask= and true_mask= (--pred-mask, --true-mask). {_available(names)}"
        )
    if values and all(masks):
        raise FmfairError("give either dice=/iou= or pred_mask= and true_mask=, not both")
    columns = Columns(
        values=values or dict(zip(("pred_mask", "true_mask"), masks, strict=True)),
        cluster=given["cluster"],
        weight=given["weight"],
    )
    columns = _find_context(names, columns, given, set(columns.needed), notes)
    return _find_attributes(names, columns, given, notes)


def _find_outcome(schema: Mapping[str, pl.DataType], columns: Columns) -> Columns:
    names = list(schema)
    problems = Problems()
    found: dict[str, Any] = {}
    if not columns.y_true:
        candidates = _by_name(names, "y_true")
        # A text column called label beside numeric labels names the finding of each row: a by-key.
        text = [c for c in candidates if normalise(c) == "label" and schema[c] == pl.String]
        if len(candidates) > 1 and text:
            candidates = [c for c in candidates if c not in text]
        _choose(candidates, "y_true", problems)
        found["y_true"] = tuple(candidates[:1])
    free = [n for n in names if n not in columns.needed and n not in found.get("y_true", ())]
    if columns.y_pred is None:
        found["y_pred"] = next(iter(_by_name(free, "y_pred")), None)
    if columns.y_logit is None:
        found["y_logit"] = next(iter(_by_name(free, "y_logit")), None)
    if not columns.y_score:
        found["y_score"] = _score_columns(free, problems)
    problems.raise_if_any()
    columns = replace(columns, **found)
    if not columns.y_true:
        raise FmfairError(f"no y_true column found; name it with y_true= ({FLAGS['y_true']}). {_available(names)}")
    if not columns.y_score and columns.y_pred is None and columns.y_logit is None:
        raise FmfairError(
            f"no y_score column found; name it with y_score= ({FLAGS['y_score']}), or decisions already made with "
            f"y_pred= ({FLAGS['y_pred']}). {_available(names)}"
        )
    return columns


def _score_columns(names: Sequence[str], problems: Problems) -> tuple[str, ...]:
    single = _by_name(names, "y_score")
    if single:
        _choose(single, "y_score", problems)
        return tuple(single[:1])
    families: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        match = SCORE_FAMILY.fullmatch(normalise(name))
        if match:
            families.setdefault(match.group(1), []).append((int(match.group(2)), name))
    if len(families) > 1:
        problems.add(
            f"several families of score columns: {listing(families)}; choose the columns with y_score= "
            f"({FLAGS['y_score']})"
        )
    return tuple(name for _, name in sorted(next(iter(families.values()), [])))


def _find_context(
    names: list[str], columns: Columns, given: Mapping[str, Any], taken: set[str], notes: Notes
) -> Columns:
    """By-keys and sample ids."""
    wanted = {*as_names(given["attributes"])} | taken
    if given["by"] is None:
        found = _by_name(names, "by")
        if "usage" in map(normalise, found):  # predictions of `fmfair run`: what was fitted on is no test
            found += [c for c in names if normalise(c) == "split"]
        by = tuple(c for c in found if c not in wanted)
        if by:
            notes.say(f"by-keys found by name: {', '.join(by)} (by=[] switches this off)")
    else:
        by = as_names(given["by"])
    sample_id = given["sample_id"]
    if sample_id is None:
        sample_id = next((c for c in _by_name(names, "sample_id") if c not in wanted and c not in by), None)
    return replace(columns, by=by, sample_id=sample_id)


def _note_found(columns: Columns, given: Mapping[str, Any], notes: Notes) -> None:
    """Says which columns were found by their usual names."""
    roles = {"y_true": columns.y_true, "y_score": columns.y_score, "y_pred": columns.y_pred, "y_logit": columns.y_logit}
    found = [f"{role} = {listing(as_names(c), limit=10)}" for role, c in roles.items() if c and given[role] is None]
    if found:
        notes.say(f"found by name: {'; '.join(found)}")


def _note_unused(names: Sequence[str], columns: Columns, notes: Notes) -> None:
    """Says which columns play no part: one of them may be a model or finding that is pooled here."""
    unused = [n for n in names if n not in columns.needed]
    if unused and not columns.long:
        notes.say(f"columns not used: {listing(unused, limit=10)}")


def _find_attributes(names: list[str], columns: Columns, given: Mapping[str, Any], notes: Notes) -> Columns:
    if given["attributes"] is None and {"attribute", "group"} <= set(names) and not _by_name(names, "attributes"):
        if columns.sample_id is None:
            raise FmfairError(
                "the table is long (columns attribute and group), so that each sample has several rows; name the "
                "column that identifies a sample with sample_id="
            )
        notes.say("read as a long table: one row per sample and attribute")
        return replace(columns, attributes=("attribute", "group"), long=True)
    attributes = as_names(given["attributes"])
    if not attributes:
        taken = {*columns.needed}
        attributes = tuple(c for c in _by_name(names, "attributes") if c not in taken)
        if not attributes:
            raise FmfairError(
                f"no attribute column found; name the columns with attributes= ({FLAGS['attributes']}). "
                f"{_available(names)}"
            )
        notes.say(f"attributes found by name: {', '.join(attributes)}")
    check_names(attributes)
    check_bins(given["bins"] or {}, attributes)
    clash = sorted(set(attributes) & set(columns.by))
    if clash:
        raise FmfairError(f"{listing(clash)} cannot be an attribute and a by-key at once")
    return replace(columns, attributes=attributes)


def _by_name(names: Sequence[str], role: str) -> list[str]:
    return [n for n in names if normalise(n) in ROLE_NAMES[role]]


def _one_by_name(names: Sequence[str], role: str) -> str | None:
    candidates = _by_name(names, role)
    problems = Problems()
    _choose(candidates, role, problems)
    problems.raise_if_any()
    return candidates[0] if candidates else None


def _choose(candidates: Sequence[str], role: str, problems: Problems) -> None:
    if len(candidates) > 1:
        shown = " and ".join(repr(c) for c in candidates)
        problems.add(f"several columns could be {role}: {shown}; choose one with {role}= ({FLAGS[role]})")


def as_names(value: Any) -> tuple[str, ...]:
    """Names given as nothing, one text or several."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def _pair(name: Any, value: Any) -> tuple[str, str]:
    is_pair = isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2
    if not is_pair or not all(isinstance(column, str) for column in value):
        raise FmfairError(f"labels[{name!r}]={value!r} is not a pair of column names (y_true, y_score)")
    return (value[0], value[1])


def _require(names: Sequence[str], given: Mapping[str, Any]) -> None:
    """Every column that the user named must exist; the table's own names are quoted unchanged."""
    problems = Problems()
    if not names:
        raise FmfairError("the table has no columns")
    if holds_counts(names):
        raise FmfairError(
            "this is a table of counts, not one of rows; evaluate it with evaluate_counts (command line: fmfair score)"
        )
    for argument, value in given.items():
        if argument == "bins" or value is None:
            continue
        wanted: tuple[Any, ...] = ()
        with problems.collecting():
            wanted = _wanted(argument, value)
        for name in dict.fromkeys(wanted):
            if name not in names:
                flag = f" ({FLAGS[argument]})" if argument in FLAGS else ""
                problems.add(f"{argument}={name!r}{flag}: no column {name!r}{near(str(name), names)}")
    try:
        problems.raise_if_any()
    except FmfairError as error:
        raise FmfairError(f"{error}. {_available(names)}") from None


def _wanted(argument: str, value: Any) -> tuple[Any, ...]:
    """The column names that an argument holds."""
    if argument == "labels":
        if not isinstance(value, Mapping) or not value:
            raise FmfairError(f"labels={value!r} is not a mapping {{name: (y_true column, y_score column), ...}}")
        return tuple(name for key, pair in value.items() for name in _pair(key, pair))
    if isinstance(value, str):
        return (value,)
    if argument not in _SEVERAL:
        raise FmfairError(f"{argument}={value!r} is not the name of a column")
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise FmfairError(f"{argument}={value!r} is neither the name of a column nor a list of them")
    names = tuple(value)
    if not names and argument != "by":
        raise FmfairError(f"{argument}={value!r} names no column; leave it out to have the usual names looked for")
    return tuple(name if isinstance(name, str) else _refuse_name(argument, name) for name in names)


def _refuse_name(argument: str, name: object) -> str:
    raise FmfairError(f"{argument}: no column {name!r}; the names of columns are text")


def _available(names: Sequence[str]) -> str:
    hint = ""
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        hint = f"; found one column named {names[0]!r}: is the separator another one?"
    return f"Columns: {listing(names, limit=30)}{hint}"
