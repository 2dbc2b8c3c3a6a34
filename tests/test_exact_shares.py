"""Shares of whole numbers are exact, as in Python: Polars divides by a single number through its reciprocal."""

from __future__ import annotations

import polars as pl
import pytest

import fmfair

# Sizes at which size * (1 / size) is less than 1 in double precision.
SIZES = [49, 98, 103, 107, 161, 187, 196, 197]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("rule", "threshold"), [("tpr=1", 0.6), ("tnr=1", 0.6)])
def test_a_rule_that_asks_for_everything_is_met_by_everything(size: int, rule: str, threshold: float) -> None:
    assert size * (1 / size) < 1
    frame = pl.DataFrame({"y": [1] * size + [0] * size, "s": [0.6] * size + [0.1] * size, "site": ["a", "b"] * size})
    report = fmfair.evaluate(frame, y_true="y", y_score="s", attributes="site", thresholds=rule, metrics=["tpr", "tnr"])
    assert report.overall["threshold"].to_list() == [threshold] * 2
    assert report.overall["value"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize(("limit", "negatives"), [(0.35, 20), (0.55, 20), (0.15, 20), (0.07, 100)])
def test_a_limit_that_the_false_positive_rate_meets_is_kept(limit: float, negatives: int) -> None:
    called = round(limit * negatives)
    assert called / negatives <= limit
    # One positive lies above all negatives, one after as many negatives as the limit allows, one below all.
    scores = [float(-k) for k in range(negatives)]
    frame = pl.DataFrame({"y": [0] * negatives + [1] * 3, "s": [*scores, 1.0, -called + 0.5, -1000.0]})
    found = frame.select(fmfair.metrics.tpr_at_fpr("y", "s", fpr=limit)).item()
    assert found == pytest.approx(2 / 3, abs=1e-12)
