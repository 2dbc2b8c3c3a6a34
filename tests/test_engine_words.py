"""What is wrong with a table is said in the same words by both engines."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

import fmfair
from fmfair import FmfairError

ROWS = 40


def table() -> pl.DataFrame:
    rng = np.random.default_rng(9)
    number = pl.int_range(ROWS, eager=True)
    return pl.DataFrame(
        {
            "id": number,
            "twice": (number // 2).cast(pl.String).reverse(),
            "y": rng.integers(0, 2, ROWS),
            "y2": pl.Series(rng.integers(0, 2, ROWS)).set(number < 4, None),
            "p": rng.random(ROWS),
            "p2": pl.Series(rng.random(ROWS)).set(number % 7 == 0, None),
            "far": pl.Series(rng.random(ROWS)).set(number % 9 == 8, 7.0),
            "text": pl.Series(["0.5", "z", "1_000", " 0.25", "a"])[np.arange(ROWS) % 5],
            "finding": pl.Series(["effusion", "none", "oedema"])[rng.integers(0, 3, ROWS)],
            "g": pl.Series(["a", "b"])[rng.integers(0, 2, ROWS)],
            "size": rng.random(ROWS),
            "w": pl.Series(rng.random(ROWS)).set(number == 11, -1.0),
        }
    )


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "scores missing": ({"y_score": "p2"}, "rows 0, 7, 14"),
    "scores that are text": ({"y_score": "text"}, "not a number: 'z', '1_000', ' 0.25', 'a'"),
    "scores outside": ({"y_score": "far", "score_type": "probability"}, "rows 8, 17, 26"),
    "scores outside, without labels": (
        {"y_true": "y2", "y_score": "far", "score_type": "probability"},
        "rows 8, 17, 26",
    ),
    "scores of a pair missing": ({"labels": {"A": ("y", "p"), "B": ("y", "p2")}}, r"labels['B']: column 'p2' has 6"),
    "scores of a pair outside": (
        {"labels": {"A": ("y", "p"), "B": ("y2", "far")}, "score_type": "probability"},
        "rows 8, 17, 26",
    ),
    "labels missing": ({"y_true": "y2", "missing_labels": "raise"}, "rows 0, 1, 2, 3"),
    "labels that are text": ({"y_true": "finding"}, "'effusion', 'none', 'oedema'"),
    "no such positive": ({"y_true": "finding", "positive": "mass"}, "positive='mass' does not occur"),
    "labels and scores": ({"y_true": "finding", "y_score": "text"}, "2 problems"),
    "weights": ({"weight": "w"}, "row 11"),
    "weights that are text": ({"weight": "text"}, "weight: column 'text' has the type String"),
    "ids": ({"sample_id": "twice"}, "20 repeated rows, e.g. '19'"),
    "continuous": ({"attributes": "size"}, "looks continuous"),
    "continuous and nearly distinct": ({"attributes": ["size", "id"]}, "nearly every value of 'id'"),
    "bins of text": ({"attributes": "text", "bins": {"text": 2}}, "24 values are not numbers ('1_000', 'a', 'z')"),
    "decisions": ({"y_pred": "p"}, "y_pred: column 'p' holds decisions"),
    "decisions missing": ({"y_pred": "y2"}, "4 missing values"),
    "one-hot": ({"y_true": ["y", "id"]}, "do not hold exactly one 1"),
    "classes": ({"y_true": "finding", "positive": "none", "y_score": ["p", "size"]}, "classes=[...]"),
    "by-keys for thresholds": ({"by": "finding", "thresholds": {"none": 0.5}}, "thresholds"),
    "nothing left": ({"ignore": [0, 1]}, "no label at all|no row is left"),
}


MOMENTS: dict[str, list[Any]] = {
    "date": [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
    "time": [datetime.time(1), datetime.time(2)],
    "duration": [datetime.timedelta(1), datetime.timedelta(2)],
    "datetime": [datetime.datetime(year, 5, 1, tzinfo=datetime.timezone.utc) for year in (2020, 2021)],
}


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("kind", MOMENTS)
def test_a_positive_class_of_another_type_does_not_occur(kind: str, engine: str) -> None:
    frame = table().with_columns(pl.Series("y", [MOMENTS[kind][k % 2] for k in range(ROWS)]))
    arguments: dict[str, Any] = {"y_true": "y", "y_score": "p", "attributes": "g", "by": [], "engine": engine}
    for positive in [1, 1.5, True, "a", *(values[0] for other, values in MOMENTS.items() if other != kind)]:
        with pytest.raises(FmfairError, match="does not occur in column 'y'"):
            fmfair.evaluate(frame, positive=positive, **arguments)

    assert fmfair.evaluate(frame, positive=MOMENTS[kind][1], **arguments).overall["n_pos"][0] == ROWS // 2


@pytest.mark.parametrize("case", WRONG)
def test_both_engines_say_the_same(case: str) -> None:
    given, says = WRONG[case]
    outcome = {} if "labels" in given else {"y_true": "y", "y_score": "p"}
    arguments = {**outcome, "attributes": "g", "by": [], **given}
    said = []
    for engine in ("polars", "duckdb"):
        with pytest.raises(FmfairError) as caught:
            fmfair.evaluate(table(), engine=engine, **arguments)
        said.append(str(caught.value))

    assert said[1] == said[0]
    assert any(part in said[0] for part in says.split("|"))
