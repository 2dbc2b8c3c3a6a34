"""Calibration intercept and slope, against scikit-learn, a root finder and the oracle."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from lookup import assert_honest, by_group, overall
from reference import Row, calibration_intercept, calibration_slope, sigmoid
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression

import fmfair
from fmfair.attributes import Attribute
from fmfair.fit import fit_cells
from fmfair.groupings import Grouping

METRICS = ["calibration_intercept", "calibration_slope"]


def report(y: list[int], p: list[float], g: list[str] | None = None, **options: Any) -> fmfair.Report:
    """The fits of a table of probabilities; one group where none are given."""
    frame = pl.DataFrame({"y": y, "p": p, "g": g or ["a"] * len(y), "w": options.pop("w", [1.0] * len(y))})
    options = {"score_type": "probability", **options}
    return fmfair.evaluate(frame, y_true="y", y_score="p", attributes="g", metrics=METRICS, **options)


def many(seed: int, count: int = 200) -> tuple[pl.DataFrame, list[tuple[list[float], list[int]]]]:
    """Many small data sets, each a group: calibrated, noisy, nearly separated, with ties and with outliers."""
    r = random.Random(seed)
    sets = []
    for _ in range(count):
        n = r.choice([2, 3, 4, 6, 12, 40])
        draw: Callable[[], float] = r.choice(
            [
                lambda: r.gauss(0, 2),
                lambda: r.choice([-1.0, 0.0, 1.0, 2.5]),
                lambda: r.choice([-300.0, -45.0, -8.0, 0.0, 0.5, 20.0, 300.0]),
                lambda: r.gauss(5, 0.01),
                lambda: r.gauss(0, 1) + 100 * (r.random() < 0.1),
            ]
        )
        x = [draw() for _ in range(n)]
        middle, kind = sorted(x)[n // 2], r.choice(["calibrated", "noise", "separated"])
        chance = {
            "calibrated": [sigmoid(v) for v in x],
            "noise": [0.5] * n,
            "separated": [float(v >= middle) for v in x],
        }
        y = [int(r.random() < p) for p in chance[kind]]
        y[r.randrange(n)] ^= 1
        sets.append((x, y))
    rows = {
        "g0": [i for i, (x, _) in enumerate(sets) for _ in x],
        "logit": [v for x, _ in sets for v in x],
        "y": [v for _, y in sets for v in y],
    }
    schema = {"g0": pl.UInt32, "logit": pl.Float64, "y": pl.Int64}
    return pl.DataFrame(rows, schema=schema).with_columns(by=pl.lit(0, pl.UInt32)), sets


@pytest.mark.parametrize("seed", range(3))
def test_all_cells_at_once_are_each_cell_alone(seed: int) -> None:
    frame, sets = many(seed)
    group = Attribute("group", "g0", tuple(map(str, range(len(sets)))), declared=False)
    found = fit_cells(frame, Grouping((group,)))
    expected = []
    for x, y in sets:
        rows = [Row(y=label, logit=logit) for logit, label in zip(x, y, strict=True)]
        expected.append((calibration_intercept(rows), calibration_slope(rows)))
    assert found["cell"].to_list() == list(range(len(sets)))
    for name, values in zip(METRICS, zip(*expected, strict=True), strict=True):
        assert found[name].is_null().to_list() == [v is None for v in values]
        assert found[name].drop_nulls().to_list() == pytest.approx(
            [v for v in values if v is not None], rel=1e-8, abs=1e-8
        )
        assert 0 < found[name].null_count() < len(sets)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_slope_is_that_of_scikit_learn_and_the_intercept_a_root(weighted: bool) -> None:
    rng = np.random.default_rng(3)
    logit = rng.normal(-0.5, 1.5, 400)
    y = (rng.random(400) < 1 / (1 + np.exp(-(0.4 + 0.7 * logit)))).astype(int)
    weight = rng.choice([0.5, 1.0, 3.0], 400) if weighted else np.ones(400)
    p = 1 / (1 + np.exp(-logit))
    model = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
    model.fit(np.log(p / (1 - p))[:, None], y, sample_weight=weight)

    def excess(a: float) -> float:
        return float((weight * (y - 1 / (1 + np.exp(-(a + logit))))).sum())

    found = report(y.tolist(), p.tolist(), w=weight.tolist(), weight="w" if weighted else None)
    assert overall(found, "calibration_slope") == pytest.approx(model.coef_.item(), rel=1e-7)
    assert overall(found, "calibration_intercept") == pytest.approx(brentq(excess, -5, 5, xtol=1e-14), abs=1e-10)


def test_a_calibrated_model_has_intercept_0_and_slope_1() -> None:
    p = [0.25] * 4 + [0.75] * 4 + [0.5] * 2
    found = report([1, 0, 0, 0, 1, 1, 1, 0, 1, 0], p)
    assert overall(found, "calibration_intercept") == pytest.approx(0.0, abs=1e-12)
    assert overall(found, "calibration_slope") == pytest.approx(1.0, abs=1e-12)


def test_logits_that_are_too_large_or_shifted_are_found_out() -> None:
    logits = [-2.0, -1.0, 0.0, 1.0, 2.0, 0.5, -0.5, 1.5]
    y = [0, 1, 0, 1, 1, 0, 0, 1]

    def fits(scale: float, shift: float) -> list[float]:
        frame = {"y": y, "z": [scale * z + shift for z in logits], "g": ["a"] * len(y)}
        found = fmfair.evaluate(frame, y_true="y", y_score="z", attributes="g", metrics=METRICS, score_type="logit")
        return found.overall["value"].to_list()

    intercept, slope = fits(1.0, 0.0)
    assert fits(1.0, 3.0) == pytest.approx([intercept - 3.0, slope])
    assert fits(2.0, 0.0)[1] == pytest.approx(slope / 2)
    assert fits(100.0, -700.0)[1] == pytest.approx(slope / 100)
    assert fits(1e-3, 0.0)[1] == pytest.approx(slope * 1000)
    assert fits(-1.0, 0.0)[1] == pytest.approx(-slope)


def test_logits_beside_the_probabilities_are_what_is_fitted() -> None:
    z = [-2.0, 0.5, -1.0, 60.0, 0.0, -70.0]
    y = [0, 1, 1, 1, 0, 0]
    frame = {"y": y, "p": [min(max(sigmoid(v), 0.0), 1.0) for v in z], "z": z, "g": ["a"] * 6}
    found = fmfair.evaluate(
        frame, y_true="y", y_score="p", y_logit="z", attributes="g", metrics=METRICS, score_type="probability"
    )
    rows = [Row(y=label, logit=logit) for logit, label in zip(z, y, strict=True)]
    expected = [float(f(rows) or 0) for f in (calibration_intercept, calibration_slope)]
    assert found.overall["value"].to_list() == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9]),
        ([1, 1, 0, 0], [0.1, 0.2, 0.7, 0.9]),
        ([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9]),  # one score that both classes share does not hold the slope
        ([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.9]),
        ([0, 1], [0.4, 0.6]),
    ],
)
def test_separated_classes_have_no_slope_but_an_intercept(y: list[int], p: list[float]) -> None:
    found = report(y, p)
    assert overall(found, "calibration_slope") is None
    assert overall(found, "calibration_slope", "note") == "the scores separate the classes, no finite slope"
    assert overall(found, "calibration_intercept") is not None
    assert overall(found, "calibration_intercept", "note") is None


def test_equal_scores_have_no_slope_and_the_intercept_of_the_prevalence() -> None:
    found = report([1, 0, 0, 0], [0.4] * 4)
    assert overall(found, "calibration_slope", "note") == "all scores are equal"
    assert overall(found, "calibration_intercept") == pytest.approx(math.log(1 / 3) - math.log(0.4 / 0.6))


@pytest.mark.parametrize("edge", [0.0, 1.0])
def test_a_score_of_exactly_0_or_1_has_no_logit(edge: float) -> None:
    found = report([1, 0, 1, 0] * 2, [0.6, 0.5, 0.4, 0.7, 0.6, 0.5, 0.4, edge], ["a"] * 4 + ["b"] * 4)
    for metric in METRICS:
        assert by_group(found, metric)["a"] is not None
        assert by_group(found, metric)["b"] is None
        assert by_group(found, metric, "note")["b"] == "scores of exactly 0 or 1 have no logit"
        assert overall(found, metric) is None
    assert_honest(found)


def test_the_largest_score_below_1_has_a_logit() -> None:
    found = report([1, 0, 1, 0], [math.nextafter(1.0, 0.0), 0.5, 0.4, 5e-324])
    assert overall(found, "calibration_intercept") is not None
    assert overall(found, "calibration_slope") is not None


@pytest.mark.parametrize(("label", "reason"), [(0, "no positives"), (1, "no negatives")])
def test_one_class_has_neither(label: int, reason: str) -> None:
    found = report([1, 0, 1, 0, label, label], [0.6, 0.5, 0.4, 0.7, 0.2, 0.8], ["a"] * 4 + ["b"] * 2)
    for metric in METRICS:
        assert by_group(found, metric)["b"] is None
        assert by_group(found, metric, "note")["b"] == reason


@pytest.mark.parametrize(
    ("logits", "y", "intercept"),
    [
        ([300.0, 300.0], [1, 0], -300.0),
        ([-600.0, -600.0, -600.0], [1, 0, 0], 600.0 + math.log(1 / 2)),
        ([300.0, -300.0], [0, 1], 0.0),
        ([40.0, -40.0], [1, 0], 0.0),
        ([200.0, 100.0, 100.0], [1, 1, 0], -100.0),
    ],
)
def test_the_intercept_is_found_where_every_score_is_saturated(
    logits: list[float], y: list[int], intercept: float
) -> None:
    frame = {"y": y, "z": logits, "g": ["a"] * len(y)}
    found = fmfair.evaluate(frame, y_true="y", y_score="z", attributes="g", metrics=METRICS, score_type="logit")
    assert overall(found, "calibration_intercept") == pytest.approx(intercept, abs=1e-9)
