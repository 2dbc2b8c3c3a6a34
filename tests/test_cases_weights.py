"""Sample weights: they go with their rows, and zero is as if the row were not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from lookup import assert_honest, by_group, gap, overall, warned

import fmfair
from fmfair import FmfairError

# A survey sample; the last row has weight 0.
TRUTH = [1, 0, 1, 0, 1, 0, 1, 0, 0]
SCORE = [0.9, 0.4, 0.3, 0.2, 0.6, 0.7, 0.8, 0.1, 0.95]
WEIGHT = [3, 1, 1, 2, 1, 2, 2, 1, 0]
GROUP = [*"aaaabbbbb"]


def _report(weight: Any = None, *, rows: slice = slice(None), **options: Any) -> fmfair.Report:
    table = {"label": TRUTH[rows], "prob": SCORE[rows], "sex": GROUP[rows]}
    if weight is not None:
        table["w"] = weight[rows]
    return fmfair.evaluate(table, weight=None if weight is None else "w", **options)


def test_fc47_weights_enter_every_group() -> None:
    report = _report(WEIGHT, thresholds=0.5)

    # a: pairs weigh 12, won 11; b: pairs weigh 9, won 7.
    assert by_group(report, "auc") == pytest.approx({"a": 11 / 12, "b": 7 / 9}, abs=1e-12)
    assert gap(report, "auc") == pytest.approx(0.1388888888888889, abs=1e-12)
    assert by_group(report, "accuracy") == pytest.approx({"a": 6 / 7, "b": 4 / 6}, abs=1e-12)
    assert gap(report, "accuracy") == pytest.approx(4 / 21, abs=1e-12)
    assert by_group(report, "auc", "n") == {"a": 4, "b": 4}
    assert by_group(report, "auc", "weight_sum") == {"a": 7.0, "b": 6.0}


def test_fc47_without_weights_the_numbers_are_others() -> None:
    assert by_group(_report(), "auc") == {"a": 0.75, "b": 0.5}
    assert by_group(_report(rows=slice(0, 8)), "auc") == {"a": 0.75, "b": 0.75}


@pytest.mark.parametrize("thresholds", [0.5, "best_f1", "youden", "tpr=0.8", "tnr=0.8"])
def test_fc47_weight_zero_is_removal_also_for_thresholds(thresholds: Any) -> None:
    whole = _report(WEIGHT, thresholds=thresholds, metrics="all")
    without = _report(WEIGHT, rows=slice(0, 8), thresholds=thresholds, metrics="all")

    assert whole.groups.equals(without.groups)
    assert whole.gaps.equals(without.gaps)
    assert whole.overall.equals(without.overall)
    assert_honest(whole)


@pytest.mark.parametrize("thresholds", [0.5, "best_f1", "youden", "tpr=0.8", "tnr=0.8"])
def test_fc47_whole_weights_are_repeated_rows(thresholds: Any) -> None:
    repeated = pl.DataFrame({"label": TRUTH, "prob": SCORE, "sex": GROUP, "w": WEIGHT})
    repeated = repeated.select(pl.exclude("w").repeat_by("w").explode(empty_as_null=False, keep_nulls=False))

    weighted, plain = (
        _report(WEIGHT, thresholds=thresholds, metrics="all"),
        fmfair.evaluate(repeated, thresholds=thresholds, metrics="all"),
    )

    ours = weighted.groups.select("group", "metric", "threshold", "value")
    theirs = plain.groups.select("group", "metric", "threshold", "value")
    assert ours.drop("value").equals(theirs.drop("value"))
    assert ours["value"].to_list() == pytest.approx(theirs["value"].to_list(), abs=1e-9, nan_ok=False)
    assert overall(weighted, "ppv") == pytest.approx(overall(plain, "ppv"), abs=1e-12)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (fmfair.auc_gap, 5 / 36),
        (fmfair.worst_group_auc, 7 / 9),
        (fmfair.accuracy_gap, 4 / 21),
        # TPR: a 3/4, b 3/3; TNR: a 3/3, b 1/3.
        (fmfair.equal_opportunity_difference, 1 / 4),
        (fmfair.equalized_odds_score, 1 - (1 / 4 + 2 / 3) / 2),
    ],
)
@pytest.mark.parametrize("make", [list, np.array, pl.Series])
def test_fc47_the_scalars_take_sample_weight(function: Any, expected: float, make: Any) -> None:
    value, _ = warned(function, TRUTH, SCORE, sensitive_features=GROUP, sample_weight=make(WEIGHT), threshold=0.5)

    assert value == pytest.approx(expected, abs=1e-12)


def test_fc47_weights_of_dice_values() -> None:
    value = fmfair.dice_gap([0.9, 0.5, 0.4, 1.0], sensitive_features=[*"aabb"], sample_weight=[3, 1, 2, 0])

    assert value == pytest.approx((2.7 + 0.5) / 4 - 0.4)


@pytest.mark.parametrize("bad", [-1.0, float("nan"), None, float("inf")])
def test_fc47_a_weight_that_cannot_be_one_is_an_error_that_names_the_row(bad: float | None) -> None:
    weight = [float(w) for w in WEIGHT[:8]] + [bad]

    with pytest.raises(FmfairError, match=r"column 'w' has 1 weight .*negative, missing or infinite \(row 8\)"):
        _report(weight)
    with pytest.raises(FmfairError, match=r"1 weight .*negative, missing or infinite \(row 8\)"):
        fmfair.auc_gap(TRUTH, SCORE, sensitive_features=GROUP, sample_weight=weight)
    with pytest.raises(FmfairError, match=r"1 weight .*negative, missing or infinite \(row 1\)"):
        fmfair.dice_gap([0.1, 0.2], sensitive_features=[*"ab"], sample_weight=[1.0, bad])


def test_fc47_a_group_that_has_only_zero_weights_is_an_error_that_names_it() -> None:
    with pytest.raises(FmfairError, match="sex 'b' has only rows of weight zero"):
        _report([1, 1, 1, 1, 0, 0, 0, 0, 0])
    with pytest.raises(FmfairError, match="sensitive 'b' has only rows of weight zero"):
        fmfair.dice_gap([0.1, 0.2, 0.3], sensitive_features=[*"aab"], sample_weight=[1, 1, 0])


def test_fc47_weights_that_are_all_zero_are_an_error() -> None:
    with pytest.raises(FmfairError, match="no row is left to evaluate"):
        _report([0] * 9)


def test_fc47_text_as_weights_is_an_error() -> None:
    with pytest.raises(FmfairError, match="weight: column 'w' has the type String, expected numbers"):
        _report(["x"] * 9)


def test_fc47_the_published_conventions_have_no_weights() -> None:
    with pytest.raises(FmfairError, match="weights are not part of the FairMedFM conventions"):
        _report(WEIGHT, conventions="fairmedfm")
    with pytest.raises(FmfairError, match="weights are not part of the FairMedFM conventions"):
        fmfair.auc_gap(TRUTH, SCORE, sensitive_features=GROUP, sample_weight=WEIGHT, conventions="fairmedfm")


def test_fc47_the_scale_of_the_weights_does_not_matter(tmp_path: Path) -> None:
    table = pl.DataFrame({"label": TRUTH, "prob": SCORE, "sex": GROUP, "w": WEIGHT}).with_columns(
        small=pl.col("w") * 1e-12, large=pl.col("w") * 1e12
    )
    table.write_parquet(tmp_path / "p.parquet")

    values = [
        fmfair.evaluate(tmp_path / "p.parquet", weight=name, metrics="all").groups["value"].to_list()
        for name in ("w", "small", "large")
    ]

    # Counts are sums of weights; everything else is free of their scale.
    counts = {"tp", "fp", "fn", "tn"}
    metrics = fmfair.evaluate(tmp_path / "p.parquet", weight="w", metrics="all").groups["metric"].to_list()
    for metric, *found in zip(metrics, *values, strict=True):
        if metric in counts or found[0] is None:
            assert found[0] is not None or found == [None] * 3, metric
        else:
            assert found[1:] == pytest.approx(found[:1] * 2, rel=1e-7), metric


def test_fc47_a_group_without_labels_is_not_one_of_weight_zero() -> None:
    table = {"label": [0, 1, None, None], "prob": [0.1, 0.9, 0.3, 0.4], "sex": [*"aabb"], "w": [1, 1, 1, 0]}

    report = fmfair.evaluate(table, weight="w")

    assert by_group(report, "accuracy", "n") == {"a": 2, "b": 0}


def test_fc47_weights_that_cannot_be_added_up_are_an_error() -> None:
    with pytest.raises(FmfairError, match="too large to be added up"):
        _report([1e308] * 9)
