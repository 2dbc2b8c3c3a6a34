"""Zero-shot classification: images against prompts, from embeddings that are there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from fmfair.errors import FmfairError, Problems, check_choice, listing, plural
from fmfair.notes import Notes
from fmfair.runners.description import SLICES
from fmfair.runners.manifest import Manifest
from fmfair.runners.predictions import Embedded, pooled, predictions, to_predict
from fmfair.runners.similarity import Floats, Similarity
from fmfair.runners.tables import col
from fmfair.runners.texts import check_prompts

# `pairs`: every label by its own negative and positive prompts. `classes`: the labels exclude each other, and the
# positive prompts of all of them are compared.
AMONG = ("pairs", "classes")
USAGE = "zero-shot"
# What makes a prediction of a volume where neither the caller nor the data set says so.
POOL = "max"


def zero_shot(
    manifest: Manifest,
    images: pl.LazyFrame,
    texts: pl.DataFrame,
    *,
    model: str,
    similarity: Similarity | None = None,
    among: str = "pairs",
    splits: Sequence[str] = ("test",),
    slices: str | None = None,
) -> pl.DataFrame:
    """Predictions of images by their similarity to prompts.

    Args:
        manifest: The data set.
        images: Its embeddings, with the column `shared`.
        texts: Vectors of prompts, as from `texts.embed_texts`.
        model: The name of the model, for the column `model`.
        similarity: The convention; without it both sides normalised, scale 1, softmax.
        among: `"pairs"` or `"classes"`.
        splits: Which images are predicted.
        slices: What makes a prediction of a volume: `"max"`, the slice with the highest score, or `"mean"`, that of
            the log-odds; or `"every"`, a row per slice. Without it as the data set says, else `"max"`.

    Returns:
        The predictions table. `similarity` is the raw similarity to the class, and of pairs `similarity_negative` that
        to its opposite: before scale, bias and link.

    Raises:
        FmfairError: A label has no prompts, or the embeddings lack images.
    """
    similarity = similarity or Similarity()
    check_choice("among", among, AMONG)
    rows = to_predict(manifest, splits)
    lacking = [label for label in manifest.labels if label not in set(texts["label"])]
    if lacking:
        raise FmfairError(f"no prompts for {listing(lacking)}; there are some for {listing(texts['label'].unique())}")
    embedded = Embedded.of(rows, images, "shared")
    found = _pairs if among == "pairs" else _classes
    scored = found(embedded.vectors, texts, manifest.labels, similarity)
    pool = manifest.about.pooling(slices, POOL)
    return pl.concat(
        [
            predictions(manifest, rows, label, pooled(embedded, scores, pool), usage=USAGE, model=model)
            for label, scores in zip(manifest.labels, scored, strict=True)
        ]
    )


def check_zero_shot(manifest: Manifest, splits: Sequence[str], among: str, slices: str, notes: Notes) -> None:
    """Makes sure that what is asked for can be predicted, all at once; notes labels that do not exclude each other.

    Raises:
        FmfairError: There are no such images, labels or prompts, or no such choice.
    """
    problems = Problems()
    for check in (
        lambda: to_predict(manifest, splits),
        lambda: check_prompts(manifest.about.prompts, manifest.labels),
        lambda: check_choice("among", among, AMONG),
        lambda: check_choice("slices", slices, SLICES),
    ):
        with problems.collecting():
            check()
    if among == "classes" and len(manifest.labels) == 1:
        problems.add("among='classes' compares labels that exclude each other, and there is one; leave it out")
    problems.raise_if_any()
    if among == "classes":
        rows = to_predict(manifest, splits)
        several = rows.select((pl.sum_horizontal(col(*manifest.labels)) > 1).sum()).item()
        if several:
            notes.warn(
                f"{several:,} of {plural(rows.height, 'image')} have several of the labels; among='classes' takes them "
                "to exclude each other"
            )


def _pairs(
    vectors: np.ndarray, texts: pl.DataFrame, labels: Sequence[str], similarity: Similarity
) -> list[dict[str, Floats]]:
    scored = []
    for label in labels:
        raw = similarity.raw(vectors, [_vectors(texts, label, positive=p) for p in (False, True)])
        logits = similarity.logits(raw)[:, 1]
        scored.append({"y_logit": logits, "similarity": raw[:, 1], "similarity_negative": raw[:, 0]})
    return scored


def _classes(
    vectors: np.ndarray, texts: pl.DataFrame, labels: Sequence[str], similarity: Similarity
) -> list[dict[str, Floats]]:
    raw = similarity.raw(vectors, [_vectors(texts, label, positive=True) for label in labels])
    logits = similarity.logits(raw)
    return [{"y_logit": logits[:, k], "similarity": raw[:, k]} for k in range(len(labels))]


def _vectors(texts: pl.DataFrame, label: str, *, positive: bool) -> Floats:
    chosen = texts.filter(pl.col("label") == label, pl.col("positive") == positive)["vector"]
    return chosen.to_numpy().astype(np.float64)
