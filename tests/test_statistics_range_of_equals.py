"""The range of equal groups: tables, values of a plain quadrature and of draws, and odd standard deviations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from fmfair.statistics import range_of_equals
from fmfair.statistics.interval import FloatArray
from fmfair.statistics.quantiles import studentized_range_quantile
from fmfair.statistics.range_of_equals import (
    chance_of,
    detectable_gap,
    range_mean,
    range_p,
    range_quantile,
)

NAN = math.nan
close = pytest.approx
RATES = np.sqrt(0.8 * 0.2 / np.array([50, 100, 400]))
AUCS = np.sqrt([0.0221615740741, 0.0221383101852, 0.0240316358025])


def _one(sd: FloatArray | list[float]) -> list[int]:
    return [0] * len(sd)


def _within(sd: FloatArray, r: float, mean: FloatArray | None = None) -> float:
    """P(range <= r): the sum over which one is the smallest, by a fine trapezoid."""
    shift = np.zeros(len(sd)) if mean is None else mean
    step = sd.min() / 8
    x = np.arange(-9 * sd.max() - abs(shift).max() - r, 9 * sd.max() + abs(shift).max(), step)
    z = (x - shift[:, None]) / sd[:, None]
    between = ndtr(z + r / sd[:, None]) - ndtr(z)
    density = np.exp(-z * z / 2) / sd[:, None] / math.sqrt(2 * math.pi)
    others = [np.delete(between, g, axis=0).prod(axis=0) for g in range(len(sd))]
    return float((density * others).sum() * step)


def _mean(sd: FloatArray) -> float:
    step = sd.min() / 8
    below = ndtr(np.arange(-9 * sd.max(), 9 * sd.max(), step) / sd[:, None])
    return float((1 - below.prod(axis=0) - (1 - below).prod(axis=0)).sum() * step)


def test_rates_of_three_groups() -> None:
    assert float(range_mean(RATES, _one(RATES))[0]) == close(0.069417, abs=5e-7)
    assert float(range_quantile(RATES, _one(RATES))[0]) == close(0.142012, abs=5e-7)
    assert float(range_p(RATES, _one(RATES), [0.10])[0]) == close(0.200071, abs=5e-7)


def test_aucs_of_three_groups() -> None:
    assert float(range_mean(AUCS, _one(AUCS))[0]) == close(0.255432115468, abs=1e-7)
    assert float(range_quantile(AUCS, _one(AUCS))[0]) == close(0.500273248649, abs=1e-7)
    assert float(range_p(AUCS, _one(AUCS), [0.315])[0]) == close(0.302494764065, abs=1e-7)
    assert float(detectable_gap(AUCS[:2], [0, 0])[0]) == close(0.589664704554, abs=1e-9)


def test_equal_standard_deviations() -> None:
    sizes = [2, 3, 4, 5, 6, 8, 10]
    family = np.repeat(np.arange(7), sizes)
    ones = np.ones(len(family))
    expected = [1.128379, 1.692569, 2.058751, 2.325929, 2.534413, 2.847201, 3.077505]
    assert range_mean(ones, family).tolist() == close(expected, abs=5e-7)
    assert range_mean(0.02 * ones, family).tolist() == close([0.02 * d for d in expected], rel=1e-6)
    for p in (0.05, 0.5, 0.95, 0.999):
        assert range_quantile(ones, family, p).tolist() == close(
            studentized_range_quantile(p, sizes).tolist(), rel=1e-8
        )


@pytest.mark.parametrize(
    ("positives", "negatives", "expected"),
    [
        (30, 270, (0.211, 0.178, 0.111)),
        (150, 150, (0.111, 0.089, 0.052)),
        (100, 900, (0.115, 0.097, 0.061)),
        (500, 500, (0.061, 0.049, 0.028)),
        (300, 2700, (0.067, 0.056, 0.035)),
        (1000, 9000, (0.036, 0.031, 0.019)),
    ],
)
def test_planning_table(positives: int, negatives: int, expected: tuple[float, ...]) -> None:
    for auc, gap in zip((0.75, 0.85, 0.95), expected, strict=True):
        q1, q2 = auc / (2 - auc), 2 * auc * auc / (1 + auc)  # Hanley & McNeil 1982
        spread = (positives - 1) * (q1 - auc * auc) + (negatives - 1) * (q2 - auc * auc)
        sd = math.sqrt((auc * (1 - auc) + spread) / (positives * negatives))
        assert float(detectable_gap([sd, sd], [0, 0])[0]) == close(gap, abs=5.1e-4)


FAMILIES = [
    [1.0, 1.0, 1.0],
    [1.0, 0.7, 0.33],
    [0.01, 0.02, 0.015, 0.03, 0.012],
    [1.0, 0.05, 0.05],
    [1.0, 0.9, 0.01, 0.02, 0.5],
    [1.0, 0.004, 0.1],
    [*np.linspace(0.2, 1, 40)],
]


@pytest.mark.parametrize("family", FAMILIES)
def test_against_a_plain_quadrature(family: list[float]) -> None:
    sd = np.sort(family)
    assert float(range_mean(sd, _one(family))[0]) == close(_mean(sd), rel=1e-8)
    for probability in (0.01, 0.5, 0.95):
        r = float(range_quantile(sd, _one(family), probability)[0])
        assert _within(sd, r) == close(probability, abs=2e-8)
        assert float(range_p(sd, _one(family), [r])[0]) == close(1 - probability, abs=2e-8)
    gap, limit = float(detectable_gap(sd, _one(family))[0]), float(range_quantile(sd, _one(family))[0])
    moved = np.zeros(len(sd))
    moved[-2:] = -gap / 2, gap / 2
    assert 1 - _within(sd, limit, moved) == close(0.8, abs=1e-6)


def test_against_draws() -> None:
    sd = np.array([0.05, 0.02, 0.08, 0.03])
    values = np.random.default_rng(5).normal(size=(400_000, 4)) * sd
    ranges = np.ptp(values, axis=1)
    assert float(range_mean(sd, _one(sd))[0]) == close(ranges.mean(), rel=0.005)
    assert float(range_quantile(sd, _one(sd))[0]) == close(float(np.quantile(ranges, 0.95)), rel=0.01)
    assert float(range_p(sd, _one(sd), [0.15])[0]) == close(float((ranges > 0.15).mean()), abs=0.003)


def test_families_in_any_order_and_what_is_undefined() -> None:
    sd = [1.0, 2.0, NAN, 1.0, 0.5, 0.0, 0.0, 0.0, 1.0, 2.0, 0.5]
    family = [3, 0, 0, 0, 3, 1, 1, 1, 2, 4, 3]
    found = range_mean(sd, family, n_families=6)
    alone = [range_mean([2, 1], [0, 0])[0], NAN, NAN, range_mean([1, 0.5, 0.5], [0, 0, 0])[0], NAN, NAN]
    assert found.tolist() == close(alone, nan_ok=True)
    others = (
        range_quantile(sd, family, 0.5, 6),
        range_p(sd, family, [0.1] * 6),
        detectable_gap(sd, family, n_families=6),
    )
    for other in others:
        assert np.isnan(other).tolist() == np.isnan(found).tolist()
    assert range_mean([], []).shape == (0,)
    assert range_p([], [], []).shape == (0,)
    assert np.isnan(range_mean([0.0, 0.0], [0, 0])).all()


def test_groups_without_variance_beside_others() -> None:
    """Two certain values and a normal one: the range is how far that one lies from theirs."""
    half_normal = math.sqrt(2 / math.pi)
    assert float(range_mean([1.0, 0.0, 0.0], [0, 0, 0])[0]) == close(half_normal, rel=1e-6)
    assert float(range_quantile([3.0, 0.0, 0.0], [0, 0, 0])[0]) == close(3 * 1.959963984540054, rel=1e-6)
    assert float(range_p([1.0, 0.0, 0.0], [0, 0, 0], [1.0])[0]) == close(math.erfc(1 / math.sqrt(2)), abs=1e-6)


def test_p_far_out() -> None:
    gaps = [0.0, -1.0, 5.0, 9.0, 20.0, 1e300, NAN]
    sd, family = np.tile([1.0, 0.8, 1.2], 7), np.repeat(np.arange(7), 3)
    p = range_p(sd, family, gaps)
    assert p[:2].tolist() == [1.0, 1.0]
    assert p[2] == close(1 - _within(np.array([1.0, 0.8, 1.2]), 5.0), rel=1e-8)
    assert (np.diff(p[1:6]) < 0).all()
    assert 0 < p[4] < 1e-30
    assert np.isnan(p[6])
    r = np.linspace(2, 12, 101)
    for family_of in (
        [1.0, 0.8, 1.2],
        [1.0, *[0.1] * 6],
    ):  # falls all the way to where the sum over the pairs takes over
        p = range_p(np.tile(family_of, 101), np.repeat(np.arange(101), len(family_of)), r)
        assert (np.diff(p) <= 0).all()
        assert p[0] > 0.05
        assert p[-1] < 1e-12
    assert range_p([1.0, 1.0], [0, 0], [30.0])[0] == close(math.erfc(30 / 2), rel=1e-9)


spread = st.lists(st.floats(1e-6, 1), min_size=2, max_size=12)


@given(spread, st.floats(0.01, 0.99))
def test_laws(sd: list[float], probability: float) -> None:
    family = _one(sd)
    mean, quantile = float(range_mean(sd, family)[0]), float(range_quantile(sd, family, probability)[0])
    assert float(range_p(sd, family, [quantile])[0]) == close(1 - probability, abs=1e-7)
    assert mean >= math.sqrt(2 / math.pi) * math.hypot(*sorted(sd)[-2:]) * (1 - 1e-9)  # more than its two widest
    scaled = np.array(sd) * 1e-3
    assert float(range_mean(scaled, family)[0]) == close(mean * 1e-3, rel=1e-9)
    more = float(range_mean([*sd, sd[0]], [*family, 0])[0])
    assert more >= mean
    gap = float(detectable_gap(sd, family)[0])
    assert gap > float(range_quantile(sd, family)[0])
    assert gap <= float(detectable_gap(sd, family, power=0.9)[0])


def test_a_family_of_five_hundred_and_thousands_of_small_ones() -> None:
    rng = np.random.default_rng(2)
    large = rng.uniform(0.01, 0.05, 500)
    family = np.concatenate([np.repeat(np.arange(2000), 5), np.full(500, 2000)])
    sd = np.concatenate([rng.uniform(0.01, 0.1, 10_000), large])
    quantile, mean = range_quantile(sd, family), range_mean(sd, family)
    assert not np.isnan(quantile).any()
    assert (quantile > mean).all()
    assert _within(large, float(quantile[-1])) == close(0.95, abs=1e-8)
    assert mean[0] == close(_mean(sd[:5]), rel=1e-8)


def test_what_is_no_probability() -> None:
    assert np.isnan(range_quantile([1, 1], [0, 0], 1.0)).all()
    assert np.isnan(detectable_gap([1, 1], [0, 0], alpha=0.05, power=0.01)).all()


def test_chance_of_is_its_three_parts() -> None:
    rng = np.random.default_rng(11)
    sizes = [1, 2, 3, 3, 5, 5, 9, 4, 3, 4, 30]
    family = np.repeat(np.arange(len(sizes)), sizes)
    sd = rng.uniform(0.01, 0.1, len(family))
    sd[family == 3] = 3 * sd[family == 2][::-1]  # the same family at another scale and in another order
    sd[family == 7], sd[family == 8] = 0.02, 0.0
    sd[family == 9] = [0.0, 0.0, 0.03, 0.0]
    for alpha in (0.05, 0.2):
        found = chance_of(sd, family, alpha, 0.8, len(sizes) + 1)
        parts = (
            range_quantile(sd, family, 0.5, len(sizes) + 1),
            range_quantile(sd, family, 0.95, len(sizes) + 1),
            detectable_gap(sd, family, alpha, 0.8, len(sizes) + 1),
        )
        for one, part in zip(found, parts, strict=True):
            assert one.tolist() == close(part.tolist(), rel=1e-8, nan_ok=True)
            assert np.isnan(one).tolist() == [size == 1 or i in (8, 11) for i, size in enumerate([*sizes, 0])]
            assert one[3] == close(3 * one[2], rel=1e-9)
    assert chance_of(sd, family).median[7] == close(0.02 * float(studentized_range_quantile(0.5, 4)), rel=1e-12)
    alone = chance_of(sd, family, alpha=0.2, power=0.1)
    assert np.isnan(alone.detectable).all()
    assert not np.isnan(alone.point[1])


@pytest.mark.parametrize("ratio", [1.02, 1.5, 4.0, 12.0, 30.0])
@pytest.mark.parametrize("k", [3, 5, 12, 50])
def test_all_shapes_against_a_plain_quadrature(k: int, ratio: float) -> None:
    """Spread evenly, all but one narrow, all but one wide, two wide, at random: the points must do for each."""
    low = 1 / ratio
    shapes = [
        np.geomspace(low, 1, k),
        np.r_[np.full(k - 1, low), 1.0],
        np.r_[low, np.ones(k - 1)],
        np.r_[np.full(k - 2, low), 1.0, 1.0],
        np.sort(np.random.default_rng(k).uniform(low, 1, k)),
    ]
    found = chance_of(np.concatenate(shapes), np.repeat(np.arange(5), k))
    moved = np.zeros(k)
    for sd, median, point, gap in zip(shapes, *found, strict=True):
        moved[-2:] = -gap / 2, gap / 2
        assert _within(sd, median) == close(0.5, abs=3e-8)
        assert _within(sd, point) == close(0.95, abs=1e-8)
        assert _within(sd, point, moved) == close(0.2, abs=3e-8)


def test_detectable_beside_groups_without_variance() -> None:
    """One group is estimated, the others are sure: moved, it must leave the window around the others."""
    point = 1.959963984540054
    gap = float(detectable_gap([0.0, 0.0, 1.0, 0.0], [0] * 4)[0])
    # The estimate fits in the window when it is at most `point` above the lowest value, -gap / 2, and below the middle.
    assert ndtr(point - gap) - ndtr(-point - gap / 2) == close(0.2, abs=1e-7)


@pytest.mark.parametrize("k", [3, 12, 40])
@pytest.mark.parametrize("odd", ["none", "equal", "wide", "narrow", "certain"])
def test_groups_of_equal_spread_are_worked_out_together(monkeypatch: pytest.MonkeyPatch, k: int, odd: str) -> None:
    sd = np.sqrt(0.2 / np.random.default_rng(k).integers(3, 12, k))
    sd = {"equal": np.full(k, 0.3), "wide": np.append(sd, 5.0), "narrow": np.append(sd, 1e-3)}.get(odd, sd)
    sd[:2] = 0.0 if odd == "certain" else sd[:2]
    family = np.zeros(len(sd), int)

    monkeypatch.setattr(range_of_equals, "MANY", len(sd))
    apart = chance_of(sd, family)
    monkeypatch.setattr(range_of_equals, "MANY", 2)
    together = chance_of(sd, family)

    assert np.stack(together) == pytest.approx(np.stack(apart), rel=1e-7)


def test_ten_thousand_groups_take_no_longer_than_their_different_spreads() -> None:
    sd = np.sqrt(0.2 / np.tile([5.0, 10.0, 20.0], 4_000))

    found = chance_of(sd, np.zeros(len(sd), int))

    assert 1.0 < found.median[0] < found.point[0] < found.detectable[0] < 2.5
