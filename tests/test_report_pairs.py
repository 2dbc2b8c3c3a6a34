"""The table of pairs of groups: when it is printed, what stands in it, and as a form of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import run
from reports import decided, rows_of

import fmfair
from fmfair.pair_table import MAX_PAIRS
from fmfair.render import WIDTH
from fmfair.report import Report
from fmfair.shown import number

PAIRS = "Pairs of groups"
# Sensitivity 0.9, 0.5 and 0.75 of 200; 4 of 9.
FOUR = {"a": (180, 20, 180, 20), "b": (100, 100, 178, 22), "c": (150, 50, 170, 30), "d": (4, 5, 150, 50)}


def table_of(text: str) -> list[dict[str, str]]:
    """The rows of the printed pairs, whose cells hold no two spaces in a row."""
    part = re.split(r"\n\.\.\.|\ndifference: ", text.split(f"{PAIRS}\n", 1)[1], maxsplit=1)[0]
    header, *rows = [[c.strip() for c in line.split("  ") if c.strip()] for line in part.splitlines()]
    return [dict(zip(header, row, strict=True)) for row in rows]


def said(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def judged() -> Report:
    return fmfair.evaluate(decided(FOUR), metrics=["tpr"], reference={"site": "a"}, margins={"tpr": 0.1})


def test_pairs_are_printed_where_a_reference_or_a_margin_is_named() -> None:
    frame = decided(FOUR)

    assert PAIRS not in str(fmfair.evaluate(frame, metrics="tpr"))
    assert PAIRS in str(fmfair.evaluate(frame, metrics="tpr", margins={"tpr": 0.1}))
    assert PAIRS in str(fmfair.evaluate(frame, metrics="tpr", reference={"site": "a"}))
    assert PAIRS not in str(fmfair.evaluate(frame, metrics="tpr", ci=None))


def test_each_group_stands_beside_the_reference_with_difference_tests_and_verdict(judged: Report) -> None:
    rows = table_of(str(judged))
    frame = judged.pairs.filter(pl.col("other_group") == "a")

    assert [(row["group"], row["other group"]) for row in rows] == [("b", "a"), ("c", "a"), ("d", "a")]
    assert [row["p (Holm)"] for row in rows] == [number(p, 3) for p in frame["p_holm"]]
    assert [row["verdict"] for row in rows] == frame["verdict"].to_list()
    difference, low, high = frame.select("difference", "ci_low", "ci_high").row(0)
    assert rows[0]["difference"] == f"{difference:.3f} [{low:.3f}, {high:.3f}]"
    assert "verdict: whether a difference above the margin (tpr 0.1) is shown" in said(str(judged))


def test_a_pair_of_a_group_of_few_samples_is_marked_and_a_notebook_shows_its_counts(judged: Report) -> None:
    rows = table_of(str(judged))

    assert [row["difference"].endswith("!") for row in rows] == [False, False, True]
    assert "! fewer than 10 samples carry one of the values" in said(str(judged))
    assert '<td style="text-align:right">4/9</td>' in judged._repr_html_().split(PAIRS)[1]


def test_of_many_pairs_those_with_the_smallest_p_values_are_listed_and_a_line_counts_the_others() -> None:
    counts = {f"s{k}": (100 + 5 * k, 100 - 5 * k, 100, 100) for k in range(8)}
    report = fmfair.evaluate(decided(counts), metrics="tpr", margins={"tpr": 0.1})

    listed = {(row["group"], row["other group"]) for row in table_of(str(report))}
    smallest = report.pairs.sort("p_holm", "p_value", maintain_order=True).head(MAX_PAIRS)

    assert listed == set(smallest.select("group", "other_group").rows())
    assert "... 16 more, with larger p values or fewer samples; report.pairs holds all 28" in said(str(report))
    assert max(map(len, str(report).splitlines())) <= WIDTH


def test_a_line_says_where_pairs_are_when_three_groups_differ() -> None:
    line = "which two groups differ: report.to_text('pairs'), fmfair score --format pairs"

    assert line in said(str(fmfair.evaluate(decided(FOUR), metrics="tpr")))
    two = {name: FOUR[name] for name in "ab"}
    assert line not in said(str(fmfair.evaluate(decided(two), metrics="tpr")))


def test_the_pairs_have_a_text_of_their_own_with_all_metrics() -> None:
    report = fmfair.evaluate(decided(FOUR), metrics=["tpr", "tnr", "accuracy", "ppv", "ece"])

    rows = table_of(report.to_text("pairs"))

    assert list(dict.fromkeys(row["metric"] for row in rows)) == ["tpr", "tnr", "accuracy", "ppv"]
    assert len(rows) == report.pairs.height == 24
    assert max(map(len, report.to_text("pairs").splitlines())) <= WIDTH
    assert report.to_text() == str(report)
    with pytest.raises(fmfair.FmfairError, match="no text of 'pair'; did you mean 'pairs'"):
        report.to_text("pair")


@pytest.mark.parametrize("given", [{"ci": None}, {"attributes": "one"}])
def test_where_there_are_no_pairs_a_sentence_says_why(given: dict[str, Any]) -> None:
    frame = decided(FOUR).with_columns(one=pl.lit("x"))

    with pytest.raises(fmfair.FmfairError, match="there are no pairs of groups: they need intervals"):
        fmfair.evaluate(frame, metrics="tpr", **{"attributes": "site", **given}).to_text("pairs")


def test_reports_from_counts_have_them_too() -> None:
    frame = decided(FOUR).select("site", y_true="y_true", y_score=pl.col("y_score"))

    report = fmfair.evaluate_counts(fmfair.counts(frame, score_type="probability"), metrics="tpr")

    expected = fmfair.evaluate(frame, metrics="tpr").pairs.select("group", "other_group").rows()
    assert [(row["group"], row["other group"]) for row in table_of(report.to_text("pairs"))] == expected


def test_several_thresholds_and_by_keys_are_told_apart() -> None:
    frame = pl.concat([decided(FOUR, model="m"), decided(FOUR, model="n")])

    report = fmfair.evaluate(frame, metrics="tpr", thresholds=[0.5, 0.2], reference={"site": "a"})

    rows = rows_of(report, PAIRS)
    assert rows[0][:5] == ["model", "attribute", "metric", "group", "other group"]
    assert "tpr: here at threshold 0.5; the others (0.2) are in" in said(report.to_text("pairs"))


def test_the_command_line_prints_them(tmp_path: Path) -> None:
    decided(FOUR).write_csv(tmp_path / "t.csv")
    asked = ("score", tmp_path / "t.csv", "--sensitive", "site", "--metrics", "tpr", "--format", "pairs")

    result = run(*asked)
    report = fmfair.evaluate(tmp_path / "t.csv", attributes="site", metrics="tpr")

    assert (result.status, result.out) == (0, report.to_text("pairs") + "\n")
    without = run(*asked, "--ci", "none", "--output", tmp_path / "out.json")
    assert (without.status, "there are no pairs of groups" in without.err) == (2, True)
    assert not (tmp_path / "out.json").exists()


def test_names_are_cut_where_a_piece_of_the_table_would_not_fit() -> None:
    groups = [f"hospital of the city of {name}, ward for {name}" for name in ("Aachen", "Braunschweig", "Chemnitz")]
    frame = pl.DataFrame({"y_true": [0, 1] * 60, "y_score": [0.2, 0.6, 0.7, 0.9, 0.4, 0.5] * 20, "site": groups * 40})
    text = fmfair.evaluate(frame, metrics=["balanced_accuracy", "auc"], thresholds=[0.3, 0.55]).to_text("pairs")
    assert max(map(len, text.splitlines())) <= 100
