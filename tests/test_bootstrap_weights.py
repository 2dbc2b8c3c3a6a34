"""Weights of the bootstrap: what they depend on, and how they are spread."""

from __future__ import annotations

import datetime
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmfair.bootstrap.weights import DRAWS, LANES, replicate_weights
from fmfair.hashing import content_hashes, id_hashes, mixed

IDS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50, unique=True)


def test_counts_are_poisson_but_for_rounding_with_mean_and_variance_exactly_one() -> None:
    k = np.arange(len(DRAWS))

    assert sum(DRAWS) == 65536
    assert (k * DRAWS).sum() == 65536
    assert (k**2 * DRAWS).sum() == 2 * 65536
    for count, draws in enumerate(DRAWS):
        assert draws == pytest.approx(65536 * math.exp(-1) / math.factorial(count), abs=3)


def test_the_finaliser_is_that_of_splitmix64() -> None:
    # The first numbers of the generator with seed 0, as its authors publish them.
    seeds = np.array([0, 0x9E3779B97F4A7C15, 2 * 0x9E3779B97F4A7C15 % 2**64], dtype=np.uint64)

    assert [hex(v) for v in mixed(seeds).tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_ids_and_weights_are_the_same_in_every_process_and_version() -> None:
    assert id_hashes(pl.Series([0, -1, 12345])).to_list() == [
        16294208416658607535,
        16490336266968443936,
        2454886589211414944,
    ]
    assert id_hashes(pl.Series(["a", "é"])).to_list() == [3405396810240292928, 3394012004367669963]
    units = id_hashes(pl.Series(range(8))).to_numpy()
    assert replicate_weights(units, seed=1, first=0, replicates=4).tolist() == [
        [1, 2, 0, 0, 1, 0, 1, 2],
        [1, 1, 0, 1, 0, 3, 1, 0],
        [0, 1, 2, 1, 0, 1, 0, 0],
        [0, 2, 0, 1, 1, 1, 0, 1],
    ]


@given(ids=IDS, seed=st.integers(0, 2**64 - 1), first=st.integers(0, 20))
def test_a_weight_depends_on_the_seed_the_replicate_and_the_id_alone(ids: list[int], seed: int, first: int) -> None:
    units = id_hashes(pl.Series(ids, dtype=pl.Int64)).to_numpy()
    whole = replicate_weights(units, seed, 0, 30 * LANES)

    some = units[::-2].copy()
    part = replicate_weights(some, seed, first * LANES, 2 * LANES)

    assert (part == whole[first * LANES : (first + 2) * LANES, ::-2]).all()


def test_units_replicates_and_seeds_are_independent() -> None:
    units = id_hashes(pl.Series(range(40_000))).to_numpy()
    drawn = np.concatenate([replicate_weights(units, seed, 0, 16) for seed in (0, 1)]).astype(np.float64)

    assert drawn.mean(axis=1) == pytest.approx(1, abs=5 / 200)
    assert drawn.var(axis=1) == pytest.approx(1, abs=5 * math.sqrt(3) / 200)
    between = np.asarray(np.corrcoef(drawn))[np.triu_indices(len(drawn), 1)]
    assert np.abs(between).max() < 5 / 200
    neighbours = [np.corrcoef(row[1:], row[:-1])[0, 1] for row in drawn]
    assert np.abs(neighbours).max() < 5 / 200


@pytest.mark.parametrize(
    "ids",
    [
        pl.Series([3, None, 3, 4]),
        pl.Series([3, None, 3, 4], dtype=pl.UInt8),
        pl.Series([3.0, None, 3.0, 4.0]),
        pl.Series([3.5, None, 3.5, 4.0]),
        pl.Series(["a", None, "a", "b"]),
        pl.Series(["a", None, "a", "b"], dtype=pl.Categorical),
        pl.Series([b"a", None, b"a", b"\xff"]),
        pl.Series([True, None, True, False]),
        pl.Series([datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]),
        pl.Series(["2020-01-01", None, "2020-01-01", "2021-01-01"]).str.to_date().cast(pl.Datetime),
    ],
    ids=lambda s: str(s.dtype),
)
def test_any_type_can_be_an_id(ids: pl.Series) -> None:
    a, missing, again, b = id_hashes(ids).to_list()

    assert a == again != b
    assert missing is None


def test_a_number_is_the_same_id_in_every_numeric_type() -> None:
    kinds = (pl.Int8, pl.Int64, pl.UInt16, pl.UInt64, pl.Float32, pl.Float64)

    assert len({id_hashes(pl.Series([7], dtype=kind))[0] for kind in kinds}) == 1


@given(order=st.permutations(range(8)))
def test_rows_without_an_id_are_told_apart_by_what_they_hold(order: list[int]) -> None:
    frame = pl.DataFrame(
        {
            "by": [0, 0, 0, 0, 1, 1, 1, 1],
            "g0": [0, 0, 0, None, 0, 0, 0, None],
            "y": [1, 1, 0, 0, 1, 1, 0, 0],
            "score": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
        }
    )

    first = frame.with_columns(h=pl.Series(content_hashes(frame)))
    shuffled = frame[order]
    second = shuffled.with_columns(h=pl.Series(content_hashes(shuffled)))

    assert first.sort(first.columns).equals(second.sort(first.columns))
    assert first["h"].n_unique() == 4  # rows alike of one by-key are two, those of two by-keys the same
