"""Many by-keys: one call for twenty models and fourteen findings gives what calls for fewer give, to the last digit."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import fmfair
from benchmarks.generate import predictions

MODELS, LABELS, SAMPLES = 20, 14, 60
FRAMES = ("summary", "groups", "gaps", "overall")
OPTIONS: dict[str, Any] = {
    "ci": None,  # test_by_keys.py has intervals, too
    "y_true": "y_true",
    "y_score": "y_score",
    "attributes": ["sex", "age_group"],
    "intersections": 2,
    "metrics": ["auc", "ece", "bce", "tpr", "selection_rate"],
    "thresholds": ["best_f1", 0.3],
}


@pytest.fixture(scope="module")
def predicted() -> pl.DataFrame:
    """The rows of a by-key are not next to one another, and many scores are equal."""
    frame = predictions(SAMPLES, models=MODELS, labels=LABELS, decimals=2)
    return frame.sample(fraction=1, shuffle=True, seed=1)


@pytest.fixture(scope="module")
def together(predicted: pl.DataFrame) -> fmfair.Report:
    report = fmfair.evaluate(predicted, by=["model", "label"], **OPTIONS)
    assert report.overall.select("model", "label").n_unique() == MODELS * LABELS
    return report


def test_one_call_for_280_by_keys_is_a_call_for_each(predicted: pl.DataFrame, together: fmfair.Report) -> None:
    rows = predicted.partition_by("model", "label", as_dict=True, include_key=False)
    found = {name: getattr(together, name).partition_by("model", "label", as_dict=True) for name in FRAMES}
    # Every ninth: all models and all labels are among them.
    chosen = sorted(rows)[::9]
    assert [len(set(names)) for names in zip(*chosen, strict=True)] == [MODELS, LABELS]
    for key in chosen:
        alone = fmfair.evaluate(rows[key], by=[], **OPTIONS)
        for name in FRAMES:
            assert_frame_equal(found[name][key].drop("model", "label"), getattr(alone, name), check_exact=True)


def test_one_call_for_280_by_keys_is_a_call_for_each_model(predicted: pl.DataFrame, together: fmfair.Report) -> None:
    for (model,), rows in predicted.partition_by("model", as_dict=True).items():
        alone = fmfair.evaluate(rows.drop("model"), by=["label"], **OPTIONS)
        for name in FRAMES:
            own = getattr(together, name).filter(pl.col("model") == model).drop("model")
            assert_frame_equal(own, getattr(alone, name), check_exact=True)
