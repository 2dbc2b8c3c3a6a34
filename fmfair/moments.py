"""Moments: how much rates vary from sample to sample where rows have weights or belong to patients.

A rate is one sum of confusion counts over another. Its variance follows from the second moments of the four counts of
every unit, so that one table serves every rate: the ratio estimator of survey statistics.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
import polars as pl

from fmfair.influence import Flags
from fmfair.metrics.metric import CONFUSION, Metric
from fmfair.thresholds import DECIDED_T
from fmfair.units import CellRows, Floats

# Columns of second moments, `tp*tp` to `tn*tn`: sums over units of the product of two of their counts.
PAIRS = tuple(combinations_with_replacement(CONFUSION, 2))
PRODUCTS = tuple("*".join(pair) for pair in PAIRS)

# How many units have any of some of the counts, under the names of these counts.
_DENOMINATORS = (("tp", "fp", "fn", "tn"), ("tp", "fn"), ("fp", "tn"), ("tp", "fp"), ("fn", "tn"), ("tp", "fp", "fn"))
COUNTED = tuple("+".join(counts) for counts in _DENOMINATORS)


def moment_table(
    frame: pl.DataFrame, rows: CellRows, thresholds: pl.DataFrame | None, rank: str | None, *, decided: bool
) -> pl.DataFrame:
    """The second moments of every cell at every threshold.

    Args:
        frame: The table of samples.
        rows: The rows of the cells.
        thresholds: As from `threshold_table`; None where nothing is cut.
        rank: The column of ranks that thresholds cut.
        decided: Whether the table has decisions.

    Returns:
        Columns `cell`, `t`, `PRODUCTS` and `COUNTED`.
    """
    weight = rows.of(frame["weight"]) if "weight" in frame.columns else None
    parts = [
        _moments(rows, cases, weight, t) for t, cases in confusion_cases(frame, rows, thresholds, rank, decided=decided)
    ]
    return pl.concat(parts) if parts else _EMPTY


def confusion_cases(
    frame: pl.DataFrame, rows: CellRows, thresholds: pl.DataFrame | None, rank: str | None, *, decided: bool
) -> Iterator[tuple[int, dict[str, Flags]]]:
    """Which rows are true and false positives and negatives, at one threshold after another, decisions last.

    Args:
        frame: The table of samples.
        rows: The rows of the cells.
        thresholds: As from `threshold_table`; None where nothing is cut.
        rank: The column of ranks that thresholds cut.
        decided: Whether the table has decisions.

    Yields:
        The number `t` of the threshold, and for each count of `CONFUSION` a mask.
    """
    y = rows.of(frame["y"]) == 1
    if thresholds is not None and rank is not None:
        by, ranks = rows.of(frame["by"]), rows.of(frame[rank]) >> 1
        for (t,), cuts in thresholds.drop_nulls("cut").group_by("t", maintain_order=True):
            cut = np.full(int(by.max(initial=0)) + 1, np.iinfo(np.int64).max)
            cut[cuts["by"].to_numpy()[cuts["by"].to_numpy() < len(cut)]] = cuts.filter(pl.col("by") < len(cut))["cut"]
            yield int(str(t)), _cases(y, ranks.astype(np.int64) >= cut[by])
    if decided:
        yield DECIDED_T, _cases(y, rows.of(frame["pred"]) == 1)


def _cases(y: Flags, called: Flags) -> dict[str, Flags]:
    return {"tp": y & called, "fp": ~y & called, "fn": y & ~called, "tn": ~y & ~called}


def _moments(rows: CellRows, cases: Mapping[str, Flags], weight: Floats | None, t: int) -> pl.DataFrame:
    units = {name: rows.per_unit(case if weight is None else case * weight) for name, case in cases.items()}
    products = {f"{a}*{b}": rows.over_units(units[a] * units[b]) for a, b in PAIRS}
    counted = {
        "+".join(counts): rows.over_units(np.sum([units[c] for c in counts], axis=0) > 0) for counts in _DENOMINATORS
    }
    table = pl.DataFrame({"cell": rows.numbers, **products, **counted})
    return table.select("cell", pl.lit(t, pl.UInt32).alias("t"), *PRODUCTS, *COUNTED)


_EMPTY = pl.DataFrame(schema={"cell": pl.UInt64, "t": pl.UInt32, **dict.fromkeys((*PRODUCTS, *COUNTED), pl.Float64)})


@lru_cache(maxsize=256)
def rate_spread(metric: Metric, columns: tuple[str, ...]) -> Mapping[str, pl.Expr]:
    """The variance and the units of a rate, from a table of confusion counts.

    Of balanced accuracy also both rates that it is the mean of, with what is known of them; of others the number of the
    `same`.

    Args:
        metric: A rate with a closed form.
        columns: The columns of the table; without moments every row is a unit of its own and counts alike.
    """
    if metric.interval == "benefit":
        # The mean of a value per row, as all rows count below the line.
        odds = pl.col("threshold") / (1.0 - pl.col("threshold"))
        return _Ratio({"tp": 1.0, "fp": -odds, "fn": 0.0, "tn": 0.0}, dict.fromkeys(CONFUSION, 1.0), columns).facts
    assert metric.parts is not None
    ratios = []
    for part in metric.parts:
        above, below = (dict(zip(CONFUSION, factors, strict=True)) for factors in part)
        ratios.append(_Ratio(above, below, columns))
    return ratios[0].facts if len(ratios) == 1 else _mean_of(ratios[0], ratios[1], columns)


class _Ratio:
    """One sum of counts over another.

    Args:
        above: How often each count is above the line.
        below: How often below.
        columns: The columns of the table of counts.
    """

    def __init__(
        self, above: Mapping[str, float | pl.Expr], below: Mapping[str, float], columns: Collection[str]
    ) -> None:
        self.total = pl.sum_horizontal(pl.col(c) * f for c, f in below.items() if f).cast(pl.Float64)
        self.value = pl.sum_horizontal(pl.col(c) * above[c] for c in CONFUSION) / self.total
        # Of one row of each kind, times the total.
        self.influence = {c: above[c] - self.value * below[c] for c in CONFUSION}
        if PRODUCTS[0] in columns:
            self.squares = _quadratic(self.influence)
            self.units = pl.col("+".join(c for c in CONFUSION if below[c]))
            kish = _quadratic({c: pl.lit(f) for c, f in below.items()})
        else:
            self.squares = pl.sum_horizontal(self.influence[c] ** 2 * pl.col(c) for c in CONFUSION)
            self.units = pl.sum_horizontal(pl.col(c) for c in CONFUSION if below[c])
            kish = pl.sum_horizontal(pl.col(c) * below[c] ** 2 for c in CONFUSION if below[c])
        self.same = self.total**2 / kish

    @property
    def facts(self) -> dict[str, pl.Expr]:
        """Its variance, its units, and the number of the `same`."""
        variance = self.squares / self.total**2 * self.units / (self.units - 1.0)
        return {
            "variance": pl.when((self.units > 1) & (self.total > 0)).then(variance),
            # Without a threshold there are no counts.
            "units": pl.when(pl.col("tp").is_not_null()).then(self.units.cast(pl.Float64)),
            "same": pl.when(self.total > 0).then(self.same),
        }


def _mean_of(pos: _Ratio, neg: _Ratio, columns: Collection[str]) -> dict[str, pl.Expr]:
    """The facts of the mean of a rate of the positives and one of the negatives."""
    found = {
        f"{side}_{fact}": value
        for side, ratio in (("pos", pos), ("neg", neg))
        for fact, value in {**ratio.facts, "rate": pl.when(ratio.total > 0).then(ratio.value)}.items()
    }
    rows_apart = PRODUCTS[0] not in columns
    units = pl.sum_horizontal(CONFUSION).cast(pl.Float64) if rows_apart else pl.col("+".join(CONFUSION))
    # A row is of one class, a patient may be of both.
    products = pl.lit(0.0) if rows_apart else _bilinear(pos.influence, neg.influence) / (pos.total * neg.total)
    variance = (found["pos_variance"] + found["neg_variance"] + 2 * products * units / (units - 1.0)) / 4
    return {**found, "variance": variance, "units": pl.when(pl.col("tp").is_not_null()).then(units)}


def _quadratic(factors: Mapping[str, pl.Expr]) -> pl.Expr:
    """The sum over units of the square of a sum of counts with factors."""
    # Rounding may leave less than nothing where every unit is alike.
    return _bilinear(factors, factors).clip(lower_bound=0.0)


def _bilinear(factors: Mapping[str, pl.Expr], others: Mapping[str, pl.Expr]) -> pl.Expr:
    """The sum over units of the product of two sums of counts with factors."""
    return pl.sum_horizontal(
        (factors[a] * others[b] if a == b else factors[a] * others[b] + factors[b] * others[a]) * pl.col(f"{a}*{b}")
        for a, b in PAIRS
    )
