"""Every entry of the registry, with tiny random weights in the layout of its checkpoint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("open_clip")

import torch

import fmfair
from fmfair.runners.models.loading import LOADERS, load_model
from fmfair.runners.models.registry import models, unregister
from tests.stand_ins import TEXTS, registered, stand_in

ALL = list(models())
TEXT = [name for name in ALL if models()[name].reads_text]


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
        assert found.shared.shape == (2, entry.feature.shared_dim * entry.feature.vectors)
    else:
        assert model.encode_texts(TEXTS) is None
    again = model.encode_images(batch(side)[:1])
    torch.testing.assert_close(again.feature, found.feature[:1], atol=1e-4, rtol=1e-4)
