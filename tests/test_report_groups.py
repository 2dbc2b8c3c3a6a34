"""The table of groups in the printed report."""

from __future__ import annotations

import polars as pl
import pytest
from reports import (
    CASE_56,
    big_model,
    big_report,
    by_key_report,
    decided,
    evaluate,
    evaluate_segmentation,
    groups_of,
    rows_of,
    sites,
)

from fmfair.shown import MAX_ROWS


def test_fc56_the_text_shows_undefined_as_a_dash_with_its_reason_and_never_nan() -> None:
    report = evaluate(CASE_56, metrics=["auc", "tpr", "tnr"])

    assert groups_of(report) == {
        "BaNaNa": ["2", "0", "-", "-", "2/2"],
        "Infinity": ["2", "1", "n_pos=1", "1/1", "1/1"],
        "NaN": ["2", "1", "n_pos=1", "1/1", "1/1"],
    }
    assert "- undefined: no positives" in str(report)
    assert [line for line in str(report).splitlines() if "NaN" in line.replace("BaNaNa", "")] == [
        "site       NaN       2      1  n_pos=1  1/1  1/1"
    ]


def test_values_have_four_decimals_with_n_and_positives_beside_them_and_the_worst_group_starred() -> None:
    y_true = [0] * 10 + [1] * 10 + [0] * 12 + [1] * 10
    y_score = [0.1] * 9 + [0.9] + [0.2] * 2 + [0.8] * 8 + [0.1] * 12 + [0.9] * 10
    frame = pl.DataFrame({"y_true": y_true, "y_score": y_score, "sex": ["F"] * 20 + ["M"] * 22})

    report = evaluate(frame)

    # F: of 100 pairs, 90 are ordered right; M: all.
    assert groups_of(report) == {
        "F": ["20", "10", "0.9000*", "0.8000*", "0.9000*"],
        "M": ["22", "10", "1.0000", "1.0000", "1.0000"],
    }
    assert "* worst group of its attribute" in str(report)
    assert "counts only" not in str(report)


def test_no_group_is_called_worst_where_all_are_equal() -> None:
    assert "*" not in str(sites(["a", "b"]))


@pytest.mark.parametrize(
    ("positives", "negatives", "shown"),
    [(9, 40, ["n_pos=9", "9/9", "1.0000"]), (40, 9, ["n_neg=9", "1.0000", "9/9"]), (10, 10, ["1.0000"] * 3)],
)
def test_fewer_than_ten_samples_behind_a_value_are_shown_as_counts(
    positives: int, negatives: int, shown: list[str]
) -> None:
    n = positives + negatives
    frame = pl.DataFrame({"y_true": [1] * positives + [0] * negatives, "sex": ["F"] * n}).with_columns(
        y_score=pl.col("y_true") * 0.8 + 0.1
    )

    assert groups_of(evaluate(frame))["F"][2:] == shown


def test_a_weighted_rate_of_few_samples_shows_how_many_and_no_fraction_of_rows() -> None:
    frame = pl.DataFrame({"y_true": [1, 1, 0], "y_score": [0.9, 0.2, 0.1], "sex": ["F"] * 3, "w": [1.0, 3.0, 1.0]})

    assert groups_of(evaluate(frame, weight="w", metrics="tpr"))["F"] == ["3", "2", "n_pos=2"]


def test_a_count_says_what_it_means_and_carries_no_star() -> None:
    report = evaluate(decided({"a": (4, 5, 30, 0), "b": (30, 0, 30, 0)}))

    # Site a has the worst AUC and sensitivity, of nine positives.
    assert groups_of(report)["a"] == ["39", "9", "n_pos=9", "4/9", "1.0000"]
    assert "*" not in str(report)
    assert (
        "4/9 means 4 of only 9 samples, n_pos=9 means only 9 positives: the counts are shown where fewer than 10 "
        "samples carry a value; report.groups holds it"
    ) in " ".join(str(report).split())


def test_the_rates_shown_are_those_at_the_threshold_of_the_summary() -> None:
    frame = decided({"a": (18, 2, 15, 5), "b": (15, 5, 20, 0)}).with_columns(y_score=pl.col("y_score") / 2)

    report = evaluate(frame, thresholds=[0.5, "best_f1", 0.01])

    # At 0.5 nobody is positive, at 0.01 everybody.
    assert groups_of(report)["a"][-2:] == ["0.9000", "0.7500*"]


def test_metrics_that_are_undefined_in_every_group_are_named_instead_of_shown() -> None:
    report = evaluate(decided({"a": (18, 2, 15, 5), "b": (15, 5, 20, 0)}), score_type="rank")

    assert rows_of(report, "Groups")[0] == ["attribute", "group", "n", "n_pos", "auc"]
    assert "tpr, tnr: undefined in every group (the score is not a probability)" in str(report)


def test_many_groups_are_cut_but_the_worst_and_the_best_of_each_attribute_stay() -> None:
    report = big_model()
    groups = report.groups.unique(["attribute", "group"], maintain_order=True).select("attribute", "group").rows()

    listed = [cell for row in rows_of(report, "Groups")[1:] if (cell := tuple(row[:2])) in groups]

    assert len(listed) == MAX_ROWS
    assert listed == [cell for cell in groups if cell in listed]
    assert f"... {len(groups) - MAX_ROWS} more groups, after the worst and the best of each attribute" in str(report)
    auc = report.gaps.filter(pl.col("metric") == "auc", pl.col("statistic") == "difference")
    for side in ("worst_group", "best_group"):
        assert set(auc.select("attribute", side).rows()) <= set(listed)


def test_the_groups_of_several_by_keys_are_left_to_the_frame_where_they_are_many() -> None:
    report = big_report()
    groups = report.groups.unique(["model", "attribute", "group"]).height

    assert rows_of(report, "Groups") == [
        [f"{groups} groups over all by-keys: too many to list here, report.groups holds them"]
    ]


def test_few_groups_of_several_by_keys_are_listed() -> None:
    report = by_key_report({"model": pl.Series(["m", "n"])})

    assert [row[:3] for row in rows_of(report, "Groups")[:5]] == [
        ["model", "attribute", "group"],
        ["m", "sex", "F"],
        ["m", "sex", "M"],
        ["n", "sex", "F"],
        ["n", "sex", "M"],
    ]


@pytest.mark.parametrize(
    ("metrics", "shown"),
    [
        (None, ["auc", "tpr", "tnr"]),
        (["ppv", "auc"], ["auc", "ppv"]),
        (["tp", "ppv"], ["ppv"]),
        (["tp"], ["tp"]),
    ],
)
def test_the_main_metrics_are_shown_or_else_those_that_were_asked_for(
    metrics: list[str] | None, shown: list[str]
) -> None:
    report = evaluate(CASE_56, metrics=metrics)

    assert rows_of(report, "Groups")[0] == ["attribute", "group", "n", "n_pos", *shown]


def test_a_segmentation_shows_dice_with_its_usable_samples() -> None:
    frame = pl.DataFrame({"dice": [0.8] * 10 + [None] + [0.6] * 10 + [0.5], "site": ["x"] * 11 + ["y"] * 10 + ["z"]})

    report = evaluate_segmentation(frame)

    assert rows_of(report, "Groups")[0] == ["attribute", "group", "n", "dice"]
    assert groups_of(report) == {"x": ["10", "0.8000"], "y": ["10", "0.6000"], "z": ["1", "n=1"]}
    assert str(report).startswith("fmfair report: segmentation")
