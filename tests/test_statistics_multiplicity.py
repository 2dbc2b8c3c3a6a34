"""Adjusted p values within families, against the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from fmfair.statistics.multiplicity import benjamini_hochberg, holm

NAN = math.nan


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.01, NAN, 0.04], [0.02, NAN, 0.04]),
        ([0.848483041308, 0.24074748781, 0.286658272338], [0.848483041308, 0.722242463431, 0.722242463431]),
        ([0.5, 0.9], [1.0, 1.0]),
        ([NAN], [NAN]),
        ([], []),
    ],
)
def test_holm(p: list[float], expected: list[float]) -> None:
    assert holm(p, [0] * len(p)).tolist() == pytest.approx(expected, abs=1e-9, nan_ok=True)


def _holm(p: list[float]) -> list[float]:
    ranks = sorted(range(len(p)), key=lambda i: p[i])
    return [
        max(min(1.0, (len(p) - j) * p[ranks[j]]) for j in range(len(p)) if j <= ranks.index(i)) for i in range(len(p))
    ]


@given(st.lists(st.tuples(st.integers(0, 4), st.one_of(st.floats(0, 1), st.just(NAN))), max_size=40))
def test_many_families_at_once(tests: list[tuple[int, float]]) -> None:
    family, p = [number for number, _ in tests], [value for _, value in tests]
    adjusted = holm(p, family)
    assert np.isnan(adjusted).tolist() == [math.isnan(value) for value in p]
    for number in set(family):
        known = [i for i, own in enumerate(family) if own == number and not math.isnan(p[i])]
        assert adjusted[known].tolist() == pytest.approx(_holm([p[i] for i in known]), rel=1e-12)
    assert all(a >= value for a, value in zip(adjusted, p, strict=True) if not math.isnan(value))


def test_tiny_p_values_keep_their_digits() -> None:
    assert holm([1e-300, 0.5, 1e-200], [7, 7, 7]).tolist() == pytest.approx([3e-300, 0.5, 2e-200], rel=1e-12)


@given(st.lists(st.one_of(st.floats(0, 1), st.just(NAN)), max_size=40))
def test_the_screen_is_that_of_benjamini_and_hochberg(p: list[float]) -> None:
    adjusted = benjamini_hochberg(p)
    known = [i for i, value in enumerate(p) if not math.isnan(value)]
    assert np.isnan(adjusted).tolist() == [math.isnan(value) for value in p]
    if known:
        expected = false_discovery_control([p[i] for i in known], method="bh")
        assert adjusted[known].tolist() == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-300)
