"""Image towers of transformers: DINOv2, DINOv3, AIMv2 and the tower of MedGemma; only classes named here."""

from __future__ import annotations

import re
from typing import Any

from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.encoder import Tower
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.families.hf import built, config_of, named_class
from fmfair.runners.models.features import taken
from fmfair.runners.models.state import State
from fmfair.runners.models.weights import state_of

CLASSES = ("Dinov2Model", "DINOv3ViTModel", "Aimv2VisionModel", "SiglipVisionModel")

# Keys of AIMv2's first revisions, and what transformers calls them.
_AIMV2 = (
    (r"^preprocessor\.patchifier\.proj\.", "embeddings.patch_embed."),
    (r"^preprocessor\.patchifier\.norm\.", "embeddings.rms_norm."),
    (r"^preprocessor\.pos_embed$", "embeddings.position_embedding.weight"),
    (r"^trunk\.post_trunk_norm\.", "rms_norm."),
    (r"^trunk\.blocks\.(\d+)\.attn\.proj\.", r"encoder.layers.\1.attention.out_proj."),
    (r"^trunk\.blocks\.(\d+)\.mlp\.fc1\.", r"encoder.layers.\1.ffn.gate_proj."),
    (r"^trunk\.blocks\.(\d+)\.mlp\.fc2\.", r"encoder.layers.\1.ffn.down_proj."),
    (r"^trunk\.blocks\.(\d+)\.mlp\.fc3\.", r"encoder.layers.\1.ffn.up_proj."),
    (r"^trunk\.blocks\.(\d+)\.norm_(\d)\.", r"encoder.layers.\1.rms_norm\2."),
)


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a folder with config.json and weights."""
    model_class = named_class(entry, CLASSES)
    config = config_of(entry, checkpoint, model_class.config_class)
    state, report = state_of(entry, checkpoint)
    if entry.loader.arch == "Aimv2VisionModel" and any(key.startswith("trunk.") for key in state):
        state = new_aimv2(state)
    model, report = built(model_class, config, state, entry, report)

    def images(batch: Any) -> tuple[Any, None]:
        # The pooled output is named only where the checkpoint has one: a class may add a head of its own.
        found = model(pixel_values=batch)
        return taken(entry, found.last_hidden_state, found.pooler_output), None

    return Tower(model, images, report=report)


def new_aimv2(state: State) -> State:
    """The state of AIMv2's first revisions under the names of the new ones."""
    new: State = {}
    for key, value in state.items():
        if fused := re.match(r"^trunk\.blocks\.(\d+)\.attn\.qkv\.(\w+)$", key):
            for part, tensor in zip("qkv", value.chunk(3), strict=True):
                new[f"encoder.layers.{fused[1]}.attention.{part}_proj.{fused[2]}"] = tensor
            continue
        name = key
        for pattern, other in _AIMV2:
            name = re.sub(pattern, other, name)
        new[name] = value.squeeze(0) if key == "preprocessor.pos_embed" else value
    return new
