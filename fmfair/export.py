"""A report's frames as JSON rows, CSV text and a folder of Parquet files, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from fmfair.atomic import PathLike, whole_folder
from fmfair.attributes import group_names
from fmfair.columns import CURVES, GAPS, GROUPS, OVERALL, PAIRS
from fmfair.errors import FmfairError, listing
from fmfair.version import installed_version

# Grows when a column or key is renamed, removed or given another meaning, not when one is added.
SCHEMA_VERSION = 1

FRAMES = ("summary", "groups", "gaps", "overall")

# The frames of a comparison of models.
COMPARED = ("differences", "gaps", "tradeoff")
# A report may lack these.
FURTHER = ("pairs", "curves")

# What the frames of every report have behind the by-keys.
_DECLARED: Mapping[str, Mapping[str, pl.DataType]] = {
    "summary": {"attribute": pl.String(), "n": pl.Int64()},
    "groups": GROUPS,
    "gaps": GAPS,
    "overall": OVERALL,
    "pairs": PAIRS,
    "curves": CURVES,
}

Frames = Mapping[str, pl.DataFrame]


def by_keys(frames: Frames) -> list[str]:
    """The names of the by-keys: the columns before the first declared one."""
    names = frames["groups"].columns
    return names[: names.index(next(iter(GROUPS)))]


def plain(value: Any) -> Any:
    """A value as JSON can hold it: numbers, texts, lists and mappings as they are, everything else as text.

    Examples:
        >>> plain({"cuts": (40, float("inf"))})
        {'cuts': [40, 'Infinity']}
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _unusual(value)
    return value if value is None or isinstance(value, str | bool | int) else str(value)


def json_rows(frame: pl.DataFrame, by: Collection[str]) -> list[dict[str, Any]]:
    """One mapping per row, of values that strict JSON can hold; what is not a finite number is None.

    A by-key that is NaN or infinite becomes text instead, since it says which row this is.
    """
    finite = [_if_finite(c) if c.dtype.is_float() and c.name not in by else as_text(c) for c in frame.get_columns()]
    rows = pl.DataFrame({c.name: c for c in finite}).to_dicts()
    for name in frame.select(cs.float() & cs.by_name(list(by), require_all=False)).columns:
        for row in rows:
            if row[name] is not None and not math.isfinite(row[name]):
                row[name] = _unusual(row[name])
    return rows


def csv_text(frame: pl.DataFrame) -> str:
    """The frame without its list columns as CSV; every text is quoted, NULL is an empty field without quotes."""
    flat = [as_text(c) for c in frame.get_columns() if c.dtype != pl.List]
    return pl.DataFrame({c.name: c for c in flat}).write_csv(quote_style="non_numeric")


def write_folder(folder: PathLike, frames: Frames, facts: Mapping[str, Any]) -> None:
    """Write each frame as `<name>.parquet`, with the facts in the key-value metadata of every file.

    Facts that are not text are stored as JSON.
    """
    entries = {k: v if isinstance(v, str) else strict_json(plain(v)) for k, v in facts.items()}
    try:
        with whole_folder(folder, _foreign) as place:
            for name, frame in frames.items():
                frame.write_parquet(_file(place, name), metadata=entries)
    except pl.exceptions.PolarsError as error:
        raise FmfairError(f"cannot write {folder}: {error}") from error


def read_folder(
    folder: PathLike, wanted: Sequence[str], further: Sequence[str]
) -> tuple[dict[str, pl.DataFrame], tuple[str, ...], dict[str, Any]]:
    """The frames, notes and metadata of a folder that `write_folder` wrote.

    Args:
        folder: The folder.
        wanted: The frames that it must hold.
        further: Those that it may hold.

    Raises:
        FmfairError: A file is missing or cannot be read, or a newer version of fmfair wrote it.
    """
    place = Path(folder).expanduser()
    there = [*wanted, *(name for name in further if _file(place, name).is_file())]
    missing = [f"{name}.parquet" for name in there if not _file(place, name).is_file()]
    if missing:
        raise FmfairError(f"no report in {folder}: {listing(missing)} not found; expected a folder that fmfair wrote")
    try:
        entries = _entries(_file(place, wanted[0]))
        if "fmfair_version" not in entries:
            raise FmfairError(f"no report in {folder}: the Parquet files were not written by fmfair")
        if int(entries["schema_version"]) > SCHEMA_VERSION:
            raise FmfairError(
                f"{folder} was written by fmfair {entries['fmfair_version']}, which is newer than this one "
                f"({installed_version()}); update fmfair to read it"
            )
        frames = {name: _as_declared(_frame(_file(place, name)), _file(place, name), wanted) for name in there}
        _check_by_keys(frames)
        notes, metadata = (json.loads(entries[name]) for name in ("notes", "metadata"))
        if not isinstance(metadata, dict) or not isinstance(notes, list):
            raise FmfairError(f"cannot read the report in {folder}: its notes and metadata are not those of a report")
        return frames, tuple(map(str, notes)), metadata
    except FmfairError:
        raise
    except (OSError, KeyError, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
        raise FmfairError(f"cannot read the report in {folder}: {error}") from error


def strict_json(value: Any, indent: int | None = None) -> str:
    """JSON text in which NaN and infinity cannot occur."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, indent=indent)


def as_text(values: pl.Series) -> pl.Series:
    """Dates, categories, decimals and other values that JSON has no type for as text; the rest unchanged."""
    if values.dtype in (pl.String, pl.Boolean, pl.Null, pl.List(pl.String)):
        return values
    if values.dtype.is_integer() or values.dtype.is_float():
        return values
    return pl.Series(values.name, texts(values), dtype=pl.String)


def texts(values: pl.Series) -> list[str | None]:
    """The values as fmfair prints the names of groups; None where missing.

    Examples:
        >>> texts(pl.Series([1.0, None, 2.5]))
        ['1', None, '2.5']
    """
    names = iter(group_names(values.drop_nulls()))
    return [next(names) if there else None for there in values.is_not_null()]


def _if_finite(values: pl.Series) -> pl.Series:
    return values.set(~values.is_finite(), None)


def _unusual(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.parquet"


def _entries(path: Path) -> dict[str, str]:
    with path.open("rb") as file:  # an open file, so that no part of the path is read as a pattern
        return pl.read_parquet_metadata(file)


def _frame(path: Path) -> pl.DataFrame:
    with path.open("rb") as file:
        return pl.read_parquet(file)


def _as_declared(frame: pl.DataFrame, path: Path, wanted: Sequence[str]) -> pl.DataFrame:
    """A frame of a report with the dtypes that it was written with, which other programs may have changed.

    Raises:
        FmfairError: Columns are missing, or hold what fmfair never writes.
    """
    declared = _DECLARED.get(path.stem, {}) if tuple(wanted) == FRAMES else {}
    lacking = [column for column in declared if column not in frame.columns]
    if lacking:
        raise FmfairError(f"{path} has no column {listing(lacking)}; expected what fmfair wrote")
    other = {column: dtype for column, dtype in declared.items() if frame[column].dtype != dtype}
    frame = frame.with_columns(frame[column].cast(dtype) for column, dtype in other.items())
    for column, dtype in declared.items():
        if dtype == pl.Float64 and not frame[column].drop_nulls().is_finite().all():
            raise FmfairError(f"{path}: {column!r} holds NaN or infinity, which fmfair writes as NULL")
        if column in ("attribute", "group", "metric", "statistic") and frame[column].null_count():
            raise FmfairError(f"{path}: {column!r} has missing values, which fmfair does not write")
    return frame


def _check_by_keys(frames: Frames) -> None:
    """Raises where the columns before the declared ones are not the same in all frames."""
    if "groups" not in frames:
        return
    for name, frame in frames.items():
        declared = next(iter(_DECLARED[name]))
        if frame.columns[: frame.columns.index(declared)] != by_keys(frames):
            raise FmfairError(f"{name}.parquet has other by-keys before {declared!r} than groups.parquet")


def _foreign(folder: Path) -> list[str]:
    """The names in a folder that do not belong to a report."""
    ours = {f"{name}.parquet" for name in (*FRAMES, *FURTHER, *COMPARED)}
    return sorted(p.name for p in folder.iterdir() if p.name not in ours or not _written_by_us(p))


def _written_by_us(path: Path) -> bool:
    try:
        return "fmfair_version" in _entries(path)
    except (OSError, pl.exceptions.PolarsError):
        return False
