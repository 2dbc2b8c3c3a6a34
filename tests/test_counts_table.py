"""The table of counts: what is in it, what adds up, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from counts_support import COLUMNS, random_frame
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

import fmfair
from fmfair.columns import COUNTS
from fmfair.counting.facts import scales

SMALL: dict[str, Any] = {"label": [0, 1, 1, 0], "prob": [0.2, 0.9, 0.2001, 1.0], "sex": ["F", "F", "M", "M"]}
FRAME = random_frame(20, models=3)


def same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Equal in everything but the last digits of the sums of logarithms."""
    loss = np.allclose(one["sum_bce"].to_numpy(), other["sum_bce"].to_numpy(), rtol=1e-12, atol=1e-12)
    return loss and one.drop("sum_bce").equals(other.drop("sum_bce"))


def test_a_table_of_counts_has_the_declared_columns_after_the_by_keys() -> None:
    table = fmfair.counts({**SMALL, "model": ["a", "a", "b", "b"]})

    assert table.schema == {"model": pl.String(), **COUNTS}


def test_bins_are_left_closed_by_float_edges_and_1_has_its_own() -> None:
    scores = [k / 4000 for k in range(4001)] + [np.nextafter(k / 4000, 0) for k in range(1, 4001)]
    frame = {"label": [0, 1] * 4000 + [1], "prob": scores, "sex": ["F"] * 8001}

    table = fmfair.counts(frame).filter(pl.col("attribute") == "")

    edges = np.arange(4001) / 4000
    wanted = np.bincount(np.searchsorted(edges, np.array(scores), side="right") - 1)
    assert table["bin"].to_list() == list(range(4001))
    assert table["n"].to_list() == wanted.tolist()


def test_sums_of_residuals_are_whole_numbers_in_the_units_of_the_facts() -> None:
    table = fmfair.counts(SMALL)
    facts = json.loads(table["facts"][0])

    row = table.filter((pl.col("attribute") == "") & (pl.col("bin") == 800)).row(0, named=True)

    assert (facts["scale"], facts["scale_squares"]) == scales(4000) == (43, 55)
    rest = 0.2001 - 0.2
    assert (row["n"], row["n_pos"]) == (2, 1)
    assert row["sum_r"] == row["sum_r_pos"] == int(np.floor(rest * 2**43 + 0.5))
    assert row["sum_rr"] == int(np.floor(rest * rest * 2**55 + 0.5))


@pytest.mark.parametrize("grid", [1, 2, 10, 4000, 4095, 4096, 4097, 1_000_000])
def test_the_sums_of_2_to_the_31_rows_of_one_bin_fit(grid: int) -> None:
    scale, scale_squares = scales(grid)

    assert 2**31 * (2**scale // grid + 1) < 2**63 + 2**31
    assert 2**31 * (2**scale_squares // grid**2) < 2**63
    assert scale >= 31 + np.log2(grid) - 1e-9


@examples(10)
@given(st.lists(st.integers(0, 3), min_size=FRAME.height, max_size=FRAME.height), st.permutations(range(4)))
def test_any_split_in_any_order_adds_up_to_the_same_table(places: list[int], order: list[int]) -> None:
    frame = FRAME.with_columns(pl.Series("shard", places))
    shards = [frame.filter(pl.col("shard") == i).drop("shard") for i in order]
    shards = [s for s in shards if s["y"].count()]

    added = fmfair.merge_counts(
        *(fmfair.counts(s, **COLUMNS, intersections=2, score_type="probability") for s in shards)
    )

    whole = fmfair.counts(FRAME, **COLUMNS, intersections=2, score_type="probability")
    seen = sum((s["y"].null_count() for s in shards), 0) == FRAME["y"].null_count()
    if seen:  # a shard of missing labels alone is refused, and its groups are not seen
        assert same(added, whole)


def test_merging_is_associative_and_plain_stacking_is_enough() -> None:
    a, b, c = (fmfair.counts(random_frame(s, models=2), **COLUMNS) for s in (1, 2, 3))

    left = fmfair.merge_counts(fmfair.merge_counts(a, b), c)

    assert same(left, fmfair.merge_counts(a, fmfair.merge_counts(c, b)))
    assert same(left, fmfair.merge_counts(pl.concat([c, a, b])))


def test_files_folders_and_frames_are_merged(tmp_path: Path) -> None:
    table = fmfair.counts(SMALL)
    for name in ("a", "b"):
        table.write_parquet(tmp_path / f"{name}.parquet")

    merged = fmfair.merge_counts(tmp_path / "a.parquet", str(tmp_path / "b.parquet"), table)

    assert same(merged, fmfair.merge_counts(tmp_path, table))
    assert merged["n"].sum() == 3 * table["n"].sum()
    assert fmfair.evaluate_counts(tmp_path / "*.parquet").metadata["n_samples"] == 8


def test_levels_that_are_declared_or_not_used_survive() -> None:
    levels = pl.Enum(["low", "mid", "high"])
    tables = [
        fmfair.counts(pl.DataFrame({"label": [0, 1], "prob": [0.1, 0.2], "sex": pl.Series(v, dtype=levels)}))
        for v in (["high", "high"], [None, None])
    ]

    report = fmfair.evaluate_counts(fmfair.merge_counts(*tables), metrics="accuracy")

    assert report.groups.select("group", "n").rows() == [("low", 0), ("mid", 0), ("high", 2)]


def test_a_shorter_list_of_levels_is_part_of_a_longer_one() -> None:
    def table(values: list[str], levels: list[str] | None) -> pl.DataFrame:
        sex = pl.Series(values, dtype=pl.Enum(levels) if levels else pl.String)
        return fmfair.counts(pl.DataFrame({"label": [0, 1], "prob": [0.1, 0.2], "sex": sex}))

    short, long = table(["M", "F"], ["M", "F"]), table(["F", "X"], ["M", "X", "F"])
    other, plain = table(["F", "M"], ["F", "M"]), table(["F", "Z"], None)

    order = fmfair.evaluate_counts(fmfair.merge_counts(short, long), metrics="accuracy").groups["group"]
    assert order.to_list() == ["M", "X", "F"]
    with pytest.raises(
        fmfair.FmfairError, match="attribute 'sex' has the levels 'M', 'X', 'F' in one table and 'F', 'M'"
    ):
        fmfair.merge_counts(long, other)
    with pytest.raises(fmfair.FmfairError, match="the levels 'M', 'F' in one table and the groups 'Z' in another"):
        fmfair.merge_counts(short, plain)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": 100}, "grid: 4000 and 100; scale: 43 and 38; scale_squares: 55 and 45"),
        ({"positive": 1}, "positive: None and '1'"),
        ({"missing_groups": "keep"}, "missing_groups: 'drop' and 'keep'"),
        ({"score_type": "logit"}, "score_type: 'probability' and 'logit'"),
        ({"ignore": [7]}, r"ignore: \[\] and \[7\]"),
        ({"attributes": ["sex", "age"]}, r"groupings: \[sex\] and \[sex, age\]"),
    ],
)
def test_tables_that_differ_in_their_facts_are_refused_by_name(change: dict[str, Any], message: str) -> None:
    frame = {**SMALL, "age": ["old", "young", "old", "old"]}
    one, other = fmfair.counts(frame, attributes="sex"), fmfair.counts(frame, **{"attributes": ["sex"], **change})

    with pytest.raises(
        fmfair.FmfairError, match=f"table 1 and table 2 cannot be added, since they differ in {message}"
    ):
        fmfair.merge_counts(one, other)
    with pytest.raises(fmfair.FmfairError, match="counts that cannot be added"):
        fmfair.evaluate_counts(pl.concat([one, other]))


def test_by_keys_must_agree_too() -> None:
    plain, keyed = fmfair.counts(SMALL), fmfair.counts({**SMALL, "model": ["a"] * 4})
    numbers = fmfair.counts({**SMALL, "model": [1] * 4})

    with pytest.raises(fmfair.FmfairError, match="table 1 has the by-keys none, and table 2 has 'model'"):
        fmfair.merge_counts(plain, keyed)
    with pytest.raises(
        fmfair.FmfairError, match="by-key 'model' has the type String in one table and Int64 in another"
    ):
        fmfair.merge_counts(keyed, numbers)


def _changed(**columns: Any) -> pl.DataFrame:
    return fmfair.counts(SMALL).with_columns(**columns)


@pytest.mark.parametrize(
    ("table", "messages"),
    [
        (fmfair.counts(SMALL).drop("n", "bin"), ["no column 'bin', 'n'; expected a table that fmfair.counts made"]),
        (_changed(n=pl.lit("x")), ["column 'n' has the type String, expected Int64"]),
        (_changed(n=pl.col("n") + 0.5), ["column 'n' has the type Float64, expected Int64"]),
        (_changed(n=-pl.col("n")), ["7 rows with negative n", "more positives than rows"]),
        (_changed(n_pos=pl.col("n") + 1), ["7 rows with more positives than rows (n_pos > n)"]),
        (_changed(bin=pl.col("bin") + 4001, bin_end=pl.col("bin_end") + 4001), ["7 rows with a bin outside 0 to 4000"]),
        (_changed(bin_end=pl.col("bin_end") + 1), ["7 rows with merged bins"]),
        (_changed(left_out=1), ["7 rows left out, though the facts say that none was"]),
        (_changed(n=pl.when(pl.col("bin") == 800).then(None).otherwise("n")), ["3 rows with missing values"]),
        (_changed(sum_r=pl.lit(2**50)), ["7 rows with sums that so few rows cannot have"]),
        (_changed(facts=pl.lit("?")), ["column 'facts' holds '?', which fmfair.counts did not write"]),
        (_changed(facts=pl.lit('{"format": 99}')), ["the counts have format 99, which is newer than this fmfair"]),
        (_changed(levels=pl.lit("[1]")), ["attribute 'sex' has levels '[1]'; expected a JSON list of texts"]),
        (
            _changed(group_parts=pl.lit(pl.Series([["F", "M"]])).first()),
            ["whose group_parts do not belong to their attribute_parts"],
        ),
        (
            _changed(attribute_parts=pl.lit(pl.Series([["race"]])).first()),
            ["of a grouping that is not among the facts"],
        ),
        (fmfair.counts(SMALL).filter(pl.col("attribute") != ""), ["the groups of 'sex' hold more rows than all rows"]),
        (fmfair.counts(SMALL).clear(), ["the table has no rows"]),
        (
            pl.DataFrame({"a": [1]}),
            ["no column 'attribute', 'group'", "and 10 more; expected a table that fmfair.counts made"],
        ),
    ],
)
def test_what_is_no_table_of_counts_is_refused_with_every_reason(table: pl.DataFrame, messages: list[str]) -> None:
    with pytest.raises(fmfair.FmfairError) as refusal:
        fmfair.evaluate_counts(table)

    assert all(message in str(refusal.value) for message in messages), str(refusal.value)


def test_a_file_that_is_no_table_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")

    with pytest.raises(fmfair.FmfairError, match=r"a\.parquet"):
        fmfair.merge_counts(fmfair.counts(SMALL), tmp_path / "a.parquet")


def test_nothing_to_merge_is_refused() -> None:
    with pytest.raises(fmfair.FmfairError, match="at least one table"):
        fmfair.merge_counts()


def test_two_identical_tables_are_pointed_out() -> None:
    notes: list[str] = []
    table = fmfair.counts(SMALL)

    fmfair.merge_counts(table, fmfair.counts({**SMALL, "label": [1, 1, 1, 0]}), table, notes=notes)

    assert notes == ["table 1 and table 3 are identical: are the same patients counted twice?"]


@pytest.mark.parametrize("call", [fmfair.counts, fmfair.merge_counts])
def test_notes_go_to_a_list(call: Any) -> None:
    with pytest.raises(fmfair.FmfairError, match=r"notes=\(\) is no list; give one to which the notes are added"):
        call(SMALL, notes=())
