"""Drawing replicates: the weights of every row, and what a task makes of them, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.bootstrap.progress import progress
from fmfair.bootstrap.weights import LANES, replicate_weights
from fmfair.hashing import Hashes, content_hashes

Weights: TypeAlias = npt.NDArray[Any]
Positions: TypeAlias = npt.NDArray[np.intp]

# Weights, and replicates, that a task is given at once.
AT_ONCE, MOST_AT_ONCE = 12 * 2**20, 256

# Weights that are worked on at once, so that they stay close to the processor.
CLOSE = 2**19

# Threads that draw: each holds a few arrays as long as the table of samples.
MAX_THREADS = 4


@dataclass(frozen=True)
class Draws:
    """How rows are drawn.

    Attributes:
        units: A number for every unit.
        of_row: The unit of each row; None where every row is one of its own.
        weight: The row's own weight; None where all count alike.
        seed: Of the replicates.
    """

    units: Hashes
    of_row: Positions | None
    weight: npt.NDArray[np.float64] | None
    seed: int

    def take(self, rows: Positions) -> Draws:
        """The same for rows in another order."""
        weight = None if self.weight is None else self.weight[rows]
        if self.of_row is None:
            return Draws(self.units[rows], None, weight, self.seed)
        return Draws(self.units, self.of_row[rows], weight, self.seed)

    def weights(self, first: int, replicates: int) -> Weights:
        """The weight of each row in some replicates, which are the rows of the array."""
        drawn = replicate_weights(self.units, self.seed, first, replicates)
        if self.of_row is not None:
            drawn = drawn.take(self.of_row, axis=1, mode="clip")
        return drawn if self.weight is None else drawn * self.weight

    def run(self, replicates: int, task: Callable[[int, Weights], None], *, threads: int | None = None) -> None:
        """Give a task the weights of all replicates, some at a time, with the number of the first of them."""
        rows = max(len(self.units if self.of_row is None else self.of_row), 1)
        step = max(LANES, min(AT_ONCE // rows, MOST_AT_ONCE) // LANES * LANES)

        def batch(first: int) -> int:
            count = min(step, replicates - first)
            task(first, self.weights(first, -(-count // LANES) * LANES)[:count])
            return count

        workers = min(MAX_THREADS, pl.thread_pool_size()) if threads is None else threads
        with progress("bootstrap", replicates) as advance, ThreadPoolExecutor(workers) as pool:
            waiting = [pool.submit(batch, first) for first in range(0, replicates, step)]
            try:
                for done in as_completed(waiting):
                    advance(done.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def portions(weights: Weights) -> Iterator[Weights]:
    """The weights of a few replicates at a time."""
    step = max(3, CLOSE // max(weights.shape[1], 1))
    for start in range(0, len(weights), step):
        yield weights[start : start + step]


def draws_of(frame: pl.DataFrame, seed: int) -> Draws:
    """How the rows of the table of samples are drawn.

    Args:
        frame: With the numbers of the units as `drawn`, NULL where a row has no id, or without that column.
        seed: Of the replicates.
    """
    numbers = frame["drawn"] if "drawn" in frame.columns else None
    if numbers is None:
        units = content_hashes(frame)
    elif numbers.null_count():
        units = np.where(numbers.is_null(), content_hashes(frame), numbers.fill_null(0).to_numpy())
    else:
        units = numbers.to_numpy()
    weight = frame["weight"].to_numpy() if "weight" in frame.columns else None
    if "unit" in frame.columns:
        distinct, of_row = np.unique(units, return_inverse=True)
        if 2 * len(distinct) <= len(units):
            return Draws(distinct, of_row, weight, seed)
    return Draws(units, None, weight, seed)
