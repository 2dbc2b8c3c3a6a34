"""Intervals from two intervals, against published ones and the definitions, and their p values."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from statistics_data import PATIENT, S1, Y, clustered_rate, ranking, rows_of

from fmfair.statistics.auc import auc_default, auc_logit_t
from fmfair.statistics.interval import FloatArray
from fmfair.statistics.mover import Limits, mover_difference, mover_ratio, mover_sum, p_by_inversion
from fmfair.statistics.proportions import wilson, wilson_clustered
from fmfair.statistics.quantiles import normal_critical

Z = 1.959963984540054
close = pytest.approx


def _newcombe10(x1: int, n1: int, x2: int, n2: int, correlation: float = 0.0) -> tuple[float, float]:
    first, second = wilson(x1, n1, quantile=Z), wilson(x2, n2, quantile=Z)
    low, high = mover_difference(x1 / n1, *first, x2 / n2, *second, correlation)
    return float(low), float(high)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [  # Newcombe 1998b, method 10
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((6, 7, 2, 7), 0.0582, 0.8062),
        ((5, 56, 0, 29), -0.0381, 0.1926),
        ((0, 10, 0, 20), -0.1611, 0.2775),
    ],
)
def test_published_differences_of_two_rates(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    assert _newcombe10(*counts) == close((low, high), abs=5.1e-5)


def test_difference_of_two_rates() -> None:
    assert _newcombe10(5, 6, 2, 4) == close((-0.195771234254, 0.709013918417), abs=1e-9)


def test_paired_rates_with_the_phi_coefficient() -> None:
    phi = (22 * 3 - 1 * 4) / math.sqrt(23 * 7 * 26 * 4)
    assert phi == close(0.479139617495, abs=1e-9)
    assert _newcombe10(23, 30, 26, 30, phi) == close((-0.254491623847, 0.0482061125483), abs=1e-9)


def test_clustered_rates() -> None:
    limits: list[ArrayLike] = []
    for group in "AC":
        rows = rows_of(group)
        rate = clustered_rate([int((S1[i] >= 0.5) == Y[i]) for i in rows], [PATIENT[i] for i in rows])
        limits += [rate.p, *wilson_clustered(rate.p, rate.n, rate.units)]
    low, high = mover_difference(*limits)
    assert (low, high) == close((-0.457944928143, 0.499965255968), abs=1e-9)


@pytest.mark.parametrize(
    ("pair", "low", "high"),
    [
        ("AB", -0.490900577837, 0.574982330268),
        ("AC", -0.293136550387, 0.836985139946),
        ("BC", -0.350704209916, 0.816451065318),
    ],
)
def test_difference_of_two_aucs(pair: str, low: float, high: float) -> None:
    given_: list[ArrayLike] = []
    for group in pair:
        rows = rows_of(group)
        found = ranking([S1[i] for i in rows], [Y[i] for i in rows])
        limits = auc_logit_t(found.auc, found.pos_variance, found.neg_variance, len(found.pos), len(found.neg))
        given_ += [found.auc, *limits]
    assert mover_difference(*given_) == close((low, high), abs=1e-9)


def test_ratio() -> None:
    low, high = mover_ratio(5 / 6, *wilson(5, 6, quantile=Z), 2 / 4, *wilson(2, 4, quantile=Z))
    assert (low, high) == close((0.724738416650, 5.585888719498), abs=1e-9)


def test_ratio_is_unbounded_where_the_divisor_may_be_0() -> None:
    low, high = mover_ratio(0.5, 0.4, 0.6, 0.1, [0.0, 0.05], 0.3)
    assert not np.isnan(low).any()
    assert np.isnan(high[0])
    assert high[1] > 5
    assert np.isnan(mover_ratio(0.5, 0.4, 0.6, 0.0, 0.0, 0.1)).all()  # no ratio
    assert np.isnan(mover_ratio(0.5, math.nan, 0.6, 0.5, 0.4, 0.6)).all()


def test_ratio_where_a_root_is_of_a_negative_number() -> None:
    low, high = mover_ratio(0.1, -1.0, 0.2, 0.5, 0.4, 1.2)
    assert np.isnan(low)
    assert high > 0.2
    wide = mover_ratio(0.5, 0.45, 0.55, 0.5, 0.4, 1.2)  # a limit above twice the value alone does no harm
    assert wide.low < 1 < wide.high


def test_sum_is_the_difference_of_the_opposite() -> None:
    low, high = mover_sum(0.8, 0.7, 0.95, 0.6, 0.3, 0.7)
    assert low == close(1.4 - math.hypot(0.1, 0.3))
    assert high == close(1.4 + math.hypot(0.15, 0.1))
    correlated = mover_sum(0.8, 0.7, 0.95, 0.6, 0.3, 0.7, 0.5)
    assert correlated.low == close(1.4 - math.sqrt(0.01 + 0.09 + 2 * 0.5 * 0.03))
    assert correlated.high > high


unit = st.floats(0, 1)


@given(st.tuples(unit, unit, unit), st.tuples(unit, unit, unit), st.floats(-1, 1))
def test_the_difference_is_inside_and_the_other_order_is_its_mirror(
    first: tuple[float, ...], second: tuple[float, ...], r: float
) -> None:
    (l1, t1, u1), (l2, t2, u2) = sorted(first), sorted(second)
    low, high = mover_difference(t1, l1, u1, t2, l2, u2, r)
    assert low <= t1 - t2 <= high
    mirrored = mover_difference(t2, l2, u2, t1, l1, u1, r)
    assert (-float(mirrored.high), -float(mirrored.low)) == close((float(low), float(high)), abs=1e-12)
    assert low >= -1 - 1e-12  # limits in [0, 1] cannot leave [-1, 1]
    assert high <= 1 + 1e-12


def test_undefined_and_empty() -> None:
    low, high = mover_difference([0.5, math.nan], 0.4, [math.nan, 0.6], 0.5, 0.4, 0.6)
    assert np.isnan(low).all()
    assert np.isnan(high).all()
    empty: list[float] = []
    assert mover_difference(empty, empty, empty, empty, empty, empty).low.shape == (0,)
    assert mover_ratio(empty, empty, empty, empty, empty, empty).high.shape == (0,)
    assert p_by_inversion(lambda _: (empty, empty, empty, empty), empty, empty).shape == (0,)


def _wilson_limits(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, level: FloatArray) -> Limits:
    q = normal_critical(level)
    return *wilson(x1, n1, quantile=q), *wilson(x2, n2, quantile=q)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 40)), min_size=1, max_size=12))
def test_at_the_level_of_p_a_limit_touches_0(counts: list[tuple[int, int]]) -> None:
    x1, x2 = np.array(counts).T
    t1, t2 = x1 / 60, x2 / 40
    p = p_by_inversion(lambda level: _wilson_limits(x1, 60, x2, 40, level), t1, t2)
    assert ((p > 0) & (p <= 1)).all()
    low, high = mover_difference(
        t1, *wilson(x1, 60, quantile=normal_critical(1 - p)), t2, *wilson(x2, 40, quantile=normal_critical(1 - p))
    )
    touching = np.where(t1 > t2, low, high)
    assert (np.abs(touching[p > 1e-9]) < 1e-6).all()  # below, the level has no digits left to say it with
    assert (p[t1 == t2] == 1).all()
    rejected = np.abs(t1 - t2) > 0
    low95, high95 = mover_difference(t1, *wilson(x1, 60, quantile=Z), t2, *wilson(x2, 40, quantile=Z))
    assert (((low95 > 0) | (high95 < 0)) == (rejected & (p < 0.05))).all()


def test_p_of_normal_limits_is_that_of_the_z_test() -> None:
    se1, se2 = 0.03, np.array([0.04, 1e-9, 0.04, 0.04])
    t1, t2 = np.array([0.1, 0.1, -0.2, 5.0]), 0.0

    def limits(level: FloatArray) -> Limits:
        q = normal_critical(level)
        return t1 - q * se1, t1 + q * se1, -q * se2, q * se2

    p = p_by_inversion(limits, t1, t2)
    expected = [math.erfc(abs(t) / math.hypot(se1, se) / math.sqrt(2)) for t, se in zip(t1, se2, strict=True)]
    assert p[:3] == close(expected[:3], rel=1e-7)
    assert p[3] == close(6.4e-14, rel=0.01)  # the smallest that is searched for


def test_correlation_makes_p_smaller() -> None:
    def limits(level: FloatArray) -> Limits:
        return _wilson_limits(23, 30, 26, 30, level)

    paired, unpaired = (float(p_by_inversion(limits, 23 / 30, 26 / 30, r)) for r in (0.479, 0.0))
    assert paired < unpaired
    assert math.isnan(float(p_by_inversion(lambda _: (math.nan, 1, 0, 1), 0.5, 0.2)))


AUCS = [
    (0.95, 0.0004, 0.0002, 40, 300),
    (1.0, 0.0, 0.0, 12, 80),
    (0.8, 0.001, 0.001, 60, 60),
    (0.99, 1e-5, 1e-5, 60, 90),
]


@pytest.mark.parametrize(("first", "second"), list(combinations(AUCS, 2)))
def test_p_of_aucs_agrees_with_their_interval(first: tuple[float, ...], second: tuple[float, ...]) -> None:
    def limits(level: FloatArray) -> Limits:
        one, two = (auc_default(a, pos, neg, m, n, level) for a, pos, neg, m, n in (first, second))
        return one.low, one.high, two.low, two.high

    p = float(p_by_inversion(limits, first[0], second[0]))
    l1, u1, l2, u2 = limits(np.array(1 - p))
    low, high = mover_difference(first[0], l1, u1, second[0], l2, u2)
    assert (low if first[0] > second[0] else high) == close(0, abs=1e-7)
