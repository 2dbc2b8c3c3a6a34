"""Where numbers come from: hashes of models and tables, and the versions that made them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import polars as pl

PACKAGES = ("fmfair", "polars", "numpy", "torch", "torchvision", "transformers", "open_clip_torch", "timm", "pillow")


def file_hash(path: Path | str) -> str:
    """The SHA-256 of a file, or of a folder: of the names and hashes of its files.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "a").write_bytes(b"")
        ...     file_hash(Path(folder) / "a")[:12]
        'e3b0c44298fc'
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
        listed = "".join(f"{file_hash(p)}  {p.relative_to(path).as_posix()}\n" for p in files)
        return hashlib.sha256(listed.encode()).hexdigest()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


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
