"""Grouped counts of rows that stay where they are: one text for Polars, DuckDB and Spark.

Only what all of them compute alike is used. A row's bin is `floor(p * grid)`, moved by one where the comparison with
the float64 edges `k / grid` says so; sums are of whole numbers. Edges are divided by a column, never by a number:
Polars multiplies by the reciprocal of a number, which is another edge in the last digit. A sum is rounded as
`floor(x + 0.5)`, since every engine has its own `round`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

import narwhals as nw
import polars as pl
import polars.selectors as cs

from fmfair import readers
from fmfair.convert import is_a, plain_errors
from fmfair.database.connection import quoted
from fmfair.metrics.bins import LARGEST_LOSS, LOG_FLOOR

# The logarithm of this is the floor, to the last digit.
TINY = exp(LOG_FLOOR)
# Rows at the top of a table that tell roughly how many values a column has.
SAMPLE = 100_000
# Whole numbers that were added up or counted.
WHOLE = ("rows", "r", "rr")
# Kinds of scores.
INSIDE, OUTSIDE, INFINITE, MISSING = range(4)
# What a label says: nothing, or the class.
LEFT_OUT, NEGATIVE, POSITIVE = range(3)


def source_of(frame: Any) -> tuple[nw.LazyFrame[Any], pl.Schema]:
    """The table in its engine, and the types of its columns, for which DuckDB reads one row and Spark none.

    Raises:
        FmfairError: It is no table.
    """
    if is_a(frame, "duckdb", "DuckDBPyRelation") or _is_spark(frame):
        with plain_errors("read the table"):
            # Without a row DuckDB does not tell the levels of an ENUM.
            first = frame.limit(0).toArrow() if _is_spark(frame) else frame.limit(1)
            schema = readers.schema(readers.scan(first))
            return nw.from_native(frame).lazy(), schema
    scanned = readers.scan(frame)
    return nw.from_native(scanned), readers.schema(scanned)


def _is_spark(frame: Any) -> bool:
    return is_a(frame, "pyspark", "DataFrame")


def keeps_rows(frame: nw.LazyFrame[Any]) -> bool:
    """Whether the rows are a cluster's, so that not even the first of them may be looked at one by one."""
    return _is_spark(frame.to_native())


def named(frame: nw.LazyFrame[Any], names: Mapping[str, str]) -> nw.LazyFrame[Any]:
    """The columns under other names: new name by name; Polars would read names such as `*` as patterns."""
    native, columns = frame.to_native(), frame.collect_schema().names()
    own = {name: f"c{i}" for i, name in enumerate(columns)}
    if isinstance(native, pl.LazyFrame):
        native = native.rename(own)
    elif is_a(native, "duckdb", "DuckDBPyRelation"):
        native = native.project(", ".join(f"{quoted(name)} AS {new}" for name, new in own.items()))
    else:
        native = native.toDF(*own.values())
    renamed: nw.LazyFrame[Any] = nw.from_native(native).lazy()
    return renamed.select(*(nw.col(own[name]).alias(new) for new, name in names.items()))


def collected(frames: Sequence[nw.LazyFrame[Any]]) -> list[pl.DataFrame]:
    """The small results, one after another: together Polars would hold the table in memory for all of them."""
    with plain_errors("count the rows"):
        return [_small(frame) for frame in frames]


def _small(frame: nw.LazyFrame[Any]) -> pl.DataFrame:
    native = frame.to_native()
    if isinstance(native, pl.LazyFrame):
        return native.collect(engine="streaming")
    return _as_polars(frame.collect("pyarrow").to_native())


def _as_polars(table: Any) -> pl.DataFrame:
    frame = readers.scan(table).collect()
    # DuckDB adds whole numbers up as decimals.
    return frame.with_columns(cs.by_name(*WHOLE, require_all=False).cast(pl.Int64))


def per_label(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """For each label `y` and `kind` of score `s`: the rows, and the smallest and the largest score."""
    s = nw.col("s")
    unusable = nw.when((s == float("inf")) | (s == float("-inf"))).then(INFINITE).otherwise(MISSING)
    usable = nw.when((s < 0.0) | (s > 1.0)).then(OUTSIDE).otherwise(INSIDE)
    kind = nw.when(~s.is_null() & s.is_finite()).then(usable).otherwise(unusable)
    return (
        frame.with_columns(kind=kind)
        .group_by("y", "kind", drop_null_keys=False)
        .agg(nw.len().alias("rows"), s.min().alias("low"), s.max().alias("high"))
    )


def per_value(frame: nw.LazyFrame[Any], keys: Sequence[str]) -> nw.LazyFrame[Any]:
    """How many rows there are of each combination of values."""
    return frame.group_by(*keys, drop_null_keys=False).agg(nw.len().alias("rows"))


def sizes(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> dict[str, int]:
    """How many values each column has: among the first rows, or on a cluster, where no row is the first, among all."""
    if not columns:
        return {}
    rows = frame if keeps_rows(frame) else frame.head(SAMPLE)
    (found,) = collected([rows.select(nw.col(c).n_unique() for c in columns)])
    return {column: int(found[column].item() or 0) for column in columns}


def spread(frame: nw.LazyFrame[Any], column: str) -> dict[str, Any]:
    """How rows spread over the values of a column: `groups`, `single` (groups of one row), `rows`."""
    rows = nw.col("rows")
    each = per_value(frame.filter(~nw.col(column).is_null()), [column])
    single = nw.when(rows == 1).then(1).otherwise(0).sum()
    (found,) = collected([each.select(nw.len().alias("groups"), single.alias("single"), rows.sum().alias("rows"))])
    return found.row(0, named=True)


def extent(frame: nw.LazyFrame[Any], column: str) -> tuple[float | None, float | None]:
    """The smallest and the largest finite number of a column."""
    x = nw.col(column).cast(nw.Float64)
    x = nw.when(x.is_finite()).then(x)
    (found,) = collected([frame.select(x.min().alias("low"), x.max().alias("high"))])
    return found["low"].item(), found["high"].item()


def cut(column: str, edges: Sequence[float]) -> nw.Expr:
    """The number of the left-closed interval between cut points; NULL where missing."""
    x = nw.col(column).cast(nw.Float64)
    first, *others = (nw.when(x >= edge).then(1).otherwise(0) for edge in edges)
    number = sum(others, first)
    return nw.when(_is_number(x)).then(number)


def _is_number(x: nw.Expr) -> nw.Expr:
    """Whether a value is neither NULL nor NaN.

    Not by `is_nan`: DuckDB takes the largest number in the statistics of a Parquet file, which leave NaN out, for
    proof that there is none.
    """
    return ~x.is_null() & (x.is_finite() | (x == float("inf")) | (x == float("-inf")))


def binned(frame: nw.LazyFrame[Any], *, grid: int, scales: tuple[int, int], logit: bool) -> nw.LazyFrame[Any]:
    """The rows with the `cell` of the grid and the labels that they are in, and what is added up: `r`, `rr`, `loss`.

    Args:
        frame: Has the score `s`, in [0, 1] or a logit, and what the `label` says: POSITIVE, NEGATIVE or LEFT_OUT.
        grid: Number of bins.
        scales: As in the facts of a table of counts.
        logit: Whether scores are logits, whose sigmoid is binned.
    """
    s, label, k = nw.col("s"), nw.col("label"), nw.col("k")
    frame = frame.with_columns(used=~s.is_null() & s.is_finite() & (label != LEFT_OUT))
    # Other scores may be any numbers, too large for the units of the sums.
    frame = frame.with_columns(s=nw.when(nw.col("used")).then(s).otherwise(0.0))
    frame = frame.with_columns(p=_sigmoid(s) if logit else s, loss=_loss_of_logit(s) if logit else _loss(s))
    p, g = nw.col("p"), nw.col("g")
    frame = frame.with_columns(k=(p * float(grid)).floor(), g=p * 0.0 + float(grid))
    moved = nw.when(p < k / g).then(k - 1.0).otherwise(nw.when(p >= (k + 1.0) / g).then(k + 1.0).otherwise(k))
    frame = frame.with_columns(k=moved)
    frame = frame.with_columns(r=p - k / g)
    r = nw.col("r")
    return frame.with_columns(
        cell=nw.when(nw.col("used")).then(k.cast(nw.Int32) * 2 + label).otherwise(0),
        r=_rounded(r * 2.0 ** scales[0]),
        rr=_rounded(r * r * 2.0 ** scales[1]),
    )


def _rounded(x: nw.Expr) -> nw.Expr:
    return (x + 0.5).floor().cast(nw.Int64)


def cells(grid: int) -> int:
    """How many cells `binned` rows can be in: 0 where left out, and one for each bin and class."""
    return 2 * (grid + 1) + 1


def of_cell() -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """The bin of a `cell`, and whether its rows are used and positive."""
    cell = pl.col("cell")
    used = cell > 0
    return pl.when(used).then((cell - 1) // 2).otherwise(0).cast(pl.Int32), used, used & (cell % 2 == 0)


def summed(frame: nw.LazyFrame[Any], keys: Sequence[str]) -> nw.LazyFrame[Any]:
    """Counts and sums of `binned` rows per combination of the keys."""
    sums = [nw.col(column).sum().alias(name) for name, column in (("r", "r"), ("rr", "rr"), ("bce", "loss"))]
    return frame.group_by(*keys, drop_null_keys=False).agg(nw.len().alias("rows"), *sums)


def _sigmoid(x: nw.Expr) -> nw.Expr:
    """1 / (1 + exp(-x)) without overflow, as `scores.sigmoid`."""
    decay = (x.abs() * -1.0).exp()
    return nw.when(x >= 0.0).then(1.0 / (1.0 + decay)).otherwise(decay / (1.0 + decay))


def _loss(p: nw.Expr) -> nw.Expr:
    """Cross-entropy of each row from a probability, each log term clamped."""
    likely = nw.when(nw.col("label") == POSITIVE).then(p).otherwise(1.0 - p)
    return 0.0 - likely.clip(lower_bound=TINY).log()


def _loss_of_logit(x: nw.Expr) -> nw.Expr:
    """Cross-entropy of each row from a logit, as `bins.bce_logit_rows`."""
    y = nw.when(nw.col("label") == POSITIVE).then(1.0).otherwise(0.0)
    loss = x.clip(lower_bound=0.0) - x * y + (1.0 + (x.abs() * -1.0).exp()).log()
    return loss.clip(upper_bound=LARGEST_LOSS)
