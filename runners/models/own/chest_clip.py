"""MedCLIP and CXR-CLIP: a ResNet-50 or a Swin beside Bio_ClinicalBERT, each with a linear layer after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torchvision

from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.encoder import Tower, scales
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.features import no_such_feature
from fmfair.runners.models.own.parts import Assembly, linear
from fmfair.runners.models.tokens import tokenizer_for
from fmfair.runners.models.weights import state_of


@dataclass(frozen=True)
class Layout:
    """Where the parts stand in a checkpoint, and how a Swin and a text are pooled.

    Attributes:
        swin: Prefix of the Swin.
        resnet: Prefix of the ResNet-50.
        swin_head: Prefix of the linear layer after the Swin.
        resnet_head: Prefix of the linear layer after the ResNet, of which it may be the last layer.
        bert: Prefix of the text tower.
        text_head: Prefix of the text's linear layer.
        bias: Whether the linear layers have one.
        pooled_swin: Whether the Swin's mean is the feature, rather than its first token.
        texts: From BERT's output and the mask to one vector per text.
    """

    swin: str
    resnet: str
    swin_head: str
    resnet_head: str
    bert: str
    text_head: str
    bias: bool
    pooled_swin: bool
    texts: Callable[[Any, Any], Any]


def _three_layers(output: Any, _mask: Any) -> Any:
    """MedCLIP: the mean of layers 1, 2 and the last, over all tokens."""
    layers = output.hidden_states
    return torch.stack([layers[1], layers[2], layers[-1]]).mean(dim=(0, 2))


def _last_attended(output: Any, mask: Any) -> Any:
    """CXR-CLIP: the last token that is not padding."""
    tokens = output.last_hidden_state
    return tokens[torch.arange(len(tokens), device=tokens.device), mask.sum(dim=1) - 1]


LAYOUTS = {
    "medclip": Layout(
        "vision_model.model.",
        "vision_model.model.",
        "vision_model.projection_head.",
        "vision_model.model.fc.",
        "text_model.model.",
        "text_model.projection_head.",
        bias=False,
        pooled_swin=True,
        texts=_three_layers,
    ),
    "cxr_clip": Layout(
        "image_encoder.image_encoder.",
        "image_encoder.resnet.",
        "image_projection.projection.",
        "image_projection.projection.",
        "text_encoder.text_encoder.",
        "text_projection.projection.",
        bias=True,
        pooled_swin=False,
        texts=_last_attended,
    ),
}


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a file of weights; `loader.family` says the layout and `loader.arch` the image tower."""
    if entry.feature.take not in ("pooler", "projected"):
        raise no_such_feature(entry, ("pooler", "projected"))
    layout = LAYOUTS[entry.loader.family]
    tokenizer = tokenizer_for(entry, checkpoint)
    state, report = state_of(entry, checkpoint)
    scale, learned = scales(entry, state)
    parts = Assembly(entry, state, report)
    swin = entry.loader.arch == "swin"
    head_at = layout.swin_head if swin else layout.resnet_head
    head = parts.add("image_head", linear(parts.rest, head_at, bias=layout.bias), head_at)
    pooled = _swin(entry, parts, layout) if swin else _resnet(entry, parts, layout)
    text_head = linear(parts.rest, layout.text_head, bias=layout.bias)
    bert = parts.add_bert("bert", layout.bert)
    parts.add("text_head", text_head, layout.text_head)
    parts.matrix("logit_scale", "logit_scale", ())

    def images(batch: Any) -> tuple[Any, Any]:
        feature = pooled(batch)
        shared = head(feature)
        return shared if entry.feature.take == "projected" else feature, shared

    def texts(ids: Any, mask: Any) -> Any:
        output = bert(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        return text_head(layout.texts(output, mask))

    return Tower(parts.module, images, texts, tokenizer, scale, learned, parts.finish())


def _swin(entry: Entry, parts: Assembly, layout: Layout) -> Callable[[Any], Any]:
    from transformers import SwinConfig, SwinModel

    config = SwinConfig(**entry.loader.kwargs.get("swin", {}))
    model = parts.add_hf("swin", SwinModel, config, layout.swin)

    def pooled(batch: Any) -> Any:
        output = model(pixel_values=batch)
        return output.pooler_output if layout.pooled_swin else output.last_hidden_state[:, 0]

    return pooled


def _resnet(entry: Entry, parts: Assembly, layout: Layout) -> Callable[[Any], Any]:
    net = torchvision.models.resnet50(**entry.loader.kwargs.get("resnet", {}))
    net.fc = torch.nn.Identity()
    return parts.add("resnet", net, layout.resnet)  # type: ignore[no-any-return]
