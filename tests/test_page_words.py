"""The first page, the limits, methods, provenance and crosswalk of real and made-up results."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.multitest import multipletests
from test_wording import BANNED

import fmfair
from fmfair.numerals import p_text
from fmfair.page.drawings import Drawings
from fmfair.page.material import Material, View, material_of
from fmfair.page.plan import plan_of
from fmfair.page.screening import screen
from fmfair.page.section import Table
from fmfair.page.sections import crosswalk, limits, methods, plan, provenance, summary
from fmfair.page.telling import thousand

XRAYS = Path(__file__).parent.parent / "examples" / "data" / "nih_expert_labels.csv"


def material(report: fmfair.Report, **stated: object) -> Material:
    return material_of(report._frames(), report.notes, report.metadata, plan_of(stated))


@pytest.fixture(autouse=True)
def words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No figures, which take long to draw and are tested by themselves."""
    monkeypatch.setattr(summary, "_figures", lambda *_: [])


@pytest.fixture(scope="module")
def xrays() -> fmfair.Report:
    return fmfair.evaluate(
        XRAYS,
        y_true="expert_pneumothorax",
        y_pred="nlp_pneumothorax",
        attributes=["sex", "view"],
        metrics=["tpr", "tnr"],
        cluster="patient",
    )


@pytest.fixture(scope="module")
def labels() -> fmfair.Report:
    return fmfair.evaluate(
        XRAYS,
        labels={
            name: (f"expert_{column}", f"nlp_{column}")
            for name, column in {"pneumothorax": "pneumothorax", "nodule": "nodule_or_mass"}.items()
        },
        attributes=["sex", "view"],
        metrics=["tpr", "tnr"],
        cluster="patient",
    )


def texts(content: Any) -> Iterator[str]:
    """Every text of a section's content, in order."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Table):
        yield from (content.caption, content.note, *(column.header for column in content.columns))
        yield from texts(content.rows)
    elif isinstance(content, dict):
        for value in content.values():
            yield from texts(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from texts(value)


def told(of: Material) -> dict[str, list[dict[str, Any]]]:
    return {one["title"]: one["told"] for one in summary.section(of).content["attributes"]}


def test_the_first_page_says_who_is_served_worse_by_how_much_and_how_sure(xrays: fmfair.Report) -> None:
    content = summary.section(material(xrays, unit="image")).content
    assert [one["title"] for one in content["attributes"]] == ["view", "sex"]  # what is shown comes first
    sensitivity, specificity = content["attributes"][0]["told"]
    assert sensitivity["label"] == "Sensitivity: AP served worse than PA"
    gap = xrays.gaps.filter(attribute="view", metric="tpr", statistic="difference").row(0, named=True)
    points = f"{100 * gap['value']:.0f} percentage points"
    within = f"95% interval {100 * gap['ci_low']:.0f} to {100 * gap['ci_high']:.0f}; {p_text(gap['p_value'])}"
    assert sensitivity["said"] == (
        f"Sensitivity was lower in AP (36%) than in PA (58%) by {points} ({within}; 133 and 105 positives)."
    )
    assert specificity["label"] == "Specificity: PA served worse than AP"
    assert [group for group, _ in sensitivity["means"]] == ["AP", "PA"]
    assert sensitivity["means"][0][1].startswith("Of 1,000 such images with 54 cases, the model finds 19 (15 to 25),")
    for part in content["attributes"][1]["told"]:
        assert part["label"].endswith(": no difference shown")
        assert "cannot be ruled out" in part["said"]
    assert content["overall"][0] == (
        "Over all images, sensitivity (the share of the positives that the model finds) was 46% (95% interval 39 to "
        "53; 238 positives)."
    )
    short = within.partition(";")[0]
    assert content["lead"][0] == f"Sensitivity is lower in AP (36%) than in PA (58%), by {points} ({short})."
    high = xrays.gaps.filter(attribute="sex", metric="tpr", statistic="difference")["ci_high"].item()
    assert content["lead"][-1] == (
        f"This sample cannot tell from chance: differences in sensitivity of up to {100 * high:.0f} percentage points "
        "between groups of sex."
    )
    assert dict(content["facts"])["Evaluated on"] == "4,376 images; 238 positives; clustered by patient"


def test_every_number_of_the_first_page_is_that_of_the_frames(xrays: fmfair.Report) -> None:
    gap = xrays.gaps.filter(attribute="view", metric="tpr", statistic="difference").row(0, named=True)
    groups = xrays.groups.filter(attribute="view", metric="tpr")
    said = told(material(xrays))["view"][0]["said"]
    numbers = [int(number) for number in re.findall(r"(?<![\d.])\d+(?![\d.%]*%? interval)(?!\.\d)", said)]
    whole = [100 * value for value in (*groups["value"], gap["value"], gap["ci_low"], gap["ci_high"])]
    assert set(numbers) - {0} == {*map(round, whole), *groups["n_pos"]} - {0}


def test_of_several_by_keys_the_clearest_are_told_and_the_others_together(labels: fmfair.Report) -> None:
    found = told(material(labels))
    first, others, specificity = found["view"]
    assert first["label"] == "label pneumothorax: AP served worse than PA"
    assert others["label"] == "Sensitivity, the others"
    assert others["said"].startswith("No difference in sensitivity was shown for label nodule; differences up to ")
    assert specificity["label"] == "Specificity"
    assert "label pneumothorax (PA lower than AP by " in specificity["said"]
    content = summary.section(material(labels)).content
    low, high = sorted(labels.overall.filter(metric="tpr").select("value", "label").iter_rows())
    assert content["overall"][0] == (
        f"Over all rows, sensitivity (the share of the positives that the model finds) went from {100 * low[0]:.1f}% "
        f"(label {low[1]}) to {100 * high[0]:.1f}% "
        f"(label {high[1]}) in 2 results."
    )
    assert dict(content["facts"])["Evaluated on"] == "4,376 rows; 2 results, by label; clustered by patient"


def scored(n: int = 600, **columns: Any) -> pl.DataFrame:
    rows = {"y_true": [int(k % 3 == 0) for k in range(n)], "y_score": [(k * 37 % 101) / 100 for k in range(n)]}
    return pl.DataFrame({**rows, **columns})


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
    ((part,),) = (one["told"] for one in content["attributes"])
    assert "may be chance" in part["said"] or "may by chance" in part["said"]
    assert f"No difference in AUC was shown for {60 - shown} results" in part["said"]
    assert content["screen"] == "Exploratory, 60 comparisons, screen at q = 0.10."
    assert not any("served worse" in text for text in texts(dict(content)))


def test_the_plot_of_the_first_page_is_of_the_by_key_with_the_clearest_difference(
    labels: fmfair.Report, xrays: fmfair.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    drawn: list[tuple[str, str, list[str]]] = []

    def forest(_: Drawings, view: View, metric: str, attributes: list[str], width: int) -> None:
        assert width
        drawn.append((view.title, metric, list(attributes)))

    monkeypatch.setattr(Drawings, "forest", forest)
    assert summary.section(material(labels)).content["drawn"] == "The plot shows label pneumothorax."
    assert summary.section(material(xrays)).content["drawn"] == ""
    summary.section(material(many_without_a_difference()))
    assert drawn == [("label pneumothorax", "tpr", ["sex", "view"]), ("", "tpr", ["sex", "view"])]


def test_what_was_settled_before_is_adjusted_by_holm(xrays: fmfair.Report) -> None:
    loose, strict = screen(material(xrays)), screen(material(xrays, pre_specified=["sex", "view"]))
    p = [gap.p for gap in strict.gaps.values() if gap is not None and gap.p is not None]
    adjusted = multipletests(p, method="holm")[1]
    expected = {key for key, value in zip(strict.gaps, adjusted, strict=True) if value < 0.05}
    assert strict.passed == expected == {(0, "view", "tpr"), (0, "view", "tnr")}
    assert strict.planned
    assert not loose.planned
    said = summary.section(material(xrays, pre_specified=["view", "sex"])).content["screen"]
    assert said == "Pre-specified, 4 comparisons, adjusted by Holm's method."


def test_groups_that_are_too_small_are_named_and_not_judged() -> None:
    site = ["<small>" if k < 9 else "b" if k < 60 else "c" for k in range(600)]
    of = material(fmfair.evaluate(scored(site=site), metrics=["auc"]))
    content = summary.section(of).content
    assert content["few"] == "Too small to judge: site <small> (3 positives) and site b (17 positives)."
    assert "2 of 3 groups have fewer than 100 positives behind AUC; such values are imprecise." in limits.raised(of)
    said = content["attributes"][0]["told"][0]["said"]
    if "<small>" in said:
        assert "<small> (3 positives: counts only)" in said


def test_a_gap_that_there_is_not_has_its_reason() -> None:
    one = fmfair.evaluate(scored(sex=["F"] * 600), metrics=["auc"])
    (part,) = told(material(one))["sex"]
    assert part["label"] == "AUC: not compared"
    assert part["said"] == "AUC was not compared: 1 of 1 groups can be compared."


def test_without_intervals_nothing_is_told_from_chance() -> None:
    of = material(fmfair.evaluate(scored(sex=["F", "M"] * 300), metrics=["auc"], ci=None))
    (part,) = told(of)["sex"]
    assert part["label"] == "AUC: cannot tell"
    assert part["said"].endswith("without an interval this cannot be told from chance.")
    assert limits.main_limits(of)[0].startswith("No intervals were computed")


def test_between_several_groups_it_is_said_only_that_some_differ_where_no_pair_is_shown() -> None:
    sites = [("a", 0.8), ("b", 0.55), ("c", 0.45)]
    rows = [
        {"site": site, "y_true": 1, "y_pred": int(k < share * 100)} for site, share in sites for k in range(100)
    ] + [{"site": site, "y_true": 0, "y_pred": 0} for site, _ in sites for _ in range(50)]
    (first, _) = told(material(fmfair.evaluate(pl.DataFrame(rows), metrics=["tpr", "tnr"])))["site"]
    assert first["label"] == "Sensitivity: c served worse than a"
    assert first["said"].startswith(
        "Sensitivity was lowest in c (45%) and highest in a (80%). The largest gap of 3 groups"
    )


def test_segmentations_speak_of_dice() -> None:
    dice = [0.9 - 0.15 * (k % 2) - 0.01 * (k % 5) for k in range(80)]
    rows = pl.DataFrame({"dice": dice, "scanner": ["A", "B"] * 40})
    of = material(fmfair.evaluate_segmentation(rows))
    (part,) = told(of)["scanner"]
    assert part["label"] == "Mean Dice: B served worse than A"
    assert part["said"].startswith("Mean Dice was lower in B (0.730) than in A (0.880) by 0.150 (95% interval ")
    assert not any("share of positives" in one for one in limits.standing(of))


def test_what_counts_leave_open_is_about_so_much() -> None:
    rows = scored(sex=["F", "M"] * 300, y_score=[(k * 37 % 101) / 100 + (k % 7) / 1e3 for k in range(600)])
    counted = fmfair.counts(rows.filter(pl.col("y_score") <= 1), suppress_below=10)
    report = fmfair.evaluate_counts(counted, metrics=["auc"])
    low, high = report.overall.select("bound_low", "bound_high").row(0)
    assert high - low > 0.001
    content = summary.section(material(report)).content
    assert " was about 0." in content["overall"][0]
    assert f"which leave open {low:.3f} to {high:.3f}" in content["overall"][0]
    assert " (about 0." in content["attributes"][0]["told"][0]["said"]


def test_counts_have_no_gap_and_are_told_as_they_are() -> None:
    rows = scored(sex=["F", "M"] * 300)
    content = summary.section(material(fmfair.evaluate(rows, metrics=["tp"]))).content
    found = rows.filter(pl.col("y_true") == 1, pl.col("y_score") >= 0.5).height
    assert content["overall"] == [f"Over all rows, the number of true positives was {found} (600 rows)."]
    ((part,),) = (one["told"] for one in content["attributes"])
    assert part["said"] == "The number of true positives was not compared: it has no gap."


def test_a_tuned_threshold_is_the_first_limit() -> None:
    of = material(fmfair.evaluate(scored(sex=["F", "M"] * 300), thresholds=["best_f1"], metrics=["tpr"]))
    threshold = of.frames["overall"]["threshold"].item()
    said = f"Threshold {threshold:.4g} was chosen on these labels (for the best F1); rates are optimistic."
    assert limits.main_limits(of)[0] == said
    assert sum("chosen on these labels" in one for one in limits.raised(of)) == 1


def test_limits_of_the_author_are_on_the_first_page_behind_the_two_gravest(xrays: fmfair.Report) -> None:
    of = material(xrays, limits=["labels of one hospital", "few children"])
    main = limits.main_limits(of)
    gravest = [one for one in limits.raised(of)[:2] if one in main]
    assert main == [*gravest, "labels of one hospital", *limits.STANDING][:3]
    assert limits.section(of).content["author"] == ["labels of one hospital", "few children"]


def test_what_is_pre_specified_is_not_called_exploratory(xrays: fmfair.Report) -> None:
    count = xrays.metadata["tested"]["gaps"]
    said = f"Exploratory, {count} comparisons; intervals and p values take no account of their number."
    assert said in limits.raised(material(xrays))
    assert said in limits.raised(material(xrays, pre_specified=["sex"]))
    assert said not in limits.raised(material(xrays, pre_specified=["sex", "view"]))


def test_groups_without_data_and_what_is_not_stated_are_limits(xrays: fmfair.Report) -> None:
    of = material(xrays, groups_without_data=["children"], intended_use="triage", data="NIH")
    assert "Groups of interest that the data do not hold: children." in limits.raised(of)
    assert "Not stated by the author of the report: population, reference standard." in limits.raised(of)


def test_notes_that_change_how_numbers_are_read_are_limits() -> None:
    rows = scored(sex=[None if k < 12 else "FM"[k % 2] for k in range(600)])
    of = material(fmfair.evaluate(rows, metrics=["auc"]))
    assert any("12 rows with a missing value" in one for one in limits.raised(of))
    assert not any("found by name" in one for one in limits.raised(of))


def test_every_metric_of_the_results_is_in_the_glossary() -> None:
    metrics = ["auc", "partial_auc(fpr=(0, 0.2))", "accuracy", "ece"]
    of = material(fmfair.evaluate(scored(sex=["F", "M"] * 300), metrics=metrics))
    glossary, statistics = methods.section(of).content["tables"]
    rows = {row[0]: list(row) for row in glossary.rows}
    assert [row[0] for row in glossary.rows][1] == "partial AUC for FPR in [0, 0.2]"
    assert len(rows) == 4
    auc = rows["AUC (AUROC, area under the ROC curve)"]
    assert auc[2:6] == ["0 to 1", "higher", "the rarer class", "no"]
    assert auc[7] == "DeLong, logit t"
    assert "weigh the two kinds of error" in glossary.note
    assert "larger in small groups" in glossary.note
    pairs = set(of.frames["gaps"].select("metric", "statistic").iter_rows())
    assert {statistic for _, statistic in pairs} == {row[1] for row in statistics.rows}


def test_hashes_are_those_of_the_files_that_anyone_can_write(xrays: fmfair.Report, tmp_path: Path) -> None:
    tables = {table.caption: table for table in provenance.section(material(xrays)).content["tables"]}
    found = {row[0]: row[2] for row in tables["The results"].rows}
    assert set(xrays._frames()) == set(found)
    for name, digest in found.items():
        xrays.write_csv(tmp_path / name, which=name)
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest


def test_provenance_is_the_same_of_results_that_were_stored(xrays: fmfair.Report, tmp_path: Path) -> None:
    xrays.write_parquet(tmp_path / "results")
    back = fmfair.Report.read_parquet(tmp_path / "results")
    for section in (summary, plan, limits, methods, provenance, crosswalk):
        assert section.section(material(back)) == section.section(material(xrays))


def test_provenance_holds_the_options_and_the_notes(xrays: fmfair.Report) -> None:
    content = provenance.section(material(xrays, author="A. Reader")).content
    tables = {table.caption: table for table in content["tables"]}
    options = {row[0]: row[1] for row in tables["Columns and options of the evaluation"].rows}
    ((name, role, digest),) = tables["The data that were read"].rows
    assert (name, role) == ("nih_expert_labels.csv", "frame")
    assert digest == hashlib.sha256(XRAYS.read_bytes()).hexdigest()
    assert options["column cluster"] == "patient"
    assert options["column y_true"] == '["expert_pneumothorax"]'
    assert options["ci"] == "0.95"
    assert "column weight" not in options
    assert content["notes"] == list(xrays.notes)
    assert content["signature"][0] == ("Answers for the report", "A. Reader")


def test_the_crosswalk_names_only_sections_that_there_are(xrays: fmfair.Report, labels: fmfair.Report) -> None:
    def served(of: Material) -> set[str]:
        table = crosswalk.section(of).content["table"]
        return {part for row in table.rows for part in re.split(", | and (?!plan)", row[2])}

    assert "By-keys" not in served(material(xrays))
    assert "Intersections" not in served(material(xrays))
    assert "By-keys" in served(material(labels))


def test_the_crosswalk_names_every_document() -> None:
    wanted = "TRIPOD+AI CLAIM STARD-AI DECIDE-AI CONSORT-AI FUTURE-AI STANDING PROBAST+AI Van FDA EU Ten ONC Model"
    assert set(wanted.split()) == {item.document.partition(" ")[0] for item in crosswalk._ITEMS}


def test_no_section_passes_a_verdict(xrays: fmfair.Report, labels: fmfair.Report) -> None:
    """Apart from the glossary, the notes and the items of guidelines, whose words are not those of the page."""
    for report in (xrays, labels):
        of = material(report, criteria={"tpr": {"at_least": 0.5}}, groups=["sex F"])
        contents = [s.section(of).content for s in (summary, plan, limits)]
        table = crosswalk.section(of).content["table"]
        contents += [methods.section(of).content["said"], table.note, [row[2:] for row in table.rows]]
        for text in texts([dict(c) if isinstance(c, Mapping) else c for c in contents]):
            assert not BANNED.search(text), text


def test_a_hidden_count_is_not_told() -> None:
    site = ["a" if k < 8 else "b" if k < 60 else "c" for k in range(600)]
    report = fmfair.evaluate(scored(site=site), metrics=["auc", "tpr", "tnr"], suppress_below=11)
    of = material(report)
    hidden = {row["group"] for row in report.groups.filter(note="suppressed").iter_rows(named=True)}
    assert "a" in hidden
    for section in (summary, plan, limits, methods, crosswalk):
        for text in texts(dict(section.section(of).content)):
            assert not re.search(r"site a \(\d|\ba \(\d", text), text
    assert any("hidden" in one for one in limits.raised(of))


def test_what_rates_mean_for_a_thousand_is_left_out_where_they_rest_on_next_to_nothing() -> None:
    rate = {"value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "denominator": 40}
    assert thousand({"tpr": rate, "tnr": rate}, 0.1, "row") is not None
    assert thousand({"tpr": {**rate, "denominator": 9}, "tnr": rate}, 0.1, "row") is None
    assert thousand({"tpr": {**rate, "value": None}, "tnr": rate}, 0.1, "row") is None
    assert thousand({"tpr": rate, "tnr": None}, 0.1, "row") is None
    assert thousand({"tpr": rate, "tnr": rate}, None, "row") is None
