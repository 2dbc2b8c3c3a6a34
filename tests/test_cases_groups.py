"""Small groups, intersections, dates and codes as attributes, many groups."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from lookup import DOORS, Door, assert_honest, by_group, gap, overall, summary, warned

import fmfair
from fmfair import FmfairError

# Three patients form the worst group.
SMALL_TRUTH = [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1]
SMALL_SCORE = [0.1, 0.8, 0.3, 0.7, 0.2, 0.6, 0.4, 0.5, 0.1, 0.9, 0.45, 0.3, 0.9, 0.2, 0.3]
SMALL_GROUP = [*"xxxxxxyyyyyywww"]


@DOORS
def test_fc43_by_default_every_group_counts_and_shows_its_numbers(door: Door) -> None:
    report = door(SMALL_TRUTH, SMALL_SCORE, SMALL_GROUP)

    assert by_group(report, "auc") == {"w": 0.0, "x": 1.0, "y": pytest.approx(7 / 9)}
    assert by_group(report, "auc", "n") == {"w": 3, "x": 6, "y": 6}
    assert by_group(report, "auc", "n_pos") == {"w": 2, "x": 3, "y": 3}
    assert (gap(report, "auc"), gap(report, "auc", "worst")) == (1.0, 0.0)
    assert gap(report, "auc", column="worst_group") == "w"


@DOORS
def test_fc43_with_a_minimum_the_group_stays_and_is_left_out_of_the_gaps(door: Door) -> None:
    report = door(SMALL_TRUTH, SMALL_SCORE, SMALL_GROUP, min_group_size=5)

    assert by_group(report, "auc") == {"w": 0.0, "x": 1.0, "y": pytest.approx(7 / 9)}
    assert by_group(report, "auc", "in_gaps") == {"w": False, "x": True, "y": True}
    assert gap(report, "auc") == pytest.approx(2 / 9)
    assert gap(report, "auc", "worst") == pytest.approx(7 / 9)
    assert gap(report, "auc", column="n_groups") == 2
    assert [n for n in report.notes if "min_group_size=5: 1 group with 3 rows left out of the gaps: w (n=3)" in n]
    assert summary(report, "worst-auc") == pytest.approx(7 / 9)
    assert overall(report, "auc", "n") == 15


@DOORS
def test_fc43_the_minimum_counts_rows_and_a_group_of_exactly_that_size_counts(door: Door) -> None:
    report = door(SMALL_TRUTH, SMALL_SCORE, SMALL_GROUP, min_group_size=3)

    assert gap(report, "auc") == 1.0


@DOORS
def test_fc43_where_the_minimum_leaves_one_group_there_is_no_gap(door: Door) -> None:
    report = door(SMALL_TRUTH, SMALL_SCORE, [*"xxxxxxyyyyywwww"], min_group_size=6)

    assert gap(report, "auc") is None
    assert gap(report, "auc", column="note") == "1 of 3 groups can be compared (2 below min_group_size)"
    assert_honest(report)


# Two cells whose names are the same when they are joined without care.
CELL_TRUTH = [0, 1, 0, 1, 0, 1, 0, 1]
CELL_SCORE = [0.1, 0.9, 0.2, 0.8, 0.9, 0.1, 0.8, 0.3]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("A & B", "C"), ("A", "B & C")),
        (("1", "11"), ("11", "1")),
        (("", "x"), ("x", "")),
        (("a\\", "b"), ("a", "\\b")),
        (("a\\ & b", "c"), ("a\\", "b & c")),
        (("a \\& b", "c"), ("a & b", "c")),
        (("&", " & "), (" & ", "&")),
        (("x", "x & x"), ("x & x", "x")),
    ],
)
def test_fc44_two_cells_never_merge_whatever_their_names(one: tuple[str, str], other: tuple[str, str]) -> None:
    table = {
        "label": CELL_TRUTH,
        "prob": CELL_SCORE,
        "race": [one[0]] * 4 + [other[0]] * 4,
        "site": [one[1]] * 4 + [other[1]] * 4,
    }

    report = fmfair.evaluate(table, intersections=2)
    features = {"race": table["race"], "site": table["site"]}
    arrays = fmfair.evaluate_arrays(CELL_TRUTH, CELL_SCORE, sensitive_features=features, intersections="all")
    value, _ = warned(fmfair.auc_gap, CELL_TRUTH, CELL_SCORE, sensitive_features=features)
    worst, _ = warned(fmfair.worst_group_auc, CELL_TRUTH, CELL_SCORE, sensitive_features=features)

    cells = report.groups.filter(attribute="race & site", metric="auc")
    found = {tuple(parts): value for parts, value in cells.select("group_parts", "value").iter_rows()}
    assert found == {one: 1.0, other: 0.0}
    assert cells["n"].to_list() == [4, 4]
    assert cells["group"].n_unique() == 2
    assert gap(report, "auc", attribute="race & site") == 1.0
    assert arrays.groups.equals(report.groups)
    # The AUC of the mixture is 0.53125.
    assert (value, worst) == (1.0, 0.0)


def test_fc44_attributes_whose_names_join_alike_are_kept_apart() -> None:
    table = {"y": CELL_TRUTH, "p": CELL_SCORE, "a": [*"uuuuvvvv"], "b & c": [*"xxyyxxyy"], "a & b": [*"uvuvuvuv"]}
    table["c"] = [*"xyxyxyxy"]

    report = fmfair.evaluate(
        table,
        attributes=["a", "b & c", "a & b", "c"],
        intersections=[("a", "b & c"), ("a & b", "c")],
        metrics="auc",
    )

    names = report.groups.filter(pl.col("attribute_parts").list.len() == 2)["attribute"].unique()
    assert len(names) == 2


@pytest.mark.parametrize(
    ("intersections", "expected"),
    [
        (1, ["a", "b", "c"]),
        (2, ["a", "b", "c", "a & b", "a & c", "b & c"]),
        (3, ["a", "b", "c", "a & b", "a & c", "b & c", "a & b & c"]),
        (99, ["a", "b", "c", "a & b", "a & c", "b & c", "a & b & c"]),
        ("all", ["a", "b", "c", "a & b", "a & c", "b & c", "a & b & c"]),
        ([("c", "a")], ["a", "b", "c", "c & a"]),
    ],
)
def test_fc44_intersections_are_those_that_were_asked_for(intersections: Any, expected: list[str]) -> None:
    table = {"y": CELL_TRUTH, "p": CELL_SCORE, "a": [*"uuuuvvvv"], "b": [*"xxyyxxyy"], "c": [*"mnmnmnmn"]}

    report = fmfair.evaluate(table, attributes=["a", "b", "c"], intersections=intersections, metrics="auc")

    assert report.summary["attribute"].to_list() == expected


# Scan dates that are all different, and hospitals coded 1 to 25.
DATE_TRUTH = [0, 1] * 6
DATE_SCORE = [0.2, 0.7, 0.6, 0.5, 0.3, 0.9, 0.1, 0.4, 0.8, 0.3, 0.35, 0.6]
DATES = [date(2023, 1, 5) + timedelta(days=61 * i) for i in range(12)]
DATES_AS = {
    "dates": DATES,
    "datetimes": [datetime(d.year, d.month, d.day, tzinfo=timezone.utc) for d in DATES],
    "text": [str(d) for d in DATES],
    "numbers in text": [str(2.5 * i) for i in range(12)],
    "codes": list(range(12)),
    "decimals": [0.5 + i for i in range(12)],
    "durations": [timedelta(days=i) for i in range(12)],
}


@DOORS
@pytest.mark.parametrize("scans", [pytest.param(v, id=k) for k, v in DATES_AS.items()])
def test_fc58_values_that_nearly_all_differ_are_refused_whatever_their_type(door: Door, scans: list[Any]) -> None:
    with pytest.raises(FmfairError, match=r"nearly every value of 'group' is different \(12 groups for 12 rows"):
        door(DATE_TRUTH, DATE_SCORE, scans)


@DOORS
def test_fc58_years_are_groups(door: Door) -> None:
    report = door(DATE_TRUTH, DATE_SCORE, [d.year for d in DATES])

    assert by_group(report, "auc", "n") == {"2023": 6, "2024": 6}
    assert by_group(report, "auc") == pytest.approx({"2023": 8 / 9, "2024": 5 / 9}, abs=1e-12)
    assert gap(report, "auc") == pytest.approx(1 / 3, abs=1e-12)


@DOORS
def test_fc58_dates_with_several_rows_are_groups_under_their_iso_names(door: Door) -> None:
    days = [date(2024, 3, 7) if i % 2 else date(2023, 12, 31) for i in (0, 0, 1, 1)]

    report = door([0, 1, 0, 1], [0.2, 0.7, 0.6, 0.5], days)

    assert by_group(report, "auc") == {"2023-12-31": 1.0, "2024-03-07": 0.0}


HOSPITAL_TRUTH = [0, 1, 1, 0] * 25
HOSPITAL = [*range(1, 26)] * 4
HOSPITAL_SCORE = [
    *(0.086, 0.237, 0.801, 0.582, 0.094, 0.433, 0.479, 0.16, 0.735, 0.114, 0.391, 0.517, 0.431, 0.587, 0.738),
    *(0.956, 0.284, 0.649, 0.696, 0.293, 0.001, 0.973, 0.298, 0.314, 0.892, 0.585, 0.471, 0.773, 0.03, 0.707),
    *(0.374, 0.091, 0.661, 0.931, 0.207, 0.63, 0.298, 0.742, 0.722, 0.219, 0.83, 0.658, 0.683, 0.82, 0.429, 0.759),
    *(0.878, 0.102, 0.85, 0.394, 0.48, 0.146, 0.698, 0.292, 0.871, 0.275, 0.562, 0.4, 0.613, 0.197, 0.18, 0.747),
    *(0.752, 0.567, 0.921, 0.206, 0.851, 0.169, 0.964, 0.624, 0.607, 0.971, 0.787, 0.79, 0.054, 0.369, 0.085),
    *(0.194, 0.214, 0.859, 0.127, 0.297, 0.493, 0.849, 0.965, 0.708, 0.214, 0.545, 0.706, 0.052, 0.68, 0.368),
    *(0.59, 0.67, 0.669, 0.523, 0.555, 0.198, 0.495, 0.125),
]


@DOORS
def test_fc58_integer_codes_with_several_rows_each_are_groups_in_numeric_order(door: Door) -> None:
    report = door(HOSPITAL_TRUTH, HOSPITAL_SCORE, HOSPITAL)

    assert list(by_group(report, "auc")) == [str(k) for k in range(1, 26)]
    assert by_group(report, "auc")["1"] == 1.0
    assert (gap(report, "auc"), gap(report, "auc", "worst")) == (1.0, 0.0)
    assert [n for n in report.notes if "group: 25 whole numbers were taken as group codes" in n]


@DOORS
def test_fc58_the_published_convention_refuses_them_and_names_the_ways_out(door: Door) -> None:
    with pytest.raises(FmfairError, match=r"looks continuous \(25 distinct values") as error:
        door(HOSPITAL_TRUTH, HOSPITAL_SCORE, HOSPITAL, conventions="fairmedfm")

    assert "bins={" in str(error.value)
    assert "cast it to text" in str(error.value)


@DOORS
def test_fc58_the_same_codes_as_text_are_the_same_groups(door: Door) -> None:
    as_text = door(HOSPITAL_TRUTH, HOSPITAL_SCORE, [str(c) for c in HOSPITAL])

    assert as_text.groups.equals(door(HOSPITAL_TRUTH, HOSPITAL_SCORE, HOSPITAL).groups)


# A registry of 500 sites.
def _registry() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    n = 100_000
    y = rng.integers(0, 2, n)
    score = np.clip(rng.normal(0.4 + 0.2 * y, 0.2), 0, 1)
    return {"label": y, "prob": score, "site": rng.integers(0, 500, n).astype(str)}


def test_fc59_five_hundred_sites_from_memory_and_from_parquet(tmp_path: Path) -> None:
    columns = _registry()
    frame = pl.DataFrame(columns)
    frame.write_parquet(tmp_path / "registry.parquet", row_group_size=7_000)
    expected, worst = 0.19105223248137737, 0.6706498951781971

    from_memory = fmfair.evaluate(frame, metrics="auc")
    from_file = fmfair.evaluate(tmp_path / "registry.parquet", metrics="auc")
    shuffled = fmfair.evaluate(frame.sample(fraction=1, shuffle=True, seed=1), metrics="auc")
    value, _ = warned(fmfair.auc_gap, columns["label"], columns["prob"], sensitive_features=columns["site"])

    for report in (from_memory, from_file, shuffled):
        assert gap(report, "auc") == pytest.approx(expected, abs=1e-9)
        assert gap(report, "auc", "worst") == pytest.approx(worst, abs=1e-9)
        assert report.groups.equals(from_memory.groups)
    assert value == pytest.approx(expected, abs=1e-9)


def test_fc59_the_intersection_has_every_cell_once() -> None:
    rng = np.random.default_rng(0)
    columns = _registry()
    columns["a"], columns["b"] = rng.integers(0, 2, 100_000).astype(str), rng.integers(0, 5, 100_000).astype(str)

    report = fmfair.evaluate(columns, attributes=["a", "b"], intersections="all", metrics=["auc", "bce"])

    cells = report.groups.filter(attribute="a & b", metric="auc")
    assert cells["group"].to_list() == [f"{a} & {b}" for a in range(2) for b in range(5)]
    assert cells["n"].sum() == 100_000


# Site codes 0 to 3 are configured, but this batch holds site 2 and the code -1.
CODE_TRUTH = [0, 1, 0, 1, 1, 0, 0, 1]
CODE_SCORE = [0.3, 0.6, 0.7, 0.8, 0.9, 0.2, 0.5, 0.4]
SITE = [2] * 4 + [-1] * 4
SITES_AS = {
    "ints": SITE,
    "floats": [float(s) for s in SITE],
    "text": [str(s) for s in SITE],
    "int8": pl.Series(SITE, dtype=pl.Int8),
    "Categorical": pl.Series([str(s) for s in SITE], dtype=pl.Categorical),
}


@DOORS
@pytest.mark.parametrize("site", [pytest.param(v, id=k) for k, v in SITES_AS.items()])
def test_fc62_codes_keep_their_identity_and_their_numeric_order(door: Door, site: Any) -> None:
    report = door(CODE_TRUTH, CODE_SCORE, site)

    assert list(by_group(report, "auc")) == ["-1", "2"]
    assert by_group(report, "auc") == {"-1": 0.75, "2": 0.75}
    assert by_group(report, "auc", "n") == {"-1": 4, "2": 4}
    assert gap(report, "auc") == 0.0


@DOORS
def test_fc62_a_declared_code_that_is_absent_is_listed_with_no_rows(door: Door) -> None:
    site = pl.Series([str(s) for s in SITE], dtype=pl.Enum(["-1", "0", "1", "2", "3"]))

    report = door(CODE_TRUTH, CODE_SCORE, site)

    assert by_group(report, "auc", "n") == {"-1": 4, "0": 0, "1": 0, "2": 4, "3": 0}
    assert by_group(report, "accuracy")["0"] is None
    assert by_group(report, "accuracy", "note")["0"] == "no rows"
    assert gap(report, "auc") == 0.0
    assert summary(report, "n_groups") == 2
    assert_honest(report)


def test_fc62_each_piece_alone_files_its_rows_under_its_own_code() -> None:
    for rows, code in ((slice(0, 4), "2"), (slice(4, 8), "-1")):
        report = fmfair.evaluate({"label": CODE_TRUTH[rows], "prob": CODE_SCORE[rows], "site": SITE[rows]})
        assert by_group(report, "auc") == {code: 0.75}
