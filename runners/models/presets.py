"""Preprocessing other than a model's own: what the FairMedFM benchmark fed to every model."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fmfair.errors import FmfairError
from fmfair.runners.models.entry import Entry

OWN, FAIRMEDFM = "own", "fairmedfm"
SIZE = 224

# The benchmark chose mean and standard deviation by data set; all others got CLIP's.
STATISTICS: Mapping[str, str] = {
    "chexpert": "normalise:0.5056:0.252",
    "mimic_cxr": "normalise:0.5056:0.252",
    "covid_ct_md": "normalise:0.5056:0.252",
    "adni": "normalise:0.5056:0.252",
    "gf3300": "normalise:0.2756:0.1708",
}


def steps_for(entry: Entry, preprocess: str, dataset: str = "") -> tuple[str, ...]:
    """The steps that images get before they reach a model."""
    if preprocess == OWN:
        return entry.image.steps
    if entry.image.sizes == "fixed" and entry.image.size != SIZE:
        raise FmfairError(
            f"{entry.name} takes images of {entry.image.size} pixels only, and preprocess='fairmedfm' makes them {SIZE}; "
            "use preprocess='own'"
        )
    return ("rgb", f"resize:{SIZE}:short:bicubic:pil", f"crop:{SIZE}", "scale", statistics_of(dataset))


def statistics_of(dataset: str) -> str:
    """The benchmark's normalisation of a data set.

    Examples:
        >>> statistics_of("harvard-gf3300"), statistics_of("papila")
        ('normalise:0.2756:0.1708', 'normalise:clip')
    """
    name = re.sub(r"\W", "_", dataset.lower())
    return next((step for known, step in STATISTICS.items() if known in name), "normalise:clip")
