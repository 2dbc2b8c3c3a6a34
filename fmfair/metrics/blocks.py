"""Ranking metrics as expressions over blocks of tied scores.

A block is all rows of a group with one score: `pos` and `neg` are its positives and negatives (or their weights).
Rows in rising score order, blocks once, arithmetic from there. The engine makes the blocks of every group from one
sort; `over_blocks` makes them inside anybody's `group_by`. The metrics below are the same expressions on either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from fmfair.metrics.rows import element

POS, NEG, SCORE = pl.col("pos"), pl.col("neg"), pl.col("score")

# Sums of weights in another order differ in the last digits; a share this close to a limit counts as on it.
ROUNDING = 1e-12


def over_blocks(aggregate: Callable[..., pl.Expr], rows: pl.Expr, columns: Sequence[str] = ("pos", "neg")) -> pl.Expr:
    """An aggregate of blocks from the unsorted rows of one group.

    Args:
        aggregate: Takes the `columns` of the blocks by name.
        rows: A list of structs `y` (0 or 1), `score` (never NaN) and `weight` (positive; whole numbers stay such).
        columns: Which of `pos`, `neg` and `score` it takes.
    """
    y, score, weight = element("y"), element("score"), element("weight")
    ordered = rows.list.eval(pl.element().sort_by(score))
    pos, neg = (pl.when(y == label).then(weight).otherwise(0).cum_sum() for label in (1, 0))
    last_of_block = (score != score.shift(-1)).fill_null(True)
    reached = ordered.list.eval(pl.struct(pos=pos, neg=neg, score=score).filter(last_of_block))
    gained = [element(c) - element(c).shift(1, fill_value=0) for c in ("pos", "neg")]
    blocks = reached.list.eval(pl.struct(*gained, score))
    return blocks.list.agg(aggregate(**{name: element(name) for name in columns}))


def auc(pos: pl.Expr = POS, neg: pl.Expr = NEG) -> pl.Expr:
    """Share of positive-negative pairs ranked rightly, ties one half. Counts stay integers until the one division."""
    share = (pos * (2 * neg.cum_sum() - neg)).sum() / (2 * pos.sum() * neg.sum())
    return share.clip(0.0, 1.0)  # sums of weights may overshoot in the last digit


def average_precision(pos: pl.Expr = POS, neg: pl.Expr = NEG) -> pl.Expr:
    """Step sum of precision over recall: (1/m) sum of pos * precision at the block."""
    tp, fp = pos.cum_sum(reverse=True), neg.cum_sum(reverse=True)
    return (pos * (tp / (tp + fp))).sum() / pos.sum()


def adjusted_auprc(pos: pl.Expr = POS, neg: pl.Expr = NEG) -> pl.Expr:
    """1 - ln(AP) / ln(prevalence): 0 at chance, 1 perfect."""
    prevalence = pos.sum() / (pos.sum() + neg.sum())
    return 1.0 - average_precision(pos, neg).log() / prevalence.log()


def partial_auc(
    low: float, high: float, *, over: str, corrected: bool, pos: pl.Expr = POS, neg: pl.Expr = NEG
) -> pl.Expr:
    """Area under the ROC curve between two false positive rates (`over="fpr"`) or two sensitivities (`"tpr"`).

    For a range of sensitivity the area is that of the specificity, which is the same integral with the classes and
    the direction exchanged: x = 1 - TPR, y = 1 - FPR.
    """
    m, n = pos.sum(), neg.sum()
    if over == "fpr":
        right, top = neg.cum_sum(reverse=True) / n, pos.cum_sum(reverse=True) / m
        width, height = neg / n, pos / m
        a, b = low, high
    else:
        right, top = pos.cum_sum() / m, neg.cum_sum() / n
        width, height = pos / m, neg / n
        a, b = 1.0 - high, 1.0 - low
    left, bottom = right - width, top - height
    start, end = left.clip(a, b), right.clip(a, b)
    slope = pl.when(width > 0).then(height / width).otherwise(0.0)
    mean_height = bottom + slope * ((start + end) / 2 - left)
    area = ((end - start) * mean_height).sum()
    if not corrected:
        return area
    chance, full = (b * b - a * a) / 2, b - a
    return 0.5 * (1.0 + (area - chance) / (full - chance))


def tpr_at_fpr(limit: float, pos: pl.Expr = POS, neg: pl.Expr = NEG) -> pl.Expr:
    """Largest sensitivity among the thresholds whose false positive rate is at most `limit`."""
    fpr = neg.cum_sum(reverse=True) / neg.sum()
    tpr = pos.cum_sum(reverse=True) / pos.sum()
    return tpr.filter(fpr <= limit + ROUNDING).max().fill_null(0.0)


def quantile_ece(
    n_bins: int, norm: str = "absolute", pos: pl.Expr = POS, neg: pl.Expr = NEG, score: pl.Expr = SCORE
) -> pl.Expr:
    """ECE over bins of equal mass: a row with a share q of the group's mass below it is in bin floor(n_bins * q).

    Rows with the same score have the same mass below them, so that ties share a bin.
    """
    mass = pos + neg
    number = ((mass.cum_sum() - mass) * n_bins / mass.sum() + n_bins * ROUNDING).floor()
    # The bins follow one another, so that each is a difference of running sums at its end and the end before.
    last_of_bin = (number != number.shift(-1)).fill_null(True)
    excess = _differences((pos - mass * score).cum_sum().filter(last_of_bin))
    if norm == "absolute":
        return excess.abs().sum() / mass.sum()
    squared = (excess**2 / _differences(mass.cum_sum().filter(last_of_bin))).sum() / mass.sum()
    return squared.sqrt() if norm == "rms" else squared


def _differences(running: pl.Expr) -> pl.Expr:
    return running - running.shift(1, fill_value=0.0)
