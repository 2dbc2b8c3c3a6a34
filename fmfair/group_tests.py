"""Tests that any group differs, and the variances that group values have if none does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfair.intervals import Dependence, Values, effective, limits
from fmfair.metrics.metric import IntervalKind, Metric
from fmfair.statistics.differences import delong_unpaired
from fmfair.statistics.families import by_size
from fmfair.statistics.homogeneity import (
    chi_square,
    design_effect,
    null_variance_of_means,
    null_variance_of_rates,
    pooled_placement_f,
    welch,
)
from fmfair.statistics.interval import FloatArray
from fmfair.statistics.mover import p_by_inversion
from fmfair.statistics.quantiles import normal_critical
from fmfair.statistics.range_of_equals import range_p

Families = NDArray[np.int64]

SPARSE = "expected counts below 5, for which the test is only roughly right"
# Below this the variance between patients is itself uncertain: among equal groups of 30 patients 5 to 8 % have p < .05.
FEW_PATIENTS = 50
TOO_SURE = f"a group has fewer than {FEW_PATIENTS} patients, for which p is somewhat too small"
# Small samples have too high an average precision, so that groups of unlike sizes differ though none is better.
FEW_POSITIVES = 30
BIASED = f"a group has fewer than {FEW_POSITIVES} {{}}s with positives, whose value is biased upward"
NOTHING_VARIES = "no test: all groups are alike and nothing varies"


class GroupTest(NamedTuple):
    """A test per comparison, and a variance per group.

    Attributes:
        p: The p value of "no group differs"; NaN where there is no test.
        method: The name of the test.
        null_variance: The variance of each group's value if no group differs.
        doubt: What makes the test doubtful, or why there is none; empty where nothing does.
    """

    p: FloatArray
    method: NDArray[np.str_]
    null_variance: FloatArray
    doubt: NDArray[np.object_]


# With more groups than this pairs are not looked at one by one.
MOST_GROUPS = 20


class Pairs(NamedTuple):
    """Two groups of comparisons, by their positions, and which comparisons these are."""

    family: Families
    first: Families
    second: Families

    @classmethod
    def of(cls, family: Families, count: int) -> Pairs:
        """Those of the comparisons that have just two groups."""
        two = np.flatnonzero(np.bincount(family, minlength=count) == 2)
        order = np.argsort(family, kind="stable")
        start = np.searchsorted(family[order], two)
        return cls(two, order[start], order[start + 1])

    @classmethod
    def all(cls, family: Families, count: int) -> Pairs:
        """All pairs of the comparisons that have no more than `MOST_GROUPS`."""
        parts = [cls(*(np.empty(0, dtype=np.int64) for _ in range(3)))]
        for families, positions in by_size(family, np.ones(len(family), dtype=bool), count):
            size = positions.shape[1]
            if 2 <= size <= MOST_GROUPS:
                a, b = np.triu_indices(size, 1)
                parts.append(cls(np.repeat(families, len(a)), positions[:, a].ravel(), positions[:, b].ravel()))
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def group_test(
    rows: pl.DataFrame | Values, metric: Metric, family: Families, count: int, dependence: Dependence
) -> GroupTest:
    """The test of one metric in `count` comparisons.

    Args:
        rows: A value per group, with what is known of its spread.
        metric: The metric, which has a closed form.
        family: The comparison of each group.
        count: How many comparisons there are.
        dependence: What keeps rows from counting alike.
    """
    assert metric.interval is not None
    return _TESTS[metric.interval](Values(rows), metric, family, count, dependence)


def _auc(v: Values, _: Metric, family: Families, count: int, dependence: Dependence) -> GroupTest:
    design = patients = None
    if dependence.clustered:
        design = design_effect(v["variance"], v["pos_variance"] + v["neg_variance"], family, count)
        patients = v["units"]
    pooled = pooled_placement_f(
        *(v["value"], v["pos_variance"], v["neg_variance"], v["n_pos"], v["n"] - v["n_pos"], family),
        design_effect=design,
        patients=patients,
        n_families=count,
    )
    p, method = pooled.p.copy(), np.full(count, "pooled placements, F")
    pairs = Pairs.of(family, count)
    a, b = pairs.first, pairs.second
    two = delong_unpaired(
        *(v[c][a] for c in ("value", "variance", "units")), *(v[c][b] for c in ("value", "variance", "units"))
    )
    p[pairs.family] = two.p
    method[pairs.family] = "DeLong, t"
    none = f"no test: a class has one {dependence.unit} only, or all its rows rank alike"
    return GroupTest(p, method, pooled.null_variance, np.where(np.isnan(p), none, _no_doubt(count)))


def _proportion(v: Values, _: Metric, family: Families, count: int, dependence: Dependence) -> GroupTest:
    size = v["denominator"] if dependence.rows_count_alike else effective(v, dependence)
    successes = v["value"] * size
    patients = v["units"] if dependence.clustered else None
    tested = chi_square(successes, size, family, patients=patients, n_families=count)
    name = "chi-square" if dependence.rows_count_alike else "chi-square, effective sizes"
    doubt = _no_doubt(count)
    if dependence.clustered:
        doubt[np.unique(family[v["units"] < FEW_PATIENTS])] = TOO_SURE
    doubt[tested.sparse] = SPARSE
    doubt[np.isnan(tested.p)] = NOTHING_VARIES
    null = null_variance_of_rates(successes, size, family, None, count)
    return GroupTest(_of_all_groups(tested.p, size, family, count), np.full(count, name), null, doubt)


def _no_doubt(count: int) -> NDArray[np.object_]:
    return np.full(count, "", dtype=object)


def _of_all_groups(p: FloatArray, known: FloatArray, family: Families, count: int) -> FloatArray:
    """The p values of comparisons that no group was left out of: that of the others says nothing of the largest gap."""
    return np.where(np.bincount(family, np.isnan(known), minlength=count) == 0, p, np.nan)


def _mean(v: Values, _: Metric, family: Families, count: int, dependence: Dependence) -> GroupTest:
    tested = welch(v["value"], v["variance"], v["units"], family)
    null = (
        v["variance"] if not dependence.rows_count_alike else null_variance_of_means(v["variance"], v["units"], family)
    )
    p = _of_all_groups(tested.p, v["variance"], family, count)
    return GroupTest(p, np.full(count, "Welch"), null, np.where(np.isnan(p), NOTHING_VARIES, _no_doubt(count)))


def _inverted(v: Values, metric: Metric, family: Families, count: int, dependence: Dependence) -> GroupTest:
    """The level at which the interval of the largest difference touches 0: of two groups, or of all pairs at once."""
    pairs = Pairs.all(family, count)
    first, second = v.at(pairs.first), v.at(pairs.second)

    sides = first.beside(second)

    def both(level: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        low, high, _ = limits(sides, metric, np.tile(level, 2), dependence)
        (l1, l2), (u1, u2) = np.split(low, 2), np.split(high, 2)
        return l1, u1, l2, u2

    of_pairs = p_by_inversion(both, first["value"], second["value"])
    p = np.full(count, np.inf)
    np.minimum.at(p, pairs.family, np.where(np.isnan(of_pairs), -np.inf, of_pairs))  # one unknown, all unknown
    p = np.where(np.isfinite(p), p, np.nan)
    # Of too many groups no p value of pairs is known, and none of the range is wanted.
    several = (np.bincount(family, minlength=count)[family] > 2) & ~np.isnan(p)[family]
    if several.any():
        # The chance that of so many equal groups some two lie as far apart, in standard errors of their difference.
        apart = np.sqrt(2) * np.where(np.isnan(p), np.nan, normal_critical(1 - p))
        chance = range_p(np.where(several, 1.0, np.nan), family, apart, count)
        p = np.where(np.isnan(chance), p, chance)
    doubt = _no_doubt(count)
    doubt[np.isnan(p)] = f"no test of more than {MOST_GROUPS} groups"
    if metric.interval == "average_precision":
        doubt[np.unique(family[v["pos_units"] < FEW_POSITIVES])] = BIASED.format(dependence.unit)
    return GroupTest(p, np.full(count, "interval inverted"), v["variance"], doubt)


_TESTS: Mapping[IntervalKind, Callable[[Values, Metric, Families, int, Dependence], GroupTest]] = {
    "auc": _auc,
    "average_precision": _inverted,
    "proportion": _proportion,
    "ratio": _inverted,
    "balanced": _inverted,
    "mean": _mean,
    "benefit": _mean,
}
