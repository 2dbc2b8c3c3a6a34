"""Attributes: from a column of any type to coded groups with names in a natural order."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from fmfair.binning import bin_codes
from fmfair.columns import normalise
from fmfair.convert import text_of
from fmfair.errors import FmfairError, listing, plural
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.tally import EACH, Tally

MAX_CONTINUOUS = 20
MAX_CODES = 100
# With so few groups none is too small to be one.
FEW = 10
# Rows from which the groups of a text column are guessed, where they are no more than this many.
GUESSED_FROM, GUESSED = 10_000, 1_000
AGE_CUTS = (18.0, 40.0, 60.0, 80.0)
MISSING_GROUP = "(missing)"
_DECIMAL = re.compile(r"[+-]?\d+(\.\d+)?")


@dataclass(frozen=True)
class Attribute:
    """One attribute whose groups are numbered 0, 1, ... in their natural order.

    Attributes:
        name: The column's name as the user wrote it.
        column: The column of group codes (UInt32, NULL where missing) in the table of samples.
        labels: The group names; a code is a position in this list.
        declared: Whether the levels were declared (an Enum, bins), so that unused ones are listed too.
    """

    name: str
    column: str
    labels: tuple[str, ...]
    declared: bool


def encode(
    values: pl.Series, name: str, column: str, options: Options, notes: Notes, tally: Tally = EACH
) -> tuple[Attribute, pl.Series]:
    """The attribute behind a column and its group codes (UInt32, NULL where missing).

    Args:
        values: The column, or its distinct values.
        name: Its name.
        column: What the codes are called.
        options: `bins`, `missing_values`, `missing_groups` and `conventions` are used.
        notes: Says how numbers were made groups.
        tally: How many rows each value stands for.

    Raises:
        FmfairError: The column looks continuous, nearly all its values differ, its type cannot name groups, or its
            bins do not fit.
    """
    values = _with_missing(values, options.missing_values)
    bins = options.bins.get(name)
    if bins is None and _is_age_to_cut(values, name, options):
        bins = AGE_CUTS
        notes.say(f"{name}: cut at {', '.join(f'{c:g}' for c in AGE_CUTS)} since no bins= were given")
    if bins is not None:
        labels, codes = bin_codes(values, name, bins, options.conventions, notes, tally)
        declared = True
    else:
        labels, codes, declared = _levels(values, name, options, notes, tally)
    if options.missing_groups == "keep" and codes.null_count():
        codes = codes.fill_null(len(labels))
        labels = [*labels, _free_name(labels)]
    return Attribute(name, column, tuple(labels), declared), codes.cast(pl.UInt32).alias(column)


def _with_missing(values: pl.Series, strings: Sequence[str]) -> pl.Series:
    """NaN, and the texts that the user calls missing, as NULL; a column that is then all numbers becomes numeric."""
    if values.dtype.is_float():
        return values.fill_nan(None)
    if values.dtype == pl.String and strings:
        kept = values.set(values.is_in(list(strings)), None)
        numbers = kept.str.strip_chars().cast(pl.Float64, strict=False)
        had_missing = kept.null_count() > values.null_count()
        return numbers if had_missing and numbers.null_count() == kept.null_count() else kept
    return values


def _is_age_to_cut(values: pl.Series, name: str, options: Options) -> bool:
    if normalise(name) != "age" or not values.dtype.is_numeric() or options.conventions.strict_input:
        return False
    largest = values.max()
    return values.n_unique() > MAX_CONTINUOUS or (isinstance(largest, int | float) and largest >= AGE_CUTS[0])


def _free_name(labels: Sequence[str]) -> str:
    name = MISSING_GROUP
    while name in labels:
        name = f"({name})"
    return name


def _levels(
    values: pl.Series, name: str, options: Options, notes: Notes, tally: Tally
) -> tuple[list[str], pl.Series, bool]:
    dtype = values.dtype
    if isinstance(dtype, pl.Enum):
        return list(dtype.categories), values.to_physical(), True
    if dtype == pl.Null:
        return [], values.cast(pl.UInt32), False
    if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
        raise FmfairError(
            f"attribute {name!r} has the type {dtype}, which cannot name groups; turn it into text, numbers or dates"
        )
    guessed = _guessed(values, options) if dtype == pl.String and tally is EACH else None
    if guessed is not None:
        ordered, codes = guessed
        if len(ordered) > FEW and not options.conventions.strict_input:
            _check_rows(name, codes.drop_nulls().value_counts(name="rows")["rows"])
        return ordered, codes, False
    counts = tally.value_counts(values)
    levels = counts["value"]
    if dtype.is_numeric():
        _check_continuous(levels, name, options, notes)
    if not options.conventions.strict_input:
        _check_rows(name, counts["rows"])
    names = group_names(levels)
    if dtype == pl.String or isinstance(dtype, pl.Categorical):
        ordered = _ordered(names, options)
        return ordered, values.cast(pl.Enum(ordered)).to_physical(), False
    codes = pl.Series(range(len(levels)), dtype=pl.UInt32)
    coded = values.replace_strict(levels, codes, default=None, return_dtype=pl.UInt32) if len(levels) else values
    return names, coded, False


def _guessed(values: pl.Series, options: Options) -> tuple[list[str], pl.Series] | None:
    """The levels of a text column and their codes, guessed from some of its rows, so that all are read only once.

    None where the guess does not hold: some row has another value.
    """
    names = values.gather_every(max(len(values) // GUESSED_FROM, 1)).drop_nulls().unique().sort()
    if len(names) > GUESSED:
        return None
    ordered = _ordered(names.to_list(), options)
    codes = values.cast(pl.Enum(ordered), strict=False)
    return None if codes.null_count() > values.null_count() else (ordered, codes.to_physical())


def _ordered(names: Sequence[str], options: Options) -> list[str]:
    return sorted(names, key=_loose_key) if options.conventions.strict_input else natural_order(names)


def _check_continuous(levels: pl.Series, name: str, options: Options, notes: Notes) -> None:
    """More than 20 distinct decimals, or more than 100 whole numbers, are a measurement and not groups."""
    whole = levels.dtype.is_integer() or bool((levels == levels.round()).all())
    limit = MAX_CODES if whole and not options.conventions.strict_input else MAX_CONTINUOUS
    if len(levels) > limit:
        raise looks_continuous(name, len(levels), levels[0], levels[-1])
    if len(levels) > MAX_CONTINUOUS:
        notes.say(f"{name}: {len(levels)} whole numbers were taken as group codes; give bins= if it is a measurement")


def _check_rows(name: str, counts: pl.Series) -> None:
    check_distinct(name, len(counts), int((counts == 1).sum()), int(counts.sum()))


def looks_continuous(name: str, groups: int, low: object, high: object) -> FmfairError:
    """The error for an attribute of so many different numbers that they are a measurement."""
    return FmfairError(
        f"attribute {name!r} looks continuous ({groups} distinct values from {low} to {high}); group it with "
        f"bins={{{name!r}: [40, 60]}} (cut points) or bins={{{name!r}: 4}} (quantiles), or cast it to text if each "
        "value is a group"
    )


def check_distinct(name: str, groups: int, single: int, rows: int) -> None:
    """Groups of which most (`single`) have one row are no groups.

    Raises:
        FmfairError: They are so, and more than a few.
    """
    if groups > FEW and single > groups / 2:
        raise FmfairError(
            f"nearly every value of {name!r} is different ({groups} groups for {rows} rows, "
            f"{plural(single, 'group')} of one row); group it first, e.g. a date by year or a number with bins="
        )


def group_names(levels: pl.Series) -> list[str]:
    """The text that names each value: 1.0 is `1`, booleans `True` and `False`, dates ISO."""
    return [text_of(v) for v in levels]


def natural_order(names: Sequence[str]) -> list[str]:
    """Numeric order when every name is a plain decimal number, alphabetical order otherwise.

    Examples:
        >>> natural_order(["10", "9", "2.5"])
        ['2.5', '9', '10']
        >>> natural_order(["10", "9", "x"])
        ['10', '9', 'x']
    """
    if all(_DECIMAL.fullmatch(n) for n in names):
        return sorted(names, key=lambda n: (float(n), n))
    return sorted(names)


def _loose_key(name: str) -> tuple[int, float, str]:
    """The published package's order: all that Python reads as a float first, then the rest.

    It also sorts by the float behind the text "nan", which puts the groups in an order that changes from run to run;
    here that is text.
    """
    try:
        number = float(name)
    except ValueError:
        number = math.nan
    return (1, 0.0, name) if math.isnan(number) else (0, number, "")


def check_bins(bins: Iterable[str], attributes: Sequence[str]) -> None:
    """Bins may be given for attributes only."""
    unknown = [name for name in bins if name not in attributes]
    if unknown:
        raise FmfairError(f"bins= names {listing(unknown)}, which is not among the attributes {listing(attributes)}")


def check_names(names: Sequence[str]) -> None:
    """An attribute may be named once only."""
    double = sorted({n for n in names if names.count(n) > 1})
    if double:
        raise FmfairError(f"duplicate attribute name {listing(double)}; name each attribute once")
