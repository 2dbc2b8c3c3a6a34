"""Reports from counts: exact where counts are, else the truth lies between the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from counts_support import BOUNDED, COLUMNS, EXACT, KEY, RATES, outside, random_frame
from reports import evaluate

import fmfair


@pytest.mark.parametrize(
    ("seed", "grid", "intersections"),
    [(0, 10, 2), (1, 20, 1), (2, 100, [("sex", "tone")]), (3, 4000, 3), (4, 10, 1), (5, 30, 2)],
)
def test_the_value_of_the_rows_lies_between_the_bounds(seed: int, grid: int, intersections: Any) -> None:
    frame = random_frame(seed)
    options: dict[str, Any] = {"metrics": [*EXACT, *BOUNDED, *RATES], "thresholds": [0.5, 0.3, 0.25005, 0.0, 1.0, 2.0]}
    table = fmfair.counts(frame, **COLUMNS, intersections=intersections, grid=grid)

    report = fmfair.evaluate_counts(table, **options)

    truth = evaluate(frame, **COLUMNS, intersections=intersections, score_type="probability", **options)
    for which in ("groups", "overall"):
        assert outside(report, truth, which).is_empty()


@pytest.mark.parametrize(("seed", "least"), [(6, 0), (7, 3), (8, 5)])
def test_gaps_lie_between_their_bounds(seed: int, least: int) -> None:
    frame = random_frame(seed)
    options: dict[str, Any] = {
        "metrics": ["auc", "tpr", "fpr", "ppv", "selection_rate", "brier"],
        "thresholds": [0.5, 0.2502],
    }

    report = fmfair.evaluate_counts(fmfair.counts(frame, **COLUMNS, grid=20), min_group_size=least, **options)

    truth = evaluate(frame, **COLUMNS, score_type="probability", min_group_size=least, **options)
    assert outside(report, truth, "gaps").is_empty()
    bounded = report.gaps.filter((pl.col("statistic") == "difference") & (pl.col("metric") == "auc"))
    assert bounded["bound_high"].count() == bounded["value"].count() > 0


@pytest.mark.parametrize("seed", [9, 10])
def test_logits_are_counted_by_their_sigmoid_and_ranked_within_the_bounds(seed: int) -> None:
    frame = random_frame(seed, logit=True)
    # Sums of probabilities near 0 lose their digits, and with them observed/expected.
    exact = [m for m in EXACT if m != "observed_expected"]
    options: dict[str, Any] = {"metrics": [*exact, *BOUNDED, "tpr", "ppv"], "thresholds": [0.5, 0.9]}
    columns: dict[str, Any] = {**COLUMNS, "score_type": "logit"}

    report = fmfair.evaluate_counts(fmfair.counts(frame, **columns, grid=100), **options)

    assert outside(report, evaluate(frame, **columns, **options)).is_empty()


@pytest.mark.parametrize("seed", [11, 12])
def test_what_is_exact_is_what_the_rows_give(seed: int) -> None:
    frame = random_frame(seed)
    options: dict[str, Any] = {
        "metrics": [*EXACT, *RATES],
        "thresholds": [k / 4000 for k in (0, 1, 400, 1001, 2000, 4000)],
    }

    report = fmfair.evaluate_counts(fmfair.counts(frame, **COLUMNS), **options)

    truth = evaluate(frame, **COLUMNS, score_type="probability", **options)
    shared = [c for c in truth.groups.columns if c != "value"]
    assert report.groups.select(shared).equals(truth.groups.select(shared))
    low, high = (
        pl.when(pl.col("metric") == "observed_expected").then(1 / pl.col(c)).otherwise(c)
        for c in ("bound_low", "bound_high")
    )
    rounded = pl.col("metric").is_in(EXACT)
    assert report.groups.filter(
        (low - high).abs().fill_nan(0.0) > pl.when(rounded).then(1e-9).otherwise(0.0)
    ).is_empty()
    assert report.groups["value"].is_null().equals(truth.groups["value"].is_null())
    # A mean score is exact to about 1e-13, which is more for what is divided by it.
    values = pl.when(pl.col("metric") == "observed_expected").then(1 / pl.col("value")).otherwise("value")
    found, wanted = (r.groups.select(values.fill_null(0.0)).to_series().to_numpy() for r in (report, truth))
    assert np.allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rule", ["best_f1", "youden", "tpr=0.8", "tnr=0.8"])
def test_rules_choose_the_best_edge(rule: str) -> None:
    frame = random_frame(13)
    report = fmfair.evaluate_counts(fmfair.counts(frame, **COLUMNS, grid=20), thresholds=rule, metrics="f1")

    edges = np.arange(21) / 20
    lower = edges[np.searchsorted(edges, frame["s"].to_numpy(), side="right") - 1]
    truth = evaluate(
        frame.with_columns(pl.Series("s", lower)), **COLUMNS, thresholds=rule, metrics="f1", score_type="probability"
    )
    shared = ["model", *KEY[2:], "value", "note"]
    assert report.overall.select(shared).equals(truth.overall.select(shared))


def test_a_rule_says_that_it_chose_among_edges() -> None:
    table = fmfair.counts({"y": [0, 1], "p": [0.1, 0.9], "sex": ["F", "M"]}, y_true="y", y_score="p")

    report = fmfair.evaluate_counts(table, thresholds="best_f1", metrics="f1")

    assert "threshold best_f1: chosen among the edges of the score bins, not among the scores" in report.notes
    assert report.overall["threshold"].to_list() == [0.9]


def test_what_bins_cannot_give_is_null_and_says_so() -> None:
    frame = {"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.4, 0.3], "sex": ["F", "F", "M", "M"]}
    table = fmfair.counts(frame, y_true="y", y_score="p", grid=100)

    report = fmfair.evaluate_counts(
        table, metrics=["partial_auc", "calibration_slope", "calibration_intercept", "ece_quantile", "ece(bins=7)"]
    )

    assert report.overall["value"].null_count() == 5
    assert set(report.overall["note"]) == {
        "not known from counts per score bin",
        "7 bins do not divide the grid of 100 score bins",
    }


def test_the_reason_of_the_metric_comes_first() -> None:
    table = fmfair.counts({"y": [1, 1], "p": [0.1, 0.9], "sex": ["F", "M"]}, y_true="y", y_score="p")

    report = fmfair.evaluate_counts(table, metrics=["partial_auc", "auc", "tnr"])

    assert report.overall["note"].to_list() == ["no negatives"] * 3


def test_gaps_of_bounded_values_say_what_they_are_from() -> None:
    frame = {"y": [0, 1, 0, 1], "p": [0.11, 0.12, 0.4, 0.3], "sex": ["F", "F", "M", "M"]}
    table = fmfair.counts(frame, y_true="y", y_score="p", grid=10)

    gaps = fmfair.evaluate_counts(table, metrics=["auc", "brier"]).gaps

    auc = gaps.filter(pl.col("metric") == "auc").select("statistic", "value", "bound_low", "bound_high", "note")
    assert auc.row(0) == ("difference", 0.5, 0.0, 1.0, "from values in the middle of their bounds")
    brier = gaps.filter((pl.col("metric") == "brier") & pl.col("value").is_not_null())
    assert brier.filter(pl.col("bound_low").is_null())["statistic"].to_list() == ["ratio_to_overall"]
    assert brier.filter(pl.col("bound_high") - pl.col("bound_low") > 1e-8).is_empty()
    assert brier["note"].null_count() == brier.height


def test_a_report_from_counts_is_shown_written_and_read_back(tmp_path: object) -> None:
    frame = {"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.4, 0.3], "sex": ["F", "F", "M", "M"], "model": ["a", "b", "a", "b"]}
    report = fmfair.evaluate_counts(fmfair.counts(frame, y_true="y", y_score="p"))

    report.write_parquet(f"{tmp_path}/report")

    back = fmfair.Report.read_parquet(f"{tmp_path}/report")
    assert back.groups.equals(report.groups)
    assert report.to_dict()["groups"][0]["model"] == "a"
    assert "4,000 score bins" in " ".join(repr(report).split())
    assert report.metadata["engine"] == "counts"


def test_reports_from_rows_have_no_bounds() -> None:
    report = evaluate({"y": [0, 1], "p": [0.1, 0.9], "sex": ["F", "M"]}, y_true="y", y_score="p")

    assert "bound_low" not in report.groups.columns


@pytest.mark.parametrize("keep", ["drop", "keep"])
def test_missing_groups_are_left_out_or_shown(keep: str) -> None:
    frame = {"y": [0, 1, 1, 0], "p": [0.1, 0.9, 0.4, 0.3], "sex": ["F", None, "F", "(missing)"]}
    columns: dict[str, Any] = {"y_true": "y", "y_score": "p", "missing_groups": keep}

    report = fmfair.evaluate_counts(fmfair.counts(frame, **columns), metrics="accuracy")

    truth = evaluate(frame, **columns, metrics="accuracy")
    assert report.groups.select(*KEY, "value", "n").equals(truth.groups.select(*KEY, "value", "n"))
    assert report.summary.equals(truth.summary)
