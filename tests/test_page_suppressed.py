"""What a report hides is in no form of it, and cannot be calculated from what its document shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from page_parsed import Document, Piece, numbers_in
from test_suppression_attack import METRICS, THRESHOLDS, Attack, attacked

import fmfair
from fmfair.page.drawings import Drawings
from fmfair.page.section import Figure

LEAST = 11
ATTRIBUTES = ["sex", "race", "age"]
SEEDS = (0, 2, 5)


@cache
def cohort(seed: int) -> pl.DataFrame:
    """Groups of very unlike sizes, some of a few rows, and attributes that some rows lack."""
    rng = np.random.default_rng(seed)
    n = (260, 900, 2600)[seed % 3]
    y = (rng.random(n) < 0.35).astype(int)
    frame = pl.DataFrame(
        {
            "y_true": y,
            "y_score": np.clip(rng.normal(0.35 + 0.3 * y, 0.2), 0, 1),
            "sex": rng.choice(["women", "men"], n),
            "race": rng.choice(["alpha", "beta", "gamma"], n, p=[0.7 - 7 / n, 0.3, 7 / n]),
            "age": rng.choice(["young", "old"], n, p=[0.95, 0.05]),
        }
    )
    there = [pl.Series(rng.random(n) > share) for share in (0.0, 0.02, 0.1)]
    return frame.with_columns(
        pl.when(kept).then(name).alias(name) for name, kept in zip(ATTRIBUTES, there, strict=True)
    )


@cache
def report_of(seed: int, least: int | None = LEAST) -> fmfair.Report:
    return fmfair.evaluate(
        cohort(seed),
        attributes=ATTRIBUTES,
        metrics=METRICS,
        thresholds=list(THRESHOLDS),
        intersections=2,
        suppress_below=least,
    )


def page_of(seed: int, folder: Path, least: int | None = LEAST) -> str:
    """The document with a plan that asks for every group by name, and for criteria of which each group is told."""
    groups = [f"{a} {g}" for a in ATTRIBUTES for g in cohort(seed)[a].drop_nulls().unique().sort()]
    plan = {"groups": groups, "criteria": {"tpr": {"at_least": 0.8}}, "unit": "patient"}
    report_of(seed, least).write_html(folder / "report.html", plan=plan)
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def tables_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No drawings, which take long; what they show is in the tables beneath them."""
    monkeypatch.setattr(Drawings, "drawn", lambda *given, **_: Figure("", "", "<svg></svg>", table=given[2]))


class PageAttack(Attack):
    """The attack by one who has nothing but the document: its tables, and the sentences of its notes."""

    def _read(self, report: Any) -> None:
        document: Document = report
        for piece in document.tables():
            for cells in piece.rows[1:]:
                self._table_row(piece, dict(zip(piece.rows[0], cells, strict=True)), cells[-1])
        for piece in document.pieces:
            if match := re.match(r"(\w+): (\d+) rows? with a missing value", piece.text):
                self._equation({match[1]: None}, int(match[2]))

    def _table_row(self, piece: Piece, found: Mapping[str, str], last: str) -> None:
        named = {"Group", "Attribute"} <= set(found)
        if "Denominator" in found:
            self._row(self._group(found["Attribute"], found["Group"]), found)
        elif piece.text == "All rows":
            self._row({}, {**found, "Denominator": found["Value"].rpartition(" of ")[2]})
        elif "Step" in found:
            self._step(found["Step"], last)
        elif piece.text == "Groups named in advance":
            self._counts(self._group(*found["Group"].split(" ")), {"Rows": found["In the data"]})
        elif {"Intersection", "Cell"} <= set(found):
            self._counts(self._group(found["Intersection"], found["Cell"]), found)
        elif {"Rows", "Group"} <= set(found) and "Values from" not in found:
            attribute = found["Attribute"] if named else re.sub("^Groups of |^The numbers: .* by ", "", piece.text)
            self._counts(self._group(attribute, found["Group"]), found)

    @staticmethod
    def _group(attribute: str, group: str) -> Mapping[str, str | None]:
        if attribute == "All rows":
            return {}
        if group == "not recorded":
            return {attribute: None}
        return dict(zip(attribute.split(" & "), group.split(" & "), strict=True))

    def _equation(self, group: Mapping[str, str | None], count: int, label: int | None = None) -> None:
        self.equations.append(self.sum_of(group, (label, 0, len(THRESHOLDS) + 1)))
        assert self.equations[-1] @ self.truth == count, (group, count)

    def _counts(self, group: Mapping[str, str | None], found: Mapping[str, str]) -> None:
        """The rows of a group, and its positives with their share."""
        for title, label in (("Rows", None), ("Positives", 1)):
            if numbers := numbers_in(found.get(title, "")):
                self._equation(group, int(numbers[0].text.replace(",", "")), label)

    def _step(self, step: str, text: str) -> None:
        lacking = next((name for name in ATTRIBUTES if re.search(rf"\b{name}\b", step)), None)
        numbers = numbers_in(text)
        if numbers and step.startswith(("Rows evaluated", "Of these")):
            self._equation({} if lacking is None else {lacking: None}, int(numbers[0].text.replace(",", "")))

    def _row(self, group: Mapping[str, str | None], found: Mapping[str, str]) -> None:
        """A value and its counts."""
        self._counts(group, found)
        value, denominator = (bool(numbers_in(found[name])) for name in ("Value", "Denominator"))
        if found["Value"].startswith("not defined"):
            value = False
        metric = {"Sensitivity": "tpr", "False positive rate": "fpr", "Positive predictive value": "ppv"}.get(
            found["Metric"], found["Metric"].lower().replace(" ", "_")
        )
        cut = next((t for t in THRESHOLDS if found["Threshold"] == f"{t:.4g}"), None)
        metric = {"false_negatives": "fn", "true_negatives": "tn"}.get(metric, metric)
        row = {"n": None, "n_pos": None, "metric": metric, "threshold": cut}
        self._take(group, {**row, "value": value or None, "denominator": denominator or None})


@pytest.mark.usefixtures("tables_alone")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_hidden_number_follows_from_the_document(seed: int, tmp_path: Path) -> None:
    document = Document(page_of(seed, tmp_path))

    attack = PageAttack(cohort(seed), document)  # type: ignore[arg-type]  # it reads the document in place of a report

    assert len(attack.equations) > 30
    assert attacked(cohort(seed), attack, LEAST) > 0


@pytest.mark.usefixtures("tables_alone")
def test_the_attack_finds_what_a_document_does_not_hide(tmp_path: Path) -> None:
    attack = PageAttack(cohort(0), Document(page_of(0, tmp_path, None)))  # type: ignore[arg-type]

    with pytest.raises(AssertionError, match="rows of"):
        attacked(cohort(0), attack, LEAST)


def hidden_groups(seed: int) -> list[tuple[str, str]]:
    """The groups of which not even the number of rows is shown."""
    rows = report_of(seed).groups.filter(pl.col("n").is_null())
    return rows.select("attribute", "group").unique(maintain_order=True).rows()


def test_nothing_stands_beside_the_name_of_a_hidden_group(tmp_path: Path) -> None:
    """In no table, sentence, drawing or alt text."""
    seed = 0
    hidden, document = hidden_groups(seed), Document(page_of(seed, tmp_path), drawn=True)
    assert hidden
    single = [group for attribute, group in hidden if attribute in ATTRIBUTES]
    cells = [group for attribute, group in hidden if attribute not in ATTRIBUTES]
    for piece in document.tables():
        for row in piece.rows[1:]:
            if set(row) & {*single, *cells}:
                shown = [c for c in row if numbers_in(c) and c not in {f"{t:.4g}" for t in THRESHOLDS}]
                assert not [c for c in shown if c != "f1"], (piece.text, row)
    for piece in document.pieces:
        for part in re.split(r"[;.] |, ", piece.text):
            for group in single:
                if match := re.fullmatch(rf"(?:.*\W)?(?<!& ){group} (?!& )(.*)", part):
                    assert not numbers_in(match[1]), (piece.tag, part)


def named_pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Every name of a JSON text with its value."""
    if isinstance(value, dict):
        for name, inside in value.items():
            yield name, inside
            yield from named_pairs(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from named_pairs(inside)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_hidden_is_empty_in_every_form(seed: int, tmp_path: Path) -> None:
    """JSON, CSV and Parquet hold the same, the metadata of files included."""
    report = report_of(seed)
    kept = {"attribute", "group", "attribute_parts", "group_parts", "metric", "threshold", "threshold_rule", "note"}
    report.write_parquet(tmp_path / "results")
    stored = fmfair.Report.read_parquet(tmp_path / "results")
    forms = {
        "JSON": json.loads(report.to_json())["groups"],
        "Parquet": stored.groups.to_dicts(),
        "CSV": pl.read_csv((str(report.write_csv())).encode()).to_dicts(),
    }
    hidden = set(hidden_groups(seed))
    for form, rows in forms.items():
        told = [row for row in rows if (row["attribute"], row["group"]) in hidden]
        assert told, form
        for row in told:
            values = {name: value for name, value in row.items() if name not in kept and value is not None}
            assert set(values) <= {"in_gaps"}, (form, values)
            assert not values["in_gaps"]
    for name in ("gaps", "pairs"):
        frame = getattr(stored, name)
        ends = {"gaps": ("worst_group", "best_group"), "pairs": ("group", "other_group")}[name]
        for row in frame.to_dicts():
            assert not {(row["attribute"], row[end]) for end in ends} & hidden
    assert stored.curves.is_empty()
    plain = report_of(seed, None)
    counts = {
        n
        for attribute, group in hidden
        for n in plain.groups.filter(attribute=attribute, group=group)["n"].unique()
        if n < LEAST
    }
    facts = {name: value for name, value in named_pairs(report.to_dict()["metadata"]) if isinstance(value, int)}
    small = {name for name, value in facts.items() if value in counts and not isinstance(value, bool)}
    assert small <= {"min_group_size", "intersections", "suppress_below", "gaps", "pairs", "seed"}


def test_the_number_of_samples_is_that_of_the_rows_at_several_thresholds_too() -> None:
    assert [report_of(seed).metadata["n_samples"] for seed in SEEDS] == [260, 2600, 2600]
