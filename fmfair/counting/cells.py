"""The groups of a table of counts as groupings of numbered cells, and the score bins of each cell.

Bins hold absolute sums here: `p`, `p_pos` and `pp` are the sums of the scores, of the positives' scores and of the
squared scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from fmfair.attributes import Attribute
from fmfair.blocks import Blocks
from fmfair.counting.facts import Facts
from fmfair.counting.levels import attribute_of
from fmfair.counting.table import MISSING, plain_keys, with_grouping
from fmfair.curves import BIN_OF, FINEST
from fmfair.curves import SCHEMA as CURVES
from fmfair.errors import FmfairError
from fmfair.groupings import Grouping
from fmfair.ranks import Ranks
from fmfair.scores import ScoreScale

SUMS = ("n", "n_pos", "p", "p_pos", "pp", "bce")


@dataclass(frozen=True)
class Counted:
    """A checked table of counts, numbered; for the assembly of a report it is what samples are.

    Attributes:
        facts: What its rows mean.
        by: One row per by-key, in order.
        attributes: The attributes with their groups.
        rows: `by`, `grouping` (0 for all rows, then those of the facts), a column of codes per attribute, `bin`,
            `bin_end`, the sums, and `left_out`.
    """

    facts: Facts
    by: pl.DataFrame
    attributes: tuple[Attribute, ...]
    rows: pl.DataFrame

    @property
    def scale(self) -> ScoreScale:
        """How the scores were read."""
        return ScoreScale(self.facts.score_type)

    @property
    def weighted(self) -> bool:
        """Counts have no weights."""
        return False

    @property
    def clustered(self) -> bool:
        """Counts know no patients."""
        return False

    @property
    def has_rows(self) -> bool:
        """The rows were counted and are gone."""
        return False

    @cached_property
    def seen(self) -> pl.DataFrame:
        """Columns `by` and of group codes of all groups, also those without rows."""
        return self.rows.select("by", *(a.column for a in self.attributes)).unique(maintain_order=True)

    @cached_property
    def _totals(self) -> dict[int, int]:
        """The rows in all groups of a grouping."""
        return dict(self.rows.group_by("grouping").agg(pl.col("n").sum()).iter_rows())

    @property
    def n(self) -> int:
        """How many samples there are."""
        return self._totals[0]

    @cached_property
    def incomplete(self) -> frozenset[str]:
        """The columns of the attributes whose groups do not hold all rows."""
        return frozenset(a.column for a in self.attributes if self.lacking(a.name))

    def lacking(self, attribute: str) -> int:
        """The rows that no group of an attribute holds."""
        return self.n - self._totals.get(1 + self.facts.groupings.index((attribute,)), 0)

    def edges(self) -> pl.Series:
        """The lower edge of every bin, and right above 1 the end of the last: no score is there."""
        return pl.Series(np.append(np.arange(self.facts.grid + 1) / self.facts.grid, np.nextafter(1.0, 2.0)))

    def bins(self, grouping: Grouping) -> pl.DataFrame:
        """The bins of every cell of a grouping, cells and bins rising; merged ones may overlap."""
        return (
            self._rows(grouping)
            .filter(pl.col("n") > 0)
            .group_by("cell", "bin", "bin_end")
            .agg(pl.col(SUMS).sum())
            .sort("cell", "bin", "bin_end")
            .collect()
        )

    def curves(self, groupings: Sequence[Grouping], wanted: Sequence[int]) -> list[pl.DataFrame]:
        """The tables of `curves.score_curves`; a bin that lies across an edge of theirs goes where it starts."""
        place = pl.Series(BIN_OF, dtype=pl.Int32).gather
        tables = []
        for grouping in (groupings[i] for i in wanted):
            bins = self.bins(grouping)
            thousandth = (bins["bin"].cast(pl.Int64) * FINEST // self.facts.grid).clip(0, FINEST)
            binned = bins.with_columns(place(thousandth).alias("bin")).group_by("cell", "bin", maintain_order=True)
            sums = binned.agg(pl.col("n", "n_pos").sum(), pl.col("p").sum().alias("sum_score"))
            tables.append(sums.select(pl.col(c).cast(t) for c, t in CURVES.items()))
        return tables

    def left_out(self, grouping: Grouping) -> pl.DataFrame:
        """The column `cell` of those that lack rows which were left out, or may: a table does not name all of them."""
        rows = self._rows(grouping)
        marked = rows.filter(pl.col("left_out") > 0).select("cell")
        if not self.facts.suppressed or grouping.parts or not grouping.present:
            return marked.unique().collect()
        everyone = self.rows.lazy().filter(pl.col("grouping") == 0).group_by(cell=pl.col("by").cast(pl.UInt64))
        listed = rows.group_by("cell").agg(pl.col("n").sum().alias("listed"))
        both = everyone.agg(pl.col("n").sum()).join(listed, on="cell", how="left")
        fewer = both.filter(pl.col("listed").fill_null(0) < pl.col("n")).select("cell")
        return pl.concat([marked, fewer]).unique().collect()

    def _rows(self, grouping: Grouping) -> pl.LazyFrame:
        """The rows of a grouping with their `cell`."""
        cell = grouping.cell() if grouping.parts else pl.col("by").cast(pl.UInt64)
        return self.rows.lazy().filter(pl.col("grouping") == self._number(grouping)).with_columns(cell.alias("cell"))

    def _number(self, grouping: Grouping) -> int:
        """The grouping of the table that holds the rows: for a whole, one that is divided by what must be present."""
        names = tuple(grouping.attribute_parts)
        groupings = [(), *self.facts.groupings]
        if grouping.parts or not grouping.present:
            return groupings.index(names)
        present = {a.name for a in grouping.present}
        incomplete = {a.name for a in self.attributes if a.column in self.incomplete}
        return next(i for i, parts in enumerate(groupings) if incomplete & set(parts) == present)

    def blocks(self, bins: pl.DataFrame, edge: str = "bin") -> Blocks:
        """The bins as blocks of tied scores at their lower edges, or at their upper ones (`bin_end`)."""
        ranks = self.facts.grid + 2
        key = (pl.col("cell") * ranks + pl.col(edge).cast(pl.UInt64)).alias("key")
        neg = (pl.col("n") - pl.col("n_pos")).alias("neg")
        frame = bins.select(key, pl.col("n_pos").alias("pos"), neg, pl.col("n").alias("rows"))
        if not frame["key"].is_sorted() or frame["key"].is_duplicated().any():
            frame = frame.group_by("key").agg(pl.col("pos", "neg", "rows").sum()).sort("key")
        return Blocks(frame.with_columns(pl.col("key").set_sorted()), Ranks(edge, self.edges()))


def numbered(table: pl.DataFrame, facts: Facts) -> Counted:
    """A checked table with its by-keys, groupings and groups numbered.

    Raises:
        FmfairError: There are no attributes, or no rows at all.
    """
    if not facts.attributes:
        raise FmfairError("the counts hold no attribute; name some with attributes= in fmfair.counts")
    if not table["n"].sum():
        raise FmfairError("the counts hold no row: every n is 0")
    plain, names = plain_keys(table)
    keys = list(names)
    if keys:
        by = plain.select(keys).unique().sort(keys, nulls_last=True)
        numbers = by.with_row_index("\0by")
        plain = plain.join(numbers, on=keys, nulls_equal=True, maintain_order="left")
        by = pl.DataFrame({names[c]: by[c] for c in keys})
    else:
        by = pl.DataFrame(height=1)
        plain = plain.with_columns(pl.lit(0, pl.UInt32).alias("\0by"))
    attributes = _attributes(plain, facts)
    return Counted(facts, by, attributes, _coded(plain, facts, attributes))


def _attributes(table: pl.DataFrame, facts: Facts) -> tuple[Attribute, ...]:
    """Every attribute with its groups in order."""
    single = table.lazy().filter(pl.col("attribute_parts").list.len() == 1)
    single = single.select(pl.col("attribute_parts", "group_parts").list.first(), "levels")
    groups: dict[str, dict[str | None, None]] = {}
    levels: dict[str, str | None] = {}
    for name, group, order in single.unique(maintain_order=True).collect().iter_rows():
        groups.setdefault(name, {})[group] = None
        levels[name] = order
    return tuple(
        attribute_of(name, f"g{i}", levels.get(name), list(groups.get(name, {})), MISSING)
        for i, name in enumerate(facts.attributes)
    )


def _coded(table: pl.DataFrame, facts: Facts, attributes: Sequence[Attribute]) -> pl.DataFrame:
    """The rows of the table in numbers; codes are NULL for the attributes that are no part of a row's group."""
    rows, parts = with_grouping(table, facts)
    of_name = {a.name: a for a in attributes}
    found = []
    for number, names in enumerate([(), *facts.groupings]):
        codes = [_code(of_name[name], part) for name, part in zip(names, parts, strict=False)]
        found.append(rows.filter(pl.col("\0grouping") == number).with_columns(codes))
    nothing = [pl.lit(None, pl.UInt32).alias(a.column) for a in attributes]
    whole = pl.concat(found, how="diagonal") if len(found) > 1 else found[0].with_columns(nothing)
    n, n_pos = pl.col("n"), pl.col("n_pos")
    # A division by a column: by a number Polars multiplies with its reciprocal.
    edge = pl.col("bin").cast(pl.Float64) / (pl.col("bin") * 0.0 + facts.grid)
    r, r_pos, rr = (
        pl.col(c).cast(pl.Float64) * 2.0**-k
        for c, k in (("sum_r", facts.scale), ("sum_r_pos", facts.scale), ("sum_rr", facts.scale_squares))
    )
    return whole.select(
        pl.col("\0by").alias("by"),
        pl.col("\0grouping").alias("grouping"),
        *(a.column for a in attributes),
        *("bin", "bin_end", "n", "n_pos", "left_out"),
        (n * edge + r).alias("p"),
        (n_pos * edge + r_pos).alias("p_pos"),
        (n * edge * edge + 2.0 * edge * r + rr).alias("pp"),
        pl.col("sum_bce").alias("bce"),
    )


def _code(attribute: Attribute, part: str) -> pl.Expr:
    """The code of each group by its name; a missing one, where there are any, is the last."""
    codes = pl.Series(range(len(attribute.labels)), dtype=pl.UInt32)
    names = pl.Series(attribute.labels, dtype=pl.String)
    code = pl.col(part).replace_strict(names, codes, default=None, return_dtype=pl.UInt32)
    missing = pl.when(pl.col(part).is_null()).then(pl.lit(max(len(attribute.labels) - 1, 0), pl.UInt32))
    return missing.otherwise(code).alias(attribute.column)
