"""Forest plot: the value of every group with its interval, beside that of all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from fmfair.figures.data import Where, attributes_of, context, measured, valued, with_reference
from fmfair.figures.forest_layout import Layout, layout_of, value_text
from fmfair.figures.scale import Along, domain_of, value_axis
from fmfair.figures.text import first_few, name_of, short_name
from fmfair.figures.theme import (
    BAND,
    BLUE,
    INK,
    MUTED,
    PAPER,
    Area,
    Layer,
    Look,
    Words,
    drawn,
    pixels,
    rows_chart,
    text_layer,
    unchecked,
)
from fmfair.figures.words import differences, finding

ALL = "all rows"


@unchecked
def forest(
    groups: pl.DataFrame,
    overall: pl.DataFrame,
    gaps: pl.DataFrame,
    metric: str,
    *,
    attributes: Sequence[str] | None = None,
    where: Where = None,
    look: Look | None = None,
) -> alt.LayerChart:
    """A forest plot of one metric: point and interval per group, the value of all rows as a line with its band.

    The scale is that of all attributes, also where only some are shown, so that several plots of a metric compare.

    Args:
        groups: The frame of group values.
        overall: That of the values on all rows.
        gaps: That of the comparisons, for the title.
        metric: The name of a metric of the report.
        attributes: Those to show, intersections among them; all single ones where left out.
        where: The by-key to show, such as `{"model": "a"}`, and the `threshold` or `threshold_rule`, of which the
            first is shown where left out.
        look: Width, level of the intervals, reference groups and order.

    Raises:
        FmfairError: There is no such metric, attribute or by-key, or several by-keys and none is named.
    """
    look = look or Look()
    shown = forest_rows(groups, overall, metric, attributes=attributes, where=where, look=look)
    chosen = attributes_of(groups, attributes)
    words = forest_words(groups, overall, gaps, metric, attributes=attributes, where=where, look=look)
    every = measured(groups, metric, where)
    single = pl.col("attribute_parts").list.len() == 1
    scaled = valued(every.filter(single | pl.col("attribute").is_in(chosen)), metric)
    whole = [row for row in shown if row["attribute"] == ""]
    domain = domain_of([*scaled.filter(pl.col("kind") == "point").to_dicts(), *whole], metric)
    layout = layout_of(shown, metric, look)
    return drawn(_layers(layout, domain, metric), layout.area, words)


def forest_rows(
    groups: pl.DataFrame,
    overall: pl.DataFrame,
    metric: str,
    *,
    attributes: Sequence[str] | None = None,
    where: Where = None,
    look: Look | None = None,
) -> list[dict[str, Any]]:
    """The rows of a forest plot from top to bottom: all rows (attribute ``), then the groups of each attribute."""
    look = look or Look()
    chosen = attributes_of(groups, attributes)
    rows = with_reference(valued(measured(groups, metric, where), metric), look.reference)
    parts = [rows.filter(pl.col("attribute") == name) for name in chosen]
    if look.by_value:
        parts = [part.sort("value", nulls_last=True, maintain_order=True) for part in parts]
    whole = valued(measured(overall, metric, where).head(1), metric).with_columns(
        attribute=pl.lit(""), group=pl.lit(ALL), reference=pl.lit(value=False)
    )
    names = ("attribute", "group", "value", "ci_low", "ci_high", "n", "n_pos", "kind", "said", "reference")
    return pl.concat([part.select(names) for part in (whole, *parts)]).to_dicts()


def forest_words(
    groups: pl.DataFrame,
    overall: pl.DataFrame,
    gaps: pl.DataFrame,
    metric: str,
    *,
    attributes: Sequence[str] | None = None,
    where: Where = None,
    look: Look | None = None,
) -> Words:
    """Title, reading aid and description of a forest plot; the arguments are those of `forest`."""
    look = look or Look()
    chosen = attributes_of(groups, attributes)
    title = finding(differences(gaps, groups, metric, chosen, where), metric, chosen, look)
    shown = forest_rows(groups, overall, metric, attributes=attributes, where=where, look=look)
    sure = any(row["ci_low"] is not None for row in shown)
    point = f"Point and {look.interval} per group" if sure else "A point per group, without intervals"
    line = "line and band: all rows" if sure else "line: all rows"
    marked = "; diamond: reference group" if any(row["reference"] for row in shown) else ""
    of = context(measured(groups, metric, where), where)
    said = [f"{name_of(row['group'])} {value_text(row, metric)}" for row in shown]
    alt_text = f"Forest plot of {short_name(metric)}{f' ({of})' if of else ''}. {title}. {first_few(said)}."
    return Words(title, f"{of}. {point}; {line}{marked}." if of else f"{point}; {line}{marked}.", alt_text)


def _layers(layout: Layout, domain: tuple[float, float], metric: str) -> list[Layer]:
    """Band and line of all rows, the intervals and points of the groups, and the texts."""
    area = layout.area
    x = Along(domain, value_axis(metric, area.width, grid=layout.grid))
    y = pixels("y", area.height)
    points = [row for row in layout.rows if row["kind"] == "point"]
    whole = _crossing(layout)
    sure = [row for row in points if row["ci_low"] is not None and row["ci_high"] is not None]
    band = [row for row in whole if row["ci_low"] is not None]
    down = {"y": pixels("top", area.height), "y2": alt.Y2("end:Q")}
    across = {"x": x.at("ci_low"), "x2": alt.X2("ci_high:Q")}
    return [
        rows_chart(band).mark_rect(color=BAND).encode(**across, **down),
        rows_chart(whole).mark_rule(color=MUTED, strokeWidth=1.5).encode(x=x.at("value"), **down),
        rows_chart(sure).mark_rule(color=INK, strokeWidth=1.5).encode(**across, y=y),
        *_marks(points, x, y),
        *_texts(layout.texts, area, x),
    ]


def _crossing(layout: Layout) -> list[dict[str, Any]]:
    """Line and band of all rows, across every row that has a place for them."""
    there = [row for row in layout.rows if row["kind"] == "point"]
    if not there or there[0]["attribute"] != "":
        return []
    whole = {name: there[0][name] for name in ("value", "ci_low", "ci_high")}
    spans = dict.fromkeys((row["top"], row["end"]) for row in there)
    return [{**whole, "top": top, "end": end} for top, end in spans]


def _marks(points: Sequence[Mapping[str, Any]], x: Along, y: alt.Y) -> list[Layer]:
    """The points: a square for all rows, a diamond for the reference, circles for the others."""
    kinds = {
        "square": [row for row in points if row["attribute"] == ""],
        "diamond": [row for row in points if row["reference"]],
        "circle": [row for row in points if row["attribute"] != "" and not row["reference"]],
    }
    sizes = {"square": 70, "diamond": 110, "circle": 70}
    return [
        rows_chart(rows)
        .mark_point(
            shape=shape,
            size=sizes[shape],
            filled=True,
            opacity=1,
            fill=BLUE if rows and rows[0]["attribute"] else INK,
            stroke=PAPER,
            strokeWidth=1,
        )
        .encode(x=x.at("value"), y=y)
        for shape, rows in kinds.items()
        if rows
    ]


def _texts(texts: Sequence[Mapping[str, Any]], area: Area, x: Along) -> list[Layer]:
    """The texts, of every tone and side a layer."""
    tones: dict[str, dict[str, Any]] = {"plain": {}, "muted": {"color": MUTED}, "strong": {"fontWeight": 600}}
    layers: list[Layer] = []
    for tone, style in tones.items():
        for side in ("left", "right"):
            rows = [row for row in texts if row["tone"] == tone and row["side"] == side and row["text"]]
            placed = [{**row, "x": x.value(row["x"], area.width)} for row in rows]
            y = pixels("y", area.height)
            layers += [text_layer(placed, x.at("x"), y, align=side, **style)] if rows else []
    return layers
