"""Prompts as vectors: every text is encoded once for all images."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fmfair.atomic import whole_file
from fmfair.errors import FmfairError, listing
from fmfair.runners.description import Prompts
from fmfair.runners.parts import METADATA, SCHEMA_VERSION

if TYPE_CHECKING:
    from fmfair.runners.models.encoder import Encoder
    from fmfair.runners.models.entry import Entry


def embed_texts(prompts: Mapping[str, Prompts], encoder: Encoder) -> pl.DataFrame:
    """A row per text: `label`, `positive`, `prompt` and its `vector`, an array of Float32.

    Raises:
        FmfairError: There are no prompts, or the model has no text tower.
    """
    check_prompts(prompts)
    rows = _rows(prompts)
    texts = list(dict.fromkeys(text for *_, text in rows))
    check_reads_text(encoder.entry)
    vectors = encoder.encode_texts(texts)
    assert vectors is not None  # of a model that reads texts
    found = vectors.cpu().numpy()
    place = {text: i for i, text in enumerate(texts)}
    matrix = found[[place[text] for *_, text in rows]]
    table = pl.DataFrame(rows, schema={"label": pl.String, "positive": pl.Boolean, "prompt": pl.String}, orient="row")
    return table.with_columns(pl.Series("vector", matrix, dtype=pl.Array(pl.Float32, matrix.shape[1])))


def check_prompts(prompts: Mapping[str, Prompts]) -> None:
    """Makes sure that there are prompts at all."""
    if not prompts:
        raise FmfairError("there are no prompts; the manifest has none, give some with prompts=")


def check_reads_text(entry: Entry) -> None:
    """Makes sure that a model reads texts."""
    if not entry.reads_text:
        raise FmfairError(f"{entry.name} has no text tower, and so no zero-shot predictions; use a linear probe")


def write_texts(
    table: pl.DataFrame, file: Path | str, identity: Mapping[str, Any], published: Mapping[str, Any]
) -> None:
    """Writes the vectors of texts, what model they are of, and the convention that it was published with."""
    about = {
        "schema_version": SCHEMA_VERSION,
        "kind": "texts",
        "model": dict(identity),
        "published": dict(published),
    }
    with whole_file(file) as path:
        table.write_parquet(path, compression="zstd", metadata={METADATA: json.dumps(about, ensure_ascii=False)})


def read_texts(
    file: Path | str, identity: Mapping[str, Any], prompts: Mapping[str, Prompts]
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The vectors of texts and the published convention, if they are of the model of the images and of these prompts.

    Raises:
        FmfairError: The file cannot be read, or its vectors are another model's or of other prompts.
    """
    place = Path(file)
    if not place.is_file():
        raise FmfairError(f"no texts at {place}; embed them with the images, of a manifest that has prompts")
    try:
        about = json.loads(pl.read_parquet_metadata(place).get(METADATA, "{}"))
        table = pl.read_parquet(place)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise FmfairError(f"{place} is damaged: {error}; remove it, and the prompts are encoded anew") from error
    model = about.get("model", {})
    changed = [key for key in dict.fromkeys([*model, *identity]) if model.get(key) != identity.get(key)]
    if changed:
        raise FmfairError(f"{place} holds texts of another model than the images': {listing(changed)} differ")
    if table.select("label", "positive", "prompt").rows() != _rows(prompts):
        raise FmfairError(f"{place} holds other prompts than the manifest; remove it, and they are encoded anew")
    published: dict[str, Any] = about["published"]
    return table, published


def _rows(prompts: Mapping[str, Prompts]) -> list[tuple[str, bool, str]]:
    """Every text with its label and whether it says that the label is 1."""
    return [
        (label, positive, text)
        for label, said in prompts.items()
        for positive in (False, True)
        for text in said.texts(positive=positive)
    ]
