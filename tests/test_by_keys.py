"""By-keys: all models and findings in one call are each of them alone."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from engines import CHANCE
from polars.testing import assert_frame_equal

import fmfair
from benchmarks.generate import predictions

MODELS, LABELS = 3, 2


def test_usages_are_found_by_name_and_never_pooled() -> None:
    frame = predictions(60, models=1, labels=1).select("y_true", "y_score", "sex")
    probe = frame.with_columns(y_score=pl.col("y_true").cast(pl.Float64), usage=pl.lit("linear-probe"))
    report = fmfair.evaluate(pl.concat([probe, frame.with_columns(usage=pl.lit("zero-shot"))]), attributes="sex")

    alone = fmfair.evaluate(frame, attributes="sex", metrics="auc").overall["value"].item()
    auc = report.overall.filter(pl.col("metric") == "auc")
    assert dict(auc.select("usage", "value").iter_rows()) == {"linear-probe": 1.0, "zero-shot": alone}


@pytest.mark.parametrize("thresholds", [[0.3], ["best_f1"]])
def test_one_call_is_one_call_per_by_key(thresholds: list[float | str]) -> None:
    frame = predictions(150, models=MODELS, labels=LABELS, decimals=2, clinics=3)
    attributes = ["sex", "race", "age_group", "site", "clinic"]
    options: dict[str, Any] = {
        "attributes": attributes,
        "intersections": 2,
        "thresholds": thresholds,
        "sample_id": "sample_id",
    }
    together = fmfair.evaluate(frame, y_true="y_true", y_score="y_score", by=["model", "label"], **options)
    keys = frame.select("model", "label").unique().rows(named=True)
    assert len(keys) == MODELS * LABELS
    for key in keys:
        alone = fmfair.evaluate(frame.filter(**key), y_true="y_true", y_score="y_score", by=[], **options)
        for name in ("summary", "groups", "gaps", "overall"):
            own = getattr(together, name).filter(**key).drop("model", "label")
            if name == "groups":
                own = own.filter(pl.col("n") > 0)
            expected = getattr(alone, name)
            expected = expected.filter(pl.col("n") > 0) if name == "groups" else expected
            if name == "gaps":  # integrals, which are found for many comparisons at once
                assert_frame_equal(own.select(*CHANCE), expected.select(*CHANCE), check_exact=False, abs_tol=1e-7)
                own, expected = own.drop(*CHANCE), expected.drop(*CHANCE)
            assert_frame_equal(own, expected, check_exact=False, abs_tol=1e-12, rel_tol=1e-12)
