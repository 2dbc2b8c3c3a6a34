"""Counts from which no small number can be read: groups left out, bins merged.

Bins could be told by subtraction too: those of one group are all rows less those of the others. Therefore the groups
of an attribute, from the largest on, have bins that are each a merger of those of the next larger one, in which the
group itself *and all smaller ones together* hold 0 or at least `least` rows; the largest has mergers of the bins of all
rows. The cells of an intersection share their bins, mergers of those of all groups that they are parts of, in which
also the cells left out of a group hold 0 or at least `least` rows together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from fmfair.counting.disclosure import Cell, Ints, Sum, coarsened, left_out, sums_of
from fmfair.counting.facts import Facts, scales
from fmfair.errors import plural
from fmfair.notes import Notes

SUMS = ("n", "n_pos", "sum_r", "sum_r_pos", "sum_rr", "sum_bce")


def suppressed(cells: pl.DataFrame, facts: Facts, by: Sequence[str], least: int, notes: Notes) -> pl.DataFrame:
    """The rows of a table of counts (groups of missing values included) without small numbers.

    Args:
        cells: By-keys, `attribute_parts`, `group_parts`, `bin`, `bin_end` and the sums, in the units of `facts`.
        facts: The facts of the plain counts.
        by: The by-keys among the columns.
        least: The smallest number of rows that may be read.
        notes: Says how many groups were left out, and how much wider the bounds became.

    Returns:
        The same columns, sums in the units of `suppressed_facts(facts)`; without the groups of missing values if the
        facts say that they are dropped.
    """
    keys = cells.select(by).unique(maintain_order=True) if by else pl.DataFrame(height=1)
    parts, n_out = [], 0
    for key in keys.iter_rows():
        own = cells
        for name, value in zip(by, key, strict=True):
            own = own.filter(pl.col(name).eq_missing(pl.lit(value, own.schema[name])))
        table = _OneKey(own, facts, least)
        n_out += len(table.out)
        parts.append(table.rows())
    result = pl.concat(parts)
    notes.warn(
        f"suppress_below={least}: {plural(n_out, 'group')} left out, and score bins merged: of AUC "
        f"{_width(result, by):.4f} is open in the middle of the listed groups, instead of {_width(cells, by):.4f}"
    )
    return result


def suppressed_facts(facts: Facts) -> Facts:
    """The facts of the counts without small numbers: residuals may now be as large as 1."""
    scale, scale_squares = scales(facts.grid, suppressed=True)
    return replace(facts, scale=scale, scale_squares=scale_squares, suppressed=True)


def _width(rows: pl.DataFrame, by: Sequence[str]) -> float:
    """The median width of the bounds of AUC over all groups."""
    pos, neg = pl.col("n_pos"), pl.col("n") - pl.col("n_pos")
    open_share = (pos * neg).sum() / (pos.sum() * neg.sum())
    widths = rows.group_by(*by, "attribute_parts", "group_parts").agg(open_share.alias("width"))["width"]
    middle = widths.fill_nan(None).drop_nulls().median()
    return float(middle) if isinstance(middle, float) else 0.0


class _OneKey:
    """The counts of one by-key."""

    def __init__(self, cells: pl.DataFrame, facts: Facts, least: int) -> None:
        self.facts = facts
        self.least = least
        self.tables = {Cell(tuple(attributes), tuple(groups)): rows for (attributes, groups), rows in _grouped(cells)}
        self.counts = {cell: self._vector(rows) for cell, rows in self.tables.items()}
        size = {cell: int(vector.sum()) for cell, vector in self.counts.items()}
        self.hidden = {c for c in self.tables if None in c.parts} if facts.missing_groups == "drop" else set()
        self.sums = [s for s in sums_of(self.tables) if s.whole in self.tables]
        self.out = left_out(size, self.sums, self.hidden, least)
        self.listed = [c for c in self.tables if size[c] > 0 and c not in self.out and c not in self.hidden]
        self.size = size
        self.starts = self._bins()

    def _vector(self, rows: pl.DataFrame) -> Ints:
        counts = np.zeros(self.facts.grid + 1, dtype=np.int64)
        np.add.at(counts, rows["bin"].to_numpy(), rows["n"].to_numpy())
        return counts

    def _bins(self) -> dict[Cell, Ints]:
        """Where the bins of every listed group start."""
        found: dict[Cell, Ints] = {}
        coarsest: dict[tuple[str, ...], Ints] = {}
        everyone = Cell((), ())
        finest = np.arange(self.facts.grid + 1)
        coarsest[()] = coarsened(finest, [self.counts[c] for c in (everyone,) if c in self.listed], self.least)
        if everyone in self.listed:
            found[everyone] = coarsest[()]
        for grouping in sorted(self.facts.groupings, key=len):
            own = [c for c in self.listed if c.grouping == grouping]
            if len(grouping) == 1:
                own.sort(key=lambda c: -self.size[c])
                rest, starts = self.counts[everyone], coarsest[()]
                for cell in own:
                    rest = rest - self.counts[cell]
                    starts = found[cell] = coarsened(starts, [self.counts[cell], rest], self.least)
                coarsest[grouping] = starts
                continue
            above = [coarsest[g] for g in coarsest if set(g) < set(grouping)]
            shared = above[0]
            for other in above[1:]:
                shared = np.intersect1d(shared, other)
            rests = [self._rest(s) for s in self.sums if s.whole in found and s.parts[0].grouping == grouping]
            starts = coarsened(shared, [*(self.counts[c] for c in own), *rests], self.least)
            found.update(dict.fromkeys(own, starts))
            coarsest[grouping] = starts
        return found

    def _rest(self, of: Sum) -> Ints:
        """What is left of a group without its listed parts."""
        listed = set(self.listed)
        return self.counts[of.whole] - sum((self.counts[c] for c in of.parts if c in listed), np.int64(0))

    def rows(self) -> pl.DataFrame:
        """All rows to show: merged bins, and one row for every group that has none or was left out."""
        parts = []
        for cell, rows in self.tables.items():
            if cell in self.starts:
                parts.append(self._merged(rows, self.starts[cell]))
            elif cell not in self.hidden:
                none = rows.head(1).with_columns(
                    *(pl.lit(0).cast(rows.schema[c]).alias(c) for c in ("bin", *SUMS)),
                    pl.lit(1, pl.Int32).alias("bin_end"),
                    pl.lit(int(cell in self.out), pl.Int32).alias("left_out"),
                )
                parts.append(none)
        return pl.concat(parts)

    def _merged(self, rows: pl.DataFrame, starts: Ints) -> pl.DataFrame:
        """The rows of one group in bins that start there, residuals from their lower edges."""
        ends = np.append(starts[1:], self.facts.grid + 1)
        place = np.searchsorted(starts, rows["bin"].to_numpy(), side="right") - 1
        moved = (rows["bin"].to_numpy() - starts[place]) / self.facts.grid
        shift, unit = pl.Series("shift", moved), suppressed_facts(self.facts)
        r, r_pos = (pl.col(c) * 2.0**-self.facts.scale for c in ("sum_r", "sum_r_pos"))
        rr = pl.col("sum_rr") * 2.0**-self.facts.scale_squares
        squares = rr + 2.0 * shift * r + pl.col("n") * shift * shift
        sums = {
            "n": pl.col("n"),
            "n_pos": pl.col("n_pos"),
            "sum_r": r + pl.col("n") * shift,
            "sum_r_pos": r_pos + pl.col("n_pos") * shift,
            "sum_rr": squares,
            "sum_bce": pl.col("sum_bce"),
        }
        units = {"sum_r": unit.scale, "sum_r_pos": unit.scale, "sum_rr": unit.scale_squares}
        located = rows.with_columns(
            pl.Series("bin", starts[place], dtype=pl.Int32),
            pl.Series("bin_end", ends[place], dtype=pl.Int32),
            *(value.alias(name) for name, value in sums.items()),
        )
        keys = [c for c in rows.columns if c not in (*SUMS, "left_out")]
        whole = located.group_by(keys, maintain_order=True).agg(pl.col(SUMS).sum(), pl.col("left_out").sum())
        whole = whole.with_columns(
            (pl.col(c) * 2.0**k).round(mode="half_away_from_zero").cast(pl.Int64) for c, k in units.items()
        )
        return whole.filter(pl.col("n") > 0).select(rows.columns)


def _grouped(cells: pl.DataFrame) -> list[tuple[tuple[list[str], list[str | None]], pl.DataFrame]]:
    """The rows of every group."""
    order = ["attribute_parts", "group_parts"]
    numbered = cells.join(
        cells.select(order).unique(maintain_order=True).with_row_index("\0cell"), on=order, nulls_equal=True
    )
    found = []
    for rows in numbered.partition_by("\0cell", maintain_order=True):
        key = rows.select(order).row(0)
        found.append(((key[0], key[1]), rows.drop("\0cell").select(cells.columns)))
    return found
