"""How often intervals hold the true value, measured through `fmfair.evaluate`: the numbers are those that users get.

Many samples are measured in one call, as the by-key `run`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl
from scipy.special import gammaln, kolmogorov, xlog1py, xlogy

import fmfair
from benchmarks.simulated import Model, all_counts, first_groups, mean_overlap, overlaps
from fmfair.statistics.interval import FloatArray

LEVEL = 0.95

# Rows of one call; more need more memory and are no faster.
ROWS = 1_000_000
RUNS = 500

RATES = np.linspace(0.5, 0.99, 491)


def chunks(samples: int, rows_per_sample: int) -> Iterator[int]:
    """How many samples each call measures."""
    most = max(1, min(RUNS, ROWS // rows_per_sample))
    for start in range(0, samples, most):
        yield min(most, samples - start)


def in_chunks(samples: int, rows_per_sample: int, measure: Callable[[int], pl.DataFrame]) -> pl.DataFrame:
    """What `measure` finds in all samples."""
    return pl.concat([measure(runs) for runs in chunks(samples, rows_per_sample)])


def group_values(frame: pl.DataFrame, metrics: Sequence[str], cluster: str | None = None) -> pl.DataFrame:
    """The intervals of all groups of all samples in a table of `simulated.scored`."""
    return _report(frame, metrics, ["group"], cluster).groups.with_columns(pl.col("group").cast(pl.Int32))


def group_gaps(
    frame: pl.DataFrame, metrics: Sequence[str], counts: tuple[int, ...], cluster: str | None = None
) -> pl.DataFrame:
    """The intervals and tests of the gaps between the first 2, 5, ... groups, with their number as `k`."""
    names = {f"{k} groups": k for k in counts}
    gaps = _report(first_groups(frame, counts), metrics, list(names), cluster).gaps
    wanted = gaps.filter(pl.col("statistic") == "difference", pl.col("metric").is_in(list(metrics)))
    return wanted.with_columns(k=pl.col("attribute").replace_strict(names, return_dtype=pl.Int32))


def _report(frame: pl.DataFrame, metrics: Sequence[str], attributes: list[str], cluster: str | None) -> fmfair.Report:
    return fmfair.evaluate(
        frame if cluster else frame.drop("patient"),
        y_true="label",
        y_score="score",
        y_pred="flag",
        attributes=attributes,
        by=["run"],
        metrics=list(metrics),
        cluster=cluster,
        score_type="rank",
        ci=LEVEL,
    )


def dice_values(rng: np.random.Generator, size: int, runs: int) -> pl.DataFrame:
    """The intervals of the mean Dice of samples, with their true value."""
    frame = overlaps(rng, runs, size)
    report = fmfair.evaluate_segmentation(frame, dice="dice", attributes=["group"], by=["run"], ci=LEVEL)
    truth = {shape: mean_overlap(shape) for shape in frame["group"].unique()}
    return held(report.groups, pl.col("group").replace_strict(truth, return_dtype=pl.Float64))


def with_truth(values: pl.DataFrame, models: Sequence[Model], prevalence: float) -> pl.DataFrame:
    """Group values with whether their interval holds the true value of the group's model."""
    truth = pl.DataFrame(
        [
            {"group": group, "metric": metric, "true": true}
            for group, model in enumerate(models)
            for metric, true in model.truth(prevalence).items()
        ],
        schema_overrides={"group": pl.Int32},
    )
    return held(values.join(truth, on=["group", "metric"], maintain_order="left"), pl.col("true"))


def held(rows: pl.DataFrame, true: pl.Expr | float) -> pl.DataFrame:
    """With `held`, whether the interval holds the true value; one that is not there does not."""
    low, high = pl.col("ci_low"), pl.col("ci_high")
    return rows.with_columns(held=((low <= true) & (true <= high)).fill_null(value=False))


def shares(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Per cell the samples, the coverage, the mean width, and the most frequent note with its share."""
    return rows.group_by(keys, maintain_order=True).agg(
        pl.len().alias("samples"),
        pl.col("held").mean().alias("coverage"),
        (pl.col("ci_high") - pl.col("ci_low")).mean().alias("width"),
        pl.col("ci_note").is_not_null().mean().alias("noted"),
        pl.col("ci_note").drop_nulls().mode().sort().first().alias("note"),
    )


def error(share: float, samples: int) -> float:
    """Two Monte Carlo standard errors of a share."""
    return 2 * float(np.sqrt(share * (1 - share) / samples))


def exact_coverage(size: int) -> pl.DataFrame:
    """Per metric, the coverage of a rate of `size` rows at each of `RATES`, from binomial probabilities."""
    report = fmfair.evaluate(
        all_counts(size),
        y_true="label",
        y_pred="flag",
        attributes=["group"],
        by=["run"],
        metrics=["tpr", "accuracy"],
        ci=LEVEL,
    )
    parts = []
    for (metric,), rows in report.groups.group_by("metric", maintain_order=True):
        hits, low, high = (rows[name].to_numpy()[:, None] for name in ("run", "ci_low", "ci_high"))
        inside = (low <= RATES) & (high >= RATES)
        coverage = (inside * _probability(hits, size)).sum(axis=0)
        parts.append(pl.DataFrame({"metric": [metric] * RATES.size, "rate": RATES, "coverage": coverage}))
    return pl.concat(parts)


def _probability(hits: FloatArray, size: int) -> FloatArray:
    """The binomial probability of each number of hits at each rate."""
    ways = gammaln(size + 1) - gammaln(hits + 1) - gammaln(size - hits + 1)
    return np.asarray(np.exp(ways + xlogy(hits, RATES) + xlog1py(size - hits, -RATES)))


def uniformity(p: FloatArray) -> tuple[float, float, float]:
    """How far p values are from uniform.

    Returns:
        The Kolmogorov-Smirnov distance, its p value, and the share of the most frequent p value: p values of counts
        come in steps, and then the distance is at least half the largest of them.
    """
    found = np.sort(p)
    steps = np.arange(found.size + 1) / found.size
    distance = float(max((steps[1:] - found).max(), (found - steps[:-1]).max()))
    _, often = np.unique(found.round(12), return_counts=True)
    return distance, float(kolmogorov(np.sqrt(found.size) * distance)), float(often.max()) / found.size
