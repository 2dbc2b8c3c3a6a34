"""Measures: from the samples to one row per cell, metric and threshold.

Row-level work happens here: one pass that sums up scores and losses per profile and score bin, and once per grouping
a sort, and Newton steps where asked for. What follows is arithmetic on counts, for all groupings together.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache

import polars as pl

from fmfair.blocks import Blocks, make_blocks
from fmfair.confusion import confusion_at, confusion_of_decisions
from fmfair.ece_chance import ECE, ece_chance
from fmfair.fit import fit_cells
from fmfair.groupings import Grouping
from fmfair.metrics.bins import brier_rows
from fmfair.metrics.blocks import CUT
from fmfair.metrics.formula import to_expr
from fmfair.metrics.metric import NOT_A_PROBABILITY, Metric
from fmfair.metrics.registry import REGISTRY
from fmfair.moments import moment_table
from fmfair.notes import Notes
from fmfair.options import Options, as_number
from fmfair.ranks import Ranks, add_ranks
from fmfair.said import note_one_sided, wanted_thresholds
from fmfair.samples import Samples
from fmfair.score_bins import bin_table, binned_rows, profile_sums
from fmfair.spread import NO_SPREAD, spread_of_means, spread_of_ranking
from fmfair.thresholds import threshold_table, undefined_thresholds
from fmfair.units import CellRows, cell_rows

# What identifies a measured cell: the grouping (its position in the list) and the cell's number.
CELL = ("grouping", "cell")

# Samples per bin and profile from which sums are made once for all groupings.
WORTH_ADDING_UP = 2

# Groupings that are measured at once: each holds a few columns as long as the table of samples.
MAX_AT_ONCE = 4


@dataclass(frozen=True)
class Measured:
    """What the metrics are arithmetic on, for all groupings together.

    Attributes:
        cells: One row per `grouping` and `cell`: `n`, `n_pos`, `weight`, a column per metric that is not a rate, and
            what else such metrics need: `sum_p` where scores are probabilities, `fit_note` where a model is fitted.
        confusion: One row per `grouping`, `cell` and `t`: the four counts, `n_pred_pos`, `threshold`,
            `threshold_rule`, `why`; second moments where intervals are wanted of rows with weights or patients.
        spread: Where intervals are wanted, `grouping`, `cell`, `metric` and what is known of the metric's spread.
    """

    cells: pl.DataFrame
    confusion: pl.DataFrame
    spread: pl.DataFrame = field(default_factory=lambda: NO_SPREAD)


class Engine:
    """Measures one grouping after another on the same samples."""

    def __init__(self, samples: Samples, options: Options, notes: Notes) -> None:
        self.notes = notes
        self.options = options
        self.metrics = options.metrics
        self.n_by = samples.by.height
        self.by = samples.by
        self.samples = samples
        self.scored = samples.scale is not None
        self.frame = samples.frame
        self.ranking: Ranks | None = None
        self.cutting: Ranks | None = None
        self._tuned: dict[tuple[str, ...], pl.DataFrame] = {}
        probability = "bce" in self.frame.columns
        self.profiles = samples.profiles
        self._calibrated = [m for m in self.metrics if m.table == "bins" and m.aggregate and probability]
        # Whether the error of calibration is compared with what chance would show.
        self._chance = self.options.ci is not None and any(m.name == ECE for m in self._calibrated)
        # Without a metric that needs bins there is one table all the same, for the counts.
        numbers = sorted({m.n_bins for m in self._calibrated}) or [1]
        with ThreadPoolExecutor() as pool:
            binned = {n: pool.submit(self._rows_to_add_up, n) for n in numbers}
            if self.scored:
                self.frame, self.ranking, self.cutting = add_ranks(samples.frame, self.n_by)
        self._bins = {n: rows.result() for n, rows in binned.items()}

    def _rows_to_add_up(self, n_bins: int) -> pl.DataFrame:
        """One row per bin and profile, where those are fewer than the samples and bins do not depend on the cell."""
        frame, conventions = self.samples.frame, self.options.conventions
        few = self.profiles.table.height * n_bins * WORTH_ADDING_UP <= frame.height
        if few and not conventions.ece_on_group_range:
            return profile_sums(frame, self.profiles, n_bins, conventions, chance=self._chance)
        rows = binned_rows(frame, n_bins, conventions, chance=self._chance)
        return rows.with_columns(pl.Series("profile", self.profiles.of_row))

    @property
    def _cut(self) -> bool:
        """Whether scores are compared with thresholds."""
        return self.scored and any(m.at_threshold for m in self.metrics)

    def measure(self, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> Measured:
        """All groupings; `listed` are the cells to list for each, with or without samples."""
        if self._cut:
            for scope in groupings:
                self.thresholds(scope)  # before the threads, so that each is chosen once
        pairs = zip(listed, self._all_binned(groupings), strict=True)
        tallied = [_beside(cells.select("cell", "by"), found) for cells, found in pairs]
        # The work on arrays runs on one core at a time; a few groupings at once keep the others busy.
        with ThreadPoolExecutor(min(MAX_AT_ONCE, pl.thread_pool_size())) as pool:
            measured = list(pool.map(self._one, groupings, tallied))
        cells, confusions, spreads = [], [], []
        for i, (grouping, (stats, confusion, spread)) in enumerate(zip(groupings, measured, strict=True)):
            number = pl.lit(i, pl.UInt32).alias("grouping")
            cells.append(stats.with_columns(number))
            confusions.append(confusion.with_columns(number))
            spreads.append(spread.with_columns(number))
            if grouping == Grouping():
                note_one_sided(confusion, self.n_by, self.notes)
        return Measured(
            pl.concat(cells, how="diagonal", rechunk=True), pl.concat(confusions, rechunk=True), pl.concat(spreads)
        )

    def _one(self, grouping: Grouping, stats: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        stats = stats.with_columns(pl.col("n", "n_pos").fill_null(0), pl.col("weight").fill_null(0.0))
        wanted = stats.select("cell", "by")
        confusions, spreads = [_NO_CONFUSION], [NO_SPREAD]
        rows = None if self.options.ci is None else cell_rows(self.frame, self.profiles, grouping)
        if self.scored:
            blocks = self.blocks(grouping, self.cutting)
            ranked = blocks if self.cutting is self.ranking else self.blocks(grouping, self.ranking)
            stats = self._ranked(stats, ranked, "blocks", grouping)
            stats = self._ranked(stats, blocks, "score_blocks", grouping)
            if rows is not None:
                alike = not (self.samples.weighted or rows.unit is not None)
                spreads.append(spread_of_ranking(self.metrics, ranked, None if alike else rows, self.frame))
                spreads.append(spread_of_means(self.row_values(), rows, self.frame))
            if self._cut:
                confusions.append(confusion_at(blocks, wanted, self.thresholds(grouping)))
        if self._chance:
            spreads.append(ece_chance(self._tables[REGISTRY[ECE].n_bins, grouping]))
        if any(m.family == "fitted" for m in self.metrics) and "bce" in self.frame.columns:
            stats = _beside(stats, fit_cells(self.frame, grouping))
        if "pred" in self.frame.columns:
            confusions.append(confusion_of_decisions(self.frame, grouping, wanted))
        counts = pl.col("tp", "fp", "fn", "tn").cast(pl.Float64)
        confusion = pl.concat([c.with_columns(counts) for c in confusions])
        if rows is not None and (self.samples.weighted or rows.unit is not None):
            confusion = confusion.join(
                self._moments(grouping, rows), on=["cell", "t"], how="left", maintain_order="left"
            )
        return stats, confusion, pl.concat(spreads)

    def row_values(self) -> dict[str, pl.Series]:
        """The value of every row, of the metrics that are the mean of one."""
        values = {"bce": pl.col("bce"), "brier": brier_rows(pl.col("y"), pl.col("prob"))}
        wanted = [values[m.name].alias(m.name) for m in self.metrics if m.name in values]
        return {} if "bce" not in self.frame.columns else self.frame.select(wanted).to_dict()

    def _moments(self, grouping: Grouping, rows: CellRows) -> pl.DataFrame:
        """The second moments of the confusion counts of every cell."""
        cuts = self.thresholds(grouping) if self._cut else None
        rank = None if self.cutting is None else self.cutting.column
        return moment_table(self.frame, rows, cuts, rank, decided="pred" in self.frame.columns)

    def blocks(self, grouping: Grouping, ranks: Ranks | None) -> Blocks:
        """The blocks of a grouping in one of the two orders."""
        assert ranks is not None
        return make_blocks(self.frame, self.profiles, grouping, ranks, self.n_by)

    def _cells(self, grouping: Grouping) -> pl.Series:
        """The cell of every profile."""
        return self.profiles.table.select(grouping.cell()).to_series()

    def thresholds(self, grouping: Grouping) -> pl.DataFrame:
        """The thresholds for a grouping: the same for all, or tuned on its own rows, as the conventions say."""
        per_attribute = self.options.conventions.threshold_per_attribute
        scope = grouping.all_rows(self.samples.incomplete) if per_attribute else Grouping()
        key = tuple(a.column for a in scope.present)
        if key not in self._tuned:
            self._tuned[key] = self._threshold_table(scope)
        return self._tuned[key]

    def _threshold_table(self, scope: Grouping) -> pl.DataFrame:
        decided, scale = "pred" in self.frame.columns, self.samples.scale
        wanted = wanted_thresholds(self.options, scale, decided=decided, notes=self.notes)
        if not wanted:
            # Decisions stand in for thresholds; scores that are no probabilities have an undefined one.
            return undefined_thresholds(0 if decided else self.n_by, 0.5)
        rules = [w for w in wanted if isinstance(w, str) and as_number(w) is None]
        assert self.cutting is not None
        # Numbers need no search, and so no blocks.
        blocks = self.blocks(scope, self.cutting) if rules else Blocks(_NO_BLOCKS, self.cutting)
        return threshold_table(wanted, blocks, self.by, self.options.conventions)

    def _all_binned(self, groupings: Sequence[Grouping]) -> list[pl.DataFrame]:
        """`_binned` of each; what divides less is added up from the sums of what divides more."""
        self._tables = dict[tuple[int, Grouping], pl.DataFrame]()
        with ThreadPoolExecutor(min(MAX_AT_ONCE, pl.thread_pool_size())) as pool:
            for parts in sorted({len(g.parts) for g in groupings}, reverse=True):
                # of those with as many parts none is added up from another
                needed = [(n_bins, g) for n_bins in self._bins for g in groupings if len(g.parts) == parts]
                made = list(pool.map(lambda key: self._bin_table(*key), needed))
                self._tables.update(zip(needed, made, strict=True))
            return list(pool.map(self._binned, groupings))

    def _bin_table(self, n_bins: int, grouping: Grouping) -> pl.DataFrame:
        """Sums per cell and bin, from the fewest of the sums that are at hand."""
        rows, cells = self._bins[n_bins], self._cells(grouping)
        if "bin" not in rows.columns:  # bins depend on the cell
            return bin_table(rows, cells, n_bins)
        for (bins, finer), table in self._tables.items():
            fewer = bins == n_bins and table.height < rows.height
            if fewer and grouping.is_within(finer, self.samples.incomplete):
                rows = table.with_row_index("profile")
                cells = rows.select(finer.codes()).select(grouping.cell()).to_series()
        return bin_table(rows, cells, n_bins)

    def _binned(self, grouping: Grouping) -> pl.DataFrame:
        """The counts of every cell, and the metrics that are sums over score bins."""
        found: pl.DataFrame | None = None
        for n_bins in self._bins:
            table = self._tables[n_bins, grouping]
            aggregates = [m.aggregate().alias(m.name) for m in self._calibrated if m.n_bins == n_bins and m.aggregate]
            counts = [pl.col("n", "n_pos", "weight").sum()] if found is None else []
            sums = [pl.col("sum_p").sum()] if found is None and "sum_p" in table.columns else []
            part = table.group_by("cell").agg(*counts, *sums, *aggregates)
            found = part if found is None else _beside(found, part)
        assert found is not None
        return found

    def _ranked(self, stats: pl.DataFrame, blocks: Blocks, table: str, grouping: Grouping) -> pl.DataFrame:
        metrics = [m for m in self.metrics if m.table == table and m.aggregate]
        if not metrics:
            return stats
        if table == "blocks":
            frame, known = blocks.steps(), {"cut": CUT}
        else:
            by, rank = pl.col("cell") // max(grouping.size, 1), pl.col("rank")
            frame, known = blocks.by_cell().with_columns(score=blocks.ranks.score(by, rank)), {}
        aggregates = [m.aggregated(**known).alias(m.name) for m in metrics]
        found = frame.group_by("cell", maintain_order=True).agg(aggregates).collect()
        return _beside(stats, found)


def _beside(cells: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """The cells with what was found of them."""
    return cells.join(found, on="cell", how="left", maintain_order="left")


_NO_BLOCKS = pl.DataFrame(schema={"key": pl.UInt64, "pos": pl.Int64, "neg": pl.Int64, "rows": pl.Int64})

_NO_CONFUSION = pl.DataFrame(
    schema={
        "cell": pl.UInt64,
        "t": pl.UInt32,
        "threshold": pl.Float64,
        "threshold_rule": pl.String,
        "why": pl.String,
        **dict.fromkeys(("tp", "fp", "fn", "tn"), pl.Int64),
        "n_pred_pos": pl.Int64,
    }
)


def long_table(measured: Measured, metrics: Sequence[Metric], *, probability: bool, scored: bool) -> pl.DataFrame:
    """One row per cell, metric and threshold.

    Returns:
        Columns `grouping`, `cell`, `listed` (position among all cells), `order` (position of the metric), `metric`,
        `t`, `threshold`, `threshold_rule`, `value` (NULL where undefined), `n`, `n_pos`, `weight`, `denominator`,
        `note` (the reason for a NULL).
    """
    cells = measured.cells.with_columns(n_neg=pl.col("n") - pl.col("n_pos")).with_row_index("listed")
    counts = cells.select(*CELL, "listed", "n", "n_pos", "n_neg", "weight")
    rates = measured.confusion.join(counts, on=CELL, how="left", maintain_order="left")
    rates = rates.with_columns(n_pred_neg=pl.col("n") - pl.col("n_pred_pos"))
    plain = cells.with_columns(
        t=pl.lit(None, pl.UInt32),
        threshold=pl.lit(None, pl.Float64),
        threshold_rule=pl.lit(None, pl.String),
    )
    parts = []
    for order, metric in enumerate(metrics):
        source = rates if metric.at_threshold else plain
        value, note = value_of(metric, probability=probability, scored=scored)
        parts.append(
            source.lazy().select(
                *CELL,
                "listed",
                pl.lit(order, pl.UInt16).alias("order"),
                pl.lit(metric.name).alias("metric"),
                "t",
                "threshold",
                "threshold_rule",
                value.alias("value"),
                "n",
                "n_pos",
                "weight",
                pl.col(metric.denominator).alias("denominator"),
                note.alias("note"),
            )
        )
    return pl.concat(parts).collect().rechunk()  # in one piece, as it is reordered


@lru_cache(maxsize=256)  # a dozen rows take less time than the expressions of all metrics
def value_of(metric: Metric, *, probability: bool, scored: bool) -> tuple[pl.Expr, pl.Expr]:
    """The metric's value, and the reason where it is undefined."""
    nothing = pl.lit(None, pl.Float64)
    if not metric.at_threshold and not scored:
        return nothing, pl.lit("there are decisions but no scores")
    if metric.needs_probability and scored and not probability:
        return nothing, pl.lit(NOT_A_PROBABILITY)
    if metric.at_threshold:
        raw = to_expr(str(metric.formula))
        known = pl.col("tp").is_not_null()
        value = pl.when(metric.defined() & known).then(raw)
        return _finite(value, pl.when(known).then(metric.reason()).otherwise(pl.col("why")))
    value = pl.when(metric.defined()).then(pl.col(metric.name).cast(pl.Float64))
    note = metric.reason()
    if metric.family == "fitted":
        note = pl.coalesce(
            note, pl.when(pl.col(metric.name).is_null()).then(pl.coalesce("fit_note", pl.lit("the fit did not settle")))
        )
    return _finite(value, note)


def _finite(value: pl.Expr, note: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """NULL for what overflows or loses its last digit, as with weights of 1e-320, and a note beside every NULL."""
    held = value.is_finite().fill_null(False)
    return pl.when(held).then(value), pl.when(~held).then(pl.coalesce(note, pl.lit("beyond the range of numbers")))
