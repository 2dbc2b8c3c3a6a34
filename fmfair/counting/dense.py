"""Rows that Polars streams, added up in arrays: as many numbers as there are combinations of keys, however many rows.

Grouping by Polars takes several times as long, since it looks every row up in a hash table, and its memory grows with
the rows where there are many groups. What a row adds comes from `query.binned`, as for every other engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from fmfair.convert import plain_errors
from fmfair.counting.query import SAMPLE

# So many combinations of keys and cells, of four numbers each, are held in memory; Polars groups where there are more.
MOST = 2**23
# So few texts are compared one by one faster than they are looked up.
FEW = 5


def summed(rows: nw.LazyFrame[Any], packs: Sequence[Sequence[str]], cells: int) -> list[pl.DataFrame] | None:
    """What `query.summed` of the keys of every pack and `cell` returns, from one pass over the rows.

    Args:
        rows: `binned` rows.
        packs: The columns of keys of every table.
        cells: How many cells there are.

    Returns:
        The tables; None where the rows are not Polars' or there are too many combinations.
    """
    native = rows.to_native()
    if not isinstance(native, pl.LazyFrame):
        return None
    columns = list(dict.fromkeys(column for pack in packs for column in pack))
    # Values that the first rows do not have are looked for in all once one of them turns up.
    for some in (native.head(SAMPLE), native):
        with plain_errors("count the rows"):
            values = _values(some, columns)
            sums = [_Sums({c: values[c] for c in pack}, cells) for pack in packs]
            if sum(each.size for each in sums) > MOST:
                return None
            if _add(native, values, sums):
                return [each.table() for each in sums]
    return None


def _values(rows: pl.LazyFrame, columns: Sequence[str]) -> dict[str, pl.Series]:
    """The values of each column; missing, where it occurs, is the last."""
    distinct = rows.select(pl.col(c).unique().sort(nulls_last=True).implode() for c in columns)
    return {c.name: c.explode(empty_as_null=False) for c in distinct.collect(engine="streaming").iter_columns()}


def _add(rows: pl.LazyFrame, values: Mapping[str, pl.Series], sums: Sequence[_Sums]) -> bool:
    """Adds all rows; False where a value is not among those that are known."""
    codes = {c: _code(c, known) for c, known in values.items()}
    positions = [each.position(codes).alias(f"at{i}") for i, each in enumerate(sums)]
    batches = rows.select("r", "rr", "loss", *positions).collect_batches(
        # Losses are added up batch by batch, which keeps more digits than row by row.
        chunk_size=max(SAMPLE, *(each.size // 4 for each in sums)),
        engine="streaming",
    )
    for batch in batches:
        *added, places = batch["r"], batch["rr"], batch["loss"], [batch[f"at{i}"] for i in range(len(sums))]
        if any(at.has_nulls() for at in places):
            return False
        for at, each in zip(places, sums, strict=True):
            each.add(at.to_numpy(), *(number.to_numpy() for number in added))
    return True


def _code(column: str, known: pl.Series) -> pl.Expr:
    """The position of each value; NULL where it is unknown."""
    value, type_, present = pl.col(column), pl.Int32(), known.drop_nulls()
    if known.dtype != pl.String:
        code = value.replace_strict(present, range(present.len()), default=None, return_dtype=type_)
    elif present.len() > FEW:
        code = value.cast(pl.Enum(present), strict=False).to_physical().cast(type_)
    else:
        code = pl.lit(None, type_)
        for i, text in enumerate(present):
            code = pl.when(value == text).then(pl.lit(i, type_)).otherwise(code)
    return pl.when(value.is_null()).then(pl.lit(present.len(), type_)).otherwise(code) if known.has_nulls() else code


class _Sums:
    """The rows and sums of every combination of some keys and of cells.

    Attributes:
        size: The number of combinations.
    """

    def __init__(self, values: Mapping[str, pl.Series], cells: int) -> None:
        self._values = values
        self._shape = (*(known.len() for known in values.values()), cells)
        self.size = prod(self._shape)
        self._rows, self._r, self._rr = np.zeros((3, self.size), np.int64)
        self._loss = np.zeros(self.size)

    def position(self, codes: Mapping[str, pl.Expr]) -> pl.Expr:
        """Which combination a row belongs to, as a position in the arrays; NULL where a value is unknown."""
        at, stride = pl.col("cell"), self._shape[-1]
        for column, known in reversed([*self._values.items()]):
            at, stride = at + codes[column] * stride, stride * known.len()
        return at.cast(pl.Int64)

    def add(self, at: Any, r: Any, rr: Any, loss: Any) -> None:
        """Adds rows."""
        np.add.at(self._rows, at, 1)
        np.add.at(self._r, at, r)
        np.add.at(self._rr, at, rr)
        self._loss += np.bincount(at, loss, minlength=self.size)

    def table(self) -> pl.DataFrame:
        """The combinations that occur."""
        at = np.flatnonzero(self._rows)
        *codes, cell = np.unravel_index(at, self._shape)
        keys = {c: known.gather(code) for (c, known), code in zip(self._values.items(), codes, strict=True)}
        sums = {"rows": self._rows, "r": self._r, "rr": self._rr, "bce": self._loss}
        return pl.DataFrame({**keys, "cell": cell, **{name: sum_[at] for name, sum_ in sums.items()}})
