"""A user's own table as a manifest: which column is what, given or found by the usual names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from fmfair import readers
from fmfair.columns import ROLE_NAMES, normalise
from fmfair.errors import FmfairError, Problems, listing, near
from fmfair.notes import Notes
from fmfair.runners.tables import MANIFEST, col
from fmfair.runners.typed import check_texts

# The usual names of the columns of a manifest, in the form of `fmfair.columns.normalise`, the likeliest first.
NAMES = {
    "path": ("path", "image_path", "file_path", "filepath", "filename", "file_name", "file", "image"),
    "sample_id": (*ROLE_NAMES["sample_id"], "img_id", "id"),
    "patient_id": ROLE_NAMES["patient"],
    "split": ("split", "subset", "partition", "set"),
}
SPLIT_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "val", "valid", "dev", "development"), "validation"),
    **dict.fromkeys(("test", "testing", "holdout"), "test"),
}
# What is said where nothing splits the images.
ALL_TEST = "no column of splits: all images are test; name one with split= of Roles"


@dataclass(frozen=True)
class Roles:
    """The columns of a user's table, by what they are; what is left out is found by its usual name.

    An empty text for `sample_id`, `patient_id` or `split` says that no column is that, whatever its name.

    Attributes:
        path: The images, as paths from the root.
        sample_id: What tells the images apart; where there is no such column, their paths.
        patient_id: The patients; where there is no such column, each image is one of its own.
        split: train or training; validation, val, valid, dev or development; test, testing or holdout; in small or
            capital letters. Where there is no such column, all images are test; `Manifest.split` makes splits.
        labels: Columns of 0 and 1, empty where unknown.
        attributes: Groups or numbers such as sex and age.
    """

    path: str | None = None
    sample_id: str | None = None
    patient_id: str | None = None
    split: str | None = None
    labels: Sequence[str] | None = None
    attributes: Sequence[str] | None = None


@dataclass(frozen=True)
class Found:
    """A table whose columns have the names of a manifest.

    Attributes:
        table: The table.
        labels: Its labels.
        attributes: Its attributes.
        columns: Those that it has, or had.
        split: Whether something says which split an image is in.
    """

    table: pl.DataFrame
    labels: tuple[str, ...]
    attributes: tuple[str, ...]
    columns: tuple[str, ...]
    split: bool = True


def chosen(table: pl.DataFrame, labels: Sequence[str], attributes: Sequence[str], roles: Roles) -> Found:
    """A manifest that fmfair wrote, with some of its labels and attributes.

    Args:
        table: The table of the manifest.
        labels: Its labels; a column that is named as an attribute is none.
        attributes: Its attributes; a column that is named as a label is none.
        roles: Names some of these columns.

    Raises:
        FmfairError: It names other columns, or what the manifest itself says.
    """
    problems = Problems()
    settled = [f"{role}=" for role in NAMES if getattr(roles, role)]
    if settled:
        problems.add(
            f"{', '.join(settled)}: a manifest that fmfair wrote says that itself; name labels and attributes only"
        )
    there = [name for name in table.columns if name not in MANIFEST]
    _check_lists(roles)
    named = [*(roles.labels or ()), *(roles.attributes or ())]
    for name in dict.fromkeys(name for name in named if name not in there):
        problems.add(f"no label or attribute {name!r}{near(name, there)}; there is {listing(there, 20)}")
    problems.raise_if_any()
    _check_names(named)
    of_labels = labels if roles.labels is None else roles.labels
    of_attributes = attributes if roles.attributes is None else roles.attributes
    return Found(
        table,
        tuple(name for name in of_labels if roles.labels is not None or name not in named),
        tuple(name for name in of_attributes if roles.attributes is not None or name not in named),
        tuple(there),
    )


def in_roles(source: Any, roles: Roles, notes: Notes) -> Found:
    """The user's table with the columns of a manifest; no others are read.

    Args:
        source: Anything tabular, as `fmfair.readers.scan` takes it.
        roles: Which column is what.
        notes: Takes what was found or assumed.

    Raises:
        FmfairError: It cannot be read, or a column is missing.
    """
    _check_lists(roles)
    frame = readers.scan(source)
    columns = readers.column_names(frame)
    single = {role: _single(role, getattr(roles, role), columns) for role in NAMES}
    labels = _several(roles.labels, columns, ROLE_NAMES["y_true"])
    found = [name for name in (*single.values(), *labels) if name is not None]
    attributes = _several(roles.attributes, [c for c in columns if c not in found], ROLE_NAMES["attributes"])
    _check_there(single, {"labels": labels, "attributes": attributes}, columns)
    table = readers.collect(frame, [*found, *attributes])
    problems = Problems()
    check_flat(table, table.columns, problems)
    problems.raise_if_any()
    _check_names((*labels, *attributes))
    identified = _identified(table, single, roles, notes)
    _say_found(roles, labels, attributes, notes)
    joined = identified.hstack(table.select(map(col, (*labels, *attributes))))
    return Found(joined, tuple(labels), tuple(attributes), tuple(columns), single["split"] is not None)


def _check_there(
    single: Mapping[str, str | None], several: Mapping[str, Sequence[str]], columns: Sequence[str]
) -> None:
    """Refuses names that are no columns; each is told with the argument that named it."""
    problems = Problems()
    there = listing(columns, 20)
    if single["path"] is None:
        problems.add(f"no column with image paths; name it with path= of Roles; there is {there}")
    named = [*single.items(), *((role, name) for role, names in several.items() for name in names)]
    for role, name in named:
        if name is not None and name not in columns:
            problems.add(f"no column {name!r} ({role}=){near(str(name), columns)}; there is {there}")
    problems.raise_if_any()


def check_flat(table: pl.DataFrame, names: Sequence[str | None], problems: Problems) -> None:
    """Problems of columns whose values are no single ones; names that are no columns are left to others."""
    for name in (name for name in dict.fromkeys(names) if name in table.columns):
        dtype = table.schema[name]
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
            problems.add(f"column {name!r} has the type {dtype}; expected text, numbers or dates, one value a row")


def _check_names(named: Sequence[str]) -> None:
    """Refuses names of labels and attributes that would be those of two columns of the manifest."""
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise FmfairError(f"{listing(twice)} is named twice; a column is one label or one attribute")
    clash = [name for name in named if name in MANIFEST]
    if clash:
        raise FmfairError(
            f"{listing(clash)} is the name of another column of a manifest; give the label or attribute another one"
        )


def _single(role: str, given: str | None, columns: Sequence[str]) -> str | None:
    if given is not None:
        return given or None
    folded = {normalise(name): name for name in reversed(columns)}
    return next((folded[name] for name in NAMES[role] if name in folded), None)


def _check_lists(roles: Roles) -> None:
    problems = Problems()
    for role, given in (("labels", roles.labels), ("attributes", roles.attributes)):
        if isinstance(given, str):
            problems.add(f"{role}={given!r} is one text; give a list of columns: {role}=[{given!r}]")
        elif given is not None:
            with problems.collecting():
                check_texts(role, given, "columns", "mass")
    problems.raise_if_any()


def _several(given: Sequence[str] | None, columns: Sequence[str], usual: Sequence[str]) -> list[str]:
    return list(given) if given is not None else [name for name in columns if normalise(name) in usual]


def _identified(table: pl.DataFrame, single: Mapping[str, str | None], roles: Roles, notes: Notes) -> pl.DataFrame:
    """The four columns that every manifest has; what is missing is made up from the others, and said."""
    path, sample, patient, split = (single[role] for role in ("path", "sample_id", "patient_id", "split"))
    assert path is not None
    if sample is None:
        notes.say(f"no column of sample ids: the paths in {path!r} take their place")
    if patient is None:
        told = notes.warn if roles.patient_id is None else notes.say
        told("no column of patients: every image counts as a patient of its own; name one with patient_id= of Roles")
    if split is None:
        notes.say(ALL_TEST)
    word = pl.lit("test") if split is None else col(split).cast(pl.String).str.strip_chars()
    return table.select(
        sample_id=col(sample or path).cast(pl.String),
        patient_id=col(patient or sample or path).cast(pl.String),
        path=col(path).cast(pl.String),
        split=word.str.to_lowercase().replace(SPLIT_WORDS),
    )


def _say_found(roles: Roles, labels: Sequence[str], attributes: Sequence[str], notes: Notes) -> None:
    for role, given, columns in (("labels", roles.labels, labels), ("attributes", roles.attributes, attributes)):
        if given is None:
            notes.say(
                f"{role} found by name: {listing(columns, 20)}"
                if columns
                else f"no column of {role} found by name; name them with {role}= of Roles"
            )
