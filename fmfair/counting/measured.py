"""Measures of counted cells: the long table of `measures.long_table`, with the bounds of every value."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fmfair.counting.calibration import calibrated, is_binned_ece
from fmfair.counting.cells import Counted
from fmfair.counting.cuts import cut_points
from fmfair.counting.overlapping import ranked_overlapping
from fmfair.counting.ranking import ranked
from fmfair.groupings import Grouping
from fmfair.measures import CELL, Measured, long_table
from fmfair.metrics.metric import Metric
from fmfair.notes import Notes
from fmfair.options import Options, as_number
from fmfair.spread import FACTS, NO_SPREAD, spread_of_ranking, with_spread
from fmfair.thresholds import threshold_table

LEFT_OUT = "left out of the counts, in which small numbers are suppressed"
NOT_FROM_BINS = "not known from counts per score bin"
LACKS = "no bounds: a table in which small numbers are suppressed left rows of this group out"
# What `long_table` says where a value is not known for no reason of its own.
UNEXPLAINED = "beyond the range of numbers"
SIDES = ("low", "high")


class Measuring:
    """Measures one grouping after another from the same counts."""

    def __init__(self, counted: Counted, options: Options, notes: Notes) -> None:
        self.counted = counted
        self.options = options
        self.metrics = options.metrics
        # Logits are ranked by themselves: those whose sigmoid is 1 need not be equal.
        self.top = counted.facts.grid if counted.facts.score_type == "probability" else None
        self.thresholds = self._thresholds(notes) if any(m.at_threshold for m in options.metrics) else None

    def measure(self, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """All groupings; `listed` are the cells to list for each, with or without rows.

        Returns:
            The columns of `measures.long_table`, `bound_low`, `bound_high`, and `unsure`: whether a value may be
            undefined, which depends on where in a bin the scores are.
        """
        cells, points, spreads, out = [], [], [], []
        for number, (grouping, wanted) in enumerate(zip(groupings, listed, strict=True)):
            stats, cut, spread = self._one(grouping, wanted.select("cell", "by"))
            of = pl.lit(number, pl.UInt32).alias("grouping")
            cells.append(stats.with_columns(of))
            points.append(cut.with_columns(of))
            spreads.append(spread.with_columns(of))
            out.append(self.counted.left_out(grouping).with_columns(of, left_out=pl.lit(value=True)))
        stats, places = pl.concat(cells), pl.concat(points)
        middle = [_middle(m) for m in self.metrics if not m.at_threshold]
        numbered = places.select(
            pl.struct("grouping", "row").rank("dense").alias("t"), pl.exclude("t"), pl.col("t").alias("at")
        )
        long = long_table(
            Measured(stats.with_columns(middle), numbered.with_columns(pl.col("t").cast(pl.UInt32)).drop("at", "row")),
            self.metrics,
            probability=True,
            scored=True,
        )
        if self.options.ci is not None:
            long = with_spread(long, pl.concat(spreads), numbered, self.metrics)
        own = numbered.select("t", "at").unique().with_columns(pl.col("t").cast(pl.UInt32))
        whole = pl.concat([self._of_cells(long, stats), self._of_cuts(long, own)])
        whole = whole.join(pl.concat(out), on=CELL, how="left").sort("listed", maintain_order=True)
        out_of_all = pl.col("left_out").fill_null(value=False)
        lacks = out_of_all & (pl.col("n") > 0)
        lacking = pl.concat_str([pl.lit(LACKS), "note"], separator="; ", ignore_nulls=True)
        note = pl.when(lacks).then(lacking).when(out_of_all).then(pl.lit(LEFT_OUT)).otherwise("note")
        return whole.with_columns(
            # What the rows that are lacking would make of a value is not known.
            *(pl.when(~lacks).then(c).alias(c) for c in ("bound_low", "bound_high", *FACTS) if c in whole.columns),
            note=note,
            unsure=pl.col("unsure") | lacks,
        ).drop("left_out")

    def _one(self, grouping: Grouping, wanted: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        bins = self.counted.bins(grouping)
        found = calibrated(bins, self.metrics, self.counted.facts)
        found = found.join(self._ranked(bins), on="cell", how="left", maintain_order="left")
        stats = wanted.join(found, on="cell", how="left", maintain_order="left")
        names = [f"{of}:{m.name}" for m in self.metrics if not m.at_threshold for of in (*SIDES, "value")]
        stats = stats.with_columns(
            pl.col("n", "n_pos").fill_null(0),
            pl.lit(NOT_FROM_BINS).alias("fit_note"),
            *(pl.lit(None, pl.Float64).alias(name) for name in names if name not in stats.columns),
        ).with_columns(weight=pl.col("n").cast(pl.Float64))
        stats = stats.select("cell", "by", "n", "n_pos", "weight", "sum_p", "fit_note", *names)
        starts, ends = (self.counted.blocks(bins, edge) for edge in ("bin", "bin_end"))
        spread = NO_SPREAD
        if self.options.ci is not None and not self.counted.facts.suppressed:  # merged bins may overlap
            spread = spread_of_ranking(self.metrics, starts, None, pl.DataFrame())
        cut = _NO_POINTS if self.thresholds is None else cut_points(starts, ends, wanted, self.thresholds)
        return stats, cut, spread

    def _ranked(self, bins: pl.DataFrame) -> pl.DataFrame:
        """Bounds of the ranking metrics; merged bins may overlap."""
        if self.counted.facts.suppressed:
            return ranked_overlapping(bins, self.metrics, self.counted.facts.grid, top=self.top)
        return ranked(bins, self.metrics, top=self.top)

    def _thresholds(self, notes: Notes) -> pl.DataFrame:
        """The thresholds of every by-key; rules choose among the edges of the bins of all rows."""
        wanted = self.options.thresholds or self.options.conventions.thresholds
        for rule in (w for w in wanted if isinstance(w, str) and as_number(w) is None):
            notes.say(f"threshold {rule}: tuned on these labels, so the rates at it are optimistic")
            notes.say(f"threshold {rule}: chosen among the edges of the score bins, not among the scores")
        blocks = self.counted.blocks(self.counted.bins(Grouping()))
        return threshold_table(wanted, blocks, self.counted.by, self.options.conventions)

    def _of_cells(self, long: pl.DataFrame, stats: pl.DataFrame) -> pl.DataFrame:
        """The metrics without a threshold, between their bounds."""
        bounds = [
            stats.select(
                *CELL,
                pl.lit(order, pl.UInt16).alias("order"),
                *(pl.col(f"{side}:{metric.name}").alias(f"bound_{side}") for side in SIDES),
            )
            for order, metric in enumerate(self.metrics)
            if not metric.at_threshold
        ]
        rows = long.filter(pl.col("t").is_null())
        if not bounds:
            return _with_bounds(rows.clear())
        known = pl.col("value").is_not_null()
        unexplained = pl.col("note") == UNEXPLAINED
        lacking = {m.name: self._why(m) for m in self.metrics if not m.at_threshold}
        why = pl.col("metric").replace_strict(lacking, default=None, return_dtype=pl.String)
        # The rows have a value that the bins do not tell, and which may be the largest or the smallest.
        hidden = (unexplained & why.is_not_null()).fill_null(value=False)
        return (
            rows.join(pl.concat(bounds), on=[*CELL, "order"], how="left", maintain_order="left")
            .with_columns(pl.when(known).then(pl.col("bound_low", "bound_high")))
            .with_columns(note=pl.when(hidden).then(why).otherwise("note"), unsure=hidden)
        )

    def _why(self, metric: Metric) -> str | None:
        """Why bins do not give a metric."""
        grid = self.counted.facts.grid
        if is_binned_ece(metric):
            if grid % metric.n_bins:
                return f"{metric.n_bins} bins do not divide the grid of {grid:,} score bins"
            return "merged score bins lie across the edges of its bins"
        exact = metric.name in ("bce", "brier", "observed_expected")
        return None if exact else NOT_FROM_BINS

    def _of_cuts(self, long: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
        """The metrics at thresholds: the smallest and the largest value of all places that the scores may be at."""
        rows = long.lazy().filter(pl.col("t").is_not_null())
        value, note = pl.col("value"), pl.col("note")
        low, high = value.min(), value.max()
        unsure = value.has_nulls() & (value.count() > 0)
        made = ("grouping", "cell", "order", "t", "value", "denominator", "note", *FACTS)
        kept = [c for c in long.columns if c not in made]
        # Between two edges the counts are not known, and so is not what a rate varies by.
        facts = [pl.when(pl.len() == 1).then(pl.col(c).first()).alias(c) for c in FACTS if c in long.columns]
        found = rows.group_by("grouping", "cell", "order", "t", maintain_order=True).agg(
            *(pl.col(c).first() for c in kept),
            pl.when(low == high).then(low).otherwise((low + high) / 2).alias("value"),
            pl.col("denominator").min(),
            pl.when(unsure)
            .then(pl.format("may be undefined: {}", note.drop_nulls().first()))
            .otherwise(note.first())
            .alias("note"),
            low.alias("bound_low"),
            high.alias("bound_high"),
            unsure.alias("unsure"),
            *facts,
        )
        back = found.join(own.lazy(), on="t", how="left", maintain_order="left").with_columns(t=pl.col("at"))
        return back.select(*_with_bounds(long.clear()).columns).collect()


def _middle(metric: Metric) -> pl.Expr:
    """The value to show: the middle of the bounds, unless the sums tell one."""
    low, high, value = (pl.col(f"{of}:{metric.name}") for of in (*SIDES, "value"))
    middle = pl.when(low == high).then(low).otherwise((low + high) / 2)
    return pl.coalesce(value, middle).alias(metric.name)


def _with_bounds(rows: pl.DataFrame) -> pl.DataFrame:
    nothing = pl.lit(None, pl.Float64)
    return rows.with_columns(bound_low=nothing, bound_high=nothing, unsure=pl.lit(value=False))


_NO_POINTS = pl.DataFrame(
    schema={
        "row": pl.UInt32,
        "cell": pl.UInt64,
        "t": pl.UInt32,
        "threshold": pl.Float64,
        "threshold_rule": pl.String,
        "why": pl.String,
        **dict.fromkeys(("tp", "fp", "fn", "tn", "n_pred_pos"), pl.Int64),
    }
)
