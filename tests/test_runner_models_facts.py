"""What an entry says of a model, beside what its authors published, written down a second time."""

from __future__ import annotations

from typing import Any

import pytest

from fmfair.runners.models.registry import find, models

# Hub id or files; feature, its dimension, the shared one; licence; whether it is gated.
PUBLISHED: dict[str, tuple[str, str, int, int, str, bool]] = {
    "clip_b32": ("openai/clip-vit-base-patch32", "projected", 512, 512, "MIT", False),
    "clip_b16": ("openai/clip-vit-base-patch16", "projected", 512, 512, "MIT", False),
    "clip_l14": ("openai/clip-vit-large-patch14", "projected", 768, 768, "MIT", False),
    "clip_l14_336": ("openai/clip-vit-large-patch14-336", "projected", 768, 768, "MIT", False),
    "blip": ("Salesforce/blip-itm-base-coco", "cls", 768, 256, "BSD-3-Clause", False),
    "blip2": ("Salesforce/blip2-itm-vit-g", "patch_mean", 768, 256, "BSD-3-Clause", False),
    "medclip": ("pytorch_model.bin", "pooler", 768, 512, "unclear", False),
    "medclip_resnet50": ("pytorch_model.bin", "pooler", 2048, 512, "unclear", False),
    "pubmedclip": ("sarahESL/PubMedCLIP", "projected", 512, 512, "MIT", False),
    "pubmedclip_hf": ("flaviagiammarino/pubmed-clip-vit-base-patch32", "projected", 512, 512, "MIT", False),
    "biomedclip": ("microsoft/BiomedCLIP-PubMedBERT_256-vit_base_patch16_224", "projected", 512, 512, "MIT", False),
    "dinov2_small": ("facebook/dinov2-small", "cls", 384, 0, "Apache-2.0", False),
    "dinov2_base": ("facebook/dinov2-base", "cls", 768, 0, "Apache-2.0", False),
    "dinov2_large": ("facebook/dinov2-large", "cls", 1024, 0, "Apache-2.0", False),
    "dinov2_giant": ("facebook/dinov2-giant", "cls", 1536, 0, "Apache-2.0", False),
    "c2l": ("res18_C2L.pth", "spatial_mean", 512, 0, "MIT", False),
    "lvm_med": ("lvmmed_vit.pth", "block_mean", 768, 0, "CC BY-NC-ND 2.0", False),
    "medmae": ("vit-b_CXR_0.5M_mae.pth", "cls", 768, 0, "Apache-2.0", False),
    "moco_cxr": ("r8w-00001.pth.tar", "spatial_mean", 512, 0, "CC BY-NC 4.0", False),
    "plip": ("vinid/plip", "projected", 512, 512, "not stated", False),
    "siglip_b16": ("google/siglip-base-patch16-224", "pooler", 768, 768, "Apache-2.0", False),
    "siglip2_b16": ("google/siglip2-base-patch16-224", "pooler", 768, 768, "Apache-2.0", False),
    "medsiglip": ("google/medsiglip-448", "pooler", 1152, 1152, "Health AI Developer Foundations terms", True),
    "conch": ("MahmoodLab/conch", "pooler", 512, 512, "CC BY-NC-ND 4.0", True),
    "rad_dino": ("microsoft/rad-dino", "cls", 768, 0, "MIT", False),
    "dinov3_base": ("facebook/dinov3-vitb16-pretrain-lvd1689m", "cls", 768, 0, "DINOv3 licence", True),
    "aimv2_large": ("apple/aimv2-large-patch14-224", "patch_mean", 1024, 0, "Apple Sample Code licence", False),
    "aimv2_large_native": (
        "apple/aimv2-large-patch14-native", "patch_mean", 1024, 0, "Apple Sample Code licence", False,
    ),
    "medgemma_tower": (
        "google/medgemma-4b-pt", "patch_mean", 1152, 0, "Health AI Developer Foundations terms", True,
    ),
    "retfound_cfp": ("YukunZhou/RETFound_mae_natureCFP", "pooler", 1024, 0, "CC BY-NC 4.0", True),
    "retfound_oct": ("YukunZhou/RETFound_mae_natureOCT", "pooler", 1024, 0, "CC BY-NC 4.0", True),
    "retfound_dinov2_meh": ("YukunZhou/RETFound_dinov2_meh", "cls", 1024, 0, "CC BY-NC 4.0", True),
    "uni2_h": ("MahmoodLab/UNI2-h", "cls", 1536, 0, "CC BY-NC-ND 4.0", True),
    "virchow2": ("paige-ai/Virchow2", "cls_patch_mean", 2560, 0, "CC BY-NC-ND 4.0", True),
    "gigapath": ("prov-gigapath/prov-gigapath", "cls", 1536, 0, "Apache-2.0", True),
    "chexzero": ("*.pt", "projected", 512, 512, "MIT", False),
    "biovil": ("microsoft/BiomedVLP-CXR-BERT-specialized", "spatial_mean", 2048, 128, "MIT", False),
    "biovil_t": ("microsoft/BiomedVLP-BioViL-T", "spatial_mean", 512, 128, "MIT", False),
    "cxr_clip_r50": ("r50_mcc.tar", "pooler", 2048, 512, "CC BY-NC 4.0", False),
    "cxr_clip_swint": ("swint_mcc.tar", "pooler", 768, 512, "CC BY-NC 4.0", False),
    "medimageinsight": ("lion-ai/MedImageInsights", "pooler", 2048, 1024, "MIT", False),
}  # fmt: skip

BIO_CLINICAL = "emilyalsentzer/Bio_ClinicalBERT"
# Tokenizer and whose it is, most ids, padding, whether the model is told of it, start, end, token of padding.
TEXTS: dict[str, tuple[str, str, int, str, bool, str, str, str]] = {
    "clip_b32 clip_b16 clip_l14 clip_l14_336 clip_b32_openai clip_b16_openai clip_l14_openai pubmedclip pubmedclip_hf "
    "plip chexzero medimageinsight": ("clip_bpe", "", 77, "max_length", False, "", "", ""),
    "blip": ("json", "", 35, "longest", True, "[CLS]", "[SEP]", "[PAD]"),
    "blip2": ("json", "", 32, "longest", True, "[CLS]", "[SEP]", "[PAD]"),
    "medclip medclip_resnet50": ("json", BIO_CLINICAL, 77, "none", True, "[CLS]", "[SEP]", "[PAD]"),
    "cxr_clip_r50 cxr_clip_swint": ("json", BIO_CLINICAL, 256, "longest", True, "[CLS]", "[SEP]", "[PAD]"),
    "biomedclip": (
        "json", "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract", 256, "max_length", True, "[CLS]", "[SEP]",
        "[PAD]",
    ),
    "biovil biovil_t": ("json", "", 512, "longest", True, "[CLS]", "[SEP]", "[PAD]"),
    "siglip_b16 siglip_b16_open_clip medsiglip": ("json", "", 64, "max_length", False, "", "id:1", "id:1"),
    "siglip2_b16 siglip2_b16_open_clip": ("json", "", 64, "max_length", False, "", "id:1", "id:0"),
    "conch": ("json", "", 127, "max_length", False, "id:1", "id:2", "id:0"),
}  # fmt: skip

# Scale, where it is stored, limits of the logarithm, bias, and how prompts of a class become one.
SCORES: dict[str, tuple[str, str, tuple[float, float] | None, str, str]] = {
    "clip_b32 clip_b16 clip_l14 clip_l14_336 clip_b32_openai clip_b16_openai clip_l14_openai pubmedclip pubmedclip_hf "
    "plip biomedclip conch medimageinsight": ("log_param", "logit_scale", None, "none", "mean_norm"),
    "siglip_b16 siglip_b16_open_clip siglip2_b16 siglip2_b16_open_clip medsiglip": (
        "log_param", "logit_scale", None, "param", "mean_norm",
    ),
    "blip blip2": ("divisor_param", "temp", None, "none", "mean_norm"),
    "medclip medclip_resnet50": ("log_param", "logit_scale", (0.0, 4.6052), "none", "mean_logit"),
    "chexzero cxr_clip_r50 cxr_clip_swint": ("none", "logit_scale", None, "none", "mean_norm"),
    "biovil biovil_t": ("none", "logit_scale", None, "none", "mean_then_norm"),
}  # fmt: skip

PNEUMONIA = (
    [
        "Findings consistent with",
        "Findings suggesting",
        "This opacity can represent",
        "Findings are most compatible with",
    ],
    ["There is no", "No evidence of", "No evidence of acute", "No signs of"],
)


@pytest.mark.parametrize("name", PUBLISHED)
def test_source_feature_and_licence_are_the_published_ones(name: str) -> None:
    entry = find(name)
    source, feature = entry.source.hub_id or entry.source.files[0], entry.feature
    found = (source, feature.take, feature.dim, feature.shared_dim, entry.model.licence, entry.model.gated)
    assert found == PUBLISHED[name]


def of_all(table: dict[str, Any]) -> dict[str, Any]:
    return {name: said for names, said in table.items() for name in names.split()}


def test_texts_are_fed_as_published() -> None:
    found = {}
    for name, entry in models().items():
        if (rules := entry.text) is not None:
            found[name] = (
                rules.tokenizer, rules.source, rules.context, rules.pad, rules.pass_mask, rules.start, rules.end,
                rules.pad_token,
            )  # fmt: skip
            assert rules.lower == ("siglip" in name or name.startswith("blip")), name  # else as the tokenizer does
    assert found == of_all(TEXTS)


def test_scores_are_scaled_as_published() -> None:
    found = {}
    for name, entry in models().items():
        if entry.reads_text:
            score = entry.score
            found[name] = (score.scale, score.parameter, score.limits, score.bias, entry.prompts.ensemble)
            assert score.learned == (name in ("chexzero", "cxr_clip_r50", "cxr_clip_swint")), name
    assert found == of_all(SCORES)
    assert find("blip").score.value == find("blip2").score.value == 0.07
    assert (find("blip2").feature.vectors, find("blip2").feature.alternatives) == (32, {"first_query": 768})


def test_prompts_are_the_published_ones() -> None:
    conch = find("conch").prompts.templates
    assert len(set(conch)) == 22
    assert all(template.count("{}") == 1 for template in conch)
    assert sum("H&E" in template for template in conch) == 6
    for name in ("biovil", "biovil_t"):
        prompts = find(name).prompts
        assert [prompt.removesuffix(" {}") for prompt in prompts.positive] == PNEUMONIA[0]
        assert [prompt.removesuffix(" {}") for prompt in prompts.negative] == PNEUMONIA[1]
    pairs = {name: (find(name).prompts.positive, find(name).prompts.negative) for name in ("chexzero", "cxr_clip_r50")}
    assert pairs == {"chexzero": (("{}",), ("no {}",)), "cxr_clip_r50": (("{}",), ("No {}",))}
    assert find("clip_b32").prompts.templates == ("a photo of a {}.",)
    assert find("biomedclip").prompts.templates == ("this is a photo of {}",)
    assert find("plip").prompts.templates == ("An H&E image patch of {}.",)


def test_revisions_and_architectures_are_the_published_ones() -> None:
    assert (find("biovil").source.revision, find("biovil_t").source.revision) == ("v1.1", "v1.0")
    uni, virchow, giga = (find(name).loader for name in ("uni2_h", "virchow2", "gigapath"))
    assert (uni.arch, virchow.arch, giga.arch) == (
        "vit_giant_patch14_224", "vit_huge_patch14_224", "vit_giant_patch14_dinov2",
    )  # fmt: skip
    assert uni.kwargs["mlp_ratio"] == pytest.approx(2.66667 * 2)
    assert (uni.kwargs["depth"], uni.kwargs["num_heads"], uni.kwargs["reg_tokens"]) == (24, 24, 8)
    assert (virchow.kwargs["mlp_ratio"], virchow.kwargs["reg_tokens"], virchow.kwargs["global_pool"]) == (5.3375, 4, "")
    assert (giga.kwargs["patch_size"], giga.kwargs["depth"], giga.kwargs["mlp_ratio"]) == (16, 40, 5.33334)
    assert find("lvm_med").loader.kwargs == {
        "use_abs_pos": False,
        "num_classes": 0,
    }  # not img_size: its tables are 1,024's
    assert find("aimv2_large").loader.kwargs["use_head"] is False
    # Other sides would be cut to whole patches in silence.
    assert "multiple_of:14" in find("aimv2_large_native").image.steps
    assert "multiple_of:16" in find("dinov3_base").image.steps
    assert find("dinov3_base_timm").loader.kwargs["global_pool"] == "token"  # the mean of patches where not said
    assert find("medgemma_tower").weights.keep_prefix == (
        "model.vision_tower.vision_model.", "vision_tower.vision_model.",
    )  # fmt: skip
    assert find("retfound_dinov2_shanghai").weights.resize_pos
