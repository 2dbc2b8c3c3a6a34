"""Counts from which no small number can be read: groups left out, bins merged.

Bins could be told by subtraction too: those of one group are all rows less those of the others. Therefore the groups
of an attribute, from the largest on, have bins that are each a merger of those of the next larger one, in which the
group itself *and all smaller ones together* hold 0 or at least `least` rows; the largest has mergers of the bins of all
rows. The cells of an intersection share their bins, mergers of those of all groups that they are parts of, in which
also the cells left out of a group hold 0 or at least `least` rows together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import polars as pl

from fmfair.counting.coarsening import Ints, coarsened
from fmfair.counting.facts import Facts, scales
from fmfair.counting.table import group_name
from fmfair.disclosure import Cell, Sum, left_out, sums_of
from fmfair.errors import FmfairError, listing, plural
from fmfair.notes import Notes

# What becomes of a group: shown, not shown since a value is missing, left out, or without rows.
LISTED, HIDDEN, OUT, NONE = range(4)
SUMS = ("n", "n_pos", "sum_r", "sum_r_pos", "sum_rr", "sum_bce")


def suppressed(
    cells: pl.DataFrame,
    facts: Facts,
    by: Sequence[str],
    least: int,
    declared: Mapping[str, Collection[str]],
    notes: Notes,
) -> pl.DataFrame:
    """The rows of a table of counts (groups of missing values included) without small numbers.

    Args:
        cells: By-keys, `attribute_parts`, `group_parts`, `bin`, `bin_end` and the sums, in the units of `facts`.
        facts: The facts of the plain counts.
        by: The by-keys among the columns.
        least: The smallest number of rows that may be read.
        declared: The levels of each attribute that were declared: only their names tell nothing of the rows.
        notes: Says how many groups were left out and why, and how much wider the bounds became.

    Returns:
        The same columns, sums in the units of `suppressed_facts(facts, least)`; without the groups of missing values
        if the facts say that they are dropped, and of those left out only the declared ones.

    Raises:
        FmfairError: There are too few rows to show anything.
    """
    name = [*by, "attribute_parts", "group_parts"]
    groups = cells.select(*name, pl.struct(*by, pl.lit(0)).rank("dense").alias("\0key")).unique()
    groups = groups.sort("\0key").with_row_index("\0cell")
    rows = cells.join(groups, on=name, nulls_equal=True).sort("\0cell", "bin")
    of_rows = rows.select("\0cell", "bin", "n").to_numpy()
    ends = np.searchsorted(of_rows[:, 0], np.arange(groups.height + 1))
    start, stop = np.full((2, rows.height), -1)
    state = np.full(groups.height, HIDDEN)
    named = groups.select("attribute_parts", "group_parts").rows()
    for of_key in _runs(groups["\0key"].to_numpy()):
        own = {Cell(tuple(named[i][0]), tuple(named[i][1])): i for i in of_key}
        table = _OneKey({c: of_rows[ends[i] : ends[i + 1], 1:] for c, i in own.items()}, facts, least)
        for cell, i in own.items():
            state[i] = table.state(cell)
            if state[i] == LISTED:
                mine = slice(ends[i], ends[i + 1])
                start[mine], stop[mine] = table.places(cell, of_rows[mine, 1])
    merged = _merged(rows, start, stop, facts)
    if merged.is_empty():
        raise FmfairError(
            f"suppress_below={least}: {'no by-key has' if by else 'there are not'} as many rows, so that nothing may "
            "be shown; count more rows together, or ask for less"
        )
    sizes = rows.group_by("\0cell").agg(pl.col("n").sum())
    groups = groups.with_columns(pl.Series("state", state)).join(sizes, on="\0cell", maintain_order="left")
    shown = groups.join(merged, on="\0key", how="semi", maintain_order="left")
    _note_left_out(shown, groups["\0key"].n_unique() - shown["\0key"].n_unique(), least, notes)
    empty = shown.filter((pl.col("state") >= OUT) & _is_declared(declared))
    empty = empty.select(*name, left_out=(pl.col("state") == OUT).cast(pl.Int32))
    none = [
        pl.lit(int(c == "bin_end")).cast(t).alias(c) for c, t in cells.schema.items() if c not in (*name, "left_out")
    ]
    result = pl.concat([merged.select(cells.columns), empty.with_columns(none).select(cells.columns)])
    notes.warn(
        f"suppress_below={least}: score bins were merged, so that the bounds of AUC are {_width(result, by):.4f} apart "
        f"in the median group, instead of {_width(cells, by):.4f}"
    )
    return result


def _is_declared(declared: Mapping[str, Collection[str]]) -> pl.Expr:
    """Whether a group has the name of a declared level, or none because it is that of missing values."""
    attribute, group = (pl.col(c).list.first() for c in ("attribute_parts", "group_parts"))
    known = [(attribute == name) & (group.is_null() | group.is_in(list(of))) for name, of in declared.items()]
    return pl.any_horizontal(*known) & (pl.col("attribute_parts").list.len() == 1)


def _note_left_out(groups: pl.DataFrame, by_keys: int, least: int, notes: Notes) -> None:
    """Which groups were left out, and why; nothing of those that are protected but how many they are.

    Args:
        groups: `attribute_parts`, `group_parts`, `n` and `state` of all groups of the by-keys that are shown.
        by_keys: How many by-keys are not.
        least: The smallest number of rows that may be read.
        notes: Are added to.
    """
    if by_keys:
        notes.warn(f"suppress_below={least}: {plural(by_keys, 'by-key')} with fewer rows left out")
    out, few = pl.col("state") == OUT, (pl.col("n") < least) & (pl.col("n") > 0)
    # In the same order whatever the order of the rows that were counted.
    parts, of = pl.col("attribute_parts").list, pl.col("group_parts").list
    groups = groups.sort(parts.len(), parts.join("\0"), of.join("\0", ignore_nulls=True))
    for (attributes,), cells in groups.group_by("attribute_parts", maintain_order=True):
        name = " & ".join(attributes)
        small = cells.filter(out & few).height
        if small:
            notes.warn(f"suppress_below={least}: {name}: {plural(small, 'group')} with fewer rows left out")
        others = dict.fromkeys(group_name(parts) for parts in cells.filter(out & ~few)["group_parts"].to_list())
        if not others:
            continue
        if small:
            why = "the smaller groups could be calculated from the rest; put these into larger groups first"
        elif cells.filter((pl.col("state") == HIDDEN) & few).height:
            why = f"the few rows without {name} could be calculated from the rest; drop those rows first"
        else:
            why = "groups left out of other attributes or combinations could be calculated from the rest"
        notes.warn(f"suppress_below={least}: {name}: {listing(others)} left out too, because {why}")


def _runs(numbers: Ints) -> list[Ints]:
    """The positions of every number, in an array in which equal numbers lie together."""
    return np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers)) + 1)


def suppressed_facts(facts: Facts, least: int) -> Facts:
    """The facts of the counts without small numbers: residuals may now be as large as 1."""
    scale, scale_squares = scales(facts.grid, suppressed=True)
    return replace(facts, scale=scale, scale_squares=scale_squares, suppress_below=least)


def _width(rows: pl.DataFrame, by: Sequence[str]) -> float:
    """The median width of the bounds of AUC over all groups."""
    pos, neg = pl.col("n_pos"), pl.col("n") - pl.col("n_pos")
    open_share = (pos * neg).sum() / (pos.sum() * neg.sum())
    widths = rows.group_by(*by, "attribute_parts", "group_parts").agg(open_share.alias("width"))["width"]
    middle = widths.fill_nan(None).drop_nulls().median()
    return float(middle) if isinstance(middle, float) else 0.0


class _OneKey:
    """The counts of one by-key: which groups are listed, and in which bins."""

    def __init__(self, rows: Mapping[Cell, Ints], facts: Facts, least: int) -> None:
        self.facts = facts
        self.least = least
        self.counts = {cell: self._vector(bins) for cell, bins in rows.items()}
        self.size = {cell: int(vector.sum()) for cell, vector in self.counts.items()}
        self.hidden = {c for c in rows if None in c.parts} if facts.missing_groups == "drop" else set()
        self.sums = [s for s in sums_of(rows) if s.whole in rows]
        self.out = left_out(self.size, self.sums, self.hidden, least)
        unlisted = self.out | self.hidden
        self.listed = {c for c in rows if self.size[c] > 0 and c not in unlisted}
        self.starts = self._bins()

    def state(self, cell: Cell) -> int:
        """Whether a group is listed, hidden for its missing value, left out, or has no rows."""
        if cell in self.listed:
            return LISTED
        return HIDDEN if cell in self.hidden else OUT if cell in self.out else NONE

    def places(self, cell: Cell, bins: Ints) -> tuple[Ints, Ints]:
        """The start and the end of the merged bin that each bin of a group is in."""
        starts = self.starts[cell]
        at = np.searchsorted(starts, bins, side="right") - 1
        return starts[at], np.append(starts[1:], self.facts.grid + 1)[at]

    def _vector(self, rows: Ints) -> Ints:
        """The rows in every bin, from pairs of bin and rows."""
        counts = np.zeros(self.facts.grid + 1, dtype=np.int64)
        np.add.at(counts, rows[:, 0], rows[:, 1])
        return counts

    def _bins(self) -> dict[Cell, Ints]:
        """Where the bins of every listed group start."""
        found: dict[Cell, Ints] = {}
        everyone, finest = Cell((), ()), np.arange(self.facts.grid + 1)
        if everyone in self.listed:
            found[everyone] = coarsened(finest, [self.counts[everyone]], self.least)
        coarsest: dict[tuple[str, ...], Ints] = {(): found.get(everyone, finest[:1])}
        for grouping in sorted(self.facts.groupings, key=len):
            if len(grouping) == 1:
                coarsest[grouping] = self._chained(grouping, coarsest[()], found)
            else:
                above = [starts for coarse, starts in coarsest.items() if set(coarse) < set(grouping)]
                coarsest[grouping] = self._shared(grouping, reduce(np.intersect1d, above), found)
        return found

    def _chained(self, grouping: tuple[str, ...], starts: Ints, found: dict[Cell, Ints]) -> Ints:
        """The bins of an attribute's groups, from the largest on; gives the coarsest."""
        rest = self.counts[Cell((), ())]
        for cell in sorted((c for c in self.listed if c.grouping == grouping), key=lambda c: (-self.size[c], repr(c))):
            rest = rest - self.counts[cell]
            starts = found[cell] = coarsened(starts, [self.counts[cell], rest], self.least)
        return starts

    def _shared(self, grouping: tuple[str, ...], starts: Ints, found: dict[Cell, Ints]) -> Ints:
        """The bins that all cells of an intersection share."""
        own = [c for c in self.listed if c.grouping == grouping]
        rests = [self._rest(s) for s in self.sums if s.whole in found and s.parts[0].grouping == grouping]
        starts = coarsened(starts, [*(self.counts[c] for c in own), *rests], self.least)
        found.update(dict.fromkeys(own, starts))
        return starts

    def _rest(self, of: Sum) -> Ints:
        """What is left of a group without its listed parts."""
        parts = [self.counts[c] for c in of.parts if c in self.listed]
        return self.counts[of.whole] - np.sum(parts, axis=0, dtype=np.int64) if parts else self.counts[of.whole]


def _merged(rows: pl.DataFrame, start: Ints, stop: Ints, facts: Facts) -> pl.DataFrame:
    """The rows added up in the bins that they are given, residuals from the lower edges of those; -1 is none."""
    of_residuals, of_squares = scales(facts.grid, suppressed=True)
    # A division of arrays: by a single number Polars multiplies with its reciprocal.
    shift = pl.Series("shift", (rows["bin"].to_numpy() - start) / facts.grid)
    r, r_pos = (pl.col(c) * 2.0**-facts.scale for c in ("sum_r", "sum_r_pos"))
    moved = {
        "sum_r": r + pl.col("n") * shift,
        "sum_r_pos": r_pos + pl.col("n_pos") * shift,
        "sum_rr": pl.col("sum_rr") * 2.0**-facts.scale_squares + 2.0 * shift * r + pl.col("n") * shift * shift,
    }
    scale = {"sum_r": of_residuals, "sum_r_pos": of_residuals, "sum_rr": of_squares}
    placed = rows.with_columns(
        pl.Series("bin", start, dtype=pl.Int32),
        pl.Series("bin_end", stop, dtype=pl.Int32),
        *(value.alias(name) for name, value in moved.items()),
    ).filter((pl.col("bin") >= 0) & (pl.col("n") > 0))
    keys = [c for c in rows.columns if c not in (*SUMS, "left_out")]
    whole = placed.group_by(keys, maintain_order=True).agg(pl.col(SUMS).sum(), pl.col("left_out").sum())
    rounded = [(pl.col(c) * 2.0**k + 0.5).floor().cast(pl.Int64).alias(c) for c, k in scale.items()]
    return whole.with_columns(rounded)
