"""Bounds of gaps between values that are only known between bounds.

With every group's value between its own bounds, the largest lies between the largest lower and the largest upper
bound, the smallest between the smallest ones, and what is arithmetic on the two between what their bounds give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from fmfair.gaps import compare
from fmfair.metrics.metric import Metric

PLACE = ("grouping", "by", "t")
LOW, HIGH = "bound_low", "bound_high"
# Bounds that are no further apart come from the rounding of sums, not from bins.
ROUNDED = 1e-8
UNBOUNDED = "no bounds: the value of a group may be undefined, is not known from bins, or lacks rows"
MIDDLE = "from values in the middle of their bounds"

Bounds = tuple[pl.Expr, pl.Expr]

# Metrics whose statistics are those of another one.
_RENAMED: Mapping[str, str] = {"equal_opportunity": "tpr", "demographic_parity": "selection_rate"}


def compare_bounded(
    groups: pl.DataFrame, overall: pl.DataFrame, metrics: Sequence[Metric], least_for_worst: int = 1
) -> pl.DataFrame:
    """The table of `gaps.compare` with `bound_low` and `bound_high`, NULL where none are known.

    Args:
        groups: As for `gaps.compare`, with bounds, and `unsure`: whether a value may be undefined.
        overall: The same on all rows with the attribute.
        metrics: The metrics behind `order`.
        least_for_worst: As for `gaps.compare`.
    """
    gaps = compare(groups, overall, metrics, least_for_worst)
    spread = _spread(groups, overall, metrics)
    odds = _odds(spread)
    bounds = pl.concat([*_of_metrics(spread), *_of_odds(odds)])
    facts = ("exact", "near", "unsure", "widest")
    known = pl.concat([rows.select(*PLACE, "metric", *facts) for rows in (spread, odds)])
    known = pl.concat([known, *(_named(known, name, of) for name, of in _RENAMED.items())])
    found = (
        gaps.lazy()
        .join(known, on=[*PLACE, "metric"], how="left", nulls_equal=True, maintain_order="left")
        .join(bounds, on=[*PLACE, "metric", "statistic"], how="left", nulls_equal=True, maintain_order="left")
    )
    value, exact, near = pl.col("value"), pl.col("exact").fill_null(value=False), pl.col("near").fill_null(value=False)
    sure = value.is_not_null() & ~pl.col("unsure").fill_null(value=False)
    # A standard deviation moves by no more than the values do.
    is_std, widest = pl.col("statistic") == "std", pl.col("widest")
    moved = {LOW: (value - widest).clip(0.0), HIGH: value + widest}
    sides = [
        pl.when(sure).then(pl.when(exact).then(value).when(is_std).then(moved[side]).otherwise(side)).alias(side)
        for side in (LOW, HIGH)
    ]
    unsure = pl.when(value.is_not_null() & pl.col("unsure")).then(pl.lit(UNBOUNDED))
    note = pl.coalesce("note", unsure, pl.when(value.is_not_null() & ~near).then(pl.lit(MIDDLE)))
    return found.with_columns(*sides, note.alias("note")).select(*gaps.columns, LOW, HIGH).collect()


def _named(rows: pl.LazyFrame, name: str, of: str) -> pl.LazyFrame:
    return rows.filter(pl.col("metric") == of).with_columns(metric=pl.lit(name))


def _spread(groups: pl.DataFrame, overall: pl.DataFrame, metrics: Sequence[Metric]) -> pl.LazyFrame:
    """The bounds of the extremes of every comparison, and of the value on all rows."""
    usable = pl.col("value").is_not_null() & pl.col("in_gaps")
    low, high, value = (pl.col(c).filter(usable) for c in (LOW, HIGH, "value"))
    whole = overall.lazy().select(*PLACE, "metric", pl.col(LOW).alias("whole_low"), pl.col(HIGH).alias("whole_high"))
    lower = {m.name: m.direction == "lower" for m in metrics}
    return (
        groups.lazy()
        .group_by(*PLACE, "metric")
        .agg(
            min_low=low.min(),
            min_high=high.min(),
            max_low=low.max(),
            max_high=high.max(),
            exact=(low == high).all(),
            near=(high - low <= ROUNDED * pl.max_horizontal(high, 1.0)).all(),
            widest=pl.max_horizontal(high - value, value - low).max(),
            unsure=(pl.col("unsure") & pl.col("in_gaps")).any(),
        )
        .join(whole, on=[*PLACE, "metric"], how="left", nulls_equal=True)
        .with_columns(
            exact=pl.col("exact") & (pl.col("whole_low") == pl.col("whole_high")).fill_null(value=True),
            near=pl.col("near")
            & (pl.col("whole_high") - pl.col("whole_low") <= ROUNDED * pl.max_horizontal("whole_high", 1.0)).fill_null(
                value=True
            ),
            lower=pl.col("metric").replace_strict(lower, default=False, return_dtype=pl.Boolean),
        )
    )


def _of_metrics(spread: pl.LazyFrame) -> list[pl.LazyFrame]:
    """The bounds of the statistics of every metric, and of those that go by another name."""
    smallest: Bounds = (pl.col("min_low"), pl.col("min_high"))
    largest: Bounds = (pl.col("max_low"), pl.col("max_high"))
    whole: Bounds = (pl.col("whole_low"), pl.col("whole_high"))
    lower = pl.col("lower")
    away = pl.max_horizontal(largest[0] - whole[1], whole[0] - smallest[1], 0.0)
    statistics: dict[str, Bounds] = {
        "difference": (pl.max_horizontal(largest[0] - smallest[1], 0.0), largest[1] - smallest[0]),
        "ratio": (_ratio(smallest[0], largest[1]), _ratio(smallest[1], largest[0]).fill_null(1.0).clip(0.0, 1.0)),
        "difference_to_overall": (away, pl.max_horizontal(largest[1] - whole[0], whole[1] - smallest[0])),
        "worst": _chosen(lower, largest, smallest),
        "best": _chosen(lower, smallest, largest),
    }
    parts = [_bounds(spread, name, *pair) for name, pair in statistics.items()]
    both = pl.concat(parts[:2])
    return [*parts, *(_named(both, name, of) for name, of in _RENAMED.items())]


def _chosen(which: pl.Expr, first: Bounds, second: Bounds) -> Bounds:
    low, high = (pl.when(which).then(a).otherwise(b) for a, b in zip(first, second, strict=True))
    return low, high


def _ratio(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    return pl.when(b > 0).then(a / b)


def _bounds(rows: pl.LazyFrame, statistic: str, low: pl.Expr, high: pl.Expr) -> pl.LazyFrame:
    return rows.select(*PLACE, "metric", pl.lit(statistic).alias("statistic"), low.alias(LOW), high.alias(HIGH))


def _odds(spread: pl.LazyFrame) -> pl.LazyFrame:
    """The bounds of the two differences that equalized odds consists of: that of TPR, and that of FPR or TNR."""
    rows = spread.select(
        *PLACE,
        "metric",
        "exact",
        "near",
        "unsure",
        "widest",
        low=pl.max_horizontal(pl.col("max_low") - pl.col("min_high"), 0.0),
        high=pl.col("max_high") - pl.col("min_low"),
    )
    second = rows.filter(pl.col("metric").is_in(["fpr", "tnr"])).unique(PLACE).drop("metric")
    both = rows.filter(pl.col("metric") == "tpr").join(second, on=PLACE, nulls_equal=True, suffix="_other")
    return both.with_columns(
        metric=pl.lit("equalized_odds"),
        exact=pl.col("exact") & pl.col("exact_other"),
        near=pl.col("near") & pl.col("near_other"),
        unsure=pl.col("unsure") | pl.col("unsure_other"),
    )


def _of_odds(odds: pl.LazyFrame) -> list[pl.LazyFrame]:
    low, high = ((pl.col(side) + pl.col(f"{side}_other")) / 2 for side in ("low", "high"))
    larger = (pl.max_horizontal(side, f"{side}_other") for side in ("low", "high"))
    return [
        _bounds(odds, "difference", *larger),
        _bounds(odds, "average_difference", low, high),
        _bounds(odds, "score", 1.0 - high, 1.0 - low),
    ]
