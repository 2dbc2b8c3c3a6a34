"""`fmfair data`: manifests of public data sets, from their releases, and of tables of one's own."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmfair.cli import output, own_table, parsing
from fmfair.errors import FmfairError, Problems, plural
from fmfair.notes import Notes

if TYPE_CHECKING:
    from fmfair.runners.datasets.recipe import Recipe, Table
    from fmfair.runners.manifest import Manifest

WIDTH = 100


def data(given: Mapping[str, Any], flags: Mapping[str, str]) -> int:
    """Lists the data sets, tells about one, or makes its manifest or that of a table.

    Args:
        given: The value of every option, by the name of the argument that it stands for; None where left out.
        flags: The options as they are typed, by the same names.

    Raises:
        FmfairError: The release or an option cannot be used. Then nothing was written.
    """
    from fmfair.runners.datasets import make_manifest, recipe, recipe_file, recipes

    if given["name"] is None:
        named = [flags[name] for name, value in given.items() if name != "quiet" and not _left_out(value)]
        if named:
            known = ", ".join(recipes())
            raise FmfairError(f"name the data set before {', '.join(named)}: {known}, a recipe or a table of your own")
        output.say(_list([recipe(name) for name in recipes()]), sys.stdout)
        return 0
    if own_table.is_table(given["name"]):
        return _of_table(given, flags)
    how = recipe(given["name"])
    if given["recipe"]:
        output.say(recipe_file(given["name"]).read_text(encoding="utf-8-sig"), sys.stdout)
        return 0
    if given["about"] or given["root"] is None:
        output.say(_card(how), sys.stdout)
        return 0
    problems, choices = Problems(), dict[str, Any]()
    with problems.collecting():
        place = _place(given, how.name)
    for part in (partial(_of_recipe, given, flags), partial(_splitting, given)):
        with problems.collecting():
            choices |= part()
    problems.raise_if_any()
    notes = Notes()
    with output.spinner("reading", shown=not given["quiet"]):
        manifest = make_manifest(given["name"], given["root"], notes=notes, **choices)
        manifest.write(place)
    return _made(place, manifest, notes, given, flags)


def _of_table(given: Mapping[str, Any], flags: Mapping[str, str]) -> int:
    """Makes the manifest of a table."""
    from fmfair.runners.manifest import named_after

    problems, notes = Problems(), Notes()
    with problems.collecting():
        place = _place(given, named_after(given["name"]))
    with problems.collecting():
        splitting = _splitting(given)
    with problems.collecting():
        own_table.check(given, flags)
    problems.raise_if_any()
    with output.spinner("reading", shown=not given["quiet"]):
        manifest = own_table.make(given, splitting, notes)
        manifest.write(place)
    return _made(place, manifest, notes, given, flags)


def _made(place: Path, manifest: Manifest, notes: Notes, given: Mapping[str, Any], flags: Mapping[str, str]) -> int:
    from fmfair.cli.wording import in_flags

    output.say(f"{place}: {_told(manifest)}\n", sys.stdout)
    for note in [] if given["quiet"] else notes:
        output.say_note(in_flags(note, flags), warning=note in notes.warnings)
    return 0


def _left_out(value: object) -> bool:
    return value is None or value is False or value == []


def _place(given: Mapping[str, Any], name: str) -> Path:
    place = Path(given["output_path"] or f"{name}.parquet").expanduser()
    if place.suffix.lower() != ".parquet":
        raise FmfairError(f"--output {place} must end in .parquet, for example --output {name}.parquet")
    table = Path(given["name"]).expanduser()
    if place.exists() and table.exists() and place.samefile(table):
        raise FmfairError(f"{place} is the table itself; name another file with --output")
    return place


def _of_recipe(given: Mapping[str, Any], flags: Mapping[str, str]) -> dict[str, Any]:
    """The options as the arguments of `make_manifest`, but for those of the split by patient."""
    problems = Problems()
    of_tables = [flags[name] for name in own_table.OF_TABLES if given[name]]
    if of_tables:
        problems.add(f"{', '.join(of_tables)}: only for a table of your own; the recipe says what is what")
    if given["fairmedfm_split"] and given["split"] not in (None, "fairmedfm"):
        problems.add(f"--fairmedfm-split and --split {given['split']} exclude each other; leave one out")
    labels = given["labels"] or ["standard"]
    if len(labels) > 1:
        problems.add(f"--labels {' '.join(labels)}: columns are for a table of your own; use standard or fairmedfm")
    problems.raise_if_any()
    choices = {name: given[name] for name in ("missing_images", "split") if given[name] is not None}
    if given["fairmedfm_split"]:
        choices["split"] = "fairmedfm"
    return {**choices, "labels": labels[0]}


def _splitting(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say how to split by patient; names of columns are not looked up yet."""
    problems, choices = Problems(), dict[str, Any]()
    if given["seed"] is not None:
        choices["seed"] = given["seed"]
    if given["ratio"] is not None:
        try:
            choices["ratio"] = tuple(float(share) for share in given["ratio"].split(","))
        except ValueError:
            problems.add(f"--ratio {given['ratio']}: expected three shares such as 0.7,0.1,0.2")
    if given["balance"]:
        choices["balance"] = parsing.column_names(given["balance"], ())
    with problems.collecting():
        choices |= {"bins": bins} if (bins := parsing.bins(given["bins"] or [])) else {}
        if any(isinstance(cuts, int) for cuts in bins.values()):
            problems.add("--bins of splits are cut points, such as age=40,60")
    problems.raise_if_any()
    return choices


def _told(manifest: Manifest) -> str:
    """How many images and patients, and how many images of each split."""
    table = manifest.table
    counts = dict(table["split"].value_counts().iter_rows())
    splits = ", ".join(f"{name} {counts[name]:,}" for name in ("train", "validation", "test") if name in counts)
    patients = plural(table["patient_id"].n_unique(), "patient")
    return f"{plural(table.height, 'image')} of {patients} ({splits})"


def _list(all_of_them: list[Recipe]) -> str:
    rows = [
        ("data set", "title", "modality", "access"),
        *((r.name, r.title, r.modality, r.access) for r in all_of_them),
    ]
    widths = [max(len(row[n]) for row in rows) for n in range(3)]
    margin = sum(widths) + 2 * len(widths)
    width = max(shutil.get_terminal_size((WIDTH + 60, 24)).columns - margin, 40)
    lines = []
    for row in rows:
        start = "".join(cell.ljust(w + 2) for cell, w in zip(row, widths, strict=False))
        first, *more = textwrap.wrap(row[3], width)
        lines += [start + first, *(" " * margin + line for line in more)]
    return "\n".join(lines) + "\n"


def _card(how: Recipe) -> str:
    """Everything that a recipe says, for people."""
    lines = [f"{how.title} ({how.name})" if how.title else how.name]
    for what, text in _facts(how):
        wrapped = textwrap.wrap(" ".join(text.split()), WIDTH - 12) or [""]
        lines += [f"{what:12}{wrapped[0]}", *(" " * 12 + line for line in wrapped[1:])]
    return "\n".join(lines) + "\n"


def _facts(how: Recipe) -> Iterator[tuple[str, str]]:
    counts = {"images": how.counts.images, "patients": how.counts.patients, **how.counts.groups}
    pooled = f"; the score of a volume is the {how.slices} of those of its slices" if how.slices else ""
    said = {
        "modality": how.modality + pooled,
        "licence": how.licence,
        "access": how.access,
        "root": how.layout and f"the folder that holds {how.layout}",
        "published": ", ".join(f"{n:,} {key}" for key, n in counts.items() if n is not None),
    }
    yield from ((what, text) for what, text in said.items() if text)
    yield from _files(how)
    for group in how.labels:
        names = ", ".join(group.names)
        yield "labels" if len(group.names) > 1 else "label", f"{names}: {group.why}" if group.why else names
    taken_as_missing = {name: table.missing for table in how.joins for name in table.columns}
    for name, attribute in how.attributes.items():
        words = ", ".join(f"{code} is {word}" for code, word in attribute.words.items())
        missing = (*attribute.missing, *taken_as_missing.get(attribute.column, ()))
        unknown = f"not known where it says {', '.join(missing)}" if missing else ""
        parts = (words, ", ".join(attribute.known), attribute.why, unknown)
        about = "; ".join(part for part in parts if part)
        yield "attribute", f"{name}, from column {attribute.column!r}" + (f": {about}" if about else "")
    yield from (("note", note) for note in how.notes)
    if how.published.note:
        yield "fairmedfm", how.published.note


def _files(how: Recipe) -> Iterator[tuple[str, str]]:
    """The tables with the columns that are read, lists, and what the path of an image looks like."""
    from fmfair.runners.datasets.making import needed_columns

    made = {*how.extracts, *(name for table in how.joins for name in table.columns)}
    parts = {name: text.partition(" ~ ")[0] for name, text in how.extracts.items()}
    keys = (name for table in how.joins for name in table.on.values())
    own = dict.fromkeys(name for name in (*needed_columns(how), *parts.values(), *keys) if name not in made)
    for table in how.tables:
        yield "table", _table(table, [name for name in own if name not in table.values])
    for table in how.joins:
        yield "table", _table(table, [*table.on, *table.columns])
    yield from (("list", f"{file}, the images of {split}") for split, file in how.released.lists.items())
    yield from (("column", f"{name}, a part of {column!r}") for name, column in parts.items())
    yield "images", " or ".join(how.path)


def _table(table: Table, columns: list[str]) -> str:
    optional = " (optional)" if table.optional else ""
    return f"{' or '.join(table.file)}{optional}, columns {', '.join(columns)}"
