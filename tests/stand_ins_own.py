"""Tiny random stand-ins of the models that are put together from parts, under the keys of their authors' files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import stand_ins as tiny
import torch
from safetensors.torch import save_file

from fmfair.runners.models.entry import Entry
from fmfair.runners.models.state import State

SWIN: Mapping[str, Any] = {
    "image_size": tiny.SMALL_SIDE,
    "embed_dim": 16,
    "depths": [1, 1],
    "num_heads": [2, 2],
    "window_size": 7,
}
# Of a ResNet-50, whose outer widths stay as they are.
RESNET: Mapping[str, Any] = {"width_per_group": 8}
TEXT: Mapping[str, Any] = {"vocab_size": 64, "width": 64, "heads": 2, "layers": 2}
DAVIT: Mapping[str, Any] = {"embed_dims": (16, 16, 32, 32), "depths": (1, 1, 1, 1), "num_heads": (2, 2, 2, 2)}

# From timm's names of DaViT to those of the authors.
_DAVIT = (
    (r"^stem\.conv", "convs.0.proj"),
    (r"^stem\.norm", "convs.0.norm"),
    (r"^stages\.(\d)\.downsample\.conv", r"convs.\1.proj"),
    (r"^stages\.(\d)\.downsample\.norm", r"convs.\1.norm"),
    (r"^stages\.(\d)\.blocks\.(\d)\.", r"blocks.\1.\2."),
    (r"spatial_block\.norm1", "spatial_block.window_attn.norm"),
    (r"spatial_block\.attn", "spatial_block.window_attn.fn"),
    (r"channel_block\.norm1", "channel_block.channel_attn.norm"),
    (r"channel_block\.attn", "channel_block.channel_attn.fn"),
    (r"\.norm2", ".ffn.norm"),
    (r"\.mlp", ".ffn.fn.net"),
    (r"cpe1\.proj", "conv1.fn.dw"),
    (r"cpe2\.proj", "conv2.fn.dw"),
    (r"^head\.norm", "norms"),
)


def parts(**modules: Any) -> State:
    """The states of random modules, each under its prefix; `__` stands for a dot."""
    found: State = {}
    for name, module in modules.items():
        prefix = name.replace("__", ".")
        state = tiny.randomised(module).state_dict()
        found |= {f"{prefix}.{key}" if prefix else key: value.clone() for key, value in state.items()}
    return found


def bert(**more: Any) -> Any:
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(**tiny.SMALL_BERT, max_position_embeddings=300), **more)


def sized(entry: Entry, dim: int, shared: int, **kwargs: Any) -> Entry:
    feature = replace(entry.feature, dim=dim, shared_dim=shared)
    return replace(entry, loader=replace(entry.loader, params_m=None, kwargs=kwargs), feature=feature)


def conch(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    import timm
    from open_clip.transformer import AttentionalPooler, TextTransformer

    trunk = {"embed_dim": 64, "depth": 1, "num_heads": 2, "img_size": tiny.SMALL_SIDE}
    text = TextTransformer(**TEXT, context_length=127, embed_cls=True, pad_id=0, output_dim=64)
    state = parts(
        visual__trunk=timm.create_model("vit_base_patch16_224", num_classes=0, dynamic_img_size=True, **trunk),
        visual__attn_pool_contrast=AttentionalPooler(64, 64, n_head=8, n_queries=1),
        visual__ln_contrast=torch.nn.LayerNorm(64),
        visual__attn_pool_caption=torch.nn.Linear(2, 2),
        visual__ln_caption=torch.nn.LayerNorm(2),
        text=text,
    )
    state |= {
        "visual.proj_contrast": torch.randn(64, 64),
        "logit_scale": torch.tensor(4.2),
        "text.attn_mask": torch.ones(2),
    }
    torch.save(state, folder / "pytorch_model.bin")
    tiny.write_tokenizer(entry, folder)
    return sized(entry, 64, 64, width=64, trunk=trunk, text=TEXT), folder


def medimageinsight(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    from functools import partial

    import timm
    from open_clip.transformer import LayerNorm, QuickGELU, TextTransformer

    sizes = {**TEXT, "vocab_size": 49408}
    text = TextTransformer(
        **sizes, output_dim=None, no_causal_mask=True, act_layer=QuickGELU, norm_layer=partial(LayerNorm, eps=1e-12)
    )
    image = parts(image=timm.create_model("davit_huge_fl", num_classes=0, **DAVIT))
    state = {f"lang_encoder.{k.replace('transformer.', '')}": v for k, v in tiny.randomised(text).state_dict().items()}
    for key, value in image.items():
        new = key.removeprefix("image.")
        for pattern, other in _DAVIT:
            new = re.sub(pattern, other, new)
        state[f"image_encoder.{new}"] = value
    state |= {"image_projection": torch.randn(32, 16), "lang_projection": torch.randn(64, 16)}
    state["logit_scale"] = torch.tensor(4.0)
    path = folder / entry.source.files[1]
    path.parent.mkdir()
    save_file({key: value.contiguous() for key, value in state.items()}, path)
    return sized(entry, 32, 16, image=DAVIT, text=sizes), folder


def biovil(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    import torchvision

    nn, temporal = torch.nn, "block_mean" in entry.feature.alternatives
    joined = 32 if temporal else 2048
    image = parts(
        encoder__encoder=torchvision.models.resnet50(**RESNET),
        projector__model=nn.Sequential(
            nn.Conv2d(joined, 24, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU(), nn.Conv2d(24, 24, 1)
        ),
    )
    if temporal:
        image["encoder.backbone_to_vit.weight"] = torch.randn(16, 2048, 1, 1) * 0.02
        image["encoder.missing_previous_emb"] = torch.randn(1, 16, 1, 1)
        image["encoder.vit_pooler.blocks.0.weight"] = torch.ones(2)
    torch.save(image, folder / entry.source.files[0])
    head = "cls_projection_head__"
    text = parts(
        bert=bert(add_pooling_layer=False),
        cls__predictions=nn.Linear(2, 2),
        **{f"{head}dense_to_hidden": nn.Linear(32, 24), f"{head}LayerNorm": nn.LayerNorm(24)},
        **{f"{head}dense_to_output": nn.Linear(24, 24)},
    )
    text["bert.embeddings.position_ids"] = torch.arange(300)[None]
    torch.save(text, folder / "pytorch_model.bin")
    tiny.write_tokenizer(entry, folder)
    return sized(entry, 32 if temporal else 2048, 24, bert=small_bert(), resnet=RESNET), folder


def small_bert() -> dict[str, Any]:
    return {key: value for key, value in tiny.SMALL_BERT.items() if key != "vocab_size"}


def medclip(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    swin = entry.loader.arch == "swin"
    text = {"text_model__model": bert(), "text_model__projection_head": torch.nn.Linear(32, 16, bias=False)}
    image = {"vision_model__model": _swin() if swin else _resnet(torch.nn.Linear(2048, 16, bias=False))}
    if swin:
        image["vision_model__projection_head"] = torch.nn.Linear(32, 16, bias=False)
    state = _older(parts(**image, **text)) | {"logit_scale": torch.tensor(5.0)}
    state["text_model.model.embeddings.position_ids"] = torch.arange(300)[None]
    torch.save(state, folder / "pytorch_model.bin")
    beside = folder / "Bio_ClinicalBERT"
    beside.mkdir()
    tiny.write_tokenizer(entry, beside)
    return sized(entry, 32 if swin else 2048, 16, swin=SWIN, bert=small_bert(), resnet=RESNET), folder


def cxr_clip(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    swin = entry.loader.arch == "swin"
    image = (
        {"image_encoder__image_encoder": _swin()} if swin else {"image_encoder__resnet": _resnet(torch.nn.Identity())}
    )
    state = parts(
        **image,
        image_projection__projection=torch.nn.Linear(32 if swin else 2048, 16),
        text_encoder__text_encoder=bert(),
        text_projection__projection=torch.nn.Linear(32, 16),
    )
    state = _older(state) | {"logit_scale": torch.tensor(3.0)}
    torch.save({"model": state, "config": {"model": {"name": "x"}}, "epoch": 3}, folder / entry.source.files[0])
    tiny.write_tokenizer(entry, folder)
    return sized(entry, 32 if swin else 2048, 16, swin=SWIN, bert=small_bert(), resnet=RESNET), folder


def _swin() -> Any:
    from transformers import SwinConfig, SwinModel

    return SwinModel(SwinConfig(**SWIN))


def _resnet(last: Any) -> Any:
    import torchvision

    net = torchvision.models.resnet50(**RESNET)
    net.fc = last
    return net


def _older(state: State) -> State:
    """Keys of Swin as transformers 4 wrote them, where they were renamed since."""
    names = {
        ".attention.q_proj.": ".attention.self.query.",
        ".attention.k_proj.": ".attention.self.key.",
        ".attention.v_proj.": ".attention.self.value.",
        ".attention.o_proj.": ".attention.output.dense.",
        ".mlp.fc1.": ".intermediate.dense.",
        ".mlp.fc2.": ".output.dense.",
        ".relative_position_bias.relative": ".self.relative",
    }
    found: State = {}
    for key, value in state.items():
        new = key
        if ".blocks." in key:
            for now, older in names.items():
                new = new.replace(now, older)
        found[new] = value
    return found


def blip(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    from transformers import BlipConfig, BlipForImageTextRetrieval

    config = BlipConfig(
        text_config={**tiny.SMALL_LAYERS, "vocab_size": 40, "encoder_hidden_size": tiny.WIDTH, "projection_dim": 16},
        vision_config={**tiny.SMALL_LAYERS, "image_size": tiny.SMALL_SIDE, "patch_size": 16},
        image_text_hidden_size=16,
    )
    tiny.randomised(BlipForImageTextRetrieval(config)).save_pretrained(folder)
    tiny.write_tokenizer(entry, folder)
    return sized(entry, tiny.WIDTH, 16), folder


def blip2(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    from transformers import Blip2Config, Blip2ForImageTextRetrieval

    config = Blip2Config(
        vision_config={**tiny.SMALL_LAYERS, "image_size": tiny.SMALL_SIDE, "patch_size": 14},
        qformer_config={
            **tiny.SMALL_LAYERS,
            "vocab_size": 40,
            "encoder_hidden_size": tiny.WIDTH,
            "use_qformer_text_input": True,
        },
        num_query_tokens=4,
        image_text_hidden_size=16,
    )
    tiny.randomised(Blip2ForImageTextRetrieval(config)).save_pretrained(folder)
    tiny.write_tokenizer(entry, folder)
    made = sized(entry, tiny.WIDTH, 16)
    return replace(made, feature=replace(made.feature, vectors=4)), folder


def efficientnet_lite(entry: Entry, folder: Path) -> tuple[Entry, Path]:
    """The real one, copied, so that no test can harm what is installed."""
    from fmfair.runners.models.checkpoint import locate

    return tiny.fed(entry, 224), Path(shutil.copy(locate(entry, None).weights, folder))


MAKERS = {
    "conch": conch,
    "medimageinsight": medimageinsight,
    "biovil": biovil,
    "medclip": medclip,
    "cxr_clip": cxr_clip,
    "blip": blip,
    "blip2": blip2,
    "efficientnet_lite": efficientnet_lite,
}
