"""Prompts as vectors: every text is encoded once for all images."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fmfair.atomic import whole_file
from fmfair.errors import FmfairError, listing, plural
from fmfair.runners.description import Prompts
from fmfair.runners.parts import METADATA, SCHEMA_VERSION, changes
from fmfair.runners.similarity import Similarity

if TYPE_CHECKING:
    from fmfair.runners.models.encoder import Encoder, LoadedModel
    from fmfair.runners.models.entry import Entry


def embed_texts(prompts: Mapping[str, Prompts], encoder: Encoder) -> pl.DataFrame:
    """A row per text: `label`, `positive`, `prompt` and its `vector`, an array of Float32.

    Raises:
        FmfairError: There are no prompts, the model has no text tower, or its vectors are not finite.
    """
    check_prompts(prompts)
    rows = _rows(prompts)
    texts = list(dict.fromkeys(text for *_, text in rows))
    check_reads_text(encoder.entry)
    vectors = encoder.encode_texts(texts)
    assert vectors is not None  # of a model that reads texts
    found = vectors.cpu().numpy()
    bad = [text for text, vector in zip(texts, found, strict=True) if not np.isfinite(vector).all()]
    if bad:
        raise FmfairError(
            f"{encoder.entry.name}: the model's vectors of {plural(len(bad), 'text')} are not finite (first: "
            f"{bad[0]!r}); half precision may be too small for it, dtype='float32' is not"
        )
    place = {text: i for i, text in enumerate(texts)}
    matrix = found[[place[text] for *_, text in rows]]
    table = pl.DataFrame(rows, schema={"label": pl.String, "positive": pl.Boolean, "prompt": pl.String}, orient="row")
    return table.with_columns(pl.Series("vector", matrix, dtype=pl.Array(pl.Float32, matrix.shape[1])))


def check_prompts(prompts: Mapping[str, Prompts], labels: Sequence[str] = ()) -> None:
    """Makes sure that there are prompts, of all of the labels."""
    if not prompts:
        raise FmfairError("there are no prompts; the manifest has none, give some with prompts=")
    lacking = [label for label in labels if label not in prompts]
    if lacking:
        raise FmfairError(f"no prompts for {listing(lacking)}; there are some for {listing(prompts)}")


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
) -> tuple[pl.DataFrame, dict[str, Any]] | None:
    """The vectors of these prompts and the published convention; None where they are not encoded yet.

    Raises:
        FmfairError: The file cannot be read, or its vectors are of another model than the images'.
    """
    place = Path(file)
    if not place.is_file():
        return None
    again = "remove it, and the prompts are encoded anew"
    try:
        about = json.loads(pl.read_parquet_metadata(place).get(METADATA, "{}"))
        table, published = pl.read_parquet(place, glob=False), about["published"]
        told = table.select("label", "positive", "prompt").rows()
    except (OSError, ValueError, KeyError, pl.exceptions.PolarsError) as error:
        raise FmfairError(f"{place} is damaged: {error}; {again}") from error
    changed = list(changes(about["model"], json.loads(json.dumps(dict(identity)))))
    if changed:
        raise FmfairError(f"{place} holds texts of another model than the images': {'; '.join(changed)}; {again}")
    return (table, published) if told == _rows(prompts) else None


def published_convention(encoder: LoadedModel) -> dict[str, Any]:
    """How the model was published to compare images with texts, as it is kept beside the vectors of texts."""
    scale, learned = encoder.scale, encoder.tower.learned
    return {
        "scale": scale.factor,
        "bias": scale.bias or 0.0,
        "learned_scale": None if learned is None else learned.factor,
        "link": encoder.entry.score.link,
        "ensemble": encoder.entry.prompts.ensemble,
        "vectors": encoder.entry.feature.vectors,
    }


def published_similarity(published: Mapping[str, Any], *, learned: bool = False) -> Similarity:
    """The convention that a model was published with, or that with the scale that its checkpoint has learned.

    Where none is kept beside the published scale, that one is the learned one.
    """
    scale = published["learned_scale"] if learned else None
    return Similarity(
        scale=published["scale"] if scale is None else scale,
        bias=published["bias"],
        ensemble=published["ensemble"],
        link=published["link"],
        vectors=published["vectors"],
    )


def _rows(prompts: Mapping[str, Prompts]) -> list[tuple[str, bool, str]]:
    """Every text with its label and whether it says that the label is 1."""
    return [
        (label, positive, text)
        for label, said in prompts.items()
        for positive in (False, True)
        for text in said.texts(positive=positive)
    ]
