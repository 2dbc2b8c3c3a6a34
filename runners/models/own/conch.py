"""CONCH: a ViT with attention pooling, and a text tower whose CLS stands at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import timm
import torch
from open_clip.transformer import AttentionalPooler, TextTransformer

from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.encoder import Tower, scales
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.features import no_such_feature
from fmfair.runners.models.own.parts import Assembly
from fmfair.runners.models.tokens import tokenizer_for
from fmfair.runners.models.weights import state_of

_TRUNK: Mapping[str, Any] = {"img_size": 448, "dynamic_img_size": True, "num_classes": 0}
_TEXT: Mapping[str, Any] = {"context_length": 127, "vocab_size": 32007, "width": 768, "heads": 12, "layers": 12}
_WIDTH = 512


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a file of weights."""
    if entry.feature.take not in ("pooler", "projected"):
        raise no_such_feature(entry, ("pooler", "projected"))
    tokenizer = tokenizer_for(entry, checkpoint)
    state, report = state_of(entry, checkpoint)
    scale, learned = scales(entry, state)
    parts, images, text = _assembled(entry, Assembly(entry, state, report))
    return Tower(parts.module, images, text, tokenizer, scale, learned, parts.finish())


def _assembled(entry: Entry, parts: Assembly) -> tuple[Assembly, Any, Any]:
    kwargs = entry.loader.kwargs
    width = kwargs.get("width", _WIDTH)
    trunk = timm.create_model("vit_base_patch16_224", **{**_TRUNK, **kwargs.get("trunk", {})})
    pool = AttentionalPooler(width, trunk.num_features, n_head=8, n_queries=1)
    text = TextTransformer(**{**_TEXT, **kwargs.get("text", {})}, embed_cls=True, pad_id=0, output_dim=width)
    parts.add("trunk", trunk, "visual.trunk.")
    parts.add("pool", pool, "visual.attn_pool_contrast.")
    norm = parts.add("norm", torch.nn.LayerNorm(width), "visual.ln_contrast.")
    parts.matrix("projection", "visual.proj_contrast", (width, width))
    parts.matrix("logit_scale", "logit_scale", ())
    parts.add("text", text, "text.")

    def images(batch: Any) -> tuple[Any, Any]:
        pooled = norm(pool(trunk.forward_features(batch))[:, 0])
        shared = pooled @ parts.module.projection
        return shared if entry.feature.take == "projected" else pooled, shared

    return parts, images, lambda ids, _mask: text(ids)
