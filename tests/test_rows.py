"""Which rows the metric functions use, leave out and refuse, in every context of Polars."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from reference_metrics import DATA_T, EXPRESSIONS, REFERENCE, Row, expressions, one, same

from fmfair import metrics as fm

CONTEXTS: dict[str, Callable[[pl.DataFrame, list[pl.Expr]], pl.DataFrame]] = {
    "group_by": lambda f, e: f.group_by("group").agg(e).sort("group"),
    "lazy group_by": lambda f, e: f.lazy().group_by("group").agg(e).sort("group").collect(),
    "streaming group_by": lambda f, e: f.lazy().group_by("group").agg(e).sort("group").collect(engine="streaming"),
    "over": lambda f, e: f.select("group", *(x.over("group") for x in e)).unique().sort("group"),
    "lazy over": lambda f, e: f.lazy().select("group", *(x.over("group") for x in e)).unique().sort("group").collect(),
    "with_columns": lambda f, e: f.with_columns(x.over("group") for x in e).unique("group").drop("y", "p", "w"),
    "select": lambda f, e: pl.concat(part.select(pl.col("group").first(), *e) for part in _parts(f)),
    "lazy select": lambda f, e: pl.concat(p.lazy().select(pl.col("group").first(), *e).collect() for p in _parts(f)),
    "streaming select": lambda f, e: pl.concat(
        p.lazy().select(pl.col("group").first(), *e).collect(engine="streaming") for p in _parts(f)
    ),
}


def _parts(frame: pl.DataFrame) -> list[pl.DataFrame]:
    return frame.partition_by("group", maintain_order=True)


@pytest.mark.parametrize("context", CONTEXTS)
def test_every_context_gives_the_same(context: str) -> None:
    # Group D has one class, group E only rows without a label.
    more = pl.DataFrame({"group": ["D", "D", "E"], "y": [1, 1, None], "p": [0.2, 0.7, 0.5], "w": [1.0, 2.0, 1.0]})
    frame = pl.concat([DATA_T, more])
    es = [*expressions(), *(e.name.suffix(" weighted") for e in expressions("w"))]
    expected = {
        key: [REFERENCE[name](rows) for name in EXPRESSIONS] + [REFERENCE[name](weighted) for name in EXPRESSIONS]
        for key, rows, weighted in (
            (part["group"][0], _rows(part, pl.lit(1.0)), _rows(part, pl.col("w"))) for part in _parts(frame)
        )
    }

    for group, *found in CONTEXTS[context](frame, es).rows():
        assert all(same(f, e) for f, e in zip(found, expected[group], strict=True))


def _rows(frame: pl.DataFrame, weight: pl.Expr) -> list[Row]:
    return frame.drop_nulls("y").select("y", "p", weight).rows()


def test_a_lazy_frame_knows_the_types_of_the_results() -> None:
    lazy = DATA_T.lazy().group_by("group").agg(expressions())

    assert lazy.collect_schema() == lazy.collect().schema


def test_windows_of_rows_are_groups_like_others() -> None:
    frame = DATA_T.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))

    blocks = frame.group_by_dynamic("row", every="10i").agg(expressions())
    rolling = frame.rolling("row", period="10i").agg(expressions()).filter(pl.col("row") % 10 == 9)

    groups = DATA_T.group_by("group", maintain_order=True).agg(expressions())
    for found in (blocks, rolling):
        pairs = zip(found.drop("row").rows(), groups.drop("group").rows(), strict=True)
        assert all(same(f, g) for a, b in pairs for f, g in zip(a, b, strict=True))


def test_nothing_at_all_is_null_and_zero_counts() -> None:
    values = DATA_T.clear().select(expressions()).row(0, named=True)

    assert {name for name, value in values.items() if value is not None} == {"tp", "fp", "fn", "tn"}
    assert all(values[name] == 0 for name in ("tp", "fp", "fn", "tn"))
    assert DATA_T.clear().group_by("group").agg(expressions()).is_empty()


def test_values_are_never_nan() -> None:
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.0, 0.0, 1.0, 1.0], "zero": [0.0] * 4})
    cases = [frame, frame.head(1), frame[1:2], frame.head(2), frame.tail(2), frame.clear()]
    columns = [*expressions(), *(e.name.suffix(" zero") for e in expressions("zero"))]

    for case in cases:
        values = case.select(columns).row(0)

        assert not any(value is not None and math.isnan(value) for value in values)


@pytest.mark.parametrize(
    "missing", [{"y": None}, {"p": None}, {"p": math.nan}, {"w": None}, {"w": math.nan}, {"w": 0.0}]
)
def test_rows_with_something_missing_are_left_out(missing: dict[str, float | None]) -> None:
    row = {"group": "A", "y": 0, "p": 0.99, "w": 1.0, **missing}
    with_missing = pl.concat([DATA_T, pl.DataFrame([row], schema=DATA_T.schema)])

    assert with_missing.select(expressions("w")).equals(DATA_T.select(expressions("w")))


def test_a_nan_score_ranks_nowhere_and_is_not_called_positive() -> None:
    frame = pl.DataFrame({"y": [0, 1, 0], "p": [0.1, 0.9, math.nan]})

    assert frame.select(fm.auc("y", "p"), fm.fp("y", "p"), fm.tn("y", "p"), fm.fpr("y", "p")).row(0) == (1.0, 0, 1, 0.0)


def test_a_nan_label_is_missing() -> None:
    frame = pl.DataFrame({"y": [0.0, 1.0, math.nan], "p": [0.1, 0.9, 0.5]})

    assert frame.select(expressions()).equals(frame.head(2).select(expressions()))


@pytest.mark.parametrize("dtype", [pl.Boolean, pl.UInt8, pl.Int8, pl.Int64, pl.Float32, pl.Float64])
def test_labels_of_any_type_give_the_same(dtype: Any) -> None:
    assert DATA_T.with_columns(pl.col("y").cast(dtype)).select(expressions()).equals(DATA_T.select(expressions()))


def test_single_precision_scores_and_weights_are_widened_first() -> None:
    narrow = DATA_T.with_columns(pl.col("p", "w").cast(pl.Float32))
    wide = narrow.with_columns(pl.col("p", "w").cast(pl.Float64))

    assert narrow.select(expressions("w")).equals(wide.select(expressions("w")))
    # 0.7 in single precision is 0.699999988, below 0.7.
    assert (
        one(pl.DataFrame({"y": [1], "p": pl.Series([0.7], dtype=pl.Float32)}), fm.tpr("y", "p", threshold=0.7)) == 0.0
    )


@pytest.mark.parametrize("label", [2, -1, 0.5])
def test_labels_other_than_0_and_1_give_null(label: float) -> None:
    frame = DATA_T.with_columns(pl.col("y").cast(pl.Float64).replace(1.0, label))

    assert set(frame.select(expressions()).row(0)) == {None}


@pytest.mark.parametrize("weight", [-1.0, math.inf, -math.inf])
def test_weights_that_are_none_give_null(weight: float) -> None:
    frame = DATA_T.with_columns(w=pl.when(pl.col("w") == 0.5).then(weight).otherwise("w"))

    assert set(frame.select(expressions("w")).row(0)) == {None}


def test_scores_that_are_no_probabilities_are_ranked_and_cut_but_not_calibrated() -> None:
    logits = DATA_T.with_columns(pl.col("p").log() - (1 - pl.col("p")).log())
    calibrated = {name for name in EXPRESSIONS if name.split("(")[0] in ("bce", "brier", "observed_expected")}
    calibrated |= {name for name in EXPRESSIONS if name.startswith("ece")} | {"net_benefit"}

    values = logits.select(expressions()).row(0, named=True)

    assert {name for name, value in values.items() if value is None} == calibrated
    assert values["auc"] == one(DATA_T, fm.auc("y", "p"))


def test_infinite_scores_are_ranked() -> None:
    frame = pl.DataFrame({"y": [0, 0, 1, 1], "p": [-math.inf, 0.0, 0.0, math.inf]})

    assert one(frame, fm.auc("y", "p")) == 3.5 / 4


def test_minus_zero_is_zero() -> None:
    frame = pl.DataFrame({"y": [1, 0, 0, 1], "p": [-0.0, 0.0, -0.0, 0.0]})

    assert frame.select(fm.auc("y", "p"), fm.tpr("y", "p", threshold=0.0)).row(0) == (0.5, 1.0)
