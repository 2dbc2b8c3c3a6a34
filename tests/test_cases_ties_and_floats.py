"""Ties, saturated logits, single precision and sums in another order."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from lookup import DOORS, Door, assert_honest, by_group, gap, overall, warned

import fmfair

# An integer risk score in which every value ties a case with a control.
TRUTH = [1, 0, 0, 1, 0, 1, 1, 0, 0, 1]
SCORE = [7, 7, 4, 4, 4, 3, 3, 3, 9, 9]
GROUP = [*"aaaaabbbbb"]
# Pairs won, a tie one half: a 3.5 of 6, b 2.5 of 6.
AUC = {"a": float(Fraction(7, 12)), "b": float(Fraction(5, 12))}
AUC_EXPRESSION = fmfair.metrics.auc("y", "s")


@DOORS
def test_fc08_a_tie_counts_one_half(door: Door) -> None:
    report = door(TRUTH, SCORE, GROUP, score_type="rank")

    assert by_group(report, "auc") == pytest.approx(AUC, abs=1e-15)
    assert gap(report, "auc") == pytest.approx(1 / 6, abs=1e-15)
    # Row numbers inside a tie give 5/6 and 2/3 with negatives first, 1/3 and 1/6 with positives first.
    assert by_group(report, "auc")["a"] not in (pytest.approx(5 / 6), pytest.approx(1 / 3))


@DOORS
def test_fc08_every_order_of_a_groups_rows_gives_the_very_same_numbers(door: Door) -> None:
    first = door(TRUTH, SCORE, GROUP, score_type="rank", metrics="all")
    rng = random.Random(8)
    # Some orders of the five rows of a, and of all ten rows.
    orders = [[*p, *range(5, 10)] for p in itertools.permutations(range(5))][::24]
    orders += [rng.sample(range(10), 10) for _ in range(5)]

    for order in orders:
        again = door(
            *([column[i] for i in order] for column in (TRUTH, SCORE, GROUP)), score_type="rank", metrics="all"
        )
        assert again.groups.equals(first.groups), order
        assert again.gaps.equals(first.gaps), order


def test_fc08_the_expression_gives_the_same_on_every_permutation() -> None:
    values = {
        pl.DataFrame({"y": [TRUTH[i] for i in order], "s": [SCORE[i] for i in order]}).select(AUC_EXPRESSION).item()
        for order in itertools.permutations(range(5))
    }

    assert values == {AUC["a"]}


@pytest.mark.parametrize("score_type", ["rank", "auto", "logit"])
def test_fc08_the_scalars_see_the_same_ties_on_every_scale(score_type: str) -> None:
    value, _ = warned(fmfair.auc_gap, TRUTH, SCORE, sensitive_features=GROUP, score_type=score_type)
    worst, _ = warned(fmfair.worst_group_auc, TRUTH, SCORE, sensitive_features=GROUP, score_type=score_type)

    assert value == pytest.approx(1 / 6, abs=1e-15)
    assert worst == pytest.approx(5 / 12, abs=1e-15)


def test_fc08_scores_that_differ_in_the_last_digit_do_not_tie() -> None:
    close = [0.3, math.nextafter(0.3, 1), 0.3, math.nextafter(0.3, 0)]

    assert fmfair.worst_group_auc([0, 1, 1, 0], close, sensitive_features=[*"aaaa"]) == 0.875


def test_fc08_zero_and_minus_zero_tie() -> None:
    value = fmfair.worst_group_auc(
        [0, 1, 1, 0], [-0.0, 0.0, 0.5, 0.2], sensitive_features=["a"] * 4, score_type="probability"
    )

    # Pairs: (0.0, -0.0) tie, (0.0, 0.2) lost, (0.5, both) won.
    assert value == 2.5 / 4


# A confident network: every sigmoid of these logits rounds to 1.
LOGIT_TRUTH = [0, 1, 1, 0, 0, 1, 0, 1]
LOGITS = [61.5, 64.25, 61.0, 60.0, 44.0, 52.5, 41.0, 47.5]
LOGIT_GROUP = [*"aaaabbbb"]


@DOORS
@pytest.mark.parametrize("sign", [1, -1])
def test_fc10_large_logits_do_not_saturate(door: Door, sign: int) -> None:
    truth = LOGIT_TRUTH if sign == 1 else [1 - y for y in LOGIT_TRUTH]

    report = door(truth, [sign * z for z in LOGITS], LOGIT_GROUP, score_type="logit")

    assert by_group(report, "auc") == {"a": 0.75, "b": 1.0}
    assert gap(report, "auc") == 0.25
    assert gap(report, "auc", "worst") == 0.75
    # Softplus: a lost (61.5 + 60) / 4, b lost (44 + 41) / 4.
    assert by_group(report, "bce") == pytest.approx({"a": 30.375, "b": 21.25}, abs=1e-12)
    assert_honest(report)


@pytest.mark.parametrize(
    ("function", "expected"),
    [(fmfair.worst_group_auc, 0.75), (fmfair.auc_gap, 0.25), (fmfair.bce_gap, 9.125)],
)
def test_fc10_the_scalars_do_not_saturate(function: Any, expected: float) -> None:
    value, told = warned(function, LOGIT_TRUTH, LOGITS, sensitive_features=LOGIT_GROUP, score_type="logit")

    assert value == pytest.approx(expected, abs=1e-12)
    assert told == ""


@DOORS
@pytest.mark.parametrize("size", [800.0, 1e5, 1e300])
def test_fc10_huge_logits_neither_overflow_nor_warn(door: Door, size: float) -> None:
    report = door([0, 1, 1, 0], [-size, size, -size / 2, size / 2], [*"aabb"], score_type="logit", metrics="all")

    assert by_group(report, "auc") == {"a": 1.0, "b": 0.0}
    # Each row of b is lost by its logit.
    assert by_group(report, "bce") == {"a": 0.0, "b": min(size / 2, 1e100)}
    assert math.copysign(1, by_group(report, "bce")["a"]) == 1
    assert by_group(report, "brier") == {"a": 0.0, "b": 1.0}
    assert_honest(report)


@DOORS
def test_fc10_two_columns_of_logits_rank_by_their_difference(door: Door) -> None:
    matrix = [[-z, 0.0] for z in LOGITS]
    table = {"label": LOGIT_TRUTH, "logit_0": [r[0] for r in matrix], "logit_1": [r[1] for r in matrix]}

    report = (
        fmfair.evaluate({**table, "sex": LOGIT_GROUP}, score_type="logit")
        if door.__name__ == "from_frame"
        else door(LOGIT_TRUTH, matrix, LOGIT_GROUP, score_type="logit")
    )

    # The second column alone is constant.
    assert by_group(report, "auc") == {"a": 0.75, "b": 1.0}
    assert by_group(report, "bce") == pytest.approx({"a": 30.375, "b": 21.25}, abs=1e-12)


def test_fc10_a_logit_column_beside_saturated_probabilities_is_ranked_by() -> None:
    table = {"label": LOGIT_TRUTH, "prob": [1.0] * 8, "y_logit": LOGITS, "sex": LOGIT_GROUP}

    report = fmfair.evaluate(table)

    assert by_group(report, "auc") == {"a": 0.75, "b": 1.0}
    assert by_group(report, "bce") == pytest.approx({"a": 30.375, "b": 21.25}, abs=1e-12)
    assert by_group(report, "brier") == {"a": 0.5, "b": 0.5}
    assert [n for n in report.notes if "y_logit is used for ranking and BCE" in n]


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_fc10_single_precision_is_widened_and_not_the_threshold_rounded(dtype: type[pl.DataType]) -> None:
    score = pl.Series([0.7, 0.2, 0.7, 0.1], dtype=dtype)

    report = fmfair.evaluate_arrays([1, 0, 1, 0], score, sensitive_features=[*"aabb"], thresholds=0.7)

    # A Float32 0.7 is 0.699999988.
    assert overall(report, "tp") == (2 if dtype == pl.Float64 else 0)


# Two groups with the same 3,000 rows, in two orders.
@pytest.mark.parametrize("weighted", [False, True])
def test_fc59_sums_in_another_order_are_no_gap(weighted: bool) -> None:
    rng = np.random.default_rng(59)
    y, p, w = rng.integers(0, 2, 3000), rng.random(3000), rng.random(3000)
    order = rng.permutation(3000)
    frame = pl.DataFrame({"label": np.r_[y, y[order]], "prob": np.r_[p, p[order]], "w": np.r_[w, w[order]]})
    frame = frame.with_columns(sex=pl.Series(["F"] * 3000 + ["M"] * 3000))

    report = fmfair.evaluate(frame, weight="w" if weighted else None, metrics="all")

    differences = report.gaps.filter(pl.col("statistic") == "difference")
    fitted = pl.col("metric").is_in(["calibration_intercept", "calibration_slope"])
    assert differences.filter(~fitted)["value"].drop_nulls().unique().to_list() == [0.0]
    assert differences.filter(fitted)["value"].max() < 1e-8  # type: ignore[operator]  # a Float64 column


@DOORS
def test_fc10_what_floating_point_cannot_hold_is_null_and_says_so(door: Door) -> None:
    # The intercepts are -1e200 apart, whose square is infinite.
    report = door([0] * 7 + [1, 0, 1], [-800.0] * 8 + [-2.0, 1e200], [*"aaaaaaaabb"], metrics="all")

    assert_honest(report)
    assert gap(report, "calibration_intercept", "std") is None
    assert gap(report, "calibration_intercept", "std", "note") == "beyond the range of numbers"


def test_fc10_weights_at_the_end_of_floating_point_give_no_nan() -> None:
    table = {"label": [0, 0, 1, 0], "prob": [0.1, 0.2, 0.7, 0.7], "sex": [*"FFMM"], "w": [1e-320, 0.5, 0.5, 1e-320]}

    assert_honest(fmfair.evaluate(table, weight="w", metrics="all", thresholds=[0.5, "best_f1", "youden"]))
