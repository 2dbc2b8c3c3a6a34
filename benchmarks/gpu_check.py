"""Checks that a GPU gives the CPU's embeddings in every number type, and times `embed` beside the bare model.

    python -m benchmarks.gpu_check [--minutes 4]
    python -m benchmarks.gpu_check --device cpu

It needs what `pip install ".[runners]"` brings and no network: the models are real architectures with random weights.
The second line is a small check of the same on a machine without a GPU, where mixed precision is in bfloat16; its
speeds, of one batch, say little.

It prints a Markdown table for `benchmarks/README.md`, and ends with 0 where all is as promised; with 1 where an
embedding is too far from the CPU's, a model fails, or the time is over before all are checked; with 2 without a GPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.runner_tasks import embedded
from fmfair.errors import FmfairError

# The largest distance between embeddings, as a share of the length of the CPU's: that of half precision with 11 bits,
# and of bfloat16, which has 8. Different images are further apart; otherwise nearness would say nothing.
PROMISED, BFLOAT16 = 1e-2, 5e-2
COMPARED = 16
FAULTS = (FmfairError, ImportError, OSError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True)
class Sizes:
    """How much is done: the images of a batch, how many batches are timed, and the number types."""

    batch: int
    batches: int
    dtypes: tuple[str, ...]


SIZES = {"cuda": Sizes(256, 8, ("mixed", "float32", "float16", "bfloat16")), "cpu": Sizes(4, 1, ("mixed",))}


@dataclass(frozen=True)
class Found:
    """What came of a model in a number type: distances, and images a second by `embed` and by the bare model."""

    distance: float
    apart: float
    embed: float
    bare: float


def towers() -> dict[str, Callable[[], Any]]:
    """How each model is built, for images of 224 pixels; layer scales are 1, so that random layers count."""
    import timm
    import torch
    import torchvision

    def resnet() -> Any:
        model = torchvision.models.resnet50(weights=None)
        model.fc = torch.nn.Identity()
        return model

    def vit(name: str, **more: Any) -> Callable[[], Any]:
        return lambda: timm.create_model(name, pretrained=False, num_classes=0, img_size=224, **more)

    return {
        "ResNet-50, torchvision": resnet,
        "ViT-B/16, timm": vit("vit_base_patch16_224"),
        "DINOv2 ViT-S/14, timm": vit("vit_small_patch14_dinov2.lvd142m", init_values=1.0),
    }


def pictures(count: int) -> Any:
    """Random pictures with coarse and fine structure and of four contrasts, which even a random model tells apart."""
    import torch

    generator = torch.Generator().manual_seed(1)
    coarse = torch.nn.functional.interpolate(torch.randn(count, 3, 4, 4, generator=generator), size=224)
    contrast = (1 + torch.arange(count) % 4)[:, None, None, None] / 2
    made = 2 * coarse + torch.randn(count, 3, 224, 224, generator=generator) / 2
    return contrast * made / made.std(dim=(1, 2, 3), keepdim=True)


@contextmanager
def registered(module: Any, dim: int) -> Iterator[str]:
    """The name of the model in the registry, for as long as the block runs."""
    from fmfair.runners.models.registry import register, unregister

    image = {"steps": ["rgb", "resize:224:squash:bilinear:pil", "scale"], "size": 224}
    register({"name": "checked", "image": image, "feature": {"dim": dim}}, builder=lambda _: module, replacing=True)
    try:
        yield "checked"
    finally:
        unregister("checked")


def check(build: Callable[[], Any], dtype: str, device: str, sizes: Sizes) -> Found:
    """Embeds the same pictures on the CPU by the bare model, and on the device by `embed`."""
    import torch

    from fmfair.runners.models.loading import load_model

    torch.manual_seed(0)
    module, some = build().eval(), pictures(sizes.batch)
    with torch.no_grad():
        expected = module(some[:COMPARED])
    with registered(module, expected.shape[1]) as name:
        loaded = load_model(name, device=device, dtype=dtype)
    count = sizes.batch * sizes.batches
    embedded(loaded, some, sizes.batch, sizes.batch)  # what is set up at first use is not timed
    began = time.perf_counter()
    table = embedded(loaded, some, count, sizes.batch)
    took = time.perf_counter() - began
    found = torch.from_numpy(table["feature"].to_numpy()[: len(expected)].copy())
    lengths = expected.norm(dim=1)
    return Found(
        distance=((found - expected).norm(dim=1) / lengths).max().item(),
        apart=((expected[1:] - expected[:-1]).norm(dim=1) / lengths[1:]).min().item(),
        embed=count / took,
        bare=_bare(loaded, module, some, sizes.batches),
    )


def _bare(loaded: Any, module: Any, some: Any, batches: int) -> float:
    """Images a second of the model alone, on a batch that lies on the device."""
    import torch

    device = loaded.device.type
    batch, half = some.to(loaded.device, loaded.dtype), torch.float16 if device == "cuda" else torch.bfloat16

    def run(times: int) -> float:
        began = time.perf_counter()
        with torch.no_grad(), torch.autocast(device, half, enabled=loaded.mixed):
            for _ in range(times):
                module(batch)
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - began

    run(1)
    return len(batch) * batches / run(batches)


def limit(dtype: str, device: str) -> float:
    """How far embeddings may be from the CPU's."""
    return BFLOAT16 if dtype == "bfloat16" or (dtype == "mixed" and device == "cpu") else PROMISED


def row(name: str, dtype: str, device: str, found: Found) -> tuple[str, bool]:
    """A line of the table, and whether all is as promised; a distance that is no number is not."""
    most = limit(dtype, device)
    good = found.distance <= most < found.apart
    numbers = f"{found.distance:.1e} | {most:g} | {found.apart:.2f} | {found.embed:,.0f} | {found.bare:,.0f}"
    return f"| {name} | {dtype} | {numbers} | {found.embed / found.bare:.2f} | {'yes' if good else 'NO'} |", good


def main() -> int:
    """Checks every model in every number type, as far as the time allows."""
    import torch

    parser = argparse.ArgumentParser(description="Check the embeddings of a GPU against the CPU's.")
    parser.add_argument("--minutes", type=float, default=4.0, help="start no further check after this time")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        print("no GPU is at hand; --device cpu checks bfloat16 without one")
        return 2
    sizes, began, good = SIZES[args.device], time.perf_counter(), True
    print(f"{torch.cuda.get_device_name() if args.device == 'cuda' else 'CPU'}, torch {torch.__version__}\n")
    columns = ("model", "number type", "from the CPU's", "at most", "between images", "embed, images/s",
               "bare model, images/s", "ratio", "as promised")  # fmt: skip
    print(f"| {' | '.join(columns)} |\n|---|---|{'---:|' * 6}---|")
    for name, build in towers().items():
        for dtype in sizes.dtypes:
            if time.perf_counter() - began > args.minutes * 60:
                line, fine = f"| {name} | {dtype} | not checked: the time is over | | | | | | NO |", False
            else:
                try:
                    line, fine = row(name, dtype, args.device, check(build, dtype, args.device, sizes))
                except FAULTS as error:  # the other models are still checked
                    said = str(error).strip().partition("\n")[0].replace("|", "/")
                    line, fine = f"| {name} | {dtype} | {type(error).__name__}: {said} | | | | | | NO |", False
            print(line, flush=True)
            good = good and fine
    print(f"\n{'all as promised' if good else 'NOT as promised'}, in {time.perf_counter() - began:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
