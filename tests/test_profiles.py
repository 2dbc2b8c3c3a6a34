"""Profiles: every row finds its own by-key and groups again, however few or many there are."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

from fmfair.profiles import SMALL, find_profiles


@pytest.mark.parametrize("levels", [{}, {"g0": 3}, {"g0": 2, "g1": 5}, {"g0": SMALL, "g1": 2**30, "g2": 2**33}])
@pytest.mark.parametrize("n_by", [1, 4])
def test_each_row_has_the_profile_of_its_codes(levels: dict[str, int], n_by: int) -> None:
    r = random.Random(1)
    rows = [[r.randrange(n_by), *(r.choice([None, r.randrange(n), n - 1]) for n in levels.values())] for _ in range(60)]
    schema = {"by": pl.UInt32, **dict.fromkeys(levels, pl.UInt64)}
    codes = pl.DataFrame(rows, schema=schema, orient="row")
    profiles = find_profiles(codes, n_by, levels)
    assert profiles.table[profiles.of_row].equals(codes)
    assert profiles.table.is_unique().all()
    assert profiles.table.height == codes.n_unique()
    assert profiles.table.equals(profiles.table.sort(codes.columns, nulls_last=True))


def test_values_of_profiles_are_looked_up_and_rows_left_out() -> None:
    profiles = find_profiles(
        pl.DataFrame({"by": [0, 0, 0], "g0": [1, None, 1]}, schema_overrides={"by": pl.UInt32, "g0": pl.UInt32}),
        1,
        {"g0": 2},
    )
    assert profiles.lookup(np.array([10, 20])).tolist() == [10, 20, 10]
    some = profiles.of(pl.Series([False, True, True]))
    assert some.table[some.of_row]["g0"].to_list() == [None, 1]
