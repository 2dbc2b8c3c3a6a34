"""Labels, scores, groups and bins of every form are read as the published package fairmedfm 0.4.2 reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from fairmedfm_support import AB, LABELS, SCORES, assert_same, best_f1, ours, theirs

import fmfair

LABEL_FORMS: dict[str, tuple[Any, Any]] = {
    "integers": (LABELS, None),
    "int8 array": (np.array(LABELS, dtype=np.int8), None),
    "booleans": ([y == 1 for y in LABELS], None),
    "boolean array, positive True": (np.array(LABELS) == 1, True),
    "booleans, positive False": ([y == 1 for y in LABELS], False),
    "floats": ([float(y) for y in LABELS], None),
    "tensor": (torch.tensor(LABELS), None),
    "pandas": (pd.Series(LABELS), None),
    "Polars": (pl.Series(LABELS), None),
    "a column": (np.array(LABELS)[:, None], None),
    "one-hot": (np.eye(2)[LABELS], None),
    "one-hot, positive 0": (np.eye(2, dtype=int)[LABELS], 0),
    "one-hot of three classes": (np.eye(3, dtype=int)[[0, 1, 2, 1, 1, 0, 1, 2]], 1),
    "0/1, positive 0": (LABELS, 0),
    "text": (["benign", "malignant"] * 2 + ["malignant", "benign"] * 2, "malignant"),
    "text, positive the first": (["benign", "malignant"] * 2 + ["malignant", "benign"] * 2, "benign"),
    "text digits": ([str(y) for y in LABELS], "1"),
    "three classes": (["nv", "mel", "bcc", "mel", "mel", "nv", "mel", "bcc"], "mel"),
    "other numbers": ([y + 1 for y in LABELS], 2),
    "other floats": ([y / 2 for y in LABELS], 0.5),
}


@pytest.mark.parametrize(("y_true", "pos_label"), LABEL_FORMS.values(), ids=LABEL_FORMS)
def test_labels_of_every_form(y_true: Any, pos_label: Any) -> None:
    report = ours(y_true, SCORES, AB, pos_label=pos_label)
    assert_same(report, theirs(y_true, SCORES, AB, pos_label=pos_label))


SCORE_FORMS: dict[str, Any] = {
    "list": SCORES,
    "float32 array": np.array(SCORES, dtype=np.float32),
    "float16 array": np.array(SCORES, dtype=np.float16),
    "a column": np.array(SCORES)[:, None],
    "tensor": torch.tensor(SCORES),
    "pandas": pd.Series(SCORES),
    "Polars Float32": pl.Series(SCORES, dtype=pl.Float32),
    "hard booleans": [s > 0.45 for s in SCORES],
    "hard 0/1": [int(s > 0.45) for s in SCORES],
    "probability matrix": np.column_stack([1 - np.array(SCORES), SCORES]),
    "rows that sum to 1.001": np.column_stack([1.001 - np.array(SCORES), SCORES]),
    "rows that sum to 1.1, read as logits": np.column_stack([1.1 - np.array(SCORES), SCORES]),
    "logit matrix": np.column_stack([-np.array(SCORES), SCORES]),
    "list of rows": [[1 - s, s] for s in SCORES],
}


@pytest.mark.parametrize("y_score", SCORE_FORMS.values(), ids=SCORE_FORMS)
def test_scores_of_every_form(y_score: Any) -> None:
    assert_same(ours(LABELS, y_score, AB), theirs(LABELS, y_score, AB))


def test_a_float32_score_is_widened_before_it_is_compared() -> None:
    y_score = np.array([0.1, 0.7, 0.2, 0.9, 0.7, 0.1, 0.9, 0.2], dtype=np.float32)
    report = ours(LABELS, y_score, AB)
    assert_same(report, theirs(LABELS, y_score, AB))
    assert best_f1(report) == float(np.float32(0.7)) != 0.7


def test_the_column_of_the_positive_class_may_be_named_instead_of_numbered() -> None:
    # Class 3 does not occur, so that the sorted labels do not tell which column is which.
    y_true = [1, 2, 2, 1, 1, 2, 2, 1]
    y_score = np.random.default_rng(0).dirichlet([1, 1, 1], 8)
    report = ours(y_true, y_score, AB, pos_label=2, classes=[1, 2, 3])
    assert_same(report, theirs(y_true, y_score, AB, pos_label=2, score_column=1))


ATTRIBUTES: dict[str, Any] = {
    "list of text": AB,
    "two columns of an array": np.array([AB, ["x", "y"] * 4], dtype=object).T,
    "series with a name": pd.Series(AB, name="site"),
    "data frame": pd.DataFrame({"site": AB, "unit": [1, 1, 2, 2, 1, 1, 2, 2]}),
    "numbers in numeric order": [10, 10, 9, 9, 10, 10, 9, 9],
    "text in numeric order, then alphabetical": ["10", "10", "9", "9", "x", "x", "-2.5", "-2.5"],
    "1.0 is named 1": [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0],
    "0.5 is named 0.5": [0.5, 0.5, 2.0, 2.0, 0.5, 0.5, 2.0, 2.0],
    "booleans": [True, True, False, False] * 2,
    "numbers and text": [1, 1, "a", "a"] * 2,
    "empty text is a group": ["", "", "a", "a"] * 2,
    "ordered categories of which one is unused": pd.Series(
        pd.Categorical(["lo", "lo", "hi", "hi"] * 2, categories=["lo", "mid", "hi"]), name="dose"
    ),
    "text that looks missing": ["NA", "NA", "None", "None"] * 2,
    "nullable integers": pd.Series([1, 1, 2, 2, 1, 1, None, None], dtype="Int64"),
    "None": ["a", "a", "b", "b", None, None, "a", "b"],
    "NaN in an array of objects": np.array(["a", "a", "b", "b", np.nan, np.nan, "a", "b"], dtype=object),
    "NaN among numbers": [1.0, 1.0, 2.0, 2.0, np.nan, np.nan, 1.0, 2.0],
    "one group": ["a"] * 8,
    "as many groups as rows": list("abcdefgh"),
    "an ampersand": ["a&b", "a&b", "c & d", "c & d"] * 2,
}


@pytest.mark.parametrize("attribute", ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_group_names_and_their_order(attribute: Any) -> None:
    report, reference = ours(LABELS, SCORES, attribute), theirs(LABELS, SCORES, attribute)
    assert_same(report, reference)
    assert set(reference.summary.index) == set(report.summary["attribute"])


def test_nearly_all_distinct_groups_are_an_error_only_in_the_standard_conventions() -> None:
    y_true, y_score = [0, 1] * 12, [k / 24 for k in range(24)]
    patients = ["p0"] * 4 + ["p1"] * 4 + [f"p{k}" for k in range(2, 18)]
    assert_same(ours(y_true, y_score, patients), theirs(y_true, y_score, patients))
    with pytest.raises(fmfair.FmfairError, match="nearly every value"):
        ours(y_true, y_score, patients, conventions="standard")


BINS: dict[str, tuple[list[float], Any, list[str]]] = {
    "a cut point belongs to the bin above it": ([39, 40, 41, 59, 60, 61, 40, 60], [60, 40], ["<40", "40-60", ">=60"]),
    "infinity is in no bin, -infinity in the first": ([-np.inf, 30, 50, 50, 70, 70, np.inf, 30], [40], ["<40", ">=40"]),
    "quartiles": ([1, 10, 2, 9, 3, 8, 4, 7], 4, ["<2.75", "2.75-5.5", "5.5-8.25", ">=8.25"]),
    "quartiles that coincide, the first bin empty": ([1, 1, 1, 1, 1, 1, 2, 3], 4, [">=1.25", "1-1.25"]),
    "four significant digits": ([1000, 1234, 1235, 2000] * 2, [1234.5678], ["<1235", ">=1235"]),
    "missing ages": ([30, 30, 50, 50, np.nan, np.nan, 70, 30], [40], ["<40", ">=40"]),
}


@pytest.mark.parametrize(("values", "bins", "names"), BINS.values(), ids=BINS)
def test_bins(values: list[float], bins: Any, names: list[str]) -> None:
    report = ours(LABELS, SCORES, {"age": values}, bins={"age": bins})
    assert_same(report, theirs(LABELS, SCORES, {"age": values}, bins={"age": bins}))
    assert set(report.groups.filter(pl.col("n") > 0)["group"]) == set(names)


def test_a_bin_without_rows_is_listed_here_and_hidden_there() -> None:
    ages = {"age": [1, 1, 1, 1, 2, 2, 3, 3]}
    report, reference = ours(LABELS, SCORES, ages, bins={"age": [0]}), theirs(LABELS, SCORES, ages, bins={"age": [0]})
    assert_same(report, reference)
    assert [group for _, group in reference.by_group.index] == [">=0"]
    assert report.groups.select("group", "n").unique(maintain_order=True).rows() == [("<0", 0), (">=0", 8)]
