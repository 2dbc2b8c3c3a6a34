"""A small set of pictures, a model of a few numbers, and runs of them in processes of their own."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import torch

from fmfair.runners import embedding
from fmfair.runners.description import About
from fmfair.runners.embedding import How, embed
from fmfair.runners.images.picture import ImageError
from fmfair.runners.models.encoder import Features

DIM, SHARED = 5, 3


@dataclass
class Tiny:
    """An encoder of a fixed random matrix; pixels of 255 make it overflow."""

    seed: int = 0
    pause: float = 0.0
    device: str = "cpu"
    dim: int = DIM
    shared_dim: int | None = SHARED
    entry: Any = field(default_factory=lambda: SimpleNamespace(name="tiny"))

    @property
    def identity(self) -> dict[str, Any]:
        return {"name": "tiny", "seed": self.seed}

    def encode_images(self, batch: torch.Tensor) -> Features:
        time.sleep(self.pause)
        matrix = torch.randn(3 * 4 * 4, DIM + SHARED, generator=torch.Generator().manual_seed(self.seed))
        found = batch.flatten(1) @ matrix
        found[batch.amax(dim=(1, 2, 3)) == 255] = float("nan")
        return Features(found[:, :DIM], found[:, DIM:])


def pictures(folder: Path, count: int) -> Any:
    """A manifest of arrays; every seventh is no array, every eleventh overflows, every fifth is a volume."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    for i in range(count):
        shape = (3, 3, 4, 4) if i % 5 == 4 else (3, 4, 4)
        pixels = rng.random(shape).astype(np.float32)
        if i % 11 == 10:
            pixels[..., 0, 0] = 255
        np.save(folder / f"{i}.npy", pixels)
        if i % 7 == 6:
            (folder / f"{i}.npy").write_bytes(b"no array")
    return pictures_of(folder, count)


def read(path: Path) -> list[tuple[int | None, torch.Tensor]]:
    try:
        pixels = torch.from_numpy(np.load(path))
    except ValueError as error:
        raise ImageError("not an array") from error
    return list(enumerate(pixels)) if pixels.ndim == 4 else [(None, pixels)]


def pictures_of(folder: Path, count: int) -> Any:
    """The manifest of pictures that are there."""
    table = pl.DataFrame({"sample_id": [f"s{i}" for i in range(count)], "path": [f"{i}.npy" for i in range(count)]})
    return SimpleNamespace(table=table, root=folder, about=About(dataset="arrays"))


def main() -> None:
    """Of every line of its input, `PICTURES COUNT FOLDER [retry]`, a run in a process of its own.

    That process is forked, so that what is slow to load is loaded once; its number is printed, for others to kill it.
    """
    embedding.PART = 4
    for line in sys.stdin:
        source, count, folder, *retry = line.split()
        child = os.fork()
        if child == 0:
            how = How(progress=False, batch_size=2)
            embed(pictures_of(Path(source), int(count)), Tiny(pause=0.01), folder, read, how, retry=bool(retry))
            os._exit(0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        os.waitpid(child, 0)
        sys.stdout.write("ended\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
