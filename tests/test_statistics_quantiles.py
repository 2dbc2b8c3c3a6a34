"""Quantiles and tails: those of SciPy, exact where SciPy loses digits, NaN without a warning where undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fmfair.statistics.quantiles import (
    chi2_tail,
    f_tail,
    normal_cdf,
    normal_critical,
    normal_quantile,
    studentized_range_quantile,
    t_critical,
    t_quantile,
    t_two_sided,
)

NAN, INF = math.nan, math.inf
PROBABILITIES = np.array([1e-300, 1e-15, 1e-6, 0.025, 0.3, 0.5, 0.8, 0.975, 1 - 1e-9])
FREEDOM = np.array([0.3, 1.0, 2.0, 5.148, 26.13, 1e3, 1e6, 1e12])[:, None]


def test_the_normal_distribution_is_that_of_scipy() -> None:
    np.testing.assert_allclose(normal_quantile(PROBABILITIES), stats.norm.ppf(PROBABILITIES), rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(normal_cdf([-30, -1.96, 0, 3]), stats.norm.cdf([-30, -1.96, 0, 3]), rtol=1e-13)
    np.testing.assert_equal(normal_quantile([0, 1, -0.1, 1.1, NAN]), [-INF, INF, NAN, NAN, NAN])
    assert normal_critical(0.95) == pytest.approx(1.959963984540054, rel=1e-14)
    np.testing.assert_equal(normal_critical([0, 1, -0.5, 2, NAN]), [0, INF, NAN, NAN, NAN])


def test_t_quantiles_are_those_of_scipy() -> None:
    found, expected = t_quantile(PROBABILITIES[1:], FREEDOM), stats.t.ppf(PROBABILITIES[1:], FREEDOM)

    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(t_critical(0.95, FREEDOM), stats.t.ppf(0.975, FREEDOM), rtol=1e-12)


def test_t_quantiles_at_the_ends_and_outside() -> None:
    np.testing.assert_equal(t_quantile([0, 1, 0.5, -0.1, NAN], 3), [-INF, INF, 0, NAN, NAN])
    np.testing.assert_equal(t_quantile(0.9, [0, -1, NAN]), [NAN, NAN, NAN])
    assert t_quantile(0.9, INF) == normal_quantile(0.9)


@pytest.mark.parametrize("t", [0.01, 0.194, 2.0, 30.0, 1e8])
def test_a_t_value_and_its_p(t: float) -> None:
    with np.errstate(all="ignore"):
        expected = 2 * stats.t.sf(t, FREEDOM)
    exact = np.isfinite(expected) & (expected > 1e-300)  # far out SciPy has no number for many degrees of freedom

    np.testing.assert_allclose(t_two_sided(t, FREEDOM)[exact], expected[exact], rtol=1e-10)
    np.testing.assert_equal(t_two_sided(-t, FREEDOM), t_two_sided(t, FREEDOM))


def test_a_t_value_close_to_0_takes_its_density_away() -> None:
    np.testing.assert_allclose(t_two_sided(1e-6, FREEDOM), 1 - 2e-6 * stats.t.pdf(0, FREEDOM), rtol=0, atol=1e-11)


def test_p_values_of_t_at_the_ends_and_outside() -> None:
    np.testing.assert_equal(t_two_sided([0, INF, NAN, 1, 1], [2, 0.3, 2, 0, NAN]), [1, 0, NAN, NAN, NAN])
    assert t_two_sided(1.96, INF) == pytest.approx(2 * stats.norm.sf(1.96), rel=1e-14)


def test_f_and_chi_square_tails_are_those_of_scipy() -> None:
    f, df2 = np.array([0.0, 0.1, 1.3, 40.0]), np.array([0.5, 16.1, 1e6])[:, None]
    np.testing.assert_allclose(f_tail(f, 2, df2), stats.f.sf(f, 2, df2), rtol=1e-10)
    np.testing.assert_allclose(f_tail(f, 3, INF), stats.chi2.sf(3 * f, 3), rtol=1e-12)
    np.testing.assert_allclose(chi2_tail([0, 1.545, 900], [1, 2, 3]), stats.chi2.sf([0, 1.545, 900], [1, 2, 3]))


def test_f_and_chi_square_tails_outside() -> None:
    np.testing.assert_equal(f_tail([INF, -1, NAN, 1, 1, 1], [2, 2, 2, 0, INF, 2], [3, 3, 3, 3, 3, 0]), [0] + [NAN] * 5)
    np.testing.assert_equal(chi2_tail([INF, -1, NAN, 1, 1], [2, 2, 2, 0, INF]), [0] + [NAN] * 4)


def test_the_studentised_range_for_up_to_20_groups_is_the_published_one() -> None:
    found = studentized_range_quantile(0.95, [2, 3, 4, 5, 6, 8, 10, 20]) / math.sqrt(2)

    np.testing.assert_allclose(found, [1.95996, 2.3437, 2.5690, 2.7278, 2.8497, 3.0309, 3.1637, 3.5438], atol=5e-5)


@pytest.mark.parametrize("k", [2, 3, 20, 500])
def test_the_studentised_range_is_that_of_scipy(k: int) -> None:
    p = np.array([1e-6, 0.5, 0.95, 0.999])

    np.testing.assert_allclose(studentized_range_quantile(p, k), stats.studentized_range.ppf(p, k, INF), rtol=1e-9)


def test_the_range_of_two_is_a_normal_difference() -> None:
    p = np.array([1e-6, 0.1, 0.95, 0.9999])

    np.testing.assert_allclose(studentized_range_quantile(p, 2), math.sqrt(2) * normal_critical(p), rtol=1e-9)


def test_the_range_of_three_is_what_its_distribution_by_another_rule_says() -> None:
    q, nodes, weights = float(studentized_range_quantile(0.95, 3)), *np.polynomial.hermite_e.hermegauss(120)
    # P(range <= q) = 3 E[(Phi(X + q) - Phi(X))^2], X the smallest, by Gauss-Hermite

    reached = 3 * weights @ (stats.norm.cdf(nodes + q) - stats.norm.cdf(nodes)) ** 2 / math.sqrt(2 * math.pi)

    assert reached == pytest.approx(0.95, abs=1e-9)


def test_the_studentised_range_keeps_shapes_and_has_nothing_for_one_group() -> None:
    found = studentized_range_quantile(np.array([[0.95], [0.5]]), [2, 1, 3])

    assert found.shape == (2, 3)
    np.testing.assert_equal(np.isnan(found), [[False, True, False]] * 2)
    np.testing.assert_equal(
        studentized_range_quantile([0, 1, -0.1, 1.5, NAN, 0.5], [3, 3, 3, 3, 3, NAN])[2:], [NAN] * 4
    )
    np.testing.assert_equal(studentized_range_quantile([0, 1], 3), [0, INF])
    assert studentized_range_quantile([], []).shape == (0,)


@given(st.floats(1e-9, 1 - 1e-9), st.integers(2, 300))
def test_more_groups_range_further(p: float, k: int) -> None:
    fewer, more = studentized_range_quantile(p, [k, k + 1])

    assert 0 < fewer < more
