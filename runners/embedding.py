"""Embeddings: every image of a manifest is decoded and encoded once, and what follows starts from that.

A row per image (of a volume, per slice) goes to Parquet in parts; one that cannot be read, or whose embedding is not
finite, is a row too, with its status and reason.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fmfair.errors import FmfairError, plural
from fmfair.runners.batches import Image, Read, batched, decoded
from fmfair.runners.parts import Parts, stretch
from fmfair.runners.progress import progress
from fmfair.runners.provenance import table_hash, versions
from fmfair.runners.tables import EMBEDDINGS, NOT_FINITE, OK, UNREADABLE

if TYPE_CHECKING:
    from fmfair.runners.manifest import Manifest
    from fmfair.runners.models.encoder import Features, ImageEncoder

# Images of a part: what a killed run has to do again, at most.
PART = 1024
BATCH = 32
# The columns of a manifest that embeddings depend on; labels, groups and splits may change.
IMAGES = ("sample_id", "path")


@dataclass(frozen=True)
class How:
    """How a run is carried out; none of it changes what is written.

    Attributes:
        batch_size: Images that go through the model at once.
        workers: Threads that decode images; None for as many as there are cores.
        job: Which of `jobs` this one is, from 0.
        jobs: How many share the work.
        progress: Whether to show a progress bar.
    """

    batch_size: int = BATCH
    workers: int | None = None
    job: int = 0
    jobs: int = 1
    progress: bool = True

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise FmfairError(f"batch_size={self.batch_size} must be at least 1")
        if self.workers is not None and self.workers < 1:
            raise FmfairError(f"workers={self.workers} must be at least 1")
        if not 0 <= self.job < self.jobs:
            raise FmfairError(f"shard {self.job + 1}/{self.jobs} is none; give i/n with 1 <= i <= n, such as 2/4")

    @property
    def threads(self) -> int:
        """How many threads decode."""
        return self.workers if self.workers is not None else os.cpu_count() or 1


@dataclass
class Tally:
    """What became of the images of a run.

    Attributes:
        folder: Where the embeddings lie.
        statuses: Images by status, of this call.
        seconds: How long it took.
        left: Parts that are still missing when it ends: other jobs make them.
    """

    folder: Path
    statuses: dict[str, int] = field(default_factory=lambda: dict.fromkeys((OK, UNREADABLE, NOT_FINITE), 0))
    seconds: float = 0.0
    left: int = 0


def embed(manifest: Manifest, encoder: ImageEncoder, folder: Path | str, read: Read, how: How | None = None) -> Tally:
    """Encode the images of a manifest, and go on where an earlier call stopped.

    Args:
        manifest: Which images.
        encoder: The model, with what it is fed.
        folder: Where the parts go.
        read: Reads one file as what the model is fed.
        how: Batch size, workers, share of the work.

    Returns:
        What became of the images.

    Raises:
        FmfairError: The folder holds another run, or cannot be written.
    """
    how = how or How()
    images = manifest.table.select(IMAGES)
    count = max(-(-images.height // PART), 1)
    recorded = {"versions": versions(), "device": str(encoder.device)}
    parts = Parts(Path(folder), count, _identity(images, encoder), recorded)
    if parts.missing():
        _check_some_are_there(manifest)
    parts.begin()
    began, tally = time.perf_counter(), Tally(parts.folder)
    todo = parts.missing(how.job, how.jobs)
    rows = sum(len(stretch(k, PART, images.height)) for k in todo)
    title = f"{encoder.entry.name} on {manifest.about.dataset}"
    with progress(title, rows, shown=how.progress) as advance:
        for number in todo:
            with parts.claimed(number) as ours:
                if ours:
                    some = images[list(stretch(number, PART, images.height))]
                    paths = [manifest.root / path for path in some["path"]]
                    found = _encoded(decoded(paths, read, how.threads), encoder, how.batch_size, advance)
                    parts.write(number, _table(some["sample_id"], list(found), encoder, tally))
    tally.seconds, tally.left = time.perf_counter() - began, len(parts.missing(how.job, how.jobs))
    return tally


def _check_some_are_there(manifest: Manifest) -> None:
    """Refuses a root below which no image lies; otherwise all of them would be kept as unreadable."""
    paths = manifest.table["path"]
    if not any(os.path.exists(os.path.join(manifest.root, path)) for path in paths):  # noqa: PTH110,PTH118 (never raises)
        raise FmfairError(
            f"none of {plural(len(paths), 'image')} is below {manifest.root} (first: {paths[0]!r}); name the folder "
            "that the paths start from with root="
        )


def _identity(images: pl.DataFrame, encoder: ImageEncoder) -> dict[str, Any]:
    """What embeddings depend on; labels, groups and where the images lie are not among it."""
    return {"kind": "embeddings", "images": table_hash(images), "rows_per_part": PART, "model": encoder.identity}


def images_hash(manifest: Manifest) -> str:
    """What embeddings keep of the images that they are of."""
    return table_hash(manifest.table.select(IMAGES))


@dataclass(frozen=True)
class _Encoded:
    """One row of the table of embeddings."""

    image: Image
    status: str
    feature: Any = None
    shared: Any = None


def _encoded(
    images: Iterator[Image], encoder: ImageEncoder, size: int, advance: Callable[[int], None]
) -> Iterator[_Encoded]:
    """The images with their embeddings, in their order."""
    import torch

    row = -1
    for batch in batched(images, size):
        if batch[0].pixels is None:
            yield from (_Encoded(image, UNREADABLE) for image in batch)
        else:
            features = encoder.encode_images(torch.stack([image.pixels for image in batch]))
            yield from _rows(batch, features)
        advance(batch[-1].row - row)
        row = batch[-1].row


def _rows(batch: Sequence[Image], features: Features) -> Iterator[_Encoded]:
    feature = features.feature.cpu().numpy()
    shared = [None] * len(batch) if features.shared is None else features.shared.cpu().numpy()
    for image, one, other in zip(batch, feature, shared, strict=True):
        finite = bool(np.isfinite(one).all() and (other is None or np.isfinite(other).all()))
        yield _Encoded(image, OK, one, other) if finite else _Encoded(image, NOT_FINITE)


def _table(samples: pl.Series, rows: Sequence[_Encoded], encoder: ImageEncoder, tally: Tally) -> pl.DataFrame:
    """The rows as a table."""
    for row in rows:
        tally.statuses[row.status] += 1
    why = {NOT_FINITE: "the model's output is not finite"}
    table = pl.DataFrame(
        {
            "sample_id": samples.gather([row.image.row for row in rows]),
            "slice": [row.image.slice for row in rows],
            "status": [row.status for row in rows],
            "reason": [row.image.reason or why.get(row.status) for row in rows],
        },
        schema_overrides=dict(EMBEDDINGS),
    )
    sizes = {"feature": encoder.dim, "shared": encoder.shared_dim}
    vectors = {name: _vectors([getattr(row, name) for row in rows], size) for name, size in sizes.items() if size}
    return table.with_columns(pl.when(pl.col("status") == OK).then(pl.lit(v)).alias(n) for n, v in vectors.items())


def _vectors(rows: Sequence[Any], size: int) -> pl.Series:
    """The vectors of the rows, zeros where there is none."""
    matrix = np.zeros((len(rows), size), dtype=np.float32)
    for i, row in enumerate(rows):
        if row is not None:
            matrix[i] = row
    return pl.Series(matrix, dtype=pl.Array(pl.Float32, size))
