"""Moments: how much rates vary from sample to sample where rows have weights or belong to patients.

A rate is one sum of confusion counts over another. Its variance follows from the second moments of the four counts of
every unit, so that one table serves every rate: the ratio estimator of survey statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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


def rate_spread(metric: Metric, columns: Iterable[str]) -> dict[str, pl.Expr]:
    """The variance, the units and the number of the `same` of a rate, from a table of confusion counts.

    Args:
        metric: A rate that is one sum of counts over another.
        columns: The columns of the table; without moments every row is a unit of its own and counts alike.
    """
    assert metric.shares is not None
    above, below = (dict(zip(CONFUSION, factors, strict=True)) for factors in metric.shares)
    total = pl.sum_horizontal(pl.col(c) * f for c, f in below.items() if f).cast(pl.Float64)
    value = pl.sum_horizontal(pl.col(c) * f for c, f in above.items() if f) / total
    # The influence of one count of each kind, times the total.
    share = {c: above[c] - value * below[c] for c in CONFUSION}
    if PRODUCTS[0] in columns:
        squares = _quadratic(share)
        units = pl.col("+".join(c for c in CONFUSION if below[c]))
        kish = _quadratic({c: pl.lit(f) for c, f in below.items()})
    else:
        squares = pl.sum_horizontal(share[c] ** 2 * pl.col(c) for c in CONFUSION)
        units = pl.sum_horizontal(pl.col(c) for c in CONFUSION if below[c])
        kish = pl.sum_horizontal(pl.col(c) * below[c] ** 2 for c in CONFUSION if below[c])
    variance = squares / total**2 * units / (units - 1.0)
    return {
        "variance": pl.when((units > 1) & (total > 0)).then(variance),
        # Without a threshold there are no counts.
        "units": pl.when(pl.col("tp").is_not_null()).then(units.cast(pl.Float64)),
        "same": pl.when(total > 0).then(total**2 / kish),
    }


def _quadratic(factors: dict[str, pl.Expr]) -> pl.Expr:
    """The sum over units of the square of a sum of counts with factors."""
    terms = [factors[a] * factors[b] * pl.col(f"{a}*{b}") * (1.0 if a == b else 2.0) for a, b in PAIRS]
    # Rounding may leave less than nothing where every unit is alike.
    return pl.sum_horizontal(terms).clip(lower_bound=0.0)
