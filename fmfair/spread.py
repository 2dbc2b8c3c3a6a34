"""Spread: how much the value of a metric varies from sample to sample, in every cell of a grouping.

The facts of a metric are its variance and the number of units behind it; of an AUC also what the positives and the
negatives contribute. Formulas: DeLong, DeLong & Clarke-Pearson 1988 (AUC), Obuchowski 1997 (AUC, several rows per
patient), the infinitesimal jackknife of average precision, and the ratio estimator of means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from fmfair.blocks import Blocks
from fmfair.influence import auc_variance, counted_units, mean_influence, ranking_influences, weights_of
from fmfair.metrics.blocks import NEG, POS
from fmfair.metrics.metric import IntervalKind, Metric
from fmfair.moments import rate_spread
from fmfair.units import CellRows, Floats, corrected

# What is known of a value's spread. `pos_units` and `neg_units` are the positives and negatives, or the patients that
# have any; with weights as many of equal weight as count the same. `same` is the effective number of units of a rate if
# those of a patient are copies;
# of the error of calibration it is what chance alone would show, the value less that, and how likely chance is;
# of balanced accuracy the rates of both classes, and what is known of them.
FACTS = (
    *("variance", "units", "pos_variance", "neg_variance", "pos_units", "neg_units", "same"),
    *("expected", "debiased", "p"),
    *("pos_rate", "neg_rate", "pos_same", "neg_same"),
)

# Sums of squares of shares this small are what rounding leaves where all shares are alike.
ROUNDING = 1e-24


def spread_of_ranking(
    metrics: Sequence[Metric], blocks: Blocks, rows: CellRows | None, frame: pl.DataFrame
) -> pl.DataFrame:
    """The facts of the ranking metrics that have any: `cell`, `metric` and `FACTS`.

    Args:
        metrics: Metrics of which those with an interval are looked at.
        blocks: The blocks of the scores in the order that is ranked.
        rows: The rows of the cells, where they have weights or belong to patients; None where each counts alike.
        frame: The table of samples.
    """
    kinds: dict[IntervalKind, str] = {m.interval: m.name for m in metrics if m.interval in ("auc", "average_precision")}
    if not kinds:
        return NO_SPREAD
    if rows is None:
        return _from_steps(kinds, blocks)
    return _from_rows(kinds, blocks, rows, frame)


def _from_steps(kinds: Mapping[IntervalKind, str], blocks: Blocks) -> pl.DataFrame:
    """From the blocks that hold positives, and the counts of the negatives between them."""
    m, n = POS.sum(), (pl.col("fp") + pl.col("tn")).first()
    facts: dict[IntervalKind, dict[str, pl.Expr]] = {
        "auc": _auc_facts(m, n),
        "average_precision": _precision_facts(m, n),
    }
    aggregates = [
        value.cast(pl.Float64).alias(f"{name}:{fact}")
        for kind, name in kinds.items()
        for fact, value in facts[kind].items()
    ]
    return _listed(blocks.steps().group_by("cell", maintain_order=True).agg(aggregates).collect(), kinds.values())


def _listed(table: pl.DataFrame, metrics: Iterable[str]) -> pl.DataFrame:
    """One row per cell and metric, from columns such as `auc:variance`."""
    parts = []
    for metric in metrics:
        known = [
            pl.col(f"{metric}:{fact}").fill_nan(None).alias(fact)
            if f"{metric}:{fact}" in table.columns
            else pl.lit(None, pl.Float64).alias(fact)
            for fact in FACTS
        ]
        parts.append(table.select("cell", pl.lit(metric).alias("metric"), *known))
    return pl.concat([NO_SPREAD, *parts])


NO_SPREAD = pl.DataFrame(schema={"cell": pl.UInt64, "metric": pl.String, **dict.fromkeys(FACTS, pl.Float64)})


# Negatives with a score between that of a block with positives and the one before it, and those above the last.
_BETWEEN = pl.col("tn") - (pl.col("tn") + NEG).shift(1, fill_value=0)
_ABOVE = (pl.col("fp") - NEG).last()


def _auc_facts(m: pl.Expr, n: pl.Expr) -> dict[str, pl.Expr]:
    """From the placements: the share of the other class that a row is ranked rightly against."""
    of_pos = (pl.col("tn") + NEG / 2) / n
    tied, between = (pl.col("tp") - POS / 2) / m, pl.col("tp") / m
    mean_pos = (POS * of_pos).sum() / m
    mean_neg = (NEG * tied + _BETWEEN * between).sum() / n
    squares_pos = (POS * (of_pos - mean_pos) ** 2).sum()
    squares_neg = (NEG * (tied - mean_neg) ** 2 + _BETWEEN * (between - mean_neg) ** 2).sum() + _ABOVE * mean_neg**2
    pos_variance, neg_variance = _share(squares_pos, m), _share(squares_neg, n)
    return {
        "variance": pos_variance + neg_variance,
        "units": m + n,
        "pos_variance": pos_variance,
        "neg_variance": neg_variance,
        "pos_units": m,
        "neg_units": n,
    }


def _share(squares: pl.Expr, count: pl.Expr) -> pl.Expr:
    """The variance of a mean from the sum of the squares; NULL below two."""
    quiet = pl.when(squares <= ROUNDING * count).then(0.0).otherwise(squares)
    return pl.when(count > 1).then(quiet / (count * (count - 1.0)))


def _precision_facts(m: pl.Expr, n: pl.Expr) -> dict[str, pl.Expr]:
    called = pl.col("tp") + pl.col("fp")
    precision = pl.col("tp") / called
    value = (POS * precision).sum() / m
    risen = (POS * pl.col("fp") / called**2).cum_sum()  # what a further positive gains for those at or below it
    lost = (POS * pl.col("tp") / called**2).cum_sum()  # what a further negative takes from them
    squares = (
        POS * (precision + risen - value) ** 2 + NEG * lost**2 + _BETWEEN * lost.shift(1, fill_value=0.0) ** 2
    ).sum() + _ABOVE * lost.last() ** 2
    rows = (m + n).cast(pl.Float64)
    return {
        "variance": pl.when(rows > 1).then(squares / m**2 * rows / (rows - 1.0)),
        "units": m + n,
        "pos_units": m,
    }


def _from_rows(kinds: Mapping[IntervalKind, str], blocks: Blocks, rows: CellRows, frame: pl.DataFrame) -> pl.DataFrame:
    """From the influence of each row, which a weight scales and a patient adds up."""
    y, weight = rows.of(frame["y"]).astype(np.float64), weights_of(rows, frame)
    influences = ranking_influences(kinds, blocks, rows, frame)
    units, i_pos, i_neg = counted_units(rows, y)
    if rows.unit is None:
        i_pos, i_neg = (_effective(rows, weight * inside) for inside in (y, 1 - y))
    facts: dict[str, Floats] = {}
    if "auc" in kinds:
        found = {
            **_of_classes(rows, y, influences["auc"]),
            "variance": auc_variance(rows, y, influences["auc"]),
            "units": units,
            "pos_units": i_pos,
            "neg_units": i_neg,
        }
        facts |= {f"{kinds['auc']}:{fact}": values for fact, values in found.items()}
    if "average_precision" in kinds:
        name = kinds["average_precision"]
        facts[f"{name}:variance"] = rows.variance(influences["average_precision"])
        facts[f"{name}:units"] = units
        facts[f"{name}:pos_units"] = i_pos
    return _listed(pl.DataFrame({"cell": rows.numbers, **facts}), kinds.values())


def _effective(rows: CellRows, weight: Floats) -> Floats:
    """As how many rows of equal weight the rows count: (sum w)^2 / sum w^2, 0 where there are none."""
    squares = rows.sums(weight**2)
    return rows.sums(weight) ** 2 / np.where(squares > 0, squares, 1.0)


def _of_classes(rows: CellRows, y: Floats, influence: Floats) -> dict[str, Floats]:
    """What the positives and the negatives contribute to the variance of an AUC, whatever the patients."""
    found = {}
    for fact, inside in (("pos_variance", y == 1), ("neg_variance", y == 0)):
        found[fact] = corrected(rows.sums(inside)) * rows.sums(np.where(inside, influence, 0.0) ** 2)
    return found


def spread_of_means(values: Mapping[str, pl.Series], rows: CellRows, frame: pl.DataFrame) -> pl.DataFrame:
    """The facts of means of a value per row: `cell`, `metric` and `FACTS`.

    Args:
        values: The values of all rows of the table, by the name of the metric; none of those in `rows` is missing.
        rows: The rows of the cells.
        frame: The table of samples.
    """
    facts: dict[str, Floats] = {}
    weight = weights_of(rows, frame)
    alike = rows.unit is None and "weight" not in frame.columns
    for name, column in values.items():
        value = rows.of(column)
        variance = _plain_variance(value, rows) if alike else rows.variance(mean_influence(value, rows, weight))
        facts |= {f"{name}:variance": variance, f"{name}:units": rows.units}
    return _listed(pl.DataFrame({"cell": rows.numbers, **facts}), values)


def _plain_variance(value: Floats, rows: CellRows) -> Floats:
    """The same of rows that count alike, in fewer passes: s^2 / n."""
    n = rows.units
    with np.errstate(divide="ignore", invalid="ignore"):
        centred = value - (rows.sums(value) / n)[rows.cell]
        return corrected(n) * rows.sums(centred * centred) / n**2


def with_spread(
    long: pl.DataFrame, spread: pl.DataFrame, confusion: pl.DataFrame, metrics: Sequence[Metric]
) -> pl.DataFrame:
    """The long table with `FACTS` beside every value that has any.

    Args:
        long: As from `measures.long_table`.
        spread: `grouping`, `cell`, `metric` and `FACTS` of metrics without a threshold.
        confusion: `grouping`, `cell`, `t` and the counts, with moments where rows have weights or belong to patients.
        metrics: The metrics behind `order`.
    """
    place = ["grouping", "cell", "metric", "t"]
    parts = [spread.with_columns(t=pl.lit(None, pl.UInt32))]
    for metric in metrics:
        if metric.at_threshold and metric.interval is not None:
            facts = rate_spread(metric, tuple(confusion.columns))
            parts.append(confusion.select(*place[:2], "t", pl.lit(metric.name).alias("metric"), **facts))
    known = pl.concat(parts, how="diagonal").select(*place, *FACTS)
    found = long.join(known, on=place, how="left", nulls_equal=True, maintain_order="left")
    # Nothing is known of a cell without rows, nor of a value that is not defined.
    return found.with_columns(pl.when(pl.col("n") > 0).then(pl.col(FACTS).fill_nan(None)))
