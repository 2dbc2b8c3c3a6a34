"""The answer at the top of the document: who is served worse by how much, what stays open, how good and how sure."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from page_reports import REPORTS

import fmfair
from fmfair.page.lead import Point, lead
from fmfair.page.material import material_of
from fmfair.page.plan import plan_of
from fmfair.page.screening import screen


def points(report: fmfair.Report, **stated: Any) -> list[Point]:
    of = material_of(report._frames(), report.notes, report.metadata, plan_of(stated))
    return lead(of, screen(of))


def said(report: fmfair.Report, **stated: Any) -> dict[str, str]:
    return {point.head: point.said for point in points(report, **stated)}


def alike(**more: Any) -> fmfair.Report:
    """Two groups that do not differ."""
    n = 6000
    rows = {"y_true": [int(k % 3 == 0) for k in range(n)], "y_score": [(k * 37 % 101) / 100 for k in range(n)]}
    return fmfair.evaluate(pl.DataFrame({**rows, "sex": ["F", "M"] * (n // 2)}), metrics=["auc"], **more)


def unlike(**more: Any) -> fmfair.Report:
    """Three sites of which one finds far more than the others."""
    rows = [
        {"site": s, "y_true": 1, "y_pred": int(k < c)} for s, c in (("a", 80), ("b", 55), ("c", 45)) for k in range(100)
    ]
    rows += [{"site": s, "y_true": 0, "y_pred": 0} for s in "abc" for _ in range(50)]
    return fmfair.evaluate(pl.DataFrame(rows), metrics=["tpr", "tnr"], **more)


def test_both_errors_of_the_clearest_differences_come_first_and_then_what_is_open() -> None:
    report = REPORTS["xrays"]()
    found = said(report)
    assert list(found) == ["View, pneumothorax", "View, opacity", "Sex", "Overall", "How sure"]
    first = found["View, pneumothorax"]
    assert first.startswith(
        "Fewer cases are found in AP (36%) than in PA (58%), by 22 percentage points (95% interval "
    )
    assert ", but there are fewer false alarms in AP (2.0%) than in PA (6.4%), by 4.4 percentage points " in first
    assert found["View, opacity"].startswith("Fewer cases are found in PA (")
    assert ", and there are more false alarms in PA (25.0%) than in AP (20.9%), by 4.1 " in found["View, opacity"]
    assert not any("p =" in one or " positives" in one for one in found.values())
    highs = report.gaps.filter(attribute="sex", statistic="difference").sort("ci_high", descending=True)
    (most, label), (alarms, other) = (highs.filter(metric=m).select("ci_high", "label").row(0) for m in ("tpr", "tnr"))
    assert found["Sex"] == (
        f"No difference was shown, but the sample is too small to rule out differences of up to {100 * most:.0f} "
        f"percentage points in cases found ({label}) and {100 * alarms:.1f} percentage points in false alarms "
        f"({other})."
    )
    assert found["How sure"].startswith("Exploratory: which differences to look at was not settled before")
    assert "stands out among all 8 that were looked at, so that on average no more than 1 in 10 " in found["How sure"]


def test_how_good_it_is_names_the_results_at_the_ends_and_what_is_evaluated() -> None:
    report = REPORTS["xrays"]()
    low, high = sorted(report.overall.filter(metric="tpr").select("value", "label").iter_rows())
    text = said(report, model="the text-mined label")["Overall"]
    assert text.startswith(
        f"The text-mined label finds {100 * low[0]:.0f}% ({low[1]}) to {100 * high[0]:.0f}% ({high[1]}) of the cases. "
        "False alarms are raised for 3.1% (pneumothorax) to "
    )
    assert said(report)["Overall"].startswith("The model finds ")


def test_what_the_plan_says_of_groups_stands_beside_the_difference_once() -> None:
    first, second, *others = points(
        REPORTS["xrays"](), descriptions={"view AP": "lying", "PA": "standing."}, groups={"view=AP": "more ill"}
    )
    assert first.beside == "AP: lying; more ill. PA: standing."
    assert not any(point.beside for point in (second, *others))


def test_of_results_without_a_difference_beside_some_with_one_it_is_said_apart() -> None:
    parts = []
    for label, found in (("a", 90), ("b", 51), ("c", 50)):
        rows = [
            {"label": label, "sex": sex, "y_true": y, "y_pred": int(k < (found if sex == "F" else 50)) * y}
            for sex in "FM"
            for y in (0, 1)
            for k in range(100)
        ]
        parts.append(pl.DataFrame(rows))
    every, two = (
        said(fmfair.evaluate(pl.concat(parts[:n]), by="label", attributes="sex", metrics=["tpr"])) for n in (3, 2)
    )
    assert list(every)[:2] == ["Sex, a", "Sex, the others"]
    assert list(two)[:2] == ["Sex, b", "Sex, a"] or list(two)[:2] == ["Sex, a", "Sex, b"]
    assert every["Sex, the others"].endswith(" percentage points in cases found (b).")
    assert two["Sex, b"].endswith(" percentage points in cases found.")


def test_it_is_said_that_nothing_was_shown_and_what_a_margin_excludes() -> None:
    high = alike().gaps.filter(statistic="difference", metric="auc")["ci_high"].item()
    assert said(alike())["Sex"] == (
        f"No difference was shown, but the sample is too small to rule out differences of up to {high:.3f} in AUC."
    )
    assert said(alike(margins={"auc": 0.2}))["Sex"] == (
        f"No difference was shown, and differences larger than {high:.3f} in AUC are excluded, which is within the "
        "margin."
    )


def test_without_intervals_nothing_is_told_from_chance() -> None:
    found = said(alike(ci=None))
    assert list(found) == ["Overall", "How sure"]
    assert found["How sure"] == "Without intervals no difference can be told from chance."


def test_of_several_groups_the_two_ends_are_named() -> None:
    first = points(unlike())[0]
    assert first.head == "Site"
    assert first.said.startswith(
        "Fewer cases are found in c (45%) than in a (80%) among the 3 groups of site, by 35 percentage points (95% "
    )


def test_what_was_settled_before_is_told_as_planned() -> None:
    text = said(unlike(), pre_specified=["site"])["How sure"]
    assert text.startswith("Planned: which differences to look at was settled before the data were seen. ")
    assert "chance alone" not in text


def test_more_differences_than_are_told_are_counted() -> None:
    draws, parts = np.random.default_rng(1), []
    for k in range(6):
        site = draws.choice(["a", "b"], 400)
        y_pred = (draws.random(400) < np.where(site == "a", 0.9, 0.5)).astype(int)
        parts.append(pl.DataFrame({"model": f"m{k}", "site": site, "y_true": 1, "y_pred": y_pred}))
    found = said(fmfair.evaluate(pl.concat(parts), by="model", attributes="site", metrics=["tpr"]))
    assert found["More"] == "3 more results with a difference that is shown are in the table below."


def test_a_rate_of_one_result_has_its_interval_and_its_cases() -> None:
    report = unlike()
    low, high = report.overall.filter(metric="tpr").select("ci_low", "ci_high").row(0)
    assert said(report)["Overall"].startswith(
        f"The model finds 60% of the cases (95% interval {100 * low:.0f} to {100 * high:.0f}; 300 cases). False alarms "
    )
