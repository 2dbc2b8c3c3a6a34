"""Calibration intercept and slope in SQL: the same steps as in Python, and values computed by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from random_tables import LOGITS, tables
from sql_tables import Case, assert_same, connected, rows, run

from fmfair.fit import fit_cells

METRICS = ["calibration_intercept", "calibration_slope"]
FEW = examples(8)


def fitted(case: Case) -> pl.DataFrame:
    """What `fit.sql` finds."""
    with connected(case) as connection:
        run(connection, "fit")
        return rows(connection, "FROM fitted")


def assert_twins(case: Case, tolerance: float = 1e-9) -> None:
    expected = case.numbered(lambda grouping: fit_cells(case.samples.frame, grouping))
    assert_same(fitted(case), expected, ["cell"], tolerance)


def table(y: list[int], p: Any, group: list[str] | None = None, **columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"y_true": y, "y_score": p, "sex": group or ["F"] * len(y), **columns})


def case_of(frame: pl.DataFrame, **options: Any) -> Case:
    given = {"y_true": "y_true", "y_score": "y_score", "attributes": ["sex"], "by": [], "metrics": METRICS}
    return Case.of(frame, **{**given, "score_type": "probability", **options})


def everyone(case: Case) -> tuple[float | None, float | None, str | None]:
    """The fit on all rows."""
    cell = case.cells.filter(grouping=len(case.groupings) - 1)["cell"].item()
    return fitted(case).filter(cell=cell).select(*METRICS, "fit_note").row(0)


@pytest.mark.parametrize("scale", ["probability", "logit"])
@FEW
@given(data=st.data())
def test_random_tables(scale: str, data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(scale=scale, by=[2])), metrics=METRICS))


@pytest.mark.parametrize("weights", ["whole", "decimal"])
@FEW
@given(data=st.data())
def test_random_tables_with_weights(weights: str, data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(weights=weights)), metrics=METRICS))


@FEW
@given(data=st.data())
def test_random_tables_with_logits_beside_the_scores(data: st.DataObject) -> None:
    assert_twins(Case.drawn(data.draw(tables(beside=True)), metrics=METRICS))


@examples(6)
@given(
    x=st.lists(st.floats(-1e308, 1e308) | st.sampled_from(LOGITS), min_size=2, max_size=12),
    y=st.lists(st.sampled_from([0, 1]), min_size=12, max_size=12),
)
def test_logits_of_any_size_end_in_numbers_or_notes(x: list[float], y: list[int]) -> None:
    found = fitted(case_of(table(y[: len(x)], x), score_type="logit"))

    assert found.height == 2
    for value in found.select(METRICS).iter_rows():
        assert all(v is None or math.isfinite(v) for v in value)


@pytest.mark.parametrize("weight", [1e-320, 1e-300, 1e300])
def test_weights_of_any_size_end_in_numbers_or_notes(weight: float) -> None:
    frame = table([0, 1, 1, 0, 1], [0.2, 0.7, 0.4, 0.6, 0.9], w=[weight, weight, 1.0, 1.0, 1.0])

    assert_twins(case_of(frame, weight="w"))


def ordinary(n: int, seed: int) -> pl.DataFrame:
    """Scores that are somewhat too extreme, in groups of several sizes."""
    random = np.random.default_rng(seed)
    x = random.normal(-1.0, 2.0, n)
    y = (random.random(n) < 1 / (1 + np.exp(-(0.3 + 0.8 * x)))).astype(int)
    group = random.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    return table(y.tolist(), 1 / (1 + np.exp(-x)), group.tolist(), w=random.random(n) + 0.1)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("n", [300, 20_000])
def test_ordinary_tables_agree_to_the_last_digits(n: int, weight: str | None) -> None:
    assert_twins(case_of(ordinary(n, seed=n), weight=weight), 1e-12)


def test_scores_near_0_and_1_keep_their_digits() -> None:
    near = [1e-9, 1e-300, 1e-12, 1 - 1e-12, 1 - 1e-16, 0.5, 0.3, 0.999]

    assert_twins(case_of(table([0, 1, 0, 1, 1, 0, 1, 0], near)), 1e-12)


@pytest.mark.parametrize(
    ("x", "y", "intercept"),
    [
        ([300.0, 300.0], [1, 0], -300.0),
        ([300.0, -300.0], [0, 1], 0.0),
        # Between the two every sigmoid is 0 or 1 to the last digit, and the middle is where the tails are equal.
        ([0.5, 300.0], [1, 0], -150.25),
        ([1.25, -300.0], [0, 1], 149.375),
        ([300.0, 8.0, 1.25], [1, 0, 0], None),
        ([45.0, -300.0, -300.0, 0.5], [0, 1, 1, 0], None),
    ],
)
def test_a_newton_step_that_goes_astray_is_halved(x: list[float], y: list[int], intercept: float | None) -> None:
    case = case_of(table(y, x), score_type="logit")

    assert_twins(case, 1e-12)
    assert intercept is None or everyone(case)[0] == pytest.approx(intercept, rel=1e-12, abs=1e-12)


NOT_FITTED = {
    "no positives": (([0, 0], [0.2, 0.3]), (None, None, None)),
    "a score of 0": (([0, 1, 1], [0.2, 0.0, 0.9]), (None, None, "scores of exactly 0 or 1 have no logit")),
    "a score of 1": (([0, 1, 1], [0.2, 0.5, 1.0]), (None, None, "scores of exactly 0 or 1 have no logit")),
}


@pytest.mark.parametrize("name", NOT_FITTED)
def test_what_cannot_be_fitted_is_null_with_its_note(name: str) -> None:
    (y, p), expected = NOT_FITTED[name]
    case = case_of(table(y, p))

    assert everyone(case) == expected
    assert_twins(case)


def test_the_intercept_of_equal_scores_is_the_difference_of_logits() -> None:
    intercept, slope, note = everyone(case_of(table([1, 1, 1, 0], [0.25] * 4)))

    assert intercept == pytest.approx(math.log(3) - math.log(1 / 3), rel=1e-14)
    assert (slope, note) == (None, "all scores are equal")


def test_the_slope_through_two_scores_is_that_of_the_observed_logits() -> None:
    # Three of four positive at logit 1, one of four at logit -1: the line through +-ln 3.
    x = [1.0] * 4 + [-1.0] * 4
    intercept, slope, note = everyone(case_of(table([1, 1, 1, 0, 1, 0, 0, 0], x), score_type="logit"))

    assert slope == pytest.approx(math.log(3), rel=1e-12)
    assert intercept == pytest.approx(0.0, abs=1e-14)
    assert note is None


@pytest.mark.parametrize("scores", [[0.2, 0.4, 0.6, 0.8], [0.2, 0.5, 0.5, 0.8], [0.8, 0.6, 0.4, 0.2]])
def test_separated_classes_have_an_intercept_and_no_slope(scores: list[float]) -> None:
    case = case_of(table([0, 0, 1, 1], scores))
    intercept, slope, note = everyone(case)

    assert intercept is not None
    assert (slope, note) == (None, "the scores separate the classes, no finite slope")
    assert_twins(case)


def test_nothing_is_fitted_unless_asked_for() -> None:
    frame = table([0, 1, 1, 0], [0.2, 0.8, 0.4, 0.6])

    assert fitted(case_of(frame, metrics=["auc"])).is_empty()
    assert fitted(case_of(frame, score_type="rank")).is_empty()


def test_one_grouping_at_a_time_gives_its_cells() -> None:
    case = case_of(ordinary(300, seed=1))
    with connected(case) as connection:
        run(connection, "fit")
        whole = rows(connection, "FROM fitted")
        parts = []
        for i in range(len(case.groupings)):
            connection.execute(f"SET VARIABLE groupings = [{i}]")
            run(connection, "fit")
            parts.append(rows(connection, "FROM fitted"))

    assert [part.height for part in parts] == [3, 1]
    assert_same(pl.concat(parts), whole, ["cell"], 1e-14)
