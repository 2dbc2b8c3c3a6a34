"""Tables of ready-made cells as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 100
# What joins signs into one, as in Persian words and in emoji; between other letters it would hide.
_JOINS = re.compile(r"(?<=[\u0600-\u1fff\u2190-\U0010ffff])[\u200c\u200d](?=[\u0600-\u1fff\u2190-\U0010ffff])")
MAX_CELL = 32
# Names are cut further, down to this, where that makes a table fit.
MIN_CELL = 16
_CUTS = range(MAX_CELL, MIN_CELL - 1, -1)
# A table that does not fit is continued below; each piece holds at least this many columns beside the keys.
MIN_COLUMNS = 1
# Names are cut rather than that fewer columns than this stand beside the keys.
ENOUGH_COLUMNS = 3


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes:
        title: Its heading.
        header: The column names; not shown where there are no rows.
        rows: The cells, without control characters.
        keys: How many of the first columns say what a row is.
        names: The other columns of names; they and the keys are left-aligned, numbers right-aligned.
        marked: Row and column of the cells to point out.
        mark: What stands behind a marked cell.
        remarks: Sentences below.
        leaner: The same table with less in it, from the fullest on, for texts without room for all of it.
    """

    title: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    keys: int = 0
    names: frozenset[int] = frozenset()
    marked: frozenset[tuple[int, int]] = frozenset()
    mark: str = "*"
    remarks: tuple[str, ...] = ()
    leaner: tuple[Table, ...] = ()

    @property
    def left(self) -> frozenset[int]:
        """The left-aligned columns."""
        return self.names | frozenset(range(self.keys))


@dataclass(frozen=True)
class Digest:
    """What is shown of a report."""

    title: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...]


def visible(text: str) -> str:
    r"""A text on one line: line breaks and other characters that do not print are shown as escapes.

    Examples:
        >>> print(visible("a\tb"))
        a\tb
        >>> visible("a\u200db"), visible("\u2640\u200d\u2642") == "\u2640\u200d\u2642"
        ('a\\u200db', True)
        >>> visible("")
        '""'
    """
    if not text:
        return '""'
    joins = {found.start() for found in _JOINS.finditer(text)}
    return "".join(
        c if c.isprintable() or k in joins else c.encode("unicode_escape").decode("ascii") for k, c in enumerate(text)
    )


def to_text(digest: Digest, width: int = WIDTH) -> str:
    """The digest as lines of about `width` columns."""
    parts = [_wrapped(digest.title, width)]
    for table in digest.tables:
        remarks = [_wrapped(remark, width) for remark in table.remarks]
        parts.append("\n".join([table.title, *(_lines(table, width) if table.rows else []), *remarks]))
    if digest.notes:
        parts.append("\n".join(["Notes", *(_wrapped(f"- {note}", width) for note in digest.notes)]))
    return "\n\n".join(parts)


def to_html(digest: Digest) -> str:
    """The digest as an HTML fragment; marked cells are bold, and no text is read as markup or as a formula."""
    parts = [
        '<div class="fmfair-report tex2jax_ignore mathjax_ignore">',
        f"<p><strong>{escape(digest.title)}</strong></p>",
    ]
    for table in digest.tables:
        parts += [f"<p>{escape(table.title)}</p>", *(_html_table(table) if table.rows else [])]
        parts += [f"<p><small>{escape(remark)}</small></p>" for remark in table.remarks]
    if digest.notes:
        parts += ["<p>Notes</p>", "<ul>", *(f"<li>{escape(note)}</li>" for note in digest.notes), "</ul>"]
    return "\n".join([*parts, "</div>"])


def _html_table(table: Table) -> list[str]:
    lines = ['<div style="overflow-x:auto">', "<table>", "<thead>", _html_row("th", table, table.header, set())]
    lines += ["</thead>", "<tbody>"]
    for r, row in enumerate(table.rows):
        lines.append(_html_row("td", table, row, {c for i, c in table.marked if i == r}))
    return [*lines, "</tbody>", "</table>", "</div>"]


def _html_row(tag: str, table: Table, cells: Sequence[str], marked: set[int]) -> str:
    shown = []
    for c, cell in enumerate(cells):
        side = "left" if c in table.left else "right"
        content = f"<b>{escape(cell)}</b>{escape(table.mark)}" if c in marked else escape(cell)
        shown.append(f'<{tag} style="text-align:{side}">{content}</{tag}>')
    return f"<tr>{''.join(shown)}</tr>"


def _lines(table: Table, width: int) -> list[str]:
    """The lines of the form of a table that takes the fewest, the fullest of these."""
    return min((_pieces(form, width) for form in (table, *table.leaner)), key=len)


def _pieces(table: Table, width: int) -> list[str]:
    """The lines of a table; columns that do not fit beside each other follow below, the keys repeated."""
    limits = _limits(table, width)
    columns = []
    for c, limit in enumerate(limits):
        cells = [_shortened(cell, limit) for cell in _cells(table, c)]
        columns.append(_padded(cells, left=c in table.left))
    keys, first = columns[: table.keys], table.keys
    lines: list[str] = []
    while True:
        end = first + _how_many(table, columns, first, width)
        lines += ["  ".join(cells).rstrip() for cells in zip(*keys, *columns[first:end], strict=True)]
        if end == len(columns):
            return lines
        first = end
        lines.append("")


def _cells(table: Table, c: int) -> list[str]:
    """A column with its name; in one with marks, every cell has the place for one."""
    cells = [table.header[c], *(row[c] for row in table.rows)]
    if all(column != c for _, column in table.marked):
        return cells
    blank = " " * _columns(table.mark)
    return [cell + (table.mark if (r - 1, c) in table.marked else blank) for r, cell in enumerate(cells)]


def _limits(table: Table, width: int) -> list[int]:
    """The most terminal columns of each column: names are cut as far as it takes to fit, all columns or a piece."""
    natural = [min(MAX_CELL, max(map(_columns, _cells(table, c)))) for c in range(len(table.header))]
    cut = [[min(n, most) if c in table.left else n for c, n in enumerate(natural)] for most in _CUTS]
    fitting = (
        limits for beside in (len(natural), ENOUGH_COLUMNS) for limits in cut if _width(table, limits, beside) <= width
    )
    return next(fitting, cut[-1])


def _width(table: Table, limits: Sequence[int], beside: int) -> int:
    """How wide the keys are with so many of the other columns, the widest ones."""
    columns = [*limits[: table.keys], *sorted(limits[table.keys :], reverse=True)[:beside]]
    return sum(columns) + 2 * (len(columns) - 1)


def _how_many(table: Table, columns: Sequence[Sequence[str]], first: int, width: int) -> int:
    """How many columns from the first on fit beside the keys; a name stays with the numbers behind it."""
    used = sum(_columns(cells[0]) + 2 for cells in columns[: table.keys]) - 2
    for count, cells in enumerate(columns[first:]):
        used += _columns(cells[0]) + 2
        if used > width and count >= MIN_COLUMNS:
            last = max((c for c in table.names if first + MIN_COLUMNS <= c <= first + count), default=first + count)
            return last - first
    return len(columns) - first


def _padded(cells: Sequence[str], *, left: bool) -> list[str]:
    width = max(map(_columns, cells))
    return [cell + " " * (width - _columns(cell)) if left else " " * (width - _columns(cell)) + cell for cell in cells]


def _shortened(cell: str, most: int) -> str:
    """A long text without its middle, since names that belong together differ at either end."""
    if _columns(cell) <= most:
        return cell
    tail_length = (most - 3) // 2
    head, tail = "", ""
    for c in cell:
        if _columns(head + c) > most - 3 - tail_length:
            break
        head += c
    for c in reversed(cell):
        if _columns(c + tail) > tail_length:
            break
        tail = c + tail
    return f"{head}...{tail}"


def _columns(text: str) -> int:
    """How many terminal columns a text takes: wide characters two, combining marks none."""
    if text.isascii():
        return len(text)
    bare = [c for c in text if unicodedata.category(c) not in ("Mn", "Me")]
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in bare)


def _wrapped(text: str, width: int) -> str:
    hanging = "  " if text.startswith("- ") else ""
    return textwrap.fill(
        text, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False, expand_tabs=False,
        replace_whitespace=False, drop_whitespace=True,
    )  # fmt: skip
