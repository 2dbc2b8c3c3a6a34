"""Bootstrap intervals in reports: both engines, any order of the rows, segmentations, and what the columns say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fmfair
from fmfair.columns import INTERVALS


def predictions(n: int = 300, seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return pl.DataFrame(
        {
            "label": y,
            "prob": np.round(0.02 + 0.55 * rng.random(n) + 0.4 * y * rng.random(n), 2),
            "sex": np.array(["F", "M"])[rng.integers(0, 2, n)],
            "site": [None if v == 3 else f"s{v}" for v in rng.integers(0, 4, n)],
            "patient": [f"p{v}" for v in rng.integers(0, n // 2, n)],
            "image_id": np.arange(n),
        }
    )


def limits(report: fmfair.Report) -> pl.DataFrame:
    return report.groups.select("group", "metric", "value", *INTERVALS)


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("given", [{"cluster": "patient"}, {"sample_id": "image_id"}])
def test_both_engines_draw_the_same(method: str, given: dict[str, Any], tmp_path: Path) -> None:
    table = predictions()
    table.write_parquet(tmp_path / "t.parquet")
    asked: dict[str, Any] = {
        "ci": 0.95,
        "bootstrap": fmfair.Bootstrap(400, method, seed=3),
        "thresholds": [0.5, "youden"],
        **given,
    }

    polars, duckdb = (fmfair.evaluate(tmp_path / "t.parquet", engine=e, **asked) for e in ("polars", "duckdb"))

    for name in ("groups", "overall"):
        ours, theirs = getattr(polars, name), getattr(duckdb, name)
        for column in ("ci_low", "ci_high"):
            np.testing.assert_allclose(
                ours[column].fill_null(-9).to_numpy(), theirs[column].fill_null(-9).to_numpy(), rtol=0, atol=1e-12
            )
        assert ours.select("ci_method", "ci_note", "mark").equals(theirs.select("ci_method", "ci_note", "mark"))


@pytest.mark.parametrize("given", [{"cluster": "patient"}, {"sample_id": "image_id"}, {}])
def test_the_order_of_the_rows_does_not_matter(given: dict[str, Any]) -> None:
    table = predictions() if given else predictions().drop("image_id")

    first, second = (
        limits(fmfair.evaluate(t, attributes=["sex", "site"], ci=0.95, bootstrap=200, **given))
        for t in (table, table.sample(fraction=1, shuffle=True, seed=1))
    )

    for column in ("ci_low", "ci_high"):
        np.testing.assert_allclose(first[column].fill_null(-9), second[column].fill_null(-9), rtol=0, atol=1e-12)


def test_another_seed_gives_other_limits() -> None:
    one, other, same = (
        limits(fmfair.evaluate(predictions(), ci=0.95, bootstrap=fmfair.Bootstrap(200, seed=seed)))
        for seed in (1, 2, 1)
    )

    assert one.equals(same)
    assert not one["ci_low"].equals(other["ci_low"])


def test_every_metric_but_counts_has_limits_or_a_reason() -> None:
    report = fmfair.evaluate(predictions(), metrics="all", attributes=["sex"], ci=0.95, bootstrap=100)

    groups = report.groups.filter(~pl.col("metric").is_in(["tp", "fp", "fn", "tn"])).drop_nulls("value")
    assert groups.filter(pl.col("ci_low").is_null() & pl.col("ci_note").is_null()).is_empty()
    known = groups.drop_nulls("ci_low")
    assert (known["ci_low"] <= known["value"]).all()
    assert (known["value"] <= known["ci_high"]).all()
    assert set(groups["metric"]) - set(known["metric"]) == {"ece_squared", "ece_rms", "ece_quantile"}
    assert known.filter(pl.col("metric") == "auc")["ci_method"].unique().to_list() == [
        "row bootstrap, percentile, 100 replicates"
    ]


def test_segmentations_have_limits_too() -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "dice": [None if v < 0.05 else v for v in rng.random(200)],
            "sex": ["F", "M"] * 100,
            "patient": rng.integers(0, 60, 200),
        }
    )

    for method in ("percentile", "bca"):
        report = fmfair.evaluate_segmentation(
            table, attributes="sex", cluster="patient", ci=0.95, bootstrap=fmfair.Bootstrap(1000, method)
        )
        closed = fmfair.evaluate_segmentation(table, attributes="sex", cluster="patient", ci=0.95)

        found, plain = report.groups, closed.groups
        np.testing.assert_allclose(found["value"], plain["value"], rtol=1e-12)
        np.testing.assert_allclose(found["ci_low"], plain["ci_low"], atol=0.03)
        np.testing.assert_allclose(found["ci_high"], plain["ci_high"], atol=0.03)
        assert found["ci_method"][0].startswith("patient bootstrap")


def test_a_bootstrap_without_a_level_is_refused() -> None:
    with pytest.raises(fmfair.FmfairError, match="give their level"):
        fmfair.evaluate(predictions(), ci=None, bootstrap=200)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_an_attribute_that_is_missing_everywhere_has_no_limits(engine: str, method: str) -> None:
    frame = pl.DataFrame(
        {"y": [0, 1, 1, 0] * 5, "s": [0.1, 0.7, 0.4, 0.6, 0.9] * 4, "g": [None] * 20, "h": list("ab") * 10}
    )
    given: dict[str, Any] = {"y_true": "y", "y_score": "s", "attributes": ["g", "h"], "by": [], "engine": engine}
    frame = frame.with_columns(pl.col("g").cast(pl.String))
    report = fmfair.evaluate(frame, bootstrap=fmfair.Bootstrap(100, method), metrics=["auc", "tpr", "brier"], **given)
    assert report.groups["attribute"].unique().to_list() == ["h"]
    assert report.groups["ci_low"].null_count() == 0
