"""What a recipe can say: how the release of a data set becomes a manifest. One TOML file each, in this folder.

A recipe of your own is such a file anywhere: `fmfair data papila --recipe` prints one to start from, and
`fmfair data mine.toml --root DIR` or `make_manifest("mine.toml", "DIR")` carries it out. The fields of `Recipe` are
what it can say; its name is that of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from fmfair.atomic import PathLike
from fmfair.errors import FmfairError, listing, near
from fmfair.runners.description import Prompts
from fmfair.runners.models.declared import read
from fmfair.toml import read_toml

Words = Mapping[str, str]
_HERE = Path(__file__).parent


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
    several: Literal["refuse", "common"] = "refuse"
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
        no_prompt: The word for 0 of labels without prompts of their own; where that is empty too, there are no prompts.
        why: The rule in words.
    """

    names: Words
    column: str = ""
    separator: str = ""
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    published: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    templates: tuple[str, ...] = ("{}",)
    prompts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    no_prompt: str = ""
    why: str = ""

    def of(self, label: str) -> Prompts | None:
        """The prompts of a label, if it has some."""
        negative, positive = self.prompts.get(label, (self.no_prompt, self.names[label]))
        if not negative:
            return None
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
    rule: Literal["text", "number", "years", "age_at", "words"] = "text"
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

    images: int | None = None
    patients: int | None = None
    groups: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """How the release of a data set becomes a manifest.

    Attributes:
        tables: The tables whose rows are the images, one below the other.
        sample_id: A template such as `RET{ID[1:]}OD`: columns in braces, with a slice where a part is meant.
        patient_id: A template.
        path: Templates of the image, from the root; `*` and `?` stand for what is found there. The first that leads to
            a file, or to a folder with files, is that of the image.
        labels: The labels, that of the benchmark first.
        attributes: The attributes.
        joins: Tables that add columns.
        extracts: Columns to add that are a part of another one, as `column ~ pattern` with one group.
        title: The name in print.
        modality: What the images are.
        licence: What may be done with them.
        access: How to get them.
        layout: What the root holds.
        counts: What the release holds.
        slices: How a volume becomes one answer; empty for pictures.
        reading: Which array, window and slices of a file are meant.
        released: The split that came with the release.
        published: What the published benchmark does.
        notes: What must be known of the data set.
        name: The short name, that of the file.
    """

    tables: tuple[Table, ...]
    sample_id: str
    patient_id: str
    path: tuple[str, ...]
    labels: tuple[Labels, ...]
    attributes: Mapping[str, Attribute]
    joins: tuple[Table, ...] = ()
    extracts: Words = field(default_factory=dict)
    title: str = ""
    modality: str = ""
    licence: str = ""
    access: str = ""
    layout: str = ""
    counts: Counts = field(default_factory=Counts)
    slices: Literal["", "every", "max", "mean"] = ""
    reading: str = ""
    released: Released = field(default_factory=Released)
    published: Published = field(default_factory=Published)
    notes: tuple[str, ...] = ()
    name: str = field(default="", metadata={"undeclared": True})


@cache
def recipes() -> tuple[str, ...]:
    """The names of the data sets that there are recipes for."""
    return tuple(sorted(file.stem for file in _HERE.glob("*.toml")))


def recipe(name: PathLike) -> Recipe:
    """The recipe of a data set, by its name or as a file that ends in `.toml`.

    Raises:
        FmfairError: There is none, or the file is no recipe; all that is wrong with it is listed.
    """
    file = recipe_file(name)
    return recipe_of(file.stem, read_toml(file, "the recipe"))


def recipe_file(name: PathLike) -> Path:
    """The file of a recipe, by the name of its data set or as that file, which ends in `.toml`.

    Raises:
        FmfairError: There is no such data set.
    """
    place = Path(name).expanduser()
    if place.suffix.lower() == ".toml":
        return place
    key = str(name).strip().lower().replace("-", "_")
    if key not in recipes():
        raise FmfairError(
            f"no data set {str(name)!r}{near(key, recipes()) or _abbreviated(key)}; there is {listing(recipes(), 20)}; "
            "a recipe of your own is a file that ends in .toml, and a table of your own, such as mine.csv, needs none: "
            "read_manifest (command line: fmfair data mine.csv)"
        )
    return _HERE / f"{key}.toml"


def _abbreviated(key: str) -> str:
    """A hint at a name that has these letters, the first of them first: `cxp` for `chexpert`."""

    def has_letters(name: str) -> bool:
        left = iter(name)
        return name[:1] == key[:1] and all(letter in left for letter in key)

    return next((f"; did you mean {name!r}?" for name in recipes() if len(key) > 1 and has_letters(name)), "")


def recipe_of(name: str, given: Mapping[str, Any]) -> Recipe:
    """A recipe from a mapping, as a TOML file gives it.

    Raises:
        FmfairError: A field is not known, missing or of another kind, or says what cannot be carried out; all such
            problems are listed.
    """
    from fmfair.runners.datasets.checks import check

    made = replace(read(Recipe, given, name), name=name)
    check(made)
    return made
