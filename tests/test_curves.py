"""How scores spread: every row in one bin, the same on every engine, and the metrics follow from the bins."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from property_tests import examples

import fmfair
from fmfair.curves import BINS, LOWER, bins_of, edges

KEYS = ["attribute", "group"]


def clinic(n: int = 2_000, seed: int = 3) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    label = draw.integers(0, 2, n)
    score = np.clip(draw.normal(0.3 + 0.3 * label, 0.25), 0, 1)
    return pl.DataFrame(
        {
            "label": label,
            "prob": np.where(draw.random(n) < 0.3, np.round(score, 2), score),
            "sex": pl.Series(draw.choice(["F", "M", ""], n)).replace("", None),
            "site": draw.choice(["a", "b", "c"], n),
            "model": draw.choice(["m", "k"], n),
        }
    )


def counted_by_hand(frame: pl.DataFrame) -> dict[tuple[str, ...], list[Any]]:
    """Rows, positives and scores of every bin, a row and a bin at a time."""
    ends = [*LOWER, 1001]
    found: dict[tuple[str, ...], list[Any]] = {}
    for row in frame.iter_rows(named=True):
        (place,) = (b for b in range(BINS) if ends[b] / 1000 <= row["prob"] < ends[b + 1] / 1000)
        for attribute, group in (("", ""), ("sex", row["sex"]), ("site", row["site"])):
            if group is not None:
                sums = found.setdefault((row["model"], attribute, group, ends[place] / 1000), [0, 0, []])
                sums[0] += 1
                sums[1] += row["label"]
                sums[2].append(row["prob"])
    return {key: [n, n_pos, math.fsum(scores)] for key, (n, n_pos, scores) in found.items()}


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("rows", [300, 2_000])
def test_every_row_is_in_one_bin_of_each_of_its_groups(engine: str, rows: int) -> None:
    frame = clinic(rows)

    curves = fmfair.evaluate(frame, by="model", engine=engine, ci=None, intersections=2).curves

    expected = counted_by_hand(frame)
    found = {row[:4]: row[4:] for row in curves.select("model", *KEYS, "low", "n", "n_pos", "sum_score").iter_rows()}
    assert found.keys() == expected.keys()
    for key, (n, n_pos, total) in found.items():
        assert [n, n_pos] == expected[key][:2]
        assert total == pytest.approx(expected[key][2], rel=1e-12)


def test_reading_order_is_all_rows_then_the_groups_of_each_attribute() -> None:
    curves = fmfair.evaluate(clinic(), by="model", ci=None).curves

    order = curves.select("model", *KEYS).unique(maintain_order=True).rows()
    groups = [("", ""), ("sex", "F"), ("sex", "M"), ("site", "a"), ("site", "b"), ("site", "c")]
    assert order == [(model, *of) for model in ("k", "m") for of in groups]
    assert curves.group_by("model", *KEYS, maintain_order=True).agg(pl.col("low").diff().min() > 0)["low"].all()


def test_counts_give_the_same_curves() -> None:
    rows, counted = (
        fmfair.evaluate(clinic(), by="model", ci=None).curves,
        fmfair.evaluate_counts(fmfair.counts(clinic(), by="model"), ci=None).curves,
    )

    assert_frame_equal(rows, counted, abs_tol=1e-9)


@given(st.lists(st.floats(0, 1), max_size=40))
@examples(50)
def test_a_score_lies_between_the_edges_of_its_bin(scores: list[float]) -> None:
    values = np.array([*scores, *(k / 1000 for k in range(1001)), *np.nextafter(np.arange(1, 1001) / 1000, 0)])

    found = edges()[bins_of(values)]

    last = found["bin"] == BINS - 1
    assert (found["low"].to_numpy() <= values).all()
    assert (values[~last.to_numpy()] < found.filter(~last)["high"].to_numpy()).all()


def test_roc_and_calibration_follow() -> None:
    frame = clinic(4_000)
    report = fmfair.evaluate(frame, by=[], thresholds=0.5, metrics=["tpr", "fpr", "observed_expected"], ci=None)

    for (attribute, group), bins in report.curves.group_by(KEYS, maintain_order=True):
        of_group = report.groups.filter((pl.col("attribute") == attribute) & (pl.col("group") == group))
        values = dict((of_group if attribute else report.overall).select("metric", "value").iter_rows())
        above = pl.col("low") >= 0.5
        neg = pl.col("n") - pl.col("n_pos")
        found = bins.select(
            tpr=pl.col("n_pos").filter(above).sum() / pl.col("n_pos").sum(),
            fpr=neg.filter(above).sum() / neg.sum(),
            observed_expected=pl.col("n_pos").sum() / pl.col("sum_score").sum(),
        )
        assert found.row(0, named=True) == pytest.approx(values, rel=1e-12)


def test_dice_is_binned_too() -> None:
    frame = pl.DataFrame({"dice": [0.0, 0.9995, 1.0, 0.5, None], "site": ["a", "a", "b", "b", "b"]})

    curves = fmfair.evaluate_segmentation(frame, attributes="site", ci=None).curves

    assert curves.filter(pl.col("attribute") == "").select("low", "n", "n_pos").rows() == [
        (0.0, 1, None),
        (0.5, 1, None),
        (0.999, 2, None),
    ]


@pytest.mark.parametrize(
    "options",
    [{"suppress_below": 5}, {"weight": "weight"}, {"score_type": "rank"}, {"y_score": None, "y_pred": "pred"}],
)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_there_are_none_where_they_would_mislead_or_tell(options: dict[str, Any], engine: str) -> None:
    frame = clinic().with_columns(weight=pl.lit(2.0), pred=pl.col("prob").round().cast(pl.Int8))
    frame = frame.drop("pred") if "y_pred" not in options else frame.drop("prob")

    report = fmfair.evaluate(frame, engine=engine, ci=None, metrics=["tpr", "accuracy"], **options)

    assert report.curves.is_empty()


def test_of_very_many_groups_there_are_none() -> None:
    frame = clinic(9_000).with_columns(patient=pl.int_range(pl.len()) // 4)

    report = fmfair.evaluate(frame.with_columns(pl.col("patient").cast(pl.String)), attributes="patient", ci=None)

    assert report.curves.is_empty()
    assert report.groups.height


def test_they_are_stored_with_the_report(tmp_path: Path) -> None:
    report = fmfair.evaluate(clinic(), by="model", ci=None)

    report.write_parquet(tmp_path / "results")

    assert_frame_equal(fmfair.Report.read_parquet(tmp_path / "results").curves, report.curves)
    assert len(report.to_dict()["curves"]) == report.curves.height
