"""Groupings: attributes, intersections and all rows, as one number per cell.

A cell is a by-key and a group. Its number is `by * size + code`, where the code of an intersection counts through its
parts in mixed radix, so that numeric order is the natural order of the groups and every part can be read back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from fmfair.attributes import Attribute
from fmfair.errors import FmfairError, listing
from fmfair.options import Intersections
from fmfair.profiles import occurring
from fmfair.samples import Cohort

SEPARATOR = " & "
MAX_CELLS = 2**40


@dataclass(frozen=True)
class Grouping:
    """One way to divide the samples.

    Attributes:
        parts: The attributes whose combinations are the groups; none for all samples in one group.
        present: Attributes that must not be missing; used with no parts, for "all rows with that attribute".
    """

    parts: tuple[Attribute, ...] = ()
    present: tuple[Attribute, ...] = ()

    @property
    def size(self) -> int:
        """How many codes there are."""
        return math.prod(len(a.labels) for a in self.parts)

    @property
    def attribute(self) -> str:
        """The display name."""
        return join_parts([a.name for a in self.parts])

    @property
    def attribute_parts(self) -> list[str]:
        """The attributes' own names."""
        return [a.name for a in self.parts]

    def all_rows(self, incomplete: Iterable[str]) -> Grouping:
        """The rows that the grouping divides, undivided: those with no part missing; `incomplete` columns matter."""
        lacking = set(incomplete)
        return Grouping((), tuple(a for a in (*self.parts, *self.present) if a.column in lacking))

    def is_within(self, finer: Grouping, incomplete: Iterable[str]) -> bool:
        """Whether every cell is made of whole cells of another grouping: one with these parts, and the same rows."""
        rows, others = (set(g.all_rows(incomplete).present) for g in (self, finer))
        return set(self.parts) <= set(finer.parts) and rows == others

    def cell(self) -> pl.Expr:
        """The number of each row's cell, NULL where an attribute is missing."""
        code = pl.lit(0, pl.UInt64)
        for part in self.parts:
            code = code * len(part.labels) + pl.col(part.column).cast(pl.UInt64)
        cell = pl.col("by").cast(pl.UInt64) * self.size + code
        if not self.present:
            return cell
        return pl.when(pl.all_horizontal(pl.col(a.column).is_not_null() for a in self.present)).then(cell)

    def cells(self, samples: Cohort) -> pl.DataFrame:
        """Every cell to list, in order: `cell`, `by`, and the name of each part as `part0`, `part1`, ...

        Those are the cells that occur in the input, and for one attribute with declared levels the unused ones too.
        """
        n_by = samples.by.height
        every_level = len(self.parts) == 1 and (self.parts[0].declared or n_by == 1)
        if not self.parts or every_level:
            found = pl.DataFrame({"cell": pl.int_range(n_by * self.size, dtype=pl.UInt64, eager=True)})
        else:
            cells = samples.seen.select(self.cell().alias("cell")).to_series().drop_nulls()
            seen = occurring(cells.to_numpy(), n_by * self.size)
            found = pl.DataFrame({"cell": pl.Series(seen, dtype=pl.UInt64)})
        return found.select("cell", *self._decoded())

    def codes(self) -> list[pl.Expr]:
        """What `cell` counts, read back from the column `cell`: `by`, and the code of each part in its own column."""
        cell, below = pl.col("cell"), max(self.size, 1)  # an attribute without any value has no cell to read
        codes = [(cell // below).cast(pl.UInt32).alias("by")]
        for part in self.parts:
            below //= max(len(part.labels), 1)
            codes.append(((cell // below) % max(len(part.labels), 1)).cast(pl.UInt32).alias(part.column))
        return codes

    def group(self) -> pl.Expr:
        """The display name of each group, read back from the column `cell`."""
        _, *codes = self.codes()
        if len(codes) == 1:
            return _looked_up(self.parts[0].labels, codes[0])
        shown = [[_escaped(label) for label in part.labels] for part in self.parts]
        return pl.concat_str(map(_looked_up, shown, codes), separator=SEPARATOR)

    def _decoded(self) -> list[pl.Expr]:
        """`by`, and the name of each part as `part0`, `part1`, ..."""
        by, *codes = self.codes()
        names = [_looked_up(part.labels, code) for part, code in zip(self.parts, codes, strict=True)]
        return [by, *(name.alias(f"part{i}") for i, name in enumerate(names))]


def join_parts(parts: Sequence[str]) -> str:
    r"""Display text of several parts; an ampersand inside a part is escaped so that two cells never print alike.

    Examples:
        >>> join_parts(["F", ">=60"])
        'F & >=60'
        >>> join_parts(["A & B", "C"])
        'A \\& B & C'
    """
    if len(parts) == 1:
        return parts[0]
    return SEPARATOR.join(map(_escaped, parts))


def _escaped(part: str) -> str:
    return part.replace("\\", "\\\\").replace("&", "\\&") if "&" in part else part


def _looked_up(labels: Sequence[str], code: pl.Expr) -> pl.Expr:
    return pl.lit(pl.Series(labels, dtype=pl.String)).gather(code)


def groupings(attributes: Sequence[Attribute], intersections: Intersections) -> list[Grouping]:
    """The attributes, then their intersections.

    Raises:
        FmfairError: An intersection names an unknown attribute, or has too many possible cells to number.
    """
    chosen: Iterable[tuple[Attribute, ...]]
    if isinstance(intersections, int) or intersections == "all":
        order = len(attributes) if intersections == "all" else min(int(intersections), len(attributes))
        chosen = [c for k in range(2, order + 1) for c in combinations(attributes, k)]
    else:
        chosen = _named(attributes, intersections)
    found = [Grouping((a,)) for a in attributes] + [Grouping(c) for c in chosen]
    for grouping in found:
        if grouping.size > MAX_CELLS:
            raise FmfairError(
                f"the intersection {grouping.attribute!r} has {grouping.size:.1e} possible cells; leave an attribute "
                "out or give it fewer bins"
            )
    return found


def _named(attributes: Sequence[Attribute], wanted: Sequence[Sequence[str]]) -> list[tuple[Attribute, ...]]:
    by_name = {a.name: a for a in attributes}
    for names in wanted:
        unknown = [n for n in names if n not in by_name]
        if unknown or len(set(names)) < len(names):
            raise FmfairError(
                f"intersections: {tuple(names)!r} must name different attributes among {listing(by_name, limit=30)}"
            )
    return [tuple(by_name[n] for n in names) for names in dict.fromkeys(map(tuple, wanted))]
