"""Images decoded ahead of the model, in their order, and gathered into batches.

Decoding runs in threads: the libraries that decode and resize leave the interpreter to others meanwhile, and threads,
unlike processes, need nothing of the user's script and die with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError

# Images that are decoded ahead, for each worker.
AHEAD = 4


@dataclass(frozen=True)
class Image:
    """One image of a manifest, or one slice of its volume, ready for a model.

    Attributes:
        row: The position in the list of paths.
        slice: The slice of a volume; None of a picture.
        pixels: A tensor (3, height, width); None where it could not be read.
        reason: Why it could not.
    """

    row: int
    slice: int | None
    pixels: Any
    reason: str | None = None


# Reads a file: the slices of a volume with their numbers, or one picture with None.
Read = Callable[[Path], Sequence[tuple[int | None, Any]]]


def decoded(paths: Sequence[Path], read: Read, workers: int) -> Iterator[Image]:
    """The images of the files, in their order; a file that cannot be read is one image with a reason."""
    with ThreadPoolExecutor(max(workers, 1), thread_name_prefix="decode") as pool:
        waiting: deque[Future[list[Image]]] = deque()
        rows = iter(range(len(paths)))
        try:
            for row in rows:
                waiting.append(pool.submit(_images, row, paths[row], read))
                if len(waiting) > AHEAD * max(workers, 1):
                    yield from waiting.popleft().result()
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


def _images(row: int, path: Path, read: Read) -> list[Image]:
    try:
        return [Image(row, number, pixels) for number, pixels in read(path)]
    except FmfairError as error:
        return [Image(row, None, None, str(error))]


def _shape(image: Image) -> tuple[int, ...] | None:
    return None if image.pixels is None else tuple(image.pixels.shape)
