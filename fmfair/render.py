"""Tables of ready-made cells as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 100
MAX_CELL = 32
# A table that does not fit is continued below; each piece holds at least this many columns beside the keys.
MIN_COLUMNS = 3


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes:
        title: Its heading.
        header: The column names.
        rows: The cells, without control characters.
        keys: How many of the first columns say what a row is; they are left-aligned, the others right-aligned.
        marked: Row and column of the cells to point out.
        remarks: Sentences below.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: int
    marked: frozenset[tuple[int, int]] = frozenset()
    remarks: tuple[str, ...] = ()


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
        >>> visible("")
        '""'
    """
    if not text:
        return '""'
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def to_text(digest: Digest, width: int = WIDTH) -> str:
    """The digest as lines of about `width` columns; marked cells end with a star."""
    parts = [_wrapped(digest.title, width)]
    for table in digest.tables:
        remarks = [_wrapped(remark, width) for remark in table.remarks]
        parts.append("\n".join([table.title, *_pieces(table, width), *remarks]))
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
        parts += [f"<p>{escape(table.title)}</p>", *_html_table(table)]
        parts += [f"<p><small>{escape(remark)}</small></p>" for remark in table.remarks]
    if digest.notes:
        parts += ["<p>Notes</p>", "<ul>", *(f"<li>{escape(note)}</li>" for note in digest.notes), "</ul>"]
    return "\n".join([*parts, "</div>"])


def _html_table(table: Table) -> list[str]:
    lines = ['<div style="overflow-x:auto">', "<table>", "<thead>"]
    lines += [_html_row("th", table.header, table.keys, set()), "</thead>", "<tbody>"]
    for r, row in enumerate(table.rows):
        lines.append(_html_row("td", row, table.keys, {c for i, c in table.marked if i == r}))
    return [*lines, "</tbody>", "</table>", "</div>"]


def _html_row(tag: str, cells: Sequence[str], keys: int, marked: set[int]) -> str:
    shown = []
    for c, cell in enumerate(cells):
        side = "left" if c < keys else "right"
        content = f"<b>{escape(cell)}</b>" if c in marked else escape(cell)
        shown.append(f'<{tag} style="text-align:{side}">{content}</{tag}>')
    return f"<tr>{''.join(shown)}</tr>"


def _pieces(table: Table, width: int) -> list[str]:
    """The lines of a table; columns that do not fit beside each other follow below, the keys repeated."""
    starred = {column for _, column in table.marked}
    columns = []
    for c, name in enumerate(table.header):
        cells = [name, *(row[c] for row in table.rows)]
        if c in starred:
            cells = [cell + ("*" if (r - 1, c) in table.marked else " ") for r, cell in enumerate(cells)]
        columns.append(_padded(cells, left=c < table.keys))
    keys, values = columns[: table.keys], columns[table.keys :]
    lines: list[str] = []
    while True:
        fitting = _how_many(keys, values, width)
        lines += ["  ".join(cells).rstrip() for cells in zip(*keys, *values[:fitting], strict=True)]
        values = values[fitting:]
        if not values:
            return lines
        lines.append("")


def _how_many(keys: Sequence[Sequence[str]], values: Sequence[Sequence[str]], width: int) -> int:
    used = sum(_columns(cells[0]) + 2 for cells in keys) - 2
    for count, cells in enumerate(values):
        used += _columns(cells[0]) + 2
        if used > width and count >= MIN_COLUMNS:
            return count
    return len(values)


def _padded(cells: Sequence[str], *, left: bool) -> list[str]:
    short = [_shortened(cell) for cell in cells]
    width = max(_columns(cell) for cell in short)
    return [cell + " " * (width - _columns(cell)) if left else " " * (width - _columns(cell)) + cell for cell in short]


def _shortened(cell: str) -> str:
    """A long text without its middle, since names that belong together differ at either end."""
    if _columns(cell) <= MAX_CELL:
        return cell
    head, tail, side = "", "", (MAX_CELL - 3) // 2
    for c in cell:
        if _columns(head + c) > side:
            break
        head += c
    for c in reversed(cell):
        if _columns(c + tail) > side:
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
