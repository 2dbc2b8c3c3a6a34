"""The summary: one row per by-key and attribute, in the columns of the FairMedFM benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from fmfair.options import Options
from fmfair.thresholds import DECIDED_T

# Column: the metric whose value on all rows with the attribute it is.
OVERALL_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "classification": {
        "overall-auc": "auc",
        "overall-acc": "accuracy",
        "overall-bce": "bce",
        "overall-ece": "ece",
    },
    "segmentation": {"mean_dice": "dice"},
}

# Column: the metric and the statistic that compares its group values.
GAP_COLUMNS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "classification": {
        "worst-auc": ("auc", "worst"),
        "auc-gap": ("auc", "difference"),
        "acc-gap": ("accuracy", "difference"),
        "bce-gap": ("bce", "difference"),
        "ece-gap": ("ece", "difference"),
        "eod": ("equalized_odds", "score"),
        "eo": ("equal_opportunity", "difference"),
    },
    "segmentation": {
        "min_dice": ("dice", "worst"),
        "max_dice": ("dice", "best"),
        "delta_dice": ("dice", "difference"),
        "skewness_dice": ("dice", "skewness"),
        "std_dice": ("dice", "std"),
        "es_dice": ("dice", "equity_scaled_std"),
    },
}

_KEY = ("by", "grouping")


def summarise(
    groups: pl.DataFrame, gaps: pl.DataFrame, present: pl.DataFrame, options: Options, task: str
) -> pl.DataFrame:
    """One row per by-key and grouping.

    Rates are those at `best_f1` where it was asked for, else at the first threshold; `threshold` and
    `threshold_rule` say which. `overall-*` are on the rows with that attribute present, `n` of them.

    Args:
        groups: Long group values.
        gaps: Their comparisons.
        present: The values on all rows with the attribute.
        options: Which thresholds were asked for.
        task: `classification` or `segmentation`.
    """
    at = pl.col("t").is_null() | (pl.col("t") == shown_threshold(options, present))
    usable = groups.lazy().filter(pl.col("in_gaps") & pl.col("counted")).unique("listed")
    counted = usable.group_by(_KEY).agg(n_groups=pl.len().cast(pl.Int64))
    whole = [_first(pl.col("metric") == metric, name) for name, metric in OVERALL_COLUMNS[task].items()]
    rows = (
        present.lazy()
        .filter(at)
        .group_by(_KEY)
        .agg(
            pl.col("n").filter(pl.col("order") == 0).first(),
            pl.col("threshold").drop_nulls().first(),
            pl.col("threshold_rule").drop_nulls().first(),
            *whole,
        )
    )
    compared = [
        _first((pl.col("metric") == metric) & (pl.col("statistic") == statistic), name)
        for name, (metric, statistic) in GAP_COLUMNS[task].items()
    ]
    shown = {metric for metric, _ in GAP_COLUMNS[task].values()}
    spread = gaps.lazy().filter(at & pl.col("metric").is_in(shown)).group_by(_KEY).agg(compared)
    # An attribute that is missing in every row has no groups, and is listed nevertheless.
    table = rows.join(counted, on=_KEY, how="left").join(spread, on=_KEY, how="left").sort(_KEY)
    table = table.with_columns(pl.col("n_groups").fill_null(0))
    if options.conventions.empty_below_two_groups:
        values = pl.col(*OVERALL_COLUMNS[task], *GAP_COLUMNS[task])
        table = table.with_columns(pl.when(pl.col("n_groups") >= 2).then(values))
    thresholds: Sequence[str] = () if task == "segmentation" else ("threshold", "threshold_rule")
    return table.select(*_KEY, "n", "n_groups", *thresholds, *OVERALL_COLUMNS[task], *GAP_COLUMNS[task]).collect()


def _first(where: pl.Expr, name: str) -> pl.Expr:
    return pl.col("value").filter(where).first().alias(name)


def shown_threshold(options: Options, present: pl.DataFrame) -> int:
    """The position of the threshold whose rates are shown."""
    wanted = list(options.thresholds or options.conventions.thresholds)
    known = set(present["t"].drop_nulls().unique())
    if "best_f1" in wanted and wanted.index("best_f1") in known:
        return wanted.index("best_f1")
    return min(known, default=DECIDED_T)
