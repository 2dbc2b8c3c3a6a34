"""Unpaired and paired DeLong tests, against pROC's values on given rows and on real ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from command_line import DATA
from hypothesis import given
from hypothesis import strategies as st
from statistics_data import S1, S2, Y, ranking, rows_of

from fmfair.statistics.differences import delong_paired, delong_unpaired
from fmfair.statistics.multiplicity import holm

close = pytest.approx


def _auc(group: str, scores: Sequence[float] = S1) -> tuple[float, float, int]:
    """Value, DeLong variance and rows."""
    rows = rows_of(group)
    found = ranking([scores[i] for i in rows], [Y[i] for i in rows])
    return found.auc, found.pos_variance + found.neg_variance, len(rows)


def _paired_variance(rows: list[int]) -> float:
    """Of the difference of the AUC of both scores, from the differences of the placements."""
    one, two = (ranking([s[i] for i in rows], [Y[i] for i in rows]) for s in (S1, S2))
    pairs = ((one.pos, two.pos), (one.neg, two.neg))
    return sum(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / len(x) / (len(x) - 1) for x, y in pairs)


def test_unpaired() -> None:
    a, b, c = (_auc(group) for group in "ABC")
    first, second = (np.array(side).T for side in ([a, a, b], [b, c, c]))
    test = delong_unpaired(*first, *second)
    assert test.d.tolist() == close([0.194045583626, 1.24293696958, 1.11613740725], abs=1e-9)
    assert test.df.tolist() == close([16.6849945312, 10.5734829872, 11.7557223265], abs=1e-9)
    assert test.p.tolist() == close([0.848483041308, 0.24074748781, 0.286658272338], abs=1e-9)
    adjusted = holm(test.p, [0, 0, 0])
    assert adjusted.tolist() == close([0.848483041308, 0.722242463431, 0.722242463431], abs=1e-9)


def test_unpaired_on_real_rows_as_in_proc() -> None:
    table = pl.read_csv(DATA / "blood_storage.csv").drop_nulls("PreopPSA")
    groups = []
    for part in table.partition_by("AA", as_dict=True).values():
        found = ranking(part["PreopPSA"].to_list(), part["Recurrence"].to_list())
        groups.append((part["AA"][0], found.auc, found.pos_variance + found.neg_variance, part.height))
    (_, *other), (_, *african) = sorted(groups)
    test = delong_unpaired(*other, *african)
    assert (other[0], african[0]) == close((0.747086, 0.590056), abs=5e-7)
    assert float(test.d) == close(1.689086, abs=5e-7)
    assert float(test.df) == close(80.394712, abs=5e-7)
    assert float(test.p) == close(0.095078, abs=5e-7)


def test_paired() -> None:
    (a1, v1, _), (a2, v2, _) = _auc("ABC"), _auc("ABC", S2)
    variance = _paired_variance(rows_of("ABC"))
    assert a2 == close(0.884444444444, abs=1e-9)
    assert (v1 + v2 - variance) / 2 == close(0.00388218694885, abs=1e-9)
    test = delong_paired(a1, a2, variance)
    assert float(test.z) == close(-0.69484152024, abs=1e-9)
    assert float(test.p) == close(0.487154624653, abs=1e-9)
    assert (float(test.low), float(test.high)) == close((-0.161319933704, 0.0768754892591), abs=1e-9)


def test_difference_of_two_gaps() -> None:
    gaps = {g: _auc(g)[0] - _auc(g, S2)[0] for g in "AC"}
    variance = sum(_paired_variance(rows_of(g)) for g in "AC")
    assert variance == close(0.0181611111111, abs=1e-9)
    test = delong_paired(gaps["A"], gaps["C"], variance)
    found = (float(test.difference), float(test.z), float(test.p))
    assert found == close((0.105, 0.779144647133, 0.4358945124), abs=1e-9)


def test_degrees_of_freedom_of_clusters_widen_a_paired_test() -> None:
    normal, t = delong_paired(0.8, 0.7, 0.002), delong_paired(0.8, 0.7, 0.002, df=9)
    assert float(t.high - t.low) / float(normal.high - normal.low) == close(2.2621571627409915 / 1.959963984540054)
    assert t.p > normal.p
    assert float(delong_paired(0.8, 0.7, 0.002, level=0.9).low) == close(0.1 - 1.6448536269514722 * math.sqrt(0.002))


def test_no_variance() -> None:
    both_0 = delong_unpaired(1.0, 0.0, 10, 0.9, 0.0, 10)
    assert float(both_0.difference) == close(0.1)
    assert np.isnan([both_0.d, both_0.df, both_0.p]).all()
    one_0 = delong_unpaired(1.0, 0.0, 10, 0.9, 0.01, 8)
    assert (float(one_0.d), float(one_0.df)) == close((1.0, 7.0))
    assert np.isnan(delong_unpaired(1.0, math.nan, 10, 0.9, 0.01, 8).p)
    assert np.isnan(delong_unpaired(0.8, 0.01, 1, 0.9, 0.01, 8).p)  # one unit has no degree of freedom

    same = delong_paired(0.7, 0.7, 0.0)  # identical rankings
    assert [float(x) for x in same[:3]] == [0.0, 0.0, 1.0]
    assert np.isnan(same[3:]).all()
    other = delong_paired([0.7, 0.7], [0.8, 0.7], [0.0, math.nan])
    assert np.isnan([other.z, other.p, other.low, other.high]).all()
    assert delong_unpaired([], [], [], [], [], []).p.shape == (0,)


variance = st.floats(1e-12, 1)
units = st.integers(2, 10**9)


@given(st.floats(0, 1), variance, units, st.floats(0, 1), variance, units)
def test_unpaired_is_symmetric_and_between_the_units(
    a1: float, v1: float, n1: int, a2: float, v2: float, n2: int
) -> None:
    test, mirrored = delong_unpaired(a1, v1, n1, a2, v2, n2), delong_unpaired(a2, v2, n2, a1, v1, n1)
    assert float(test.d) == -float(mirrored.d)
    assert float(test.p) == close(float(mirrored.p))
    assert min(n1, n2) - 1 <= float(test.df) * (1 + 1e-9)
    assert float(test.df) <= (n1 + n2 - 2) * (1 + 1e-9)
    assert 0 <= test.p <= 1
