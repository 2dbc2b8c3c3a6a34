"""Spread: variances against loops over rows, pairs and patients, and the published worked values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from small_tables import T
from statistics_data import W, Y

import fmfair
from fmfair.influence import auc_variance
from fmfair.spread import FACTS, with_spread
from fmfair.units import CellRows


def facts(frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, **given: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """The facts of every metric and group; `all` is all rows."""
    seen: list[pl.DataFrame] = []

    def spy(*arguments: Any) -> pl.DataFrame:
        seen.append(with_spread(*arguments))
        return seen[-1]

    monkeypatch.setattr("fmfair.evaluation.with_spread", spy)
    report = fmfair.evaluate(frame, ci=0.95, by=[], **given)
    (long,) = seen
    names = report.groups["group"].unique(maintain_order=True).to_list()
    return {
        (row["metric"], names[row["cell"]] if row["grouping"] == 0 else "all"): {f: row[f] for f in FACTS}
        for row in long.iter_rows(named=True)
        if row["t"] in (None, 0)
    }


Row = tuple[int, float, float, Any]


def psi(a: float, b: float) -> float:
    return 1.0 if a > b else 0.5 if a == b else 0.0


def influences(rows: Sequence[Row], metric: str) -> list[float]:
    """The influence of every row by a loop over all others."""
    pos = [(s, w) for y, s, w, _ in rows if y == 1]
    neg = [(s, w) for y, s, w, _ in rows if y == 0]
    m, n = sum(w for _, w in pos), sum(w for _, w in neg)
    if metric == "auc":
        value = sum(w * v * psi(s, t) for s, w in pos for t, v in neg) / (m * n)
        return [
            w * (sum(v * psi(s, t) for t, v in neg) / n - value) / m
            if y == 1
            else w * (sum(v * psi(t, s) for t, v in pos) / m - value) / n
            for y, s, w, _ in rows
        ]
    # average precision: a central difference in the row's weight
    found = []
    for i, (y, s, w, u) in enumerate(rows):
        ends = []
        for sign in (1, -1):
            changed = [*rows[:i], (y, s, w * (1 + sign * 1e-6), u), *rows[i + 1 :]]
            ends.append(precision(changed))
        found.append((ends[0] - ends[1]) / 2e-6)
    return found


def precision(rows: Sequence[Row]) -> float:
    m = sum(w for y, _, w, _ in rows if y == 1)
    total = 0.0
    for y, s, w, _ in rows:
        if y == 1:
            tp = sum(v for z, t, v, _ in rows if z == 1 and t >= s)
            called = sum(v for _, t, v, _ in rows if t >= s)
            total += w * tp / called
    return total / m


def over_units(rows: Sequence[Row], influence: Sequence[float], which: int | None = None) -> dict[Any, float]:
    sums: dict[Any, float] = {}
    for (y, _, _, unit), u in zip(rows, influence, strict=True):
        if which in (None, y):
            sums[unit] = sums.get(unit, 0.0) + u
    return sums


def variance(rows: Sequence[Row], metric: str) -> float:
    influence = influences(rows, metric)
    both = over_units(rows, influence)
    units = len(both)
    if metric != "auc":
        return units / (units - 1) * sum(u * u for u in both.values())
    a, b = over_units(rows, influence, 1), over_units(rows, influence, 0)
    if len(a) < 2 or len(b) < 2:
        return math.nan
    cross = sum(a[c] * b[c] for c in a.keys() & b.keys())
    total = (
        len(a) / (len(a) - 1) * sum(u * u for u in a.values())
        + len(b) / (len(b) - 1) * sum(u * u for u in b.values())
        + 2 * units / (units - 1) * cross
    )
    return total if total >= 0 else units / (units - 1) * sum(u * u for u in both.values())


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    n = draw(st.integers(4, 14))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    score = draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))
    weight = draw(st.lists(st.sampled_from((0.5, 1.0, 2.0)), min_size=n, max_size=n))
    unit = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return [(a, b / 8, c, d) for a, b, c, d in zip(y, score, weight, unit, strict=True)]


@examples(60)
@given(rows=tables(), weighted=st.booleans(), clustered=st.booleans())
def test_variances_equal_loops_over_rows_and_patients(rows: list[Row], weighted: bool, clustered: bool) -> None:
    rows = [(y, s, w if weighted else 1.0, u if clustered else i) for i, (y, s, w, u) in enumerate(rows)]
    labels = {y for y, *_ in rows}
    if labels != {0, 1}:
        return
    frame = pl.DataFrame(rows, schema=["y", "score", "w", "unit"], orient="row").with_columns(group=pl.lit("x"))
    given: dict[str, Any] = {"weight": "w"} if weighted else {}
    if clustered:
        given["cluster"] = "unit"
    with pytest.MonkeyPatch.context() as monkeypatch:
        found = facts(frame, monkeypatch, y_true="y", y_score="score", attributes="group", **given)
    for metric, digits in (("auc", 1e-12), ("average_precision", 1e-6)):
        seen, expected = found[metric, "x"], variance(rows, metric) if len({u for *_, u in rows}) > 1 else math.nan
        if math.isnan(expected):
            assert seen["variance"] is None
        else:
            assert seen["variance"] == pytest.approx(expected, abs=digits)
    assert found["auc", "x"] == found["auc", "all"]


def test_worked_values_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    found = facts(T, monkeypatch, y_true="y", y_score="s1", attributes="group")
    assert found["auc", "all"]["pos_variance"] == pytest.approx(0.00229065255732, abs=1e-13)
    assert found["auc", "all"]["neg_variance"] == pytest.approx(0.00396261022928, abs=1e-13)
    assert found["auc", "C"]["variance"] == pytest.approx(0.0590277777778, abs=1e-12)
    assert found["average_precision", "all"]["variance"] == pytest.approx(0.0120904767117, abs=1e-12)
    assert found["average_precision", "C"]["variance"] == pytest.approx(0.0366427564396, abs=1e-12)
    assert found["tpr", "A"] == {**dict.fromkeys(FACTS), "variance": pytest.approx(0.04), "units": 5, "same": 5}


def test_worked_values_of_patients_and_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    found = facts(T, monkeypatch, y_true="y", y_score="s1", attributes="group", cluster="patient")
    auc = found["auc", "all"]
    assert auc["variance"] == pytest.approx(0.00520570344577, abs=1e-13)
    assert (auc["pos_units"], auc["neg_units"], auc["units"]) == (11, 10, 14)
    assert found["accuracy", "all"]["variance"] == pytest.approx(0.00596695156695, abs=1e-13)
    assert found["accuracy", "A"]["variance"] == pytest.approx(0.016, abs=1e-13)
    assert found["accuracy", "C"]["variance"] == pytest.approx(0.0138666666667, abs=1e-13)
    found = facts(T, monkeypatch, y_true="y", y_score="s1", attributes="group", weight="w")
    assert found["auc", "all"]["variance"] == pytest.approx(0.00463344329997, abs=1e-13)
    for label, units in ((1, "pos_units"), (0, "neg_units")):
        weights = [w for w, y in zip(W, Y, strict=True) if y == label]
        effective = sum(weights) ** 2 / sum(w * w for w in weights)
        assert found["auc", "all"][units] == pytest.approx(effective, abs=1e-12)


def test_scores_that_are_all_equal_have_no_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"y": [0, 1] * 5, "score": [0.3] * 10, "group": ["x"] * 10})
    found = facts(frame, monkeypatch, y_true="y", y_score="score", attributes="group")
    assert found["auc", "x"]["variance"] == 0.0


def test_a_missing_patient_is_an_error() -> None:
    frame = pl.DataFrame({"y": [0, 1, 1], "score": [0.1, 0.2, 0.3], "sex": ["F", "M", "F"], "who": ["a", None, "b"]})
    with pytest.raises(fmfair.FmfairError, match="cluster: column 'who' has 1 missing value"):
        fmfair.evaluate(frame, y_true="y", y_score="score", attributes="sex", cluster="who", ci=0.95)


@pytest.mark.parametrize("level", [95, 0.0, True, "high"])
def test_levels_that_are_none(level: Any) -> None:
    frame = pl.DataFrame({"y": [0, 1], "score": [0.1, 0.2], "sex": ["F", "M"]})
    with pytest.raises(fmfair.FmfairError, match="is not a level"):
        fmfair.evaluate(frame, ci=level)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(-8, 8)), min_size=4, max_size=20).filter(
        lambda rows: all(len({c for c, y, _ in rows if y == label}) > 1 for label in (0, 1))
    )
)
@examples(30, deadline=None)
def test_the_variance_of_an_auc_is_never_less_than_the_sandwich(rows: list[tuple[int, int, int]]) -> None:
    """So it is never negative, whatever the influences: no more patients have a positive than there are patients."""
    patients = sorted({c for c, _, _ in rows})
    sums = [[sum(u for c, y, u in rows if (c, y) == (p, label)) for p in patients] for label in (1, 0)]
    sandwich = len(patients) / (len(patients) - 1) * sum((a + b) ** 2 for a, b in zip(*sums, strict=True))
    unit = np.array([patients.index(c) for c, _, _ in rows], dtype=np.intp)
    of_cell = CellRows(pl.Series([0]), np.zeros(len(rows), dtype=np.intp), unit, None)
    y, influence = (np.array([row[i] for row in rows], dtype=np.float64) for i in (1, 2))

    assert auc_variance(of_cell, y, influence).item() >= sandwich - 1e-9
