"""Provenance: with what and from what the numbers were made, hashes that tie the page to them, and who signs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from fmfair.export import FRAMES, FURTHER, csv_text, plain, strict_json
from fmfair.page.material import Material
from fmfair.page.plan import NOT_STATED
from fmfair.page.section import Column, Section, Table
from fmfair.render import visible
from fmfair.version import installed_version

# Of the metadata, what is told column by column.
_COLUMNS = "columns"
# What has a place of its own.
_TOLD = ("task", "engine", "conventions", "n_samples", "evaluated", "versions", "command", "inputs")


def section(material: Material) -> Section:
    """What makes the numbers traceable."""
    plan = material.plan
    content = {
        "tables": [_made(material), *_inputs(material), _options(material), _hashes(material)],
        "notes": [visible(note) for note in material.notes],
        "signature": [
            ("Answers for the report", plan.author or NOT_STATED),
            ("Date of the plan", plan.date or NOT_STATED),
        ],
    }
    return Section("provenance", "Provenance", content)


def _made(material: Material) -> Table:
    """The program, the size of the data, and what the user says of them."""
    facts = material.metadata
    total = facts.get("n_samples")
    versions = facts.get("versions") or {}
    rows = [
        ["Evaluated", str(facts.get("evaluated", NOT_STATED))],
        ["Evaluated with", ", ".join(f"{name} {number}" for name, number in versions.items()) or NOT_STATED],
        ["Command", visible(str(facts.get("command", "a call from Python, with the options below")))],
        ["Page made by", f"fmfair {installed_version()}"],
        ["Task", material.task],
        ["Engine", str(facts.get("engine", NOT_STATED))],
        ["Conventions", str(facts.get("conventions", NOT_STATED))],
        ["Rows evaluated, over all by-keys", "suppressed" if total is None else f"{total:,}"],
        ["Data set, version, period", material.plan.data or NOT_STATED],
    ]
    return Table("What the numbers were made with", [Column("Fact"), Column("Value")], rows)


def _inputs(material: Material) -> list[Table]:
    """The files that were read; none where the rows were handed over in memory."""
    files = material.metadata.get("inputs") or []
    rows = [[visible(one["name"]), one["table"], one["sha256"] or "could not be read again"] for one in files]
    columns = [Column("File"), Column("Read as"), Column("SHA-256")]
    note = "Names are those below the folder that was read; of many files the hash is that of all names and hashes."
    return [Table("The data that were read", columns, rows, note=note)] if rows else []


def _options(material: Material) -> Table:
    """The columns and options of the call, as the metadata hold them."""
    rows = [[name, value] for name, value in _given(material.metadata)]
    return Table("Columns and options of the evaluation", [Column("Option"), Column("Value")], rows)


def _given(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every fact with a value; the columns one by one."""
    for name, value in facts.items():
        if name == _COLUMNS and isinstance(value, Mapping):
            yield from ((f"column {role}", _text(column)) for role, column in value.items() if _is_given(column))
        elif name not in _TOLD and _is_given(value):
            yield name, _text(value)


def _is_given(value: object) -> bool:
    return value is not None and value not in ([], {}, "")


def _text(value: object) -> str:
    return visible(value) if isinstance(value, str) else visible(strict_json(plain(value)))


def _hashes(material: Material) -> Table:
    """A hash of every frame, which who holds the frames can compute again."""
    rows = []
    for name in (*FRAMES, *FURTHER):
        frame = material.frames.get(name)
        if frame is not None:
            digest = hashlib.sha256(csv_text(frame).encode()).hexdigest()
            rows.append([name, f"{frame.height:,}", digest])
    columns = [Column("Frame"), Column("Rows", numeric=True), Column("SHA-256")]
    note = "The hash is that of the file that report.write_csv(path, which=frame) writes; it ties the page to them."
    return Table("The results", columns, rows, note=note)
