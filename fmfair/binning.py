"""Bins of a numeric attribute: left-closed intervals between cut points, or quantiles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.conventions import Conventions
from fmfair.errors import FmfairError, listing, plural
from fmfair.notes import Notes
from fmfair.tally import EACH, Tally

MAX_BINS = 1000

Floats: TypeAlias = npt.NDArray[np.float64]


def bin_codes(
    values: pl.Series,
    name: str,
    bins: int | Sequence[float],
    conventions: Conventions,
    notes: Notes,
    tally: Tally = EACH,
) -> tuple[list[str], pl.Series]:
    """The labels of the bins and the bin of each value (UInt32, NULL where missing).

    Raises:
        FmfairError: The column is not numeric, or the bins are not cut points or a number of quantiles.
    """
    numbers = _as_numbers(values, name, tally)
    edges = _quantiles(numbers, name, bins, notes, tally) if isinstance(bins, int) else _cut_points(bins, name)
    digits = conventions.edge_digits
    labels = bin_labels(edges, digits)
    if len(set(labels)) < len(labels):
        raise FmfairError(
            f"bins for {name!r}: with {digits} digits the cut points {listing(edges)} print alike; "
            "use conventions='standard', which prints as many digits as are needed"
        )
    column = pl.col("v")
    code = pl.sum_horizontal([(column >= edge).cast(pl.UInt32) for edge in edges])
    # The published package puts +infinity into no bin.
    inside = column.is_not_null() if digits is None else column < float("inf")
    return labels, numbers.alias("v").to_frame().select(pl.when(inside).then(code)).to_series()


def _as_numbers(values: pl.Series, name: str, tally: Tally) -> pl.Series:
    if values.dtype.is_numeric():
        return values.cast(pl.Float64).fill_nan(None)
    if values.dtype in (pl.String, pl.Null):
        numbers = values.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False).fill_nan(None)
        no_number = numbers.is_null() & values.is_not_null()
        if not no_number.any():
            return numbers
        text = values.filter(no_number)
        raise FmfairError(
            f"attribute {name!r} cannot be binned: {plural(tally.count(no_number), 'value')} are not numbers "
            f"({listing(text.unique().sort().to_list())}); fix them, or name the texts that mean missing "
            "with missing_values="
        )
    raise FmfairError(f"attribute {name!r} has the type {values.dtype} and cannot be binned; bins= needs numbers")


def _cut_points(bins: Any, name: str) -> list[float]:
    try:
        if isinstance(bins, str):
            raise TypeError  # it would fall apart into its digits
        edges = sorted({float(b) for b in bins})
    except (TypeError, ValueError):
        raise FmfairError(f"bins for {name!r} must be cut points such as [40, 60] or a number of quantiles") from None
    if len(edges) >= MAX_BINS:
        raise FmfairError(f"bins for {name!r}: {len(edges):,} cut points make no groups; give fewer than {MAX_BINS}")
    if not edges or not all(math.isfinite(e) for e in edges):
        raise FmfairError(f"bins for {name!r} must hold at least one finite cut point, got {list(bins)!r}")
    return edges


def _quantiles(numbers: pl.Series, name: str, k: int, notes: Notes, tally: Tally) -> list[float]:
    if isinstance(k, bool) or not 2 <= k <= MAX_BINS:
        raise FmfairError(f"bins for {name!r}: {k!r} quantile groups make no sense; give 2 to {MAX_BINS}")
    counted = tally.value_counts(numbers)
    if counted.is_empty():
        raise FmfairError(f"bins for {name!r}: the column has no value to take quantiles of")
    with np.errstate(invalid="ignore"):  # between infinite values; refused below
        wanted = _linear_quantiles(counted["value"].to_numpy(), counted["rows"].to_numpy(), k)
    edges = sorted(set(wanted))
    if not np.isfinite(edges).all():
        raise FmfairError(f"bins for {name!r}: infinite values have no quantiles; give cut points such as [40, 60]")
    if len(edges) < len(wanted):
        notes.say(f"{name}: {k} quantile groups were asked for, but edges coincide; {len(edges) + 1} bins are left")
    return edges


def _linear_quantiles(values: Floats, rows: npt.NDArray[np.int64], k: int) -> list[float]:
    """The inner k-quantiles of rising values that occur several times each, as `numpy.quantile` interpolates them."""
    below = np.cumsum(rows)
    place = np.linspace(0, 1, k + 1)[1:-1] * (below[-1] - 1)
    share = place - np.floor(place)
    low, high = (values[np.searchsorted(below, at, side="right")] for at in (np.floor(place), np.ceil(place)))
    between = np.where(share < 0.5, low + (high - low) * share, high - (high - low) * (1.0 - share))
    edges: list[float] = np.where(low == high, low, between).tolist()
    return edges


def bin_labels(edges: Sequence[float], digits: int | None = None) -> list[str]:
    """Labels such as `<40`, `40-60`, `>=60`, with as many digits as tell the edges apart and read back.

    Examples:
        >>> bin_labels([40, 60])
        ['<40', '40-60', '>=60']
        >>> bin_labels([100002, 100003.5])
        ['<100002', '100002-100003.5', '>=100003.5']
    """
    text = [_number(e) if digits is None else f"{e:.{digits}g}" for e in edges]
    between = [f"{a}-{b}" for a, b in itertools.pairwise(text)]
    return [f"<{text[0]}", *between, f">={text[-1]}"]


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
