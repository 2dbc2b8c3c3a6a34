"""Laws that hold whatever the numbers are: what may change a result, what may not, and what the registry promises."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from lookup import assert_honest, by_group
from polars.testing import assert_frame_equal

import fmfair
from fmfair.metrics.registry import CLASSIFICATION, REGISTRY

ARGUMENTS: dict[str, Any] = {
    "ci": None,  # the laws are those of values
    "y_true": "y",
    "y_score": "s",
    "attributes": ["site", "age"],
    "by": ["reader"],
    "bins": {"age": [40, 60]},
    "intersections": 2,
    "metrics": "all",
}
RULES = [0.5, "best_f1", "youden", "tpr=0.8", "tnr=0.8"]
SCORES: dict[str, Callable[[random.Random], float]] = {
    "probability": lambda r: r.choice([r.randrange(21) / 20, r.random()]),
    "logit": lambda r: r.choice([0.0, 1.0, -1.5, 45.0, 60.0, r.gauss(0, 3)]),
    "rank": lambda r: r.choice([-2.0, 3.0, 7.5, r.gauss(0, 10)]),
}
KINDS = pytest.mark.parametrize("kind", SCORES)
# Numbers from fits and sums may differ in the last digits where rows come in another order.
FITTED = [m.name for m in CLASSIFICATION if m.family == "fitted"]
COUNTS = [m.name for m in CLASSIFICATION if m.family == "count"]


def table(kind: str = "probability", n: int = 120) -> pl.DataFrame:
    """Ties, missing groups, a missing label, a group of one row, a group with one class, two readers."""
    r = random.Random(kind)
    y = [r.random() < 0.4 for _ in range(n)]
    rows = {
        "y": [None if i == 5 else int(v) for i, v in enumerate(y)],
        "s": [SCORES[kind](r) for _ in range(n)],
        "site": ["alone" if i == 7 else "healthy" if i % 9 == 0 and not y[i] else f"s{i % 3}" for i in range(n)],
        "age": [r.choice([None, 22.0, 40.0, 59.9, 60.0, 85.0]) for _ in range(n)],
        "reader": [r.choice(["A", "B"]) for _ in range(n)],
        "w": [r.randrange(1, 4) for _ in range(n)],
    }
    return pl.DataFrame(rows, schema_overrides={"y": pl.Int64, "w": pl.Int64})


def report(frame: Any, kind: str = "probability", **changes: Any) -> fmfair.Report:
    thresholds = [0.5, *RULES[1:]] if kind != "rank" else [3.0, *RULES[1:]]
    return fmfair.evaluate(frame, **{**ARGUMENTS, "score_type": kind, "thresholds": thresholds, **changes})


def assert_same(
    left: fmfair.Report, right: fmfair.Report, *, without: tuple[str, ...] = (), only: pl.Expr | None = None
) -> None:
    """The same results but for the last digits; `without` leaves columns out, `only` keeps some rows of both."""
    for name in ("groups", "overall", "gaps", "summary"):
        frames = [r.to_frame(name) for r in (left, right)]
        if only is not None:
            frames = [f.filter(only) if "metric" in f.columns else f.clear() for f in frames]
        frames = [f.drop(without, strict=False) for f in frames]
        loose = [f.filter(pl.col("metric").is_in(FITTED)) for f in frames] if "metric" in frames[0].columns else []
        tight = [f.filter(~pl.col("metric").is_in(FITTED)) for f in frames] if loose else frames
        assert_frame_equal(*tight, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)
        if loose:
            assert_frame_equal(*loose, check_exact=False, rel_tol=1e-8, abs_tol=1e-8)


@KINDS
def test_the_order_of_rows_does_not_matter(kind: str) -> None:
    frame = table(kind)
    assert_same(report(frame, kind), report(frame.sample(fraction=1.0, shuffle=True, seed=3), kind))


@KINDS
def test_whole_weights_are_repeated_rows(kind: str) -> None:
    frame = table(kind)
    repeated = frame.select(pl.exclude("w").repeat_by("w").explode(empty_as_null=False, keep_nulls=False))
    assert repeated.height == frame["w"].sum()
    rows = ("n", "n_pos", "denominator", "weight_sum")
    assert_same(report(frame, kind, weight="w"), report(repeated, kind), without=rows)


def test_the_sum_of_weights_is_the_number_of_repeated_rows() -> None:
    frame = table()
    repeated = frame.select(pl.exclude("w").repeat_by("w").explode(empty_as_null=False, keep_nulls=False))
    weighted = report(frame, weight="w").groups["weight_sum"]
    assert weighted.to_list() == report(repeated).groups["n"].to_list()


@pytest.mark.parametrize("factor", [0.1, 3.0, 1e6])
def test_only_ratios_of_weights_matter(factor: float) -> None:
    frame = table().with_columns(scaled=pl.col("w") * factor)
    relative = ~pl.col("metric").is_in(COUNTS)
    assert_same(report(frame, weight="w"), report(frame, weight="scaled"), without=("weight_sum",), only=relative)


@KINDS
def test_equal_weights_are_no_weights(kind: str) -> None:
    frame = table(kind).with_columns(w=0.1)
    relative = ~pl.col("metric").is_in(COUNTS)
    assert_same(report(frame, kind, weight="w"), report(frame, kind), without=("weight_sum",), only=relative)


def test_weight_zero_removes_the_row_and_lists_a_cell_that_is_left_empty() -> None:
    frame = table().with_columns(w=pl.when(pl.int_range(pl.len()) % 4 == 1).then(0).otherwise("w"))
    zero, gone = report(frame, weight="w"), report(frame.filter(pl.col("w") > 0), weight="w")
    empty = zero.groups.join(gone.groups, on=["reader", "attribute", "group"], how="anti")
    assert set(empty["n"]) == {0}
    assert empty.filter(pl.col("metric") == "accuracy")["note"].unique().to_list() == ["no rows"]
    left = fmfair.Report(
        zero.summary, zero.groups.filter(pl.col("n") > 0), zero.gaps, zero.overall, zero.notes, zero.metadata
    )
    assert_same(left, gone, without=("note",))


@pytest.mark.parametrize(
    "rising", [pl.col("s") * 2 + 1, pl.col("s") ** 3, pl.col("s").arctan(), pl.col("s").rank("dense")]
)
def test_ranking_metrics_see_nothing_but_the_order_of_the_scores(rising: pl.Expr) -> None:
    frame = table("rank")
    ranking = pl.col("metric").is_in([m.name for m in CLASSIFICATION if m.family == "ranking"])
    mapped = frame.with_columns(s=rising)
    assert mapped["s"].n_unique() == frame["s"].n_unique()
    assert_same(report(frame, "rank"), report(mapped, "rank"), only=ranking)


@KINDS
def test_every_row_twice_changes_nothing_but_the_counts(kind: str) -> None:
    frame = table(kind)
    relative = ~pl.col("metric").is_in(COUNTS)
    once, twice = report(frame, kind), report(pl.concat([frame, frame]), kind)
    assert_same(once, twice, without=("n", "n_pos", "denominator"), only=relative)
    for column in ("n", "n_pos", "denominator"):
        assert twice.groups[column].to_list() == (once.groups[column] * 2).to_list()


@pytest.mark.parametrize("metric", [m.name for m in CLASSIFICATION if not m.moves_with_prevalence])
def test_metrics_that_do_not_move_with_prevalence_ignore_three_times_the_negatives(metric: str) -> None:
    frame = table()
    more = pl.concat([frame, *[frame.filter(pl.col("y") == 0)] * 2])
    options: dict[str, Any] = {"metrics": metric, "thresholds": [0.5]}
    counts = ("n", "n_pos", "denominator")
    assert_same(report(frame, **options), report(more, **options), without=counts, only=pl.col("metric") == metric)


@pytest.mark.parametrize("metric", [m.name for m in CLASSIFICATION if m.moves_with_prevalence])
def test_metrics_that_move_with_prevalence_do(metric: str) -> None:
    frame = table()
    more = pl.concat([frame, *[frame.filter(pl.col("y") == 0)] * 2])
    options: dict[str, Any] = {"metrics": metric, "thresholds": [0.5]}
    if metric in ("tp", "fn"):
        more = pl.concat([frame, *[frame.filter(pl.col("y") == 1)] * 2])
    before, after = report(frame, **options).overall["value"], report(more, **options).overall["value"]
    assert (abs(before - after) > 1e-3).all()


@pytest.mark.parametrize("metric", CLASSIFICATION, ids=lambda m: m.name)
def test_values_stay_in_the_range_of_the_registry(metric: Any) -> None:
    for kind in ("probability", "logit"):
        found = report(table(kind), kind, metrics=[metric.name])
        values = pl.concat([found.groups["value"], found.overall["value"]]).drop_nulls()
        assert len(values) > 10
        assert metric.low is None or float(values.min()) >= metric.low - 1e-12  # type: ignore[arg-type]  # numbers
        assert metric.high is None or float(values.max()) <= metric.high + 1e-12  # type: ignore[arg-type]  # numbers


@pytest.mark.parametrize("metric", [m for m in CLASSIFICATION if m.direction != "none"], ids=lambda m: m.name)
def test_a_perfect_classifier_reaches_the_best_value(metric: Any) -> None:
    frame = pl.DataFrame({"y": [0, 1, 1, 0] * 5, "s": [0.0, 1.0, 1.0, 0.0] * 5, "g": ["a", "b"] * 10})
    value = (
        fmfair.evaluate(frame, y_true="y", y_score="s", attributes="g", metrics=[metric.name]).overall["value"].item()
    )
    best = {"lr_positive": None, "net_benefit": 0.5}.get(
        metric.name, metric.high if metric.direction == "higher" else metric.low
    )
    assert value == (None if best is None else pytest.approx(best, abs=1e-12))


def test_worst_is_never_better_than_best() -> None:
    gaps = report(table()).gaps
    keys = ["reader", "attribute", "metric", "threshold", "threshold_rule"]
    worst, best = (gaps.filter(pl.col("statistic") == s).select(*keys, "value") for s in ("worst", "best"))
    both = worst.join(best, on=keys, nulls_equal=True, suffix="_best").drop_nulls("value")
    assert both.height > 100
    for row in both.iter_rows(named=True):
        higher = REGISTRY[row["metric"]].direction == "higher"
        assert (row["value"] <= row["value_best"]) if higher else (row["value"] >= row["value_best"])


def test_new_names_of_groups_move_the_values_with_them() -> None:
    frame = table()
    names = {"s0": "s2", "s1": "s0", "s2": "s1", "alone": "healthy", "healthy": "alone"}
    options: dict[str, Any] = {"attributes": ["site"], "intersections": 1, "bins": None}
    before = report(frame, **options)
    after = report(frame.with_columns(pl.col("site").replace_strict(names)), **options)
    for metric in REGISTRY.keys() & set(before.groups["metric"]):
        for reader in ("A", "B"):
            for rule in before.groups.filter(pl.col("metric") == metric)["threshold_rule"].unique():
                where = {"reader": reader, "threshold_rule": rule}
                old, new = by_group(before, metric, **where), by_group(after, metric, **where)
                moved = {names[g]: v for g, v in old.items() if v is not None}
                assert moved == pytest.approx({g: v for g, v in new.items() if v is not None}, rel=1e-12, abs=1e-12)
    values = ("worst_group", "best_group", "note")
    assert_frame_equal(before.gaps.drop(values), after.gaps.drop(values), rel_tol=1e-8, abs_tol=1e-8)


def test_an_attribute_with_one_group_has_no_gap_but_a_reason() -> None:
    found = report(table().with_columns(site=pl.lit("s")), attributes=["site"], bins=None, intersections=1).gaps
    compared = found.filter(~pl.col("statistic").is_in(["worst", "best"]))
    assert compared["value"].null_count() == compared.height > 0
    assert compared["note"].str.contains("of 1 groups can be compared").all()


def test_another_by_key_leaves_the_others_as_they_are() -> None:
    frame = table()
    third = table("logit").with_columns(pl.lit("C").alias("reader"), s=pl.col("s").arctan() / 4 + 0.5)
    assert_same(report(frame), report_of(["A", "B"], report(pl.concat([frame, third]))))


def test_by_keys_together_are_by_keys_one_by_one() -> None:
    frame = table()
    together = report(frame)
    for reader in ("A", "B"):
        alone = report(frame.filter(pl.col("reader") == reader))
        assert_same(alone, report_of([reader], together))


def test_pairs_of_columns_are_a_by_key_called_label() -> None:
    frame = table()
    wide = frame.with_columns(t=1 - pl.col("y"), u=1 - pl.col("s"))
    long = pl.concat(
        [
            frame.with_columns(label=pl.lit("direct")),
            frame.with_columns(label=pl.lit("reversed"), y=wide["t"], s=wide["u"]),
        ]
    )
    pairs = {"direct": ("y", "s"), "reversed": ("t", "u")}
    paired = report(wide, y_true=None, y_score=None, labels=pairs)
    assert_same(paired, report(long, by=["reader", "label"]))


def report_of(readers: list[str], whole: fmfair.Report) -> fmfair.Report:
    """What a report says of some by-keys."""
    frames = {
        n: whole.to_frame(n).filter(pl.col("reader").is_in(readers)) for n in ("summary", "groups", "gaps", "overall")
    }
    return fmfair.Report(**frames, notes=whole.notes, metadata=whole.metadata)


def test_lazy_and_chunked_frames_give_what_a_frame_gives() -> None:
    frame = table()
    pieces = pl.concat([frame[:17], frame[17:18], frame[18:18], frame[18:]], rechunk=False)
    assert pieces.n_chunks() > 1
    for other in (frame.lazy(), pieces, pieces.lazy()):
        assert_same(report(frame), report(other))


@pytest.mark.parametrize("weight", [None, "w"])
def test_one_thread_gives_what_many_give(tmp_path: Path, weight: str | None) -> None:
    table(n=3000).write_parquet(tmp_path / "in.parquet")
    options = {**ARGUMENTS, "weight": weight, "thresholds": RULES}
    found = []
    for threads in ("1", "4"):
        folder = tmp_path / threads
        code = "import json, sys, fmfair; _, a, b, c = sys.argv; fmfair.evaluate(a, **json.loads(c)).write_parquet(b)"
        command = [sys.executable, "-c", code, str(tmp_path / "in.parquet"), str(folder), json.dumps(options)]
        subprocess.run(command, check=True, env={**os.environ, "POLARS_MAX_THREADS": threads})
        frames = {n: pl.read_parquet(folder / f"{n}.parquet") for n in ("summary", "groups", "gaps", "overall")}
        found.append(fmfair.Report(**frames, notes=(), metadata={}))
    assert_same(*found)


@pytest.mark.parametrize("weight", [None, "w"])
@KINDS
def test_no_frame_holds_nan_or_infinity_and_whatever_is_undefined_says_why(kind: str, weight: str | None) -> None:
    frame = table(kind, n=40)
    assert_honest(report(frame, kind, weight=weight, intersections="all"))
    assert_honest(report(frame.with_columns(y=0), kind, weight=weight))
    assert_honest(report(frame.with_columns(y=1), kind, weight=weight))
    assert_honest(report(frame.with_columns(s=1.0), kind, weight=weight))
    assert_honest(report(frame.head(1), kind, weight=weight))


def test_extreme_thresholds_and_scores_give_numbers_or_reasons() -> None:
    frame = table().with_columns(s=pl.when(pl.col("y") == 1).then(0.0).otherwise(1.0))
    assert_honest(report(frame, thresholds=[0.0, 1.0, -1e300, 1e300, math.nextafter(1.0, 0.0)]))
    assert_honest(report(frame.with_columns(s=5e-324)))
