"""Intervals of a largest gap and of a worst group, against loops over pairs, published quantiles and draws."""

from __future__ import annotations

import math
from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmfair.statistics import simultaneous
from fmfair.statistics.mover import mover_difference
from fmfair.statistics.proportions import wilson
from fmfair.statistics.quantiles import normal_critical
from fmfair.statistics.simultaneous import gap_interval, sidak_level, simultaneous_level, worst_interval

NAN = math.nan
close = pytest.approx


def test_level_is_that_of_the_studentised_range() -> None:
    quantile = normal_critical(simultaneous_level([2, 3, 4, 5, 6, 8, 10, 20]))
    assert quantile.tolist() == close([1.95996, 2.3437, 2.5690, 2.7278, 2.8497, 3.0309, 3.1637, 3.5438], abs=5.1e-5)
    assert float(simultaneous_level(2, 0.9)) == close(0.9)
    assert np.isnan(simultaneous_level([0, 1])).all()


def test_sidak() -> None:
    assert sidak_level([1, 2, 10]).tolist() == close([0.95, 0.95**0.5, 0.95**0.1])
    assert 1 - float(sidak_level(4, 0.9)) == close(1 - (1 - 0.1) ** (1 / 4))
    assert np.isnan(sidak_level([0, NAN])).all()


def _limits(first: list[float], second: list[float]) -> tuple[float, float]:
    (l1, t1, u1), (l2, t2, u2) = first, second
    return t1 - t2 - math.hypot(t1 - l1, u2 - t2), t1 - t2 + math.hypot(u1 - t1, t2 - l2)


groups = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)).map(sorted), min_size=1, max_size=7)


@given(st.lists(groups, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_gap_is_that_of_a_loop_over_pairs(families: list[list[list[float]]], random: Random) -> None:
    rows = [(number, *limits) for number, family in enumerate(families) for limits in family]
    random.shuffle(rows)
    number, low, value, high = np.array(rows).T
    found = gap_interval(value, low, high, number)
    worst = worst_interval(low, high, number)
    for i, family in enumerate(families):
        pairs = [_limits(a, b) for a, b in permutations(family, 2)]
        assert worst.low[i] == min(limits[0] for limits in family)
        assert worst.high[i] == min(limits[2] for limits in family)
        if len(family) < 2:
            assert np.isnan([found.low[i], found.high[i]]).all()
            continue
        assert found.low[i] == close(max(0.0, *(low for low, _ in pairs)))
        assert found.high[i] == close(min(1.0, max(high for _, high in pairs)))
        assert found.low[i] <= max(t for _, t, _ in family) - min(t for _, t, _ in family) + 1e-12
        assert found.high[i] + 1e-12 >= max(t for _, t, _ in family) - min(t for _, t, _ in family)


def test_two_groups_have_the_interval_of_the_absolute_difference() -> None:
    for x1, x2 in ((9, 3), (3, 9), (5, 6)):
        first, second = wilson(x1, 10, quantile=1.959963984540054), wilson(x2, 10, quantile=1.959963984540054)
        low, high = mover_difference(x1 / 10, *first, x2 / 10, *second)
        lower, upper = np.array([first, second]).T
        found = gap_interval([x1 / 10, x2 / 10], lower, upper, [0, 0])
        assert float(found.low[0]) == close(max(0.0, float(low), -float(high)))
        assert float(found.high[0]) == close(max(abs(float(low)), abs(float(high))))


def test_cap_and_what_is_left_out() -> None:
    value, low, high = [0.0, 5.0, 2.0, NAN], [-1.0, 4.0, NAN, 1.0], [1.0, 6.0, 3.0, 2.0]
    root2 = math.sqrt(2)
    assert gap_interval(value, low, high, [0, 0, 0, 0], cap=math.inf)._asdict() == {
        "low": close(np.array([5 - root2])),
        "high": close(np.array([5 + root2])),
    }
    assert gap_interval(value, low, high, [0, 0, 0, 0]).high.tolist() == [1.0]
    alone = gap_interval(value, low, high, [0, 2, 2, 2], n_families=4)
    assert np.isnan(alone.low).all()
    assert np.isnan(alone.high).all()
    assert gap_interval([], [], [], []).low.shape == (0,)


def test_worst_group() -> None:
    low, high, family = [0.8, 0.5, NAN, 0.1], [0.9, 0.95, 0.2, 0.4], [0, 0, 0, 2]
    worst = worst_interval(low, high, family)
    assert worst.low.tolist() == close([0.5, NAN, 0.1], nan_ok=True)
    assert worst.high.tolist() == close([0.9, NAN, 0.4], nan_ok=True)
    losses = worst_interval(low, [0.9, math.inf, 0.2, 0.4], family, higher_is_better=False, n_families=3)
    assert losses.low.tolist() == close([0.8, NAN, 0.1], nan_ok=True)
    assert losses.high.tolist() == close([math.inf, NAN, 0.4], nan_ok=True)
    each = worst_interval(low, high, family, higher_is_better=[True, True, False])
    assert each.low.tolist() == close([0.5, NAN, 0.1], nan_ok=True)
    assert each.low[0] != losses.low[0]


@pytest.mark.parametrize("true", [(0.7, 0.7, 0.7, 0.7), (0.9, 0.7, 0.8, 0.75)])
def test_it_covers_the_true_gap(true: tuple[float, ...]) -> None:
    """Of rates of groups of unequal size, drawn again and again."""
    draws, n = 2000, np.array([400, 100, 60, 200])
    hits = np.random.default_rng(4).binomial(n, true, size=(draws, 4))
    low, high = wilson(hits, n, quantile=normal_critical(simultaneous_level(4)))
    family = np.repeat(np.arange(draws), 4)
    found = gap_interval((hits / n).ravel(), low.ravel(), high.ravel(), family)
    gap = max(true) - min(true)
    assert np.mean((found.low <= gap) & (gap <= found.high)) >= 0.94


def test_many_families_and_a_large_one() -> None:
    rng = np.random.default_rng(6)
    value = rng.uniform(0.3, 0.7, 10_500)
    half = rng.uniform(0.01, 0.1, 10_500)
    family = np.concatenate([np.repeat(np.arange(2000), 5), np.full(500, 2000)])
    found = gap_interval(value, value - half, value + half, family)
    assert not np.isnan(found).any()
    one = family == 2000
    alone = gap_interval(value[one], (value - half)[one], (value + half)[one], np.zeros(500, dtype=int))
    assert (float(alone.low[0]), float(alone.high[0])) == (found.low[-1], found.high[-1])


def test_very_many_groups_are_compared_part_by_part() -> None:
    rng = np.random.default_rng(4)
    value = rng.random(700)
    low, high = value - rng.random(700) / 5, value + rng.random(700) / 5
    found = gap_interval(value, low, high, np.zeros(700, dtype=int), np.inf)
    ends = np.stack(mover_difference(value[:, None], low[:, None], high[:, None], value, low, high))
    ends[:, np.arange(700), np.arange(700)] = -np.inf
    assert (found.low[0], found.high[0]) == (max(ends[0].max(), 0.0), ends[1].max())


@pytest.mark.parametrize("decimals", [1, 2, 6])
@pytest.mark.parametrize("alike", [False, True])
def test_the_widest_pair_of_many_groups_is_found_without_all_pairs(
    monkeypatch: pytest.MonkeyPatch, decimals: int, alike: bool
) -> None:
    draw = np.random.default_rng(decimals)
    for _ in range(200):
        k = int(draw.integers(2, 12))
        value = np.full(k, 0.5) if alike else np.round(draw.random(k), decimals)
        below, above = np.round(draw.random((2, k)) * draw.choice([0.01, 0.2, 1.0]), decimals)
        limits = value, value - below, value + above
        monkeypatch.setattr(simultaneous, "FEW", k)
        every_pair = gap_interval(*limits, np.zeros(k, int), np.inf)
        monkeypatch.setattr(simultaneous, "FEW", 1)
        some = gap_interval(*limits, np.zeros(k, int), np.inf)
        assert np.stack(some) == pytest.approx(np.stack(every_pair), abs=1e-15)
