"""Means and standard deviations that pixels between 0 and 1 are normalised by."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Statistics = tuple[tuple[float, ...], tuple[float, ...]]

# By their names in a step; one value each holds for all channels.
NAMED: Mapping[str, Statistics] = MappingProxyType(
    {
        "clip": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
        "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        "half": ((0.5,), (0.5,)),
    }
)
