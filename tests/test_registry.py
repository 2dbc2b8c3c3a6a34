"""The registry: what it says of each metric is true, `metrics=` finds it, and both inputs of a formula agree."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import polars as pl
import pytest
from reference_metrics import DATA_T, EXPRESSIONS, expressions, same

import fmfair
from fmfair import metrics as fm
from fmfair.errors import FmfairError
from fmfair.metrics.formula import names
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import CLASSIFICATION, requested
from fmfair.metrics.segmentation import SEGMENTATION

FITTED = {"calibration_intercept", "calibration_slope"}
SAMPLE_VALUES = {"dice", "iou", "both_empty"}
COUNTS = {"n", "n_pos", "n_neg", "n_pred_pos", "n_pred_neg"}
CONFUSION = {"tp", "fp", "fn", "tn"}


def table(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"w": [1.0, 0.5, 2.0, 1.5] * 2, **columns})


GROUPS = list("aaaabbbb")
EDGES = {
    "all kinds": DATA_T,
    "ties": table(group=GROUPS, y=[0, 1, 0, 1, 1, 0, 1, 0], p=[0.5, 0.5, 0.2, 0.5, 0.3, 0.3, 0.3, 0.7]),
    "one class": table(group=GROUPS, y=[1, 1, 1, 1, 0, 0, 0, 0], p=[0.1, 0.6, 0.6, 0.9, 0.2, 0.5, 0.8, 1.0]),
    "one row": table(group=list("aaaaaabc"), y=[0, 1, 0, 1, 1, 0, 1, 0], p=[0.1, 0.6, 0.6, 0.9, 0.2, 0.5, 0.8, 1.0]),
    "a group without a usable row": table(
        group=GROUPS, y=[0, 1, 0, 1, None, None, None, None], p=[0.5, 0.4, 0.2, 0.9, 0.3, 0.3, 0.3, 0.7]
    ),
    "all scores equal": table(group=GROUPS, y=[0, 1, 0, 1, 1, 1, 1, 0], p=[0.3] * 8),
    "scores 0": table(group=GROUPS, y=[0, 1, 0, 1, 1, 1, 1, 0], p=[0.0] * 8),
    "scores 0 and 1": table(group=GROUPS, y=[0, 1, 0, 1, 1, 0, 1, 0], p=[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]),
    "single precision": table(
        group=GROUPS,
        y=[0, 1, 0, 1, 1, 0, 1, 0],
        p=pl.Series([0.5, 0.7, 0.1, 0.3, 0.7, 0.9, 0.3, 0.6], dtype=pl.Float32),
    ),
    "labels in UInt8": DATA_T.with_columns(pl.col("y").cast(pl.UInt8)),
    "labels in Float64": DATA_T.with_columns(pl.col("y").cast(pl.Float64)),
    "boolean labels": DATA_T.with_columns(pl.col("y") == 1),
    "weights in Int32": DATA_T.with_columns((2 * pl.col("w")).cast(pl.Int32)),
    "a weight of 0": DATA_T.with_columns(w=pl.when(pl.col("w") == 0.5).then(0.0).otherwise("w")),
}


def evaluated(frame: pl.DataFrame, metrics: Any, **options: Any) -> pl.DataFrame:
    """The group values of `evaluate` at 0.5 by column `group`."""
    options = {"attributes": ["group"], "by": [], "score_type": "probability", "ci": None, **options}
    return fmfair.evaluate(frame, y_true="y", y_score="p", metrics=metrics, **options).groups


NOT_WEIGHTED = "a group without a usable row"  # evaluate calls it a group of weight 0


@pytest.mark.parametrize(
    ("edge", "weight"), [(e, w) for e in EDGES for w in (None, "w") if (e, w) != (NOT_WEIGHTED, "w")]
)
def test_expressions_and_evaluate_agree(edge: str, weight: str | None) -> None:
    frame = EDGES[edge]
    groups = evaluated(frame, list(EXPRESSIONS), weight=weight)

    found = frame.group_by("group").agg(expressions(weight)).unpivot(index="group", variable_name="metric")
    both = groups.join(found, on=["group", "metric"], how="full", suffix=" of expression")

    assert both.height == frame["group"].n_unique() * len(EXPRESSIONS)
    for group, metric, value, other in both.select("group", "metric", "value", "value of expression").iter_rows():
        assert same(value, other), (group, metric, value, other)


def test_dice_and_evaluate_segmentation_agree() -> None:
    frame = pl.DataFrame({"group": list("aabbc"), "dice": [0.5, 1.0, 0.25, None, None], "w": [1, 3, 1, 1, 1]})
    report = fmfair.evaluate_segmentation(frame, dice="dice", attributes=["group"], by=[], weight="w")

    values = frame.group_by("group", maintain_order=True).agg(fm.dice("dice", weight="w"))

    assert report.groups.select("group", "value").rows() == values.rows() == [("a", 0.875), ("b", 0.25), ("c", None)]


def test_every_metric_has_a_function_but_those_that_are_fitted_or_come_from_masks() -> None:
    functions = {m.name for m in CLASSIFICATION} - FITTED

    assert {m.name for m in fm.list_metrics()} == functions | FITTED | SAMPLE_VALUES
    assert functions <= set(EXPRESSIONS)
    assert {name for name in fm.REGISTRY if not hasattr(fm, name)} - FITTED == {
        "ece_squared", "ece_rms", "ece_quantile", "both_empty"
    }  # fmt: skip


def test_the_list_is_the_registry_in_order() -> None:
    assert [m.name for m in fm.list_metrics()] == list(fm.REGISTRY)
    assert all(fm.REGISTRY[m.name] is m for m in fm.list_metrics())
    assert fm.list_metrics() == (*CLASSIFICATION, *SEGMENTATION)


@pytest.mark.parametrize("metric", fm.list_metrics(), ids=lambda m: m.name)
def test_entries_are_complete(metric: Metric) -> None:
    used = {name for formula, _ in metric.needs for name in names(formula)}

    assert all([metric.title, metric.definition, metric.source, metric.undefined])
    assert metric.denominator in (COUNTS if metric.at_threshold else COUNTS - {"n_pred_pos", "n_pred_neg"})
    assert used <= COUNTS | CONFUSION | {"sum_p", "threshold"}
    assert metric.at_threshold == (metric.formula is not None)
    assert (metric.family == "fitted") == (metric.aggregate is None and metric.formula is None)
    assert metric.low is None or metric.high is None or metric.low < metric.high
    assert metric.formula is None or names(metric.formula) <= CONFUSION | {"threshold"}


def random_table(seed: int, sizes: list[int], quality: float = 0.0) -> pl.DataFrame:
    """Groups of these sizes; a `quality` of 1 separates the classes, at -1 the model is always wrong."""
    random = np.random.default_rng(seed)
    n = sum(sizes)
    y = random.integers(0, 2, n)
    p = np.clip(0.5 + (y - 0.5) * quality + (random.random(n) - 0.5) * (1 - abs(quality)), 0, 1)
    group = np.repeat(np.arange(len(sizes)), sizes)
    return pl.DataFrame({"group": group.astype(str), "y": y, "p": p.round(2), "w": random.random(n) + 0.01})


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("quality", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_values_stay_in_their_range(quality: float, weight: str | None) -> None:
    frame = random_table(3, [2, 3, 4, 5, 6, 8, 10, 20, 40] * 4, quality)
    bounds = {m.name: (m.low, m.high) for m in requested(list(EXPRESSIONS))}

    values = frame.group_by("group").agg(expressions(weight))

    for name, (low, high) in bounds.items():
        found = values[name].drop_nulls()
        assert len(found) > 0 or (name in ("lr_positive", "lr_negative") and quality != 0.0)
        assert low is None or (found >= low - 1e-12).all(), name
        assert high is None or (found <= high + 1e-12).all(), name


def test_the_lowest_partial_auc_is_that_of_a_model_that_is_always_wrong() -> None:
    wrong = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.8, 0.9, 0.1, 0.2]})

    for name in ("partial_auc", "partial_auc(tpr=(0.8, 1))", "partial_auc(fpr=(0.1, 0.3), corrected=False)"):
        (metric,) = requested([name])
        assert wrong.select(EXPRESSIONS[name]("y", "p")).item() == pytest.approx(metric.low, abs=1e-15)


@pytest.mark.parametrize("metric", [m for m in CLASSIFICATION if m.direction != "none"], ids=lambda m: m.name)
def test_a_better_model_moves_the_value_in_the_better_direction(metric: Metric) -> None:
    # Not a perfect one: without false positives there is no positive likelihood ratio.
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 2000)
    noise = rng.normal(size=2000)
    frame = pl.DataFrame({"y": y, "good": 1 / (1 + np.exp(-6 * (y - 0.5) - noise)), "poor": 1 / (1 + np.exp(-noise))})

    good, poor = frame.select(EXPRESSIONS[metric.name]("y", p).alias(p) for p in ("good", "poor")).row(0)

    assert good > poor if metric.direction == "higher" else good < poor


def test_moves_with_prevalence_says_whether_more_rows_of_one_class_change_the_value() -> None:
    frame = random_table(11, [60], quality=0.3).select("y", pl.col("p").clip(0.05, 0.95))
    more = {"as it is": [], "more negatives": [frame.filter(y=0)] * 2, "more positives": [frame.filter(y=1)] * 2}
    variants = pl.concat(pl.concat([frame, *rows]).with_columns(group=pl.lit(name)) for name, rows in more.items())

    spread = evaluated(variants, "all").group_by("metric").agg(pl.col("value").max() - pl.col("value").min())

    assert dict(spread.with_columns(pl.col("value") > 1e-9).iter_rows()) == {
        m.name: m.moves_with_prevalence for m in CLASSIFICATION
    }


@pytest.mark.parametrize("name", [n for n in fm.REGISTRY if hasattr(fm, n)])
def test_docstrings_say_what_the_registry_says(name: str) -> None:
    metric = fm.REGISTRY[name]
    text = " ".join(inspect.getdoc(getattr(fm, name)).split())  # type: ignore[union-attr]  # every function has one
    direction = {"higher": "igher is better", "lower": "ower is better", "none": "either direction is better"}

    assert direction[metric.direction] in text
    assert ("Moves with prevalence" in text) is metric.moves_with_prevalence
    assert ("Does not move with prevalence" in text) is not metric.moves_with_prevalence
    assert f"Source: {metric.source}." in text
    if metric.low is not None and metric.high is not None and name != "partial_auc":
        assert f"Range {metric.low:g} to {metric.high:g}, " in text
    assert "NULL" in text or metric.undefined == "never"
    assert all(f"{section}:" in text for section in ("Args", "Returns", "Raises", "Examples"))


def test_the_default_metrics() -> None:
    defaults = {m.name for m in requested(None)}

    assert {"auc", "average_precision", "tpr", "tnr", "accuracy", "f1", "tp", "bce", "brier", "ece"} <= defaults
    assert defaults.isdisjoint(FITTED | {"adjusted_auprc", "partial_auc", "net_benefit", "ece_quantile", "lr_positive"})


def test_all_metrics_and_single_names() -> None:
    assert requested("all") == CLASSIFICATION
    assert [m.name for m in requested("auc")] == ["auc"]
    assert [m.name for m in requested(["tpr", "auc", "tpr"])] == ["tpr", "auc"]
    assert [m.name for m in requested(m for m in (" auc ", "ece( bins = 5 )"))] == [
        "auc",
        "ece(bins=5, norm='absolute', strategy='uniform')",
    ]


def test_parameters_that_differ_late_are_different_metrics() -> None:
    near = requested(["tpr_at_fpr(0.1234567)", "tpr_at_fpr(0.1234568)", "tpr_at_fpr(fpr=0.1)", "tpr_at_fpr(0.10)"])

    assert [m.name for m in near] == ["tpr_at_fpr(0.1234567)", "tpr_at_fpr(0.1234568)", "tpr_at_fpr(0.1)"]


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([], r"metrics=\[\] names no metric; leave it out for the default metrics"),
        ("aucc", "no metric 'aucc'; did you mean 'auc'"),
        ("AUC", "no metric 'AUC'; did you mean 'auc'"),
        ("recall", "no metric 'recall'; did you mean 'tpr'"),
        ("auprc", "no metric 'auprc'; did you mean 'average_precision'"),
        ("auroc", "no metric 'auroc'; did you mean 'auc'"),
        ("FPR", "no metric 'FPR'; did you mean 'fpr'"),
        ("specificity", "no metric 'specificity'; did you mean 'tnr'"),
        ("log_loss", "no metric 'log_loss'; did you mean 'bce'"),
        ("", "no metric ''; fmfair metrics"),
        ("dice", "no metric 'dice'; fmfair metrics .* describes them: auc, average_precision"),
        ("aucc(0.1)", r"no metric 'aucc\(0.1\)'; did you mean 'auc'"),
        ("auc(0.1)", r"metric 'auc\(0.1\)': auc takes no parameters; 'partial_auc', 'tpr_at_fpr', 'ece' do"),
        (5, "metrics: 5 is not the name of a metric"),
        ([["auc"]], r"metrics: \['auc'\] is not the name of a metric"),
        ([None], "metrics: None is not the name of a metric"),
        ("partial_auc()", r"partial_auc takes one range: fpr=\(low, high\) or tpr=\(low, high\)"),
        ("partial_auc(0.1)", "partial_auc: fpr=0.1 is not a range"),
        ("partial_auc(fpr=(0.3, 0.1))", r"partial_auc: fpr=\(0.3, 0.1\) is not a range"),
        ("partial_auc(fpr=(0, '1'))", r"partial_auc: fpr=\(0, '1'\) is not a range"),
        ("partial_auc(tpr=(0.5, 0.6), fpr=(0, 1))", "partial_auc takes one range"),
        ("tpr_at_fpr()", "cannot read the metric 'tpr_at_fpr"),
        ("tpr_at_fpr(1.5)", r"tpr_at_fpr: fpr=1.5 is not a number in \[0, 1\]"),
        ("tpr_at_fpr(True)", "tpr_at_fpr: fpr=True is not a number"),
        ("ece(bins=-1)", "ece: bins=-1 is not a whole number from 1 to 1000"),
        ("ece(bins=100000)", "ece: bins=100000 is not a whole number from 1 to 1000"),
        ("ece(norm='max')", "ece: norm='max' is not known"),
        ("ece(bin=5)", r"cannot read the metric 'ece\(bin=5\)'; write for example partial_auc\(fpr=\(0, 0.2\)\)"),
        ("ece(bins=10", r"cannot read the metric 'ece\(bins=10'"),
        ("ece(bins=10).real", "cannot read the metric"),
        ("ece(bins=__import__('os'))", "cannot read the metric"),
        (["aucc", "tprr"], "2 problems:\n  - no metric 'aucc'(.|\n)*  - no metric 'tprr'"),
    ],
)  # fmt: skip
def test_unknown_metrics_and_bad_parameters_are_an_error(metrics: Any, message: str) -> None:
    with pytest.raises(FmfairError, match=f"^{message}"):
        requested(metrics)


def test_undefined_says_when() -> None:
    undefined = {m.name: m.undefined for m in fm.list_metrics()}

    assert undefined["auc"] == "no positives; no negatives"
    assert undefined["tp"] == "never"
    assert undefined["brier"] == "no rows; the score is not a probability"
    assert undefined["calibration_slope"].endswith("the scores separate the classes, no finite slope")


def test_a_metric_without_a_table_cannot_be_aggregated() -> None:
    with pytest.raises(TypeError, match="tpr is not the aggregate of a table"):
        fm.REGISTRY["tpr"].aggregated()


def test_public_names_are_sorted_and_exist() -> None:
    assert sorted(fm.__all__, key=lambda n: (n != n.upper(), n == n.lower(), n)) == fm.__all__
    assert all(hasattr(fm, name) for name in fm.__all__)
