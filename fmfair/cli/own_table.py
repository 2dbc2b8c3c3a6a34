"""Tables of one's own on the command line: which column is what, and manifests made of them with a split."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmfair import readers
from fmfair.cli import parsing
from fmfair.errors import FmfairError, Problems, check_choice, plural
from fmfair.formats import format_of
from fmfair.notes import Notes

if TYPE_CHECKING:
    from fmfair.runners.manifest import Manifest

Given = Mapping[str, Any]

# Options of `fmfair data` that only a data set with a recipe can have, and those that only a table can.
OF_RECIPES = ("about", "recipe", "fairmedfm_split")
OF_TABLES = ("path", "sample_id", "patient_id", "attributes", "dataset")
SPLITTING = ("ratio", "seed", "balance", "bins")


def is_table(name: str) -> bool:
    """Whether a text names a table, not a recipe."""
    from fmfair.runners.datasets import recipes

    place = Path(name).expanduser()
    if place.suffix.lower() == ".toml" or name.strip().lower().replace("-", "_") in recipes():
        return False
    return bool(format_of(place)) or any(mark in name for mark in readers.GLOB_MARKS) or place.is_dir()


def read(table: str, given: Given, notes: Notes, **others: Any) -> Manifest:
    """The manifest of a table, or that fmfair wrote.

    Args:
        table: Its file.
        given: The value of every option.
        notes: Takes what was found or assumed.
        others: Further arguments of `read_manifest`; with `split`, the column of the split.

    Raises:
        FmfairError: As `read_manifest`.
    """
    from fmfair.runners.manifest import read_manifest
    from fmfair.runners.roles import Roles

    named = (given["labels"], given["attributes"])
    commas = any("," in text for texts in named for text in texts or ())
    names = readers.column_names(readers.scan(table)) if commas else []
    labels, attributes = (parsing.column_names(texts, names) if texts else None for texts in named)
    single = {role: given[role] for role in ("path", "sample_id", "patient_id")}
    roles = Roles(**single, split=others.pop("split", given["split"]), labels=labels, attributes=attributes)
    return read_manifest(table, root=given["root"], roles=roles, dataset=given["dataset"], notes=notes, **others)


def check(given: Given, flags: Mapping[str, str]) -> None:
    """Refuses what makes no sense for a table.

    Args:
        given: The value of every option of `fmfair data`.
        flags: The options as they are typed.

    Raises:
        FmfairError: Some of it does not; all of that is told at once.
    """
    from fmfair.runners.datasets.choices import MISSING_IMAGES

    problems, split = Problems(), given["split"]
    of_recipes = [flags[name] for name in OF_RECIPES if given[name]]
    of_recipes += [f"--split {split}"] if split in ("released", "fairmedfm") else []
    if of_recipes:
        problems.add(
            f"{', '.join(of_recipes)}: only for data sets with a recipe, and {given['name']} is a table of your own; "
            "--split takes patients or its column of splits"
        )
    anew = [flags[name] for name in SPLITTING if given[name] not in (None, [])]
    if anew and split not in (None, "patients", "released", "fairmedfm"):
        problems.add(f"{', '.join(anew)} and --split {split} exclude each other: split anew, or as that column says")
    with problems.collecting():
        check_choice("missing_images", given["missing_images"] or "raise", MISSING_IMAGES)
    problems.raise_if_any()


def make(given: Given, splitting: Mapping[str, Any], notes: Notes) -> Manifest:
    """The manifest of a table, split by patient where that is asked for or where nothing splits its images.

    Args:
        given: The value of every option of `fmfair data`.
        splitting: Those that say how to split, as arguments of `Manifest.split`.
        notes: Takes what was found or assumed.

    Raises:
        FmfairError: The table cannot be read or split, or lacks images.
    """
    from fmfair.runners.roles import ALL_TEST

    anew, found = bool(splitting) or given["split"] == "patients", Notes()
    manifest = read(given["name"], given, found, split="" if anew else given["split"])
    manifest = _with_images(manifest, given["missing_images"] or "raise", found)
    if anew or not manifest.about.split:
        balance = parsing.column_names(given["balance"] or [], (*manifest.labels, *manifest.attributes))
        manifest = manifest.split(**{**splitting, "balance": balance}, notes=found)
        if ALL_TEST in found:
            found.remove(ALL_TEST)
        found.say(f"split {manifest.about.split}")
    notes.take(found)
    return manifest


def _with_images(manifest: Manifest, missing_images: str, notes: Notes) -> Manifest:
    """The manifest whose images are there, as far as that is asked for."""
    from dataclasses import replace

    from fmfair.runners.presence import missing_files

    if missing_images == "keep":
        return manifest
    missing = missing_files(manifest.root, manifest.table["path"])
    if missing_images == "raise" or len(missing) == manifest.table.height:
        try:
            manifest.check_files()
        except FmfairError as error:
            raise FmfairError(f"{error}, as missing_images='drop' does") from None
    if missing:
        notes.warn(f"{plural(len(missing), 'image')} not found below {manifest.root}, left out")
    there = ~manifest.table["path"].is_in(missing)
    return replace(manifest, table=manifest.table.filter(there))
