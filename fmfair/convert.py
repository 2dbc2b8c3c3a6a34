"""Tables and columns that live in memory (pandas, Arrow, DuckDB, dictionaries, lists) as Polars frames and series."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl

from fmfair.errors import FmfairError, listing, plural

# What the messages of other libraries mean to a user.
PLAINER = {
    "found more fields": "a row has more fields than the header",
    "is not properly escaped": "a quoted field is never closed",
    "CSV malformed": "a field without quotes holds a single quote mark",
    "invalid utf-8": "it is not UTF-8 text; save it as UTF-8",
    "'utf-8' codec": "it is not UTF-8 text; save it as UTF-8",
}

# Java names one error behind the other; the last is what happened.
_JAVA_CAUSE = re.compile(r"^(?:Caused by)?: [\w.$]+: (.+)$", re.MULTILINE)


@contextmanager
def plain_errors(doing: str) -> Iterator[None]:
    """Turns whatever another library raises into one readable line: `cannot <doing>: <its first line>`.

    Raises:
        FmfairError: for every exception inside, except an FmfairError, which passes unchanged.
    """
    try:
        yield
    except FmfairError:
        raise
    # A Polars panic is no Exception. Ctrl-C and the like are neither and pass.
    except (Exception, pl.exceptions.PanicException) as error:
        lines = [line.strip(" :") for line in str(error).splitlines() if line.strip()]
        reason = next((plain for words, plain in PLAINER.items() if words in str(error)), None)
        reason = reason or next(iter(_JAVA_CAUSE.findall(str(error))[-1:]), None)
        raise FmfairError(f"cannot {doing}: {reason or (lines or [type(error).__name__])[0]}") from error


def library(value: object) -> str:
    """The top-level module that defines the type of a value, such as `pandas`: known without importing it."""
    return _package(type(value))


def is_a(value: object, package: str, *classes: str) -> bool:
    """Whether a value is of one of these classes of a package, or of one derived from it: without importing it."""
    return any(c.__name__ in classes and _package(c) == package for c in type(value).__mro__)


def _package(kind: type) -> str:
    return kind.__module__.split(".")[0].lstrip("_")


def refuse_duplicates(names: Iterable[str], where: str) -> None:
    """Raises FmfairError that names the column names that occur more than once."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise FmfairError(f"{where} has more than one column named {listing(repeated)}; rename all but one")


def text_of(value: object) -> str:
    """The text by which a category is shown: 1.0 as `1`, a date in ISO form, everything else as its own text.

    Examples:
        >>> text_of(1.0), text_of(0.5), text_of(True), text_of("1.0")
        ('1', '0.5', 'True', '1.0')
    """
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(float(value))
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return str(value)


def from_pandas(frame: Any, where: str) -> pl.DataFrame:
    """A pandas DataFrame; named index levels become columns, an unnamed index is left out.

    Categorical columns become Enum in the declared order, unused categories included. NaN, None, NA and NaT are null.
    """
    if frame.columns.nlevels > 1:
        raise FmfairError(f"{where} has several levels of column names; flatten them to one text per column")
    names = [str(name) for name in frame.columns]
    refuse_duplicates(names, where)
    columns = {name: frame.iloc[:, i] for i, name in enumerate(names)}
    levels = {}
    for i, level in enumerate(frame.index.names):
        if level is None:
            continue
        values = frame.index.get_level_values(i).to_series(index=frame.index, name=level)
        # set_index(..., drop=False) leaves the same values in both places, which is no clash.
        if str(level) not in columns or not values.equals(columns[str(level)]):
            levels[str(level)] = values
    refuse_duplicates([*levels, *names], f"{where} (with its pandas index)")
    return pl.DataFrame({name: column(values, name, where) for name, values in {**levels, **columns}.items()})


def from_arrow(source: Any, where: str) -> pl.DataFrame:
    """Whatever speaks Arrow: a pyarrow Table, RecordBatch or RecordBatchReader, a DuckDB relation, an Arrow stream.

    Dictionary columns become Enum in the order of the dictionary, unused values included.
    """
    import pyarrow as pa  # slow to import, and most calls need none of it

    with plain_errors(f"read {where}"):
        if not hasattr(source, "__arrow_c_stream__") and hasattr(source, "fetch_arrow_table"):
            source = source.fetch_arrow_table()  # relations of older DuckDB versions
        table = source if isinstance(source, pa.Table) else pa.table(source)
    refuse_duplicates(table.column_names, where)
    return pl.DataFrame({name: column(table.column(i), name, where) for i, name in enumerate(table.column_names)})


def from_mapping(columns: Mapping[Any, object], where: str) -> pl.DataFrame:
    """A dictionary of columns of equal length; pairs by position."""
    refuse_duplicates((str(name) for name in columns), where)
    series = [column(values, str(name), where) for name, values in columns.items()]
    if len({len(s) for s in series}) > 1:
        lengths = ", ".join(f"{s.name!r} has {plural(len(s), 'row')}" for s in series)
        raise FmfairError(f"the columns of {where} differ in length: {lengths}")
    indexes = [values.index for values in columns.values() if library(values) == "pandas" and hasattr(values, "index")]
    if any(not index.equals(indexes[0]) for index in indexes[1:]):
        raise FmfairError(f"the pandas columns of {where} have different indexes; put them into one DataFrame first")
    return pl.DataFrame({s.name: s for s in series})


def column(values: Any, name: str, where: str = "the table") -> pl.Series:
    """One column from a list, a NumPy array, a tensor, or a Series or array of Polars, pandas or Arrow.

    Missing values of every kind in lists, object columns and pandas are null; a NaN in a NumPy float array stays.
    Whole numbers too large for Int64 and mixtures of text and numbers become text.

    Raises:
        FmfairError: if the values are no column: a scalar, more than one dimension, or objects without a text.

    Examples:
        >>> column(["F", None, float("nan"), 1.0], "sex").to_list()
        ['F', None, None, '1']
    """
    with plain_errors(f"read column {name!r} of {where}"):
        return _column(values, name)


def _column(values: Any, name: str) -> pl.Series:
    if isinstance(values, pl.Series):
        return values.alias(name)
    if library(values) == "pandas" and hasattr(values, "dtype"):
        return _pandas_column(values, name)
    if library(values) == "pyarrow" or hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return _arrow_column(values, name)
    if library(values) == "torch":
        values = values.detach().cpu().tolist()  # through lists, because NumPy has no bfloat16
    if hasattr(values, "__array__") and not isinstance(values, (str, np.generic)):
        values = _array(values)
    if isinstance(values, np.ndarray):
        return pl.Series(name, values)
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ValueError(f"a list or an array is needed, got a single {type(values).__name__}")
    return _from_values(list(values), name)


def _array(values: Any) -> np.ndarray[Any, Any] | list[Any]:
    """A one-dimensional NumPy array, or a list where single values have to be looked at."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"one dimension is needed, got the shape {array.shape}")
    is_list = array.dtype == object or isinstance(array, np.ma.MaskedArray)  # a mask becomes None in a list
    return array.tolist() if is_list else array


def _pandas_column(values: Any, name: str) -> pl.Series:
    import pandas as pd

    series: Any = values if isinstance(values, pd.Series) else pd.Series(values)
    kind = type(series.dtype).__name__
    if kind == "CategoricalDtype":
        codes = pl.Series(series.cat.codes.to_numpy()).cast(pl.Int64)
        return _enum(series.cat.categories.tolist(), codes.set(codes < 0, None), name)
    if kind == "SparseDtype":
        series = series.sparse.to_dense()
    if series.dtype == object or kind in ("PeriodDtype", "IntervalDtype"):
        return _from_values(series.tolist(), name)
    import pyarrow as pa

    return _arrow_column(pa.Array.from_pandas(series), name)


def _arrow_column(values: Any, name: str) -> pl.Series:
    import pyarrow as pa

    if isinstance(values, pa.Array) or hasattr(values, "__arrow_c_array__"):
        values = [pa.array(values)]
    chunks = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array(values)
    if pa.types.is_interval(chunks.type):
        return pl.Series(name, [None if v is None else str(v) for v in chunks.to_pylist()], dtype=pl.String)
    if not pa.types.is_dictionary(chunks.type):
        return pl.Series(name, chunks)
    # Chunks may have dictionaries of their own; Arrow cannot unify those with a missing value.
    levels: list[Any] = []
    codes = [pl.Series(dtype=pl.Int64)]
    last, start = None, 0
    for chunk in chunks.chunks:
        if last is None or not chunk.dictionary.equals(last):
            last, start = chunk.dictionary, len(levels)
            levels += last.to_pylist()
        codes.append(pl.Series(chunk.indices).cast(pl.Int64) + start)
    return _enum(levels, pl.concat(codes), name)


def _enum(levels: Sequence[Any], codes: pl.Series, name: str) -> pl.Series:
    """The levels at the positions `codes`, as an Enum of their texts."""
    texts = [None if is_missing(v) else text_of(_plain(v)) for v in levels]
    known = list(dict.fromkeys(t for t in texts if t is not None))
    if len(known) < len({(type(v), v) for v in levels if not is_missing(v)}):
        raise ValueError(f"different categories print alike: {listing(levels)}; rename one of them")
    return pl.Series(name, texts, dtype=pl.String).gather(codes).cast(pl.Enum(known))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, (np.bool_, np.number, np.str_)) else value


def is_missing(value: Any) -> bool:
    """Whether a single value is None, NaN, or the NA or NaT of pandas."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, (float, np.floating, decimal.Decimal)) and math.isnan(value))
    )


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, (float, decimal.Decimal)):
        return "float"
    if isinstance(value, datetime.date):
        return "datetime" if isinstance(value, datetime.datetime) else "date"
    if isinstance(value, (list, tuple, dict, bytes, np.ndarray)):
        return "nested"
    if type(value).__str__ is object.__str__:
        raise ValueError(f"values of type {type(value).__name__} are neither numbers nor text")
    return "text"  # also identifiers, paths, intervals: whatever has a text of its own


def _from_values(values: Sequence[Any], name: str) -> pl.Series:
    """A list of Python values of one or several types; every kind of missing value is null."""
    clean = [None if is_missing(v) else _plain(v) for v in values]
    kinds = {_kind(v) for v in clean if v is not None}
    if kinds == {"bool"}:
        return pl.Series(name, clean, dtype=pl.Boolean)
    if kinds in ({"int"}, {"bool", "int"}) and all(v is None or -(2**63) <= v < 2**63 for v in clean):
        return pl.Series(name, [None if v is None else int(v) for v in clean], dtype=pl.Int64)
    if kinds in ({"float"}, {"float", "int"}):
        return pl.Series(name, [None if v is None else float(v) for v in clean], dtype=pl.Float64)
    if kinds in ({"date"}, {"datetime"}, {"nested"}):
        return pl.Series(name, clean)
    if "nested" in kinds:
        raise ValueError("some values are lists and some are not")
    return pl.Series(name, [None if v is None else text_of(v) for v in clean], dtype=pl.String)
