"""What is known of a model, declared: where it comes from, how it is loaded, and what its numbers mean.

An entry is read from TOML, one table per model with the sections of `sections.py`. Nothing here loads anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError, Problems, listing, near
from fmfair.runners.models.declared import read
from fmfair.runners.models.sections import (
    PYTHON,
    FeatureRule,
    ImageRules,
    Loader,
    Model,
    PublishedPrompts,
    ScoreRules,
    Source,
    TextRules,
    WeightRules,
)

Builder = Callable[[Path | None], Any]

# What a model that is like one of fmfair's does not take over: its weights are others, and nobody has run them.
_NOT_TAKEN_OVER = {"model": ("verified", "access", "gated"), "source": ("hub_id", "revision", "package", "where")}


@dataclass(frozen=True)
class Entry:
    """One model of the registry; `builder` makes it where it is the user's own."""

    name: str
    image: ImageRules
    feature: FeatureRule
    model: Model = field(default_factory=Model)
    source: Source = field(default_factory=Source)
    loader: Loader = field(default_factory=Loader)
    weights: WeightRules = field(default_factory=WeightRules)
    text: TextRules | None = None
    prompts: PublishedPrompts = field(default_factory=PublishedPrompts)
    score: ScoreRules = field(default_factory=ScoreRules)
    builder: Builder | None = field(default=None, compare=False, metadata={"undeclared": True})

    @property
    def title(self) -> str:
        """The name in print."""
        return self.model.title or self.name

    @property
    def reads_text(self) -> bool:
        """Whether there is a text tower."""
        return self.model.kind == "image_text"


_SECTIONS = frozenset(f.name for f in fields(Entry)) - {"name", "builder"}


def entry_from(table: Mapping[str, Any], name: str | None = None) -> Entry:
    """The entry that a table describes, checked as a whole."""
    named = {**table, "name": name} if name is not None else dict(table)
    where = f"model {named['name']!r}" if isinstance(named.get("name"), str) else "model"
    entry = read(Entry, named, where)
    check(entry)
    return entry


def entries_from(tables: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> list[Entry]:
    """The entries of one file; `like = "other"` takes over what another entry of the file, or a known one, says."""
    if loose := [name for name in tables if name in _SECTIONS]:
        raise FmfairError(
            f"{listing(loose)} of no model: write [NAME] above, or [NAME.{loose[0]}], with your model's name"
        )
    problems = Problems()
    entries = []
    for name in tables:
        with problems.collecting():
            entries.append(entry_from(with_like(tables, name, known), name))
    problems.raise_if_any()
    return entries


def check(entry: Entry) -> None:
    """Raises where sections of an entry contradict one another."""
    problems = Problems()
    where = f"model {entry.name!r}"
    if entry.reads_text and entry.loader.family != PYTHON and entry.text is None:
        problems.add(f"{where}: kind 'image_text' needs a section 'text' that says how texts are read")
    if entry.reads_text != (entry.feature.shared_dim > 0):
        problems.add(f"{where}: feature.shared_dim is given for kind 'image_text' and for no other")
    _check_steps(entry, where, problems)
    if entry.feature.dim < 1 or entry.image.size < 1:
        problems.add(f"{where}: feature.dim and image.size are at least 1")
    if entry.source.format == "torchscript" and entry.source.hub_id:
        problems.add(f"{where}: TorchScript is a program, read only from a file that was named: leave out hub_id")
    if entry.score.scale == "constant" and entry.score.value is None:
        problems.add(f"{where}: score.scale 'constant' needs score.value")
    problems.raise_if_any()


def _check_steps(entry: Entry, where: str, problems: Problems) -> None:
    from fmfair.runners.images.steps import Transform

    if not entry.image.steps:
        problems.add(f"{where}: image.steps is empty; name at least 'scale'")
        return
    try:
        size = Transform.of(list(entry.image.steps)).size
    except FmfairError as error:
        for problem in error.problems:
            problems.add(f"{where}.image.steps: {problem}")
        return
    if size != entry.image.size:
        problems.add(f"{where}: image.steps make pictures of {size} pixels, and image.size is {entry.image.size}")


def with_like(tables: Mapping[str, Any], name: str, known: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The table upon what its model of reference says, section by section."""
    table = tables[name]
    if not isinstance(table, Mapping):
        raise FmfairError(f"model {name!r}: expected a table with sections such as [{name}.image]")
    own = dict(table)
    like = own.pop("like", None)
    if like is None:
        return own
    every = {**(known or {}), **{other: said for other, said in tables.items() if other != name}}
    if not isinstance(every.get(like), Mapping):
        hint = near(str(like), every) or f"; the file has {listing(tables)}"
        raise FmfairError(f"model {name!r}: like = {like!r} is no other model{hint}")
    if "like" in every[like]:
        raise FmfairError(f"model {name!r}: like = {like!r} is itself like another model; name that one")
    merged = dict(every[like]) if like in tables and like != name else _for_others(every[like])
    for section, said in own.items():
        base = merged.get(section)
        merged[section] = {**base, **said} if isinstance(base, Mapping) and isinstance(said, Mapping) else said
    return merged


def _for_others(table: Mapping[str, Any]) -> dict[str, Any]:
    """What a model of fmfair's says that holds for other weights too."""
    return {
        section: {key: value for key, value in said.items() if key not in _NOT_TAKEN_OVER.get(section, ())}
        for section, said in table.items()
    }
