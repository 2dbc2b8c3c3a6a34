"""How sure a gap is: its interval, a test that any group differs, and the gap that chance alone would show.

The largest of several differences is never 0, not even between equal groups: its interval comes from simultaneous
intervals of all pairs, and beside it stands what equal groups of these sizes would show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfair.columns import CERTAINTY
from fmfair.forms import DISAGREE, NO_INTERVAL, Forms, all_known, first_of, widest
from fmfair.gaps import PLACE, places_of, run_starts
from fmfair.group_tests import GroupTest
from fmfair.interval_table import without_form
from fmfair.intervals import Values
from fmfair.metrics.metric import Metric
from fmfair.named_gaps import NAMED_AFTER, ODDS
from fmfair.pairs import verdict
from fmfair.statistics.interval import ZERO_VARIANCE, FloatArray
from fmfair.statistics.range_of_equals import chance_of
from fmfair.statistics.simultaneous import sidak_level, worst_interval


def with_certainty(
    gaps: pl.DataFrame,
    groups: pl.DataFrame,
    metrics: Sequence[Metric],
    level: float,
    forms: Forms,
    margins: Mapping[str, float],
) -> pl.DataFrame:
    """The gaps with the columns of `columns.CERTAINTY`, filled for the statistics `difference` and `worst`.

    Args:
        gaps: As from `gaps.compare`.
        groups: The group values that were compared, with what is known of their spread.
        metrics: The metrics behind `order`.
        level: Confidence level.
        forms: Where limits and tests come from.
        margins: By the name of a metric, the difference that matters.
    """
    usable = groups.filter(pl.col("in_gaps") & pl.col("value").is_not_null())
    places, values = usable.select(PLACE), Values(usable)
    order = usable["order"].to_numpy()
    parts = [pl.DataFrame(schema={**{c: gaps.schema[c] for c in (*PLACE, "statistic")}, **CERTAINTY})]
    compared: dict[str, tuple[Compared, pl.DataFrame]] = {}
    for position, metric in enumerate(metrics):
        at = np.flatnonzero(order == position)
        if not forms.has(metric) or not len(at):
            continue
        one = Compared.of(places[at], values.at(at), metric, forms)
        parts.append(one.difference(level))
        compared[metric.name] = one, parts[-1]
        if metric.direction != "none":
            parts.append(one.worst(level))
    known = pl.concat([*parts, *_named(compared, level)], how="diagonal_relaxed")
    found = gaps.join(known, on=[*PLACE, "statistic"], how="left", nulls_equal=True, maintain_order="left")
    for name, margin in margins.items():
        concerned = (pl.col("metric") == name) & (pl.col("statistic") == "difference")
        found = found.with_columns(verdict=pl.when(concerned).then(verdict(margin)).otherwise("verdict"))
    defined = pl.col("value").is_not_null()
    silent = defined & pl.col("ci_low").is_null() & pl.col("ci_note").is_null() & (pl.col("statistic") == "difference")
    why = {m.name: without_form(m, forms.dependence) for m in metrics}
    unknown = pl.col("metric").replace_strict(why, default=None, return_dtype=pl.String)
    return found.with_columns(pl.when(defined).then(pl.col(c)).alias(c) for c in CERTAINTY).with_columns(
        ci_note=pl.when(silent).then(unknown).otherwise("ci_note")
    )


@dataclass(frozen=True)
class Compared:
    """The values of one metric in all groups of all its comparisons.

    Attributes:
        places: One row per comparison.
        values: One per group.
        family: The comparison of each group.
        metric: The metric.
        forms: Where limits and tests come from.
    """

    places: pl.DataFrame
    values: Values
    family: NDArray[np.intp]
    metric: Metric
    forms: Forms

    @classmethod
    def of(cls, places: pl.DataFrame, values: Values, metric: Metric, forms: Forms) -> Compared:
        """The comparisons that group values make up, from the place of each in reading order."""
        start = run_starts(places_of(places))
        family = np.repeat(np.arange(len(start)), np.diff(start, append=places.height))
        return cls(places[start], values, family, metric, forms)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """How many groups each comparison has."""
        return np.bincount(self.family, minlength=self.places.height)

    def difference(self, level: float, *, chance: bool = True) -> pl.DataFrame:
        """What is known of the largest difference; `chance`: beside what chance alone would show."""
        gaps = self.forms.gaps(self.values, self.metric, self.family, self.places.height, level)
        found = self.places.with_columns(
            pl.lit("difference").alias("statistic"),
            pl.Series("ci_low", gaps.limits.low),
            pl.Series("ci_high", gaps.limits.high),
            pl.Series("ci_method", gaps.method, dtype=pl.String),
            pl.Series("ci_note", gaps.note, dtype=pl.String).replace("", None),
            pl.Series("p_value", gaps.tested.p),
            pl.Series("p_method", gaps.tested.method, dtype=pl.String),
            *(pl.Series(name, column) for name, column in (self._chance(gaps.tested, level) if chance else {}).items()),
        )
        found = found.with_columns(pl.col(pl.Float64).fill_nan(None))
        bounded, p = pl.col("ci_low").is_not_null(), pl.col("p_value")
        disagree = pl.Series(gaps.apart) & ((p < 1 - level) != (pl.col("ci_low") > 0))
        return found.with_columns(
            ci_method=pl.when(bounded).then("ci_method"),
            p_method=pl.when(p.is_not_null()).then("p_method"),
            ci_note=pl.when(bounded & disagree).then(pl.lit(DISAGREE)).otherwise("ci_note"),
        ).filter(pl.Series(self.sizes > 1))

    def _chance(self, tested: GroupTest, level: float) -> dict[str, FloatArray]:
        """The gap that equal groups would show in every second sample and in one of twenty, and what could be found."""
        count = self.places.height
        # What rounding leaves where nothing varies is no spread.
        null = np.where(tested.null_variance <= ZERO_VARIANCE, 0.0, tested.null_variance)
        spread = np.sqrt(null)
        whole = all_known(spread, self.family, count)
        found, most = chance_of(spread, self.family, 1 - level, 0.8, count), widest(self.metric)
        return {
            # A normal distribution knows no largest gap.
            "chance_gap": np.where(whole, np.minimum(found.median, most), np.nan),
            "chance_gap_95": np.where(whole, np.minimum(found.point, most), np.nan),
            # Where even the largest gap that there can be would not be found, there is none to name.
            "detectable_gap": np.where(whole & (found.detectable <= most), found.detectable, np.nan),
        }

    def worst(self, level: float) -> pl.DataFrame:
        """The interval of the worst group: not that of the group which came out worst, as it was picked for that."""
        per_group = sidak_level(self.sizes, level)
        low, high, method = self.forms.limits(self.values, self.metric, per_group[self.family])
        higher = self.metric.direction == "higher"
        ends = worst_interval(low, high, self.family, higher_is_better=higher, n_families=self.places.height)
        whole = all_known(low, self.family, self.places.height)
        names = [f"worst of all, {m}" for m in first_of(method, self.family, self.places.height)]
        found = self.places.with_columns(
            pl.lit("worst").alias("statistic"),
            pl.Series("ci_low", np.where(whole, ends.low, np.nan)).fill_nan(None),
            pl.Series("ci_high", np.where(whole, ends.high, np.nan)).fill_nan(None),
            pl.Series("ci_method", names),
        )
        return found.with_columns(
            ci_method=pl.when(pl.col("ci_low").is_not_null()).then("ci_method"),
            ci_note=pl.when(pl.col("ci_low").is_null()).then(pl.lit(NO_INTERVAL)),
        )


def _named(compared: Mapping[str, tuple[Compared, pl.DataFrame]], level: float) -> list[pl.DataFrame]:
    """The gaps that have names of their own; the larger of two gets half of the error each (Bonferroni)."""
    parts = [
        compared[metric][1].with_columns(pl.col("order") + NAMED_AFTER)
        for metric in ("tpr", "selection_rate")
        if metric in compared
    ]
    other = compared.get("fpr") or compared.get("tnr")
    if other is None or "tpr" not in compared:
        return parts
    half = 1 - (1 - level) / 2
    first, second = (one.difference(half, chance=False) for one, _ in (compared["tpr"], other))
    place = ["by", "grouping", "t"]
    both = first.join(second.select(*place, pl.col(_LARGER).name.suffix("_other")), on=place, nulls_equal=True)
    known = pl.all_horizontal(pl.col("ci_low", "ci_low_other").is_not_null())
    tested = pl.all_horizontal(pl.col("p_value", "p_value_other").is_not_null())
    smaller = (2 * pl.min_horizontal("p_value", "p_value_other")).clip(upper_bound=1.0)
    limits_of_both = {c: pl.when(known).then(pl.max_horizontal(c, f"{c}_other")) for c in ("ci_low", "ci_high")}
    parts.append(
        both.select(
            *place,
            pl.lit(ODDS, first.schema["order"]).alias("order"),
            "statistic",
            pl.when(known).then(pl.col("ci_method")).alias("ci_method"),
            pl.when(~known).then(pl.lit(NO_INTERVAL)).alias("ci_note"),
            pl.when(tested).then(smaller).alias("p_value"),
            pl.when(tested).then(pl.format("{}, twice the smaller", "p_method")).alias("p_method"),
            **limits_of_both,
        )
    )
    return parts


_LARGER = ("ci_low", "ci_high", "p_value")
