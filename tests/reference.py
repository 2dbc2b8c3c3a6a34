"""The oracle: every metric, threshold rule and gap of the standard conventions, written from its definition.

Slow and obvious on purpose: lists, loops and exact fractions, no sorting tricks, no running sums, no data frames. A row
counts `weight` times; weights are whole numbers of a common unit so that sums of them are exact. Undefined is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

Value: TypeAlias = "float | Fraction | None"


@dataclass(frozen=True)
class Row:
    """One sample: `rank` is ranked, `prob` cut and calibrated, `logit` used for BCE and the fit where there is one."""

    y: int | None
    rank: float | None = None
    prob: float | None = None
    logit: float | None = None
    pred: int | None = None
    weight: Fraction = Fraction(1)
    by: tuple[object, ...] = ()
    groups: dict[str, str | None] = field(default_factory=dict)


def weight(rows: Iterable[Row]) -> Fraction:
    return sum((r.weight for r in rows), Fraction(0))


def positives(rows: Iterable[Row]) -> list[Row]:
    return [r for r in rows if r.y == 1]


def negatives(rows: Iterable[Row]) -> list[Row]:
    return [r for r in rows if r.y == 0]


def total(rows: Iterable[Row], value: Callable[[Row], float]) -> float:
    return math.fsum(float(r.weight) * value(r) for r in rows)


# --- ranking -------------------------------------------------------------------------------------------------------


def auc(rows: list[Row]) -> Value:
    pos, neg = positives(rows), negatives(rows)
    if not pos or not neg:
        return None
    won = Fraction(0)
    for p in pos:
        for q in neg:
            won += p.weight * q.weight * (2 if p.rank > q.rank else 1 if p.rank == q.rank else 0)  # type: ignore[operator]  # not None here
    return won / (2 * weight(pos) * weight(neg))


def ranked_from(rows: list[Row], score: float) -> list[Row]:
    return [r for r in rows if r.rank >= score]  # type: ignore[operator]  # not None where metrics of scores are asked for


def falling_scores(rows: list[Row]) -> list[float]:
    return sorted({r.rank for r in rows if r.rank is not None}, reverse=True)


def roc(rows: list[Row]) -> list[tuple[Fraction, Fraction]]:
    """The points (FPR, TPR) from (0, 0) to (1, 1), one per distinct score."""
    m, n = weight(positives(rows)), weight(negatives(rows))
    points = [(Fraction(0), Fraction(0))]
    for score in falling_scores(rows):
        above = ranked_from(rows, score)
        points.append((weight(negatives(above)) / n, weight(positives(above)) / m))
    return points


def average_precision(rows: list[Row]) -> Value:
    if not positives(rows) or not negatives(rows):
        return None
    area, reached = Fraction(0), Fraction(0)
    for score in falling_scores(rows):
        above = ranked_from(rows, score)
        recall = weight(positives(above)) / weight(positives(rows))
        area += (recall - reached) * weight(positives(above)) / weight(above)
        reached = recall
    return area


def adjusted_auprc(rows: list[Row]) -> Value:
    ap = average_precision(rows)
    return None if ap is None else 1 - math.log(ap) / math.log(weight(positives(rows)) / weight(rows))


def partial_auc(rows: list[Row], low: Fraction, high: Fraction, *, over: str = "fpr", corrected: bool = True) -> Value:
    """Area between two FPRs under TPR, or between two TPRs under 1 - FPR, one straight piece after another."""
    if not positives(rows) or not negatives(rows):
        return None
    points = roc(rows) if over == "fpr" else [(tpr, 1 - fpr) for fpr, tpr in roc(rows)]
    area = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(points):
        start, end = max(x0, low), min(x1, high)
        if end > start:
            slope = (y1 - y0) / (x1 - x0)
            area += (end - start) * (y0 + slope * ((start + end) / 2 - x0))
    if not corrected:
        return area
    chance = (high**2 - low**2) / 2 if over == "fpr" else (high - low) - (high**2 - low**2) / 2
    return Fraction(1, 2) * (1 + (area - chance) / ((high - low) - chance))


def tpr_at_fpr(rows: list[Row], limit: Fraction) -> Value:
    if not positives(rows) or not negatives(rows):
        return None
    return max(tpr for fpr, tpr in roc(rows) if fpr <= limit)


# --- at a threshold ------------------------------------------------------------------------------------------------


def is_called(r: Row, threshold: float | str) -> bool:
    return r.pred == 1 if isinstance(threshold, str) else p_of(r) >= threshold


def at_threshold(rows: list[Row], threshold: float | str | None) -> dict[str, Value]:
    """All rates and counts at a threshold, or of the decisions `"y_pred"`; all None where there is no threshold."""
    if threshold is None:
        return dict.fromkeys(RATES)
    called, rejected = [r for r in rows if is_called(r, threshold)], [r for r in rows if not is_called(r, threshold)]
    tp, fp = weight(positives(called)), weight(negatives(called))
    fn, tn = weight(positives(rejected)), weight(negatives(rejected))
    everyone = tp + fp + fn + tn
    tpr, fpr, tnr, fnr = over(tp, tp + fn), over(fp, fp + tn), over(tn, fp + tn), over(fn, tp + fn)
    both = tpr is not None and tnr is not None
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    odds = None
    if isinstance(threshold, float) and threshold < 1 and all(r.prob is not None for r in rows):
        odds = Fraction(threshold) / (1 - Fraction(threshold))
    return {
        "accuracy": over(tp + tn, everyone),
        "balanced_accuracy": (tpr + tnr) / 2 if both else None,  # type: ignore[operator]  # both are there
        "tpr": tpr,
        "tnr": tnr,
        "fpr": fpr,
        "fnr": fnr,
        "ppv": over(tp, tp + fp),
        "npv": over(tn, tn + fn),
        "f1": over(2 * tp, 2 * tp + fp + fn),
        "mcc": float(tp * tn - fp * fn) / math.sqrt(margins) if margins else None,
        "selection_rate": over(tp + fp, everyone),
        "lr_positive": over(tpr, fpr),
        "lr_negative": over(fnr, tnr),
        "net_benefit": None if odds is None or not everyone else (tp - fp * odds) / everyone,
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
    }


RATES = (
    *("accuracy", "balanced_accuracy", "tpr", "tnr", "fpr", "fnr", "ppv", "npv", "f1", "mcc", "selection_rate"),
    *("lr_positive", "lr_negative", "net_benefit", "tp", "fp", "fn", "tn"),
)


def over(a: Value, b: Value) -> Fraction | None:
    """Divide; None where b is 0 or either is undefined."""
    return None if a is None or not b else Fraction(a) / Fraction(b)


def choose_threshold(rule: str, rows: list[Row]) -> float | None:
    """The observed score that a rule chooses."""
    m, n = weight(positives(rows)), weight(negatives(rows))
    candidates = sorted({r.prob for r in rows if r.prob is not None})
    counts = {}
    for c in candidates:
        called = [r for r in rows if is_called(r, c)]
        counts[c] = (weight(positives(called)), weight(negatives(called)))
    kind, _, share = rule.partition("=")
    if set(candidates) <= {0.0, 1.0}:  # decisions are taken as they are: 1 means positive
        if kind in ("best_f1", "youden"):
            return 1.0 if m and (n or kind == "best_f1") else None
        candidates = [c for c in candidates if c == 1.0]
    if kind == "best_f1":
        f1 = {c: 2 * tp / (m + tp + fp) for c, (tp, fp) in counts.items()}
        return min(c for c in candidates if f1[c] == max(f1.values())) if m else None
    if kind == "youden":
        j = {c: tp * n - fp * m for c, (tp, fp) in counts.items()}
        return min(c for c in candidates if j[c] == max(j.values())) if m and n else None
    if kind == "tpr":
        return max((c for c in candidates if counts[c][0] >= m * Fraction(share)), default=None) if m else None
    return min((c for c in candidates if n - counts[c][1] >= n * Fraction(share)), default=None) if n else None


# --- calibration ---------------------------------------------------------------------------------------------------


def clamped_log(p: float) -> float:
    return max(math.log(p), -100.0) if p > 0 else -100.0


def row_bce(r: Row) -> float:
    if r.logit is not None:
        wrong = -r.logit if r.y == 1 else r.logit
        return max(wrong, 0.0) + math.log1p(math.exp(-abs(wrong)))
    return -clamped_log(p_of(r)) if r.y == 1 else -clamped_log(1 - p_of(r))


def p_of(r: Row) -> float:
    assert r.prob is not None
    return r.prob


def y_of(r: Row) -> float:
    assert r.y is not None
    return float(r.y)


def mean(rows: list[Row], value: Callable[[Row], float]) -> Value:
    return total(rows, value) / float(weight(rows)) if rows else None


def binned_error(rows: list[Row], bins: Sequence[list[Row]], norm: str) -> Value:
    if not rows:
        return None
    parts = []
    for members in bins:
        if members:
            d = total(members, lambda r: y_of(r) - p_of(r)) / float(weight(members))
            parts.append(float(weight(members)) * (abs(d) if norm == "absolute" else d * d))
    error = math.fsum(parts) / float(weight(rows))
    return math.sqrt(error) if norm == "rms" else error


def ece(rows: list[Row], norm: str = "absolute", n_bins: int = 10) -> Value:
    edges = [k / n_bins for k in range(1, n_bins)]
    bins = [[r for r in rows if sum(p_of(r) >= e for e in edges) == k] for k in range(n_bins)]
    return binned_error(rows, bins, norm)


def quantile_ece(rows: list[Row], n_bins: int = 10) -> Value:
    """Bins of equal mass: a row with a share q of the mass strictly below its score is in bin floor(n_bins q)."""
    bins: list[list[Row]] = [[] for _ in range(n_bins)]
    for r in rows:
        below = weight(other for other in rows if p_of(other) < p_of(r))
        bins[math.floor(n_bins * below / weight(rows))].append(r)
    return binned_error(rows, bins, "absolute")


def observed_expected(rows: list[Row]) -> Value:
    expected = total(rows, p_of)
    return total(rows, y_of) / expected if expected > 1e-100 else None


def logit_of(r: Row) -> float:
    if r.logit is not None:
        return r.logit
    p = p_of(r)
    return math.inf if p == 1 else -math.inf if p == 0 else math.log(p) - math.log(1 - p)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def calibration_intercept(rows: list[Row]) -> Value:
    """Where the sum of y - sigmoid(a + logit) crosses 0, by bisection."""
    if not positives(rows) or not negatives(rows) or any(math.isinf(logit_of(r)) for r in rows):
        return None
    low, high = -2000.0, 2000.0
    while high - low > 1e-13 * (1 + abs(low)):
        a = (low + high) / 2
        if a in (low, high):
            break
        # Whole parts and tails apart: where sigmoids saturate, the tails decide and would drown in the whole parts.
        above = [r for r in rows if a + logit_of(r) >= 0]
        whole = weight(positives(rows)) - weight(above)
        tails = math.fsum(float(r.weight) * sigmoid(-a - logit_of(r)) for r in above)
        tails -= math.fsum(float(r.weight) * sigmoid(a + logit_of(r)) for r in rows if a + logit_of(r) < 0)
        left = float(whole) + tails
        low, high = (a, high) if left > 0 else (low, a)
    return (low + high) / 2


def calibration_slope(rows: list[Row]) -> Value:
    """The slope of the largest likelihood: Newton steps on standardised logits, halved until the likelihood rises."""
    pos, neg = [logit_of(r) for r in positives(rows)], [logit_of(r) for r in negatives(rows)]
    if not pos or not neg or any(math.isinf(x) for x in pos + neg):
        return None
    if min(pos) >= max(neg) or max(pos) <= min(neg):
        return None
    centre = math.fsum(pos + neg) / len(pos + neg)
    scale = max(abs(x - centre) for x in pos + neg)
    data = [((logit_of(r) - centre) / scale, y_of(r), float(r.weight)) for r in rows]

    def loss(a: float, b: float) -> float:
        wrong = [(w, (a + b * x) * (1 - 2 * y)) for x, y, w in data]
        return math.fsum(w * (max(e, 0.0) + math.log1p(math.exp(-abs(e)))) for w, e in wrong)

    a = b = 0.0
    for _ in range(200):
        g0 = g1 = h00 = h01 = h11 = 0.0
        for x, y, w in data:
            p = sigmoid(a + b * x)
            r, v = w * (y - p), w * p * sigmoid(-a - b * x)
            g0, g1, h00, h01, h11 = g0 + r, g1 + r * x, h00 + v, h01 + v * x, h11 + v * x * x
        det = h00 * h11 - h01 * h01
        da, db = (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det
        while loss(a + da, b + db) > loss(a, b) + 1e-12 and abs(da) + abs(db) > 1e-15:
            da, db = da / 2, db / 2
        a, b = a + da, b + db
        if abs(da) + abs(db) <= 1e-14 * (1 + abs(a) + abs(b)):
            break
    return b / scale


def of_scores(rows: list[Row]) -> dict[str, Value]:
    """The metrics that need no threshold."""
    tenth = Fraction(1, 10)
    return {
        "auc": auc(rows),
        "average_precision": average_precision(rows),
        "adjusted_auprc": adjusted_auprc(rows),
        "partial_auc": partial_auc(rows, Fraction(0), tenth),
        "tpr_at_fpr": tpr_at_fpr(rows, tenth),
    }


def of_probabilities(rows: list[Row]) -> dict[str, Value]:
    """The metrics that need probabilities."""
    return {
        "bce": mean(rows, row_bce),
        "brier": mean(rows, lambda r: (p_of(r) - y_of(r)) ** 2),
        "ece": ece(rows),
        "ece_squared": ece(rows, "squared"),
        "ece_rms": ece(rows, "rms"),
        "ece_quantile": quantile_ece(rows),
        "observed_expected": observed_expected(rows) if rows else None,
        "calibration_intercept": calibration_intercept(rows),
        "calibration_slope": calibration_slope(rows),
    }
