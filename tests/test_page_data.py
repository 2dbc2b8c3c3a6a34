"""The section on the data: the flow of rows adds up, and what is not recorded and who is absent is named."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from page_reports import REPORTS

import fmfair
from fmfair.page.material import material_of
from fmfair.page.plan import plan_of
from fmfair.page.sections import data

N = 400
TABLE = pl.DataFrame(
    {
        "y_true": [None if k < 7 else k % 2 for k in range(N)],
        "y_score": [None if k in (20, 21) else (k * 37 % 101) / 100 for k in range(N)],
        "sex": [None if 100 <= k < 112 else "FM"[k % 3 == 0] for k in range(N)],
        "w": [0.0 if 200 <= k < 203 else 1.0 for k in range(N)],
    }
)


def content_of(report: fmfair.Report, **stated: Any) -> dict[str, Any]:
    of = material_of(report._frames(), report.notes, report.metadata, plan_of(stated))
    return dict(data.section(of).content)


def flow_of(report: fmfair.Report) -> list[list[str]]:
    return [list(row) for row in content_of(report)["flow"].rows]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_in_rows_left_out_by_reason_and_rows_evaluated_add_up(engine: str) -> None:
    report = fmfair.evaluate(TABLE, attributes="sex", weight="w", missing_scores="drop", metrics=["tpr"], engine=engine)
    assert flow_of(report) == [
        ["Rows of the table", "400"],
        ["Left out: a missing label in 'y_true'", "7"],
        ["Left out: 2 missing (NULL or NaN) in 'y_score'", "2"],
        ["Left out for other reasons, such as a weight of 0", "3"],
        ["Rows evaluated", "388"],
        ["Of these, sex not recorded", "12 (3.1%)"],
    ]


def test_every_row_counts_once_for_each_label() -> None:
    rows = flow_of(REPORTS["xrays"]())
    assert rows[:2] == [["Rows of the table", "4,376"], ["The same, once for each of 2 labels", "8,752"]]
    assert rows[-1] == ["Rows evaluated, every label by itself", "8,752"]


def test_where_small_numbers_are_hidden_the_rows_of_the_table_are_not_told() -> None:
    report = fmfair.evaluate(TABLE, attributes="sex", missing_scores="drop", metrics=["tpr"], suppress_below=11)
    steps = [step for step, _ in flow_of(report)]
    assert "Rows of the table" not in steps
    assert "n_rows" not in report.metadata
    assert ["Left out: a missing label in 'y_true'", "fewer than 11"] in flow_of(report)


def test_rows_that_lack_an_attribute_stand_behind_its_groups() -> None:
    report = fmfair.evaluate(TABLE.drop("w"), attributes="sex", missing_scores="drop", metrics=["tpr"])
    (table,) = content_of(report)["tables"]
    lacking = TABLE.filter(pl.col("sex").is_null())
    n_pos = lacking["y_true"].sum()
    (found,) = [row for row in table.rows if row[1] == "not recorded"]
    share = f"{100 * 12 / 391:.1f}%"
    assert list(found[:5]) == ["sex", "not recorded", "12", share, f"{n_pos} ({100 * n_pos / 12:.1f}%)"]
    kept = fmfair.evaluate(TABLE.drop("w"), attributes="sex", missing_scores="drop", missing_groups="keep")
    assert "not recorded" not in [row[1] for row in content_of(kept)["tables"][0].rows]


def test_groups_of_interest_without_data_are_named() -> None:
    report = fmfair.evaluate(TABLE.drop("w"), attributes="sex", missing_scores="drop", metrics=["tpr"])
    said = content_of(report, groups=["sex F", "age >=80"], groups_without_data={"children": "no consent", "x": ""})
    assert said["absent"] == [
        "Groups of interest without data: children (no consent) and x.",
        "Named in the plan, but no group of this name: age >=80.",
    ]
    assert content_of(report)["absent"] == []
