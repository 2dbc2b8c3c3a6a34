"""The tensors of a checkpoint file, read without running anything that the file holds.

The one exception is TorchScript, a program with its weights, which is read for entries that say so of their source.
"""

from __future__ import annotations

import importlib
import pickle
import re
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError, listing
from fmfair.runners.models.checkpoint import described

State = dict[str, Any]

# How the files of `torch.save` begin: an archive, or the pickle of old releases.
ARCHIVE, PICKLE = b"PK\x03\x04", b"\x80"
# What stands in a repository for a large file that was not fetched.
POINTER = b"version https://git-lfs"

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
    try:
        with path.open("rb") as file:
            start = file.read(200)
    except OSError as error:
        raise FmfairError(f"{path} cannot be read: {error.strerror}") from error
    if start[8:9] == b"{":  # eight bytes of length, then JSON
        return _safetensors(path, wanted)
    if not start.startswith((ARCHIVE, PICKLE)):
        raise FmfairError(f"{path} {_instead(start)}")
    if start.startswith(ARCHIVE) and _is_program(path):
        if torchscript:
            return _archive(path)
        raise FmfairError(
            f"{path} is TorchScript, a program with its weights, which is not run. If you trust whoever made it, save "
            "its tensors alone once: torch.save(torch.jit.load(FILE, map_location='cpu').state_dict(), NEW_FILE)"
        )
    return _torch(path, safe_globals)


def _instead(start: bytes) -> str:
    """What a file is that begins like none of weights."""
    text = start.lstrip(b"\xef\xbb\xbf \r\n\t")
    if not start:
        return "is empty; download it again"
    if text.startswith(POINTER):
        return (
            "is a Git LFS pointer, a few lines in place of the file: run `git lfs pull` in its repository, or download "
            "the file itself"
        )
    if text.startswith(b"<"):
        return (
            "is a web page, not weights: whoever served it wanted a login or a confirmation; download it in a browser"
        )
    if text and all(32 <= byte < 127 or byte in b"\r\n\t" for byte in text):
        return f"is a text, not weights: {text.decode().splitlines()[0][:60]!r}; download it again"
    return f"is no file of torch.save or safetensors: it starts with {start[:8]!r}"


def _is_program(path: Path) -> bool:
    """Whether an archive is of TorchScript.

    Raises:
        FmfairError: It is of neither TorchScript nor `torch.save`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise FmfairError(f"{path} is only a part of a file; download it again") from error
    if not any(name.endswith("/data.pkl") for name in names):
        raise FmfairError(f"{path} is an archive of {listing(names, 5)}, not weights; unpack it first")
    return any(name.endswith("/constants.pkl") for name in names)


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
            warnings.simplefilter("ignore")  # an error follows, or `checked` refuses
            return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        raise FmfairError(f"{path} {_refusal(error)}") from error


def _refusal(error: Exception) -> str:
    """Why a file of `torch.save` was not read; whatever a reader of broken pickles raises."""
    said = " ".join(str(error).split()) or type(error).__name__
    if not isinstance(error, pickle.UnpicklingError):
        return f"cannot be read as a file of torch.save: {said.partition('. ')[0][:200]}; download it again"
    if not (found := re.search(r"GLOBAL ([\w.]+)", said)):
        return "is a pickle of something else than torch.save makes, and was not read; get the weights as safetensors"
    if "is blocked" in said:
        return f"would run {found[1]} when it is opened, and was not read; get another copy from its authors"
    return (
        f"holds more than tensors, and was not read: {found[1].rstrip('.')}. If you trust whoever made it, name that "
        "class in weights.safe_globals of an entry of your own, or save the tensors alone once: "
        "torch.save(torch.load(FILE, weights_only=False)[KEY], NEW_FILE)"
    )


def _archive(path: Path) -> State:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated in new releases; these files are of 2021
        return dict(torch.jit.load(str(path), map_location="cpu").state_dict())


def _sharded(index: Path, wanted: Callable[[str], bool], safe_globals: Sequence[str]) -> State:
    """The wanted keys of several files, of which only those are opened that hold some."""
    places = described(index).get("weight_map")
    if not isinstance(places, Mapping) or not all(isinstance(file, str) for file in places.values()):
        raise FmfairError(f"{index} is no index of files of weights: it has no 'weight_map'; download it again")
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
    """The tensors at a place of a nested object, or at its top where they were saved alone."""
    if isinstance(found, Mapping) and _tensors(found):
        return _as_state(found, path)
    for level in filter(None, state_key.split(".")):
        if not isinstance(found, Mapping) or level not in found:
            has = listing(found, 10) if isinstance(found, Mapping) else f"a {type(found).__name__}"
            raise FmfairError(
                f"{path} has no weights at {state_key!r}; it has {has}. An entry of your own may say weights.state_key"
            )
        found = found[level]
    return _as_state(found, path)


def _tensors(found: Mapping[Any, object]) -> bool:
    import torch

    return bool(found) and all(isinstance(value, torch.Tensor) for value in found.values())


def _as_state(found: object, path: Path) -> State:
    import torch

    if not isinstance(found, Mapping) or not found:
        raise FmfairError(f"{path} holds a {type(found).__name__} without tensors by key")
    other = [key for key, value in found.items() if not (isinstance(value, torch.Tensor) and isinstance(key, str))]
    if len(other) == len(found):
        raise FmfairError(
            f"{path} holds no tensors by key but {listing(found, 10)}; weights.state_key says where they are"
        )
    if other:
        raise FmfairError(
            f"{path} has entries that are no tensors: {listing(other, 10)}; weights.state_key says where they are"
        )
    return dict(found)


def checked(state: State, path: Path) -> State:
    """The tensors, if they are plain numbers; those of a quantised file mean nothing without their scales."""
    import torch

    def plain(value: Any) -> bool:
        small = value.dtype.itemsize == 1 and value.dtype != torch.bool
        return value.layout is torch.strided and not (
            value.is_meta or value.is_quantized or value.is_complex() or small
        )

    if odd := [key for key, value in state.items() if not plain(value)]:
        kinds = listing(sorted({str(state[key].dtype).removeprefix("torch.") for key in odd}), 5)
        raise FmfairError(
            f"{path} is quantised or holds no plain numbers: {listing(odd, 10)} of type {kinds}; expected float16, "
            "bfloat16 or float32: get the original weights"
        )
    return state


def _named(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise FmfairError(f"weights.safe_globals: {name!r} cannot be imported") from error
