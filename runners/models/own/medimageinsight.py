"""MedImageInsight: a DaViT and a text tower without causal mask, each with a matrix into the shared space."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import timm
from open_clip.transformer import LayerNorm, QuickGELU, TextTransformer

from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.encoder import Tower, scales
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.features import no_such_feature
from fmfair.runners.models.own.parts import Assembly
from fmfair.runners.models.tokens import tokenizer_for
from fmfair.runners.models.weights import state_of

_TEXT: Mapping[str, Any] = {"context_length": 77, "vocab_size": 49408, "width": 1024, "heads": 16, "layers": 16}


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a file of weights."""
    if entry.feature.take not in ("pooler", "projected"):
        raise no_such_feature(entry, ("pooler", "projected"))
    tokenizer = tokenizer_for(entry, checkpoint)
    state, report = state_of(entry, checkpoint)
    scale, learned = scales(entry, state)
    parts, shared_dim = Assembly(entry, state, report), entry.feature.shared_dim
    image = timm.create_model("davit_huge_fl", num_classes=0, **entry.loader.kwargs.get("image", {}))
    sizes = {**_TEXT, **entry.loader.kwargs.get("text", {})}
    # Texts are padded by 0 here, of which the mask is made; the entry removes the one character of that id.
    text = TextTransformer(
        **sizes,
        output_dim=None,
        no_causal_mask=True,
        use_pad_mask=True,
        pad_id=0,
        pool_type="argmax",
        act_layer=QuickGELU,
        norm_layer=partial(LayerNorm, eps=1e-12),
    )
    parts.add("image", image, "image_encoder.")
    parts.add("text", text, "lang_encoder.")
    parts.matrix("image_projection", "image_projection", (image.num_features, shared_dim))
    parts.matrix("text_projection", "lang_projection", (sizes["width"], shared_dim))
    parts.matrix("logit_scale", "logit_scale", ())

    def images(batch: Any) -> tuple[Any, Any]:
        pooled = image(batch)
        shared = pooled @ parts.module.image_projection
        return shared if entry.feature.take == "projected" else pooled, shared

    def texts(ids: Any, _mask: Any) -> Any:
        return text(ids) @ parts.module.text_projection

    return Tower(parts.module, images, texts, tokenizer, scale, learned, parts.finish())
