"""Conditions of `--fail-if`: the exit status of a nightly job."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from command_line import DICE, TABLE, Result, refused, run, scored, written

# Sensitivity at 0.5 is 2/3 for both sexes, 1/2 at site a and 3/4 at site b.
MODELS = pl.concat([TABLE.with_columns(model=pl.lit(m), score=s) for m, s in (("a", "score"), ("b", pl.lit(0.6)))])


# A condition looks at values; their intervals take most of a run.
VALUES = ("--ci", "none")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path)


def judged(path: Path, *args: object) -> Result:
    """A run on the values alone."""
    return run("score", path, *VALUES, *args)


def value(path: Path, column: str, *args: object) -> float:
    number: float = scored(path, *VALUES, *args).summary[column]
    return number


@pytest.mark.parametrize(
    ("condition", "where"),
    [
        ("tpr.gap>0.1", "site at 0.5"),
        ("tpr.difference > 0.1", "site at 0.5"),
        ("tpr.gap>=0.1", "site at 0.5"),
        ("tpr.worst<0.6", "site at 0.5"),
        ("tpr.ratio<=0.7", "site at 0.5"),
        ("tpr.gap@0.5>0.1", "site at 0.5"),
        ("tpr.gap@0.50[site]>0.1", "site at 0.5"),
        ("tpr.gap[site]@0.5>0.1", "site at 0.5"),
        ("equal_opportunity.difference>0.1", "site at 0.5"),
        ("equalized_odds.score<1", "sex at 0.5"),
        ("tpr.overall<0.9", "overall at 0.5"),
        ("eo>0.1", "site at 0.5"),
        ("auc-gap>0.05", "sex"),
        ("worst-auc<0.9", "sex"),
        ("overall-auc<0.99", "overall"),
        ("eod<0.99", "sex at 0.5"),
    ],
)
def test_a_condition_that_holds_is_exit_status_1_and_says_where(table: Path, condition: str, where: str) -> None:
    result = judged(table, "--sensitive", "sex", "site", "--fail-if", condition)

    assert result.status == 1
    assert f"fmfair: failed: --fail-if {condition} holds: {where}: " in result.err
    assert result.out.startswith("fmfair report")


@pytest.mark.parametrize(
    "condition",
    ["tpr.gap>0.9", "tpr.gap[sex]>0.1", "tpr.worst<0.1", "tpr.ratio<0.1", "tpr.overall<0.1", "auc-gap>0.9", "eo<0"],
)
def test_a_condition_that_does_not_hold_is_exit_status_0(table: Path, condition: str) -> None:
    result = judged(table, "--sensitive", "sex", "site", "--fail-if", condition)

    assert (result.status, "fail-if" in result.err) == (0, False)


def test_the_worst_and_the_best_group_are_named(table: Path) -> None:
    result = judged(table, "--sensitive", "site", "--fail-if", "tpr.gap>0.1")

    assert "holds: site at 0.5: 0.25 (worst a, best b)" in result.err


def test_one_condition_of_several_is_enough(table: Path) -> None:
    result = judged(table, "--sensitive", "site", "--fail-if", "tpr.gap>0.9", "--fail-if", "tpr.gap>0.1")

    assert result.status == 1
    assert result.err.count("failed") == 1


@pytest.mark.parametrize(("operator", "status"), [(">", 0), (">=", 1), ("<", 0), ("<=", 1)])
def test_a_value_equal_to_the_limit_but_for_noise_counts_as_equal(table: Path, operator: str, status: int) -> None:
    gap = value(table, "eo", "--sensitive", "site")
    limit = repr(gap + 2e-16)

    assert judged(table, "--sensitive", "site", "--fail-if", f"tpr.gap{operator}{limit}").status == status


def test_a_by_key_is_enough_and_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, MODELS)

    result = judged(path, "--sensitive", "sex", "--fail-if", "auc-gap<=0", "--quiet")

    assert result.status == 1
    assert result.err.splitlines() == ["fmfair: failed: --fail-if auc-gap<=0 holds: model=b, sex: 0"]


def test_a_rule_may_be_named_as_the_threshold(table: Path) -> None:
    args = (table, "--sensitive", "site", "--threshold", "0.5", "tpr=0.8", "--quiet", "--fail-if")

    assert judged(*args, "tpr.gap@0.5>0.3").status == 0
    held = judged(*args, "tpr.gap@tpr=0.8>0.3")
    assert held.status == 1
    assert "tpr.gap@tpr=0.8>0.3 holds: site at tpr=0.8 0.35: 0.5 (worst a, best b)" in held.err


@pytest.mark.parametrize(("name", "pair"), [("eo", "equal_opportunity.gap"), ("eod", "equalized_odds.score")])
def test_a_name_of_the_summary_looks_at_every_threshold_as_the_pair_it_stands_for(
    table: Path, name: str, pair: str
) -> None:
    args = (table, "--sensitive", "site", "--threshold", "0.5", "0.35", "--quiet", "--fail-if")
    limit = ">0.3" if name == "eo" else "<0.75"

    held, paired = judged(*args, name + limit), judged(*args, pair + limit)

    # It holds at 0.35 only, and the summary shows 0.5.
    assert held.status == 1
    assert "holds: site at 0.35: " in held.err
    assert "at 0.5" not in held.err
    assert held.err.split("holds")[1] == paired.err.split("holds")[1]
    assert judged(*args, f"{name}@0.5{limit}").status == 0


@pytest.mark.parametrize("task", ["classification", "segmentation"])
def test_every_column_of_the_summary_is_a_condition_on_the_same_number(tmp_path: Path, task: str) -> None:
    path = written(tmp_path, TABLE if task == "classification" else DICE)
    row = scored(path, "--sensitive", "sex").summary
    columns = set(row) - {"attribute", "n", "n_groups", "threshold", "threshold_rule"}

    def judge(operator: str) -> Result:
        conditions = [("--fail-if", f"{column}{operator}{row[column]!r}") for column in columns]
        return run("score", path, "--sensitive", "sex", *(part for pair in conditions for part in pair))

    held, not_held = judge(">="), judge(">")

    assert held.status == 1
    assert {c for c in columns if f"failed: --fail-if {c}>=" in held.err} == columns
    assert (not_held.status, "fail-if" in not_held.err) == (0, False)


def test_a_name_of_the_summary_whose_metrics_were_not_computed_says_what_to_ask_for(table: Path) -> None:
    args = (table, *VALUES, "--sensitive", "sex", "--metrics", "auc", "--fail-if")

    assert "'equalized_odds' was not computed" in refused(*args, "eod<0.9")
    assert "ask for it with --metrics tpr tnr" in refused(*args, "eod<0.9")
    assert "ask for it with --metrics accuracy" in refused(*args, "acc-gap>0.9")
    assert "no metric 'delta_dice'" in refused(*args, "delta_dice>0.9")


def test_a_metric_with_parameters_may_be_spelled_with_other_spaces(table: Path) -> None:
    args = (table, "--sensitive", "sex", "--metrics", "partial_auc(fpr=(0, 0.5))", "--fail-if")

    assert judged(*args, "partial_auc(fpr=(0,0.5)).gap>0.0001").status == 1
    assert judged(*args, "partial_auc(fpr=(0,0.5)).gap>0.9").status == 0


def test_an_intersection_is_named_as_it_is_shown(table: Path) -> None:
    args = (table, "--sensitive", "sex", "site", "--intersections", "2", "--fail-if")

    assert judged(*args, "tpr.gap[sex & site]>0.3").status == 1
    assert judged(*args, "tpr.gap[site]>0.3").status == 0


def test_dice_conditions_go_by_statistic_and_by_summary(tmp_path: Path) -> None:
    path = written(tmp_path, DICE)

    assert judged(path, "--fail-if", "dice.gap>0.2").status == 1
    assert judged(path, "--fail-if", "delta_dice>0.3").status == 0
    assert judged(path, "--fail-if", "dice.equity_scaled_std<0.9").status == 1
    assert judged(path, "--fail-if", "mean_dice<0.7").status == 1
    assert "it has no threshold" in refused(path, "--fail-if", "delta_dice@0.5>0.3")


def test_undefined_everywhere_is_exit_status_1_with_the_reason(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE.with_columns(label=pl.when(pl.col("sex") == "F").then("label").otherwise(0)))

    result = judged(path, "--sensitive", "sex", "--fail-if", "tpr.gap>0.1", "--format", "json")

    assert result.status == 1
    assert "--fail-if tpr.gap>0.1 could not be computed: undefined in every row (1 of 2 groups" in result.err
    assert "no positives" in result.err


def test_undefined_in_some_rows_is_noted(tmp_path: Path) -> None:
    frame = TABLE.with_columns(label=pl.when(pl.col("sex") == "F").then("label").otherwise(0))

    result = judged(written(tmp_path, frame), "--sensitive", "sex", "site", "--fail-if", "tpr.gap>1")

    assert result.status == 0
    assert "fmfair: note: --fail-if tpr.gap>1: undefined in 1 row" in result.err


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("tprr.gap>0.1", "no metric 'tprr'; did you mean 'tpr'?"),
        ("auc_gap>0.1", "no metric 'auc_gap'; did you mean 'auc-gap'?"),
        ("tpr.gapp>0.1", "tpr has no statistic 'gapp'"),
        ("tpr>0.1", "lacks the statistic; write for example tpr.gap"),
        ("lr_positive.gap>0.1", "ask for it with --metrics"),
        ("tp.gap>0.1", "is not compared between groups"),
        ("tpr.gap[gender]>0.1", "no attribute 'gender'; there are 'sex', 'site'"),
        ("tpr.gap@0.3>0.1", "nothing at the threshold 0.3; it has 0.5"),
        ("auc.gap@0.5>0.1", "nothing at the threshold 0.5; it has no threshold"),
        ("tpr.overall[sex]>0.1", "an overall value is on all rows"),
        ("overall-auc[sex]>0.1", "an overall value is on all rows"),
        ("n_groups>1", "no metric 'n_groups'"),
        ("tpr.gap=0.1", "is not understood; write METRIC.STATISTIC>NUMBER"),
        ("tpr.gap", "is not understood"),
        (">0.1", "is not understood"),
        ("tpr.gap@0.5@0.6>0.1", "is not understood"),
        ("tpr.gap>10%", "'10%' is not a number"),
        ("tpr.gap>nan", "'nan' is not a number"),
        ("partial_auc(fpr=(2, 3)).gap>0.1", "is not a range"),
    ],
)
def test_a_condition_that_speaks_of_nothing_is_exit_status_2_and_says_what_there_is(
    table: Path, tmp_path: Path, condition: str, expected: str
) -> None:
    message = refused(
        *(table, *VALUES, "--sensitive", "sex", "site", "--output", tmp_path / "report.json", "--fail-if", condition)
    )

    assert expected in message
    assert not (tmp_path / "report.json").exists()


def test_an_unknown_metric_lists_what_there_is(table: Path) -> None:
    message = refused(table, "--sensitive", "sex", "--fail-if", "nothing.gap>0.1")

    for name in ("auc", "tpr", "equalized_odds", "auc-gap", "eod"):
        assert name in message
