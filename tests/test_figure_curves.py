"""Figures from scores in bins: every point follows from the rows by its definition."""

from __future__ import annotations

from math import sqrt
from typing import Any

import polars as pl
import pytest
from figure_support import by_model, data_of, dice_report, dice_rows, drawn, report, rows, texts, written
from reports import HOSTILE

import fmfair
from fmfair.errors import FmfairError
from fmfair.figures.binned import (
    Binned,
    benefit_points,
    curves_of,
    distribution,
    rate_points,
    reliability_points,
    roc_points,
)
from fmfair.figures.roc import operating_points
from fmfair.figures.text import name_of

FIGURES = ("reliability", "roc", "rates_by_threshold", "risk_distribution", "decision_curve")


def scored(group: str | None) -> list[tuple[int, float]]:
    """Label and score of the rows of a site, or of all, of model a."""
    frame = rows().filter(pl.col("model") == "a")
    frame = frame if group is None else frame.filter(pl.col("site") == group)
    return frame.select("y_true", "y_score").rows()


def scores_of(group: str | None) -> Binned:
    curves = curves_of(report()._frames(), "site")
    return curves.whole if group is None else next(scores for scores in curves.groups if scores.group == group)


def share(hits: list[bool]) -> float:
    return sum(hits) / len(hits)


def wilson(hits: int, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    p = hits / n
    centre, reach = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (centre - reach) / (1 + z * z / n), (centre + reach) / (1 + z * z / n)


@pytest.mark.parametrize("group", [None, "north", "south"])
def test_rates_at_every_edge_are_those_of_the_rows(group: str | None) -> None:
    there = scored(group)
    for point in rate_points(scores_of(group), 0.95):
        above = [(y, s >= point["threshold"]) for y, s in there]
        hits = [hit for y, hit in above if y == 1]
        wrong = [hit for y, hit in above if y == 0]
        assert point["tpr"] == pytest.approx(share(hits), abs=1e-12)
        assert point["fpr"] == pytest.approx(share(wrong), abs=1e-12)
        assert (point["tpr_low"], point["tpr_high"]) == pytest.approx(wilson(sum(hits), len(hits)), abs=1e-9)
        assert (point["fpr_low"], point["fpr_high"]) == pytest.approx(wilson(sum(wrong), len(wrong)), abs=1e-9)


def test_the_roc_curve_has_the_rates_from_none_to_all() -> None:
    there = scored("north")
    curve = roc_points(scores_of("north"))

    assert (curve[0]["fpr"], curve[0]["tpr"]) == (0.0, 0.0)
    assert (curve[-1]["fpr"], curve[-1]["tpr"]) == (1.0, 1.0)
    for point in curve[1:]:
        assert point["tpr"] == pytest.approx(share([s >= point["threshold"] for y, s in there if y == 1]), abs=1e-12)
        assert point["fpr"] == pytest.approx(share([s >= point["threshold"] for y, s in there if y == 0]), abs=1e-12)


def test_net_benefit_is_that_of_its_definition() -> None:
    there = scored(None)
    for point in benefit_points(scores_of(None)):
        t = point["threshold"]
        tp = sum(y == 1 and s >= t for y, s in there)
        fp = sum(y == 0 and s >= t for y, s in there)
        prevalence = share([y == 1 for y, _ in there])
        assert point["model"] == pytest.approx((tp - fp * t / (1 - t)) / len(there), abs=1e-12)
        if t >= min(s for _, s in there):
            continue
        assert point["all"] == pytest.approx(prevalence - (1 - prevalence) * t / (1 - t), abs=1e-12)


@pytest.mark.parametrize("group", [None, "north", "south"])
def test_bins_of_reliability_hold_every_row_once_in_about_equal_parts(group: str | None) -> None:
    there = sorted((s, y) for y, s in scored(group))
    points = reliability_points(scores_of(group), 0.95)

    assert len(points) == 10
    assert sum(point["n"] for point in points) == len(there)
    start = 0
    for point in points:
        part = there[start : start + int(point["n"])]
        assert point["predicted"] == pytest.approx(sum(s for s, _ in part) / len(part), abs=1e-9)
        assert point["observed"] == pytest.approx(share([y == 1 for _, y in part]), abs=1e-12)
        assert (point["ci_low"], point["ci_high"]) == pytest.approx(
            wilson(sum(y for _, y in part), len(part)), abs=1e-9
        )
        assert 0.5 * len(there) / 10 <= len(part) <= 2 * len(there) / 10
        start += len(part)


def test_a_distribution_adds_up_to_one_and_counts_the_rows() -> None:
    there = scored("south")
    points = distribution(scores_of("south"))
    for outcome, label in (("positive", 1), ("negative", 0)):
        chosen: list[Any] = [point for point in points if point["outcome"] == outcome]
        scores = [s for y, s in there if y == label]
        assert sum(point["share"] for point in chosen) == pytest.approx(1.0)
        for k, point in enumerate(chosen):
            # Scores have three decimals, so that thousandths are whole numbers.
            inside = [s for s in scores if min(round(s * 1000) // 50, 19) == k]
            assert point["n"] == len(inside)


def test_the_operating_point_is_that_of_the_frames() -> None:
    for made in (report(), report(None)):
        there = made.groups.filter((pl.col("attribute") == "sex") & (pl.col("threshold") == 0.5))
        found = operating_points(made._frames(), "sex")
        for metric in ("tpr", "fpr"):
            values = dict(there.filter(pl.col("metric") == metric).select("group", "value").iter_rows())
            assert {group: at[metric] for group, at in found.items()} == values
        whole = made.overall.filter((pl.col("metric") == "tpr") & (pl.col("threshold") == 0.5))["value"][0]
        assert operating_points(made._frames(), None)[None]["tpr"] == whole


def test_the_operating_point_lies_on_its_curve() -> None:
    shown = data_of(report().plot.roc("sex"))
    (point,) = (row for row in shown if row.get("group") == "F" and "threshold" not in row)

    assert any(row.get("threshold") == 0.5 and row["tpr"] == pytest.approx(point["tpr"]) for row in shown)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_all_groups_and_small_ones_as_counts(name: str) -> None:
    for width in (390, 1280):
        chart = getattr(report().plot, name)("site", width=width)
        root = drawn(chart)

        assert root.attrib["width"] == str(width)
        for group in ("north", "south", "tiny", "healthy"):
            assert group in written(root)
        assert {"".join(text.split()) for text in texts(chart)} >= {"9positives:countsonly", "0positives:countsonly"}
        assert not any(row.get("group") in ("tiny", "healthy") for row in data_of(chart) if "px" in row)


@pytest.mark.parametrize("name", FIGURES)
def test_all_rows_alone_by_keys_and_no_intervals(name: str) -> None:
    assert "allrows" in written(drawn(getattr(report(None).plot, name)()))
    one, other = (data_of(getattr(by_model().plot, name)("sex", where={"model": m})) for m in "ab")
    assert one != other
    with pytest.raises(FmfairError, match="shows one 'model' and there are 2"):
        getattr(by_model().plot, name)()


@pytest.mark.parametrize("name", FIGURES)
def test_hostile_names_are_texts(name: str) -> None:
    frame = pl.DataFrame({"site": HOSTILE}).join(rows().select("y_true", "y_score").head(60), how="cross")
    made = fmfair.evaluate(frame, attributes="site", metrics=["tpr", "fpr"], ci=None)

    shown = written(drawn(getattr(made.plot, name)("site", width=390)))

    for group in HOSTILE:
        assert "".join(name_of(group).split()) in shown


@pytest.mark.parametrize("name", FIGURES)
def test_without_curves_the_error_says_what_they_need(name: str) -> None:
    ranked = rows().drop("model").with_columns(y_score=pl.col("y_score") * 10)
    made = fmfair.evaluate(ranked, attributes="sex", metrics="auc", score_type="rank")

    with pytest.raises(FmfairError, match="the report has no curves: they need scores that are probabilities"):
        getattr(made.plot, name)()
    with pytest.raises(FmfairError, match="no curves by 'sexx'; did you mean 'sex'"):
        getattr(report().plot, name)("sexx")


def dice_of(group: str | None) -> list[float]:
    frame = dice_rows()
    return sorted((frame if group is None else frame.filter(pl.col("scanner") == group))["dice"])


@pytest.mark.parametrize("attribute", ["scanner", None])
def test_dice_spreads_with_median_quartiles_and_the_share_below_a_limit(attribute: str | None) -> None:
    chart = dice_report().plot.dice_distribution(attribute, limit=0.8, width=1280)

    groups = ["A", "B"] if attribute else [None]
    boxes = {row["group"]: row for row in data_of(chart) if "median" in row}
    assert list(boxes) == groups
    steps = [row for row in data_of(chart) if "share" in row]
    assert {row["group"] for row in steps} == {*groups}
    for group in groups:
        values = dice_of(group)
        below = sum(value < 0.8 for value in values)
        said = next(" ".join(t.split()) for t in heads(chart) if f"({below} of {len(values)})" in t)
        assert f"{100 * below / len(values):.1f}% below 0.8" in said
        for name, share in (("q1", 0.25), ("median", 0.5), ("q3", 0.75)):
            # The place of a bin on the axis tells its value, which is within a hundredth of one of the rows.
            places = [(row["low"], row["px"]) for row in steps if row["group"] == group]
            (low, left), (high, right) = places[0], places[-1]
            found = low + (boxes[group][name] - left) / (right - left) * (high - low)
            k = share * len(values)
            assert values[int(k) - 1] - 0.01 <= found <= values[min(int(k), len(values) - 1)] + 0.01
    if attribute:
        assert "5 rows: counts only" in texts(chart)


def heads(chart: Any) -> list[str]:
    """What stands over the panels, each as one text."""
    rows = [row for row in data_of(chart) if "text" in row]
    parts: dict[float, list[str]] = {}
    for row in rows:
        parts.setdefault(row["x"], []).append(row["text"])
    return [" ".join(part) for part in parts.values()]


def test_dice_has_no_other_curve_and_scores_no_dice() -> None:
    with pytest.raises(FmfairError, match=r"have no positives; plot.dice_distribution shows them"):
        dice_report().plot.roc()
    with pytest.raises(FmfairError, match=r"not of a segmentation; plot.risk_distribution shows"):
        report().plot.dice_distribution()
    with pytest.raises(FmfairError, match=r"limit=0.705 is no Dice in whole hundredths"):
        dice_report().plot.dice_distribution(limit=0.705)
