"""Student's t interval of means and of the difference of two: SciPy's, the Brier score of ten images, bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistics_data import S1, Y, rows_of

from fmfair.statistics.means import mean_interval, welch_df

NAN = math.nan
LOSSES = [(S1[i] - Y[i]) ** 2 for i in rows_of("A")]


def _mean_and_variance(values: list[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values)


def test_the_brier_score_of_a_group() -> None:
    mean, variance = _mean_and_variance(LOSSES)

    assert mean == pytest.approx(0.1165, abs=1e-15)
    found = mean_interval(mean, variance, 10, low=0.0, high=1.0)
    np.testing.assert_allclose(found, [0.00603968959567, 0.226960310404], atol=1e-11)


def test_the_interval_is_that_of_scipy() -> None:
    mean, variance = _mean_and_variance(LOSSES)
    expected = stats.ttest_1samp(LOSSES, 0).confidence_interval(0.9)

    np.testing.assert_allclose(mean_interval(mean, variance, 10, 0.9), (expected.low, expected.high), atol=1e-12)


def test_welch_is_that_of_scipy() -> None:
    others = [(S1[i] - Y[i]) ** 2 for i in rows_of("BC")]
    (_, variance), (_, other_variance) = _mean_and_variance(LOSSES), _mean_and_variance(others)
    test = stats.ttest_ind(LOSSES, others, equal_var=False)

    assert welch_df(variance, 10, other_variance, 20) == pytest.approx(test.df, rel=1e-12)


def test_degrees_of_freedom_of_auc_variances() -> None:
    variances = np.array([0.0052, 0.00925925925925926, 0.0590277777777778])

    found = welch_df(variances[[0, 0, 1]], 10, variances[[1, 2, 2]], 10)

    np.testing.assert_allclose(found, [16.6849945312, 10.5734829872, 11.7557223265], rtol=1e-11)


def test_a_bound_cuts() -> None:
    np.testing.assert_allclose(mean_interval([0.01, 0.99], 0.01, 5, low=0.0, high=1.0)[0][0], 0.0)
    np.testing.assert_allclose(mean_interval([0.01, 0.99], 0.01, 5, low=0.0, high=1.0)[1][1], 1.0)
    assert mean_interval(0.01, 0.01, 5, high=1.0).low < 0


def test_what_is_not_known_has_no_interval() -> None:
    low, high = mean_interval(
        [1.0, 1.0, 1.0, NAN, 1.0, 0.9, 1e-30], [0.1, NAN, 0.0, 0.1, -0.1, 1e-33, 0.0], [1, 5, 5, 5, 5, 5, 5]
    )

    assert np.isnan(low).all()
    assert np.isnan(high).all()
    np.testing.assert_equal(
        welch_df([0.0, NAN, 0.1, 0.1], [5, 5, 1, 5], [0.0, 0.1, 0.1, 0.1], [5, 5, 5, NAN]), [NAN] * 4
    )
    assert np.isnan(mean_interval([0.5, math.inf, 0.5], [math.inf, 0.1, 0.1], 5, [0.0, 0.5, 1.0]).low).all()
    assert mean_interval([], [], []).low.shape == (0,)


def test_one_group_without_spread_leaves_the_degrees_of_the_other() -> None:
    assert welch_df(0.0, 100, 0.3, 5) == 4
    assert welch_df(1e-300, 5, 1e-300, 5) == pytest.approx(8)


@given(st.floats(0, 1), st.floats(1e-20, 0.3), st.integers(2, 10**9), st.sampled_from([0.5, 0.95, 0.9999]))
def test_limits_lie_around_the_mean(mean: float, variance: float, units: int, level: float) -> None:
    low, high = mean_interval(mean, variance, units, level, low=0.0, high=1.0)

    assert 0 <= low <= mean <= high <= 1
    assert low < high


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e100), st.integers(2, 10**9), st.integers(2, 10**9))
def test_degrees_of_freedom_lie_between_the_smaller_and_the_sum(a: float, b: float, n: int, m: int) -> None:
    assert (min(n, m) - 1) * (1 - 1e-12) <= welch_df(a, n, b, m) <= (n + m - 2) * (1 + 1e-12)
