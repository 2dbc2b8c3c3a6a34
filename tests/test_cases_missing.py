"""Missing attributes, labels, scores and Dice values, in every form in which libraries write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lookup import DOORS, Door, assert_honest, by_group, from_arrays, gap, overall, summary, warned

import fmfair
from fmfair import FmfairError

NAN = float("nan")

# Sex is unknown for the last two of ten patients.
SEX_TRUTH = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0]
SEX_SCORE = [0.2, 0.7, 0.4, 0.3, 0.1, 0.6, 0.8, 0.5, 0.05, 0.95]
KNOWN = ["a"] * 4 + ["b"] * 4
CODES = [1.0] * 4 + [2.0] * 4

MISSING_GROUP = {
    "None in a list": [*KNOWN, None, None],
    "NaN in a list": [*KNOWN, NAN, NAN],
    "NaN and None in a list": [*KNOWN, NAN, None],
    "NaN in an object array": np.array([*KNOWN, NAN, NAN], dtype=object),
    "None in an object array": np.array([*KNOWN, None, None], dtype=object),
    "Polars null": pl.Series([*KNOWN, None, None]),
    "Polars Enum": pl.Series([*KNOWN, None, None], dtype=pl.Enum(["a", "b"])),
    "Polars Categorical": pl.Series([*KNOWN, None, None], dtype=pl.Categorical),
    "pandas object NaN": pd.Series([*KNOWN, NAN, NAN], dtype=object),
    "pandas string NA": pd.Series([*KNOWN, pd.NA, None], dtype="string"),
    "pandas Categorical": pd.Series(pd.Categorical([*KNOWN, None, None])),
    "pandas Arrow string": pd.Series([*KNOWN, None, None], dtype=pd.ArrowDtype(pa.string())),
    "Arrow null": pa.array([*KNOWN, None, None]),
    "Arrow dictionary": pa.array([*KNOWN, None, None]).dictionary_encode(),
    "float codes in a list": [*CODES, NAN, None],
    "float codes in NumPy": np.array([*CODES, NAN, NAN]),
    "float codes in Polars": pl.Series([*CODES, NAN, None], strict=False),
    "nullable codes in pandas": pd.Series([1] * 4 + [2] * 4 + [None, None], dtype="Int64"),
}
FORMS_OF_MISSING = pytest.mark.parametrize("group", [pytest.param(v, id=k) for k, v in MISSING_GROUP.items()])


@FORMS_OF_MISSING
def test_fc01_a_missing_group_is_left_out_and_counted_whatever_its_form(group: Any) -> None:
    report = fmfair.evaluate_arrays(SEX_TRUTH, SEX_SCORE, sensitive_features={"sex": group})

    assert list(by_group(report, "auc")) in (["a", "b"], ["1", "2"])
    assert list(by_group(report, "auc").values()) == [0.75, 1.0]
    assert set(by_group(report, "auc", "n").values()) == {4}
    assert gap(report, "auc") == 0.25
    assert gap(report, "auc", "worst") == 0.75
    assert (summary(report, "n"), summary(report, "overall-auc")) == (8, 0.875)
    assert overall(report, "auc", "n") == 10
    assert overall(report, "auc") == pytest.approx(0.56, abs=1e-12)
    assert [n for n in report.notes if "sex: 2 rows with a missing value left out" in n]
    assert_honest(report)


@FORMS_OF_MISSING
def test_fc01_the_scalars_leave_missing_groups_out_and_warn_of_them(group: Any) -> None:
    value, told = warned(fmfair.auc_gap, SEX_TRUTH, SEX_SCORE, sensitive_features=group)
    worst, _ = warned(fmfair.worst_group_auc, SEX_TRUTH, SEX_SCORE, sensitive_features=group)

    assert (value, worst) == (0.25, 0.75)
    assert "2 rows with a missing value left out" in told


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(pl.DataFrame, id="Polars"),
        pytest.param(lambda d: pl.DataFrame(d).lazy(), id="lazy"),
        pytest.param(pd.DataFrame, id="pandas"),
        pytest.param(pa.table, id="Arrow"),
        pytest.param(lambda d: duckdb.from_arrow(pa.table(d)), id="DuckDB"),
        pytest.param(
            lambda d: pa.RecordBatchReader.from_batches(pa.table(d).schema, pa.table(d).to_batches()), id="IPC"
        ),
    ],
)
def test_fc01_evaluate_gives_the_same_from_every_table(make: Callable[[dict[str, Any]], Any]) -> None:
    table = make({"label": SEX_TRUTH, "prob": SEX_SCORE, "sex": [*KNOWN, None, None]})

    report = fmfair.evaluate(table)

    assert by_group(report, "auc") == {"a": 0.75, "b": 1.0}
    assert (summary(report, "n"), summary(report, "overall-auc"), overall(report, "auc", "n")) == (8, 0.875, 10)
    assert [n for n in report.notes if "sex: 2 rows with a missing value" in n]


@FORMS_OF_MISSING
def test_fc01_missing_groups_can_be_kept_as_one_group(group: Any) -> None:
    features = {"sex": group}
    report = fmfair.evaluate_arrays(
        SEX_TRUTH, SEX_SCORE, sensitive_features=features, missing_groups="keep", metrics="auc"
    )

    assert list(by_group(report, "auc").values()) == [0.75, 1.0, 0.0]
    assert list(by_group(report, "auc"))[-1] == "(missing)"
    assert summary(report, "n") == 10


def test_fc01_the_kept_group_does_not_merge_with_one_that_is_called_missing() -> None:
    group = ["(missing)"] * 4 + ["b"] * 4 + [None, None]

    report = from_arrays(SEX_TRUTH, SEX_SCORE, group, missing_groups="keep")

    assert list(by_group(report, "auc", "n").values()) == [4, 4, 2]
    assert len(by_group(report, "auc")) == 3


@DOORS
@pytest.mark.parametrize("name", ["nan", "None", "NaN", "NA", "null", ""])
def test_fc01_text_that_looks_missing_is_a_group(door: Door, name: str) -> None:
    report = door(SEX_TRUTH, SEX_SCORE, [*KNOWN, name, name])

    assert by_group(report, "auc", "n") == {"a": 4, "b": 4, name: 2}
    assert by_group(report, "auc")[name] == 0.0


@DOORS
@pytest.mark.parametrize("name", ["NA", "None", "nan"])
def test_fc01_text_is_missing_where_the_user_says_so(door: Door, name: str) -> None:
    report = door(SEX_TRUTH, SEX_SCORE, [*KNOWN, name, name], missing_values=[name])

    assert by_group(report, "auc", "n") == {"a": 4, "b": 4}
    assert [n for n in report.notes if "2 rows with a missing value" in n]


def test_fc01_a_cell_of_an_intersection_is_missing_where_one_part_is() -> None:
    table = {"label": SEX_TRUTH, "prob": SEX_SCORE, "sex": [*KNOWN, None, None], "site": ["x"] * 9 + [None]}

    report = fmfair.evaluate(table, intersections=2)

    assert by_group(report, "auc", "n", attribute="sex & site") == {"a & x": 4, "b & x": 4}
    assert summary(report, "n", attribute="sex & site") == 8
    assert summary(report, "n", attribute="site") == 9


# One patient has no outcome.
LOST_TRUTH = [0, 1, None, 1, 0, 1, 0, 1]
LOST_SCORE = [0.3, 0.8, 0.9, 0.6, 0.2, 0.7, 0.75, 0.35]
LOST_GROUP = ["a"] * 4 + ["b"] * 4


def _labels(missing: Any) -> list[Any]:
    return [missing if v is None else v for v in LOST_TRUTH]


MISSING_LABEL = {
    "list of float with NaN": ([NAN if v is None else float(v) for v in LOST_TRUTH], 1),
    "list with None": (LOST_TRUTH, 1),
    "NumPy float NaN": (np.array(_labels(NAN), dtype=float), 1),
    "NumPy object": (np.array(_labels(NAN), dtype=object), 1),
    "pandas Int64": (pd.Series(LOST_TRUTH, dtype="Int64"), 1),
    "pandas boolean": (pd.Series([None if v is None else bool(v) for v in LOST_TRUTH], dtype="boolean"), True),
    "Polars Int64": (pl.Series(LOST_TRUTH, dtype=pl.Int64), 1),
    "Polars Boolean": (pl.Series([None if v is None else bool(v) for v in LOST_TRUTH]), True),
    "Polars text": (pl.Series([None if v is None else "ny"[v] for v in LOST_TRUTH]), "y"),
    "Arrow int8": (pa.array(LOST_TRUTH, pa.int8()), 1),
}
FORMS_OF_LABEL = pytest.mark.parametrize(
    ("label", "positive"), [pytest.param(*v, id=k) for k, v in MISSING_LABEL.items()]
)


@FORMS_OF_LABEL
def test_fc02_a_missing_label_is_left_out_and_never_negative(label: Any, positive: Any) -> None:
    value, told = warned(fmfair.auc_gap, label, LOST_SCORE, sensitive_features=LOST_GROUP, pos_label=positive)
    report = fmfair.evaluate_arrays(label, LOST_SCORE, sensitive_features=LOST_GROUP, pos_label=positive, metrics="auc")

    assert value == 0.5
    assert "1 row with a missing label" in told
    assert by_group(report, "auc") == {"a": 1.0, "b": 0.5}
    assert by_group(report, "auc", "n") == {"a": 3, "b": 4}
    assert [n for n in report.notes if "1 row with a missing label in 'y_true' left out" in n]


@FORMS_OF_LABEL
def test_fc02_a_missing_label_is_an_error_where_it_is_asked_for(label: Any, positive: Any) -> None:
    table = {"truth": label, "guess": LOST_SCORE, "group": LOST_GROUP}

    with pytest.raises(FmfairError, match=r"column 'truth' has 1 missing value \(row 2\)"):
        fmfair.evaluate(
            table,
            y_true="truth",
            y_score="guess",
            attributes="group",
            positive=positive,
            missing_labels="raise",
        )


@DOORS
def test_fc02_a_missing_label_needs_no_positive(door: Door) -> None:
    report = door(_labels(NAN), LOST_SCORE, LOST_GROUP)

    assert by_group(report, "auc") == {"a": 1.0, "b": 0.5}


@DOORS
def test_fc02_the_text_of_a_missing_label_is_missing_where_the_user_says_so(door: Door) -> None:
    label = ["n/a" if v is None else "ny"[v] for v in LOST_TRUTH]

    report = door(label, LOST_SCORE, LOST_GROUP, positive="y", missing_values=["n/a"])

    assert by_group(report, "auc") == {"a": 1.0, "b": 0.5}
    assert by_group(report, "auc", "n") == {"a": 3, "b": 4}


def test_fc02_a_row_of_one_hot_labels_without_any_value_is_missing() -> None:
    columns = {"no": [1, 0, None, 0, 1, 0, 1, 0], "yes": [0, 1, None, 1, 0, 1, 0, 1]}
    table = {**columns, "prob": LOST_SCORE, "sex": LOST_GROUP}

    report = fmfair.evaluate(table, y_true=["no", "yes"])

    assert by_group(report, "auc") == {"a": 1.0, "b": 0.5}


# A model gave no number for one image.
HOLE_TRUTH = [0, 1, 0, 1, 1, 0, 1, 0]
HOLE_GROUP = ["a"] * 4 + ["b"] * 4


def _scores(hole: float | None) -> list[float | None]:
    return [0.2, 0.9, hole, 0.6, 0.7, 0.1, 0.8, 0.75]


def _parquet(columns: dict[str, Any], folder: Path) -> str:
    pl.DataFrame(columns).write_parquet(folder / "p.parquet")
    return str(folder / "p.parquet")


TABLES: dict[str, Callable[[dict[str, Any], Path], Any]] = {
    "mapping": lambda columns, _: columns,
    "Polars": lambda columns, _: pl.DataFrame(columns),
    "lazy": lambda columns, _: pl.DataFrame(columns).lazy(),
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "Arrow": lambda columns, _: pa.table(columns),
    "DuckDB": lambda columns, _: duckdb.from_arrow(pa.table(columns)),
    "Parquet": _parquet,
}
EVERY_TABLE = pytest.mark.parametrize("make", [pytest.param(v, id=k) for k, v in TABLES.items()])
HOLES = pytest.mark.parametrize("hole", [pytest.param(NAN, id="NaN"), pytest.param(None, id="null")])


@EVERY_TABLE
@HOLES
def test_fc04_a_missing_score_is_an_error_that_names_column_count_and_row(
    make: Callable[[dict[str, Any], Path], Any], hole: float | None, tmp_path: Path
) -> None:
    table = make({"label": HOLE_TRUTH, "prob": _scores(hole), "sex": HOLE_GROUP}, tmp_path)

    with pytest.raises(FmfairError, match=r"column 'prob' has 1 score that cannot be used: 1 missing.*\(row 2\)"):
        fmfair.evaluate(table)


@EVERY_TABLE
@HOLES
def test_fc04_a_missing_score_is_left_out_where_the_user_says_so(
    make: Callable[[dict[str, Any], Path], Any], hole: float | None, tmp_path: Path
) -> None:
    table = make({"label": HOLE_TRUTH, "prob": _scores(hole), "sex": HOLE_GROUP}, tmp_path)

    report = fmfair.evaluate(table, missing_scores="drop", thresholds=0.5)

    assert by_group(report, "auc") == {"a": 1.0, "b": 0.75}
    assert gap(report, "auc") == 0.25
    assert overall(report, "tp") + overall(report, "fp") == 5
    assert [n for n in report.notes if "1 row with 1 missing" in n and "'prob' left out" in n]


@HOLES
@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
def test_fc04_the_scalars_refuse_a_missing_score(make: Callable[..., Any], hole: float | None) -> None:
    score = make(_scores(hole)) if make is not np.array else np.array(_scores(hole), dtype=float)

    with pytest.raises(FmfairError, match=r"'y_score' has 1 score that cannot be used: 1 missing.*\(row 2\)"):
        fmfair.auc_gap(HOLE_TRUTH, score, sensitive_features=HOLE_GROUP)


@DOORS
@pytest.mark.parametrize("hole", [math.inf, -math.inf])
@pytest.mark.parametrize("score_type", ["auto", "probability", "logit", "rank"])
def test_fc04_an_infinite_score_is_an_error_on_every_scale(door: Door, hole: float, score_type: str) -> None:
    with pytest.raises(FmfairError, match=r"1 score that cannot be used: 1 infinite \(row 2\)"):
        door(HOLE_TRUTH, _scores(hole), HOLE_GROUP, score_type=score_type)


@DOORS
def test_fc04_a_hole_in_one_class_column_counts_as_a_missing_score(door: Door) -> None:
    positive = _scores(NAN)
    negative = [0.8, 0.1, 0.5, 0.4, 0.3, 0.9, 0.2, 0.25]
    table = {"label": HOLE_TRUTH, "prob_0": negative, "prob_1": positive, "sex": HOLE_GROUP}

    with pytest.raises(FmfairError, match="column 'prob_1' has 1 score that cannot be used"):
        fmfair.evaluate(table)
    assert door is not None


@pytest.mark.parametrize("conventions", ["standard", "fairmedfm"])
def test_fc04_a_score_is_not_asked_for_where_the_label_is_missing(conventions: str) -> None:
    table = {"label": [0, 1, None, 1, 1, 0, 1, 0], "prob": _scores(NAN), "sex": HOLE_GROUP}

    if conventions == "standard":
        assert by_group(fmfair.evaluate(table), "auc") == {"a": 1.0, "b": 0.75}
    else:
        with pytest.raises(FmfairError, match="missing value"):
            fmfair.evaluate(table, conventions=conventions)


# Every Dice of one site is undefined.
DICE = [0.9, 0.7, None, None, 0.6, 0.5]
DICE_SITE = ["x", "x", "y", "y", "z", "z"]


@pytest.mark.parametrize("times", [1, 600])
@HOLES
def test_fc05_a_group_without_any_dice_stays_with_no_value(times: int, hole: float | None) -> None:
    frame = pl.DataFrame({"dice": [hole if v is None else v for v in DICE], "site": DICE_SITE}, strict=False)
    frame = pl.concat([frame] * times)
    before = frame.clone()

    first, second = (fmfair.evaluate_segmentation(frame, attributes="site") for _ in range(2))

    for report in (first, second):
        means = by_group(report, "dice")
        assert means["y"] is None
        assert (means["x"], means["z"]) == (pytest.approx(0.8), pytest.approx(0.55))
        assert by_group(report, "dice", "n") == {"x": 2 * times, "y": 0, "z": 2 * times}
        assert by_group(report, "dice", "note") == {"x": None, "y": "no usable sample", "z": None}
        assert gap(report, "dice") == pytest.approx(0.25)
        assert gap(report, "dice", column="n_groups") == 2
        assert summary(report, "mean_dice") == pytest.approx(0.675)
        assert summary(report, "min_dice") == pytest.approx(0.55)
        assert [n for n in report.notes if f"{2 * times:,} samples with a missing value in 'dice' left out" in n]
        assert_honest(report)
    assert frame.equals(before)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series])
@HOLES
def test_fc05_the_scalars_leave_the_undefined_dice_out(make: Callable[..., Any], hole: float | None) -> None:
    values = [hole if v is None else v for v in DICE]
    dice = np.array(values, dtype=float) if make is np.array else make(values)

    value, told = warned(fmfair.dice_gap, dice, sensitive_features=DICE_SITE)
    worst, _ = warned(fmfair.worst_group_dice, dice, sensitive_features=DICE_SITE)

    assert [value, worst] == pytest.approx([0.25, 0.55])
    assert "2 samples with a missing value" in told
    assert "y (no usable sample)" in told


def test_fc05_a_table_without_any_dice_is_an_error() -> None:
    with pytest.raises(FmfairError, match="every value in 'dice' is missing"):
        fmfair.evaluate_segmentation({"dice": [None, NAN], "site": ["x", "y"]})
