"""What the loaders of transformers share: configuration from the folder, weights checked key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import transformers
from transformers.utils import logging

from fmfair.errors import FmfairError, listing
from fmfair.runners.models.checkpoint import Checkpoint, described, instructions
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.state import State
from fmfair.runners.models.weights import LoadReport, matches, settled

# What a configuration may say beside sizes: code to be fetched and run, other number types.
_NO_SIZES = frozenset(
    {"attn_implementation", "experts_implementation", "auto_map", "quantization_config", "dtype", "torch_dtype"}
)


def config_of(entry: Entry, checkpoint: Checkpoint, config_class: Any) -> Any:
    """The configuration in the checkpoint's folder, with what the entry fixes."""
    said = config_said(entry, checkpoint)
    kinds = {config_class.model_type, *getattr(config_class, "accepted_types", ())}
    kind = said.get("model_type", config_class.model_type)
    if kind not in kinds:
        raise FmfairError(
            f"{entry.name}: {checkpoint.folder / 'config.json'} is of a model of type {kind!r}, expected "
            f"{listing(kinds)}; it is another checkpoint, or another revision of it"
        )
    config = config_class.from_dict(_sizes(said))
    for name, value in entry.loader.kwargs.items():
        if name != "sub_config":
            setattr(config, name, value)
    return config


def config_said(entry: Entry, checkpoint: Checkpoint) -> Mapping[str, Any]:
    """The configuration file, or the section of it that the entry names as `sub_config`."""
    path = checkpoint.folder / "config.json"
    if not path.is_file():
        raise FmfairError(f"{entry.name}: no config.json in {checkpoint.folder}. {instructions(entry)}")
    said = described(path)
    section = entry.loader.kwargs.get("sub_config")
    if section is None:
        return said
    if not isinstance(said.get(section), Mapping):
        raise FmfairError(f"{entry.name}: {path} has no section {section!r}; it has {listing(said, 20)}")
    return said[section]  # type: ignore[no-any-return]


def _sizes(said: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration without what asks transformers to fetch code (its kernels of attention, too) or to quantise."""
    kept = {key: value for key, value in said.items() if key not in _NO_SIZES and not key.startswith("_")}
    return {key: _sizes(value) if isinstance(value, Mapping) else value for key, value in kept.items()}


def named_class(entry: Entry, allowed: Sequence[str]) -> Any:
    """The class of transformers that the entry names, which is one of those that the loader knows."""
    if entry.loader.arch not in allowed:
        raise FmfairError(
            f"{entry.name}: loader.arch {entry.loader.arch!r} is no class that {entry.loader.family!r} loads; "
            f"it loads {listing(allowed, 10)}. A model of another kind is registered with a builder"
        )
    return getattr(transformers, entry.loader.arch)


def built(model_class: Any, config: Any, state: State, entry: Entry, report: LoadReport) -> tuple[Any, LoadReport]:
    """The model with the weights, which keep their float type until the model is moved."""
    model, found = read_in(model_class, config, state, entry, report)
    return model, settled(entry, report, model, missing=found["missing_keys"], unexpected=_left(state, found, entry))


def read_in(
    model_class: Any, config: Any, state: State, entry: Entry, report: LoadReport, **init: Any
) -> tuple[Any, Mapping[str, Any]]:
    """The model, and what transformers says of the keys; it renames those of older releases."""
    import torch

    with quiet():
        model, found = model_class.from_pretrained(
            None,
            config=config,
            state_dict=dict(state),
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # collected and refused below, all at once
            dtype=torch.float32,
            **init,
        )
    if shapes := sorted(found["mismatched_keys"]):
        told = "; ".join(f"{key} is {tuple(got)}, expected {tuple(due)}" for key, got, due in shapes[:10])
        raise FmfairError(f"{entry.name}: {report.file}: tensors of another shape: {told}")
    return model, found


def _left(state: State, found: Mapping[str, Any], entry: Entry) -> list[str]:
    """Keys that the model has not, those included that transformers passes over: `position_ids` of older files."""
    said = set(found["unexpected_keys"])
    return sorted(said | {key for key in state if matches(key, entry.weights.unexpected_ok)})


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no printed reports: what they would say is checked."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
