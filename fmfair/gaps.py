"""Gaps: group values compared, one operation for every metric.

`difference` is largest minus smallest, `ratio` smallest over largest, `difference_to_overall` and `ratio_to_overall`
the same against the value on all rows with the attribute, `worst` and `best` the extreme group values by the metric's
direction, `std` the population standard deviation of the group values. Named statistics such as equalized odds are
arithmetic on these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.metrics.metric import Metric
from fmfair.named_gaps import named_statistics

Places: TypeAlias = npt.NDArray[np.uint64]
Positions: TypeAlias = npt.NDArray[np.intp]

# Sums taken in another order differ in the last digits; a difference of this share of the values, or of this size where
# they nearly cancel, is none.
NOISE = 1e-12
TINY = 1e-15

# What one comparison stands for: a metric at a threshold, across the groups of a grouping in a by-key.
KEY = ("grouping", "by", "order", "metric", "t", "threshold", "threshold_rule")
# The same by position, in reading order.
PLACE = ("by", "grouping", "order", "t")
COLUMNS = (*KEY, "statistic", "value", "worst_group", "best_group", "n_groups", "note")


def compare(
    groups: pl.DataFrame, overall: pl.DataFrame, metrics: Sequence[Metric], least_for_worst: int = 1
) -> pl.DataFrame:
    """The comparison of every metric across the groups of every grouping.

    Args:
        groups: Long group values: the columns of `KEY`, `group`, `value`, `in_gaps`, in reading order, the groups of a
            comparison in theirs.
        overall: The value of the same metric and threshold on all rows with the attribute, by `KEY`.
        metrics: The metrics behind `order`.
        least_for_worst: How many usable groups it takes to call one the worst or the best; a gap takes two.

    Returns:
        One row per `KEY` and `statistic`: `value`, `worst_group`, `best_group`, `n_groups`, `note`.
    """
    compared = [m for m in metrics if m.family != "count"]
    facts = pl.DataFrame(
        {
            "metric": [m.name for m in compared],
            "lower": [m.direction == "lower" for m in compared],
            "directed": [m.direction != "none" for m in compared],
            "signed": [m.low is None or m.low < 0 for m in compared],
        },
        schema={"metric": pl.String, "lower": pl.Boolean, "directed": pl.Boolean, "signed": pl.Boolean},
    )
    known = overall.select(*KEY, pl.col("value").alias("overall"))
    whole = known.join(facts, on="metric", how="inner", maintain_order="left")
    whole = whole[reading_order(whole)].with_row_index("comparison")
    # An attribute that no row of a by-key has is compared all the same: between no groups.
    spread = whole.join(_spread(_comparable(groups, whole), groups), on="comparison", how="left", maintain_order="left")
    spread = spread.with_columns(pl.col("n_groups", "n_cells", "left_out", "away").fill_null(0))
    spread = spread.with_columns(_extreme_groups())
    parts = [*_statistics(spread, least_for_worst), *named_statistics(spread)]
    held = pl.col("value").is_finite()
    beyond = pl.when(~held).then(pl.lit("beyond the range of numbers"))
    table = pl.concat(parts).with_columns(value=pl.when(held).then("value"), note=pl.coalesce(beyond, "note"))
    found = table.collect().rechunk()
    return found.select(pl.all().gather(reading_order(found)))


def reading_order(rows: pl.DataFrame) -> pl.Series:
    """The positions of rows by by-key, grouping, metric and threshold; those alike in all of these keep their order."""
    place = places_of(rows)
    start = run_starts(place)
    # Rows that are alike come in runs, and only the runs are sorted.
    order = np.argsort(place[start], kind="stable")
    length = np.diff(start, append=len(place))[order]
    shift = start[order] - (np.cumsum(length) - length)
    return pl.Series(np.repeat(shift, length) + np.arange(len(place)), dtype=pl.UInt32)


def places_of(rows: pl.DataFrame) -> Places:
    """By-key, grouping, metric and threshold of each row as one number, in reading order."""
    place = np.zeros(rows.height, dtype=np.uint64)
    for name in PLACE:
        code = rows[name].cast(pl.UInt32)
        if (code > rows.height).any():
            code = code.rank("dense")
        if code.null_count():
            code = (code + 1).fill_null(0)
        codes = code.to_numpy()
        place *= np.uint64(int(codes.max(initial=0)) + 1)
        place += codes
    return place


def run_starts(place: Places) -> Positions:
    """Where a run of equal numbers starts."""
    return np.flatnonzero(np.concatenate([np.full(min(len(place), 1), True), place[1:] != place[:-1]]))


def _comparable(groups: pl.DataFrame, whole: pl.DataFrame) -> pl.DataFrame:
    """The group values with their `row` and the number of their comparison, rising, and the value on all rows."""
    # Only the first row of each comparison is looked up, by positions: names and floats need not be compared.
    start = run_starts(places_of(groups))
    firsts = groups.select(pl.col(PLACE).gather(start))
    found = firsts.join(whole, on=PLACE, how="left", nulls_equal=True, maintain_order="left")
    known, length = found["comparison"].is_not_null().to_numpy(), np.diff(start, append=groups.height)
    run = np.repeat(np.flatnonzero(known), length[known])
    rows = groups.select("value", usable=pl.when("in_gaps").then("value")).with_row_index("row")
    rows = rows.filter(pl.Series(np.repeat(known, length), dtype=pl.Boolean))
    rows = rows.with_columns(found[c].gather(run) for c in ("comparison", "overall"))
    return rows.with_columns(pl.col("comparison").set_sorted())


def _spread(rows: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Extremes of the usable group values of every comparison, and what is said of the others."""
    value, usable = pl.col("value"), pl.col("usable")
    extremes = rows.group_by("comparison", maintain_order=True).agg(
        n_groups=usable.count().cast(pl.Int64),
        n_cells=pl.len(),
        left_out=value.count() - usable.count(),
        low=usable.min(),
        high=usable.max(),
        std=usable.std(ddof=0),
        away=(usable - pl.col("overall")).abs().sum(),
    )
    run = rows["comparison"].rle_id()
    compared = rows.lazy().with_columns(extremes[extreme].gather(run) for extreme in ("low", "high"))
    group, note = (pl.lit(groups[name]).gather(pl.col("row")) for name in ("group", "note"))
    unusable = rows.lazy().filter(value.is_null()).select("comparison", note.alias("note")).drop_nulls("note")
    parts = [
        *(
            compared.filter(_near(usable, pl.col(extreme)))
            .filter(pl.col("comparison").ne_missing(pl.col("comparison").shift()))
            .select("comparison", group.alias(name))
            for extreme, name in (("low", "lowest"), ("high", "highest"))
        ),
        unusable.unique(["comparison", "note"], keep="first", maintain_order=True)
        .group_by("comparison", maintain_order=True)
        .agg(reasons=pl.col("note")),
    ]
    for part in pl.collect_all(parts):
        extremes = extremes.join(part, on="comparison", how="left")
    return extremes


def _near(value: pl.Expr, extreme: pl.Expr) -> pl.Expr:
    """Whether a value is the extreme one but for noise; of such groups the first in order is named."""
    return (value - extreme).abs() <= pl.max_horizontal(NOISE * extreme.abs(), TINY)


def _extreme_groups() -> list[pl.Expr]:
    lower, lowest, highest = pl.col("lower"), pl.col("lowest"), pl.col("highest")
    return [
        pl.when(lower).then(highest).otherwise(lowest).alias("worst_group"),
        pl.when(lower).then(lowest).otherwise(highest).alias("best_group"),
        _too_few().alias("too_few"),
        quiet(pl.col("high") - pl.col("low")).alias("difference"),
        ratio(pl.col("low"), pl.col("high")).alias("ratio"),
    ]


def _statistics(spread: pl.DataFrame, least_for_worst: int) -> list[pl.LazyFrame]:
    low, high, whole, lower = pl.col("low"), pl.col("high"), pl.col("overall"), pl.col("lower")
    away = pl.max_horizontal((high - whole).abs(), (low - whole).abs())
    share = pl.min_horizontal(ratio(low, whole), ratio(whole, low), ratio(high, whole), ratio(whole, high))
    no_ratio = pl.when(pl.col("signed")).then(pl.lit("no ratio, the metric can be negative"))
    nothing = pl.lit(None, pl.String)
    no_whole = pl.when(whole.is_null()).then(pl.lit("undefined on all rows together"))
    statistics: dict[str, tuple[pl.Expr, pl.Expr]] = {
        "difference": (pl.col("difference"), nothing),
        "ratio": (
            _unsigned(pl.col("ratio")),
            pl.coalesce(no_ratio, pl.when(pl.col("ratio").is_null()).then(pl.lit("0/0"))),
        ),
        "worst": (pl.when(lower).then(high).otherwise(low), nothing),
        "best": (pl.when(lower).then(low).otherwise(high), nothing),
        "difference_to_overall": (pl.when(whole.is_not_null()).then(quiet(away)), no_whole),
        "ratio_to_overall": (
            _unsigned(share),
            pl.coalesce(no_ratio, no_whole, pl.when(share.is_null()).then(pl.lit("division by 0"))),
        ),
        "std": (quiet(pl.col("std")), nothing),
    }
    parts = []
    for name, (value, undefined) in statistics.items():
        extreme = name in ("worst", "best")
        rows = spread.lazy().filter(pl.col("directed")) if extreme else spread.lazy()
        enough = pl.col("n_groups") >= (least_for_worst if extreme else 2)
        parts.append(
            rows.select(
                *KEY,
                pl.lit(name).alias("statistic"),
                pl.when(enough).then(value).alias("value"),
                "worst_group",
                "best_group",
                "n_groups",
                pl.when(enough).then(undefined).otherwise(pl.col("too_few")).alias("note"),
            )
        )
    return parts


def _unsigned(value: pl.Expr) -> pl.Expr:
    return pl.when(~pl.col("signed")).then(value)


def ratio(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """A / b where b is more than noise, else NULL."""
    return pl.when(b > TINY).then(a / b)


def quiet(difference: pl.Expr) -> pl.Expr:
    """A difference that is no more than the noise of float sums is 0."""
    noise = pl.max_horizontal(NOISE * pl.col("low").abs(), NOISE * pl.col("high").abs(), TINY)
    return pl.when(difference <= noise).then(0.0).otherwise(difference)


def _too_few() -> pl.Expr:
    """Why there is nothing to compare."""
    reasons = pl.col("reasons").list.join("; ")
    because = pl.when(pl.col("reasons").list.len() > 0).then(pl.lit(": ") + reasons).otherwise(pl.lit(""))
    small = pl.when(pl.col("left_out") > 0).then(pl.format(" ({} below min_group_size)", "left_out"))
    return pl.format("{} of {} groups can be compared{}{}", "n_groups", "n_cells", small.fill_null(""), because)
