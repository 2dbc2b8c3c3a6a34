"""What is given to a study: its checks, and a model of the registry by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fmfair.errors import FmfairError, Problems, listing, near
from fmfair.runners.predictions import as_folder
from fmfair.runners.typed import check_type

# What most systems take as the name of a folder, with percent signs in place of what is no plain letter; and what of a
# longer one is told.
LONGEST, SHOWN = 255, 40
# Arguments of `load_model`; the last three are known of embeddings without it.
LOADING = ("checkpoint", "device", "preprocess", "dtype", "feature")


def of_registry(model: str, dataset: str, loading: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a study by the name of a model and those of `LOADING`; None is as if left out.

    Raises:
        FmfairError: There is no such model, or an argument cannot be used.
    """
    from fmfair.runners.models.loading import declared_identity, load_model
    from fmfair.runners.models.registry import find
    from fmfair.runners.texts import text_side

    check_type("model", model, str)
    problems = Problems()
    for key in loading.keys() - set(LOADING):
        problems.add(f"{key}= is not known{near(key, LOADING)}; a model is loaded with {listing(LOADING, 10)}")
    for key in (key for key in LOADING[2:] if key in loading):
        with problems.collecting():
            check_type(key, loading[key], (str, type(None)))
    problems.raise_if_any()
    entry, given = find(model), {key: value for key, value in loading.items() if value is not None}
    declared = declared_identity(entry.name, dataset=dataset, **{k: given[k] for k in LOADING[2:] if k in given})
    return {
        "model": entry.name,
        "load": partial(load_model, entry.name, dataset=dataset, **given),
        "asked": declared | text_side(entry),
        "named_weights": "checkpoint" in given,
    }


def check_folder(what: str, name: str) -> None:
    """Refuses a name that no folder can have."""
    try:
        usable = len(str(as_folder({what: name}))) <= LONGEST
    except UnicodeEncodeError:
        usable = False
    if not usable:
        shown = repr(name if len(name) <= SHOWN else f"{name[:SHOWN]}...")
        raise FmfairError(f"the {what} is called {shown}, which no folder can be called; give it a shorter, plain name")
