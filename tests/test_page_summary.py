"""The first page of real and made-up results: the table of differences, what they mean in numbers, and the facts."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from page_reports import pneumothorax, two_labels
from statsmodels.stats.multitest import multipletests
from test_page_words import XRAYS, material, scored, texts, words_alone  # noqa: F401  # a fixture of every test here

import fmfair
from fmfair.page.drawings import Drawings
from fmfair.page.material import Material, View
from fmfair.page.plain import Cell
from fmfair.page.screening import screen
from fmfair.page.section import Figure, Table
from fmfair.page.sections import limits, methods, summary


@pytest.fixture
def xrays() -> fmfair.Report:
    return pneumothorax()


@pytest.fixture
def labels() -> fmfair.Report:
    return two_labels()


def cells(of: Material) -> dict[tuple[str, str, str], Cell]:
    """The cells of the table of differences, by attribute, result and metric."""
    table = summary.section(of).content["differences"]
    return {
        (column, name, metric): cell
        for name, metric, row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
    }


FOUND, ALARMS = "Cases found (sensitivity)", "False alarms (100% minus specificity)"


def test_the_first_page_says_who_is_served_worse_by_how_much_and_how_sure(xrays: fmfair.Report) -> None:
    content = summary.section(material(xrays, unit="image", model="the label")).content
    assert list(content["differences"].columns) == ["View", "Sex"]  # what is shown comes first
    found = cells(material(xrays))
    gap = xrays.gaps.filter(attribute="view", metric="tpr", statistic="difference").row(0, named=True)
    points = f"{100 * gap['value']:.0f} percentage points"
    within = f"{100 * gap['ci_low']:.0f} to {100 * gap['ci_high']:.0f}"
    assert found["View", "", FOUND] == Cell(
        "Difference shown",
        [f"{points} ({within})", "Fewer in AP (36%; 133 cases) than in PA (58%; 105 cases)"],
        shown=True,
    )
    assert found["View", "", ALARMS].said[1] == "More in PA (6.4%; 1,027 non-cases) than in AP (2.0%; 3,111 non-cases)"
    for metric in (FOUND, ALARMS):
        assert found["Sex", "", metric].verdict == "No difference shown"
        assert found["Sex", "", metric].said[0].endswith(" percentage points cannot be ruled out")
    means = content["means"]
    assert [group for group, _ in means.said] == ["AP", "PA"]
    assert means.said[0][1].startswith(
        "Of 1,000 such images with 54 cases, the label finds 19 (15 to 25), misses 35 and"
    )
    assert means.why.endswith("as many as among all 4,376 images evaluated, of which 238 are cases.")
    assert dict(content["facts"])["Whom"] == "4,376 images; 238 cases; those of one patient taken together"


def test_every_number_of_a_cell_is_that_of_the_frames(xrays: fmfair.Report) -> None:
    gap = xrays.gaps.filter(attribute="view", metric="tpr", statistic="difference").row(0, named=True)
    groups = xrays.groups.filter(attribute="view", metric="tpr")
    said = " ".join(cells(material(xrays))["View", "", FOUND].said)
    numbers = [int(number) for number in re.findall(r"\d+", said)]
    whole = [100 * value for value in (*groups["value"], gap["value"], gap["ci_low"], gap["ci_high"])]
    assert set(numbers) == {*map(round, whole), *groups["n_pos"]}


def test_several_results_have_a_row_each_for_both_errors(labels: fmfair.Report) -> None:
    content = summary.section(material(labels)).content
    assert [(name, metric) for name, metric, _ in content["differences"].rows] == [
        (name, metric)
        for name in ("Pneumothorax", "Nodule")
        for metric in ("cases found (sensitivity)", "false alarms (100% minus specificity)")
    ]
    assert content["means"].result == "Pneumothorax"
    assert dict(content["facts"])["Whom"] == "4,376 rows; 2 findings; those of one patient taken together"


def test_groups_are_explained_that_no_difference_names(labels: fmfair.Report) -> None:
    stated = {"descriptions": {"view AP": "lying", "sex F": "women"}}
    readings = summary.section(material(labels, **stated)).content["readings"]
    assert "sex F: women." in readings
    assert "view AP: lying." not in readings  # beside the difference


def many_without_a_difference() -> fmfair.Report:
    """Sixty models on groups that do not differ."""
    draws, n = np.random.default_rng(5), 300
    parts = []
    for model in range(60):
        y = (np.arange(n) % 3 == 0).astype(int)
        rows = {"y_true": y, "y_score": draws.random(n) * 0.7 + 0.3 * y, "sex": draws.choice(["F", "M"], n)}
        parts.append(pl.DataFrame({**rows, "model": f"m{model}"}))
    return fmfair.evaluate(pl.concat(parts), by="model", attributes=["sex"], metrics=["auc"])


def test_of_many_comparisons_those_that_chance_alone_would_show_are_not_told_as_differences() -> None:
    of = material(many_without_a_difference())
    content = summary.section(of).content
    found = screen(of)
    shown = sum(gap is not None and gap.shown for gap in found.gaps.values())
    assert shown > 0  # one in twenty is to be expected
    assert not found.passed
    (only,) = cells(of).values()
    assert list(content["differences"].rows) == [
        (
            "60 results, together",
            "AUC",
            [
                Cell(
                    f"May be chance among so many comparisons in {shown} of 60",
                    [
                        f"No difference shown in {60 - shown} of 60",
                        *only.said[1:],
                    ],
                )
            ],
        )
    ]
    assert any("stands out among all 60 that were looked at." in point.said for point in content["lead"])
    assert "Exploratory, 60 comparisons, screen at q = 0.10." in " ".join(methods.section(of).content["said"])


def test_the_plot_of_the_first_page_is_of_the_by_key_with_the_clearest_difference(
    labels: fmfair.Report, xrays: fmfair.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    drawn: list[tuple[str, str, list[str]]] = []

    def forest(_: Drawings, view: View, metric: str, attributes: list[str], width: int) -> Figure:
        assert width
        drawn.append((view.title, metric, list(attributes)))
        return Figure("Sensitivity: none", "", "", table=Table(f"Sensitivity, {view.title}", [], []))

    monkeypatch.setattr(Drawings, "forest", forest)
    (of_several,) = summary.section(material(labels)).content["figures"]
    assert of_several.title == "Pneumothorax alone. Sensitivity: none"
    assert of_several.table.caption == "Sensitivity, pneumothorax"
    (of_one,) = summary.section(material(xrays)).content["figures"]
    assert of_one.title == "Sensitivity: none"
    assert not summary.section(material(many_without_a_difference())).content["figures"]
    assert drawn == [("label pneumothorax", "tpr", ["sex", "view"]), ("", "tpr", ["sex", "view"])]


def test_what_was_settled_before_is_adjusted_by_holm(xrays: fmfair.Report) -> None:
    loose, strict = screen(material(xrays)), screen(material(xrays, pre_specified=["sex", "view"]))
    p = [gap.p for gap in strict.gaps.values() if gap is not None and gap.p is not None]
    adjusted = multipletests(p, method="holm")[1]
    expected = {key for key, value in zip(strict.gaps, adjusted, strict=True) if value < 0.05}
    assert strict.passed == expected == {(0, "view", "tpr"), (0, "view", "tnr")}
    assert strict.planned
    assert not loose.planned
    said = " ".join(methods.section(material(xrays, pre_specified=["view", "sex"])).content["said"])
    assert "Pre-specified, 4 comparisons, adjusted by Holm's method." in said


def test_groups_that_are_too_small_are_named_and_not_judged() -> None:
    site = ["<small>" if k < 9 else "b" if k < 60 else "c" for k in range(600)]
    of = material(fmfair.evaluate(scored(site=site), metrics=["auc"]))
    content = summary.section(of).content
    assert content["few"] == "Too small to judge: site <small> (3 cases) and site b (17 cases)."
    assert "2 of 3 groups have fewer than 100 positives behind AUC; such values are imprecise." in limits.raised(of)
    ((cell,),) = (row for _, _, row in content["differences"].rows)
    if "<small>" in cell.said[-1]:
        assert "<small> (3 cases: counts only)" in cell.said[-1]


def test_a_gap_that_there_is_not_has_its_reason() -> None:
    one = fmfair.evaluate(scored(sex=["F"] * 600), metrics=["auc"])
    assert cells(material(one)) == {("Sex", "", "AUC"): Cell("Not compared", ["1 of 1 groups can be compared"])}
    (first, *_) = summary.section(material(one)).content["lead"]
    assert (first.head, first.said) == ("Sex", "Not compared: 1 of 1 groups can be compared.")


def test_without_intervals_nothing_is_told_from_chance() -> None:
    of = material(fmfair.evaluate(scored(sex=["F", "M"] * 300), metrics=["auc"], ci=None))
    (cell,) = cells(of).values()
    assert cell.verdict == "The data cannot tell"
    assert cell.said[0].endswith(", without an interval")
    assert limits.main_limits(of)[0].startswith("No intervals were computed")


def test_between_several_groups_it_is_said_only_that_some_differ_where_no_pair_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sites = [("a", 0.8), ("b", 0.55), ("c", 0.45)]
    rows = [
        {"site": site, "y_true": 1, "y_pred": int(k < share * 100)} for site, share in sites for k in range(100)
    ] + [{"site": site, "y_true": 0, "y_pred": 0} for site, _ in sites for _ in range(50)]
    of = material(fmfair.evaluate(pl.DataFrame(rows), metrics=["tpr", "tnr"]))
    found = cells(of)["Site", "", FOUND]
    assert found.verdict == "Difference shown"
    assert found.said[1] == "Fewest in c (45%; 100 cases), most in a (80%; 100 cases)"
    monkeypatch.setattr(summary, "pair_is_shown", lambda *_: False)
    assert cells(of)["Site", "", FOUND].verdict == "Difference between some groups shown"


def test_segmentations_speak_of_dice() -> None:
    dice = [0.9 - 0.15 * (k % 2) - 0.01 * (k % 5) for k in range(80)]
    rows = pl.DataFrame({"dice": dice, "scanner": ["A", "B"] * 40})
    of = material(fmfair.evaluate_segmentation(rows))
    assert cells(of)["Scanner", "", "Mean Dice"].said[1] == "Lower in B (0.730; 40 rows) than in A (0.880; 40 rows)"
    (first, *_) = summary.section(of).content["lead"]
    assert first.said.startswith("Mean Dice is lower (worse) in B (0.730) than in A (0.880), by 0.150 (95% interval ")
    assert not any("share of positives" in one for one in limits.standing(of))


def test_what_counts_leave_open_is_about_so_much() -> None:
    rows = scored(sex=["F", "M"] * 300, y_score=[(k * 37 % 101) / 100 + (k % 7) / 1e3 for k in range(600)])
    counted = fmfair.counts(rows.filter(pl.col("y_score") <= 1), suppress_below=10)
    report = fmfair.evaluate_counts(counted, metrics=["auc"])
    low, high = report.overall.select("bound_low", "bound_high").row(0)
    assert high - low > 0.001
    content = summary.section(material(report)).content
    overall = next(point.said for point in content["lead"] if point.head == "Overall")
    assert " was about 0." in overall
    assert f"which leave open {low:.3f} to {high:.3f}" in overall
    assert " (about 0." in cells(material(report))["Sex", "", "AUC"].said[-1]


def test_counts_have_no_gap_and_are_told_as_they_are() -> None:
    rows = scored(sex=["F", "M"] * 300)
    content = summary.section(material(fmfair.evaluate(rows, metrics=["tp"]))).content
    found = rows.filter(pl.col("y_true") == 1, pl.col("y_score") >= 0.5).height
    of = {point.head: point.said for point in content["lead"]}
    assert of["Overall"] == f"Over all rows, the number of true positives was {found} (600 rows)."
    assert of["Sex"] == "Not compared: there is no gap."
