"""How sure a report from counts is: as the report from the rows where counts are exact, wider where bins leave room."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from counts_support import COLUMNS, random_frame
from polars.testing import assert_frame_equal

import fmfair

SURE = ("ci_low", "ci_high", "ci_method", "ci_note", "mark")
OF_GAPS = ("ci_low", "ci_high", "p_value", "p_method", "chance_gap", "chance_gap_95", "detectable_gap")
PROPORTIONS = ("accuracy", "tpr", "tnr", "fpr", "fnr", "ppv", "npv", "selection_rate")
NOT_COUNTED = "not known from counts per score bin; the rows give it"


def clinic(n: int = 900, seed: int = 1) -> pl.DataFrame:
    """Scores of a useful model, with ties, in three sites."""
    draw = np.random.default_rng(seed)
    label = draw.integers(0, 2, n)
    score = np.clip(np.round(draw.normal(0.4 + 0.2 * label, 0.2), 3), 0, 1)
    return pl.DataFrame({"label": label, "prob": score, "site": draw.choice(["A", "B", "C"], n, p=[0.5, 0.4, 0.1])})


def test_rates_at_bin_edges_are_as_sure_as_from_the_rows() -> None:
    options: dict[str, Any] = {
        "metrics": [*PROPORTIONS, "f1"],
        "thresholds": [0.5, 0.25],
        "reference": {"site": "A"},
        "margins": {"tpr": 0.1},
    }

    report = fmfair.evaluate_counts(fmfair.counts(clinic()), **options)

    rows = fmfair.evaluate(clinic(), **options)
    for which, columns in (("groups", SURE), ("overall", SURE), ("gaps", (*OF_GAPS, "verdict"))):
        found, truth = getattr(report, which), getattr(rows, which)
        of = [c for c in ("metric", "threshold", "group", "statistic") if c in found.columns]
        assert_frame_equal(found.select(*of, *columns), truth.select(*of, *columns), rel_tol=1e-12)
    assert_frame_equal(report.pairs, rows.pairs, rel_tol=1e-12)


def test_ranking_is_as_sure_as_that_of_scores_rounded_down_to_their_bins_and_what_is_open_beside() -> None:
    grid, rows = 50, clinic()
    # k / grid and not floor(p * grid) / grid, which may be the edge below
    edges = np.arange(grid + 1) / grid
    of_bin = edges[np.searchsorted(edges, rows["prob"].to_numpy(), side="right") - 1]
    rounded = fmfair.evaluate(rows.with_columns(prob=of_bin), metrics=["auc", "average_precision"])

    report = fmfair.evaluate_counts(fmfair.counts(rows, grid=grid), metrics=["auc", "average_precision"])

    auc = pl.col("metric") == "auc"
    found, truth = report.groups.filter(auc), rounded.groups.filter(auc)
    half = (found["bound_high"] - found["bound_low"]) / 2
    assert found["value"].to_list() == pytest.approx(truth["value"].to_list(), abs=1e-12)
    assert found["ci_low"].to_list() == pytest.approx((truth["ci_low"] - half).to_list(), abs=1e-12)
    assert found["ci_high"].to_list() == pytest.approx((truth["ci_high"] + half).to_list(), abs=1e-12)
    assert report.groups["ci_method"].to_list() == rounded.groups["ci_method"].to_list()
    # The middle of the bounds of average precision is not its value with ties; the spread is that of the ties.
    assert (report.groups["ci_low"] < report.groups["bound_low"]).all()
    assert (report.groups["ci_high"] > report.groups["bound_high"]).all()


def test_the_finer_the_grid_the_closer_to_the_rows() -> None:
    rows = fmfair.evaluate(clinic(), metrics="auc").overall
    apart = [
        abs(
            fmfair.evaluate_counts(fmfair.counts(clinic(), grid=grid), metrics="auc").overall["ci_low"] - rows["ci_low"]
        )
        for grid in (10, 100, 4000)
    ]

    assert apart[0][0] > apart[1][0] > apart[2][0]
    assert apart[2][0] < 1e-3


def test_a_gap_of_auc_is_tested_on_the_counted_scores() -> None:
    report = fmfair.evaluate_counts(fmfair.counts(clinic()), metrics="auc")

    rows = fmfair.evaluate(clinic(), metrics="auc")
    gaps = [r.gaps.filter(pl.col("statistic") == "difference") for r in (report, rows)]
    for column in OF_GAPS:
        if column != "p_method":
            assert gaps[0][column][0] == pytest.approx(gaps[1][column][0], abs=2e-3)
    assert gaps[0]["p_method"][0] == gaps[1]["p_method"][0]
    assert gaps[0]["ci_low"][0] <= gaps[1]["ci_low"][0]


@pytest.mark.parametrize("metric", ["brier", "bce", "ece", "mcc", "calibration_slope"])
def test_what_counts_do_not_tell_is_said(metric: str) -> None:
    report = fmfair.evaluate_counts(fmfair.counts(clinic()), metrics=metric)

    known = report.groups.filter(pl.col("value").is_not_null())
    assert known["ci_low"].null_count() == known.height
    assert set(known["ci_note"]) <= {NOT_COUNTED}
    gap = report.gaps.filter((pl.col("statistic") == "difference") & pl.col("value").is_not_null())
    assert "bootstrap" not in "".join(gap["ci_note"].drop_nulls())


@pytest.mark.parametrize(("seed", "grid", "least"), [(0, 10, None), (1, 4000, None), (2, 20, 3), (3, 100, 5)])
def test_intervals_hold_the_bounds_and_are_never_certain(seed: int, grid: int, least: int | None) -> None:
    table = fmfair.counts(random_frame(seed), **COLUMNS, grid=grid, suppress_below=least)

    report = fmfair.evaluate_counts(
        table, metrics=["auc", "average_precision", *PROPORTIONS, "f1"], thresholds=[0.5, 0.3]
    )

    for frame in (report.groups, report.overall):
        known = frame.filter(pl.col("ci_low").is_not_null())
        assert known.height
        assert known.filter(
            (pl.col("ci_low") > pl.col("bound_low")) | (pl.col("ci_high") < pl.col("bound_high"))
        ).is_empty()
        assert known.filter((pl.col("ci_low") < 0) | (pl.col("ci_high") > 1)).is_empty()
        assert known.filter(pl.col("ci_low") >= pl.col("ci_high")).is_empty()
        silent = frame.filter(pl.col("value").is_not_null() & pl.col("ci_low").is_null() & pl.col("ci_note").is_null())
        assert silent.filter(~pl.col("metric").is_in(["tp", "fp", "fn", "tn"])).is_empty()


def test_merged_bins_have_no_interval_of_a_ranking() -> None:
    table = fmfair.counts(clinic(), suppress_below=10)

    report = fmfair.evaluate_counts(table, metrics=["auc", "accuracy"], thresholds=0.5)

    notes = dict(report.overall.select("metric", "ci_note").iter_rows())
    assert notes["auc"] == NOT_COUNTED
    assert report.overall.filter(pl.col("metric") == "accuracy")["ci_low"][0] > 0.5


def test_without_ci_there_are_no_columns_and_no_pairs() -> None:
    report = fmfair.evaluate_counts(fmfair.counts(clinic()), ci=None)

    assert not set(SURE) & set(report.groups.columns)
    assert report.pairs.is_empty()


def test_the_form_of_the_interval_of_an_auc_can_be_chosen() -> None:
    report = fmfair.evaluate_counts(fmfair.counts(clinic()), metrics="auc", auc_interval="wald")

    assert set(report.groups["ci_method"]) == {"DeLong, Wald"}


def test_bad_options_are_named_together() -> None:
    with pytest.raises(fmfair.FmfairError, match=r"auc_interval='no'(\n|.)*ci=2 "):
        fmfair.evaluate_counts(fmfair.counts(clinic()), ci=2, auc_interval="no")
