"""Long tables, one row per sample and attribute, give what the wide table gives."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import polars as pl
import pytest
from lookup import by_group, overall

import fmfair
from fmfair import FmfairError

WIDE = pl.DataFrame(
    {
        "sample_id": ["s1", "s2", "s3", "s4", "s5", "s6"],
        "label": [0, 1, 0, 1, 1, 0],
        "prob": [0.2, 0.9, 0.6, 0.3, 0.7, 0.1],
        "sex": ["F", "F", "M", "M", "M", None],
        "site": ["x", "y", "x", "y", "x", "y"],
    }
)


def _long(wide: pl.DataFrame, *attributes: str) -> pl.DataFrame:
    return wide.unpivot(
        list(attributes),
        index=[c for c in wide.columns if c not in attributes],
        variable_name="attribute",
        value_name="group",
    )


def test_a_long_table_gives_the_report_of_the_wide_one() -> None:
    wide = fmfair.evaluate(WIDE, intersections=2)
    long = fmfair.evaluate(_long(WIDE, "sex", "site"), intersections=2)

    for name in ("summary", "groups", "gaps", "overall"):
        assert long.to_frame(name).equals(wide.to_frame(name)), name
    assert "read as a long table: one row per sample and attribute" in long.notes


def test_each_sample_counts_once_in_the_overall_values() -> None:
    long = fmfair.evaluate(_long(WIDE, "sex", "site"))

    assert overall(long, "auc", "n") == 6


def test_a_long_table_with_by_keys_gives_the_report_of_the_wide_one() -> None:
    models = pl.DataFrame({"model": ["A", "B"], "add": [0.0, 0.05]})
    wide = models.join(WIDE, how="cross").with_columns(prob=pl.col("prob") + pl.col("add")).drop("add")

    long = fmfair.evaluate(_long(wide, "sex", "site"))

    assert long.groups.equals(fmfair.evaluate(wide).groups)


def test_without_a_sample_id_a_long_table_is_an_error() -> None:
    table = _long(WIDE.drop("sample_id"), "sex", "site")

    with pytest.raises(FmfairError, match="name the column that identifies a sample with sample_id="):
        fmfair.evaluate(table)


def test_two_groups_of_one_attribute_are_an_error() -> None:
    table = _long(WIDE, "sex", "site")

    with pytest.raises(FmfairError, match=r"more than one group of the same attribute \(first sample: 's1'"):
        fmfair.evaluate(pl.concat([table, table.head(1)]))


def test_rows_of_a_sample_that_differ_are_an_error() -> None:
    table = _long(WIDE, "sex", "site").with_columns(
        prob=pl.when((pl.col("sample_id") == "s2") & (pl.col("attribute") == "site")).then(0.5).otherwise("prob")
    )

    with pytest.raises(FmfairError, match="the rows of sample 's2' differ in 'label', 'prob'"):
        fmfair.evaluate(table)


def test_an_attribute_with_the_name_of_another_column_is_an_error() -> None:
    table = _long(WIDE, "sex", "site").with_columns(attribute=pl.lit("label"))

    with pytest.raises(FmfairError, match="more than one group of the same attribute"):
        fmfair.evaluate(table)
    with pytest.raises(FmfairError, match="attribute 'label' has the name of another column"):
        fmfair.evaluate(table.unique("sample_id", keep="first", maintain_order=True))


def test_a_long_table_that_names_no_attribute_is_an_error() -> None:
    table = _long(WIDE, "sex", "site").with_columns(attribute=pl.lit(None, dtype=pl.String))

    with pytest.raises(FmfairError, match="names no attribute"):
        fmfair.evaluate(table)


def test_an_empty_long_table_is_an_error() -> None:
    with pytest.raises(FmfairError, match="the table has no rows"):
        fmfair.evaluate(_long(WIDE, "sex", "site").head(0))


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ([1.0, 2.0], {"1", "2"}),
        ([1.5, math.nan], {"1.5"}),
        ([True, False], {"True", "False"}),
        ([date(2024, 5, 1), None], {"2024-05-01"}),
        ([None, None], set()),
    ],
)
def test_groups_have_the_names_of_a_column_of_their_own(groups: list[Any], names: set[str]) -> None:
    wide = WIDE.head(4).drop("sex", "site").with_columns(pl.Series("own", groups * 2))

    long = fmfair.evaluate(_long(wide, "own"))

    assert set(by_group(long, "auc")) == names if names else long.groups.is_empty()
    assert long.groups.equals(fmfair.evaluate(wide, attributes="own").groups)


@pytest.mark.parametrize("name", ["group", "attribute"])
def test_groups_of_a_type_that_cannot_name_any_are_an_error(name: str) -> None:
    table = _long(WIDE, "sex", "site").with_columns(pl.struct("label").alias(name))

    with pytest.raises(FmfairError, match=f"column '{name}' of the long table has the type Struct"):
        fmfair.evaluate(table)


def test_columns_of_a_long_table_may_have_any_name() -> None:
    table = _long(WIDE, "sex", "site").rename({"sample_id": "*", "prob": "^p$"})

    report = fmfair.evaluate(table, sample_id="*", y_score="^p$")

    assert report.groups.equals(fmfair.evaluate(WIDE).groups)


def test_dice_values_may_come_in_a_long_table() -> None:
    wide = WIDE.select("sample_id", "sex", "site", dice="prob")

    long = fmfair.evaluate_segmentation(_long(wide, "sex", "site"))

    assert long.groups.equals(fmfair.evaluate_segmentation(wide).groups)
