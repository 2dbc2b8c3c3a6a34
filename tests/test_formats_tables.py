"""What Parquet, Arrow, JSON and Excel know beyond plain text."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from table_files import TABLE, read, write, write_workbook

from fmfair.errors import FmfairError
from fmfair.readers import scan

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
