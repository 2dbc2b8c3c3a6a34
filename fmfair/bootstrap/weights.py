"""Weights of the Poisson bootstrap: how often each unit is drawn in each replicate.

A count is Poisson with mean 1, independent of all others, and is read off a hash of the seed, the replicate and the
unit: the same in any order of the rows, on any number of threads, whatever other units there are. Compare Hanley &
MacGibbon 2006 and Chamandy et al. 2012.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fmfair.hashing import Hashes, mixed

Counts: TypeAlias = npt.NDArray[np.uint8]

# How many of 65,536 draws are 0, 1, 2, ...: Poisson with mean 1, rounded so that mean and variance are exactly 1.
DRAWS = (24109, 24109, 12055, 4021, 1002, 201, 33, 5, 1)

# Replicates that share a hash of 64 bits: a count takes 16.
LANES = 4

# Units whose hashes are worked on at once: they stay close to the processor.
_BATCH = 16_384


def replicate_weights(units: Hashes, seed: int, first: int, replicates: int) -> Counts:
    """How often each unit is drawn.

    Args:
        units: A number for every unit, as from `hashing`.
        seed: Any whole number from 0 to 2^64 - 1.
        first: The first replicate, a multiple of `LANES`.
        replicates: How many, a multiple of `LANES`.

    Returns:
        One row per replicate.

    Examples:
        >>> units = np.arange(5, dtype=np.uint64)
        >>> few = replicate_weights(units, seed=1, first=4, replicates=4)
        >>> bool((few == replicate_weights(units, seed=1, first=0, replicates=8)[4:]).all())
        True
    """
    counts = np.empty((replicates, len(units)), dtype=np.uint8)
    steps = (np.cumsum(DRAWS)[:-1]).astype(np.uint16)
    z, t = (np.empty(min(_BATCH, len(units)), dtype=np.uint64) for _ in range(2))
    keys = _keys(seed, first // LANES, replicates // LANES)
    for start in range(0, len(units), _BATCH):
        some = units[start : start + _BATCH]
        size = len(some)
        for block, key in enumerate(keys):
            np.add(some, key, out=z[:size])
            hashes = mixed(z[:size], z[:size], t[:size])
            for lane in range(LANES):
                bits = (hashes >> np.uint64(16 * lane)).astype(np.uint16)
                drawn = counts[block * LANES + lane, start : start + size]
                np.greater_equal(bits, steps[0], out=drawn.view(np.bool_))
                for step in steps[1:]:
                    drawn += bits >= step
    return counts


def _keys(seed: int, first: int, blocks: int) -> Hashes:
    """One number per block of replicates."""
    start = mixed(np.array([seed], dtype=np.uint64))
    return mixed(np.add(start, np.arange(first, first + blocks, dtype=np.uint64), dtype=np.uint64))
