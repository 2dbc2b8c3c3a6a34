"""Where scikit-learn and fairlearn define the same thing, the standard conventions give the same number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fairlearn.metrics as fl
import numpy as np
import polars as pl
import pytest
import sklearn.metrics as skm

import fmfair

EXACT = 1e-12
THRESHOLD = 0.4


def table(seed: int, decimals: int = 2) -> pl.DataFrame:
    """Two groups by three, with ties and rows on the threshold; every group has both classes."""
    rng = np.random.default_rng(seed)
    n = 240
    y = rng.integers(0, 2, n)
    score = np.clip(rng.normal(0.35 + 0.25 * y, 0.25), 0, 1).round(decimals)
    return pl.DataFrame(
        {
            "y_true": y,
            "y_score": score,
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(["a", "b", "c"], n),
            "w": rng.integers(1, 5, n).astype(float),
        }
    )


def by_group(report: fmfair.Report, attribute: str, metric: str) -> dict[str, float]:
    rows = report.groups.filter((pl.col("attribute") == attribute) & (pl.col("metric") == metric))
    return dict(rows.select("group", "value").iter_rows())


def gap(report: fmfair.Report, attribute: str, metric: str, statistic: str) -> float:
    rows = report.gaps.filter(
        (pl.col("attribute") == attribute) & (pl.col("metric") == metric) & (pl.col("statistic") == statistic)
    )
    return float(rows["value"].item())


RANKED: dict[str, Callable[..., Any]] = {
    "auc": skm.roc_auc_score,
    "average_precision": skm.average_precision_score,
    "bce": skm.log_loss,
    "brier": skm.brier_score_loss,
    "partial_auc(fpr=(0, 0.2))": lambda y, s, **k: skm.roc_auc_score(y, s, max_fpr=0.2, **k),
}

DECIDED: dict[str, Callable[..., Any]] = {
    "accuracy": skm.accuracy_score,
    "balanced_accuracy": skm.balanced_accuracy_score,
    "tpr": skm.recall_score,
    "ppv": skm.precision_score,
    "f1": skm.f1_score,
    "mcc": skm.matthews_corrcoef,
    "tnr": fl.true_negative_rate,
    "fpr": fl.false_positive_rate,
    "fnr": fl.false_negative_rate,
    "selection_rate": fl.selection_rate,
    "lr_positive": lambda y, p, **k: skm.class_likelihood_ratios(y, p, **k)[0],
    "lr_negative": lambda y, p, **k: skm.class_likelihood_ratios(y, p, **k)[1],
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", [*RANKED, *DECIDED])
@pytest.mark.parametrize("seed", [0, 1])
def test_group_values_and_comparisons(seed: int, metric: str, weighted: bool) -> None:
    df = table(seed)
    if metric in ("bce", "brier"):
        df = df.with_columns(pl.col("y_score").clip(0.01, 0.99))
    report = fmfair.evaluate(df, metrics=[metric], thresholds=THRESHOLD, weight="w" if weighted else None)
    scored = metric in RANKED
    predicted = df["y_score"] if scored else (df["y_score"] >= THRESHOLD).cast(pl.Int64)
    weights = {"sample_weight": df["w"].to_numpy()} if weighted else None
    for attribute in ("sex", "race"):
        frame = fl.MetricFrame(
            metrics=(RANKED | DECIDED)[metric],
            y_true=df["y_true"].to_numpy(),
            y_pred=predicted.to_numpy(),
            sensitive_features=df[attribute].to_numpy(),
            sample_params=weights,
        )
        name = report.groups["metric"][0]
        assert by_group(report, attribute, name) == pytest.approx(dict(frame.by_group), abs=EXACT)
        assert report.overall["value"].item() == pytest.approx(frame.overall, abs=EXACT)
        assert gap(report, attribute, name, "difference") == pytest.approx(frame.difference(), abs=EXACT)
        if metric not in ("mcc", "partial_auc(fpr=(0, 0.2))"):
            assert gap(report, attribute, name, "ratio") == pytest.approx(frame.ratio(), abs=EXACT)
            assert gap(report, attribute, name, "ratio_to_overall") == pytest.approx(
                frame.ratio(method="to_overall"), abs=EXACT
            )
        assert gap(report, attribute, name, "difference_to_overall") == pytest.approx(
            frame.difference(method="to_overall"), abs=EXACT
        )


@pytest.mark.parametrize("seed", range(4))
def test_named_fairness_statistics(seed: int) -> None:
    df = table(seed)
    report = fmfair.evaluate(df, thresholds=THRESHOLD)
    y, p = df["y_true"].to_numpy(), (df["y_score"] >= THRESHOLD).cast(pl.Int64).to_numpy()
    for attribute in ("sex", "race"):
        groups = {"sensitive_features": df[attribute].to_numpy()}
        expected = {
            ("equalized_odds", "difference"): fl.equalized_odds_difference(y, p, **groups),
            ("equalized_odds", "average_difference"): fl.equalized_odds_difference(y, p, agg="mean", **groups),
            ("equalized_odds", "score"): 1 - fl.equalized_odds_difference(y, p, agg="mean", **groups),
            ("equal_opportunity", "difference"): fl.equal_opportunity_difference(y, p, **groups),
            ("demographic_parity", "difference"): fl.demographic_parity_difference(y, p, **groups),
            ("demographic_parity", "ratio"): fl.demographic_parity_ratio(y, p, **groups),
        }
        for (metric, statistic), value in expected.items():
            assert gap(report, attribute, metric, statistic) == pytest.approx(value, abs=EXACT), (metric, statistic)


def test_intersections_equal_a_metric_frame_of_several_features() -> None:
    df = table(7)
    report = fmfair.evaluate(df, metrics=["auc"], intersections=2)
    frame = fl.MetricFrame(
        metrics=skm.roc_auc_score,
        y_true=df["y_true"].to_numpy(),
        y_pred=df["y_score"].to_numpy(),
        sensitive_features=df.select("sex", "race").to_pandas(),
    )
    expected = {f"{sex} & {race}": value for (sex, race), value in frame.by_group.items()}
    assert by_group(report, "sex & race", "auc") == pytest.approx(expected, abs=EXACT)


def test_by_keys_equal_control_features() -> None:
    df = table(3)
    report = fmfair.evaluate(df, metrics=["tpr"], attributes=["sex"], by=["race"], thresholds=THRESHOLD)
    frame = fl.MetricFrame(
        metrics=skm.recall_score,
        y_true=df["y_true"].to_numpy(),
        y_pred=(df["y_score"] >= THRESHOLD).cast(pl.Int64).to_numpy(),
        sensitive_features=df["sex"].to_numpy(),
        control_features=df["race"].to_numpy(),
    )
    rows = report.gaps.filter((pl.col("metric") == "tpr") & (pl.col("statistic") == "difference"))
    assert dict(rows.select("race", "value").iter_rows()) == pytest.approx(dict(frame.difference()), abs=EXACT)


def test_multiclass_one_vs_rest_equals_scikit_learn() -> None:
    rng = np.random.default_rng(5)
    classes = np.array(["benign", "malignant", "uncertain"])
    y = rng.choice(classes, 300)
    logits = rng.normal(size=(300, 3)) + 1.2 * (y[:, None] == classes)
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    report = fmfair.evaluate_arrays(
        y, scores, sensitive_features={"sex": rng.choice(["F", "M"], 300)}, pos_label="malignant", metrics="auc"
    )
    expected = skm.roc_auc_score(y == "malignant", scores[:, 1])
    assert report.overall["value"].item() == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.5, 1.0])
def test_hard_scores_and_thresholds_at_the_ends(threshold: float) -> None:
    df = table(2, decimals=1)
    report = fmfair.evaluate(df, attributes=["sex"], metrics=["tp", "fp", "fn", "tn"], thresholds=threshold)
    tn, fp, fn, tp = skm.confusion_matrix(df["y_true"], (df["y_score"] >= threshold).cast(pl.Int64)).ravel()
    assert dict(report.overall.select("metric", "value").iter_rows()) == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}


def test_scorer_with_metadata_routing() -> None:
    """FC-07: an undefined fold is NaN with a warning, not 0."""
    from sklearn import set_config
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.model_selection import PredefinedSplit, cross_validate

    class Passed(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
        """A model that returns its input as its probability."""

        def fit(self, x: Any, y: Any) -> Passed:
            self.n_features_in_ = x.shape[1]
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, x: Any) -> Any:
            return np.column_stack([1 - x[:, 0], x[:, 0]])

    x = np.array([0.3, 0.9, 0.2, 0.4, 0.1, 0.6, 0.5, 0.8, 0.7, 0.9, 0.2, 0.3])[:, None]
    y = np.array([0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0])
    group = np.array([*"aaaabbbb", *"aabb"])
    set_config(enable_metadata_routing=True)
    try:
        scorer = skm.make_scorer(fmfair.auc_gap, response_method="predict_proba", greater_is_better=False)
        scorer = scorer.set_score_request(sensitive_features=True)
        with pytest.warns(UserWarning, match="undefined") as caught:
            result = cross_validate(
                Passed(),
                x,
                y,
                scoring=scorer,
                cv=PredefinedSplit([0] * 8 + [1] * 4),
                params={"sensitive_features": group},
            )
    finally:
        set_config(enable_metadata_routing=False)
    assert result["test_score"][0] == -0.5
    assert np.isnan(result["test_score"][1])
    assert any("0 of 2 groups" in str(w.message) for w in caught)
