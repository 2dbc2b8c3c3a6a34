"""Both engines where one column plays several parts, or scores come in several columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from engines import both

import fmfair

ROWS = 60


def table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    logits = rng.normal(0.0, 2.0, (ROWS, 3))
    raised = np.exp(logits)
    probabilities = raised / raised.sum(axis=1, keepdims=True)
    return pl.DataFrame(
        {
            "y": rng.integers(0, 2, ROWS),
            "finding": rng.integers(0, 3, ROWS),
            "p": rng.random(ROWS),
            "sex": pl.Series(["F", "M"])[rng.integers(0, 2, ROWS)],
            "age": rng.permutation(np.arange(20, 20 + ROWS)),
            "beside": rng.normal(0.0, 2.0, ROWS),
            **{f"z{k}": logits[:, k] for k in range(3)},
            **{f"q{k}": probabilities[:, k] for k in range(3)},
        }
    )


PARTS: dict[str, dict[str, Any]] = {
    "score and attribute": {"y_score": "p", "attributes": "p", "bins": {"p": 3}},
    "label and attribute": {"y_score": "p", "attributes": "y"},
    "label and by-key": {"y_score": "p", "attributes": "sex", "by": "y"},
    "weight, score and attribute": {"y_score": "p", "attributes": ["p", "sex"], "bins": {"p": [0.5]}, "weight": "p"},
    "id and age": {"y_score": "p", "attributes": "age", "sample_id": "age"},
    "id and bins": {"y_score": "p", "attributes": "age", "sample_id": "age", "bins": {"age": [40]}},
    "score and logit": {"y_score": "p", "y_logit": "p", "attributes": "sex"},
}


@pytest.mark.parametrize("parts", PARTS)
def test_a_column_may_play_several_parts(parts: str) -> None:
    arguments: dict[str, Any] = {"by": [], **PARTS[parts]}

    both(table(), 1e-9, y_true="y", metrics="all", **arguments)


@pytest.mark.parametrize("conventions", ["standard", "fairmedfm"])
@pytest.mark.parametrize(
    "scores",
    [
        {"y_score": ["q0", "q1", "q2"]},
        {"y_score": ["q0", "q1", "q2"], "y_logit": "beside"},
        {"y_score": ["z0", "z1", "z2"]},
        {"y_score": ["z2", "z0", "z1"], "classes": [2, 0, 1]},
        {"y_score": "q1", "y_logit": "beside"},
        {"y_logit": "beside"},
    ],
    ids=str,
)
def test_scores_and_logits_in_any_number_of_columns(scores: dict[str, Any], conventions: str) -> None:
    one_finding: dict[str, Any] = {"y_true": "finding", "positive": 1, "attributes": "sex", "by": []}

    both(table(), metrics="all", thresholds=[0.5, "best_f1"], conventions=conventions, **one_finding, **scores)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_logits_beside_class_columns_rank_as_beside_one_score(engine: str) -> None:
    arguments: dict[str, Any] = {"y_logit": "beside", "attributes": "sex", "by": [], "engine": engine}
    several = fmfair.evaluate(table(), y_true="finding", y_score=["q0", "q1", "q2"], positive=1, **arguments)
    one = fmfair.evaluate(table(), y_true="finding", y_score="q1", positive=1, **arguments)

    assert several.groups.equals(one.groups)
