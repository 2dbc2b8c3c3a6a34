"""Images decoded ahead of the model, in their order, and gathered into batches.

Decoding runs in threads: the libraries that decode and resize leave the interpreter to others meanwhile, and threads,
unlike processes, need nothing of the user's script and die with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fmfair.runners.images.picture import ImageError
from fmfair.runners.provenance import content_hash

if TYPE_CHECKING:
    from fmfair.runners.manifest import Manifest
    from fmfair.runners.models.encoder import LoadedModel

T = TypeVar("T")

# Files that are decoded ahead, for each worker; and bytes, so that volumes do not fill the memory.
AHEAD, BYTES_AHEAD = 4, 2**30


@dataclass(frozen=True)
class Image:
    """One image of a manifest, or one slice of its volume, ready for a model.

    Attributes:
        row: The position in the list of paths.
        slice: The slice of a volume; None of a picture.
        pixels: A tensor (3, height, width); None where it could not be read.
        reason: Why it could not.
        content: The hash of the file.
    """

    row: int
    slice: int | None
    pixels: Any
    reason: str | None = None
    content: str | None = None


# Reads a file: the slices of a volume with their numbers, or one picture with None. Raises ImageError where it cannot.
Read = Callable[[Path], Sequence[tuple[int | None, Any]]]


def reader(encoder: LoadedModel, manifest: Manifest) -> Read:
    """Reads a file of the data set as what the model is fed."""
    from fmfair.runners.images.files import read
    from fmfair.runners.images.reading import Reading

    reading, transform = Reading.of(manifest.about.reading), encoder.transform

    def prepared(path: Path) -> list[tuple[int | None, Any]]:
        found = read(path, reading)
        if not isinstance(found, list):
            return [(None, transform(found))]
        return [(picture.slice, transform(picture)) for picture in found]

    return prepared


def decoded(paths: Sequence[Path], read: Read, workers: int) -> Generator[Image]:
    """The images of the files, in their order; a file that cannot be read is one image with a reason.

    As many files wait as there are workers; once their size is known, up to `AHEAD` a worker while files as large as
    the largest so far would fit into `BYTES_AHEAD`.
    """
    room, largest = workers, 1
    with ThreadPoolExecutor(workers, thread_name_prefix="decode") as pool:
        waiting: deque[Future[list[Image]]] = deque()
        try:
            for row, path in enumerate(paths):
                waiting.append(pool.submit(_images, row, path, read))
                while len(waiting) > room:
                    found = waiting.popleft().result()
                    largest = max(largest, sum(_bytes(image) for image in found))
                    room = max(workers, min(AHEAD * workers, BYTES_AHEAD // largest))
                    yield from found
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for future in waiting:  # where the consumer stops early
                future.cancel()


def batched(images: Iterable[Image], size: int) -> Iterator[list[Image]]:
    """Images in their order, as many at once as asked for; those of one batch have one shape, the unreadable none."""
    batch: list[Image] = []
    for image in images:
        differs = batch and _shape(image) != _shape(batch[0])
        if differs or len(batch) == size:
            yield batch
            batch = []
        batch.append(image)
    if batch:
        yield batch


def gathered(images: Iterable[Image], size: int, *, pinned: bool) -> Generator[tuple[list[Image], Any]]:
    """Batches without their pixels, and beside each the pixels as one tensor; None of images that cannot be read.

    Args:
        images: In their order.
        size: The most images of a batch.
        pinned: Whether the tensor lies in memory that a GPU copies from while others work.
    """
    import torch

    for batch in batched(images, size):
        stacked = None if batch[0].pixels is None else torch.stack([image.pixels for image in batch])
        emptied = [replace(image, pixels=None) for image in batch]  # which are kept until their part is written
        yield emptied, stacked.pin_memory() if pinned and stacked is not None else stacked


def made_ahead(items: Generator[T]) -> Generator[T]:
    """The same items, each of which is made in a thread while the one before it is used."""
    with closing(items), ThreadPoolExecutor(1, thread_name_prefix="gather") as pool:
        following = pool.submit(next, items, None)
        while (item := following.result()) is not None:
            following = pool.submit(next, items, None)
            yield item


def _images(row: int, path: Path, read: Read) -> list[Image]:
    content = content_hash(path)
    try:
        return [Image(row, number, pixels, content=content) for number, pixels in read(path)]
    except ImageError as error:  # and no other: that a package is missing, for example, is no fault of the image
        return [Image(row, None, None, str(error), content)]


def _shape(image: Image) -> tuple[int, ...] | None:
    return None if image.pixels is None else tuple(image.pixels.shape)


def _bytes(image: Image) -> int:
    return 0 if image.pixels is None else int(image.pixels.nbytes)
