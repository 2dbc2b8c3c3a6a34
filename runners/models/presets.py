"""Whose preprocessing images get: the model's own, or the one that the FairMedFM benchmark fed to every model."""

from __future__ import annotations

from fmfair.errors import FmfairError
from fmfair.runners.images.statistics import fairmedfm_steps
from fmfair.runners.models.entry import Entry

OWN, FAIRMEDFM = "own", "fairmedfm"
# The side that the benchmark gave all pictures.
SIZE = 224


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
