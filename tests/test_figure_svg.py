"""Figures as SVG: described, with ids of their own, in colours that a page can change, the same every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from altair import InlineData
from figure_support import SVG, by_model, drawn, report, written

from fmfair.errors import FmfairError
from fmfair.figures.svg import svg_of
from fmfair.figures.theme import COLOURS, css

ROOT = Path(__file__).resolve().parents[1]


def test_an_svg_is_described_and_its_ids_begin_with_its_key() -> None:
    chart = report().plot.forest("tpr")
    root = drawn(chart, "one")
    spec = chart.to_dict()

    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == "one-title one-desc"
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert ids[0] == "one"
    assert len(ids) == len(set(ids))
    assert all(name.startswith("one-") for name in ids[1:])
    assert root.findtext(f"{SVG}title") == " ".join(spec["title"]["text"])
    assert root.findtext(f"{SVG}desc") == spec["description"]


def test_title_and_description_can_be_given_and_are_escaped() -> None:
    text = svg_of(report().plot.forest().to_dict(), key="k", title='<b>"', description="</desc><script>")

    assert "<script>" not in text
    assert "&lt;/desc&gt;&lt;script&gt;" in text


def test_the_title_is_left_to_the_page_and_the_reading_aid_stays() -> None:
    chart = report().plot.forest()
    title = chart.to_dict()["title"]

    shown = written(drawn(chart))

    assert "".join("".join(title["text"]).split()) not in shown
    assert "".join("".join(title["subtitle"]).split()) in shown


def test_every_colour_is_a_variable_with_a_light_and_a_dark_value() -> None:
    root = drawn(report().plot.forest())
    for element in root.iter():
        for name in ("fill", "stroke"):
            colour = element.attrib.get(name, "none")
            if colour not in ("none", "transparent"):
                assert f"{name}:var(--figure-{COLOURS[colour][0]},{colour})" in element.attrib["style"]
    for colour, (name, dark) in COLOURS.items():
        assert css().count(f"--figure-{name}:") == 2
        assert f"--figure-{name}:{colour};" in css()
        assert f"--figure-{name}:{dark};" in css()


def contrast(one: str, other: str) -> float:
    """The contrast of two colours after WCAG 2."""

    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_texts_and_marks_stand_out_in_light_and_dark() -> None:
    schemes = [{name: light for light, (name, _) in COLOURS.items()}, dict(COLOURS.values())]
    for scheme in schemes:
        for text in ("ink", "muted"):
            assert contrast(scheme[text], scheme["paper"]) >= 4.5
            assert contrast(scheme[text], scheme["band"]) >= 4.5
        for mark in ("blue", "vermillion", "green", "purple"):
            assert contrast(scheme[mark], scheme["paper"]) >= 2.99


def test_the_same_frames_make_the_same_text() -> None:
    made = by_model()

    one, other = (svg_of(made.plot.models("auc").to_dict(), key="k") for _ in range(2))

    assert one == other


@pytest.mark.parametrize("key", ["", "1a", "a b", 'a"', "é"])
def test_a_key_that_is_no_id_is_refused(key: str) -> None:
    with pytest.raises(FmfairError, match="cannot be part of an id"):
        svg_of(report().plot.forest().to_dict(), key=key)


@pytest.mark.parametrize(("module", "package"), [("altair", "altair"), ("vl_convert", "vl-convert-python")])
def test_without_the_extra_the_error_says_what_to_install(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = report()
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(FmfairError, match=rf'figures need {package}: pip install "fmfair\[report\]"'):
        _ = made.plot


def test_a_report_without_figures_loads_no_altair() -> None:
    code = (
        "import sys, fmfair.evaluation, fmfair.report; print([m for m in ('altair', 'vl_convert') if m in sys.modules])"
    )

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout

    assert printed.strip() == "[]"


@pytest.mark.parametrize(
    "name",
    ["forest", "heat_map", "overall_against_worst", "roc", "reliability", "rates_by_threshold", "decision_curve"],
)
def test_every_figure_is_valid_vega_lite(name: str) -> None:
    chart = getattr(report().plot, name)()
    for layer in chart.layer:
        # All rows of a layer are alike, and the check of each takes long.
        layer.data = InlineData(values=layer.data.values[:2])

    spec = chart.to_dict(validate=True)

    assert all(layer["data"]["values"] for layer in spec["layer"])


def test_a_chart_saves_itself_as_svg_and_png(tmp_path: Path) -> None:
    chart = report().plot.forest()

    chart.save(str(tmp_path / "forest.svg"))
    chart.save(str(tmp_path / "forest.png"))

    assert (tmp_path / "forest.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "forest.png").read_bytes().startswith(b"\x89PNG")
