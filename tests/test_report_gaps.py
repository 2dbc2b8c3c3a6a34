"""The table of the largest gaps: who is worst served, and by how much."""

from __future__ import annotations

import polars as pl
import pytest
from reports import (
    big_report,
    by_key_report,
    decided,
    evaluate,
    evaluate_segmentation,
    groups_of,
    rows_of,
    sites,
    with_frames,
)

from fmfair.gap_table import MAX_GAPS
from fmfair.render import WIDTH
from fmfair.report import Report

GAPS = "Largest gaps"
HEADER = ["attribute", "metric", "gap", "worst group", "value", "n", "n_pos", "best group", "value", "n"]

# Sensitivity 0.5, 0.9 and 0.8; specificity 0.95, 0.9 and 0.75.
THREE = {"a": (10, 10, 19, 1), "b": (18, 2, 18, 2), "c": (16, 4, 15, 5)}


def listed(report: Report) -> list[list[str]]:
    """The rows of the table."""
    header, *rows = rows_of(report, GAPS)
    return [row for row in rows if len(row) == len(header)]


def remarks(report: Report) -> str:
    return " ".join(str(report).split(f"{GAPS}\n", 1)[1].split("\n\nSummary\n")[0].split())


def test_the_gaps_come_first_the_largest_at_the_top_with_the_groups_and_the_counts_behind_them() -> None:
    report = evaluate(decided(THREE), metrics=["tpr", "tnr", "accuracy"])

    assert str(report).split("\n\n")[1].startswith(GAPS)
    assert rows_of(report, GAPS)[0] == HEADER
    assert listed(report) == [
        ["site", "tpr", "0.400", "a", "0.500", "40", "20", "b", "0.900", "40"],
        ["site", "tnr", "0.200", "c", "0.750", "40", "20", "a", "0.950", "40"],
    ]


def test_a_line_says_what_the_metrics_are_called_and_which_way_is_better() -> None:
    assert "tpr: sensitivity; tnr: specificity; auc, tpr, tnr: higher is better" in remarks(evaluate(decided(THREE)))


def test_a_gap_between_groups_of_few_samples_is_marked_and_comes_after_all_others() -> None:
    # Site d has nine positives, all found, and a specificity of 0.6.
    report = evaluate(decided({**THREE, "d": (9, 0, 12, 8)}), metrics=["tpr", "tnr"])

    assert listed(report) == [
        ["site", "tnr", "0.350", "d", "0.600", "29", "9", "a", "0.950", "40"],
        ["site", "tpr", "0.500", "a", "0.500", "40", "20", "d", "9/9!", "29"],
    ]
    assert "! fewer than 10 samples carry the value (tpr: positives); such rows come last" in remarks(report)


@pytest.mark.parametrize(("positives", "cells"), [(9, ["n_pos=9!", "n_neg=9!"]), (10, ["1.000", "1.000"])])
def test_an_auc_is_carried_by_the_rarer_class(positives: int, cells: list[str]) -> None:
    other = {"a": (20, 20, 40, 0)}

    few_positives = evaluate(decided({**other, "b": (positives, 0, 50, 0)}), metrics="auc")
    few_negatives = evaluate(decided({**other, "b": (50, 0, positives, 0)}), metrics="auc")

    assert [row[8] for row in listed(few_positives) + listed(few_negatives)] == cells
    assert ("positives or negatives, the fewer" in remarks(few_positives)) is (positives == 9)


def test_the_html_says_the_same_with_marks_and_all() -> None:
    html = evaluate(decided({**THREE, "d": (9, 0, 12, 8)}), metrics=["tpr", "tnr"])._repr_html_()

    assert html.index("Largest gaps") < html.index("Summary")
    assert '<td style="text-align:left">d</td><td style="text-align:right"><b>9/9</b>!</td>' in html


def test_only_the_first_rows_are_listed_and_a_line_says_how_many_more_there_are() -> None:
    report = big_report()
    gaps = report.gaps.filter(
        pl.col("metric").is_in(["auc", "tpr", "tnr"]),
        pl.col("statistic") == "difference",
        pl.col("threshold_rule").is_null() | (pl.col("threshold_rule") == "best_f1"),
        pl.col("value") > 0,
    )

    shown = [float(row[3]) for row in listed(report)]
    assert f"... {gaps.height - MAX_GAPS} more, and those of every other metric" in remarks(report)
    assert shown == sorted(shown, reverse=True)
    assert len(shown) == MAX_GAPS


def test_rates_are_at_the_threshold_of_the_summary_and_a_line_names_the_others() -> None:
    frame = decided(THREE).with_columns(y_score=pl.col("y_score") / 2)

    report = evaluate(frame, metrics=["tpr"], thresholds=["best_f1", 0.02, 0.4, "youden"])

    worst = report.groups.filter(pl.col("group") == "a", pl.col("threshold_rule") == "best_f1")
    assert [row[4] for row in listed(report)] == [f"{worst['value'].item():.3f}"]
    assert (
        "tpr: here at threshold 0.45 (best_f1); the others (0.02, 0.4, youden) are in report.groups and report.gaps"
        in remarks(report)
    )


def test_a_rule_that_chose_several_thresholds_is_named_without_them() -> None:
    assert "tpr, tnr: here at threshold best_f1; the others (0.5) are in" in remarks(big_report())


def test_thresholds_that_were_given_per_by_key_are_all_named() -> None:
    frame = pl.concat([decided(THREE, model="m"), decided(THREE, model="n")])

    report = evaluate(frame, metrics=["tpr"], thresholds=[{"m": 0.3, "n": 0.6}, 0.2])

    assert "tpr: here at threshold 0.3 or 0.6; the others (0.2) are in" in remarks(report)


def test_one_threshold_needs_no_line() -> None:
    assert "here at threshold" not in str(evaluate(decided(THREE)))


def test_where_no_gap_is_listed_the_line_on_thresholds_is_below_the_summary() -> None:
    report = evaluate(decided(THREE), metrics="selection_rate", thresholds=[0.5, 0.2])

    assert GAPS not in str(report)
    assert "selection_rate: here at threshold 0.5" in str(report).split("Summary\n")[1].split("\n\n")[0]


def test_metrics_that_were_asked_for_instead_of_the_headline_ones_are_compared() -> None:
    report = evaluate(decided(THREE), metrics=["bce", "ppv", "tp"])

    assert [row[:2] for row in listed(report)] == [["site", "bce"], ["site", "ppv"]]
    assert "ppv: positive predictive value" in remarks(report)
    assert "ppv: higher is better; bce: lower is better" in remarks(report)
    # The larger cross-entropy is the worse one.
    assert listed(report)[0][3] == "a"


def test_a_metric_without_a_better_side_has_no_worst_group() -> None:
    report = evaluate(decided(THREE), metrics=["selection_rate", "ppv"])

    assert {row[1] for row in listed(report)} == {"ppv"}


def test_a_segmentation_is_compared_by_dice_and_its_usable_samples() -> None:
    frame = pl.DataFrame({"dice": [0.75] * 10 + [None] + [0.5] * 12, "site": ["x"] * 11 + ["y"] * 12})

    report = evaluate_segmentation(frame)

    assert rows_of(report, GAPS)[0] == [*HEADER[:6], *HEADER[7:]]
    assert listed(report) == [["site", "dice", "0.250", "y", "0.500", "12", "x", "0.750", "10"]]
    assert "dice: higher is better" in remarks(report)


def test_groups_that_are_all_equal_have_no_rows_but_a_line() -> None:
    assert rows_of(sites(["a", "b"]), GAPS) == [["no difference between groups in auc, tpr"]]


def test_gaps_that_are_undefined_are_counted_with_their_reason() -> None:
    report = evaluate(decided({"a": (20, 0, 10, 10)}).with_columns(sex=pl.lit("F")), attributes=["site", "sex"])

    assert listed(report) == []
    assert "auc, tpr, tnr: 6 of 6 gaps undefined (1 of 1 groups can be compared)" in remarks(report)


def test_several_reasons_for_undefined_gaps_are_left_to_the_notes_of_the_gaps() -> None:
    report = evaluate(decided({"a": (20, 5, 0, 0), "b": (0, 0, 10, 10)}))

    assert "auc, tpr, tnr: 3 of 3 gaps undefined (note in report.gaps says why)" in remarks(report)


def test_a_gap_too_small_for_its_decimals_is_not_shown_as_none() -> None:
    report = evaluate(decided({"a": (4999, 5001, 10, 0), "b": (5000, 5000, 10, 0)}), metrics="tpr")

    assert [row[2] for row in listed(report)] == ["<0.001"]


def test_values_that_are_not_finite_are_no_gaps() -> None:
    report = evaluate(decided(THREE))

    broken = with_frames(report, gaps=report.gaps.with_columns(value=pl.lit(float("nan"))))

    assert listed(broken) == []


def test_long_names_are_cut_until_the_table_fits() -> None:
    names = {f"University Hospital {i} of a Town with a Long Name": counts for i, counts in enumerate(THREE.values())}

    report = evaluate(decided(names), metrics="tpr")

    assert rows_of(report, GAPS)[0] == HEADER
    assert all("..." in row[3] and "..." in row[7] for row in listed(report))
    assert max(map(len, str(report).splitlines())) <= WIDTH


def test_a_table_that_cannot_fit_is_broken_before_the_best_group() -> None:
    models = [decided(THREE, model=m, dataset="ChestX-ray14 of 2017", label="pneumothorax") for m in "mn"]

    report = evaluate(pl.concat([*models, models[0].with_columns(dataset=pl.lit("x"), label=pl.lit("y"))]))

    first = "model  dataset               label         attribute  metric    gap  worst group  value   n  n_pos\n"
    second = "\n\nmodel  dataset               label         attribute  metric  best group  value   n\n"
    assert f"{GAPS}\n{first}" in str(report)
    assert second in str(report)


def test_by_keys_with_any_name_and_of_any_type_stand_before_the_attribute() -> None:
    report = by_key_report({"gap": pl.Series(["n", None]), "*": pl.Series([1.5, 2.5])})

    assert rows_of(report, GAPS)[0][:4] == ["gap", "*", "attribute", "metric"]
    assert [row[:4] for row in listed(report)] == [
        ["n", "1.5", "sex", "auc"],
        ["(missing)", "2.5", "sex", "auc"],
        ["n", "1.5", "sex", "tpr"],
        ["(missing)", "2.5", "sex", "tpr"],
    ]


def test_a_group_left_out_of_the_gaps_is_not_called_the_worst() -> None:
    report = evaluate(decided({**THREE, "d": (1, 9, 10, 0)}), metrics="tpr", min_group_size=25)

    assert [row[3] for row in listed(report)] == ["a"]
    assert "d" in groups_of(report)
