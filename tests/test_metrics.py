"""The metric functions: right values, in every context, and NULL where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from reference_metrics import DATA_T, EXPRESSIONS, RATES, REFERENCE, expressions, one, rate
from sklearn import metrics as sk

from fmfair import metrics as fm
from fmfair.errors import FmfairError

PROBABILITIES = [k / 20 for k in range(21)] + [0.1 + 0.2, 1 / 3, 1e-300, 1 - 2**-53, float(np.float32(0.7))]


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    row = st.tuples(
        st.sampled_from("abcdef"),
        st.sampled_from([0, 1]),
        st.sampled_from(PROBABILITIES) | st.floats(0, 1),
        st.sampled_from([0.25, 1.0, 1.5, 3.0]),
    )
    return pl.DataFrame(draw(st.lists(row, max_size=60)), schema=["g", "y", "p", "w"], orient="row").cast(
        {"g": pl.String, "y": pl.UInt8, "p": pl.Float64, "w": pl.Float64}
    )


@examples(30)  # of several groups each
@given(tables(), st.booleans())
def test_every_metric_is_its_definition(frame: pl.DataFrame, weighted: bool) -> None:
    found = frame.group_by("g").agg(expressions("w" if weighted else None)).to_dicts()

    for values in found:
        group = frame.filter(g=values["g"]).select("y", "p", pl.col("w") if weighted else pl.lit(1.0)).rows()
        for name, reference in REFERENCE.items():
            expected = reference(group)
            assert values[name] == (expected if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-12)), (
                name
            )


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (fm.auc("y", "p"), 0.842222222222),
        (fm.auc("y", "p", weight="w"), 0.864024390244),
        (fm.partial_auc("y", "p", fpr=(0, 0.2), corrected=False), 0.0866666666667),
        (fm.partial_auc("y", "p", fpr=(0, 0.2)), 0.685185185185),
        (fm.partial_auc("y", "p", fpr=(0.1, 0.3), corrected=False), 0.151111111111),
        (fm.partial_auc("y", "p", fpr=(0.1, 0.3)), 0.847222222222),
        (fm.partial_auc("y", "p", tpr=(0.8, 1), corrected=False), 0.115555555556),
        (fm.partial_auc("y", "p", tpr=(0.8, 1)), 0.765432098765),
        (fm.average_precision("y", "p"), 0.805763018658),
        (fm.adjusted_auprc("y", "p"), 0.68842749811),
        (fm.accuracy("y", "p"), 23 / 30),
        (fm.ece("y", "p"), 0.188333333333),
        (fm.ece("y", "p", norm="squared"), 0.0413555555556),
        (fm.ece("y", "p", norm="rms"), math.sqrt(0.0413555555556)),
        (fm.brier("y", "p"), 0.17225),
        (fm.bce("y", "p"), 0.531695533152),
    ],
)
def test_values_of_r_and_proc_on_all_rows(expression: pl.Expr, expected: float) -> None:
    assert one(DATA_T, expression) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("group", "expression", "expected"),
    [
        ("A", fm.auc("y", "p"), 0.94),
        ("B", fm.auc("y", "p"), 0.916666666667),
        ("C", fm.auc("y", "p"), 0.625),
        ("C", fm.average_precision("y", "p"), 0.747222222222),
        ("C", fm.adjusted_auprc("y", "p"), 0.429565318787),
        ("A", fm.brier("y", "p"), 0.1165),
        ("A", fm.tpr("y", "p"), 4 / 5),
        ("B", fm.tpr("y", "p"), 2 / 4),
        ("C", fm.tpr("y", "p"), 5 / 6),
        ("A", fm.accuracy("y", "p"), 8 / 10),
        ("C", fm.accuracy("y", "p"), 8 / 10),
    ],
)
def test_values_of_r_and_proc_by_group(group: str, expression: pl.Expr, expected: float) -> None:
    values = DATA_T.group_by("group").agg(expression.alias("value"))

    assert values.filter(group=group)["value"].item() == pytest.approx(expected, rel=1e-11)


def test_auc_of_the_published_ct_ratings() -> None:
    # Hanley & McNeil 1982, table I: how often each rating 1 to 5 was given to normal and to abnormal CT images.
    normal, abnormal = [33, 6, 6, 11, 2], [3, 2, 2, 11, 33]
    ratings = pl.DataFrame({"y": [0] * 5 + [1] * 5, "rating": [1, 2, 3, 4, 5] * 2, "images": normal + abnormal})

    assert one(ratings, fm.auc("y", "rating", weight="images")) == pytest.approx(0.893171, abs=5e-7)


@pytest.mark.parametrize(("norm", "expected"), [("absolute", 0.29), ("rms", 0.2918)])
def test_ece_of_the_example_in_the_documentation_of_torchmetrics(norm: Any, expected: float) -> None:
    frame = pl.DataFrame({"y": [0, 0, 1, 1, 1], "p": [0.25, 0.25, 0.55, 0.75, 0.75]})

    assert one(frame, fm.ece("y", "p", bins=2, norm=norm)) == pytest.approx(expected, abs=5e-5)


def _confusion(y: Any, p: Any, w: Any) -> Any:
    return sk.confusion_matrix(y, p >= 0.5, sample_weight=w).ravel()


def _likelihood_ratio(which: int) -> Callable[..., float]:
    return lambda y, p, w: sk.class_likelihood_ratios(y, p >= 0.5, sample_weight=w)[which]


SKLEARN: dict[str, Callable[..., float]] = {
    "auc": lambda y, p, w: sk.roc_auc_score(y, p, sample_weight=w),
    "partial_auc": lambda y, p, w: sk.roc_auc_score(y, p, sample_weight=w, max_fpr=0.1),
    "average_precision": lambda y, p, w: sk.average_precision_score(y, p, sample_weight=w),
    "brier": lambda y, p, w: sk.brier_score_loss(y, p, sample_weight=w),
    "bce": lambda y, p, w: sk.log_loss(y, p, sample_weight=w),
    "mcc": lambda y, p, w: sk.matthews_corrcoef(y, p >= 0.5, sample_weight=w),
    "f1": lambda y, p, w: sk.f1_score(y, p >= 0.5, sample_weight=w),
    "accuracy": lambda y, p, w: sk.accuracy_score(y, p >= 0.5, sample_weight=w),
    "balanced_accuracy": lambda y, p, w: sk.balanced_accuracy_score(y, p >= 0.5, sample_weight=w),
    "tpr": lambda y, p, w: sk.recall_score(y, p >= 0.5, sample_weight=w),
    "tnr": lambda y, p, w: sk.recall_score(y, p >= 0.5, sample_weight=w, pos_label=0),
    "ppv": lambda y, p, w: sk.precision_score(y, p >= 0.5, sample_weight=w),
    "npv": lambda y, p, w: sk.precision_score(y, p >= 0.5, sample_weight=w, pos_label=0),
    "lr_positive": _likelihood_ratio(0),
    "lr_negative": _likelihood_ratio(1),
    "tn": lambda y, p, w: _confusion(y, p, w)[0],
    "fp": lambda y, p, w: _confusion(y, p, w)[1],
    "fn": lambda y, p, w: _confusion(y, p, w)[2],
    "tp": lambda y, p, w: _confusion(y, p, w)[3],
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", SKLEARN)
def test_metrics_equal_scikit_learn(name: str, ties: bool, weighted: bool) -> None:
    random = np.random.default_rng(7)
    y = random.integers(0, 2, 500)
    p = np.clip(0.2 * y + random.random(500) * 0.8, 0.01, 0.99)
    p = p.round(1) if ties else p
    w = random.random(500) + 0.1 if weighted else None
    frame = pl.DataFrame({"y": y, "p": np.clip(p, 0.01, 0.99), "w": 1.0 if w is None else w})

    value = one(frame, EXPRESSIONS[name]("y", "p", weight="w" if weighted else None))

    assert value == pytest.approx(SKLEARN[name](y, np.clip(p, 0.01, 0.99), w), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", RATES)
def test_rates_at_a_threshold_and_above_it(name: str) -> None:
    function = getattr(fm, name)
    rows = DATA_T.select("y", "p", "w").rows()

    at = one(DATA_T, function("y", "p", threshold=0.6, weight="w"))
    above = one(DATA_T, function("y", "p", threshold=0.6, weight="w", strict=True))

    assert at == pytest.approx(rate(name, rows, 0.6))
    assert above == pytest.approx(rate(name, rows, math.nextafter(0.6, 1)))
    assert at != above


@pytest.mark.parametrize("threshold", [1.0, 1.5, math.inf])
def test_net_benefit_needs_a_threshold_below_1(threshold: float) -> None:
    assert one(DATA_T, fm.net_benefit("y", "p", threshold=threshold)) is None


def test_counts_are_whole_numbers_without_weights() -> None:
    frame = DATA_T.select(f("y", "p") for f in (fm.tp, fm.fp, fm.fn, fm.tn))
    weighted = DATA_T.select(f("y", "p", weight="w") for f in (fm.tp, fm.fp, fm.fn, fm.tn))

    assert frame.dtypes == [pl.Int64] * 4
    assert weighted.dtypes == [pl.Float64] * 4


def test_results_are_named_after_their_metric_and_can_be_renamed() -> None:
    frame = DATA_T.select(fm.auc("y", "p"), fm.ece("y", "p"), fm.dice("p"), cut=fm.tpr("y", "p"))

    assert frame.columns == ["auc", "ece", "dice", "cut"]


def test_expressions_are_taken_and_combined() -> None:
    frame = DATA_T.rename({"y": "a column", "p": "another"})
    youden = fm.tpr(pl.col("a column") == 1, pl.col("another")) - fm.fpr("a column", pl.col("another"))

    assert one(frame, youden) == pytest.approx(12 / 15 - 4 / 15)


def test_perfect_models_have_exactly_1() -> None:
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 999)
    frame = pl.DataFrame({"y": y, "p": 0.6 * y + random.random(999) * 0.4, "w": random.random(999)})

    assert one(frame, fm.mcc("y", "p", weight="w")) == 1.0
    assert one(frame, fm.auc("y", "p")) == 1.0
    assert one(frame, fm.auc("y", "p", weight="w")) <= 1.0


def test_partial_auc_below_chance_is_given() -> None:
    frame = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.8, 0.9, 0.1, 0.2]})

    assert one(frame, fm.partial_auc("y", "p", fpr=(0, 0.5))) == pytest.approx(0.5 * (1 - 0.125 / 0.375))


def test_means_of_dice_and_iou_leave_missing_samples_out() -> None:
    frame = pl.DataFrame({"g": ["a", "a", "a", "b", "c"], "v": [0.5, 1.0, None, math.nan, 2.0], "w": [1, 3, 9, 1, 1]})

    values = frame.group_by("g", maintain_order=True).agg(fm.dice("v"), fm.iou("v", weight="w"))

    # Group b has no value, group c one that is no Dice.
    assert values.rows() == [("a", 0.75, 0.875), ("b", None, None), ("c", None, None)]


any_type: Any = fm  # arguments that the annotations refuse, on purpose


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: any_type.auc([0, 1], "p"), "y_true is a column name or a Polars expression, not list"),
        (lambda: any_type.auc("y", pl.Series([0.1])), "y_score is a column name or a Polars expression, not Series"),
        (lambda: any_type.tpr("y", "p", weight=2), "weight is a column name or a Polars expression, not int"),
        (lambda: any_type.dice(None), "value is a column name or a Polars expression, not NoneType"),
        (lambda: any_type.tpr("y", "p", threshold="best_f1"), "threshold='best_f1' is not a number; rules such as"),
        (lambda: any_type.tpr("y", "p", threshold=math.nan), "threshold=nan is not a number"),
        (lambda: any_type.tpr("y", "p", threshold=True), "threshold=True is not a number"),
        (lambda: any_type.partial_auc("y", "p"), "partial_auc takes one range"),
        (lambda: any_type.partial_auc("y", "p", fpr=(0, 0.1), tpr=(0.9, 1)), "partial_auc takes one range"),
        (lambda: any_type.partial_auc("y", "p", fpr=0.1), r"fpr=0.1 is not a range \(low, high\)"),
        (lambda: any_type.partial_auc("y", "p", tpr=(0.9, 0.8)), r"tpr=\(0.9, 0.8\) is not a range"),
        (lambda: any_type.partial_auc("y", "p", tpr=(0.9, 1.1)), r"tpr=\(0.9, 1.1\) is not a range"),
        (lambda: any_type.tpr_at_fpr("y", "p", 10), r"fpr=10 is not a number in \[0, 1\]"),
        (lambda: any_type.ece("y", "p", bins=0), "bins=0 is not a whole number from 1 to 1000"),
        (lambda: any_type.ece("y", "p", bins=2.5), "bins=2.5 is not a whole number"),
        (
            lambda: any_type.ece("y", "p", norm="l1"),
            "norm='l1' is not known; expected one of 'absolute', 'squared'",
        ),
        (
            lambda: any_type.ece("y", "p", strategy="equal"),
            "strategy='equal' is not known; expected one of 'uniform'",
        ),
    ],
)
def test_arguments_that_cannot_be_used_are_an_error(call: Callable[[], pl.Expr], message: str) -> None:
    with pytest.raises(FmfairError, match=message):
        call()


def test_numbers_of_numpy_are_numbers() -> None:
    values = DATA_T.select(
        any_type.tpr("y", "p", threshold=np.float32(0.5)),
        any_type.tpr_at_fpr("y", "p", np.float64(0.1)),
        any_type.ece("y", "p", bins=np.int64(5)),
    )

    assert values.equals(DATA_T.select(fm.tpr("y", "p"), fm.tpr_at_fpr("y", "p", 0.1), fm.ece("y", "p", bins=5)))


@pytest.mark.parametrize("fpr", [0.05, 0.1, 0.2, 0.3])
def test_a_partial_auc_is_never_above_1(fpr: float) -> None:
    scores = [i / 100 for i in range(21)] + [0.5 + i / 200 for i in range(89)]
    frame = pl.DataFrame({"y": [0] * 21 + [1] * 89, "p": scores})
    value = frame.select(fm.partial_auc("y", "p", fpr=(0, fpr))).item()
    assert value <= 1.0
    assert value == pytest.approx(1.0, abs=1e-12)
