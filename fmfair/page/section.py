"""What a section hands to its template: texts, tables of texts, and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        header: Its heading.
        numeric: Whether it holds numbers, which stand to the right and sort by size.
        title: What the heading means, where it is short.
    """

    header: str
    numeric: bool = False
    title: str = ""


@dataclass(frozen=True)
class Table:
    """A table of texts; every text is escaped when it is written.

    Attributes:
        caption: What it shows.
        columns: Its columns.
        rows: Its cells, as many per row as there are columns.
        note: Sentences below it.
        keys: How many of the first columns say what a row is.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    note: str = ""
    keys: int = 1


@dataclass(frozen=True)
class Figure:
    """A drawing with the numbers that it shows.

    Attributes:
        title: A sentence that says what is seen.
        alt: What is drawn, for those who do not see it.
        svg: The drawing; made by fmfair, and so the one text that is not escaped.
        tall: Whether it is so high for a phone that on paper the other is shown, over the whole page.
        phone: The same drawing for a narrow page; the other is shown there too where this is empty.
        table: The numbers, folded beneath it.
    """

    title: str
    alt: str
    svg: str
    phone: str = ""
    tall: bool = False
    table: Table | None = None


@dataclass(frozen=True)
class Section:
    """A section of the document.

    Attributes:
        key: Its anchor, and the name of its template.
        title: Its heading.
        content: What the template shows: texts, tables, figures, and lists of them, by name.
    """

    key: str
    title: str
    content: Mapping[str, Any] = field(default_factory=dict)
