"""Manifests: one table that describes a data set, with one row per image."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from fmfair.atomic import PathLike, whole_file
from fmfair.errors import FmfairError, Problems, listing, plural, rows_at
from fmfair.notes import Notes
from fmfair.readers import GLOB_MARKS
from fmfair.runners.description import KEY, SCHEMA_VERSION, About, Prompts, description_of
from fmfair.runners.images.reading import Reading
from fmfair.runners.presence import missing_files
from fmfair.runners.roles import Found, Roles, check_flat, chosen, in_roles
from fmfair.runners.splits import HOW_TO_SPLIT, RATIO, say_lost_groups, split_by_patient, split_told
from fmfair.runners.tables import MANIFEST, PREDICTIONS, SPLITS, col
from fmfair.runners.typed import check_type
from fmfair.version import installed_version

__all__ = ["KEY", "About", "Manifest", "Prompts", "read_manifest"]


@dataclass(frozen=True)
class Manifest:
    """A data set: its images, whom they are of, their labels and the attributes of the patients.

    Attributes:
        table: One row per image: the columns of `tables.MANIFEST`, the labels (Int8, NULL where unknown) and the
            attributes as they were released.
        labels: The columns that hold labels.
        attributes: The columns that hold attributes.
        root: The folder that the paths start from.
        about: What is known of the data set.
    """

    table: pl.DataFrame
    labels: tuple[str, ...]
    attributes: tuple[str, ...]
    root: Path
    about: About = field(default_factory=About)

    def __post_init__(self) -> None:
        problems = Problems()
        _check_columns(self, problems)
        problems.raise_if_any()
        _check_rows(self, problems)
        problems.raise_if_any()
        typed = [pl.col(name).cast(dtype) for name, dtype in MANIFEST.items()]
        labels = [col(name).cast(pl.Int8) for name in self.labels]
        object.__setattr__(self, "table", self.table.select(*typed, *labels, *map(col, self.attributes)))

    def of_split(self, *splits: str) -> pl.DataFrame:
        """The rows of these splits."""
        return self.table.filter(pl.col("split").is_in(splits))

    def split(
        self,
        *,
        ratio: Sequence[float] = RATIO,
        seed: int = 0,
        balance: Sequence[str] = (),
        bins: Mapping[str, Sequence[float]] | None = None,
        notes: Notes | None = None,
    ) -> Manifest:
        """The same images split anew, with all images of a patient in the same split.

        Who goes where depends on the patients, the seed and, with `balance`, on the values of those columns; never on
        the order of the rows.

        Args:
            ratio: The shares of training, validation and test patients; with `balance`, of images. 0 leaves one empty.
            seed: Another seed gives other splits.
            balance: Attributes and labels: each combination of their values is shared out by the ratio.
            bins: Where the numbers of a column of `balance` are cut, left-closed; ages are cut at 18, 40, 60 and 80.
            notes: Takes which groups are not in the test; without it they are warned of.

        Raises:
            FmfairError: The ratio is none, there are fewer patients than splits, or a column cannot be balanced over.

        Examples:
            >>> table = pl.DataFrame({"path": ["a.png", "b.png", "c.png", "d.png"], "patient": ["p", "p", "q", "r"]})
            >>> read_manifest(table).split(ratio=(0.5, 0.25, 0.25)).table["split"].to_list()
            ['test', 'test', 'validation', 'train']
        """
        split = split_by_patient(self.table, ratio=ratio, seed=seed, balance=balance, bins=bins)
        about = replace(self.about, split=split_told(ratio, seed, balance), shared_patients=False)
        made = replace(self, table=self.table.with_columns(split), about=about)
        told = Notes() if notes is None else notes
        say_lost_groups(made.table, self.attributes, told)
        if notes is None:
            _warn_of(told)
        return made

    def paths(self) -> list[Path]:
        """Where the images are."""
        return [self.root / path for path in self.table["path"]]

    def check_files(self) -> None:
        """Looks for every image.

        Raises:
            FmfairError: Some are missing.
        """
        missing = missing_files(self.root, self.table["path"])
        if missing:
            raise FmfairError(
                f"{len(missing):,} of {plural(self.table.height, 'image')} not found below {self.root}: "
                f"{listing(missing)}; name the folder that the paths start from with root=, or leave these rows out"
            )

    def write(self, path: PathLike) -> None:
        """Writes the manifest as one Parquet file, with its description in the metadata of the file.

        Raises:
            FmfairError: The file cannot be written.
        """
        said = {
            "schema_version": SCHEMA_VERSION,
            "fmfair_version": installed_version(),
            "root": str(self.root.absolute()),
            "labels": self.labels,
            "attributes": self.attributes,
            "about": self.about.as_json(),
        }
        with whole_file(path) as file:
            self.table.write_parquet(file, metadata={KEY: json.dumps(said, ensure_ascii=False)})


def read_manifest(
    source: Any,
    *,
    root: PathLike | None = None,
    roles: Roles | None = None,
    dataset: str | None = None,
    prompts: Prompts | dict[str, Prompts] | None = None,
    reading: str | None = None,
    check_files: bool = False,
    notes: Notes | None = None,
) -> Manifest:
    """Reads a manifest that fmfair wrote, or any table with a column of image paths.

    Args:
        source: A Parquet file of `Manifest.write`; or a table of your own: a file, or a Polars or pandas frame or
            whatever else `fmfair.evaluate` takes.
        root: The folder that the paths start from. Without it, that of the manifest, or of the table's file, or for a
            frame the current one.
        roles: The columns of a table of your own; what is left out is found by its usual name. Of a manifest that
            fmfair wrote the labels and attributes that are wanted; what is left out is as it says.
        dataset: What the data set is called in folders and results. Without it, as the manifest says, or as the file of
            the table is called, or for a frame "data".
        prompts: The texts of the labels for zero-shot classification, in place of those of the manifest.
        reading: How the files are read, in place of what the manifest says, as `images.reading.Reading.of` takes it:
            `key=rnflt` names the array of archives, `window=-1250:250` the values shown as black and white, and
            `every=4`, `count=20`, `axis=2` the slices of volumes.
        check_files: Whether to look for every image.
        notes: Takes what was found or assumed; without it what changes how results must be read is warned of.

    Raises:
        FmfairError: The table cannot be read or is no manifest; all its problems are listed.

    Examples:
        >>> table = {"file": ["a.png", "b.png"], "patient": ["p", "q"], "split": ["Dev", "holdout"], "mass": [0, 1]}
        >>> clinic = read_manifest(pl.DataFrame(table), roles=Roles(labels=["mass"]), dataset="clinic")
        >>> clinic.of_split("test")["sample_id"].to_list()
        ['b.png']
    """
    problems = Problems()
    if dataset is not None and not (isinstance(dataset, str) and dataset.strip()):
        problems.add(f"dataset={dataset!r} is no name; give a short text, such as dataset='clinic'")
    for name, value, kind in (("roles", roles, Roles), ("notes", notes, Notes)):
        if value is not None and not isinstance(value, kind):
            problems.add(f"{name}= is of the type {type(value).__name__}; expected fmfair.runners.{kind.__name__}")
    with problems.collecting():
        check_type("root", root, (str, os.PathLike, type(None)))
    with problems.collecting():
        check_type("reading", reading, (str, type(None)))
    with problems.collecting():
        check_type("check_files", check_files, bool)
    problems.raise_if_any()
    told = Notes() if notes is None else notes
    found, base, about = _read(source, Roles() if roles is None else roles, told)
    if root is not None:
        base = Path(root).expanduser()
    about = _prompted(about, prompts, found)
    if dataset is not None:
        about = replace(about, dataset=dataset)
    if reading is not None:
        about = replace(about, reading=str(Reading.of(reading)))
    manifest = Manifest(found.table, found.labels, found.attributes, base, about)
    if check_files:
        manifest.check_files()
    shared = shared_patients(manifest.table)
    if shared:
        told.warn(f"{plural(shared, 'patient')} in more than one split, as in the published rule that made them")
    if notes is None:
        _warn_of(told)
    return manifest


def named_after(source: Any) -> str:
    """What a data set is called whose table has no better name: as its file.

    Examples:
        >>> named_after("tables/clinic.2024.csv"), named_after("tables/*.csv"), named_after(pl.DataFrame())
        ('clinic', 'data', 'data')
    """
    name = Path(source).name.split(".")[0] if isinstance(source, (str, os.PathLike)) else ""
    return "data" if not name or any(mark in name for mark in GLOB_MARKS) else name


def _warn_of(notes: Notes) -> None:
    for sentence in notes.warnings:
        warnings.warn(sentence, UserWarning, stacklevel=3)  # the public function lies between here and the caller


def _read(source: Any, roles: Roles, notes: Notes) -> tuple[Found, Path, About]:
    """The table of a manifest, the folder that its paths start from, and what is known of it."""
    if not isinstance(source, (str, os.PathLike)):
        found, base = in_roles(source, roles, notes), Path()
    else:
        place = Path(source).expanduser()
        said = description_of(place)
        if said is not None:
            try:
                with place.open("rb") as file:
                    found = chosen(pl.read_parquet(file), said["labels"], said["attributes"], roles)
                return found, Path(said["root"]).expanduser(), About.of_json(said["about"])
            except (KeyError, TypeError, AttributeError, OSError, pl.exceptions.PolarsError) as error:
                raise FmfairError(f"cannot read the manifest {source}: {error}") from error
        found, base = in_roles(place, roles, notes), place.parent
    return found, base, About(dataset=named_after(source), split="as given" if found.split else "")


def _prompted(about: About, prompts: Prompts | dict[str, Prompts] | None, found: Found) -> About:
    """With the user's prompts; those of columns that are no label this time are kept."""
    if prompts is None:
        return about
    given = prompts if isinstance(prompts, dict) else dict.fromkeys(found.labels, prompts)
    unknown = [label for label in given if label not in found.columns]
    if unknown:
        raise FmfairError(
            f"prompts= names {listing(unknown)}, no label of the manifest; it has {listing(found.labels)}"
        )
    return replace(about, prompts=given)


def shared_patients(table: pl.DataFrame) -> int:
    """How many patients are in more than one split."""
    splits = table.group_by("patient_id").agg(pl.col("split").n_unique())
    return splits.filter(pl.col("split") > 1).height


def _check_columns(manifest: Manifest, problems: Problems) -> None:
    """Problems of the names: missing, twice in a role, or names of columns that runners add."""
    named = (*MANIFEST, *manifest.labels, *manifest.attributes)
    missing = [name for name in named if name not in manifest.table.columns]
    if missing:
        problems.add(f"the manifest lacks {listing(missing)}; it has {listing(manifest.table.columns)}")
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        problems.add(f"{listing(twice)} is meant to be two things; a column is an identifier, a label or an attribute")
    taken = [name for name in manifest.attributes if name in PREDICTIONS and name not in MANIFEST]
    if taken:
        problems.add(f"attribute {listing(taken)} has the name of a column of predictions; rename it")
    check_flat(manifest.table, named, problems)
    if manifest.table.is_empty():
        problems.add("the manifest holds no row")


def _check_rows(manifest: Manifest, problems: Problems) -> None:
    table = manifest.table
    for name in MANIFEST:
        _report(problems, table, _absent(name), f"{name} is missing")
    twice = pl.col("sample_id").is_duplicated() & pl.col("sample_id").is_not_null()
    _report(problems, table, twice, "sample_id is not unique")
    wrong = ~pl.col("split").cast(pl.String).is_in(SPLITS) & ~_absent("split")
    _report(problems, table, wrong, f"split is none of {listing(SPLITS)}")
    for name in manifest.labels:
        if table[name].dtype.is_numeric() or table[name].dtype in (pl.Boolean, pl.Null):
            is_label = col(name).cast(pl.Float64).is_in([0.0, 1.0])
        else:
            is_label = pl.lit(value=False)
        _report(
            problems,
            table,
            col(name).is_not_null() & ~is_label,
            f"label {name!r} is neither 0, 1 nor empty (unknown)",
        )
    shared = 0 if manifest.about.shared_patients else shared_patients(table.drop_nulls(["patient_id", "split"]))
    if shared:
        problems.add(
            f"{plural(shared, 'patient')} in more than one split, so a test would be of patients seen in training; "
            f"{HOW_TO_SPLIT}"
        )


def _absent(name: str) -> pl.Expr:
    return pl.col(name).is_null() | (pl.col(name).cast(pl.String).str.strip_chars() == "")


def _report(problems: Problems, table: pl.DataFrame, wrong: pl.Expr, what: str) -> None:
    rows = table.select(wrong.fill_null(value=False).arg_true()).to_series().to_list()
    if rows:
        problems.add(f"{what} in {plural(len(rows), 'row')} ({rows_at(rows)})")
