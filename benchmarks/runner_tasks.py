"""The timed tasks of the runners: EfficientNet-Lite0 on 2,000 images of random pixels, already decoded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
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


def embedded(model: Any, pixels: Any, count: int, batch: int) -> pl.DataFrame:
    """What `fmfair.runners.embedding.embed` writes of so many images that are decoded already, the same in turn."""
    from fmfair.runners.embedding import How, embed
    from fmfair.runners.manifest import About, Manifest
    from fmfair.runners.parts import read_parts

    def read(path: Path) -> Sequence[tuple[int | None, Any]]:
        return [(None, pixels[int(path.name) % len(pixels)])]

    names = [str(i) for i in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, names[0]).touch()  # a root without any of the images is refused
        table = pl.DataFrame({"sample_id": names, "patient_id": names, "path": names, "split": "test"})
        manifest = Manifest(table, (), (), Path(folder), About("random"))
        run = Path(folder, "run")
        embed(manifest, model, run, read, How(batch, progress=False))
        return read_parts(run)[0].collect()


def embedding(_: Path, *, warm: bool, images: int = 256) -> Callable[[], object]:
    """`fmfair.runners.embedding.embed` of the same images, written to Parquet."""
    count = WARM_UP if warm else images
    model, pixels = _model(), _pixels(count)
    return lambda: embedded(model, pixels, count, BATCH)


def _labels(count: int) -> Any:
    import numpy as np

    return np.arange(count) % 2, np.ones(count, dtype=np.int64)


def probe(_: Path, *, warm: bool) -> Callable[[], object]:
    """50 epochs of the published schedule on features that are there, in batches that suit the encoder."""
    import torch

    from fmfair.runners.sgd import Schedule, train

    count = WARM_UP if warm else IMAGES
    features = torch.randn(count, DIM, generator=torch.Generator().manual_seed(0))
    schedule = Schedule(epochs=1 if warm else EPOCHS, batch_size=BATCH, warmup=0)
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
