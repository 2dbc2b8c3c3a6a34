"""The models that fmfair knows, and those that a user adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from fmfair.errors import FmfairError, listing, near
from fmfair.runners.models.entry import Builder, Entry, check, entries_from, entry_from, with_like
from fmfair.runners.models.sections import PYTHON
from fmfair.toml import read_toml

ENTRIES = Path(__file__).parent / "entries"

_added: dict[str, Entry] = {}


def models() -> dict[str, Entry]:
    """All models by name: those that fmfair knows, then the user's."""
    return {**_shipped(), **_added}


def find(name: str) -> Entry:
    """The model of a name; punctuation and case do not matter.

    Examples:
        >>> find("RAD-DINO").feature.dim
        768
    """
    known = models()
    if name in known:
        return known[name]
    folded = {_folded(k): k for k in known}
    if _folded(name) in folded:
        return known[folded[_folded(name)]]
    hint = near(name, known) or f"; models are {listing(known, 100)}"
    raise FmfairError(f"no model {name!r}{hint}; register() adds a model of your own")


def register(
    model: Path | str | Mapping[str, Any] | Entry, *, builder: Builder | None = None, replacing: bool = False
) -> tuple[str, ...]:
    """Adds models to the registry, and returns their names.

    A file for a tower of timm, and one for other weights of a model that fmfair knows (all sections and fields stand in
    `fmfair.runners.models.sections`, all steps in `fmfair.runners.images.steps`):

        [mine]
        loader = { family = "timm", arch = "vit_base_patch16_224", kwargs = { num_classes = 0 } }
        weights = { state_key = "state_dict", keep_prefix = ["module."] }
        image = { steps = ["rgb", "resize:224:squash:bicubic:pil", "scale", "normalise:imagenet"], size = 224 }
        feature = { take = "cls", dim = 768 }

        [tuned]
        like = "dinov2_base"

    Args:
        model: A TOML file with one table per model, a mapping with the same fields and `name`, or an entry. `like`
            takes over what another model says, but for where its weights are and how they were verified.
        builder: A function that gets the path of the checkpoint, or None, and returns a torch module that turns images
            into features, or a `Tower`.
        replacing: Whether a model of the same name may be replaced.

    Examples:
        >>> def build(checkpoint):
        ...     import torch
        ...
        ...     return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten())
        >>> image = {"steps": ["rgb", "resize:32:squash:bilinear:pil", "scale"], "size": 32}
        >>> register({"name": "pixels", "image": image, "feature": {"dim": 48}}, builder=build)
        ('pixels',)
        >>> unregister("pixels")
    """
    entries = _read(model)
    if builder is not None:
        if len(entries) != 1:
            raise FmfairError(f"a builder makes one model, and {len(entries)} are described")
        entries = [replace(entries[0], builder=builder, loader=replace(entries[0].loader, family=PYTHON))]
    for entry in entries:
        check(entry)
        if entry.loader.family == PYTHON and entry.builder is None:
            raise FmfairError(f"model {entry.name!r}: loader.family is missing; name a loader, or give builder=")
        if entry.name in models() and not replacing:
            raise FmfairError(f"there is a model {entry.name!r} already; choose another name, or say replacing=True")
    _added.update({entry.name: entry for entry in entries})
    return tuple(entry.name for entry in entries)


def unregister(name: str) -> None:
    """Takes a model of the user's out of the registry."""
    if name not in _added:
        raise FmfairError(f"no model {name!r} was registered{near(name, _added)}")
    del _added[name]


def table() -> pl.DataFrame:
    """All models as a table: what each is, what it takes and gives, its licence, and how it was verified."""
    return pl.DataFrame([_row(entry) for entry in models().values()])


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "kind": entry.model.kind,
        "domain": entry.model.domain,
        "size": entry.image.size,
        "feature": entry.feature.take,
        "dim": entry.feature.dim,
        "shared_dim": entry.feature.shared_dim or None,
        "params_m": entry.loader.params_m,
        "loader": entry.loader.family,
        "source": entry.source.hub_id or ", ".join(entry.source.files),
        "licence": entry.model.licence,
        "gated": entry.model.gated,
        "verified": entry.model.verified,
    }


def _read(model: Path | str | Mapping[str, Any] | Entry) -> list[Entry]:
    if isinstance(model, Entry):
        return [model]
    if isinstance(model, Mapping):
        if "like" not in model or not isinstance(model.get("name"), str):
            return [entry_from(model)]
        return entries_from({model["name"]: {key: said for key, said in model.items() if key != "name"}}, _tables())
    return entries_from(read_toml(model, "the models of"), _tables())


@cache
def _tables() -> dict[str, Mapping[str, Any]]:
    """What is said of every model of fmfair's, with what it takes over from another."""
    files = [read_toml(path, "the models of") for path in sorted(ENTRIES.glob("*.toml"))]
    return {name: with_like(said, name) for said in files for name in said}


@cache
def _shipped() -> dict[str, Entry]:
    return {entry.name: entry for entry in entries_from(_tables())}


def _folded(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
