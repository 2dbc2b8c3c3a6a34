"""Comparisons of models against the published worked values, and against loops over pairs, rows and patients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from statistics_data import GROUP, PATIENT, S1, S2, Y

import fmfair

CLOSE = 1e-9


def two_models(first: Sequence[float] = S1, second: Sequence[float] = S2) -> pl.DataFrame:
    """The worked example as a table of two models."""
    n = len(Y)
    return pl.DataFrame(
        {
            "model": ["s1"] * n + ["s2"] * n,
            "image_id": [*range(n)] * 2,
            "label": [*Y] * 2,
            "score": [*first, *second],
            "group": [*GROUP] * 2,
            "patient": [*PATIENT] * 2,
        }
    )


def row(frame: pl.DataFrame, **where: Any) -> dict[str, Any]:
    """The one row of a frame with these values."""
    found = frame.filter(pl.all_horizontal(pl.col(k).eq_missing(pl.lit(v)) for k, v in where.items()))
    return found.row(0, named=True) if found.height == 1 else pytest.fail(f"{found.height} rows")


def test_paired_auc_of_the_worked_example() -> None:
    found = fmfair.compare(two_models(), baseline="s2", attributes="group", metrics="auc")
    whole = row(found.differences, attribute=None)
    assert whole["value_baseline"] == pytest.approx(0.884444444444, abs=CLOSE)
    assert whole["p_value"] == pytest.approx(0.487154624653, abs=CLOSE)
    assert (whole["ci_low"], whole["ci_high"]) == pytest.approx((-0.161319933704, 0.0768754892591), abs=CLOSE)
    assert whole["ci_method"] == "paired DeLong, z"


def test_paired_auc_with_patients_of_the_worked_example() -> None:
    found = fmfair.compare(two_models(), baseline="s2", attributes="group", metrics="auc", cluster="patient")
    whole = row(found.differences, attribute=None)
    z = -0.823069115234
    t_975_with_9_df = 2.262157162740992
    error = whole["difference"] / z
    assert whole["ci_high"] == pytest.approx(whole["difference"] + t_975_with_9_df * error, abs=CLOSE)
    assert whole["ci_method"] == "paired Obuchowski, t"


def test_difference_of_gaps_of_the_worked_example() -> None:
    frame = two_models().filter(pl.col("group") != "B")
    found = fmfair.compare(frame, baseline="s2", attributes="group", metrics=["auc", "accuracy"])
    auc, accuracy = (row(found.gaps, metric=metric) for metric in ("auc", "accuracy"))
    assert auc["difference"] == pytest.approx(0.105, abs=CLOSE)
    assert auc["p_value"] == pytest.approx(0.4358945124, abs=CLOSE)
    assert auc["ci_high"] - auc["ci_low"] == pytest.approx(2 * 1.959963984540054 * math.sqrt(0.0181611111111), abs=1e-8)
    # Welch's t with variances of 0.01 in A and 0 in C has the 9 degrees of freedom of A.
    assert accuracy["difference"] == pytest.approx(-0.1, abs=CLOSE)
    assert accuracy["ci_high"] - accuracy["ci_low"] == pytest.approx(2 * 2.262157162740992 * 0.1, abs=CLOSE)


def test_paired_accuracy_of_the_worked_example() -> None:
    found = fmfair.compare(two_models(), baseline="s2", attributes="group", metrics="accuracy")
    whole = row(found.differences, attribute=None)
    assert (whole["ci_low"], whole["ci_high"]) == pytest.approx((-0.254491623847, 0.0482061125483), abs=CLOSE)
    assert whole["ci_method"] == "Newcombe, paired"


def test_identical_models_do_not_differ() -> None:
    found = fmfair.compare(two_models(S1, S1), attributes="group", metrics="all", thresholds=[0.5, "youden"])
    known = found.differences.drop_nulls("difference")
    assert known["difference"].abs().max() == 0
    closed = found.differences.filter(pl.col("ci_method").is_not_null())
    assert closed["metric"].n_unique() == 10  # rates, whose limits do not come from the differences
    assert set(closed["p_value"]) == {1.0}
    assert ((closed["ci_low"] <= 0) & (closed["ci_high"] >= 0)).all()
    assert (closed["ci_low"] < closed["ci_high"]).all()
    auc = found.differences.filter(pl.col("metric") == "auc")
    assert auc.select("ci_low", "ci_high", "p_value").unique().rows() == [(None, None, 1.0)]
    assert auc["note"].unique().to_list() == ["too few rows or patients, or none whose difference varies"]
    assert found.gaps["difference"].drop_nulls().abs().max() == 0
    assert found.tradeoff["not_beaten"].all()


@pytest.mark.parametrize("bootstrap", [None, 100])
def test_an_attribute_that_is_missing_everywhere_has_no_gaps(bootstrap: int | None) -> None:
    frame = two_models().with_columns(none=pl.lit(None, pl.String))
    found = fmfair.compare(frame, attributes="none", metrics=["auc", "tp"], bootstrap=bootstrap)
    assert found.differences["attribute"].unique().to_list() == [None]
    assert found.gaps["difference"].count() == 0
    assert found.gaps["note"].null_count() == 0
    assert str(found)


def psi(a: float, b: float) -> float:
    return 1.0 if a > b else 0.5 if a == b else 0.0


Sample = tuple[int, float, float, Any, float]  # label, score, weight, patient, threshold


def auc(rows: Sequence[Sample]) -> float:
    pairs = [(w * v, psi(s, r)) for y, s, w, *_ in rows if y for z, r, v, *_ in rows if not z]
    return sum(w * p for w, p in pairs) / sum(w for w, _ in pairs)


def average_precision(rows: Sequence[Sample]) -> float:
    total, m = 0.0, sum(w for y, _, w, *_ in rows if y)
    for y, s, w, *_ in rows:
        if y:
            called = [(v * z, v) for z, r, v, *_ in rows if r >= s]
            total += w * sum(p for p, _ in called) / sum(v for _, v in called)
    return total / m


def mean_where(hit: Callable[[int, bool], bool], counted: Callable[[int, bool], bool]) -> Callable[..., float]:
    def rate(rows: Sequence[Sample]) -> float:
        inside = [(w, hit(y, s >= t)) for y, s, w, _, t in rows if counted(y, s >= t)]
        return sum(w * x for w, x in inside) / sum(w for w, _ in inside)

    return rate


def brier(rows: Sequence[Sample]) -> float:
    return sum(w * (s - y) ** 2 for y, s, w, *_ in rows) / sum(w for _, _, w, *_ in rows)


VALUES: dict[str, Callable[[Sequence[Sample]], float]] = {
    "auc": auc,
    "average_precision": average_precision,
    "brier": brier,
    "tpr": mean_where(lambda _, called: called, lambda y, _: bool(y)),
    "accuracy": mean_where(lambda y, called: bool(y) == called, lambda _y, _c: True),
    "ppv": mean_where(lambda y, _: bool(y), lambda _, called: called),
}


def influences(rows: Sequence[Sample], metric: str) -> list[float]:
    """The derivative by the weight of every row, from a central difference."""
    found = []
    for i, (y, s, w, unit, t) in enumerate(rows):
        step = 1e-5
        ends = [VALUES[metric]([*rows[:i], (y, s, w + d, unit, t), *rows[i + 1 :]]) for d in (step, -step)]
        found.append(w * (ends[0] - ends[1]) / (2 * step))
    return found


def variance(metric: str, one: Sequence[Sample], other: Sequence[Sample]) -> float:
    """The variance of the difference of two values of the same rows, by loops over patients."""
    apart = [b - a for a, b in zip(influences(one, metric), influences(other, metric), strict=True)]
    patients = {unit for *_, unit, _ in one}

    def over(u: Sequence[float], counted: Sequence[bool]) -> tuple[list[float], int]:
        sums = [sum(x for x, r in zip(u, one, strict=True) if r[3] == p) for p in patients]
        return sums, len({r[3] for r, c in zip(one, counted, strict=True) if c})

    if metric != "auc":
        carried = [
            {"tpr": bool(a[0]), "ppv": a[1] >= a[4] or b[1] >= b[4]}.get(metric, True)
            for a, b in zip(one, other, strict=True)
        ]
        sums, count = over(apart, carried)
        return count / (count - 1) * sum(x * x for x in sums)
    pos, i_pos = over([x * r[0] for x, r in zip(apart, one, strict=True)], [r[0] == 1 for r in one])
    neg, i_neg = over([x * (1 - r[0]) for x, r in zip(apart, one, strict=True)], [r[0] == 0 for r in one])
    n = len(patients)
    total = i_pos / (i_pos - 1) * sum(a * a for a in pos) + i_neg / (i_neg - 1) * sum(b * b for b in neg)
    total += 2 * n / (n - 1) * sum(a * b for a, b in zip(pos, neg, strict=True))
    return total if total >= 0 else n / (n - 1) * sum((a + b) ** 2 for a, b in zip(pos, neg, strict=True))


def random_models(seed: int, n: int = 45) -> pl.DataFrame:
    """Two models on samples of patients who may be in both groups."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    scores = [np.clip(np.round(0.3 * y + random.random(n) * 0.7, 1), 0, 1) for _ in range(2)]
    sample = {
        "image_id": np.arange(n),
        "label": y,
        "view": random.choice(["AP", "PA"], n),
        "patient": random.integers(0, 25, n),
        "weight": random.choice([1.0, 2.0, 0.5], n),
    }
    return pl.concat(
        pl.DataFrame({"model": [name] * n, **sample, "score": s}) for name, s in zip("ab", scores, strict=True)
    )


def samples_of(frame: pl.DataFrame, model: str, unit: str, *, weighted: bool) -> list[Sample]:
    rows = frame.filter(pl.col("model") == model)
    weight = rows["weight"] if weighted else [1.0] * rows.height
    return list(zip(rows["label"], rows["score"], weight, rows[unit], [0.5] * rows.height, strict=True))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unit", ["image_id", "patient"])
@pytest.mark.parametrize("seed", [1, 2])
def test_differences_agree_with_loops(seed: int, unit: str, weighted: bool) -> None:
    frame = random_models(seed)
    found = fmfair.compare(
        frame,
        attributes="view",
        metrics=list(VALUES),
        cluster="patient" if unit == "patient" else None,
        weight="weight" if weighted else None,
    )
    for group in (None, "AP", "PA"):
        part = frame if group is None else frame.filter(pl.col("view") == group)
        one, other = (samples_of(part, m, unit, weighted=weighted) for m in "ab")
        for metric, value in VALUES.items():
            got = row(found.differences, group=group, metric=metric)
            assert got["difference"] == pytest.approx(value(other) - value(one), abs=1e-12)
            if metric in ("auc", "average_precision", "brier"):
                units: dict[int, float] = {key: len({r[3] for r in one if r[0] == key}) for key in (0, 1)}
                if unit == "image_id":  # as many of equal weight as count the same; all where there are no weights
                    weights = [r[2] for r in one if r[0] == 1]
                    units[1] = sum(weights) ** 2 / sum(w * w for w in weights)
                df = {"auc": min(units.values()), "average_precision": units[1]}.get(metric, len({r[3] for r in one}))
                reach = t_critical(math.inf if metric == "auc" and unit == "image_id" else df - 1)
                assert got["ci_high"] - got["difference"] == pytest.approx(
                    reach * math.sqrt(variance(metric, one, other)), rel=1e-6
                )


def t_critical(df: float) -> float:
    from scipy import stats

    return float(stats.norm.ppf(0.975) if math.isinf(df) else stats.t.ppf(0.975, df))


@pytest.mark.parametrize("unit", ["image_id", "patient"])
@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("metric", ["tpr", "ppv", "accuracy"])
def test_rates_are_correlated_as_their_influences_are(seed: int, unit: str, metric: str) -> None:
    """The interval of a difference of rates follows from those of the rates and the correlation of their influences."""
    frame = random_models(seed)
    cluster = None if unit == "image_id" else "patient"
    found = row(fmfair.compare(frame, attributes="view", metrics=metric, cluster=cluster).differences, attribute=None)
    alone = fmfair.evaluate(frame, by="model", attributes="view", metrics=metric, cluster=cluster, ci=0.95).overall
    (a, l1, u1), (b, l2, u2) = alone.sort("model").select("value", "ci_low", "ci_high").rows()
    one, other = (samples_of(frame, m, unit, weighted=False) for m in "ab")
    sums = []
    for rows in (one, other):
        u = influences(rows, metric)
        sums.append([sum(x for x, r in zip(u, rows, strict=True) if r[3] == p) for p in sorted({r[3] for r in rows})])
    square = [sum(x * x for x in s) for s in sums]
    r = sum(x * z for x, z in zip(*sums, strict=True)) / math.sqrt(square[0] * square[1])
    low = b - a - math.sqrt((b - l2) ** 2 + (u1 - a) ** 2 - 2 * r * (b - l2) * (u1 - a))
    high = b - a + math.sqrt((u2 - b) ** 2 + (a - l1) ** 2 - 2 * r * (u2 - b) * (a - l1))
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((low, high), abs=1e-7)
    assert (found["p_value"] < 0.05) == (low > 0 or high < 0)


@pytest.mark.parametrize("seed", [5, 6, 7])
@pytest.mark.parametrize("metric", ["auc", "tpr", "brier"])
def test_gaps_with_patients_in_both_groups_agree_with_loops(seed: int, metric: str) -> None:
    frame = random_models(seed)
    found = fmfair.compare(frame, attributes="view", metrics=metric, cluster="patient").gaps.row(0, named=True)
    values, signed, apart = {}, {}, {}
    for view in ("AP", "PA"):
        part = frame.filter(pl.col("view") == view)
        for model in "ab":
            rows = samples_of(part, model, "patient", weighted=False)
            values[model, view] = VALUES[metric](rows)
            apart[model, view] = list(
                zip([r[3] for r in rows], influences(rows, metric), [r[0] for r in rows], strict=True)
            )
    for model in "ab":
        larger = values[model, "AP"] > values[model, "PA"]
        signed[model] = {"AP": 1.0 if larger else -1.0, "PA": -1.0 if larger else 1.0}
    gap = {m: abs(values[m, "AP"] - values[m, "PA"]) for m in "ab"}
    assert found["difference"] == pytest.approx(gap["b"] - gap["a"], abs=1e-12)
    patients = {p for one in apart.values() for p, _, y in one if metric != "tpr" or y}
    total: dict[Any, float] = dict.fromkeys(patients, 0.0)
    of_cells = 0.0
    factor = len(patients) / (len(patients) - 1)
    variances = 0.0
    for view in ("AP", "PA"):
        units: dict[Any, float] = {}
        part = frame.filter(pl.col("view") == view)
        for model, way in (("a", -1.0), ("b", 1.0)):
            for p, u, _ in apart[model, view]:
                units[p] = units.get(p, 0.0) + way * signed[model][view] * u
        for p, u in units.items():
            total[p] = total.get(p, 0.0) + u
        of_cells += sum(u * u for u in units.values())
        if signed["a"] == signed["b"]:
            variances += variance(metric, *(samples_of(part, m, "patient", weighted=False) for m in "ab"))
    if signed["a"] != signed["b"]:
        assert found["note"].startswith("the models favour different groups")
        return
    joint = variances + factor * (sum(u * u for u in total.values()) - of_cells)
    error = math.sqrt(joint)
    assert found["ci_high"] - found["difference"] == pytest.approx(t_critical(len(patients) - 1) * error, rel=1e-6)
