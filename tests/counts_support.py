"""What the tests of counts share: random tables of many by-keys, and reports compared value by value."""

from __future__ import annotations

import random
from typing import Any

import polars as pl

import fmfair

KEY = ["attribute", "group", "metric", "threshold", "threshold_rule"]
# Scores on edges, right beside them, at both ends.
EDGES = [0.0, 0.1, 0.3, 0.7, 0.29999999999999993, 0.5, 0.49999999999999994, 0.2501, 0.2502, 1.0, 0.9999, 1e-300]
EXACT = ("bce", "brier", "ece", "ece_squared", "ece_rms", "observed_expected")
BOUNDED = ("auc", "average_precision", "adjusted_auprc", "tpr_at_fpr", "tpr_at_fpr(0.4)")
RATES = tuple(m.name for m in fmfair.metrics.list_metrics() if m.at_threshold)
# What bins do not give.
UNKNOWN = ("partial_auc", "calibration_intercept", "calibration_slope", "ece_quantile")

COLUMNS: dict[str, Any] = {
    "y_true": "y",
    "y_score": "s",
    "attributes": ["sex", "tone", "age"],
    "by": ["model"],
    "bins": {"age": [40, 60]},
}


def random_frame(seed: int, *, models: int = 40, logit: bool = False) -> pl.DataFrame:
    """Many small tables, one per by-key `model`.

    Some labels are missing, and some values of the attributes: a text, declared levels of which one is never used,
    and numbers to be cut.
    """
    draw = random.Random(seed)
    rows: list[tuple[Any, ...]] = []
    for model in range(models):
        labels: list[int | None] = draw.choice([[0, 1], [0, 1, 1, 1, None], [0, 0, 0, 1], [1], [0]])
        few = draw.random() < 0.5
        for _ in range(draw.randint(1, 25)):
            score = draw.uniform(-40, 40) if logit else draw.choice(EDGES) if draw.random() < 0.6 else draw.random()
            rows.append(
                (
                    draw.choice(labels),
                    round(score, 1) if few else score,
                    draw.choice(["F", "M", "F & M", None]),
                    draw.choice(["dark", "light", None]),
                    draw.choice([39.5, 40.0, 60.0, None, float("nan")]),
                    f"m{model}",
                )
            )
    rows.append((1, 0.5, "F", "dark", 50.0, "m0"))
    levels = pl.Enum(["light", "mid", "dark"])
    schema: dict[str, Any] = {
        "y": pl.Int8,
        "s": pl.Float64,
        "sex": pl.String,
        "tone": levels,
        "age": pl.Float64,
        "model": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def outside(report: fmfair.Report, truth: fmfair.Report, which: str = "groups") -> pl.DataFrame:
    """The values of a report from rows that do not lie between the bounds of the report from counts, and lost rows."""
    extra = ["statistic"] if which == "gaps" else []
    key = [c for c in ("model", *KEY, *extra) if c in report.to_frame(which).columns]
    both = truth.to_frame(which).join(report.to_frame(which), on=key, how="full", nulls_equal=True, suffix="_counted")
    value, low, high = pl.col("value"), pl.col("bound_low"), pl.col("bound_high")
    # On a coarse grid sums are rounded more; what is divided by a small sum of scores shows it.
    room = 1e-8 * pl.max_horizontal(value.abs(), 1.0)
    beyond = (value < low - room) | (value > high + room) | (low > high)
    unbounded = pl.lit(which != "gaps") & value.is_not_null() & (low.is_null() | high.is_null())
    lost = value.is_not_null() & pl.col("value_counted").is_null()
    return both.filter(beyond | unbounded | lost | pl.col("metric").is_null() | pl.col("metric_counted").is_null())
