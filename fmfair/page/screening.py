"""Which of the differences that the first page tells remain after allowing for how many were looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fmfair.page.gap_wording import Gap
from fmfair.page.material import Material
from fmfair.page.telling import gap_of, told_metrics
from fmfair.statistics.multiplicity import benjamini_hochberg, holm

# Of the differences that an exploratory screen finds, the share that may be false.
Q = 0.1
# The position of a by-key, an attribute and a metric.
Key = tuple[int, str, str]


@dataclass(frozen=True)
class Screen:
    """The gaps of the first page, and those that stand out among them.

    Attributes:
        gaps: Every gap; None where there is none.
        passed: Those whose interval leaves out 0 and whose adjusted p value is small enough.
        compared: How many have a p value.
        planned: Whether all attributes were settled before the data were seen: then no false difference is to be among
            those that pass (Holm), else a share of `Q` of them may be (Benjamini and Hochberg).
    """

    gaps: Mapping[Key, Gap | None]
    passed: frozenset[Key]
    compared: int
    planned: bool


def screen(material: Material) -> Screen:
    """The screen over all by-keys, the single attributes and the metrics of the first page."""
    gaps = {
        (position, attribute, metric): gap_of(view, material, attribute, metric)
        for metric in told_metrics(material)
        for attribute in material.attributes
        for position, view in enumerate(material.views)
    }
    p = np.array([np.nan if gap is None or gap.p is None else gap.p for gap in gaps.values()], dtype=np.float64)
    planned = set(material.attributes) <= set(material.plan.pre_specified)
    if planned:
        small = holm(p, np.zeros(len(p), dtype=np.int64)) < 1 - (material.level or 0.95)
    else:
        small = benjamini_hochberg(p) <= Q
    passed = [key for (key, gap), is_small in zip(gaps.items(), small, strict=True) if gap and gap.shown and is_small]
    return Screen(gaps, frozenset(passed), int(np.count_nonzero(~np.isnan(p))), planned)


def compared(material: Material) -> int:
    """How many differences the first page looks at: those with a p value."""
    rows = [
        view.difference(attribute, metric)
        for view in material.views
        for attribute in material.attributes
        for metric in told_metrics(material)
    ]
    return sum(row is not None and row.get("p_value") is not None for row in rows)
