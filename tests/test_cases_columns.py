"""The join with metadata, and columns with any name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lookup import assert_honest, by_group, gap, overall

import fmfair
from fmfair import FmfairError

# Patient 41 has two images, and stands in the demographics twice.
PREDICTIONS = "id,label,score\n41,0,0.2\n41,1,0.9\n43,0,0.7\n44,1,0.6\n"
DEMOGRAPHICS = "id,sex\n41,F\n41,M\n42,F\n43,M\n44,M\n"
ONCE = DEMOGRAPHICS.replace("41,M\n", "")


def _frame(text: str) -> pl.DataFrame:
    return pl.read_csv(text.encode())


def _written(text: str, folder: Path) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.csv"
    path.write_text(text)
    return path


SOURCES: dict[str, Callable[[str, Path], Any]] = {
    "Polars": lambda text, _: _frame(text),
    "lazy": lambda text, _: _frame(text).lazy(),
    "pandas": lambda text, _: pd.DataFrame(_frame(text).to_dict(as_series=False)),
    "Arrow": lambda text, _: _frame(text).to_arrow(),
    "DuckDB": lambda text, _: duckdb.from_arrow(_frame(text).to_arrow()),
    "CSV": _written,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_fc53_an_id_that_identifies_two_rows_is_an_error_that_names_it(kind: str, tmp_path: Path) -> None:
    predictions, metadata = (SOURCES[kind](text, tmp_path) for text in (PREDICTIONS, DEMOGRAPHICS))

    with pytest.raises(FmfairError, match="id 41 occurs 2 times in the metadata; it must identify one row"):
        fmfair.evaluate(predictions, metadata=metadata, on="id", attributes="sex")


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("on", ["id", None, ("id", "id")])
def test_fc53_several_images_of_a_patient_stay_several_rows(kind: str, on: Any, tmp_path: Path) -> None:
    predictions, metadata = (SOURCES[kind](text, tmp_path) for text in (PREDICTIONS, ONCE))

    report = fmfair.evaluate(predictions, metadata=metadata, on=on)

    assert overall(report, "auc", "n") == 4
    assert by_group(report, "auc") == {"F": 1.0, "M": 0.0}
    assert gap(report, "auc") == 1.0
    assert [n for n in report.notes if "1 metadata row without a prediction" in n]


def test_fc53_exact_repeats_in_the_metadata_count_once_and_are_noted() -> None:
    report = fmfair.evaluate(_frame(PREDICTIONS), metadata=_frame(DEMOGRAPHICS.replace("41,M", "41,F")), on="id")

    assert by_group(report, "auc", "n") == {"F": 2, "M": 2}
    assert [n for n in report.notes if "counted once: 1 metadata row" in n]


@pytest.mark.parametrize("wrap", ["{}", "{}.0", " {}"])
def test_fc53_ids_that_print_alike_meet_and_others_do_not(wrap: str) -> None:
    metadata = _frame(ONCE).with_columns(pl.format(wrap, "id").alias("id"))

    if wrap == "{}":
        assert overall(fmfair.evaluate(_frame(PREDICTIONS), metadata=metadata, on="id"), "auc", "n") == 4
    else:
        with pytest.raises(FmfairError, match="no id of the predictions is in the metadata") as error:
            fmfair.evaluate(_frame(PREDICTIONS), metadata=metadata, on="id")
        assert repr(wrap.format(41)) in str(error.value)


def test_fc53_predictions_without_metadata_are_left_out_and_counted() -> None:
    report = fmfair.evaluate(_frame(PREDICTIONS), metadata=_frame(ONCE.replace("43,M\n", "")), on="id")

    assert overall(report, "auc", "n") == 3
    assert [n for n in report.notes if "left out: 1 prediction whose 'id' is not in the metadata" in n]


def test_fc53_dice_values_are_joined_the_same_way() -> None:
    dice = pl.DataFrame({"id": [41, 41, 43, 44], "dice": [0.9, 0.7, 0.5, 0.3]})

    with pytest.raises(FmfairError, match="id 41 occurs 2 times"):
        fmfair.evaluate_segmentation(dice, metadata=_frame(DEMOGRAPHICS), on="id")

    report = fmfair.evaluate_segmentation(dice, metadata=_frame(ONCE), on="id")
    assert by_group(report, "dice") == pytest.approx({"F": 0.8, "M": 0.4})


def test_fc54_two_label_columns_are_an_error_that_quotes_both(tmp_path: Path) -> None:
    path = _written("id,label,y_true,score,sex\n1,0,0,0.2,F\n2,1,1,0.8,F\n3,0,0,0.3,M\n4,1,1,0.7,M\n", tmp_path)

    with pytest.raises(FmfairError, match="several columns could be y_true: 'label' and 'y_true'; choose one with"):
        fmfair.evaluate(path)
    assert by_group(fmfair.evaluate(path, y_true="y_true", by=[]), "auc") == {"F": 1.0, "M": 1.0}


@pytest.mark.parametrize("second", ["prob", "y_score", "logits"])
def test_fc54_two_score_columns_are_an_error_that_quotes_both(second: str) -> None:
    table = {"label": [0, 1], "score": [0.1, 0.2], second: [0.1, 0.2], "sex": ["F", "M"]}

    with pytest.raises(FmfairError, match=f"several columns could be y_score: 'score' and '{second}'; choose one with"):
        fmfair.evaluate(table)


def test_fc54_a_space_after_a_header_is_shown_in_the_hint(tmp_path: Path) -> None:
    path = _written("id,label,score,Sex \n1,0,0.2,F\n2,1,0.8,F\n3,0,0.3,M\n4,1,0.7,M\n", tmp_path)

    with pytest.raises(FmfairError, match=r"no column 'Sex'; did you mean 'Sex '\?"):
        fmfair.evaluate(path, attributes="Sex")
    report = fmfair.evaluate(path)
    assert report.summary["attribute"].to_list() == ["Sex "]


@pytest.mark.parametrize("separator", [";", "|", "\t"])
def test_fc54_another_separator_is_suspected(separator: str, tmp_path: Path) -> None:
    text = "id;label;score;sex\n1;0;0,2;F\n2;1;0,8;F\n3;0;0,3;M\n4;1;0,7;M\n".replace(";", separator)
    path = _written(text, tmp_path)

    with pytest.raises(FmfairError) as error:
        fmfair.evaluate(path)

    assert "found one column named" in str(error.value)
    assert "separator" in str(error.value)


def test_fc54_decimal_commas_are_suspected() -> None:
    table = {"label": [0, 1], "score": ["0,2", "0,8"], "sex": ["F", "M"]}

    with pytest.raises(FmfairError, match=r"'0,2', '0,8' \(decimal commas must be points"):
        fmfair.evaluate(table)


HOSTILE_NAMES = [
    'Patient "sex"',
    "count(*)",
    "group",
    "order",
    "*",
    "^.*$",
    "",
    " ",
    "a & b",
    "attribute",
    "value",
    "metric",
    "n",
    "note",
    "by",
    "cell",
    "g0",
    "g1",
    "y",
    "bce",
    "weight",
    "rank",
    "literal",
    "len",
    "k:by",
    "part0",
    "\0n",
    "线 🩻",
    "line\nbreak",
    "'; drop table x; --",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_fc54_an_attribute_may_have_any_name(name: str) -> None:
    columns = {"select": [0, 1, 0, 1], "prob": [0.2, 0.8, 0.3, 0.7], name: ["F", "F", "M", "M"], "z": [*"uuvv"]}
    arguments: dict[str, Any] = {
        "y_true": "select",
        "y_score": "prob",
        "attributes": [name, "z"],
        "intersections": 2,
        "metrics": "auc",
    }

    for table in (pl.DataFrame(columns), pa.table(columns)):
        report = fmfair.evaluate(table, **arguments)

        assert report.summary["attribute"].to_list()[0] == name
        assert by_group(report, "auc", attribute=name) == {"F": 1.0, "M": 1.0}
        assert report.gaps.filter(statistic="difference", metric="auc")["value"].to_list() == [0.0] * 3
        assert_honest(report)


@pytest.mark.parametrize("name", ['Patient "sex"', "*", "^.*$", "", "by", "y", "\0n"])
@pytest.mark.parametrize("role", ["y_true", "y_score", "weight", "sample_id", "y_pred"])
def test_fc54_every_role_may_have_any_name(role: str, name: str) -> None:
    columns: dict[str, list[Any]] = {
        "y_true": [0, 1, 0, 1],
        "y_score": [0.2, 0.8, 0.3, 0.7],
        "weight": [1, 2, 1, 2],
        "sample_id": [*"abcd"],
        "y_pred": [0, 1, 0, 1],
    }
    table = {name if r == role else f"the {r}": values for r, values in columns.items()}
    arguments: dict[str, Any] = {r: name if r == role else f"the {r}" for r in columns}

    report = fmfair.evaluate(pl.DataFrame({**table, "sex": [*"FFMM"]}), attributes="sex", **arguments)

    assert by_group(report, "auc") == {"F": 1.0, "M": 1.0}
    assert by_group(report, "accuracy") == {"F": 1.0, "M": 1.0}


RESULT_COLUMNS = {"attribute", "group", "value", "metric", "n", "note", "n_groups", "threshold", "statistic"}


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, *sorted(RESULT_COLUMNS - set(HOSTILE_NAMES))])
def test_fc54_a_by_key_may_have_any_name_but_that_of_a_result_column(name: str) -> None:
    frame = pl.DataFrame({"t": [0, 1] * 4, "s": [0.2, 0.8, 0.3, 0.7] * 2, name: [*"AAAABBBB"], "sex": [*"FFMMFFMM"]})

    if name in RESULT_COLUMNS:
        with pytest.raises(FmfairError, match=f"by-key '{name}' has the name of a column of the results; rename it"):
            fmfair.evaluate(frame, y_true="t", y_score="s", by=name, attributes="sex")
    else:
        report = fmfair.evaluate(frame, y_true="t", y_score="s", by=name, attributes="sex")
        assert report.summary.columns[0] == name
        assert report.summary[name].to_list() == ["A", "B"]
