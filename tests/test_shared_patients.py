"""Patients who are in several groups of an attribute: a note says that differences take no account of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from bootstrap_support import prepared
from engines import both
from small_tables import T

import fmfair
from fmfair.bootstrap.acceleration import influences
from fmfair.units import cell_rows

COLUMNS: dict[str, Any] = {"y_true": "y", "y_score": "s1", "cluster": "patient", "by": []}
# Odd and even rows, as two views of every patient: the groups A, B and C share none.
VIEWS = T.with_columns(view=pl.Series(["AP", "PA"] * 15), bed=pl.Series(["AP", "PA", None] * 10))


def told(report: fmfair.Report) -> list[str]:
    return [note for note in report.notes if "patients in several groups" in note]


def test_attributes_whose_groups_share_patients_are_named() -> None:
    for report in both(VIEWS, **COLUMNS, attributes=["group", "view", "bed"], intersections=2):
        (note,) = told(report)
        assert note.startswith("'view', 'bed': patients in several groups")


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

    assert told(fmfair.evaluate(three, **COLUMNS, attributes="view", metrics="tpr", bootstrap=100))


def test_a_segmentation_says_so_too() -> None:
    dice = VIEWS.select("view", "patient", dice="s1")

    assert told(fmfair.evaluate_segmentation(dice, attributes="view", cluster="patient"))


def test_influences_give_the_worked_covariance_of_groups_that_share_patients() -> None:
    every = prepared(VIEWS, y_true="y", y_score="s1", attributes="view", cluster="patient", metrics="auc")
    patient = every.engine.frame["unit"].to_numpy()
    found = []
    for grouping in (every.groupings[0], every.groupings[-1]):
        rows = cell_rows(every.engine.frame, every.engine.profiles, grouping)
        ((_, _, influence),) = influences(every.engine, grouping, rows)
        of_patients = np.zeros((len(rows.numbers), 14))
        np.add.at(of_patients, (rows.cell, patient), influence)
        found.append(14 / 13 * of_patients @ of_patients.T)

    views, whole = found
    assert views[0, 1] == pytest.approx(-0.00389127523863, abs=1e-12)
    assert views[0, 0] + views[1, 1] - 2 * views[0, 1] == pytest.approx(0.0304615664947, abs=1e-12)
    assert whole.item() == pytest.approx(0.00502557011713, abs=1e-12)
    values = fmfair.evaluate(VIEWS, **COLUMNS, attributes="view", metrics="auc").groups["value"]
    assert values.to_list() == pytest.approx([0.848214285714] * 2, abs=1e-12)
