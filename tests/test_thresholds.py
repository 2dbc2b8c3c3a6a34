"""Thresholds: what each rule chooses, what a number or a mapping means, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from lookup import by_group, gap, overall

import fmfair
from fmfair.errors import FmfairError

# Labels in falling order of the scores 0.9, 0.8, ..., so that a case can be read from left to right.
SCORES = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]


def ranked(labels: str, **columns: Any) -> pl.DataFrame:
    """One row per label, `1` or `0`, in falling order of score; every second row is of group b."""
    y = [int(v) for v in labels]
    groups = ["ab"[i % 2] for i in range(len(y))]
    return pl.DataFrame({"y": y, "s": SCORES[: len(y)], "g": groups, **columns})


def report(frame: pl.DataFrame, thresholds: Any, **options: Any) -> fmfair.Report:
    arguments = {"y_true": "y", "y_score": "s", "attributes": "g", "metrics": ["tpr", "tnr", "f1"], **options}
    return fmfair.evaluate(frame, thresholds=thresholds, **arguments)


@pytest.mark.parametrize(
    ("rule", "labels", "chosen"),
    [
        ("best_f1", "1100", 0.8),
        ("best_f1", "1001", 0.6),  # F1 is 2/3 at 0.9 and at 0.6
        ("best_f1", "0001", 0.6),
        ("best_f1", "11", 0.8),  # no negatives are needed
        ("youden", "1100", 0.8),
        ("youden", "1010", 0.7),  # J is 1/2 at 0.9 and at 0.7
        ("youden", "0011", 0.6),  # J is never above 0, which it is where everybody is called positive
        ("tpr=0.5", "101010", 0.7),  # 1/3 at 0.9, 2/3 at 0.7 and at 0.6
        ("tpr=0.6666666666666666", "101010", 0.7),
        ("tpr=0.67", "101010", 0.5),
        ("tpr=1", "101010", 0.5),
        ("tpr=0", "001100", 0.9),
        ("tpr = 0.9", "1100", 0.8),
        ("tpr=1", "11", 0.8),
        ("tnr=0.5", "101010", 0.7),  # 0 of 3 at 0.4, 1/3 at 0.5, 1/3 at 0.6, 2/3 at 0.7
        ("tnr=0.3333333333333333", "101010", 0.5),
        ("tnr=1", "101010", 0.9),
        ("tnr=0", "001100", 0.4),
        ("tnr=0.75", "10000", 0.8),
    ],
)
def test_a_rule_chooses_an_observed_score(rule: str, labels: str, chosen: float) -> None:
    found = report(ranked(labels), rule)
    for frame in (found.overall, found.groups, found.gaps):
        assert set(frame["threshold"]) == {chosen}
        assert set(frame["threshold_rule"]) == {rule}
    assert found.summary["threshold"].to_list() == [chosen]
    assert any(f"threshold {rule}: tuned on these labels" in note for note in found.notes)


@pytest.mark.parametrize(
    ("rule", "labels", "reason"),
    [
        ("best_f1", "000", "no positives"),
        ("youden", "000", "no positives"),
        ("youden", "111", "no negatives"),
        ("tpr=0.9", "000", "no positives"),
        ("tpr=0", "000", "no positives"),
        ("tnr=0.9", "111", "no negatives"),
        ("tnr=0", "111", "no negatives"),
        ("tnr=1", "0101", "no observed score reaches tnr=1"),
    ],
)
def test_where_no_score_qualifies_the_threshold_is_null_with_the_reason(rule: str, labels: str, reason: str) -> None:
    found = report(ranked(labels), rule)
    for frame in (found.overall, found.groups):
        assert frame["threshold"].null_count() == frame["value"].null_count() == frame.height > 0
        assert set(frame["threshold_rule"]) == {rule}
        assert set(frame["note"]) == {reason}
    assert found.gaps["value"].null_count() == found.gaps.height > 0
    assert found.gaps["note"].str.contains(reason, literal=True).all()


def test_a_by_key_without_a_threshold_leaves_the_others_theirs() -> None:
    frame = pl.concat([ranked("000", m=["no"] * 3), ranked("110", m=["yes"] * 3)])
    found = report(frame, ["tpr=1", 0.5], by="m")
    chosen = found.overall.filter(pl.col("metric") == "tpr").select("m", "threshold_rule", "threshold").rows()
    assert chosen == [("no", "tpr=1", None), ("no", "fixed", 0.5), ("yes", "tpr=1", 0.8), ("yes", "fixed", 0.5)]


def test_a_rule_looks_at_all_evaluated_rows_those_without_a_group_included() -> None:
    frame = ranked("110100", g=["a", "b", "a", None, "a", "b"])
    found = report(frame, "tpr=1")
    assert set(found.groups["threshold"]) == {0.6}
    assert by_group(found, "tnr") == {"a": 0.5, "b": 1.0}


def test_a_rule_leaves_rows_without_a_label_out() -> None:
    frame = ranked("1110").with_columns(y=pl.Series([1, 1, None, 0]))
    assert overall(report(frame, "tpr=1"), "tpr", "threshold") == 0.8


@pytest.mark.parametrize("weight", [0.1, 0.7, 1 / 3, 3.0])
@pytest.mark.parametrize(
    ("rule", "labels"), [("best_f1", "1001"), ("youden", "1010"), ("tpr=1", "1110"), ("tnr=1", "1000")]
)
def test_equal_weights_do_not_break_ties(rule: str, labels: str, weight: float) -> None:
    frame = ranked(labels).with_columns(w=pl.lit(weight))
    weighted, plain = report(frame, rule, weight="w"), report(frame, rule)
    assert overall(weighted, "tpr", "threshold") == overall(plain, "tpr", "threshold")


def test_weights_move_the_threshold() -> None:
    frame = ranked("1001", w=[1, 1, 1, 9])
    assert overall(report(frame, "tpr=0.5"), "tpr", "threshold") == 0.9
    assert overall(report(frame, "tpr=0.5", weight="w"), "tpr", "threshold") == 0.6


@pytest.mark.parametrize("threshold", [0.7, "0.7", " 0.70 ", np.float64(0.7)])
def test_numbers_and_numeric_text_are_one_thing(threshold: Any) -> None:
    found = report(ranked("110100"), threshold)
    assert set(found.groups["threshold"]) == {0.7}
    assert set(found.groups["threshold_rule"]) == {"fixed"}
    assert by_group(found, "tnr") == {"a": 0.5, "b": 1.0}


def test_a_score_equal_to_the_threshold_is_positive_and_with_the_published_convention_negative() -> None:
    frame = ranked("1100")
    assert overall(report(frame, 0.8), "tpr") == 1.0
    assert overall(report(frame, math.nextafter(0.8, 1.0)), "tpr") == 0.5
    assert overall(report(frame, 0.8, conventions="fairmedfm"), "tpr") == 0.5


def test_single_precision_scores_are_widened_before_they_are_compared() -> None:
    frame = ranked("1100").with_columns(s=pl.Series([0.9, 0.7, 0.3, 0.2], dtype=pl.Float32))
    assert overall(report(frame, 0.7), "tpr") == 0.5
    assert overall(report(frame, float(np.float32(0.7))), "tpr") == 1.0


def test_logits_are_compared_after_the_sigmoid() -> None:
    frame = ranked("1100").with_columns(s=pl.Series([2.0, 0.0, -1e-9, -4.0]))
    found = report(frame, [0.5, "youden"], score_type="logit")
    assert overall(found, "tpr", threshold_rule="fixed") == 1.0
    assert overall(found, "tnr", threshold_rule="fixed") == 1.0
    assert overall(found, "tnr", "threshold", threshold_rule="youden") == 0.5


def test_rank_scores_are_compared_on_their_own_scale_and_have_no_default() -> None:
    frame = ranked("1100").with_columns(s=pl.Series([40.0, 12.0, 12.0, 3.0]))
    assert overall(report(frame, 12), "tnr") == 0.5
    default = report(frame, None, score_type="rank")
    assert overall(default, "tpr") is None
    assert overall(default, "tpr", "note") == "the score is not a probability"


def test_several_thresholds_are_answered_one_by_one_in_their_order() -> None:
    found = report(ranked("110100"), [0.85, "best_f1", 0.55, "0.85"])
    tpr = found.overall.filter(pl.col("metric") == "tpr")
    assert tpr["threshold"].to_list() == [0.85, 0.6, 0.55, 0.85]
    assert tpr["value"].to_list() == [1 / 3, 1.0, 1.0, 1 / 3]


@pytest.mark.parametrize("thresholds", [[0.5, 0.5], [0.5, "0.5", "best_f1", "best_f1"], [{"x": 0.5}, 0.5]])
def test_a_threshold_asked_for_twice_leaves_one_row_in_the_summary(thresholds: list[Any]) -> None:
    found = report(ranked("110100").with_columns(m=pl.lit("x")), thresholds, by="m", metrics=None)
    assert found.summary.height == 1
    twice = found.overall.filter(pl.col("metric") == "tpr")
    assert twice.height == len(thresholds)


def test_a_mapping_gives_each_by_key_its_own_threshold() -> None:
    frame = pl.concat([ranked("1100").with_columns(m=pl.lit(m), f=pl.lit(i)) for i, m in enumerate("xy")])
    one = report(frame, {"y": 0.85, "x": "0.75"}, by="m")
    assert one.overall.filter(pl.col("metric") == "tpr").select("m", "threshold", "value").rows() == [
        ("x", 0.75, 1.0),
        ("y", 0.85, 0.5),
    ]
    two = report(frame, {("x", 0): 0.75, ("y", 1): 0.85}, by=["m", "f"])
    assert two.overall["value"].to_list() == one.overall["value"].to_list()


@pytest.mark.parametrize(
    ("mapping", "options", "message"),
    [
        ({"x": 0.5}, {"by": "m"}, r"lacks 'y'"),
        ({"x": 0.5, "y": 0.5, "z": 0.1}, {"by": "m"}, r"names 'z', which does not occur"),
        ({"x": 0.5, "y": "high"}, {"by": "m"}, r"not all finite numbers"),
        ({"x": 0.5, "y": math.nan}, {"by": "m"}, r"not all finite numbers"),
        ({"x": 0.5, "y": "best_f1"}, {"by": "m"}, r"not all finite numbers"),
        ({"x": 0.5}, {"by": []}, r"needs by="),
    ],
)
def test_a_mapping_must_name_every_by_key_and_only_numbers(mapping: Any, options: Any, message: str) -> None:
    frame = pl.concat([ranked("1100").with_columns(m=pl.lit(m)) for m in "xy"])
    with pytest.raises(FmfairError, match=message):
        report(frame, mapping, **options)


@pytest.mark.parametrize(
    "threshold",
    [
        *(math.nan, math.inf, -math.inf, "nan", "inf", "best", "BEST_F1", "", "tpr", "tpr=", "tpr=x", "tpr=1.2"),
        *("tnr=-0.1", "tpr=nan", "fpr=0.1", "0,5", "50%", True, None, [0.5], 1j),
    ],
)
def test_anything_else_is_refused_by_name(threshold: Any) -> None:
    with pytest.raises(FmfairError) as refused:
        report(ranked("1100"), [0.5, threshold])
    assert repr(threshold) in str(refused.value)
    assert "'best_f1'" in str(refused.value)


@pytest.mark.parametrize("rule", ["youden", "tpr=0.9", "tnr=0.9"])
def test_the_published_conventions_know_numbers_and_best_f1_only(rule: str) -> None:
    with pytest.raises(FmfairError, match="numbers and 'best_f1' only"):
        report(ranked("1100"), rule, conventions="fairmedfm")


def test_a_gap_at_a_tuned_threshold_is_the_gap_at_that_number() -> None:
    frame = ranked("101100")
    tuned = report(frame, "best_f1")
    number = overall(tuned, "tpr", "threshold")
    assert gap(tuned, "tnr") == gap(report(frame, number), "tnr")
