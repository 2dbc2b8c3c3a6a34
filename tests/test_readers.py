from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fmfair.errors import FmfairError
from fmfair.readers import collect, column_names, scan, schema


def write(path: Path, columns: Mapping[str, Any]) -> Path:
    """A table in the format of the extension."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(columns)
    writers: dict[str, Callable[[Path], object]] = {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".jsonl": frame.write_ndjson,
    }
    writers[path.suffix](path)
    return path


def read(source: Any) -> pl.DataFrame:
    return scan(source).collect()


# paths


def test_text_and_path_name_the_same_file(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", {"a": [1]})
    assert read(path).equals(read(str(path)))


def test_a_path_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "t.csv", {"a": [1]})
    assert read("~/t.csv").rows() == [(1,)]


def test_a_file_that_does_not_exist_hints_at_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path / "predictions.csv", {"a": [1]})
    path = tmp_path / "prediction.csv"
    with pytest.raises(FmfairError, match=rf"^no file or folder {path}; did you mean 'predictions.csv'\?$"):
        scan(path)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data" / "t.csv"
    with pytest.raises(FmfairError, match=rf"^no file or folder {path}; there is no folder {path.parent} either$"):
        scan(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "'' is no path; expected "),
        (" ", "' ' is no path; expected "),
        ("label,score\n" * 1000, r"'label,score\\nlabel,score.{,50}' is no path; expected "),
        ("a\0b.csv", "no file or folder "),
        ("a" * 1000, "cannot open aaa.*: .*name too long"),
    ],
)
def test_text_that_is_no_path(source: str, message: str) -> None:
    with pytest.raises(FmfairError, match=f"^{message}") as caught:
        scan(source)
    assert "\n" not in str(caught.value)


# folders and globs

A = {"id": ["a", "b"], "label": [0, 1]}
B = {"id": ["c"], "label": [1]}
BOTH = [("a", 0), ("b", 1), ("c", 1)]


@pytest.mark.parametrize("extension", ["csv", "parquet", "jsonl"])
def test_a_folder_and_a_glob_are_one_table(tmp_path: Path, extension: str) -> None:
    write(tmp_path / f"part-1.{extension}", A)
    write(tmp_path / "more" / f"part-2.{extension}", B)
    assert sorted(read(tmp_path).rows()) == BOTH
    assert read(f"{tmp_path}/**/*.{extension}").sort("id").rows() == BOTH
    assert read(f"{tmp_path}/part-[0-9].{extension}").rows() == BOTH[:2]
    assert read(f"{tmp_path}/more").rows() == BOTH[2:]


def test_what_writers_leave_beside_the_data_is_not_read(tmp_path: Path) -> None:
    write(tmp_path / "part.parquet", A)
    write(tmp_path / "_temporary" / "part.parquet", B)
    write(tmp_path / ".cache" / "part.parquet", B)
    for name in ("_SUCCESS", "_metadata.parquet", ".part.parquet.crc", "README.md"):
        (tmp_path / name).write_text("no table")
    assert read(tmp_path).rows() == BOTH[:2]


def test_an_empty_folder_and_a_glob_without_match(tmp_path: Path) -> None:
    with pytest.raises(FmfairError, match=rf"^no table in {tmp_path}: it is empty; expected files that end in .csv, "):
        scan(tmp_path)
    with pytest.raises(FmfairError, match=rf"^no file matches {tmp_path}/\*.csv$"):
        scan(f"{tmp_path}/*.csv")


def test_a_folder_without_a_table_names_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(b"")
    for source in (tmp_path, f"{tmp_path}/*"):
        with pytest.raises(
            FmfairError, match=r"^no table in .*: it has 'image.png'; expected files that end in .csv, "
        ):
            scan(source)


def test_a_folder_of_several_formats_names_two_files(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", A)
    write(tmp_path / "b.parquet", B)
    with pytest.raises(FmfairError, match=r"several formats, such as .*a.csv and .*b.parquet; choose with a glob such"):
        scan(tmp_path)
    assert read(f"{tmp_path}/*.csv").rows() == BOTH[:2]


@pytest.mark.parametrize("extension", ["csv", "parquet", "jsonl"])
def test_what_some_files_lack_is_refused_where_it_is_read(tmp_path: Path, extension: str) -> None:
    first = write(tmp_path / f"a.{extension}", {"id": [1], "sex": ["F"]})
    other = write(tmp_path / f"b.{extension}", {"id": [2], "gender": ["M"], "age": [30]})
    table = scan(tmp_path)

    assert collect(table, ["id"]).rows() == [(1,), (2,)]
    assert schema(table) == {"id": pl.Int64, "sex": pl.Null, "gender": pl.Null, "age": pl.Null}
    with pytest.raises(FmfairError) as caught:
        collect(table, ["id", "sex", "age"])
    assert list(caught.value.problems) == [
        f"the files of {tmp_path} differ in their columns: {name!r} is missing from 1 of 2, such as {lacking}, but not "
        f"from {having}; leave it out, or name only files with it"
        for name, lacking, having in (("sex", other, first), ("age", first, other))
    ]
    with pytest.raises(FmfairError, match="differ in their columns: 'age'"):  # whoever reads it
        table.filter(pl.col("age") > 3).collect()


def test_what_files_hold_as_another_type_is_refused_where_it_is_read(tmp_path: Path) -> None:
    empty = write(tmp_path / "0.parquet", {"id": [0], "label": [None]})
    first = write(tmp_path / "a.parquet", {"id": [1], "label": [0]})
    other = write(tmp_path / "b.parquet", {"id": [2], "label": ["no"]})

    assert collect(scan(tmp_path), ["id"]).rows() == [(0,), (1,), (2,)]
    with pytest.raises(FmfairError) as caught:
        collect(scan(tmp_path), ["id", "label"])
    assert str(caught.value) == (
        f"the files of {tmp_path} differ in the type of 'label': Int64 in {first}, String in {other}"
    )
    other.unlink()
    assert collect(scan(tmp_path), ["label"]).rows() == [(None,), (0,)]
    assert collect(scan(empty), ["label"]).rows() == [(None,)]


def test_files_without_a_column_in_common_are_refused_at_once(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", {"id": [1]})
    write(tmp_path / "b.csv", {"ID": [1]})
    with pytest.raises(FmfairError, match=r"'id' is missing from 1 of 2, such as .*b.csv, but not from .*a.csv"):
        scan(tmp_path)


def test_columns_in_another_order_are_put_in_order(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"id": [1], "sex": ["F"]})
    write(tmp_path / "b.parquet", {"sex": ["M"], "id": [2]})
    assert read(tmp_path).rows() == [(1, "F"), (2, "M")]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (pl.Series([1], dtype=pl.Int32), pl.Series([2**40]), [1, 2**40]),
        (pl.Series([1]), pl.Series([0.5]), [1.0, 0.5]),
        (pl.Series([1]), pl.Series([None]), [1, None]),
        (pl.Series([None]), pl.Series(["x"]), [None, "x"]),
        (pl.Series(["x"], dtype=pl.Enum(["x"])), pl.Series(["y"], dtype=pl.Enum(["y"])), ["x", "y"]),
        (pl.Series(["x"], dtype=pl.Categorical), pl.Series(["y"]), ["x", "y"]),
    ],
)
def test_types_that_fit_together(tmp_path: Path, one: pl.Series, other: pl.Series, together: list[Any]) -> None:
    write(tmp_path / "a.parquet", {"x": one})
    write(tmp_path / "b.parquet", {"x": other})
    assert read(tmp_path)["x"].to_list() == together


def test_an_enum_that_all_files_share_keeps_its_levels(tmp_path: Path) -> None:
    kind = pl.Enum(["low", "high", "unused"])
    write(tmp_path / "a.parquet", {"x": pl.Series(["high"], dtype=kind)})
    write(tmp_path / "b.parquet", {"x": pl.Series(["low"], dtype=kind)})
    assert schema(scan(tmp_path)) == {"x": kind}


def test_the_types_of_a_csv_folder_are_judged_on_all_files(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", {"id": [1, 2], "score": [0, 1]})
    (tmp_path / "b.csv").write_text("score,id\n0.5,007\n")
    assert read(tmp_path).rows() == [("1", 0.0), ("2", 1.0), ("007", 0.5)]


def test_a_broken_file_in_a_folder_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", A)
    broken = tmp_path / "b.parquet"
    broken.write_bytes(b"no Parquet at all")
    with pytest.raises(FmfairError, match=rf"^cannot read {broken} as Parquet: "):
        scan(tmp_path)


def test_only_the_needed_columns_of_a_folder_are_read(tmp_path: Path) -> None:
    write(tmp_path / "sex=F" / "a.parquet", A)
    write(tmp_path / "sex=M" / "b.parquet", B)
    frame = scan(tmp_path)
    assert frame.select("label").explain().count("PROJECT 1/2 COLUMNS") == 1  # one scan of both files
    assert collect(frame, ["sex"]).rows() == [("F",), ("F",), ("M",)]


# hive partitions


def test_hive_keys_become_columns(tmp_path: Path) -> None:
    frame = pl.LazyFrame({"sex": ["F", "M", "F"], "fold": [1, 2, 2], "y": [0, 1, 1]})
    frame.sink_parquet(pl.PartitionBy(tmp_path, key=["sex", "fold"]), mkdir=True)
    found = read(tmp_path).select("sex", "fold", "y").sort("sex", "fold")
    assert found.rows() == [("F", 1, 0), ("F", 2, 1), ("M", 2, 1)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["007", "8"], ["007", "8"]),
        (["0.5", "1"], [0.5, 1.0]),
        (["1.1", "1.10"], ["1.1", "1.10"]),
        (["A%20B%2FC", "x=y"], ["A B/C", "x=y"]),
        (["__HIVE_DEFAULT_PARTITION__", "x"], [None, "x"]),
        (["NA", "None"], ["NA", "None"]),
    ],
)
def test_the_values_of_hive_keys(tmp_path: Path, values: list[str], expected: list[Any]) -> None:
    for i, value in enumerate(values):
        write(tmp_path / f"site={value}" / "part.parquet", {"n": [i]})
    assert read(tmp_path).sort("n")["site"].to_list() == expected


def test_hive_keys_that_are_all_missing(tmp_path: Path) -> None:
    null = "__HIVE_DEFAULT_PARTITION__"
    write(tmp_path / f"a={null}" / f"b={null}" / "part.csv", {"n": [1]})
    write(tmp_path / "a=x" / "b=2" / "part.csv", {"n": [2]})
    assert read(tmp_path).sort("n").rows() == [(1, None, None), (2, "x", 2)]


def test_blank_rows_below_hive_folders_are_dropped(tmp_path: Path) -> None:
    write(tmp_path / "a=x" / "part.csv", {"n": [1, None, 2], "m": [1, None, 2]})
    assert read(tmp_path).rows() == [(1, 1, "x"), (2, 2, "x")]


@pytest.mark.parametrize("pattern", ["*", "site=*", "*/*.csv", "site=[ab]/part.csv", "**/*.csv"])
def test_hive_keys_below_a_glob(tmp_path: Path, pattern: str) -> None:
    write(tmp_path / "site=a" / "part.csv", {"n": [1]})
    write(tmp_path / "site=b" / "part.csv", {"n": [2]})
    assert read(f"{tmp_path}/{pattern}").rows() == [(1, "a"), (2, "b")]


def test_a_folder_or_file_that_is_asked_for_by_name_is_no_key(tmp_path: Path) -> None:
    path = write(tmp_path / "site=a" / "part.parquet", {"n": [1]})
    assert read(path).columns == ["n"]
    assert read(path.parent).columns == ["n"]


def test_files_beside_hive_folders_lack_the_key(tmp_path: Path) -> None:
    write(tmp_path / "site=a" / "part.parquet", {"n": [1]})
    write(tmp_path / "z.parquet", {"n": [1]})
    assert collect(scan(tmp_path), ["n"]).height == 2
    with pytest.raises(
        FmfairError, match=r"differ in their columns: 'site' is missing from 1 of 2, such as .*z.parquet"
    ):
        read(tmp_path)


# reading from a LazyFrame


def test_collect_takes_the_columns_in_order_and_each_once() -> None:
    frame = pl.LazyFrame({"a": [1], "b": [2], "c": [3]})
    assert collect(frame, ["c", "a", "c"]).to_dict(as_series=False) == {"c": [3], "a": [1]}
    assert collect(frame, []).columns == []


def test_collect_takes_names_literally() -> None:
    frame = pl.LazyFrame({"*": [1], "^a.*$": [2], "ab": [3], "": [4]})
    assert collect(frame, ["^a.*$"]).columns == ["^a.*$"]
    assert collect(frame, ["*", ""]).columns == ["*", ""]


def test_collect_names_all_missing_columns() -> None:
    frame = pl.LazyFrame({"Sex ": ["F"], "score": [0.5]})
    with pytest.raises(FmfairError, match=r"^no column 'Sex' in the table; did you mean 'Sex '\?$"):
        collect(frame, ["Sex"])
    with pytest.raises(FmfairError) as caught:
        collect(frame, ["Sex", "score", "race"], "the metadata")
    assert str(caught.value) == (
        "2 problems:\n"
        "  - no column 'Sex' in the metadata; did you mean 'Sex '?\n"
        "  - no column 'race' in the metadata; it has 'Sex ', 'score'"
    )


def test_a_lazyframe_that_fails_is_one_clear_error() -> None:
    failing = pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Int64))
    with pytest.raises(FmfairError, match=r"^cannot read the predictions: conversion from `str` to `i64` failed"):
        collect(failing, ["a"], "the predictions")


def test_a_lazyframe_with_an_invalid_step_is_one_clear_error() -> None:
    invalid = pl.LazyFrame({"a": [1]}).select("b")
    for ask in (schema, column_names):
        with pytest.raises(FmfairError, match=r'^cannot read the columns of the table: unable to find column "b"'):
            ask(invalid)


def test_a_file_that_disappears_is_one_clear_error(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", A)
    frame = scan(path)
    path.unlink()
    with pytest.raises(FmfairError, match=r"^cannot read the table: .*"):
        collect(frame, ["id"])


def test_schema_and_column_names() -> None:
    frame = scan({"label": [0, 1], "sex": ["F", None]})
    assert schema(frame) == {"label": pl.Int64, "sex": pl.String}
    assert column_names(frame) == ["label", "sex"]
