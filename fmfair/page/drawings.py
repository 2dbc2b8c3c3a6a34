"""The figures of the document: each drawn twice, for a wide page and for a phone, with its numbers beneath."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import polars as pl

from fmfair.page.material import Material, View
from fmfair.page.section import Figure, Table
from fmfair.page.tables import group_table, score_table, title_of
from fmfair.shown import metric_of

if TYPE_CHECKING:
    from fmfair.figures.theme import Figure as Chart
    from fmfair.figures.theme import Look

# Pixels: of a figure that has the page to itself, of one of two beside each other, and on a phone.
ALONE, BESIDE, PHONE = 760, 580, 356
# Scores in no more bins than these are decisions, of which curves say nothing.
DECISIONS = 2
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

    def drawn(self, make: Callable[[Look], Chart], table: Table | None, width: int = BESIDE) -> Figure:
        """A figure as a page holds it.

        Args:
            make: Draws it so wide.
            table: Its numbers.
            width: In pixels, on a wide page.
        """
        from fmfair.figures.svg import svg_of
        from fmfair.figures.theme import Look

        facts = self.material.metadata
        looks = [Look(pixels, self.material.level, facts.get("reference") or {}) for pixels in (width, PHONE)]
        key = f"{self.prefix}-{next(self._numbers)}"
        wide, phone = (svg_of(make(look), key=f"{key}-{place}") for look, place in zip(looks, PLACES, strict=True))
        title, alt = (element.text or "" for element in ET.fromstring(wide)[:2])
        return Figure(title=title, alt=alt, svg=wide, phone=phone, table=table)

    def over_scores(self, view: View, attribute: str | None = None) -> list[Figure]:
        """What the frame of binned scores shows, of all rows or of the groups of an attribute; nothing without it."""
        from fmfair.figures.decision_curve import decision_curve
        from fmfair.figures.rates_by_threshold import rates_by_threshold
        from fmfair.figures.reliability import reliability
        from fmfair.figures.risk_distribution import risk_distribution
        from fmfair.figures.roc import roc

        curves = view.main.get("curves")
        if curves is None or curves.filter(pl.col("attribute") == "")["low"].n_unique() <= DECISIONS:
            return []
        groups, overall = view.main["groups"], view.main["overall"]
        makes: list[Callable[[Look], Chart]]
        if curves["n_pos"].null_count() == curves.height:
            makes = [lambda look: risk_distribution(curves, attribute=attribute, look=look)]
        elif attribute is not None:
            makes = [
                lambda look: reliability(curves, attribute=attribute, look=look),
                lambda look: rates_by_threshold(curves, attribute=attribute, look=look),
            ]
        else:
            makes = [
                lambda look: roc(curves, groups, overall, look=look),
                lambda look: reliability(curves, look=look),
                lambda look: risk_distribution(curves, look=look),
                lambda look: decision_curve(curves, look=look),
            ]
        table = score_table(curves, attribute)
        return [self.drawn(make, table) for make in makes]

    def heat_map(self, view: View, intersection: str) -> Figure | None:
        """The cells of an intersection; None where none has a value, or it has more than two attributes."""
        from fmfair.figures.heat_map import heat_map

        metric, main = self.material.headline, view.main
        cells = main["groups"].filter((pl.col("metric") == metric) & (pl.col("attribute") == intersection))
        if not cells["value"].count() or (cells["attribute_parts"].list.len() != 2).any():
            return None
        table = group_table(cells, [metric], f"The numbers: {title_of(metric)} by {intersection}", self.material.level)
        groups, overall, gaps = (main[name] for name in ("groups", "overall", "gaps"))
        return self.drawn(
            lambda look: heat_map(groups, overall, gaps, metric, attribute=intersection, look=look), table
        )

    def beside_each_other(self, attribute: str, where: Mapping[str, Any]) -> list[Figure]:
        """By-keys beside each other by the groups of an attribute; those in `where` are held."""
        from fmfair.figures.models import models
        from fmfair.figures.overall_against_worst import overall_against_worst

        frames, metric = self.material.frames, self.material.headline
        groups, overall, gaps = (frames[name] for name in ("groups", "overall", "gaps"))
        known = metric_of(metric)
        makes: list[Callable[[Look], Chart]] = [
            lambda look: models(groups, overall, metric, attribute=attribute, where=where, look=look)
        ]
        if known is None or known.direction != "none":
            makes.append(
                lambda look: overall_against_worst(overall, gaps, metric, attribute=attribute, where=where, look=look)
            )
        return [self.drawn(make, None) for make in makes]

    def forest(self, view: View, metric: str, attributes: Sequence[str], width: int = BESIDE) -> Figure | None:
        """The groups of some attributes beside all rows; None where no group has a value."""
        from fmfair.figures.forest import forest

        main = view.main
        rows = main["groups"].filter((pl.col("metric") == metric) & pl.col("attribute").is_in(list(attributes)))
        if not rows["value"].count():
            return None
        of = ", ".join([*attributes, *([view.title] if view.title else [])])
        table = group_table(rows, [metric], f"The numbers: {title_of(metric)} by {of}", self.material.level)
        groups, overall, gaps = (main[name] for name in ("groups", "overall", "gaps"))
        return self.drawn(
            lambda look: forest(groups, overall, gaps, metric, attributes=attributes, look=look), table, width
        )
