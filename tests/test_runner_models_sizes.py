"""The sizes that entries claim, of architectures built without memory: no weights are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fmfair.runners.models.registry import find, models


def test_architectures_have_the_claimed_size() -> None:
    """Built without memory: no weights are made."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("timm")
    pytest.importorskip("open_clip")
    from fmfair.runners.models.checkpoint import Checkpoint
    from fmfair.runners.models.families import open_clip, timm, torchvision

    nowhere = Checkpoint(Path("/nowhere/x"), Path("/nowhere"))
    seen = set()
    for entry in models().values():
        claim = (entry.loader.family, entry.loader.arch, str(entry.loader.kwargs))
        if entry.loader.family not in ("timm", "torchvision", "open_clip") or claim in seen:
            continue
        seen.add(claim)
        with torch.device("meta"):
            made = {"timm": timm.built, "torchvision": torchvision.built}.get(entry.loader.family)
            module = made(entry) if made else open_clip.built(entry, nowhere)
        assert entry.loader.params_m is not None
        count = sum(p.numel() for p in module.parameters()) / 1e6
        assert count == pytest.approx(entry.loader.params_m, rel=0.01), entry.name
    assert len(seen) > 12


# By entry, the class, its configuration and the sizes in which that differs from the library's defaults.
PUBLISHED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "clip_b32": ("CLIPModel", "CLIPConfig", {}),
    "siglip_b16": ("SiglipModel", "SiglipConfig", {}),
    "blip": ("BlipForImageTextRetrieval", "BlipConfig", {"image_text_hidden_size": 256}),
    "blip2": (
        "Blip2ForImageTextRetrieval",
        "Blip2Config",
        {"image_text_hidden_size": 256, "qformer_config": {"use_qformer_text_input": True}},
    ),
    "dinov2_base": ("Dinov2Model", "Dinov2Config", {"image_size": 518, "patch_size": 14}),
    "aimv2_large": ("Aimv2VisionModel", "Aimv2VisionConfig", {"use_head": False}),
    "aimv2_large_native": ("Aimv2VisionModel", "Aimv2VisionConfig", {"use_head": False, "is_native": True}),
    "medgemma_tower": (
        "SiglipVisionModel",
        "SiglipVisionConfig",
        {
            "hidden_size": 1152,
            "intermediate_size": 4304,
            "num_hidden_layers": 27,
            "num_attention_heads": 16,
            "image_size": 896,
            "patch_size": 14,
            "vision_use_head": False,
        },
    ),
    "dinov3_base": (
        "DINOv3ViTModel",
        "DINOv3ViTConfig",
        {
            "hidden_size": 768,
            "intermediate_size": 3072,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "num_register_tokens": 4,
        },
    ),
}


SO400M = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
LARGE = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
for _name, _width, _layers, _heads, _swiglu in (
    ("small", 384, 12, 6, False),
    ("large", 1024, 24, 16, False),
    ("giant", 1536, 40, 24, True),
):
    PUBLISHED[f"dinov2_{_name}"] = (
        "Dinov2Model",
        "Dinov2Config",
        {
            "hidden_size": _width,
            "num_hidden_layers": _layers,
            "num_attention_heads": _heads,
            "use_swiglu_ffn": _swiglu,
            "image_size": 518,
            "patch_size": 14,
        },
    )
for _name, _width, _layers, _heads, _inner, _gated in (
    ("small", 384, 12, 6, 1536, False),
    ("small_plus", 384, 12, 6, 1536, True),
    ("large", 1024, 24, 16, 4096, False),
    ("huge_plus", 1280, 32, 20, 5120, True),
    ("7b", 4096, 40, 32, 8192, True),
):
    PUBLISHED[f"dinov3_{_name}"] = (
        "DINOv3ViTModel",
        "DINOv3ViTConfig",
        {
            "hidden_size": _width,
            "num_hidden_layers": _layers,
            "num_attention_heads": _heads,
            "intermediate_size": _inner,
            "use_gated_mlp": _gated,
            "num_register_tokens": 4,
        },
    )
PUBLISHED["clip_b16"] = ("CLIPModel", "CLIPConfig", {"vision_config": {"patch_size": 16}})
PUBLISHED["clip_l14"] = (
    "CLIPModel",
    "CLIPConfig",
    {
        "vision_config": {**LARGE, "patch_size": 14},
        "text_config": {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12},
        "projection_dim": 768,
    },
)
PUBLISHED["medsiglip"] = (
    "SiglipModel",
    "SiglipConfig",
    {
        "text_config": {**SO400M, "projection_size": 1152},
        "vision_config": {**SO400M, "image_size": 448, "patch_size": 14},
    },
)


def test_models_of_several_parts_have_the_claimed_size() -> None:
    """Of the loaders' own sizes; what the checkpoint holds beside them is dropped, and does not count."""
    torch = pytest.importorskip("torch")
    timm = pytest.importorskip("timm")
    transformer = pytest.importorskip("open_clip.transformer")
    from fmfair.runners.models.own import conch, medimageinsight

    with torch.device("meta"):
        towers = {
            "conch": [
                timm.create_model("vit_base_patch16_224", **conch._TRUNK),
                transformer.AttentionalPooler(512, 768, n_head=8, n_queries=1),
                torch.nn.LayerNorm(512),
                torch.nn.Linear(512, 512, bias=False),
                transformer.TextTransformer(**conch._TEXT, embed_cls=True, pad_id=0, output_dim=512),
            ],
            "medimageinsight": [
                timm.create_model("davit_huge_fl", num_classes=0),
                transformer.TextTransformer(**medimageinsight._TEXT, output_dim=None),
                torch.nn.Linear(2048, 1024, bias=False),
                torch.nn.Linear(1024, 1024, bias=False),
            ],
        }
    for name, modules in towers.items():
        count = sum(p.numel() for module in modules for p in module.parameters()) / 1e6
        assert count == pytest.approx(find(name).loader.params_m, rel=0.005), name


@pytest.mark.parametrize("name", PUBLISHED)
def test_models_of_transformers_have_the_claimed_size(name: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model_class, config_class, sizes = PUBLISHED[name]
    with torch.device("meta"):
        module = getattr(transformers, model_class)(getattr(transformers, config_class)(**sizes))
    count = sum(p.numel() for p in module.parameters()) / 1e6
    assert count == pytest.approx(find(name).loader.params_m, rel=0.005)
