"""Means and standard deviations that pixels between 0 and 1 are normalised by, and those of the published benchmark."""

from __future__ import annotations

import re
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

# FairMedFM normalises by data set, whatever the model; every other data set has the statistics of CLIP.
_GREY = "0.5056:0.252"
_BENCHMARK: Mapping[str, str] = MappingProxyType(
    {
        "chexpert": _GREY,
        "cxp": _GREY,
        "mimiccxr": _GREY,
        "covidctmd": _GREY,
        "adni": _GREY,
        "gf3300": "0.2756:0.1708",
        "harvardgf3300": "0.2756:0.1708",
        "harvardgf": "0.2756:0.1708",
    }
)


def fairmedfm_steps(dataset: str) -> tuple[str, ...]:
    """The one transform of the FairMedFM benchmark, with the statistics that it has for a data set.

    Examples:
        >>> fairmedfm_steps("MIMIC-CXR")[-1], fairmedfm_steps("papila")[-1]
        ('normalise:0.5056:0.252', 'normalise:clip')
    """
    name = re.sub(r"[^a-z0-9]", "", dataset.lower())
    return "rgb", "resize:224:short:bicubic:pil", "crop:224", "scale", f"normalise:{_BENCHMARK.get(name, 'clip')}"
