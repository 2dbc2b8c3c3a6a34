"""Sums over rows that need no order, of many replicates: per profile and score bin first, then per cell and bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fmfair.bootstrap.scratch import Scratch

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.intp]
Weights: TypeAlias = npt.NDArray[Any]

# Rows that are added up at once.
STRETCH = 2**15

_SCRATCH = Scratch()


@dataclass(frozen=True)
class Slots:
    """The rows in the order of their slots: what has the same profile, bin and so on is added up once for all cells.

    Attributes:
        rows: The rows in that order.
        start: Where each slot that has rows begins.
        number: Its number.
        values: The values of the rows that are summed up, in that order.
    """

    rows: Positions
    start: Positions
    number: Positions
    values: Mapping[str, Floats]

    def sums(self, weights: Weights) -> dict[str, Floats]:
        """The sum of the weights of each slot, and of the weights times each value; replicates by slots."""
        drawn = _SCRATCH.array(f"drawn {weights.dtype}", (len(weights), len(self.rows)), weights.dtype)
        np.take(weights, self.rows, axis=1, mode="clip", out=drawn)
        found = {name: np.empty((len(weights), len(self.start))) for name in ("weight", *self.values)}
        # A stretch of whole slots at a time, which stays close to the processor.
        cuts = np.unique(np.searchsorted(self.start, np.arange(0, len(self.rows), STRETCH)))
        for first, last in zip(cuts, [*cuts[1:], len(self.start)], strict=True):
            begin = self.start[first]
            end = self.start[last] if last < len(self.start) else len(self.rows)
            starts = self.start[first:last] - begin
            stretch, product = (_SCRATCH.array(name, (len(weights), end - begin)) for name in ("stretch", "product"))
            np.copyto(stretch, drawn[:, begin:end])
            np.add.reduceat(stretch, starts, axis=1, out=found["weight"][:, first:last])
            for name, values in self.values.items():
                np.multiply(stretch, values[begin:end], out=product)
                np.add.reduceat(product, starts, axis=1, out=found[name][:, first:last])
        return found


def make_slots(number: Positions, values: Mapping[str, Floats]) -> Slots:
    """The slots of rows, from the number of each row's slot and the values that are summed up."""
    # Small numbers are sorted stably by their digits, which takes no time beside another sort.
    small = int(number.max(initial=0)) < 2**16
    rows = np.argsort(number.astype(np.uint16) if small else number, kind="stable")
    ordered = number[rows]
    start = np.flatnonzero(np.concatenate([np.full(min(len(ordered), 1), True), ordered[1:] != ordered[:-1]]))
    return Slots(rows, start, ordered[start], {name: column[rows] for name, column in values.items()})


@dataclass(frozen=True)
class Parts:
    """Sums of slots put together into parts of cells, such as a cell's score bins.

    Attributes:
        slots: The slots in the order of the parts.
        start: Where each part that has slots begins.
        cell: The cell of the part.
        part: Its number within the cell.
    """

    slots: Positions
    start: Positions
    cell: Positions
    part: Positions

    def sums(self, of_slots: Floats) -> Floats:
        """The sum of each part; replicates by parts."""
        if not len(self.start):
            return np.zeros((len(of_slots), 0))
        return np.add.reduceat(of_slots.take(self.slots, axis=1), self.start, axis=1)

    def per_cell(self, of_parts: Floats, cells: int) -> Floats:
        """The sum over the parts of each cell."""
        found = np.zeros((len(of_parts), cells))
        if len(self.cell):
            first = np.flatnonzero(np.concatenate([[True], self.cell[1:] != self.cell[:-1]]))
            found[:, self.cell[first]] = np.add.reduceat(of_parts, first, axis=1)
        return found


def make_parts(members: Sequence[tuple[Positions, Positions]], part: Positions, parts: int) -> Parts:
    """Parts from the slots of each.

    Args:
        members: Per grouping the slots that are in a cell, and the cell of each, numbered through all groupings.
        part: The part of each slot within its cell.
        parts: How many there are.
    """
    slots = np.concatenate([slot for slot, _ in members])
    cells = np.concatenate([cell for _, cell in members])
    number = cells * parts + part[slots]
    order = np.argsort(number, kind="stable")
    ordered = number[order]
    start = np.flatnonzero(np.concatenate([np.full(min(len(ordered), 1), True), ordered[1:] != ordered[:-1]]))
    return Parts(slots[order], start, ordered[start] // parts, ordered[start] % parts)
