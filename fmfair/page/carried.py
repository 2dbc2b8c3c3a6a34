"""How many samples are behind a value, and which: the rarer class where both classes carry it alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fmfair.marks import of_both_classes
from fmfair.shown import metric_of

# The counts of several groups where the rarer class is not the same in all.
EITHER = "n_rarer"
# How many, and what they are: a denominator of the registry or `EITHER`.
Carried = tuple[int | None, str]


def carried(row: Mapping[str, Any]) -> Carried:
    """What carries the value of a row.

    Examples:
        >>> row = {"metric": "brier", "n": 50, "n_pos": 8, "denominator": 50}
        >>> carried(row), carried({**row, "n_pos": 45}), carried({**row, "metric": "accuracy"})
        ((8, 'n_pos'), (5, 'n_neg'), (50, 'n'))
    """
    known, n, n_pos = metric_of(row["metric"]), row.get("n"), row.get("n_pos")
    if known is None:
        return row["denominator"], "n"
    if n is None or n_pos is None or not of_both_classes(known):
        return row["denominator"], known.denominator
    return (n_pos, "n_pos") if 2 * n_pos <= n else (n - n_pos, "n_neg")


def alike(rows: Sequence[Mapping[str, Any]]) -> tuple[list[int | None], str]:
    """What carries the values of several rows, under one name.

    Examples:
        >>> row = {"metric": "auc", "n": 50, "n_pos": 8, "denominator": 8}
        >>> alike([row, {**row, "n_pos": 12}]), alike([row, {**row, "n_pos": 45}])
        (([8, 12], 'n_pos'), ([8, 5], 'n_rarer'))
    """
    found = [carried(row) for row in rows]
    names = {name for _, name in found}
    return [count for count, _ in found], names.pop() if len(names) == 1 else EITHER
