"""Files that cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from table_files import write, write_table

from fmfair.errors import FmfairError
from fmfair.readers import collect, scan

PARQUET = b"PAR1" + bytes(100) + b"PAR1"


def zipped(content: bytes) -> bytes:
    """The gzip file of the content, without the time of day, which would make its test id another one each second."""
    return gzip.compress(content, mtime=0)


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
        ("t.csv.gz", zipped(b"id,a\n" + b"1,x\n" * 9999)[:-20], "as CSV: .*"),
        ("t.csv.gz", zipped(b"id,a\n1,x\n")[:-8] + bytes(8), "as CSV: .*"),
        ("t.csv.gz", zipped(b""), "as CSV: empty CSV"),
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
        ("t.json.gz", zipped(b'[{"a": 1}]' * 99)[:-9], "as JSON: .*"),
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
