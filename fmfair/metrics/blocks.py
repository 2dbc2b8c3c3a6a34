"""Ranking metrics as expressions over blocks of tied scores.

A block is all rows of a group with one score: `pos` and `neg` are its positives and negatives (or their weights).
Rows in rising score order, blocks once, arithmetic from there. The engine makes the blocks of every group from one
sort; `over_blocks` makes them inside anybody's `group_by`. The metrics below are the same expressions on either. Those
that know the counts at a `cut` are sums over the blocks that hold positives, and may be given these alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from fmfair.metrics.rows import element

POS, NEG, SCORE = pl.col("pos"), pl.col("neg"), pl.col("score")

# Sums of weights in another order differ in the last digits; a share this close to a limit counts as on it.
ROUNDING = 1e-12


class Cut(NamedTuple):
    """The counts of the group at a cut at each block: those with a score at least this high, negatives with a lower."""

    tp: pl.Expr
    fp: pl.Expr
    tn: pl.Expr

    @classmethod
    def of(cls, pos: pl.Expr, neg: pl.Expr) -> Cut:
        """From all blocks in rising order, by running sums."""
        return cls(pos.cum_sum(reverse=True), neg.cum_sum(reverse=True), neg.cum_sum() - neg)

    @property
    def negatives(self) -> pl.Expr:
        """All negatives of the group, which every cut divides."""
        return (self.fp + self.tn).first()


# Where a table has the counts as columns.
CUT = Cut(pl.col("tp"), pl.col("fp"), pl.col("tn"))


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


def auc(pos: pl.Expr = POS, neg: pl.Expr = NEG, cut: Cut | None = None) -> pl.Expr:
    """Share of positive-negative pairs ranked rightly, ties one half. Counts stay integers until the one division."""
    cut = cut or Cut.of(pos, neg)
    share = (pos * (2 * cut.tn + neg)).sum() / (2 * pos.sum() * cut.negatives)
    return share.clip(0.0, 1.0)  # sums of weights may overshoot in the last digit


def average_precision(pos: pl.Expr = POS, neg: pl.Expr = NEG, cut: Cut | None = None) -> pl.Expr:
    """Step sum of precision over recall: (1/m) sum of pos * precision at the block."""
    cut = cut or Cut.of(pos, neg)
    return (pos * (cut.tp / (cut.tp + cut.fp))).sum() / pos.sum()


def adjusted_auprc(pos: pl.Expr = POS, neg: pl.Expr = NEG, cut: Cut | None = None) -> pl.Expr:
    """1 - ln(AP) / ln(prevalence): 0 at chance, 1 perfect."""
    cut = cut or Cut.of(pos, neg)
    prevalence = pos.sum() / (pos.sum() + cut.negatives)
    return 1.0 - average_precision(pos, neg, cut).log() / prevalence.log()


def partial_auc(
    low: float,
    high: float,
    *,
    over: str,
    corrected: bool,
    pos: pl.Expr = POS,
    neg: pl.Expr = NEG,
    cut: Cut | None = None,
) -> pl.Expr:
    """Area under the ROC curve between two false positive rates (`over="fpr"`) or two sensitivities (`"tpr"`).

    Over false positive rates each block with positives raises the curve by its share of them: on its own width along
    a slope, and to its right as a whole. Over sensitivities, which change at these blocks alone, the area is the sum of
    their widths times the mean specificity there: the same integral with x = 1 - TPR, y = 1 - FPR.
    """
    cut = cut or Cut.of(pos, neg)
    m, n = pos.sum(), cut.negatives
    if over == "fpr":
        right, width, a, b = cut.fp / n, neg / n, low, high
    else:
        right, width, a, b = (m - cut.tp + pos) / m, pos / m, 1.0 - high, 1.0 - low
    left = right - width
    start, end = left.clip(a, b), right.clip(a, b)
    # How much of the slope lies below the part of the block that is in the range, on average.
    risen = pl.when(width > 0).then(((start + end) / 2 - left) / width).otherwise(0.0)
    if over == "fpr":
        area = (pos / m * (b - end + (end - start) * risen)).sum()
    else:
        area = ((end - start) * (cut.tn / n + neg / n * risen)).sum()
    chance, full = (b * b - a * a) / 2, b - a
    area = area.clip(upper_bound=full)  # sums of shares may exceed it in the last digit
    if not corrected:
        return area
    return 0.5 * (1.0 + (area - chance) / (full - chance))


def tpr_at_fpr(limit: float, pos: pl.Expr = POS, neg: pl.Expr = NEG, cut: Cut | None = None) -> pl.Expr:
    """Largest sensitivity among the thresholds whose false positive rate is at most `limit`."""
    cut = cut or Cut.of(pos, neg)
    fpr, tpr = cut.fp / cut.negatives, cut.tp / pos.sum()
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
