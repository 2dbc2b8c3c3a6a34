"""The HTML document in a browser: wide and on a phone, light and dark, on paper, without script, by axe."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from page_browser import CHROMIUM, FAULTS, FEWER, HEADS, PDFTOTEXT, UNFOLD, Opened, sheets
from page_reports import HOSTILE

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

# A run that must leave out none fails instead.
MISSING = CHROMIUM is None or PDFTOTEXT is None
pytestmark = pytest.mark.skipif(MISSING and "CI" not in os.environ, reason="needs Chromium and Poppler: make browser")
PAGES = ("demo", "many", "segmented", "hostile")
WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
MAX_BYTES = 5_000_000
SECTIONS = ["summary", "plan", "data", "overall", "attributes", "intersections", "limits", "methods", "results"]
SECTIONS += ["provenance", "crosswalk"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    assert not MISSING, "no Chromium or no pdftotext: run make browser"
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def opened(browser: Any, folder: Path) -> Callable[[str], Opened]:
    """A page that is opened once, with all its tables unfolded; a test sets its width and scheme."""
    found: dict[str, Opened] = {}

    def of(name: str) -> Opened:
        if name not in found:
            found[name] = Opened(browser, folder, name)
            found[name].page.evaluate(UNFOLD)
        return found[name]

    return of


@pytest.mark.parametrize("name", PAGES)
def test_it_is_one_file_that_asks_for_nothing_and_has_every_section(opened: Callable[[str], Opened], name: str) -> None:
    one = opened(name)

    found = one.page.evaluate("[...document.querySelectorAll('main > section')].map(e => [e.id, e.offsetHeight])")
    assert one.said == []
    assert one.asked == [one.own]
    assert one.size < MAX_BYTES
    assert set(SECTIONS) | ({"models"} if name in ("demo", "many") else set()) == {key for key, _ in found}
    assert min(height for _, height in found) > 100


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_the_page_cut_small_faint_or_over_something_else(
    opened: Callable[[str], Opened], name: str, width: int
) -> None:
    faults = []
    for scheme in SCHEMES:
        page = opened(name).at(width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        faults += page.evaluate(FAULTS)

    assert faults == []


@pytest.mark.parametrize("width", WIDTHS)
def test_all_of_a_page_that_is_folded_is_within_its_width(browser: Any, folder: Path, width: int) -> None:
    with Opened(browser, folder, "many", viewport={"width": width, "height": 900}) as one:
        assert one.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("name", PAGES)
def test_no_serious_finding_of_axe(browser: Any, folder: Path, name: str) -> None:
    short = {"resultTypes": ["violations"]}
    colours = {**short, "runOnly": {"type": "rule", "values": ["color-contrast"]}}
    found = []
    with Opened(browser, folder, name) as one:
        one.page.evaluate(UNFOLD + FEWER)
        for scheme, options in (("light", short), ("dark", colours)):
            answer = axe.Axe().run(one.at(1280, scheme), options=options).response
            assert len(answer["passes"]) > (20 if options is short else 0)
            found += answer["violations"]

    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []


def test_the_schemes_differ_and_paper_is_light(opened: Callable[[str], Opened]) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    papers = []
    for scheme in SCHEMES:
        page = opened("segmented").at(1280, scheme)
        papers.append(page.evaluate(colour))
        page.emulate_media(media="print")
        papers.append(page.evaluate(colour))

    light, printed_light, dark, printed_dark = papers
    assert light == printed_light == printed_dark == "rgb(255, 255, 255)"
    assert dark != light


@pytest.mark.parametrize("name", PAGES)
def test_its_pages_on_paper_break_where_a_reader_would(browser: Any, folder: Path, name: str) -> None:
    with Opened(browser, folder, name) as one:
        one.page.pdf(path=folder / f"{name}.pdf", prefer_css_page_size=True)
        heads = {re.sub(r"\s+", " ", head).strip() for head in one.page.evaluate(HEADS)}

    pages = sheets(folder / f"{name}.pdf")
    assert 5 <= len(pages) <= 45
    assert [page.number for page in pages] == [f"{k} / {len(pages)}" for k in range(1, len(pages) + 1)]
    # no heading is the last of a page, a word that is a cell of a table too left aside
    assert [page.lines[-1] for page in pages if " " in page.lines[-1] and page.lines[-1] in heads] == []
    # a page ends early only where what follows is too high for what is left of it
    assert sum(page.filled < 0.5 for page in pages[:-1]) <= len(pages) / 8


def test_what_is_unfolded_is_printed(browser: Any, folder: Path) -> None:
    with Opened(browser, folder, "segmented") as one:
        one.page.get_by_role("button", name="Unfold all tables").click()
        one.page.pdf(path=folder / "all.pdf", prefer_css_page_size=True)

    lines = [line for page in sheets(folder / "all.pdf") for line in page.lines]
    assert [line for line in lines if "folded: unfold it" in line] == []
    assert [line for line in lines if line.startswith("The numbers: ")] != []


@pytest.mark.parametrize("name", ["demo", "hostile"])
def test_without_script_it_is_complete(browser: Any, folder: Path, name: str) -> None:
    with Opened(browser, folder, name, java_script_enabled=False) as one:
        summary = one.page.locator("details summary").first
        table = one.page.locator("details .table").first
        before = table.is_visible()
        summary.click()
        after = table.is_visible()
        sections = one.page.locator("main > section h2").all_inner_texts()

    assert (before, after) == (False, True)
    assert {"Summary", "Data", "Overall", "By attribute", "Limits", "Full results"} <= set(sections)


def test_a_heading_sorts_its_table_by_size(browser: Any, folder: Path) -> None:
    with Opened(browser, folder, "hostile") as one:
        table = one.page.locator("#data table", has_text="Characteristics")
        heading = table.locator("thead th", has_text="Rows")
        cells = "rows => rows.map(row => parseInt(row.cells[2].textContent.replace(/,/g, '')))"
        heading.get_by_role("button").click()
        rising = table.locator("tbody tr").evaluate_all(cells)
        heading.get_by_role("button").click()
        falling = table.locator("tbody tr").evaluate_all(cells)
        order = heading.get_attribute("aria-sort")

    assert rising == sorted(rising)
    assert falling == rising[::-1]
    assert order == "descending"


def test_one_button_unfolds_all(browser: Any, folder: Path) -> None:
    with Opened(browser, folder, "segmented") as one:
        one.page.get_by_role("button", name="Unfold all tables").click()

        assert one.page.evaluate("[...document.querySelectorAll('details')].every(one => one.open)")


def test_names_that_are_markup_are_seen_as_they_are(opened: Callable[[str], Opened]) -> None:
    one = opened("hostile")
    seen = one.at(1280, "light").locator("#data").inner_text()

    assert one.said == []
    assert [name for name in (*HOSTILE, "<b>site</b>") if name not in seen] == []
    assert one.page.evaluate("[document.scripts.length, document.images.length]") == [1, 0]


def test_a_phone_gets_the_drawings_made_for_it(opened: Callable[[str], Opened]) -> None:
    for width, place in ((1280, "wide"), (390, "phone")):
        page = opened("segmented").at(width, "light")
        shown = page.locator(".drawing:visible").evaluate_all("all => all.map(one => one.className)")

        assert shown
        assert {name.split()[-1] for name in shown} == {place}
