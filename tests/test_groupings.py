"""Groupings: which groups there are, in which order, how they are called, and which intersections can be asked for."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lookup import by_group

import fmfair
from fmfair.attributes import Attribute
from fmfair.errors import FmfairError
from fmfair.groupings import Grouping, groupings, join_parts

PARTS = st.text(alphabet="ab& \\", max_size=4)


def report(columns: dict[str, Any], **options: Any) -> fmfair.Report:
    """The report of a table with these attributes, one row after another positive and negative."""
    n = len(next(iter(columns.values())))
    frame = pl.DataFrame({"y": [i % 2 for i in range(n)], "s": [(i * 7 % 10) / 10 for i in range(n)], **columns})
    options = {"metrics": ["accuracy"], "attributes": list(columns), **options}
    return fmfair.evaluate(frame, y_true="y", y_score="s", **options)


def names(found: fmfair.Report, attribute: str) -> list[str]:
    return found.groups.filter(attribute=attribute, metric="accuracy")["group"].to_list()


@given(st.lists(PARTS, min_size=2, max_size=3), st.lists(PARTS, min_size=2, max_size=3))
def test_two_cells_of_one_intersection_never_print_alike(one: list[str], other: list[str]) -> None:
    if len(one) == len(other):
        assert (join_parts(one) == join_parts(other)) == (one == other)


@given(st.lists(PARTS, min_size=2, max_size=3))
def test_parts_without_an_ampersand_print_as_they_are(parts: list[str]) -> None:
    plain = [p.replace("&", "+") for p in parts]
    assert join_parts(plain) == " & ".join(plain)


def test_a_single_attribute_prints_as_it_is() -> None:
    assert join_parts(["A & B \\"]) == "A & B \\"
    assert names(report({"race": ["A & B", "C"]}), "race") == ["A & B", "C"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", "a", "B", "é", "Z"], ["B", "Z", "a", "b", "é"]),
        (["10", "9", "2.5"], ["2.5", "9", "10"]),
        (["10", "9", "2x"], ["10", "2x", "9"]),
        ([10, 9, -3], ["-3", "9", "10"]),
        ([2.5, 10.0, 1.0], ["1", "2.5", "10"]),
        ([True, False], ["False", "True"]),
        ([date(2024, 5, 2), date(2023, 12, 31)], ["2023-12-31", "2024-05-02"]),
        (pl.Series(["mild", "none", "severe"], dtype=pl.Enum(["none", "mild", "severe"])), ["none", "mild", "severe"]),
    ],
)
def test_groups_come_in_their_natural_order(values: Any, expected: list[str]) -> None:
    assert names(report({"a": values}), "a") == expected


def test_bins_come_in_the_order_of_their_edges() -> None:
    found = report({"a": [150, 20, 70, 99, 9, 100]}, bins={"a": [100, 20, 9]})
    assert names(found, "a") == ["<9", "9-20", "20-100", ">=100"]


def test_cells_come_in_the_order_of_their_parts() -> None:
    stage = pl.Series(["low", "high", "low", "high", "low"], dtype=pl.Enum(["low", "high"]))
    found = report({"stage": stage, "k": [10, 9, 9, 10, 2]}, intersections=2)
    assert names(found, "stage & k") == ["low & 2", "low & 9", "low & 10", "high & 9", "high & 10"]
    parts = found.groups.filter(attribute="stage & k")
    assert parts["group_parts"].to_list()[0] == ["low", "2"]
    assert parts["attribute_parts"].to_list()[0] == ["stage", "k"]


def test_levels_that_no_row_has_are_listed_with_nothing() -> None:
    stage = pl.Series(["low", "high", "low", "high"], dtype=pl.Enum(["none", "low", "high"]))
    found = report({"stage": stage, "age": [50, 60, 70, 80]}, bins={"age": [40, 65]}, intersections=2)
    assert by_group(found, "accuracy", "n", attribute="stage") == {"none": 0, "low": 2, "high": 2}
    assert by_group(found, "accuracy", "n", attribute="age") == {"<40": 0, "40-65": 2, ">=65": 2}
    assert by_group(found, "accuracy", "note", attribute="stage")["none"] == "no rows"
    assert by_group(found, "accuracy", "in_gaps", attribute="stage")["none"] is False
    assert names(found, "stage & age") == ["low & 40-65", "low & >=65", "high & 40-65", "high & >=65"]
    assert found.summary["n_groups"].to_list() == [2, 2, 4]


def test_every_by_key_lists_every_level() -> None:
    stage = pl.Series(["low", "low", "high", "high"], dtype=pl.Enum(["none", "low", "high"]))
    found = report({"stage": stage, "model": ["x", "x", "y", "y"]}, attributes="stage", by="model")
    listed = found.groups.select("model", "group", "n").rows()
    assert listed == [
        (m, g, 2 * ((m, g) in {("x", "low"), ("y", "high")})) for m in "xy" for g in ("none", "low", "high")
    ]


def test_a_group_whose_labels_are_all_missing_is_listed_with_nothing() -> None:
    frame = pl.DataFrame({"y": [0, 1, None], "s": [0.1, 0.9, 0.5], "g": ["a", "a", "b"]})
    found = fmfair.evaluate(frame, y_true="y", y_score="s", attributes="g", metrics=["accuracy"])
    assert by_group(found, "accuracy", "n") == {"a": 2, "b": 0}
    assert by_group(found, "accuracy") == {"a": 1.0, "b": None}


def test_a_cell_with_a_missing_part_is_left_out_of_that_intersection_alone() -> None:
    found = report({"a": ["x", "x", "z", None], "b": ["u", None, "u", "u"]}, intersections=2)
    assert by_group(found, "accuracy", "n", attribute="a") == {"x": 2, "z": 1}
    assert by_group(found, "accuracy", "n", attribute="b") == {"u": 3}
    assert by_group(found, "accuracy", "n", attribute="a & b") == {"x & u": 1, "z & u": 1}


ABC = {"a": [*"uuuuvvvv"], "b": [*"xxyyxxyy"], "c": [*"mnmnmnmn"]}


def test_intersections_named_one_by_one_keep_their_order_and_come_once() -> None:
    found = report(ABC, intersections=[("c", "a"), ["a", "b", "c"], ("c", "a")])
    assert found.summary["attribute"].to_list() == ["a", "b", "c", "c & a", "a & b & c"]
    assert names(found, "c & a") == ["m & u", "m & v", "n & u", "n & v"]


@pytest.mark.parametrize(
    ("intersections", "message"),
    [
        ([("a", "d")], r"\('a', 'd'\) must name different attributes among 'a', 'b', 'c'"),
        ([("a", "a")], r"\('a', 'a'\) must name different attributes"),
        ([("a",)], "intersections="),
        (["a & b"], "intersections="),
        ("a & b", "intersections="),
        *((value, "intersections=") for value in (0, -1, True, 1.5, None)),
    ],
)
def test_other_intersections_are_refused(intersections: Any, message: str) -> None:
    with pytest.raises(FmfairError, match=message):
        report(ABC, intersections=intersections)


def test_one_attribute_has_no_intersection_however_many_are_asked_for() -> None:
    assert report({"a": ["x", "y"]}, intersections="all").summary["attribute"].to_list() == ["a"]


def test_more_cells_than_can_be_numbered_are_refused_by_name() -> None:
    many = [Attribute(f"a{i}", f"g{i}", tuple(map(str, range(100))), declared=False) for i in range(7)]
    assert len(groupings(many[:6], "all")) == 2**6 - 1
    with pytest.raises(FmfairError, match=r"'a0 & a1 & a2 & a3 & a4 & a5 & a6' has 1\.0e\+14 possible cells"):
        groupings(many, "all")


@pytest.mark.parametrize("sizes", [(2, 3), (7, 1, 5), (1000, 1000, 1000)])
def test_the_number_of_a_cell_can_be_read_back(sizes: tuple[int, ...]) -> None:
    parts = [Attribute(f"a{i}", f"g{i}", tuple(f"{i}:{k}" for k in range(n)), False) for i, n in enumerate(sizes)]
    grouping = Grouping(tuple(parts))
    corners = [[0] * len(sizes), [n - 1 for n in sizes], [n // 2 for n in sizes]]
    frame = pl.DataFrame(
        {"by": [0, 2, 5], **{p.column: [c[i] for c in corners] for i, p in enumerate(parts)}},
        schema_overrides={"by": pl.UInt32},
    )
    cells = frame.select(cell=grouping.cell())
    read = cells.select(grouping._decoded())
    assert read["by"].to_list() == [0, 2, 5]
    for i, corner in enumerate(zip(*corners, strict=True)):
        assert read[f"part{i}"].to_list() == [f"{i}:{k}" for k in corner]
    numbers = cells["cell"].to_list()
    assert numbers == sorted(numbers)


def test_cells_are_made_of_those_of_a_finer_grouping_only_where_both_have_the_same_rows() -> None:
    sex, site = (Attribute(name, f"g{i}", ("a", "b"), declared=False) for i, name in enumerate(("sex", "site")))
    both, by_sex = Grouping((sex, site)), Grouping((sex,))
    assert by_sex.is_within(both, [])
    assert Grouping().is_within(both, [])
    assert not both.is_within(by_sex, [])
    assert not by_sex.is_within(both, ["g1"])  # rows without a site are in no cell of both
    assert by_sex.is_within(both, ["g0"])
    assert Grouping((), (sex,)).is_within(both, ["g0"])
    assert not Grouping().is_within(both, ["g0"])


def test_by_keys_that_begin_with_a_missing_one_and_come_in_turns() -> None:
    keys = [None, "b", "a", None, "b", "a", "a", None]
    frame = pl.DataFrame({"fold": keys, "y": [0, 1, 0, 1, 0, 1, 0, 1], "s": [0.5] * 8, "sex": ["F", "M"] * 4})
    found = fmfair.evaluate(frame, y_true="y", y_score="s", attributes="sex", by="fold", metrics="accuracy").overall
    assert found.select("fold", "n").rows() == [("a", 3), ("b", 2), (None, 3)]
