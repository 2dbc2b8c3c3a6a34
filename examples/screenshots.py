"""Renew the pictures of the report in the README: the first page, and figures on a phone in the dark."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from demo import chest_xrays
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parents[1] / "docs"


def photograph(chromium: Any, page: str, name: str, at: str, width: int, height: int, scheme: str) -> None:
    """Write what a window shows of the page that begins with an element."""
    context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    window = context.new_page()
    window.goto(page)
    window.locator(at).first.evaluate("element => scrollTo(0, element.getBoundingClientRect().top - 12)")
    window.screenshot(path=DOCS / name)
    context.close()


def main() -> None:
    """Make the report of the demo and photograph it."""
    DOCS.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as started:
        path = Path(folder) / "report.html"
        chest_xrays().write_html(path, plan=Path(__file__).parent / "chest_xrays.toml")
        browser = shutil.which("chromium") or shutil.which("chromium-browser")
        chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        photograph(chromium, path.as_uri(), "report.png", "header", 1280, 1000, "light")
        photograph(chromium, path.as_uri(), "report-phone.png", "#summary figure", 390, 800, "dark")
        chromium.close()


if __name__ == "__main__":
    main()
