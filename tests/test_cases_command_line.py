"""Cases from the field through the command line, where its options stand in for the arguments of the functions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import refused, rows, scored, written


def _table(folder: Path, **columns: Any) -> Path:
    return written(folder, pl.DataFrame(columns, strict=False))


def test_fc01_an_empty_field_is_missing_and_counted_on_standard_error(tmp_path: Path) -> None:
    path = _table(
        tmp_path,
        y_true=[0, 1, 0, 1, 0, 1, 1, 0, 1, 0],
        y_score=[0.2, 0.7, 0.4, 0.3, 0.1, 0.6, 0.8, 0.5, 0.05, 0.95],
        sex=[*"aaaabbbb", None, None],
    )

    result = scored(path, "--sensitive", "sex")

    assert result.groups() == {"a": 0.75, "b": 1.0}
    assert (result.summary["auc-gap"], result.summary["overall-auc"], result.summary["n"]) == (0.25, 0.875, 8)
    assert "sex: 2 rows with a missing value left out" in result.err
    kept = scored(path, "--sensitive", "sex", "--missing-groups", "keep")
    assert kept.groups() == {"a": 0.75, "b": 1.0, "(missing)": 0.0}


def test_fc02_a_missing_label_is_left_out_and_never_negative(tmp_path: Path) -> None:
    path = _table(
        tmp_path,
        label=[0.0, 1.0, None, 1.0, 0.0, 1.0, 0.0, 1.0],
        score=[0.3, 0.8, 0.9, 0.6, 0.2, 0.7, 0.75, 0.35],
        sex=[*"aaaabbbb"],
    )

    result = scored(path, "--positive", 1)

    assert result.groups() == {"a": 1.0, "b": 0.5}
    assert "1 row with a missing label in 'label' left out" in result.err
    assert "1 missing value (row 2)" in refused(path, "--positive", 1, "--missing-labels", "raise")


@pytest.mark.parametrize("hole", [math.nan, None])
def test_fc04_a_missing_score_is_an_error_or_left_out(hole: float | None, tmp_path: Path) -> None:
    path = _table(
        tmp_path, label=[0, 1, 0, 1, 1, 0, 1, 0], score=[0.2, 0.9, hole, 0.6, 0.7, 0.1, 0.8, 0.75], sex=[*"aaaabbbb"]
    )

    assert "column 'score' has 1 score that cannot be used: 1 missing (NULL or NaN) (row 2)" in refused(path)
    assert scored(path, "--missing-scores", "drop").groups() == {"a": 1.0, "b": 0.75}


def test_fc05_a_site_without_any_dice_stays_in_the_table(tmp_path: Path) -> None:
    path = _table(tmp_path, dice=[0.9, 0.7, None, None, 0.6, 0.5], site=[*"xxyyzz"])

    result = scored(path)

    assert result.groups("dice")["y"] is None
    (row,) = rows(result.report["groups"], metric="dice", group="y")
    assert (row["n"], row["note"]) == (0, "no usable sample")
    assert result.summary["delta_dice"] == pytest.approx(0.25)
    assert "2 samples with a missing value in 'dice' left out" in result.err


def test_fc10_large_logits_do_not_saturate(tmp_path: Path) -> None:
    path = _table(
        tmp_path,
        label=[0, 1, 1, 0, 0, 1, 0, 1],
        logit=[61.5, 64.25, 61.0, 60.0, 44.0, 52.5, 41.0, 47.5],
        sex=[*"aaaabbbb"],
    )

    result = scored(path, "--score-type", "logit")

    assert result.groups() == {"a": 0.75, "b": 1.0}
    assert result.groups("bce") == pytest.approx({"a": 30.375, "b": 21.25})


def test_fc12_a_perfect_classifier_is_fair_at_the_best_f1(tmp_path: Path) -> None:
    path = _table(tmp_path, label=[0, 1, 0, 1], score=[0.15, 0.9, 0.25, 0.8], sex=[*"aabb"])

    row = scored(path, "--threshold", "best_f1").summary

    assert (row["threshold"], row["overall-acc"], row["acc-gap"], row["eo"], row["eod"]) == (0.8, 1.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("options", "accuracy", "eo"),
    [((), {"a": 0.75, "b": 0.5}, 0.5), (("--conventions", "fairmedfm"), {"a": 0.5, "b": 0.75}, 0.0)],
)
def test_fc15_a_given_threshold_follows_the_stated_rule(
    options: tuple[str, ...], accuracy: dict[str, float], eo: float, tmp_path: Path
) -> None:
    path = _table(
        tmp_path,
        label=[1, 0, 1, 0, 1, 0, 1, 0],
        score=[0.35, 0.2, 0.6, 0.5, 0.3, 0.35, 0.9, 0.1],
        sex=[*"aaaabbbb"],
    )

    result = scored(path, "--threshold", 0.35, *options)

    assert result.groups("accuracy") == accuracy
    assert (result.summary["threshold"], result.summary["eo"]) == (0.35, eo)
    assert result.report["metadata"]["decision"] == f"y_score {'>' if options else '>='} threshold"


def test_fc32_an_age_on_a_cut_point_belongs_to_the_group_above(tmp_path: Path) -> None:
    path = _table(
        tmp_path,
        label=[0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0],
        score=[0.2, 0.8, 0.3, 0.4, 0.1, 0.7, 0.9, 0.4, 0.6, 0.5, 0.2, 0.3],
        age=[39.999, 40, 40, 59.5, 60, 60, 61, 18, 40, 59, 60, 70],
    )

    result = scored(path, "--bins", "age=40,60")

    assert result.groups() == pytest.approx({"<40": 1.0, "40-60": 5 / 6, ">=60": 5 / 6})
    assert {r["group"]: r["n"] for r in rows(result.report["groups"], metric="auc")} == {
        "<40": 2,
        "40-60": 5,
        ">=60": 5,
    }


def test_fc38_the_classes_of_the_columns_are_named_and_not_counted(tmp_path: Path) -> None:
    path = _table(
        tmp_path,
        label=[1, 2, 2, 1, 1, 2, 2, 1],
        prob_0=[0.7, 0.1, 0.2, 0.8, 0.6, 0.3, 0.1, 0.9],
        prob_1=[0.2, 0.6, 0.7, 0.15, 0.3, 0.6, 0.25, 0.05],
        prob_2=[0.1, 0.3, 0.1, 0.05, 0.1, 0.1, 0.65, 0.05],
        sex=[*"aaaabbbb"],
    )

    assert "y_score" not in refused(path, "--positive", 2)
    assert "has 3 columns" in refused(path, "--positive", 2)
    assert scored(path, "--positive", 2, "--classes", 1, 2, 3).groups() == {"a": 1.0, "b": 0.75}


def test_fc43_a_small_group_stays_in_the_table_and_out_of_the_gap(tmp_path: Path) -> None:
    path = _table(
        tmp_path,
        label=[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1],
        score=[0.1, 0.8, 0.3, 0.7, 0.2, 0.6, 0.4, 0.5, 0.1, 0.9, 0.45, 0.3, 0.9, 0.2, 0.3],
        site=[*"xxxxxxyyyyyywww"],
    )

    result = scored(path, "--min-group-size", 5)

    assert result.groups() == {"w": 0.0, "x": 1.0, "y": pytest.approx(7 / 9)}
    assert result.summary["auc-gap"] == pytest.approx(2 / 9)
    assert "left out of the gaps: w (n=3)" in result.err


def test_fc44_cells_are_told_apart_by_their_parts(tmp_path: Path) -> None:
    path = _table(
        tmp_path,
        label=[0, 1, 0, 1, 0, 1, 0, 1],
        score=[0.1, 0.9, 0.2, 0.8, 0.9, 0.1, 0.8, 0.3],
        race=["A & B"] * 4 + ["A"] * 4,
        site=["C"] * 4 + ["B & C"] * 4,
    )

    for option in (("--intersections", "all"), ("--intersections", "race,site"), ("--intersectional",)):
        cells = rows(scored(path, *option).report["groups"], metric="auc", attribute="race & site")
        assert {tuple(c["group_parts"]): c["value"] for c in cells} == {("A & B", "C"): 1.0, ("A", "B & C"): 0.0}


def test_fc47_weights_go_with_their_rows(tmp_path: Path) -> None:
    path = _table(
        tmp_path,
        label=[1, 0, 1, 0, 1, 0, 1, 0, 0],
        score=[0.9, 0.4, 0.3, 0.2, 0.6, 0.7, 0.8, 0.1, 0.95],
        w=[3, 1, 1, 2, 1, 2, 2, 1, 0],
        sex=[*"aaaabbbbb"],
    )

    result = scored(path, "--weight", "w")

    assert result.groups() == pytest.approx({"a": 11 / 12, "b": 7 / 9})
    assert result.summary["acc-gap"] == pytest.approx(4 / 21)


def test_fc49_nobody_called_positive_is_said_on_standard_error(tmp_path: Path) -> None:
    path = _table(tmp_path, label=[0, 1, 0, 1, 0, 1], score=[0.1, 0.2, 0.3, 0.15, 0.05, 0.25], sex=[*"aabbcc"])

    result = scored(path)

    assert result.groups("ppv") == {"a": None, "b": None, "c": None}
    (ratio,) = rows(result.report["gaps"], metric="demographic_parity", statistic="ratio")
    assert (ratio["value"], ratio["note"]) == (None, "0/0")
    assert "no sample is called positive" in result.err


def test_fc58_dates_that_all_differ_are_refused_and_hospital_codes_are_groups(tmp_path: Path) -> None:
    path = _table(
        tmp_path,
        label=[0, 1] * 6,
        score=[0.2, 0.7, 0.6, 0.5, 0.3, 0.9, 0.1, 0.4, 0.8, 0.3, 0.35, 0.6],
        day=[f"2023-{m:02}-05" for m in range(1, 13)],
        hospital=[1, 2] * 5 + [10, 10],
    )

    assert "nearly every value of 'day' is different (12 groups for 12 rows" in refused(path, "--sensitive", "day")
    assert list(scored(path, "--sensitive", "hospital").groups("accuracy")) == ["1", "2", "10"]
