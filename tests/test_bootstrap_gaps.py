"""Gaps and pairs from replicates: limits and p values against definitions, both engines, patients, segmentations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from bootstrap_support import predictions, prepared
from scipy import stats

import fmfair
from fmfair.bootstrap.forms import ResampledForms
from fmfair.bootstrap.replicates import Replicates
from fmfair.intervals import LONG_ROW, Dependence, Values
from fmfair.metrics.registry import REGISTRY
from fmfair.options import Bootstrap

# With and without closed forms.
METRICS = ["auc", "f1", "mcc", "balanced_accuracy", "ece", "observed_expected"]


def quantile(values: Sequence[float], at: float) -> float:
    """Type 7, of what is defined."""
    ordered = sorted(v for v in values if not math.isnan(v))
    place = at * (len(ordered) - 1)
    before = math.floor(place)
    after = min(before + 1, len(ordered) - 1)
    return ordered[before] + (place - before) * (ordered[after] - ordered[before])


def evaluated(frame: pl.DataFrame | Path, **given: Any) -> fmfair.Report:
    return fmfair.evaluate(frame, **{"attributes": "sex", "by": [], "metrics": METRICS, **given})


def drawn(frame: pl.DataFrame, asked: Bootstrap, **given: Any) -> dict[str, list[list[float]]]:
    """By metric the values of the groups of the attribute in all replicates."""
    one = prepared(frame, **{"attributes": "sex", "metrics": METRICS, "bootstrap": asked, **given})
    values = one.replicates(asked).values
    rows = one.measured().with_row_index("at").filter(pl.col("grouping") == 0).sort("cell")
    return {metric: [values[row].tolist() for row in rows.filter(metric=metric)["at"]] for metric in rows["metric"]}


def gap_of(report: fmfair.Report, metric: str, statistic: str = "difference") -> dict[str, Any]:
    rows = report.gaps.filter((pl.col("metric") == metric) & (pl.col("statistic") == statistic))
    return rows.row(0, named=True)


@pytest.mark.parametrize("given", [{}, {"cluster": "patient"}, {"weight": "w"}])
def test_two_groups_have_the_percentiles_of_their_difference(given: dict[str, str]) -> None:
    table, asked = predictions(200, 3, decimals=2), Bootstrap(199, seed=5)
    report = evaluated(table, bootstrap=asked, **given)
    unit, groups = "patient" if "cluster" in given else "row", drawn(table, asked, **given)

    for metric in set(METRICS) - {"ece"}:
        first, second = groups[metric]
        differences = [a - b for a, b in zip(first, second, strict=True)]
        pair = report.pairs.filter(pl.col("metric") == metric).row(0, named=True)
        sign = 1 if pair["group"] == "F" else -1
        low, high = quantile(differences, 0.025), quantile(differences, 0.975)
        assert (pair["ci_low"], pair["ci_high"]) == pytest.approx((low, high) if sign == 1 else (-high, -low))
        sides = sum(d <= 0 for d in differences), sum(d >= 0 for d in differences)
        p = min(1.0, 2 * (1 + min(sides)) / (len(differences) + 1))
        gap = gap_of(report, metric)
        assert gap["p_value"] == pair["p_value"] == pytest.approx(p)
        assert (gap["ci_low"], gap["ci_high"]) == pytest.approx((max(0.0, low, -high), max(high, -low)))
        assert (
            gap["ci_method"] == gap["p_method"] == pair["ci_method"] == f"{unit} bootstrap, percentile, 199 replicates"
        )
        if REGISTRY[metric].low == 0:
            ratios = [a / b if sign == 1 else b / a for a, b in zip(first, second, strict=True)]
            expected = quantile(ratios, 0.025), quantile(ratios, 0.975)
            assert (pair["ratio_low"], pair["ratio_high"]) == pytest.approx(expected)


def test_bca_of_a_difference_takes_the_influences_of_both_groups() -> None:
    """Accuracy: the influence of a row is (right - accuracy) / n."""
    table, asked = predictions(150, 4), Bootstrap(499, "bca", seed=1)
    pair = evaluated(table, metrics="accuracy", bootstrap=asked).pairs.row(0, named=True)

    first, second = drawn(table, asked, metrics="accuracy")["accuracy"]
    cubes = squares = 0.0
    values = []
    for sign, sex in ((1, "F"), (-1, "M")):
        rows = table.filter(pl.col("sex") == sex)
        right = ((rows["prob"] >= 0.5) == (rows["label"] == 1)).cast(pl.Float64).to_list()
        values.append(sum(right) / len(right))
        cubes += sign * sum(((r - values[-1]) / len(right)) ** 3 for r in right)
        squares += sum(((r - values[-1]) / len(right)) ** 2 for r in right)
    acceleration, value = cubes / (6 * squares**1.5), values[0] - values[1]
    differences = [a - b for a, b in zip(first, second, strict=True)]
    below = sum(d < value - 1e-9 for d in differences) + sum(abs(d - value) <= 1e-9 for d in differences) / 2
    z0 = stats.norm.ppf(below / len(differences))
    levels = [
        stats.norm.cdf(z0 + (z0 + z) / (1 - acceleration * (z0 + z)))
        for z in (stats.norm.ppf(0.025), stats.norm.ppf(0.975))
    ]
    low, high = (quantile(differences, level) for level in levels)

    assert pair["group"] == "F"
    assert (pair["ci_low"], pair["ci_high"]) == pytest.approx((low, high), abs=1e-9)
    assert pair["ci_method"] == "row bootstrap, BCa, 499 replicates"
    assert (pair["p_value"] < 0.05) == (low > 0 or high < 0)


def test_three_groups_have_a_simultaneous_interval() -> None:
    table, asked = predictions(240, 6), Bootstrap(300, seed=2)
    report = evaluated(table, attributes="site", bootstrap=asked)
    q = stats.studentized_range.ppf(0.95, 3, np.inf) / math.sqrt(2)
    z = stats.norm.ppf(0.975)
    tail, groups_of = stats.norm.sf(q), drawn(table, asked, attributes="site")

    for metric in ("auc", "f1", "mcc", "observed_expected"):
        groups = report.groups.filter(pl.col("metric") == metric)
        value = groups["value"].to_list()
        limits = []
        for t, replicates in zip(value, groups_of[metric], strict=True):
            far = quantile(replicates, tail), quantile(replicates, 1 - tail)
            near = quantile(replicates, 0.025), quantile(replicates, 0.975)
            low, high = min(far[0], t - q / z * (t - near[0])), max(far[1], t + q / z * (near[1] - t))
            bounds = REGISTRY[metric].low, REGISTRY[metric].high
            low = low if bounds[0] is None else max(low, bounds[0])
            limits.append((low, high if bounds[1] is None else min(high, bounds[1])))
        lows, highs = [0.0], []
        for a, b in permutations(range(3), 2):
            difference = value[a] - value[b]
            lows.append(difference - math.hypot(value[a] - limits[a][0], limits[b][1] - value[b]))
            highs.append(difference + math.hypot(limits[a][1] - value[a], value[b] - limits[b][0]))
        gap = gap_of(report, metric)
        assert (gap["ci_low"], gap["ci_high"]) == pytest.approx((max(lows), max(highs)), rel=1e-6)
        assert gap["ci_method"] == "simultaneous, row bootstrap, percentile, 300 replicates"
        assert gap["ci_low"] <= gap["value"] <= gap["ci_high"]
        assert gap["chance_gap"] < gap["chance_gap_95"]
    assert gap_of(report, "auc")["p_method"] == "pooled placements, F"
    assert gap_of(report, "mcc")["p_value"] is None
    assert gap_of(report, "mcc", "worst")["ci_method"] == "worst of all, row bootstrap, percentile, 300 replicates"


@pytest.mark.parametrize("k", [2, 5, 30])
def test_gaps_of_equal_groups_hold_0_as_often_as_they_should(k: int) -> None:
    """Normal values of equal groups: here a percentile interval of the largest difference would never hold 0."""
    rng = np.random.default_rng(k)
    families, count = 400 if k < 30 else 60, 200
    value = rng.normal(0.7, 0.02, families * k)
    replicates = Replicates(value[:, None] + rng.normal(0, 0.02, (len(value), count)))
    spread = np.quantile(replicates.values, [0.025, 0.975], axis=1)
    rows = pl.DataFrame({"value": value, LONG_ROW: range(len(value)), "ci_low": spread[0], "ci_high": spread[1]})
    sizes = {c: pl.lit(n) for c, n in {"n": 900.0, "n_pos": 400.0, "denominator": 900.0, "units": 900.0}.items()}
    forms = ResampledForms(Dependence(), replicates, 0.95)

    family = np.repeat(np.arange(families), k)
    found = forms.gaps(Values(rows.with_columns(**sizes)), REGISTRY["mcc"], family, families, 0.95)

    assert (found.limits.low == 0).mean() > (0.9 if k == 2 else 0.93)
    values = value.reshape(families, k)
    assert (found.limits.high >= values.max(axis=1) - values.min(axis=1)).all()
    assert (found.limits.high > 0).all()


@pytest.mark.parametrize("given", [{"cluster": "patient"}, {"weight": "w", "sample_id": "row"}])
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_both_engines_and_any_order_of_the_rows_give_the_same(
    given: dict[str, str], method: str, tmp_path: Path
) -> None:
    table = predictions(240, 8, decimals=2).with_row_index("row")
    asked = {"attributes": ["sex", "site"], "bootstrap": Bootstrap(200, method, seed=9), **given}
    path = tmp_path / "table.parquet"
    table.sample(fraction=1, shuffle=True, seed=1).write_parquet(path)

    polars, duckdb = evaluated(table, **asked), evaluated(path, engine="duckdb", **asked)

    numbers = {
        "gaps": ["ci_low", "ci_high", "p_value", "chance_gap_95"],
        "pairs": ["ci_low", "ci_high", "p_value", "ratio_high"],
    }
    for name, columns in numbers.items():
        ours, theirs = (r.to_frame(name) for r in (polars, duckdb))
        for column in columns:
            assert ours[column].count() > 0
            np.testing.assert_allclose(
                ours[column].fill_null(-9), theirs[column].fill_null(-9), rtol=0, atol=1e-10, err_msg=column
            )
        assert ours.select(pl.col(pl.String)).equals(theirs.select(pl.col(pl.String)))


def test_groups_that_share_patients_are_compared_within_them() -> None:
    """Two views of each patient that agree: their difference varies less than two independent groups would."""
    rng = np.random.default_rng(1)
    y, score = rng.integers(0, 2, 150), rng.random(150)
    right = pl.DataFrame({"patient": range(150), "label": y, "prob": np.where(rng.random(150) < 0.8, y, 1 - y) * score})
    table = pl.concat([right.with_columns(view=pl.lit(view)) for view in ("AP", "PA")])
    table = table.with_columns(prob=pl.col("prob") + pl.when(pl.col("view") == "AP").then(0.002).otherwise(0.0))

    others = table.with_columns(patient=pl.col("patient") + 1_000 * (pl.col("view") == "PA"))

    def width(frame: pl.DataFrame, bootstrap: int | None) -> float:
        given = {"attributes": "view", "metrics": ["brier"], "cluster": "patient", "bootstrap": bootstrap}
        pair = evaluated(frame, **given).pairs.row(0, named=True)
        return float(pair["ci_high"] - pair["ci_low"])

    assert width(table, 200) < 0.05 * width(others, 200)
    assert width(table, None) < 0.05 * width(others, None)
    assert width(table, 200) == pytest.approx(width(table, None), rel=0.2)


def test_named_gaps_are_those_of_their_rates() -> None:
    report = evaluated(predictions(200, 2), metrics=["tpr", "fpr", "selection_rate"], bootstrap=200)
    wider = evaluated(predictions(200, 2), metrics=["tpr", "fpr"], bootstrap=200, ci=0.975)

    for column in ("ci_low", "ci_high", "p_value", "ci_method"):
        assert gap_of(report, "equal_opportunity")[column] == gap_of(report, "tpr")[column]
    odds = gap_of(report, "equalized_odds")
    halves = [gap_of(wider, rate)["ci_high"] for rate in ("tpr", "fpr")]
    assert max(halves) <= odds["ci_high"] <= 1.2 * max(halves)  # the tail of few replicates is drawn out
    assert odds["p_value"] == pytest.approx(min(1, 2 * min(gap_of(report, rate)["p_value"] for rate in ("tpr", "fpr"))))
    assert odds["p_method"].endswith("twice the smaller")


def test_an_error_of_calibration_has_limits_but_no_p_value_of_its_gap() -> None:
    report = evaluated(predictions(300, 2), metrics=["ece", "ece_quantile"], bootstrap=200)

    gap = gap_of(report, "ece")
    assert 0 <= gap["ci_low"] <= gap["value"] <= gap["ci_high"]
    assert (gap["p_value"], gap["ci_method"]) == (None, "simultaneous, row bootstrap, debiased, 200 replicates")
    assert gap_of(report, "ece_quantile")["ci_note"] == "a group has no interval"
    closed = evaluated(predictions(300, 2), metrics=["ece_quantile"])
    for note in (closed.overall["ci_note"].item(), gap_of(closed, "ece_quantile")["ci_note"]):
        assert note == "its bias is not known, and a resample adds it once more; no interval"


def test_calibration_is_tested_with_patients_drawn() -> None:
    """Four copies of each image are one image: rows taken for independent would refute calibration too often."""
    rng = np.random.default_rng(3)
    p = rng.random(120)
    once = pl.DataFrame({"prob": p, "label": (rng.random(120) < p).astype(int), "patient": range(120), "sex": "F"})
    wrong = once.with_columns(prob=pl.col("prob") ** 4)
    given = {"metrics": "ece", "cluster": "patient"}

    copied, refuted = (
        evaluated(pl.concat([t] * 4), bootstrap=400, **given).overall.row(0, named=True) for t in (once, wrong)
    )
    plain = evaluated(pl.concat([once] * 4), **given).overall.row(0, named=True)
    assert copied["p_value"] > 0.05
    assert refuted["p_value"] == pytest.approx(1 / 401)
    assert plain["p_value"] is None
    assert plain["ci_note"] == "no closed form, nor p value of patients; a bootstrap gives both"


def test_undefined_replicates_are_counted_beside_differences() -> None:
    """A group's rate of 6 rows is undefined in exp(-6) of the replicates."""
    one = pl.DataFrame({"label": [1, 1, 1, 1, 1, 0] + [1, 0] * 27, "prob": [0.9] * 6 + [0.1] * 54})
    both, three = (
        evaluated(
            pl.concat([one.with_columns(sex=pl.lit(sex)) for sex in groups]).with_row_index("id"),
            metrics="ppv",
            sample_id="id",
            bootstrap=2000,
        )
        for groups in ("FM", "FMX")
    )

    notes = [both.pairs["note"].item(), *(gap_of(report, "ppv")["ci_note"] for report in (both, three))]
    for note in notes:
        assert "replicates undefined and left out" in note
        assert 0 < int(note.split()[0]) < 40


def test_gaps_of_segmentations() -> None:
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {
            "dice": rng.uniform(0.6, 0.9, 240) + [0.05, 0.0] * 120,
            "sex": ["F", "M"] * 120,
            "site": ["x", "y", "z"] * 80,
            "patient": rng.integers(0, 80, 240),
        }
    )
    for method in ("percentile", "bca"):
        found, closed = (
            fmfair.evaluate_segmentation(table, attributes=["sex", "site"], cluster="patient", bootstrap=b)
            for b in (Bootstrap(1000, method), None)
        )
        names = {row["attribute"]: row for row in found.gaps.filter(statistic="difference").iter_rows(named=True)}
        assert names["sex"]["p_value"] < 0.01
        assert names["sex"]["ci_method"].startswith("patient bootstrap")
        assert names["site"]["ci_method"].startswith("simultaneous, patient bootstrap")
        for frame in ("gaps", "pairs"):
            ours, theirs = found.to_frame(frame), closed.to_frame(frame)
            for column in ("ci_low", "ci_high"):
                np.testing.assert_allclose(ours[column].fill_null(0), theirs[column].fill_null(0), atol=0.02)


def test_a_report_says_how_it_was_drawn() -> None:
    report = evaluated(predictions(100, 2), metrics=["auc"], bootstrap=Bootstrap(150, seed=7))
    assert report.metadata["bootstrap"] == {"replicates": 150, "method": "percentile", "seed": 7}
    assert "bootstrap: 150 replicates, method percentile, seed 7" in str(report)
    plain = evaluated(predictions(100, 2), metrics=["auc"])
    assert plain.metadata["bootstrap"] is None
    assert "bootstrap:" not in str(plain)
