"""A column of patients that was found but not used: how much too narrow intervals may be."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from command_line import run
from engines import both

from fmfair.evaluation import evaluate
from fmfair.patients import Sizes
from fmfair.segmentation import evaluate_segmentation


def images(sizes: list[int], patient: str = "patient_id") -> pl.DataFrame:
    """A table of patients with so many images each."""
    n = sum(sizes)
    return (
        pl.DataFrame(
            {
                "y_true": [0, 1, 1, 0, 1, 0, 0][:7] * (n // 7 + 1),
                "y_score": [0.2, 0.9, 0.4, 0.6, 0.7, 0.1, 0.3] * (n // 7 + 1),
                "sex": ["F", "M"] * (7 * (n // 7 + 1) // 2) + ["F"] * (7 * (n // 7 + 1) % 2),
            }
        )
        .head(n)
        .with_columns(pl.Series(patient, [f"p{i}" for i, size in enumerate(sizes) for _ in range(size)]))
    )


def warned(notes: tuple[str, ...]) -> list[str]:
    return [note for note in notes if "they may be too narrow" in note]


def test_the_note_names_the_column_and_says_how_much_too_narrow_the_intervals_may_be() -> None:
    (note,) = warned(evaluate(images([5] * 20), ci=0.95).notes)

    # A design effect of 1 + 4 * 0.5 and of 5.
    assert note == (
        "column 'patient_id': 5.0 rows per patient on average, but the intervals count all rows as independent, since "
        "cluster='patient_id' was not given; they may be too narrow, about 1.7 times where rows of a patient correlate "
        "by 0.5 and up to 2.2 times where they are all alike"
    )


def test_large_patients_count_by_their_rows() -> None:
    # Of 40 rows, 30 are one patient's: a row's patient has 910 / 40 rows on average.
    assert math.isclose(Sizes(40, 11, 910.0).too_narrow(1.0) ** 2, 22.75)
    (note,) = warned(evaluate(images([30] + [1] * 10), ci=0.95).notes)
    assert "3.6 rows per patient on average" in note
    assert "up to 4.8 times" in note


def test_copies_of_a_sample_are_as_much_too_narrow_as_the_note_says() -> None:
    frame = images([1] * 200)
    copies = pl.concat([frame] * 4)

    (note,) = warned(evaluate(copies, ci=0.95).notes)
    alone, naive = (
        evaluate(f, metrics="brier", ci=0.95, cluster=c).overall for f, c in ((copies, "patient_id"), (copies, None))
    )
    width = [(f["ci_high"] - f["ci_low"]).item() for f in (alone, naive)]

    assert "up to 2.0 times" in note
    assert width[0] / width[1] == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize(
    ("frame", "arguments"),
    [
        (images([1] * 50), {}),
        (images([5] * 10), {"cluster": "patient_id"}),
        (images([5] * 10), {"ci": None}),
        (images([5] * 10, "who"), {}),
        (images([5] * 10).with_columns(patient_id=pl.lit(None, pl.String)), {}),
        (images([2] * 10).with_columns(model=pl.Series(["a", "b"] * 10)), {}),
    ],
    ids=["no repeats", "used", "no intervals", "another name", "all missing", "once per by-key"],
)
def test_nothing_is_said_without_need(frame: pl.DataFrame, arguments: dict[str, Any]) -> None:
    assert not warned(evaluate(frame, **{"ci": 0.95, **arguments}).notes)


@pytest.mark.parametrize("name", ["Patient ID", "MRN", "subject_id", "patient"])
def test_the_usual_names_are_known(name: str) -> None:
    assert f"column {name!r}:" in warned(evaluate(images([5] * 10, name), ci=0.95).notes)[0]


def test_both_engines_say_the_same_also_of_a_long_table() -> None:
    frame = images([5, 2, 9] * 6).with_columns(model=pl.Series(["a", "b", "b"] * 32))
    long = (
        frame.with_row_index("sample_id")
        .drop("sex")
        .join(pl.DataFrame({"attribute": ["sex", "site"], "group": ["F", "x"]}), how="cross")
    )

    for table in (frame, long):
        polars, _ = both(table, ci=0.95, metrics="tpr")
        assert warned(polars.notes)


def test_a_segmentation_is_warned_too_and_a_command_line_in_its_words(tmp_path: Any) -> None:
    frame = images([5] * 20)
    frame.write_csv(tmp_path / "table.csv")

    assert warned(evaluate_segmentation(frame.select("sex", "patient_id", dice="y_score"), ci=0.95).notes)
    found = run("score", tmp_path / "table.csv", "--ci", "0.95")
    assert "fmfair: warning: column 'patient_id': 5.0 rows per patient" in found.err
    assert "since --cluster patient_id was not given" in found.err
