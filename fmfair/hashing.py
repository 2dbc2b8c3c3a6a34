"""Numbers that stand for ids: 64 bits that depend on an id alone, in every process, engine and version.

Weights of the bootstrap are made from them. Whole numbers, dates and times are mixed as they are; other values as text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

Hashes: TypeAlias = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def mixed(values: Hashes, out: Hashes | None = None, spare: Hashes | None = None) -> Hashes:
    """The finaliser of splitmix64 (Steele, Lea & Flood 2014): every bit of a number changes half the bits.

    Args:
        values: Numbers, as an array.
        out: Where the result goes; a new array where left out.
        spare: An array of the same size to work in.
    """
    z = np.add(values, _GOLDEN, out=out)
    t = np.right_shift(z, _SHIFTS[0], out=spare)
    z ^= t
    z *= _FIRST
    np.right_shift(z, _SHIFTS[1], out=t)
    z ^= t
    z *= _SECOND
    np.right_shift(z, _SHIFTS[2], out=t)
    z ^= t
    return z


def id_hashes(ids: pl.Series) -> pl.Series:
    """A number for every id; NULL where it is missing.

    Args:
        ids: Of any type but nested ones. A float without a fraction is the whole number.

    Examples:
        >>> a, b = id_hashes(pl.Series([7, 8, 7])), id_hashes(pl.Series([7.0, 7.5]))
        >>> a[0] == a[2], a[0] == a[1], a[0] == b[0]
        (True, False, True)
    """
    if ids.dtype.is_float():
        whole = ids.cast(pl.Int64, strict=False)
        is_whole = (whole.cast(pl.Float64) == ids.cast(pl.Float64)).fill_null(False)
        others = ids.set(is_whole, None).fill_nan(None).cast(pl.Float64)
        return _of_numbers(whole).zip_with(is_whole, _by_text(others))
    if ids.dtype.is_integer() and ids.dtype not in (pl.Int128, pl.UInt128):
        return _of_numbers(ids)
    return _by_text(ids)


def _by_text(ids: pl.Series) -> pl.Series:
    distinct = ids.unique().drop_nulls()
    hashes = pl.Series(_of_texts(_texts(distinct)), dtype=pl.UInt64)
    return ids.replace_strict(distinct, hashes, default=None, return_dtype=pl.UInt64)


def _of_numbers(ids: pl.Series) -> pl.Series:
    signed = ids.fill_null(0).cast(pl.UInt64 if ids.dtype == pl.UInt64 else pl.Int64).to_numpy()
    hashes = pl.Series(mixed(signed.view(np.uint64).copy()))
    return hashes if not ids.null_count() else pl.select(pl.when(ids.is_not_null()).then(hashes)).to_series()


def _texts(values: pl.Series) -> Iterable[bytes]:
    if values.dtype == pl.Binary:
        return iter(values.to_list())
    if values.dtype in (pl.String, pl.Categorical, pl.Enum):
        return (text.encode() for text in values.cast(pl.String).to_list())
    return (_text(value).encode() for value in values.to_list())


def _text(value: Any) -> str:
    """Python's own text of a number, date or time, which no version of Polars can change."""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _of_texts(texts: Iterable[bytes]) -> Hashes:
    digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


# What is known of a row beside its groups.
_CONTENT = ("by", "y", "score", "prob", "logit", "pred", "weight", "dice", "iou", "both_empty")


def content_hashes(frame: pl.DataFrame) -> Hashes:
    """A number for every row without an id: of all that is known of the row, and which of the rows alike it is.

    Rows that are alike are interchangeable, so that the order of the rows does not matter; by-keys are left out.

    Args:
        frame: The table of samples: `by`, group codes and what was measured.
    """
    rows = frame.select(c for c in frame.columns if re.fullmatch(r"g\d+", c) or c in _CONTENT)
    hashes = _of_rows(rows, np.zeros(rows.height, dtype=np.uint64))
    # Few rows are alike where scores have all their digits, and only these need to be told apart.
    again = pl.Series(hashes).is_duplicated()
    if again.any():
        alike = rows.filter(again)
        number = alike.select(occurrence=pl.int_range(pl.len(), dtype=pl.UInt64).over(alike.columns)).to_series()
        hashes[again.to_numpy()] = _of_rows(alike, number.to_numpy())
    return hashes


def _of_rows(rows: pl.DataFrame, occurrence: Hashes) -> Hashes:
    hashes, spare = mixed(occurrence.copy()), np.empty(rows.height, dtype=np.uint64)
    for column in rows.drop("by").iter_columns():
        hashes ^= _bits(column)
        hashes = mixed(hashes, hashes, spare)
    return hashes


def _bits(column: pl.Series) -> Hashes:
    if column.dtype.is_float():
        return column.fill_null(np.nan).cast(pl.Float64).to_numpy().view(np.uint64)
    return column.cast(pl.Int64).fill_null(-1).to_numpy().view(np.uint64)
