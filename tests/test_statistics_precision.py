"""Intervals of average precision: values from R, the case of a perfect ranking, random values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistics_data import S1, Y, average_precision, precision, rows_of

from fmfair.statistics.precision import (
    average_precision_binomial,
    average_precision_interval,
)
from fmfair.statistics.proportions import wilson
from fmfair.statistics.quantiles import normal_critical

NAN = math.nan
FOUND = [precision([S1[i] for i in rows_of(g)], [Y[i] for i in rows_of(g)]) for g in ("ABC", "C")]
AP, V, M = np.array(FOUND).T


def test_average_precision_and_its_variance() -> None:
    np.testing.assert_allclose(AP, [0.805763018658, 0.747222222222], atol=1e-11)
    np.testing.assert_allclose(V, [0.0120904767117, 0.0366427564396], rtol=1e-8)  # by central differences


def test_the_default_interval() -> None:
    low, high = average_precision_interval(AP, V, M)

    np.testing.assert_allclose(low, [0.478980570684, 0.179266826977], atol=1e-9)
    np.testing.assert_allclose(high, [0.949287954742, 0.975613253696], atol=1e-9)


def test_the_binomial_interval() -> None:
    low, high = average_precision_binomial(AP, M)

    np.testing.assert_allclose(low, [0.535820341557, 0.31924333236], atol=1e-11)
    np.testing.assert_allclose(high, [0.937138322262, 0.949066357556], atol=1e-11)
    assert np.isnan(average_precision_binomial([0.5, 1.0, NAN, 0.5], [0, 5, 5, NAN]).low).all()


def test_a_perfect_ranking_is_no_certainty() -> None:
    low, high = average_precision_interval(1.0, [0.0, 0.0, NAN], [30, 3, 1])

    np.testing.assert_allclose(low, wilson([30, 3, 1], [30, 3, 1], quantile=normal_critical(0.95)).low, rtol=1e-12)
    assert high.tolist() == [1, 1, 1]


def test_without_a_variance_the_upper_limit_is_1() -> None:
    np.testing.assert_allclose(average_precision_interval(0.4, 0.0, 30), (0.4, 1.0))
    low, high = average_precision_interval(0.95, 0.0, 10)
    assert float(low) == pytest.approx(10 / (10 + float(normal_critical(0.95)) ** 2))
    assert high == 1


def test_tied_scores_have_the_prevalence_and_its_spread() -> None:
    tied = precision([0.3] * 10, [1] * 5 + [0] * 5)
    low, high = average_precision_interval(tied.value, tied.variance, tied.m)

    assert (tied.value, average_precision([0.3] * 10, [1] * 5 + [0] * 5)) == (0.5, 0.5)
    assert 0 < low < 0.5 < high < 1


def test_too_few_positives_have_none() -> None:
    low, high = average_precision_interval([NAN, 0.5, 0.5, 0.5, 1.0], [NAN, NAN, 0.1, NAN, 0.0], [0, 1, 1, 5, 0])

    assert np.isnan(low).all()
    assert np.isnan(high).all()
    assert average_precision_interval([], [], []).low.shape == (0,)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 10**9), st.sampled_from([0.5, 0.95, 0.9999]))
def test_limits_lie_around_the_value(ap: float, size: float, m: int, level: float) -> None:
    low, high = average_precision_interval(ap, size * ap * (1 - ap), m, level)

    if not np.isnan(low):
        assert 0 <= low <= ap <= high <= 1
        assert low < high
    else:
        assert m == 1 or ap == 0
