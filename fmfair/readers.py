"""Anything tabular as a LazyFrame: frames of any library, dictionaries, files, globs and folders."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import polars.selectors as cs

from fmfair.convert import from_arrow, from_mapping, from_pandas, is_a, plain_errors
from fmfair.errors import FmfairError, Problems, listing, near
from fmfair.formats import FORMATS, Format, format_of, scan_file, typed

TAKEN = (
    "a Polars or pandas frame, a pyarrow Table or reader, a DuckDB relation, a dictionary of columns, or the path of a "
    "file, a folder or a glob"
)
# How Hive spells a missing partition value.
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
GLOB_MARKS = "*?["
# Tables of Arrow, DuckDB and whatever else can hand over Arrow data; the last is for older DuckDB versions.
ARROW_MARKS = ("__arrow_c_stream__", "__arrow_c_array__", "fetch_arrow_table")


def scan(source: Any, *, name: str = "the table") -> pl.LazyFrame:
    """Anything tabular as a LazyFrame, read lazily where that is possible.

    Files are recognised by extension: .csv .tsv .tab .txt .json .jsonl .ndjson (each also with .gz), .parquet .pq,
    .feather .arrow .ipc, .xlsx .xls (first sheet). A folder or a glob of files of one format is one table; folders
    called `key=value` add the column `key`. A column that some of the files lack, or hold as another type, does no harm
    until it is read: its type is Null, and reading it is an error that names the files.

    In CSV and other text files only an empty field is missing, so `NA` and `None` are text; a type is judged on all
    values of its column, and numbers with leading zeros such as 007 stay text. Categorical columns of pandas, Arrow
    and DuckDB become Enum in their declared order.

    Args:
        source: A Polars DataFrame or LazyFrame, a pandas DataFrame (a named index becomes a column), a pyarrow Table,
            RecordBatch or RecordBatchReader, a DuckDB relation, anything else with `__arrow_c_stream__`, a dictionary
            of columns of equal length, or a path.
        name: What messages call a table that has no path.

    Raises:
        FmfairError: The source is no table, does not exist, cannot be read, or repeats a column name; the files of a
            folder differ in format, or have no column in common.

    Examples:
        >>> scan({"label": [0, 1], "sex": ["F", None]}).collect().rows()
        [(0, 'F'), (1, None)]

        >>> scan("no_such_table.csv")
        Traceback (most recent call last):
        ...
        fmfair.errors.FmfairError: no file or folder no_such_table.csv
    """
    if isinstance(source, pl.LazyFrame):
        return source
    if isinstance(source, pl.DataFrame):
        return source.lazy()
    if isinstance(source, (str, os.PathLike)):
        return _scan_path(os.fspath(source))
    if isinstance(source, Mapping):
        return from_mapping(source, name).lazy()
    if is_a(source, "pandas", "DataFrame"):
        return from_pandas(source, name).lazy()
    if any(hasattr(source, mark) for mark in ARROW_MARKS) and not type(source).__name__.endswith(("Series", "Array")):
        return from_arrow(source, name).lazy()
    raise FmfairError(f"{name} is a {type(source).__name__}; expected {TAKEN}")


def schema(frame: pl.LazyFrame, name: str = "the table") -> pl.Schema:
    """The columns and their dtypes; reads no row.

    Raises:
        FmfairError: The table cannot be read, or a step of the LazyFrame is invalid.

    Examples:
        >>> schema(scan({"label": [0, 1]}))
        Schema([('label', Int64)])
    """
    with plain_errors(f"read the columns of {name}"):
        return frame.collect_schema()


def column_names(frame: pl.LazyFrame, name: str = "the table") -> list[str]:
    """The names of the columns; reads no row.

    Raises:
        FmfairError: The table cannot be read, or a step of the LazyFrame is invalid.

    Examples:
        >>> column_names(scan({"label": [0, 1], "sex": ["F", "M"]}))
        ['label', 'sex']
    """
    return schema(frame, name).names()


def collect(frame: pl.LazyFrame, columns: Sequence[str], name: str = "the table") -> pl.DataFrame:
    """These columns and no others, in this order, each once; only they are read.

    Raises:
        FmfairError: A column does not exist, or the table cannot be read.

    Examples:
        >>> collect(scan({"label": [0, 1], "sex": ["F", "M"]}), ["sex"]).columns
        ['sex']
    """
    wanted = list(dict.fromkeys(columns))
    available = column_names(frame, name)
    problems = Problems()
    for missing in (column for column in wanted if column not in available):
        problems.add(f"no column {missing!r} in {name}{near(missing, available) or '; it has ' + listing(available)}")
    problems.raise_if_any()
    require_shared(frame, wanted, name)
    with plain_errors(f"read {name}"):
        # Not by text or pl.col, which expand names such as `*` and `^...$`.
        return frame.select(cs.by_name(*wanted) if wanted else []).collect()


def require_shared(frame: pl.LazyFrame, columns: Iterable[str], name: str = "the table") -> None:
    """Makes sure that the files behind a table share these columns; reads next to nothing.

    Raises:
        FmfairError: Some files lack a column, or hold it as another type.
    """
    types, problems = schema(frame, name), Problems()
    for column in (column for column in dict.fromkeys(columns) if types[column] == pl.Null):
        with problems.collecting(), plain_errors(f"read {name}"):
            frame.select(cs.by_name(column)).head(1).collect()
    problems.raise_if_any()


def _scan_path(source: str) -> pl.LazyFrame:
    with plain_errors(f"open {source}"):
        files, base = files_of(source)
    kind = _one_format(files, source)
    frames = _with_hive_keys({file: scan_file(file, kind) for file in files}, base)
    with plain_errors(f"read {source} as {kind.name}"):
        schemas = {path: frame.collect_schema() for path, frame in frames.items()}
        names = dict.fromkeys(name for found in schemas.values() for name in found)
        faults = {name: fault for name in names if (fault := _fault(name, schemas, source))}
        shared = [name for name in names if name not in faults]
        if not shared:
            raise FmfairError(next(iter(faults.values())))
        frame = _stacked(frames, shared)
        frame = typed(frame) if kind.is_text else frame
        return frame.with_columns(_unreadable(name, fault) for name, fault in faults.items())


def files_of(source: str) -> tuple[list[Path], Path]:
    """The table files that a path stands for, and the folder below which `key=value` folders count.

    Raises:
        FmfairError: There is no such file, or none that is a table.
    """
    path = Path(source).expanduser()
    if not source.strip() or "\n" in source:
        raise FmfairError(f"{source[:50]!r} is no path; expected {TAKEN}")
    if path.is_dir():
        found, base = _inside(path), path
    elif path.exists():
        return [path], path.parent
    elif any(mark in source for mark in GLOB_MARKS):
        fixed = next(i for i, part in enumerate(path.parts) if any(mark in part for mark in GLOB_MARKS))
        names = glob.glob(str(path), recursive=True)  # noqa: PTH207  (Path.glob finds hidden files too)
        matches = [Path(name) for name in sorted(names)]
        found = [file for match in matches for file in (_inside(match) if match.is_dir() else [match])]
        base = Path(*path.parts[:fixed])
        if not found:
            raise FmfairError(f"no file matches {source}")
    else:
        raise FmfairError(f"no file or folder {source}{_near_miss(path)}")
    tables = [file for file in dict.fromkeys(found) if format_of(file)]
    if not tables:
        seen = f"it has {listing(file.name for file in found)}" if found else "it is empty"
        raise FmfairError(f"no table in {source}: {seen}; expected files that end in {', '.join(FORMATS)}")
    return tables, base


def _inside(folder: Path) -> list[Path]:
    """All files of a folder and its folders, but not those that writers hide, such as `_SUCCESS` and `.crc`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [f for f in files if not any(part.startswith((".", "_")) for part in f.relative_to(folder).parts)]


def _near_miss(path: Path) -> str:
    if not path.parent.is_dir():
        return f"; there is no folder {path.parent} either"
    return near(path.name, sorted(other.name for other in path.parent.iterdir()))


def _one_format(files: Sequence[Path], source: str) -> Format:
    first = files[0]
    kind = format_of(first)
    if kind is None:
        raise FmfairError(f"cannot tell the format of {source} by its name; expected one of {', '.join(FORMATS)}")
    other = next((file for file in files if format_of(file) != kind), None)
    if other is not None:
        raise FmfairError(
            f"{source} holds tables of several formats, such as {first} and {other}; "
            f"choose with a glob such as {Path(source) / '*'}{first.suffix}"
        )
    return kind


def parquet_files(source: Any) -> tuple[list[Path], pl.DataFrame] | None:
    """The Parquet files behind a path and the values of their `key=value` folders; None for anything else."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    files, base = files_of(os.fspath(source))
    return (
        (files, _key_values(_folder_keys(files, base))) if _one_format(files, str(source)).name == "Parquet" else None
    )


def _folder_keys(files: Iterable[Path], base: Path) -> list[dict[str, str]]:
    """The `key=value` folders above each file, as written."""
    return [
        {unquote(key): unquote(value) for key, mark, value in (p.partition("=") for p in file.parts) if mark}
        for file in (path.relative_to(base).parent for path in files)
    ]


def _key_values(keys: Sequence[Mapping[str, str]]) -> pl.DataFrame:
    """The keys as columns, one row a file, with types judged on all their values; `1.1` and `1.10` stay two."""
    names = list(dict.fromkeys(name for found in keys for name in found))
    values = {name: [None if found.get(name) == HIVE_NULL else found.get(name) for found in keys] for name in names}
    texts = pl.DataFrame(values, schema=dict.fromkeys(names, pl.String))
    found = typed(texts.lazy()).collect()
    return found.with_columns(text for text in texts if text.n_unique() > found[text.name].n_unique())


def _with_hive_keys(frames: Mapping[Path, pl.LazyFrame], base: Path) -> dict[Path, pl.LazyFrame]:
    """Adds the keys of the folders above each file as columns."""
    keys = _folder_keys(frames, base)
    columns = _key_values(keys)
    return {
        path: frame.with_columns(
            pl.lit(columns[name][i], dtype=columns.schema[name]).alias(name)
            for name in columns.columns
            if name in keys[i]
        )
        for i, (path, frame) in enumerate(frames.items())
    }


def _fault(name: str, schemas: Mapping[Path, pl.Schema], source: str) -> str | None:
    """Why a column of some files is none of the whole table; numbers may differ in width, texts in kind."""
    lacking = [path for path, found in schemas.items() if name not in found]
    if lacking:
        having = next(path for path, found in schemas.items() if name in found)
        return (
            f"the files of {source} differ in their columns: {name!r} is missing from {len(lacking)} of "
            f"{len(schemas)}, such as {lacking[0]}, but not from {having}; leave it out, or name only files with it"
        )
    (first, one), *others = ((path, found[name]) for path, found in schemas.items())
    for path, other in others:
        if one == pl.Null:  # no value yet, so of any type
            first, one = path, other
        alike = (one.is_numeric() and other.is_numeric()) or (_is_text(one) and _is_text(other))
        if one != other and not alike and other != pl.Null:
            return f"the files of {source} differ in the type of {name!r}: {one} in {first}, {other} in {path}"
    return None


def _stacked(frames: Mapping[Path, pl.LazyFrame], names: Sequence[str]) -> pl.LazyFrame:
    """These columns of the files, one below the other."""
    if len(frames) == 1:
        return next(iter(frames.values()))
    schemas = [frame.collect_schema() for frame in frames.values()]
    kinds = {name: {found[name] for found in schemas} - {pl.Null()} for name in names}
    several = [name for name, found in kinds.items() if len(found) > 1 and all(map(_is_text, found))]
    texts = [cs.by_name(name).cast(pl.String) for name in several]
    return pl.concat(
        [frame.with_columns(texts).select(cs.by_name(*names)) for frame in frames.values()], how="vertical_relaxed"
    )


def _unreadable(name: str, fault: str) -> pl.Expr:
    """A column that cannot be read; it costs nothing where nobody reads it."""

    def refuse(_: pl.Series) -> pl.Series:
        raise FmfairError(fault)

    return pl.lit(None).map_batches(refuse, return_dtype=pl.Null).alias(name)


def _is_text(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Categorical, pl.Enum)
