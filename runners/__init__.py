"""Models to predictions: images in, Parquet out, which `fmfair.evaluate` and `fmfair score` read.

A `Study` is a data set and a model: it embeds the images once, fits linear probes and makes zero-shot predictions. It
meets the rest of fmfair through tables alone. Everything that needs torch is imported where it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fmfair.notes import Notes
    from fmfair.runners.datasets import make_manifest, recipes
    from fmfair.runners.description import About, Prompts
    from fmfair.runners.embedding import How
    from fmfair.runners.manifest import Manifest, read_manifest
    from fmfair.runners.models.loading import load_model
    from fmfair.runners.models.registry import register, table
    from fmfair.runners.probe import Probe
    from fmfair.runners.roles import Roles
    from fmfair.runners.sgd import Schedule
    from fmfair.runners.similarity import Similarity
    from fmfair.runners.usages import Study

__all__ = [
    "About",
    "How",
    "Manifest",
    "Notes",
    "Probe",
    "Prompts",
    "Roles",
    "Schedule",
    "Similarity",
    "Study",
    "load_model",
    "make_manifest",
    "read_manifest",
    "recipes",
    "register",
    "table",
]

# Where the names come from; they are imported when first used.
_HOMES = {
    "About": "description",
    "How": "embedding",
    "Manifest": "manifest",
    "Notes": "manifest",
    "Probe": "probe",
    "Prompts": "description",
    "Roles": "roles",
    "Schedule": "sgd",
    "Similarity": "similarity",
    "Study": "usages",
    "load_model": "models.loading",
    "make_manifest": "datasets",
    "read_manifest": "manifest",
    "recipes": "datasets",
    "register": "models.registry",
    "table": "models.registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fmfair.runners' has no attribute {name!r}")
    value = getattr(import_module(f"fmfair.runners.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
