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

Families = NDArray[np.int64]

SPARSE = "expected counts below 5, for which the test is only roughly right"
# Below this the variance between patients is itself uncertain: among equal groups of 30 patients 5 to 8 % have p < .05.
FEW_PATIENTS = 50
TOO_SURE = f"a group has fewer than {FEW_PATIENTS} patients, for which p is somewhat too small"


class GroupTest(NamedTuple):
    """A test per comparison, and a variance per group.

    Attributes:
        p: The p value of "no group differs"; NaN where there is no test.
        method: The name of the test.
        null_variance: The variance of each group's value if no group differs.
        doubt: What makes the test doubtful; empty where nothing does.
    """

    p: FloatArray
    method: NDArray[np.str_]
    null_variance: FloatArray
    doubt: NDArray[np.object_]


class Pairs(NamedTuple):
    """The two groups of every comparison that has just two, by their positions, and which comparisons these are."""

    family: Families
    first: Families
    second: Families

    @classmethod
    def of(cls, family: Families, count: int) -> Pairs:
        """The pairs among families."""
        two = np.flatnonzero(np.bincount(family, minlength=count) == 2)
        order = np.argsort(family, kind="stable")
        start = np.searchsorted(family[order], two)
        return cls(two, order[start], order[start + 1])


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
    return GroupTest(p, method, pooled.null_variance, _no_doubt(count))


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
    null = null_variance_of_rates(successes, size, family, None, count)
    return GroupTest(tested.p, np.full(count, name), null, doubt)


def _no_doubt(count: int) -> NDArray[np.object_]:
    return np.full(count, "", dtype=object)


def _mean(v: Values, _: Metric, family: Families, count: int, dependence: Dependence) -> GroupTest:
    tested = welch(v["value"], v["variance"], v["units"], family)
    null = (
        v["variance"] if not dependence.rows_count_alike else null_variance_of_means(v["variance"], v["units"], family)
    )
    return GroupTest(tested.p, np.full(count, "Welch"), null, _no_doubt(count))


def _inverted(v: Values, metric: Metric, family: Families, count: int, dependence: Dependence) -> GroupTest:
    """Two groups by the level at which the interval of their difference touches 0; more have no test."""
    pairs = Pairs.of(family, count)
    first, second = v.at(pairs.first), v.at(pairs.second)

    def both(level: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        l1, u1, _ = limits(first, metric, level, dependence)
        l2, u2, _ = limits(second, metric, level, dependence)
        return l1, u1, l2, u2

    p = np.full(count, np.nan)
    p[pairs.family] = p_by_inversion(both, v["value"][pairs.first], v["value"][pairs.second])
    return GroupTest(p, np.full(count, "interval inverted"), v["variance"], _no_doubt(count))


_TESTS: Mapping[IntervalKind, Callable[[Values, Metric, Families, int, Dependence], GroupTest]] = {
    "auc": _auc,
    "average_precision": _inverted,
    "proportion": _proportion,
    "ratio": _inverted,
    "mean": _mean,
}
