"""The figures of the document: each drawn twice, for a wide page and for a phone, with its numbers beneath."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import polars as pl

from fmfair.page.material import Material, View
from fmfair.page.section import Figure, Table
from fmfair.page.tables import group_table, score_table, title_of
from fmfair.shown import metric_of

if TYPE_CHECKING:
    from fmfair.figures.theme import Look, Spec

# Pixels: of a figure that has the page to itself, of one of two beside each other, and on a phone.
ALONE, BESIDE, PHONE = 760, 580, 356
# A drawing for phones that is higher is too high for half a sheet of paper.
TALL = 640
# Scores in no more bins than these are decisions, of which curves say nothing.
DECISIONS = 2
# By-keys with these names are conditions in an order, over which a group has a line.
CONDITIONS = ("severity", "perturbation", "corruption", "noise")
PLACES = ("page", "phone")


@dataclass
class Drawings:
    """Draws the figures of one section.

    Attributes:
        material: What the document is made of.
        prefix: Begins the ids of the section's figures.
    """

    material: Material
    prefix: str
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def drawn(self, make: Callable[[Look], Spec], table: Table | None, width: int = BESIDE) -> Figure:
        """A figure as a page holds it.

        Args:
            make: Draws it so wide.
            table: Its numbers.
            width: In pixels, on a wide page.
        """
        from fmfair.figures.svg import svg_of
        from fmfair.figures.theme import Look

        reference = self.material.metadata.get("reference") or {}
        key = f"{self.prefix}-{next(self._numbers)}"
        figures = [make(Look(pixels, self.material.level, reference)) for pixels in (width, PHONE)]
        wide, phone = (svg_of(figure, key=f"{key}-{place}") for figure, place in zip(figures, PLACES, strict=True))
        title = " ".join(figures[0]["title"]["text"])
        tall = figures[1]["height"] > TALL
        return Figure(title, figures[0]["description"], wide, phone, tall=tall, table=table)

    def over_scores(self, view: View, attribute: str | None = None) -> list[Figure]:
        """What the frame of binned scores shows, of all rows or of the groups of an attribute; nothing without it."""
        from fmfair.figures.decision_curve import decision_curve
        from fmfair.figures.dice_distribution import dice_distribution
        from fmfair.figures.rates_by_threshold import rates_by_threshold
        from fmfair.figures.reliability import reliability
        from fmfair.figures.risk_distribution import risk_distribution
        from fmfair.figures.roc import roc

        curves = view.main.get("curves")
        if curves is None or curves.filter(pl.col("attribute") == "")["low"].n_unique() <= DECISIONS:
            return []
        makes: list[Callable[..., Spec]] = [roc, reliability, risk_distribution, decision_curve]
        if curves["n_pos"].null_count() == curves.height:
            makes = [dice_distribution]
        elif attribute is not None:
            makes = [reliability, rates_by_threshold]
        table = score_table(curves, attribute)
        return [self.drawn(partial(make, view.main, attribute=attribute), table) for make in makes]

    def heat_map(self, view: View, intersection: str) -> Figure | None:
        """The cells of an intersection; None where none has a value, or it has more than two attributes."""
        from fmfair.figures.heat_map import heat_map

        metric = self.material.headline
        cells = view.main["groups"].filter((pl.col("metric") == metric) & (pl.col("attribute") == intersection))
        if not cells["value"].count() or (cells["attribute_parts"].list.len() != 2).any():
            return None
        table = group_table(cells, [metric], f"The numbers: {title_of(metric)} by {intersection}", self.material.level)
        return self.drawn(partial(heat_map, view.main, metric, attribute=intersection), table)

    def beside_each_other(self, attribute: str, where: Mapping[str, Any]) -> list[Figure]:
        """By-keys beside each other by the groups of an attribute; those in `where` are held."""
        from fmfair.figures.models import models
        from fmfair.figures.overall_against_worst import overall_against_worst
        from fmfair.figures.slope import slope

        metric, keys = self.material.headline, self.material.keys
        frames = {
            name: self.material.frames[name].filter(pl.col("metric") == metric)
            for name in ("groups", "overall", "gaps")
        }
        known = metric_of(metric)
        makes: list[Callable[..., Spec]] = [models]
        makes += [overall_against_worst] if known is None or known.direction != "none" else []
        ordered = [key for key in keys if key.lower() in CONDITIONS and key not in where]
        if ordered and set(keys) - set(where) == {*ordered[:1]}:
            makes.insert(0, partial(slope, across=ordered[0]))
        return [self.drawn(partial(make, frames, metric, attribute=attribute, where=where), None) for make in makes]

    def forest(self, view: View, metric: str, attributes: Sequence[str], width: int = BESIDE) -> Figure | None:
        """The groups of some attributes beside all rows; None where no group has a value."""
        from fmfair.figures.forest import forest

        rows = view.main["groups"].filter((pl.col("metric") == metric) & pl.col("attribute").is_in(list(attributes)))
        if not rows["value"].count():
            return None
        of = ", ".join([*attributes, *([view.title] if view.title else [])])
        table = group_table(rows, [metric], f"The numbers: {title_of(metric)} by {of}", self.material.level)
        return self.drawn(partial(forest, view.judged(metric), metric, attributes=attributes), table, width)
