"""What a replicate of a classification is made of: orders of the rows and sums over them, made once for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.bootstrap.bin_sums import Parts, Slots, make_parts, make_slots
from fmfair.bootstrap.calibrating import score_sums
from fmfair.bootstrap.cells import Cells
from fmfair.bootstrap.drawing import MAX_THREADS, Draws, Weights, portions
from fmfair.bootstrap.lanes import Packed, packed
from fmfair.bootstrap.orders import Found, Order, Sums, make_order
from fmfair.fit import fit_cells
from fmfair.measures import Engine
from fmfair.metrics.bins import unit_bin
from fmfair.metrics.metric import CONFUSION, Metric
from fmfair.ranks import Ranks

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.intp]

# The ranking metrics whose sums are arithmetic on arrays; the expressions of others are run on each replicate.
DIRECT = ("auc", "average_precision")

# Before the name of an error of calibration: what it is by chance alone.
CHANCE = "chance of "


def has_replicates(metric: Metric, *, on_range: bool) -> bool:
    """Whether resampling says anything of a metric: errors of calibration grow by it, and only some can be put right.

    Args:
        metric: The metric.
        on_range: Whether the bins of an error of calibration span each group's own scores.
    """
    return metric.parameters.kind != "ece" or not (metric.is_biased or on_range)


class Resampler:
    """What one replicate after another is made from."""

    def __init__(self, engine: Engine, cells: Cells, draws: Draws) -> None:
        self.engine, self.cells = engine, cells
        self.on_range = engine.options.conventions.ece_on_group_range
        self.metrics = [m for m in engine.metrics if has_replicates(m, on_range=self.on_range)]
        frame = engine.frame
        ranks = engine.ranking or engine.cutting
        # Rows in the falling order of their scores, so that those of a group are read one after another.
        self.base = np.arange(frame.height) if ranks is None else np.argsort(frame[ranks.column].to_numpy())[::-1]
        self.draws = draws.take(self.base)
        self.y = frame["y"].to_numpy()[self.base]
        self.profile = engine.profiles.of_row[self.base]
        self.probability, self.decided = "bce" in frame.columns, "pred" in frame.columns
        self.asked = self._asked()
        with ThreadPoolExecutor(min(MAX_THREADS, pl.thread_pool_size())) as pool:
            bins = pool.submit(self._bins)
            self.orders, self.cuts = self._orders(pool)
            self.bins = bins.result()
        self.fitted = [m.name for m in self.metrics if m.family == "fitted" and self.probability]
        # What is left of errors of calibration are those that can be freed from their bias.
        self.debiased = [m.name for m in self.metrics if m.parameters.kind == "ece" and self.probability]
        self.observed: dict[int, Floats] = {}
        if self.engine.samples.clustered:
            own = np.ones(len(self.base)) if self.draws.weight is None else self.draws.weight
            self._binned_metrics({n: slots.sums(own[None]) for n, (slots, _) in self.bins.items()})

    @property
    def _kinds(self) -> int:
        """Into how many parts labels and decisions divide a score bin."""
        return 4 if self.decided else 2

    def _asked(self) -> list[pl.DataFrame]:
        """The cuts in the cells of every grouping: `position`, `t`, `threshold` and `cut`."""
        if self.engine.cutting is None or not any(m.at_threshold for m in self.metrics):
            return [_NO_CUTS] * len(self.cells.groupings)
        found = []
        for grouping, listed in zip(self.cells.groupings, self.cells.listed, strict=True):
            cells = listed.select("by").with_row_index("position")
            table = cells.join(self.engine.thresholds(grouping), on="by", maintain_order="left_right")
            found.append(table.select("position", "t", "threshold", "cut"))
        return found

    def _orders(self, pool: Executor) -> tuple[list[Order], list[Order] | None]:
        """The order of each grouping by what is ranked, and by what is cut where that is another one."""
        ranking, cutting = self.engine.ranking, self.engine.cutting
        if ranking is None or cutting is None:
            return [], None
        same = ranking is cutting
        every = range(len(self.cells.groupings))
        ranked = list(pool.map(partial(self._order, ranks=ranking, cuts=same), every))
        if same or not any(len(asked) for asked in self.asked):
            return ranked, None
        return ranked, list(pool.map(partial(self._order, ranks=cutting, cuts=True), every))

    def _order(self, i: int, *, ranks: Ranks, cuts: bool) -> Order:
        cell = self.cells.of_profiles(i, self.engine.profiles.table).take(self.profile)
        rank = self.engine.frame[ranks.column].to_numpy()[self.base] >> 1
        asked = self.asked[i] if cuts else self.asked[i].clear()
        return make_order(cell, rank, self.y, self.cells.listed[i].height, asked)

    def _bins(self) -> dict[int, tuple[Slots, Parts]]:
        """By number of bins the sums of rows, and the bins of the cells that they are put together into."""
        wanted = {m.n_bins for m in self.metrics if m.table == "bins" and self.probability}
        # Without an error of calibration one bin serves the means.
        numbers = {1} if self.on_range else wanted or {1}
        return {n: self._binned(n) for n in sorted(numbers)}

    def _binned(self, n_bins: int) -> tuple[Slots, Parts]:
        frame, profiles = self.engine.frame, self.engine.profiles.table
        values: dict[str, Floats] = {}
        bins = np.zeros(frame.height, dtype=np.intp)
        if self.probability:
            p, y = frame["prob"].to_numpy()[self.base], self.y
            if n_bins > 1:
                bins = frame.select(unit_bin(pl.col("prob"), n_bins)).to_series().to_numpy()[self.base].astype(np.intp)
            values = {"sum_p": p, "sum_bce": frame["bce"].to_numpy()[self.base], "sum_brier": (p - y) ** 2}
            if self.draws.weight is not None:
                values["sum_ww"] = self.draws.weight
        number = (self.profile.astype(np.intp) * n_bins + bins) * 2 + self.y
        if self.decided:
            number = number * 2 + frame["pred"].to_numpy()[self.base]
        slots = make_slots(number, values)
        kinds = self._kinds
        profile, part = slots.number // (n_bins * kinds), slots.number % (n_bins * kinds)
        members = []
        for i in range(len(self.cells.groupings)):
            cell = self.cells.of_profiles(i, profiles)[profile]
            inside = np.flatnonzero(cell >= 0)
            members.append((inside, cell[inside] + self.cells.first[i]))
        return slots, make_parts(members, part, n_bins * kinds)

    def raw(self, weights: Weights) -> tuple[Found, Found, Found]:
        """What the values are arithmetic on: of cells, of cuts, and the errors of calibration without bias."""
        of_slots: dict[int, list[Found]] = {n_bins: [] for n_bins in self.bins}
        ordered: list[tuple[Found, Found]] = []
        for some in portions(weights):
            for n_bins, (slots, _) in self.bins.items():
                of_slots[n_bins].append(slots.sums(some))
            largest = next(iter(of_slots.values()))[-1]["weight"].sum(axis=1).max(initial=0.0)
            ordered.append(self._ordered(packed(some, largest)))
        cells, decided, debiased = self._binned_metrics({n: _stacked(parts) for n, parts in of_slots.items()})
        ranked, cuts = (_stacked([part[k] for part in ordered]) for k in (0, 1))
        cells |= ranked
        if decided:
            cuts = {c: np.concatenate([cuts[c], decided[c]], axis=1) for c in CONFUSION}
        for i, found in enumerate(self._fits(weights)):
            for name, column in found.items():
                cells.setdefault(name, np.full((len(weights), self.cells.count), np.nan))[i] = column
        return cells, cuts, debiased

    def _ordered(self, weights: Packed) -> tuple[Found, Found]:
        """The ranking metrics of the cells, and the confusion counts of the cuts."""
        others = {m.name: m for m in self.metrics if m.table == "blocks" and m.name not in DIRECT}
        ranked: list[Found] = []
        confusions: list[Found] = [dict.fromkeys(CONFUSION, np.zeros((weights.replicates, 0)))]
        for i, order in enumerate(self.orders):
            sums = order.sums(weights)
            ranked.append(self._ranked(sums, others))
            confusions.append((sums if self.cuts is None else self.cuts[i].sums(weights)).confusion())
        return _joined(ranked), _joined(confusions)

    def _ranked(self, sums: Sums, others: Mapping[str, Metric]) -> Found:
        found: Found = {}
        names = [m.name for m in self.metrics]
        if "auc" in names:
            found["auc"] = sums.auc()
        if "average_precision" in names:
            found["average_precision"] = sums.average_precision()
        return {**found, **(sums.others(others) if others else {})}

    def _binned_metrics(self, of_slots: Mapping[int, Found]) -> tuple[Found, Found, Found]:
        """Counts and calibration of the cells, decisions, and the errors of calibration without bias.

        Args:
            of_slots: The sums of the slots by number of bins.
        """
        cells: Found = {}
        debiased: Found = {}
        decided: Found = {}
        for n_bins, (_, parts) in self.bins.items():
            sums = {name: parts.sums(column) for name, column in of_slots[n_bins].items()}
            positive = (parts.part // (self._kinds // 2)) % 2 == 1
            if not cells:
                weight = parts.per_cell(sums["weight"], self.cells.count)
                classes = {"n_pos": positive, "n_neg": ~positive}
                cells = {"weight": weight, "n": weight}
                cells |= {c: parts.per_cell(sums["weight"] * of, self.cells.count) for c, of in classes.items()}
                if self.probability:
                    cells["sum_p"] = parts.per_cell(sums["sum_p"], self.cells.count)
                if self.decided:
                    decided = self._decided(parts, sums["weight"], positive)
            if self.probability:
                self._calibration(n_bins, parts, {**sums, "sum_y": sums["weight"] * positive}, cells, debiased)
        return cells, decided, debiased

    def _decided(self, parts: Parts, weight: Floats, positive: npt.NDArray[np.bool_]) -> Found:
        called = parts.part % 2 == 1
        cases = {
            "tp": positive & called,
            "fp": ~positive & called,
            "fn": positive & ~called,
            "tn": ~positive & ~called,
        }
        return {name: parts.per_cell(weight * case, self.cells.count) for name, case in cases.items()}

    def _calibration(self, n_bins: int, parts: Parts, sums: Found, cells: Found, debiased: Found) -> None:
        """Add the metrics that are sums over score bins, by their own expressions."""
        metrics = [m for m in self.metrics if m.table == "bins" and (self.on_range or m.n_bins == n_bins)]
        aggregates = [m.aggregate().alias(m.name) for m in metrics if m.aggregate]
        if not aggregates:
            return
        scored = score_sums(parts, self._kinds, self.cells.count, sums)
        found = scored.table().lazy().group_by("cell", maintain_order=True).agg(aggregates).collect()
        for metric in metrics:
            column = np.full(scored.replicates * self.cells.count, np.nan)
            column[found["cell"].to_numpy()] = found[metric.name].to_numpy()
            cells[metric.name] = column.reshape(scored.replicates, -1)
            if metric.name in self.debiased:
                debiased[metric.name] = scored.debiased()
                if self.engine.samples.clustered:
                    observed = self.observed.setdefault(n_bins, scored.share())  # the first are all rows, once each
                    debiased[CHANCE + metric.name] = scored.chance(observed)

    def _fits(self, weights: Weights) -> list[Found]:
        """Regressions, one replicate after another: each takes its own steps."""
        if not self.fitted:
            return []
        wanted = [c for c in self.engine.frame.columns if c not in ("weight", "unit", "drawn")]
        frame = self.engine.frame.select(wanted)[self.base]
        found = []
        for row in weights:
            drawn = frame.with_columns(pl.Series("weight", row.astype(np.float64))).filter(pl.col("weight") > 0)
            values = {name: np.full(self.cells.count, np.nan) for name in self.fitted}
            for i, grouping in enumerate(self.cells.groupings):
                fitted = (
                    self.cells.listed[i]
                    .select("cell")
                    .join(fit_cells(drawn, grouping), on="cell", how="left", maintain_order="left")
                )
                for name in self.fitted:
                    some = slice(self.cells.first[i], self.cells.first[i + 1])
                    values[name][some] = fitted[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
            found.append(values)
        return found


def _stacked(parts: Sequence[Found]) -> Found:
    """Replicates after replicates."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _joined(parts: Sequence[Found]) -> Found:
    """Cells after cells, of the same replicates."""
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]} if parts else {}


_NO_CUTS = pl.DataFrame(schema={"position": pl.UInt32, "t": pl.UInt32, "threshold": pl.Float64, "cut": pl.UInt64})
