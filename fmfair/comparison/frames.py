"""Frames: the three tables of a comparison, from aligned samples and what measures them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fmfair.bootstrap.replicates import Replicates
from fmfair.comparison.aligned import Aligned
from fmfair.comparison.differences import differences
from fmfair.comparison.gaps import gaps
from fmfair.comparison.layout import Layout, layouts, nothing_known, spread_of_pairs
from fmfair.comparison.measuring import Influence, Measuring
from fmfair.comparison.pairs import Groups, Pairs, groups_of
from fmfair.comparison.tradeoff import tradeoff
from fmfair.groupings import Grouping
from fmfair.intervals import Dependence
from fmfair.metrics.metric import Metric
from fmfair.units import cell_rows

# Columns of the frames, after the other by-keys.
DIFFERENCES: Mapping[str, pl.DataType] = {
    "baseline": pl.String(),
    "model": pl.String(),
    "attribute": pl.String(),
    "group": pl.String(),
    "metric": pl.String(),
    "threshold": pl.Float64(),
    "threshold_rule": pl.String(),
    "value_baseline": pl.Float64(),
    "value_model": pl.Float64(),
    "difference": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "ci_method": pl.String(),
    "p_value": pl.Float64(),
    "p_holm": pl.Float64(),
    "n": pl.Int64(),
    "n_pos": pl.Int64(),
    "note": pl.String(),
}
GAPS: Mapping[str, pl.DataType] = {
    "baseline": pl.String(),
    "model": pl.String(),
    "attribute": pl.String(),
    "metric": pl.String(),
    "threshold": pl.Float64(),
    "threshold_rule": pl.String(),
    "gap_baseline": pl.Float64(),
    "gap_model": pl.Float64(),
    "difference": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "ci_method": pl.String(),
    "p_value": pl.Float64(),
    "n_groups": pl.Int64(),
    "worst_group_baseline": pl.String(),
    "worst_group_model": pl.String(),
    "note": pl.String(),
}
TRADEOFF: Mapping[str, pl.DataType] = {
    "attribute": pl.String(),
    "metric": pl.String(),
    "threshold": pl.Float64(),
    "threshold_rule": pl.String(),
    "model": pl.String(),
    "utility": pl.Float64(),
    "gap": pl.Float64(),
    "n_groups": pl.Int64(),
    "not_beaten": pl.Boolean(),
    "beaten_by": pl.String(),
}
NAMES = frozenset((*DIFFERENCES, *GAPS, *TRADEOFF))


@dataclass(frozen=True)
class Comparing:
    """How models are compared.

    Attributes:
        aligned: The samples.
        measuring: What measures them.
        level: Of confidence.
        min_group_size: Groups with fewer rows are left out of gaps.
        headline: The metric of the trade-off.
        dependence: What keeps rows from counting alike.
    """

    aligned: Aligned
    measuring: Measuring
    level: float
    min_group_size: int
    headline: Metric
    dependence: Dependence

    def frames(
        self,
        groupings: Sequence[Grouping],
        listed: Sequence[pl.DataFrame],
        long: pl.DataFrame,
        replicates: Replicates | None,
    ) -> dict[str, pl.DataFrame]:
        """The frames.

        Args:
            groupings: All rows, then how the samples are divided.
            listed: The cells of each.
            long: Their values.
            replicates: The values in all replicates; None without a bootstrap.
        """
        keyed = long.with_row_index("row").partition_by(["grouping", "order", "t"], as_dict=True, maintain_order=True)
        parts: dict[str, list[pl.DataFrame]] = {"differences": [], "gaps": [], "tradeoff": []}
        whole: dict[tuple[int, int | None], Pairs] = {}
        for i, (grouping, cells) in enumerate(zip(groupings, listed, strict=True)):
            groups = groups_of(grouping, cells)
            side_by_side = {
                (int(order), t): Pairs.of(
                    self.measuring.metrics[int(order)], (int(order), t), groups, self.aligned, rows
                )
                for (number, order, t), rows in keyed.items()
                if number == i
            }
            whole = whole or side_by_side
            self._grouping(groups, side_by_side, parts, replicates)
            if grouping.parts:
                for key, pairs in side_by_side.items():
                    if pairs.metric == self.headline:
                        found = tradeoff(whole[key], pairs, self.aligned, self.min_group_size)
                        parts["tradeoff"].append(_named(found, groups, pairs))
        return {
            "differences": self._public(parts["differences"], DIFFERENCES, ("pair", "place", "order", "t", "grouped")),
            "gaps": self._public(parts["gaps"], GAPS, ("pair", "place", "order", "t")),
            "tradeoff": self._public(parts["tradeoff"], TRADEOFF, ("key", "place", "t")),
        }

    def _grouping(
        self,
        groups: Groups,
        side_by_side: Mapping[tuple[int, int | None], Pairs],
        parts: dict[str, list[pl.DataFrame]],
        replicates: Replicates | None,
    ) -> None:
        """Add what is found in one grouping."""
        samples, grouping = self.aligned.samples, groups.grouping
        rows = cell_rows(samples.frame, samples.profiles, grouping)
        laid = layouts(self.aligned, rows, grouping.size, groups.codes)
        left = dict(side_by_side)
        for influence in self.measuring.influences(grouping, rows):
            pairs = left.pop((influence.order, influence.t), None)
            if pairs is not None:
                self._one(pairs, laid, influence, parts, replicates)
        for pairs in left.values():
            self._one(pairs, laid, None, parts, replicates)

    def _one(
        self,
        pairs: Pairs,
        laid: Sequence[Layout],
        influence: Influence | None,
        parts: dict[str, list[pl.DataFrame]],
        replicates: Replicates | None,
    ) -> None:
        spread = nothing_known(*pairs.shape)
        if influence is not None:
            spread = spread_of_pairs(laid, influence, pairs.metric, pairs.shape)
        found = differences(pairs, spread, self.level, self.dependence, replicates)
        named = pairs.groups.names.gather(found["grouped"]).alias("group")
        parts["differences"].append(_named(found.with_columns(named), pairs.groups, pairs))
        if pairs.groups.grouping.parts:
            between = gaps(pairs, laid, influence, self.level, self.min_group_size, self.dependence, replicates)
            parts["gaps"].append(_named(between, pairs.groups, pairs))

    def _public(
        self, parts: Sequence[pl.DataFrame], schema: Mapping[str, pl.DataType], order: Sequence[str]
    ) -> pl.DataFrame:
        """The other by-keys in front, then the declared columns."""
        aligned, parts = self.aligned, [p for p in parts if p.height]
        if not parts:  # as of an attribute that is missing everywhere
            return pl.DataFrame(schema={**aligned.keys.schema, **schema})
        attributes = {None: 0} | {
            a: i + 1 for i, a in enumerate(dict.fromkeys(p["attribute"][0] for p in parts)) if a is not None
        }
        places = [p.with_columns(place=pl.lit(attributes[p["attribute"][0]])) for p in parts]
        frame = pl.concat(places, how="diagonal_relaxed").sort(order, nulls_last=True, maintain_order=True)
        if "pair" in frame.columns:
            names = pl.Series(aligned.models, dtype=pl.String)
            one, other = (pl.Series([pair[side] for pair in aligned.pairs], dtype=pl.UInt32) for side in (0, 1))
            frame = frame.with_columns(
                names.gather(one.gather(frame["pair"])).alias("baseline"),
                names.gather(other.gather(frame["pair"])).alias("model"),
            )
            key = pl.Series(aligned.key, dtype=pl.Int64).gather(one.gather(frame["pair"]))
        else:
            key = frame["key"]
        keys = {column.name: column.gather(key) for column in aligned.keys.iter_columns()}
        return pl.DataFrame({**keys, **{name: frame[name].cast(dtype) for name, dtype in schema.items()}})


def _named(found: pl.DataFrame, groups: Groups, pairs: Pairs) -> pl.DataFrame:
    return found.with_columns(
        pl.lit(groups.attribute, pl.String).alias("attribute"),
        pl.lit(pairs.metric.name).alias("metric"),
        pl.lit(pairs.order, pl.Int64).alias("order"),
        pl.lit(pairs.t, pl.Int64).alias("t"),
    )
