"""The facts of a table of counts: what two tables must have in common before they may be added."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from fmfair.errors import FmfairError, listing

# Grows when a column or a fact gets another meaning.
FORMAT = 1
MAX_GRID = 1_000_000
# Sums stay below 2^63 for this many rows in one bin.
MAX_ROWS_LOG2 = 31


@dataclass(frozen=True)
class Facts:
    """What the rows of a table of counts mean.

    Attributes:
        format: The version of the table's format.
        grid: Number of score bins on [0, 1]; a score of exactly 1.0 has one more of its own.
        scale: The sums of residuals are in units of 2^-scale.
        scale_squares: The sums of their squares are in units of 2^-scale_squares.
        score_type: `probability` or `logit`.
        conventions: Always `standard`: a score at a threshold counts as positive.
        positive: The positive class, None where labels are 0 and 1.
        ignore: The labels that were left out.
        missing_groups: `drop` or `keep`.
        groupings: The attributes of every grouping, in order: each alone, then intersections.
        suppress_below: The smallest number of rows that can be read, since bins were merged and groups left out; of
            several tables that were added the smallest one; None where nothing was suppressed.
    """

    grid: int
    scale: int
    scale_squares: int
    score_type: str
    groupings: tuple[tuple[str, ...], ...]
    positive: str | None = None
    ignore: tuple[str, ...] = ()
    missing_groups: str = "drop"
    suppress_below: int | None = None
    conventions: str = "standard"
    format: int = FORMAT

    def to_json(self) -> str:
        """One line of JSON, the same text for the same facts."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @property
    def suppressed(self) -> bool:
        """Whether bins were merged and groups left out so that no small count can be read."""
        return self.suppress_below is not None

    @property
    def attributes(self) -> list[str]:
        """The attributes in order."""
        return [parts[0] for parts in self.groupings if len(parts) == 1]


def scales(grid: int, *, suppressed: bool = False) -> tuple[int, int]:
    """The finest units in which the sums of 2^31 rows of one bin fit into 64 bits.

    A residual is smaller than 1 / grid, in a merged bin smaller than 1.

    Examples:
        >>> scales(4000)
        (43, 55)
    """
    if suppressed:
        return MAX_ROWS_LOG2, MAX_ROWS_LOG2
    return MAX_ROWS_LOG2 + (grid - 1).bit_length(), MAX_ROWS_LOG2 + (grid * grid - 1).bit_length()


def check_grid(grid: Any) -> int:
    """The number of bins as a whole number.

    Raises:
        FmfairError: It is none, or out of range.
    """
    if isinstance(grid, bool) or not hasattr(grid, "__index__") or not 1 <= int(grid) <= MAX_GRID:
        raise FmfairError(f"grid={grid!r} is not a whole number of score bins from 1 to {MAX_GRID:,}")
    return int(grid)


def read_facts(text: str) -> Facts:
    """The facts in a line of JSON.

    Raises:
        FmfairError: It is no JSON, lacks a fact or has one that cannot be, or a newer version wrote it.
    """
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise FmfairError(f"column 'facts' holds {text[:60]!r}, which fmfair.counts did not write")
    if isinstance(found.get("format"), int) and found["format"] > FORMAT:
        raise FmfairError(f"the counts have format {found['format']}, which is newer than this fmfair; update it")
    names = {field.name for field in fields(Facts)}
    if set(found) != names:
        odd = sorted(names ^ set(found))
        raise FmfairError(f"column 'facts' lacks or has too many of the facts {listing(odd, limit=12)}")
    try:
        found["groupings"] = tuple(tuple(map(_text, parts)) for parts in found["groupings"])
        found["ignore"] = tuple(map(_text, found["ignore"]))
    except (TypeError, FmfairError):
        raise FmfairError("column 'facts': groupings and ignore must be lists of texts") from None
    facts = Facts(**found)
    _check(facts)
    return facts


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise FmfairError(f"{value!r} is no text")
    return value


def _check(facts: Facts) -> None:
    grid = check_grid(facts.grid)
    ready = {
        "format": facts.format == FORMAT,
        "scale and scale_squares": (facts.scale, facts.scale_squares) == scales(grid, suppressed=facts.suppressed),
        "score_type": facts.score_type in ("probability", "logit"),
        "conventions": facts.conventions == "standard",
        "missing_groups": facts.missing_groups in ("drop", "keep"),
        "suppress_below": facts.suppress_below is None or _is_least(facts.suppress_below),
        "groupings": _are_groupings(facts.groupings),
    }
    wrong = [name for name, right in ready.items() if not right]
    if wrong:
        raise FmfairError(f"column 'facts': {', '.join(wrong)} cannot be as they are; make the counts again")


def _is_least(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 2


def _are_groupings(groupings: Sequence[Sequence[str]]) -> bool:
    """Whether each is a set of attributes, and each attribute of an intersection is there alone."""
    alone = {parts[0] for parts in groupings if len(parts) == 1}
    distinct = len(set(map(tuple, groupings))) == len(groupings)
    return distinct and all(parts and len(set(parts)) == len(parts) and alone.issuperset(parts) for parts in groupings)


def differing(one: Facts, other: Facts) -> list[str]:
    """The facts in which two tables differ and may not, each with both values."""
    a, b = asdict(one), asdict(other)
    if one.suppressed == other.suppressed:
        del a["suppress_below"]
    return [f"{name}: {_shown(a[name])} and {_shown(b[name])}" for name in a if a[name] != b[name]]


def of_all(facts: Sequence[Facts]) -> Facts:
    """The facts of the sum of tables which do not differ: the smallest limit is the one that holds."""
    return replace(facts[0], suppress_below=min((f.suppress_below for f in facts if f.suppress_below), default=None))


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(" & ".join(v) if isinstance(v, tuple) else str(v) for v in value) + "]"
    return repr(value)
