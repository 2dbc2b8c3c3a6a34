"""One file as a LazyFrame, by its extension."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import polars as pl
import polars.selectors as cs

from fmfair.convert import column, from_arrow, from_mapping, plain_errors, refuse_duplicates
from fmfair.errors import FmfairError

GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
NO_FASTEXCEL = 'Excel files need the package fastexcel: pip install "fmfair[tables]"'

# Rows that settle which columns of a text file are certainly text, so that the full pass looks at the others only.
HEAD = 1000


@dataclass(frozen=True)
class Format:
    """A kind of table file: its name, the function that scans one file, and whether its values are all text."""

    name: str
    scan: Callable[[Path], pl.LazyFrame]
    is_text: bool = False


def format_of(path: Path) -> Format | None:
    """The format that the extension stands for; None for an extension that fmfair does not read."""
    name = path.name.lower()
    bare = name.removesuffix(".gz")
    known = FORMATS.get("." + bare.rpartition(".")[2]) if "." in bare else None
    return known if known is None or name == bare or known.name in COMPRESSIBLE else None


def scan_file(path: Path, kind: Format) -> pl.LazyFrame:
    """One file; errors name it. The columns of a text file are all text here, see `typed`."""
    with plain_errors(f"read {path} as {kind.name}"):
        if path.stat().st_size == 0:
            raise ValueError("the file is empty")
        frame = kind.scan(path)
        if not frame.collect_schema():
            raise ValueError("it holds no columns")
        return frame


def typed(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Gives text columns, as a CSV file has them, their types, judged on every value.

    Only an empty field is missing. A column is Boolean if every value is true or false, Int64 or Float64 if every
    value is such a number. It stays text if a value is no number, if a whole number starts with a zero (007) or has
    more digits than the type can hold, and if it has words like NaN but no number.
    """
    names = [name for name, dtype in frame.collect_schema().items() if dtype == pl.String]
    types = _survey(frame.head(HEAD), names)
    types |= _survey(frame, [name for name in names if types[name] != pl.String])
    return frame.with_columns(_parsed(name, types[name]).alias(name) for name in names)


def _col(name: str) -> pl.Expr:
    """A column by its exact name; pl.col would expand `*` and `^...$`."""
    return cs.by_name(name).as_expr()


def _survey(frame: pl.LazyFrame, names: Sequence[str]) -> dict[str, pl.DataType | None]:
    """The type of each text column; None where all values are empty."""
    if not names:
        return {}
    facts = [_facts(_col(name).str.strip_chars()).alias(str(i)) for i, name in enumerate(names)]
    row = frame.select(facts).collect(engine="streaming").row(0)
    return {name: _type(**found) for name, found in zip(names, row, strict=True)}


def _facts(value: pl.Expr) -> pl.Expr:
    """What `_type` is decided by, as a struct."""
    number = value.cast(pl.Float64, strict=False)
    return pl.struct(
        filled=(value != "").sum(),
        booleans=value.str.to_lowercase().is_in(["true", "false"]).sum(),
        whole=value.cast(pl.Int64, strict=False).count(),
        numbers=number.count(),
        finite=number.is_finite().any(),
        zero_led=value.str.contains(r"^[+-]?0\d+$").any(),
        long=value.str.contains(r"^[+-]?\d{16,}$").any(),
    )


def _type(
    *, filled: int, booleans: int, whole: int, numbers: int, finite: bool, zero_led: bool, long: bool
) -> pl.DataType | None:
    if filled == 0:
        return None
    if booleans == filled:
        return pl.Boolean()
    if numbers < filled or zero_led:
        return pl.String()
    if whole == filled:
        return pl.Int64()
    # A whole number of 16 digits beside decimals would lose digits as Float64: such a column holds identifiers.
    return pl.Float64() if finite and not long else pl.String()


def _parsed(name: str, dtype: pl.DataType | None) -> pl.Expr:
    value = _col(name)
    bare = value.str.strip_chars()
    if dtype == pl.Boolean:
        return pl.when(bare != "").then(bare.str.to_lowercase() == "true")
    if dtype in (pl.Int64, pl.Float64):
        return bare.cast(dtype, strict=False)  # strict would refuse the empty text of a quoted empty field
    return pl.when(value != "").then(value)


def _open(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where its content (not its name) is gzip."""
    with path.open("rb") as file:
        packed = file.read(2) == GZIP_MAGIC
    return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")


def _scan_csv(path: Path, separator: str) -> pl.LazyFrame:
    names = _header(path, separator)
    frame = pl.scan_csv(path, separator=separator, infer_schema=False, glob=False)
    found = frame.collect_schema().names()
    if len(found) != len(names) or any("\r" in name for name in set(found) - set(names)):
        raise ValueError(f"its header has {len(names)} or {len(found)} columns; are its lines ended by \\n?")
    # Polars keeps the doubled quote marks of a quoted name.
    frame = pl.scan_csv(path, separator=separator, infer_schema=False, glob=False, new_columns=names)
    return _without_blank_rows(frame, names) if len(names) > 1 else frame


def _without_blank_rows(frame: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    blank = pl.all_horizontal(_col(name).fill_null("") == "" for name in names)
    # The filter needs every column of the file, so it is added only where there is a blank row.
    has_blank = frame.select(blank.any()).collect(engine="streaming").item()
    return frame.filter(~blank) if has_blank else frame


def _header(path: Path, separator: str) -> list[str]:
    """The column names. Refuses what Polars would read without a word: bytes, repeated names, another separator."""
    with _open(path) as file:
        if b"\0" in file.read(65536):
            raise ValueError("it is binary or UTF-16, not UTF-8 text")
    raw: list[str] = []
    with _open(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        names = next((row for row in csv.reader(_kept(text, raw), delimiter=separator) if row), [])
    if "".join(raw).count('"') % 2:
        raise ValueError("a quote mark in its header is not closed")
    refuse_duplicates((name for name in names if name), str(path))
    other = next((mark for mark in ";,\t|" if mark != separator and mark in "".join(names)), None)
    if len(names) == 1 and other is not None:
        mark = "a tab" if other == "\t" else repr(other)
        raise FmfairError(
            f"{path}: found one column named {names[0]!r}; is the separator {mark}?"
            " Save it with the separator of its extension (commas for .csv, tabs for .tsv)"
        )
    unnamed = [i for i, name in enumerate(names) if not name][1:]
    return [f"column_{i + 1}" if i in unnamed else name for i, name in enumerate(names)]


def _kept(lines: Iterable[str], raw: list[str]) -> Iterator[str]:
    for line in lines:
        raw.append(line)
        yield line


def _scan_parquet(path: Path) -> pl.LazyFrame:
    frame = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    categorical = [name for name, dtype in frame.collect_schema().items() if dtype == pl.Categorical]
    if not categorical:
        return frame
    # Polars drops the order of an ordered categorical column that pandas or pyarrow wrote; Arrow keeps it.
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    ordered = [name for name in categorical if getattr(schema.field(name).type, "ordered", False)]
    levels = from_arrow(pq.ParquetFile(path).read(columns=ordered), str(path)).schema if ordered else {}
    return frame.with_columns(_col(name).cast(pl.String).cast(dtype) for name, dtype in levels.items())


def _scan_arrow(path: Path) -> pl.LazyFrame:
    import pyarrow as pa

    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"
    if not is_file:
        return from_arrow(pa.ipc.open_stream(pa.memory_map(str(path))).read_all(), str(path)).lazy()
    with pa.ipc.open_file(pa.memory_map(str(path))) as reader:
        foreign = [f for f in reader.schema if pa.types.is_dictionary(f.type) and not _is_from_polars(f)]
        # Polars fails on the missing values of pandas' categorical columns and loses their order.
        if foreign:
            return from_arrow(reader.read_all(), str(path)).lazy()
    return pl.scan_ipc(path, glob=False, hive_partitioning=False)


def _is_from_polars(field: Any) -> bool:
    return any(key.startswith(b"_PL_") for key in field.metadata or ())


def _scan_json_lines(path: Path) -> pl.LazyFrame:
    with _open(path) as file:
        has_bom = file.read(3) == BOM
        source: Any = file.read() if has_bom else glob.escape(str(path))
    with _json_hint(path):
        return _settled(pl.scan_ndjson(source, infer_schema_length=None))


def _scan_json(path: Path) -> pl.LazyFrame:
    """A list of records, JSON Lines, or one object of columns: lists, or pandas' {row label: value}."""
    with _open(path) as file:
        content = file.read().removeprefix(BOM).strip()
    with _json_hint(path):
        if content.startswith(b"["):
            return _settled(pl.read_json(content, infer_schema_length=None).lazy())
        try:
            columns = json.loads(content)
        except json.JSONDecodeError:
            return _settled(pl.read_ndjson(content, infer_schema_length=None).lazy())
    if not isinstance(columns, dict):
        raise ValueError("a list of records is needed")
    if all(isinstance(values, dict) for values in columns.values()):
        labels = list(dict.fromkeys(label for values in columns.values() for label in values))
        columns = {name: [values.get(label) for label in labels] for name, values in columns.items()}
    if all(isinstance(values, list) for values in columns.values()):
        return from_mapping(columns, str(path)).lazy()
    return pl.DataFrame([column([value], name) for name, value in columns.items()]).lazy()


@contextmanager
def _json_hint(path: Path) -> Iterator[None]:
    """Adds to a failure what is wrong most often: NaN, which Python writes into JSON and JSON does not know."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        with _open(path) as file:
            has_nan = re.search(rb"[:,\[]\s*-?(NaN|Infinity)\b", file.read()) is not None
        if has_nan:
            raise ValueError("it holds NaN or Infinity, which JSON does not know; write null") from error
        raise


def _settled(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Columns without any value, and whole numbers beyond Int64 (identifiers), are text, as they are from CSV."""
    odd = [name for name, dtype in frame.collect_schema().items() if dtype in (pl.Null, pl.Int128)]
    return frame.with_columns(_col(name).cast(pl.String) for name in odd)


def _scan_excel(path: Path) -> pl.LazyFrame:
    """The first sheet."""
    try:
        import fastexcel
    except ModuleNotFoundError:
        raise FmfairError(f"cannot read {path}: {NO_FASTEXCEL}") from None
    # It logs a warning for every column without a value, which is no trouble here.
    logging.getLogger("fastexcel.types.dtype").setLevel(logging.ERROR)
    # Read as a table of its own, because with a header repeated names are renamed without a word.
    header = fastexcel.read_excel(path).load_sheet(0, header_row=None, n_rows=1, dtypes="string").to_polars()
    refuse_duplicates((name for name in header.row(0) if name) if len(header) else (), str(path))
    frame = pl.read_excel(path, infer_schema_length=None, raise_if_empty=False)
    return frame.lazy()


_JSON_LINES = Format("JSON Lines", _scan_json_lines)
_PARQUET = Format("Parquet", _scan_parquet)
_ARROW = Format("Arrow", _scan_arrow)
_EXCEL = Format("Excel", _scan_excel)
_TABS = Format("tab-separated text", partial(_scan_csv, separator="\t"), is_text=True)

# By extension; those of text formats may be followed by .gz.
FORMATS: Mapping[str, Format] = {
    ".csv": Format("CSV", partial(_scan_csv, separator=","), is_text=True),
    ".tsv": _TABS,
    ".tab": _TABS,
    ".txt": _TABS,
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
    ".feather": _ARROW,
    ".arrow": _ARROW,
    ".ipc": _ARROW,
    ".json": Format("JSON", _scan_json),
    ".jsonl": _JSON_LINES,
    ".ndjson": _JSON_LINES,
    ".xlsx": _EXCEL,
    ".xls": _EXCEL,
}
COMPRESSIBLE = ("CSV", "tab-separated text", "JSON", "JSON Lines")
