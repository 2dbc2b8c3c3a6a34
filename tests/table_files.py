"""Tables written to files, and read back."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import xlsxwriter  # type: ignore[import-untyped]  # it ships no types

from fmfair.readers import scan

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


def read(source: Any) -> pl.DataFrame:
    return scan(source).collect()


def write(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_workbook(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                if value is not None:
                    sheet.write(i, j, value)
    return path


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
