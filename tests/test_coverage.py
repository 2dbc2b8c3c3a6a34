"""What intervals promise, on simulated samples whose true values are known: seeded, through `fmfair.evaluate`.

`benchmarks/coverage.py` measures the same with more samples and more designs; here a gross error is caught.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from benchmarks.covered import (
    RATES,
    dice_values,
    exact_coverage,
    group_gaps,
    group_values,
    held,
    uniformity,
    with_truth,
)
from benchmarks.simulated import Model, Patients, scored

GOOD = Model(0.85, 0.8)


def coverage(rows: pl.DataFrame, **where: object) -> float:
    share = rows.filter(**where)["held"].mean()
    assert isinstance(share, float)
    return share


@pytest.mark.parametrize(("size", "prevalence", "least", "most"), [(100, 0.1, 0.93, 1.0), (200, 0.5, 0.92, 0.975)])
def test_intervals_of_groups_hold_the_true_value(size: int, prevalence: float, least: float, most: float) -> None:
    models = [Model(0.75), Model(0.85), Model(0.95)]
    rng = np.random.default_rng(1)

    values = group_values(scored(rng, 600, size, prevalence, models), ["auc", "accuracy"])
    rows = with_truth(values, models, prevalence)

    for group in range(len(models)):
        assert least <= coverage(rows, group=group, metric="auc") <= most
        assert 0.92 <= coverage(rows, group=group, metric="accuracy") <= 0.985


@pytest.mark.parametrize("size", [3, 30, 100])
def test_rates_are_held_at_the_level_on_average_over_true_rates(size: int) -> None:
    found = exact_coverage(size)

    for metric in ("tpr", "accuracy"):
        shares = found.filter(metric=metric)["coverage"].to_numpy()
        assert 0.94 <= shares.mean() <= 0.97
        assert shares.size == RATES.size


def test_exact_coverage_is_that_of_the_definition() -> None:
    """Three rows, true rate .5: the interval of no hit ends at .56, that of one hit begins at .06; all hold .5."""
    found = exact_coverage(3).filter(pl.col("metric") == "tpr").sort("rate")

    assert found["coverage"][0] == pytest.approx(1.0)
    # at .9 two hits (.208 to .939) and three (.438 to 1) do, one (.061 to .792) and none do not
    near = found.filter((pl.col("rate") - 0.9).abs() < 1e-9)["coverage"].item()
    assert near == pytest.approx(0.9**3 + 3 * 0.9**2 * 0.1)


def test_mean_dice_is_held() -> None:
    rows = dice_values(np.random.default_rng(2), 100, 1000)

    assert 0.92 <= coverage(rows, group="beta(9, 1.5)") <= 0.975


@pytest.mark.parametrize("alike", [True, False])
def test_clustered_intervals_hold_and_naive_ones_do_not(alike: bool) -> None:
    models = [Model(0.85, 0.8)]
    frame = scored(np.random.default_rng(3), 400, 600, 0.5, models, Patients(alike=alike))
    metrics = ["auc", "accuracy", "tpr"]

    known = with_truth(group_values(frame, metrics, "patient"), models, 0.5)
    naive = with_truth(group_values(frame, metrics), models, 0.5)

    for metric in metrics:
        assert coverage(known, metric=metric) >= 0.92
    # Where every patient has images of both classes, what they share moves both alike and cancels out of an AUC.
    for metric in metrics if alike else ["tpr"]:
        assert coverage(naive, metric=metric) <= 0.9


@pytest.fixture(scope="module")
def equal() -> pl.DataFrame:
    """Gaps of the first 2 and of all 5 equal groups with 100 positives and 100 negatives each."""
    frame = scored(np.random.default_rng(4), 600, 200, 0.5, [GOOD] * 5)
    return held(group_gaps(frame, ["auc", "tpr"], (2, 5)), 0.0)


@pytest.mark.parametrize("k", [2, 5])
def test_p_values_of_equal_groups_are_uniform(equal: pl.DataFrame, k: int) -> None:
    for metric in ("auc", "tpr"):
        p = equal.filter(k=k, metric=metric)["p_value"].to_numpy()
        assert 0.03 <= (p < 0.05).mean() <= 0.075
        distance, chance, step = uniformity(p)
        if metric == "auc":
            assert chance > 1e-3
        assert distance < step + 0.07


@pytest.mark.parametrize("k", [2, 5])
def test_one_of_twenty_gaps_of_equal_groups_is_beyond_the_chance_gap(equal: pl.DataFrame, k: int) -> None:
    for metric in ("auc", "tpr"):
        rows = equal.filter(k=k, metric=metric)
        gap = rows["value"].to_numpy()
        assert 0.03 <= (gap > rows["chance_gap_95"].to_numpy()).mean() <= 0.075
        assert 0.42 <= (gap > rows["chance_gap"].to_numpy()).mean() <= 0.58


@pytest.mark.parametrize("k", [2, 5])
def test_gaps_of_equal_groups_may_be_0(equal: pl.DataFrame, k: int) -> None:
    for metric in ("auc", "tpr"):
        assert coverage(equal, k=k, metric=metric) >= 0.92


def test_a_percentile_bootstrap_of_the_gap_never_finds_equal_groups_equal() -> None:
    """The interval that fmfair does not give: its lower limit is above 0 although no group differs."""
    rng = np.random.default_rng(5)
    samples = 100
    frame = scored(rng, samples, 200, 0.5, [GOOD] * 5)
    ours = held(group_gaps(frame, ["tpr"], (5,)), 0.0)

    hits = frame.filter(pl.col("label") == 1).group_by("run", "group").agg(pl.col("flag").sum())
    lowest = np.array([percentile_of_gaps(rng, one["flag"].to_numpy()) for _, one in hits.group_by("run")])

    assert coverage(ours) >= 0.9
    assert (lowest <= 0).mean() <= 0.05


def percentile_of_gaps(rng: np.random.Generator, hits: NDArray[np.int64]) -> float:
    """The 2.5 % point of resampled gaps of the TPR of groups with 100 positives each."""
    rates = rng.binomial(100, hits / 100, (500, hits.size)) / 100
    return float(np.quantile(rates.max(axis=1) - rates.min(axis=1), 0.025))


def test_a_true_gap_is_held() -> None:
    models = [Model(0.70, 0.65), *[GOOD] * 4]
    frame = scored(np.random.default_rng(6), 300, 200, 0.5, models)

    gaps = held(group_gaps(frame, ["auc", "tpr"], (2, 5)), 0.15)

    for metric in ("auc", "tpr"):
        assert coverage(gaps, metric=metric, k=2) >= 0.92
        assert coverage(gaps, metric=metric, k=5) >= 0.94
    assert (gaps["ci_high"] - gaps["ci_low"]).max() < 0.5  # type: ignore[operator]
