"""Calibration error: values from R, simulation of calibrated scores, independence of the order of cells and bins."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistics_data import S1, Y, tenths

from fmfair.statistics.calibration import (
    ScoreBins,
    calibration_p,
    debiased_ece,
    debiased_ece_interval,
    debiased_squared,
    expected_ece,
)

Table = tuple[Sequence[float], Sequence[int]]


def bins_of(*cells: Table) -> ScoreBins:
    rows = [
        (len(p), sum(y), sum(p), sum(v * (1 - v) for v in p), cell, number)
        for cell, (scores, labels) in enumerate(cells)
        for number, p, y in tenths(scores, labels)
    ]
    n, positives, scores_, variance, cell, number = np.array(rows, dtype=np.float64).reshape(-1, 6).T
    return ScoreBins(n, positives, scores_, variance, n, cell.astype(np.int64), number.astype(np.int64))


def ece(bins: ScoreBins) -> float:
    return float(np.abs(bins.positives - bins.scores).sum() / bins.n.sum())


def tables(size: int) -> st.SearchStrategy[Table]:
    row = st.tuples(st.floats(0, 1), st.integers(0, 1))
    return st.lists(row, min_size=1, max_size=size).map(lambda rows: ([p for p, _ in rows], [y for _, y in rows]))


def test_thirty_images() -> None:
    bins = bins_of((S1, Y))

    assert ece(bins) == pytest.approx(0.188333333333, abs=1e-11)
    assert expected_ece(bins, 1) == pytest.approx(0.181884765845, abs=1e-11)
    assert debiased_ece(bins, 1) == pytest.approx(0.116301090879, abs=1e-11)
    assert debiased_squared(bins, 1) == pytest.approx(-0.0205333333333, abs=1e-11)
    plug_in = (bins.n * ((bins.positives - bins.scores) / bins.n) ** 2).sum() / 30
    assert plug_in == pytest.approx(0.0413555555556, abs=1e-11)


def test_a_folded_normal_from_its_definition() -> None:
    bins = bins_of(([0.31, 0.35, 0.38, 0.35], [1, 0, 1, 0]))
    d, s = 0.5 - 1.39 / 4, math.sqrt(0.25 / 3)
    step = s / 200
    points = [d + step * (k + 0.5) for k in range(-2000, 2000)]
    folded = sum(abs(x) * math.exp(-(((x - d) / s) ** 2) / 2) for x in points) * step / (s * math.sqrt(2 * math.pi))

    assert debiased_ece(bins, 1) == pytest.approx(max(0.0, 2 * d - folded), abs=1e-6)


def test_the_expected_value_is_what_calibrated_scores_show() -> None:
    random = np.random.default_rng(7)
    scores = random.beta(2, 2, 300)
    labels = random.random((400, 300)) < scores
    found = [ece(bins_of((scores.tolist(), row.astype(int).tolist()))) for row in labels[:100]]

    assert expected_ece(bins_of((scores.tolist(), [0] * 300)), 1)[0] == pytest.approx(np.mean(found), rel=0.08)


def test_p_values_of_calibrated_scores_are_uniform() -> None:
    random = np.random.default_rng(8)
    cells = []
    for _ in range(300):
        scores = random.beta(2, 2, 100)
        cells.append((scores.tolist(), (random.random(100) < scores).astype(int).tolist()))
    p = calibration_p(bins_of(*cells), 300, seed=1)

    assert 0.45 < p.mean() < 0.55
    assert 0.02 < (p <= 0.05).mean() < 0.09


def test_the_p_value_is_the_share_of_draws_as_large() -> None:
    # One bin: |Z| sqrt(v) >= |sum y - sum p|, so p is about 2 Phi(-|d| / sqrt(v)).
    n = np.array([100.0])
    bins = ScoreBins(n, np.array([60.0]), np.array([50.0]), np.array([25.0]), n, np.array([0]), np.array([4]))

    assert calibration_p(bins, 1, seed=3, draws=100_000) == pytest.approx(0.0455003, abs=0.002)
    assert calibration_p(bins._replace(positives=np.array([50.0])), 1, seed=3) == 1
    assert calibration_p(bins._replace(positives=np.array([100.0])), 1, seed=3, draws=99) == 0.01


def test_the_same_seed_gives_the_same_p_whatever_the_order_and_the_company() -> None:
    random = np.random.default_rng(9)
    scores = random.random((300, 40)) ** 2
    labels = (random.random((300, 40)) < scores).astype(int)
    cells = list(zip(scores.tolist(), labels.tolist(), strict=True))
    together = bins_of(*cells)
    order = random.permutation(len(together.n))
    shuffled = ScoreBins._make(column[order] for column in together)
    alone = bins_of(cells[7])
    few_bins = bins_of(([0.15, 0.12], [1, 1]))

    p = calibration_p(together, 300, seed=5)

    np.testing.assert_array_equal(calibration_p(shuffled, 300, seed=5), p)
    assert calibration_p(alone, 1, seed=5) == p[7]
    assert calibration_p(together._replace(cell=299 - together.cell), 300, seed=5)[292] == p[7]
    assert (calibration_p(together, 300, seed=6) != p).any()
    assert calibration_p(few_bins, 1, seed=5) == calibration_p(bins_of(([0.15, 0.12], [1, 1]), cells[0]), 2, seed=5)[0]


def test_a_bin_is_as_good_as_left_out_when_it_is_empty() -> None:
    bins = bins_of((S1, Y))
    padded = bins_of((S1, Y), ([0.5], [1]))
    for column in padded:
        column[-1] = 0
    padded.bin[-1] = 12

    for function in (expected_ece, debiased_ece, debiased_squared):
        np.testing.assert_array_equal(function(padded, 1), function(bins, 1))
    assert calibration_p(padded, 1, seed=1) == calibration_p(bins, 1, seed=1)


def test_cells_without_rows_have_nothing() -> None:
    bins = bins_of(([0.2, 0.25], [0, 1]))._replace(cell=np.array([1]))

    for values in (
        expected_ece(bins, 3),
        debiased_ece(bins, 3),
        debiased_squared(bins, 3),
        calibration_p(bins, 3, seed=1),
    ):
        assert np.isnan(values).tolist() == [True, False, True]
    nothing = bins_of()
    assert expected_ece(nothing, 0).shape == calibration_p(nothing, 0, seed=1).shape == (0,)
    assert np.isnan(debiased_ece(nothing, 2)).all()


def test_single_rows_carry_no_squared_error() -> None:
    assert np.isnan(debiased_squared(bins_of(([0.2, 0.7], [0, 1])), 1)).all()
    assert debiased_ece(bins_of(([0.2, 0.7], [0, 1])), 1) == pytest.approx(0.25)  # s = 0: nothing to take away


def test_weights_change_nothing_when_all_are_alike() -> None:
    bins = bins_of((S1, Y))
    heavy = ScoreBins(4 * bins.n, 4 * bins.positives, 4 * bins.scores, 16 * bins.variance, bins.n, bins.cell, bins.bin)

    for function in (expected_ece, debiased_ece, debiased_squared):
        np.testing.assert_allclose(function(heavy, 1), function(bins, 1), rtol=1e-12)
    assert calibration_p(heavy, 1, seed=2) == calibration_p(bins, 1, seed=2)


@given(st.lists(tables(30), min_size=1, max_size=4))
def test_random_tables(cells: list[Table]) -> None:
    bins, count = bins_of(*cells), len(cells)

    assert ((expected_ece(bins, count) >= 0) & (expected_ece(bins, count) <= 1)).all()
    assert ((debiased_ece(bins, count) >= 0) & (debiased_ece(bins, count) <= 1)).all()
    p = calibration_p(bins, count, seed=0, draws=20)
    assert ((p >= 1 / 21) & (p <= 1)).all()


def test_the_interval_of_the_debiased_error() -> None:
    low, high = debiased_ece_interval(
        np.array([0.1, 0.1, 0.01, 0.95, 0.1, 0.1]),
        np.array([0.02, 0.02, 0.02, 0.1, 0.0, math.nan]),
        np.array([0.001, 0.2, 0.001, 0.001, 0.001, 0.001]),
    )

    np.testing.assert_allclose(low[:4], [0.1 - 0.0391992797, 0, 0, 0.95 - 0.1959963985])
    np.testing.assert_allclose(high[:4], [0.1391992797, 0.1391992797, 0.0491992797, 1])
    assert np.isnan([*low[4:], *high[4:]]).all()
