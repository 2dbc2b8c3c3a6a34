"""Blocks of tied scores, and the counts at thresholds that come from them."""

from __future__ import annotations

import math
import random
from typing import Any

import polars as pl
import pytest
from lookup import by_group, overall

import fmfair
from fmfair.attributes import Attribute
from fmfair.blocks import Blocks, make_blocks
from fmfair.errors import FmfairError
from fmfair.groupings import Grouping
from fmfair.profiles import find_profiles
from fmfair.ranks import add_ranks

SEX = Attribute("sex", "g0", ("F", "M"), declared=False)


def samples(score: list[float], y: list[int], prob: list[float] | None = None, **columns: Any) -> pl.DataFrame:
    """A table of samples; every row is of by-key 0 and of group F where nothing else is said."""
    frame = {"by": [0] * len(y), "g0": [0] * len(y), "y": y, "score": score, "prob": prob or score, **columns}
    return pl.DataFrame(frame, schema_overrides={"by": pl.UInt32, "g0": pl.UInt32, "y": pl.Int64})


def blocks_of(frame: pl.DataFrame, grouping: Grouping | None = None) -> list[tuple[Any, ...]]:
    """Cell, score, positives, negatives and rows of every block, in order."""
    blocks = made(frame, grouping or Grouping((SEX,)))
    found = blocks.by_cell().collect()
    score = blocks.ranks.distinct.gather(found["rank"])
    return found.with_columns(score.alias("score")).select("cell", "score", "pos", "neg", "rows").rows()


def made(frame: pl.DataFrame, grouping: Grouping, n_by: int = 1) -> Blocks:
    """The blocks of a grouping of the attributes g0, g1, ..."""
    levels = {part.column: len(part.labels) for part in (*grouping.parts, SEX)}
    ranked, ranks, _ = add_ranks(frame)
    return make_blocks(ranked, find_profiles(frame, n_by, levels), grouping, ranks, n_by)


def test_rows_of_one_score_and_group_are_one_block_in_rising_order() -> None:
    frame = samples([0.5, 0.1, 0.5, 0.5, 0.9, 0.1], [1, 0, 0, 1, 1, 1], g0=[0, 1, 0, 1, 0, 1])
    assert blocks_of(frame) == [(0, 0.5, 1, 1, 2), (0, 0.9, 1, 0, 1), (1, 0.1, 1, 1, 2), (1, 0.5, 1, 0, 1)]
    assert blocks_of(frame, Grouping()) == [(0, 0.1, 1, 1, 2), (0, 0.5, 2, 1, 3), (0, 0.9, 1, 0, 1)]


def test_weights_are_summed_and_rows_still_counted() -> None:
    frame = samples([0.5, 0.5, 0.9], [1, 0, 1], weight=[0.25, 2.0, 3.0])
    assert blocks_of(frame) == [(0, 0.5, 0.25, 2.0, 2), (0, 0.9, 3.0, 0.0, 1)]


@pytest.mark.parametrize("weight", [None, [1.0, 1.0, 1.0]])
def test_rows_without_a_group_are_in_no_block_but_that_of_all_rows(weight: list[float] | None) -> None:
    columns: dict[str, Any] = {} if weight is None else {"weight": weight}
    frame = samples([0.5, 0.5, 0.9], [1, 0, 1], g0=[None, 1, None], **columns)
    assert blocks_of(frame) == [(1, 0.5, 0, 1, 1)]
    assert sum(rows for *_, rows in blocks_of(frame, Grouping())) == 3
    assert blocks_of(samples([0.5], [1], g0=[None])) == []


def test_minus_zero_is_zero() -> None:
    assert blocks_of(samples([0.0, -0.0], [1, 0])) == [(0, 0.0, 1, 1, 2)]
    frame = pl.DataFrame({"y": [0, 1], "s": [-0.0, 0.0], "g": ["a", "a"]})
    found = fmfair.evaluate(frame, y_true="y", y_score="s", attributes="g", thresholds=[0.0, -0.0])
    assert overall(found, "auc") == 0.5
    assert found.overall.filter(metric="tpr")["value"].to_list() == [1.0, 1.0]


def test_one_order_serves_ranking_and_cutting_where_a_score_is_both() -> None:
    _, ranking, cutting = add_ranks(samples([-2.0, 3.0, 0.0], [1, 0, 1], prob=[0.1, 0.9, 0.5]))
    assert ranking is cutting
    assert cutting.distinct.to_list() == [0.1, 0.5, 0.9]


@pytest.mark.parametrize(
    ("score", "prob", "distinct"),
    [
        ([40.0, 60.0, 0.0], [1.0, 1.0, 0.5], [0.5, 1.0]),  # a sigmoid saturates
        ([1.0, 2.0, 3.0], [0.5, 0.9, 0.1], [0.1, 0.5, 0.9]),  # two columns in different orders
        ([1.0, 1.0, 3.0], [0.5, 0.6, 0.9], [0.5, 0.6, 0.9]),  # ties in what is ranked alone
    ],
)
def test_each_has_its_own_order_where_they_differ(score: list[float], prob: list[float], distinct: list[float]) -> None:
    frame, ranking, cutting = add_ranks(samples(score, [1, 0, 1], prob=prob))
    assert ranking.column != cutting.column
    assert ranking.distinct.to_list() == sorted(set(score))
    assert cutting.distinct.to_list() == distinct
    assert cutting.distinct.gather(frame[cutting.column] // 2).to_list() == prob


def test_logits_that_a_sigmoid_makes_equal_are_ranked_apart_and_cut_together() -> None:
    frame = pl.DataFrame({"y": [1, 0, 1, 0], "z": [60.0, 40.0, 50.0, -1.0], "g": ["a"] * 4})
    found = fmfair.evaluate(
        frame, y_true="y", y_score="z", attributes="g", thresholds=[1.0, "best_f1"], score_type="logit"
    )
    assert overall(found, "auc") == 1.0
    assert overall(found, "average_precision") == 1.0
    assert found.overall.filter(metric="fp")["value"].to_list() == [1.0, 1.0]
    assert overall(found, "tpr", "threshold", threshold_rule="best_f1") == 1.0


def test_cells_and_scores_that_64_bits_cannot_number_are_refused() -> None:
    frame = samples([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    with pytest.raises(FmfairError, match=r"sex: .* cells times 4 distinct scores are too many"):
        made(frame, Grouping((SEX,)), 2**59)


def test_cells_at_the_end_of_64_bits_are_numbered_rightly() -> None:
    labels = tuple(map(str, range(1024)))
    parts = tuple(Attribute(f"a{i}", f"g{i}", labels, declared=False) for i in range(4))
    columns: dict[str, Any] = {p.column: [1023, 0] for p in parts}
    frame = samples([0.2, 0.7], [1, 0], **columns)
    frame = frame.with_columns(pl.col(list(columns)).cast(pl.UInt32), by=pl.lit(2**20 - 1))
    found = made(frame, Grouping(parts), 2**20).by_cell().collect()
    first = (2**20 - 1) * 2**40
    assert found.select("cell", "rank", "pos", "neg").rows() == [(first, 1, 0, 1), (first + 2**40 - 1, 0, 1, 0)]


@pytest.mark.parametrize("weighted", [False, True])
def test_three_thousand_thresholds_count_as_brute_force_does(weighted: bool) -> None:
    r = random.Random(5)
    n = 300
    frame = pl.DataFrame(
        {
            "y": [r.randrange(2) for _ in range(n)],
            "s": [r.choice([r.random(), r.randrange(11) / 10]) for _ in range(n)],
            "g": [r.choice(["a", "b", "one class"]) for _ in range(n)],
            "w": [r.choice([0.25, 1.0, 3.0]) if weighted else 1.0 for _ in range(n)],
        }
    ).with_columns(y=pl.when(pl.col("g") == "one class").then(0).otherwise("y"))
    scores = frame["s"].to_list()
    cuts = [*scores, *(math.nextafter(s, 2.0) for s in scores), -1.0, 2.0, *(r.random() for _ in range(2398))]
    assert len(cuts) == 3000
    found = fmfair.evaluate(
        frame,
        y_true="y",
        y_score="s",
        attributes="g",
        thresholds=cuts,
        metrics=["tp", "fp", "fn", "tn"],
        weight="w" if weighted else None,
    ).groups
    for group in ("a", "b", "one class"):
        rows = frame.filter(g=group)
        y, s, w = (rows[c].to_numpy() for c in ("y", "s", "w"))
        for metric, label, called in (("tp", 1, True), ("fp", 0, True), ("fn", 1, False), ("tn", 0, False)):
            counts = found.filter(group=group, metric=metric)
            assert counts["threshold"].to_list() == cuts
            assert counts["value"].to_list() == [float(w[(y == label) & ((s >= c) == called)].sum()) for c in cuts]


def test_a_large_cell_costs_a_small_one_no_digits() -> None:
    frame = pl.DataFrame(
        {
            "y": [1, 0] * 3,
            "s": [0.9, 0.2] * 3,
            "g": ["a", "a", "b", "b", "c", "c"],
            "w": [1e15, 1e15, 0.1, 0.3, 0.7, 0.1],
        }
    )
    found = fmfair.evaluate(frame, y_true="y", y_score="s", attributes="g", weight="w", metrics=["tp", "tn", "tpr"])
    assert by_group(found, "tp") == {"a": 1e15, "b": 0.1, "c": 0.7}
    assert by_group(found, "tn") == {"a": 1e15, "b": 0.3, "c": 0.1}
