"""Shrinkage of cells: values of a worked table, the defining equations by loops, and tables with holes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmfair.statistics.interval import FloatArray
from fmfair.statistics.pooling import additive_design, fay_herriot, to_logit

NAN = math.nan
close = pytest.approx
TWO_BY_THREE = [[i, j] for i in range(2) for j in range(3)]
THREE_BY_FOUR = [[i, j] for i in range(3) for j in range(4)]
Y = np.array([1.10, 1.60, 2.30, 0.70, 1.90, 1.20])
V = np.array([0.04, 0.09, 0.25, 0.05, 0.16, 0.40])


def test_a_worked_table() -> None:
    x, connected = additive_design(TWO_BY_THREE)
    assert connected
    found = fay_herriot(x, Y, V, least_df=2)
    assert found.tau2 == close(0.0425857410694, abs=1e-9)
    expected = {
        "additive": [1.04670685246, 1.83218744749, 1.97642416688, 0.759746216415, 1.54522681144, 1.68946353083],
        "b": [0.484345111905, 0.678806026003, 0.854450388068, 0.54003996104, 0.789789050085, 0.903779681274],
        "shrunken": [1.07418772449, 1.75761023852, 2.02352050382, 0.732265344385, 1.61980402041, 1.64236719389],
        "mse": [0.0732174107366, 0.116058270364, 0.201848599735, 0.0846074149954, 0.141435856628, 0.226718818832],
    }
    for name, values in expected.items():
        assert getattr(found, name).tolist() == close(values, abs=1e-9)


def test_too_few_cells() -> None:
    x, _ = additive_design(TWO_BY_THREE)
    found = fay_herriot(x, Y, V)
    assert math.isnan(found.tau2)
    assert np.isnan(found.shrunken).all()
    assert np.isnan(found.mse).all()
    assert np.isnan(fay_herriot(x, np.full(6, NAN), V, least_df=0).additive).all()


def _weighted_fit(x: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.lstsq(x * np.sqrt(w)[:, None], y * np.sqrt(w), rcond=None)[0])


cells = st.lists(st.tuples(st.floats(-3, 3), st.floats(0.01, 1)), min_size=12, max_size=12)


@given(cells)
def test_the_defining_equations(table: list[tuple[float, float]]) -> None:
    y, v = np.array(table).T
    x, _ = additive_design(THREE_BY_FOUR)
    found = fay_herriot(x, y, v)
    w = 1 / (found.tau2 + v)
    additive = x @ _weighted_fit(x, y, w)
    assert found.additive.tolist() == close(additive.tolist(), abs=1e-8)
    squares, df = float((w * (y - additive) ** 2).sum()), 12 - 6
    assert squares == close(df, rel=1e-6) if found.tau2 > 0 else squares <= df * (1 + 1e-9)
    assert found.shrunken.tolist() == close(((1 - found.b) * y + found.b * additive).tolist(), abs=1e-8)
    between = np.sort([y, found.additive], axis=0)
    assert ((found.shrunken >= between[0] - 1e-9) & (found.shrunken <= between[1] + 1e-9)).all()
    assert ((found.b > 0) & (found.b <= 1)).all()
    covariance = np.linalg.inv(x.T @ (w[:, None] * x))
    g2 = [b * b * row @ covariance @ row for b, row in zip(found.b, x, strict=True)]
    bias = 2 * (12 * (w**2).sum() - w.sum() ** 2) / w.sum() ** 3
    g3 = v**2 * w**3 * 2 * 12 / w.sum() ** 2
    mse = (1 - found.b) * v + g2 + np.maximum(2 * g3 - found.b**2 * bias, 0)
    assert found.mse.tolist() == close(mse.tolist(), rel=1e-6)


def test_a_cell_without_a_value_gets_the_additive_expectation() -> None:
    x, _ = additive_design(THREE_BY_FOUR)
    rng = np.random.default_rng(3)
    truth = x @ np.array([1.0, 0.5, -0.5, 0.2, 0.4, 0.1])
    y, v = truth + rng.normal(size=12) * 0.5, np.full(12, 0.02)
    y[5], v[5], v[7] = NAN, NAN, 0.0  # a variance of 0 says that nothing is known
    found = fay_herriot(x, y, v)
    known = [i for i in range(12) if i not in (5, 7)]
    without = fay_herriot(x[known], y[known], v[known])
    assert found.tau2 == close(without.tau2)
    assert found.shrunken[known].tolist() == close(without.shrunken.tolist())
    assert found.mse[known].tolist() == close(without.mse.tolist())
    w = 1 / (found.tau2 + v[known])
    beta = _weighted_fit(x[known], y[known], w)
    assert found.shrunken[[5, 7]].tolist() == close((x[[5, 7]] @ beta).tolist())
    assert found.b[[5, 7]].tolist() == [1.0, 1.0]
    covariance = np.linalg.inv(x[known].T @ (w[:, None] * x[known]))
    assert found.mse[5] == close(found.tau2 + x[5] @ covariance @ x[5])


def test_a_level_without_a_value_is_not_told() -> None:
    codes = [[i, j] for i in range(3) for j in range(5)]
    y = np.array([1.0 + 0.3 * i - 0.1 * j + 0.05 * ((i + j) % 2) for i, j in codes])
    missing = np.array([j == 0 for _, j in codes])  # the reference level at that
    y[missing] = NAN
    x, connected = additive_design(codes, ~missing)
    assert connected
    assert x.shape == (15, 1 + 2 + 3)
    found = fay_herriot(x, y, np.full(15, 0.01))
    assert np.isnan(found.shrunken).tolist() == missing.tolist()
    whole = fay_herriot(additive_design(codes).x, y, np.full(15, 0.01))  # the same with the columns of all levels
    assert whole.shrunken.tolist() == close(found.shrunken.tolist(), nan_ok=True)
    assert whole.mse.tolist() == close(found.mse.tolist(), nan_ok=True)


def test_a_table_in_two_parts_is_not_connected() -> None:
    codes = [[i, j] for i in (0, 1) for j in (0, 1)] + [[i, j] for i in (2, 3) for j in (2, 3)]
    assert not additive_design(codes).connected
    assert additive_design([*codes, [0, 3]]).connected
    assert not additive_design(codes, [False] * 8).connected


def test_pairs_of_attributes() -> None:
    triples = [[i, j, k] for i in range(2) for j in range(3) for k in range(4)]
    x, connected = additive_design(triples, pairs=True)
    assert connected
    assert x.shape == (24, 1 + 1 + 2 + 3 + 2 + 3 + 6)
    assert np.linalg.matrix_rank(x) == 18
    y = np.array([0.5 * i * j - 0.2 * j * k + 0.1 * i for i, j, k in triples])
    found = fay_herriot(x, y, np.full(24, 0.01))
    assert found.additive.tolist() == close(y.tolist(), abs=1e-9)  # products of two attributes are all of it
    assert found.tau2 == 0.0


def test_more_noise_shrinks_more() -> None:
    x, _ = additive_design(THREE_BY_FOUR)
    rng = np.random.default_rng(8)
    y = rng.normal(size=12)
    v = np.linspace(0.05, 0.5, 12)
    found = fay_herriot(x, y, v)
    assert found.tau2 > 0
    assert (np.diff(found.b) > 0).all()
    assert (found.mse > 0).all()


def test_an_error_is_never_below_that_with_a_known_variance() -> None:
    x, _ = additive_design([[i, j] for i in range(2) for j in range(7)])
    v = np.array([1e-4, *[1e-3] * 13])
    v[3] = 1.0
    found = fay_herriot(x, np.zeros(14), v)
    assert found.tau2 == 0.0
    known = np.array([row @ np.linalg.inv(x.T @ (x / v[:, None])) @ row for row in x])
    assert (found.mse >= known * (1 - 1e-9)).all()
    very_unlike = fay_herriot(x, np.zeros(14), np.array([1e-6, *[1e-3] * 13]))
    assert (very_unlike.mse > 0).all()


def test_the_interval_covers() -> None:
    """Of cells drawn from the model, at the size that it was simulated at."""
    codes = [[i, j] for i in range(2) for j in range(5)]
    x, _ = additive_design(codes)
    rng = np.random.default_rng(11)
    inside = []
    for _ in range(300):
        v = rng.uniform(0.02, 0.2, 10)
        truth = x @ np.array([2.0, 0.3, -0.2, 0.1, 0.4, -0.3]) + rng.normal(size=10) * 0.3
        found = fay_herriot(x, truth + rng.normal(size=10) * np.sqrt(v), v)
        inside.append(np.abs(found.shrunken - truth) <= 1.959963984540054 * np.sqrt(found.mse))
    assert 0.91 < np.mean(inside) < 0.99


def test_logits() -> None:
    found = to_logit([0.0, 1.0, 0.5, 0.2, NAN, 1.5, 0.5], [10, 3 * 27, 1, 100, 10, 10, 0])
    moved = [math.log((0.5 / 11) / (10.5 / 11)), math.log(81.5 / 0.5), 0.0, math.log(0.25), NAN, NAN, NAN]
    assert found.tolist() == close(moved, nan_ok=True)
