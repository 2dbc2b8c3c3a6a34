"""Which groups are left out so that no small one can be read, also not by adding and subtracting the others.

Every group is the sum of its parts: all rows of the groups of an attribute (those with a missing value included), a
group of the cells of an intersection. A group left out is an unknown of these equations. It is protected if the
equations do not determine it: not one by one (`_exposed`), and not together (`_determined`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]

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


def left_out(rows: dict[Cell, int], sums: Sequence[Sum], hidden: set[Cell], least: int) -> set[Cell]:
    """The groups to leave out.

    Args:
        rows: The rows of every group.
        sums: The equations between them.
        hidden: Groups that are not listed anyway: those of a missing value.
        least: The smallest number of rows that may be read.
    """
    out = {cell for cell, n in rows.items() if 0 < n < least and cell not in hidden}
    while True:
        unlisted = {cell for cell in out | hidden if rows[cell] > 0}
        exposed = _exposed(rows, sums, unlisted, out, least) or _determined(rows, sums, unlisted, out, least)
        more = {_smallest(rows, of, unlisted) for of in exposed} - {None}
        if not more:
            return out
        out |= {cell for cell in more if cell is not None}


def _smallest(rows: dict[Cell, int], of: Sum, unlisted: set[Cell]) -> Cell | None:
    """The smallest listed part of a sum, the first by name of equals; the whole itself where no part is listed."""
    listed = [cell for cell in of.parts if rows[cell] > 0 and cell not in unlisted]
    if listed:
        return min(listed, key=lambda cell: (rows[cell], repr(cell)))
    return of.whole if of.whole not in unlisted and of.whole.grouping else None


def _exposed(rows: dict[Cell, int], sums: Sequence[Sum], unlisted: set[Cell], out: set[Cell], least: int) -> list[Sum]:
    """The sums that expose one group left out, or fewer than `least` rows of several."""
    found = []
    for of in sums:
        unknown = [cell for cell in of.parts if cell in unlisted]
        if of.whole in unlisted:
            if of.whole in out and not unknown:
                found.append(of)
        elif unknown and (sum(rows[c] for c in unknown) < least or (len(unknown) == 1 and unknown[0] in out)):
            found.append(of)
    return found


def _determined(
    rows: dict[Cell, int], sums: Sequence[Sum], unlisted: set[Cell], out: set[Cell], least: int
) -> list[Sum]:
    """For every unknown that the equations determine together, one of them."""
    found = []
    for component in _components(sums, unlisted):
        unknowns = sorted({c for of in component for c in (of.whole, *of.parts) if c in unlisted}, key=repr)
        if len(unknowns) > MAX_UNKNOWNS:
            found += [of for of in component if any(c not in unlisted and rows[c] > 0 for c in of.parts)]
            continue
        place = {cell: i for i, cell in enumerate(unknowns)}
        matrix = np.zeros((len(component), len(unknowns)))
        for row, of in enumerate(component):
            for cell, sign in ((of.whole, -1.0), *((c, 1.0) for c in of.parts)):
                if cell in place:
                    matrix[row, place[cell]] += sign
        _, values, vectors = np.linalg.svd(matrix)
        rank = int((values > ZERO).sum())
        fixed = np.abs(vectors[rank:]).max(axis=0, initial=0.0) < ZERO
        for cell in (c for c, is_fixed in zip(unknowns, fixed, strict=True) if is_fixed):
            if cell in out or rows[cell] < least:
                involved = [of for of in component if cell == of.whole or cell in of.parts]
                found += [of for of in involved if _smallest(rows, of, unlisted) is not None][:1]
    return found


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


def coarsened(starts: Ints, counts: Sequence[Ints], least: int) -> Ints:
    """Bins merged from the left until each holds 0 or at least `least` rows of every group.

    Args:
        starts: Where the bins start, the first at 0.
        counts: The rows per finest bin of every group.
        least: The smallest number of rows that may be read.
    """
    if not counts:
        return starts
    rows = np.add.reduceat(np.stack(counts), starts, axis=1)
    kept: list[int] = []
    sums: list[Ints] = []
    open_at, held = 0, np.zeros(len(counts), dtype=np.int64)
    for i in range(len(starts)):
        held = held + rows[:, i]
        if ((held == 0) | (held >= least)).all():
            kept.append(open_at)
            sums.append(held)
            open_at, held = i + 1, np.zeros(len(counts), dtype=np.int64)
    # What is left over joins the bins before it.
    while kept and open_at < len(starts) and ((held > 0) & (held < least)).any():
        open_at = kept.pop()
        held = held + sums.pop()
    if open_at < len(starts):
        kept.append(open_at)
    return starts[np.array(kept, dtype=np.int64)]
