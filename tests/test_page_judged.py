"""A group with counts only neither leads the document nor hides a difference between the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import fmfair
from fmfair.page.judged import judged, too_small
from fmfair.page.material import material_of
from fmfair.page.plan import Plan


@pytest.fixture(scope="module")
def report() -> Any:
    """Worse for F than for M, and three unfortunate patients of U."""
    rng = np.random.default_rng(1)
    n = 1500
    sex = rng.choice(["F", "M"], n)
    sex[:33] = "U"
    y = (rng.random(n) < 0.2).astype(int)
    y[:33] = [1] * 3 + [0] * 30
    score = 1 / (1 + np.exp(-(rng.normal(size=n) + 1.8 * y - 1 - 1.2 * (sex == "F") * y)))
    score[:3] = 0.02
    return fmfair.evaluate(pl.DataFrame({"y_true": y, "y_score": score, "sex": sex}))


def row(report: Any, metric: str) -> dict[str, Any]:
    found = report.gaps.filter(pl.col("metric") == metric, pl.col("statistic") == "difference")
    return dict(found.row(0, named=True))


def test_the_others_are_compared_by_their_pair(report: Any) -> None:
    gap, small = row(report, "auc"), too_small(report.groups, "auc")
    frames = {"pairs": report.pairs}

    found = judged(gap, small["sex"], frames)

    pair = report.pairs.filter(pl.col("metric") == "auc", pl.col("group") == "F", pl.col("other_group") == "M")
    difference, low, high, p = pair.select("difference", "ci_low", "ci_high", "p_holm").row(0)
    assert small == {"sex": {"U"}}
    assert gap["worst_group"] == "U"
    assert (found["worst_group"], found["best_group"], found["n_groups"]) == ("F", "M", 2)
    assert (found["value"], found["ci_low"], found["ci_high"]) == (-difference, -high, -low)
    assert found["p_value"] == p
    assert found["chance_gap"] is None


def test_a_gap_between_groups_that_can_be_judged_stays(report: Any) -> None:
    gap = {**row(report, "auc"), "worst_group": "F", "best_group": "M"}

    assert judged(gap, {"U"}, {"pairs": report.pairs}) is gap


def test_where_no_two_groups_are_left_there_is_no_difference(report: Any) -> None:
    found = judged(row(report, "auc"), {"U", "F"}, {"pairs": report.pairs})
    without = judged(row(report, "auc"), {"U"}, {})

    assert (found["value"], found["note"]) == (None, "fewer than two groups have more than counts")
    assert (without["value"], without["note"]) == (None, "a group at one end has counts only")


def test_the_worst_is_the_highest_where_lower_is_better(report: Any) -> None:
    found = judged({**row(report, "brier"), "worst_group": "U"}, {"U"}, {"pairs": report.pairs})

    values = dict(report.groups.filter(pl.col("metric") == "brier").select("group", "value").iter_rows())
    assert values[found["worst_group"]] > values[found["best_group"]]
    assert found["value"] == pytest.approx(abs(values["F"] - values["M"]))


def test_the_largest_of_several_pairs_must_stand_out_from_them() -> None:
    pairs = pl.DataFrame(
        {
            "attribute": ["site"] * 3,
            "metric": ["auc"] * 3,
            "group": ["a", "a", "b"],
            "other_group": ["b", "c", "c"],
            "difference": [0.2, 0.1, -0.1],
            "ci_low": [0.01, -0.1, -0.3],
            "ci_high": [0.39, 0.3, 0.1],
            "ci_method": ["m"] * 3,
            "p_value": [0.04, 0.3, 0.3],
            "p_holm": [0.12, 0.6, 0.6],
            "p_method": ["t"] * 3,
            "verdict": [None] * 3,
            "note": [None] * 3,
        }
    )
    gap = {"attribute": "site", "metric": "auc", "value": 0.5, "worst_group": "d", "best_group": "a", "note": None}

    found = judged(gap, {"d"}, {"pairs": pairs})

    assert (found["value"], found["ci_low"], found["ci_high"]) == (0.2, 0.0, 0.39)
    assert (found["worst_group"], found["best_group"], found["n_groups"]) == ("b", "a", 3)


def test_the_document_leads_with_what_can_be_judged(report: Any, tmp_path: Any) -> None:
    report.write_parquet(tmp_path)
    frames = {name: pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("summary", "groups", "gaps", "overall")}
    frames["pairs"] = pl.read_parquet(tmp_path / "pairs.parquet")
    view = material_of(frames, report.notes, report.metadata, Plan()).views[0]
    assert (view.difference("sex", "auc") or {})["worst_group"] == "F"
    told = view.judged("auc")["gaps"].filter(pl.col("metric") == "auc", pl.col("statistic") == "difference")
    assert told["worst_group"].to_list() == ["F"]
