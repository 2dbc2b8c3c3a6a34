"""The summary: one row per by-key and attribute, in the columns of the FairMedFM benchmark."""

from __future__ import annotations

import polars as pl

from fmfair.assemble import Frames
from fmfair.samples import Samples

# Column: (frame, metric, statistic), None for a value of the group or overall frame itself.
_CLASSIFICATION: dict[str, tuple[str, str, str | None]] = {
    "overall-auc": ("present", "auc", None),
    "overall-acc": ("present", "accuracy", None),
    "overall-bce": ("present", "bce", None),
    "overall-ece": ("present", "ece", None),
    "worst-auc": ("gaps", "auc", "worst"),
    "auc-gap": ("gaps", "auc", "difference"),
    "acc-gap": ("gaps", "accuracy", "difference"),
    "bce-gap": ("gaps", "bce", "difference"),
    "ece-gap": ("gaps", "ece", "difference"),
    "eod": ("gaps", "equalized_odds", "score"),
    "eo": ("gaps", "equal_opportunity", "difference"),
}

_SEGMENTATION: dict[str, tuple[str, str, str | None]] = {
    "mean_dice": ("present", "dice", None),
    "min_dice": ("gaps", "dice", "worst"),
    "max_dice": ("gaps", "dice", "best"),
    "delta_dice": ("gaps", "dice", "difference"),
    "skewness_dice": ("gaps", "dice", "skewness"),
    "std_dice": ("gaps", "dice", "std"),
    "es_dice": ("gaps", "dice", "equity_scaled_std"),
}


def summarise(frames: Frames, samples: Samples, *, segmentation: bool = False) -> pl.DataFrame:
    """One row per by-key and attribute.

    Rates are those at `best_f1` where it was asked for, else at the first threshold; `threshold` and
    `threshold_rule` say which. `overall-*` are on the rows with that attribute present, `n` of them.
    """
    by = samples.by.columns
    key = [*by, "attribute"]
    counted = pl.col("group").filter(pl.col("n") > 0)
    rows = frames.groups.group_by(key, maintain_order=True).agg(n_groups=counted.n_unique().cast(pl.Int64))
    n = frames.present.group_by(key).agg(pl.col("n").first())
    rows = rows.join(n, on=key, how="left", nulls_equal=True, maintain_order="left").select(*key, "n", "n_groups")
    chosen = frames.present.filter(pl.col("threshold_rule").is_not_null()).unique([*key, "threshold", "threshold_rule"], maintain_order=True)
    best = chosen.filter(pl.col("threshold_rule") == "best_f1")
    rule = (best if best.height else chosen).group_by(key, maintain_order=True).agg(
        pl.col("threshold").first(), pl.col("threshold_rule").first()
    )
    rows = rows.join(rule, on=key, how="left", nulls_equal=True, maintain_order="left")
    for name, (frame, metric, statistic) in (_SEGMENTATION if segmentation else _CLASSIFICATION).items():
        values = getattr(frames, frame).filter(pl.col("metric") == metric)
        if statistic is not None:
            values = values.filter(pl.col("statistic") == statistic)
        values = values.select(*key, "threshold", "threshold_rule", pl.col("value").alias(name))
        at = values["threshold_rule"].is_not_null().any()
        on = [*key, "threshold", "threshold_rule"] if at else key
        values = values if at else values.drop("threshold", "threshold_rule")
        rows = rows.join(values, on=on, how="left", nulls_equal=True, maintain_order="left")
    return rows.drop("threshold", "threshold_rule") if segmentation else rows
