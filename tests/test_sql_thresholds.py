"""Thresholds and confusion counts in SQL: those of the engine in Polars, and some computed by hand."""

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
from random_tables import RULES, tables
from sql_tables import Case, assert_same, connected, load, rows, run

from fmfair.groupings import Grouping
from fmfair.thresholds import DECIDED_T

FEW = examples(5)
STEMS = ("blocks", "thresholds", "confusion")
SCORES = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
NEXT = math.nextafter(0.7, 1.0)


def twin_thresholds(case: Case) -> pl.DataFrame:
    """The thresholds of every scope from the engine in Polars."""
    scopes = {case.scope(g) for g in case.groupings}

    def chosen(grouping: Grouping) -> pl.DataFrame:
        found = case.engine.thresholds(grouping).drop("cut").with_columns(cell=pl.col("by").cast(pl.UInt64))
        return found.filter(pl.lit(grouping in scopes)).drop("by")

    return case.numbered(chosen).rename({"cell": "scope"}).cast({"scope": pl.Int32})


def twin_confusion(case: Case) -> pl.DataFrame:
    """The counts of every cell from the engine in Polars."""
    listed = [g.cells(case.samples) for g in case.groupings]
    measured = case.engine.measure(case.groupings, listed).confusion
    where = {g: i for i, g in enumerate(case.groupings)}
    return case.numbered(lambda g: measured.filter(grouping=where[g]).drop("grouping"))


def assert_twins(case: Case, tolerance: float = 1e-12) -> None:
    expected, counts = (twin_thresholds(case) if case.samples.scale else None), twin_confusion(case)
    with connected(case) as connection:
        run(connection, *STEMS)
        thresholds, confusion = rows(connection, "FROM thresholds"), rows(connection, "FROM confusion")
    if expected is None:
        assert thresholds.is_empty()
    else:
        assert_same(thresholds, expected, ["scope", "t"])
    assert_same(confusion, counts, ["cell", "t"], tolerance)


def case_of(y: Sequence[int], scores: Sequence[float], thresholds: Any = None, **options: Any) -> Case:
    frame = pl.DataFrame({"y_true": y, "y_score": scores, "sex": ["FM"[i % 2] for i in range(len(y))]})
    extra = {name: options.pop(name) for name in ("weight", "by", "sex") if name in options}
    frame = frame.with_columns(pl.Series(name, values) for name, values in extra.items())
    options |= {"weight": "weight"} if "weight" in extra else {}
    given = {"y_true": "y_true", "y_score": "y_score", "attributes": ["sex"], "score_type": "probability"}
    given |= {"by": ["by"] if "by" in extra else [], "metrics": ["tpr"], "thresholds": thresholds}
    return Case.of(frame, **{**given, **options})


def labels(text: str) -> list[int]:
    """One label per score of `SCORES`, in falling order of score."""
    return [int(v) for v in text]


def chosen(case: Case) -> list[tuple[float | None, str | None]]:
    with connected(case) as connection:
        run(connection, "blocks", "thresholds")
        return rows(connection, "SELECT threshold, why FROM thresholds ORDER BY scope, t").rows()


def counts_of(case: Case) -> list[tuple[Any, ...]]:
    """The counts of the cell of all rows."""
    whole = case.cells.filter(pl.col("grouping") == len(case.groupings) - 1)["cell"].item()
    with connected(case) as connection:
        run(connection, *STEMS)
        query = f"SELECT tp, fp, fn, tn, n_pred_pos FROM confusion WHERE cell = {whole} ORDER BY t"
        return rows(connection, query).rows()


@FEW
@given(data=st.data())
def test_random_tables_without_weights(data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(by=[2], max_attributes=3))))


@pytest.mark.parametrize(("weights", "tolerance"), [("whole", 1e-12), ("decimal", 1e-9)])
@FEW
@given(data=st.data())
def test_random_tables_with_weights(weights: str, tolerance: float, data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(weights=weights, by=[2], decisions=True))), tolerance)


@pytest.mark.parametrize("scale", ["logit", "rank", None])
@FEW
@given(data=st.data())
def test_random_tables_of_other_scores_and_of_decisions(scale: str | None, data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(scale=scale, by=[2]))))


@FEW
@given(data=st.data())
def test_random_tables_under_every_rule(data: st.DataObject) -> None:
    drawn = data.draw(tables(max_attributes=1) | tables(max_attributes=1, weights="decimal"))
    binary = drawn.frame.with_columns((pl.col("s") >= 0.5).cast(pl.Float64))
    frame = data.draw(st.sampled_from([drawn.frame, binary]))

    assert_twins(Case.of(frame, **{**drawn.arguments, "thresholds": RULES}), 1e-9)


@FEW
@given(data=st.data())
def test_random_tables_in_the_published_conventions(data: st.DataObject) -> None:
    drawn = data.draw(tables(by=[2], max_attributes=3))
    labelled = drawn.frame.filter(pl.col("truth").is_not_null())  # the published conventions refuse the others
    thresholds = ["best_f1", 0.5, *labelled["s"].head(2)]

    assert_twins(Case.of(labelled, **{**drawn.arguments, "thresholds": thresholds, "conventions": "fairmedfm"}))


@pytest.mark.parametrize(
    ("rule", "y", "threshold", "why"),
    [
        ("best_f1", "1100", 0.8, None),
        ("best_f1", "1001", 0.6, None),  # F1 is 2/3 at 0.9 and at 0.6
        ("best_f1", "000", None, "no positives"),
        ("youden", "1010", 0.7, None),  # J is 1/2 at 0.9 and at 0.7
        ("youden", "0011", 0.6, None),
        ("youden", "111", None, "no negatives"),
        ("tpr=0.6666666666666666", "101010", 0.7, None),
        ("tpr = 0.67", "101010", 0.5, None),
        ("tpr=0", "001100", 0.9, None),
        ("tpr=0.9", "000", None, "no positives"),
        ("tnr=0.3333333333333333", "101010", 0.5, None),
        ("tnr=0", "001100", 0.4, None),
        ("tnr=1", "0101", None, "no observed score reaches tnr=1"),
        ("tnr=0", "111", None, "no negatives"),
    ],
)
def test_a_rule_chooses_an_observed_score(rule: str, y: str, threshold: float | None, why: str | None) -> None:
    assert chosen(case_of(labels(y), SCORES[: len(y)], rule)) == [(threshold, why)]


@pytest.mark.parametrize("weight", [0.1, 0.7, 1 / 3, 1e12])
@pytest.mark.parametrize(("rule", "y"), [("best_f1", "1001"), ("youden", "1010"), ("tpr=1", "1110"), ("tnr=1", "1000")])
def test_equal_weights_do_not_break_ties(rule: str, y: str, weight: float) -> None:
    plain = chosen(case_of(labels(y), SCORES[:4], rule))

    assert chosen(case_of(labels(y), SCORES[:4], rule, weight=[weight] * 4)) == plain


@pytest.mark.parametrize("rule", ["best_f1", "youden", "tpr=1", "tnr=0"])
@pytest.mark.parametrize("y", [[1, 1, 0], [0, 1, 1]])
def test_decisions_are_taken_as_they_are(rule: str, y: list[int]) -> None:
    case = case_of(y, [0.0, 0.0, 1.0], rule)

    assert chosen(case) == twin_thresholds(case).select("threshold", "why").rows()
    assert 0.0 not in [threshold for threshold, _ in chosen(case)]


def test_a_threshold_of_the_published_conventions_may_be_the_zero_of_decisions() -> None:
    case = case_of([1, 1, 0], [0.0, 0.0, 1.0], "best_f1", conventions="fairmedfm")

    assert chosen(case) == [(0.0, None)]


def test_scores_at_a_threshold_are_positive_and_in_the_published_conventions_negative() -> None:
    y, scores = [1, 0, 1, 0], [NEXT, 0.7, 0.7, 0.1]

    assert counts_of(case_of(y, scores, [0.7, NEXT])) == [(2, 1, 0, 1, 3), (1, 0, 1, 2, 1)]
    strict = case_of(y, scores, [0.7, NEXT], conventions="fairmedfm")
    assert counts_of(strict) == [(1, 0, 1, 2, 1), (0, 0, 2, 2, 0)]


def test_zero_has_no_sign() -> None:
    assert counts_of(case_of([1, 0, 1], [0.0, -0.0, 0.5], [0.0, -0.0])) == [(2, 1, 0, 0, 3)] * 2
    strict = case_of([1, 0, 1], [0.0, -0.0, 0.5], [0.0, -0.0], conventions="fairmedfm")
    assert counts_of(strict) == [(1, 0, 1, 1, 1)] * 2


def test_a_threshold_per_by_key() -> None:
    case = case_of([1, 0, 1, 0], [0.6, 0.4, 0.6, 0.4], [{"a": 0.5, "b": 0.7}], by=list("aabb"))

    assert chosen(case) == [(0.5, None), (0.7, None)]
    assert_twins(case)


def test_ranks_have_no_default_threshold() -> None:
    case = case_of([1, 0], [7.0, -1.0], score_type="rank")

    assert chosen(case) == [(0.5, "the score is not a probability")]
    assert counts_of(case) == [(None,) * 5]


def test_decisions_come_last() -> None:
    frame = pl.DataFrame({"y_true": [1, 0, 1], "y_score": [0.9, 0.6, 0.2], "y_pred": [0, 1, 1], "sex": ["F", "F", "M"]})
    columns = {name: name for name in ("y_true", "y_score", "y_pred")}
    case = Case.of(frame, **columns, attributes=["sex"], by=[], thresholds=[0.5], metrics=["tpr"])

    assert counts_of(case) == [(1, 1, 1, 0, 2), (1, 1, 1, 0, 2)]
    with connected(case) as connection:
        run(connection, *STEMS)
        last = rows(connection, "SELECT DISTINCT t, threshold_rule, threshold, why FROM confusion ORDER BY t").rows()[
            -1
        ]
    assert last == (DECIDED_T, "y_pred", None, None)


def test_rules_are_tuned_on_their_scope_and_cuts_are_shared_by_the_by_key() -> None:
    y, scores, sex = [1, 0, 0, 0, 1], [0.9, 0.8, 0.7, 0.6, 0.2], ["F", None, None, None, "M"]

    case = case_of(y, scores, ["best_f1", 0.5], sex=sex, conventions="fairmedfm")

    # Without the rows of unknown sex there is no negative to keep out.
    assert sorted(chosen(case)) == [(0.2, None), (0.5, None), (0.5, None), (0.9, None)]
    assert_twins(case)


def test_no_rows_make_counts_of_zero() -> None:
    case = case_of([1, 0], [0.9, 0.1], [0.5, "youden"])
    with connected(case) as connection:
        connection.execute("DELETE FROM samples")
        run(connection, *STEMS)
        thresholds = rows(connection, "SELECT threshold, why FROM thresholds ORDER BY t").rows()
        confusion = rows(connection, "SELECT DISTINCT tp, fp, fn, tn, n_pred_pos FROM confusion ORDER BY tp").rows()
    assert thresholds == [(0.5, None), (None, "no positives")]
    assert confusion == [(0, 0, 0, 0, 0), (None,) * 5]


@pytest.mark.parametrize(("conventions", "weighted"), [("standard", False), ("standard", True), ("fairmedfm", False)])
def test_a_thousand_thresholds_of_scores_of_all_sizes(conventions: str, weighted: bool) -> None:
    r = random.Random(5)
    scores = [r.choice([r.random(), r.randrange(11) / 10, 10.0 ** -r.randrange(300)]) for _ in range(600)]
    cuts = [*scores[:500], *(math.nextafter(s, 2.0) for s in scores[:300]), -1e308, 1e308, 0.5, 5e-324]
    cuts += [r.random() for _ in range(200)]
    weight = {"weight": [r.choice([0.25, 1.0, 3.0]) for _ in scores]} if weighted else {}

    assert_twins(case_of([r.randrange(2) for _ in scores], scores, cuts, conventions=conventions, **weight))


def test_a_large_cell_costs_a_small_one_no_digits() -> None:
    weights = [1e15, 0.1, 1e15, 0.3]
    case = case_of([1, 1, 0, 0], [0.9, 0.9, 0.2, 0.2], [0.5], weight=weights)

    with connected(case) as connection:
        run(connection, *STEMS)
        found = rows(connection, "SELECT tp, tn FROM confusion WHERE cell < 2 ORDER BY cell").rows()

    assert found == [(1e15, 1e15), (0.1, 0.3)]


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_and_the_order_of_the_rows_do_not_matter(weighted: bool) -> None:
    r = random.Random(7)
    n = 20_000
    y = [r.randrange(2) for _ in range(n)]
    scores = [round(min(max(r.gauss(0.4 + 0.2 * v, 0.2), 0), 1), r.choice([2, 9])) for v in y]
    weights = {"weight": [r.random() for _ in range(n)]} if weighted else {}
    case = case_of(y, scores, [0.3, 0.5, *RULES], **weights)
    thresholds, confusion = twin_thresholds(case), twin_confusion(case)

    for threads, seed in ((1, None), (4, None), (4, 1), (4, 2)):
        with connected(case, threads) as connection:
            load(connection, case, seed=seed)
            run(connection, *STEMS)
            assert_same(rows(connection, "FROM thresholds"), thresholds, ["scope", "t"])
            assert_same(rows(connection, "FROM confusion"), confusion, ["cell", "t"], 1e-9 if weighted else 1e-12)
