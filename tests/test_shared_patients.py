"""Patients in several groups of an attribute: differences of two groups take account of it, and a note says so."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from bootstrap_support import prepared
from engines import assert_same_frames, both
from scipy import stats
from small_tables import T
from statistics_data import PATIENT, S1, W, Y
from test_spread import influences as row_influences

import fmfair
from fmfair.bootstrap.acceleration import influences
from fmfair.units import cell_rows

COLUMNS: dict[str, Any] = {"y_true": "y", "y_score": "s1", "cluster": "patient", "by": []}
# Odd and even rows, as two views of every patient: the groups A, B and C share none.
VIEWS = T.with_columns(view=pl.Series(["AP", "PA"] * 15), bed=pl.Series(["AP", "PA", None] * 10))


def told(report: fmfair.Report) -> list[str]:
    return [note for note in report.notes if "patients have rows in several groups" in note]


def test_attributes_whose_groups_share_patients_are_named() -> None:
    for report in both(VIEWS, **COLUMNS, attributes=["group", "view", "bed"], intersections=2):
        (note,) = told(report)
        assert note == (
            "'view', 'bed': some patients have rows in several groups; intervals and tests of two groups allow for that"
        )


@pytest.mark.parametrize(
    "given",
    [
        {"attributes": "group"},
        {"attributes": "view", "cluster": None},
        {"attributes": "view", "ci": None},
        {"attributes": "view", "bootstrap": 100},
        # The rows of the two with the attribute are of other patients.
        {"attributes": "half"},
    ],
)
def test_nothing_is_said_without_need(given: dict[str, Any]) -> None:
    half = pl.when(pl.col("patient") < 5).then(pl.lit("x")).when(pl.col("patient") > 9).then(pl.lit("y"))

    assert not told(fmfair.evaluate(VIEWS.with_columns(half=half), **{**COLUMNS, **given}))


def test_a_bootstrap_of_more_than_two_groups_takes_no_account_of_it() -> None:
    three = VIEWS.with_columns(view=pl.Series(["AP", "PA", "LL"] * 10))

    told_of = "allow for that; of more groups they do not, and may be too narrow or too wide"
    for bootstrap in (100, None):
        (note,) = told(fmfair.evaluate(three, **COLUMNS, attributes="view", metrics="tpr", bootstrap=bootstrap))
        assert told_of in note


def test_a_segmentation_says_so_too() -> None:
    dice = VIEWS.select("view", "patient", dice="s1")

    report = fmfair.evaluate_segmentation(dice, attributes="view", cluster="patient")
    assert told(report)
    rows = [(y, s, 1.0, c) for y, s, c in zip(Y, S1, PATIENT, strict=True)]
    _assert_joint(report, "dice", {"AP": _means(rows[::2], all_rows=True), "PA": _means(rows[1::2], all_rows=True)})


def test_influences_give_the_worked_covariance_of_groups_that_share_patients() -> None:
    every = prepared(VIEWS, y_true="y", y_score="s1", attributes="view", cluster="patient", metrics="auc")
    patient = every.engine.frame["unit"].to_numpy()
    found = []
    for grouping in (every.groupings[0], every.groupings[-1]):
        rows = cell_rows(every.engine.frame, every.engine.profiles, grouping)
        (influence,) = influences(every.engine, grouping, rows)
        of_patients = np.zeros((len(rows.numbers), 14))
        np.add.at(of_patients, (rows.cell, patient), influence.values)
        found.append(14 / 13 * of_patients @ of_patients.T)

    views, whole = found
    assert views[0, 1] == pytest.approx(-0.00389127523863, abs=1e-12)
    assert views[0, 0] + views[1, 1] - 2 * views[0, 1] == pytest.approx(0.0304615664947, abs=1e-12)
    assert whole.item() == pytest.approx(0.00502557011713, abs=1e-12)
    values = fmfair.evaluate(VIEWS, **COLUMNS, attributes="view", metrics="auc").groups["value"]
    assert values.to_list() == pytest.approx([0.848214285714] * 2, abs=1e-12)


Row = tuple[int, float, float, Any]


def _means(rows: list[Row], *, all_rows: bool = False, metric: str = "") -> dict[Any, float]:
    """The influence of each patient on a mean: of the scores, or a rate at 0.5; patients without a row are left out."""
    of = rows if all_rows or metric == "accuracy" else [row for row in rows if row[0] == 1]
    value = [s if all_rows else float((s >= 0.5) == (y == 1)) for y, s, _, _ in of]
    total = sum(w for _, _, w, _ in of)
    mean = sum(w * x for (_, _, w, _), x in zip(of, value, strict=True)) / total
    found: dict[Any, float] = {}
    for (_, _, w, c), x in zip(of, value, strict=True):
        found[c] = found.get(c, 0.0) + w * (x - mean) / total
    return found


def _of_patients(rows: list[Row], metric: str) -> dict[Any, float]:
    """The influence of each patient on a ranking, by loops."""
    found: dict[Any, float] = {}
    for (_, _, _, c), u in zip(rows, row_influences(rows, metric), strict=True):
        found[c] = found.get(c, 0.0) + u
    return found


def _assert_joint(report: fmfair.Report, metric: str, of: dict[str, dict[Any, float]], near: float = 1e-9) -> None:
    """The pair AP and PA and their gap have MOVER's limits with the correlation of the patients' influences."""
    u, v = of["AP"], of["PA"]
    together = sum(u[c] * v[c] for c in u if c in v)
    r = together / math.sqrt(sum(x * x for x in u.values()) * sum(x * x for x in v.values()))
    sure = {row["group"]: row for row in report.groups.filter(pl.col("metric") == metric).iter_rows(named=True)}
    (pair,) = report.pairs.filter(pl.col("metric") == metric).iter_rows(named=True)
    one, other = sure[pair["group"]], sure[pair["other_group"]]
    down = one["value"] - one["ci_low"], other["ci_high"] - other["value"]
    up = one["ci_high"] - one["value"], other["value"] - other["ci_low"]
    d = one["value"] - other["value"]
    low = d - math.sqrt(down[0] ** 2 + down[1] ** 2 - 2 * r * down[0] * down[1])
    high = d + math.sqrt(up[0] ** 2 + up[1] ** 2 - 2 * r * up[0] * up[1])
    assert (pair["ci_low"], pair["ci_high"]) == pytest.approx((low, high), abs=near)
    assert pair["ci_method"].startswith("shared patients, MOVER, ")
    # A ratio is a limit where the interval of one less ratio times other touches 0.
    for ratio, (a, b) in ((pair["ratio_low"], down), (pair["ratio_high"], up)):
        if ratio is not None:
            reach = math.sqrt(a**2 + (ratio * b) ** 2 - 2 * r * a * ratio * b)
            assert abs(one["value"] - ratio * other["value"]) == pytest.approx(reach, abs=near)

    at = (pl.col("metric") == metric) & (pl.col("statistic") == "difference")
    gap = report.gaps.row(by_predicate=at, named=True)
    assert (gap["ci_low"], gap["ci_high"]) == pytest.approx((max(0.0, low, -high), min(max(high, -low), 1.0)), abs=near)
    assert (gap["p_value"], gap["p_method"]) == (pair["p_value"], "influence, t")


@pytest.mark.parametrize("given", [{}, {"weight": "w"}])
@pytest.mark.parametrize("metric", ["auc", "average_precision", "tpr", "accuracy"])
def test_two_groups_that_share_patients_have_the_limits_of_loops_over_patients(
    metric: str, given: dict[str, str]
) -> None:
    weight = W if given else [1.0] * 30
    rows = list(zip(Y, S1, weight, PATIENT, strict=True))
    ranked = metric in ("auc", "average_precision")
    of = {
        view: _of_patients(some, metric) if ranked else _means(some, metric=metric)
        for view, some in (("AP", rows[::2]), ("PA", rows[1::2]))
    }

    near = 1e-6 if metric == "average_precision" else 1e-9  # its influences are differences
    for report in both(VIEWS, 1e-9 if given else 1e-12, **COLUMNS, attributes="view", metrics=metric, **given):
        _assert_joint(report, metric, of, near)


def test_a_negative_covariance_widens_the_worked_interval_and_counts_in_its_test() -> None:
    apart = VIEWS.with_columns(patient=pl.col("patient") + 100 * (pl.col("view") == "PA"))
    independent = fmfair.evaluate(apart, **COLUMNS, attributes="view", metrics="auc")
    plain, by_chance = independent.pairs.row(0, named=True), independent.gaps["chance_gap"][0]

    for report in both(VIEWS, **COLUMNS, attributes="view", metrics="auc"):
        pair, gap = report.pairs.row(0, named=True), report.gaps.row(0, named=True)
        assert pair["ci_low"] < plain["ci_low"]
        assert pair["ci_high"] > plain["ci_high"]
        assert pair["difference"] == pytest.approx(0.0, abs=1e-12)
        assert pair["p_value"] == pytest.approx(1.0, abs=1e-9)
        assert gap["chance_gap"] > by_chance
    moved = VIEWS.with_columns(s1=pl.when(pl.int_range(30) == 4).then(0.01).otherwise("s1"))
    rows = [(y, s, 1.0, c) for y, s, c in moved.select("y", "s1", "patient").iter_rows()]
    u, v = (_of_patients(rows[start::2], "auc") for start in (0, 1))
    variance = sum(_obuchowski(rows[start::2]) for start in (0, 1)) - 2 * 14 / 13 * sum(
        u[c] * v[c] for c in u if c in v
    )
    for report in both(moved, **COLUMNS, attributes="view", metrics="auc"):
        pair = report.pairs.row(0, named=True)
        expected = 2 * stats.t.sf(abs(pair["difference"]) / math.sqrt(variance), 13)
        assert pair["difference"] != 0
        assert pair["p_value"] == pytest.approx(expected, abs=1e-9)


def _obuchowski(rows: list[Row]) -> float:
    of_class: list[dict[Any, float]] = [{}, {}]
    for (y, _, _, c), u in zip(rows, row_influences(rows, "auc"), strict=True):
        of_class[y][c] = of_class[y].get(c, 0.0) + u
    (neg, pos), units = of_class, len({c for *_, c in rows})
    own = sum(len(side) / (len(side) - 1) * sum(x * x for x in side.values()) for side in (pos, neg))
    return own + 2 * units / (units - 1) * sum(pos[c] * neg[c] for c in pos if c in neg)


def test_patients_who_are_alike_in_both_groups_leave_no_interval_of_no_width() -> None:
    same = pl.concat([T.with_columns(view=pl.lit(view)) for view in ("AP", "PA")])

    for report in both(same, **COLUMNS, attributes="view", metrics=["auc", "tpr"]):
        for row in report.pairs.iter_rows(named=True):
            assert (row["difference"], row["ci_low"], row["p_value"]) == (0.0, None, None)
            assert row["note"] == "the patients are the same in both groups, and alike"
        gaps = report.gaps.filter(pl.col("statistic") == "difference", pl.col("metric") == "auc")
        assert gaps.select("ci_low", "ci_note").row(0) == (None, "the patients are the same in both groups, and alike")


def test_pairs_that_share_no_patient_are_as_before_beside_those_that_do() -> None:
    """Patients 0 to 4 have a row in `a` and in `b`; those of `c` are others. Net benefit has no influences."""
    bed = pl.when(pl.col("patient") > 9).then(pl.lit("c")).when(pl.int_range(30) % 2 == 0).then(pl.lit("a"))
    three = VIEWS.with_columns(bed=bed.otherwise(pl.lit("b")))
    asked: dict[str, Any] = {**COLUMNS, "attributes": "bed", "metrics": ["accuracy", "net_benefit"]}
    apart = three.with_columns(patient=pl.col("patient") + 100 * (pl.col("bed") == "b"))
    plain = fmfair.evaluate(apart, **asked).pairs

    for report in both(three, **asked):
        found = report.pairs.filter(pl.col("metric") == "accuracy")
        shares = found["ci_method"].str.starts_with("shared patients")
        touched = found.select(pl.concat_list("group", "other_group").list.sort().list.join("")).to_series() == "ab"
        assert shares.to_list() == touched.to_list()
        assert touched.sum() == 1
        expected = plain.filter(pl.col("metric") == "accuracy").drop("p_holm")
        assert_same_frames(found.drop("p_holm").filter(~touched), expected.filter(~touched), 1e-12)
        (note,) = told(report)
        assert "allow for that (not of 'net_benefit'); of more groups they do not" in note
