"""Ranking metrics as expressions over blocks of tied scores.

A block is all rows of a group with one score: `pos` and `neg` are its positives and negatives (or their weights).
Rows in rising score order, blocks once, arithmetic from there. The engine makes the blocks of every group from one
sort; `blocks_of` makes them inside anybody's `group_by`. The metrics below are the same expressions on either.
"""

from __future__ import annotations

import polars as pl

POS, NEG, SCORE = pl.col("pos"), pl.col("neg"), pl.col("score")


def blocks_of(y_true: pl.Expr, y_score: pl.Expr, weight: pl.Expr | None) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """Positives, negatives and score of each block, in rising score order, from unsorted rows of one group."""
    y = y_true.cast(pl.Float64)
    w = pl.lit(1.0) if weight is None else weight.cast(pl.Float64)
    score = y_score.cast(pl.Float64)
    ordered = score.sort()
    last_of_block = (ordered != ordered.shift(-1)).fill_null(True)

    def per_block(value: pl.Expr) -> pl.Expr:
        reached = value.sort_by(score).cum_sum().filter(last_of_block)
        return reached - reached.shift(1, fill_value=0.0)

    return per_block(y * w), per_block((1.0 - y) * w), ordered.filter(last_of_block)


def auc(pos: pl.Expr = POS, neg: pl.Expr = NEG) -> pl.Expr:
    """Share of positive-negative pairs ranked rightly, ties one half. Counts stay integers until the one division."""
    return (pos * (2 * neg.cum_sum() - neg)).sum() / (2 * pos.sum() * neg.sum())


def average_precision(pos: pl.Expr = POS, neg: pl.Expr = NEG) -> pl.Expr:
    """Step sum of precision over recall: (1/m) sum of pos * precision at the block."""
    tp, fp = pos.cum_sum(reverse=True), neg.cum_sum(reverse=True)
    return (pos * (tp / (tp + fp))).sum() / pos.sum()


def adjusted_auprc(pos: pl.Expr = POS, neg: pl.Expr = NEG) -> pl.Expr:
    """1 - ln(AP) / ln(prevalence): 0 at chance, 1 perfect."""
    prevalence = pos.sum() / (pos.sum() + neg.sum())
    return 1.0 - average_precision(pos, neg).log() / prevalence.log()


def partial_auc(low: float, high: float, *, over: str, corrected: bool, pos: pl.Expr = POS, neg: pl.Expr = NEG) -> pl.Expr:
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
    return tpr.filter(fpr <= limit).max().fill_null(0.0)


def quantile_ece(n_bins: int, pos: pl.Expr = POS, neg: pl.Expr = NEG, score: pl.Expr = SCORE) -> pl.Expr:
    """ECE over bins of equal mass: a row with a share q of the group's mass below it is in bin floor(n_bins * q).

    Rows with the same score have the same mass below them, so that ties share a bin.
    """
    mass = pos + neg
    bin_number = ((mass.cum_sum() - mass) * n_bins / mass.sum()).floor()
    excess = pos - mass * score
    per_bin = [excess.filter(bin_number == k).sum().abs() for k in range(n_bins)]
    return pl.sum_horizontal(per_bin) / mass.sum()
