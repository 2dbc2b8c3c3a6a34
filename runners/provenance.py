"""Where numbers come from: hashes of models and tables, and the versions that made them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

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


def images_hash(images: pl.DataFrame, embeddings: pl.LazyFrame) -> str:
    """The SHA-256 of a list of images, by `sample_id`, path and what the files held when they were encoded."""
    contents = embeddings.select("sample_id", "content").unique("sample_id")
    return table_hash(images.lazy().join(contents, on="sample_id", how="left", maintain_order="left").collect())


def content_hash(path: Path) -> str | None:
    """The SHA-256 of a file, or of the names and contents of the files of a folder; None where it cannot be read.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.png").write_bytes(b"")
        ...     content_hash(Path(folder, "a.png")), content_hash(Path(folder, "b.png"))
        ('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', None)
    """
    found = hashlib.sha256()
    try:
        if path.is_dir():
            for file in sorted(path.iterdir()):
                if file.is_file():
                    found.update(f"{file.name}\n{_file_hash(file)}\n".encode(errors="surrogateescape"))
            return found.hexdigest()
        return _file_hash(path) if path.is_file() else None
    except OSError:
        return None


def _file_hash(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """The versions of the packages that are installed."""
    found = {}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
