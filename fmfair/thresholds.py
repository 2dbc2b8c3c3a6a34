"""Thresholds: numbers as given, or rules that choose one of the observed scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from fmfair.blocks import Blocks
from fmfair.conventions import Conventions
from fmfair.errors import FmfairError, listing
from fmfair.metrics.metric import NOT_A_PROBABILITY
from fmfair.options import AT_LEAST, Threshold, as_number

FIXED = "fixed"
DECIDED = "y_pred"
# The position of decisions already made in the list of thresholds: after all others.
DECIDED_T = 2**32 - 1
_SMOOTHING = 1e-8
# Weights are summed in one order for a cut and another for the whole: equal shares may differ in the last digits.
_SLACK = 1e-12


def threshold_table(
    wanted: tuple[Threshold, ...], blocks: Blocks, by: pl.DataFrame, conventions: Conventions
) -> pl.DataFrame:
    """Every threshold of every by-key.

    Args:
        wanted: Numbers, mappings from by-key to number, and rules.
        blocks: The blocks of the samples that rules are tuned on, one cell per by-key.
        by: The by-keys, whose row numbers are the cells.
        conventions: The decision rule.

    Returns:
        Columns `by`, `t` (position in `wanted`), `threshold` (NULL where no score qualifies), `threshold_rule`,
        `cut` (the lowest rank that counts as positive, NULL with the threshold) and `why` (the reason for a NULL).

    Raises:
        FmfairError: A mapping lacks a by-key, or names one that does not occur.
    """
    parts, given = [], {}
    for t, item in enumerate(wanted):
        number = as_number(item)
        if number is None and isinstance(item, str):
            parts.append(_tuned(item, blocks, by.height, conventions).with_columns(t=pl.lit(t, pl.UInt32)))
        else:
            given[t] = per_by_key(item, by) if isinstance(item, Mapping) else [number] * by.height
    return pl.concat([_given(given, by.height, blocks, conventions), *parts]).sort("t", "by")


def undefined_thresholds(n_by: int, value: float) -> pl.DataFrame:
    """The default threshold of scores that are not probabilities: shown, and undefined."""
    return pl.select(
        by=pl.int_range(n_by, dtype=pl.UInt32),
        threshold=pl.lit(value),
        threshold_rule=pl.lit(FIXED),
        cut=pl.lit(None, pl.UInt64),
        why=pl.lit(NOT_A_PROBABILITY),
        t=pl.lit(0, pl.UInt32),
    )


def per_by_key(mapping: Mapping[Any, float], by: pl.DataFrame) -> list[float | None]:
    """The number of every by-key in order.

    Raises:
        FmfairError: A by-key is lacking, a key does not occur, or a value is not a number.
    """
    if not by.width:
        raise FmfairError("thresholds: a mapping from by-key to number needs by=")
    keys = [row if by.width > 1 else row[0] for row in by.iter_rows()]
    missing = [k for k in keys if k not in mapping]
    unknown = [k for k in mapping if k not in keys]
    if missing or unknown:
        lacking = f"lacks {listing(missing)}" if missing else f"names {listing(unknown)}, which does not occur"
        raise FmfairError(f"thresholds: the mapping from by-key ({', '.join(by.columns)}) to number {lacking}")
    values = [as_number(mapping[k]) for k in keys]
    if None in values:
        raise FmfairError(f"thresholds: {listing(mapping.values())} are not all finite numbers")
    return values


def _given(
    values: Mapping[int, Sequence[float | None]], n_by: int, blocks: Blocks, conventions: Conventions
) -> pl.DataFrame:
    """The numbers, one per by-key, of every position in the list of thresholds."""
    side: Literal["left", "right"] = "right" if conventions.strict else "left"
    table = pl.DataFrame(
        {"t": values.keys(), "threshold": values.values()},
        schema={"t": pl.UInt32, "threshold": pl.List(pl.Float64)},
    )
    table = table.explode("threshold").with_columns(by=pl.int_range(pl.len(), dtype=pl.UInt32) % n_by)
    found = blocks.ranks.position(table["by"].to_numpy(), table["threshold"].to_numpy(), side)
    cut = pl.Series("cut", found, dtype=pl.UInt64)
    return table.select(
        "by",
        "threshold",
        pl.lit(FIXED).alias("threshold_rule"),
        cut,
        pl.lit(None, pl.String).alias("why"),
        "t",
    )


def _tuned(rule: str, blocks: Blocks, n_by: int, conventions: Conventions) -> pl.DataFrame:
    """The score that a rule chooses in each by-key; candidates are the observed scores, of decisions (0, 1) the 1."""
    weighted = blocks.frame["pos"].dtype.is_float()
    ranks = blocks.ranks
    chosen = (
        blocks.by_cell()
        .with_columns(score=ranks.score(pl.col("cell"), pl.col("rank")))
        .group_by("cell")
        .agg(pl.col("pos", "neg").sum(), rank=_chosen_rank(rule, conventions, weighted=weighted), decided=_decided())
        .collect()
    )
    everyone = pl.select(cell=pl.int_range(n_by, dtype=pl.UInt64))
    found = everyone.join(chosen, on="cell", how="left", maintain_order="left")
    reason = pl.lit(f"no observed score reaches {rule}")
    for side, name in (("neg", "no negatives"), ("pos", "no positives")):
        if side in _needed(rule):
            reason = pl.when(pl.col(side) > 0).then(reason).otherwise(pl.lit(name))
    why = pl.when(pl.col("rank").is_null()).then(reason)
    found = found.with_columns(
        ranks.score(pl.col("cell"), pl.col("rank")).alias("threshold"),
        (pl.col("rank").cast(pl.UInt64) + int(conventions.strict)).alias("cut"),
    )
    if not conventions.smoothed_f1 and rule in ("best_f1", "youden"):
        # The best cut of decisions may be to call everybody positive, which is not what was decided.
        as_decided = pl.when(pl.col("decided") & pl.col("rank").is_not_null())
        cut = pl.Series(ranks.position(found["cell"].to_numpy(), np.ones(found.height)))
        found = found.with_columns(
            as_decided.then(1.0).otherwise("threshold").alias("threshold"),
            as_decided.then(cut).otherwise("cut").cast(pl.UInt64).alias("cut"),
        )
    return found.select(
        pl.col("cell").alias("by").cast(pl.UInt32),
        "threshold",
        pl.lit(rule).alias("threshold_rule"),
        "cut",
        why.alias("why"),
    )


def _decided() -> pl.Expr:
    """Whether the scores of a cell are 0 and 1 only: decisions, which rules take as they are."""
    return ((pl.col("score") == 0) | (pl.col("score") == 1)).all()


def _needed(rule: str) -> tuple[str, ...]:
    """The classes that a rule cannot do without."""
    return ("pos", "neg") if rule == "youden" else ("neg",) if rule.startswith("tnr") else ("pos",)


def _chosen_rank(rule: str, conventions: Conventions, *, weighted: bool) -> pl.Expr:
    """The rank of the chosen threshold among the blocks of one cell, which are in rising order of score."""
    pos, neg, rank = pl.col("pos"), pl.col("neg"), pl.col("rank")
    tp, fp = pos.cum_sum(reverse=True), neg.cum_sum(reverse=True)
    fn, tn = pos.cum_sum() - pos, neg.cum_sum() - neg
    slack = _SLACK if weighted else 0.0
    match = AT_LEAST.fullmatch(rule)
    if match:
        share = float(match.group(2)) - slack
        # The denominators are columns: Polars divides by a single number by multiplying with its reciprocal, and
        # 49 * (1 / 49) is less than 1.
        high_enough = tp / (tp + fn) >= share if match.group(1) == "tpr" else tn / (tn + fp) >= share
        candidate = (pl.col("score") == 1) | ~_decided()
        high_enough = high_enough & candidate
        chosen = rank.filter(high_enough).last() if match.group(1) == "tpr" else rank.filter(high_enough).first()
    else:
        scale: pl.Expr | float = 1.0
        if rule == "youden":
            m, n = pos.sum(), neg.sum()
            aim, scale = tp * n - fp * m, m * n
        elif conventions.smoothed_f1:
            precision, recall = tp / (tp + fp), tp / (tp + fn)
            aim = 2 * precision * recall / (precision + recall + _SMOOTHING)
        else:
            aim = 2 * tp / (2 * tp + fn + fp)
        highest = aim >= aim.max() - slack * scale if weighted else aim == aim.max()
        chosen = rank.filter(highest).first()
    return pl.when(pl.all_horizontal(pl.col(c).sum() > 0 for c in _needed(rule))).then(chosen)
