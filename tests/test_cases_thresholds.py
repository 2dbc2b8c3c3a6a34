"""The decision rule, tuned and given thresholds, hard decisions, and the named gaps of rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lookup import DOORS, Door, assert_honest, by_group, gap, overall, summary, warned

import fmfair

# A perfect classifier on two groups.
PERFECT = ([0, 1, 0, 1], [0.15, 0.9, 0.25, 0.8], [*"aabb"])


@DOORS
def test_fc12_the_decision_uses_the_rule_of_the_search(door: Door) -> None:
    report = door(*PERFECT, thresholds="best_f1", metrics="all")

    assert overall(report, "f1", "threshold") == 0.8
    assert overall(report, "f1") == 1.0
    assert overall(report, "accuracy") == 1.0
    for metric in ("accuracy", "tpr", "tnr"):
        assert by_group(report, metric) == {"a": 1.0, "b": 1.0}
        assert gap(report, metric) == 0.0
    assert gap(report, "equalized_odds", "score") == 1.0
    assert (summary(report, "acc-gap"), summary(report, "eo"), summary(report, "eod")) == (0.0, 0.0, 1.0)
    assert (summary(report, "threshold"), summary(report, "threshold_rule")) == (0.8, "best_f1")


@DOORS
def test_fc12_deciding_with_another_rule_is_an_option_that_says_so(door: Door) -> None:
    report = door(*PERFECT, thresholds="best_f1", conventions="fairmedfm")

    # The sample that sets the threshold is called negative: b loses its only case.
    assert (summary(report, "acc-gap"), summary(report, "eo"), summary(report, "eod")) == (0.5, 1.0, 0.5)
    assert summary(report, "overall-acc") == 0.75
    assert report.metadata["conventions"] == "fairmedfm"
    assert report.metadata["decision"] == "y_score > threshold"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (fmfair.accuracy_gap, 0.0),
        (fmfair.equal_opportunity_difference, 0.0),
        (fmfair.equalized_odds_score, 1.0),
    ],
)
def test_fc12_the_scalars_call_a_perfect_classifier_fair(function: Any, expected: float) -> None:
    truth, score, group = PERFECT

    value, told = warned(function, truth, score, sensitive_features=group)

    assert value == expected
    assert told == ""


# Only hard decisions were saved, and they come where a score is expected.
HARD_TRUTH = [0, 1, 0, 1, 0, 1, 0, 1]
HARD = [0, 1, 0, 1, 0, 1, 1, 1]
HARD_GROUP = [*"aaaabbbb"]
HARD_FORMS = {
    "list of int": HARD,
    "list of bool": [bool(v) for v in HARD],
    "list of float": [float(v) for v in HARD],
    "NumPy int8": np.array(HARD, dtype=np.int8),
    "NumPy uint8": np.array(HARD, dtype=np.uint8),
    "NumPy bool": np.array(HARD, dtype=bool),
    "Polars Boolean": pl.Series([bool(v) for v in HARD]),
    "Polars UInt8": pl.Series(HARD, dtype=pl.UInt8),
    "pandas boolean": pd.Series([bool(v) for v in HARD], dtype="boolean"),
    "pandas Int64": pd.Series(HARD, dtype="Int64"),
    "Arrow int32": pa.array(HARD, pa.int32()),
}
HARD_SCORES = pytest.mark.parametrize("score", [pytest.param(v, id=k) for k, v in HARD_FORMS.items()])


@DOORS
@HARD_SCORES
@pytest.mark.parametrize("threshold", ["best_f1", 0.5, 1])
def test_fc14_hard_decisions_as_scores_are_used_as_they_are(door: Door, score: Any, threshold: Any) -> None:
    report = door(HARD_TRUTH, score, HARD_GROUP, thresholds=threshold, metrics=["f1", "accuracy", "tpr", "tnr"])

    assert overall(report, "f1") == pytest.approx(8 / 9)
    assert overall(report, "accuracy") == 0.875
    assert by_group(report, "accuracy") == {"a": 1.0, "b": 0.75}
    assert by_group(report, "tpr") == {"a": 1.0, "b": 1.0}
    assert by_group(report, "tnr") == {"a": 1.0, "b": 0.5}
    assert gap(report, "equalized_odds", "score") == 0.75
    assert [n for n in report.notes if "takes only two values" in n]
    if threshold == "best_f1":
        assert overall(report, "f1", "threshold") == 1.0


@HARD_SCORES
def test_fc14_the_scalars_use_hard_decisions_as_they_are(score: Any) -> None:
    values = [
        warned(function, HARD_TRUTH, score, sensitive_features=HARD_GROUP)[0]
        for function in (fmfair.accuracy_gap, fmfair.equal_opportunity_difference, fmfair.equalized_odds_score)
    ]

    assert values == [0.25, 0.0, 0.75]


@HARD_SCORES
def test_fc14_hard_decisions_as_y_pred(score: Any) -> None:
    report = fmfair.evaluate_arrays(HARD_TRUTH, y_pred=score, sensitive_features=HARD_GROUP)

    assert by_group(report, "accuracy") == {"a": 1.0, "b": 0.75}
    assert by_group(report, "accuracy", "threshold_rule") == {"a": "y_pred", "b": "y_pred"}
    assert gap(report, "equalized_odds", "score") == 0.75
    assert by_group(report, "auc") == {"a": None, "b": None}
    assert by_group(report, "auc", "note")["a"] == "there are decisions but no scores"
    assert_honest(report)


def test_fc14_a_saturated_model_is_not_called_fair() -> None:
    report = fmfair.evaluate_arrays(HARD_TRUTH, [float(v) for v in HARD], sensitive_features=HARD_GROUP)

    # At 0.5; a strict cut at the best F1, which is 1, would call nobody positive and every gap 0.
    assert summary(report, "acc-gap") == 0.25
    assert summary(report, "eod") == 0.75


# The operating point was fixed elsewhere; one score per group lies on it or beside it.
GIVEN_TRUTH = [1, 0, 1, 0, 1, 0, 1, 0]
GIVEN_SCORE = [0.35, 0.2, 0.6, 0.5, 0.3, 0.35, 0.9, 0.1]
GIVEN_GROUP = [*"aaaabbbb"]


@DOORS
@pytest.mark.parametrize("threshold", [0.35, "0.35", np.float64(0.35), np.float32(0.35)])
def test_fc15_a_given_threshold_is_applied_as_it_is_and_recorded(door: Door, threshold: Any) -> None:
    score = np.array(GIVEN_SCORE, dtype=np.float32) if isinstance(threshold, np.float32) else GIVEN_SCORE

    report = door(GIVEN_TRUTH, score, GIVEN_GROUP, thresholds=threshold)

    assert by_group(report, "accuracy") == {"a": 0.75, "b": 0.5}
    assert (gap(report, "tpr"), gap(report, "tnr")) == (0.5, 0.0)
    assert gap(report, "equalized_odds", "score") == 0.75
    assert gap(report, "equalized_odds") == 0.5
    assert by_group(report, "accuracy", "threshold")["a"] == float(threshold)
    assert by_group(report, "accuracy", "threshold_rule")["a"] == "fixed"
    assert report.metadata["decision"] == "y_score >= threshold"
    assert not [n for n in report.notes if "tuned" in n]


@DOORS
def test_fc15_the_published_convention_decides_strictly(door: Door) -> None:
    report = door(GIVEN_TRUTH, GIVEN_SCORE, GIVEN_GROUP, thresholds=0.35, conventions="fairmedfm")

    assert by_group(report, "accuracy") == {"a": 0.5, "b": 0.75}
    assert (gap(report, "tpr"), gap(report, "tnr")) == (0.0, 0.5)
    assert summary(report, "eod") == 0.75
    assert report.metadata["decision"] == "y_score > threshold"


@pytest.mark.parametrize(
    ("conventions", "expected"), [("standard", (0.25, 0.5, 0.75)), ("fairmedfm", (0.25, 0.0, 0.75))]
)
def test_fc15_the_scalars_use_the_same_rule(conventions: str, expected: tuple[float, ...]) -> None:
    found = tuple(
        warned(
            function,
            GIVEN_TRUTH,
            GIVEN_SCORE,
            sensitive_features=GIVEN_GROUP,
            threshold=0.35,
            conventions=conventions,
        )[0]
        for function in (fmfair.accuracy_gap, fmfair.equal_opportunity_difference, fmfair.equalized_odds_score)
    )

    assert found == expected


@DOORS
@pytest.mark.parametrize("rule", ["best_f1", "youden", "tpr=0.9", "tnr=0.95"])
def test_fc15_a_tuned_threshold_says_that_it_was_tuned_on_these_labels(door: Door, rule: str) -> None:
    report = door(GIVEN_TRUTH, GIVEN_SCORE, GIVEN_GROUP, thresholds=rule)

    assert f"threshold {rule}: tuned on these labels, so the rates at it are optimistic" in report.notes
    assert overall(report, "tpr", "threshold_rule") == rule


def test_fc15_a_threshold_per_by_key() -> None:
    table = {
        "model": ["m"] * 8 + ["k"] * 8,
        "label": GIVEN_TRUTH * 2,
        "prob": GIVEN_SCORE * 2,
        "sex": GIVEN_GROUP * 2,
    }

    report = fmfair.evaluate(table, thresholds={"m": 0.35, "k": 0.95})

    assert by_group(report, "accuracy", model="m") == {"a": 0.75, "b": 0.5}
    assert by_group(report, "accuracy", model="k") == {"a": 0.5, "b": 0.5}
    assert by_group(report, "accuracy", "threshold", model="k") == {"a": 0.95, "b": 0.95}


# Logits that happen to lie in [0, 1].
GUESS_TRUTH = [0, 1, 1, 0, 1, 0, 0, 1]
GUESS_SCORE = [0.1, 0.9, 0.4, 0.8, 0.7, 0.2, 0.6, 0.3]
GUESS_GROUP = [*"aaaabbbb"]


@DOORS
@pytest.mark.parametrize(
    ("score_type", "bce", "difference"),
    [
        ("logit", {"a": 0.6924166132883474, "b": 0.6982920283053655}, 0.00587541501701816),
        ("probability", {"a": 0.6841124189059771, "b": 0.6750205078632583}, 0.009091911042718781),
        ("auto", {"a": 0.6841124189059771, "b": 0.6750205078632583}, 0.009091911042718781),
    ],
)
def test_fc18_the_reading_that_the_user_states_is_obeyed(
    door: Door, score_type: str, bce: dict[str, float], difference: float
) -> None:
    report = door(GUESS_TRUTH, GUESS_SCORE, GUESS_GROUP, score_type=score_type)
    value, _ = warned(fmfair.bce_gap, GUESS_TRUTH, GUESS_SCORE, sensitive_features=GUESS_GROUP, score_type=score_type)

    assert by_group(report, "bce") == pytest.approx(bce, abs=1e-14)
    assert gap(report, "bce") == pytest.approx(difference, abs=1e-14)
    assert value == pytest.approx(difference, abs=1e-14)
    assert report.metadata["score_type"] == ("logit" if score_type == "logit" else "probability")


def test_fc18_the_reading_is_decided_once_for_all_pieces_of_a_folder(tmp_path: Path) -> None:
    scores = [-0.5, 0.2, 0.9, 1.5]
    frame = pl.DataFrame({"label": [0, 1, 0, 1], "score": scores, "sex": ["F"] * 4})
    for i in range(4):
        frame.slice(i, 1).write_parquet(tmp_path / f"batch{i}.parquet")
    frame.write_parquet(tmp_path.with_suffix(".parquet"), row_group_size=1)

    for source in (tmp_path, tmp_path.with_suffix(".parquet"), frame):
        report = fmfair.evaluate(source)

        # With a sigmoid on the pieces outside [0, 1] only, it is 0.25.
        assert overall(report, "auc") == 0.75
        assert report.metadata["score_type"] == "logit"
        assert [n for n in report.notes if "read as logit (scores from -0.5 to 1.5)" in n]


def test_fc18_the_reading_is_decided_once_for_all_by_keys_and_groups() -> None:
    # Model A and group F alone look like probabilities.
    table = {
        "model": [*"AAAABBBB"],
        "label": [0, 1, 0, 1] * 2,
        "score": [0.1, 0.9, 0.3, 0.7, -3.0, 2.0, 0.5, 0.2],
        "sex": [*"FFFFFFMM"],
    }

    report = fmfair.evaluate(table)

    assert report.metadata["score_type"] == "logit"
    # ln(1 + e^0.1), ln(1 + e^-0.9), ln(1 + e^0.3), ln(1 + e^-0.7)
    assert by_group(report, "bce", model="A")["F"] == pytest.approx(
        np.log1p(np.exp([0.1, -0.9, 0.3, -0.7])).mean(), abs=1e-14
    )


# One group is never called positive, the other always.
OPPOSITE = ([0, 1, 0, 1, 0, 1, 0, 1], [0.2, 0.3, 0.1, 0.4, 0.7, 0.8, 0.9, 0.6], [*"aaaabbbb"])


@DOORS
def test_fc48_opposite_differences_do_not_cancel(door: Door) -> None:
    report = door(*OPPOSITE, thresholds=0.5)

    assert by_group(report, "tpr") == {"a": 0.0, "b": 1.0}
    assert by_group(report, "fpr") == {"a": 0.0, "b": 1.0}
    assert (gap(report, "tpr"), gap(report, "fpr"), gap(report, "tnr")) == (1.0, 1.0, 1.0)
    assert gap(report, "equalized_odds") == 1.0
    assert gap(report, "equalized_odds", "average_difference") == 1.0
    assert gap(report, "equalized_odds", "score") == 0.0
    assert by_group(report, "auc") == {"a": 1.0, "b": 0.25}
    assert (summary(report, "eo"), summary(report, "eod")) == (1.0, 0.0)


def test_fc48_the_scalar_score_is_zero_where_nothing_could_be_less_equal() -> None:
    truth, score, group = OPPOSITE

    assert fmfair.equalized_odds_score(truth, score, sensitive_features=group, threshold=0.5) == 0.0
    assert fmfair.equal_opportunity_difference(truth, score, sensitive_features=group, threshold=0.5) == 1.0


def test_fc48_the_documentation_states_the_direction() -> None:
    score, difference = fmfair.equalized_odds_score.__doc__, fmfair.equal_opportunity_difference.__doc__

    assert "1 is fair" in str(score)
    assert "0 is fair" in str(difference)


# At this threshold nobody is called positive.
NOBODY = ([0, 1, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.15, 0.05, 0.25], [*"aabbcc"])


@DOORS
def test_fc49_where_nobody_is_called_positive_ratios_and_precision_are_empty(door: Door) -> None:
    report = door(*NOBODY, thresholds=0.5, metrics="all")

    nothing = {"a": None, "b": None, "c": None}
    zero = {"a": 0.0, "b": 0.0, "c": 0.0}
    assert by_group(report, "selection_rate") == zero
    assert by_group(report, "tpr") == zero
    assert by_group(report, "ppv") == nothing
    assert set(by_group(report, "ppv", "note").values()) == {"no sample is predicted positive"}
    assert (gap(report, "selection_rate"), gap(report, "tpr"), gap(report, "tnr")) == (0.0, 0.0, 0.0)
    for metric, statistic in (("selection_rate", "ratio"), ("demographic_parity", "ratio"), ("tpr", "ratio")):
        assert gap(report, metric, statistic) is None
        assert gap(report, metric, statistic, "note") == "0/0"
    assert gap(report, "demographic_parity") == 0.0
    assert gap(report, "ppv") is None
    assert "0 of 3 groups can be compared: no sample is predicted positive" in gap(report, "ppv", column="note")
    assert_honest(report)


@DOORS
def test_fc49_a_note_says_that_nobody_is_called_positive(door: Door) -> None:
    report = door(*NOBODY, thresholds=0.5)

    assert [n for n in report.notes if "threshold 0.5" in n and "no sample is called positive" in n]


@DOORS
def test_fc49_one_group_that_is_never_called_positive_has_the_ratio_zero(door: Door) -> None:
    truth, _, group = NOBODY

    report = door(truth, [0.1, 0.2, 0.9, 0.8, 0.6, 0.25], group, thresholds=0.5)

    assert gap(report, "selection_rate", "ratio") == 0.0
    assert gap(report, "demographic_parity", "ratio") == 0.0


@DOORS
def test_fc49_everybody_called_positive_is_the_mirror_image(door: Door) -> None:
    truth, score, group = NOBODY

    report = door(truth, score, group, thresholds=0.0, metrics="all")

    assert set(by_group(report, "npv").values()) == {None}
    assert gap(report, "selection_rate", "ratio") == 1.0
    assert gap(report, "fnr", "ratio", "note") == "0/0"
    assert [n for n in report.notes if "threshold 0" in n and "every sample is called positive" in n]
    assert_honest(report)
