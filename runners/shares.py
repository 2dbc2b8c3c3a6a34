"""Patients shared out over splits: each combination of values by the ratio, and all of them together too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

# Of a patient the combinations of values that its rows have, and how many rows have each.
Rows = Sequence[tuple[int, float]]
# What is smaller is a rounding error of a sum of shares.
TINY = 1e-9


def shared_out(order: Sequence[int], members: Sequence[Rows], shares: Sequence[float]) -> list[int]:
    """The split of each patient.

    Patients with rows of rare combinations, and those with many rows, choose first, since they fit in few places: one
    after the other goes where the most is missing of what the patient has. What each combination is rounded by then
    adds up, so patients are moved until no move brings the sizes of the splits nearer to the ratio and leaves every
    combination within one patient of its share. A split that is empty then gets whom it does least harm.

    Args:
        order: The patients, in an order that depends on nothing but them.
        members: Of each patient the combinations of its rows, and how many rows are of each.
        shares: Of each split; they sum to 1.

    Examples:
        >>> people = [[(combination, 1.0)] for combination in (0, 0, 0, 1, 1, 1)]
        >>> [shared_out(range(6), people, (0.5, 0.25, 0.25)).count(split) for split in range(3)]
        [3, 2, 1]
    """
    chosen = _Splits.of(members, shares)
    totals = {cell: sum(lacking) for cell, lacking in chosen.lacking.items()}
    first = sorted(order, key=lambda p: (min(totals[c] for c, _ in members[p]), -sum(n for _, n in members[p])))
    for patient in first:
        need = chosen.need(patient)
        chosen.put(patient, max(range(len(shares)), key=lambda s: (need[s], chosen.overall[s], -s)))
    last = first[::-1]  # rare combinations stay where they are, if others can be moved
    while any([*chosen.moved(last), *chosen.exchanged(last)]):
        pass
    for split in (s for s, count in enumerate(chosen.patients) if not count):
        others = [p for p in last if chosen.patients[chosen.split[p]] > 1]
        chosen.put(min(others, key=lambda p: chosen.excess(p, split)), split)
    return chosen.split


@dataclass
class _Splits:
    """Patients in splits, and what is missing there.

    Attributes:
        members: As `shared_out` takes them.
        split: That of each patient; -1 of those without.
        patients: How many each split has.
        lacking: The rows of each combination that each split still lacks; below zero those that are too many.
        overall: The same of all rows.
        largest: The most rows of each combination that one patient has.
    """

    members: Sequence[Rows]
    split: list[int]
    patients: list[int]
    lacking: dict[int, list[float]]
    overall: list[float]
    largest: dict[int, float]

    @classmethod
    def of(cls, members: Sequence[Rows], shares: Sequence[float]) -> _Splits:
        """Without any patient in them."""
        totals: dict[int, float] = {}
        largest: dict[int, float] = {}
        for rows in members:
            for cell, count in rows:
                totals[cell] = totals.get(cell, 0.0) + count
                largest[cell] = max(largest.get(cell, 0.0), count)
        lacking = {cell: [share * total for share in shares] for cell, total in totals.items()}
        overall = [share * sum(totals.values()) for share in shares]
        return cls(members, [-1] * len(members), [0] * len(shares), lacking, overall, largest)

    def need(self, patient: int) -> list[float]:
        """How much is missing in each split of what a patient has."""
        rows = self.members[patient]
        return [round(sum(self.lacking[c][s] * n for c, n in rows), 9) for s in range(len(self.overall))]

    def put(self, patient: int, split: int) -> None:
        """Puts a patient into a split, out of that where it is."""
        before = self.split[patient]
        for s, sign in ((before, 1), (split, -1)) if before >= 0 else ((split, -1),):
            for cell, count in self.members[patient]:
                self.lacking[cell][s] += sign * count
                self.overall[s] += sign * count
            self.patients[s] -= sign
        self.split[patient] = split

    def moved(self, order: Sequence[int]) -> Iterator[bool]:
        """Moves patients one by one to where that brings the sizes nearer to the ratio."""
        for patient in order:
            rows = sum(count for _, count in self.members[patient])
            old = self.split[patient]
            if self.overall[old] >= -TINY:
                continue
            gains = [(self._nearer({old: rows, new: -rows}), -new) for new in range(len(self.overall)) if new != old]
            for gain, new in sorted(gains, reverse=True):
                if gain > TINY and self._may_move(patient, -new):
                    self.put(patient, -new)
                    yield True
                    break

    def exchanged(self, order: Sequence[int]) -> Iterator[bool]:
        """Moves one patient into a split, and another one out of it into a third, where only both together help."""
        for full, between, free in permutations(range(len(self.overall)), 3):
            if self.overall[full] >= -TINY or self.overall[free] <= TINY:
                continue
            away, further = self._movable(order, full, between), self._movable(order, between, free)
            for (rows, one), (others, other) in ((a, b) for a in away.items() for b in further.items()):
                change = {full: rows, between: others - rows, free: -others}
                if self._nearer(change) > TINY and self._both(one, between, other, free):
                    yield True
                    break

    def _movable(self, order: Sequence[int], old: int, new: int) -> dict[float, int]:
        """The first patient of each number of rows that may be moved from one split into another."""
        found: dict[float, int] = {}
        for patient in order:
            if self.split[patient] == old:
                rows = sum(count for _, count in self.members[patient])
                if rows not in found and self._may_move(patient, new):
                    found[rows] = patient
        return found

    def _both(self, one: int, between: int, other: int, free: int) -> bool:
        """Moves two patients if each may be moved where the other has been."""
        full = self.split[one]
        self.put(one, between)
        if self._may_move(other, free):
            self.put(other, free)
            return True
        self.put(one, full)
        return False

    def _nearer(self, change: dict[int, float]) -> float:
        """By how much the sizes come nearer to the ratio where splits lack so many rows more, in squares."""
        return sum(self.overall[s] ** 2 - (self.overall[s] + more) ** 2 for s, more in change.items())

    def _may_move(self, patient: int, new: int) -> bool:
        """Whether a patient may be moved: no split is emptied, and each combination stays within one patient."""
        return self.patients[self.split[patient]] > 1 and self.excess(patient, new) < -TINY

    def excess(self, patient: int, new: int) -> float:
        """By how many rows a combination is further from its share than one patient, once the patient is moved."""
        old = self.split[patient]
        return max(
            max(self.lacking[cell][old] + count, count - self.lacking[cell][new]) - self.largest[cell]
            for cell, count in self.members[patient]
        )
