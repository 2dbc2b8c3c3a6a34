"""Model-based values of intersections: small cells lean on what their attributes alone lead to expect.

Each cell's value is drawn toward the additive expectation, that is main effects of the attributes and no interaction,
by as much as its own value is uncertain (Fay & Herriot 1979). It stands beside the raw value and never for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy import special

from fmfair.columns import MODEL_BASED
from fmfair.gaps import PLACE
from fmfair.group_tests import group_test
from fmfair.intervals import Dependence, Values
from fmfair.metrics.metric import Metric
from fmfair.statistics.interval import FloatArray
from fmfair.statistics.pooling import additive_design, fay_herriot, to_logit
from fmfair.statistics.quantiles import normal_critical

KEY = (*PLACE, "group")


def with_model_based(
    groups: pl.DataFrame, metrics: Sequence[Metric], level: float, dependence: Dependence, first: int
) -> pl.DataFrame:
    """The group values with the columns of `columns.MODEL_BASED`, filled for intersections.

    Args:
        groups: The group values, with what is known of their spread.
        metrics: The metrics behind `order`.
        level: Confidence level.
        dependence: What keeps rows from counting alike.
        first: The number of the first grouping that is an intersection.
    """
    cells = groups.filter((pl.col("grouping") >= first) & (pl.col("n") > 0))
    parts = [pl.DataFrame(schema={**{c: groups.schema[c] for c in KEY}, **MODEL_BASED})]
    for order, metric in enumerate(metrics):
        rows = cells.filter(pl.col("order") == order)
        if metric.interval in ("auc", "proportion", "mean") and rows.height:
            parts.append(_of_metric(rows, metric, level, dependence))
    return groups.join(pl.concat(parts), on=KEY, how="left", nulls_equal=True, maintain_order="left")


def _of_metric(rows: pl.DataFrame, metric: Metric, level: float, dependence: Dependence) -> pl.DataFrame:
    numbered = rows.with_columns((pl.struct(PLACE).rank("dense") - 1).cast(pl.Int64).alias("family"))
    family = numbered["family"].to_numpy()
    defined = np.flatnonzero(np.isfinite(Values(rows)["value"]))
    count = int(family.max()) + 1
    null_variance = np.full(rows.height, np.nan)
    tested = group_test(rows[defined], metric, family[defined], count, dependence)
    null_variance[defined] = tested.null_variance
    bounded = (metric.low, metric.high) == (0.0, 1.0) and metric.family != "calibration"
    found = {name: np.full(rows.height, np.nan) for name in MODEL_BASED}
    for number in range(count):
        at = np.flatnonzero(family == number)
        for name, values in _table(rows[at], null_variance[at], level, bounded=bounded).items():
            found[name][at] = values
    return rows.select(KEY).with_columns(pl.Series(name, values).fill_nan(None) for name, values in found.items())


def _table(rows: pl.DataFrame, null_variance: FloatArray, level: float, *, bounded: bool) -> dict[str, FloatArray]:
    """The model-based values of one intersection."""
    v = Values(rows)
    parts = [rows["group_parts"].list.get(i) for i in range(len(rows["group_parts"][0]))]
    codes = np.column_stack([part.rank("dense").cast(pl.Int64).to_numpy() - 1 for part in parts])
    value, variance = v["value"], null_variance
    known = np.isfinite(value) & np.isfinite(variance)
    if not known.any():
        return {}
    if bounded:
        pooled = np.average(value[known], weights=v["n"][known])
        slope = max(pooled * (1 - pooled), 1e-6)
        size = v["n_pos"] * (v["n"] - v["n_pos"]) if rows["metric"][0] == "auc" else v["denominator"]
        value, variance = to_logit(value, size), null_variance / slope**2
    design = additive_design(codes, known)
    if not design.connected:
        return {}
    found = fay_herriot(design.x, value, variance)
    reach = normal_critical(level) * np.sqrt(found.mse)
    ends = {"model_based": found.shrunken, "model_based_low": found.shrunken - reach}
    ends["model_based_high"] = found.shrunken + reach
    return {name: special.expit(x) if bounded else x for name, x in ends.items()}
