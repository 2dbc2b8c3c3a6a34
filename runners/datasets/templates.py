"""Templates such as `RET{ID[1:]}{eye}.jpg`: columns in braces, with a slice where a part of the text is meant."""

from __future__ import annotations

import re

import polars as pl
import polars.selectors as cs

_FIELD = re.compile(r"\{([^{}\[\]]+)(?:\[(-?\d*):(-?\d*)\])?\}")


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


def without_fields(template: str, filler: str) -> str:
    """A template with the same text in place of every column.

    Examples:
        >>> without_fields("RET{ID[1:]}{eye}.jpg", "*")
        'RET**.jpg'
    """
    return _FIELD.sub(filler, template)


def filled(template: str) -> pl.Expr:
    """A template with its columns filled in; NULL where one is.

    Examples:
        >>> pl.DataFrame({"ID": ["#004"]}).select(filled("RET{ID[1:]}OD.jpg")).item()
        'RET004OD.jpg'
        >>> pl.DataFrame({"name": ["data_12.npz"]}).select(filled("{name[5:-4]}")).item()
        '12'
    """
    parts: list[pl.Expr] = []
    end = 0
    for match in _FIELD.finditer(template):
        parts += [pl.lit(template[end : match.start()]), _part(match)]
        end = match.end()
    return pl.concat_str(*parts, pl.lit(template[end:]))


def parts_of(template: str) -> list[pl.Expr]:
    """What each column of a template gives to it, as `f0`, `f1`, ..."""
    return [_part(match).alias(f"f{n}") for n, match in enumerate(_FIELD.finditer(template))]


def regex_of(pattern: str) -> re.Pattern[str]:
    """What a path must look like to fit a template with `*` and `?`; its columns are the groups `f0`, `f1`, ..."""
    text, end = "", 0
    for n, match in enumerate(_FIELD.finditer(pattern)):
        text += _wild(pattern[end : match.start()]) + f"(?P<f{n}>[^/]+)"
        end = match.end()
    return re.compile(text + _wild(pattern[end:]))


def _part(match: re.Match[str]) -> pl.Expr:
    """The part of a column's text from `start` up to `stop`, both counted from the end where negative."""
    text = col(match[1]).cast(pl.String).str.strip_chars()
    start, stop = int(match[2] or 0), match[3]
    if start < 0:
        return text.str.tail(-start).str.head(int(stop)) if stop else text.str.tail(-start)
    return text.str.head(int(stop)).str.slice(start) if stop else text.str.slice(start)


def _wild(text: str) -> str:
    return re.escape(text).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
