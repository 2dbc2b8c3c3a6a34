"""sql/counts.sql, run by DuckDB alone, against the counts that fmfair makes."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from counts_support import random_frame

import fmfair

SQL = (Path(__file__).parents[1] / "sql" / "counts.sql").read_text(encoding="utf-8")


@pytest.fixture
def rows() -> pl.DataFrame:
    return random_frame(40, models=10).select("y", "s", "sex", age=pl.col("tone").cast(pl.String))


def written_by_duckdb(rows: pl.DataFrame, folder: Path, name: str) -> Path:
    """The file that a SQL user writes; nothing of fmfair takes part."""
    connection = duckdb.connect()
    rows.write_parquet(folder / "rows.parquet")
    connection.execute(f"CREATE VIEW predictions AS FROM '{folder}/rows.parquet'")
    connection.execute(
        """CREATE VIEW rows_to_count AS
        SELECT '' AS attribute, '' AS "group", y, s AS p FROM predictions
        UNION ALL SELECT 'sex', sex, y, s FROM predictions WHERE sex IS NOT NULL
        UNION ALL SELECT 'age', age, y, s FROM predictions WHERE age IS NOT NULL"""
    )
    statement = SQL.rstrip().rstrip(";")
    connection.execute(f"COPY ({statement}) TO '{folder}/{name}'")
    return folder / name


@pytest.mark.parametrize("name", ["counts.parquet", "counts.csv"])
def test_the_select_counts_what_fmfair_counts(rows: pl.DataFrame, tmp_path: Path, name: str) -> None:
    found = fmfair.merge_counts(written_by_duckdb(rows, tmp_path, name))

    wanted = fmfair.counts(rows, y_true="y", y_score="s", attributes=["sex", "age"])
    wanted = wanted.filter(pl.col("n") > 0)
    found = found.filter(pl.col("n") > 0)
    assert found.drop("sum_bce").equals(wanted.drop("sum_bce"))
    assert np.allclose(found["sum_bce"].to_numpy(), wanted["sum_bce"].to_numpy(), rtol=1e-12, atol=1e-12)


def test_the_report_follows_from_it_and_it_adds_up_with_counts_of_fmfair(rows: pl.DataFrame, tmp_path: Path) -> None:
    path = written_by_duckdb(rows[::2], tmp_path, "counts.parquet")
    others = fmfair.counts(rows[1::2], y_true="y", y_score="s", attributes=["sex", "age"])

    report = fmfair.evaluate_counts(fmfair.merge_counts(path, others), metrics=["auc", "ece", "tpr"])

    whole = fmfair.counts(rows, y_true="y", y_score="s", attributes=["sex", "age"])
    same = fmfair.evaluate_counts(whole, metrics=["auc", "ece", "tpr"])
    assert report.overall.drop("value", "bound_low", "bound_high").equals(
        same.overall.drop("value", "bound_low", "bound_high")
    )
    assert np.allclose(report.groups["value"].to_numpy(), same.groups["value"].to_numpy(), equal_nan=True)
