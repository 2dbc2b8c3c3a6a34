"""Wilson's interval: published values, the equation that its limits solve, and rows that come in clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistics_data import PATIENT, S1, Y, clustered_rate, rows_of

from fmfair.statistics.proportions import effective_size, wilson, wilson_clustered
from fmfair.statistics.quantiles import normal_critical

NAN, Z = math.nan, 1.959963984540054
SIZES = st.one_of(st.integers(1, 40).map(float), st.floats(0.5, 1e9))


@pytest.mark.parametrize(
    ("x", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_newcombe_printed_it(x: int, n: int, low: float, high: float) -> None:
    found = wilson(x, n, quantile=Z)

    assert (round(float(found.low), 4), round(float(found.high), 4)) == (low, high)


def test_wilson_of_three_groups() -> None:
    low, high = wilson([4, 2, 5], [5, 4, 6], quantile=normal_critical(0.95))

    np.testing.assert_allclose(low, [0.375534629763, 0.150038989152, 0.436497177814], atol=1e-11)
    np.testing.assert_allclose(high, [0.963775891368, 0.849961010848, 0.969946630252], atol=1e-11)


@pytest.mark.parametrize(("x", "n"), [(0, 9), (1, 9), (7, 10), (50, 100), (99, 100), (100, 100), (123456, 10**6)])
def test_wilson_is_that_of_scipy(x: int, n: int) -> None:
    expected = stats.binomtest(x, n).proportion_ci(method="wilson")

    np.testing.assert_allclose(wilson(x, n, quantile=Z), (expected.low, expected.high), atol=1e-12)


def test_the_ends_are_exact() -> None:
    sizes = [1.0, 20.0, 29.97994652, 1e9, 1e-300, 1e300]
    none, every = wilson(0.0, sizes, quantile=Z), wilson(sizes, sizes, quantile=Z)

    assert none.low.tolist() == [0.0] * 6
    assert every.high.tolist() == [1.0] * 6
    assert none.high[1] == pytest.approx(0.161125158053, abs=1e-12)


@given(SIZES, st.floats(0, 1), st.floats(0.01, 40))
def test_the_limits_solve_the_score_equation(n: float, share: float, z: float) -> None:
    low, high = wilson(share * n, n, quantile=z)
    p = share * n / n

    assert 0 <= low <= p <= high <= 1
    assert high > low
    for limit in (float(low), float(high)):
        assert (p - limit) ** 2 == pytest.approx(z * z * limit * (1 - limit) / n, rel=1e-6, abs=1e-14)


@given(st.integers(1, 30), st.data())
def test_more_successes_and_more_rows(n: int, data: st.DataObject) -> None:
    x = data.draw(st.integers(0, n - 1))
    fewer, more, larger = wilson(x, n, quantile=Z), wilson(x + 1, n, quantile=Z), wilson(7 * x, 7 * n, quantile=Z)

    assert fewer.low < more.low
    assert fewer.high < more.high
    assert larger.high - larger.low < fewer.high - fewer.low


def test_what_is_no_proportion_has_no_interval() -> None:
    low, high = wilson([0, 1, -1, 3, NAN, 1, 1], [0, NAN, 2, 2, 2, math.inf, 2], quantile=[Z] * 6 + [NAN])

    assert np.isnan(low).all()
    assert np.isnan(high).all()
    assert wilson([], [], quantile=Z).low.shape == (0,)


def test_no_confidence_and_all_confidence() -> None:
    np.testing.assert_equal(wilson([0, 1, 2], 2, quantile=0.0), ([0, 0.5, 1], [0, 0.5, 1]))
    np.testing.assert_allclose(wilson([0, 1, 2], 2, quantile=math.inf), ([0, 0, 0], [1, 1, 1]), atol=1e-15)


@pytest.mark.parametrize(
    ("group", "variance", "size", "low", "high"),
    [
        ("ABC", 0.00596695156695, 29.9799465241, 0.571409282527, 0.890080616964),
        ("A", 0.016, 10.0, 0.374955481225, 0.963862038655),
        ("C", 0.0138666666667, 10.0, 0.32765003497, 0.970442700843),
    ],
)
def test_accuracy_of_images_of_patients(group: str, variance: float, size: float, low: float, high: float) -> None:
    rows = rows_of(group)
    rate = clustered_rate([int((S1[i] >= 0.5) == Y[i]) for i in rows], [PATIENT[i] for i in rows])

    n_eff = effective_size(rate.p, rate.variance, rate.n, rate.sum_of_squares)
    found = wilson_clustered(rate.p, n_eff, rate.units)

    assert rate.variance == pytest.approx(variance, rel=1e-11)
    assert n_eff == pytest.approx(size, rel=1e-11)
    np.testing.assert_allclose(found, [low, high], atol=1e-11)


def test_a_rate_without_variance_counts_clusters_as_copies() -> None:
    sizes = effective_size([0.0, 1.0, 0.5, 0.3], [0.0, 0.0, 0.0, 1e-32], [10, 10, 6, 10], [26, 10, 12, 50])

    np.testing.assert_allclose(sizes, [100 / 26, 10.0, 3.0, 2.0])


def test_weights_make_the_rows_fewer() -> None:
    # 4 rows, each its own cluster, weights 1, 1, 1, 9
    assert effective_size(1.0, 0.0, 4, 84.0, weight=12.0) == pytest.approx(144 / 84)
    assert effective_size(1.0, 0.0, 4, 8400.0, weight=120.0) == pytest.approx(144 / 84)


@given(st.floats(0, 1), st.floats(0, 0.25), st.integers(1, 10**9), st.data())
def test_an_effective_size_is_at_most_the_rows(p: float, variance: float, n: int, data: st.DataObject) -> None:
    squares = data.draw(st.floats(n, float(n) * n))
    size = effective_size(p, variance, n, squares)
    low, high = wilson_clustered(p, size, 5)

    if np.isnan(size):  # a rate of 0 or 1 that varies
        assert p * (1 - p) == 0 < variance
    else:
        assert 0 < size <= n
        assert 0 <= low <= p <= high <= 1
        assert high > low


def test_one_patient_has_no_interval() -> None:
    assert np.isnan(effective_size([0.5, 0.5, 0.5, NAN], [NAN, 0.1, -0.1, 0.1], [4, 0, 4, 4], [16, 0, 16, 16])).all()
    assert np.isnan(effective_size(0.5, [math.inf, 0.0], [4, math.inf], [16, math.inf])).all()
    assert np.isnan(wilson_clustered([0.0, 0.5], math.inf, 5).low).all()
    low, _ = wilson_clustered(0.8, 10, [0, 1, NAN, 2])
    np.testing.assert_equal(np.isnan(low), [True, True, True, False])
