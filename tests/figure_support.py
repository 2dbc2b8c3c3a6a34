"""What the tests of figures share: reports to draw, and what is in a chart and in its SVG."""

from __future__ import annotations

import random
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
from altair import LayerChart

import fmfair
from fmfair.figures.svg import svg_of
from fmfair.report import Report

SVG = "{http://www.w3.org/2000/svg}"
# All that an SVG of ours may be made of: nothing that runs, loads or links.
TAGS = {f"{SVG}{tag}" for tag in ("svg", "g", "path", "line", "rect", "text", "tspan", "title", "desc")}


@cache
def rows() -> pl.DataFrame:
    """600 rows of two models; the site `tiny` has nine positives, `healthy` none."""
    rng = random.Random(5)
    n = 600
    site = [rng.choice(["north", "south"]) for _ in range(n)]
    frame = pl.DataFrame(
        {
            "model": [rng.choice(["a", "b"]) for _ in range(n)],
            "sex": [rng.choice("FM") for _ in range(n)],
            "site": site,
            "y_true": [int(rng.random() < 0.4) for _ in range(n)],
            "noise": [rng.random() for _ in range(n)],
        }
    )
    few = pl.DataFrame({"site": ["tiny"] * 30 + ["healthy"] * 20, "y_true": [1] * 9 + [0] * 41}).with_columns(
        model=pl.lit("a"), sex=pl.lit("F"), noise=pl.int_range(50) / 50
    )
    both = pl.concat([frame, few.select(frame.columns)])
    return both.with_columns(y_score=(pl.col("y_true") * 0.3 + pl.col("noise") * 0.69).round(3)).drop("noise")


@cache
def report(ci: float | None = 0.95) -> Report:
    """Model a, two thresholds, with intersections."""
    frame = rows().filter(pl.col("model") == "a").drop("model")
    return fmfair.evaluate(frame, attributes=["sex", "site"], intersections=2, thresholds=[0.5, 0.3], ci=ci)


@cache
def by_model(ci: float | None = 0.95) -> Report:
    """Both models as by-keys."""
    return fmfair.evaluate(rows(), attributes=["sex", "site"], by="model", ci=ci)


@cache
def dice_rows() -> pl.DataFrame:
    """Dice of two scanners; the third has five cases."""
    rng = random.Random(2)
    scanner = ["A"] * 60 + ["B"] * 50 + ["C"] * 5
    return pl.DataFrame({"scanner": scanner, "dice": [rng.betavariate(8, 2) for _ in scanner]})


@cache
def dice_report(ci: float | None = 0.95) -> Report:
    """The report of these."""
    return fmfair.evaluate_segmentation(dice_rows(), ci=ci)


def data_of(chart: LayerChart) -> list[dict[str, Any]]:
    """All rows of all layers."""
    spec = chart.to_dict(validate=False)
    return _inline(spec)


def _inline(spec: Any) -> list[dict[str, Any]]:
    if isinstance(spec, dict):
        own = spec.get("data", {}).get("values", []) if isinstance(spec.get("data"), dict) else []
        return [*own, *(row for value in spec.values() for row in _inline(value))]
    return [row for value in spec for row in _inline(value)] if isinstance(spec, list) else []


def points(chart: LayerChart) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows of a forest plot that have a mark, by attribute and group."""
    there = [row for row in data_of(chart) if row.get("kind") == "point" and "group" in row]
    return {(row["attribute"], row["group"]): row for row in there}


def texts(chart: LayerChart) -> list[str]:
    """The texts in the chart."""
    return [str(row["text"]) for row in data_of(chart) if "text" in row]


def drawn(chart: LayerChart, key: str = "figure") -> ET.Element:
    """The chart as an SVG element, checked to hold nothing that runs, loads or links."""
    root = ET.fromstring(svg_of(chart.to_dict(validate=False), key=key))
    assert {element.tag for element in root.iter()} <= TAGS
    names = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in names if name.startswith("on") or "href" in name}
    return root


def written(root: ET.Element) -> str:
    """All texts that an SVG shows, without blanks, so that names broken into lines are found."""
    shown = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    return "".join("".join(shown).split())
