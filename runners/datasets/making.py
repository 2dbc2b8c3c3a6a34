"""A recipe carried out: the release of a data set becomes a manifest, or every problem of it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from fmfair.atomic import PathLike
from fmfair.errors import FmfairError, Problems, listing, plural, rows_at
from fmfair.notes import Notes
from fmfair.runners.datasets.choices import Choices, Job
from fmfair.runners.datasets.joins import extracted, joined, stacked
from fmfair.runners.datasets.recipe import Recipe, recipe
from fmfair.runners.datasets.rules import cleaned, read_attribute, read_labels
from fmfair.runners.datasets.sources import check_columns, find_images, similar
from fmfair.runners.datasets.splitting import with_split
from fmfair.runners.datasets.templates import col, columns_of, filled
from fmfair.runners.description import About
from fmfair.runners.manifest import Manifest
from fmfair.runners.splits import say_lost_groups


def make_manifest(name: PathLike, root: PathLike, *, notes: Notes | None = None, **choices: Any) -> Manifest:
    """Makes the manifest of a data set from its release.

    Args:
        name: The data set, one of `fmfair.runners.datasets.recipes()`, or a recipe of your own: a file that ends in
            `.toml`.
        root: The folder of the release.
        notes: Takes what was left out, and where the release differs from what was published of it.
        choices: The fields of `Choices`.

    Raises:
        FmfairError: Files, columns or images are missing, values are not known, or the split cannot be made; all
            problems are listed.
    """
    notes = Notes() if notes is None else notes
    return manifest_of(Job(recipe(name), Path(root).expanduser(), Choices(**choices), notes))


def manifest_of(job: Job) -> Manifest:
    """The manifest by a recipe.

    Raises:
        FmfairError: As `make_manifest`.
    """
    how, root = job.how, job.root
    if not root.is_dir():
        holds = how.layout or "the release"
        raise FmfairError(f"no folder {root}; name the one that holds {holds}")
    frame, absent = _read(job)
    table, labels, attributes = _table(job, frame, absent)
    table, how_split = with_split(job, frame, table)
    about = About(
        dataset=how.name,
        title=how.title,
        modality=how.modality,
        licence=how.licence,
        access=how.access,
        prompts={name: said for group in how.labels for name in group.names if (said := group.of(name))},
        slices=how.slices,
        reading=how.reading,
        split=how_split,
        shared_patients=job.chosen.split == "fairmedfm",
    )
    for note in how.notes:
        job.notes.say(note)
    say_lost_groups(table, attributes, job.notes)
    return Manifest(table, labels, attributes, root, about)


def _read(job: Job) -> tuple[pl.DataFrame, set[str]]:
    """All columns of the release, one row per image; and those that an optional table would have had."""
    how, root, notes = job.how, job.root, job.notes
    frame = extracted(stacked(root, how.tables), how.extracts)
    problems, absent = Problems(), set[str]()
    for table in how.joins:
        with problems.collecting():
            found = joined(root, frame, table, notes)
            if found is None:
                absent |= set(table.columns)
                notes.warn(f"no {table.file[0]} in the release: {listing(table.columns)} left out. {table.why}".strip())
            else:
                frame = found
    problems.raise_if_any()
    needed = needed_columns(how)
    for message in check_columns(frame, {name: where for name, where in needed.items() if name not in absent}):
        problems.add(message)
    problems.raise_if_any()
    return frame, absent


def needed_columns(how: Recipe) -> dict[str, str]:
    """The columns that a recipe reads, each with where it should be."""
    needed = dict.fromkeys(columns_of(" ".join((how.sample_id, how.patient_id, *how.path))), "the release")
    for group in how.labels:
        needed |= dict.fromkeys([group.column] if group.separator else group.names.values(), "the release")
    for attribute in how.attributes.values():
        columns = (attribute.column, attribute.year, attribute.date)
        needed |= dict.fromkeys((name for name in columns if name), "the release")
    if how.released.column:
        needed[how.released.column] = "the release"
    return needed


def _table(job: Job, frame: pl.DataFrame, absent: set[str]) -> tuple[pl.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """The manifest without its split, with the rows of `frame`, and the names of labels and attributes.

    The path is NULL where the image is missing and such rows are to be left out.
    """
    problems, how = Problems(), job.how
    labels = [s for group in how.labels for s in read_labels(frame, group, job.chosen.labels, problems)]
    attributes = [
        read_attribute(frame, name, attribute, problems, job.notes)
        for name, attribute in how.attributes.items()
        if attribute.column not in absent
    ]
    path = _images(job, frame, problems)
    ids = frame.select(sample_id=filled(how.sample_id), patient_id=filled(how.patient_id))
    _tell_identifiers(how, ids, problems)
    table = ids.hstack([path, *labels, *attributes])
    differences = _differences(how, table)
    try:
        problems.raise_if_any()
    except FmfairError:  # counts that differ may explain what else is wrong
        for message in differences:
            problems.add(message)
        problems.raise_if_any()
    for message in differences:
        job.notes.warn(message)
    return table, tuple(s.name for s in labels), tuple(s.name for s in attributes)


def _tell_identifiers(how: Recipe, ids: pl.DataFrame, problems: Problems) -> None:
    """Rows without an image or a patient, and images that are in several rows."""
    said = {"sample_id": how.sample_id, "patient_id": how.patient_id}
    for name, template in said.items():
        without = ids.select((pl.col(name).fill_null("") == "").arg_true()).to_series().to_list()
        if without:
            problems.add(f"{plural(len(without), 'row')} without a {name}, which is {template} ({rows_at(without)})")
    twice = ids.filter(pl.col("sample_id").is_duplicated() & (pl.col("sample_id") != ""))["sample_id"]
    if len(twice):
        problems.add(
            f"{plural(len(twice), 'row')} of only {plural(twice.n_unique(), 'image')}, by {how.sample_id}: "
            f"{listing(twice.unique(maintain_order=True))}; leave one row for each"
        )


def _images(job: Job, frame: pl.DataFrame, problems: Problems) -> pl.Series:
    """The path of each image; NULL where it is missing, which is a problem unless such rows are to be left out."""
    chosen, how, root = job.chosen.missing_images, job.how, job.root
    path = find_images(root, frame, how.path, look=chosen != "keep")
    lost = path.is_null()
    if not lost.any():
        return path
    if chosen == "drop" and not lost.all():
        job.notes.warn(f"{plural(int(lost.sum()), 'image')} not found below {root}, left out")
    else:
        shown = frame.filter(lost).select(filled(how.path[0]).fill_null("no name")).to_series()
        leave = "" if lost.all() else "; missing_images='drop' leaves them out"
        problems.add(
            f"{int(lost.sum()):,} of {plural(frame.height, 'image')} not found below {root}: {listing(shown)}"
            f"{similar(root, shown[0])}{leave}"
        )
    return path


def _differences(how: Recipe, table: pl.DataFrame) -> list[str]:
    """Where the counts are not those that were published of the release."""
    counts = how.counts
    found = {"images": table.height, "patients": table["patient_id"].n_unique()}
    expected: dict[str, int | None] = {"images": counts.images, "patients": counts.patients, **counts.groups}
    for key in counts.groups:
        name, value = key.split("=", 1)
        if name in table.columns:
            found[key] = table.select((cleaned(col(name)) == value).sum()).item()
    wrong = [
        f"{found[key]:,} {key} where {n:,} were published"
        for key, n in expected.items()
        if n is not None and key in found and found[key] != n
    ]
    return [f"the release differs from what was published of it: {'; '.join(wrong)}"] if wrong else []
