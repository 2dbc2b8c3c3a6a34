"""Several replicates in one whole number: what is done to the number is done to all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fmfair.bootstrap.scratch import Scratch

Floats: TypeAlias = npt.NDArray[np.float64]
Weights: TypeAlias = npt.NDArray[Any]

_SCRATCH = Scratch()

# From so many rows on several replicates are added up at once, in the lanes of a whole number.
PACKED_FROM = 2**15
_BITS_OF_COUNT = 4


@dataclass(frozen=True)
class Lanes:
    """How whole numbers of 64 bits hold sums of several replicates.

    Attributes:
        count: How many replicates share a number.
        width: The bits of each; no sum needs more.
    """

    count: int
    width: int

    @cached_property
    def spread(self) -> np.int64:
        """Counts of a few bits each times this, of which `mask` is kept, are moved to their lanes."""
        return np.int64(sum(1 << (self.width - _BITS_OF_COUNT) * lane for lane in range(self.count)))

    @cached_property
    def mask(self) -> np.int64:
        """The lowest bits of every lane, where a count is."""
        return np.int64(sum((2**_BITS_OF_COUNT - 1) << self.width * lane for lane in range(self.count)))

    def unpacked(self, values: Weights, name: str) -> Floats:
        """Sums of single replicates."""
        single = _SCRATCH.array(name, (self.count * len(values), values.shape[1]))
        lane = _SCRATCH.array("lane", values.shape, np.int64)
        for i in range(self.count):
            shifted = np.right_shift(values, self.width * i, out=lane) if i else values
            last = i == self.count - 1
            np.copyto(single[i :: self.count], shifted if last else np.bitwise_and(shifted, self._whole, out=lane))
        return single

    @cached_property
    def _whole(self) -> np.int64:
        return np.int64((1 << self.width) - 1)


# The fullest first.
PACKINGS = (Lanes(3, 21), Lanes(2, 31))


@dataclass(frozen=True)
class Packed:
    """Weights of rows in replicates: several to a number, or as they are.

    Attributes:
        numbers: The weights.
        lanes: How each number holds several; None where it is one weight.
        replicates: How many there are; the last number may have room for more.
    """

    numbers: Weights
    lanes: Lanes | None
    replicates: int

    def unpacked(self, values: Weights, name: str) -> Floats:
        """Sums of single replicates, from sums of these numbers."""
        return self.lanes.unpacked(values, name)[: self.replicates] if self.lanes else values


def packed(weights: Weights, most: float) -> Packed:
    """Counts of few bits, several replicates to a number where there are many rows; other weights as they are.

    Args:
        weights: Of rows, the rows of the array replicates.
        most: The largest sum of the weights of a replicate.
    """
    replicates, rows = weights.shape
    lanes = next((lanes for lanes in PACKINGS if most < 1 << lanes.width), None)
    if weights.dtype != np.uint8 or rows < PACKED_FROM or lanes is None:
        return Packed(weights, None, replicates)
    filled = -replicates % lanes.count
    if filled:
        weights = np.concatenate([weights, np.zeros((filled, rows), np.uint8)])
    numbers: Weights = weights[:: lanes.count].astype(np.uint16)
    for i in range(1, lanes.count):
        numbers += np.multiply(weights[i :: lanes.count], np.uint16(1 << _BITS_OF_COUNT * i), dtype=np.uint16)
    return Packed(numbers, lanes, replicates)
