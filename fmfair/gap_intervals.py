"""How sure a gap is: its interval, a test that any group differs, and the gap that chance alone would show.

The largest of several differences is never 0, not even between equal groups: its interval comes from simultaneous
intervals of all pairs, and beside it stands what equal groups of these sizes would show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfair.columns import CERTAINTY
from fmfair.forms import DISAGREE, NO_INTERVAL, Forms, all_known, first_of, told, widest
from fmfair.gaps import PLACE, places_of, run_starts
from fmfair.group_tests import GroupTest
from fmfair.interval_table import without_form
from fmfair.intervals import Values
from fmfair.metrics.metric import Metric
from fmfair.named_gaps import NAMED_AFTER, ODDS
from fmfair.pairs import verdicts
from fmfair.statistics.interval import ZERO_VARIANCE, FloatArray
from fmfair.statistics.range_of_equals import ChanceGap, chance_of
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
    nothing = pl.DataFrame(schema={**{c: gaps.schema[c] for c in (*PLACE, "statistic")}, **CERTAINTY})
    known = pl.concat([nothing, *_known(usable, metrics, level, forms)], how="diagonal_relaxed")
    found = gaps.join(known, on=[*PLACE, "statistic"], how="left", nulls_equal=True, maintain_order="left")
    defined, difference = pl.col("value").is_not_null(), pl.col("statistic") == "difference"
    found = found.with_columns(verdict=pl.when(difference).then(verdicts(margins)))
    silent = defined & pl.col("ci_low").is_null() & pl.col("ci_note").is_null() & difference
    why = {m.name: without_form(m, forms.dependence) for m in metrics}
    unknown = pl.col("metric").replace_strict(why, default=None, return_dtype=pl.String)
    return found.with_columns(pl.when(defined).then(pl.col(c)).alias(c) for c in CERTAINTY).with_columns(
        ci_note=pl.when(silent).then(unknown).otherwise("ci_note")
    )


def _known(usable: pl.DataFrame, metrics: Sequence[Metric], level: float, forms: Forms) -> Iterator[pl.DataFrame]:
    """What is known of the gaps of the group values that can be used."""
    places, values = usable.select(PLACE), Values(usable)
    compared = list(_compared(places, values, dict(enumerate(metrics)), forms))
    if not compared:
        return
    directions = np.array([m.direction for m in metrics])
    yield from (one.worst(level, directions[one.places["order"]]) for one in compared)
    differences = pl.concat(one.difference(level) for one in compared)
    yield differences
    numbers = {m.name: number for number, m in enumerate(metrics)}
    renamed = [numbers[name] for name in ("tpr", "selection_rate") if name in numbers]
    yield differences.filter(pl.col("order").is_in(renamed)).with_columns(pl.col("order") + NAMED_AFTER)
    other = numbers.get("fpr", numbers.get("tnr"))
    if "tpr" in numbers and other is not None:
        both = {number: metrics[number] for number in (numbers["tpr"], other)}
        half = 1 - (1 - level) / 2  # each gets half of the error (Bonferroni)
        halves = [one.difference(half, chance=False) for one in _compared(places, values, both, forms)]
        found = pl.concat([differences[:0], *halves], how="diagonal")
        yield _larger(*(found.filter(pl.col("order") == number) for number in both))


def _compared(places: pl.DataFrame, values: Values, metrics: Mapping[int, Metric], forms: Forms) -> Iterator[Compared]:
    """The comparisons of some metrics, those of one kind together."""
    for metric, at in forms.alike(metrics, places["order"].to_numpy()):
        yield Compared.of(places[at], values.at(at), metric, forms)


@dataclass(frozen=True)
class Compared:
    """The values of one kind of metric in all groups of all their comparisons.

    Attributes:
        places: One row per comparison.
        values: One per group.
        family: The comparison of each group.
        metric: The metric, or one of those that are alike.
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
        (low, high), p = gaps.limits, gaps.tested.p
        bounded, tested = ~np.isnan(low), ~np.isnan(p)
        disagree = bounded & tested & gaps.apart & ((p < 1 - level) != (low > 0))
        numbers = {"ci_low": low, "ci_high": high, "p_value": p}
        found = self._table("difference", numbers | (self._chance(gaps.tested, level) if chance else {}))
        return found.with_columns(
            ci_method=told(gaps.method, bounded),
            ci_note=told(np.where(disagree, DISAGREE, gaps.note)),
            p_method=told(gaps.tested.method, tested),
        ).filter(self.sizes > 1)

    def _table(self, statistic: str, numbers: Mapping[str, FloatArray]) -> pl.DataFrame:
        found = pl.DataFrame(numbers, nan_to_null=True)
        return self.places.hstack([pl.repeat(statistic, len(found), eager=True).alias("statistic"), *found])

    def _chance(self, tested: GroupTest, level: float) -> dict[str, FloatArray]:
        """The gap that equal groups would show in every second sample and in one of twenty, and what could be found."""
        count = self.places.height
        # What rounding leaves where nothing varies is no spread.
        null = np.where(tested.null_variance <= ZERO_VARIANCE, 0.0, tested.null_variance)
        spread = np.sqrt(null)
        whole, most = all_known(spread, self.family, count), widest(self.metric)
        # What families are integrated together moves the last digits: other metrics must not.
        order = self.places["order"].to_numpy()
        found = ChanceGap(*np.full((3, count), np.nan))
        for number in np.unique(order):
            mine = np.where(order[self.family] == number, spread, np.nan)
            for column, own in zip(found, chance_of(mine, self.family, 1 - level, 0.8, count), strict=True):
                np.copyto(column, own, where=order == number)
        return {
            # A normal distribution knows no largest gap.
            "chance_gap": np.where(whole, np.minimum(found.median, most), np.nan),
            "chance_gap_95": np.where(whole, np.minimum(found.point, most), np.nan),
            # Where even the largest gap that there can be would not be found, there is none to name.
            "detectable_gap": np.where(whole & (found.detectable <= most), found.detectable, np.nan),
        }

    def worst(self, level: float, directions: NDArray[np.str_]) -> pl.DataFrame:
        """The interval of the worst group: not that of the group which came out worst, as it was picked for that.

        Args:
            level: Confidence level.
            directions: Which values are better in each comparison; in some none are.
        """
        count = self.places.height
        per_group = sidak_level(self.sizes, level)
        low, high, method = self.forms.limits(self.values, self.metric, per_group[self.family])
        higher = directions == "higher"
        ends = worst_interval(low, high, self.family, higher_is_better=higher, n_families=count)
        whole = all_known(low, self.family, count)
        names = np.strings.add("worst of all, ", first_of(method, self.family, count))
        limits = {end: np.where(whole, limit, np.nan) for end, limit in zip(("ci_low", "ci_high"), ends, strict=True)}
        bounded = ~np.isnan(limits["ci_low"])
        found = self._table("worst", limits).with_columns(
            ci_method=told(names, bounded), ci_note=told(np.full(count, NO_INTERVAL), ~bounded)
        )
        return found.filter(directions != "none")


def _larger(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """What is known of the larger of two gaps, from what is known of both."""
    place = ["by", "grouping", "t"]
    both = first.join(second.select(*place, pl.col(_LARGER).name.suffix("_other")), on=place, nulls_equal=True)
    known = pl.all_horizontal(pl.col("ci_low", "ci_low_other").is_not_null())
    tested = pl.all_horizontal(pl.col("p_value", "p_value_other").is_not_null())
    smaller = (2 * pl.min_horizontal("p_value", "p_value_other")).clip(upper_bound=1.0)
    limits_of_both = {c: pl.when(known).then(pl.max_horizontal(c, f"{c}_other")) for c in ("ci_low", "ci_high")}
    return both.select(
        *place,
        pl.lit(ODDS, first.schema["order"]).alias("order"),
        "statistic",
        pl.when(known).then(pl.col("ci_method")).alias("ci_method"),
        pl.when(~known).then(pl.lit(NO_INTERVAL)).alias("ci_note"),
        pl.when(tested).then(smaller).alias("p_value"),
        pl.when(tested).then(pl.format("{}, twice the smaller", "p_method")).alias("p_method"),
        **limits_of_both,
    )


_LARGER = ("ci_low", "ci_high", "p_value")
