"""Printed reports with intervals: values, counts, signs, and the lines that say what they are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from engines import both
from polars.testing import assert_frame_equal
from reports import big_report, decided, groups_of, rows_of, with_frames
from small_tables import T

import fmfair
from fmfair.columns import INTERVALS
from fmfair.evaluation import evaluate
from fmfair.render import WIDTH
from fmfair.report import Report
from fmfair.segmentation import evaluate_segmentation
from fmfair.shown_certainty import valued

# Sensitivity 0.5 of 20, 0.9 of 200, 0.8 of 15 and 4 of 9; specificity of 20 or 200 each.
FOUR = {"a": (10, 10, 19, 1), "b": (180, 20, 180, 20), "c": (12, 3, 15, 5), "d": (4, 5, 20, 0)}


def with_tested_gaps(report: Report) -> Report:
    """The report with intervals, p values and chance gaps made up for its gaps."""
    tested = pl.col("statistic") == "difference"
    value = pl.col("value")
    facts = {
        "ci_low": (value - 0.05).clip(0, 1),
        "ci_high": (value + 0.06).clip(0, 1),
        "ci_method": pl.lit("some method, Wilson"),
        "ci_note": pl.when(value > 0.4).then(pl.lit("some doubt")),
        "p_value": pl.lit(0.0001),
        "chance_gap_95": pl.lit(0.123),
        "detectable_gap": pl.lit(0.321),
    }
    return with_frames(report, gaps=report.gaps.with_columns(**{k: pl.when(tested).then(v) for k, v in facts.items()}))


def said(report: Report) -> str:
    return " ".join(str(report).split())


def test_values_have_their_interval_few_samples_their_counts_and_some_a_sign() -> None:
    report = evaluate(decided(FOUR), metrics=["tpr", "tnr"], ci=0.95)

    # Wilson's intervals of 10/20, 180/200, 12/15, 19/20 and 15/20.
    assert groups_of(report) == {
        "a": ["40", "20", "?0.500 [0.299, 0.701]", "?0.950 [0.764, 0.991]"],
        "b": ["400", "200", "0.900 [0.851, 0.934]", "0.900 [0.851, 0.934]"],
        "c": ["35", "15", "??0.800 [0.548, 0.930]", "?0.750 [0.531, 0.888]*"],
        "d": ["29", "9", "4/9", "?1.000 [0.839, 1.000]"],
    }
    assert (
        "[low, high]: 95 % interval (tpr, tnr: Wilson; gaps: simultaneous); rows counted as independent ? imprecise "
        "(20 to 99), ?? very imprecise (10 to 19): so few samples carry the value"
    ) in said(report)
    assert "4/9 means 4 of only 9 samples" in said(report)


def test_no_sign_is_explained_that_does_not_occur() -> None:
    text = str(evaluate(decided({"a": (120, 10, 150, 10), "b": (100, 30, 150, 5)}), metrics=["tpr", "tnr"], ci=0.9))

    assert "90 % interval" in text
    assert "imprecise" not in text
    assert "?" not in text


def test_without_a_level_nothing_is_said_of_intervals_and_no_column_is_added() -> None:
    report = evaluate(decided(FOUR), metrics=["tpr", "tnr"], ci=None)

    assert groups_of(report)["b"] == ["400", "200", "0.9000", "0.9000"]
    assert "[" not in str(report).split("Notes")[0]
    assert "interval" not in str(report)
    assert not set(INTERVALS) & set(report.groups.columns)
    assert report.metadata["ci"] is None


def test_balanced_accuracy_is_carried_by_the_rarer_class_as_its_mark_says() -> None:
    report = evaluate(decided({"a": (4, 5, 40, 0), "b": (30, 10, 40, 0)}), metrics="balanced_accuracy", ci=0.95)

    assert groups_of(report)["a"][-1] == "n_pos=9"


def test_an_ece_has_beside_it_what_chance_makes_of_it() -> None:
    frame = pl.DataFrame({"y_true": [0, 1] * 60, "y_score": [0.3, 0.6, 0.8] * 40, "sex": ["F"] * 60 + ["M"] * 60})

    report = evaluate(frame, metrics=["ece"], ci=0.95)

    rows = report.groups.select("group", "value", "expected").iter_rows()
    assert {group: cells[-1].strip("*") for group, cells in groups_of(report).items()} == {
        group: f"?{value:.3f} ({expected:.3f})" for group, value, expected in rows
    }
    assert "(number): what a perfectly calibrated model shows on average in such a group" in str(report)
    assert "no intervals; rows counted as independent" in str(report)
    assert "ece: no closed form; a bootstrap gives it (2 of 2 values)" in said(report)


def test_patients_are_named_where_they_vary_as_a_whole() -> None:
    frame = decided(FOUR).with_row_index("row").with_columns(person=pl.col("row") // 2)

    report = evaluate(frame, metrics=["tpr"], ci=0.95, cluster="person")

    assert "interval (tpr: Wilson, effective size; gaps: simultaneous); clustered by person" in said(report)


def test_a_gap_has_on_one_line_its_interval_what_chance_makes_of_it_and_what_could_have_been_seen() -> None:
    report = with_tested_gaps(evaluate(decided(FOUR), metrics=["tpr", "tnr"], ci=0.95))

    rows = rows_of(report, "Largest gaps")
    assert rows[:3] == [
        ["attribute", "metric", "gap", "p", "by chance <=", "detectable"],
        ["site", "tnr", "0.250 [0.200, 0.310]", "<0.001", "0.123", "0.321"],
        ["site", "tpr", "0.456 [0.406, 0.516]", "<0.001", "0.123", "0.321"],
    ]
    below = [re.split(r" {2,}", line.strip()) for line in str(report).split("\n\n")[2].splitlines()]
    assert below[:3] == [
        ["attribute", "metric", "worst group", "value", "n", "n_pos", "best group", "value", "n"],
        ["site", "tnr", "c", "?0.750", "35", "15", "d", "?1.000", "29"],
        ["site", "tpr", "d", "4/9!", "29", "9", "b", "0.900", "400"],
    ]
    assert (
        "p: of no difference, each of 2 gaps for itself; by chance <=: exceeded by 1 in 20 gaps of equal groups; "
        "detectable: the smallest true gap that such a sample shows in 4 of 5 cases"
    ) in said(report)
    assert "gaps: some method" in said(report)
    assert "of some gaps: some doubt" in said(report)


def test_a_gap_of_a_metric_with_a_margin_has_a_verdict() -> None:
    frame = decided({"a": (180, 20, 180, 20), "b": (100, 100, 178, 22), "c": (150, 50, 170, 30)})

    report = evaluate(frame, margins={"ppv": 0.9, "tpr": 0.1}, ci=0.95)

    header, *rows = rows_of(report, "Largest gaps")
    cells = {row[1]: dict(zip(header, row, strict=True)) for row in rows if len(row) == len(header)}
    assert (cells["tpr"]["verdict"], cells["ppv"]["verdict"]) == ("shown", "excluded")
    assert (
        "verdict: whether a difference above the margin (ppv 0.9, tpr 0.1) is shown, excluded, or neither (cannot tell)"
    ) in said(report)
    assert "verdict" not in str(evaluate(frame, ci=0.95))


def test_a_margin_of_a_metric_without_a_better_side_is_judged_too() -> None:
    report = evaluate(decided({"a": (180, 20, 180, 20), "b": (100, 100, 178, 22)}), margins={"fnr": 0.1})
    undirected = evaluate(decided({"a": (180, 20, 180, 20), "b": (100, 100, 178, 22)}), margins={"selection_rate": 0.9})

    assert any(row[1] == "fnr" and "shown" in row for row in rows_of(report, "Largest gaps"))
    assert "excluded" in next(row for row in rows_of(undirected, "Largest gaps") if row[1] == "selection_rate")


def test_a_notebook_has_room_for_the_intervals_of_the_groups_and_their_sizes() -> None:
    html = with_tested_gaps(evaluate(decided(FOUR), metrics=["tpr"], ci=0.95))._repr_html_()

    gaps = html.split("Summary")[0]
    assert "<b>4/9</b>!" in gaps
    assert "0.900 [0.851, 0.934]" in gaps
    assert '<td style="text-align:right">400</td>' in gaps


def test_wide_reports_stay_within_the_page() -> None:
    report = big_report_with_intervals()

    assert max(map(len, str(report).splitlines())) <= WIDTH
    assert "by chance" in str(report)


def test_a_test_that_is_nowhere_has_no_column() -> None:
    frame = pl.DataFrame({"y_true": [0, 1] * 60, "y_score": [0.3, 0.6, 0.8] * 40, "sex": ["F"] * 50 + ["M"] * 70})

    report = evaluate(frame, metrics="ece", ci=0.95)

    assert rows_of(report, "Largest gaps")[0] == [
        *("attribute", "metric", "gap", "worst group", "value", "n", "n_pos", "best group", "value", "n")
    ]
    assert "of some gaps: no closed form; a bootstrap gives it" in said(report)


def big_report_with_intervals() -> Report:
    frame = pl.DataFrame(
        {
            "y_true": [0, 1, 1, 0, 1] * 120,
            "y_score": [k * 37 % 100 / 100 for k in range(600)],
            "sex": ["Female", "Male"] * 300,
            "race": ["Asian", "Black", "White, not Hispanic"] * 200,
            "scanner": ["GE", "GE", "Siemens", "Philips", "Siemens"] * 120,
            "model": ["CLIP"] * 300 + ["BiomedCLIP"] * 300,
        }
    )
    return evaluate(frame, intersections=2, ci=0.95)


def test_an_interval_of_many_samples_shows_the_digits_that_differ_and_none_is_a_point() -> None:
    row = {"value": 0.912345, "ci_low": 0.912, "ci_high": 0.913, "mark": None}

    assert valued(row, 4) == "0.91234 [0.91200, 0.91300]"
    assert valued({**row, "ci_low": 0.912345, "ci_high": 0.912345}, 4) == "0.912"
    assert valued({**row, "value": None}, 4) == "-"


def test_a_value_without_an_interval_has_its_reason() -> None:
    frame = pl.DataFrame({"dice": [0.75] * 120 + [0.5, 0.9] * 60, "site": ["a"] * 120 + ["b"] * 120})

    report = evaluate_segmentation(frame, ci=0.95)

    assert groups_of(report)["a"][-1] == "0.750"
    assert "dice: no spread: the values are all alike (1 of 2 values)" in said(report)


def test_every_form_carries_the_columns(tmp_path: Path) -> None:
    report = evaluate(decided(FOUR), metrics=["tpr", "ece"], ci=0.95)

    report.write_parquet(tmp_path / "results")
    back = Report.read_parquet(tmp_path / "results")
    rows = report.to_dict()["groups"]
    header = str(report.write_csv()).splitlines()[0].replace('"', "").split(",")

    assert_frame_equal(back.to_frame("groups"), report.to_frame("groups"))
    assert (set(INTERVALS) <= set(rows[0]), set(INTERVALS) <= set(header)) == (True, True)
    assert [row["mark"] for row in rows if row["metric"] == "tpr"] == [
        "imprecise",
        None,
        "very imprecise",
        "counts only",
    ]
    assert back.metadata["ci"] == report.to_dict()["metadata"]["ci"] == 0.95
    assert str(back) == str(report)


def test_a_by_key_may_be_called_as_a_column_that_is_not_there() -> None:
    report = evaluate(decided({"a": (20, 5, 20, 5), "b": (15, 10, 20, 5)}, mark="x"), by="mark", ci=None)

    assert "mark=x" in str(report)
    with pytest.raises(fmfair.FmfairError, match="by-key 'mark' has the name of a column of the results"):
        evaluate(decided({"a": (20, 5, 20, 5)}, mark="x"), by="mark", ci=0.95)


def test_arrays_have_intervals_too() -> None:
    frame = decided(FOUR)

    report = fmfair.evaluate_arrays(
        frame["y_true"], frame["y_score"], sensitive_features={"site": frame["site"]}, metrics="tpr", ci=0.95
    )

    expected = evaluate(frame, metrics="tpr", ci=0.95)
    assert_frame_equal(report.groups, expected.groups)


@pytest.mark.parametrize("level", [{}, {"ci": 0.9}, {"ci": None}])
def test_a_connection_has_the_columns_of_the_report(level: dict[str, Any]) -> None:
    frame = decided(FOUR)

    connection = fmfair.connect(frame, metrics="tpr", **level)

    found = [row[0] for row in connection.execute("DESCRIBE groups").fetchall()]
    assert found == evaluate(frame, metrics="tpr", **level).groups.columns
    assert level == {} or ("ci_low" in found) is (level["ci"] is not None)


def test_a_stored_report_is_printed_without_scipy(tmp_path: Path) -> None:
    evaluate(decided(FOUR), metrics=["tpr", "auc"]).write_parquet(tmp_path / "results")
    code = (
        "import sys, fmfair; text = str(fmfair.Report.read_parquet(sys.argv[1])); "
        "print('very imprecise' in text, [name for name in sys.modules if name.startswith('scipy')])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "results")], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "True []"


def test_a_report_without_intervals_is_as_it_was() -> None:
    assert "?" not in str(big_report()).split("Notes")[0]


def test_a_report_says_how_many_tests_it_holds() -> None:
    reports = both(T, y_true="y", y_score="s1", by=[], attributes="group", metrics=["auc", "tpr", "ece", "tp"])
    for report in reports:
        # The gap called equal_opportunity is that of tpr, and ece has no test.
        assert report.metadata["tested"] == {"gaps": 2, "pairs": 6}
        assert "p: of no difference, each of 2 gaps for itself" in said(report)
        pairs = " ".join(report.to_text("pairs").split())
        assert "p (Holm): adjusted within attribute and metric; 6 pairs tested" in pairs
    plain = fmfair.evaluate(T, y_true="y", y_score="s1", by=[], attributes="group", ci=None)
    assert plain.metadata["tested"] is None
    alone = fmfair.evaluate(T.with_columns(group=pl.lit("A")), y_true="y", y_score="s1", by=[], attributes="group")
    assert alone.metadata["tested"] == {"gaps": 0, "pairs": 0}
    assert "for itself" not in alone.to_text()
