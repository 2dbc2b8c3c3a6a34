"""Utility against gap: which models no other model beats on both."""

from __future__ import annotations

import numpy as np
import polars as pl

from fmfair.comparison.aligned import Aligned
from fmfair.comparison.pairs import Pairs
from fmfair.statistics.interval import BoolArray, FloatArray


def tradeoff(whole: Pairs, divided: Pairs, aligned: Aligned, min_group_size: int) -> pl.DataFrame:
    """The models by the value on all rows and the gap between groups: one row per comparison and model.

    Args:
        whole: The values on all rows.
        divided: The values of the groups of one grouping, of the same metric at the same threshold.
        aligned: The samples.
        min_group_size: Groups with fewer rows are left out.

    Returns:
        Columns `key`, `model`, `threshold`, `threshold_rule`, `utility`, `gap`, `n_groups`, `not_beaten` and
        `beaten_by`.
    """
    utility = whole.of_models("value")[:, 0]
    values = divided.of_models("value")
    usable = ~np.isnan(values) & (divided.of_models("n") >= max(min_group_size, 1))
    count = usable.sum(axis=1)
    low, high = np.where(usable, values, np.inf).min(axis=1), np.where(usable, values, -np.inf).max(axis=1)
    gap = np.full(len(utility), np.nan)
    np.subtract(high, low, out=gap, where=count > 1)
    higher = whole.metric.direction != "lower"
    parts = []
    for key in range(aligned.keys.height):
        by = np.array(aligned.of_key(key), dtype=np.intp)
        if not len(by):
            continue
        beats = beating(utility[by] if higher else -utility[by], gap[by])
        known = ~np.isnan(utility[by]) & ~np.isnan(gap[by])
        names = [aligned.models[i] for i in by]
        at = whole.rows[whole.index[by, 0]]
        parts.append(
            pl.DataFrame(
                {
                    "key": pl.repeat(key, len(by), dtype=pl.UInt32, eager=True),
                    "model": names,
                    "threshold": at["threshold"],
                    "threshold_rule": at["threshold_rule"],
                    "utility": utility[by],
                    "gap": gap[by],
                    "n_groups": count[by],
                    "not_beaten": pl.Series(~beats.any(axis=0)).set(pl.Series(~known), None),
                    "beaten_by": pl.Series([", ".join(names[i] for i in np.flatnonzero(column)) for column in beats.T]),
                }
            ).with_columns(pl.col(pl.Float64).fill_nan(None), pl.col("beaten_by").replace("", None))
        )
    return pl.concat(parts)


def beating(utility: FloatArray, gap: FloatArray) -> BoolArray:
    """Whether each model (row) has at least the utility and at most the gap of each other (column), one strictly.

    Examples:
        >>> beating(np.array([0.9, 0.8, 0.8]), np.array([0.1, 0.1, 0.05])).tolist()
        [[False, True, False], [False, False, False], [False, True, False]]
    """
    better, fairer = utility[:, None] > utility, gap[:, None] < gap
    no_worse, no_less_fair = utility[:, None] >= utility, gap[:, None] <= gap
    return np.asarray((better & no_less_fair) | (fairer & no_worse))
