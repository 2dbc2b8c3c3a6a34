"""Adding up in arrays: the same tables as grouping by the engine, and when it is left to the engine."""

from __future__ import annotations

import datetime
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from counts_support import COLUMNS, random_frame

import fmfair
from fmfair.counting import dense, query

GRID = 50


def binned(frame: pl.DataFrame, *, logit: bool = False) -> nw.LazyFrame[Any]:
    rows = nw.from_native(frame.lazy())
    return query.binned(rows, grid=GRID, scales=(37, 43), logit=logit)


def random_rows(n: int, **keys: Any) -> pl.DataFrame:
    rng = np.random.default_rng(n)
    scores = np.where(rng.random(n) < 0.3, rng.integers(0, GRID + 1, n) / GRID, rng.random(n))
    scores[::97] = np.nan
    return pl.DataFrame(
        {"s": scores, "label": rng.integers(0, 3, n).astype(np.int32), **{k: v(rng) for k, v in keys.items()}}
    ).with_columns(pl.when(pl.int_range(n) % 89 > 0).then("s"))


def picked(values: list[Any]) -> Any:
    return lambda rng: pl.Series(values).gather(rng.integers(0, len(values), 5_000))


def assert_same(rows: nw.LazyFrame[Any], packs: list[list[str]]) -> None:
    tables = dense.summed(rows, packs, query.cells(GRID))

    assert tables is not None
    for keys, found in zip(packs, tables, strict=True):
        (wanted,) = query.collected([query.summed(rows, [*keys, "cell"])])
        order = [*keys, "cell"]
        one, other = (
            t.select(*order, "rows", "r", "rr", "bce").cast({"cell": pl.Int32}).sort(order) for t in (found, wanted)
        )
        assert one.drop("bce", "rows").equals(other.drop("bce", "rows"))
        assert one["rows"].to_list() == other["rows"].to_list()
        assert np.allclose(one["bce"].to_numpy(), other["bce"].to_numpy(), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("logit", [False, True])
def test_the_sums_are_those_of_grouping(logit: bool) -> None:
    day = datetime.date(2024, 1, 1)
    rows = random_rows(
        5_000,
        few=picked(["F", "M", None]),
        many=picked([*"abcdefgh", "a text of more than twelve bytes", "", "ü", None]),
        number=picked([3, -1, None, 10**12]),
        float=picked([0.5, float("nan"), None, -0.0]),
        flag=picked([True, False]),
        day=picked([day, None]),
    ).with_columns(level=pl.col("few").cast(pl.Enum(["X", "M", "F"])))

    assert_same(
        binned(rows, logit=logit),
        [["few", "many"], ["number"], ["float"], ["flag", "day", "level"], ["many"], []],
    )


def test_a_value_that_the_first_rows_do_not_have_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "SAMPLE", 100)
    rows = random_rows(5_000, site=picked([*"abcdefghij", None]), sex=picked(["F", "M"]), room=picked([1, 2, 3]))
    rows = rows.with_columns(rarely=pl.when(pl.int_range(pl.len()) != 4_000).then(pl.lit("x")))
    looked_up: list[int] = []
    values = dense._values

    def counted(*arguments: Any) -> Any:
        looked_up.append(1)
        return values(*arguments)

    monkeypatch.setattr(dense, "_values", counted)
    for column in ("site", "sex", "room", "rarely"):
        looked_up.clear()
        assert_same(binned(rows.sort(column, nulls_last=True)), [[column]])
        assert len(looked_up) == 2


def test_too_many_combinations_are_left_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = random_frame(60, models=20)
    wanted = fmfair.counts(frame, **COLUMNS, intersections=2, grid=GRID)
    rows = binned(random_rows(5_000, site=picked([*"abc"])))
    assert dense.summed(rows, [["site"]], query.cells(GRID)) is not None

    monkeypatch.setattr(dense, "MOST", 3 * query.cells(GRID) - 1)
    assert dense.summed(rows, [["site"]], query.cells(GRID)) is None
    found = fmfair.counts(frame, **COLUMNS, intersections=2, grid=GRID)

    assert found.drop("sum_bce").equals(wanted.drop("sum_bce"))
    assert np.allclose(found["sum_bce"].to_numpy(), wanted["sum_bce"].to_numpy(), rtol=1e-12, atol=0.0)


def test_many_equal_losses_are_added_up_to_the_last_digits() -> None:
    n = 3_000_000
    frame = pl.LazyFrame({"y": [1, 0], "s": [0.9, 0.1], "sex": ["F", "M"]})
    rows = pl.concat(
        [frame, pl.LazyFrame({"y": [1], "s": [0.9], "sex": ["F"]}).select(pl.all().repeat_by(n).explode())]
    )

    table = fmfair.counts(rows, y_true="y", y_score="s", attributes="sex")

    found = table.filter(attribute="sex", group="F")["sum_bce"].item()
    assert abs(found / (-np.log(0.9) * (n + 1)) - 1) < 3e-12
