"""Groups that the published package fairmedfm 0.4.2 misreads or cannot take: what it does, and what fmfair does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairmedfm_support import (
    AB,
    LABELS,
    SCORES,
    approx,
    assert_same,
    groups_of,
    groups_of_package,
    numbers_of,
    ours,
    ours_scalar,
    theirs,
    theirs_scalar,
)

from fmfair import FmfairError

NAN = float("nan")
AGES = [30, 30, 50, 50] * 2


def test_a_cut_point_given_twice_crashes_there_and_counts_once_here() -> None:
    with pytest.raises(ValueError, match="Bin edges must be unique"):
        theirs(LABELS, SCORES, {"age": AGES}, bins={"age": [40, 40]})
    report = ours(LABELS, SCORES, {"age": AGES}, bins={"age": [40, 40]})
    assert_same(report, theirs(LABELS, SCORES, {"age": AGES}, bins={"age": [40]}))


def test_bins_that_print_alike_with_four_digits_crash_there_and_are_an_error_here() -> None:
    bins = {"age": [40.00001, 40.00002, 40.00003]}
    with pytest.raises(ValueError, match="labels must be unique"):
        theirs(LABELS, SCORES, {"age": AGES}, bins=bins)
    with pytest.raises(FmfairError, match="print alike; use conventions='standard'"):
        ours(LABELS, SCORES, {"age": AGES}, bins=bins)


def test_the_text_40_is_cut_at_4_and_0_there() -> None:
    ages = {"age": [-1, 2, 30, 30] * 2}
    assert groups_of_package(theirs(LABELS, SCORES, ages, bins={"age": "40"})) == ["<0", "0-4", ">=4"]
    with pytest.raises(FmfairError, match=r"must be cut points such as \[40, 60\]"):
        ours(LABELS, SCORES, ages, bins={"age": "40"})


def test_quantiles_of_infinite_values_crash_there() -> None:
    ages = {"age": [30, 30, 50, np.inf] * 2}
    with pytest.raises(ValueError, match="Bin edges must be unique"):
        theirs(LABELS, SCORES, ages, bins={"age": 4})
    with pytest.raises(FmfairError, match="infinite values have no quantiles"):
        ours(LABELS, SCORES, ages, bins={"age": 4})
    # Two quantile groups have a finite edge, and then infinity is in no bin, as with cut points.
    assert_same(ours(LABELS, SCORES, ages, bins={"age": 2}), theirs(LABELS, SCORES, ages, bins={"age": 2}))


def test_quantiles_of_nothing_crash_there() -> None:
    ages = {"age": [NAN] * 8, "site": AB}
    with pytest.raises(IndexError):
        theirs(LABELS, SCORES, ages, bins={"age": 4})
    with pytest.raises(FmfairError, match="no value to take quantiles of"):
        ours(LABELS, SCORES, ages, bins={"age": 4})


INVALID_BINS: dict[str, tuple[list[Any], Any]] = {
    "no cut point": (AGES, []),
    "one quantile group": (AGES, 1),
    "text": (AB, [40]),
    "an infinite cut point": (AGES, [40, np.inf]),
}


@pytest.mark.parametrize(("values", "bins"), INVALID_BINS.values(), ids=INVALID_BINS)
def test_invalid_bins_are_an_error_in_both(values: list[Any], bins: Any) -> None:
    with pytest.raises(ValueError, match=r"bin|Bin"):
        theirs(LABELS, SCORES, {"age": values}, bins={"age": bins})
    with pytest.raises(FmfairError, match="age"):
        ours(LABELS, SCORES, {"age": values}, bins={"age": bins})


def test_bins_of_an_unknown_attribute_and_an_unbinned_measurement_are_errors_in_both() -> None:
    for run, error in ((theirs, ValueError), (ours, FmfairError)):
        with pytest.raises(error, match=r"bins.*agee"):
            run(LABELS, SCORES, {"age": AGES}, bins={"agee": [40]})
        with pytest.raises(error, match="'age' looks continuous"):
            run(LABELS * 3, SCORES * 3, {"age": list(range(24))})


def test_names_that_join_to_the_same_text_crash_its_intersections() -> None:
    parts = {"drug": ["A & B"] * 2 + ["A"] * 2 + ["A & B"] * 2 + ["A"] * 2, "dose": ["C"] * 2 + ["B & C"] * 2}
    parts["dose"] *= 2
    with pytest.raises(ValueError, match="categories must be unique"):
        theirs(LABELS, SCORES, parts, intersectional=True)
    report = ours(LABELS, SCORES, parts, intersections="all")
    assert groups_of(report, "drug & dose") == [r"A & B \& C", r"A \& B & C"]


def test_an_ampersand_in_a_part_is_marked_in_the_name_of_an_intersection_and_the_numbers_are_the_same() -> None:
    parts = {"drug": ["a & b", "a & b", "c", "c"] * 2, "site": AB}
    found = numbers_of(ours(LABELS, SCORES, parts, intersections="all"))
    reference = theirs(LABELS, SCORES, parts, intersectional=True)
    for site in "ab":
        auc = reference.by_group.loc[("drug & site", f"a & b & {site}"), "auc"]
        assert found["group", "drug & site", rf"a \& b & {site}", "auc"] == approx(auc)


def test_groups_that_read_as_one_number_come_in_the_order_of_their_text_here() -> None:
    # The package goes by float("1") == float("1.0") and float("nan"): the hash of the text decides, run by run.
    group = ["1.0", "1.0", "nan", "nan", "1", "1", "-2", "-2"]
    assert set(groups_of_package(theirs(LABELS, SCORES, group))) == set(group)
    assert groups_of(ours(LABELS, SCORES, group)) == ["-2", "1", "1.0", "nan"]


def test_a_polars_frame_loses_the_names_of_its_columns_there() -> None:
    frame = pl.DataFrame({"site": AB})
    assert list(theirs(LABELS, SCORES, frame).summary.index) == ["sensitive_0"]
    assert ours(LABELS, SCORES, frame).summary["attribute"].to_list() == ["site"]


def test_a_polars_enum_loses_the_order_of_its_levels_there() -> None:
    dose = pl.Series(["lo", "lo", "hi", "hi"] * 2, dtype=pl.Enum(["lo", "hi"]))
    assert groups_of_package(theirs(LABELS, SCORES, {"dose": dose})) == ["hi", "lo"]
    assert groups_of(ours(LABELS, SCORES, {"dose": dose}), "dose") == ["lo", "hi"]


def test_a_date_is_named_without_the_time_here() -> None:
    dates = np.array(["2020-01-01", "2020-01-01", "2021-01-01", "2021-01-01"] * 2, dtype="datetime64[D]")
    assert groups_of_package(theirs(LABELS, SCORES, dates)) == ["2020-01-01 00:00:00", "2021-01-01 00:00:00"]
    assert groups_of(ours(LABELS, SCORES, dates)) == ["2020-01-01", "2021-01-01"]


# Pairing of inputs


def test_pandas_inputs_with_the_same_index_labels_in_another_order_pair_by_label_in_both() -> None:
    index = pd.Index(list("hgfedcba"))
    group = pd.Series(list("aabbaabb"), index=index)
    arguments = (pd.Series(LABELS, index=index), pd.Series(SCORES, index=index), group.iloc[[3, 1, 2, 0, 7, 6, 5, 4]])
    report = ours(*arguments)
    assert_same(report, theirs(*arguments))
    assert any("paired by label" in note for note in report.notes)


def test_a_shuffled_default_index_is_an_error_in_both() -> None:
    for run, error in ((theirs, ValueError), (ours, FmfairError)):
        with pytest.raises(error, match=r"it is unclear wh.*\.to_numpy\(\)"):
            run(pd.Series(LABELS), SCORES, pd.Series(AB).iloc[::-1])


def test_index_labels_that_only_overlap_pair_by_position_there_and_are_an_error_here() -> None:
    shifted = pd.Series(AB, index=range(1, 9))
    assert theirs_scalar("auc_gap", pd.Series(LABELS), SCORES, sensitive_features=shifted) == 0.25
    with pytest.raises(FmfairError, match="7 of the 8 index labels"):
        ours_scalar("auc_gap", pd.Series(LABELS), SCORES, sensitive_features=shifted)


@pytest.mark.parametrize("arguments", [([], [], []), (LABELS, SCORES[:7], AB), (LABELS, SCORES, AB[:7])])
def test_no_rows_and_different_lengths_are_errors_in_both(arguments: tuple[list[Any], ...]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - three different messages, one of them NumPy's own
        theirs(*arguments)
    with pytest.raises(FmfairError, match=r"no samples|lengths differ"):
        ours(*arguments)
