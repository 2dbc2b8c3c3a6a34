"""What follows from scores counted in bins: points of curves at the edges of the bins, exact there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.errors import FmfairError, listing, near
from fmfair.export import Frames
from fmfair.figures.data import FEW, Where, picked
from fmfair.figures.text import ALL, name_of
from fmfair.statistics.interval import Interval
from fmfair.statistics.proportions import wilson
from fmfair.statistics.quantiles import normal_critical

Floats = npt.NDArray[np.float64]
# Equal-count bins of a reliability curve, and the width of the bins of a distribution.
N_BINS = 10
WIDTH = 0.05


@dataclass(frozen=True)
class Binned:
    """The scores of one group, or of all rows, in bins.

    Attributes:
        group: Its name; None for all rows.
        low: The lower ends of the bins that hold rows, in rising order.
        high: Their upper ends.
        n: The rows in each.
        n_pos: The positives in each; None where there are no labels.
        sum_score: The sum of the scores in each.
    """

    group: str | None
    low: Floats
    high: Floats
    n: Floats
    n_pos: Floats | None
    sum_score: Floats

    @cached_property
    def rows(self) -> int:
        """All rows."""
        return int(self.n.sum())

    @cached_property
    def positives(self) -> int:
        """All positives; none without labels."""
        return 0 if self.n_pos is None else int(self.n_pos.sum())

    @property
    def name(self) -> str:
        """What the scores are of."""
        return ALL if self.group is None else self.group

    @property
    def said(self) -> str | None:
        """What is shown in place of a curve where too few samples carry it."""
        if self.n_pos is None:
            return f"{self.rows} rows: counts only" if self.rows < FEW else None
        fewer, name = min((self.positives, "positives"), (self.rows - self.positives, "negatives"))
        return f"{fewer} {name}: counts only" if fewer < FEW else None

    def at_least(self) -> tuple[Floats, Floats, Floats]:
        """The lower end of each bin, and how many positives and negatives score at least that."""
        positives = np.zeros_like(self.n) if self.n_pos is None else self.n_pos
        return self.low, _from_above(positives), _from_above(self.n - positives)


def _from_above(counts: Floats) -> Floats:
    return np.cumsum(counts[::-1])[::-1]


@dataclass(frozen=True)
class Curves:
    """The scores of all rows, and those of the groups of an attribute.

    Attributes:
        whole: Those of all rows.
        groups: Those of the groups; none where no attribute was named.
        attribute: The attribute.
    """

    whole: Binned
    groups: Sequence[Binned]
    attribute: str | None

    @property
    def shown(self) -> Sequence[Binned]:
        """What has a panel."""
        return self.groups or [self.whole]

    @property
    def there(self) -> list[Binned]:
        """What has a curve."""
        return [scores for scores in self.shown if scores.said is None]

    @property
    def by(self) -> str:
        """Of which attribute a figure is, for its title."""
        return "" if self.attribute is None else f" by {name_of(self.attribute)}"


def curves_of(frames: Frames, attribute: str | None, where: Where = None, *, labelled: bool = True) -> Curves:
    """The scores of all rows, and those of the groups of an attribute where one is named.

    Args:
        frames: Those of the report.
        attribute: The attribute whose groups are wanted.
        where: The by-key.
        labelled: Whether positives are needed, which the curves of a segmentation do not have.

    Raises:
        FmfairError: The report has no curves, no such attribute, or several by-keys and none is named.
    """
    curves = frames.get("curves")
    if curves is None or curves.is_empty():
        raise FmfairError("the report has no curves: they need scores that are probabilities, and no suppress_below=")
    rows = picked(curves, where)
    if labelled and rows["n_pos"].null_count():
        raise FmfairError("the curves of a segmentation have no positives; plot.dice_distribution shows them")
    known = [name for name in rows["attribute"].unique(maintain_order=True) if name]
    if attribute is not None and attribute not in known:
        raise FmfairError(f"no curves by {attribute!r}{near(attribute, known)}; expected one of {listing(known)}")
    whole = _one(rows.filter(pl.col("attribute") == ""), None)
    if attribute is None:
        return Curves(whole, [], None)
    parts = rows.filter(pl.col("attribute") == attribute).partition_by("group", maintain_order=True)
    return Curves(whole, [_one(part, part["group"][0]) for part in parts], attribute)


def _one(rows: pl.DataFrame, group: str | None) -> Binned:
    rows = rows.sort("low")
    columns = {name: rows[name].cast(pl.Float64) for name in ("low", "high", "n", "n_pos", "sum_score")}
    labelled = columns["n_pos"].null_count() == 0
    arrays = {name: column.to_numpy() for name, column in columns.items() if labelled or name != "n_pos"}
    return Binned(None if group is None else name_of(group), n_pos=arrays.pop("n_pos", None), **arrays)


def roc_points(scores: Binned) -> list[dict[str, float]]:
    """The false positive rate and sensitivity at each `threshold`, from none to all rows."""
    low, tp, fp = scores.at_least()
    points = [
        {"threshold": t, "fpr": f, "tpr": s}
        for t, f, s in zip(low[::-1], (fp / fp[0])[::-1], (tp / tp[0])[::-1], strict=True)
    ]
    return [{"threshold": float(scores.high[-1]), "fpr": 0.0, "tpr": 0.0}, *_plain(points)]


def rate_points(scores: Binned, level: float) -> list[dict[str, float]]:
    """Sensitivity and false positive rate with Wilson's limits at each `threshold`."""
    low, tp, fp = scores.at_least()
    z = normal_critical(level)
    found, wrong = wilson(tp, tp[0], quantile=z), wilson(fp, fp[0], quantile=z)
    names = ("threshold", "tpr", "tpr_low", "tpr_high", "fpr", "fpr_low", "fpr_high")
    columns = (low, tp / tp[0], *found, fp / fp[0], *wrong)
    return _plain([dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])


def benefit_points(scores: Binned) -> list[dict[str, float]]:
    """Net benefit of the model and of calling all positive at each `threshold` below 1."""
    low, tp, fp = scores.at_least()
    kept = low < 1.0
    odds = low[kept] / (1 - low[kept])
    model = (tp[kept] - fp[kept] * odds) / scores.rows
    every = (tp[0] - fp[0] * odds) / scores.rows
    columns = zip(low[kept], model, every, strict=True)
    return _plain([{"threshold": t, "model": m, "all": a} for t, m, a in columns])


def reliability_points(scores: Binned, level: float) -> list[dict[str, float]]:
    """Mean score, and share of positives with Wilson's limits, in neighbouring bins merged to about equal counts."""
    if scores.n_pos is None:
        return []
    step = scores.rows / min(N_BINS, max(1, scores.rows // FEW))
    # Each bin goes where the middle of its rows falls, so that a bin is never torn apart.
    middle = np.cumsum(scores.n) - scores.n / 2
    place = np.floor(middle / step).astype(int)
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    n, n_pos, total = (np.add.reduceat(a, starts) for a in (scores.n, scores.n_pos, scores.sum_score))
    limits: Interval = wilson(n_pos, n, quantile=normal_critical(level))
    names = ("predicted", "observed", "ci_low", "ci_high", "n", "n_pos")
    rows = zip(total / n, n_pos / n, *limits, n, n_pos, strict=True)
    return _plain([dict(zip(names, row, strict=True)) for row in rows])


def distribution(scores: Binned) -> list[dict[str, float | str]]:
    """The share of each `outcome` in bins of equal width; one outcome, `all`, where there are no labels."""
    place = np.minimum(np.floor((scores.low + 1e-9) / WIDTH), round(1 / WIDTH) - 1).astype(int)
    kinds = {"all": scores.n}
    if scores.n_pos is not None:
        kinds = {"positive": scores.n_pos, "negative": scores.n - scores.n_pos}
    points: list[dict[str, float | str]] = []
    for outcome, counts in kinds.items():
        sums = np.bincount(place, counts, minlength=round(1 / WIDTH))
        for k, count in enumerate(sums):
            share = float(count / sums.sum()) if sums.sum() else 0.0
            points.append(
                {"outcome": outcome, "low": k * WIDTH, "high": (k + 1) * WIDTH, "n": float(count), "share": share}
            )
    return points


def quantile(counts: Floats, low: Floats, high: Floats, share: float) -> float:
    """Where this share of the counts lies below, taken as evenly spread within their bins.

    Examples:
        >>> low, high = np.array([0.5, 0.6, 0.8]), np.array([0.6, 0.7, 0.9])
        >>> round(quantile(np.array([1.0, 2.0, 1.0]), low, high, 0.5), 6)
        0.65
    """
    sums = np.cumsum(counts)
    place = int(np.searchsorted(sums, share * sums[-1]))
    inside = (share * sums[-1] - (sums[place] - counts[place])) / counts[place]
    return float(low[place] + inside * (high[place] - low[place]))


def median_below(counts: Floats, high: Floats) -> float:
    """The upper end of the first bin up to which half of the counts lie."""
    return float(high[np.searchsorted(np.cumsum(counts), counts.sum() / 2)])


def _plain(points: Sequence[dict[str, np.float64]]) -> list[dict[str, float]]:
    return [{name: float(value) for name, value in point.items()} for point in points]
