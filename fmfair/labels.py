"""Labels: whatever says what is true of a sample, as 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import polars as pl
import polars.selectors as cs

from fmfair.attributes import group_names
from fmfair.convert import text_of
from fmfair.errors import FmfairError, listing, plural
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.tally import EACH, Tally

MAX_SHOWN = 8


def binary(
    values: pl.Series,
    name: str,
    options: Options,
    notes: Notes,
    argument: str = "y_true",
    tally: Tally = EACH,
) -> pl.Series:
    """The labels as 0 and 1 (Int64), NULL where missing or ignored.

    Args:
        values: Labels of any type.
        name: The column's name, for messages.
        options: `positive`, `ignore`, `missing_labels` and `conventions` are used.
        notes: Says how many labels were missing, ignored, or merged into the negatives.
        argument: The argument that the column was given as.
        tally: How many rows each value stands for.

    Raises:
        FmfairError: The labels are not 0/1 and `positive` is not given or does not occur, or labels are missing
            where that is an error.
    """
    check_type(values, name, argument)
    values = _without_missing(values, name, options, notes, argument, tally)
    if options.ignore:
        ignored = is_any(values, options.ignore)
        rows = tally.count(ignored)
        if rows:
            notes.say(f"{argument}: {notes.counted(rows, 'row')} with {listing(options.ignore)} left out (ignore=)")
        values = values.set(ignored, None)
    if options.positive is None:
        return _zero_one(values, name, argument)
    return _one_vs_rest(values, name, options.positive, notes, argument)


def check_type(values: pl.Series, name: str, argument: str = "y_true") -> None:
    """Labels may be anything that can be compared and printed.

    Raises:
        FmfairError: They are lists, structs, bytes or objects.
    """
    if values.dtype.is_nested() or values.dtype in (pl.Object, pl.Binary):
        raise FmfairError(
            f"{argument}: column {name!r} has the type {values.dtype}, expected 0/1, booleans, or classes with "
            "positive="
        )


def classes(values: pl.Series, options: Options) -> list[Any]:
    """The distinct labels in sorted order, without the missing and the ignored ones."""
    present = values.fill_nan(None).drop_nulls() if values.dtype.is_float() else values.drop_nulls()
    if options.ignore:
        present = present.filter(~is_any(present, options.ignore))
    return present.unique().sort().to_list()


def one_hot(frame: pl.DataFrame, columns: Sequence[str], tally: Tally = EACH) -> pl.Series:
    """The name of the column that holds the 1 in each row; NULL where every column is missing.

    Raises:
        FmfairError: The columns are not 0/1, or a row does not hold exactly one 1.
    """
    for name in columns:
        dtype = frame[name].dtype
        if not dtype.is_numeric() and dtype not in (pl.Boolean, pl.Null, pl.String):
            raise FmfairError(f"y_true: column {name!r} has the type {dtype}; one-hot columns hold 0 and 1")
    ones = frame.select(cs.by_name(*columns).cast(pl.Float64, strict=False).fill_nan(None))
    missing = ones.select(pl.all_horizontal(pl.all().is_null())).to_series()
    bad = (
        ones.select(
            ~pl.all_horizontal(pl.all().is_in([0.0, 1.0])).fill_null(False) | (pl.sum_horizontal(pl.all()) != 1.0)
        ).to_series()
        & ~missing
    )
    if bad.any():
        raise FmfairError(
            f"y_true={list(columns)!r} is read as one-hot columns, but {plural(tally.count(bad), 'row')} "
            f"({tally.at(bad)}) do not hold exactly one 1; for several findings per sample give "
            "labels={'name': (y_true, y_score), ...}"
        )
    position = ones.select(pl.concat_list(pl.all()).list.arg_max()).to_series()
    names = pl.Series("class", list(columns), dtype=pl.String)
    return names.gather(position.cast(pl.UInt32)).set(missing, None)


def _without_missing(
    values: pl.Series, name: str, options: Options, notes: Notes, argument: str, tally: Tally
) -> pl.Series:
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if values.dtype == pl.String and options.missing_values:
        values = values.set(values.is_in(list(options.missing_values)), None)
    if values.null_count():
        missing = values.is_null()
        if options.missing_labels == "raise" or options.conventions.strict_input:
            raise FmfairError(
                f"{argument}: column {name!r} has {plural(tally.count(missing), 'missing value')} "
                f"({tally.at(missing)}); fill in or remove these rows"
                + ("" if options.conventions.strict_input else ", or leave them out with missing_labels='drop'")
            )
        notes.warn(
            f"{argument}: {notes.counted(tally.count(missing), 'row')} with a missing label in {name!r} left out"
        )
    return values


def _zero_one(values: pl.Series, name: str, argument: str) -> pl.Series:
    if values.dtype == pl.Boolean:
        return values.cast(pl.Int64)
    if isinstance(values.dtype, pl.Enum) and set(values.dtype.categories) <= {"0", "1"}:
        return values.cast(pl.String).cast(pl.Int64)  # categories of pandas and Arrow, whatever their type, are text
    found = values.drop_nulls().unique().sort()
    if values.dtype.is_numeric() and ((found == 0) | (found == 1)).all():
        return values.cast(pl.Int64)
    if found.is_empty():
        raise FmfairError(f"{argument}: column {name!r} has no label at all")
    shown = listing(found.to_list(), limit=MAX_SHOWN)
    text = " as text" if values.dtype == pl.String else ""
    raise FmfairError(
        f"{argument}: column {name!r} has the values {shown}{text}; say which is the positive class with positive=, "
        f"e.g. positive={found[-1]!r} (all others count as negative; leave values out with ignore=[...])"
    )


def _one_vs_rest(values: pl.Series, name: str, positive: Any, notes: Notes, argument: str) -> pl.Series:
    is_positive = is_any(values, (positive,))
    if not is_positive.any():
        found = values.drop_nulls().unique().sort()
        raise FmfairError(
            f"{argument}: positive={positive!r} does not occur in column {name!r}, which has the values "
            f"{listing(found.to_list(), limit=MAX_SHOWN)} (type {values.dtype})"
        )
    others = values.filter(~is_positive).drop_nulls().unique().sort()
    if len(others) > 1:
        merged = listing(group_names(others), limit=MAX_SHOWN)
        notes.say(f"{argument}: {positive!r} against the rest; {merged} count as negative")
    return is_positive.cast(pl.Int64)


def is_any(values: pl.Series, wanted: Sequence[Any]) -> pl.Series:
    """Whether each value is one of those wanted, compared in the column's own type; NULL where missing."""
    if values.dtype.is_numeric():
        numbers: list[Any] = [w for w in wanted if isinstance(w, int | float | Decimal) and not isinstance(w, bool)]
        if values.dtype.is_integer():
            whole = [int(w) for w in numbers if abs(w) < 2**127 and w == int(w)]
            return values.cast(pl.Int128).is_in(pl.Series(whole, dtype=pl.Int128).implode())
        return values.cast(pl.Float64).is_in([float(w) for w in numbers if abs(w) < 1e308])
    if values.dtype == pl.Boolean:
        # Comparing by identity of type keeps True apart from "True".
        return values.is_in([bool(w) for w in wanted if isinstance(w, bool) or w in (0, 1)])
    if isinstance(values.dtype, pl.Enum):
        return values.cast(pl.String).is_in([text_of(w) for w in wanted if w is not None])
    if isinstance(values.dtype, pl.Categorical) or values.dtype == pl.String:
        return values.cast(pl.String).is_in([w for w in wanted if isinstance(w, str)])
    return values.is_in(pl.concat([_of_type(w, values.dtype) for w in wanted]).implode())


def _of_type(value: Any, dtype: pl.DataType) -> pl.Series:
    """A value in the type of a column of dates, times or durations; empty where it is none."""
    try:
        found = pl.Series([value], dtype=dtype, strict=False).drop_nulls()
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        found = pl.Series()
    return found if found.dtype == dtype else pl.Series(dtype=dtype)
