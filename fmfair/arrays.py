"""Arrays of any library (lists, NumPy, pandas, Polars, Arrow, DuckDB, tensors) become one Polars frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from fmfair.convert import column, from_arrow, is_a, plain_errors
from fmfair.errors import FmfairError, Problems, listing, plural
from fmfair.notes import Notes

# What one argument holds: one value per sample, or (also when there is only one) the columns of a table or matrix.
# A column that came without a name is called "".
OneOrMore: TypeAlias = pl.Series | list[pl.Series]


@dataclass(frozen=True)
class ArrayTable:
    """One frame made of array arguments, and the names of the columns that stand for them.

    `frame` has one row per sample. The attributes keep the user's names; the other columns take the names of their
    arguments, or a longer form where an attribute has that name. `y_true` and `y_score` are lists where there is one
    column per class, and `y_score_names` are then the user's own names of the score columns, if they had any.
    """

    frame: pl.DataFrame
    y_true: str | list[str] | None
    y_score: str | list[str] | None
    y_pred: str | None
    values: str | None
    weight: str | None
    attributes: list[str]
    y_score_names: list[str] | None


def from_arrays(
    *,
    y_true: Any = None,
    y_score: Any = None,
    y_pred: Any = None,
    values: Any = None,
    sensitive_features: Any,
    sample_weight: Any = None,
    notes: Notes,
    values_name: str = "values",
) -> ArrayTable:
    """One Polars frame from arrays that hold one value per sample.

    Every argument may be a list, tuple, range, NumPy array, pandas Series, Index or DataFrame, Polars Series or
    frame, Arrow array or table, DuckDB relation, tensor on any device, or any object with `__array__`, `to_numpy()`
    or `numpy()`. Values keep their kind: booleans, integers, text and dates stay, Float32 is widened to Float64, and
    None, NaN, NA and NaT become null. Only attributes may mix kinds, as text. Samples are paired by position; pandas
    inputs whose unique index labels are the same in another order are paired by label, with a note.

    Args:
        y_true: labels; shape (n,), (n, 1), or (n, k) for one-hot. Required unless `values` is given.
        y_score: scores; shape (n,), (n, 1), or (n, k) for one column per class.
        y_pred: decisions, shape (n,); may stand in for `y_score`.
        values: numbers per sample, such as Dice, shape (n,).
        sensitive_features: attributes; shape (n,), (n, k), a table, or a mapping from names to shape (n,). Names are
            kept; where there are none they are `sensitive`, or `sensitive_0`, `sensitive_1`, ... for a matrix.
        sample_weight: weights, shape (n,).
        notes: receives a line for each decision that the user should know of.
        values_name: what the user calls `values`, for messages and the column.

    Raises:
        FmfairError: an argument is missing, a scalar, of the wrong shape or of mixed kinds; lengths differ or are
            zero; two attributes share a name; or it is unclear how pandas indexes are meant to pair.

    Examples:
        >>> notes = Notes()
        >>> table = from_arrays(y_true=[0, 1], y_score=[0.2, 0.9], sensitive_features={"sex": ["F", None]}, notes=notes)
        >>> table.frame.rows(), table.attributes
        ([(0, 0.2, 'F'), (1, 0.9, None)], ['sex'])

        >>> from_arrays(y_true=[0, 1], y_score=[0.5], sensitive_features=["a", "b"], notes=notes)
        Traceback (most recent call last):
        ...
        fmfair.errors.FmfairError: lengths differ: y_true 2, y_score 1, sensitive_features 2; give one value per sample
    """
    arguments = {"y_true": y_true, "y_score": y_score, "y_pred": y_pred, values_name: values}
    arguments |= {"sample_weight": sample_weight, "sensitive_features": sensitive_features}
    given = {argument: value for argument, value in arguments.items() if value is not None}
    _require(given, values_name)
    columns = _read_all(_paired(given, notes))
    _check_lengths(columns, by_name=isinstance(sensitive_features, Mapping))
    attributes = columns.pop("sensitive_features")
    taken = {column.name for column in attributes}
    names = {argument: _free_names(argument, found, taken) for argument, found in columns.items()}
    series = [c.alias(n) for argument, found in columns.items() for c, n in zip(found, names[argument], strict=True)]
    roles: dict[str, Any] = {argument: found[0] if len(found) == 1 else found for argument, found in names.items()}
    return ArrayTable(
        frame=pl.DataFrame([*series, *attributes]),
        y_true=roles.get("y_true"),
        y_score=roles.get("y_score"),
        y_pred=roles.get("y_pred"),
        values=roles.get(values_name),
        weight=roles.get("sample_weight"),
        attributes=[column.name for column in attributes],
        y_score_names=_own_names(columns.get("y_score", [])),
    )


def _require(given: Mapping[str, Any], values_name: str) -> None:
    missing = [] if "sensitive_features" in given else ["sensitive_features"]
    if not {"y_true", "y_score", "y_pred", values_name} & set(given):
        missing.insert(0, f"y_true with y_score, or {values_name}")
    elif values_name not in given:
        missing += [] if {"y_score", "y_pred"} & set(given) else ["y_score (or y_pred)"]
        missing += [] if "y_true" in given else ["y_true"]
    if missing:
        raise FmfairError(f"not given but required: {'; '.join(missing)}")


def _read_all(given: Mapping[str, Any]) -> dict[str, list[pl.Series]]:
    columns: dict[str, list[pl.Series]] = {}
    problems = Problems()
    for argument, value in given.items():
        read = _attributes if argument == "sensitive_features" else _figures
        try:
            with plain_errors(f"read {argument}"):
                columns[argument] = read(argument, value)
        except FmfairError as error:  # the problems of all arguments are shown at once
            problems.add(str(error))
    problems.raise_if_any()
    labels, scores = (_own_names(columns.get(argument, [])) for argument in ("y_true", "y_score"))
    if labels and scores and labels != scores and sorted(labels) == sorted(scores):
        # Each is matched with the classes on its own, so one of the two would be read as the wrong class.
        orders = f"{listing(labels)} and {listing(scores)}"
        raise FmfairError(f"y_true and y_score have the same columns in another order, {orders}; reorder one")
    return columns


def _figures(argument: str, value: Any) -> list[pl.Series]:
    """The columns of labels, scores, decisions, values or weights."""
    reader = _Reader(argument)
    if argument not in {"y_true", "y_score"}:
        return [reader.read_one(value)]
    found = reader.read(value)
    if isinstance(found, list) and not found:
        raise FmfairError(f"{argument} has no column; give shape (n,) or (n, classes)")
    return [found] if isinstance(found, pl.Series) else found


def _attributes(argument: str, value: Any) -> list[pl.Series]:
    """The attribute columns, under their final names."""
    reader = _Reader(argument, attribute=True)
    if isinstance(value, Mapping):
        columns = [reader.part(name).read_one(item).alias(str(name)) for name, item in value.items()]
    else:
        found = reader.read(value)
        if isinstance(found, pl.Series):
            return [found.alias(found.name or "sensitive")]
        columns = [column.alias(column.name or f"sensitive_{i}") for i, column in enumerate(found)]
    if not columns:
        raise FmfairError(f"{argument} has no column; give at least one attribute")
    _check_distinct("attribute", (column.name for column in columns))
    return columns


def _check_distinct(what: str, names: Iterable[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise FmfairError(f"duplicate {what} name {listing(repeated)}; rename one")


def _check_lengths(columns: Mapping[str, list[pl.Series]], *, by_name: bool) -> None:
    lengths = {
        f"{argument}[{c.name!r}]" if by_name and argument == "sensitive_features" else argument: len(c)
        for argument, found in columns.items()
        for c in found
    }
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{argument} {length}" for argument, length in lengths.items())
        raise FmfairError(f"lengths differ: {each}; give one value per sample")
    if 0 in lengths.values():
        raise FmfairError(f"no samples: {', '.join(lengths)} are empty")


def _free_names(argument: str, columns: list[pl.Series], taken: set[str]) -> list[str]:
    """Names for the columns of an argument that no other column has; they are added to `taken`."""
    names = [argument] if len(columns) == 1 else [f"{argument}_{i}" for i in range(len(columns))]
    if argument == "y_score":
        names = _own_names(columns) or names
    for i in range(len(names)):
        while names[i] in taken:
            names[i] += " (argument)"
        taken.add(names[i])
    return names


def _own_names(columns: list[pl.Series]) -> list[str] | None:
    names = [column.name for column in columns]
    return names if len(set(names) - {""}) == len(names) > 1 else None


class _Reader:
    """Reads the value of one argument. Attributes keep the order of categories and may mix kinds, as text."""

    def __init__(self, argument: str, *, attribute: bool = False) -> None:
        self.argument = argument
        self.attribute = attribute

    def read(self, value: Any) -> OneOrMore:
        if isinstance(value, pl.DataFrame | pl.LazyFrame):
            return [self.part(c.name).tidy(c) for c in value.lazy().collect().get_columns()]
        if isinstance(value, pl.Series):
            return self.series(value)
        if is_a(value, "pandas", "DataFrame", "Series", "Index", "ExtensionArray"):
            return self.pandas(value)
        if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
            return self.arrow(value)
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return self.items(list(value))
        return self.numpy(self.as_array(value))

    def read_one(self, value: Any) -> pl.Series:
        found = self.read(value)
        columns = [found] if isinstance(found, pl.Series) else found
        if len(columns) != 1:
            raise FmfairError(f"{self.argument} must have one value per sample, got {plural(len(columns), 'column')}")
        return columns[0]

    def part(self, name: object) -> _Reader:
        return _Reader(f"{self.argument}[{name!r}]", attribute=self.attribute)

    def as_array(self, value: Any) -> np.ndarray[Any, Any]:
        if isinstance(value, np.ma.MaskedArray):
            return value
        if hasattr(value, "detach") and hasattr(value, "cpu"):
            value = value.detach().cpu()
            value = value.double() if value.is_floating_point() else value  # exact, and NumPy has no bfloat16
        for method in ("to_numpy", "numpy"):
            if callable(getattr(value, method, None)):
                return np.asarray(getattr(value, method)())
        if hasattr(value, "__array__"):
            return np.asarray(value)
        got = f"the text {value!r}" if isinstance(value, str) else f"a value of type {type(value).__name__}"
        raise FmfairError(f"{self.argument} must hold one value per sample (a list, array or column), got {got}")

    def series(self, values: pl.Series) -> OneOrMore:
        if isinstance(values.dtype, pl.Struct):
            return [self.part(field.name).tidy(field) for field in values.struct.unnest().get_columns()]
        if isinstance(values.dtype, pl.List | pl.Array):
            return self.items(values.to_list())
        return self.tidy(values)

    def tidy(self, values: pl.Series) -> pl.Series:
        """The column in one of the few dtypes that the rest of fmfair meets."""
        dtype = values.dtype
        if dtype == pl.Object:
            return self.read_one(values.to_list()).alias(values.name)
        if dtype == pl.Null or (dtype == pl.String and not self.attribute and values.null_count() == len(values)):
            return values.cast(pl.String if self.attribute else pl.Float64)
        if dtype.is_float():
            return values.cast(pl.Float64).fill_nan(None)
        categories = isinstance(dtype, pl.Categorical | pl.Enum)
        if dtype == pl.Binary or (categories and not self.attribute):
            return values.cast(pl.String)
        if categories or dtype.is_numeric() or dtype.is_temporal() or dtype in {pl.Boolean, pl.String}:
            return values
        raise FmfairError(f"{self.argument} must hold numbers, booleans, text or dates, got {dtype}")

    def numpy(self, array: np.ndarray[Any, Any]) -> OneOrMore:
        if array.dtype.names and array.ndim == 1:
            return [self.part(name).read_one(array[name]).alias(name) for name in array.dtype.names]
        if array.ndim == 2:
            return [self.read_one(array[:, i]) for i in range(array.shape[1])]
        if array.ndim != 1:
            got = array.shape or "a scalar"
            raise FmfairError(f"{self.argument} must have shape (n,) or (n, columns), got {got}")
        kind = array.dtype.kind
        if kind == "m" or (kind == "M" and np.datetime_data(array.dtype)[0] != "D"):
            array = array.astype(f"{kind}8[us]")  # Polars takes only some of NumPy's units
        if kind in "OTc":
            return self.items(array.tolist())  # masked entries come out as None
        return self.tidy(pl.Series(array.astype(np.float64) if kind == "f" else array))

    def pandas(self, value: Any) -> OneOrMore:
        if is_a(value, "pandas", "MultiIndex"):
            value = value.to_frame(index=False)
        if is_a(value, "pandas", "DataFrame"):
            names = list(value.columns)
            if not self.attribute and names == list(range(len(names))):
                names = [None] * len(names)  # default column numbers name no class
            texts = ["" if name is None else str(name) for name in names]
            return [self.part(name).read_one(value.iloc[:, i]).alias(name) for i, name in enumerate(texts)]
        as_values = hasattr(value.dtype, "categories") and not self.attribute  # labels, not the text of labels
        if as_values or value.dtype == object:
            found = self.items(value.astype(object).tolist())
        else:
            found = self.series(column(value, self.argument, "the arguments"))
        name = getattr(value, "name", None)
        return found.alias("" if name is None else str(name)) if isinstance(found, pl.Series) else found

    def arrow(self, value: Any) -> OneOrMore:
        schema = getattr(value, "schema", None)
        names = value.columns if is_a(value, "duckdb", "DuckDBPyRelation") else getattr(schema, "names", None)
        if names is None:
            return self.series(column(value, self.argument, "the arguments").alias(""))
        _check_distinct("attribute" if self.attribute else "column", names)
        return self.read(from_arrow(value, self.argument))

    def items(self, items: list[Any]) -> OneOrMore:
        """A list of values, or of rows of values."""
        if len(kinds := set(map(type, items)) - {type(None)}) == 1 and kinds <= {bool, float, str}:
            return self.tidy(pl.Series(items))  # the usual lists, quickly
        if not any(isinstance(item, list | tuple) or getattr(item, "shape", ()) for item in items):
            return self.cells(items)
        if any(isinstance(item, pl.Series) or is_a(item, "pandas", "Series") for item in items):
            raise FmfairError(f"{self.argument} is a list of columns; give a data frame or {{name: column}}")
        rows = [self.as_array(item) if getattr(item, "shape", ()) else item for item in items]
        shapes = [np.shape(row) for row in rows]
        odd = next((row for row, shape in enumerate(shapes) if shape != shapes[0]), None)
        if odd is not None:
            found = f"row 0 has {shapes[0]}, row {odd} has {shapes[odd]}"
            raise FmfairError(f"{self.argument} has rows of different shapes: {found}")
        return self.numpy(np.array(rows, dtype=object))

    def cells(self, items: list[Any]) -> OneOrMore:
        """A list of single values; only attributes may mix text with other kinds."""
        items = [_unwrapped(item) for item in items]
        found = column(items, self.argument, "the arguments").alias("")
        if not self.attribute and found.dtype == pl.String:
            texts = pl.Series([isinstance(item, str) for item in items], dtype=pl.Boolean)
            if (odd := (found.is_not_null() & ~texts).arg_true()).len():
                what = f"row {odd[0]} is of type {type(items[odd[0]]).__name__}"
                raise FmfairError(f"{self.argument} mixes kinds of values: {what}; give numbers or text")
        return self.series(found)


def _unwrapped(item: Any) -> Any:
    """The Python value inside a scalar of another library."""
    if isinstance(item, np.datetime64 | np.timedelta64):
        return item.astype(f"{item.dtype.kind}8[us]").item()  # in nanoseconds .item() would be an integer
    if hasattr(item, "as_py"):  # Arrow
        return item.as_py()
    if getattr(item, "shape", None) == () and hasattr(item, "item"):  # NumPy, and a tensor of one value
        return item.item()
    return item


def _paired(given: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """The arguments, with pandas inputs in the order of the first one whose index has the same labels."""
    references: dict[str, Any] = {}

    def place(label: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: place(f"{label}[{name!r}]", item) for name, item in value.items()}
        if not is_a(value, "pandas", "Series", "DataFrame"):
            return value
        for reference, index in references.items():
            if len(value.index) == len(index):  # else an error about lengths follows
                with plain_errors(f"compare the index of {label} with that of {reference}"):
                    order = _order(label, value, reference, index, notes)
                if order is not None:
                    return value.iloc[order]
        references[label] = value.index
        return value

    return {argument: place(argument, value) for argument, value in given.items()}


def _order(label: str, value: Any, reference: str, index: Any, notes: Notes) -> np.ndarray[Any, Any] | None:
    """The rows of a pandas input in the order of the reference; None where the two share no index label."""
    own, as_it_is = value.index, np.arange(len(index))
    if own.equals(index):
        return as_it_is
    if not (own.is_unique and index.is_unique):
        if not own.isin(index).any():
            return None
        notes.warn(f"{label} and {reference} are paired by position, because their index labels repeat")
        return as_it_is
    order: np.ndarray[Any, Any] = own.get_indexer(index)
    n_shared = int((order >= 0).sum())
    unclear = "so it is unclear which samples belong together; to pair by label, pass"
    by_position = f"to pair by position, pass {label}.to_numpy()"
    if is_a(value, "pandas", "DataFrame"):
        by_position += f" or, to keep its column names, {label}.set_axis({reference}.index)"
    if 0 < n_shared < len(index):
        overlap = f"{n_shared} of the {len(index)} index labels of {label} are also in the index of {reference}"
        raise FmfairError(f"{overlap}, {unclear} both with .loc and the same labels; {by_position}")
    if n_shared and (order != as_it_is).any():
        same = f"{reference} and {label} have the same index labels in another order"
        if any(i.dtype.kind in "iu" and (np.asarray(i) == as_it_is).all() for i in (own, index)):
            same += ", and one has the default index 0, 1, 2, ..."
            raise FmfairError(f"{same}, {unclear} {label}.loc[{reference}.index]; {by_position}")
        notes.warn(f"{same}; they are paired by label, in the order of {reference}")
    return order if n_shared else None
