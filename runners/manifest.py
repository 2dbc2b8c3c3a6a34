"""Manifests: one table that describes a data set, with one row per image."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from fmfair.atomic import PathLike, whole_file
from fmfair.errors import FmfairError, Problems, listing, plural, rows_at
from fmfair.notes import Notes
from fmfair.runners.description import About, Prompts
from fmfair.runners.images.reading import Reading
from fmfair.runners.presence import missing_files
from fmfair.runners.roles import Found, Roles, check_flat, chosen, in_roles
from fmfair.runners.tables import MANIFEST, PREDICTIONS, SPLITS, col
from fmfair.version import installed_version

__all__ = ["About", "Manifest", "Prompts", "read_manifest"]

# The entry of a Parquet file's metadata that makes it a manifest; the version grows when a key changes its meaning.
KEY, SCHEMA_VERSION = "fmfair_manifest", 1


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
                f"{listing(missing)}; name the folder that the paths start from (root), or leave these rows out"
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
    path: PathLike,
    *,
    root: PathLike | None = None,
    roles: Roles | None = None,
    prompts: Prompts | dict[str, Prompts] | None = None,
    reading: str | None = None,
    check_files: bool = False,
    notes: Notes | None = None,
) -> Manifest:
    """Reads a manifest that fmfair wrote, or any table with a column of image paths.

    Args:
        path: A Parquet file of `Manifest.write`; or a CSV, Parquet or other table of your own.
        root: The folder that the paths start from. Without it, that of the manifest, or of the table's file.
        roles: The columns of a table of your own; what is left out is found by its usual name. Of a manifest that
            fmfair wrote the labels and attributes that are wanted; what is left out is as it says.
        prompts: The texts of the labels for zero-shot classification, in place of those of the manifest.
        reading: How the files are read, in place of what the manifest says, as `images.reading.Reading.of` takes it:
            `key=rnflt` names the array of archives, `window=-1250:250` the values shown as black and white, and
            `every=4`, `count=20`, `axis=2` the slices of volumes.
        check_files: Whether to look for every image.
        notes: Takes what was found or assumed.

    Raises:
        FmfairError: The table cannot be read or is no manifest; all its problems are listed.
    """
    place = Path(path).expanduser()
    notes = Notes() if notes is None else notes
    said = _description(place)
    roles = Roles() if roles is None else roles
    if said is None:
        found = in_roles(place, roles, notes)
        base = Path(root).expanduser() if root is not None else place.parent
        about = About(dataset=place.name.split(".")[0], split="as given")
    else:
        try:
            base = Path(root if root is not None else said["root"]).expanduser()
            about = About.of_json(said["about"])
            with place.open("rb") as file:
                found = chosen(pl.read_parquet(file), said["labels"], said["attributes"], roles)
        except (KeyError, TypeError, AttributeError, OSError, pl.exceptions.PolarsError) as error:
            raise FmfairError(f"cannot read the manifest {path}: {error}") from error
    about = _prompted(about, prompts, found)
    if reading is not None:
        about = replace(about, reading=str(Reading.of(reading)))
    manifest = Manifest(found.table, found.labels, found.attributes, base, about)
    if check_files:
        manifest.check_files()
    shared = shared_patients(manifest.table)
    if shared:
        notes.warn(f"{plural(shared, 'patient')} in more than one split, as in the published rule that made them")
    return manifest


def _description(path: Path) -> dict[str, Any] | None:
    """What `Manifest.write` says in the metadata; None for a table of the user."""
    if not path.is_file() or path.suffix.lower() not in (".parquet", ".pq"):
        return None
    try:
        with path.open("rb") as file:
            text = pl.read_parquet_metadata(file).get(KEY)
        said: dict[str, Any] | None = None if text is None else json.loads(text)
    except (OSError, json.JSONDecodeError, pl.exceptions.PolarsError) as error:
        raise FmfairError(f"cannot read {path}: {error}") from error
    if said is not None and not (isinstance(said, dict) and isinstance(said.get("schema_version"), int)):
        raise FmfairError(f"cannot read the manifest {path}: what it says of itself is damaged; make it again")
    if said is not None and said["schema_version"] > SCHEMA_VERSION:
        raise FmfairError(
            f"{path} was written by fmfair {said.get('fmfair_version')}, which is newer than this one "
            f"({installed_version()}); update fmfair to read it"
        )
    return said


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
            "split by patient"
        )


def _absent(name: str) -> pl.Expr:
    return pl.col(name).is_null() | (pl.col(name).cast(pl.String).str.strip_chars() == "")


def _report(problems: Problems, table: pl.DataFrame, wrong: pl.Expr, what: str) -> None:
    rows = table.select(wrong.fill_null(value=False).arg_true()).to_series().to_list()
    if rows:
        problems.add(f"{what} in {plural(len(rows), 'row')} ({rows_at(rows)})")
