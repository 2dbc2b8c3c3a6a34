"""A browser with the document in it: what is wrong on a screen, and the lines of its pages on paper."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from page_reports import document

if TYPE_CHECKING:
    from typing_extensions import Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PDFTOTEXT = shutil.which("pdftotext")
DEMO = Path(__file__).parents[1] / "examples" / "demo.py"
# All tables open, and of each the first rows, which are enough to look at.
UNFOLD = """
for (const one of document.querySelectorAll("details")) one.open = true;
for (const row of document.querySelectorAll("tbody tr:nth-child(n+60)")) row.remove();
"""
# What axe looks at: of every table the first rows, and of every section the first figures; the others are like them.
FEWER = """
for (const row of document.querySelectorAll("tbody tr:nth-child(n+4)")) row.remove();
for (const section of document.querySelectorAll("main > section"))
  for (const figure of [...section.querySelectorAll("figure")].slice(2)) figure.remove();
"""
# What a reader would see as a fault: text that is cut, lies over other text, is too small or too faint.
FAULTS = """() => {
  const said = [];
  const text = (e) => e.textContent.trim().replace(/\\s+/g, " ").slice(0, 60);
  const cells = "h1, h2, h3, h4, main p, main li, dt, dd, figcaption, summary, caption span, th, td";
  for (const e of document.querySelectorAll(cells))
    if (e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1) said.push(`cut: ${text(e)}`);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  for (const svg of document.querySelectorAll("figure svg")) {
    const frame = svg.getBoundingClientRect();
    if (!frame.width) continue;
    const scale = frame.width / svg.viewBox.baseVal.width, of = `in ${text(svg.querySelector("title"))}`;
    const all = [...svg.querySelectorAll("text")].filter(text).map((e) => [e, e.getBoundingClientRect()]);
    all.forEach(([e, box], place) => {
      const style = getComputedStyle(e), size = parseFloat(style.fontSize) * scale;
      if (size < 10.9) said.push(`small: ${text(e)}, ${size.toFixed(1)} px, ${of}`);
      const out = [frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom];
      if (Math.max(...out) > 1) said.push(`cut: ${text(e)}, ${out.map(Math.round)}, ${of}`);
      if (e.style.fill.startsWith("var")) {
        const ink = light(style.fill);
        const contrast = Math.max(ink, paper) / Math.min(ink, paper);
        if (contrast < 4.5) said.push(`faint: ${text(e)}, ${contrast.toFixed(1)}, ${of}`);
      }
      for (const [other, its] of all.slice(place + 1)) {
        const wide = Math.min(box.right, its.right) - Math.max(box.left, its.left);
        const high = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
        if (wide > 2 && high > 4) said.push(`over each other: ${text(e)} and ${text(other)}, ${of}`);
      }
    });
  }
  return said;
}"""
HEADS = "[...document.querySelectorAll('h2, h3, h4, figcaption, caption span, summary')].map(e => e.textContent)"


@cache
def demo() -> str:
    """The document of the demo on chest X-rays."""
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with TemporaryDirectory() as folder:
        module.chest_xrays().write_html(f"{folder}/report.html", plan=DEMO.parent / "chest_xrays.toml")
        return Path(f"{folder}/report.html").read_text(encoding="utf-8")


class Opened:
    """A page with what it asked for and complained of."""

    def __init__(self, browser: Any, folder: Path, name: str, **options: Any) -> None:
        path = folder / f"{name}.html"
        path.write_text(demo() if name == "demo" else document(name), encoding="utf-8")
        self.size, self.own = path.stat().st_size, path.as_uri()
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(self.own)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def at(self, width: int, scheme: str) -> Any:
        """The page so wide, in the colours of a scheme."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=scheme, media="screen")
        return self.page


class Sheet:
    """A printed page.

    Attributes:
        lines: Its lines of text from the top, the page number left out.
        filled: How far down the sheet the last of them stands, as a share of its height.
        number: The line at its foot.
    """

    def __init__(self, page: ET.Element) -> None:
        boxes = [line for line in page.iter() if line.tag.endswith("}line")]
        told = [(float(box.attrib["yMax"]), " ".join(word.text or "" for word in box)) for box in boxes]
        told.sort(key=lambda one: one[0])
        self.number = told.pop()[1]
        self.lines = [text for _, text in told]
        self.filled = told[-1][0] / float(page.attrib["height"])


def sheets(pdf: Path) -> Sequence[Sheet]:
    """The pages of a PDF file."""
    assert PDFTOTEXT is not None
    said = subprocess.run([PDFTOTEXT, "-bbox-layout", str(pdf), "-"], capture_output=True, check=True).stdout
    return [Sheet(page) for page in ET.fromstring(said).iter() if page.tag.endswith("}page")]
