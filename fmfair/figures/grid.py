"""A grid of cells with names of rows and columns, which goes on below where it is too wide: its places in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fmfair.figures.layers import text_lines
from fmfair.figures.text import LINE, name_lines, width_of

_EDGE = 8
_NAMES_SHARE = 0.3


@dataclass(frozen=True)
class Grid:
    """Where the cells are.

    Attributes:
        width: Of the whole, in pixels.
        height: Of the whole.
        cell: Width and height of a cell.
        places: By row and column, the left upper corner of the cell.
        texts: The names of rows and columns with their positions.
        ends: The lower ends of the blocks, each with the left ends of its columns.
    """

    width: float
    height: float
    cell: tuple[float, float]
    places: dict[tuple[int, int], tuple[float, float]]
    texts: list[dict[str, Any]]
    ends: list[tuple[float, list[float]]]


def grid_of(
    rows: Sequence[str],
    columns: Sequence[str],
    width: float,
    *,
    least: float,
    most: float,
    height: float,
    foot: float = 0,
) -> Grid:
    """A grid of so many pixels width, its columns in as many blocks one below the other as are needed.

    Args:
        rows: The names of the rows.
        columns: The names of the columns.
        width: Of the whole, in pixels.
        least: The smallest width of a cell.
        most: The largest.
        height: Of a cell; rows with long names are higher.
        foot: Room below each block.
    """
    names = min(max(width_of(name) for name in rows) + _EDGE, width * _NAMES_SHARE)
    room = width - names
    at_once = max(1, min(len(columns), int(room // least)))
    wide = min(room / at_once, most)
    lines = [name_lines(name, names - _EDGE + 0.5) for name in rows]  # what rounding took from the longest name
    places: dict[tuple[int, int], tuple[float, float]] = {}
    texts: list[dict[str, Any]] = []
    ends: list[tuple[float, list[float]]] = []
    top = 0.0
    for first in range(0, len(columns), at_once):
        chunk = range(first, min(first + at_once, len(columns)))
        left = {column: names + (column - first) * wide for column in chunk}
        heads = {column: name_lines(columns[column], wide - 6) for column in chunk}
        deepest = max(len(head) for head in heads.values())
        for column, head in heads.items():
            start = top + LINE * (deepest - len(head))
            texts += text_lines(head, left[column] + wide / 2, start, side="center")
        top += LINE * deepest + 4
        for row, parts in enumerate(lines):
            high = max(height, LINE * len(parts) + 4)
            texts += text_lines(parts, 0, top + (high - LINE * len(parts)) / 2)
            places |= {(row, column): (left[column], top + (high - height) / 2) for column in chunk}
            top += high
        ends.append((top, list(left.values())))
        top += foot + 14
    return Grid(width, top - 14, (wide, height), places, texts, ends)
