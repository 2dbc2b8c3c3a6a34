"""Curves: how the scores of every group spread over fixed bins, which is all that drawing them takes.

ROC curves, calibration, rates against the threshold, net benefit and the distribution of risk follow from such a
table, whatever the number of rows. The bins lie on [0, 1], are closed on the left, and 1.0 is in the last; they are
finer at both ends, since many scores of a rare finding lie near 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.groupings import Grouping
from fmfair.profiles import Profiles
from fmfair.score_bins import BATCH

Ints: TypeAlias = npt.NDArray[np.intp]
Whole: TypeAlias = npt.NDArray[np.integer[Any]]
Floats: TypeAlias = npt.NDArray[np.float64]

# Lower edges in thousandths, so that they are edges of the grid of counts too.
LOWER = (0, 1, 2, 5, *range(10, 1000, 10), 995, 998, 999)
FINEST = 1000
BINS = len(LOWER)
# The bin of every thousandth; 1.0 is the last.
BIN_OF = np.searchsorted(LOWER, np.arange(FINEST + 1), side="right") - 1
# Batches of rows that are counted at once.
AT_ONCE = 4
# More groups than that nobody looks at one by one, and the table would be larger than the report.
MOST_CELLS = 2_000

SCHEMA = {"cell": pl.UInt64(), "bin": pl.Int32(), "n": pl.Int64(), "n_pos": pl.Int64(), "sum_score": pl.Float64()}


def drawn(groupings: Sequence[Grouping]) -> list[int]:
    """The positions of the groupings that have curves: single attributes, and all rows."""
    return [i for i, grouping in enumerate(groupings) if len(grouping.parts) == 1 or grouping == Grouping()]


def edges() -> pl.DataFrame:
    """The bins: `bin`, `low` and `high`."""
    ends = np.array([*LOWER, FINEST]) / FINEST
    return pl.DataFrame({"bin": np.arange(BINS, dtype=np.int32), "low": ends[:-1], "high": ends[1:]})


def score_curves(
    score: pl.Series, y: pl.Series | None, profiles: Profiles, groupings: Sequence[Grouping]
) -> list[pl.DataFrame]:
    """The bins of every cell of groupings: `cell`, `bin`, `n`, `n_pos` (NULL without labels), `sum_score`.

    Args:
        score: The scores of all rows, in [0, 1]; rows without one are left out.
        y: Their labels, 0 or 1, where there are any.
        profiles: The profile of each row.
        groupings: How the rows are divided.
    """
    known = score.is_not_null()
    if not known.all():
        profiles, score, y = profiles.of(known), score.filter(known), None if y is None else y.filter(known)
    values = score.to_numpy()
    positive = np.zeros(len(values), np.int8) if y is None else y.to_numpy()
    height = profiles.table.height
    if 2 * height * BINS <= len(values):
        sums = _summed(profiles.of_row, values, positive, height)
        place = np.flatnonzero(sums[0])
        profile, of_bin, sums = place // BINS, place % BINS, sums[:, place]
    else:
        profile, of_bin = profiles.of_row.astype(np.intp), bins_of(values)
        sums = np.stack([np.ones(len(values)), positive, values])
    return [_of_cells(profiles.table.select(g.cell()).to_series(), profile, of_bin, sums, y) for g in groupings]


def bins_of(values: Floats) -> Ints:
    """The bin of each score, by comparison with the edges k / 1000 as doubles."""
    place = (values * FINEST).astype(np.intp)
    # The product is rounded, so that it may be one off.
    place -= values < place / FINEST
    place += values >= (place + 1) / FINEST
    bins: Ints = BIN_OF[place]
    return bins


def _summed(of_row: Whole, values: Floats, positive: Whole, profiles: int) -> Floats:
    """Rows, positives and scores per profile and bin, a batch of rows at a time."""
    size = profiles * BINS

    def batch(rows: slice) -> Floats:
        place = of_row[rows].astype(np.intp) * BINS + bins_of(values[rows])
        return np.stack([np.bincount(place, of, size) for of in (None, positive[rows], values[rows])])

    step = max(BATCH, size)
    # NumPy counts on one core at a time; sums are added in the order of the rows.
    with ThreadPoolExecutor(min(AT_ONCE, pl.thread_pool_size())) as pool:
        parts = pool.map(batch, (slice(start, start + step) for start in range(0, len(values), step)))
        return sum(parts, np.zeros((3, size)))


def _of_cells(cells: pl.Series, profile: Ints, of_bin: Ints, sums: Floats, y: pl.Series | None) -> pl.DataFrame:
    """The sums per cell and bin."""
    cell = cells.fill_null(0).to_numpy().astype(np.intp)[profile]
    inside = cells.is_not_null().to_numpy()[profile]
    numbers, place = np.unique(cell[inside] * BINS + of_bin[inside], return_inverse=True)
    n, n_pos, score = (np.bincount(place, of[inside], len(numbers)) for of in sums)
    found = {"cell": numbers // BINS, "bin": numbers % BINS, "n": n, "n_pos": n_pos, "sum_score": score}
    table = pl.DataFrame(found).select(pl.col(c).cast(t) for c, t in SCHEMA.items())
    return table if y is not None else table.with_columns(n_pos=pl.lit(None, pl.Int64))
