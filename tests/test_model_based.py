"""Model-based values of intersections beside the raw ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import fmfair

ROWS = 4000


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    sex, age, y = rng.integers(0, 2, ROWS), rng.choice(6, ROWS, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01]), None
    y = rng.random(ROWS) < 0.3
    score = rng.normal(size=ROWS) + y * (1.2 + 0.3 * sex)
    return pl.DataFrame({"label": y, "score": score, "sex": sex, "age": age})


def cells(frame: pl.DataFrame, metric: str, **given: Any) -> pl.DataFrame:
    options = {"attributes": ["sex", "age"], "intersections": 2, "by": [], "score_type": "logit", **given}
    report = fmfair.evaluate(frame, y_true="label", y_score="score", ci=0.95, model_based=True, **options)
    return report.groups.filter((pl.col("attribute") == "sex & age") & (pl.col("metric") == metric))


@pytest.mark.parametrize("metric", ["auc", "tpr", "bce", "brier"])
def test_small_cells_move_and_large_ones_stay(frame: pl.DataFrame, metric: str) -> None:
    found = cells(frame, metric)
    moved = found.sort("n").select((pl.col("model_based") - pl.col("value")).abs()).to_series().to_list()
    assert moved[-1] < 0.02
    assert moved[0] > moved[-1]
    assert (found["model_based_low"] < found["model_based"]).all()
    assert (found["model_based"] < found["model_based_high"]).all()
    raw = fmfair.evaluate(
        frame, y_true="label", y_score="score", attributes=["sex", "age"], intersections=2, by=[], score_type="logit"
    )
    assert raw.groups.filter((pl.col("attribute") == "sex & age") & (pl.col("metric") == metric))["value"].equals(
        found["value"]
    )


def test_a_cell_without_a_value_gets_what_is_expected(frame: pl.DataFrame) -> None:
    alone = frame.filter((pl.col("age") < 5) | (pl.col("sex") == 0) | ~pl.col("label"))
    row = cells(alone, "auc").filter(pl.col("group") == "1 & 5").row(0, named=True)
    assert (row["value"], row["n_pos"]) == (None, 0)
    assert 0.7 < row["model_based"] < 0.95


def test_too_few_cells_have_none(frame: pl.DataFrame) -> None:
    found = cells(frame.filter(pl.col("age") < 2), "auc")
    assert found.height == 4
    assert found["model_based"].null_count() == 4


def test_single_attributes_have_none_and_it_needs_intervals(frame: pl.DataFrame) -> None:
    report = fmfair.evaluate(
        frame, y_true="label", y_score="score", attributes=["sex", "age"], by=[], ci=0.95, model_based=True
    )
    assert report.groups["model_based"].null_count() == report.groups.height
    with pytest.raises(fmfair.FmfairError, match="model_based=True needs"):
        fmfair.evaluate(frame, y_true="label", y_score="score", attributes="sex", ci=None, model_based=True)


@pytest.mark.parametrize("y", [0, 1])
def test_intersections_without_any_value_have_none(y: int) -> None:
    frame = pl.DataFrame({"label": [y] * 60, "score": [0.2, 0.8, 0.6] * 20, "sex": [0, 1] * 30, "age": [0, 1, 2] * 20})
    found = cells(frame, "auc", score_type="auto")
    assert found.height == 6
    assert found["model_based"].null_count() == 6
