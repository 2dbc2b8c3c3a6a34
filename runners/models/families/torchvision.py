"""Convolutional networks of torchvision without their last layer: C2L, MoCo-CXR, and users' own state dicts."""

from __future__ import annotations

from typing import Any

import torch
import torchvision

from fmfair.errors import FmfairError, listing, near
from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.encoder import Tower
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.features import no_such_feature
from fmfair.runners.models.weights import load_into, state_of

# The last layer by architecture; without it, the model gives its pooled map.
LAST = {
    **dict.fromkeys(("resnet18", "resnet34", "resnet50", "resnet101", "resnet152"), "fc"),
    **dict.fromkeys(("densenet121", "densenet169", "densenet201", "efficientnet_b0"), "classifier"),
}


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a state dict."""
    if entry.feature.take not in ("spatial_mean", "pooler"):
        raise no_such_feature(entry, ("spatial_mean", "pooler"))
    model = built(entry)
    state, report = state_of(entry, checkpoint)
    report = load_into(model, state, entry, report)
    return Tower(model, lambda batch: (model(batch), None), report=report)


def built(entry: Entry) -> Any:
    """The architecture without its last layer, not yet with weights."""
    if entry.loader.arch not in LAST:
        hint = near(entry.loader.arch, LAST)
        raise FmfairError(f"{entry.name}: torchvision loads {listing(LAST, 20)}, not {entry.loader.arch!r}{hint}")
    model = getattr(torchvision.models, entry.loader.arch)(weights=None, **entry.loader.kwargs)
    setattr(model, LAST[entry.loader.arch], torch.nn.Identity())
    return model
