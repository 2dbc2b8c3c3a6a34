"""Arrays of every library become one frame, with their names, their kinds of values and the right pairs."""

from __future__ import annotations

import array
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fmfair.arrays import ArrayTable, from_arrays
from fmfair.errors import FmfairError
from fmfair.notes import Notes

LABELS = [0, 1, 0, 1, 1, 0, 1, 0]
SEX = ["F", "F", "M", "M", "F", "F", "M", "M"]
SITE = ["x", "x", "y", "y", "y", "y", "x", "x"]
EIGHT = [0.5] * 8


def having(**methods: Callable[..., Any]) -> Any:
    """An object that has these methods and nothing else."""
    return type("Foreign", (), {name: staticmethod(method) for name, method in methods.items()})()


def arrays(sensitive_features: Any = SEX, **arguments: Any) -> ArrayTable:
    """A table of arrays, eight labels and scores unless values are given."""
    usual: dict[str, Any] = {} if "values" in arguments else {"y_true": LABELS, "y_score": EIGHT}
    return from_arrays(sensitive_features=sensitive_features, notes=Notes(), **(usual | arguments))


COLUMNS: dict[str, tuple[Callable[[list[int]], Any], pl.DataType]] = {
    "list": (list, pl.Int64()),
    "tuple": (tuple, pl.Int64()),
    "array.array": (lambda v: array.array("b", v), pl.Int64()),
    "list of booleans": (lambda v: [bool(x) for x in v], pl.Boolean()),
    "list of booleans and integers": (lambda v: [bool(v[0]), *v[1:]], pl.Int64()),
    "list of integers and floats": (lambda v: [float(v[0]), *v[1:]], pl.Float64()),
    "list of decimals": (lambda v: [Decimal(x) for x in v], pl.Float64()),
    "list of text": (lambda v: [str(x) for x in v], pl.String()),
    "list of NumPy integers": (lambda v: [np.int8(x) for x in v], pl.Int64()),
    "list of tensors": (lambda v: [torch.tensor(x) for x in v], pl.Int64()),
    "list of Arrow scalars": (lambda v: [pa.scalar(x) for x in v], pl.Int64()),
    "NumPy int8": (lambda v: np.array(v, dtype=np.int8), pl.Int8()),
    "NumPy uint8": (lambda v: np.array(v, dtype=np.uint8), pl.UInt8()),
    "NumPy bool": (lambda v: np.array(v, dtype=bool), pl.Boolean()),
    "NumPy object": (lambda v: np.array(v, dtype=object), pl.Int64()),
    "NumPy float32": (lambda v: np.array(v, dtype=np.float32), pl.Float64()),
    "NumPy longdouble": (lambda v: np.array(v, dtype=np.longdouble), pl.Float64()),
    "NumPy big-endian": (lambda v: np.array(v, dtype=">i4"), pl.Int32()),
    "NumPy text": (lambda v: np.array(v, dtype=str), pl.String()),
    "NumPy bytes": (lambda v: np.array(v, dtype="S1"), pl.String()),
    "pandas int": (pd.Series, pl.Int64()),
    "pandas Int64": (lambda v: pd.Series(v, dtype="Int64"), pl.Int64()),
    "pandas boolean": (lambda v: pd.Series(v, dtype="boolean"), pl.Boolean()),
    "pandas Arrow-backed": (lambda v: pd.Series(v, dtype="int64[pyarrow]"), pl.Int64()),
    "pandas object": (lambda v: pd.Series(v, dtype=object), pl.Int64()),
    "pandas sparse": (lambda v: pd.Series(pd.arrays.SparseArray(v)), pl.Int64()),
    "pandas categories": (lambda v: pd.Series(v, dtype="category"), pl.Int64()),
    "pandas array": (lambda v: pd.array(v, dtype="Int64"), pl.Int64()),
    "pandas Index": (pd.Index, pl.Int64()),
    "pandas DataFrame": (lambda v: pd.DataFrame({"label": v}), pl.Int64()),
    "Polars Boolean": (lambda v: pl.Series(v).cast(pl.Boolean), pl.Boolean()),
    "Polars UInt8": (lambda v: pl.Series("label", v, dtype=pl.UInt8), pl.UInt8()),
    "Polars Object": (lambda v: pl.Series(v, dtype=pl.Object), pl.Int64()),
    "Polars Enum": (lambda v: pl.Series([str(x) for x in v], dtype=pl.Enum(["1", "0"])), pl.String()),
    "Polars DataFrame": (lambda v: pl.DataFrame({"label": v}), pl.Int64()),
    "Polars LazyFrame": (lambda v: pl.LazyFrame({"label": v}), pl.Int64()),
    "Arrow array": (lambda v: pa.array(v, pa.int8()), pl.Int8()),
    "Arrow chunks": (lambda v: pa.chunked_array([v[:3], v[3:]], pa.int8()), pl.Int8()),
    "Arrow table": (lambda v: pa.table({"label": v}), pl.Int64()),
    "Arrow stream": (lambda v: having(__arrow_c_stream__=pl.Series("label", v).__arrow_c_stream__), pl.Int64()),
    "DuckDB relation": (lambda v: duckdb.from_arrow(pa.table({"label": v})), pl.Int64()),
    "tensor of integers": (torch.tensor, pl.Int64()),
    "tensor of bytes": (lambda v: torch.tensor(v, dtype=torch.uint8), pl.UInt8()),
    "tensor of booleans": (lambda v: torch.tensor(v, dtype=torch.bool), pl.Boolean()),
    "tensor of bfloat16": (lambda v: torch.tensor(v, dtype=torch.bfloat16), pl.Float64()),
    "tensor with gradient": (lambda v: torch.tensor(v, dtype=torch.float32, requires_grad=True), pl.Float64()),
    "__array__": (lambda v: having(__array__=lambda: np.array(v)), pl.Int64()),
    "to_numpy()": (lambda v: having(to_numpy=lambda: np.array(v)), pl.Int64()),
    "numpy()": (lambda v: having(numpy=lambda: np.array(v)), pl.Int64()),
}


@pytest.mark.parametrize("form", COLUMNS)
@pytest.mark.parametrize("argument", ["y_true", "y_score", "y_pred", "values", "sample_weight", "sensitive_features"])
def test_every_form_of_a_column_keeps_its_values_and_kind(argument: str, form: str) -> None:
    make, dtype = COLUMNS[form]

    table = arrays(**{argument: make(LABELS)})

    role = {"sample_weight": table.weight, "sensitive_features": table.attributes[0]}
    found = table.frame[role.get(argument) or getattr(table, argument)]
    assert [int(v) for v in found.to_list()] == LABELS
    assert found.dtype == dtype or (argument == "sensitive_features" and found.dtype == pl.Enum)


def test_numbers_neither_round_nor_wrap() -> None:
    float32, uint8 = np.full(8, 0.7, dtype=np.float32), np.array([0, 255] * 4, dtype=np.uint8)

    frame = arrays([2**53 + 1, float("nan"), *[1] * 6], y_score=float32, y_true=uint8, y_pred=range(8)).frame

    assert frame["y_score"].to_list() == [float(np.float32(0.7))] * 8
    assert frame["y_true"].to_list() == [0, 255] * 4
    assert frame["y_pred"].to_list() == list(range(8))
    assert frame["sensitive"].to_list() == [2**53 + 1, None, *[1] * 6]


NAMED: dict[str, Callable[[], Any]] = {
    "mapping": lambda: {"sex": pl.Series("other name", SEX), "site": SITE},
    "mapping of unlike columns": lambda: {"sex": np.array([[s] for s in SEX]), "site": pd.DataFrame({"z": SITE})},
    "pandas DataFrame": lambda: pd.DataFrame({"sex": SEX, "site": SITE}),
    "pandas MultiIndex": lambda: pd.MultiIndex.from_arrays([SEX, SITE], names=["sex", "site"]),
    "Polars DataFrame": lambda: pl.DataFrame({"sex": SEX, "site": SITE}),
    "Polars LazyFrame": lambda: pl.LazyFrame({"sex": SEX, "site": SITE}),
    "Polars struct": lambda: pl.DataFrame({"sex": SEX, "site": SITE}).to_struct("all"),
    "Arrow table": lambda: pa.table({"sex": SEX, "site": SITE}),
    "Arrow reader": lambda: pa.table({"sex": SEX, "site": SITE}).to_reader(),
    "DuckDB relation": lambda: duckdb.from_arrow(pa.table({"sex": SEX, "site": SITE})),
    "NumPy records": lambda: np.array(list(zip(SEX, SITE, strict=True)), dtype=[("sex", "U1"), ("site", "U1")]),
}


@pytest.mark.parametrize("form", NAMED)
def test_names_are_kept_from_every_container_that_has_names(form: str) -> None:
    table = arrays(NAMED[form]())

    assert table.attributes == ["sex", "site"]
    assert table.frame.select("sex", "site").rows() == list(zip(SEX, SITE, strict=True))


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (SEX, ["sensitive"]),
        (pl.Series(SEX), ["sensitive"]),
        (pl.Series("sex", SEX), ["sex"]),
        (pd.Series(SEX, name="sex"), ["sex"]),
        (pd.Series(SEX, name=0), ["0"]),
        (pa.array(SEX), ["sensitive"]),
        (np.array([SEX, SITE]).T, ["sensitive_0", "sensitive_1"]),
        (np.array([SEX]).T, ["sensitive_0"]),
        (list(zip(SEX, SITE, strict=True)), ["sensitive_0", "sensitive_1"]),
        (pl.Series(list(zip(SEX, SITE, strict=True))), ["sensitive_0", "sensitive_1"]),
        (pd.DataFrame({7: SEX, ("a", 1): SITE}), ["7", "('a', 1)"]),
        ({1: SEX}, ["1"]),
    ],
)
def test_attributes_without_names_get_some(values: Any, names: list[str]) -> None:
    assert arrays(values).attributes == names


MISSING: dict[str, Any] = {
    "None in a list": ["a", "b", None, None],
    "NaN in a list": ["a", "b", float("nan"), np.nan],
    "NA and NaT in a list": ["a", "b", pd.NA, pd.NaT],
    "NumPy NaT and Decimal NaN in a list": ["a", "b", np.datetime64("NaT"), Decimal("nan")],
    "NumPy object": np.array(["a", "b", np.nan, None], dtype=object),
    "Polars null": pl.Series(["a", "b", None, None]),
    "pandas text": pd.Series(["a", "b", np.nan, None]),
    "pandas object": pd.Series(["a", "b", np.nan, pd.NA], dtype=object),
    "pandas nullable text": pd.Series(["a", "b", pd.NA, None], dtype="string"),
    "pandas categories": pd.Series(["a", "b", None, np.nan], dtype="category"),
    "Arrow": pa.array(["a", "b", None, None]),
    "masked": np.ma.array(["a", "b", "c", "d"], mask=[False, False, True, True]),
}


@pytest.mark.parametrize("form", MISSING)
def test_every_missing_attribute_is_null(form: str) -> None:
    table = arrays(MISSING[form], values=[0.1, 0.2, 0.3, 0.4])

    assert table.frame["sensitive"].to_list() == ["a", "b", None, None]


@pytest.mark.parametrize(
    "codes",
    [
        [1.0, 2.0, float("nan"), None],
        np.array([1, 2, np.nan, np.nan], dtype=np.float32),
        pd.Series([1, 2, None, None], dtype="Int64"),
        pl.Series([1.0, 2.0, float("nan"), None]),
        torch.tensor([1, 2, torch.nan, torch.nan]),
        pa.array([1.0, 2.0, float("nan"), None]),
    ],
)
@pytest.mark.parametrize("argument", ["y_true", "sensitive_features"])
def test_every_missing_number_is_null(argument: str, codes: Any) -> None:
    arguments = {"y_true": [0, 1, 0, 1], "y_score": [0.1, 0.2, 0.3, 0.4], "sensitive_features": SEX[:4]}

    frame = arrays(**(arguments | {argument: codes})).frame

    assert frame[argument if argument == "y_true" else "sensitive"].to_list() == [1, 2, None, None]


def test_an_attribute_may_mix_text_and_numbers_and_a_label_may_not() -> None:
    mixed = ["F", 1.0, 2, True]

    assert arrays(mixed, values=[1] * 4).frame["sensitive"].to_list() == ["F", "1", "2", "True"]
    with pytest.raises(FmfairError, match="y_true mixes kinds of values: row 1 is of type float"):
        arrays(SEX[:4], y_true=mixed, y_score=[0.1] * 4)


def test_the_order_of_declared_categories_is_kept_unused_ones_too() -> None:
    levels = [">=60", "<40", "40-60"]
    ages = pd.Categorical(["<40", None, ">=60"], categories=levels)

    pandas = arrays({"age": pd.Series(ages), "code": pd.Categorical([2.0, 1.5, 2.0])}, values=[1, 2, 3]).frame
    polars = arrays(pl.Series("age", ["<40", None, ">=60"], dtype=pl.Enum(levels)), values=[1, 2, 3]).frame

    assert pandas["age"].dtype == polars["age"].dtype == pl.Enum(levels)
    assert pandas["age"].to_list() == polars["age"].to_list() == ["<40", None, ">=60"]
    assert pandas["code"].dtype == pl.Enum(["1.5", "2"])


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates_keep_their_meaning_in_any_unit(unit: str) -> None:
    days = np.array(["2020-01-02", "NaT"], dtype=f"M8[{unit}]")

    frame = arrays({"array": days, "list": list(days), "masked": np.ma.array(days)}, values=[1, 0]).frame

    assert frame.drop("values").cast(pl.Date).rows() == [(date(2020, 1, 2),) * 3, (None,) * 3]


def test_one_hot_labels_and_class_scores_become_columns() -> None:
    hot, scores = np.eye(2, dtype=int)[LABELS], np.full((8, 2), 0.5)

    table = arrays(y_true=hot, y_score=scores.tolist())

    assert (table.y_true, table.y_score) == (["y_true_0", "y_true_1"], ["y_score_0", "y_score_1"])
    assert table.y_score_names is None
    assert table.frame["y_true_1"].to_list() == LABELS


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda c: duckdb.from_arrow(pa.table(c))])
def test_class_scores_keep_the_names_of_a_table(make: Callable[[Any], Any]) -> None:
    table = arrays(y_score=make({"sick": [0.1] * 8, "well": [0.9] * 8}))

    assert table.y_score == table.y_score_names == ["sick", "well"]
    assert arrays(y_score=pd.DataFrame(np.ones((8, 2)))).y_score_names is None  # default column numbers are no names


def test_attributes_keep_names_that_the_arguments_have() -> None:
    scores = {"y_true": [0.1] * 8, "b": [0.9] * 8}
    names = ["y_true", "y_true (argument)", "sample_weight", "weight"]

    table = arrays(dict.fromkeys(names, SEX), y_score=pl.DataFrame(scores), sample_weight=[1.0] * 8)

    assert table.attributes == names
    assert len(set(table.frame.columns)) == len(table.frame.columns) == 8
    assert table.y_true == "y_true (argument) (argument)"
    assert table.frame[table.y_true].to_list() == LABELS
    assert table.y_score is not None
    assert table.frame[table.y_score[0]].to_list() == [0.1] * 8
    assert table.y_score_names == ["y_true", "b"]


@pytest.mark.parametrize(
    "values",
    [
        pd.DataFrame([["a", "x"]] * 8, columns=["grp", "grp"]),
        pa.table([pa.array(SEX), pa.array(SITE)], names=["grp", "grp"]),
        duckdb.sql("select 'a' as grp, 'x' as grp from range(8)"),
        {1: SEX, "1": SITE},
    ],
)
def test_two_attributes_of_one_name_are_refused(values: Any) -> None:
    with pytest.raises(FmfairError, match=r"duplicate attribute name '(grp|1)'; rename one"):
        arrays(values)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"y_true": 1}, "y_true must hold one value per sample .*, got a value of type int"),
    ({"y_true": "label"}, "y_true must hold one value per sample .*, got the text 'label'"),
    ({"y_true": np.float64(1)}, r"y_true must have shape \(n,\) .*, got a scalar"),
    ({"y_true": torch.tensor(1)}, "y_true must have shape .*, got a scalar"),
    ({"y_true": (x for x in LABELS)}, "y_true must hold one value per sample .*, got a value of type generator"),
    ({"y_true": set(LABELS)}, "y_true must hold .*, got a value of type set"),
    ({"y_true": {"a": LABELS}}, "y_true must hold .*, got a value of type dict"),
    ({"y_true": np.ones((8, 2, 2))}, r"y_true must have shape .*, got \(8, 2, 2\)"),
    ({"y_score": np.ones((8, 1, 1)).tolist()}, r"y_score must have shape .*, got \(8, 1, 1\)"),
    ({"y_score": [[1.0, 2.0]] * 7 + [[1.0]]}, r"y_score has rows .* row 0 has \(2,\), row 7 has \(1,\)"),
    ({"y_score": [0.5] * 7 + [[0.5]]}, r"y_score has rows .* row 0 has \(\), row 7 has \(1,\)"),
    ({"y_score": [*EIGHT[1:], "0.5"]}, "y_score mixes kinds of values: row 0 is of type float"),
    ({"y_score": np.ones((8, 0))}, "y_score has no column"),
    ({"y_score": np.ones(8) * 1j}, "y_score.*complex"),
    ({"y_score": pl.Series([{1}] * 8, dtype=pl.Object)}, "y_score.*set"),
    ({"y_score": pl.LazyFrame({"a": EIGHT}).select("missing")}, "cannot read y_score: .*missing"),
    ({"y_pred": np.ones((8, 2))}, "y_pred must have one value per sample, got 2 columns"),
    ({"sensitive_features": {"age": np.ones((8, 2))}}, r"sensitive_features\['age'\] must have one value per sample"),
    ({"sensitive_features": {}}, "sensitive_features has no column"),
    ({"sensitive_features": pd.DataFrame(index=range(8))}, "sensitive_features has no column"),
    ({"sensitive_features": "sex"}, "sensitive_features must hold .*, got the text 'sex'"),
    ({"sensitive_features": [pl.Series(SEX), pl.Series(SITE)]}, "sensitive_features is a list of columns"),
    ({"sensitive_features": None}, "not given but required: sensitive_features"),
    ({"y_true": None}, "not given but required: y_true"),
    ({"y_score": None}, r"not given but required: y_score \(or y_pred\)"),
    ({"y_true": None, "y_score": None}, "not given but required: y_true with y_score, or values"),
    ({"y_true": LABELS[:3]}, "lengths differ: y_true 3, y_score 8, sensitive_features 8; give one value per sample"),
    ({"sensitive_features": {"a": SEX, "b": SEX[:2]}}, r"y_true 8, y_score 8, .*\['a'\] 8, .*\['b'\] 2"),
    ({"y_true": [], "y_score": np.array([]), "sensitive_features": pl.Series([])}, "no samples: y_true, y_score, .*"),
    ({"y_true": 1, "y_score": 2}, r"2 problems:\n  - y_true must .*\n  - y_score must "),
    (
        {"y_true": pl.DataFrame([LABELS] * 2, ["a", "b"]), "y_score": pl.DataFrame([EIGHT] * 2, ["b", "a"])},
        "reorder one",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_is_no_column_is_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(FmfairError, match=message):
        arrays(**arguments)


def paired(left: list[Any], right: list[Any], wrap: Callable[[pd.Series[Any]], Any] = lambda s: s) -> Any:
    """Labels 0, 1, 2 under the index `left`, attributes 0, 1, 2 under the index `right`; the pairs and the notes."""
    notes = Notes()
    sex = pd.Series(range(len(right)), index=right, name="sex")
    table = from_arrays(values=pd.Series(range(len(left)), index=left), sensitive_features=wrap(sex), notes=notes)
    return table.frame["sex"].to_list(), notes


WRAPS: list[Callable[[Any], Any]] = [lambda s: s, pd.DataFrame, lambda s: {"sex": s}, lambda s: {"sex": s.to_frame()}]


@pytest.mark.parametrize("wrap", WRAPS)
def test_pandas_inputs_pair_by_label_where_the_same_labels_come_in_another_order(wrap: Callable[[Any], Any]) -> None:
    pairs, notes = paired(["p", "q", "r"], ["r", "p", "q"], wrap)

    assert pairs == [1, 2, 0]
    assert [note.split(";")[-1] for note in notes] == [" they are paired by label, in the order of values"]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([3, 1, 2], [3, 1, 2]),
        ([0, 1, 2], [0.0, 1.0, 2.0]),
        ([0, 1, 2], ["r", "p", "q"]),
        (["a", "b", "c"], ["p", "q", "r"]),
        ([5, 6, 7], [0, 1, 2]),
    ],
)
def test_equal_and_unrelated_indexes_pair_by_position_in_silence(left: list[Any], right: list[Any]) -> None:
    assert paired(left, right) == ([0, 1, 2], [])


def test_repeated_labels_pair_by_position_with_a_note() -> None:
    pairs, notes = paired(["p", "p", "q"], ["q", "p", "p"])

    assert pairs == [0, 1, 2]
    assert notes == ["sensitive_features and values are paired by position, because their index labels repeat"]


@pytest.mark.parametrize(("left", "right"), [([0, 1, 2], [2, 0, 1]), ([2, 0, 1], [0, 1, 2])])
@pytest.mark.parametrize("wrap", WRAPS)
def test_a_default_index_in_another_order_is_refused(left: list[int], right: list[int], wrap: Any) -> None:
    with pytest.raises(FmfairError) as error:
        paired(left, right, wrap)

    assert ".loc[values.index]" in str(error.value)
    assert ".to_numpy()" in str(error.value)


def test_labels_that_only_overlap_are_refused() -> None:
    with pytest.raises(FmfairError, match=r"^2 of the 3 index labels of sensitive_features .*\.loc .*\.to_numpy\(\)"):
        paired([0, 1, 2], [1, 2, 3])


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_shuffled_pandas_inputs_give_the_rows_of_the_first(scores: list[int], sexes: list[int]) -> None:
    data = pd.DataFrame({"y": [0, 1, 0, 1, 1, 0], "s": np.arange(6) / 8, "sex": list("FMFMMF")}, index=list("abcdef"))

    frame = arrays(data[["sex"]].iloc[sexes], y_true=data["y"], y_score=data["s"].iloc[scores]).frame

    assert frame.rows() == list(data.itertuples(index=False, name=None))


def test_reading_lists_and_arrays_loads_no_other_library() -> None:
    code = "import sys, numpy as np; from fmfair.arrays import from_arrays; from fmfair.notes import Notes\n"
    code += "from_arrays(y_true=[0, 1], y_score=np.ones(2), sensitive_features=['a', None], notes=Notes())\n"
    code += "print([name for name in ('pandas', 'torch', 'duckdb') if name in sys.modules])"

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"
