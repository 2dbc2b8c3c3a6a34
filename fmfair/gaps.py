"""Gaps: group values compared, one operation for every metric.

`difference` is largest minus smallest, `ratio` smallest over largest, `difference_to_overall` and `ratio_to_overall`
the same against the value on all rows with the attribute, `worst` and `best` the extreme group values by the metric's
direction, `std` the population standard deviation of the group values. Named statistics such as equalized odds are
arithmetic on these.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fmfair.metrics.metric import Metric

# Sums taken in another order differ in the last digits; a difference of this share of the values is none.
NOISE = 1e-12

# What one row of the comparison stands for.
KEY = ("grouping", "by", "order", "metric", "t", "threshold", "threshold_rule")


def compare(groups: pl.DataFrame, overall: pl.DataFrame, metrics: Sequence[Metric]) -> pl.DataFrame:
    """The comparison of every metric across the groups of every grouping.

    Args:
        groups: Long group values: the columns of `KEY`, `group`, `value`, `in_gaps`, in the order of the groups.
        overall: The value of the same metric and threshold on all rows with the attribute, by `KEY`.
        metrics: The metrics behind `order`.

    Returns:
        One row per `KEY` and `statistic`: `value`, `worst_group`, `best_group`, `n_groups`, `note`.
    """
    compared = [m for m in metrics if m.family != "count"]
    facts = pl.DataFrame(
        {
            "metric": [m.name for m in compared],
            "lower_is_better": [m.direction == "lower" for m in compared],
            "directed": [m.direction != "none" for m in compared],
            "signed": [m.low is None or m.low < 0 for m in compared],
        },
        schema_overrides={"metric": pl.String},
    )
    spread = _spread(groups.join(facts, on="metric", how="inner", maintain_order="left"))
    if not spread.height:
        return _finish(spread.with_columns(overall=pl.lit(None, pl.Float64)))
    reference = overall.select(*KEY, pl.col("value").alias("overall"))
    spread = spread.join(reference, on=KEY, how="left", nulls_equal=True, maintain_order="left")
    return _finish(spread)


def _spread(groups: pl.DataFrame) -> pl.DataFrame:
    """Extremes of the usable group values, one row per key."""
    usable = pl.col("value").is_not_null() & pl.col("in_gaps")
    value, group = pl.col("value").filter(usable), pl.col("group").filter(usable)
    lowest, highest = group.get(value.arg_min(), null_on_oob=True), group.get(value.arg_max(), null_on_oob=True)
    lower = pl.col("lower_is_better").first()
    return groups.group_by(KEY, maintain_order=True).agg(
        low=value.min(),
        high=value.max(),
        std=value.std(ddof=0),
        mean=value.mean(),
        values=value,
        n_groups=usable.sum().cast(pl.Int64),
        worst_group=pl.when(lower).then(highest).otherwise(lowest),
        best_group=pl.when(lower).then(lowest).otherwise(highest),
        lower=lower,
        directed=pl.col("directed").first(),
        signed=pl.col("signed").first(),
        reasons=pl.col("note").filter(pl.col("value").is_null()).drop_nulls().unique(maintain_order=True),
        left_out=(~pl.col("in_gaps") & pl.col("value").is_not_null()).sum(),
        n_cells=pl.len(),
    )


def _finish(spread: pl.DataFrame) -> pl.DataFrame:
    low, high, whole = pl.col("low"), pl.col("high"), pl.col("overall")
    away = pl.max_horizontal((high - whole).abs(), (low - whole).abs())
    share = pl.min_horizontal(_ratio(low, whole), _ratio(whole, low), _ratio(high, whole), _ratio(whole, high))
    lower = pl.col("lower")
    no_ratio = pl.when(pl.col("signed")).then(pl.lit("no ratio, the metric can be negative"))
    statistics = {
        "difference": (_quiet(high - low), None),
        "ratio": (_ratio(low, high), pl.coalesce(no_ratio, pl.when(high == 0).then(pl.lit("0/0")))),
        "worst": (pl.when(lower).then(high).otherwise(low), None),
        "best": (pl.when(lower).then(low).otherwise(high), None),
        "difference_to_overall": (_quiet(away), None),
        "ratio_to_overall": (share, pl.coalesce(no_ratio, pl.when(share.is_null()).then(pl.lit("division by 0")))),
        "std": (_quiet(pl.col("std")), None),
    }
    enough = pl.col("n_groups") >= 2
    parts = []
    for name, (value, special) in statistics.items():
        shown = spread.lazy()
        if name in ("worst", "best"):
            shown = shown.filter(pl.col("directed"))
        undefined = pl.lit(None, pl.String) if special is None else special
        if name.startswith("ratio"):
            value = pl.when(~pl.col("signed")).then(value)
        needed = (pl.col("n_groups") >= 1) if name in ("worst", "best") else enough
        parts.append(
            shown.select(
                *KEY,
                pl.lit(name).alias("statistic"),
                pl.when(needed).then(value).alias("value"),
                "worst_group",
                "best_group",
                "n_groups",
                pl.when(needed).then(undefined).otherwise(_too_few()).alias("note"),
            )
        )
    return pl.concat(parts).collect()


def _ratio(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    return pl.when(b > 0).then(a / b)


def _quiet(difference: pl.Expr) -> pl.Expr:
    """A difference that is no more than the noise of float sums is 0."""
    scale = pl.max_horizontal(pl.col("low").abs(), pl.col("high").abs())
    return pl.when(difference <= NOISE * scale).then(0.0).otherwise(difference)


def _too_few() -> pl.Expr:
    reasons = pl.col("reasons").list.join("; ")
    because = pl.when(pl.col("reasons").list.len() > 0).then(pl.lit(": ") + reasons).otherwise(pl.lit(""))
    return pl.format("{} of {} groups can be compared{}", "n_groups", "n_cells", because)
