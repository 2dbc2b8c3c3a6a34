"""Gaps of models: is a model fairer than a baseline, judged by the difference of their gaps between groups.

Between two groups a gap is the larger value less the smaller one, and varies as the two values do with these signs.
Where the gap of both models is near 0 the signs are chance, and the test claims a difference too rarely, not too often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from fmfair.bootstrap.replicates import Replicates
from fmfair.comparison.differences import FEW, ROUGH, TUNED, UNUSABLE
from fmfair.comparison.layout import Layout
from fmfair.comparison.measuring import Influence
from fmfair.comparison.pairs import Pairs
from fmfair.intervals import NO_CLOSED_FORM, Dependence
from fmfair.statistics.bootstrap_limits import percentile, percentile_p
from fmfair.statistics.differences import delong_paired
from fmfair.statistics.interval import BoolArray, FloatArray
from fmfair.units import Positions

EXPLORATORY = "exploratory: largest minus smallest is not smooth, so that a bootstrap may mislead"
SEVERAL = "more than two groups: no closed form; a bootstrap gives a rough interval"
OTHER_SIDES = "the models favour different groups; the test holds only where neither gap is near 0"
TOO_FEW = "fewer than two groups with a value in both models"


# Values of two groups that differ by less are equal but for rounding.
EQUAL = 1e-12


class Extremes(NamedTuple):
    """The groups of each pair that have a value in both models, and the gap of either model between them."""

    usable: BoolArray
    low: FloatArray
    high: FloatArray
    lowest: Positions
    highest: Positions

    @property
    def gap(self) -> FloatArray:
        """Largest less smallest value, models by pairs."""
        return self.high - self.low


def extremes_of(pairs: Pairs, min_group_size: int) -> Extremes:
    """The smallest and the largest value of both models of every pair; NaN below two groups."""
    both = np.stack(pairs.values)
    n = pairs.of_models("n")[pairs.by[:, 0]]
    usable = ~np.isnan(both).any(axis=0) & (n >= max(min_group_size, 1))
    enough = usable.sum(axis=1) > 1
    least, most = (np.where(usable, both, end) for end in (np.inf, -np.inf))
    low, high = (np.where(enough, found, np.nan) for found in (least.min(axis=2), most.max(axis=2)))
    return Extremes(usable, low, high, least.argmin(axis=2), most.argmax(axis=2))


def gaps(
    pairs: Pairs,
    parts: Sequence[Layout],
    influence: Influence | None,
    level: float,
    min_group_size: int,
    dependence: Dependence,
    replicates: Replicates | None,
) -> pl.DataFrame:
    """The gaps of one metric at one threshold between the groups of one grouping: one row per pair.

    Args:
        pairs: The values.
        parts: The rows behind them.
        influence: Their influences; None without a closed form.
        level: Of confidence.
        min_group_size: Groups with fewer rows are left out.
        dependence: What keeps rows from counting alike.
        replicates: The values in all replicates; None without a bootstrap.

    Returns:
        Columns `pair` and those of `GAPS` but for the names.
    """
    found = extremes_of(pairs, min_group_size)
    gap_a, gap_b = found.gap
    count = found.usable.sum(axis=1)
    two = (count == 2) & ~np.isnan(gap_a)
    low, high, p = (np.full(len(pairs.by), np.nan) for _ in range(3))
    method = np.full(len(pairs.by), "", dtype=object)
    if influence is not None and two.any():
        signs = _signs(found, two)
        for pair, variance, df in _variances(parts, influence, pairs, signs):
            normal = pairs.metric.interval == "auc" and not dependence.clustered
            tested = delong_paired(gap_b[pair], gap_a[pair], variance, np.inf if normal else df, level)
            low[pair], high[pair], p[pair] = tested.low, tested.high, tested.p
            method[pair] = "influence, z" if normal else "influence, t"
    drawn = np.isnan(low) & (count > 1) & ~(two & (influence is not None))
    if replicates is not None and pairs.metric.family != "count":
        for pair in np.flatnonzero(drawn).tolist():
            low[pair], high[pair], p[pair] = _resampled(pairs, found, pair, replicates, level)
            method[pair] = "paired bootstrap, percentile"
    known = ~np.isnan(low)
    widest = np.inf if pairs.metric.low is None or pairs.metric.high is None else pairs.metric.high - pairs.metric.low
    sides = two & (found.highest[0] != found.highest[1]) & (found.gap > EQUAL).all(axis=0)
    every = np.arange(len(pairs.by))
    return (
        pl.DataFrame(
            {
                "pair": every,
                **pairs.threshold(every),
                "gap_baseline": gap_a,
                "gap_model": gap_b,
                "difference": gap_b - gap_a,
                "ci_low": np.where(known, np.clip(low, -widest, widest), np.nan),
                "ci_high": np.where(known, np.clip(high, -widest, widest), np.nan),
                "ci_method": pl.Series(np.where(known, method, "").astype(str)).replace("", None),
                "p_value": p,
                "n_groups": count,
                **_worst(pairs, found),
                "drawn": drawn & (replicates is not None),
                "sides": sides,
                "few": _few(pairs, found.usable),
            }
        )
        .with_columns(pl.col(pl.Float64).fill_nan(None))
        .with_columns(note=_note(pairs, influence is not None))
        .drop("drawn", "sides", "few")
    )


def _signs(found: Extremes, two: BoolArray) -> FloatArray:
    """For both models of the pairs with two groups: 1 for the larger value, -1 for the smaller one.

    Where the two values of a model are equal, they have the signs of the other model's.
    """
    signs = np.zeros((2, *found.usable.shape))
    rows = np.flatnonzero(two)
    for side in (0, 1):
        signs[side, rows, found.lowest[side, rows]] = -1.0
        signs[side, rows] += found.usable[rows] & (signs[side, rows] == 0)
    for side in (0, 1):
        equal = rows[found.gap[side, rows] <= EQUAL]
        signs[side, equal] = signs[1 - side, equal]
    return signs


def _variances(
    parts: Sequence[Layout], influence: Influence, pairs: Pairs, signs: FloatArray
) -> list[tuple[int, float, float]]:
    return [one for layout in parts for one in layout.gap_variances(influence, pairs.metric, signs)]


def _resampled(
    pairs: Pairs, found: Extremes, pair: int, replicates: Replicates, level: float
) -> tuple[float, float, float]:
    """The percentile limits and the p value of the difference of two gaps; the same resample for both models."""
    gap = []
    for by in pairs.by[pair]:
        rows = pairs.rows["row"].to_numpy()[pairs.index[by, found.usable[pair]]]
        values = replicates.values[rows]
        gap.append(values.max(axis=0) - values.min(axis=0))
    difference = gap[1] - gap[0]
    interval = percentile(difference, level)
    p = float(percentile_p(difference)) if not np.isnan(interval.low) else np.nan
    return float(interval.low), float(interval.high), p


def _worst(pairs: Pairs, found: Extremes) -> dict[str, pl.Series]:
    """The group that each model serves worst; NULL where no direction is better."""
    if pairs.metric.direction == "none":
        return {name: pl.repeat(None, len(pairs.by), dtype=pl.String, eager=True) for name in _WORST}
    worst = found.lowest if pairs.metric.direction == "higher" else found.highest
    none = pl.Series(np.isnan(found.low[0]))
    return {name: pairs.groups.names.gather(where).set(none, None) for name, where in zip(_WORST, worst, strict=True)}


_WORST = ("worst_group_baseline", "worst_group_model")


def _few(pairs: Pairs, usable: BoolArray) -> BoolArray:
    """The pairs with a compared group that has too few rows of one class for the test of its AUC."""
    if pairs.metric.interval != "auc":
        return np.zeros(len(pairs.by), dtype=bool)
    n, n_pos = (pairs.of_models(column)[pairs.by[:, 0]] for column in ("n", "n_pos"))
    return np.asarray((usable & (np.fmin(n_pos, n - n_pos) < FEW)).any(axis=1))


def _note(pairs: Pairs, closed: bool) -> pl.Expr:
    unknown, undefined = pl.col("ci_low").is_null(), pl.col("difference").is_null()
    if pairs.metric.family == "count":
        return pl.when(undefined).then(pl.lit(TOO_FEW))
    without = pl.when(pl.col("n_groups") > 2).then(pl.lit(SEVERAL)).otherwise(pl.lit(NO_CLOSED_FORM))
    few = pl.lit("too few rows or patients, or none whose difference varies")
    return (
        pl.when(undefined)
        .then(pl.lit(TOO_FEW))
        .when(unknown & pl.col("drawn"))
        .then(pl.lit(UNUSABLE))
        .when(unknown & (pl.lit(closed) & (pl.col("n_groups") == 2)))
        .then(few)
        .when(unknown)
        .then(without)
        .when("drawn")
        .then(pl.lit(EXPLORATORY))
        .when("sides")
        .then(pl.lit(OTHER_SIDES))
        .when("few")
        .then(pl.lit(ROUGH))
        .when(~pl.col("threshold_rule").is_in(["fixed", "y_pred"]).fill_null(value=True))
        .then(pl.lit(TUNED))
    )
