"""Sums per score bin and calibration metrics in SQL: those of the engine in Polars, and some computed by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from random_tables import tables
from sql_tables import Case, assert_same, connected, rows, run

METRICS = ["bce", "brier", "observed_expected", "ece", "ece_squared", "ece_rms", "ece(bins=7)"]
FEW = examples(8)
SCORES = st.floats(0, 1) | st.sampled_from([k / n for n in (3, 7, 10, 20) for k in range(n + 1)])


def assert_twins(case: Case, tolerance: float = 1e-12) -> None:
    """The counts and calibration metrics of every cell of every grouping."""
    expected = case.numbered(lambda grouping: case.engine._all_binned([grouping])[0])
    names = [m.name for m in case.options.metrics if m.name in expected.columns]
    counts = [c for c in ("n", "n_pos", "weight", "sum_p") if c in expected.columns]
    with connected(case) as connection:
        run(connection, "score_bins", "calibration")
        tallies = rows(connection, "FROM tallies")
        values = rows(
            connection, "SELECT c.cell, r.metric, c.value FROM calibrated AS c JOIN requested AS r USING (position)"
        )
    absent = case.cells.join(expected, on="cell", how="anti").select("cell")
    assert_same(tallies.join(absent, on="cell", how="anti"), expected.select("cell", *counts), ["cell"], tolerance)
    assert set(tallies.join(absent, on="cell").select(counts).unique().rows()) <= {(0,) * len(counts)}
    assert_same(values, expected.unpivot(names, index="cell", variable_name="metric"), ["cell", "metric"], tolerance)


def table(y: list[int], p: list[float], group: list[str] | None = None, **columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"y_true": y, "y_score": p, "sex": group or ["F"] * len(y), **columns})


def case_of(frame: pl.DataFrame, **options: Any) -> Case:
    given = {"y_true": "y_true", "y_score": "y_score", "attributes": ["sex"], "by": [], "metrics": METRICS}
    return Case.of(frame, **{**given, "score_type": "probability", **options})


@FEW
@given(data=st.data())
def test_random_tables_without_weights(data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(by=[2], max_attributes=3)), metrics=METRICS))


@examples(6)  # the published conventions take the engine in Polars ten times as long
@given(data=st.data())
def test_random_tables_in_the_published_conventions(data: st.DataObject) -> None:
    drawn = data.draw(tables(by=[2]))
    labelled = drawn.frame.filter(pl.col("truth").is_not_null())  # the published conventions refuse the others

    options = {"metrics": ["brier", "ece", "ece(7)"], "thresholds": None, "conventions": "fairmedfm"}
    assert_twins(Case.of(labelled, **{**drawn.arguments, **options}))


@pytest.mark.parametrize(("weights", "tolerance"), [("whole", 1e-12), ("decimal", 1e-9)])
@FEW
@given(data=st.data())
def test_random_tables_with_weights(weights: str, tolerance: float, data: st.DataObject) -> None:
    drawn = data.draw(tables(weights=weights, by=[2]))

    assert_twins(Case.drawn(drawn, metrics=METRICS), tolerance)


@pytest.mark.parametrize("scale", ["logit", "rank", None])
@FEW
@given(data=st.data())
def test_other_scores_and_decisions_alone(scale: str | None, data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(scale=scale)), metrics=METRICS))


@pytest.mark.parametrize("conventions", ["standard", "fairmedfm"])
@FEW
@given(
    scores=st.lists(SCORES, min_size=1, max_size=30), group=st.lists(st.sampled_from("FM"), min_size=30, max_size=30)
)
def test_scores_at_and_beside_the_edges(conventions: str, scores: list[float], group: list[str]) -> None:
    beside = [min(math.nextafter(p, 2), 1.0) for p in scores] + [max(math.nextafter(p, -1), 0.0) for p in scores]
    frame = table([0, 1, 1] * len(scores), scores + beside, list(group * 3)[: 3 * len(scores)])

    assert_twins(case_of(frame, conventions=conventions, metrics=["ece", "ece(3)"]))


def assert_bins(frame: pl.DataFrame, n_bins: int, bin_of: Callable[[float], int], conventions: str) -> None:
    """The sums of every bin of all rows, each row put where `bin_of` says."""
    expected: dict[int, list[float]] = {}
    for y, p in frame.select("y_true", "y_score").iter_rows():
        sums = expected.setdefault(bin_of(p), [0.0, 0.0, 0.0])
        expected[bin_of(p)] = [sums[0] + 1, sums[1] + y, math.fsum([sums[2], p])]
    case = case_of(frame, metrics=[f"ece({n_bins})"], conventions=conventions)
    with connected(case) as connection:
        run(connection, "score_bins")
        found = rows(connection, "FROM bins").filter(cell=case.cells.height - 1)
    assert found["bins"].unique().to_list() == [n_bins]
    sums_of = {k: [pytest.approx(v, rel=1e-14) for v in sums] for k, *sums in found.drop("bins", "cell").rows()}
    assert sums_of == expected


@pytest.mark.parametrize("n_bins", [1, 2, 6, 10, 22, 49, 1000])
def test_every_row_is_in_the_bin_that_the_edges_say(n_bins: int) -> None:
    edges = [k / n_bins for k in range(n_bins + 1)]
    beside = [math.nextafter(p, to) for p in edges for to in (0, 1)]
    frame = table([0, 1, 1] * len(edges), edges + beside)

    assert_bins(frame, n_bins, lambda p: sum(p >= edge for edge in edges[1:-1]), "standard")


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 11, 300])
@pytest.mark.parametrize("low", [0.0, 1e-300, 1e-13, 0.3, 0.7, 1 - 2**-43])
def test_bins_on_a_range_of_a_few_neighbouring_numbers(low: float, steps: int) -> None:
    scores = [low]
    for _ in range(steps):
        scores.append(math.nextafter(scores[-1], 2))
    step = (scores[-1] - low) / 10

    frame = table([k % 3 % 2 for k in range(len(scores))], scores)

    assert_bins(frame, 10, lambda p: sum(p > low + step * k for k in range(1, 10)), "fairmedfm")


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.1, 0.8), (0.3, 0.3 + 1e-11), (1e-9, 2e-9), (0.25, 0.75)])
def test_bins_on_a_range_at_and_beside_its_edges(low: float, high: float) -> None:
    step = (high - low) / 7
    edges = [low + step * k for k in range(1, 7)]
    scores = [low, high, *edges, *(math.nextafter(p, to) for p in edges for to in (0, 1))]

    frame = table([k % 3 % 2 for k in range(len(scores))], scores)

    assert_bins(frame, 7, lambda p: sum(p > edge for edge in edges), "fairmedfm")


@pytest.mark.parametrize(("score", "room"), [(0.0, 0.001), (0.4, 0.4 * 0.001), (1.0, 0.001)])
def test_a_score_alone_is_in_the_middle_of_its_bins(score: float, room: float) -> None:
    start = score - room
    step = ((score + room) - start) / 3

    assert_bins(table([0, 1], [score] * 2), 3, lambda p: sum(p > start + step * k for k in (1, 2)), "fairmedfm")


EDGES = {
    "one row": table([1], [0.3]),
    "no positives": table([0, 0, 0], [0.0, 0.1, 1.0]),
    "all scores 0": table([0, 1, 1], [0.0, 0.0, 0.0]),
    "all scores 1": table([0, 1, 1], [1.0, 1.0, 1.0]),
    "all scores equal": table([0, 1, 1], [0.3, 0.3, 0.3]),
    "an unused level": table([0, 1], [0.2, 0.8], ["F", "M"]).cast({"sex": pl.Enum(["F", "M", "X"])}),
    "a group missing": table([0, 1, 1], [0.2, 0.8, 0.6]).with_columns(sex=pl.Series(["F", None, "M"])),
    "no group at all": table([0, 1, 1], [0.2, 0.8, 0.6]).with_columns(sex=pl.lit(None, pl.String)),
    "single precision": table([0, 1, 1], [0.7, 0.1, 0.3]).cast({"y_score": pl.Float32}),
}


@pytest.mark.parametrize("conventions", ["standard", "fairmedfm"])
@pytest.mark.parametrize("edge", EDGES)
def test_edge_tables(edge: str, conventions: str) -> None:
    assert_twins(case_of(EDGES[edge], conventions=conventions))


@pytest.mark.parametrize("metrics", [["auc"], ["bce"], ["ece(1000)"], ["ece_quantile", "brier"], ["ece(4)", "ece(1)"]])
def test_only_what_is_asked_for(metrics: list[str]) -> None:
    assert_twins(case_of(table([0, 1, 1, 0], [0.2, 0.8, 0.6, 0.999]), metrics=metrics))


def values_of(frame: pl.DataFrame, **options: Any) -> list[float]:
    """The values on all rows, in the order asked for."""
    case = case_of(frame, **options)
    with connected(case) as connection:
        run(connection, "score_bins", "calibration")
        cell = case.cells.filter(grouping=len(case.groupings) - 1)["cell"].item()
        return rows(connection, f"SELECT value FROM calibrated WHERE cell = {cell} ORDER BY position")[
            "value"
        ].to_list()


def test_values_computed_by_hand() -> None:
    frame = table([0, 0, 1, 1, 1], [0.25, 0.25, 0.5, 0.75, 0.75])
    # Bins [0, 0.5) with excess -0.5 and [0.5, 1] with excess 1, of 2 and 3 rows.
    metrics = ["brier", "observed_expected", "ece(2)", "ece(2, norm='squared')", "ece(2, norm='rms')", "bce"]
    squared = (0.5**2 / 2 + 1 / 3) / 5
    loss = -(2 * math.log(0.75) + math.log(0.5) + 2 * math.log(0.75)) / 5

    expected = [0.5 / 5, 3 / 2.5, 0.3, squared, math.sqrt(squared), loss]

    assert values_of(frame, metrics=metrics) == [pytest.approx(v, rel=1e-14) for v in expected]


def test_edges_are_those_of_division_and_closed_on_the_left() -> None:
    # Every score is an edge k / 10, the first of its own bin: the errors are those of single rows.
    scores = [k / 10 for k in range(10)]

    assert values_of(table([1] * 10, scores), metrics=["ece"]) == [pytest.approx(1 - sum(scores) / 10, rel=1e-14)]
    # Ten bins of one positive and one negative each.
    both = values_of(table([0, 1] * 10, [p for p in scores for _ in range(2)]), metrics=["ece"])
    assert both == [pytest.approx(sum(abs(p - 0.5) for p in scores) / 10, rel=1e-14)]


def test_bins_on_the_range_of_a_cell_are_closed_on_the_right() -> None:
    # On [0.2, 0.6] two bins meet at 0.4, which belongs to the left one: excess 0.8 - 0.6 and 0.4.
    frame = table([0, 1, 1], [0.2, 0.4, 0.6])

    assert values_of(frame, metrics=["ece(2)"], conventions="fairmedfm") == [pytest.approx(0.8 / 3, rel=1e-14)]


def test_order_of_rows_and_threads_change_nothing() -> None:
    frame = table([0, 1, 1, 0, 1] * 40, [k / 211 for k in range(200)], ["F", "M"] * 100)
    found = []
    for threads, seed in ((1, 1), (2, 2), (4, 3)):
        case = case_of(frame.sample(fraction=1.0, shuffle=True, seed=seed))
        with connected(case, threads=threads) as connection:
            run(connection, "score_bins", "calibration")
            found.append(rows(connection, "FROM calibrated ORDER BY ALL"))

    assert found[0].height == 3 * len(METRICS)
    for other in found[1:]:
        assert_same(other, found[0], ["cell", "position"], 1e-14)
