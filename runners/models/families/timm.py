"""Image towers that timm builds: the pathology models, RETFound, MedMAE, LVM-Med, and copies of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import timm
import torch
from timm.layers import SwiGLUPacked, resample_abs_pos_embed

from fmfair.errors import FmfairError, near
from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.encoder import Tower
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.features import taken
from fmfair.runners.models.state import State
from fmfair.runners.models.weights import load_into, state_of

# Arguments that are no literals, by the name under which an entry gives them.
_NAMED: Mapping[str, Any] = {"SwiGLUPacked": SwiGLUPacked, "SiLU": torch.nn.SiLU}
_POSITIONS = "pos_embed"


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a file of weights; the architecture is the entry's."""
    model = built(entry)
    state, report = state_of(entry, checkpoint)
    if entry.weights.resize_pos:
        resample_positions(model, state)
    report = load_into(model, state, entry, report)
    return Tower(model, lambda batch: (feature_of(entry, model, batch), None), report=report)


def built(entry: Entry) -> Any:
    """The architecture, not yet with weights."""
    if not timm.is_model(entry.loader.arch):
        hint = near(entry.loader.arch, timm.list_models())
        raise FmfairError(f"{entry.name}: timm has no architecture {entry.loader.arch!r}{hint}")
    if "pretrained" in entry.loader.kwargs:
        raise FmfairError(f"{entry.name}: loader.kwargs has 'pretrained'; the weights are those of the checkpoint")
    kwargs = {
        name: _NAMED.get(value, value) if isinstance(value, str) else value
        for name, value in entry.loader.kwargs.items()
    }
    return timm.create_model(entry.loader.arch, pretrained=False, **kwargs)


def feature_of(entry: Entry, model: Any, batch: Any) -> Any:
    """The feature of a batch."""
    if entry.feature.take == "block_mean":
        # The map of the last block, before any neck.
        maps = model.forward_intermediates(batch, indices=1, norm=False, intermediates_only=True)
        return maps[-1].mean(dim=(2, 3))
    if entry.feature.take == "pooler":
        return model(batch)
    return taken(entry, model.forward_features(batch))


def resample_positions(model: Any, state: State) -> None:
    """Brings the position table of the checkpoint to the grid of the model, where they differ."""
    own, table = getattr(model, _POSITIONS, None), state.get(_POSITIONS)
    if own is None or table is None or own.shape == table.shape:
        return
    prefix = 0 if getattr(model, "no_embed_class", False) else model.num_prefix_tokens
    state[_POSITIONS] = resample_abs_pos_embed(table, new_size=model.patch_embed.grid_size, num_prefix_tokens=prefix)
