"""CSV and its kin: types, headers, rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from table_files import read, write

from fmfair.errors import FmfairError
from fmfair.readers import collect, scan


def csv_column(folder: Path, *fields: str) -> pl.Series:
    """The column that a CSV file with these fields gives, beside a column that keeps blank rows apart."""
    lines = [f"{i},{field}" for i, field in enumerate(fields)]
    return read(write(folder, "\n".join(["row,a", *lines, ""])))["a"]


# types in text files


@pytest.mark.parametrize(
    ("fields", "dtype", "values"),
    [
        (["1", "-2", "+3", "0", "-0"], pl.Int64, [1, -2, 3, 0, 0]),
        (["1", "2.5", "1e3", ".5", "1."], pl.Float64, [1.0, 2.5, 1000.0, 0.5, 1.0]),
        (["1", "", "2"], pl.Int64, [1, None, 2]),
        (['"1"', '""', '"2"'], pl.Int64, [1, None, 2]),
        ([" 1", "2 "], pl.Int64, [1, 2]),
        ([" 0.5", " 0.25"], pl.Float64, [0.5, 0.25]),
        (["0.5", "0"], pl.Float64, [0.5, 0.0]),
        (["1", "NaN", "inf"], pl.Float64, [1.0, math.nan, math.inf]),
        (["true", "False", "TRUE", ""], pl.Boolean, [True, False, True, None]),
        (["true", "1"], pl.String, ["true", "1"]),
        (["x", "", '""', " "], pl.String, ["x", None, None, " "]),
        (["NA", "None", "NaN", "nan", "null", "N/A", "-"], pl.String, ["NA", "None", "NaN", "nan", "null", "N/A", "-"]),
        (["NaN", "Infinity", "NaN"], pl.String, ["NaN", "Infinity", "NaN"]),
        (["NaN", "Infinity", "BaNaNa"], pl.String, ["NaN", "Infinity", "BaNaNa"]),
        (["1", "NA"], pl.String, ["1", "NA"]),
        (["007", "010", "8"], pl.String, ["007", "010", "8"]),
        (["8", "007"], pl.String, ["8", "007"]),
        (["0.5", "007"], pl.String, ["0.5", "007"]),
        (["9223372036854775807", "-9223372036854775808"], pl.Int64, [2**63 - 1, -(2**63)]),
        (["9223372036854775808", "1"], pl.String, ["9223372036854775808", "1"]),
        (["9007199254740993", "1.5"], pl.String, ["9007199254740993", "1.5"]),
        (["0.12345678901234567", "1"], pl.Float64, [0.12345678901234567, 1.0]),
        (["2020-01-02", ""], pl.String, ["2020-01-02", None]),
        (["1_000", "2"], pl.String, ["1_000", "2"]),
        (['"1,5"', '"2,5"'], pl.String, ["1,5", "2,5"]),
        (["0x10", "1"], pl.String, ["0x10", "1"]),
        (["", ""], pl.String, [None, None]),
        (['"a\nb"', '"say ""hi"""', "😀", '"x,y"'], pl.String, ["a\nb", 'say "hi"', "😀", "x,y"]),
    ],
)
def test_types_of_text_columns(tmp_path: Path, fields: list[str], dtype: pl.DataType, values: list[Any]) -> None:
    found = csv_column(tmp_path, *fields)
    assert found.dtype == dtype
    assert found.equals(pl.Series("a", values, dtype=dtype), null_equal=True)


@pytest.mark.parametrize(
    ("late", "dtype"), [("2.5", pl.Float64), ("text", pl.String), ("007", pl.String), ("", pl.Int64)]
)
def test_a_value_late_in_the_file_counts(tmp_path: Path, late: str, dtype: pl.DataType) -> None:
    fields = [*(str(i) for i in range(3000)), late]
    found = csv_column(tmp_path, *fields)
    assert found.dtype == dtype
    assert found.cast(pl.String)[-1] == (late or None)


def test_a_column_whose_first_value_comes_late(tmp_path: Path) -> None:
    found = csv_column(tmp_path, *[""] * 3000, "2.5")
    assert found.dtype == pl.Float64
    assert (found[-1], found.null_count()) == (2.5, 3000)


# the header of text files


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert read(write(tmp_path, "\ufeffid,a\n1,x\n")).columns == ["id", "a"]
    assert read(write(tmp_path, '\ufeff"id",a\n1,x\n')).columns == ["id", "a"]


@pytest.mark.parametrize(
    "names",
    [
        ["id", "label", "score", "Sex "],
        ["select", "order", "group", 'Patient "sex"', "count(*)"],
        ["*", "^a.*$", "a", "a\nb", "x,y", "ä😀"],
        ["", "a"],
    ],
)
def test_names_stay_unchanged(tmp_path: Path, names: list[str]) -> None:
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    frame = scan(write(tmp_path, f"{quoted}\n" + ",".join(map(str, range(len(names)))) + "\n"))
    assert frame.collect().to_dict(as_series=False) == {name: [i] for i, name in enumerate(names)}
    assert [collect(frame, [name]).item() for name in names] == list(range(len(names)))


def test_repeated_names_in_a_header_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, 'id,grp,x,"grp",x\n1,a,b,c,d\n')
    with pytest.raises(FmfairError, match=r"t.csv has more than one column named 'grp', 'x'; rename all but one$"):
        scan(path)


def test_columns_without_a_name_do_not_clash(tmp_path: Path) -> None:
    assert read(write(tmp_path, "id,,\n1,2,3\n")).columns == ["id", "", "column_3"]


@pytest.mark.parametrize(
    ("name", "content", "mark"),
    [
        ("t.csv", "id;label;score;sex\n1;0;0,2;F\n", "';'"),
        ("t.csv", "id\tlabel\n1\t0\n", "a tab"),
        ("t.csv", "id|label\n1|0\n", r"'\|'"),
        ("t.tsv", "id,label\n1,0\n", "','"),
        ("t.txt", "id;label\n1;0\n", "';'"),
    ],
)
def test_another_separator_is_suspected(tmp_path: Path, name: str, content: str, mark: str) -> None:
    header = repr(content.splitlines()[0]).replace("\\", r"\\").replace("|", r"\|")
    with pytest.raises(FmfairError, match=rf"{name}: found one column named {header}; is the separator {mark}\?"):
        scan(write(tmp_path, content, name))


def test_one_column_is_a_table(tmp_path: Path) -> None:
    assert read(write(tmp_path, "id\n1\n\n2\n"))["id"].to_list() == [1, None, 2]


@pytest.mark.parametrize("content", ["id,sex", "id,sex\n", "\ufeffid,sex\r\n"])
def test_a_header_alone_is_an_empty_table(tmp_path: Path, content: str) -> None:
    found = read(write(tmp_path, content))
    assert (found.columns, found.height) == (["id", "sex"], 0)


def test_blank_rows_are_dropped(tmp_path: Path) -> None:
    content = '\nid,a,b\n1,2,\n\n,,\n"",,\n3,,\n\n'
    assert read(write(tmp_path, content)).rows() == [(1, 2, None), (3, None, None)]


def test_windows_line_ends(tmp_path: Path) -> None:
    assert read(write(tmp_path, "id,a\r\n1,x\r\n2,y\r\n")).rows() == [(1, "x"), (2, "y")]


def test_rows_that_are_too_short_are_filled_with_missing_values(tmp_path: Path) -> None:
    assert read(write(tmp_path, "id,a\n1,x\n2\n")).rows() == [(1, "x"), (2, None)]
