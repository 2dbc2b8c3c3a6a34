"""The files of a release: tables whose cells are all text, lists of names, and images found by patterns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import polars.selectors as cs

from fmfair.errors import FmfairError, listing, near
from fmfair.runners.datasets.recipe import Table

_FIELD = re.compile(r"\{([^{}\[\]]+)(?:\[(-?\d*):(-?\d*)\])?\}")


def find_table(root: Path, table: Table) -> Path | None:
    """The first of the files that there is; None where an optional one is missing."""
    for name in table.file:
        for found in sorted(root.glob(name)):
            return found
    if table.optional:
        return None
    others = f" (or {', '.join(table.file[1:])})" if len(table.file) > 1 else ""
    raise FmfairError(f"no {table.file[0]}{others} in {root}{f': {table.why}' if table.why else ''}")


def read_table(path: Path, sheet: str = "", headings: int = 1) -> pl.DataFrame:
    """A CSV file, plain or compressed, or the named sheet, else the first, of an Excel file; every cell is text."""
    try:
        if path.suffix.lower() in (".xlsx", ".xls"):
            return _sheet(path, sheet, headings)
        with path.open("rb") as file:  # an open file, so that no part of the path is read as a pattern
            return pl.read_csv(file, infer_schema=False, separator="\t" if path.suffix in (".tab", ".tsv") else ",")
    except ModuleNotFoundError as error:
        raise FmfairError('Excel files need the package fastexcel: pip install "fmfair[tables]"') from error
    except (OSError, pl.exceptions.PolarsError, ValueError) as error:
        raise FmfairError(f"cannot read {path}: {str(error).splitlines()[0]}") from error


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
    body = cells.slice(headings).rename(dict(zip(cells.columns, unique, strict=True)))
    return body.filter(~pl.all_horizontal(pl.all().is_null()))


def read_names(path: Path) -> list[str]:
    """The lines of a list."""
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise FmfairError(f"cannot read {path}: {error.strerror or error}") from error


def col(name: str) -> pl.Expr:
    """A column by its exact name; `pl.col` would expand `*` and `^...$`."""
    return cs.by_name(name).as_expr()


def columns_of(template: str) -> list[str]:
    """The columns that a template names.

    Examples:
        >>> columns_of("RET{ID[1:]}{eye}.jpg")
        ['ID', 'eye']
    """
    return [match[1] for match in _FIELD.finditer(template)]


def filled(template: str) -> pl.Expr:
    """A template with its columns filled in; NULL where one is.

    Examples:
        >>> pl.DataFrame({"ID": ["#004"]}).select(filled("RET{ID[1:]}OD.jpg")).item()
        'RET004OD.jpg'
    """
    parts: list[pl.Expr] = []
    end = 0
    for match in _FIELD.finditer(template):
        parts += [pl.lit(template[end : match.start()]), _part(match)]
        end = match.end()
    return pl.concat_str(*parts, pl.lit(template[end:]))


def _part(match: re.Match[str]) -> pl.Expr:
    text = col(match[1]).cast(pl.String).str.strip_chars()
    start, stop = int(match[2] or 0), match[3]
    return text.str.slice(start, int(stop) - start if stop else None)


def find_images(root: Path, frame: pl.DataFrame, patterns: tuple[str, ...]) -> pl.Series:
    """The path of each row's image from the root; NULL where a pattern with `*` or `?` matches nothing."""
    path = pl.Series("path", [None] * frame.height, dtype=pl.String)
    for pattern in patterns:
        here = (
            _found(root, frame, pattern) if re.search(r"[*?]", pattern) else frame.select(filled(pattern)).to_series()
        )
        path = path.zip_with(path.is_not_null(), here.alias("path"))
    return path


def _found(root: Path, frame: pl.DataFrame, pattern: str) -> pl.Series:
    """One look over the folders for all rows: what the columns of a pattern must hold is read from the paths."""
    fields = columns_of(pattern)
    regex = _regex(pattern)
    rows = []
    for path in sorted(root.glob(_FIELD.sub("*", pattern))):
        match = regex.fullmatch(path.relative_to(root).as_posix())
        if match:
            rows.append((*(match[f"f{n}"] for n in range(len(fields))), match[0]))
    there = pl.DataFrame(rows, schema=[*(f"f{n}" for n in range(len(fields))), "path"], orient="row")
    there = there.cast(pl.String).unique(there.columns[:-1], keep="first", maintain_order=True)
    keys = frame.select(_part(match).alias(f"f{n}") for n, match in enumerate(_FIELD.finditer(pattern)))
    return keys.join(there, on=keys.columns, how="left", maintain_order="left")["path"]


def _regex(pattern: str) -> re.Pattern[str]:
    text, end = "", 0
    for n, match in enumerate(_FIELD.finditer(pattern)):
        text += _wild(pattern[end : match.start()]) + f"(?P<f{n}>[^/]+)"
        end = match.end()
    return re.compile(text + _wild(pattern[end:]))


def _wild(text: str) -> str:
    return re.escape(text).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")


def check_columns(frame: pl.DataFrame, needed: Mapping[str, str]) -> list[str]:
    """What is wrong with the columns of a table, by what each is for."""
    return [
        f"no column {name!r}{near(name, frame.columns)} in {where}; it has {listing(frame.columns, 20)}"
        for name, where in needed.items()
        if name not in frame.columns
    ]
