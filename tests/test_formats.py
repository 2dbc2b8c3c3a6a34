from __future__ import annotations

import base64
import gzip
import json
import logging
import math
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
import xlsxwriter  # type: ignore[import-untyped]  # it ships no types
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fmfair.errors import FmfairError
from fmfair.readers import collect, scan

# An .xls workbook with the header id, label, score, sex and two rows: no Python package of today writes this format.
XLS = (
    b"c-rk)O=uHA6#izD%^z*Lsj1KkB^0c+_E71;UfNZ`_GGDE6cIFO7AXyhBp%d@)taLqcv8F+dht^A;twk5O;D)VgCGcr9z6*P9@?yL"
    b"-p<xUi!`7`Wxi$Jym>S8=4IZSmz{mJl&H+#?W*Djj3R)V8%3y2Ca6UHh6U<(UCH`&go>;2Pazs1M}|y1YJC}&K9v5h!oZ#2GorwI"
    b"D#vje6NS8!+C=PU8`47BFhW$|CQ0JxWUJblPBGoW^fr%t%ychHt}q>;u@!L)OZG(nu!`cNMi2MJA@$zpId56A8y$EqqxiyA;f*!1"
    b"uQ;8~{hb}%!4@ol{5J07onksyL6RJ}fG=(e`0St5rztJpT)6<rzc$Ll>&UMeL0}f{Ne=KbCD-ME=it%`hNNS;P-ISLO(2)fI610I"
    b"Q-z{K153_XqJx8bC@RL78;;2o%}3g5IMS^g>McaGXk$LX0dG;#Ub*$@^})=feS#&koW{Lmzg^k~7Z>FWnjGgIHW9L?pJ(i1dWp4e"
    b"W4?=NlEReg-pLNdjLq?w%iP;b>kKiL?HzS|AMxdnhaPm7KiE5oUmUNVPcFW(=g~v^lco9cnZtk>5I3$%Jhc5<sKoG&Y3EN#B4Sv|"
    b"c31tQwP6)8W)n=kmfRh&)-u#yd947o0!o)yN0(q-a(AAPHDYb26F9}XyfIRXsk9iZwNZ;VBc!x={tB_|1#1~K+Hp?~qGb0SF=%LL"
    b"XlQ6?XlQ8s62iM*@GGr+X*Jb_A*{aZtWv4z&m{jX4x>QN8M>GrK%VL%&NUT3TVV=cm)PJO|9hdt5n8>78D!XwnWp2HE=QvN_iT8g"
    b"_4|%cv+LKIvGWhF{|)QA$@2"
)


def read(path: Path) -> pl.DataFrame:
    return scan(path).collect()


def write(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def csv_column(folder: Path, *fields: str) -> pl.Series:
    """The column that a CSV file with these fields gives, beside a column that keeps blank rows apart."""
    lines = [f"{i},{field}" for i, field in enumerate(fields)]
    return read(write(folder, "\n".join(["row,a", *lines, ""])))["a"]


def write_workbook(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                if value is not None:
                    sheet.write(i, j, value)
    return path


# the same table in every format

TABLE = pl.DataFrame(
    {
        "id": ["007", "010", "1000"],
        "label": [0, 1, 0],
        "score": [0.1, 1.0, 1e-7],
        "flag": [True, None, False],
        "region": ["NA", None, "None"],
        "age": [40, None, 61],
    }
)


def write_table(path: Path) -> Path:
    bare = path.name.lower().removesuffix(".gz")
    separator = "," if bare.endswith(".csv") else "\t"
    if bare.endswith((".csv", ".tsv", ".tab", ".txt")):
        content = TABLE.write_csv(separator=separator).encode()
    elif bare.endswith(".json"):
        content = TABLE.write_json().encode()
    elif bare.endswith((".jsonl", ".ndjson")):
        content = TABLE.write_ndjson().encode()
    elif bare.endswith((".parquet", ".pq")):
        TABLE.write_parquet(path)
        return path
    elif bare.endswith(".xlsx"):
        return write_workbook(path, [TABLE.columns, *TABLE.rows()])
    else:
        TABLE.write_ipc(path)
        return path
    path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize(
    "name",
    [
        *("t.csv", "t.csv.gz", "t.tsv", "t.tsv.gz", "t.tab", "t.txt", "t.txt.gz", "T.CSV", "t.v2.csv"),
        *("t.json", "t.json.gz", "t.jsonl", "t.jsonl.gz", "t.ndjson", "t.ndjson.gz"),
        *("t.parquet", "t.pq", "t.feather", "t.arrow", "t.ipc", "t.xlsx"),
        *("d[1].csv", "d[1].csv.gz", "d[1].jsonl", "d[1].json", "d[1].parquet", "d[1].arrow", "d[1].xlsx", "*.csv"),
    ],
)
def test_every_format_gives_the_same_table(tmp_path: Path, name: str) -> None:
    found = read(write_table(tmp_path / name))
    assert found.equals(TABLE)
    assert found.schema == TABLE.schema


def test_the_old_excel_format(tmp_path: Path) -> None:
    path = write(tmp_path, zlib.decompress(base64.b85decode(XLS)), "t.xls")
    assert read(path).to_dict(as_series=False) == {
        "id": ["007", "008"],
        "label": [0, 1],
        "score": [0.25, 0.5],
        "sex": ["F", None],
    }


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.arrow", "t.jsonl", "t.jsonl.gz"])
def test_only_the_needed_columns_are_read(tmp_path: Path, name: str) -> None:
    frame = scan(write_table(tmp_path / name))
    assert collect(frame, ["score"])["score"].to_list() == TABLE["score"].to_list()
    assert "PROJECT 1/6 COLUMNS" in frame.select("score").explain()


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
        (["NaN", "Infinity", "BaNaNa"], pl.String, ["NaN", "Infinity", "BaNaNa"]),  # FC-56
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


def test_codes_that_look_missing_stay_text(tmp_path: Path) -> None:  # FC-51
    rows = ["NA"] * 4 + ["EU"] * 4 + ["None"] * 4
    table = pl.DataFrame({"id": range(12), "region": rows})
    table.write_parquet(tmp_path / "t.parquet")
    table.write_csv(tmp_path / "t.csv")
    assert read(tmp_path / "t.csv")["region"].to_list() == rows
    assert read(tmp_path / "t.csv").equals(read(tmp_path / "t.parquet"))


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups=st.lists(TEXT, min_size=1, max_size=8))
def test_text_groups_are_the_same_from_csv_json_and_parquet(tmp_path: Path, groups: list[str]) -> None:
    # The first group keeps the column text: a CSV file cannot tell the text `1` from the number.
    table = pl.DataFrame({"g": ["group", *groups], "n": range(len(groups) + 1)})
    table.write_csv(tmp_path / "t.csv")
    table.write_json(tmp_path / "t.json")
    table.write_ndjson(tmp_path / "t.jsonl")
    table.write_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.json", "t.jsonl", "t.parquet"):
        assert read(tmp_path / name).equals(table), name


# the header of text files


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert read(write(tmp_path, "\ufeffid,a\n1,x\n")).columns == ["id", "a"]
    assert read(write(tmp_path, '\ufeff"id",a\n1,x\n')).columns == ["id", "a"]


@pytest.mark.parametrize(
    "names",
    [
        ["id", "label", "score", "Sex "],  # FC-54
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


# files that cannot be read

PARQUET = b"PAR1" + bytes(100) + b"PAR1"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "as CSV: the file is empty"),
        ("t.csv", b"\n\n", "as CSV: empty CSV"),
        ("t.csv", b"id,a\n1,2,3\n", "as CSV: a row has more fields than the header"),
        ("t.csv", b'id,a\n1,"x\n2,y\n', "as CSV: a quoted field is never closed"),
        ("t.csv", b'id,a\n1,5" x\n2,y\n', "as CSV: a field without quotes holds a single quote mark"),
        ("t.csv", b'pat"ient,a\n1,x\n', "as CSV: a quote mark in its header is not closed"),
        ("t.csv", "id,é\n1,x\n".encode("latin-1"), "as CSV: it is not UTF-8 text; save it as UTF-8"),
        ("t.csv", b"id,a\n" + b"1,x\n" * 20000 + b"1,\xe9\n", "as CSV: it is not UTF-8 text; save it as UTF-8"),
        ("t.csv", "id,a\n1,x\n".encode("utf-16"), "as CSV: it is binary or UTF-16, not UTF-8 text"),
        ("t.csv", PARQUET, "as CSV: it is binary or UTF-16, not UTF-8 text"),
        ("t.csv", b"id,a\r1,x\r2,y\r", r"as CSV: its header has 2 or 4 columns; are its lines ended by \\n\?"),
        ("t.csv", b"id\r1\r", r"as CSV: its header has 1 or 1 columns; are its lines ended by \\n\?"),
        ("t.csv.gz", gzip.compress(b"id,a\n" + b"1,x\n" * 9999)[:-20], "as CSV: .*"),
        ("t.csv.gz", gzip.compress(b"id,a\n1,x\n")[:-8] + bytes(8), "as CSV: .*"),
        ("t.csv.gz", gzip.compress(b""), "as CSV: empty CSV"),
        ("t.tsv", b"", "as tab-separated text: the file is empty"),
        ("t.parquet", b"", "as Parquet: the file is empty"),
        ("t.parquet", b"id,a\n1,2\n" * 9, "as Parquet: .*"),
        ("t.parquet", b"PAR1" + bytes(50), "as Parquet: .*"),
        ("t.arrow", b"ARROW1" + bytes(50), "as Arrow: .*"),
        ("t.feather", b"id,a\n1,2\n", "as Arrow: .*"),
        ("t.ipc", b"", "as Arrow: the file is empty"),
        ("t.json", b"", "as JSON: the file is empty"),
        ("t.json", b"[]", "as JSON: it holds no columns"),
        ("t.json", b"{}", "as JSON: it holds no columns"),
        ("t.json", b'"text"', "as JSON: a list of records is needed"),
        ("t.json", b"[1, 2]", "as JSON: .*"),
        ("t.json", b'[{"a": 1}, {"a"', "as JSON: .*"),
        (
            "t.json",
            b'[{"a": 1}, {"a": NaN}]',
            "as JSON: it holds NaN or Infinity, which JSON does not know; write null",
        ),
        ("t.json", b"\x89PNG" + bytes(50), "as JSON: .*"),
        ("t.json.gz", gzip.compress(b'[{"a": 1}]' * 99)[:-9], "as JSON: .*"),
        ("t.jsonl", b'{"a": 1}\n{"a":', "as JSON Lines: .*"),
        ("t.jsonl", b'{"a": 1}\n{"a": -Infinity}\n', "as JSON Lines: it holds NaN or Infinity.*"),
        ("t.xlsx", b"id,a\n1,2\n", "as Excel: .*"),
        ("t.xls", b"", "as Excel: the file is empty"),
    ],
)
def test_unreadable_files_are_one_clear_error(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = write(tmp_path, content, name)
    with pytest.raises(FmfairError, match=rf"^cannot read {path} {message}$") as caught:
        scan(path)
    assert "\n" not in str(caught.value)


def test_a_truncated_file_of_every_binary_format(tmp_path: Path) -> None:
    for name in ("t.parquet", "t.arrow", "t.xlsx"):
        path = write_table(tmp_path / name)
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(FmfairError, match=f"^cannot read {path} as "):
            scan(path)


def test_damage_that_shows_only_in_the_data(tmp_path: Path) -> None:
    path = write_table(tmp_path / "t.parquet")
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 3) + content[4 + len(content) // 3 :])
    frame = scan(path)
    with pytest.raises(FmfairError, match=r"^cannot read the predictions: "):
        collect(frame, ["id", "score"], "the predictions")


@pytest.mark.parametrize("name", ["t.npy", "t", "t.parquet.gz", "t.xlsx.gz", "t.csv.zip", ".csvx"])
def test_an_unknown_extension_lists_the_known_ones(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, "id\n1\n", name)
    with pytest.raises(
        FmfairError, match=rf"^cannot tell the format of {path} by its name; expected one of .csv, .tsv"
    ):
        scan(path)


# Parquet and Arrow


def test_an_enum_and_an_ordered_categorical_keep_their_levels(tmp_path: Path) -> None:
    levels = ["low", "mid", "high"]
    frame = pl.DataFrame({"a": pl.Series(["high", None, "low"], dtype=pl.Enum(levels))})
    frame.write_parquet(tmp_path / "polars.parquet")
    frame.write_ipc(tmp_path / "polars.arrow")
    categorical = pd.DataFrame({"a": pd.Categorical(["high", None, "low"], levels, ordered=True)})
    categorical.to_parquet(tmp_path / "pandas.parquet", row_group_size=1)
    categorical.to_feather(tmp_path / "pandas.feather")
    for name in ("polars.parquet", "polars.arrow", "pandas.parquet", "pandas.feather"):
        found = read(tmp_path / name)["a"]
        assert (found.dtype, found.to_list()) == (pl.Enum(levels), ["high", None, "low"]), name


def test_a_column_beside_an_ordered_categorical_is_still_read_alone(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x"], ordered=True), "u": pd.Categorical(["y"]), "n": [1]})
    frame.to_parquet(tmp_path / "t.parquet")
    assert "PROJECT 1/3 COLUMNS" in scan(tmp_path / "t.parquet").select("n").explain()
    assert read(tmp_path / "t.parquet")["u"].to_list() == ["y"]


@pytest.mark.parametrize("compression", ["lz4", "zstd", "uncompressed"])
def test_feather_of_any_compression(tmp_path: Path, compression: str) -> None:
    pa.feather.write_feather(TABLE.to_arrow(), str(tmp_path / "t.feather"), compression=compression)
    assert read(tmp_path / "t.feather").equals(TABLE)


def test_an_arrow_stream_in_a_file(tmp_path: Path) -> None:
    table = TABLE.to_arrow()
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert read(tmp_path / "t.arrow").equals(TABLE)


def test_a_categorical_of_polars_stays_one(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": pl.Series(["x", "y"], dtype=pl.Categorical)})
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.arrow").schema == read(tmp_path / "t.parquet").schema == frame.schema


# JSON


@pytest.mark.parametrize(
    "content",
    [
        '[{"a": 1, "b": "x"}, {"a": 2.5, "b": null}]',
        '\ufeff [{"a": 1, "b": "x"}, {"a": 2.5}] ',
        '{"a": 1, "b": "x"}\n{"a": 2.5, "b": null}\n',
        '{"a": [1, 2.5], "b": ["x", null]}',
        '{"a": {"0": 1, "1": 2.5}, "b": {"0": "x", "1": null}}',
    ],
)
def test_json_of_records_lines_and_columns(tmp_path: Path, content: str) -> None:
    assert read(write(tmp_path, content, "t.json")).to_dict(as_series=False) == {"a": [1.0, 2.5], "b": ["x", None]}


def test_what_pandas_writes_by_default(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1, 2], "b": ["x", None]}, index=["p", "q"])
    table.to_json(tmp_path / "t.json")
    assert read(tmp_path / "t.json").rows() == [(1, "x"), (2, None)]


def test_one_record_is_one_row(tmp_path: Path) -> None:
    assert read(write(tmp_path, '{"a": 1, "b": "x"}', "t.json")).rows() == [(1, "x")]


def test_columns_of_unequal_length_in_json(tmp_path: Path) -> None:
    with pytest.raises(FmfairError, match=r"differ in length: 'a' has 2 rows, 'b' has 1 row$"):
        scan(write(tmp_path, '{"a": [1, 2], "b": [1]}', "t.json"))


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_json_values_of_any_kind(tmp_path: Path, name: str) -> None:
    rows: list[dict[str, Any]] = [{"a": i, "big": 2**70, "none": None, "mix": i, "text": "007"} for i in range(2000)]
    rows[-1] |= {"a": 0.5, "mix": "NA", "text": "None"}
    content = json.dumps(rows) if name == "t.json" else "\n".join(map(json.dumps, rows))

    found = read(write(tmp_path, content, name))

    assert found.schema == {"a": pl.Float64, **dict.fromkeys(["big", "none", "mix", "text"], pl.String)}
    assert found.row(-1) == (0.5, str(2**70), None, "NA", "None")


def test_json_lines_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert read(write(tmp_path, '\ufeff{"a": 1}\n', "t.jsonl")).rows() == [(1,)]


# Excel


def test_excel_values_late_in_a_column_and_text_codes(tmp_path: Path) -> None:
    rows: list[Sequence[Any]] = [
        ["id", "n", "code", "Sex "],
        *([f"00{i}", i, "NA", True] for i in range(1500)),
        ["x", 0.5, "None", None],
    ]
    found = read(write_workbook(tmp_path / "t.xlsx", rows))
    assert found.columns == ["id", "n", "code", "Sex "]
    assert found.row(0) == ("000", 0.0, "NA", True)
    assert found.row(-1) == ("x", 0.5, "None", None)


def test_repeated_names_in_excel_are_an_error(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "t.xlsx", [["grp", "x", "grp"], [1, 2, 3]])
    with pytest.raises(FmfairError, match=r"t.xlsx has more than one column named 'grp'; rename all but one$"):
        scan(path)


def test_an_excel_sheet_without_rows_or_without_anything(tmp_path: Path) -> None:
    assert read(write_workbook(tmp_path / "t.xlsx", [["id", "sex"]])).columns == ["id", "sex"]
    with pytest.raises(FmfairError, match=r"as Excel: it holds no columns$"):
        scan(write_workbook(tmp_path / "empty.xlsx", []))


def test_an_empty_excel_column_logs_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_workbook(tmp_path / "t.xlsx", [["a", "b"], [1, None]])
    with caplog.at_level(logging.WARNING):
        assert read(path).rows() == [(1, None)]
    assert caplog.messages == []


def test_excel_without_fastexcel_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_workbook(tmp_path / "t.xlsx", [["a"], [1]])
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(FmfairError, match=r'need the package fastexcel: pip install "fmfair\[tables\]"$'):
        scan(path)
