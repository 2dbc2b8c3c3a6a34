"""CLIP and its descendants in the form of transformers' `CLIPModel`."""

from __future__ import annotations

from typing import Any

from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.encoder import Tower, scales
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.families.hf import built, config_of, named_class
from fmfair.runners.models.features import no_such_feature
from fmfair.runners.models.tokens import tokenizer_for
from fmfair.runners.models.weights import state_of


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a folder with config.json and weights."""
    model_class = named_class(entry, ("CLIPModel",))
    tokenizer = tokenizer_for(entry, checkpoint)
    state, report = state_of(entry, checkpoint)
    model, report = built(model_class, config_of(entry, checkpoint, model_class.config_class), state, entry, report)

    def images(batch: Any) -> tuple[Any, Any]:
        pooled = model.vision_model(pixel_values=batch).pooler_output
        shared = model.visual_projection(pooled)
        return {"projected": shared, "pooler": pooled}[entry.feature.take], shared

    if entry.feature.take not in ("projected", "pooler"):
        raise no_such_feature(entry, ("projected", "pooler"))

    # Padding comes after the end token and the attention is causal: no mask is needed.
    def texts(ids: Any, _mask: Any) -> Any:
        return model.get_text_features(input_ids=ids).pooler_output

    scale, learned = scales(entry, state)
    return Tower(model, images, texts, tokenizer, scale, learned, report)
