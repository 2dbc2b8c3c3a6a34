"""Whose preprocessing images get: the model's own, or the one that the FairMedFM benchmark fed to every model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from fmfair.errors import FmfairError
from fmfair.runners.models.entry import Entry

OWN, FAIRMEDFM = "own", "fairmedfm"
# The side that the benchmark gave all pictures.
SIZE = 224
# It normalises by data set, whatever the model; every other data set has the statistics of CLIP.
_GREY = "0.5056:0.252"
_STATISTICS: Mapping[str, str] = MappingProxyType(
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


def steps_for(entry: Entry, preprocess: str, dataset: str = "") -> tuple[str, ...]:
    """The steps that images get before they reach a model."""
    if preprocess == OWN:
        return entry.image.steps
    if entry.image.sizes == "fixed" and entry.image.size != SIZE:
        raise FmfairError(
            f"{entry.name} takes images of {entry.image.size} pixels only, and preprocess='fairmedfm' makes them "
            f"{SIZE}; use preprocess='own'"
        )
    return fairmedfm_steps(dataset)


def fairmedfm_steps(dataset: str) -> tuple[str, ...]:
    """The one transform of the FairMedFM benchmark, with the statistics that it has for a data set.

    Examples:
        >>> fairmedfm_steps("MIMIC-CXR")[-1], fairmedfm_steps("papila")[-1]
        ('normalise:0.5056:0.252', 'normalise:clip')
    """
    name = re.sub(r"[^a-z0-9]", "", dataset.lower())
    statistics = _STATISTICS.get(name, "clip")
    return "rgb", f"resize:{SIZE}:short:bicubic:pil", f"crop:{SIZE}", "scale", f"normalise:{statistics}"
