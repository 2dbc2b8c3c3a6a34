"""How values of a release are read: labels by lists, attributes by named rules; what no rule knows is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from fmfair.errors import Problems, listing, plural, rows_at
from fmfair.notes import Notes
from fmfair.runners.datasets.recipe import Attribute, Labels
from fmfair.runners.datasets.templates import col

# Ages that nobody has are typing errors of the release.
OLDEST = 120.0
_PER_YEAR = {"Y": 1.0, "M": 12.0, "W": 52.1775, "D": 365.25}


def cleaned(column: pl.Expr, missing: tuple[str, ...] = ()) -> pl.Expr:
    """A text without spaces around it, whole numbers without `.0`; NULL where empty or said to be missing.

    Examples:
        >>> frame = pl.DataFrame({"code": [" 1.0", "-1", "", "unknown", "10.50"]})
        >>> frame.select(cleaned(pl.col("code"), ("unknown",))).to_series().to_list()
        ['1', '-1', None, None, '10.50']
    """
    text = column.cast(pl.String).str.strip_chars().str.replace(r"^(-?\d+)\.0+$", "$1")
    return pl.when(~text.is_in(["", *missing])).then(text)


def read_labels(frame: pl.DataFrame, labels: Labels, rule: str, problems: Problems) -> list[pl.Series]:
    """The labels as 1, 0 and NULL."""
    lists = labels.lists(rule)
    if labels.separator:
        return _listed(frame, labels, problems)
    words = dict.fromkeys(lists["positive"], 1) | dict.fromkeys(lists["negative"], 0)
    known = {*words, *lists["unknown"]}
    read = []
    for label, column in labels.names.items():
        # An empty cell says something; where the table had no row for the image, nothing is known.
        there = frame.select(col(column).is_not_null()).to_series()
        text = frame.select(cleaned(col(column)).fill_null("")).to_series()
        unknown = there & ~text.is_in(known)
        _tell_unknown(f"label {label!r}, column {column!r}", text, unknown, known, problems)
        found = text.replace_strict(words, default=None, return_dtype=pl.Int8)
        read.append(found.set(~there, None).alias(label))
    return read


def _listed(frame: pl.DataFrame, labels: Labels, problems: Problems) -> list[pl.Series]:
    """Labels of a column that lists findings; each is compared as a whole, so that none is found inside another."""
    findings = frame.select(cleaned(col(labels.column)).str.split(labels.separator)).to_series()
    stripped = findings.list.eval(pl.element().str.strip_chars())
    known = {*labels.names.values(), *labels.positive}
    each = stripped.explode(empty_as_null=True).drop_nulls()
    _tell_unknown(f"column {labels.column!r}", each, ~each.is_in(known), known, problems)
    return [stripped.list.contains(finding).cast(pl.Int8).alias(name) for name, finding in labels.names.items()]


def read_attribute(frame: pl.DataFrame, name: str, how: Attribute, problems: Problems, notes: Notes) -> pl.Series:
    """An attribute by its rule."""
    before = frame.select(cleaned(col(how.column), how.missing)).to_series()
    after = RULES[how.rule](frame, before, how).alias(name)
    where = f"attribute {name!r}, column {how.column!r}"
    if how.rule in ("number", "years", "age_at"):
        wrong = (before.is_not_null() & after.is_null()).arg_true().to_list()
        if wrong:
            problems.add(f"{where}: {plural(len(wrong), 'value')} cannot be read as a number ({rows_at(wrong)})")
        if name == "age" or how.rule != "number":
            return _plausible(after, where, notes)
        return after
    known = set(how.words) or set(how.known)
    if known:
        _tell_unknown(where, before.fill_null(""), ~before.is_in(known).fill_null(value=True), known, problems)
    return after


def _plausible(ages: pl.Series, where: str, notes: Notes) -> pl.Series:
    wrong = ((ages < 0) | (ages > OLDEST)).fill_null(value=False)
    if wrong.any():
        notes.warn(f"{where}: {plural(int(wrong.sum()), 'age')} below 0 or above {OLDEST:g} read as missing")
    return ages.set(wrong, None)


def _number(_: pl.DataFrame, text: pl.Series, __: Attribute) -> pl.Series:
    number = text.cast(pl.Float64, strict=False)
    return number.set(~number.is_finite().fill_null(value=True), None)


def _years(frame: pl.DataFrame, text: pl.Series, how: Attribute) -> pl.Series:
    """Ages as DICOM writes them, `039Y` or `018M`, or as plain numbers of years."""
    parts = text.str.extract_groups(r"^(\d{1,3})([DWMYdwmy])$").struct.unnest()
    unit = parts["2"].str.to_uppercase().replace_strict(_PER_YEAR, default=None, return_dtype=pl.Float64)
    return (parts["1"].cast(pl.Float64) / unit).zip_with(parts["1"].is_not_null(), _number(frame, text, how))


def _age_at(frame: pl.DataFrame, text: pl.Series, how: Attribute) -> pl.Series:
    """The age in a year, as many years older as the image was made later."""
    year = _number(frame, frame.select(cleaned(col(how.year))).to_series(), how)
    made = _number(frame, frame.select(cleaned(col(how.date)).str.slice(0, 4)).to_series(), how)
    return _number(frame, text, how) + made - year


def _words(_: pl.DataFrame, text: pl.Series, how: Attribute) -> pl.Series:
    return text.replace_strict(dict(how.words), default=None, return_dtype=pl.String)


def _text(_: pl.DataFrame, text: pl.Series, __: Attribute) -> pl.Series:
    return text


# The rules of attributes: from the table, the cleaned column and what the recipe says.
RULES: Mapping[str, Callable[[pl.DataFrame, pl.Series, Attribute], pl.Series]] = {
    "text": _text,
    "number": _number,
    "years": _years,
    "age_at": _age_at,
    "words": _words,
}


def _tell_unknown(where: str, texts: pl.Series, unknown: pl.Series, known: set[str], problems: Problems) -> None:
    """What is in no list is told, since a code that nobody looked at must not become a group or a 0."""
    found = texts.filter(unknown).value_counts(sort=True)
    if found.height:
        values = [value or "an empty cell" for value in found.to_series()]
        problems.add(
            f"{where}: {plural(int(unknown.sum()), 'value')} that the recipe does not know ({listing(values)}); it "
            f"knows {listing(sorted(known), 20)}"
        )
