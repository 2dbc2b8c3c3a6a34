"""The same values in every dtype and container: the same numbers under the same names."""

from __future__ import annotations

import decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from lookup import by_group, gap, warned

import fmfair
from fmfair import FmfairError

TRUTH = [0, 1, 0, 1, 0, 1, 1, 0]
SCORE = [0.1, 0.9, 0.8, 0.7, 0.2, 0.3, 0.4, 0.6]
GROUP = [*"aabbaabb"]
CODE = [1 if g == "a" else 2 for g in GROUP]
AUC = {"a": 1.0, "b": 0.25}

LABELS = {
    "list of int": (TRUTH, None),
    "list of bool": ([bool(v) for v in TRUTH], None),
    "tuple of float": (tuple(float(v) for v in TRUTH), None),
    "pandas Int64": (pd.Series(TRUTH, dtype="Int64"), None),
    "pandas boolean": (pd.Series([bool(v) for v in TRUTH], dtype="boolean"), None),
    "pandas int64[pyarrow]": (pd.Series(TRUTH, dtype="int64[pyarrow]"), None),
    "pandas bool[pyarrow]": (pd.Series([bool(v) for v in TRUTH], dtype="bool[pyarrow]"), None),
    "pandas object": (pd.Series(TRUTH, dtype=object), None),
    "pandas Categorical": (pd.Series(pd.Categorical(TRUTH)), None),
    "NumPy object": (np.array(TRUTH, dtype=object), None),
    "NumPy float16": (np.array(TRUTH, dtype=np.float16), None),
    "NumPy uint64": (np.array(TRUTH, dtype=np.uint64), None),
    "Polars Boolean": (pl.Series([bool(v) for v in TRUTH]), None),
    "Polars UInt8": (pl.Series(TRUTH, dtype=pl.UInt8), None),
    "Polars Int128": (pl.Series(TRUTH, dtype=pl.Int128), None),
    "Polars Float32": (pl.Series(TRUTH, dtype=pl.Float32), None),
    "Polars Decimal": (pl.Series([decimal.Decimal(v) for v in TRUTH]), None),
    "Polars text": (pl.Series([str(v) for v in TRUTH]), "1"),
    "Polars Categorical": (pl.Series([str(v) for v in TRUTH], dtype=pl.Categorical), "1"),
    "Polars Enum": (pl.Series([str(v) for v in TRUTH], dtype=pl.Enum(["1", "0"])), "1"),
    "Arrow chunked int8": (pa.chunked_array([pa.array(TRUTH[:3], pa.int8()), pa.array(TRUTH[3:], pa.int8())]), None),
    "Arrow int8": (pa.array(TRUTH, pa.int8()), None),
    "Arrow bool": (pa.array([bool(v) for v in TRUTH]), None),
    "list of text": ([str(v) for v in TRUTH], "1"),
    "NumPy text": (np.array([str(v) for v in TRUTH]), "1"),
    "tensor of int": (torch.tensor(TRUTH), None),
    "tensor of bool": (torch.tensor(TRUTH).bool(), None),
    "list of NumPy ints": ([np.int8(v) for v in TRUTH], None),
}
EVERY_LABEL = pytest.mark.parametrize(("label", "positive"), [pytest.param(*v, id=k) for k, v in LABELS.items()])


@EVERY_LABEL
def test_fc19_labels_of_every_dtype_give_the_same_gap(label: Any, positive: Any) -> None:
    value, told = warned(fmfair.auc_gap, label, SCORE, sensitive_features=GROUP, pos_label=positive)

    assert value == 0.75
    assert told == ""


@EVERY_LABEL
def test_fc19_labels_of_every_dtype_give_the_same_report(label: Any, positive: Any) -> None:
    arrays = fmfair.evaluate_arrays(label, SCORE, sensitive_features=GROUP, pos_label=positive, metrics="auc")
    table = {"label": label, "prob": SCORE, "sensitive": GROUP}
    frame = fmfair.evaluate(table, attributes="sensitive", positive=positive, metrics="auc")

    assert by_group(arrays, "auc") == AUC
    assert frame.groups.equals(arrays.groups)
    assert frame.gaps.equals(arrays.gaps)


SCORES = {
    "Float32": pl.Series(SCORE, dtype=pl.Float32),
    "Decimal": pl.Series([decimal.Decimal(str(v)) for v in SCORE]),
    "object array": np.array(SCORE, dtype=object),
    "float16 array": np.array(SCORE, dtype=np.float16),
    "pandas Float64": pd.Series(SCORE, dtype="Float64"),
    "pandas double[pyarrow]": pd.Series(SCORE, dtype="double[pyarrow]"),
    "Arrow float": pa.array(SCORE, pa.float32()),
    "bfloat16 tensor": torch.tensor(SCORE, dtype=torch.bfloat16),
    "tensor that has a gradient": torch.tensor(SCORE, requires_grad=True),
    "column vector": np.array(SCORE)[:, None],
    "list of rows": [[v] for v in SCORE],
}


@pytest.mark.parametrize("score", [pytest.param(v, id=k) for k, v in SCORES.items()])
def test_fc19_scores_of_every_dtype_give_the_same_gap(score: Any) -> None:
    assert warned(fmfair.auc_gap, TRUTH, score, sensitive_features=GROUP)[0] == 0.75


GROUPS = {
    "ints": CODE,
    "floats": [float(v) for v in CODE],
    "text": [str(v) for v in CODE],
    "text of floats": None,
    "NumPy float32": np.array(CODE, dtype=np.float32),
    "NumPy int8": np.array(CODE, dtype=np.int8),
    "Polars UInt16": pl.Series(CODE, dtype=pl.UInt16),
    "pandas float Categorical": pd.Series(pd.Categorical([float(v) for v in CODE])),
    "Arrow double": pa.array([float(v) for v in CODE]),
    "mixed int and float": [1.0 if v == 1 else 2 for v in CODE],
}


@pytest.mark.parametrize("group", [pytest.param(v, id=k) for k, v in GROUPS.items() if v is not None])
def test_fc19_groups_of_every_dtype_are_called_1_and_2(group: Any) -> None:
    arrays = fmfair.evaluate_arrays(TRUTH, SCORE, sensitive_features={"sex": group}, metrics="auc")
    frame = fmfair.evaluate({"label": TRUTH, "prob": SCORE, "sex": group}, metrics="auc")

    for report in (arrays, frame):
        assert by_group(report, "auc") == {"1": 1.0, "2": 0.25}
        assert gap(report, "auc") == 0.75


def test_fc19_text_that_looks_like_a_number_is_not_touched() -> None:
    report = fmfair.evaluate_arrays(TRUTH, SCORE, sensitive_features=[f"{v}.0" for v in CODE])

    assert by_group(report, "auc") == {"1.0": 1.0, "2.0": 0.25}


def test_fc19_boolean_groups_are_called_true_and_false() -> None:
    for group in ([v == 1 for v in CODE], pl.Series([v == 1 for v in CODE]), pa.array([v == 1 for v in CODE])):
        report = fmfair.evaluate_arrays(TRUTH, SCORE, sensitive_features=group)

        assert by_group(report, "auc") == {"False": 0.25, "True": 1.0}


# Attributes with names, in every container that has names.
NAMED_TRUTH = [0, 1, 0, 1, 1, 0, 1, 0]
NAMED_SCORE = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
NAMED = {"sex": [*"FFMMFFMM"], "site": [*"xxyyyyxx"]}
CONTAINERS = {
    "mapping of lists": NAMED,
    "mapping of Polars Series": {k: pl.Series(v) for k, v in NAMED.items()},
    "mapping of NumPy arrays": {k: np.array(v) for k, v in NAMED.items()},
    "Polars DataFrame": pl.DataFrame(NAMED),
    "Polars LazyFrame": pl.LazyFrame(NAMED),
    "Arrow table": pa.table(NAMED),
    "Arrow record batch": pa.RecordBatch.from_pydict(NAMED),
    "DuckDB relation": "duckdb",
    "pandas DataFrame": pd.DataFrame(NAMED),
    "structured array": np.array(list(zip(*NAMED.values(), strict=True)), dtype=[("sex", "U1"), ("site", "U1")]),
}


@pytest.mark.parametrize("container", [pytest.param(v, id=k) for k, v in CONTAINERS.items()])
def test_fc21_every_container_keeps_its_names(container: Any) -> None:
    # A relation holds a connection, so it is made where it is used.
    features = duckdb.from_arrow(pa.table(NAMED)) if isinstance(container, str) else container

    report = fmfair.evaluate_arrays(NAMED_TRUTH, NAMED_SCORE, sensitive_features=features)

    assert report.summary["attribute"].to_list() == ["sex", "site"]
    assert by_group(report, "auc", attribute="sex") == {"F": 1.0, "M": 0.75}
    assert by_group(report, "auc", attribute="site") == {"x": 1.0, "y": 0.5}
    assert gap(report, "auc", attribute="sex") == 0.25
    assert gap(report, "auc", attribute="site") == 0.5


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (pl.Series("sex", NAMED["sex"]), "sex"),
        (pd.Series(NAMED["sex"], name="sex"), "sex"),
        (pl.DataFrame({"sex": NAMED["sex"]}), "sex"),
        (pa.array(NAMED["sex"]), "sensitive"),
        (NAMED["sex"], "sensitive"),
        (np.array(NAMED["sex"]), "sensitive"),
    ],
)
def test_fc21_one_column_keeps_the_name_that_it_has(column: Any, name: str) -> None:
    report = fmfair.evaluate_arrays(NAMED_TRUTH, NAMED_SCORE, sensitive_features=column)

    assert report.summary["attribute"].to_list() == [name]
    assert by_group(report, "auc") == {"F": 1.0, "M": 0.75}


def test_fc21_a_matrix_without_names_gets_numbers() -> None:
    matrix = np.array(list(NAMED.values())).T

    report = fmfair.evaluate_arrays(NAMED_TRUTH, NAMED_SCORE, sensitive_features=matrix)

    assert report.summary["attribute"].to_list() == ["sensitive_0", "sensitive_1"]
    assert by_group(report, "auc", attribute="sensitive_1") == {"x": 1.0, "y": 0.5}


def test_fc21_bins_meet_the_names_of_every_container() -> None:
    ages = {"age": [30, 35, 50, 55, 30, 35, 50, 55]}

    for features in (pl.DataFrame(ages), pl.LazyFrame(ages), pa.table(ages), duckdb.from_arrow(pa.table(ages))):
        report = fmfair.evaluate_arrays(NAMED_TRUTH, NAMED_SCORE, sensitive_features=features, bins={"age": [40]})
        assert by_group(report, "auc", "n") == {"<40": 4, ">=40": 4}


# The demographics table was shuffled.
INDEX = ["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"]
SHUFFLED_GROUP = [*"baababba"]
SHUFFLED_INDEX = ["p4", "p1", "p6", "p7", "p2", "p8", "p3", "p5"]


def _indexed(group: list[str], index: list[Any], own: list[Any]) -> tuple[Any, Any, Any]:
    return pd.Series(TRUTH, index=own), pd.Series(SCORE, index=own), pd.Series(group, index=index)


def test_fc23_pandas_inputs_pair_by_label_and_say_so() -> None:
    truth, score, _ = _indexed(SHUFFLED_GROUP, SHUFFLED_INDEX, INDEX)
    # p1 a, p2 a, p3 b, p4 b, p5 a, p6 a, p7 b, p8 b
    group = pd.Series([GROUP[INDEX.index(i)] for i in SHUFFLED_INDEX], index=SHUFFLED_INDEX)

    value, told = warned(fmfair.auc_gap, truth, score, sensitive_features=group)
    report = fmfair.evaluate_arrays(truth, score, sensitive_features=group)

    assert value == 0.75
    assert by_group(report, "auc") == AUC
    assert "paired by label" in told
    assert [n for n in report.notes if "paired by label" in n]


def test_fc23_an_index_of_row_numbers_in_another_order_is_unclear() -> None:
    own = list(range(8))
    shuffled = [INDEX.index(i) for i in SHUFFLED_INDEX]
    truth, score, group = _indexed([GROUP[i] for i in shuffled], shuffled, own)

    with pytest.raises(FmfairError, match="default index 0, 1, 2") as error:
        fmfair.auc_gap(truth, score, sensitive_features=group)

    assert ".loc[" in str(error.value)
    assert ".to_numpy()" in str(error.value)
    # What the message offers gives the right answer.
    assert fmfair.auc_gap(truth, score, sensitive_features=group.loc[truth.index]) == 0.75


def test_fc23_labels_that_only_overlap_are_unclear() -> None:
    truth, score, group = _indexed(GROUP, [*INDEX[:7], "p9"], INDEX)

    with pytest.raises(FmfairError, match="7 of the 8 index labels"):
        fmfair.auc_gap(truth, score, sensitive_features=group)


def test_fc23_what_has_no_index_pairs_by_position() -> None:
    truth, score, _ = _indexed(GROUP, INDEX, INDEX)

    assert fmfair.auc_gap(truth, score, sensitive_features=GROUP) == 0.75
    assert fmfair.auc_gap(TRUTH, SCORE, sensitive_features=pd.Series(GROUP, index=SHUFFLED_INDEX)) == 0.75


def test_fc23_weights_and_dice_pair_by_label_too() -> None:
    order = [INDEX.index(i) for i in SHUFFLED_INDEX]
    dice = pd.Series([0.9, 0.7, 0.3, 0.4, 0.5, 0.6, 0.8, 0.2], index=INDEX)
    group = pd.Series(GROUP, index=INDEX).iloc[order]
    weights = pd.Series([1, 2, 3, 4, 5, 6, 7, 8], index=INDEX).iloc[order]

    value, told = warned(fmfair.dice_gap, dice, sensitive_features=group, sample_weight=weights)

    # a: (0.9 + 1.4 + 2.5 + 3.6) / 14, b: (0.9 + 1.6 + 5.6 + 1.6) / 22
    assert value == pytest.approx(8.4 / 14 - 9.7 / 22, abs=1e-12)
    assert "paired by label" in told


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array, torch.tensor])
def test_fc23_lengths_that_differ_are_named(make: Any) -> None:
    with pytest.raises(FmfairError, match="y_true 8, y_score 7, sensitive_features 8"):
        fmfair.auc_gap(make(TRUTH), make(SCORE[:7]), sensitive_features=GROUP)


def test_fc23_columns_of_a_mapping_of_different_lengths_are_named() -> None:
    with pytest.raises(FmfairError, match="'prob' has 7 rows"):
        fmfair.evaluate({"label": TRUTH, "prob": SCORE[:7], "sex": GROUP})


# Two attributes of one name.
DOUBLE_TRUTH = [0, 1, 0, 1, 0, 1, 0, 1]
DOUBLE_SCORE = [0.1, 0.9, 0.8, 0.2, 0.3, 0.7, 0.6, 0.4]
FIRST, SECOND = [*"aaaabbbb"], [*"xxyyxxyy"]
ARROW_DOUBLE = pa.Table.from_arrays([pa.array(FIRST), pa.array(SECOND)], names=["grp", "grp"])
PANDAS_DOUBLE = pd.DataFrame([FIRST, SECOND]).T.set_axis(["grp", "grp"], axis=1)


@pytest.mark.parametrize("table", [ARROW_DOUBLE, PANDAS_DOUBLE], ids=["Arrow", "pandas"])
def test_fc46_two_attributes_of_one_name_are_refused_in_arrays(table: Any) -> None:
    with pytest.raises(FmfairError, match="duplicate attribute name 'grp'; rename one"):
        fmfair.evaluate_arrays(DOUBLE_TRUTH, DOUBLE_SCORE, sensitive_features=table)
    with pytest.raises(FmfairError, match="duplicate attribute name 'grp'; rename one"):
        fmfair.auc_gap(DOUBLE_TRUTH, DOUBLE_SCORE, sensitive_features=table)


@pytest.mark.parametrize("kind", ["Arrow", "pandas"])
@pytest.mark.parametrize("double", ["label", "prob", "grp", "unused"])
def test_fc46_two_columns_of_one_name_are_refused_in_tables(kind: str, double: str) -> None:
    names = ["label", "prob", "grp", double]
    columns = [DOUBLE_TRUTH, DOUBLE_SCORE, FIRST, SECOND]
    if double == "unused":
        names, columns = [*names, double], [*columns, SECOND]
    table: Any = pa.Table.from_arrays([pa.array(c) for c in columns], names=names)
    if kind == "pandas":
        table = pd.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1)

    with pytest.raises(FmfairError, match=f"more than one column named '{double}'"):
        fmfair.evaluate(table, attributes="grp")


def test_fc46_an_attribute_named_twice_is_refused() -> None:
    with pytest.raises(FmfairError, match="duplicate attribute name 'sex'"):
        fmfair.evaluate({"label": TRUTH, "prob": SCORE, "sex": GROUP}, attributes=["sex", "sex"])


@pytest.mark.parametrize(
    "positive", [1, 1.0, np.int64(1), np.uint8(1), np.float32(1), torch.tensor(1), decimal.Decimal(1)], ids=repr
)
@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt8, pl.Float32, pl.Decimal(3, 1)], ids=repr)
def test_fc19_the_positive_class_may_be_a_number_of_any_library(positive: Any, dtype: pl.DataType) -> None:
    label = pl.Series(TRUTH).cast(dtype)

    assert fmfair.auc_gap(label, SCORE, sensitive_features=GROUP, pos_label=positive) == 0.75


@pytest.mark.parametrize("ignore", [[-1], (-1.0,), -1, np.array([-1]), np.int64(-1), pl.Series([-1]), {-1}], ids=repr)
def test_fc19_labels_to_ignore_may_be_numbers_of_any_library(ignore: Any) -> None:
    label, score, group = [*TRUTH, -1, -1], [*SCORE, 0.99, 0.01], [*GROUP, "a", "b"]

    report = fmfair.evaluate_arrays(label, score, sensitive_features=group, pos_label=1, ignore=ignore)

    # As negatives they would make the AUC of a 2/3.
    assert by_group(report, "auc") == AUC
    assert [n for n in report.notes if "y_true: 2 rows with -1" in n and "left out (ignore=)" in n]


def test_fc19_ids_as_classes_are_compared_to_the_last_digit() -> None:
    label = [2**53, 2**53 + 1, 2**53, 2**53 + 1]

    report = fmfair.evaluate_arrays(label, SCORE[:4], sensitive_features=[*"aabb"], pos_label=2**53 + 1)

    assert by_group(report, "auc", "n_pos") == {"a": 1, "b": 1}


def test_fc19_missing_among_the_ignored_is_no_category_called_none() -> None:
    label = pl.Series(["None" if v else "some" for v in TRUTH], dtype=pl.Enum(["some", "None"]))

    report = fmfair.evaluate_arrays(label, SCORE, sensitive_features=GROUP, pos_label="None", ignore=[None])

    assert by_group(report, "auc") == AUC
