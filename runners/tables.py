"""The tables of the runners: their columns and types, said once.

A manifest describes a data set, embeddings are what an encoder makes of its images, and predictions are what
`fmfair.evaluate` reads. Label columns and attributes follow the named columns in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import polars as pl
import polars.selectors as cs

SPLITS = ("train", "validation", "test")

# What became of an image: encoded, not readable as an image, or encoded to something that is not a number.
OK, UNREADABLE, NOT_FINITE = "ok", "unreadable", "not_finite"

# One row per image; then labels (Int8, NULL where unknown) and attributes as they were released.
MANIFEST: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "sample_id": pl.String(),
        "patient_id": pl.String(),
        "path": pl.String(),
        "split": pl.String(),
    }
)

# One row per image, of a volume one per slice; then `feature` and, of models with a text tower, `shared`: arrays of
# Float32, NULL unless the status is "ok". `content` is the SHA-256 of the file.
EMBEDDINGS: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "sample_id": pl.String(),
        "path": pl.String(),
        "slice": pl.Int32(),
        "status": pl.String(),
        "reason": pl.String(),
        "content": pl.String(),
    }
)

# One row per image, model and label; or per slice, which is then numbered and ends `sample_id`, as in `ct7#12`. The raw
# similarities are NULL but in zero-shot predictions. Attributes follow.
PREDICTIONS: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "sample_id": pl.String(),
        "slice": pl.Int32(),
        "patient_id": pl.String(),
        "usage": pl.String(),
        "dataset": pl.String(),
        "model": pl.String(),
        "label": pl.String(),
        "split": pl.String(),
        "y_true": pl.Int8(),
        "y_score": pl.Float64(),
        "y_logit": pl.Float64(),
        "similarity": pl.Float64(),
        "similarity_negative": pl.Float64(),
        "status": pl.String(),
        "reason": pl.String(),
    }
)


def col(*names: str) -> pl.Expr:
    """Columns by their exact names; `pl.col` would expand `*` and `^...$`."""
    return cs.by_name(*names).as_expr()
