"""Thirty images of fourteen patients in three groups, and what the statistics of them start from, by plain loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple


def _floats(text: str) -> list[float]:
    return [float(number) for number in text.split()]


GROUP = "AAAAAAAAAABBBBBBBBBBCCCCCCCCCC"
PATIENT = [1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 6, 6, 7, 7, 8, 9, 9, 9, 10, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14]
Y = [int(y) for y in "101010001111010100000100011111"]
S1 = _floats("""
    0.35 0.1 0.9 0.1 0.6 0.3 0.1 0.6 0.95 0.7 0.45 0.45 0.3 0.8 0.5 0.55 0.3 0.35 0.25 0.15
    0.9 0.7 0.4 0.25 0.2 0.5 0.7 0.15 0.7 0.55""")
S2 = _floats("""
    0.46 0.13 0.91 0.12 0.87 0.27 0.1 0.47 0.86 0.81 0.71 0.5 0.35 0.6 0.45 0.88 0.24 0.71 0.35 0.08
    0.88 0.69 0.35 0.13 0.23 0.61 0.53 0.42 0.63 0.6""")
W = _floats("""
    1.5 1.5 1.5 1.0 0.5 1.5 0.5 2.0 2.0 1.5 1.5 1.5 2.0 0.5 2.0 1.5 0.5 0.5 2.0 1.5
    0.5 1.0 1.5 1.0 2.0 1.0 2.0 1.0 1.5 2.0""")


def rows_of(group: str) -> list[int]:
    """The rows of one group, or of all three."""
    return [i for i, name in enumerate(GROUP) if name in group]


class Ranking(NamedTuple):
    """What the intervals of an AUC start from: the placements minus the AUC, of each class, in row order."""

    auc: float
    pos: list[float]
    neg: list[float]

    @property
    def pos_variance(self) -> float:
        """S10 / m."""
        return sum(d * d for d in self.pos) / (len(self.pos) - 1) / len(self.pos)

    @property
    def neg_variance(self) -> float:
        """S01 / n."""
        return sum(d * d for d in self.neg) / (len(self.neg) - 1) / len(self.neg)


def _wins(x: float, y: float) -> float:
    return 1.0 if x > y else 0.5 if x == y else 0.0


def ranking(scores: Sequence[float], labels: Sequence[int]) -> Ranking:
    """From the definition: a loop over all pairs."""
    pos, neg = ([s for s, y in zip(scores, labels, strict=True) if y == label] for label in (1, 0))
    auc = sum(_wins(x, y) for x in pos for y in neg) / (len(pos) * len(neg))
    above = [sum(_wins(x, y) for y in neg) / len(neg) - auc for x in pos]
    below = [sum(_wins(x, y) for x in pos) / len(pos) - auc for y in neg]
    return Ranking(auc, above, below)


class Clustered(NamedTuple):
    """A variance over clusters, the clusters with a positive and those with a negative."""

    variance: float
    pos_units: int
    neg_units: int


def obuchowski(of: Ranking, labels: Sequence[int], clusters: Sequence[int]) -> Clustered:
    """Obuchowski's (1997) variance of an AUC, cluster by cluster."""
    pos, neg = iter(of.pos), iter(of.neg)
    a: dict[int, float] = defaultdict(float)
    b: dict[int, float] = defaultdict(float)
    for y, cluster in zip(labels, clusters, strict=True):
        if y:
            a[cluster] += next(pos)
        else:
            b[cluster] += next(neg)
    m, n, every = len(of.pos), len(of.neg), len(set(clusters))
    variance = (
        len(a) / (len(a) - 1) * sum(x * x for x in a.values()) / m**2
        + len(b) / (len(b) - 1) * sum(x * x for x in b.values()) / n**2
        + 2 * every / (every - 1) * sum(a[c] * b[c] for c in set(a) & set(b)) / (m * n)
    )
    return Clustered(variance, len(a), len(b))


class Rate(NamedTuple):
    """A proportion of rows of clusters and what its effective size starts from."""

    p: float
    variance: float
    n: int
    sum_of_squares: int
    units: int


def clustered_rate(hits: Sequence[int], clusters: Sequence[int]) -> Rate:
    """The ratio estimator's variance, cluster by cluster."""
    n, p = len(hits), sum(hits) / len(hits)
    sizes = {c: clusters.count(c) for c in set(clusters)}
    sums = {c: sum(h for h, own in zip(hits, clusters, strict=True) if own == c) for c in sizes}
    many = len(sizes)
    variance = (
        many / (many - 1) * sum((sums[c] - p * sizes[c]) ** 2 for c in sizes) / n**2 if many > 1 else float("nan")
    )
    return Rate(p, variance, n, sum(size * size for size in sizes.values()), many)


class Precision(NamedTuple):
    """Average precision and its variance with random class counts."""

    value: float
    variance: float
    m: int


def average_precision(scores: Sequence[float], labels: Sequence[int], weights: Sequence[float] | None = None) -> float:
    """The step sum, threshold by threshold."""
    rows = list(zip(scores, labels, weights or [1.0] * len(scores), strict=True))
    m, total = sum(w for _, y, w in rows if y), 0.0
    for cut in set(scores):
        flagged = [(y, w) for s, y, w in rows if s >= cut]
        gained = sum(w for s, y, w in rows if s == cut and y)
        if gained:
            total += gained * sum(w for y, w in flagged if y) / sum(w for _, w in flagged)
    return total / m


def precision(scores: Sequence[float], labels: Sequence[int]) -> Precision:
    """Its variance from influence values: the change of the value with the weight of a row, by central differences."""
    size, step = len(scores), 1e-5
    influence = []
    for i in range(size):
        more, less = ([1.0 + sign * step * (j == i) for j in range(size)] for sign in (1, -1))
        influence.append(
            (average_precision(scores, labels, more) - average_precision(scores, labels, less)) / (2 * step)
        )
    variance = size / (size - 1) * sum(u * u for u in influence)
    return Precision(average_precision(scores, labels), variance, sum(labels))


def tenths(scores: Sequence[float], labels: Sequence[int]) -> list[tuple[int, list[float], list[int]]]:
    """Number, scores and labels of each of ten equal bins that is not empty; left edges belong to the bin."""
    bins: dict[int, tuple[list[float], list[int]]] = {}
    for s, y in zip(scores, labels, strict=True):
        number = max(k for k in range(10) if s >= k / 10)
        of_bin = bins.setdefault(number, ([], []))
        of_bin[0].append(s)
        of_bin[1].append(y)
    return [(number, *bins[number]) for number in bins]
