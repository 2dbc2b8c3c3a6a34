"""Which numbers of a tower are the feature: what an entry calls `cls`, `patch_mean`, `pooler` and so on."""

from __future__ import annotations

from typing import Any

from fmfair.errors import FmfairError, listing
from fmfair.runners.models.entry import Entry


def taken(entry: Entry, tokens: Any, pooled: Any = None) -> Any:
    """The feature, of tokens of shape (n, tokens, width) after the last norm, or the pooled vector beside them."""
    take, prefix = entry.feature.take, entry.feature.prefix_tokens
    if take == "pooler" and pooled is not None:
        return pooled
    if take == "cls":
        return tokens[:, 0]
    if take == "patch_mean":
        return tokens[:, prefix:].mean(dim=1)
    if take == "cls_patch_mean":
        import torch

        return torch.cat([tokens[:, 0], tokens[:, prefix:].mean(dim=1)], dim=1)
    raise no_such_feature(entry, ("cls", "patch_mean", "cls_patch_mean"))


def no_such_feature(entry: Entry, known: tuple[str, ...]) -> FmfairError:
    """The error of an entry that asks for what its loader does not have."""
    return FmfairError(
        f"{entry.name}: the loader {entry.loader.family!r} has no feature {entry.feature.take!r}; "
        f"it has {listing(known, 10)}"
    )
