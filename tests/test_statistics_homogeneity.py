"""Tests of all groups of a family, against values from R, the definitions, and the test of two groups."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistics_data import S1, Y, ranking, rows_of

from fmfair.statistics.differences import delong_unpaired
from fmfair.statistics.homogeneity import (
    chi_square,
    design_effect,
    null_variance_of_means,
    null_variance_of_rates,
    pooled_placement_f,
    welch,
)

NAN = math.nan
close = pytest.approx
GROUPS = [ranking([S1[i] for i in rows_of(g)], [Y[i] for i in rows_of(g)]) for g in "ABC"]
AUC = np.array([g.auc for g in GROUPS])
POS, NEG = np.array([[g.pos_variance for g in GROUPS], [g.neg_variance for g in GROUPS]])
M, N = np.array([[len(g.pos) for g in GROUPS], [len(g.neg) for g in GROUPS]])


def test_q_and_welch() -> None:
    test = welch(AUC, POS + NEG, M + N, [0, 0, 0])
    assert float(test.q[0]) == close(1.54522763578, abs=1e-9)
    found = (float(test.f[0]), float(test.df1[0]), float(test.df2[0]), float(test.p[0]))
    assert found == close((0.741982559303, 2, 16.1487011088, 0.491720306954), abs=1e-9)


def test_welch_is_that_of_rows() -> None:
    rng = np.random.default_rng(1)
    rows = [rng.normal(mean, sd, n) for mean, sd, n in ((0, 1, 12), (0.5, 2, 30), (0.2, 0.5, 9))]
    summaries = np.array([[r.mean(), r.var(ddof=1) / len(r), len(r)] for r in rows]).T
    value, variance, units = summaries
    test = welch(value, variance, units, [0, 0, 0])
    weights = 1 / variance
    grand = (weights * value).sum() / weights.sum()
    assert float(test.q[0]) == close((weights * (value - grand) ** 2).sum())
    same_spread = np.concatenate([rows[0], rows[0] + 3])
    two = welch([rows[0].mean(), rows[0].mean() + 3], [rows[0].var(ddof=1) / 12] * 2, [12, 12], [0, 0])
    classical = stats.f_oneway(same_spread[:12], same_spread[12:])  # equal variances and sizes: the classical F
    assert float(two.f[0]) == close(float(classical.statistic))
    assert float(two.p[0]) == close(float(classical.pvalue))


positive = st.floats(1e-6, 1)


@given(st.floats(0, 1), positive, st.integers(2, 1000), st.floats(0, 1), positive, st.integers(2, 1000))
def test_welch_of_two_groups_is_unpaired_delong(a1: float, v1: float, n1: int, a2: float, v2: float, n2: int) -> None:
    family, two = welch([a1, a2], [v1, v2], [n1, n2], [0, 0]), delong_unpaired(a1, v1, n1, a2, v2, n2)
    assert float(family.f[0]) == close(float(two.d) ** 2, rel=1e-9, abs=1e-12)
    assert float(family.df2[0]) == close(float(two.df), rel=1e-9)
    assert float(family.p[0]) == close(float(two.p), rel=1e-6, abs=1e-9)


def test_pooled_placements() -> None:
    test = pooled_placement_f(AUC, POS, NEG, M, N, [0, 0, 0])
    assert test.null_variance.tolist() == close([0.0221615740741, 0.0221383101852, 0.0240316358025], abs=1e-9)
    found = [float(x[0]) for x in (test.mean, test.f, test.df1, test.df2, test.p)]
    assert found == close([0.832637543, 1.31654508707, 2, 23.0317257588, 0.287488196371], abs=1e-9)


def test_pooled_placements_with_groups_of_one() -> None:
    """A group with one positive adds no degree of freedom for positives, and takes part."""
    auc, m, n = np.append(AUC, 0.5), np.append(M, 1), np.append(N, 8)
    pos, neg = np.append(POS, NAN), np.append(NEG, 0.01)
    test = pooled_placement_f(auc, pos, neg, m, n, [0, 0, 0, 0])
    s10 = sum(v * size * (size - 1) for v, size in zip(POS, M, strict=True)) / sum(M - 1)
    s01 = (sum(v * size * (size - 1) for v, size in zip(NEG, N, strict=True)) + 0.01 * 8 * 7) / (sum(N - 1) + 7)
    assert test.null_variance.tolist() == close((s10 / m + s01 / n).tolist())
    weight = 1 / (s10 / m + s01 / n)
    mean = (weight * auc).sum() / weight.sum()
    assert float(test.f[0]) == close((weight * (auc - mean) ** 2).sum() / 3)
    a, b = s10 * sum(1 / m), s01 * sum(1 / n)
    df2 = (a + b) ** 2 / (a * a / sum(M - 1) + b * b / (sum(N - 1) + 7))
    assert float(test.df2[0]) == close(df2)
    assert float(test.p[0]) == close(float(stats.f.sf(float(test.f[0]), 3, df2)))


def test_pooled_placements_of_clusters() -> None:
    plain = pooled_placement_f(AUC, POS, NEG, M, N, [0, 0, 0])
    effect = design_effect([0.01, 0.02, 0.03], [0.01, 0.01, 0.01], [0, 0, 0])
    assert effect.tolist() == close([2.0])
    test = pooled_placement_f(AUC, POS, NEG, M, N, [0, 0, 0], design_effect=effect, patients=[5, 5, 4])
    assert test.null_variance.tolist() == close((2 * plain.null_variance).tolist())
    assert (float(test.f[0]), float(test.df2[0])) == close((float(plain.f[0]) / 2, 11.0))
    assert np.isnan(pooled_placement_f(AUC, POS, NEG, M, N, [0, 0, 0], patients=[1, 1, 1]).p[0])


def test_pooled_placements_undefined() -> None:
    family = [0, 0, 1, 1, 2, 3, 3]
    auc = [1.0, 0.9, 1.0, 1.0, 0.8, 0.7, NAN]
    pos, neg = [0.0, 0.01, 0.0, 0.0, 0.01, NAN, NAN], [0.0, 0.01, 0.0, 0.0, 0.01, 0.01, NAN]
    test = pooled_placement_f(auc, pos, neg, [5, 5, 5, 5, 5, 1, 0], [5] * 7, family, n_families=5)
    assert np.isnan(test.p).tolist() == [False, True, True, True, True]  # AUC of 1, all 1, one group, no df, none
    assert np.isnan(test.null_variance).tolist() == [False, False, True, True, False, True, True]
    assert pooled_placement_f([], [], [], [], [], []).p.shape == (0,)


def test_chi_square_of_rates() -> None:
    right = [sum(int((S1[i] >= 0.5) == Y[i]) for i in rows_of(g)) for g in "ABC"]
    test = chi_square(right, [10, 10, 10], [0, 0, 0])
    assert float(test.chi2[0]) == close(0.372670807453, abs=1e-9)
    assert float(test.p[0]) == close(0.82999516482, abs=1e-9)
    assert test.sparse.tolist() == [True]  # 7 / 3 are expected to be wrong in each


counts = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=6)


@given(st.lists(counts, min_size=1, max_size=5))
def test_chi_square_is_scipys(families: list[list[tuple[int, int]]]) -> None:
    rows = [(number, hit, miss) for number, family in enumerate(families) for hit, miss in family]
    number, hits, misses = np.array(rows).T
    test = chi_square(hits, hits + misses, number)
    for i, family in enumerate(families):
        table = np.array([pair for pair in family if sum(pair)]).reshape(-1, 2)
        if len(table) < 2 or not table.sum(axis=0).all():
            assert np.isnan([test.chi2[i], test.df[i], test.p[i]]).all()
            assert not test.sparse[i]
            continue
        found = stats.chi2_contingency(table, correction=False)
        assert float(test.chi2[i]) == close(found.statistic, rel=1e-9, abs=1e-12)
        assert float(test.p[i]) == close(found.pvalue, rel=1e-9)
        assert test.sparse[i] == (found.expected_freq < 5).any()


def test_chi_square_of_clusters() -> None:
    plain = chi_square([30, 40], [50, 50], [0, 0])
    test = chi_square([30, 40], [50, 50], [0, 0], design_effect=[2.0], patients=[10, 12])
    assert float(test.chi2[0]) == close(float(plain.chi2[0]) / 2)
    assert float(test.p[0]) == close(float(stats.f.sf(float(test.chi2[0]), 1, 20)))
    assert not plain.sparse[0]


def test_null_variances() -> None:
    rates = null_variance_of_rates([40, 80, 320, 0, NAN, 5], [50, 100, 400, 0, 10, 5], [0, 0, 0, 0, 0, 1])
    assert rates.tolist() == close([0.16 / 50, 0.16 / 100, 0.16 / 400, NAN, NAN, NAN], nan_ok=True)
    effective = null_variance_of_rates([40, 80], [50, 100], [0, 0], effective=[25, 90])
    assert effective.tolist() == close([0.16 / 25, 0.16 / 90])
    means = null_variance_of_means([0.1, 0.2, NAN, 0.0, 0.0], [10, 20, 1, 5, 5], [0, 0, 0, 1, 1])
    pooled = (0.1 * 10 * 9 + 0.2 * 20 * 19) / 28
    assert means.tolist() == close([pooled / 10, pooled / 20, pooled, NAN, NAN], nan_ok=True)


def test_welch_undefined() -> None:
    test = welch([0.5, 0.6, 0.5, 0.6, 0.7], [0.01, 0.0, 0.01, NAN, 0.02], [5] * 5, [0, 0, 1, 1, 1], n_families=3)
    assert np.isnan(test.p).tolist() == [True, False, True]
    two = delong_unpaired(0.5, 0.01, 5, 0.7, 0.02, 5)
    assert float(test.p[1]) == close(float(two.p))
    huge = welch([0.5, 0.5001], [1e-10, 1e-10], [10**9, 10**9], [0, 0])
    assert 0 <= huge.p[0] < 1e-9
    assert welch([], [], [], []).p.shape == (0,)
