"""Every entry of the registry, with tiny random weights in the layout of its checkpoint."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("open_clip")

import torch
from stand_ins import TEXTS, registered, stand_in

import fmfair
from fmfair.runners.models.loading import LOADERS, load_model
from fmfair.runners.models.registry import models

ALL = list(models())


def batch(size: int, count: int = 2) -> torch.Tensor:
    return torch.rand(count, 3, size, size, generator=torch.Generator().manual_seed(1)) * 2 - 1


@pytest.mark.parametrize("name", ALL)
def test_stand_in_loads_in_the_claimed_layout_and_encodes(name: str, tmp_path: Path) -> None:
    entry, checkpoint = stand_in(name, tmp_path)
    with registered(entry):
        model = load_model(entry.name, checkpoint, device="cpu")
    side = entry.image.size
    found = model.encode_images(batch(side))
    assert found.feature.shape == (2, entry.feature.dim)
    assert found.feature.dtype == torch.float32
    assert torch.isfinite(found.feature).all()
    assert not torch.allclose(found.feature[0], found.feature[1])
    assert (found.shared is not None) == entry.reads_text
    assert not model.tower.module.training
    assert not any(p.requires_grad for p in model.tower.module.parameters())
    if entry.reads_text:
        vectors = model.encode_texts(TEXTS)
        assert vectors is not None
        assert vectors.shape == (3, entry.feature.shared_dim)
        assert torch.isfinite(vectors).all()
        assert found.shared is not None
        assert found.shared.shape == (2, entry.feature.shared_dim * entry.feature.vectors)
    else:
        assert model.encode_texts(TEXTS) is None
    again = model.encode_images(batch(side)[:1])
    torch.testing.assert_close(again.feature, found.feature[:1], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    "name",
    ["medgemma_tower", "virchow2", "clip_b32", "c2l", "conch", "medimageinsight", "biovil_t", "medclip", "blip2"],
)
def test_half_precision_gives_float32_features_near_those_of_full_precision(name: str, tmp_path: Path) -> None:
    entry, checkpoint = stand_in(name, tmp_path)
    with registered(entry):
        full = load_model(entry.name, checkpoint, device="cpu")
        half = load_model(entry.name, checkpoint, device="cpu", dtype="bfloat16")
    assert {p.dtype for p in full.tower.module.parameters()} == {torch.float32}
    assert {p.dtype for p in half.tower.module.parameters()} == {torch.bfloat16}
    pixels = batch(entry.image.size)
    expected, found = full.encode_images(pixels), half.encode_images(pixels)
    assert found.feature.dtype == torch.float32
    cosines = torch.nn.functional.cosine_similarity(found.feature, expected.feature)
    assert (cosines > 0.98).all()
    if entry.reads_text:
        vectors = half.encode_texts(TEXTS)
        assert vectors is not None
        assert found.shared is not None
        assert vectors.dtype == found.shared.dtype == torch.float32


@pytest.mark.parametrize("name", [name for name in ALL if models()[name].feature.alternatives])
def test_every_alternative_feature_has_its_dimension(name: str, tmp_path: Path) -> None:
    entry, checkpoint = stand_in(name, tmp_path)
    first = None
    for take in entry.feature.alternatives:
        with registered(entry):
            model = load_model(entry.name, checkpoint, device="cpu", feature=take)
        width = model.tower.images(batch(entry.image.size))[0].shape[1]
        # The stand-in's own dimension is tiny; the entry's alternatives differ from its first as the real ones do.
        sized = replace(model.entry, feature=replace(model.entry.feature, dim=width))
        feature = replace(model, entry=sized).encode_images(batch(entry.image.size)).feature
        assert torch.isfinite(feature).all()
        with registered(entry):
            first = load_model(entry.name, checkpoint, device="cpu") if first is None else first
        expected = first.encode_images(batch(entry.image.size)).feature
        assert feature.shape != expected.shape or not torch.allclose(feature, expected)


def test_an_unknown_feature_is_told_what_there_is() -> None:
    with pytest.raises(fmfair.FmfairError, match="no feature 'patch'; it has 'cls', 'patch_mean', 'cls_patch_mean'"):
        load_model("dinov2_base", feature="patch")


def test_a_loader_that_is_not_there_is_named_with_what_is_near() -> None:
    entry = replace(models()["c2l"], name="other", loader=replace(models()["c2l"].loader, family="torchvison"))
    with (
        registered(entry),
        pytest.raises(fmfair.FmfairError, match=r"no loader 'torchvison'.*did you mean 'torchvision'"),
    ):
        load_model("other")
    assert set(LOADERS) >= {entry.loader.family for entry in models().values()}


def test_every_loader_s_module_is_there_and_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import sys

    for module in set(LOADERS.values()):
        assert callable(importlib.import_module(module).load)
    monkeypatch.setitem(sys.modules, "timm", None)
    monkeypatch.delitem(sys.modules, LOADERS["timm"])
    with pytest.raises(fmfair.FmfairError, match=r'medmae needs .*timm.*: pip install "fmfair\[runners\]"'):
        load_model("medmae")


def test_what_the_features_depend_on_is_told_by_the_weights_and_the_steps(tmp_path: Path) -> None:
    entry, checkpoint = stand_in("biovil", tmp_path)
    with registered(entry):
        first, again = (load_model(entry.name, checkpoint, device="cpu").identity for _ in range(2))
        assert first == again == json.loads(json.dumps(first))
        other = load_model(entry.name, checkpoint, device="cpu", preprocess="fairmedfm").identity
        assert {key for key in first if first[key] != other[key]} == {"preprocess", "steps"}
        # The text tower is another file beside the checkpoint.
        text = torch.load(tmp_path / "pytorch_model.bin", weights_only=True)
        text["bert.encoder.layer.0.output.dense.bias"] += 1
        torch.save(text, tmp_path / "pytorch_model.bin")
        changed = load_model(entry.name, checkpoint, device="cpu").identity
    assert {key for key in first if first[key] != changed[key]} == {"weights"}


def test_mixed_precision_stays_within_a_hundredth_of_float32(tmp_path: Path) -> None:
    entry, checkpoint = stand_in("medmae", tmp_path)
    with registered(entry):
        full, mixed = (load_model(entry.name, checkpoint, device="cpu", dtype=d) for d in ("float32", "mixed"))

    batch = torch.randn(4, 3, entry.image.size, entry.image.size, generator=torch.Generator().manual_seed(0))
    expected, found = full.encode_images(batch).feature, mixed.encode_images(batch).feature
    assert {p.dtype for p in mixed.tower.module.parameters()} == {torch.float32}
    assert found.dtype == torch.float32
    assert 0 < ((found - expected).norm(dim=1) / expected.norm(dim=1)).max() < 1e-2
    assert (full.identity["dtype"], mixed.identity["dtype"]) == ("float32", "mixed")
