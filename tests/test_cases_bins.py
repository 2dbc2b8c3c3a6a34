"""Bins of attributes and bins of scores: which side an edge belongs to, and what the bins are called."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lookup import DOORS, Door, by_group, from_arrays, gap, summary, warned

import fmfair
from fmfair import FmfairError
from fmfair.binning import bin_labels

# Patients of exactly 40 and 60 years.
AGE_TRUTH = [0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0]
AGE_SCORE = [0.2, 0.8, 0.3, 0.4, 0.1, 0.7, 0.9, 0.4, 0.6, 0.5, 0.2, 0.3]
AGE = [39.999, 40, 40, 59.5, 60, 60, 61, 18, 40, 59, 60, 70]
AGE_AUC = {"<40": 1.0, "40-60": 5 / 6, ">=60": 5 / 6}


@DOORS
@pytest.mark.parametrize(
    "bins", [[40, 60], [60, 40], (40.0, 60.0), [40, 60, 40], np.array([40, 60]), range(40, 61, 20)]
)
def test_fc32_cut_points_are_closed_on_the_left(door: Door, bins: Any) -> None:
    report = door(AGE_TRUTH, AGE_SCORE, AGE, bins={"group": bins})

    assert by_group(report, "auc", "n") == {"<40": 2, "40-60": 5, ">=60": 5}
    assert list(by_group(report, "auc")) == ["<40", "40-60", ">=60"]
    assert by_group(report, "auc") == pytest.approx(AGE_AUC, abs=1e-12)
    assert gap(report, "auc") == pytest.approx(1 / 6, abs=1e-12)
    # Closed on the right, 40 and 60 would move down: 5, 5 and 2 rows and a gap of 1/3.
    assert gap(report, "auc") != pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "age",
    [
        pd.Series(AGE, dtype="Float64"),
        pl.Series(AGE, dtype=pl.Float64),
        pa.array(AGE),
        np.array(AGE, dtype=object),
        [f"{a}" for a in AGE],
    ],
    ids=["pandas", "Polars", "Arrow", "object", "text"],
)
def test_fc32_ages_of_every_form_fall_into_the_same_bins(age: Any) -> None:
    report = fmfair.evaluate_arrays(AGE_TRUTH, AGE_SCORE, sensitive_features={"age": age}, bins={"age": [40, 60]})
    value, _ = warned(fmfair.auc_gap, AGE_TRUTH, AGE_SCORE, sensitive_features={"age": age}, bins={"age": [40, 60]})

    assert by_group(report, "auc") == pytest.approx(AGE_AUC, abs=1e-12)
    assert value == pytest.approx(1 / 6, abs=1e-12)


@DOORS
def test_fc32_values_outside_the_cut_points_and_infinite_ones_are_not_lost(door: Door) -> None:
    report = door([0, 1] * 3, [0.1, 0.9] * 3, [-math.inf, -5, 0, 1e9, math.inf, 150], bins={"group": [40, 60]})

    assert by_group(report, "auc", "n") == {"<40": 3, "40-60": 0, ">=60": 3}
    assert by_group(report, "auc", "note")["40-60"] == "no positives"


@DOORS
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_fc32_a_missing_age_is_missing_and_in_no_bin(door: Door, missing: Any) -> None:
    report = door([*AGE_TRUTH, 1], [*AGE_SCORE, 0.1], [*AGE, missing], bins={"group": [40, 60]})

    assert by_group(report, "auc", "n") == {"<40": 2, "40-60": 5, ">=60": 5}
    assert summary(report, "n") == 12
    assert [n for n in report.notes if "1 row with a missing value" in n]


@DOORS
def test_fc32_bins_sort_by_number_and_not_by_text(door: Door) -> None:
    report = door([0, 1] * 5, [0.1, 0.9] * 5, [1, 1, 9, 9, 15, 15, 95, 95, 150, 150], bins={"group": [5, 10, 90, 100]})

    assert list(by_group(report, "auc")) == ["<5", "5-10", "10-90", "90-100", ">=100"]


@pytest.mark.parametrize("name", ["age", "Age", " AGE "])
def test_fc32_an_age_without_bins_is_cut_and_the_report_says_so(name: str) -> None:
    report = fmfair.evaluate({"label": AGE_TRUTH, "prob": AGE_SCORE, name: AGE}, attributes=name)

    assert list(by_group(report, "auc")) == ["<18", "18-40", "40-60", "60-80", ">=80"]
    assert [n for n in report.notes if "cut at 18, 40, 60, 80 since no bins= were given" in n]


INCOME_TRUTH = [0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0]
INCOME_SCORE = [0.1, 0.6, 0.3, 0.8, 0.5, 0.4, 0.2, 0.9, 0.7, 0.3, 0.2, 0.6, 0.4, 0.5, 0.1, 0.8]
INCOME = [100001, 100002, 100003, 100004] * 4


@DOORS
@pytest.mark.parametrize("conventions", ["standard"])
def test_fc34_labels_keep_the_digits_that_tell_bins_apart(door: Door, conventions: str) -> None:
    report = door(INCOME_TRUTH, INCOME_SCORE, INCOME, bins={"group": [100002, 100003, 100004]}, conventions=conventions)

    assert by_group(report, "auc", "n") == {
        "<100002": 4,
        "100002-100003": 4,
        "100003-100004": 4,
        ">=100004": 4,
    }
    assert list(by_group(report, "auc").values()) == pytest.approx([0.5, 2 / 3, 0.5, 0.5], abs=1e-12)


@DOORS
def test_fc34_where_a_convention_prints_bins_alike_it_is_an_error(door: Door) -> None:
    with pytest.raises(FmfairError, match=r"with 4 digits the cut points 100002\.0, 100003\.0, 100004\.0 print alike"):
        door(INCOME_TRUTH, INCOME_SCORE, INCOME, bins={"group": [100002, 100003, 100004]}, conventions="fairmedfm")


@pytest.mark.parametrize(
    "edges",
    [
        [0.1 + 0.2, 0.3],
        [1e-300, 2e-300],
        [math.nextafter(1.0, 0), 1.0, math.nextafter(1.0, 2)],
        [1e15, 1e15 + 1, 1e16, 1e300],
        [-1.5, -0.5, 0.0, 1e-7],
        [2**53 - 1.0, 2**53],
    ],
)
def test_fc34_every_label_is_its_own_and_reads_back(edges: list[float]) -> None:
    edges = sorted(edges)
    labels = bin_labels(edges)
    number = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"

    assert len(set(labels)) == len(edges) + 1
    assert float(labels[0].removeprefix("<")) == edges[0]
    assert float(labels[-1].removeprefix(">=")) == edges[-1]
    for label, low, high in zip(labels[1:-1], edges[:-1], edges[1:], strict=True):
        match = re.fullmatch(f"({number})-({number})", label)
        assert match is not None
        assert (float(match[1]), float(match[2])) == (low, high)


@DOORS
def test_fc34_quantiles_of_close_values_get_their_own_labels(door: Door) -> None:
    report = door(INCOME_TRUTH, INCOME_SCORE, INCOME, bins={"group": 4})

    assert list(by_group(report, "auc", "n").values()) == [4, 4, 4, 4]
    assert len(by_group(report, "auc")) == 4


@DOORS
def test_fc34_coinciding_quantiles_are_merged_and_said(door: Door) -> None:
    report = door([0, 1] * 4, [0.1, 0.9] * 4, [1, 1, 1, 1, 1, 1, 2, 3], bins={"group": 4})

    # The quartiles of the column are 1, 1 and 1.25.
    assert by_group(report, "auc", "n") == {"<1": 0, "1-1.25": 6, ">=1.25": 2}
    assert [n for n in report.notes if "edges coincide; 3 bins are left" in n]


# Scores of exactly 0 and 1.
EDGE_TRUTH = [1, 0, 1, 1, 0, 0, 1]
EDGE_SCORE = [0.93, 1.0, 0.97, 0.0, 0.02, 0.04, 0.08]
EDGE_GROUP = [*"aaabbbb"]


@DOORS
def test_fc35_one_belongs_to_the_last_bin_and_zero_to_the_first(door: Door) -> None:
    report = door(EDGE_TRUTH, EDGE_SCORE, EDGE_GROUP)

    # a: |2.9 - 2| / 3, b: |0.14 - 2| / 4
    assert by_group(report, "ece") == pytest.approx({"a": 0.3, "b": 0.465}, abs=1e-12)
    assert gap(report, "ece") == pytest.approx(0.165, abs=1e-12)
    # A bin of its own for 1.0 gives (|1.9 - 2| + |1 - 0|) / 3.
    assert by_group(report, "ece")["a"] != pytest.approx(1.1 / 3)


@DOORS
def test_fc35_the_published_convention_cuts_the_range_of_each_group(door: Door) -> None:
    report = door(EDGE_TRUTH, EDGE_SCORE, EDGE_GROUP, conventions="fairmedfm")

    assert by_group(report, "ece") == pytest.approx({"a": 0.36666666666666664, "b": 0.495}, abs=1e-12)


def test_fc35_the_scalar_uses_the_same_bins_for_every_group() -> None:
    value, _ = warned(fmfair.ece_gap, EDGE_TRUTH, EDGE_SCORE, sensitive_features=EDGE_GROUP)

    assert value == pytest.approx(0.165, abs=1e-12)


# Scores on the edges of the bins.
ON_TRUTH = [0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1]
ON_SCORE = [0.1, 0.25, 0.3, 0.4, 0.6, 0.7, 0.75, 0.9, 0.05, 0.15, 0.29, 0.35, 0.55, 0.58, 0.7, 0.85]
ON_GROUP = ["a"] * 8 + ["b"] * 8


@DOORS
def test_fc37_a_score_on_an_edge_belongs_to_the_bin_above(door: Door) -> None:
    report = door(ON_TRUTH, ON_SCORE, ON_GROUP)

    assert by_group(report, "ece") == pytest.approx({"a": 0.3625, "b": 0.3025}, abs=1e-12)
    # Closed on the right, or with edges by addition: 0.425 for a.
    assert by_group(report, "ece")["a"] != pytest.approx(0.425, abs=1e-9)


def test_fc37_the_same_from_the_report_the_expression_the_scalar_and_a_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"label": ON_TRUTH, "prob": ON_SCORE, "site": ON_GROUP})
    frame.write_csv(tmp_path / "p.csv")
    expected = {"a": 0.3625, "b": 0.3025}

    by_expression = frame.group_by("site").agg(fmfair.metrics.ece("label", "prob")).rows()
    from_file = by_group(fmfair.evaluate(tmp_path / "p.csv"), "ece")
    difference, _ = warned(fmfair.ece_gap, ON_TRUTH, ON_SCORE, sensitive_features=ON_GROUP)

    assert dict(by_expression) == pytest.approx(expected, abs=1e-12)
    assert from_file == pytest.approx(expected, abs=1e-12)
    assert difference == pytest.approx(0.06, abs=1e-12)


@pytest.mark.parametrize("k", range(1, 10))
def test_fc37_every_edge_is_the_float_nearest_to_its_tenth(k: int) -> None:
    below = math.nextafter(k / 10, 0)

    # Two samples in one bin partly cancel, in two bins they do not.
    together = from_arrays([0, 1], [k / 10, (k + 0.5) / 10], ["a", "a"])
    apart = from_arrays([0, 1], [below, (k + 0.5) / 10], ["a", "a"])

    assert by_group(together, "ece")["a"] == pytest.approx(abs((2 * k + 0.5) / 10 - 1) / 2)
    assert by_group(apart, "ece")["a"] == pytest.approx((k / 10 + 1 - (k + 0.5) / 10) / 2)


def test_fc37_single_precision_is_compared_as_it_is() -> None:
    # A Float32 0.7 is 0.699999988 and lies below the edge.
    together = from_arrays([0, 1], pl.Series([0.7, 0.65], dtype=pl.Float32), ["a", "a"])
    apart = from_arrays([0, 1], pl.Series([0.7, 0.65], dtype=pl.Float64), ["a", "a"])

    assert by_group(together, "ece")["a"] == pytest.approx(0.175, abs=1e-7)
    assert by_group(apart, "ece")["a"] == pytest.approx(0.525)
