"""What a recipe can say: how the release of a data set becomes a manifest. One TOML file each, in this folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from fmfair.errors import FmfairError, Problems, check_choice, listing, near
from fmfair.runners.description import SLICES, Prompts

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")
Words = Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A table of the release.

    Attributes:
        file: Its path from the root, or several that it may have; the first that exists is read.
        sheet: The sheet of an Excel file; where there is none of that name, the first.
        headings: How many of its rows name the columns; the lowest cell that is filled counts.
        values: Columns to add that have the same value in every row.
        on: In a table that is joined: its column, by the column of the images that it equals.
        columns: In a table that is joined: the columns to take.
        several: In a table that is joined and has several rows for one image: `refuse` them, or take the value that
            is the most `common`, the first of those that are equally so.
        missing: In a table that is joined: texts that say that a value is not known.
        optional: Whether the release is complete without it.
        why: What it is for and where it comes from, where that is not the release itself.
    """

    file: tuple[str, ...]
    sheet: str = ""
    headings: int = 1
    values: Words = field(default_factory=dict)
    on: Words = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    several: str = "refuse"
    missing: tuple[str, ...] = ()
    optional: bool = False
    why: str = ""


@dataclass(frozen=True)
class Labels:
    """One label or several that are read in the same way. A value in none of the lists is an error.

    Attributes:
        names: The column of each label or, with a separator, the finding.
        column: With a separator: the column that lists findings.
        separator: What stands between findings; a label is 1 where its finding is listed and 0 where it is not.
        positive: The values that are 1; with a separator, other findings that may be listed.
        negative: The values that are 0; the empty text is an empty cell.
        unknown: The values that leave the label unknown.
        published: Which of the lists the published benchmark has otherwise, for `labels="fairmedfm"`.
        templates: The sentences of the prompts.
        prompts: The words for 0 and for 1 of a label; without them `no_prompt` and its column or finding.
        no_prompt: The word for 0 of labels without prompts of their own.
        why: The rule in words.
    """

    names: Words
    why: str
    column: str = ""
    separator: str = ""
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    published: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    templates: tuple[str, ...] = ("{}",)
    prompts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    no_prompt: str = ""

    def of(self, label: str) -> Prompts:
        """The prompts of a label."""
        negative, positive = self.prompts.get(label, (self.no_prompt, self.names[label]))
        return Prompts((negative,), (positive,), self.templates, (negative, positive))

    def lists(self, rule: str) -> dict[str, tuple[str, ...]]:
        """The values that are positive, negative and unknown by a rule, `standard` or `fairmedfm`."""
        lists = {"positive": self.positive, "negative": self.negative, "unknown": self.unknown}
        return {**lists, **self.published} if rule == "fairmedfm" else lists


@dataclass(frozen=True)
class Attribute:
    """One attribute, as it was released.

    Attributes:
        column: Its column.
        rule: How it is read, one of `rules.RULES`.
        words: With the rule `words`: what each code means.
        known: The only texts that there may be.
        missing: Texts that say that it is not known.
        year: With the rule `age_at`: the column of the year in which the age holds.
        date: With the rule `age_at`: the column of the day of the image, as YYYYMMDD.
        why: What must be known of it.
    """

    column: str
    rule: str = "text"
    words: Words = field(default_factory=dict)
    known: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    year: str = ""
    date: str = ""
    why: str = ""


@dataclass(frozen=True)
class Released:
    """The split that came with the release: a column with words for splits, or files that list the samples."""

    column: str = ""
    words: Words = field(default_factory=dict)
    lists: Words = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    """What else the published FairMedFM benchmark does to the data set, repeated with its split.

    Attributes:
        require: Attributes without which a row is left out.
        agree: Columns that must hold the same text, by one another; where not, the row is left out.
        note: How the split differs from the one that was used, where it cannot be repeated.
    """

    require: tuple[str, ...] = ()
    agree: Words = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Counts:
    """What the release holds, as published; a difference is said.

    Attributes:
        images: Rows of the manifest.
        patients: Patients.
        groups: Images of groups, as `attribute=value`, and of positives, as `label=1`.
    """

    images: int
    patients: int | None = None
    groups: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """How the release of a data set becomes a manifest.

    Attributes:
        name: The short name.
        title: The name in print.
        modality: What the images are.
        licence: What may be done with them.
        access: How to get them.
        layout: What the root holds.
        tables: The tables whose rows are the images, one below the other.
        joins: Tables that add columns.
        extracts: Columns to add that are a part of another one, as `column ~ pattern` with one group.
        sample_id: A template such as `RET{ID[1:]}OD`: columns in braces, with a slice where a part is meant.
        patient_id: A template.
        path: Templates of the image; `*` and `?` stand for what is found below the root.
        labels: The labels, that of the benchmark first.
        attributes: The attributes.
        counts: What the release holds.
        slices: How a volume becomes one answer; empty for pictures.
        reading: Which array, window and slices of a file are meant.
        released: The split that came with the release.
        published: What the published benchmark does.
        notes: What must be known of the data set.
    """

    name: str
    title: str
    modality: str
    licence: str
    access: str
    layout: str
    tables: tuple[Table, ...]
    sample_id: str
    patient_id: str
    path: tuple[str, ...]
    labels: tuple[Labels, ...]
    attributes: Mapping[str, Attribute]
    counts: Counts
    joins: tuple[Table, ...] = ()
    extracts: Words = field(default_factory=dict)
    slices: str = ""
    reading: str = ""
    released: Released = field(default_factory=Released)
    published: Published = field(default_factory=Published)
    notes: tuple[str, ...] = ()

    def label_names(self) -> tuple[str, ...]:
        """Every label."""
        return tuple(name for labels in self.labels for name in labels.names)


# Where the parts of a recipe are made of tables of the TOML file.
_PARTS: Mapping[str, type[Any]] = {
    "tables": Table,
    "joins": Table,
    "labels": Labels,
    "attributes": Attribute,
    "counts": Counts,
    "released": Released,
    "published": Published,
}


@cache
def recipes() -> tuple[str, ...]:
    """The names of the data sets that there are recipes for."""
    found = [entry.name for entry in files("fmfair.runners.datasets").iterdir() if entry.name.endswith(".toml")]
    return tuple(sorted(name.removesuffix(".toml") for name in found))


def recipe(name: str) -> Recipe:
    """The recipe of a data set.

    Raises:
        FmfairError: There is none of that name.
    """
    key = name.strip().lower().replace("-", "_")
    if key not in recipes():
        raise FmfairError(f"no data set {name!r}{near(key, recipes())}; there is {listing(recipes(), 20)}")
    text = files("fmfair.runners.datasets").joinpath(f"{key}.toml").read_text(encoding="utf-8")
    return recipe_of({"name": key, **tomllib.loads(text)})


def recipe_of(given: Mapping[str, Any]) -> Recipe:
    """A recipe from a mapping, as a TOML file gives it.

    Raises:
        FmfairError: A key is not known, missing or of another kind; all such problems are listed.
    """
    problems, parts = Problems(), dict(given)
    for key, kind in _PARTS.items():
        if key not in given:
            continue
        with problems.collecting():
            value, where = given[key], f"{given.get('name', 'recipe')}: {key}"
            if isinstance(value, list):
                parts[key] = tuple(_built(kind, part, f"{where} {n + 1}") for n, part in enumerate(value))
            elif key == "attributes":
                parts[key] = {name: _built(kind, part, f"{where}.{name}") for name, part in value.items()}
            else:
                parts[key] = _built(kind, value, where)
    problems.raise_if_any()
    made = _built(Recipe, parts, str(given.get("name", "recipe")))
    if made.slices:
        check_choice("slices", made.slices, SLICES)
    return made


def _built(kind: type[T], given: Mapping[str, Any], where: str) -> T:
    """An instance from a mapping; lists become tuples, and one text where several may stand is a tuple of it."""
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    problems = Problems()
    for key in given:
        if key not in known:
            problems.add(f"{where}: no key {key!r}{near(key, known)}")
    for name, one in known.items():
        if name not in given and one.default is MISSING and one.default_factory is MISSING:
            problems.add(f"{where}: no {name!r}")
    problems.raise_if_any()
    return kind(**{key: _plain(value, str(known[key].type)) for key, value in given.items()})


def _plain(value: Any, kind: str) -> Any:
    if isinstance(value, Mapping):
        return {str(k): tuple(v) if isinstance(v, Sequence) and not isinstance(v, str) else v for k, v in value.items()}
    if isinstance(value, str) and kind.startswith("tuple"):
        return (value,)
    return tuple(value) if isinstance(value, list) else value
