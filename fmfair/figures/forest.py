"""Forest plot: the value of every group with its interval, beside that of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from fmfair.export import Frames
from fmfair.figures.data import Where, attributes_of, context, measured, of_context, reading, valued, with_reference
from fmfair.figures.forest_layout import Layout, layout_of, value_text
from fmfair.figures.layers import Rows, end, layer, pixels, points, text_layer, whiskers
from fmfair.figures.scale import Along, cut_off, domain_of, value_axis
from fmfair.figures.text import ALL, first_few, name_of, short_name
from fmfair.figures.theme import BAND, BLUE, INK, MUTED, Layer, Look, Spec, Words, drawn
from fmfair.figures.words import differences, finding

# Of all rows, of the reference group, and of the others.
_SHAPES = (("square", 70, INK), ("diamond", 110, BLUE), ("circle", 70, BLUE))


def forest(
    frames: Frames, metric: str, look: Look, *, attributes: Sequence[str] | None = None, where: Where = None
) -> Spec:
    """A forest plot of one metric: point and interval per group, the value of all rows as a line with its band.

    The scale is that of all attributes, also where only some are shown, so that several plots of a metric compare. An
    interval that would make it useless for the others is cut off with the head of an arrow.

    Args:
        frames: Those of the report.
        metric: The name of a metric of the report.
        look: Width, level of the intervals, reference groups and order.
        attributes: Those to show, intersections among them; all single ones where left out.
        where: The by-key to show, such as `{"model": "a"}`, and the `threshold` or `threshold_rule`, of which the
            first is shown where left out.

    Raises:
        FmfairError: There is no such metric, attribute or by-key, or several by-keys and none is named.
    """
    every = measured(frames["groups"], metric, where)
    chosen = attributes_of(frames["groups"], attributes)
    single = pl.col("attribute_parts").list.len() == 1
    groups = with_reference(valued(every.filter(single | pl.col("attribute").is_in(chosen)), metric), look.reference)
    whole = valued(measured(frames["overall"], metric, where).head(1), metric)
    shown = _rows(whole, groups, chosen, look)
    domain = domain_of([*groups.filter(pl.col("kind") == "point").to_dicts(), *whole.to_dicts()], metric)
    layout = layout_of(shown, metric, look)
    x = Along(domain, value_axis(metric, layout.area.width, grid=layout.grid))
    found = differences(frames["gaps"], groups, metric, chosen, where)
    words = _words(shown, metric, look, finding(found, metric, chosen, look), context(every, where), domain)
    return drawn(_layers(layout, x), layout.area, words)


def _rows(whole: pl.DataFrame, groups: pl.DataFrame, attributes: Sequence[str], look: Look) -> list[dict[str, Any]]:
    """The rows of a forest plot from top to bottom: all rows (attribute ``), then the groups of each attribute."""
    parts = [groups.filter(pl.col("attribute") == name) for name in attributes]
    if look.by_value:
        parts = [part.sort("value", nulls_last=True, maintain_order=True) for part in parts]
    whole = whole.with_columns(attribute=pl.lit(""), group=pl.lit(ALL), reference=pl.lit(value=False))
    names = ("attribute", "group", "value", "ci_low", "ci_high", "n", "n_pos", "kind", "said", "reference")
    return pl.concat([part.select(names) for part in (whole, *parts)]).to_dicts()


def _words(rows: Rows, metric: str, look: Look, title: str, of: str, domain: tuple[float, float]) -> Words:
    sure = any(row["ci_low"] is not None for row in rows)
    drawn_ones = cut_off([row for row in rows if row["kind"] == "point"], domain)
    cut = any(row["below"] or row["above"] for row in drawn_ones)
    aid = f"Point and {look.interval} per group" if sure else "A point per group, without intervals"
    aid += "; line and band: all rows" if sure else "; line: all rows"
    aid += "; diamond: reference group" if any(row["reference"] for row in rows) else ""
    aid += "; arrow: the interval goes on" if cut else ""
    said = [f"{name_of(row['group'])} {value_text(row, metric)}" for row in rows]
    alt_text = f"Forest plot of {short_name(metric)}{of_context(of)}. {title}. {first_few(said)}."
    return Words(title, reading(of, f"{aid}."), alt_text)


def _layers(layout: Layout, x: Along) -> list[Layer]:
    """Band and line of all rows, the intervals and points of the groups, and the texts."""
    area = layout.area
    y = pixels("y", area.height)
    there = [row for row in layout.rows if row["kind"] == "point"]
    whole = _crossing(layout, x)
    down = {"y": pixels("top", area.height), "y2": end("end")}
    band = [row for row in whole if row["ci_low"] is not None]
    kinds = [
        [row for row in there if row["attribute"] == ""],
        [row for row in there if row["reference"]],
        [row for row in there if row["attribute"] != "" and not row["reference"]],
    ]
    return [
        layer("rect", band, {"x": x.at("from"), "x2": end("to"), **down}, color=BAND),
        layer("rule", whole, {"x": x.at("value"), **down}, color=MUTED, strokeWidth=1.5),
        *whiskers(cut_off(there, x.domain), x.at, y, INK),
        *(
            points(rows, {"x": x.at("value"), "y": y}, fill, shape, size)
            for rows, (shape, size, fill) in zip(kinds, _SHAPES, strict=True)
        ),
        text_layer(x.beside(layout.texts, area.width), x.at("x"), y),
    ]


def _crossing(layout: Layout, x: Along) -> list[dict[str, Any]]:
    """Line and band of all rows, across every row that has a place for them."""
    there = [row for row in layout.rows if row["kind"] == "point"]
    if not there or there[0]["attribute"] != "":
        return []
    whole = {name: there[0][name] for name in ("value", "ci_low", "ci_high")}
    (whole,) = cut_off([whole], x.domain) or [whole]
    spans = dict.fromkeys((row["top"], row["end"]) for row in there)
    return [{**whole, "top": top, "end": end_} for top, end_ in spans]
