"""What a validation split says of heads."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import fmfair
from fmfair.runners.selection import Judge, better


def test_a_judge_looks_at_groups_with_both_classes() -> None:
    nan = float("nan")
    table = pl.DataFrame(
        {
            "sex": ["F", "F", "M", "M", None, None],
            "code": [1.0, 1.0, 2.0, 2.0, nan, nan],
            "site": ["a", "a", "b", "b", "b", "c"],
        }
    )
    y = np.array([0, 1, 1, 1, 0, 1])

    for attributes in (["sex"], ["code"], ["sex", "code"]):
        judge = Judge.of("finding", table, y, "worst_auc", attributes)
        assert judge.worst_auc(np.array([0.0, 1.0, 0.0, 0.0, 9.0, 0.0])) == 1.0
        assert judge.worst_auc(np.array([1.0, 0.0, 0.0, 0.0, 0.0, 9.0])) == 0.0
    judge = Judge.of("finding", table, y, "worst_auc", ["sex", "site"])
    assert judge.worst_auc(np.array([0.0, 1.0, 2.0, 3.0, 2.0, 0.0])) == 0.75
    with pytest.raises(fmfair.FmfairError, match="no group of 'sex' has both classes"):
        Judge.of("finding", table, np.ones(6, int), "worst_auc", ["sex"])


def test_too_many_groups_are_a_measurement_and_missing_values_are_none() -> None:
    codes = [float(k) for k in range(20)] + [None, float("nan")]
    y = np.arange(44) % 2

    table = pl.DataFrame({"code": sorted(codes * 2, key=str)}, strict=False)

    assert Judge.of("finding", table, y, "worst_auc", ["code"]).worst_auc(y.astype(float)) == 1.0
    with pytest.raises(fmfair.FmfairError, match="'code' has more than 20 values"):
        Judge.of("finding", table.with_columns(code=pl.int_range(44)), y, "worst_auc", ["code"])


def test_of_two_values_the_first_that_differs_decides() -> None:
    assert better({"worst_auc": 0.8, "loss": 0.9}, {"worst_auc": 0.7, "loss": 0.1})
    assert better({"worst_auc": 0.8, "loss": 0.4}, {"worst_auc": 0.8, "loss": 0.5})
    assert not better({"worst_auc": 0.8, "loss": 0.5}, {"worst_auc": 0.8, "loss": 0.5})
    assert better({"loss": 0.4}, {"loss": 0.5})
