"""What makes the test of a gap doubtful, and why there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from engines import both
from small_tables import T

import fmfair

COLUMNS: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "by": []}


def gap(report: fmfair.Report, metric: str) -> dict[str, Any]:
    at = (pl.col("metric") == metric) & (pl.col("statistic") == "difference")
    return report.gaps.row(by_predicate=at, named=True)


def test_a_group_that_a_test_must_leave_out_leaves_no_test() -> None:
    """Between `a` and `b` alone p is 0.106, which says nothing of the gap to `c`."""
    dice = pl.DataFrame({"dice": [0.9, 0.8, 0.7, 0.6, 0.1], "site": list("aabbc")})
    report = fmfair.evaluate_segmentation(dice, attributes="site")

    row = gap(report, "dice")
    assert (row["worst_group"], row["p_value"], row["p_method"]) == ("c", None, None)
    assert row["ci_note"] == "a group has no interval"
    pair = report.pairs.filter(pl.col("group") == "b", pl.col("other_group") == "a")
    assert pair["p_value"].item() == pytest.approx(0.10557280900008392)


def test_one_patient_in_a_group_leaves_no_test_of_a_rate() -> None:
    frame = T.with_columns(patient=pl.when(pl.col("group") == "A").then(99).otherwise("patient"))

    for report in both(frame, **COLUMNS, metrics="accuracy", cluster="patient"):
        assert gap(report, "accuracy")["p_value"] is None


def test_where_nothing_varies_there_is_no_test_and_it_says_so() -> None:
    rows = [(y, 0.1 + 0.8 * y, group) for group in "AB" for y in (0, 1) for _ in range(30)]
    frame = pl.DataFrame(rows, schema=["y", "s1", "group"], orient="row")

    for report in both(frame, **COLUMNS, metrics=["auc", "tpr"]):
        notes = {
            "auc": "no test: a class has one row only, or all its rows rank alike",
            "tpr": "no test: all groups are alike and nothing varies",
        }
        for metric, note in notes.items():
            row = gap(report, metric)
            assert row["ci_low"] == 0 < row["ci_high"]
            assert (row["p_value"], row["ci_note"]) == (None, note)
            assert report.pairs.filter(pl.col("metric") == metric)["note"].item() == note


def test_average_precision_of_few_positives_is_biased_and_so_is_its_gap() -> None:
    few, many = (pl.concat([T] * k) for k in (7, 8))  # group B has 4 positives, so 28 and 32

    for frame, note in (
        (few, "a group has fewer than 30 rows with positives, whose value is biased upward"),
        (many, None),
    ):
        for report in both(frame, **COLUMNS, metrics="average_precision"):
            row = gap(report, "average_precision")
            assert (row["p_value"] is not None, row["ci_note"]) == (True, note)
            assert set(report.pairs.filter(pl.col("other_group") == "B")["note"]) <= {note}


def test_more_groups_than_are_compared_in_pairs_have_no_test_of_f1() -> None:
    frame = pl.concat([T.with_columns(group=pl.lit(f"g{k}")) for k in range(21)])
    row = gap(fmfair.evaluate(frame, **COLUMNS, metrics="f1"), "f1")

    assert (row["p_value"], row["ci_note"]) == (None, "no test of more than 20 groups")


def test_a_pair_says_too_that_its_test_and_its_interval_disagree() -> None:
    """Five positives that happen to rank first have no variance, which DeLong's test takes for certainty."""
    y = [1] * 5 + [0] * 5 + [0, 1] * 40
    many = (np.random.default_rng(0).random(80) + 0.5 * np.array(y[10:])) / 1.5
    scores = [*(0.9 + 0.01 * k for k in range(5)), *(0.1 + 0.01 * k for k in range(5)), *many]
    frame = pl.DataFrame({"y": y, "s1": scores, "group": ["A"] * 10 + ["B"] * 80})

    for report in both(frame, **COLUMNS, metrics="auc"):
        row, (pair,) = gap(report, "auc"), report.pairs.iter_rows(named=True)
        assert row["p_value"] < 0.001
        assert pair["p_value"] == row["p_value"]
        assert pair["ci_low"] < 0 < pair["ci_high"]
        assert pair["note"] == row["ci_note"]
        assert pair["note"].startswith("the test and the interval disagree")
