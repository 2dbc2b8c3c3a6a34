"""The timed tasks of the runners: EfficientNet-Lite0 on 2,000 images of random pixels, already decoded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

IMAGES, WARM_UP, BATCH, EPOCHS = 2_000, 8, 32, 50
DIM = 1280


@cache
def _model() -> Any:
    from fmfair.runners.models.loading import load_model

    return load_model("efficientnet_lite0", device="cpu")


def _pixels(count: int) -> Any:
    import torch

    return torch.randn(count, 3, 224, 224, generator=torch.Generator().manual_seed(0))


def bare_model(_: Path, *, warm: bool, images: int = 256) -> Callable[[], object]:
    """The model on batches of images, and nothing else."""
    import torch

    model, pixels = _model(), _pixels(WARM_UP if warm else images)

    def run() -> None:
        with torch.no_grad():
            for batch in pixels.split(BATCH):
                model.tower.images(batch)

    return run


def embedding(_: Path, *, warm: bool, images: int = 256) -> Callable[[], object]:
    """`fmfair.runners.embedding.embed` of the same images, written to Parquet."""
    from fmfair.runners.embedding import How, embed

    count = WARM_UP if warm else images
    model, pixels = _model(), _pixels(count)
    table = pl.DataFrame({"sample_id": [str(i) for i in range(count)], "path": [str(i) for i in range(count)]})
    manifest: Any = SimpleNamespace(table=table, root=Path(), about=SimpleNamespace(dataset="random"))

    def read(path: Path) -> Sequence[tuple[int | None, Any]]:
        return [(None, pixels[int(path.name)])]

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            embed(manifest, model, folder, read, How(BATCH, progress=False))

    return run


def _labels(count: int) -> Any:
    import numpy as np

    return np.arange(count) % 2, np.ones(count, dtype=np.int64)


def probe(_: Path, *, warm: bool) -> Callable[[], object]:
    """50 epochs of the published schedule on features that are there."""
    import torch

    from fmfair.runners.sgd import Schedule, train

    count = WARM_UP if warm else IMAGES
    features = torch.randn(count, DIM, generator=torch.Generator().manual_seed(0))
    schedule = Schedule(epochs=1 if warm else EPOCHS, batch_size=128, warmup=0)
    y, slices = _labels(count)
    return lambda: train(lambda at: features[at], y, slices, DIM, schedule)


def probe_encoding(_: Path, *, warm: bool) -> Callable[[], object]:
    """One epoch of the same, every image encoded anew."""
    from fmfair.runners.sgd import Schedule, train

    count = WARM_UP if warm else IMAGES
    model, pixels = _model(), _pixels(count)
    schedule = Schedule(epochs=1, batch_size=BATCH, warmup=0)
    y, slices = _labels(count)
    return lambda: train(lambda at: model.encode_images(pixels[at]).feature, y, slices, DIM, schedule)


TASKS = {task.__name__: task for task in (bare_model, embedding, probe, probe_encoding)}
