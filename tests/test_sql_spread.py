"""Spread in DuckDB: the same facts of every value as in Polars, of rows, weights and patients."""

from __future__ import annotations

import math
import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from property_tests import unshrunk
from random_tables import tables

import fmfair
from fmfair.spread import FACTS, with_spread

KEY = ["grouping", "cell", "order", "t"]


MODES: dict[str, dict[str, Any]] = {
    "rows": {},
    "weights": {"weight": "w"},
    "patients": {"cluster": "unit"},
    "both": {"weight": "w", "cluster": "unit"},
}


class Seen(Exception):  # noqa: N818 - it is no error
    """Carries the long table out of an evaluation, of which no more is looked at."""


def long_of(frame: pl.DataFrame, engine: str, **arguments: Any) -> pl.DataFrame:
    """The long table of an engine."""

    def spy(*given: Any) -> pl.DataFrame:
        raise Seen(with_spread(*given))

    with pytest.MonkeyPatch.context() as monkeypatch:
        for module in ("fmfair.evaluation", "fmfair.database.engine"):
            monkeypatch.setattr(f"{module}.with_spread", spy)
        with pytest.raises(Seen) as seen:
            fmfair.evaluate(frame, engine=engine, ci=0.95, **arguments)
    long: pl.DataFrame = seen.value.args[0]
    return long.sort(KEY, nulls_last=True)


def both(frame: pl.DataFrame, tolerance: float, smallest: float = 1e-12, **arguments: Any) -> pl.DataFrame:
    """The long table, after a look that both engines have the same facts."""
    polars, duckdb = (long_of(frame, engine, **arguments) for engine in ("polars", "duckdb"))
    assert duckdb.schema == polars.schema
    assert duckdb.select(*KEY, "metric").equals(polars.select(*KEY, "metric"))
    for fact in FACTS:
        for i, (a, b) in enumerate(zip(duckdb[fact].to_list(), polars[fact].to_list(), strict=True)):
            same = a is b is None or (
                a is not None and b is not None and math.isclose(a, b, rel_tol=tolerance, abs_tol=smallest)
            )
            assert same, f"{fact}: {a} is not {b} in {polars.row(i, named=True)}"
    return duckdb


def with_patients(frame: pl.DataFrame, draw: Any) -> pl.DataFrame:
    """The table with a few patients, whose rows are in several groups, or one of them alone."""
    patients = draw(st.sampled_from([["p"], ["p", "q"], [f"p{i}" for i in range(9)]]))
    drawn = draw(st.lists(st.sampled_from(patients), min_size=frame.height, max_size=frame.height))
    return frame.with_columns(pl.Series("unit", drawn, dtype=pl.String))


def same_of(data: st.DataObject, mode: str, weights: str = "whole", **given: Any) -> None:
    """Draws a table of a kind and compares the engines."""
    weighted = "weight" in MODES[mode]
    table = data.draw(tables(weights=weights if weighted else None, **given))
    frame = with_patients(table.frame, data.draw)
    cluster: dict[str, Any] = {"cluster": "unit"} if "cluster" in MODES[mode] else {}
    both(frame, 1e-9 if weighted else 1e-12, **table.arguments, **cluster)


@pytest.mark.parametrize("mode", MODES)
@unshrunk(3)
@given(data=st.data())
def test_probabilities(mode: str, data: st.DataObject) -> None:
    same_of(data, mode, weights="decimal", by=[2])


@pytest.mark.parametrize("mode", MODES)
@unshrunk(2)
@given(data=st.data())
def test_logits(mode: str, data: st.DataObject) -> None:
    same_of(data, mode, scale="logit")


@pytest.mark.parametrize("mode", MODES)
@unshrunk(2)
@given(data=st.data())
def test_ranks_beside_decisions(mode: str, data: st.DataObject) -> None:
    same_of(data, mode, scale="rank", decisions=True)


@pytest.mark.parametrize("mode", MODES)
@unshrunk(2)
@given(data=st.data())
def test_decisions_alone(mode: str, data: st.DataObject) -> None:
    same_of(data, mode, scale=None)


@pytest.mark.parametrize("mode", ["rows", "patients"])
@unshrunk(2)
@given(data=st.data())
def test_published_conventions(mode: str, data: st.DataObject) -> None:
    table = data.draw(tables(by=[2]))
    frame = with_patients(table.frame.filter(pl.col("truth").is_not_null()), data.draw)
    arguments = {**table.arguments, "thresholds": None, "conventions": "fairmedfm"}
    both(frame, 1e-12, **arguments, **MODES[mode])


def large(rows: int) -> pl.DataFrame:
    """Scores with and without ties, patients in several groups, and groups that are missing."""
    r = random.Random(7)
    y = [r.randrange(2) for _ in range(rows)]
    score = [1 / (1 + math.exp(-r.gauss(v - 0.5, 1))) for v in y]
    return pl.DataFrame(
        {
            "y": y,
            "score": [round(s, r.choice([2, 12])) for s in score],
            "sex": [r.choice(["F", "M", None]) for _ in y],
            "site": [r.choice("abcde") for _ in y],
            "unit": [r.randrange(max(rows // 4, 1)) for _ in y],
            "w": [r.choice([0.3, 1.0, 2.5]) for _ in y],
        }
    )


LARGE: dict[str, Any] = {"y_true": "y", "y_score": "score", "attributes": ["sex", "site"], "by": [], "intersections": 2}


@pytest.mark.parametrize("mode", MODES)
def test_many_rows(mode: str) -> None:
    rules = [0.2, 0.5, 0.35, "best_f1", "tpr=0.9"]
    tolerance = 1e-9 if "weight" in MODES[mode] else 1e-12
    long = both(large(100_000), tolerance, smallest=1e-18, thresholds=rules, **LARGE, **MODES[mode])
    known = long.filter(pl.col("metric").is_in(["auc", "average_precision", "bce", "brier", "tpr"]))
    assert (known["variance"] > 0).all()
    assert known["variance"].null_count() == 0


def test_pairs_of_labels_keep_the_patient() -> None:
    frame = large(300).with_columns(z=1 - pl.col("y"), low=1 - pl.col("score"))
    pairs: dict[str, Any] = {"one": ("y", "score"), "other": ("z", "low")}
    long = both(frame, 1e-12, labels=pairs, attributes="site", by=[], cluster="unit")
    assert long.filter(metric="auc")["units"].max() == frame["unit"].n_unique()


def test_a_long_table_keeps_the_patient() -> None:
    frame = large(200).with_row_index("sample_id").drop("w")
    facts: dict[str, Any] = {"index": ["sample_id", "y", "score", "unit"], "on": ["sex", "site"]}
    long = frame.unpivot(**facts, variable_name="attribute", value_name="group")
    wide: dict[str, Any] = {"y_true": "y", "y_score": "score", "by": [], "cluster": "unit"}
    found = both(long, 1e-12, sample_id="sample_id", **wide)
    same = long_of(frame, "duckdb", attributes=["sex", "site"], **wide)
    # the order in which DuckDB's threads add may move the last digit from run to run
    assert_frame_equal(found.select(FACTS), same.select(FACTS), rel_tol=1e-12, abs_tol=1e-12)


def test_patients_of_any_type_are_told_apart() -> None:
    frame = large(60).with_columns(pl.col("unit") % 7)
    expected = both(frame, 1e-12, **LARGE, cluster="unit").select(FACTS)
    number = pl.col("unit").cast(pl.Int32)
    text = number.cast(pl.String)
    for unit in (number.cast(pl.Float32), number.cast(pl.Date), text, text.cast(pl.Categorical)):
        found = both(frame.with_columns(unit), 1e-12, **LARGE, cluster="unit")
        assert_frame_equal(found.select(FACTS), expected, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize(
    "unit",
    [
        pl.Series(["a", None, "b", None]),
        pl.Series([1.0, float("nan"), None, 2.0]),
        pl.Series([None] * 4, dtype=pl.Null),
        pl.Series([[1], [2], [1], [2]]),
        pl.Series([{"a": 1}] * 4),
    ],
)
@pytest.mark.parametrize("ci", [None, 0.95])
def test_both_engines_refuse_patients_in_the_same_words(unit: pl.Series, ci: float | None) -> None:
    frame = pl.DataFrame({"y": [0, 1, 1, 0], "score": [0.1, 0.2, 0.3, 0.4], "sex": [*"FMFM"], "who": unit})
    said = []
    for engine in ("polars", "duckdb"):
        with pytest.raises(fmfair.FmfairError, match="cluster: column 'who' has") as error:
            fmfair.evaluate(frame, y_true="y", y_score="score", attributes="sex", cluster="who", ci=ci, engine=engine)
        said.append(str(error.value))
    assert said[0] == said[1]


def test_scores_that_are_all_equal_have_no_variance() -> None:
    frame = pl.DataFrame({"y": [0, 1, 1] * 5, "score": [0.3] * 15, "sex": ["F"] * 15})
    long = both(frame, 1e-12, y_true="y", y_score="score", attributes="sex", by=[])
    assert long.filter(metric="auc")["variance"].to_list() == [0.0, 0.0]
