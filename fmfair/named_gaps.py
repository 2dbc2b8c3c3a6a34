"""The fairness statistics that have names of their own, as arithmetic on the comparisons of single metrics.

| metric | statistic | is |
|---|---|---|
| equal_opportunity | difference | largest minus smallest TPR (Hardt, Price & Srebro 2016) |
| equalized_odds | difference | the larger of the TPR and FPR differences (fairlearn's default) |
| equalized_odds | average_difference | their mean |
| equalized_odds | score | 1 - (TPR difference + TNR difference) / 2, 1 is fair (FairMedFM's eod) |
| demographic_parity | difference, ratio | of the selection rates |
| auc, dice, iou | equity_scaled | M / (1 + sum of abs(M - M_g)) (Luo et al. 2024) |
| auc, dice, iou | equity_scaled_std | M / (1 + std of the M_g) (FairMedFM's es_dice) |
| dice, iou | skewness | (1 - worst) / (1 - best) (FairMedFM's skewness_dice) |
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

CONTEXT = ("grouping", "by", "t", "threshold", "threshold_rule")
SCALED = ("auc", "dice", "iou")


def named_statistics(gaps: pl.DataFrame, groups: pl.DataFrame, overall: pl.DataFrame) -> pl.DataFrame:
    """The named statistics whose parts were computed, in the columns of `gaps`."""
    parts = [
        *_renamed(gaps, "tpr", "equal_opportunity", ("difference",)),
        *_renamed(gaps, "selection_rate", "demographic_parity", ("difference", "ratio")),
        *_equalized_odds(gaps),
        *_scaled(gaps, groups, overall),
    ]
    return pl.concat(parts) if parts else gaps.clear()


def _renamed(gaps: pl.DataFrame, metric: str, name: str, statistics: Sequence[str]) -> list[pl.DataFrame]:
    rows = gaps.filter((pl.col("metric") == metric) & pl.col("statistic").is_in(statistics))
    return [_as_named(rows, name, pl.col("order"))] if rows.height else []


def _as_named(rows: pl.DataFrame, name: str, order: pl.Expr) -> pl.DataFrame:
    return rows.with_columns(metric=pl.lit(name), order=(order + NAMED_AFTER).cast(pl.UInt16))


# Named statistics follow the metrics in the order of the table.
NAMED_AFTER = 1000


def _equalized_odds(gaps: pl.DataFrame) -> list[pl.DataFrame]:
    differences = gaps.filter(pl.col("statistic") == "difference")

    def of(metric: str) -> pl.DataFrame:
        rows = differences.filter(pl.col("metric") == metric)
        return rows.select(*CONTEXT, pl.col("value", "n_groups", "note", "worst_group", "best_group").name.suffix(f"_{metric}"))

    tpr, fpr, tnr = of("tpr"), of("fpr"), of("tnr")
    found = []
    if tpr.height and (fpr.height or tnr.height):
        # The FPR and TNR differences are one number; whichever was computed serves.
        other = "fpr" if fpr.height else "tnr"
        both = tpr.join(fpr if fpr.height else tnr, on=CONTEXT, how="inner", nulls_equal=True, maintain_order="left")
        a, b = pl.col("value_tpr"), pl.col(f"value_{other}")
        defined = a.is_not_null() & b.is_not_null()
        larger = pl.when(a >= b).then
        for order, (statistic, value) in enumerate(
            {
                "difference": pl.max_horizontal(a, b),
                "average_difference": (a + b) / 2,
                "score": 1.0 - (a + b) / 2,
            }.items()
        ):
            by_difference = statistic == "difference"
            found.append(
                both.select(
                    *CONTEXT,
                    pl.lit(NAMED_AFTER + 900 + order, pl.UInt16).alias("order"),
                    pl.lit("equalized_odds").alias("metric"),
                    pl.lit(statistic).alias("statistic"),
                    pl.when(defined).then(value).alias("value"),
                    *(
                        (larger(f"{c}_tpr").otherwise(f"{c}_{other}") if by_difference else pl.lit(None, pl.String)).alias(c)
                        for c in ("worst_group", "best_group")
                    ),
                    pl.min_horizontal("n_groups_tpr", f"n_groups_{other}").alias("n_groups"),
                    pl.when(~defined).then(pl.coalesce("note_tpr", f"note_{other}")).alias("note"),
                ).select(gaps.columns)
            )
    return found


def _scaled(gaps: pl.DataFrame, groups: pl.DataFrame, overall: pl.DataFrame) -> list[pl.DataFrame]:
    """Equity-scaled values and skewness; M is the value on all rows with the attribute."""
    wanted = [m for m in SCALED if m in gaps["metric"].unique()]
    if not wanted:
        return []
    key = ("grouping", "by", "metric")
    reference = overall.filter(pl.col("metric").is_in(wanted)).select(*key, pl.col("value").alias("M"))
    used = groups.filter(pl.col("metric").is_in(wanted) & pl.col("in_gaps") & pl.col("value").is_not_null())
    away = (
        used.join(reference, on=key, how="left")
        .group_by(key)
        .agg(away=(pl.col("value") - pl.col("M")).abs().sum(), low=pl.col("value").min(), high=pl.col("value").max())
    )
    std = gaps.filter(pl.col("metric").is_in(wanted) & (pl.col("statistic") == "std"))
    rows = std.join(reference, on=key, how="left", maintain_order="left").join(away, on=key, how="left", maintain_order="left")
    defined = pl.col("value").is_not_null()
    whole = pl.col("M")
    perfect = pl.lit("the best group is perfect")
    formulas = {
        "equity_scaled": (whole / (1.0 + pl.col("away")), wanted),
        "equity_scaled_std": (whole / (1.0 + pl.col("value")), wanted),
        "skewness": (pl.when(pl.col("high") < 1.0).then((1.0 - pl.col("low")) / (1.0 - pl.col("high"))), ("dice", "iou")),
    }
    return [
        rows.filter(pl.col("metric").is_in(list(metrics)))
        .with_columns(
            statistic=pl.lit(name),
            note=pl.when(defined & value.is_null()).then(perfect).otherwise(pl.col("note")),
            value=pl.when(defined).then(value),
        )
        .select(gaps.columns)
        for name, (value, metrics) in formulas.items()
    ]
