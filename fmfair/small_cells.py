"""Which cells of a report hold few rows, or would tell how many another one holds.

Decided in stages, each of numbers that are shown or hidden together: the rows of a group; its positives and negatives,
and with them every value; the counts and rates at one threshold. A group is hidden in a stage where one of these is
small, where it was hidden in the stage before, or where it would tell a small number of another one (`disclosure`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.disclosure import Cell, Sum, left_out, sums_of
from fmfair.errors import FmfairError
from fmfair.groupings import Grouping
from fmfair.row_counts import RowCounter
from fmfair.samples import Cohort
from fmfair.thresholds import DECIDED_T

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
# Rows of one kind, by the number of a grouping: at thresholds of its own it may call other rows positive.
Kind: TypeAlias = Callable[[int], Bools]
# The number of a grouping, and that of a cell in it.
Place: TypeAlias = tuple[int, int]

# The values without a threshold, where the scores themselves are decisions.
OF_SCORES = "scores"
BOTH_EMPTY = "both_empty"
MOST_THRESHOLDS = 100
_CUTS: Mapping[str, pl.DataType] = {"by": pl.UInt32(), "threshold": pl.Float64()}


@dataclass
class Hidden:
    """What is hidden of the cells of all groupings.

    Attributes:
        all: Cells of which nothing is shown.
        classes: Those, and cells of which only the number of rows is shown.
        values: Those, and cells without values at a threshold, by the number of the threshold as text; or without those
            of a metric, by its name.
        lacking: How many rows lack each attribute, where some do; None where that is hidden.
    """

    all: set[Place] = field(default_factory=set)
    classes: set[Place] = field(default_factory=set)
    values: dict[str, set[Place]] = field(default_factory=dict)
    lacking: dict[str, int | None] = field(default_factory=dict)


def hidden_cells(
    asked: pl.DataFrame,
    samples: Cohort,
    groupings: Sequence[Grouping],
    rows: RowCounter,
    least: int,
    *,
    strict: bool,
    first: int,
) -> Hidden:
    """What must be hidden so that no number of 1 to `least` - 1 rows is shown or can be calculated.

    Args:
        asked: The thresholds of every grouping: `grouping`, `by`, `t` and `threshold`, which may be NULL.
        samples: Whose values these are.
        groupings: How they are divided; without parts, all rows, or those that have some attributes.
        rows: Counts the samples.
        least: The smallest number that may be shown.
        strict: Whether a score at a threshold is called negative.
        first: The threshold whose values are shown where those at several would tell how many rows lie between.

    Raises:
        FmfairError: There are too many thresholds to compare each with each.
    """
    if asked["t"].n_unique() > MOST_THRESHOLDS:
        raise FmfairError(
            f"suppress_below= compares each threshold with each other, of {asked['t'].n_unique():,} too many; give "
            f"{MOST_THRESHOLDS} or fewer"
        )
    larger = rows.two_values()
    keys = samples.by.height
    every = pl.DataFrame({"by": range(keys), "threshold": [larger] * keys}, _CUTS)
    cuts = pl.concat([asked.select(pl.col(c).cast(t) for c, t in _CUTS.items()), every])
    cuts = cuts.drop_nulls().unique().sort("by", "threshold")
    counted = rows.counted(cuts, strict=strict)
    counted = counted.with_columns(samples.seen["by"].gather(counted["profile"]).cast(pl.UInt32).alias("by"))
    positions = cuts.with_columns(position=pl.int_range(1, pl.len() + 1).over("by"))
    found, patients = Hidden(), rows.patients()
    places = asked.cast({"by": pl.UInt32}).join(positions, on=["by", "threshold"], how="left")
    of_key = places.partition_by("by", as_dict=True)
    of_scores = dict(
        positions.filter(pl.col("threshold") == pl.lit(larger, pl.Float64)).select("by", "position").iter_rows()
    )
    for (by,), own in sorted(counted.partition_by("by", as_dict=True).items()):
        cut: dict[str, dict[int, int | None]] = {}
        own_places = of_key.get((by,), places.clear()).sort(pl.col("t") != first, "t")
        for grouping, t, position in own_places.select("grouping", "t", "position").rows():
            cut.setdefault(str(t), {})[grouping] = position
        if by in of_scores:
            cut[OF_SCORES] = dict.fromkeys(range(len(groupings)), of_scores[by])
        _OneKey(by, samples, groupings, own, patients).hide(found, _stages(own, cut), least)
    return found


def _stages(rows: pl.DataFrame, cut: Mapping[str, Mapping[int, int | None]]) -> Iterator[tuple[str, list[Kind]]]:
    """The kinds of rows of each stage: that of all rows, that of the classes, then those of values by name."""
    column = {name: rows[name].to_numpy() for name in rows.columns}
    if "y" not in column:
        yield from _of_values(rows)
        return
    positive = column["y"] == 1
    yield "all", [_always(np.ones(rows.height, dtype=bool))]
    yield "classes", [_always(positive), _always(~positive)]
    before: list[Kind] = []
    for name, position in cut.items():
        at = {grouping: p for grouping, p in position.items() if p is not None}
        if name != str(DECIDED_T) and not at:
            continue
        called = _always(column["pred"] == 1) if name == str(DECIDED_T) else _called(at, column["position"])
        others = [_opposite(called), *(_between(called, other) for other in before)]
        yield name, [_of_class(y, which) for y in (positive, ~positive) for which in (called, *others)]
        before.append(called)


def _of_values(rows: pl.DataFrame) -> Iterator[tuple[str, list[Kind]]]:
    """The stages of a segmentation: which rows have a value of each metric, and of how many both masks are empty."""
    known = {name: rows[name].to_numpy() for name in ("dice", "iou") if name in rows.columns}
    patterns = np.column_stack(list(known.values()))
    distinct = np.unique(patterns[patterns.any(axis=1)], axis=0)
    together = [(patterns == pattern).all(axis=1) for pattern in distinct]
    yield "all", [_always(which) for which in (patterns.any(axis=1), *known.values(), *together)]
    yield "classes", [_always(np.zeros(rows.height, dtype=bool))]
    if BOTH_EMPTY in rows.columns:
        yield BOTH_EMPTY, [_always((rows[BOTH_EMPTY] == value).fill_null(value=False).to_numpy()) for value in (1, 0)]


def _always(which: Bools) -> Kind:
    return lambda _: which


def _called(at: Mapping[int, int], position: Ints) -> Kind:
    """The rows that are called positive; all where a grouping has no threshold."""
    return lambda grouping: position >= at.get(grouping, 0)


def _opposite(called: Kind) -> Kind:
    return lambda grouping: ~called(grouping)


def _between(called: Kind, other: Kind) -> Kind:
    """The rows that are called positive at one of two thresholds only: the counts at both tell how many they are."""
    return lambda grouping: called(grouping) ^ other(grouping)


def _of_class(of: Bools, which: Kind) -> Kind:
    return lambda grouping: of & which(grouping)


class _OneKey:
    """The cells of one by-key, and the equations between them."""

    def __init__(
        self,
        by: int,
        samples: Cohort,
        groupings: Sequence[Grouping],
        rows: pl.DataFrame,
        patients: pl.DataFrame | None,
    ) -> None:
        self.rows = rows["rows"].to_numpy()
        # A row of `rows` of the same profile for every patient, and the patient.
        self.patients: tuple[Ints, Ints] | None = None
        if patients is not None:
            some_row = rows.select("profile").with_row_index("row").unique("profile", keep="first")
            whose = patients.join(some_row, on="profile", how="inner")
            self.patients = whose["row"].to_numpy().astype(np.int64), whose["unit"].to_numpy().astype(np.int64)
        seen = samples.seen[rows["profile"]]
        self.codes = {a.column: seen[a.column].cast(pl.Int64).fill_null(-1).to_numpy() for a in samples.attributes}
        # Where the cells are in the report, and what rows they hold: for each grouping the cell of every row.
        self.places: dict[Cell, list[Place]] = {}
        self.divided: list[tuple[int, list[Cell], Ints]] = []
        self.wholes: dict[Cell, tuple[int, Bools]] = {}
        for number, grouping in enumerate(groupings):
            if grouping.parts:
                self._divide(number, by, grouping)
            else:
                self._whole(number, by, grouping)
        cells = [cell for _, own, _ in self.divided for cell in own]
        self.hidden = {cell for cell in cells if None in cell.parts}
        self.sums = sums_of([EVERYTHING, *cells])
        for number, own, _ in self.divided:
            self._with_missing(groupings[number].all_rows(samples.incomplete), own)

    def hide(self, found: Hidden, stages: Iterator[tuple[str, list[Kind]]], least: int) -> None:
        """Add what is hidden of this by-key."""
        rows: dict[Cell, int] = {}
        out: set[Cell] = set()
        classes: set[Cell] = set()
        for name, kinds in stages:
            sizes = [self._sizes(kind) for kind in kinds]
            rows = rows or sizes[0]
            sizes += [self._patients()] if name == "all" and self.patients is not None else []
            out = left_out(rows, self.sums, self.hidden, least, sizes, classes if name not in STAGES else out)
            places = {place for cell in out for place in self.places.get(cell, ())}
            if name == "all":
                found.all |= places
                self._lacking(found, rows, out)
            elif name == "classes":
                classes = out
                found.classes |= places
            else:
                found.values.setdefault(name, set()).update(places)

    def _lacking(self, found: Hidden, rows: Mapping[Cell, int], out: Collection[Cell]) -> None:
        """Add how many rows lack each attribute."""
        for _, cells, _ in self.divided:
            for alone in (cell for cell in cells if cell.parts == (None,)):
                (name,) = alone.grouping
                told = Cell((LACKING, "", name), ())
                before = found.lacking.get(name, 0)
                known = told in self.wholes and told not in out and before is not None
                found.lacking[name] = (before or 0) + rows[alone] if known else None

    def _divide(self, number: int, by: int, grouping: Grouping) -> None:
        codes = np.column_stack([self.codes[a.column] for a in grouping.parts])
        distinct, of_row = np.unique(codes, axis=0, return_inverse=True)
        names = tuple(grouping.attribute_parts)
        cells = []
        for code in distinct.tolist():
            parts = (a.labels[c] if c >= 0 else None for a, c in zip(grouping.parts, code, strict=True))
            cell = Cell(names, tuple(parts))
            cells.append(cell)
            if min(code) >= 0:
                place = by
                for a, c in zip(grouping.parts, code, strict=True):
                    place = place * len(a.labels) + c
                self.places[cell] = [(number, place)]
        self.divided.append((number, cells, of_row.reshape(-1).astype(np.int64)))

    def _whole(self, number: int, by: int, grouping: Grouping) -> None:
        """All rows, or those with some attributes, and what tells them from those with others."""
        cell = _present(grouping)
        there = np.ones(len(self.rows), dtype=bool)
        for a in grouping.present:
            there &= self.codes[a.column] >= 0
        self.wholes.setdefault(cell, (number, there))
        self.places.setdefault(cell, []).append((number, by))

    def _with_missing(self, present: Grouping, cells: Sequence[Cell]) -> None:
        """The equations of the rows that have the attributes of a grouping, and of those that lack some."""
        whole = _present(present)
        if whole not in self.wholes:
            return
        complete = tuple(cell for cell in cells if None not in cell.parts)
        self.sums += [Sum(whole, complete)] if complete else []
        names = set(whole.grouping[1:])
        for fewer in list(self.wholes):
            kept = set(fewer.grouping[1:])
            if not kept < names or _is_difference(fewer):
                continue
            lacking = Cell((LACKING, *sorted(kept), "", *sorted(names)), ())
            if lacking not in self.wholes:
                number, there = self.wholes[whole]
                self.wholes[lacking] = number, self.wholes[fewer][1] & ~there
                self.sums.append(Sum(fewer, (whole, lacking)))
            own = tuple(cell for cell in cells if None in cell.parts and not kept & _missing(cell))
            self.sums += [Sum(lacking, own)] if own else []

    def _sizes(self, kind: Kind) -> dict[Cell, int]:
        """The rows of a kind in every cell."""
        sizes = {cell: int(self.rows[there & kind(number)].sum()) for cell, (number, there) in self.wholes.items()}
        for number, cells, of_row in self.divided:
            totals = np.bincount(of_row, np.where(kind(number), self.rows, 0), len(cells))
            sizes |= dict(zip(cells, totals.astype(np.int64).tolist(), strict=True))
        return sizes

    def _patients(self) -> dict[Cell, int]:
        """The patients of every cell."""
        assert self.patients is not None
        row, unit = self.patients
        sizes = {cell: len(np.unique(unit[there[row]])) for cell, (_, there) in self.wholes.items()}
        for _, cells, of_row in self.divided:
            pairs = np.unique(np.column_stack([of_row[row], unit]), axis=0)
            sizes |= dict(zip(cells, np.bincount(pairs[:, 0], minlength=len(cells)).tolist(), strict=True))
        return sizes


EVERYTHING = Cell((), ())
STAGES: Collection[str] = ("all", "classes")
PRESENT, LACKING = "\0present", "\0lacking"


def _present(grouping: Grouping) -> Cell:
    """The rows that have some attributes; all rows where there are none."""
    names = sorted(a.name for a in grouping.present)
    return Cell((PRESENT, *names), ()) if names else EVERYTHING


def _is_difference(cell: Cell) -> bool:
    return cell.grouping[:1] == (LACKING,)


def _missing(cell: Cell) -> set[str]:
    return {name for name, part in zip(cell.grouping, cell.parts, strict=True) if part is None}
