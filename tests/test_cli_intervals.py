"""The level of the intervals on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import DICE, TABLE, run, scored, written

import fmfair


@pytest.mark.parametrize(("level", "expected"), [("0.9", 0.9), ("none", None), ("None", None)])
def test_ci_is_the_level_of_the_intervals(tmp_path: Path, level: str, expected: float | None) -> None:
    found = scored(written(tmp_path), "--ci", level).report

    assert found["metadata"]["ci"] == expected
    assert ("ci_low" in found["groups"][0]) is (expected is not None)
    assert f"{'90 % interval' if expected else 'Summary'}" in run("score", written(tmp_path), "--ci", level).out


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("95 %", "--ci 95 %: expected a level such as 0.95, or none to leave the intervals out"),
        ("95", "--ci 95.0 is not a level from 0.5 up to 1, such as 0.95; none leaves the intervals out"),
    ],
)
def test_a_level_that_is_none_is_refused(tmp_path: Path, level: str, message: str) -> None:
    result = run("score", written(tmp_path), "--ci", level)

    assert (result.status, result.err.strip()) == (2, f"fmfair: error: {message}")


def test_a_segmentation_and_counts_take_a_level(tmp_path: Path) -> None:
    DICE.write_csv(tmp_path / "dice.csv")
    fmfair.counts(TABLE).write_parquet(tmp_path / "counts.parquet")

    assert scored(tmp_path / "dice.csv", "--ci", "0.95").report["groups"][0]["ci_method"] == "t"
    of_counts = scored(tmp_path / "counts.parquet", "--ci", "0.95", "--metrics", "auc").report
    assert of_counts["metadata"]["ci"] == 0.95
    assert of_counts["groups"][0]["ci_method"].startswith("DeLong")
    result = run("score", tmp_path / "counts.parquet", "--bootstrap", "100")
    assert (result.status, "--bootstrap: only for rows, leave it out" in result.err) == (2, True)


def test_a_reference_a_margin_and_model_based_values_are_asked_for(tmp_path: Path) -> None:
    asked = ("--reference", "sex=M", "--margin", "auc=0.999", "--model-based", "--intersections", "2")
    report = scored(written(tmp_path), *asked).report

    assert {row["other_group"] for row in report["pairs"] if row["attribute"] == "sex"} == {"M"}
    assert "excluded" in {row["verdict"] for row in report["gaps"]}
    assert "model_based" in report["groups"][0]


def test_the_form_of_the_intervals_of_an_auc(tmp_path: Path) -> None:
    rows = scored(written(tmp_path), "--auc-interval", "wald", "--metrics", "auc").report["overall"]

    assert [row["ci_method"] for row in rows] == ["DeLong, Wald"]


@pytest.mark.parametrize("text", ["sex", "=M", "sex="])
def test_a_reference_without_a_group(tmp_path: Path, text: str) -> None:
    result = run("score", written(tmp_path), "--reference", text)

    assert result.status == 2
    assert "expected a name and a value, such as sex=M" in result.err
