"""Every metric from its definition: loops over pairs, thresholds and bins. Slow, and sharing no code with fmfair.

A row is `(label, score, weight)`. An undefined value is None. `EXPRESSIONS` has fmfair's function for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import fsum
from typing import Any

import polars as pl

from fmfair import metrics as fm

Row = tuple[int, float, float]
Value = float | None
NEAR = 1e-12

# 30 images of 14 patients in 3 groups: label, score, weight; ties in and across classes, scores on the edges of bins.
LABELS = "101010001111010100000100011111"
SCORES = ".35 .1 .9 .1 .6 .3 .1 .6 .95 .7 .45 .45 .3 .8 .5 .55 .3 .35 .25 .15 .9 .7 .4 .25 .2 .5 .7 .15 .7 .55"
WEIGHTS = "1.5 1.5 1.5 1 .5 1.5 .5 2 2 1.5 1.5 1.5 2 .5 2 1.5 .5 .5 2 1.5 .5 1 1.5 1 2 1 2 1 1.5 2"
DATA_T = pl.DataFrame(
    {
        "group": list("AAAAAAAAAABBBBBBBBBBCCCCCCCCCC"),
        "y": [int(v) for v in LABELS],
        "p": [float(v) for v in SCORES.split()],
        "w": [float(v) for v in WEIGHTS.split()],
    }
)


def same(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12)


def one(frame: pl.DataFrame, expression: pl.Expr) -> Any:
    return frame.select(expression).item()


def _total(rows: Sequence[Row]) -> float:
    return fsum(w for _, _, w in rows)


def _classes(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    return [r for r in rows if r[0] == 1], [r for r in rows if r[0] == 0]


def auc(rows: Sequence[Row]) -> Value:
    positives, negatives = _classes(rows)
    if not positives or not negatives:
        return None
    won = fsum(w * v * (1.0 if s > t else 0.5 if s == t else 0.0) for _, s, w in positives for _, t, v in negatives)
    return won / fsum(w * v for _, _, w in positives for _, _, v in negatives)


def roc(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """(FPR, TPR) of every threshold, from none called to all."""
    positives, negatives = _classes(rows)
    m, n = _total(positives), _total(negatives)

    def at(threshold: float) -> tuple[float, float]:
        called = [r for r in rows if r[1] >= threshold]
        return _total(_classes(called)[1]) / n, _total(_classes(called)[0]) / m

    return [(0.0, 0.0), *(at(t) for t in sorted({s for _, s, _ in rows}, reverse=True))]


def average_precision(rows: Sequence[Row]) -> Value:
    positives, negatives = _classes(rows)
    if not positives or not negatives:
        return None
    area, recall = 0.0, 0.0
    for t in sorted({s for _, s, _ in rows}, reverse=True):
        called = [r for r in rows if r[1] >= t]
        tp = _total(_classes(called)[0])
        area += (tp / _total(positives) - recall) * tp / _total(called)
        recall = tp / _total(positives)
    return area


def adjusted_auprc(rows: Sequence[Row]) -> Value:
    ap = average_precision(rows)
    return None if ap is None else 1 - math.log(ap) / math.log(_total(_classes(rows)[0]) / _total(rows))


def partial_auc(rows: Sequence[Row], low: float, high: float, over: str, corrected: bool) -> Value:
    positives, negatives = _classes(rows)
    if not positives or not negatives:
        return None
    points = roc(rows)
    if over == "tpr":
        points = [(1 - y, 1 - x) for x, y in reversed(points)]
        low, high = 1 - high, 1 - low
    area = 0.0
    for (x0, y0), (x1, y1) in pairwise(points):
        start, end = max(x0, low), min(x1, high)
        if start < end:
            middle = y0 + (y1 - y0) * ((start + end) / 2 - x0) / (x1 - x0)
            area += (end - start) * middle
    chance = (high**2 - low**2) / 2
    return 0.5 * (1 + (area - chance) / (high - low - chance)) if corrected else area


def tpr_at_fpr(rows: Sequence[Row], limit: float) -> Value:
    positives, negatives = _classes(rows)
    if not positives or not negatives:
        return None
    return max(tpr for fpr, tpr in roc(rows) if fpr <= limit + NEAR)


def _over(numerator: float, denominator: float) -> Value:
    return numerator / denominator if denominator > 0 else None


def rate(name: str, rows: Sequence[Row], threshold: float) -> Value:
    """A rate or count at `score >= threshold`."""
    positives, negatives = _classes(rows)
    tp, fn = (_total([r for r in positives if (r[1] >= threshold) is called]) for called in (True, False))
    fp, tn = (_total([r for r in negatives if (r[1] >= threshold) is called]) for called in (True, False))
    n = _total(rows)
    tpr, tnr, fpr, fnr = _over(tp, tp + fn), _over(tn, tn + fp), _over(fp, tn + fp), _over(fn, tp + fn)
    spread = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    both = None not in (tpr, tnr, fpr, fnr)
    odds = threshold / (1 - threshold) if threshold < 1 else math.inf
    values: Mapping[str, Callable[[], Value]] = {
        "tp": lambda: tp,
        "fp": lambda: fp,
        "fn": lambda: fn,
        "tn": lambda: tn,
        "accuracy": lambda: _over(tp + tn, n),
        "balanced_accuracy": lambda: (float(tpr or 0) + float(tnr or 0)) / 2 if both else None,
        "tpr": lambda: tpr,
        "tnr": lambda: tnr,
        "fpr": lambda: fpr,
        "fnr": lambda: fnr,
        "ppv": lambda: _over(tp, tp + fp),
        "npv": lambda: _over(tn, tn + fn),
        "f1": lambda: _over(2 * tp, 2 * tp + fp + fn),
        "mcc": lambda: _over(tp * tn - fp * fn, spread),
        "selection_rate": lambda: _over(tp + fp, n),
        "lr_positive": lambda: _over(float(tpr or 0), float(fpr or 0)) if both else None,
        "lr_negative": lambda: _over(float(fnr or 0), float(tnr or 0)) if both else None,
        "net_benefit": lambda: tp / n - fp / n * odds if n and threshold < 1 else None,
    }
    return values[name]()


def _log(p: float) -> float:
    return max(math.log(p), -100.0) if p > 0 else -100.0


def bce(rows: Sequence[Row]) -> Value:
    return _over(fsum(-w * (_log(p) if y else _log(1 - p)) for y, p, w in rows), _total(rows))


def brier(rows: Sequence[Row]) -> Value:
    return _over(fsum(w * (p - y) ** 2 for y, p, w in rows), _total(rows))


def observed_expected(rows: Sequence[Row]) -> Value:
    return _over(fsum(w * y for y, _, w in rows), fsum(w * p for _, p, w in rows))


def ece(rows: Sequence[Row], bins: int, norm: str, strategy: str) -> Value:
    if not rows:
        return None
    n = _total(rows)
    members: dict[int, list[Row]] = {}
    for row in rows:
        if strategy == "uniform":
            number = sum(row[1] >= k / bins for k in range(1, bins))
        else:
            number = math.floor((_total([r for r in rows if r[1] < row[1]]) / n + NEAR) * bins)
        members.setdefault(number, []).append(row)
    error = 0.0
    for inside in members.values():
        size = _total(inside)
        distance = abs(fsum(w * (y - p) for y, p, w in inside)) / size
        error += size / n * (distance if norm == "absolute" else distance**2)
    return math.sqrt(error) if norm == "rms" else error


RATES = (
    "accuracy", "balanced_accuracy", "tpr", "tnr", "fpr", "fnr", "ppv", "npv", "f1", "mcc", "selection_rate",
    "lr_positive", "lr_negative", "net_benefit", "tp", "fp", "fn", "tn",
)  # fmt: skip

REFERENCE: Mapping[str, Callable[[Sequence[Row]], Value]] = {
    "auc": auc,
    "average_precision": average_precision,
    "adjusted_auprc": adjusted_auprc,
    "partial_auc": lambda rows: partial_auc(rows, 0.0, 0.1, "fpr", True),
    "partial_auc(tpr=(0.8, 1))": lambda rows: partial_auc(rows, 0.8, 1.0, "tpr", True),
    "partial_auc(fpr=(0.1, 0.3), corrected=False)": lambda rows: partial_auc(rows, 0.1, 0.3, "fpr", False),
    "tpr_at_fpr": lambda rows: tpr_at_fpr(rows, 0.1),
    "tpr_at_fpr(0.5)": lambda rows: tpr_at_fpr(rows, 0.5),
    **{name: lambda rows, name=name: rate(name, rows, 0.5) for name in RATES},  # type: ignore[misc]  # bound early
    "bce": bce,
    "brier": brier,
    "observed_expected": observed_expected,
    "ece": lambda rows: ece(rows, 10, "absolute", "uniform"),
    "ece_squared": lambda rows: ece(rows, 10, "squared", "uniform"),
    "ece_rms": lambda rows: ece(rows, 10, "rms", "uniform"),
    "ece_quantile": lambda rows: ece(rows, 10, "absolute", "quantile"),
    "ece(bins=4, norm='rms', strategy='quantile')": lambda rows: ece(rows, 4, "rms", "quantile"),
    "ece(bins=1, norm='absolute', strategy='uniform')": lambda rows: ece(rows, 1, "absolute", "uniform"),
}

EXPRESSIONS: Mapping[str, Callable[..., pl.Expr]] = {
    "auc": fm.auc,
    "average_precision": fm.average_precision,
    "adjusted_auprc": fm.adjusted_auprc,
    "partial_auc": lambda *a, **k: fm.partial_auc(*a, fpr=(0, 0.1), **k),
    "partial_auc(tpr=(0.8, 1))": lambda *a, **k: fm.partial_auc(*a, tpr=(0.8, 1), **k),
    "partial_auc(fpr=(0.1, 0.3), corrected=False)": lambda *a, **k: fm.partial_auc(
        *a, fpr=(0.1, 0.3), corrected=False, **k
    ),
    "tpr_at_fpr": lambda y, p, **k: fm.tpr_at_fpr(y, p, 0.1, **k),
    "tpr_at_fpr(0.5)": lambda y, p, **k: fm.tpr_at_fpr(y, p, 0.5, **k),
    **{name: getattr(fm, name) for name in RATES},
    "bce": fm.bce,
    "brier": fm.brier,
    "observed_expected": fm.observed_expected,
    "ece": fm.ece,
    "ece_squared": lambda *a, **k: fm.ece(*a, norm="squared", **k),
    "ece_rms": lambda *a, **k: fm.ece(*a, norm="rms", **k),
    "ece_quantile": lambda *a, **k: fm.ece(*a, strategy="quantile", **k),
    "ece(bins=4, norm='rms', strategy='quantile')": lambda *a, **k: fm.ece(
        *a, bins=4, norm="rms", strategy="quantile", **k
    ),
    "ece(bins=1, norm='absolute', strategy='uniform')": lambda *a, **k: fm.ece(*a, bins=1, **k),
}


def expressions(weight: str | None = None) -> list[pl.Expr]:
    """Every metric of columns `y` and `p`, under the name that `metrics=` of `evaluate` knows."""
    return [function("y", "p", weight=weight).alias(name) for name, function in EXPRESSIONS.items()]
