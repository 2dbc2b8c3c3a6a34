"""The HTML document as a file: what it holds, and that its numbers are those of the frames."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from page_reports import HOSTILE, REPORTS, document, scores

import fmfair
from fmfair.cli import main
from fmfair.page.sections.results import MAX_ROWS

MAX_BYTES = 5_000_000


class Tables(HTMLParser):
    """The cells of every table of a page, by its caption."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self._caption: list[str] = []
        self._rows: list[list[str]] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag == "caption":
            self._caption = []
        elif tag in ("th", "td"):
            self._rows[-1].append("")
        self._inside = tag if tag in ("th", "td", "caption") else self._inside

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self.tables["".join(self._caption)] = self._rows
        self._inside = "" if tag in ("th", "td", "caption") else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside == "caption":
            self._caption.append(data)
        elif self._inside:
            self._rows[-1][-1] += data


def page_of(report: fmfair.Report, folder: Path) -> str:
    report.write_html(folder / "report.html")
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
def test_a_stored_report_gives_the_same_document_byte_for_byte(name: str, tmp_path: Path) -> None:
    REPORTS[name]().write_parquet(tmp_path / "results")

    fmfair.Report.read_parquet(tmp_path / "results").write_html(tmp_path / "again.html")

    assert (tmp_path / "again.html").read_bytes() == document(name).encode()


def number(text: str) -> float:
    """A number of a cell; shares are in per cent."""
    found = re.match(r"(just above |above |below )?(-?[\d,.]+)(%| points)?", text)
    assert found is not None, text
    middle = {"below ": -0.0005, "above ": 0.0005}.get(found[1] or "", 0.0)
    return float(found[2].replace(",", "")) / (100 if found[3] else 1) + middle


@pytest.mark.parametrize("name", ["xrays", "segmented", "hostile"])
def test_every_value_and_count_on_the_page_is_that_of_the_frames(name: str) -> None:
    report = REPORTS[name]()

    rows = Tables(document(name)).tables["Groups: every metric"]
    header = {title: place for place, title in enumerate(rows[0])}
    assert len(rows) == report.groups.height + 1
    for cells, row in zip(rows[1:], report.groups.iter_rows(named=True), strict=True):
        assert [cells[header[title]] for title in ("Attribute", "Group", "Metric")] == [
            row["attribute"], row["group"], row["metric"],
        ]  # fmt: skip
        if row["value"] is None:
            assert cells[header["Value"]] == f"not defined: {row['note']}"
        else:
            assert number(cells[header["Value"]]) == pytest.approx(row["value"], abs=0.00051)
        assert cells[header["Rows"]] == f"{row['n']:,}"


@pytest.mark.parametrize("name", ["xrays", "segmented", "hostile"])
def test_every_gap_on_the_page_is_that_of_the_frames(name: str) -> None:
    report = REPORTS[name]()

    rows = Tables(document(name)).tables["Gaps: every statistic"]

    header = {title: place for place, title in enumerate(rows[0])}
    assert len(rows) == report.gaps.height + 1
    for cells, row in zip(rows[1:], report.gaps.iter_rows(named=True), strict=True):
        assert cells[header["Statistic"]] == row["statistic"]
        if row["value"] is not None:
            assert number(cells[header["Value"]]) == pytest.approx(row["value"], abs=0.00051)
        if row["ci_low"] is not None:
            low, _, high = cells[header["Interval"]].partition(" to ")
            scale = 100 if cells[header["Value"]].endswith(("%", "points")) else 1
            assert number(low) / scale == pytest.approx(row["ci_low"], abs=0.00101)
            assert number(high) / scale == pytest.approx(row["ci_high"], abs=0.00101)


def test_names_that_are_markup_are_text() -> None:
    text = document("hostile")

    cells = {cell for rows in Tables(text).tables.values() for row in rows for cell in row}
    assert set(HOSTILE) <= cells
    assert "<b>site</b>" in cells
    assert len(re.findall(r"<script", text)) == 1
    assert "<img" not in text
    assert "<b>" not in text
    assert "49" not in {cell.strip() for cell in cells if "{{" in cell}


@pytest.mark.parametrize("name", REPORTS)
def test_the_document_needs_nothing_else(name: str) -> None:
    text = document(name)

    assert len(text.encode()) < MAX_BYTES
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', text) == []
    assert "url(" not in text.replace("url(#", "")
    assert re.findall(r"\son\w+=", re.sub(r">[^<]*<", "><", text)) == []
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'".replace("+", "&#43;") in text or f"'sha256-{digest}'" in text


@pytest.mark.parametrize("name", REPORTS)
def test_ids_are_unique_and_links_lead_somewhere(name: str) -> None:
    text = document(name)

    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    pointed = [name for names in re.findall(r'(?:href="#|aria-labelledby=")([^"]+)"', text) for name in names.split()]
    assert set(pointed) <= set(ids)


@pytest.mark.parametrize("name", REPORTS)
def test_headings_go_down_one_level_at_a_time(name: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])", document(name))]

    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_sections_that_do_not_apply_are_left_out(tmp_path: Path) -> None:
    table = scores(1, 300, {"sex": ["F", "M"]})
    alone = page_of(fmfair.evaluate(table, attributes="sex"), tmp_path)

    sections = set(re.findall(r'<section id="([^"]+)"', alone))
    assert not {"models", "intersections"} & sections
    assert {"summary", "data", "overall", "attributes", "limits", "results"} <= sections
    assert {"models", "intersections"} <= set(re.findall(r'<section id="([^"]+)"', document("many")))


def test_a_long_report_names_the_file_with_the_rest() -> None:
    report, text = REPORTS["many"](), document("many")

    assert report.groups.height > MAX_ROWS
    assert f"groups.parquet holds all {report.groups.height:,} rows" in text
    assert len(Tables(text).tables["Groups: every metric"]) == MAX_ROWS + 1


def test_the_size_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    few, more = (scores(2, rows, {"sex": ["F", "M"]}) for rows in (400, 4000))

    sizes = [len(page_of(fmfair.evaluate(table, attributes="sex"), tmp_path)) for table in (few, more)]

    assert sizes[1] < 1.1 * sizes[0]


def test_what_is_hidden_is_in_no_cell(tmp_path: Path) -> None:
    table = scores(4, 400, {"sex": ["F", "M"], "site": ["a", "b", "c", "d", "e", "f", "g"]})
    report = fmfair.evaluate(table, attributes=["sex", "site"], suppress_below=11)
    hidden = report.groups.filter(pl.col("note") == "suppressed", pl.col("n").is_null())["group"].unique().to_list()
    assert hidden

    tables = Tables(page_of(report, tmp_path)).tables

    rows = [row for rows in tables.values() for row in rows if any(name in row for name in hidden)]
    assert rows
    assert not [cell for row in rows for cell in row if re.search(r"\d", cell) and cell not in ("0.5", "f1")]


def test_the_command_line_writes_it_at_once_and_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores(6, 300, {"sex": ["F", "M"]}).write_csv(tmp_path / "table.csv")
    (tmp_path / "plan.toml").write_text('intended_use = "second reader"\n', encoding="utf-8")
    results, html, later = (str(tmp_path / name) for name in ("results", "now.html", "later.html"))
    plan = ["--plan", str(tmp_path / "plan.toml")]

    assert (
        main(["score", str(tmp_path / "table.csv"), "--sensitive", "sex", "--output", results, "--html", html, *plan])
        == 0
    )
    assert main(["report", results, "--output", later, *plan]) == 0

    assert Path(html).read_bytes() == Path(later).read_bytes()
    assert "second reader" in Path(html).read_text(encoding="utf-8")
    assert f"written: {later}" in capsys.readouterr().err


def test_the_command_line_says_what_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(tmp_path / "table.html")
    scores(6, 30, {"sex": ["F", "M"]}).write_csv(table)
    said = {
        ("score", table, "--html", table): "would replace the table that is read",
        ("score", table, "--html", "report.pdf"): "name a file that ends in .html",
        ("score", table, "--plan", "plan.toml"): "name the document too",
        ("score", table, "--html", "report.html", "--plan", str(tmp_path / "no.toml")): "cannot read the plan",
        ("report", str(tmp_path)): "no report in",
    }
    for arguments, sentence in said.items():
        assert main(list(arguments)) == 2
        assert sentence in capsys.readouterr().err


def test_the_words_of_a_segmentation_are_those_of_dice() -> None:
    text = document("segmented")

    assert "Mean Dice" in text
    assert "Positives" not in text
