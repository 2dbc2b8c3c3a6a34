"""The tensors of a checkpoint file, read without running anything that the file holds."""

from __future__ import annotations

import importlib
import json
import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError, listing

State = dict[str, Any]

INDEX = ".index.json"


def read_state(path: Path, *, wanted: Callable[[str], bool], torchscript: bool, safe_globals: Sequence[str]) -> object:
    """What a file of weights holds: tensors by key, or the object in which they are nested.

    Args:
        path: A safetensors file, whatever its suffix, a file of `torch.save`, or the index of several.
        wanted: Which keys are read, where keys can be read one by one.
        torchscript: Whether the file is an archive of code and weights, of which the weights are taken.
        safe_globals: Classes beside tensors that may be read, by their full names.
    """
    if path.name.endswith(INDEX):
        return _sharded(path, wanted, safe_globals)
    with path.open("rb") as file:
        start = file.read(9)
    if start[8:9] == b"{":  # eight bytes of length, then JSON
        return _safetensors(path, wanted)
    if torchscript:
        return _archive(path)
    return _torch(path, safe_globals)


def _safetensors(path: Path, wanted: Callable[[str], bool]) -> State:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return {key: file.get_tensor(key) for key in file.keys() if wanted(key)}  # noqa: SIM118 - no mapping
    except SafetensorError as error:
        raise FmfairError(f"{path} is no whole safetensors file: {error}; download it again") from error


def _torch(path: Path, safe_globals: Sequence[str]) -> object:
    import torch

    allowed = [_named(name) for name in safe_globals]
    try:
        # An open file, of which no suffix is believed.
        with torch.serialization.safe_globals(allowed), path.open("rb") as file, warnings.catch_warnings():
            for message in (".*TorchScript archive", "Detected pickle protocol"):
                warnings.filterwarnings("ignore", message=message)  # an error follows
            return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise FmfairError(
            f"{path} holds more than tensors, and was not read: {_reason(error)}. If you trust whoever made it, "
            "name the class in weights.safe_globals of an entry of your own, or save its tensors alone once: "
            "torch.save(torch.load(FILE, weights_only=False)[KEY], NEW_FILE)"
        ) from error
    except (RuntimeError, EOFError, ValueError, KeyError) as error:
        raise FmfairError(f"{path} cannot be read as a file of torch.save or safetensors: {_reason(error)}") from error


def _archive(path: Path) -> State:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecated in new releases; these files are of 2021
            return dict(torch.jit.load(str(path), map_location="cpu").state_dict())
    except RuntimeError:
        return _as_state(_torch(path, ()), path)  # the same weights, saved again as a state dict


def _sharded(index: Path, wanted: Callable[[str], bool], safe_globals: Sequence[str]) -> State:
    """The wanted keys of several files, of which only those are opened that hold some."""
    try:
        places = dict(json.loads(index.read_text(encoding="utf-8"))["weight_map"])
    except (ValueError, TypeError, KeyError) as error:
        raise FmfairError(f"{index} is no index of files of weights: {error}; download it again") from error
    files = sorted({file for key, file in places.items() if wanted(key)})
    absent = [file for file in files if not (index.parent / file).is_file()]
    if absent:
        raise FmfairError(f"{index} names files that are not beside it: {listing(absent)}; download them too")
    state: State = {}
    for file in files:
        read = read_state(index.parent / file, wanted=wanted, torchscript=False, safe_globals=safe_globals)
        state |= {k: v for k, v in _as_state(read, index.parent / file).items() if wanted(k)}
    return state


def nested(found: object, state_key: str, path: Path) -> State:
    """The tensors at a place of a nested object."""
    for level in filter(None, state_key.split(".")):
        if not isinstance(found, Mapping) or level not in found:
            has = listing(found, 10) if isinstance(found, Mapping) else type(found).__name__
            raise FmfairError(f"{path} has no weights at {state_key!r}; it has {has}")
        found = found[level]
    return _as_state(found, path)


def _as_state(found: object, path: Path) -> State:
    import torch

    if not isinstance(found, Mapping):
        raise FmfairError(f"{path} holds a {type(found).__name__}, not tensors by key")
    other = [key for key, value in found.items() if not isinstance(value, torch.Tensor)]
    if len(other) == len(found):
        raise FmfairError(
            f"{path} holds no tensors by key but {listing(found, 10)}; weights.state_key says where they are"
        )
    if other:
        raise FmfairError(
            f"{path} has entries that are no tensors: {listing(other, 10)}; weights.state_key says where they are"
        )
    return dict(found)


def _named(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise FmfairError(f"weights.safe_globals: {name!r} cannot be imported") from error


def _reason(error: Exception) -> str:
    """The sentence of an error that names the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next(
        (line for line in lines if "GLOBAL" in line or "Unsupported" in line), lines[0] if lines else "no reason"
    )
