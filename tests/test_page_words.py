"""The limits, methods, provenance and crosswalk of real and made-up results."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from page_reports import pneumothorax, two_labels
from test_wording import BANNED

import fmfair
from fmfair.page.material import Material, material_of
from fmfair.page.plan import plan_of
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


@pytest.fixture
def xrays() -> fmfair.Report:
    return pneumothorax()


@pytest.fixture
def labels() -> fmfair.Report:
    return two_labels()


def texts(content: Any) -> Iterator[str]:
    """Every text of a section's content, in order."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Table):
        yield from (content.caption, content.note, *(column.header for column in content.columns))
        yield from texts(content.rows)
    elif is_dataclass(content) and not isinstance(content, type):
        yield from texts(vars(content))
    elif isinstance(content, dict):
        for value in content.values():
            yield from texts(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from texts(value)


def scored(n: int = 600, **columns: Any) -> pl.DataFrame:
    rows = {"y_true": [int(k % 3 == 0) for k in range(n)], "y_score": [(k * 37 % 101) / 100 for k in range(n)]}
    return pl.DataFrame({**rows, **columns})


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
