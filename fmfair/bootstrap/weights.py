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
_STEPS = np.cumsum(DRAWS)[:-1].astype(np.uint16)

# Replicates that share a hash of 64 bits: a count takes 16.
LANES = 4

# Counts up to this one are looked for in all draws, larger ones in the few that are larger.
_OFTEN = 3

# Units whose hashes are worked on at once: they stay close to the processor.
_BATCH = 8_192


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
    z, t = (np.empty(min(_BATCH, len(units)), dtype=np.uint64) for _ in range(2))
    keys = _keys(seed, first // LANES, replicates // LANES)
    for start in range(0, len(units), _BATCH):
        some = units[start : start + _BATCH]
        size = len(some)
        for block, key in enumerate(keys):
            np.add(some, key, out=z[:size])
            hashes = mixed(z[:size], z[:size], t[:size])
            # The lowest 16 bits are the first of the replicates.
            bits = hashes.astype("<u8", copy=False).view("<u2").reshape(size, LANES).T.astype(np.uint16, order="C")
            counts[block * LANES : (block + 1) * LANES, start : start + size] = _counts(bits)
    return counts


def _counts(bits: npt.NDArray[np.uint16]) -> Counts:
    """How often something is drawn, from 16 bits each."""
    found: Counts = (bits >= _STEPS[0]).view(np.uint8)
    more = np.empty(bits.shape, dtype=np.bool_)
    for step in _STEPS[1:_OFTEN]:
        found += np.greater_equal(bits, step, out=more).view(np.uint8)
    rare = np.flatnonzero(np.greater_equal(bits, _STEPS[_OFTEN], out=more))
    found.ravel()[rare] += np.searchsorted(_STEPS[_OFTEN:], bits.ravel()[rare], side="right").astype(np.uint8)
    return found


def _keys(seed: int, first: int, blocks: int) -> Hashes:
    """One number per block of replicates."""
    start = mixed(np.array([seed], dtype=np.uint64))
    return mixed(np.add(start, np.arange(first, first + blocks, dtype=np.uint64), dtype=np.uint64))
