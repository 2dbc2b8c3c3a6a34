"""The table `measured` in SQL: every value, count and note of the engine in Polars, over the whole registry."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from random_tables import tables
from sql_tables import Case, assert_same, connected, rows, run

from fmfair.measures import long_table
from fmfair.metrics.registry import CLASSIFICATION

STEMS = (
    *("metrics", "score_bins", "calibration", "blocks", "ranking", "fit"),
    *("thresholds", "confusion", "rates", "reasons", "measured"),
)
KEYS = ["cell", "position", "t"]
FEW = examples(4)
PARAMETERS = ["partial_auc(tpr=(0.8, 1))", "partial_auc(fpr=(0, 0.3), corrected=False)", "tpr_at_fpr(0.3)", "ece(7)"]
EVERYTHING = [*(m.name for m in CLASSIFICATION), *PARAMETERS]


def measured(case: Case) -> pl.DataFrame:
    """What the files make of a case."""
    with connected(case) as connection:
        run(connection, *STEMS)
        return rows(connection, "FROM measured")


def in_python(case: Case) -> pl.DataFrame:
    """The same from the engine in Polars."""
    cells = case.cells.select("grouping", pl.col("local").alias("cell"), "by")
    listed = [cells.filter(grouping=i).drop("grouping") for i in range(len(case.groupings))]
    numbers = case.engine.measure(case.groupings, listed)
    scale = case.samples.scale
    probability = scale is not None and scale.is_probability
    table = long_table(numbers, case.options.metrics, probability=probability, scored=scale is not None)
    names = case.cells.select("grouping", pl.col("local").alias("cell"), pl.col("cell").alias("number"))
    table = table.with_columns(pl.col("grouping").cast(pl.Int32)).join(names, on=["grouping", "cell"], how="left")
    return table.drop("grouping", "cell", "listed").rename({"number": "cell", "order": "position"})


def assert_twins(case: Case, tolerance: float = 1e-12) -> pl.DataFrame:
    found, expected = measured(case), in_python(case)
    slopes = pl.col("metric").str.starts_with("calibration_")  # steps end in the last digits of an ill-posed fit
    assert_same(found.filter(~slopes), expected.filter(~slopes), KEYS, tolerance)
    assert_same(found.filter(slopes), expected.filter(slopes), KEYS, 1e-9)
    assert found["value"].drop_nulls().is_finite().all()
    assert found["value"].is_null().equals(found["note"].is_not_null())
    return found


def table(y: list[int], p: list[float], group: list[str] | None = None, **columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"y_true": y, "y_score": p, "sex": group or ["F"] * len(y), **columns})


def case_of(frame: pl.DataFrame, **options: Any) -> Case:
    columns = {"y_true": "y_true", "y_score": "y_score", "attributes": ["sex"], "by": [], "metrics": EVERYTHING}
    return Case.of(frame, **{**columns, "score_type": "probability", **options})


@pytest.mark.parametrize("scale", ["probability", "logit", "rank", None])
@FEW
@given(data=st.data())
def test_random_tables(scale: str | None, data: st.DataObject) -> None:
    drawn = data.draw(tables(scale=scale, by=[2], decisions=data.draw(st.booleans())))

    assert_twins(Case.drawn(drawn, metrics=EVERYTHING))


@pytest.mark.parametrize(("weights", "tolerance"), [("whole", 1e-12), ("decimal", 1e-9)])
@FEW
@given(data=st.data())
def test_random_tables_with_weights(weights: str, tolerance: float, data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(weights=weights, beside=True)), metrics=EVERYTHING), tolerance)


@examples(4)
@given(data=st.data())
def test_random_tables_in_the_published_conventions(data: st.DataObject) -> None:
    drawn = data.draw(tables())
    labelled = drawn.frame.filter(pl.col("truth").is_not_null())
    options = {"metrics": EVERYTHING, "thresholds": [0.5, "best_f1", 0.3], "conventions": "fairmedfm"}

    assert_twins(Case.of(labelled, **{**drawn.arguments, **options}))


EDGES = {
    "one row": table([1], [0.3]),
    "no positives": table([0, 0, 0], [0.0, 0.1, 1.0]),
    "no negatives": table([1, 1, 1], [0.0, 0.1, 1.0]),
    "one class in a group": table([0, 1, 1, 0], [0.2, 0.8, 0.6, 0.6], ["F", "F", "M", "F"]),
    "all scores 0": table([0, 1, 1], [0.0, 0.0, 0.0]),
    "all scores 1": table([0, 1, 1], [1.0, 1.0, 1.0]),
    "all scores equal": table([0, 1, 1], [0.3, 0.3, 0.3]),
    "separated": table([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.8]),
    "an unused level": table([0, 1], [0.2, 0.8], ["F", "M"]).cast({"sex": pl.Enum(["F", "M", "X"])}),
    "a group missing": table([0, 1, 1], [0.2, 0.8, 0.6]).with_columns(sex=pl.Series(["F", None, "M"])),
    "no group at all": table([0, 1, 1], [0.2, 0.8, 0.6]).with_columns(sex=pl.lit(None, pl.String)),
}
THRESHOLDS = [0.5, 0.0, 1.0, -1.0, 2.0, "best_f1", "youden", "tpr=0.9", "tnr=1"]


@pytest.mark.parametrize("edge", EDGES)
def test_edge_tables(edge: str) -> None:
    assert_twins(case_of(EDGES[edge], thresholds=THRESHOLDS))


@pytest.mark.parametrize("edge", ["one row", "one class in a group", "all scores 0", "a group missing"])
def test_edge_tables_in_the_published_conventions(edge: str) -> None:
    assert_twins(case_of(EDGES[edge], conventions="fairmedfm"))


def notes_of(found: pl.DataFrame) -> dict[str, set[str]]:
    """Every note, and the metrics that have it."""
    noted = found.drop_nulls("note").group_by("note").agg("metric")
    return {note: set(metrics) for note, metrics in noted.iter_rows()}


def test_scores_that_are_no_probabilities() -> None:
    case = case_of(table([0, 1, 1, 0], [1.0, 3.0, 2.0, 2.0]), score_type="rank", thresholds=[2])

    wanting = {m.name for m in case.options.metrics if m.needs_probability}
    assert notes_of(assert_twins(case)) == {"the score is not a probability": wanting}


def test_the_default_threshold_of_scores_that_are_no_probabilities() -> None:
    notes = notes_of(assert_twins(case_of(table([0, 1, 1, 0], [1.0, 3.0, 2.0, 2.0]), score_type="rank")))

    assert {"tpr", "tp", "net_benefit"} <= notes["the score is not a probability"]


def test_decisions_beside_scores_and_alone() -> None:
    frame = table([0, 1, 1, 0], [0.1, 0.6, 0.3, 0.7], d=[0, 1, 0, 1])

    beside = assert_twins(case_of(frame, y_pred="d", thresholds=[0.5]))
    alone = notes_of(assert_twins(case_of(frame.drop("y_score"), y_score=None, y_pred="d", score_type="auto")))

    assert beside.filter(metric="accuracy")["threshold_rule"].unique().sort().to_list() == ["fixed", "y_pred"]
    plain = {m for m in EVERYTHING if "(" not in m} - {m.name for m in CLASSIFICATION if m.at_threshold}
    assert plain <= alone["there are decisions but no scores"]
    assert alone["net benefit needs a threshold below 1"] == {"net_benefit"}


@pytest.mark.parametrize("weight", [1e-320, 1e-200, 1e300])
def test_weights_beyond_the_range_of_numbers_are_null_with_that_note(weight: float) -> None:
    frame = table([0, 1, 1, 0, 1], [0.2, 0.7, 0.4, 0.6, 0.9], w=[weight] * 5)

    found = measured(case_of(frame, weight="w"))

    assert found.filter(pl.col("value").is_nan() | pl.col("value").is_infinite()).is_empty()
    assert found.filter(pl.col("value").is_null() & pl.col("note").is_null()).is_empty()


def test_a_fit_that_does_not_settle_says_so() -> None:
    frame = table([0, 1, 1, 0, 1], [0.2, 0.7, 0.4, 0.6, 0.9], w=[1e300, 1e300, 1.0, 1.0, 1.0])

    found = assert_twins(case_of(frame, weight="w", metrics=["calibration_slope"]))

    assert found.select("value", "note").unique().rows() == [(None, "the fit did not settle")]


def test_a_value_computed_by_hand() -> None:
    frame = table([1, 1, 0, 0, 0], [0.9, 0.4, 0.6, 0.1, 0.1], w=[1.0, 1.0, 2.0, 1.0, 1.0])
    case = case_of(frame, metrics=["auc", "tpr", "fpr"], weight="w", thresholds=[0.5])

    found = measured(case).filter(cell=0).sort("position")

    # Of 2 * 4 weighted pairs the first positive wins all four, the second the two negatives at 0.1.
    assert found.select("metric", "value", "n", "n_pos", "weight", "denominator", "note").rows() == [
        ("auc", 0.75, 5, 2, 6.0, 2, None),
        ("tpr", 0.5, 5, 2, 6.0, 2, None),
        ("fpr", 0.5, 5, 2, 6.0, 3, None),
    ]


def test_the_types_are_those_of_the_results() -> None:
    found = measured(case_of(table([0, 1], [0.2, 0.8])))

    counts = dict.fromkeys(("n", "n_pos", "denominator"), pl.Int64())
    assert {name: dtype for name, dtype in found.schema.items() if name in counts} == counts
    assert (found.schema["value"], found.schema["weight"]) == (pl.Float64(), pl.Float64())
