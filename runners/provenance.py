"""Where numbers come from: hashes of models and tables, and the versions that made them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata

import polars as pl

# The key of our own in the metadata of a Parquet file.
METADATA = "fmfair"
# What decodes images, runs models, reads their weights and texts, and fits probes.
PACKAGES = (
    *("fmfair", "polars", "numpy", "pillow", "pydicom", "nibabel"),
    *("torch", "torchvision", "transformers", "open_clip_torch", "timm", "safetensors", "tokenizers", "scikit-learn"),
)


def table_hash(table: pl.DataFrame) -> str:
    """The SHA-256 of a table of plain columns, whatever file it came from."""
    text = io.BytesIO()
    table.write_csv(text, null_value="\\N")
    types = ",".join(f"{name}:{dtype}" for name, dtype in table.schema.items())
    return hashlib.sha256(types.encode() + b"\n" + text.getvalue()).hexdigest()


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """The versions of the packages that are installed."""
    found = {}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
