"""Ranks: the order of scores from packed keys is the order of the scores themselves."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from fmfair.ranks import Floats, add_ranks, rising

RANDOM = np.random.default_rng(3)
TINY = np.finfo(float).tiny


@pytest.mark.parametrize(
    "values",
    [
        np.array([]),
        np.array([0.5]),
        np.array([0.0, -0.0, 0.0]),
        np.array([-1.0, 3.0, -2.5, 0.0, 7.0, -1.0]),
        np.array([1e308, -1e308, 5e-324, -5e-324, 0.0, TINY]),
        RANDOM.random(5000),
        RANDOM.normal(size=5000).astype(np.float32).astype(np.float64),
        RANDOM.random(5000).round(2),
        # Next to one another in the last bits, far from others in the first: the keys cannot hold the difference.
        np.concatenate([1.0 + RANDOM.integers(0, 50, 3000) * 2.0**-52, [-1e300, 1e300]]),
        np.concatenate([RANDOM.permutation(np.nextafter(0.1, [0.0, 1.0] * 900)), -RANDOM.random(900) * 1e-300]),
    ],
)
def test_rows_in_rising_order_of_their_values(values: Floats) -> None:
    rows, ordered = rising(values)
    assert sorted(rows.tolist()) == list(range(len(values)))
    assert ordered.tolist() == values[rows].tolist() == sorted(values.tolist())


def test_equal_scores_have_one_rank_and_the_label_is_the_last_bit() -> None:
    score = [0.5, 0.1, 0.5, 0.9]
    frame, ranks, cutting = add_ranks(pl.DataFrame({"score": score, "prob": score, "y": [1, 0, 0, 1]}))
    assert ranks is cutting
    assert frame[ranks.column].to_list() == [3, 0, 2, 5]
    assert ranks.distinct.to_list() == [0.1, 0.5, 0.9]
