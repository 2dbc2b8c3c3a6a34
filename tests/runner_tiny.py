"""Two models of a few numbers in the registry, 24 pictures, and `fmfair run` of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import torch
from command_line import Result, run
from PIL import Image

from fmfair.runners.models.encoder import Scale, Tower
from fmfair.runners.models.registry import register, unregister
from fmfair.runners.models.tokens import Tokens

STEPS = ["rgb", "resize:8:squash:nearest:pil", "scale"]
DIM = 12


def pixels(_: Path | None) -> Any:
    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten())


def towers(_: Path | None) -> Tower:
    """Images as four colours, texts as their lengths."""

    def tokens(texts: Any) -> Tokens:
        ids = torch.tensor([[len(text)] for text in texts])
        return Tokens(ids, torch.ones_like(ids))

    def vectors(ids: Any, _: Any) -> Any:
        return torch.cos(ids * torch.arange(1.0, DIM + 1))

    module = pixels(None)
    return Tower(module, lambda b: (module(b), module(b)), vectors, tokens, Scale("constant", 10.0))


@contextmanager
def tiny_models() -> Iterator[None]:
    """`tiny_pixels` and `tiny_towers` in the registry."""
    entry = {"image": {"steps": STEPS, "size": 8}, "feature": {"dim": DIM, "alternatives": {"cls": DIM}}}
    register({"name": "tiny_pixels", **entry}, builder=pixels)
    shared = {"dim": DIM, "shared_dim": DIM}
    register({"name": "tiny_towers", "model": {"kind": "image_text"}, **entry, "feature": shared}, builder=towers)
    try:
        yield
    finally:
        unregister("tiny_pixels")
        unregister("tiny_towers")


def painted(folder: Path) -> pl.DataFrame:
    """24 pictures that get brighter."""
    for i in range(24):
        Image.new("L", (12, 10), 10 * i).save(folder / f"{i}.png")
    return pl.DataFrame(
        {
            "path": [f"{i}.png" for i in range(24)],
            "patient_id": range(24),
            "split": [("train", "train", "validation", "test")[i % 4] for i in range(24)],
            "y": [i // 4 % 2 for i in range(24)],
            "sex": ["FM"[i // 8 % 2] for i in range(24)],
        }
    )


def ran(usage: str, table: pl.DataFrame, folder: Path, *more: object, model: str = "tiny_pixels") -> Result:
    file = folder / "table.csv"
    table.write_csv(file)
    labels = [] if "--labels" in more else ["--labels", "y"]
    return run("run", usage, file, "--model", model, "--output", folder / "runs", "--quiet", *labels, *more)


def refused(*args: Any, **more: Any) -> str:
    result = ran(*args, **more)
    assert result.status == 2, result.out + result.err
    assert result.out == ""
    return result.err


def prompts(folder: Path, positive: str = "bc", label: str = "y") -> Path:
    """A file with prompts of one label."""
    file = folder / "prompts.toml"
    file.write_text(f'[{label}]\nnegative = "a"\npositive = "{positive}"\n')
    return file
