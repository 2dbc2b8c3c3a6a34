"""BioViL and BioViL-T with a single image: a ResNet-50, a projector of 1x1 convolutions, and CXR-BERT.

The two towers are two files: the image tower is the checkpoint, the text tower lies beside it in transformers' form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torchvision

from fmfair.errors import FmfairError
from fmfair.runners.models.checkpoint import USUAL, Checkpoint, instructions
from fmfair.runners.models.encoder import Tower, scales
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.features import no_such_feature
from fmfair.runners.models.own.parts import Assembly, linear, width
from fmfair.runners.models.state import State
from fmfair.runners.models.tokens import tokenizer_for
from fmfair.runners.models.weights import LoadReport, state_of

# Of the text file: the head that guesses words.
_WORDS = ("cls.",)


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The image tower of a file, and the text tower beside it."""
    tokenizer = tokenizer_for(entry, checkpoint)
    state, report = state_of(entry, checkpoint)
    texts, beside = _text_state(entry, checkpoint)
    report = replace(report, dropped=(*report.dropped, *beside.dropped))
    parts = Assembly(entry, {**state, **texts}, report)
    images = _image_tower(entry, parts, report)
    text = _text_tower(parts)
    scale, learned = scales(entry, state)
    return Tower(parts.module, images, text, tokenizer, scale, learned, parts.finish())


def _text_state(entry: Entry, checkpoint: Checkpoint) -> tuple[State, LoadReport]:
    """The weights of the text tower; their keys and those of the image tower have nothing in common."""
    file = next((checkpoint.folder / name for name in USUAL if (checkpoint.folder / name).is_file()), None)
    if file is None:
        raise FmfairError(
            f"{entry.name}: no weights of the text tower, {' or '.join(entry.source.beside)}, in {checkpoint.folder}. "
            f"{instructions(entry)}"
        )
    rules = replace(entry.weights, state_key="", keep_prefix=(), drop=_WORDS, rename=(), safe_globals=())
    return state_of(replace(entry, weights=rules), replace(checkpoint, weights=file))


def _image_tower(entry: Entry, parts: Assembly, report: LoadReport) -> Callable[[Any], tuple[Any, Any]]:
    if entry.feature.take not in ("spatial_mean", "projected", "block_mean"):
        raise no_such_feature(entry, ("spatial_mean", "projected", "block_mean"))
    net = parts.add("resnet", torchvision.models.resnet50(**entry.loader.kwargs.get("resnet", {})), "encoder.encoder.")
    trunk = torch.nn.Sequential(*list(net.children())[:-2])
    narrow: Any = None
    if (weight := parts.rest.get("encoder.backbone_to_vit.weight")) is not None:
        narrow = parts.add(
            "narrow", torch.nn.Conv2d(weight.shape[1], len(weight), 1, bias=False), "encoder.backbone_to_vit."
        )
        # What stands for the earlier image, where there is none.
        parts.matrix("absent", "encoder.missing_previous_emb", (1, len(weight), 1, 1))
    first, last = "projector.model.0.weight", "projector.model.3.weight"
    inner, outer = width(parts.rest, first, 0, entry, report), width(parts.rest, last, 0, entry, report)
    projector = torch.nn.Sequential(
        torch.nn.Conv2d(width(parts.rest, first, 1, entry, report), inner, 1, bias=False),
        torch.nn.BatchNorm2d(inner),
        torch.nn.ReLU(),
        torch.nn.Conv2d(inner, outer, 1),
    )
    parts.add("projector", projector, "projector.model.")

    def images(batch: Any) -> tuple[Any, Any]:
        backbone = trunk(batch)
        joined = backbone
        if narrow is not None:
            patches = narrow(backbone)
            absent = parts.module.absent.expand(len(patches), -1, *patches.shape[2:])
            joined = torch.cat([patches, absent], dim=1)
        shared = projector(joined).mean(dim=(2, 3))
        taken = {"spatial_mean": joined, "block_mean": backbone}.get(entry.feature.take)
        return shared if taken is None else taken.mean(dim=(2, 3)), shared

    return images


def _text_tower(parts: Assembly) -> Callable[[Any, Any], Any]:
    head = "cls_projection_head."
    inner = linear(parts.rest, f"{head}dense_to_hidden.")
    outer = linear(parts.rest, f"{head}dense_to_output.")
    bert = parts.add_bert("bert", "bert.")
    parts.add("to_hidden", inner, f"{head}dense_to_hidden.")
    norm = parts.add("norm", torch.nn.LayerNorm(inner.out_features, eps=1e-12), f"{head}LayerNorm.")
    parts.add("to_output", outer, f"{head}dense_to_output.")

    def texts(ids: Any, mask: Any) -> Any:
        first = bert(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
        return outer(norm(torch.nn.functional.gelu(inner(first))))

    return texts
