"""Checks mixed precision on a GPU against the CPU, and times it beside the bare model.

    python -m benchmarks.gpu_check [--minutes 5]

Random weights of the real architectures serve as well as trained ones here; nothing is downloaded. It prints a Markdown
table for `benchmarks/README.md`, and ends with 1 where an embedding is further from the CPU's than promised.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

# The largest distance between embeddings, as a share of the length of the CPU's.
PROMISED = 1e-2
BATCH, BATCHES = 256, 8


def _towers() -> dict[str, tuple[Callable[[], Any], int]]:
    """What is built, and the size of its images."""
    import timm
    import torchvision

    return {
        "ViT-B/16, timm": (lambda: timm.create_model("vit_base_patch16_224", num_classes=0), 224),
        "ResNet-50, torchvision": (lambda: _without_head(torchvision.models.resnet50(weights=None)), 224),
        "DINOv2 ViT-S/14, timm": (
            lambda: timm.create_model(
                "vit_small_patch14_dinov2.lvd142m", pretrained=False, num_classes=0, img_size=224
            ),
            224,
        ),
    }


def _without_head(model: Any) -> Any:
    import torch

    model.fc = torch.nn.Identity()
    return model


def check(build: Callable[[], Any], side: int, dtype: str) -> tuple[float, float, float]:
    """The distance from the CPU's embeddings, and images a second by `encode_images` and by the bare model."""
    import torch

    from fmfair.runners.models.registry import register, unregister

    torch.manual_seed(0)
    module = build().eval()
    entry = {
        "name": "checked",
        "image": {"steps": ["rgb", f"resize:{side}:squash:bilinear:pil", "scale"], "size": side},
    }
    with torch.no_grad():
        dim = module(torch.zeros(1, 3, side, side)).shape[1]
    register({**entry, "feature": {"dim": dim}}, builder=lambda _: module, replacing=True)
    try:
        return _compared(module, side, dtype)
    finally:
        unregister("checked")


def _compared(module: Any, side: int, dtype: str) -> tuple[float, float, float]:
    import torch

    from fmfair.runners.models.loading import load_model

    some = torch.randn(16, 3, side, side, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = module(some)
    loaded = load_model("checked", device="cuda", dtype=dtype)
    found = loaded.encode_images(some).feature.cpu()
    distance = ((found - expected).norm(dim=1) / expected.norm(dim=1)).max().item()
    batch = torch.randn(BATCH, 3, side, side)
    on_device = batch.to("cuda", loaded.dtype)

    def bare() -> None:
        with torch.no_grad(), torch.autocast("cuda", torch.float16, enabled=loaded.mixed):
            module(on_device)

    return distance, _speed(lambda: loaded.encode_images(batch)), _speed(bare)


def _speed(call: Callable[[], object]) -> float:
    import torch

    call()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(BATCHES):
        call()
    torch.cuda.synchronize()
    return BATCH * BATCHES / (time.perf_counter() - began)


def main() -> int:
    """Checks every tower in every number type, as far as the time allows."""
    import torch

    parser = argparse.ArgumentParser(description="Check mixed precision on a GPU against the CPU.")
    parser.add_argument("--minutes", type=float, default=5.0, help="start no further check after this time")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("no GPU is at hand")
        return 2
    began, worst = time.perf_counter(), 0.0
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    print(
        "| tower | number type | distance from the CPU | images/s | bare model | ratio |\n|---|---|---:|---:|---:|---:|"
    )
    for name, (build, side) in _towers().items():
        for dtype in ("mixed", "float16", "bfloat16"):
            if time.perf_counter() - began > args.minutes * 60:
                break
            distance, ours, bare = check(build, side, dtype)
            worst = max(worst, distance)
            print(f"| {name} | {dtype} | {distance:.1e} | {ours:,.0f} | {bare:,.0f} | {ours / bare:.2f} |", flush=True)
    print(f"\nlargest distance {worst:.1e}, promised at most {PROMISED:g}")
    return int(worst > PROMISED)


if __name__ == "__main__":
    sys.exit(main())
