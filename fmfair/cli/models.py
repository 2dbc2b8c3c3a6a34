"""`fmfair models`: the models, a line each, and all that is declared of one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from fmfair.cli import output

if TYPE_CHECKING:
    from fmfair.runners.models.entry import Entry

_WIDTH, _INDENT = 100, 14
_MEANT = {
    "real weights": "with the published weights",
    "random weights": "with random weights: its shapes and its preprocessing, not its published numbers",
    "nothing": "with nothing: it has not been run",
}
_TAKEN = {
    "cls": "the class token",
    "pooler": "the pooled output",
    "patch_mean": "the mean of the patches",
    "cls_patch_mean": "the class token and the mean of the patches",
    "projected": "the projection into the space of the texts",
    "spatial_mean": "the mean over the last map",
    "block_mean": "the mean over a block of the network",
    "first_query": "the first query",
}
_SIZES = {"fixed": "", "any": ", or any other size", "multiple_of_14": ", or multiples of 14"}
_SIZES["multiple_of_16"] = ", or multiples of 16"


def models(name: str | None, register: str | None = None) -> int:
    """Prints the models, a line each, or all that is declared of one.

    Args:
        name: The model.
        register: A TOML file with models of the user's, which are added first.

    Raises:
        FmfairError: There is no model of that name, or the file cannot be used.
    """
    from fmfair.runners.models import registry

    if register is not None:
        registry.register(Path(register))
    told = _listed(registry.models().values()) if name is None else _told(registry.find(name))
    output.say("\n".join(told) + "\n", sys.stdout)
    return 0


def _listed(entries: Iterable[Entry]) -> list[str]:
    rows = [("name", "title", "dim", "shared", "size", "verified with", "licence")]
    for entry in entries:
        shared = str(entry.feature.shared_dim or "-")
        numbers = (str(entry.feature.dim), shared, str(entry.image.size))
        gated = " (gated)" if entry.model.gated else ""
        rows.append((entry.name, entry.title, *numbers, entry.model.verified, entry.model.licence + gated))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _told(entry: Entry) -> list[str]:
    """The facts of a model, aligned and wrapped, the words of each below one another."""
    lines = [f"{entry.title} ({entry.name})" if entry.title != entry.name else entry.name, ""]
    for key, text in (fact for fact in _facts(entry) if fact[1]):
        parts = [text] if key == "example" else wrap(text, _WIDTH - _INDENT, break_on_hyphens=False)
        lines += [f"{key if i == 0 else '':{_INDENT}}{part}" for i, part in enumerate(parts)]
    return lines


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    from fmfair.runners.models.checkpoint import download, place

    model, image, feature = entry.model, entry.image, entry.feature
    yield "kind", "images and texts" if entry.reads_text else "images"
    yield "made for", ", ".join(dict.fromkeys(filter(None, (model.domain, *model.modalities))))
    yield "trained on", ", ".join(model.trained_on)
    yield "by", model.citation
    yield "licence", model.licence + (f" ({model.licence_note})" if model.licence_note else "")
    yield "gated", "yes: its terms must be accepted on the hub" if model.gated else "no"
    fetched = "comes from the hub when it is first run, where there is a network; else " if entry.source.hub_id else ""
    put = "" if entry.builder is not None or entry.source.package else f" {place(entry, '--checkpoint')}"
    yield "get it", f"{fetched}{download(entry)}{put}"
    yield "verified", _MEANT[model.verified]
    yield "parameters", "" if entry.loader.params_m is None else f"{entry.loader.params_m:,} million"
    yield "loader", entry.loader.family if entry.builder is None else "a function of yours"
    yield "image", f"{image.size} x {image.size} pixels{_SIZES[image.sizes]}"
    yield "steps", ", ".join(image.steps)
    yield (
        "feature",
        f"{feature.take}: {_TAKEN[feature.take]}, {feature.dim:,} numbers"
        if entry.builder is None
        else (f"{feature.dim:,} numbers"),
    )
    others = (f"{name} ({dim:,} numbers)" for name, dim in feature.alternatives.items())
    yield "or --feature", ", ".join(others)
    if entry.reads_text:
        yield "texts", f"compared with images in a space of {feature.shared_dim:,} numbers"
        yield "published", entry.score.published
    yield "example", _example(entry)


def _example(entry: Entry) -> str:
    usage = "zero-shot" if entry.reads_text else "linear-probe"
    fetched = entry.source.hub_id or entry.source.package or entry.builder is not None
    named = next((name for name in entry.source.files if "*" not in name), "WEIGHTS")
    weights = "" if fetched else f" --checkpoint {named}"
    return f"fmfair run {usage} MANIFEST --model {entry.name}{weights} --output runs"
