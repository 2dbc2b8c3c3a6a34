"""Formulas: text that becomes an expression, and nothing but arithmetic."""

from __future__ import annotations

import polars as pl
import pytest

from fmfair.metrics.formula import names, to_expr

COUNTS = pl.DataFrame({"tp": [3, 0], "fn": [1, 0], "fp": [2, 5]})


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("tp", 3.0),
        ("tp + fn * fp", 5.0),
        ("(tp + fn) * fp", 8.0),
        ("tp - fn - fp", 0.0),
        ("tp / (tp + fn)", 0.75),
        ("sqrt((tp + fn) * 4)", 4.0),
        ("log(tp - fp)", 0.0),
        ("1 - 0.5 * fn", 0.5),
    ],
)
def test_a_formula_is_arithmetic_on_columns(formula: str, expected: float) -> None:
    assert COUNTS.head(1).select(to_expr(formula)).item() == expected


@pytest.mark.parametrize("dtype", [pl.UInt32, pl.UInt8, pl.Int64, pl.Float32])
def test_counts_of_any_type_are_widened_before_anything(dtype: pl.DataType) -> None:
    frame = COUNTS.head(1).select(pl.all().cast(dtype))

    value = frame.select(to_expr("tp - fp - fp"))

    assert value.dtypes == [pl.Float64]
    assert value.item() == -1.0


def test_a_name_stands_for_what_is_given_else_for_the_column() -> None:
    assert COUNTS.head(1).select(to_expr("tp / t", {"t": pl.lit(2)})).item() == 1.5


def test_names_are_those_of_counts_not_of_functions() -> None:
    assert names("sqrt(tp * tn) - log(n) + 2") == {"tp", "tn", "n"}


@pytest.mark.parametrize(
    "formula",
    ["tp ** 2", "tp > 1", "-tp", "exp(tp)", "tp.sum()", "'a'", "tp if fn else fp", "[tp]", "abs"[:0] + "max(tp, fn)"],
)
def test_anything_else_is_refused(formula: str) -> None:
    with pytest.raises(ValueError, match="a formula may not hold"):
        to_expr(formula)


def test_true_is_no_number() -> None:
    with pytest.raises(ValueError, match="a formula may not hold 'True'"):
        to_expr("tp + True")
