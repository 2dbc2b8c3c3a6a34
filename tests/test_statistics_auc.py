"""Intervals of one AUC: values from pROC and R, published ones, the equations that they solve, degenerate tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statistics_data import PATIENT, S1, S2, Y, obuchowski, ranking, rows_of

from fmfair.statistics.auc import (
    SMALL_CLASS,
    AucMethod,
    auc_clustered,
    auc_default,
    auc_logit_t,
    auc_newcombe5,
    auc_wald,
)
from fmfair.statistics.interval import Interval, logit_interval
from fmfair.statistics.means import welch_df
from fmfair.statistics.quantiles import normal_critical, t_critical

NAN, Z = math.nan, 1.959963984540054
GROUPS = ("ABC", "A", "B", "C")
RANKINGS = [ranking([S1[i] for i in rows_of(g)], [Y[i] for i in rows_of(g)]) for g in GROUPS]
AUC = np.array([r.auc for r in RANKINGS])
POS_V, NEG_V = np.array([[r.pos_variance for r in RANKINGS], [r.neg_variance for r in RANKINGS]])
M, N = np.array([[len(r.pos) for r in RANKINGS], [len(r.neg) for r in RANKINGS]])
LOGIT_T = (
    [0.61109964074, 0.431800033585, 0.367961386002, 0.106126840611],
    [0.947736377045, 0.996913362141, 0.995211618972, 0.959010266388],
)
NEWCOMBE5 = (
    [0.642595416572, 0.568840721201, 0.534695167317, 0.284640930692],
    [0.936037958937, 0.993735487533, 0.989077367576, 0.870105678559],
)


def test_the_plain_interval_is_that_of_proc() -> None:
    low, high = auc_wald(AUC, POS_V + NEG_V)

    np.testing.assert_allclose(low, [0.687233024245, 0.798664987114, 0.728069044321, 0.148814345438], atol=1e-11)
    np.testing.assert_allclose(high, [0.9972114202, 1, 1, 1], atol=1e-11)


def test_the_logit_interval_with_a_normal_quantile() -> None:
    low, high = logit_interval(AUC, POS_V + NEG_V, normal_critical(0.95))

    np.testing.assert_allclose(low, [0.624456253832, 0.561092075657, 0.482252694699, 0.179329052244], atol=1e-11)
    np.testing.assert_allclose(high, [0.944862343477, 0.99481854917, 0.992360919295, 0.927071493187], atol=1e-11)


def test_the_logit_interval_with_students_t() -> None:
    df = welch_df(POS_V, M, NEG_V, N)

    np.testing.assert_allclose(df, [26.1318676254, 6.96907216495, 7.5, 5.14845605701], rtol=1e-11)
    np.testing.assert_allclose(auc_logit_t(AUC, POS_V, NEG_V, M, N), LOGIT_T, atol=1e-9)


def test_newcombes_method_5() -> None:
    np.testing.assert_allclose(auc_newcombe5(AUC, M, N), NEWCOMBE5, atol=1e-11)


def test_the_default_is_the_union_where_a_class_is_small() -> None:
    low, high, method = auc_default(AUC, POS_V, NEG_V, M, N)

    np.testing.assert_allclose(low, np.minimum(LOGIT_T[0], NEWCOMBE5[0]), atol=1e-9)
    np.testing.assert_allclose(high, np.maximum(LOGIT_T[1], NEWCOMBE5[1]), atol=1e-9)
    assert method.tolist() == [AucMethod.UNION] * 4


def test_the_default_is_the_logit_interval_from_50_in_the_smaller_class() -> None:
    low, high, method = auc_default(0.7, 0.001, 0.001, [50, 49, 500, 500], [500, 500, 50, 49])

    assert method.tolist() == [AucMethod.LOGIT_T, AucMethod.UNION] * 2
    logit = auc_logit_t(0.7, 0.001, 0.001, [50, 49, 500, 500], [500, 500, 50, 49])
    np.testing.assert_array_equal(low[[0, 2]], logit.low[[0, 2]])
    np.testing.assert_array_equal(high[[0, 2]], logit.high[[0, 2]])


def test_hanley_and_mcneils_ratings_of_ct_scans() -> None:
    normal, abnormal = [33, 6, 6, 11, 2], [3, 2, 2, 11, 33]
    scores = [k for counts in (normal, abnormal) for k, n in enumerate(counts) for _ in range(n)]
    found = ranking(scores, [0] * sum(normal) + [1] * sum(abnormal))
    variance = found.pos_variance + found.neg_variance

    assert found.auc == pytest.approx(0.893171, abs=5e-7)
    assert math.sqrt(variance) == pytest.approx(0.030724, abs=5e-7)
    np.testing.assert_allclose(auc_wald(found.auc, variance), [0.832952, 0.953390], atol=5e-7)


def test_images_of_patients() -> None:
    of = obuchowski(RANKINGS[0], Y, PATIENT)
    low, high, method = auc_clustered(AUC[0], of.variance, of.pos_units, of.neg_units)

    assert (of.pos_units, of.neg_units) == (11, 10)
    assert of.variance == pytest.approx(0.00520570344577, rel=1e-11)
    assert obuchowski(ranking(S2, Y), Y, PATIENT).variance == pytest.approx(0.00518382873155, rel=1e-11)
    logit = logit_interval(AUC[0], of.variance, t_critical(0.95, 9))
    np.testing.assert_allclose(logit, [0.609829914377, 0.948000224003], atol=1e-11)
    newcombe = auc_newcombe5(AUC[0], 11, 10)
    assert (low, high) == (min(logit.low, newcombe.low), max(logit.high, newcombe.high))
    assert method == AucMethod.UNION


def test_many_patients_need_no_newcombe_and_one_patient_has_no_interval() -> None:
    low, _, method = auc_clustered(
        [0.9, 0.9, 1.0, 0.9, 0.9], [0.002, 0.002, 0, NAN, NAN], [60, 40, 9, 1, 1], [50, 80, 9, 1, 9]
    )

    codes = [AucMethod.LOGIT_T, AucMethod.UNION, AucMethod.NEWCOMBE5, AucMethod.UNDEFINED, AucMethod.NEWCOMBE5]
    assert method.tolist() == codes
    assert np.isnan(low).tolist() == [False, False, False, True, False]


@pytest.mark.parametrize(
    ("auc", "m", "n", "low", "high"),
    [
        (1.0, 3, 27, 0.676775840756, 1.0),
        (1.0, 15, 15, 0.86475820562, 1.0),
        (0.0, 15, 15, 0.0, 1 - 0.86475820562),
        (0.5, 5, 5, 0.205613057289, 0.794386942711),
        (8 / 9, 1, 9, 0.314576937755, 0.991737763606),
    ],
)
def test_without_a_variance_newcombe_stands_alone(auc: float, m: int, n: int, low: float, high: float) -> None:
    found = auc_default(auc, 0.0 if m > 1 else NAN, 0.0, m, n)

    assert found.method == AucMethod.NEWCOMBE5
    np.testing.assert_allclose((found.low, found.high), [low, high], atol=1e-11)
    assert found.high == 1 or auc < 1
    assert found.low == 0 or auc > 0
    assert np.isnan(auc_logit_t(auc, 0.0, 0.0, m, n).low)
    assert np.isnan(auc_wald(auc, 0.0).low)


def test_a_class_that_is_not_there() -> None:
    low, high, method = auc_default([NAN, NAN, 0.5], NAN, NAN, [0, 5, 0], [5, 0, 5])

    assert np.isnan(low).all()
    assert np.isnan(high).all()
    assert method.tolist() == [AucMethod.UNDEFINED] * 3
    assert auc_default([], [], [], [], []).low.shape == (0,)


@given(st.floats(0, 1), st.integers(1, 10**6), st.integers(1, 10**6), st.floats(0.01, 0.999))
def test_newcombes_limits_solve_their_equation(auc: float, m: int, n: int, level: float) -> None:
    low, high = (float(x) for x in auc_newcombe5(auc, m, n, level))
    z, k = float(normal_critical(level)), (m + n) / 2 - 1

    assert 0 <= low <= auc <= high <= 1
    assert high > low
    for t, end in ((low, 0.0), (high, 1.0)):
        v = t * (1 - t) * (1 + k * ((1 - t) / (2 - t) + t / (1 + t))) / (m * n)
        assert t == end or abs((auc - t) ** 2 - z * z * v) < 1e-12


def test_newcombe_at_1_is_exact_for_any_size() -> None:
    sizes = np.array([1, 5, 10**3, 10**6, 5 * 10**8])
    low, high = auc_newcombe5(1.0, sizes, sizes)

    # (1 - t) m n = z² t (1 + k ((1 - t) / (2 - t) + t / (1 + t))), with 1 - t taken out of both sides
    k = sizes - 1.0
    expected = Z**2 * low * (1 + k * ((1 - low) / (2 - low) + low / (1 + low))) / sizes**2.0
    np.testing.assert_allclose(1 - low, expected, rtol=1e-6)
    assert (high == 1).all()
    assert (np.diff(low) > 0).all()


def _moments(auc: float, share: float, size: float) -> tuple[float, float]:
    """Variances of the size that ranks can have, split between the classes."""
    return share * size * auc * (1 - auc), (1 - share) * size * auc * (1 - auc)


@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 200) | st.just(10**9),
    st.integers(0, 200) | st.just(10**9),
    st.sampled_from([0.5, 0.9, 0.95, 0.9999]),
)
def test_any_auc_of_two_classes_has_a_sane_interval(
    auc: float, share: float, size: float, m: int, n: int, level: float
) -> None:
    pos, neg = _moments(auc, share, size)
    low, high, method = auc_default(auc, pos, neg, m, n, level)

    if m and n:
        assert 0 <= low <= auc <= high <= 1
        assert high > low
        assert (method == AucMethod.LOGIT_T) == (min(m, n) >= SMALL_CLASS and pos + neg > 1e-30)
    else:
        assert np.isnan(low)
        assert np.isnan(high)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.001, 0.5), st.integers(2, 200), st.integers(2, 200))
def test_more_confidence_is_wider_and_the_mirror_image_mirrors(
    auc: float, share: float, size: float, m: int, n: int
) -> None:
    pos, neg = _moments(auc, share, size)
    narrow, wide = (auc_default(auc, pos, neg, m, n, level) for level in (0.9, 0.99))
    mirrored = auc_default(1 - auc, pos, neg, m, n, 0.9)

    assume(wide.low > 0)
    assert wide.low < narrow.low
    assert narrow.high <= wide.high
    assert mirrored.low == pytest.approx(1 - float(narrow.high), abs=1e-12)


def test_extreme_numbers_raise_no_warning() -> None:
    values = np.array([0, 1e-300, 1e-17, 0.5, 1 - 2**-53, 1, NAN, -0.1, 1.1])[:, None]
    variances = np.array([0, 1e-300, 1e-25, 0.25, 1e300, math.inf, NAN, -1e-3])

    for found in (
        auc_default(values, variances, variances, 5, 10**9),
        auc_clustered(values, variances, 5, 10**9),
        auc_wald(values, variances),
        Interval(*auc_logit_t(values, variances, variances, 2, 2)),
    ):
        low, high = found[0], found[1]
        assert (np.isnan(low) == np.isnan(high)).all()
        assert np.isnan(low[6:]).all()
        given_ = ~np.isnan(low)
        assert (low[given_] <= np.broadcast_to(values, low.shape)[given_]).all()
        assert (high[given_] >= np.broadcast_to(values, low.shape)[given_]).all()
