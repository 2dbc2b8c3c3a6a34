"""Percentile and BCa limits: a fixed list of replicates worked out in R, NumPy's quantiles, undefined replicates."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats
from statistics_data import S1, Y, ranking

from fmfair.statistics.bootstrap_limits import BootstrapInterval, bca, bca_p, percentile, percentile_p

NAN = math.nan


def fixed_replicates() -> list[float]:
    """AUC of 200 samples drawn with replacement within each class, by Park and Miller's generator."""
    pos, neg = ([s for s, y in zip(S1, Y, strict=True) if y == label] for label in (1, 0))
    state, found = 2023, []
    for _ in range(200):
        drawn = []
        for scores in (pos, neg):
            for _ in range(15):
                state = 16807 * state % 2147483647
                drawn.append(scores[15 * state // 2147483647])
        found.append(ranking(drawn, [1] * 15 + [0] * 15).auc)
    return found


@pytest.fixture(scope="module")
def replicates() -> list[float]:
    return fixed_replicates()


def acceleration() -> float:
    of = ranking(S1, Y)
    cubes = sum(d**3 for d in of.pos) / 15**3 + sum(d**3 for d in of.neg) / 15**3
    squares = sum(d**2 for d in of.pos) / 15**2 + sum(d**2 for d in of.neg) / 15**2
    return cubes / (6 * math.sqrt(squares) ** 3)


def test_the_replicates_are_those_of_the_list(replicates: list[float]) -> None:
    first = [0.733333333333, 0.697777777778, 0.888888888889, 0.711111111111, 0.806666666667]

    np.testing.assert_allclose(replicates[:5], first, atol=1e-11)
    assert sum(replicates) / 200 == pytest.approx(0.839733333333, abs=1e-11)


def test_the_percentile_interval(replicates: list[float]) -> None:
    low, high, dropped, fell_back = percentile(replicates)

    np.testing.assert_allclose([low, high], [0.6955, 0.977888888889], atol=1e-11)
    assert dropped == 0
    assert not fell_back


def test_the_bca_interval(replicates: list[float]) -> None:
    found = bca(replicates, 0.842222222222222, acceleration())

    assert acceleration() == pytest.approx(-0.0722447403848, rel=1e-11)
    np.testing.assert_allclose([found.low, found.high], [0.675527434983, 0.966003151285], atol=1e-11)
    assert not found.fell_back


def test_ties_are_counted_to_a_tolerance(replicates: list[float]) -> None:
    exact = bca(replicates, 0.842222222222222, acceleration())

    for shift in (-1e-12, 1e-12):
        found = bca(replicates, 0.842222222222222 + shift, acceleration())
        assert (found.low, found.high) == (exact.low, exact.high)


def test_bca_is_that_of_scipy() -> None:
    values = np.random.default_rng(1).exponential(size=50)
    expected = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=999, rng=2, vectorized=True)
    influence = values - values.mean()

    found = bca(
        expected.bootstrap_distribution, values.mean(), (influence**3).sum() / (6 * (influence**2).sum() ** 1.5)
    )

    np.testing.assert_allclose([found.low, found.high], expected.confidence_interval, rtol=1e-6)


def test_undefined_replicates_are_dropped_up_to_one_in_twenty() -> None:
    table = np.tile(np.arange(100.0)[:, None], 4)
    table[:5, 1], table[:6, 2], table[:, 3] = NAN, math.inf, NAN

    for found in (percentile(table), bca(table, 50.0, 0.0)):
        assert found.dropped.tolist() == [0, 5, 6, 100]
        assert np.isnan(found.low).tolist() == np.isnan(found.high).tolist() == [False, False, True, True]
        assert not found.fell_back.any()
    np.testing.assert_allclose(percentile(table).low[:2], [np.quantile(np.arange(n, 100), 0.025) for n in (0, 5)])


def test_where_bca_gives_way_to_the_percentile_interval() -> None:
    table, plain = np.arange(100.0)[:, None], percentile(np.arange(100.0))
    estimate = [-1.0, 100.0, 50.0, 50.0, 50.0, NAN]
    found = bca(table + np.zeros(6), estimate, [0.0, 0.0, NAN, 0.7, 0.1, 0.0])

    assert found.fell_back.tolist() == [True, True, True, True, False, False]
    assert (found.low[:4] == plain.low).all()
    assert (found.high[:4] == plain.high).all()
    assert np.isnan(found.low[5])


def test_replicates_that_never_move_say_nothing() -> None:
    for found in (percentile(np.ones(200)), bca(np.ones(200), 1.0, 0.0), percentile([0.3]), percentile([])):
        assert np.isnan([found.low, found.high]).all()
    assert percentile(np.empty((0, 3))).low.shape == (3,)
    assert percentile(np.empty((50, 0))).low.shape == (0,)


def test_values_lie_beside_each_other_in_any_shape() -> None:
    table = np.random.default_rng(3).random((500, 4, 3))
    found = bca(table, 0.5, np.full((4, 3), 0.02))

    assert found.low.shape == (4, 3)
    one = bca(table[:, 2, 1], 0.5, 0.02)
    assert (found.low[2, 1], found.high[2, 1]) == (one.low, one.high)


@given(arrays.arrays(np.float64, st.tuples(st.integers(2, 60), st.just(3)), elements=st.floats(-1e6, 1e6)))
def test_quantiles_are_those_of_numpy(table: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    found = percentile(table, 0.8)
    low, high = np.quantile(table, [0.1, 0.9], axis=0)

    kept = ~np.isnan(found.low)
    assert (kept == (high - low > 1e-12)).all() or np.abs(high - low).min() < 1e-9
    np.testing.assert_allclose(found.low[kept], low[kept], rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found.high[kept], high[kept], rtol=1e-12, atol=1e-9)


@given(
    arrays.arrays(np.float64, st.integers(20, 60), elements=st.floats(0, 1)),
    st.floats(0, 1),
    st.floats(-2, 2) | st.just(NAN),
)
def test_bca_stays_among_the_replicates(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], estimate: float, a: float
) -> None:
    found = bca(values, estimate, a)

    if not np.isnan(found.low):
        assert values.min() <= found.low < found.high <= values.max()


def test_p_values_are_where_a_limit_touches_the_value() -> None:
    values = np.random.default_rng(1).gamma(20, 0.05, 4999)
    methods: tuple[tuple[Callable[[float], float], Callable[[float], BootstrapInterval]], ...] = (
        (lambda of: float(percentile_p(values, of)), lambda level: percentile(values, level)),
        (lambda of: float(bca_p(values, 1.02, 0.05, of)), lambda level: bca(values, 1.02, 0.05, level)),
    )
    for of in (0.6, 0.7, 1.2, 1.5):
        for p_value, limits in methods:
            p = p_value(of)
            wider, narrower = (limits(1 - p * times) for times in (0.9, 1.1))
            assert wider.low < of < wider.high
            assert of < narrower.low or of > narrower.high


def test_p_values_of_what_does_not_vary_or_is_undefined() -> None:
    values = np.array([[1.0, 0.0, NAN, 1.0]] * 9 + [[1.0, 0.0, 1.0, 2.0]])
    assert percentile_p(values).tolist() == pytest.approx([2 / 11, 1.0, NAN, 2 / 11], nan_ok=True)
    found = bca_p(values, [1.0, 0.0, 1.0, 1.1], [0.0, 0.0, 0.0, 5.0])
    assert found[1] == 1.0
    assert np.isnan(found[2])
    assert (found[[0, 3]] == 2 / 11).all()
