"""The plan of a document: what is read, what is refused, and how criteria are held against intervals."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import date
from pathlib import Path

import polars as pl
import pytest

import fmfair
from fmfair.cli import main
from fmfair.errors import FmfairError
from fmfair.page.material import Material, material_of
from fmfair.page.plan import Criterion, Plan, plan_of
from fmfair.page.section import Table
from fmfair.page.sections import plan as question

EXAMPLES = Path(__file__).parents[1] / "examples"
GUIDE = EXAMPLES.parent / "docs" / "report.md"
TOML = """
title = "Pneumothorax reader 2.1"
intended_use = "triage of chest X-rays"
unit = "image"
claim = false
date = 2026-11-30
pre_specified = ["sex", "smokers"]
limits = ["one hospital"]

[recorded_by]
sex = "clerk"

[groups]
"sex F" = "known to be missed more often"
"age >=80" = "few in training"

[groups_without_data]
"pregnant women" = "not recorded"

[criteria]
auc = "as good as the last version"
tpr = {at_least = 0.8, text = "agreed in May"}
"""


def test_toml_and_mapping_give_the_same_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(TOML, encoding="utf-8")
    plan = plan_of(path)
    assert plan == plan_of(str(path))
    assert plan == plan_of(
        {
            "title": "Pneumothorax reader 2.1",
            "intended_use": " triage of chest X-rays ",
            "unit": "image",
            "claim": False,
            "date": date(2026, 11, 30),
            "pre_specified": ["sex", "smokers"],
            "limits": "one hospital",
            "recorded_by": {"sex": "clerk"},
            "groups": {"sex F": "known to be missed more often", "age >=80": "few in training"},
            "groups_without_data": {"pregnant women": "not recorded"},
            "criteria": {"auc": "as good as the last version", "tpr": {"at_least": 0.8, "text": "agreed in May"}},
        }
    )
    assert plan.date == "2026-11-30"
    assert plan.criteria["tpr"] == Criterion(0.8, None, "agreed in May")
    assert plan_of(plan) is plan
    assert plan_of(None) == Plan() == plan_of({})


def test_the_empty_plan_holds_every_key_and_states_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan"]) == 0
    text = capsys.readouterr().out
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")

    assert plan_of(tmp_path / "plan.toml") == Plan()
    keys = re.findall(r"^(\w+) = ", text, re.MULTILINE) + re.findall(r"^\[(\w+)\]", text, re.MULTILINE)
    assert sorted(keys) == sorted(entry.name for entry in fields(Plan))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_plans_of_the_examples_can_be_read(path: Path) -> None:
    plan = plan_of(path)
    assert plan.intended_use
    assert plan.reference_standard


def test_the_guide_shows_every_key(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "plan.toml").write_text(shown, encoding="utf-8")
    plan = plan_of(tmp_path / "plan.toml")
    assert not [entry.name for entry in fields(Plan) if getattr(plan, entry.name) == getattr(Plan(), entry.name)]


def test_the_help_names_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", "--help"])
    said = " ".join(re.sub(r"[│\s]+", " ", capsys.readouterr().out).split())
    assert not [entry.name for entry in fields(Plan) if entry.name not in said]


def test_groups_may_be_named_without_reasons() -> None:
    assert plan_of({"groups": ["sex F", "AP"]}).groups == {"sex F": "", "AP": ""}


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(FmfairError) as raised:
        plan_of(
            {
                "intended use": "triage",
                "colour": "blue",
                "population": 5,
                "limits": [1],
                "groups": 3,
                "recorded_by": {"sex": 1},
                "criteria": {
                    "tprr": {"at_least": 0.8},
                    "tpr": {"atleast": 0.8},
                    "tnr": {"at_most": True, "text": 2},
                    "auc": {},
                    "ppv": {"at_least": float("nan")},
                },
            }
        )
    problems = "\n".join(raised.value.problems)
    assert len(raised.value.problems) == 12
    for part in (
        "no key 'intended use'; did you mean 'intended_use'?",
        "no key 'colour'; expected some of title, ",
        "plan: population is 5; expected text",
        "plan: limits is 1; expected text",
        "plan: groups is 3; expected a table",
        "plan: recorded_by: sex is 1",
        "no metric 'tprr'; did you mean 'tpr'?",
        "plan: criteria: tpr: no key 'atleast'; did you mean 'at_least'?",
        "plan: criteria: tnr: at_most is True; expected a number",
        "plan: criteria: tnr: text is 2",
        "plan: criteria: auc is {}; expected text, or a table",
        "plan: criteria: ppv: at_least is nan",
    ):
        assert part in problems


@pytest.mark.parametrize("text", ["title = ", "title = 'a'\ntitle = 'b'"])
def test_what_is_no_toml_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FmfairError, match=r"cannot read the plan .*plan\.toml: it is not TOML"):
        plan_of(path)


def test_a_file_that_is_not_there_and_one_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(FmfairError, match=r"cannot read the plan .*nowhere\.toml: No such file"):
        plan_of(tmp_path / "nowhere.toml")
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FmfairError, match="it is not TOML"):
        plan_of(path)


def material(plan: object, **options: object) -> Material:
    n = 400
    rows = pl.DataFrame(
        {
            "y_true": [k % 2 for k in range(n)],
            "y_pred": [(k % 2) if k % 10 else 1 - k % 2 for k in range(n)],
            "sex": ["F" if k % 4 < 2 else "M" for k in range(n)],
        }
    )
    report = fmfair.evaluate(rows, metrics=["tpr", "tnr"], **options)  # type: ignore[arg-type]
    return material_of(report._frames(), report.notes, report.metadata, plan_of(plan))  # type: ignore[arg-type]


def tables(of: Material) -> dict[str, Table]:
    return {table.caption: table for table in question.section(of).content["tables"]}


def test_what_is_not_stated_stands_as_such() -> None:
    found = tables(material(None))
    stated = {row[0]: row[1] for row in found["What is asked, of whom, and how"].rows}
    given = {"Thresholds": "decisions as given"}
    assert {k: v for k, v in stated.items() if v != "not stated"} == given
    assert [row[:2] for row in found["Analyses"].rows] == [["sex", "exploratory"]]
    assert set(found) == {"What is asked, of whom, and how", "Analyses"}


def test_groups_named_in_advance_are_looked_for() -> None:
    names = ["sex F", "M", "sex=F", "sex", "age >=80"]
    found = tables(material({"groups": names, "groups_without_data": {"children": "no consent"}}))
    held = [row[2] for row in found["Groups named in advance"].rows]
    assert held == ["F: 200 rows", "M: 200 rows", "F: 200 rows", "as an attribute", "not found by this name"]
    assert list(found["Groups of interest without data"].rows) == [["children", "no consent"]]


def test_criteria_are_held_against_limits_and_not_against_values() -> None:
    """Every sensitivity is 80 % or more, and no lower limit reaches that."""
    found = material({"criteria": {"tpr": {"at_least": 0.8}, "tnr": {"at_most": 0.5}, "auc": "high"}})
    limits = {
        row.get("group", "all"): (row["ci_low"], row["ci_high"])
        for frame in ("overall", "groups")
        for row in found.frames[frame].filter(metric="tpr").iter_rows(named=True)
    }
    reached = [name for name, (low, _) in limits.items() if low >= 0.8]
    rows = {row[0]: list(row[1:]) for row in tables(found)["Acceptance criteria"].rows}
    asked, said = rows["Sensitivity"]
    assert asked == "at least 80%"
    assert said.startswith(f"within it in {len(reached)} of 3")
    for name, (low, high) in limits.items():
        shown = f"{'all rows' if name == 'all' else name} ({100 * low:.1f} to {100 * high:.1f})"
        assert (shown in said) == (low < 0.8)
    assert rows["Specificity"][1].startswith("within it in 0 of 3; not in all rows (")
    assert rows["AUC"] == ["high", "not judged by fmfair"]


def test_a_limit_that_rounding_would_bring_inside_is_told_as_outside() -> None:
    of = material(None)
    low = of.frames["overall"].filter(metric="tpr")["ci_low"].item()
    rounded = round(low, 3)
    criterion = Criterion(at_least=(low + rounded) / 2) if low < rounded else Criterion(at_least=low + 1e-9)
    said = question.judged("tpr", criterion, of)
    assert "all rows (" in said
    if low < rounded:
        assert "all rows (just below" in said


def test_without_intervals_no_criterion_is_judged() -> None:
    of = material({"criteria": {"tpr": {"at_least": 0.1}}}, ci=None)
    assert tables(of)["Acceptance criteria"].rows[0][2] == "no interval of this metric"


def test_margins_and_what_was_settled_before_are_in_the_plan() -> None:
    of = material({"pre_specified": ["sex", "smokers"], "recorded_by": {"sex": "clerk"}}, margins={"tpr": 0.05})
    found = tables(of)
    rows = {row[0]: list(row[1:]) for row in found["Analyses"].rows}
    assert rows == {
        "sex": ["pre-specified", "clerk"],
        "smokers": ["pre-specified; no attribute of this report", ""],
    }
    assert found["Analyses"].note == ""
    stated = {row[0]: row[1] for row in found["What is asked, of whom, and how"].rows}
    assert stated["Differences that matter (margins)"] == "sensitivity: 5 percentage points"
