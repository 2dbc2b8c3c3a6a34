"""Every number in every table of the document is that of the frames, at the digits that are shown."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from page_checked import PLAN, Checked
from page_parsed import Document
from page_reports import DATA, scores

import fmfair
from fmfair.page.drawings import Drawings
from fmfair.page.section import Figure, Table

METRICS = ["auc", "tpr", "tnr", "ppv", "npv", "accuracy", "brier", "ece", "tp", "f1"]


@cache
def scored() -> fmfair.Report:
    """One model: intervals, intersections with their model-based values, two thresholds, one of them tuned."""
    table = scores(11, 900, {"smoker": ["no", "yes"], "diabetes": ["no", "yes"], "site": list("abcdef")})
    return fmfair.evaluate(
        table,
        attributes=["smoker", "diabetes", "site"],
        metrics=METRICS,
        thresholds=[0.4, "best_f1"],
        intersections=2,
        margins={"auc": 0.1, "tpr": 0.05},
        reference={"site": "a"},
    )


@cache
def several() -> fmfair.Report:
    """Three models on the same rows."""
    parts = [
        scores(20 + k, 400, {"sex": ["F", "M"], "site": ["1", "2", "3"]}).with_columns(model=pl.lit(f"net {k}"))
        for k in range(3)
    ]
    return fmfair.evaluate(
        pl.concat(parts), attributes=["sex", "site"], by="model", metrics=["tpr", "tnr", "auc"], sample_id="image_id"
    )


@cache
def many() -> fmfair.Report:
    """Three models on eleven labels: tables over all of them instead of a block each."""
    parts = [
        scores(40 + k, 120, {"sex": ["F", "M"], "site": ["1", "2", "3"]}).with_columns(
            model=pl.lit(f"net {k % 3}"), label=pl.lit(f"finding {k // 3}")
        )
        for k in range(33)
    ]
    return fmfair.evaluate(
        pl.concat(parts), attributes=["sex", "site"], by=["model", "label"], metrics=["auc", "tpr"], intersections=2
    )


@cache
def weighted() -> fmfair.Report:
    """Rows that count for more than one."""
    rng = random.Random(5)
    table = scores(31, 500, {"sex": ["F", "M"]})
    table = table.with_columns(weight=pl.Series([rng.choice([0.5, 1.0, 2.5]) for _ in range(table.height)]))
    return fmfair.evaluate(table, attributes=["sex"], weight="weight", metrics=["tpr", "tnr", "brier"])


@cache
def segmented() -> fmfair.Report:
    """Dice per image, with an attribute that some images lack."""
    rng = random.Random(3)
    rows = [
        {
            "dice": min(1.0, max(0.0, rng.gauss(0.85 - 0.05 * (k % 3 == 0), 0.1))),
            "scanner": None if k % 17 == 0 else "ABC"[k % 3],
            "sex": "FM"[k % 2],
        }
        for k in range(240)
    ]
    return fmfair.evaluate_segmentation(pl.DataFrame(rows), attributes=["scanner", "sex"], intersections=2)


@cache
def ranked() -> fmfair.Report:
    """Scores that are no probabilities, so that much is not defined."""
    table = scores(8, 300, {"sex": ["F", "M"]}).with_columns(pl.col("y_score") * 40)
    return fmfair.evaluate(table, attributes=["sex"], score_type="rank", metrics=["auc", "ppv", "brier"])


@cache
def decided() -> fmfair.Report:
    """Decisions of which there are two, with patients."""
    return fmfair.evaluate(
        DATA / "nih_expert_labels.csv",
        y_true="expert_pneumothorax",
        y_pred="nlp_pneumothorax",
        attributes=["sex", "age"],
        bins={"age": [20, 60, 85]},
        metrics=["tpr", "tnr", "ppv"],
        cluster="patient",
    )


@cache
def counted() -> fmfair.Report:
    """Counts, which leave open what the scores were within their bins."""
    table = scores(7, 600, {"sex": ["F", "M"]})
    return fmfair.evaluate_counts(fmfair.counts(table, attributes=["sex"], suppress_below=10), metrics=["auc", "tpr"])


REPORTS: Mapping[str, Callable[[], fmfair.Report]] = {
    made.__name__: made for made in (scored, several, many, weighted, segmented, ranked, decided, counted)
}


@pytest.fixture(autouse=True)
def tables_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No drawings, which take long and are tested by themselves; their tables are there."""

    def drawn(_: Drawings, make: object, table: Table | None, width: int = 0) -> Figure:
        assert make or width
        return Figure("", "", "<svg></svg>", table=table)

    monkeypatch.setattr(Drawings, "drawn", drawn)


def page_of(report: fmfair.Report, folder: Path, **plan: Any) -> str:
    """The document of what was stored."""
    report.write_parquet(folder / "results")
    fmfair.Report.read_parquet(folder / "results").write_html(folder / "report.html", plan=plan)
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
def test_every_number_of_every_table_is_that_of_the_frames(name: str, tmp_path: Path) -> None:
    report = REPORTS[name]()

    document, checked = Document(page_of(report, tmp_path, **PLAN)), Checked(report)

    tables = list(document.tables())
    assert len(tables) > 10
    for piece in tables:
        checked.table(piece)


def test_a_number_that_is_not_that_of_the_frames_is_found(tmp_path: Path) -> None:
    """The last digit of the value of one group, changed on the page."""
    report = decided()
    value = report.groups.filter(metric="tpr", group="F")["value"].item()
    text = page_of(report, tmp_path)
    changed = text.replace(f"{100 * value:.1f}%\n", f"{100 * value + 0.1:.1f}%\n")
    assert changed != text
    checked = Checked(report)
    with pytest.raises(AssertionError, match="is not"):
        list(map(checked.table, Document(changed).tables()))
