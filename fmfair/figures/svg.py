"""A figure as SVG text: without a network, described for those who do not see it, in colours that a page can change."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

from fmfair.errors import FmfairError
from fmfair.figures.text import LINE, SIZE
from fmfair.figures.theme import COLOURS, FONT, MUTED, TITLE_GAP, TITLE_LINE, Spec

VEGALITE = "6.4"
_SVG = "http://www.w3.org/2000/svg"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
# What Vega says of each mark to those who do not see it; the description of the whole figure says it better.
_SPOKEN = ("role", "aria-roledescription", "aria-label", "aria-hidden", "pointer-events")


def svg_of(figure: Spec, *, key: str, title: str | None = None, description: str | None = None) -> str:
    """The figure as one `<svg>` element that can stand in a page beside others.

    The title over the figure is left out, as the page has it; it is in `<title>`. The reading aid below it stays.
    Colours are CSS variables such as `--figure-ink` (`fmfair.figures.theme.css` sets them), and where those are not
    set the light ones.

    Args:
        figure: One of fmfair's figures.
        key: Letters, digits, `-` and `_`, different for every figure of a page; all ids begin with it.
        title: What it shows; the figure's own title where left out.
        description: What is drawn; the figure's own description where left out.

    Raises:
        FmfairError: The key cannot be part of an id, or vl-convert is not installed.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", key):
        raise FmfairError(f"key={key!r} cannot be part of an id; expected letters, digits, - and _, a letter first")
    spec = dict(figure)
    said = _title_taken(spec)
    root = ET.fromstring(_converted(spec))
    width, height = root.attrib["width"], root.attrib["height"]
    background = next((child for child in root if child.tag == f"{{{_SVG}}}rect"), None)
    if background is not None:
        root.remove(background)
    for element in root.iter():
        _cleaned(element, key)
    root.attrib.clear()
    labels = {"role": "img", "aria-labelledby": f"{key}-title {key}-desc"}
    root.attrib.update({"id": key, "width": width, "height": height, "viewBox": f"0 0 {width} {height}", **labels})
    root.set("font-family", FONT)
    for place, (name, text) in enumerate((("title", title or said), ("desc", description or spec.get("description")))):
        element = ET.Element(f"{{{_SVG}}}{name}", {"id": f"{key}-{name}"})
        element.text = str(text or "")
        root.insert(place, element)
    ET.register_namespace("", _SVG)
    return str(ET.tostring(root, encoding="unicode"))


def _title_taken(spec: dict[str, Any]) -> str:
    """The title's text; it is taken away with its room, and the reading aid below it stays."""
    title = dict(spec.pop("title"))
    lines, below = title["text"], title.pop("subtitle")  # even an empty one would take room
    if below:
        aid = {"fontSize": SIZE, "fontWeight": "normal", "color": MUTED, "lineHeight": LINE}
        spec["title"] = {**title, **aid, "text": below}
    padding = spec["padding"]
    spec["padding"] = {**padding, "top": padding["top"] - TITLE_LINE * len(lines) - TITLE_GAP}
    return " ".join(lines)


def _converted(spec: dict[str, Any]) -> str:
    try:
        import vl_convert
    except ImportError:
        raise FmfairError('figures as SVG need vl-convert-python: pip install "fmfair[report]"') from None
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGALITE, allowed_base_urls=[])
    return svg


def _cleaned(element: ET.Element, key: str) -> None:
    """Ids with the key in front, colours as variables, and nothing that only a browser with Vega would need."""
    for name in (*_SPOKEN, "font-family", "class"):
        element.attrib.pop(name, None)
    for name, value in list(element.attrib.items()):
        if name == "id":
            element.set(name, f"{key}-{value}")
        elif "url(#" in value:
            element.set(name, _REFERENCE.sub(rf"url(#{key}-\1)", value))
    styles = [
        f"{name}:var(--figure-{COLOURS[colour.lower()][0]},{colour})"
        for name in ("fill", "stroke")
        if (colour := element.attrib.get(name, "")).lower() in COLOURS
    ]
    if styles:
        element.set("style", ";".join(styles))
