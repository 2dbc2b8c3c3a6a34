"""A model of the registry, loaded: `load_model`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError, check_choice, listing, near
from fmfair.runners.models.checkpoint import Checkpoint, locate
from fmfair.runners.models.encoder import LoadedModel, Tower
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.presets import FAIRMEDFM, OWN, steps_for
from fmfair.runners.models.registry import find
from fmfair.runners.models.weights import LoadReport

_HERE = "fmfair.runners.models"
# The module of each loader; it has `load(entry, checkpoint) -> Tower`.
LOADERS: Mapping[str, str] = {
    "open_clip": f"{_HERE}.families.open_clip",
    "hf_clip": f"{_HERE}.families.hf_clip",
    "hf_siglip": f"{_HERE}.families.hf_siglip",
    "hf_vision": f"{_HERE}.families.hf_vision",
    "timm": f"{_HERE}.families.timm",
    "torchvision": f"{_HERE}.families.torchvision",
    "conch": f"{_HERE}.own.conch",
    "medimageinsight": f"{_HERE}.own.medimageinsight",
    "biovil": f"{_HERE}.own.biovil",
    "medclip": f"{_HERE}.own.chest_clip",
    "cxr_clip": f"{_HERE}.own.chest_clip",
    "blip": f"{_HERE}.own.blip",
    "blip2": f"{_HERE}.own.blip",
    "efficientnet_lite": f"{_HERE}.own.efficientnet_lite",
}
MIXED = "mixed"
DEVICES = ("auto", "cpu", "cuda", "mps")


def load_model(
    name: str,
    checkpoint: Path | str | None = None,
    *,
    device: str = "auto",
    preprocess: str = OWN,
    dataset: str = "",
    dtype: str | None = None,
    feature: str | None = None,
) -> LoadedModel:
    """A model of the registry with its weights, ready to encode.

    Args:
        name: Its name in the registry.
        checkpoint: A file of weights or the folder with it; where left out, the folder of that name in the folder that
            the environment variable `FMFAIR_MODELS` names, then the Hugging Face hub.
        device: `"auto"`, or a device of torch.
        preprocess: `"own"`, the model's published preprocessing, or `"fairmedfm"`, the benchmark's.
        dataset: The data set, whose statistics the benchmark's preprocessing uses.
        dtype: Number type of the weights: `"float32"`, `"float16"`, `"bfloat16"`; or `"mixed"`, float32 weights with
            products in half precision where that is safe. Where left out float32 on a CPU, on an accelerator the
            entry's, and on CUDA mixed in place of float32.
        feature: Another feature than the entry's first, of its `alternatives`.
    """
    entry = with_feature(find(name), feature)
    check_choice("preprocess", preprocess, (OWN, FAIRMEDFM))
    steps = steps_for(entry, preprocess, dataset)
    where = _device(device)
    place, tower = _built(entry, checkpoint)
    chosen = dtype or _usual(where.type, entry.loader.dtype)
    kind = _dtype("float32" if chosen == MIXED else chosen)
    tower.module.eval().requires_grad_(False).to(device=where, dtype=kind)
    return LoadedModel(entry, tower, steps, preprocess, where, kind, place.weights if place else None, chosen == MIXED)


def declared_identity(
    name: str, *, preprocess: str = OWN, dataset: str = "", dtype: str | None = None, feature: str | None = None
) -> dict[str, Any]:
    """What is known of `LoadedModel.identity` before anything is loaded; the arguments are those of `load_model`."""
    entry = with_feature(find(name), feature)
    check_choice("preprocess", preprocess, (OWN, FAIRMEDFM))
    known = {"name": entry.name, "feature": entry.feature.take, "preprocess": preprocess}
    if dtype is not None:
        _dtype(dtype)
        known["dtype"] = dtype
    return {**known, "steps": list(steps_for(entry, preprocess, dataset))}


def with_feature(entry: Entry, feature: str | None) -> Entry:
    """The entry with one of its alternatives as the feature."""
    if feature is None or feature == entry.feature.take:
        return entry
    known = {entry.feature.take: entry.feature.dim, **entry.feature.alternatives}
    if feature not in known:
        raise FmfairError(f"{entry.name}: no feature {feature!r}; it has {listing(known, 10)}{near(feature, known)}")
    taken: Any = feature
    return replace(entry, feature=replace(entry.feature, take=taken, dim=known[feature]))


def _built(entry: Entry, checkpoint: Path | str | None) -> tuple[Checkpoint | None, Tower]:
    if entry.builder is not None:
        return _by_user(entry, checkpoint)
    if entry.loader.family not in LOADERS:
        hint = near(entry.loader.family, LOADERS)
        raise FmfairError(
            f"{entry.name}: no loader {entry.loader.family!r}; loaders are {listing(LOADERS, 20)}{hint}. "
            "A model of another kind is registered with a builder: register(entry, builder=function)"
        )
    place = None
    try:
        loader = importlib.import_module(LOADERS[entry.loader.family])
        place = locate(entry, checkpoint)
        tower: Tower = loader.load(entry, place)
    except ImportError as error:
        raise FmfairError(f'{entry.name} needs {error.name or error}: pip install "fmfair[runners]"') from error
    except FmfairError:
        raise
    except Exception as error:  # of a library, where sizes do not fit one another or the memory
        said = " ".join(str(error).split())[:300] or "no reason"
        raise FmfairError(
            f"{entry.name}: {entry.loader.family} cannot build {entry.loader.arch or entry.title} as its entry and the "
            f"files at {place.folder if place else checkpoint} say: {type(error).__name__}: {said}"
        ) from error
    return place, tower


def _by_user(entry: Entry, checkpoint: Path | str | None) -> tuple[Checkpoint | None, Tower]:
    """The model of a user's builder: a `Tower`, or a module that turns images into features."""
    assert entry.builder is not None
    path = None if checkpoint is None else Path(checkpoint).expanduser()
    if path is not None and not path.exists():
        raise FmfairError(f"{entry.name}: no checkpoint at {path}")
    made = entry.builder(path)
    place = Checkpoint(path, path.parent) if path is not None and path.is_file() else None
    if isinstance(made, Tower):
        if entry.reads_text and (made.texts is None or made.tokenizer is None):
            raise FmfairError(f"{entry.name}: kind 'image_text' needs a Tower with texts and tokenizer")
        return place, made
    if not callable(made) or not hasattr(made, "parameters"):
        raise FmfairError(
            f"{entry.name}: its builder returned {type(made).__name__}; expected a torch module or a Tower"
        )
    if entry.reads_text:
        raise FmfairError(
            f"{entry.name}: kind 'image_text' needs a builder that returns a Tower with texts and tokenizer"
        )
    params = sum(p.numel() for p in made.parameters())
    return place, Tower(made, lambda batch: (made(batch), None), report=LoadReport(params=params))


def _device(name: str) -> Any:
    import torch

    if name != "auto":
        try:
            device = torch.device(name)
        except RuntimeError as error:
            raise FmfairError(f"device={name!r} is none of torch{near(name, DEVICES)}") from error
        try:
            torch.zeros(1, device=device).cpu()
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            reason = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
            raise FmfairError(
                f"device={name!r} cannot be used on this machine: {reason}; 'auto' takes the best there is"
            ) from error
        return device
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def _usual(device: str, declared: str) -> str:
    """The number type where none is asked for."""
    if device == "cpu":
        return "float32"
    return MIXED if device == "cuda" and declared == "float32" else declared


def _dtype(name: str) -> Any:
    import torch

    check_choice("dtype", name, ("float32", "float16", "bfloat16", MIXED))
    return getattr(torch, name)
