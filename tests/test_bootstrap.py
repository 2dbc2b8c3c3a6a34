"""Replicates: each is what the engine measures on the same rows with the drawn counts as weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from bootstrap_support import Prepared, predictions, prepared

from fmfair.bootstrap.drawing import draws_of
from fmfair.bootstrap.lanes import PACKINGS, Lanes, packed
from fmfair.bootstrap.replicates import Replicates
from fmfair.bootstrap.weights import DRAWS
from fmfair.measures import Engine
from fmfair.notes import Notes
from fmfair.options import Bootstrap


def engine_on(given: Prepared, weight: np.typing.NDArray[np.float64]) -> Engine:
    """The engine on the rows that were drawn, at the thresholds of all rows."""
    samples, estimates = given.samples, given.engine
    drawn = pl.Series("weight", weight)
    some = replace(
        samples, frame=samples.frame.with_columns(drawn).filter(drawn > 0), profiles=samples.profiles.of(drawn > 0)
    )
    some.__dict__["incomplete"] = samples.incomplete
    engine = Engine(some, replace(estimates.options, ci=None), Notes())
    side = "right" if estimates.options.conventions.strict else "left"

    def thresholds(scope: Any) -> pl.DataFrame:
        table = estimates.thresholds(scope)
        if engine.cutting is None:
            return table
        by, at = table["by"].to_numpy(), table["threshold"].fill_null(0.0).to_numpy()
        cut = pl.Series(engine.cutting.position(by, at, side)).cast(pl.UInt64)  # type: ignore[arg-type]
        return table.with_columns(cut=pl.when(pl.col("cut").is_not_null()).then(cut))

    engine.thresholds = thresholds  # type: ignore[method-assign, assignment]
    return engine


CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "rows": ({}, None),
    "patients and intersections": ({"cluster": "patient", "intersections": 2}, None),
    "weights": ({"weight": "w"}, None),
    "rules": ({"thresholds": [0.5, "best_f1", "youden", "tpr=0.9", 2.0], "metrics": ["tpr", "ppv", "mcc"]}, None),
    "saturated logits": ({}, (pl.col("prob") - 0.5) * 160),
    "ranks": ({"score_type": "rank"}, pl.col("prob") * 7),
    "decisions beside scores": ({"y_pred": "decision"}, None),
    "published conventions": ({"conventions": "fairmedfm", "attributes": ["sex"]}, None),
}


@pytest.mark.parametrize(("n", "decimals"), [(14, 1), (150, None)])
@pytest.mark.parametrize("case", CASES)
def test_replicates_are_the_values_of_the_rows_that_were_drawn(case: str, decimals: int | None, n: int) -> None:
    given, score = CASES[case]
    table = predictions(n, seed=n, decimals=decimals)
    if score is not None:
        table = table.with_columns(prob=score)
    at = (0, 99) if n == 14 else (41, 99)
    _compare(prepared(table, **{"metrics": "all", **given}), 1e-9 if "weight" in given else 1e-12, at)


@pytest.mark.parametrize("count", [100, 101])
@pytest.mark.parametrize("packing", PACKINGS)
def test_replicates_in_one_number_are_each_by_itself(
    packing: Lanes, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = prepared(predictions(90, 8, decimals=1), thresholds=[0.3, 0.5], metrics=["auc", "average_precision", "ppv"])
    alone = given.replicates(Bootstrap(count)).values

    monkeypatch.setattr("fmfair.bootstrap.lanes.PACKED_FROM", 1)
    monkeypatch.setattr("fmfair.bootstrap.lanes.PACKINGS", (packing,))
    _compare(given, 1e-12)

    np.testing.assert_allclose(given.replicates(Bootstrap(count)).values, alone, rtol=0, atol=1e-15)


@pytest.mark.parametrize("packing", PACKINGS)
def test_lanes_hold_what_they_promise(packing: Lanes) -> None:
    """The largest count of every replicate and the largest sum, beside every other."""
    assert len(DRAWS) <= 16
    counts = np.array(list(product([0, 1, 15], repeat=packing.count)), dtype=np.uint8).T
    numbers = sum(counts[lane].astype(np.int64) << 4 * lane for lane in range(packing.count))
    spread = numbers * packing.spread & packing.mask
    np.testing.assert_array_equal(packing.unpacked(spread[None], "test"), counts)

    largest = 2**packing.width - 1
    sums = np.array(list(product([0, 1, largest], repeat=packing.count)), dtype=np.int64).T
    together = sum(sums[lane] << packing.width * lane for lane in range(packing.count))
    np.testing.assert_array_equal(packing.unpacked(together[None], "test"), sums)


def test_what_fits_no_lane_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fmfair.bootstrap.lanes.PACKED_FROM", 1)
    counts = np.ones((4, 10), dtype=np.uint8)

    lanes = [packed(counts, most).lanes for most in (2**21 - 1, 2**21, 2**31 - 1, 2**31)]

    assert [found and found.count for found in lanes] == [3, 2, 2, None]
    assert packed(counts.astype(np.float64), 10).lanes is None


def test_replicates_of_decisions_alone() -> None:
    _compare(prepared(predictions(80, 3).drop("prob"), y_pred="decision"), 1e-12)


def test_models_are_measured_on_the_same_samples() -> None:
    table = predictions(60, 4, decimals=1).with_columns(sample_id=pl.int_range(pl.len()))
    both = pl.concat([table.with_columns(model=pl.lit(m)) for m in "ab"])
    given = prepared(both, by="model", sample_id="sample_id", bootstrap=100)
    long = given.measured()

    drawn = given.replicates(Bootstrap(100))

    _compare(given, 1e-12)
    rows = long.with_row_index("row").filter(pl.col("grouping") == 0).sort("order", "cell")
    first, second = (rows.filter(pl.col("cell") // 2 == by)["row"].to_numpy() for by in (0, 1))
    np.testing.assert_array_equal(drawn.values[first], drawn.values[second])


def _compare(given: Prepared, tolerance: float, at: Sequence[int] = (0, 41, 99)) -> None:
    long = given.measured()
    drawn = given.replicates(Bootstrap(100, seed=9))
    weights = draws_of(given.samples.frame, 9).weights(0, 100)
    for i in at:
        engine = engine_on(given, weights[i].astype(np.float64))
        expected = Prepared(engine, given.groupings, given.listed).measured()
        assert expected.select("order", "listed", "t").equals(long.select("order", "listed", "t"))
        ece = long["metric"].str.starts_with("ece").to_numpy()
        found = drawn.values[:, i]
        # errors of calibration of other kinds are not resampled
        kept = ~(ece & np.isnan(found))
        np.testing.assert_allclose(
            found[kept], expected["value"].fill_null(np.nan).to_numpy()[kept], rtol=tolerance, atol=tolerance
        )
        on_range = engine.options.conventions.ece_on_group_range
        plain = (long["metric"] == "ece").to_numpy() & np.full(len(ece), engine.scored and not on_range)
        if "bce" in engine.frame.columns:
            assert kept[plain].all() or np.isnan(expected["value"].fill_null(np.nan).to_numpy()[plain]).any()


def test_the_number_of_threads_changes_nothing() -> None:
    given = prepared(predictions(50_000, 1), cluster="patient")

    one, several = (given.replicates(Bootstrap(100), threads=threads).values for threads in (1, 5))

    np.testing.assert_array_equal(one, several)


def test_the_error_of_calibration_is_freed_from_its_bias_in_every_replicate() -> None:
    given = prepared(predictions(60, 2), metrics="ece", attributes="sex", cluster="patient")
    frame, long = given.samples.frame, given.measured()
    drawn = given.replicates(Bootstrap(100))
    weights = draws_of(frame, 0).weights(0, 100)
    row = int(long.with_row_index("row").filter(pl.col("grouping") == 1)["row"][0])
    y, p = frame["y"].to_numpy(), frame["prob"].to_numpy()

    def bins(w: Any) -> list[tuple[float, float, float]]:
        inside = [(p >= k / 10) & ((p < (k + 1) / 10) | (k == 9)) for k in range(10)]
        return [(float(w[b].sum()), float((w * y)[b].sum()), float((w * p)[b].sum())) for b in inside]

    observed = [(pos - score) / len(y) for _, pos, score in bins(np.ones(len(y)))]
    for i in (0, 50):
        w = weights[i].astype(np.float64)
        total = 0.0
        for n, pos, score in bins(w):
            if n:
                d, share = abs(pos - score) / n, pos / n
                s = math.sqrt(share * (1 - share) / (n - 1)) if n > 1 else 0.0
                phi = 0.5 * (1 + math.erf(-d / s / math.sqrt(2))) if s else 0.0
                folded = s * math.sqrt(2 / math.pi) * math.exp(-((d / s) ** 2) / 2) + d * (1 - 2 * phi) if s else d
                total += n * (2 * d - folded)
        assert drawn.debiased[row][i] == pytest.approx(max(total / w.sum(), 0.0), abs=1e-12)
        chance = sum(abs((pos - score) / w.sum() - e) for (_, pos, score), e in zip(bins(w), observed, strict=True))
        assert drawn.chance[row][i] == pytest.approx(chance, abs=1e-12)


def test_differences_and_extremes_are_those_of_each_replicate() -> None:
    values = np.array([[0.5, 0.7, np.nan], [0.6, 0.4, 0.5], [0.1, 0.9, 0.3]])
    drawn = Replicates(values)

    np.testing.assert_allclose(drawn.differences([0, 2], [1, 1]), [[-0.1, 0.3, np.nan], [-0.5, 0.5, -0.2]])
    low, high = drawn.extremes([0, 1, 2], [0, 0, 1])
    np.testing.assert_allclose(low, [[0.5, 0.4, 0.5], [0.1, 0.9, 0.3]])
    np.testing.assert_allclose(high, [[0.6, 0.7, 0.5], [0.1, 0.9, 0.3]])


def test_a_difference_has_limits_and_a_p_value() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.8, 0.02, 999), rng.normal(0.7, 0.02, 999)
    drawn = Replicates(np.array([a, b, np.where(np.arange(999) < 60, np.nan, a)]))

    limits, p = drawn.difference_limits([0, 1, 2], [1, 0, 1], 0.9)

    assert limits.low[:2] == pytest.approx([np.quantile(a - b, 0.05), np.quantile(b - a, 0.05)])
    expected = 2 * min(1 + (a - b <= 0).sum(), 1 + (a - b >= 0).sum()) / 1000
    assert p[:2] == pytest.approx([expected, expected])
    assert np.isnan(limits.low[2])
    assert np.isnan(p[2])
