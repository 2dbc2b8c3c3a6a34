"""The figures of the document: each drawn twice, for a wide page and for a phone, with its numbers beneath."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import polars as pl

from fmfair.page.material import Material, View
from fmfair.page.section import Figure, Table
from fmfair.page.tables import group_table, title_of

if TYPE_CHECKING:
    from fmfair.figures.theme import Figure as Chart
    from fmfair.figures.theme import Look

# Pixels: of a figure that has the page to itself, of one of two beside each other, and on a phone.
ALONE, BESIDE, PHONE = 760, 580, 356
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
