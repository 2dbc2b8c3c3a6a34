"""Comparisons of groups: every statistic on hand-made values, ties, noise, ratios, and what is left out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from lookup import by_group, gap, summary

import fmfair
from fmfair.gaps import compare
from fmfair.metrics.registry import REGISTRY

Values = Mapping[str, float | None]


def compared(metrics: Mapping[str, Values], whole: Mapping[str, float | None] | None = None) -> pl.DataFrame:
    """The comparison of group values as they are given; NULL ones are called `no value`."""
    place = {"grouping": pl.UInt32, "by": pl.UInt32, "order": pl.UInt16, "metric": pl.String}
    cut = {"t": pl.UInt32, "threshold": pl.Float64, "threshold_rule": pl.String}
    shown = {"group": pl.String, "value": pl.Float64, "in_gaps": pl.Boolean, "note": pl.String}
    cuts = {m: (0, 0.5, "fixed") if REGISTRY[m].at_threshold else (None, None, None) for m in metrics}
    groups = [
        (0, 0, i, metric, *cuts[metric], group, value, True, None if value is not None else "no value")
        for i, (metric, values) in enumerate(metrics.items())
        for group, value in values.items()
    ]
    overall = [(0, 0, i, metric, *cuts[metric], (whole or {}).get(metric, 0.5)) for i, metric in enumerate(metrics)]
    return compare(
        pl.DataFrame(groups, schema={**place, **cut, **shown}, orient="row"),
        pl.DataFrame(overall, schema={**place, **cut, "value": pl.Float64}, orient="row"),
        [REGISTRY[m] for m in metrics],
    )


def statistics(frame: pl.DataFrame, metric: str, column: str = "value") -> dict[str, Any]:
    return dict(frame.filter(pl.col("metric") == metric).select("statistic", column).iter_rows())


def test_every_statistic_of_a_metric_of_which_more_is_better() -> None:
    found = compared({"accuracy": {"a": 0.5, "b": 0.8, "c": 0.65}}, {"accuracy": 0.6})
    assert statistics(found, "accuracy") == pytest.approx(
        {
            "difference": 0.3,
            "ratio": 0.625,
            "worst": 0.5,
            "best": 0.8,
            "difference_to_overall": 0.2,
            "ratio_to_overall": 0.75,
            "std": math.sqrt((0.15**2 + 0.15**2) / 3),
        }
    )
    assert set(found["worst_group"]) == {"a"}
    assert set(found["best_group"]) == {"b"}
    assert set(found["n_groups"]) == {3}
    assert found["note"].null_count() == found.height


def test_of_a_metric_of_which_less_is_better_the_highest_is_the_worst() -> None:
    found = compared({"brier": {"a": 0.1, "b": 0.4}}, {"brier": 0.2})
    assert statistics(found, "brier")["worst"] == 0.4
    assert statistics(found, "brier")["best"] == 0.1
    assert set(found["worst_group"]) == {"b"}
    assert statistics(found, "brier")["ratio"] == 0.25
    assert statistics(found, "brier")["ratio_to_overall"] == 0.5


def test_a_metric_without_a_direction_has_no_worst_and_no_best() -> None:
    found = statistics(compared({"selection_rate": {"a": 0.2, "b": 0.4}}), "selection_rate")
    assert "worst" not in found
    assert "best" not in found
    assert found["difference"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    "order", [["b", "a", "c"], ["c", "b", "a"], ["9", "10", "2"]], ids=["letters", "backwards", "numbers"]
)
def test_of_tied_groups_the_first_in_their_order_is_named(order: list[str]) -> None:
    found = compared({"auc": dict.fromkeys(order, 0.7), "bce": dict.fromkeys(order, 0.7)})
    assert set(found["worst_group"]) == set(found["best_group"]) == {order[0]}
    low_twice = compared({"auc": dict(zip(order, (0.9, 0.7, 0.7), strict=True))})
    assert set(low_twice["worst_group"]) == {order[1]}
    high_twice = compared({"auc": dict(zip(order, (0.7, 0.9, 0.9), strict=True))})
    assert set(high_twice["best_group"]) == {order[1]}


@pytest.mark.parametrize("scale", [1e-3, 0.7, 1.0, 700.0])
def test_differences_below_the_noise_of_sums_are_none(scale: float) -> None:
    found = compared({"bce": {"a": scale, "b": scale * (1 + 4e-16), "c": scale * (1 - 4e-16)}}, {"bce": scale})
    values = statistics(found, "bce")
    assert values["difference"] == values["std"] == values["difference_to_overall"] == 0.0
    assert values["ratio"] == pytest.approx(1.0)
    assert set(found["worst_group"]) == set(found["best_group"]) == {"a"}


def test_differences_above_the_noise_stay() -> None:
    found = statistics(compared({"auc": {"a": 0.7, "b": 0.7 + 1e-11}}, {"auc": 0.7}), "auc")
    assert found["difference"] == pytest.approx(1e-11, rel=1e-4)
    assert found["difference_to_overall"] == found["difference"]


def test_the_same_rows_in_another_order_make_no_gap() -> None:
    scores = [0.1 * k for k in range(1, 10)] + [0.37, 0.001, 0.998]
    labels = [0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1]
    frame = pl.DataFrame({"y": labels + labels[::-1], "s": scores + scores[::-1], "g": ["b"] * 12 + ["a"] * 12})
    found = fmfair.evaluate(frame, y_true="y", y_score="s", attributes="g", metrics="all").gaps
    plain = found.filter(pl.col("statistic").is_in(["difference", "std", "difference_to_overall"]))
    differences = plain.filter(~pl.col("metric").is_in(["calibration_intercept", "calibration_slope"]))["value"]
    assert differences.null_count() == 0
    assert set(differences) == {0.0}
    assert set(found["worst_group"].drop_nulls()) == {"a"}


def test_a_group_at_zero_makes_the_ratio_zero_and_all_at_zero_leave_it_undefined() -> None:
    one = statistics(compared({"tpr": {"a": 0.0, "b": 0.5}}, {"tpr": 0.25}), "tpr")
    assert (one["ratio"], one["ratio_to_overall"]) == (0.0, 0.0)
    found = compared({"tpr": {"a": 0.0, "b": 0.0}}, {"tpr": 0.0})
    assert statistics(found, "tpr")["ratio"] is None
    assert statistics(found, "tpr")["ratio_to_overall"] is None
    assert statistics(found, "tpr", "note")["ratio"] == "0/0"
    assert statistics(found, "tpr", "note")["ratio_to_overall"] == "division by 0"
    assert statistics(found, "tpr")["difference"] == 0.0


def test_what_nearly_cancels_is_zero_in_a_ratio_too() -> None:
    found = compared({"ece": {"a": 1e-17, "b": 0.0}}, {"ece": 1e-18})
    assert statistics(found, "ece")["ratio"] is None
    assert statistics(found, "ece")["difference"] == 0.0


@pytest.mark.parametrize(
    "metric", ["mcc", "adjusted_auprc", "net_benefit", "calibration_intercept", "calibration_slope"]
)
def test_a_metric_that_can_be_negative_has_no_ratio(metric: str) -> None:
    found = compared({metric: {"a": 0.5, "b": 0.25}})
    for statistic in ("ratio", "ratio_to_overall"):
        assert statistics(found, metric)[statistic] is None
        assert statistics(found, metric, "note")[statistic] == "no ratio, the metric can be negative"
    assert statistics(found, metric)["difference"] == 0.25
    assert statistics(compared({metric: {"a": -0.5, "b": 0.25}}), metric)["difference"] == 0.75


def test_the_distance_to_overall_is_taken_from_the_side_that_is_farther() -> None:
    found = statistics(compared({"auc": {"a": 0.5, "b": 0.9}}, {"auc": 0.8}), "auc")
    assert found["difference_to_overall"] == pytest.approx(0.3)
    assert found["ratio_to_overall"] == pytest.approx(0.625)
    beyond = statistics(compared({"auc": {"a": 0.9, "b": 1.0}}, {"auc": 0.5}), "auc")
    assert beyond["difference_to_overall"] == pytest.approx(0.5)
    assert beyond["ratio_to_overall"] == pytest.approx(0.5)


def test_where_overall_is_undefined_the_distance_says_so() -> None:
    found = compared({"calibration_slope": {"a": 1.0, "b": 2.0}}, {"calibration_slope": None})
    assert statistics(found, "calibration_slope")["difference_to_overall"] is None
    assert statistics(found, "calibration_slope", "note")["difference_to_overall"] == "undefined on all rows together"
    assert statistics(found, "calibration_slope")["difference"] == 1.0


def test_an_undefined_group_is_left_out_of_that_gap_alone() -> None:
    found = compared({"tpr": {"a": None, "b": 0.5, "c": 0.9}, "tnr": {"a": 0.1, "b": 0.5, "c": 0.9}})
    assert statistics(found, "tpr")["difference"] == pytest.approx(0.4)
    assert set(statistics(found, "tpr", "n_groups").values()) == {2}
    assert statistics(found, "tnr")["difference"] == pytest.approx(0.8)
    assert statistics(found, "equalized_odds")["difference"] == pytest.approx(0.8)
    assert set(statistics(found, "equalized_odds", "n_groups").values()) == {2}


def test_one_usable_group_has_no_gap_but_a_reason_and_is_worst_and_best() -> None:
    found = compared({"tpr": {"a": None, "b": 0.5}})
    values, notes = statistics(found, "tpr"), statistics(found, "tpr", "note")
    assert (values.pop("worst"), values.pop("best")) == (0.5, 0.5)
    assert set(values.values()) == {None}
    assert (notes.pop("worst"), notes.pop("best")) == (None, None)
    assert set(notes.values()) == {"1 of 2 groups can be compared: no value"}
    assert statistics(found, "equal_opportunity") == {"difference": None}


def test_no_usable_group_has_neither_gap_nor_worst() -> None:
    found = compared({"auc": {"a": None, "b": None}}, {"auc": None})
    assert found["value"].null_count() == found["note"].count() == found.height
    assert found["worst_group"].null_count() == found.height


# --- the named statistics ------------------------------------------------------------------------------------------

RATES: dict[str, Values] = {
    "tpr": {"a": 0.9, "b": 0.6},
    "fpr": {"a": 0.1, "b": 0.15},
    "tnr": {"a": 0.9, "b": 0.85},
    "selection_rate": {"a": 0.2, "b": 0.5},
}


def test_the_named_statistics_are_the_gaps_of_their_rates() -> None:
    found = compared(RATES)
    assert statistics(found, "equal_opportunity") == {"difference": pytest.approx(0.3)}
    assert statistics(found, "demographic_parity") == {"difference": pytest.approx(0.3), "ratio": pytest.approx(0.4)}
    assert statistics(found, "equalized_odds") == {
        "difference": pytest.approx(0.3),
        "average_difference": pytest.approx(0.175),
        "score": pytest.approx(0.825),
    }


def test_equalized_odds_names_the_groups_of_the_larger_difference() -> None:
    assert statistics(compared(RATES), "equalized_odds", "worst_group") == {
        "difference": "b",
        "average_difference": None,
        "score": None,
    }
    other = compared({**RATES, "tpr": {"a": 0.6, "b": 0.62}})
    assert statistics(other, "equalized_odds", "worst_group")["difference"] == "b"
    assert statistics(other, "equalized_odds", "best_group")["difference"] == "a"
    assert statistics(other, "equalized_odds")["difference"] == pytest.approx(0.05)


@pytest.mark.parametrize("without", ["fpr", "tnr"])
def test_equalized_odds_needs_only_one_of_the_two_rates_of_the_negatives(without: str) -> None:
    found = compared({m: v for m, v in RATES.items() if m != without})
    assert statistics(found, "equalized_odds") == pytest.approx(statistics(compared(RATES), "equalized_odds"))


def test_nothing_is_named_whose_parts_were_not_asked_for() -> None:
    assert set(compared({"tnr": RATES["tnr"], "auc": RATES["tpr"]})["metric"]) == {"tnr", "auc"}


def test_differences_of_opposite_sign_do_not_cancel() -> None:
    found = statistics(compared({"tpr": {"a": 0.0, "b": 1.0}, "fpr": {"a": 1.0, "b": 0.0}}), "equalized_odds")
    assert found == {"difference": 1.0, "average_difference": 1.0, "score": 0.0}


def test_both_published_forms_of_the_equity_scaled_auc() -> None:
    found = statistics(compared({"auc": {"a": 0.9, "b": 0.8}}, {"auc": 0.85}), "auc")
    assert found["equity_scaled"] == pytest.approx(0.85 / 1.1)
    assert found["equity_scaled_std"] == pytest.approx(0.85 / 1.05)
    assert round(found["equity_scaled"], 6) == 0.772727
    assert round(found["equity_scaled_std"], 6) == 0.809524


def test_dice_has_a_skewness_unless_the_best_group_is_perfect() -> None:
    found = compared({"dice": {"a": 0.85, "b": 0.65, "c": 0.5}}, {"dice": 0.7})
    assert statistics(found, "dice")["skewness"] == pytest.approx(0.5 / 0.15)
    assert statistics(found, "dice")["equity_scaled_std"] == pytest.approx(0.6122241459966561)
    perfect = compared({"dice": {"a": 1.0, "b": 0.5}})
    assert statistics(perfect, "dice")["skewness"] is None
    assert statistics(perfect, "dice", "note")["skewness"] == "the best group is perfect"


# --- in a report -----------------------------------------------------------------------------------------------------

# 30 images of 3 groups, with ties within and across the classes.
T = pl.DataFrame(
    {
        "group": ["A"] * 10 + ["B"] * 10 + ["C"] * 10,
        "y": [1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1],
        "s": [
            *(0.35, 0.1, 0.9, 0.1, 0.6, 0.3, 0.1, 0.6, 0.95, 0.7),
            *(0.45, 0.45, 0.3, 0.8, 0.5, 0.55, 0.3, 0.35, 0.25, 0.15),
            *(0.9, 0.7, 0.4, 0.25, 0.2, 0.5, 0.7, 0.15, 0.7, 0.55),
        ],
    }
)


def test_gaps_of_thirty_images_worked_out_with_other_software() -> None:
    found = fmfair.evaluate(T, y_true="y", y_score="s", attributes="group", metrics="all")
    assert by_group(found, "auc") == pytest.approx({"A": 0.94, "B": 0.916666666667, "C": 0.625})
    assert by_group(found, "tpr") == pytest.approx({"A": 4 / 5, "B": 2 / 4, "C": 5 / 6})
    assert gap(found, "auc") == pytest.approx(0.315)
    assert gap(found, "auc", "equity_scaled") == pytest.approx(0.606157536985)
    assert gap(found, "auc", "equity_scaled_std") == pytest.approx(0.736652774671)
    assert gap(found, "tpr") == gap(found, "equal_opportunity") == pytest.approx(1 / 3)
    assert gap(found, "fpr") == pytest.approx(1 / 12)
    assert gap(found, "equalized_odds") == pytest.approx(1 / 3)
    assert gap(found, "equalized_odds", "score") == pytest.approx(0.791666666667)
    assert gap(found, "accuracy", "worst", "worst_group") == "B"


def test_a_minimum_size_keeps_the_group_and_leaves_it_out_of_every_comparison() -> None:
    frame = pl.concat([T, pl.DataFrame({"group": ["D"] * 2, "y": [0, 1], "s": [0.9, 0.1]})])
    options: dict[str, Any] = {"y_true": "y", "y_score": "s", "attributes": "group", "metrics": None}
    every, large = fmfair.evaluate(frame, **options), fmfair.evaluate(frame, **options, min_group_size=3)
    assert gap(every, "auc", "worst", "worst_group") == "D"
    assert gap(every, "auc") == pytest.approx(0.94)
    assert by_group(large, "auc") == by_group(every, "auc")
    assert by_group(large, "auc", "in_gaps") == {"A": True, "B": True, "C": True, "D": False}
    assert gap(large, "auc") == pytest.approx(0.315)
    assert gap(large, "auc", "worst", "worst_group") == "C"
    assert gap(large, "auc", column="n_groups") == 3
    assert summary(large, "worst-auc") == pytest.approx(0.625)
    assert any("min_group_size=3" in note and "D" in note for note in large.notes)


def test_with_a_minimum_size_that_no_group_reaches_the_reason_says_so() -> None:
    found = fmfair.evaluate(T, y_true="y", y_score="s", attributes="group", min_group_size=11)
    assert gap(found, "auc") is None
    assert gap(found, "auc", column="note") == "0 of 3 groups can be compared (3 below min_group_size)"


def test_gaps_of_an_attribute_are_against_the_rows_that_have_it() -> None:
    frame = T.with_columns(group=pl.when(pl.col("group") != "C").then("group"))
    found = fmfair.evaluate(frame, y_true="y", y_score="s", attributes="group", metrics=["accuracy"])
    present = fmfair.evaluate(frame.drop_nulls(), y_true="y", y_score="s", attributes="group", metrics=["accuracy"])
    assert gap(found, "accuracy", "difference_to_overall") == gap(present, "accuracy", "difference_to_overall")
    assert found.overall["value"].item() != present.overall["value"].item()
