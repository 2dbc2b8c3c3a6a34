"""The HTML document in a browser: wide and on a phone, light and dark, on paper, without script, by axe."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from page_reports import HOSTILE, REPORTS, document

if TYPE_CHECKING:
    from typing_extensions import Self

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# A run that must leave out none fails instead.
pytestmark = pytest.mark.skipif(CHROMIUM is None and "CI" not in os.environ, reason="needs Chromium: make browser")
WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    assert CHROMIUM is not None, "no Chromium: run make browser"
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


class Opened:
    """A page with what it asked for and complained of."""

    def __init__(self, browser: Any, folder: Path, name: str, **options: Any) -> None:
        path = folder / f"{name}.html"
        path.write_text(document(name), encoding="utf-8")
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.own = path.as_uri()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", REPORTS)
def test_nothing_is_asked_for_or_wrong_and_nothing_is_wider_than_the_page(
    browser: Any, folder: Path, name: str, width: int
) -> None:
    with Opened(browser, folder, name, viewport={"width": width, "height": 900}) as opened:
        folded = opened.page.evaluate("document.documentElement.scrollWidth")
        opened.page.evaluate(UNFOLD)
        unfolded = opened.page.evaluate("document.documentElement.scrollWidth")
        heights = opened.page.evaluate("[...document.querySelectorAll('main > section')].map(s => s.offsetHeight)")

    assert opened.said == []
    assert opened.asked == [opened.own]
    assert (folded, unfolded) == (width, width)
    assert min(heights) > 100


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", REPORTS)
def test_no_serious_finding_of_axe(browser: Any, folder: Path, name: str, scheme: str) -> None:
    with Opened(browser, folder, name, viewport={"width": 1280, "height": 900}, color_scheme=scheme) as opened:
        if name != "many":  # of its long tables some thousand rows are enough
            opened.page.evaluate(UNFOLD)
        found = axe.Axe().run(opened.page).response

    assert len(found["passes"]) > 20
    assert [
        (one["id"], one["nodes"][0]["html"]) for one in found["violations"] if one["impact"] in ("serious", "critical")
    ] == []


def test_the_schemes_differ_and_paper_is_light(browser: Any, folder: Path) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    papers = []
    for scheme in SCHEMES:
        with Opened(browser, folder, "segmented", color_scheme=scheme) as opened:
            papers.append(opened.page.evaluate(colour))
            opened.page.emulate_media(media="print")
            papers.append(opened.page.evaluate(colour))

    light, printed_light, dark, printed_dark = papers
    assert light == printed_light == printed_dark == "rgb(255, 255, 255)"
    assert dark != light


@pytest.mark.parametrize("name", ["xrays", "segmented"])
def test_it_prints_on_pages_that_keep_figures_whole(browser: Any, folder: Path, name: str) -> None:
    with Opened(browser, folder, name) as opened:
        printed = opened.page.pdf(prefer_css_page_size=True)
        opened.page.emulate_media(media="print")
        kept = opened.page.evaluate(
            "[...document.querySelectorAll('figure, tr')].every(e => getComputedStyle(e).breakInside === 'avoid')"
        )
        tallest = opened.page.evaluate("Math.max(...[...document.querySelectorAll('figure')].map(f => f.offsetHeight))")

    assert printed.startswith(b"%PDF")
    assert 3 <= printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 60
    assert kept
    assert tallest < 1000  # A4 less its margins, at 96 pixels per inch


@pytest.mark.parametrize("name", ["xrays", "hostile"])
def test_without_script_it_is_complete(browser: Any, folder: Path, name: str) -> None:
    with Opened(browser, folder, name, java_script_enabled=False) as opened:
        summary = opened.page.locator("details summary").first
        table = opened.page.locator("details .table").first
        before = table.is_visible()
        summary.click()
        after = table.is_visible()
        sections = opened.page.locator("main > section h2").all_inner_texts()

    assert (before, after) == (False, True)
    assert {"Summary", "Data", "Overall", "By attribute", "Limits", "Full results"} <= set(sections)


def test_a_heading_sorts_its_table_by_size(browser: Any, folder: Path) -> None:
    with Opened(browser, folder, "hostile") as opened:
        table = opened.page.locator("#data table", has_text="Characteristics")
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
    with Opened(browser, folder, "xrays") as opened:
        opened.page.get_by_role("button", name="Unfold all tables").click()

        assert opened.page.evaluate("[...document.querySelectorAll('details')].every(one => one.open)")


def test_names_that_are_markup_are_seen_as_they_are(browser: Any, folder: Path) -> None:
    with Opened(browser, folder, "hostile") as opened:
        opened.page.evaluate(UNFOLD)
        seen = opened.page.locator("#data").inner_text()
        parts = opened.page.evaluate("[document.scripts.length, document.images.length]")

    assert opened.said == []
    assert [name for name in (*HOSTILE, "<b>site</b>") if name not in seen] == []
    assert parts == [1, 0]


def test_a_phone_gets_the_drawings_made_for_it(browser: Any, folder: Path) -> None:
    for width, place in ((1280, "wide"), (390, "phone")):
        with Opened(browser, folder, "segmented", viewport={"width": width, "height": 900}) as opened:
            shown = opened.page.locator(".drawing:visible").evaluate_all("all => all.map(one => one.className)")

        assert shown
        assert {name.split()[-1] for name in shown} == {place}
