"""Embeddings: every image of a manifest is decoded and encoded once, and what follows starts from that.

A row per image (of a volume, per slice) goes to Parquet in parts; one that cannot be read, or whose embedding is not
finite, is a row too, with its status and reason.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fmfair.errors import FmfairError, Problems, plural
from fmfair.runners.batches import Image, Read, decoded, gathered, made_ahead
from fmfair.runners.catalogue import Catalogue, part_size
from fmfair.runners.faults import Faults
from fmfair.runners.locks import Locks
from fmfair.runners.parts import Parts, complete, sound
from fmfair.runners.progress import progress
from fmfair.runners.provenance import versions
from fmfair.runners.tables import EMBEDDINGS, NOT_FINITE, OK, UNREADABLE

if TYPE_CHECKING:
    from fmfair.runners.manifest import Manifest
    from fmfair.runners.models.encoder import Features, ImageEncoder

# The most images of a part: what a killed run has to do again.
PART = 1024
BATCH = 32


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
        problems = Problems()
        for name, least in {"batch_size": 1, "workers": 1, "job": 0, "jobs": 1}.items():
            value = getattr(self, name)
            if name == "workers" and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                problems.add(f"{name}={value!r} must be a whole number")
            elif value < least:
                problems.add(f"{name}={value} must be at least {least}")
        shown: object = self.progress
        if not isinstance(shown, bool):
            problems.add(f"progress={shown!r} must be True or False")
        problems.raise_if_any()
        if self.job >= self.jobs:
            raise FmfairError(f"job={self.job} must be below jobs={self.jobs}: jobs are counted from 0")

    @property
    def threads(self) -> int:
        """How many threads decode."""
        return self.workers if self.workers is not None else os.cpu_count() or 1


@dataclass
class Tally:
    """What became of the images of a run.

    Attributes:
        folder: Where the embeddings lie.
        images: How many were read by this call, a volume counting once.
        seconds: How long it took.
        left: Parts that are still to be made when it ends: those of other jobs.
        faults: What could not be encoded of all that is there.
    """

    folder: Path
    images: int = 0
    seconds: float = 0.0
    left: int = 0
    faults: Faults = field(default_factory=Faults)


class Stopped(KeyboardInterrupt):
    """A run that was stopped from the keyboard, with what is kept of it."""

    def __init__(self, kept: int, images: int) -> None:
        super().__init__(f"stopped; {kept:,} of {plural(images, 'image')} are kept, the same command goes on")


def embed(
    manifest: Manifest,
    encoder: ImageEncoder,
    folder: Path | str,
    read: Read,
    how: How | None = None,
    *,
    retry: bool = False,
) -> Tally:
    """Encode the images of a manifest, and go on where an earlier call stopped.

    Args:
        manifest: Which images; those that the folder does not have yet are added to it.
        encoder: The model, with what it is fed.
        folder: Where the parts go.
        read: Reads one file as what the model is fed.
        how: Batch size, workers, share of the work.
        retry: Whether to read those images again that could not be encoded before.

    Returns:
        What became of the images.

    Raises:
        FmfairError: The folder holds another run or cannot be written, or the model cannot encode the images.
        Stopped: It was stopped from the keyboard; the parts that are done are kept.
    """
    how = how or How()
    wanted = listed(manifest)
    if retry or not complete(Path(folder), wanted):
        _check_some_are_there(manifest)
    recorded = {"versions": versions(), "device": str(encoder.device)}
    with Locks.of(Path(folder)) as locks, sound(locks.folder):
        parts = Parts.begun(locks, wanted, _identity(manifest, encoder), recorded)
        return _filled(parts, manifest, encoder, read, how, retry=retry)


def _filled(parts: Parts, manifest: Manifest, encoder: ImageEncoder, read: Read, how: How, *, retry: bool) -> Tally:
    """Makes the parts that are left to this job, and reads again what is to be retried."""
    every, images = parts.images.parts, manifest.table
    again = _not_encoded(parts, images, how) if retry else {}
    work = {k: every[k] for k in parts.missing(how.job, how.jobs)} | again
    title, total = f"{encoder.entry.name} on {manifest.about.dataset}", sum(some.height for some in work.values())
    began, tally, left = time.perf_counter(), Tally(parts.folder), 0
    with _stoppable(parts), progress(title, total, shown=how.progress and total > 0) as advance:
        for number, some in work.items():
            with parts.claimed(number, there=number in again) as ours:
                if ours:
                    paths = [manifest.root / path for path in some["path"]]
                    found = _encoded(decoded(paths, read, how.threads), encoder, how.batch_size, advance)
                    rows = _table(some, list(found), encoder)
                    renewed = number in again
                    parts.write(number, _merged(parts.read(number), rows, every[number]) if renewed else rows)
                    tally.images += some.height
                else:
                    left += number in again
    tally.seconds, tally.left = time.perf_counter() - began, len(parts.missing()) + left
    there = parts.rows().join(images.lazy(), on="sample_id", how="semi") if parts.there() else None
    tally.faults = Faults() if there is None else Faults.of(there)
    return tally


def listed(manifest: Manifest) -> Catalogue:
    """The images of a manifest, in the parts that a run of them alone would have."""
    return Catalogue.of(manifest.table, manifest.root, part_size(manifest.table.height, PART))


@contextmanager
def _stoppable(parts: Parts) -> Iterator[None]:
    """Says what is kept of a run that is stopped from the keyboard."""
    try:
        yield
    except KeyboardInterrupt as stop:
        kept = sum(parts.images.parts[k].height for k in parts.there())
        raise Stopped(kept, parts.images.table.height) from stop


def _not_encoded(parts: Parts, images: pl.DataFrame, how: How) -> dict[int, pl.DataFrame]:
    """Those of the images whose parts are there and of which something could not be encoded, by part."""
    bad = {k: parts.read(k).filter(pl.col("status") != OK)["sample_id"] for k in parts.there(how.job, how.jobs)}
    wanted = images.select("sample_id")
    some = {
        k: parts.images.parts[k]
        .filter(pl.col("sample_id").is_in(ids.implode()))
        .join(wanted, on="sample_id", how="semi", maintain_order="left")
        for k, ids in bad.items()
    }
    return {k: rows for k, rows in some.items() if rows.height}


def _merged(part: pl.DataFrame, renewed: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """A part with other rows of some images, in the order of the manifest."""
    rows = pl.concat([part.filter(~pl.col("sample_id").is_in(renewed["sample_id"].implode())), renewed])
    order = images.select("sample_id").with_row_index("row")
    return rows.join(order, on="sample_id", maintain_order="left").sort("row", maintain_order=True).drop("row")


def _check_some_are_there(manifest: Manifest) -> None:
    """Refuses a root below which no image lies; otherwise all of them would be kept as unreadable."""
    paths = manifest.table["path"]
    if not any(os.path.exists(os.path.join(manifest.root, path)) for path in paths):  # noqa: PTH110,PTH118 (never raises)
        raise FmfairError(
            f"none of {plural(len(paths), 'image')} is below {manifest.root} (first: {paths[0]!r}); name the folder "
            "that the paths start from with root="
        )


def _identity(manifest: Manifest, encoder: ImageEncoder) -> dict[str, Any]:
    """What embeddings depend on beside the images; labels, groups and where these lie are not among it."""
    return {"kind": "embeddings", "reading": manifest.about.reading, "model": encoder.identity}


@dataclass(frozen=True)
class _Encoded:
    """One row of the table of embeddings."""

    image: Image
    status: str
    feature: Any = None
    shared: Any = None


def _encoded(
    images: Generator[Image], encoder: ImageEncoder, size: int, advance: Callable[[int], None]
) -> Iterator[_Encoded]:
    """The images with their embeddings, in their order; the next batch is gathered while the model is at one."""
    row, pinned = -1, getattr(encoder.device, "type", "cpu") == "cuda"
    with closing(images), closing(made_ahead(gathered(images, size, pinned=pinned))) as batches:
        for batch, pixels in batches:
            if pixels is None:
                yield from (_Encoded(image, UNREADABLE) for image in batch)
            else:
                yield from _rows(batch, _features(encoder, pixels))
            advance(batch[-1].row - row)
            row = batch[-1].row


def _features(encoder: ImageEncoder, pixels: Any) -> Features:
    """What the model makes of a batch; whatever goes wrong in a model is told in one line."""
    try:
        return encoder.encode_images(pixels)
    except FmfairError:
        raise
    except Exception as error:
        said = str(error).strip().partition("\n")[0] or type(error).__name__
        memory = isinstance(error, MemoryError) or "out of memory" in said or "allocate memory" in said
        hint = "; a smaller batch_size= needs less memory" if memory and len(pixels) > 1 else ""
        raise FmfairError(
            f"{encoder.entry.name} cannot encode a batch of shape {tuple(pixels.shape)}: {said}{hint}"
        ) from error


def _rows(batch: Sequence[Image], features: Features) -> Iterator[_Encoded]:
    feature = features.feature.cpu().numpy()
    shared = [None] * len(batch) if features.shared is None else features.shared.cpu().numpy()
    for image, one, other in zip(batch, feature, shared, strict=True):
        finite = bool(np.isfinite(one).all() and (other is None or np.isfinite(other).all()))
        yield _Encoded(image, OK, one, other) if finite else _Encoded(image, NOT_FINITE)


def _table(images: pl.DataFrame, rows: Sequence[_Encoded], encoder: ImageEncoder) -> pl.DataFrame:
    """The rows as a table, of these images."""
    why = {NOT_FINITE: "the model's output is not finite"}
    table = pl.DataFrame(
        {
            **images[[row.image.row for row in rows]].to_dict(),
            "slice": [row.image.slice for row in rows],
            "status": [row.status for row in rows],
            "reason": [row.image.reason or why.get(row.status) for row in rows],
            "content": [row.image.content for row in rows],
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
