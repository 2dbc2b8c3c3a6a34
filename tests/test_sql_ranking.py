"""Blocks and ranking metrics in SQL: those of the engine in Polars, and some computed by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from random_tables import tables
from sql_tables import Case, assert_same, connected, load, rows, run

from fmfair.groupings import Grouping

FEW = examples(8)
METRICS = [
    "auc",
    "average_precision",
    "adjusted_auprc",
    "partial_auc",
    "partial_auc(fpr=(0.2, 0.7), corrected=False)",
    "partial_auc(tpr=(0.5, 1))",
    "partial_auc(tpr=(0, 0.3), corrected=False)",
    "tpr_at_fpr",
    "tpr_at_fpr(0)",
    "tpr_at_fpr(0.5)",
    "ece_quantile",
    "ece(bins=3, norm='squared', strategy='quantile')",
    "ece(bins=3, norm='rms', strategy='quantile')",
]
VALUES = "SELECT v.cell, r.metric, v.value FROM ranked AS v INNER JOIN requested AS r ON v.position = r.position"


def twin_blocks(case: Case, column: str) -> pl.DataFrame:
    """The blocks of all cells by `score` or `prob` from the engine in Polars, in the columns of the view."""
    ranks = case.engine.ranking if column == "score" else case.engine.cutting
    assert ranks is not None
    # Ranks count the scores of each by-key for themselves.
    scores = case.engine.frame.select("by", column).unique().sort("by", column)
    first = pl.lit(scores["by"].search_sorted(pl.Series(range(case.engine.n_by)), side="left"))

    def made(grouping: Grouping) -> pl.DataFrame:
        by = pl.col("cell") // max(grouping.size, 1)
        place = first.gather(by) + pl.col("rank")
        blocks = case.engine.blocks(grouping, ranks).by_cell()
        return blocks.with_columns(score=pl.lit(scores[column]).gather(place)).collect()

    frame = case.numbered(made).cast({"pos": pl.Float64, "neg": pl.Float64})
    tp, fp = (pl.col(c).cum_sum(reverse=True).over("cell").alias(t) for c, t in (("pos", "tp"), ("neg", "fp")))
    return frame.select("cell", "score", "pos", "neg", tp, fp)


def twin_values(case: Case) -> pl.DataFrame:
    """The values of all cells in which they are defined, from the engine in Polars."""
    parts = [pl.DataFrame(schema={"cell": pl.Int32, "metric": pl.String, "value": pl.Float64})]
    for table, column in (("blocks", "score"), ("score_blocks", "prob")):
        found = [m for m in case.options.metrics if m.table == table]
        if not found or (table == "score_blocks" and not case.variables()["probability"]):
            continue
        aggregates = [m.aggregate().alias(m.name) for m in found if m.aggregate]
        both = (pl.col("pos").sum() > 0) & (pl.col("neg").sum() > 0) | pl.lit(table == "score_blocks")
        values = twin_blocks(case, column).sort("cell", "score").group_by("cell").agg(*aggregates, both=both)
        parts.append(values.filter("both").drop("both").unpivot(index="cell", variable_name="metric"))
    return pl.concat(parts, how="vertical_relaxed")


def assert_twins(case: Case, tolerance: float = 1e-12) -> None:
    with connected(case) as connection:
        run(connection, "blocks", "ranking")
        assert_same(rows(connection, "FROM blocks"), twin_blocks(case, "score"), ["cell", "score"], tolerance)
        cut = twin_blocks(case, "prob")
        assert_same(rows(connection, "FROM cut_blocks"), cut, ["cell", "score"], tolerance)
        expected = twin_values(case)
        found = rows(connection, VALUES)
    assert_same(found.join(expected, on=["cell", "metric"], how="semi"), expected, ["cell", "metric"], tolerance)
    undefined = found.join(expected, on=["cell", "metric"], how="anti")
    one_class = cut.group_by("cell").agg(one=(pl.col("pos").sum() == 0) | (pl.col("neg").sum() == 0)).filter("one")
    assert undefined.join(one_class, on="cell", how="anti").is_empty()


def case_of(y: Sequence[int], scores: Sequence[float], group: Sequence[str] | None = None, **options: Any) -> Case:
    frame = pl.DataFrame({"y_true": y, "y_score": scores, "sex": group or ["F"] * len(y)})
    if "weight" in options:
        frame = frame.with_columns(pl.Series("w", options["weight"], dtype=pl.Float64))
        options["weight"] = "w"
    given = {"y_true": "y_true", "y_score": "y_score", "attributes": ["sex"], "by": [], "score_type": "probability"}
    return Case.of(frame, **{**given, "metrics": METRICS, **options})


def values_of(case: Case) -> dict[str, float]:
    """The values of the cell of all rows."""
    whole = case.cells.filter(pl.col("grouping") == len(case.groupings) - 1)["cell"].item()
    with connected(case) as connection:
        run(connection, "blocks", "ranking")
        return dict(rows(connection, VALUES).filter(cell=whole).select("metric", "value").iter_rows())


@FEW
@given(data=st.data())
def test_random_tables_without_weights(data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(by=[2], max_attributes=3)), metrics=METRICS))


@pytest.mark.parametrize(("weights", "tolerance"), [("whole", 1e-12), ("decimal", 1e-9)])
@FEW
@given(data=st.data())
def test_random_tables_with_weights(weights: str, tolerance: float, data: st.DataObject) -> None:
    drawn = data.draw(tables(weights=weights, by=[2], max_attributes=2))

    assert_twins(Case.drawn(drawn, metrics=METRICS), tolerance)


@pytest.mark.parametrize("scale", ["logit", "rank"])
@FEW
@given(data=st.data())
def test_random_tables_of_other_scores(scale: str, data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(scale=scale)), metrics=METRICS))


@FEW
@given(data=st.data())
def test_random_tables_in_the_published_conventions(data: st.DataObject) -> None:
    drawn = data.draw(tables(by=[2]))
    labelled = drawn.frame.filter(pl.col("truth").is_not_null())  # the published conventions refuse the others

    options = {"metrics": METRICS, "thresholds": None, "conventions": "fairmedfm"}
    assert_twins(Case.of(labelled, **{**drawn.arguments, **options}))


def test_a_curve_by_hand() -> None:
    found = values_of(case_of([1, 0, 1, 1, 0, 0], [0.9, 0.8, 0.7, 0.4, 0.4, 0.2]))

    # Of 9 pairs 0.9 wins 3, 0.7 wins 2 and 0.4 wins 1 and draws 1.
    assert found["auc"] == 6.5 / 9
    assert found["average_precision"] == pytest.approx((1 + 2 / 3 + 3 / 5) / 3, abs=1e-15)
    assert found["adjusted_auprc"] == pytest.approx(1 - math.log((1 + 2 / 3 + 3 / 5) / 3) / math.log(1 / 2), abs=1e-15)
    # From FPR 1/3 the curve runs at 2/3, and from there with the tie to (2/3, 1): a slope of 1.
    area = (1 / 3 - 0.2) * 1 / 3 + (2 / 3 + 1) / 2 / 3 + (0.7 - 2 / 3)
    assert found["partial_auc(fpr=(0.2, 0.7), corrected=False)"] == pytest.approx(area, abs=1e-15)
    assert found["partial_auc"] == pytest.approx(0.5 * (1 + (0.1 / 3 - 0.005) / (0.1 - 0.005)), abs=1e-15)
    # The specificity at a sensitivity up to 1/3 is 1.
    assert found["partial_auc(tpr=(0, 0.3), corrected=False)"] == pytest.approx(0.3, abs=1e-15)
    assert (found["tpr_at_fpr(0)"], found["tpr_at_fpr(0.5)"]) == (1 / 3, 2 / 3)
    # Half a bin lies below the tie, one and a half below 0.7: the bins hold 3, 1 and 2 rows.
    squared = found["ece(bins=3, norm='squared', strategy='quantile')"]
    assert squared == pytest.approx((0**2 / 3 + 0.3**2 / 1 + 0.7**2 / 2) / 6, abs=1e-15)
    assert found["ece(bins=3, norm='rms', strategy='quantile')"] == pytest.approx(math.sqrt(squared), abs=1e-15)


def test_weights_of_whole_numbers_are_repeated_rows() -> None:
    y, scores, weights = [1, 0, 1, 0], [0.7, 0.6, 0.6, 0.1], [3, 1, 2, 4]
    repeated = [i for i, w in enumerate(weights) for _ in range(w)]

    weighted = values_of(case_of(y, scores, weight=weights))

    assert weighted == pytest.approx(values_of(case_of([y[i] for i in repeated], [scores[i] for i in repeated])))


def test_a_large_cell_costs_a_small_one_no_digits() -> None:
    y, scores, weights = [1, 0, 0], [0.6, 0.2, 0.8], [0.1, 0.3, 0.7]
    groups = ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    case = case_of(y * 3, scores * 3, groups, weight=[1e15 * w for w in weights] + weights * 2)

    with connected(case) as connection:
        run(connection, "blocks", "ranking")
        found = rows(connection, f"{VALUES} WHERE r.metric = 'auc' AND v.cell < 3")

    assert found["value"].to_list() == pytest.approx([0.3] * 3, rel=1e-14)


def test_nothing_is_computed_unasked_and_a_grouping_can_be_measured_alone() -> None:
    case = case_of([0, 1, 1, 0], [0.1, 0.8, 0.3, 0.4], list("aabb"), metrics=["auc", "brier"])

    with connected(case) as connection:
        run(connection, "blocks", "ranking")
        every = rows(connection, VALUES)
        connection.execute("SET VARIABLE groupings = [0]")
        run(connection, "ranking")
        one = rows(connection, VALUES)

    assert every["metric"].unique().to_list() == ["auc"]
    assert sorted(every["cell"]) == [0, 1, 2]
    assert sorted(one.rows()) == sorted(every.filter(pl.col("cell") < 2).rows())


def test_decisions_alone_have_no_blocks() -> None:
    frame = pl.DataFrame({"y_true": [0, 1], "y_pred": [1, 1], "sex": ["F", "M"]})
    case = Case.of(frame, y_true="y_true", y_pred="y_pred", attributes=["sex"], by=[], metrics="all")

    with connected(case) as connection:
        run(connection, "blocks", "ranking")
        assert rows(connection, "FROM blocks").is_empty()
        assert rows(connection, "FROM ranked").is_empty()


def test_no_rows_make_empty_tables() -> None:
    with connected(case_of([0, 1], [0.1, 0.8])) as connection:
        connection.execute("DELETE FROM samples")
        run(connection, "blocks", "ranking")
        assert rows(connection, "FROM blocks").is_empty()
        assert rows(connection, "FROM ranked").is_empty()


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_and_the_order_of_the_rows_do_not_matter(weighted: bool) -> None:
    r = random.Random(3)
    n = 20_000
    y = [r.randrange(2) for _ in range(n)]
    scores = [round(min(max(r.gauss(0.4 + 0.2 * v, 0.2), 0), 1), r.choice([2, 9])) for v in y]
    weights = {"weight": [r.random() for _ in range(n)]} if weighted else {}
    case = case_of(y, scores, [r.choice("abcdefg") for _ in range(n)], **weights)
    expected = twin_values(case)

    for threads, seed in ((1, None), (4, None), (4, 1), (4, 2)):
        with connected(case, threads) as connection:
            load(connection, case, seed=seed)
            run(connection, "blocks", "ranking")
            found = rows(connection, VALUES)
        assert_same(found, expected, ["cell", "metric"], 1e-9 if weighted else 1e-12)
