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

import polars as pl

PLACE = ("grouping", "by", "t", "threshold", "threshold_rule")
SCALED = ("auc", "dice", "iou")
SKEWED = ("dice", "iou")
# Named statistics follow the metrics in the order of the table.
NAMED_AFTER = 1000
ODDS = 1900


def named_statistics(spread: pl.DataFrame) -> list[pl.LazyFrame]:
    """The named statistics whose parts were computed.

    Args:
        spread: One row per comparison, as `gaps.compare` makes it.
    """
    metrics = set(spread["metric"].unique())
    rows = spread.lazy()
    parts = []
    if "tpr" in metrics:
        parts.append(_renamed(rows, "tpr", "equal_opportunity", "difference"))
    if "selection_rate" in metrics:
        parts += [_renamed(rows, "selection_rate", "demographic_parity", s) for s in ("difference", "ratio")]
    if "tpr" in metrics and metrics & {"fpr", "tnr"}:
        # The FPR and TNR differences are one number; whichever was computed serves.
        parts += _equalized_odds(rows, "fpr" if "fpr" in metrics else "tnr")
    if metrics & set(SCALED):
        parts += _scaled(rows)
    return parts


def _row(order: pl.Expr, metric: pl.Expr, statistic: str, value: pl.Expr, note: pl.Expr) -> list[pl.Expr]:
    """A row of the table of gaps; the value is NULL with fewer than two groups."""
    enough = pl.col("n_groups") >= 2
    return [
        pl.col("grouping"),
        pl.col("by"),
        order.cast(pl.UInt16).alias("order"),
        metric.alias("metric"),
        pl.col("t"),
        pl.col("threshold"),
        pl.col("threshold_rule"),
        pl.lit(statistic).alias("statistic"),
        pl.when(enough).then(value).alias("value"),
        pl.col("worst_group"),
        pl.col("best_group"),
        pl.col("n_groups"),
        pl.when(enough).then(note).otherwise(pl.col("too_few")).alias("note"),
    ]


def _renamed(rows: pl.LazyFrame, metric: str, name: str, statistic: str) -> pl.LazyFrame:
    note = pl.when(pl.col(statistic).is_null()).then(pl.lit("0/0"))
    return rows.filter(pl.col("metric") == metric).select(
        _row(pl.col("order") + NAMED_AFTER, pl.lit(name), statistic, pl.col(statistic), note)
    )


def _equalized_odds(rows: pl.LazyFrame, other: str) -> list[pl.LazyFrame]:
    """The larger of two differences has worst and best groups; their mean and the score have none."""
    facts = ("difference", "worst_group", "best_group", "n_groups", "too_few")
    second = rows.filter(pl.col("metric") == other).select(*PLACE, pl.col(facts).name.suffix("_other"))
    both = rows.filter(pl.col("metric") == "tpr").join(
        second, on=PLACE, how="inner", nulls_equal=True, maintain_order="left"
    )
    a, b = pl.col("difference"), pl.col("difference_other")
    larger = a >= b
    few = pl.when(pl.col("n_groups") < 2).then(pl.col("too_few")).otherwise(pl.col("too_few_other"))
    both = both.with_columns(
        pl.min_horizontal("n_groups", "n_groups_other").alias("n_groups"),
        few.alias("too_few"),
        *(pl.when(larger).then(pl.col(c)).otherwise(pl.col(f"{c}_other")).alias(c) for c in facts[1:3]),
    )
    nobody = [pl.lit(None, pl.String).alias(c) for c in facts[1:3]]
    nothing = pl.lit(None, pl.String)
    statistics = {"difference": pl.max_horizontal(a, b), "average_difference": (a + b) / 2, "score": 1.0 - (a + b) / 2}
    return [
        (both if name == "difference" else both.with_columns(nobody)).select(
            _row(pl.lit(ODDS + i), pl.lit("equalized_odds"), name, value, nothing)
        )
        for i, (name, value) in enumerate(statistics.items())
    ]


def _scaled(rows: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Equity-scaled values and skewness; M is the value on all rows with the attribute."""
    whole, low, high = pl.col("overall"), pl.col("low"), pl.col("high")
    nothing = pl.lit(None, pl.String)
    perfect = pl.when(high >= 1.0).then(pl.lit("the best group is perfect"))
    forms = {
        "equity_scaled": (whole / (1.0 + pl.col("away")), nothing, SCALED),
        "equity_scaled_std": (whole / (1.0 + pl.col("std")), nothing, SCALED),
        "skewness": (pl.when(high < 1.0).then((1.0 - low) / (1.0 - high)), perfect, SKEWED),
    }
    return [
        rows.filter(pl.col("metric").is_in(list(metrics))).select(
            _row(pl.col("order"), pl.col("metric"), name, value, note)
        )
        for name, (value, note, metrics) in forms.items()
    ]
