"""Counts of PySpark DataFrames: those of Polars and DuckDB, from queries that bring no row to the driver."""

from __future__ import annotations

import datetime
import os
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from counts_support import COLUMNS, random_frame
from polars.testing import assert_frame_equal
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

import fmfair

N = 1_000_000
HOSTILE = ['"; DROP TABLE x; --', "a`b.c", "select", "Größe\n'人'", "*"]
QUIET: dict[str, Any] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no Java; Spark needs version 17 or newer")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = SparkSession.builder.master("local[2]").config(map=QUIET).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        gateway: Any = SparkContext._gateway
        yield session
        session.stop()
    # Java would live on as long as this process.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)
    SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, N)
    scores = rng.beta(1.5 + y, 2.5 - y)
    on_edges = rng.random(N) < 0.2
    scores[on_edges] = rng.integers(0, 4001, on_edges.sum()) / 4000
    age = rng.normal(55, 20, N)
    age[rng.random(N) < 0.01] = np.nan
    frame = pl.DataFrame({"s": scores, "y": y.astype(np.int8), "age": age}).with_columns(
        pl.when(pl.Series(rng.random(N) > 0.001)).then("y").alias("y"),
        model=pl.Series(np.array(["a", "b", "ü"])[rng.integers(0, 3, N)]),
        sex=pl.Series(np.array(["F", "M"])[rng.integers(0, 2, N)]),
        tone=pl.when(pl.Series(rng.random(N) > 0.02)).then(pl.Series(np.array(list("VI"))[rng.integers(0, 2, N)])),
    )
    path = tmp_path_factory.mktemp("million") / "rows.parquet"
    frame.write_parquet(path)
    return path


def in_spark(spark: SparkSession, frame: pl.DataFrame) -> DataFrame:
    return spark.createDataFrame(frame.to_arrow())


def same(one: pl.DataFrame, other: pl.DataFrame, *, logit: bool = False) -> bool:
    """Whether two tables of counts are equal: losses to 1e-12; residuals of a sigmoid to a unit per row."""
    if not np.allclose(one["sum_bce"].to_numpy(), other["sum_bce"].to_numpy(), rtol=1e-12, atol=0.0):
        return False
    sums = ["sum_r", "sum_r_pos", "sum_rr"] if logit else []
    units = max((int((abs(one[c] - other[c]) - one["n"]).max()) for c in sums), default=0)  # type: ignore[arg-type]
    return units <= 0 and one.drop("sum_bce", *sums).equals(other.drop("sum_bce", *sums))


def test_a_million_rows_are_counted_alike_by_spark_polars_and_duckdb(spark: SparkSession, million: Path) -> None:
    found = fmfair.counts(spark.read.parquet(str(million)), **COLUMNS, intersections=2, grid=1000)

    in_polars = fmfair.counts(pl.scan_parquet(million), **COLUMNS, intersections=2, grid=1000)
    in_duckdb = fmfair.counts(duckdb.connect().read_parquet(str(million)), **COLUMNS, intersections=2, grid=1000)
    assert found.filter(pl.col("attribute") == "")["n"].sum() > 0.99 * N
    assert same(found, in_polars)
    assert same(found, in_duckdb)
    report, truth = fmfair.evaluate_counts(found), fmfair.evaluate_counts(in_polars)
    for which in ("groups", "gaps", "overall"):
        assert_frame_equal(report.to_frame(which), truth.to_frame(which), rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("logit", [False, True])
def test_missing_values_edges_and_small_groups(spark: SparkSession, logit: bool) -> None:
    frame = random_frame(50, models=6, logit=logit).with_columns(pl.col("tone").cast(pl.String))

    found = fmfair.counts(in_spark(spark, frame), **COLUMNS, intersections=3)

    assert same(found, fmfair.counts(frame, **COLUMNS, intersections=3), logit=logit)


@pytest.mark.parametrize(
    "options", [{"suppress_below": 5}, {"bins": None}, {"missing_groups": "keep", "missing_values": ["F & M"]}]
)
def test_what_happens_after_counting_is_the_same(spark: SparkSession, options: dict[str, Any]) -> None:
    frame = random_frame(51, models=3).drop("tone")
    columns = {**COLUMNS, "attributes": ["sex", "age"], **options}
    notes: list[str] = []
    notes_of_polars: list[str] = []

    found = fmfair.counts(in_spark(spark, frame), **columns, notes=notes)

    assert same(found, fmfair.counts(frame, **columns, notes=notes_of_polars))
    assert notes == notes_of_polars


def test_scores_that_cannot_be_used_are_left_out(spark: SparkSession) -> None:
    scores = [0.1, None, float("inf"), float("nan"), 1.0]
    frame = pl.DataFrame({"y": [0, 1, 1, 0, 1], "s": scores, "sex": ["F", "F", "M", "M", None]})
    notes: list[str] = []

    with pytest.raises(fmfair.FmfairError, match=r"3 scores that cannot be used: 2 missing .* and 1 infinite"):
        fmfair.counts(in_spark(spark, frame), y_true="y", y_score="s")
    found = fmfair.counts(in_spark(spark, frame), y_true="y", y_score="s", missing_scores="drop", notes=notes)

    assert same(found, fmfair.counts(frame, y_true="y", y_score="s", missing_scores="drop"))
    assert any("3 rows with 2 missing (NULL or NaN) and 1 infinite in 's' left out" in note for note in notes)


def test_hostile_names_pass_unharmed(spark: SparkSession) -> None:
    data = {name: ["a", "b", name, None] for name in HOSTILE}
    frame = pl.DataFrame({**data, "y.`'": [0, 1, 1, 0], 's"': [0.1, 0.2, 0.3, 0.4], 'S"': [None] * 4})
    columns: dict[str, Any] = {"y_true": "y.`'", "y_score": 's"', "attributes": HOSTILE[1:], "by": HOSTILE[:1]}

    found = fmfair.counts(in_spark(spark, frame), **columns)

    assert same(found, fmfair.counts(frame, **columns))


def test_columns_of_every_type(spark: SparkSession) -> None:
    day, noon = datetime.date(2024, 2, 1), datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)
    frame = pl.DataFrame(
        {
            "text": ["pos", "neg", "pos", None, "unsure"],
            "s": pl.Series(["0.10", "0.25", "0.00", "1.00", "0.99"]).cast(pl.Decimal(5, 2)),
            "truth": [True, False, None, True, True],
            "day": [day, day.replace(year=2023), None, day, day],
            "noon": [noon, noon.replace(hour=1), noon, noon, None],
            "amount": [Decimal("1.50"), Decimal("10.00"), Decimal("1.50"), None, Decimal("9.00")],
            "code": pl.Series([1, 10, 9, None, -1], dtype=pl.Int16),
            "site": pl.Series([1.5, float("nan"), None, 2.0, 2.0], dtype=pl.Float32),
        }
    )
    columns: dict[str, Any] = {
        "y_true": "text",
        "positive": "pos",
        "ignore": ["unsure"],
        "y_score": "s",
        "attributes": ["truth", "day", "noon", "code", "site"],
        "by": "amount",
    }

    found = fmfair.counts(in_spark(spark, frame), **columns)

    assert same(found, fmfair.counts(frame, **columns))
    assert set(found["group"]) >= {"True", "2023-02-01", "2024-02-29T12:00:00+00:00", "9", "1.5"}


@pytest.mark.parametrize("labels", [[True, False, True], [1.0, 0.0, float("nan")], [Decimal(1), Decimal(0), None]])
def test_labels_of_every_type(spark: SparkSession, labels: list[Any]) -> None:
    frame = pl.DataFrame({"y": labels, "s": pl.Series([1, 0, 1], dtype=pl.Int8), "sex": ["F", "M", "F"]})

    found = fmfair.counts(in_spark(spark, frame), y_true="y", y_score="s")

    assert same(found, fmfair.counts(frame, y_true="y", y_score="s"))


def brings_rows(frame: DataFrame) -> bool:
    """Whether the plan of a query could hand out rows of a table: neither groups and sums of them, nor no row."""
    jdf: Any = frame._jdf
    node = jdf.queryExecution().optimizedPlan()
    while node.nodeName() in ("Project", "GlobalLimit", "LocalLimit"):
        node = node.child()
    return not (node.nodeName() == "Aggregate" or "<empty>" in node.toString())


def test_no_prediction_row_is_brought_to_the_driver(
    spark: SparkSession, million: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = spark.read.parquet(str(million)).limit(N // 10)
    assert brings_rows(rows.select("s").limit(10))
    assert brings_rows(rows.filter("s > 0.5"))
    seen: list[tuple[bool, int]] = []
    to_arrow = type(rows).toArrow

    def watched(frame: DataFrame) -> Any:
        table = to_arrow(frame)
        seen.append((brings_rows(frame), table.num_rows))
        return table

    def forbidden(*_: Any, **__: Any) -> None:
        pytest.fail("rows are taken on another way than toArrow")

    monkeypatch.setattr(type(rows), "toArrow", watched)
    for other in ("collect", "toPandas", "toLocalIterator", "__arrow_c_stream__", "tail", "rdd", "foreach", "write"):
        monkeypatch.setattr(type(rows), other, forbidden)

    table = fmfair.counts(rows, **COLUMNS, intersections=2, grid=20, suppress_below=10)

    assert not any(brings for brings, _ in seen)
    assert len(seen) >= 4
    assert sum(height for _, height in seen) < 10_000
    assert table.filter(pl.col("attribute") == "")["n"].sum() > 0.09 * N


@pytest.mark.parametrize(
    ("select", "options", "message"),
    [
        ("id % 2 AS y, 'x' AS s", {}, "y_score: column 's' has the type String, expected numbers; cast it first"),
        ("id % 2 AS y, 0.5D AS s", {"y_score": "S"}, "no column 'S'"),
        ("id % 2 AS y, 1 / (id - 3) AS s", {}, r"cannot count the rows: \[DIVIDE_BY_ZERO\] Division by zero"),
        ("id % 2 AS y, 0.5D AS s, id AS code", {"attributes": "code"}, "'code' looks continuous .50000 distinct"),
        ("id % 2 AS y, 0.5D AS s, 'p' || id AS p", {"attributes": "p"}, "nearly every value of 'p' is different"),
        ("id AS y, 0.5D AS s", {}, "column 'y' has more than 10,000 different values"),
        ("id % 2 AS y, 1 AS y, 0.5D AS s", {}, "more than one column named 'y'"),
        ("id % 2 AS y, 0.5D AS s, array(1) AS l", {"attributes": "l"}, "'l' has the type List.*cannot name groups"),
        ("id % 2 AS y, 0.5D AS s, INTERVAL '1' MONTH AS m", {}, "cannot read the table: .*YearMonthInterval"),
    ],
)
def test_errors_are_one_clear_line(spark: SparkSession, select: str, options: dict[str, Any], message: str) -> None:
    rows = spark.range(50_000).selectExpr(*select.split(", "), "'F' AS sex")

    with pytest.raises(fmfair.FmfairError, match=message) as found:
        fmfair.counts(rows, **{"y_true": "y", "y_score": "s", "attributes": "sex", **options})

    assert "\n" not in str(found.value)


def test_a_file_that_is_gone_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    random_frame(52, models=1).write_parquet(path)
    rows = spark.read.parquet(str(path))
    path.unlink()

    with pytest.raises(fmfair.FmfairError, match=r"cannot count the rows: .*rows.parquet does not exist$"):
        fmfair.counts(rows, **{**COLUMNS, "attributes": ["sex"], "bins": None})


def test_the_plain_select_runs_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    sql = (Path(__file__).parents[1] / "sql" / "counts.sql").read_text(encoding="utf-8")
    frame = random_frame(53, models=10).select("y", "s", "sex", age=pl.col("tone").cast(pl.String))
    in_spark(spark, frame).createOrReplaceTempView("predictions")
    spark.sql(
        """CREATE OR REPLACE TEMP VIEW rows_to_count AS
        SELECT '' AS attribute, '' AS `group`, y, s AS p FROM predictions
        UNION ALL SELECT 'sex', sex, y, s FROM predictions WHERE sex IS NOT NULL
        UNION ALL SELECT 'age', age, y, s FROM predictions WHERE age IS NOT NULL"""
    )

    spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    try:
        spark.sql(sql).write.parquet(str(tmp_path / "counts"))
    finally:
        spark.conf.unset("spark.sql.ansi.doubleQuotedIdentifiers")

    found = fmfair.merge_counts(tmp_path / "counts")
    wanted = fmfair.counts(frame, y_true="y", y_score="s", attributes=["sex", "age"])
    assert same(found.filter(pl.col("n") > 0), wanted.filter(pl.col("n") > 0))
