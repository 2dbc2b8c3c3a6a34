"""The bounds themselves: reached and never passed, by every order inside bins that there is."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from counts_support import RATES
from reports import evaluate

import fmfair
from benchmarks.generate import predictions
from fmfair.counting.ranking import ranked, worst_precisions
from fmfair.metrics.registry import requested

METRICS = requested(["auc", "average_precision", "adjusted_auprc", "tpr_at_fpr(0.3)"])


def orders(pos: int, neg: int) -> Iterator[list[tuple[int, int]]]:
    """Every weak order of one bin's rows, from the top: blocks of tied positives and negatives."""
    if pos == neg == 0:
        yield []
        return
    for p, n in itertools.product(range(pos + 1), range(neg + 1)):
        if p + n:
            for rest in orders(pos - p, neg - n):
                yield [(p, n), *rest]


def values(blocks: list[tuple[int, int]], limit: float) -> tuple[float, float, float, float]:
    """AUC, average precision, adjusted AUPRC and sensitivity at an FPR of blocks from the top, by their definitions."""
    m, n = sum(p for p, _ in blocks), sum(q for _, q in blocks)
    tp = fp = 0
    auc, ap, best = Fraction(0), Fraction(0), 0.0
    for p, q in blocks:
        auc += Fraction(q * (2 * tp + p), 2 * m * n)
        tp, fp = tp + p, fp + q
        ap += Fraction(p, m) * Fraction(tp, tp + fp)
        best = tp / m if fp / n <= limit + 1e-12 else best
    return float(auc), float(ap), 1 - math.log(ap) / math.log(m / (m + n)), best


@pytest.mark.parametrize("seed", range(12))
def test_ranking_bounds_are_the_extremes_of_all_orders_inside_the_bins(seed: int) -> None:
    draw = random.Random(seed)
    bins = [(draw.randint(0, 3), draw.randint(0, 3)) for _ in range(2)] + [(1, 0), (0, 1)]
    draw.shuffle(bins)
    table = pl.DataFrame(
        [(0, b, p + q, p) for b, (p, q) in enumerate(bins)], schema=["cell", "bin", "n", "n_pos"], orient="row"
    )

    found = ranked(table, METRICS, top=None).row(0, named=True)

    tried = [
        values(list(itertools.chain(*chosen)), 0.3)
        for chosen in itertools.product(*(list(orders(*b)) for b in bins[::-1]))
    ]
    for i, metric in enumerate(METRICS):
        assert found[f"low:{metric.name}"] == pytest.approx(min(t[i] for t in tried), abs=1e-12)
        assert found[f"high:{metric.name}"] == pytest.approx(max(t[i] for t in tried), abs=1e-12)


def test_scores_of_exactly_1_are_ties() -> None:
    frame = {"y": [0, 1, 0, 1], "s": [1.0, 1.0, 0.2, 0.3], "sex": ["F"] * 4}
    report = fmfair.evaluate_counts(
        fmfair.counts(frame, y_true="y", y_score="s", grid=10), metrics=["auc", "average_precision"]
    )

    assert report.overall["bound_low"].to_list() == report.overall["bound_high"].to_list()
    assert report.overall["value"].to_list() == pytest.approx([0.625, (0.5 + 2 / 3) / 2])


@pytest.mark.parametrize(
    ("p", "t", "c"),
    [(1, 0, 0), (3, 0, 5), (7, 2, 31), (20, 40, 3), (1000, 31, 1), (500, 10**7, 10**8), (1, 10**9, 10**9)],
)
def test_sums_of_the_worst_precisions(p: int, t: int, c: int) -> None:
    wanted = math.fsum((t + i) / (t + i + c) for i in range(1, p + 1))

    found = worst_precisions(*(np.array([float(v)]) for v in (p, t, c)))

    assert found[0] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_rates_are_the_extremes_of_all_places_inside_the_bin(seed: int) -> None:
    """A threshold inside a bin: every number of its positives and negatives may be called positive."""
    draw = random.Random(seed)
    below, inside, above = ((draw.randint(0, 3), draw.randint(0, 3)) for _ in range(3))
    rows = [
        (y, s) for s, (p, q) in zip((0.15, 0.55, 0.85), (below, inside, above), strict=True) for y in [1] * p + [0] * q
    ]
    rows.append((1, 0.05))
    frame = pl.DataFrame(rows, schema={"y": pl.Int64, "s": pl.Float64}, orient="row").with_columns(sex=pl.lit("F"))

    table = fmfair.counts(frame, y_true="y", y_score="s", grid=10)
    found = fmfair.evaluate_counts(table, metrics=list(RATES), thresholds=0.55).overall

    tried: dict[str, list[float]] = {name: [] for name in RATES}
    for a, c in itertools.product(range(inside[0] + 1), range(inside[1] + 1)):
        moved = []
        left = {1: a, 0: c}
        for y, s in rows:
            called = s == 0.55 and left[y] > 0
            left[y] -= called
            moved.append((y, 0.59 if called else 0.51 if s == 0.55 else s))
        one = pl.DataFrame(moved, schema={"y": pl.Int64, "s": pl.Float64}, orient="row").with_columns(sex=pl.lit("F"))
        options = {"metrics": list(RATES), "thresholds": 0.55, "score_type": "probability"}
        overall = evaluate(one, y_true="y", y_score="s", **options).overall  # type: ignore[arg-type]
        for name, value in overall.select("metric", "value").iter_rows():
            tried[name] += [] if value is None else [value]
    for name, low, high in found.select("metric", "bound_low", "bound_high").iter_rows():
        assert (low, high) == pytest.approx((min(tried[name]), max(tried[name]))) if tried[name] else low is None


def test_bounds_of_auc_are_narrow_on_generated_predictions() -> None:
    frame = predictions(100_000, seed=7)

    report = fmfair.evaluate_counts(fmfair.counts(frame, attributes=["sex", "race", "site"]), metrics="auc")

    widths = pl.concat([report.groups, report.overall], how="diagonal").select(
        pl.col("bound_high") - pl.col("bound_low")
    )
    assert widths.null_count().item() == 0
    assert float(widths.max().item()) < 0.0005


@pytest.mark.parametrize("least", [None, 2])
@pytest.mark.parametrize("grid", [10, 4000])
def test_bounds_hold_to_the_last_digit_on_few_rows(least: int | None, grid: int) -> None:
    """Sums are rounded to whole numbers, under suppression to coarser ones: bounds must be wider by that."""
    metrics = ["bce", "brier", "observed_expected", "ece", "ece_squared", "ece_rms"]
    columns = {"y_true": "y", "y_score": "s", "attributes": "sex", "by": "model", "score_type": "probability"}
    rng = np.random.default_rng(grid)
    n = 1200
    frame = pl.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "s": rng.random(n) * np.where(np.arange(n) % 3 == 0, 1e-6, 1.0),
            "sex": rng.choice(["F", "M"], n),
            "model": np.arange(n) // 12,
        }
    )
    table = fmfair.counts(frame, **columns, grid=grid, suppress_below=least)  # type: ignore[arg-type]  # of several types

    report = fmfair.evaluate_counts(table, metrics=metrics)

    truth = evaluate(frame, **columns, metrics=metrics)  # type: ignore[arg-type]  # of several types
    keys = ["model", "metric"]
    checked = 0
    for which, more in (("overall", []), ("groups", ["group"]), ("gaps", ["statistic"])):
        sizes = truth.to_frame(which).select(*keys, *more, "value")
        both = sizes.join(report.to_frame(which).drop_nulls("bound_low"), on=[*keys, *more], suffix="_counted")
        if least is not None and which != "overall":
            both = both.filter(pl.col("model").is_in(_whole_models(report)))
        assert both.filter(~pl.col("value").is_between("bound_low", "bound_high")).is_empty()
        assert both.filter(pl.col("statistic").is_in(["difference", "std"]) if more == ["statistic"] else True).height
        checked += both.height
    assert checked > 500


def _whole_models(report: fmfair.Report) -> list[int]:
    """The by-keys of which both groups are listed."""
    listed = report.groups.filter(pl.col("metric") == "brier").group_by("model").agg(pl.col("n").sum(), pl.len())
    everyone = report.overall.filter(pl.col("metric") == "brier").select("model", pl.col("n").alias("all"))
    return (
        listed.join(everyone, on="model")
        .filter((pl.col("n") == pl.col("all")) & (pl.col("len") == 2))["model"]
        .to_list()
    )
