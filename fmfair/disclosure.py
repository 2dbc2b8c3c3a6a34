"""Which groups are left out so that no small one can be read, also not by adding and subtracting the others.

Every group is the sum of its parts: all rows of the groups of an attribute (those with a missing value included), a
group of the cells of an intersection. A group left out is an unknown of these equations. It is protected if the
equations do not determine it: not one by one (`_exposed`), and not together (`_determined`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

# Unknowns that are looked at together; with more of them all cells of their groupings are left out.
MAX_UNKNOWNS = 1_000
# An unknown whose share in every solution of the homogeneous equations is smaller is determined.
ZERO = 1e-8


@dataclass(frozen=True)
class Cell:
    """A group: which grouping it belongs to, and its part of each attribute (None where missing)."""

    grouping: tuple[str, ...]
    parts: tuple[str | None, ...]


@dataclass(frozen=True)
class Sum:
    """A group and the groups that it is the sum of."""

    whole: Cell
    parts: tuple[Cell, ...]


def sums_of(cells: Iterable[Cell]) -> list[Sum]:
    """Every equation between the groups of one by-key: each whole with its parts in the next finer groupings."""
    known = list(cells)
    groupings = list(dict.fromkeys(cell.grouping for cell in known))
    found = []
    for fine in groupings:
        coarser = [g for g in groupings if set(g) < set(fine)]
        for coarse in (g for g in coarser if not any(set(g) < set(other) for other in coarser)):
            kept = [fine.index(name) for name in coarse]
            parts: dict[tuple[str | None, ...], list[Cell]] = {}
            for cell in known:
                if cell.grouping == fine:
                    parts.setdefault(tuple(cell.parts[i] for i in kept), []).append(cell)
            found += [Sum(Cell(coarse, whole), tuple(of)) for whole, of in parts.items()]
    return found


@dataclass(frozen=True)
class _Counts:
    """What is counted in every group: its rows, and the kinds of rows of which no small number may be read.

    Attributes:
        rows: The rows.
        kinds: The rows of each kind; all rows may be one.
        least: The smallest number that may be read.
    """

    rows: Mapping[Cell, int]
    kinds: Sequence[Mapping[Cell, int]]
    least: int

    def small(self, cells: Collection[Cell]) -> bool:
        """Whether groups hold few rows of a kind together, or, since none of them is empty, one row each."""
        totals = (sum(of[cell] for cell in cells) for of in self.kinds)
        return any(0 < n < self.least for n in totals) or sum(self.rows[cell] for cell in cells) <= len(cells)

    def size(self, cell: Cell) -> tuple[bool, int, str]:
        """By which groups are left out beside others: those that have rows of each kind, the smallest first."""
        return any(of[cell] == 0 for of in self.kinds), self.rows[cell], repr(cell)


def left_out(
    rows: Mapping[Cell, int],
    sums: Sequence[Sum],
    hidden: Collection[Cell],
    least: int,
    kinds: Sequence[Mapping[Cell, int]] = (),
    before: Collection[Cell] = (),
) -> set[Cell]:
    """The groups to leave out.

    Args:
        rows: The rows of every group.
        sums: The equations between them.
        hidden: Groups that are not listed anyway: those of a missing value.
        least: The smallest number of rows that may be read.
        kinds: Rows of every group that are counted apart, such as positives and negatives, of which no small number
            may be read either; all rows where left out.
        before: Groups that are left out whatever they hold.
    """
    counts = _Counts(rows, kinds or (rows,), least)
    out = {cell for cell in rows if cell not in hidden and any(0 < of[cell] < least for of in counts.kinds)}
    out |= set(before)
    while True:
        unlisted = {cell for cell in (*out, *hidden) if rows[cell] > 0}
        exposed = _exposed(counts, sums, unlisted, out) or _determined(counts, sums, unlisted, out)
        more = {_smallest(counts, of, unlisted) for of in exposed} - {None}
        if not more:
            return out
        out |= {cell for cell in more if cell is not None}


def _smallest(counts: _Counts, of: Sum, unlisted: set[Cell]) -> Cell | None:
    """The smallest listed part of a sum, the first by name of equals; the whole itself where no part is listed."""
    listed = [cell for cell in of.parts if counts.rows[cell] > 0 and cell not in unlisted]
    if listed:
        return min(listed, key=counts.size)
    return of.whole if of.whole not in unlisted and of.whole.grouping else None


def _exposed(counts: _Counts, sums: Sequence[Sum], unlisted: set[Cell], out: set[Cell]) -> list[Sum]:
    """The sums that expose one group left out, or a small number of rows of several."""
    found = []
    for of in sums:
        unknown = [cell for cell in of.parts if cell in unlisted]
        if of.whole in unlisted:
            if of.whole in out and not unknown:
                found.append(of)
        elif unknown and (counts.small(unknown) or (len(unknown) == 1 and unknown[0] in out)):
            found.append(of)
    return found


def _determined(counts: _Counts, sums: Sequence[Sum], unlisted: set[Cell], out: set[Cell]) -> list[Sum]:
    """For every unknown that the equations determine together, one of them in which a group can be left out."""
    found = []
    for component in _components(sums, unlisted):
        unknowns = sorted({c for of in component for c in (of.whole, *of.parts) if c in unlisted}, key=repr)
        if len(unknowns) > MAX_UNKNOWNS:
            found += [of for of in component if any(c not in unlisted and counts.rows[c] > 0 for c in of.parts)]
            continue
        for cell in _fixed(component, unknowns):
            if cell in out or counts.small([cell]):
                involved = [of for of in component if cell == of.whole or cell in of.parts]
                # Where none of its own equations holds a listed group, one that its neighbours are in does.
                usable = (of for of in (*involved, *component) if _smallest(counts, of, unlisted) is not None)
                found += [of for of in [next(usable, None)] if of is not None]
    return found


def _fixed(component: Sequence[Sum], unknowns: Sequence[Cell]) -> list[Cell]:
    """The unknowns that have one value in all solutions of some equations."""
    place = {cell: i for i, cell in enumerate(unknowns)}
    matrix = np.zeros((len(component), len(unknowns)))
    for row, of in enumerate(component):
        for cell, sign in ((of.whole, -1.0), *((c, 1.0) for c in of.parts)):
            if cell in place:
                matrix[row, place[cell]] += sign
    _, values, vectors = np.linalg.svd(matrix)
    rank = int((values > ZERO).sum())
    fixed = np.abs(vectors[rank:]).max(axis=0, initial=0.0) < ZERO
    return [cell for cell, is_fixed in zip(unknowns, fixed, strict=True) if is_fixed]


def _components(sums: Sequence[Sum], unlisted: set[Cell]) -> list[list[Sum]]:
    """The equations with unknowns, those that share one together."""
    component: dict[Cell, int] = {}
    members: dict[int, list[Sum]] = {}
    for number, of in enumerate(sums):
        unknown = [c for c in (of.whole, *of.parts) if c in unlisted]
        if not unknown:
            continue
        touched = {component[c] for c in unknown if c in component}
        members[number] = [of, *(s for t in touched for s in members.pop(t))]
        for s in members[number]:
            component.update((c, number) for c in (s.whole, *s.parts) if c in unlisted)
    return list(members.values())
