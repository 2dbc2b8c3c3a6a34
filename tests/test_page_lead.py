"""The differences in short, at the top of the document."""

from __future__ import annotations

from typing import Any

import polars as pl
from page_reports import REPORTS

import fmfair
from fmfair.page.lead import lead
from fmfair.page.material import material_of
from fmfair.page.plan import Plan
from fmfair.page.screening import screen


def said(report: fmfair.Report) -> list[str]:
    of = material_of(report._frames(), report.notes, report.metadata, Plan())
    return lead(of, screen(of))


def alike(**more: Any) -> fmfair.Report:
    """Two groups that do not differ."""
    n = 6000
    rows = {"y_true": [int(k % 3 == 0) for k in range(n)], "y_score": [(k * 37 % 101) / 100 for k in range(n)]}
    return fmfair.evaluate(pl.DataFrame({**rows, "sex": ["F", "M"] * (n // 2)}), metrics=["auc"], **more)


def test_the_clearest_differences_come_first_and_each_attribute_that_is_open_is_named() -> None:
    report = REPORTS["xrays"]()
    first, *_, last = said(report)
    assert first.startswith("label pneumothorax: sensitivity is lower in AP (36%) than in PA (58%), by ")
    assert "p =" not in " ".join(said(report))
    highs = report.gaps.filter(attribute="sex", metric="tpr", statistic="difference")["ci_high"].sort()
    low, high = (f"{100 * value:.0f}" for value in highs)
    assert last == (
        f"This sample cannot tell from chance: differences in sensitivity of up to {low} to {high} percentage points "
        "between groups of sex (2 results)."
    )


def test_it_is_said_that_nothing_was_shown_and_what_a_margin_excludes() -> None:
    plain, marked = said(alike()), said(alike(margins={"auc": 0.2}))
    assert plain[0] == marked[0] == "No difference between groups was shown."
    assert plain[1].startswith("This sample cannot tell from chance: differences in AUC of up to 0.0")
    assert marked[1] == "Differences in AUC beyond the margin are excluded between groups of sex."


def test_without_intervals_nothing_is_told_from_chance() -> None:
    assert said(alike(ci=None)) == [
        "No difference between groups was shown.",
        "Without intervals no difference can be told from chance.",
    ]


def test_of_several_groups_the_two_ends_are_named() -> None:
    rows = [
        {"site": s, "y_true": 1, "y_pred": int(k < c)} for s, c in (("a", 80), ("b", 55), ("c", 45)) for k in range(100)
    ]
    rows += [{"site": s, "y_true": 0, "y_pred": 0} for s in "abc" for _ in range(50)]
    first = said(fmfair.evaluate(pl.DataFrame(rows), metrics=["tpr", "tnr"]))[0]
    assert first.startswith(
        "Sensitivity is lower in c (45%) than in a (80%) among the 3 groups of site, by 35 percentage"
    )
