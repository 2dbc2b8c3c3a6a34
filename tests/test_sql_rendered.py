"""What `sql/` holds of the registry: rendered anew it is the same text, and it computes what the registry says."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import polars as pl
import pytest
import sqlfluff
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from sql_tables import SQL, rows, run

from fmfair.metrics.formula import to_expr, to_sql
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import CLASSIFICATION, requested
from fmfair.metrics.to_sql import RENDERED, requested_table

RATES = [m for m in CLASSIFICATION if m.at_threshold]
CONFUSION: dict[str, Any] = {
    "cell": pl.Int32,
    "t": pl.Int64,
    "threshold": pl.Float64,
    "why": pl.String,
    **dict.fromkeys(("tp", "fp", "fn", "tn"), pl.Float64),
    "n_pred_pos": pl.Int64,
}
SHELL = duckdb.connect(config={"threads": 1})  # one for all, since opening it takes longer than what is asked of it
TALLIES = {"cell": pl.Int32, "n": pl.Int64, "n_pos": pl.Int64, "sum_p": pl.Float64}


@pytest.mark.parametrize("name", RENDERED)
def test_rendered_anew_a_file_is_the_same_byte_for_byte(name: str) -> None:
    assert (SQL / name).read_bytes() == RENDERED[name]().encode()


@pytest.mark.parametrize("name", RENDERED)
def test_a_rendered_file_is_formatted_like_those_written_by_hand(name: str) -> None:
    found = sqlfluff.lint(RENDERED[name](), dialect="duckdb", config_path=str(SQL.parent / "pyproject.toml"))

    assert found == []


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("tp", "tp"),
        ("(tp + fn) * fp", "(tp + fn) * fp"),
        ("tp - (fn - fp)", "tp - (fn - fp)"),
        ("tp / (fn / fp)", "tp / (fn / fp)"),
        ("sqrt((tp + fn) * 4)", "sqrt((tp + fn) * 4)"),
        ("log(tp - log(fp))", "ln(tp - ln(fp))"),
        ("n - 1e-100", "n - 1e-100"),
    ],
)
def test_a_formula_is_the_same_arithmetic_in_sql(formula: str, expected: str) -> None:
    counts = pl.DataFrame({"tp": [3.0], "fn": [1.0], "fp": [2.0], "n": [7.0]})

    assert to_sql(formula) == expected
    with duckdb.connect() as connection:
        connection.register("counts", counts.to_arrow())
        found = connection.execute(f"SELECT {to_sql(formula)} FROM counts").fetchall()

    assert found == [(pytest.approx(counts.select(to_expr(formula)).item(), rel=1e-15),)]


@pytest.mark.parametrize("formula", ["tp ** 2", "'; DROP TABLE x; --'", "exp(tp)", "tp if fn else fp", "true + True"])
def test_no_other_text_becomes_sql(formula: str) -> None:
    with pytest.raises(ValueError, match="a formula may not hold"):
        to_sql(formula)


def test_the_registry_in_sql_says_what_that_in_python_says() -> None:
    with duckdb.connect() as connection:
        run(connection, "metrics")
        found = rows(connection, "FROM registry")

    assert found["metric"].to_list() == [m.name for m in CLASSIFICATION]
    for row, metric in zip(found.iter_rows(named=True), CLASSIFICATION, strict=True):
        assert (row["family"], row["direction"], row["denominator"]) == (
            metric.family,
            metric.direction,
            metric.denominator,
        )
        assert (row["is_default"], row["needs_probability"]) == (metric.default, metric.needs_probability)
        assert row["signed"] == (metric.low is None or metric.low < 0)
        for shown, end in ((row["smallest"], metric.low), (row["largest"], metric.high)):
            assert shown == (None if end is None else pytest.approx(end, abs=1e-4))


def test_the_registry_in_sql_holds_what_asks_for_a_metric() -> None:
    asked = requested_table(CLASSIFICATION)

    with duckdb.connect() as connection:
        run(connection, "metrics")
        found = rows(connection, "FROM registry").select(asked.columns)

    assert found.equals(asked)


def test_parameters_are_those_asked_for() -> None:
    area = "partial_auc(tpr=(0.8, 1), corrected=False)"

    table = requested_table(requested([area, "tpr_at_fpr(0.25)", "ece(7, norm='rms')", "ece_quantile", "f1"]))

    assert table.rows() == [
        (0, area, "partial_auc", 0.8, 1.0, "tpr", False, None, None, None),
        (1, "tpr_at_fpr(0.25)", "tpr_at_fpr", None, 0.25, None, None, None, None, None),
        (2, "ece(bins=7, norm='rms', strategy='uniform')", "ece", None, None, None, None, 7, "rms", "uniform"),
        (3, "ece_quantile", "ece", None, None, None, None, 10, "absolute", "quantile"),
        (4, "f1", "f1", None, None, None, None, None, None, None),
    ]


def in_sql(tally: pl.DataFrame, confusion: pl.DataFrame, metrics: list[Metric], stem: str) -> pl.DataFrame:
    """A rendered file on counts made by hand."""
    tables = {"tallies": tally, "confusion": confusion, "requested": requested_table(metrics)}
    for name, frame in tables.items():
        SHELL.register(name, frame.to_arrow())
    run(SHELL, stem)
    return rows(SHELL, f"FROM {stem} ORDER BY ALL")


def confusion_rows(counts: list[tuple[float, float, float, float]], threshold: float | None) -> pl.DataFrame:
    """A cell per confusion matrix."""
    data = [(i, 0, threshold, None, *c, round(c[0] + c[1])) for i, c in enumerate(counts)]
    return pl.DataFrame(data, CONFUSION, orient="row")


def tally_rows(counts: list[tuple[float, float, float, float]]) -> pl.DataFrame:
    data = [(i, round(sum(c)), round(c[0] + c[2]), 0.5) for i, c in enumerate(counts)]
    return pl.DataFrame(data, TALLIES, orient="row")


def test_a_rate_of_a_matrix_computed_by_hand() -> None:
    counts = [(3.0, 1.0, 2.0, 4.0)]

    found = in_sql(tally_rows(counts), confusion_rows(counts, 0.2), RATES, "rates")

    values = dict(zip([m.name for m in RATES], found["value"].to_list(), strict=True))
    assert found["reason"].null_count() == len(RATES)
    assert values == {
        "accuracy": 0.7,
        "balanced_accuracy": 0.7,
        "tpr": 0.6,
        "tnr": 0.8,
        "fpr": 0.2,
        "fnr": 0.4,
        "ppv": 0.75,
        "npv": pytest.approx(2 / 3),
        "f1": pytest.approx(2 / 3),
        "mcc": pytest.approx(10 / math.sqrt(4 * 6 * 5 * 5)),
        "selection_rate": 0.4,
        "lr_positive": pytest.approx(3.0),
        "lr_negative": 0.5,
        "net_benefit": pytest.approx(0.3 - 0.1 * 0.25),
        "tp": 3.0,
        "fp": 1.0,
        "fn": 2.0,
        "tn": 4.0,
    }


def test_only_the_rates_asked_for_are_computed() -> None:
    counts = [(3.0, 1.0, 2.0, 4.0)]

    found = in_sql(tally_rows(counts), confusion_rows(counts, 0.2), list(requested(["auc", "tnr", "tpr"])), "rates")

    assert found.select("position", "value").rows() == [(1, 0.8), (2, 0.6)]


AMOUNTS = st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0, 7.0, 1000.0, 1e9])


@examples(40)
@given(
    counts=st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS), min_size=1, max_size=4),
    threshold=st.sampled_from([0.0, 0.3, 1.0, 1.5, None]),
)
def test_every_rate_and_reason_is_that_of_the_registry(
    counts: list[tuple[float, float, float, float]], threshold: float | None
) -> None:
    tally, confusion = tally_rows(counts), confusion_rows(counts, threshold)

    found = in_sql(tally, confusion, RATES, "rates")

    table = confusion.join(tally, on="cell").with_columns(n_neg=pl.col("n") - pl.col("n_pos"))
    table = table.with_columns(n_pred_neg=pl.col("n") - pl.col("n_pred_pos"))
    for position, metric in enumerate(RATES):
        value = pl.when(metric.defined()).then(to_expr(str(metric.formula)))
        expected = table.select("cell", reason=metric.reason(), value=value).sort("cell")
        mine = found.filter(position=position).sort("cell")
        assert mine["reason"].to_list() == expected["reason"].to_list(), metric.name
        assert mine["value"].to_list() == [
            None if v is None else pytest.approx(v, rel=1e-14, abs=1e-14) for v in expected["value"]
        ], metric.name


@pytest.mark.parametrize("amount", [5e-324, 1e-320, 1e-200, 1e300, 1.7e308])
def test_weights_at_the_ends_of_the_range_end_in_numbers_not_in_errors(amount: float) -> None:
    counts = [(amount, amount, amount, amount)]
    tally = pl.DataFrame([(0, 4, 2, amount)], TALLIES, orient="row")
    confusion = pl.DataFrame([(0, 0, 0.5, None, *counts[0], 2)], CONFUSION, orient="row")

    found = in_sql(tally, confusion, RATES, "rates")

    assert found["value"].null_count() == 0
    for position, metric in enumerate(RATES):
        expected = confusion.select(to_expr(str(metric.formula))).item()
        value = found.filter(position=position)["value"].item()
        assert math.isfinite(value) == math.isfinite(expected), metric.name
        assert not math.isfinite(value) or value == pytest.approx(expected, rel=1e-14), metric.name


def test_an_undefined_threshold_is_the_first_reason() -> None:
    tally = pl.DataFrame([(0, 5, 0, 0.0)], TALLIES, orient="row")
    confusion = pl.DataFrame([(0, 1, None, "no positives found", *[None] * 5)], CONFUSION, orient="row")

    found = in_sql(tally, confusion, RATES, "rates")

    assert set(found["reason"]) == {"no positives found"}
    assert found["value"].null_count() == len(RATES)


@pytest.mark.parametrize(
    ("tally", "metric", "reason"),
    [
        ((0, 0, 0, 0.0), "bce", "no rows"),
        ((0, 0, 0, 0.0), "ece(bins=3)", "no rows"),
        ((0, 0, 0, 0.0), "observed_expected", "no rows"),
        ((0, 3, 1, 0.0), "observed_expected", "all scores are 0"),
        ((0, 3, 1, 1e-101), "observed_expected", "all scores are 0"),
        ((0, 3, 1, 1e-99), "observed_expected", None),
        ((0, 3, 0, 1.0), "auc", "no positives"),
        ((0, 3, 3, 1.0), "partial_auc(fpr=(0, 0.2))", "no negatives"),
        ((0, 0, 0, 0.0), "calibration_slope", "no positives"),
        ((0, 3, 1, 1.0), "calibration_slope", None),
    ],
)
def test_the_first_unmet_need_is_the_reason(tally: tuple[Any, ...], metric: str, reason: str | None) -> None:
    counted = pl.DataFrame([tally], TALLIES, orient="row")

    found = in_sql(counted, confusion_rows([], None), list(requested([metric])), "reasons")

    assert found.rows() == [(0, 0, reason)]


def test_every_metric_is_in_one_of_the_two_files() -> None:
    tally = pl.DataFrame([(0, 3, 1, 1.0)], TALLIES, orient="row")
    metrics = list(CLASSIFICATION)

    plain = in_sql(tally, confusion_rows([], None), metrics, "reasons")["position"].to_list()
    rated = in_sql(tally, confusion_rows([(1.0, 0.0, 0.0, 2.0)], 0.5), metrics, "rates")["position"].to_list()

    assert sorted(plain + rated) == list(range(len(metrics)))
