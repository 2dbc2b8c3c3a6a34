"""Score bins merged until none holds few rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]


def coarsened(starts: Ints, counts: Sequence[Ints], least: int) -> Ints:
    """Bins merged from the left until each holds 0 or at least `least` rows of every group.

    Args:
        starts: Where the bins start, the first at 0.
        counts: The rows per finest bin of every group.
        least: The smallest number of rows that may be read.
    """
    if not counts:
        return starts
    rows = np.add.reduceat(np.stack(counts), starts, axis=1)
    kept: list[int] = []
    sums: list[Ints] = []
    open_at, held = 0, np.zeros(len(counts), dtype=np.int64)
    for i in range(len(starts)):
        held = held + rows[:, i]
        if ((held == 0) | (held >= least)).all():
            kept.append(open_at)
            sums.append(held)
            open_at, held = i + 1, np.zeros(len(counts), dtype=np.int64)
    # What is left over joins the bins before it.
    while kept and open_at < len(starts) and ((held > 0) & (held < least)).any():
        open_at = kept.pop()
        held = held + sums.pop()
    if open_at < len(starts):
        kept.append(open_at)
    return starts[np.array(kept, dtype=np.int64)]
