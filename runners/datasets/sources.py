"""The files of a release: tables whose cells are all text, lists of names, and images found by patterns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from fmfair.errors import FmfairError, listing, near
from fmfair.runners.datasets.recipe import Table
from fmfair.runners.datasets.templates import columns_of, filled, parts_of, regex_of, without_fields
from fmfair.runners.presence import missing_files

# What may stand between the cells of a table in place of the comma.
_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}


def find_table(root: Path, table: Table) -> Path | None:
    """The first of the files that there is; None where an optional one is missing.

    Raises:
        FmfairError: It is missing, or several files fit.
    """
    for name in table.file:
        found = sorted(path for path in root.glob(name) if path.is_file())
        if len(found) > 1:
            names = listing(path.relative_to(root).as_posix() for path in found)
            raise FmfairError(f"{len(found)} files fit {name} in {root}: {names}; leave the one that is meant")
        if found:
            return found[0]
    if table.optional:
        return None
    others = f" (or {', '.join(table.file[1:])})" if len(table.file) > 1 else ""
    why = f": {table.why}" if table.why else ""
    raise FmfairError(f"no {table.file[0]}{others} in {root}{why}{_deeper(root, table)}")


def _deeper(root: Path, table: Table) -> str:
    """Where the table is one folder further down: the root may be that folder."""
    for name in table.file:
        for place in sorted(root.glob("*/")):
            if any(path.is_file() for path in place.glob(name)):
                return f"; there is one below {place}: is that the root?"
    return ""


def read_table(path: Path, sheet: str = "", headings: int = 1) -> pl.DataFrame:
    """A CSV file, plain or compressed, or the named sheet, else the first, of an Excel file; every cell is text.

    Rows without any cell are left out, as are spaces around the names of columns.
    """
    try:
        return _sheet(path, sheet, headings) if path.suffix.lower() in (".xlsx", ".xls") else _lines(path)
    except ModuleNotFoundError as error:
        raise FmfairError('Excel files need the package fastexcel: pip install "fmfair[tables]"') from error
    except (OSError, pl.exceptions.PolarsError, ValueError) as error:
        why = str(error).splitlines()[0]
        if "utf-8" in why or "utf8" in why:
            why = "it is no text in UTF-8; save it as CSV in UTF-8"
        raise FmfairError(f"cannot read {path}: {why}") from error


def _lines(path: Path) -> pl.DataFrame:
    """A file with a line for each row."""
    with path.open("rb") as file:  # an open file, so that no part of the path is read as a pattern
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError("it is text in UTF-16; save it as CSV in UTF-8")
        file.seek(0)
        table = pl.read_csv(file, infer_schema=False, separator="\t" if path.suffix in (".tab", ".tsv") else ",")
    for separator, word in _SEPARATORS.items():
        if table.width == 1 and separator in table.columns[0]:
            raise ValueError(f"its cells are separated by {word}; save it with commas")
    names = {name: name.strip() for name in table.columns}
    if len(set(names.values())) == len(names):
        table = table.rename(names)
    return _with_cells(table)


def _with_cells(table: pl.DataFrame) -> pl.DataFrame:
    """The rows that have any cell."""
    return table.filter(~pl.all_horizontal(pl.all().is_null()))


def _sheet(path: Path, sheet: str, headings: int) -> pl.DataFrame:
    """A sheet, whose columns bear the lowest filled cell of the rows with headings."""
    import fastexcel

    try:
        data = path.read_bytes()
        names = fastexcel.read_excel(data).sheet_names
        cells = pl.read_excel(
            data,
            sheet_name=sheet if sheet in names else names[0],
            has_header=False,
            infer_schema_length=0,
            drop_empty_rows=False,
            drop_empty_cols=False,
        )
    except fastexcel.FastExcelError as error:
        raise ValueError(f"it is no Excel file ({type(error).__name__})") from error
    cells = cells.cast(pl.String)
    names = []
    for position, column in enumerate(cells.head(headings).get_columns()):
        filled = [text.strip() for text in column.drop_nulls() if text.strip()]
        names.append(filled[-1] if filled else f"column {position + 1}")
    unique = [name if name not in names[:i] else f"{name} ({i + 1})" for i, name in enumerate(names)]
    return _with_cells(cells.slice(headings).rename(dict(zip(cells.columns, unique, strict=True))))


def read_names(path: Path) -> list[str]:
    """The lines of a list."""
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise FmfairError(f"cannot read {path}: {error.strerror or error}") from error


def find_images(root: Path, frame: pl.DataFrame, patterns: tuple[str, ...], *, look: bool = True) -> pl.Series:
    """The path of each row's image from the root, by the first pattern that leads to one; NULL where none does.

    Args:
        root: The folder of the release.
        frame: With the columns that the patterns name.
        patterns: Templates of paths; `*` and `?` stand for what is found.
        look: Whether to look for files; without it a pattern that has neither `*` nor `?` always leads to one.
    """
    path = pl.Series("path", [None] * frame.height, dtype=pl.String)
    for pattern in patterns:
        if not path.null_count():
            break
        wild = bool(re.search(r"[*?]", pattern))
        here = _found(root, frame, pattern) if wild else frame.select(filled(pattern)).to_series()
        here = here.set(path.is_not_null(), None)
        if wild or look:
            here = here.set(here.is_in(missing_files(root, here.drop_nulls().unique(maintain_order=True))), None)
        path = path.zip_with(path.is_not_null(), here.alias("path"))
    return path


def _found(root: Path, frame: pl.DataFrame, pattern: str) -> pl.Series:
    """One look over the folders for all rows: what the columns of a pattern must hold is read from the paths."""
    fields = [f"f{n}" for n in range(len(columns_of(pattern)))]
    regex = regex_of(pattern)
    rows = []
    for path in sorted(root.glob(without_fields(pattern, "*"))):
        match = regex.fullmatch(path.relative_to(root).as_posix())
        if match:
            rows.append((*(match[field] for field in fields), match[0]))
    there = pl.DataFrame(rows, schema=dict.fromkeys((*fields, "path"), pl.String), orient="row")
    there = there.unique(fields, keep="first", maintain_order=True)
    keys = frame.select(parts_of(pattern))
    return keys.join(there, on=fields, how="left", maintain_order="left")["path"]


def similar(root: Path, pattern: str) -> str:
    """An image that is there in place of a missing one: with small letters for capitals, or another ending."""
    stem = re.sub(r"\.\w+$", ".*", pattern)
    any_case = "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in re.sub(r"([\[\]])", "?", stem))
    try:
        found = [path.relative_to(root).as_posix() for path in sorted(root.glob(any_case))]
    except (NotImplementedError, ValueError):  # the names of the release lead out of it
        return ""
    lost = missing_files(root, found)
    here = [path for path in found if path not in lost]
    return f"; there is {here[0]!r} in place of the first" if here else ""


def check_columns(frame: pl.DataFrame, needed: Mapping[str, str]) -> list[str]:
    """What is wrong with the columns of a table, by what each is for."""
    return [
        f"no column {name!r}{near(name, frame.columns)} in {where}; it has {listing(frame.columns, 20)}"
        for name, where in needed.items()
        if name not in frame.columns
    ]
