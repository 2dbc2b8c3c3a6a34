"""Tiny random models of the registry's entries, saved in the layout of the checkpoint that the entry claims."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from fmfair.runners.models import registry
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.state import State

WIDTH = 32
# Of the pictures that reach the model; a multiple of 14 and of 16.
SMALL_SIDE = 112
# Words that the tiny tokenizers know; all else is unknown.
WORDS = (
    "a",
    "photo",
    "of",
    "chest",
    "x",
    "ray",
    "no",
    "pneumonia",
    "normal",
    "thickening",
    "pleural",
    "##s",
    "effusion",
)
TEXTS = ("a photo of pneumonia", "no pneumonia", "Pleural_Effusion")

SMALL_TIMM: Mapping[str, Any] = {"embed_dim": WIDTH, "depth": 2, "num_heads": 2}
SMALL_OPEN_CLIP: Mapping[str, Any] = {
    "embed_dim": 16,
    "vision_cfg": {"layers": 2, "width": 64, "patch_size": 32, "head_width": 32},
    "text_cfg": {"width": WIDTH, "heads": 2, "layers": 2},
}
# Names in the files of authors, for those of the model.
AUTHORS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "lvm_med": (("mlp.fc1", "mlp.lin1"), ("mlp.fc2", "mlp.lin2")),
    "retfound_dinov2_meh": (("mlp.fc1.", "mlp.w12."), ("mlp.fc2.", "mlp.w3.")),
    "retfound_dinov2_shanghai": (("mlp.fc1.", "mlp.w12."), ("mlp.fc2.", "mlp.w3.")),
}


def fed(entry: Entry, size: int) -> Entry:
    """An entry whose pictures are of another size; tiny models are fed smaller ones."""
    steps = ("rgb", f"resize:{size}:squash:bilinear:pil", "scale", "normalise:half")
    return replace(entry, image=replace(entry.image, steps=steps, size=size))


@contextmanager
def registered(entry: Entry) -> Iterator[Entry]:
    """An entry in the registry for as long as the block runs."""
    registry.register(entry, replacing=True)
    try:
        yield entry
    finally:
        registry.unregister(entry.name)


def stand_in(name: str, folder: Path) -> tuple[Entry, Path]:
    """A tiny entry of the same kind, and its checkpoint."""
    entry = registry.find(name)
    if entry.loader.family != "open_clip":
        entry = fed(entry, SMALL_SIDE)
    torch.manual_seed(0)
    import stand_ins_own

    return {**MAKERS, **stand_ins_own.MAKERS}[entry.loader.family](replace(entry, name=f"tiny_{name}"), folder)


def randomised(module: Any) -> Any:
    """A module whose parameters and statistics are all random, so that none is at its start value."""
    with torch.no_grad():
        for key, value in module.state_dict().items():
            if value.is_floating_point():
                spread = value[0].numel() ** -0.5 if value.ndim == 4 else 0.3
                value.copy_(torch.rand_like(value) + 0.5 if "var" in key else torch.randn_like(value) * spread)
    return module.eval()


def layout(entry: Entry, state: State, **beside: Any) -> object:
    """A state under the keys of the authors' file: prefixes, names, what is dropped, what stands beside."""
    rules = entry.weights
    names = AUTHORS.get(entry.name.removeprefix("tiny_"), ())
    written: State = {}
    for key, value in state.items():
        if any(key.startswith(p) for p in rules.missing_ok):
            continue
        new = key
        for own, theirs in names:
            new = new.replace(own, theirs)
        written[f"{rules.keep_prefix[0] if rules.keep_prefix else ''}{new}"] = value.clone()
    prefix = rules.keep_prefix[0] if rules.keep_prefix else ""
    for pattern in (*rules.drop, *(p for p in rules.unexpected_ok if "*" not in p)):
        written[prefix + pattern.replace("*", "text.") + ("weight" if pattern.endswith((".", "_")) else "")] = (
            torch.ones(2)
        )
    found: object = written
    for level in reversed([part for part in rules.state_key.split(".") if part]):
        found = {level: found, **beside}
    return found


def _timm(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    from fmfair.runners.models.families.timm import built

    kwargs = {**entry.loader.kwargs, **SMALL_TIMM}
    if "sam" not in entry.loader.arch:  # its tables are those of 1,024 pixels
        kwargs["img_size"] = SMALL_SIDE
    dim = 2 * WIDTH if entry.feature.take == "cls_patch_mean" else WIDTH
    tiny = _sized(entry, dim=dim, kwargs=kwargs)
    path = folder / _file(entry, "pytorch_model.bin")
    extra = {"args": argparse.Namespace(lr=0.1)} if entry.weights.safe_globals else {"epoch": 3}
    torch.save(layout(tiny, randomised(built(tiny)).state_dict(), **extra), path)
    return tiny, path


def _torchvision(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    from fmfair.runners.models.families.torchvision import built

    path = folder / _file(entry, "")
    extra = {"opt": argparse.Namespace(lr=0.1)} if entry.weights.safe_globals else {"epoch": 3, "arch": "resnet18"}
    torch.save(layout(entry, randomised(built(entry)).state_dict(), **extra), path)
    return entry, path


def _open_clip(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    from fmfair.runners.models.checkpoint import Checkpoint
    from fmfair.runners.models.families.open_clip import built, merged

    small = deepcopy(merged(entry.loader.kwargs.get("model", {}), SMALL_OPEN_CLIP))
    kwargs = {**entry.loader.kwargs, "model": small}
    if "text_config" in kwargs:
        kwargs["text_config"] = {**kwargs["text_config"], **SMALL_BERT}
        kwargs["model"]["vision_cfg"] = _open_clip_timm("test_vit", "")
    width = 16
    if "SigLIP" in entry.loader.arch:
        width = kwargs["model"]["embed_dim"] = 64
        kwargs["model"]["vision_cfg"] = _open_clip_timm("test_vit", "map")
        kwargs["model"]["text_cfg"] |= {"vocab_size": 64, "context_length": 64}
    tiny = _sized(entry, dim=width, shared=width, kwargs=kwargs)
    tiny = replace(tiny, feature=replace(tiny.feature, alternatives=dict.fromkeys(entry.feature.alternatives, 64)))
    model = randomised(built(tiny, Checkpoint(folder / "none", folder)))
    model.logit_scale.data.fill_(4.0)
    if "timm_model_name" in kwargs["model"]["vision_cfg"]:
        tiny = fed(tiny, 160)
    path = folder / _file(entry, "open_clip_pytorch_model.bin").replace("*", "best")
    _save(layout(tiny, model.state_dict(), epoch=3), path)
    write_tokenizer(entry, folder)
    return tiny, path


def _open_clip_timm(name: str, pool: str) -> dict[str, Any]:
    return {
        "timm_model_name": name,
        "timm_pool": pool,
        "timm_proj": "linear" if not pool else "none",
        "image_size": 160,
    }


SMALL_BERT: Mapping[str, Any] = {
    "vocab_size": 40,
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": WIDTH,
}
SMALL_LAYERS: Mapping[str, Any] = {
    "hidden_size": WIDTH,
    "intermediate_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


def _hf_clip(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    from transformers import CLIPConfig, CLIPModel

    config = CLIPConfig(
        text_config={**SMALL_LAYERS, "eos_token_id": 2},
        vision_config={**SMALL_LAYERS, "image_size": SMALL_SIDE, "patch_size": 16},
        projection_dim=16,
    )
    randomised(CLIPModel(config)).save_pretrained(folder)
    tiny = _sized(entry, dim=16, shared=16)
    return replace(tiny, feature=replace(tiny.feature, alternatives={"pooler": WIDTH})), folder


def _hf_siglip(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    from transformers import SiglipConfig, SiglipModel

    config = SiglipConfig(
        text_config={**SMALL_LAYERS, "vocab_size": 64, "projection_size": WIDTH},
        vision_config={**SMALL_LAYERS, "image_size": SMALL_SIDE, "patch_size": 16},
    )
    model = randomised(SiglipModel(config))
    model.logit_scale.data.fill_(4.7)
    model.logit_bias.data.fill_(-12.5)
    model.save_pretrained(folder)
    write_tokenizer(entry, folder)
    return _sized(entry, dim=WIDTH, shared=WIDTH), folder


def _hf_vision(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    import transformers

    model_class = getattr(transformers, entry.loader.arch)
    sizes: dict[str, Any] = {**SMALL_LAYERS, "image_size": SMALL_SIDE, "patch_size": 14}
    if entry.loader.arch == "DINOv3ViTModel":
        sizes |= {"patch_size": 16, "num_register_tokens": 4}
    if entry.loader.arch == "Dinov2Model":
        sizes |= {"image_size": 518, "mlp_ratio": 2}
    sizes |= {key: value for key, value in entry.loader.kwargs.items() if key != "sub_config"}
    config = model_class.config_class(**sizes)
    model = randomised(model_class(config))
    tiny = _sized(entry, dim=2 * WIDTH if entry.feature.take == "cls_patch_mean" else WIDTH)
    if "sub_config" not in entry.loader.kwargs:
        model.save_pretrained(folder)
        return tiny, folder
    return tiny, _sharded(entry, folder, config, model.state_dict())


def _sharded(entry: Entry, folder: Path, config: Any, state: State) -> Path:
    """A part of a larger model, over several files, of which one has none of the part."""
    prefix = entry.weights.keep_prefix[1]
    parts = [{prefix + k: v.contiguous().bfloat16() for k, v in list(state.items())[i::2]} for i in range(2)]
    parts[0]["language_model.embed.weight"] = torch.ones(4, 4)
    parts.append({"language_model.head.weight": torch.ones(4, 4)})
    places: dict[str, str] = {}
    for number, part in enumerate(parts):
        file = f"model-{number + 1:05}-of-00003.safetensors"
        save_file(part, folder / file)
        places |= dict.fromkeys(part, file)
    (folder / "model-00003-of-00003.safetensors").unlink()  # never opened
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    said = {"model_type": "gemma3", entry.loader.kwargs["sub_config"]: config.to_dict()}
    (folder / "config.json").write_text(json.dumps(said))
    return folder


MAKERS: dict[str, Callable[[Entry, Path], tuple[Entry, Path]]] = {
    "timm": _timm,
    "torchvision": _torchvision,
    "open_clip": _open_clip,
    "hf_clip": _hf_clip,
    "hf_siglip": _hf_siglip,
    "hf_vision": _hf_vision,
}


def _sized(entry: Entry, *, dim: int, shared: int = 0, kwargs: Mapping[str, Any] | None = None) -> Entry:
    loader = replace(entry.loader, params_m=None, kwargs=entry.loader.kwargs if kwargs is None else kwargs)
    feature = replace(
        entry.feature, dim=dim, shared_dim=shared, alternatives=dict.fromkeys(entry.feature.alternatives, dim)
    )
    return replace(entry, loader=loader, feature=feature)


def _file(entry: Entry, otherwise: str) -> str:
    return entry.source.files[0] if entry.source.files else otherwise


def _save(state: object, path: Path) -> None:
    if path.suffix == ".safetensors":
        assert isinstance(state, dict)
        save_file({key: value.contiguous() for key, value in state.items()}, path)
    else:
        torch.save(state, path)


def write_tokenizer(entry: Entry, folder: Path) -> None:
    """A tokenizer of a few words beside the weights, of the kind that the entry reads."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    if entry.text is None or entry.text.tokenizer != "json":
        return
    special = (
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] if entry.text.start == "[CLS]" else ["<pad>", "</s>", "<bos>", "<unk>"]
    )
    vocabulary = {word: number for number, word in enumerate([*special, *WORDS])}
    if special[0] == "[PAD]":
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    else:
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    # What a file of a tokenizer may say of padding is not what counts.
    tokenizer.enable_padding(direction="left", length=7)
    tokenizer.save(str(folder / (entry.text.file or "tokenizer.json")))
