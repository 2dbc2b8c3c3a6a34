"""What changes numbers in silence: each of these gives a model that runs, and is another model."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("open_clip")
pytest.importorskip("transformers")

import open_clip
import torch
from safetensors.torch import load_file, save_file
from stand_ins import SMALL_SIDE, TEXTS, registered, stand_in

from fmfair import FmfairError
from fmfair.runners.images.steps import Transform
from fmfair.runners.models.encoder import LoadedModel, Scale, scales
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.loading import load_model
from fmfair.runners.models.registry import find, models
from fmfair.runners.models.sections import ScoreRules

STATISTICS = {
    "clip": "clip_b32 plip biomedclip aimv2_large blip blip2 conch",
    "imagenet": "dinov2_base retfound_cfp gigapath virchow2 uni2_h dinov3_base c2l moco_cxr lvm_med medimageinsight "
    "pubmedclip cxr_clip_r50",
    "half": "siglip_b16 siglip2_b16 medgemma_tower medsiglip cxr_clip_swint",
    "0.5307:0.2583": "rad_dino",
    "0.5056:0.252": "medmae",
    "0.5862785803043838:0.27950088968644304": "medclip",
    "101.48761:83.43944": "chexzero",
    "": "biovil biovil_t",
}


def loaded(name: str, folder: Path, **options: Any) -> LoadedModel:
    entry, checkpoint = stand_in(name, folder)
    with registered(entry):
        return load_model(entry.name, checkpoint, device="cpu", **options)


def pictures(side: int = SMALL_SIDE) -> torch.Tensor:
    return torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize(("statistics", "names"), STATISTICS.items())
def test_1_each_model_has_its_own_statistics(statistics: str, names: str) -> None:
    for name in names.split():
        steps = find(name).image.steps
        assert ([s for s in steps if s.startswith("normalise")] or ["normalise:"]) == [f"normalise:{statistics}"], name


def test_1_the_steps_of_every_entry_make_pictures_of_its_size() -> None:
    for entry in models().values():
        assert Transform.of(list(entry.image.steps)).size == entry.image.size, entry.name


def test_2_a_missing_layer_is_an_error_where_transformers_prints_a_report(tmp_path: Path) -> None:
    entry, folder = stand_in("siglip_b16", tmp_path)
    state = load_file(folder / "model.safetensors")
    del state["vision_model.head.probe"]
    save_file(state, folder / "model.safetensors")
    with (
        registered(entry),
        pytest.raises(FmfairError, match=r"1 key of the model are not in the checkpoint: .*head\.probe"),
    ):
        load_model(entry.name, folder, device="cpu")


def test_3_openai_files_are_computed_with_quickgelu(tmp_path: Path) -> None:
    for entry in models().values():
        if (
            entry.loader.family == "open_clip"
            and entry.loader.arch.startswith("ViT-")
            and "SigLIP" not in entry.loader.arch
        ):
            assert entry.loader.arch.endswith("-quickgelu"), entry.name
    entry, checkpoint = stand_in("chexzero", tmp_path)
    plain = replace(entry, loader=replace(entry.loader, arch="ViT-B-32"))
    found = []
    for one in (entry, plain):
        with registered(one):
            found.append(load_model(one.name, checkpoint, device="cpu").encode_images(pictures(224)).feature)
    assert (found[0] - found[1]).abs().max() > 1e-4
    said = {"model_cfg": open_clip.get_model_config("ViT-B-32")}  # a folder's own sizes do not change the activation
    (checkpoint.parent / "open_clip_config.json").write_text(json.dumps(said))
    with registered(entry):
        again = load_model(entry.name, checkpoint, device="cpu").encode_images(pictures(224)).feature
    torch.testing.assert_close(again, found[0])
    openai = replace(plain, source=replace(plain.source, format="torchscript"))
    with (
        registered(openai),
        pytest.raises(FmfairError, match=r"trained with QuickGELU; loader\.arch is 'ViT-B-32-quickgelu'"),
    ):
        load_model(openai.name, checkpoint, device="cpu")


def ids_of(model: LoadedModel, texts: tuple[str, ...] = TEXTS) -> Any:
    assert model.tower.tokenizer is not None
    return model.tower.tokenizer(texts)


def test_4_siglip_texts_fill_the_context_on_the_right_and_no_mask_is_passed(tmp_path: Path) -> None:
    """The tokenizer's file says padding on the left to 7."""
    model = loaded("siglip_b16", tmp_path)
    ids = ids_of(model).ids
    assert ids.shape == (3, 64)
    assert ids[0, :6].tolist()[-2:] == [ids[0, 4].item(), 1]
    assert (ids[0, 5:] == 1).all()
    vectors = model.encode_texts(TEXTS)
    assert vectors is not None
    net = model.tower.module
    torch.testing.assert_close(net.get_text_features(input_ids=ids).pooler_output, vectors)
    for other in (ids[:, :8], ids.roll(1, dims=1)):
        assert (net.get_text_features(input_ids=other).pooler_output - vectors).abs().max() > 1e-3
    masked = net.get_text_features(input_ids=ids, attention_mask=(ids != 1).long()).pooler_output
    assert (masked - vectors).abs().max() > 1e-3
    # Each text alone gives the same: nothing depends on what else is in the batch.
    alone = model.encode_texts(TEXTS[1:2])
    torch.testing.assert_close(alone, vectors[1:2], atol=1e-5, rtol=1e-5)


def test_4_an_entry_that_pads_siglip_otherwise_is_refused(tmp_path: Path) -> None:
    entry, folder = stand_in("siglip_b16", tmp_path)
    assert entry.text is not None
    for change in ({"pad": "longest"}, {"pass_mask": True}, {"context": 32}):
        wrong = replace(entry, text=replace(entry.text, **change))
        with registered(wrong), pytest.raises(FmfairError, match="padded to the full length, here 64"):
            load_model(wrong.name, folder, device="cpu")


def test_4_siglip_2_lower_cases_starts_without_bos_and_ends_before_zeros(tmp_path: Path) -> None:
    model = loaded("siglip2_b16", tmp_path)
    upper, lower = ids_of(model, ("No Pneumonia", "no pneumonia")).ids
    assert torch.equal(upper, lower)
    assert lower[0] != 2
    assert lower[2] == 1
    assert (lower[3:] == 0).all()
    long = ids_of(model, (" ".join(["pneumonia"] * 100),)).ids[0]
    assert long[-1] == 1


def test_5_variable_resolution_checkpoints_are_refused(tmp_path: Path) -> None:
    entry, folder = stand_in("siglip2_b16", tmp_path)
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"model_type": "siglip",', '"model_type": "siglip2",'))
    with registered(entry), pytest.raises(FmfairError, match="of a model of type 'siglip2', expected 'siglip'"):
        load_model(entry.name, folder, device="cpu")


@pytest.mark.parametrize("name", ["clip_b32", "siglip_b16"])
def test_6_features_are_the_tensors_inside_the_output_objects(name: str, tmp_path: Path) -> None:
    model = loaded(name, tmp_path)
    expected = model.tower.module.get_image_features(pixel_values=pictures()).pooler_output
    torch.testing.assert_close(model.encode_images(pictures()).shared, expected)
    assert not torch.allclose(expected.norm(dim=1), torch.ones(2))


def test_7_no_head_that_the_checkpoint_has_not(tmp_path: Path) -> None:
    model = loaded("aimv2_large", tmp_path)
    tokens = model.tower.module(pixel_values=pictures()).last_hidden_state
    assert not any("head" in key for key in model.tower.module.state_dict())
    torch.testing.assert_close(model.encode_images(pictures()).feature, tokens.mean(dim=1))


def test_7_blip_takes_the_token_before_the_second_norm(tmp_path: Path) -> None:
    model = loaded("blip", tmp_path)
    output = model.tower.module.vision_model(pixel_values=pictures())
    torch.testing.assert_close(model.encode_images(pictures()).feature, output.last_hidden_state[:, 0])
    assert not torch.allclose(output.pooler_output, output.last_hidden_state[:, 0])


@pytest.mark.parametrize("name", ["dinov3_base_timm", "virchow2", "uni2_h"])
def test_8_timm_gives_the_token_that_the_entry_names(name: str, tmp_path: Path) -> None:
    model = loaded(name, tmp_path)
    tokens = model.tower.module.forward_features(pictures())
    prefix = model.entry.feature.prefix_tokens
    assert model.tower.module.num_prefix_tokens == prefix
    expected = tokens[:, 0]
    if model.entry.feature.take == "cls_patch_mean":
        expected = torch.cat([tokens[:, 0], tokens[:, prefix:].mean(dim=1)], dim=1)
    torch.testing.assert_close(model.encode_images(pictures()).feature, expected)


@pytest.mark.parametrize("name", ["dinov2_base", "dinov3_base", "medmae"])
def test_8_the_mean_of_patches_has_no_other_token(name: str, tmp_path: Path) -> None:
    model = loaded(name, tmp_path, feature="patch_mean")
    net, prefix = model.tower.module, model.entry.feature.prefix_tokens
    tokens = net.forward_features(pictures()) if name == "medmae" else net(pixel_values=pictures()).last_hidden_state
    side = 14 if name == "dinov2_base" else 16
    assert tokens.shape[1] - prefix == (SMALL_SIDE // side) ** 2
    torch.testing.assert_close(model.encode_images(pictures()).feature, tokens[:, prefix:].mean(dim=1))


def test_8_retfound_takes_the_mean_of_patches_under_a_plain_norm(tmp_path: Path) -> None:
    model = loaded("retfound_cfp", tmp_path)
    assert model.report.missing == ("fc_norm.weight", "fc_norm.bias")
    assert set(model.report.unexpected) >= {"norm.weight", "head.weight"}
    feature = model.encode_images(pictures()).feature
    torch.testing.assert_close(feature.mean(dim=1), torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(feature.std(dim=1, correction=0), torch.ones(2), atol=1e-2, rtol=0)


def test_9_position_tables_of_another_length_are_refused_unless_resampled(tmp_path: Path) -> None:
    entry, checkpoint = stand_in("retfound_dinov2_meh", tmp_path)
    smaller = replace(entry, loader=replace(entry.loader, kwargs={**entry.loader.kwargs, "img_size": 56}))
    with registered(smaller):
        assert load_model(smaller.name, checkpoint, device="cpu").encode_images(pictures(56)).feature.shape == (2, 32)
    fixed = replace(smaller, weights=replace(entry.weights, resize_pos=False))
    with registered(fixed), pytest.raises(FmfairError, match=r"pos_embed is \(1, 65, 32\), expected \(1, 17, 32\)"):
        load_model(fixed.name, checkpoint, device="cpu")


def test_9_the_benchmark_s_size_is_refused_where_a_model_takes_only_its_own(tmp_path: Path) -> None:
    with pytest.raises(FmfairError, match="medsiglip takes images of 448 pixels only"):
        load_model("medsiglip", tmp_path, preprocess="fairmedfm")
    model = loaded("rad_dino", tmp_path, preprocess="fairmedfm", dataset="mimic_cxr")
    assert str(model.transform).endswith("crop:224, scale, normalise:0.5056:0.252")


def test_10_the_backend_and_antialiasing_of_a_resize_are_said() -> None:
    for entry in models().values():
        for step in entry.image.steps:
            if step.startswith("resize:"):
                assert step.endswith((":pil", ":tensor", ":noaa")), (entry.name, step)
    assert "resize:448:squash:bilinear:tensor:noaa" in find("medsiglip").image.steps
    assert "tensor_resize:224:bicubic:noaa" in find("chexzero").image.steps


def scored(entry: Entry, **rules: Any) -> Entry:
    return replace(entry, score=ScoreRules(**rules))


def test_11_a_scale_is_a_logarithm_a_divisor_or_nothing() -> None:
    entry = find("clip_b32")
    state = {
        "logit_scale": torch.tensor(math.log(100)),
        "temp": torch.tensor([0.05]),
        "logit_bias": torch.tensor(-12.7),
    }
    log, learned = scales(scored(entry, scale="log_param", bias="param"), state)
    assert (round(log.factor, 3), round(log.bias or 0, 3), log.stored, learned) == (100.0, -12.7, True, None)
    divisor, _ = scales(scored(entry, scale="divisor_param", parameter="temp", value=0.07), state)
    assert math.isclose(divisor.factor, 20, rel_tol=1e-6)
    absent, _ = scales(scored(entry, scale="divisor_param", parameter="temp", value=0.07), {})
    assert (absent.value, absent.stored) == (0.07, False)
    none, learned = scales(scored(entry, scale="none", learned=True), state)
    assert none.factor == 1
    assert learned is not None
    assert round(learned.factor, 3) == 100
    assert Scale("log", 9.0, limits=(0.0, 4.6052)).factor == pytest.approx(100, abs=0.01)
    assert scales(scored(entry, scale="constant", value=100.0), {})[0].factor == 100
    with pytest.raises(FmfairError, match="the checkpoint has no 'logit_scale'"):
        scales(scored(entry, scale="log_param"), {})


def test_11_the_published_scales(tmp_path: Path) -> None:
    kinds = {
        name: find(name).score.scale for name in ("clip_b32", "blip", "blip2", "biovil", "chexzero", "cxr_clip_r50")
    }
    assert kinds == {
        "clip_b32": "log_param",
        "blip": "divisor_param",
        "blip2": "divisor_param",
        "biovil": "none",
        "chexzero": "none",
        "cxr_clip_r50": "none",
    }
    model = loaded("siglip_b16", tmp_path)
    assert (round(model.scale.value, 3), model.scale.bias) == (4.7, -12.5)
    assert find("pubmedclip").score.times == pytest.approx(math.exp(0.01) / math.exp(0.07))


def test_12_files_with_more_than_tensors_name_the_class() -> None:
    for name in ("c2l", "retfound_cfp"):
        assert find(name).weights.safe_globals == ("argparse.Namespace",)
