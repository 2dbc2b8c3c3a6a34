"""What a metric is: a registry entry that says how it is computed and how it must be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import polars as pl

from fmfair.metrics.formula import ratio_of_sums, to_expr

Family = Literal["ranking", "rate", "count", "calibration", "fitted", "segmentation"]
Direction = Literal["higher", "lower", "none"]
# The intermediate table that a metric aggregates.
Table = Literal["confusion", "blocks", "score_blocks", "bins", "fit", "values"]
# The closed form of an interval; the kinds of `fmfair.intervals`.
IntervalKind = Literal["auc", "average_precision", "proportion", "ratio", "balanced", "mean", "benefit"]

# The counts of a confusion matrix, in the order of everything that lists them.
CONFUSION = ("tp", "fp", "fn", "tn")

# How often each count of `CONFUSION` is above and below the line of a ratio of sums.
Shares = tuple[tuple[float, ...], tuple[float, ...]]

# What a metric needs to be defined: a formula that must be positive, and the reason given where it is not.
Need = tuple[str, str]

POSITIVES: Need = ("n_pos", "no positives")
NEGATIVES: Need = ("n_neg", "no negatives")
ROWS: Need = ("n", "no rows")
# Bins of equal width, where a metric does not say how many.
N_BINS = 10
NOT_A_PROBABILITY = "the score is not a probability"


@dataclass(frozen=True)
class Parameters:
    """What a metric with parameters was given, so that another engine than Polars can compute it too.

    Attributes:
        kind: The name of the metric with the parameters left to their defaults.
        low: Lower end of the range of a partial AUC.
        high: Upper end of that range, or the largest false positive rate of `tpr_at_fpr`.
        over: Which rate that range is of, `fpr` or `tpr`.
        corrected: Whether a partial AUC is McClish-corrected.
        bins: Number of bins of an ECE.
        norm: Norm of an ECE.
        strategy: Kind of the bins of an ECE.
    """

    kind: str
    low: float | None = None
    high: float | None = None
    over: str | None = None
    corrected: bool | None = None
    bins: int | None = None
    norm: str | None = None
    strategy: str | None = None


@dataclass(frozen=True)
class Metric:
    """One entry of the registry.

    Attributes:
        name: The name in `metrics=`, in the result tables and of the function in `fmfair.metrics`; `ece_squared` and
            its kind are `ece` with other arguments.
        title: The name in prose.
        definition: The formula in words or symbols.
        family: Where it comes from: `ranking` from the blocks of tied scores, `rate` and `count` from the confusion
            counts at a threshold, `calibration` from sums per score bin, `fitted` from a regression, `segmentation`
            from a value per sample.
        direction: Whether `higher` or `lower` values are better; `none` where neither is.
        low: Smallest possible value, None when unbounded.
        high: Largest possible value, None when unbounded.
        moves_with_prevalence: Whether the same ranking and the same rates per class give another value when the
            share of positives changes.
        denominator: The count that carries the metric (`n`, `n_pos`, `n_neg`, `n_pred_pos`, `n_pred_neg`).
        needs: What must be positive for the metric to be defined, with the reason where it is not.
        source: Where the definition comes from.
        default: Whether it is computed when no metrics are named.
        formula: Arithmetic on the confusion counts (`rate` and `count`).
        aggregate: Makes the expression that aggregates the metric's intermediate table (`ranking`, `calibration`,
            `segmentation`).
        needs_probability: Whether it is undefined for scores that are not probabilities.
        fails: When it is undefined for another reason than an unmet need.
        table: The intermediate table that it comes from.
        given: The parameters, where it takes any.
    """

    name: str
    title: str
    definition: str
    family: Family
    direction: Direction
    low: float | None
    high: float | None
    moves_with_prevalence: bool
    denominator: str
    needs: tuple[Need, ...]
    source: str
    default: bool = True
    formula: str | None = None
    aggregate: Callable[..., pl.Expr] | None = None
    needs_probability: bool = False
    fails: tuple[str, ...] = ()
    table: Table = "confusion"
    given: Parameters | None = None

    @property
    def parameters(self) -> Parameters:
        """The parameters, of a metric that takes none just its name."""
        return self.given or Parameters(self.name)

    @property
    def n_bins(self) -> int:
        """How many bins its intermediate table has, where that is one of bins."""
        return self.parameters.bins or N_BINS

    @cached_property
    def shares(self) -> Shares | None:
        """How often each count of `CONFUSION` is in the numerator and the denominator of a rate that is their ratio."""
        return ratio_of_sums(self.formula, CONFUSION) if self.family == "rate" and self.formula else None

    @cached_property
    def parts(self) -> tuple[Shares, ...] | None:
        """The ratios of sums whose mean a rate is: of most one, of balanced accuracy those of both classes."""
        if self.shares is not None or self.name != "balanced_accuracy":
            return None if self.shares is None else (self.shares,)
        halves = (ratio_of_sums(formula, CONFUSION) for formula in ("tp / (tp + fn)", "tn / (tn + fp)"))
        return tuple(half for half in halves if half is not None)

    @cached_property
    def interval(self) -> IntervalKind | None:
        """The closed form of its interval; None where there is none."""
        if self.shares is not None:
            within = all(top in (0.0, bottom) and bottom <= 1.0 for top, bottom in zip(*self.shares, strict=True))
            return "proportion" if within else "ratio"
        kinds: Mapping[str, IntervalKind] = {
            "auc": "auc",
            "average_precision": "average_precision",
            "balanced_accuracy": "balanced",
            "net_benefit": "benefit",
            **dict.fromkeys(("bce", "brier", "dice", "iou", "both_empty"), "mean"),
        }
        return kinds.get(self.parameters.kind)

    @property
    def is_biased(self) -> bool:
        """Whether chance makes it larger, in a resample once more, by an amount that is not known."""
        given = self.parameters
        return given.kind == "ece" and not (given.norm == "absolute" and given.strategy == "uniform")

    @property
    def at_threshold(self) -> bool:
        """Whether the metric has one value per threshold."""
        return self.family in ("rate", "count")

    @property
    def undefined(self) -> str:
        """When the metric is undefined, in words."""
        kind = (NOT_A_PROBABILITY,) if self.needs_probability else ()
        return "; ".join((*(reason for _, reason in self.needs), *kind, *self.fails)) or "never"

    def defined(self, columns: Mapping[str, pl.Expr] | None = None) -> pl.Expr:
        """True where everything that the metric needs is positive.

        Args:
            columns: What the names in `needs` stand for; a name that is absent stands for the column of that name.
        """
        return pl.all_horizontal(*(to_expr(formula, columns) > 0 for formula, _ in self.needs), True)

    def aggregated(self, **columns: Any) -> pl.Expr:
        """The value of one group from its intermediate table, whose columns default to those of that table.

        Raises:
            TypeError: The metric does not come from such a table.
        """
        if self.aggregate is None:
            raise TypeError(f"{self.name} is not the aggregate of a table")
        return self.aggregate(**columns)

    def reason(self) -> pl.Expr:
        """The first unmet need in words; NULL where the metric is defined."""
        text = pl.lit(None, pl.String())
        for formula, reason in reversed(self.needs):
            text = pl.when(to_expr(formula) > 0).then(text).otherwise(pl.lit(reason))
        return text
