"""Intervals and tests of reports beside those of statsmodels and SciPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import fmfair

Report = fmfair.Report
# The rates, with which rows each counts, and which of them are successes.
RATES = {
    "tpr": ("y", True, True),
    "tnr": ("y", False, False),
    "ppv": ("called", True, None),
    "selection_rate": (None, None, True),
}


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """Four sites with 300 images of 90 patients, each of one site."""
    rng = np.random.default_rng(11)
    patient = np.sort(rng.integers(0, 90, 300))
    y = rng.random(300) < 0.2 + 0.5 * (patient % 3 == 0)
    prob = np.clip(rng.normal(0.4 + 0.25 * y, 0.2 + 0.02 * (patient % 4)), 0, 1).round(2)
    frame = pl.DataFrame({"patient": patient, "y": y, "prob": prob, "site": [f"site {p % 4}" for p in patient]})
    return frame.with_columns(called=pl.col("prob") >= 0.5, brier=(pl.col("prob") - pl.col("y").cast(float)) ** 2)


@pytest.fixture(scope="module", params=["polars", "duckdb"])
def report(rows: pl.DataFrame, request: pytest.FixtureRequest) -> Report:
    return evaluated(rows, engine=request.param)


def evaluated(rows: pl.DataFrame, **given: Any) -> Report:
    columns: dict[str, Any] = {"y_true": "y", "y_score": "prob", "attributes": "site", "by": []}
    return fmfair.evaluate(rows, **columns, metrics=[*RATES, "accuracy", "brier", "bce"], **given)


def counts(rows: pl.DataFrame, metric: str) -> dict[str, tuple[int, int]]:
    """Successes and denominator of each site."""
    column, of, success = RATES[metric]
    counted = rows if column is None else rows.filter(pl.col(column) == of)
    hit = pl.col("y") if success is None else pl.col("called") == success
    return {s: (int(h), n) for s, h, n in counted.group_by("site").agg(hit.sum().alias("h"), pl.len()).iter_rows()}


def of_sites(rows: pl.DataFrame, column: str) -> dict[str, Any]:
    return {site: part[column].to_numpy() for (site,), part in rows.partition_by("site", as_dict=True).items()}


def pairs_of(report: Report, metric: str) -> list[dict[str, Any]]:
    return list(report.pairs.filter(pl.col("metric") == metric).iter_rows(named=True))


def gap_of(report: Report, metric: str) -> dict[str, Any]:
    return report.gaps.row(
        by_predicate=(pl.col("metric") == metric) & (pl.col("statistic") == "difference"), named=True
    )


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("metric", RATES)
def test_rates_have_wilsons_interval(rows: pl.DataFrame, report: Report, metric: str) -> None:
    for site, (hits, n) in counts(rows, metric).items():
        row = report.groups.row(by_predicate=(pl.col("metric") == metric) & (pl.col("group") == site), named=True)
        low, high = proportion_confint(hits, n, alpha=0.05, method="wilson")
        assert (row["value"], row["ci_low"], row["ci_high"]) == (near(hits / n), near(low), near(high))


@pytest.mark.parametrize("metric", RATES)
def test_differences_of_rates_have_newcombes_interval(rows: pl.DataFrame, report: Report, metric: str) -> None:
    counted = counts(rows, metric)
    compared = pairs_of(report, metric)
    assert len(compared) == 6
    for row in compared:
        first, second = counted[row["group"]], counted[row["other_group"]]
        low, high = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff", alpha=0.05)
        assert (row["ci_low"], row["ci_high"]) == (near(low), near(high))
        table = [[hits, n - hits] for hits, n in (first, second)]
        assert row["p_value"] == near(stats.chi2_contingency(table, correction=False).pvalue)


@pytest.mark.parametrize("metric", [*RATES, "brier"])
def test_the_p_values_of_pairs_are_adjusted_as_holm_does(report: Report, metric: str) -> None:
    compared = pairs_of(report, metric)
    adjusted = multipletests([row["p_value"] for row in compared], method="holm")[1]
    assert [row["p_holm"] for row in compared] == near(list(adjusted))


@pytest.mark.parametrize("metric", RATES)
def test_a_gap_of_rates_holds_for_all_pairs_and_has_pearsons_p(rows: pl.DataFrame, report: Report, metric: str) -> None:
    gap, counted = gap_of(report, metric), counts(rows, metric)
    alpha = 2 * stats.norm.sf(stats.studentized_range.ppf(0.95, 4, np.inf) / np.sqrt(2))
    both = [
        confint_proportions_2indep(*counted[a], *counted[b], method="newcomb", compare="diff", alpha=alpha)
        for a, b in itertools.permutations(counted, 2)
    ]
    assert gap["ci_low"] == pytest.approx(max(0.0, *(low for low, _ in both)), abs=1e-7)
    assert gap["ci_high"] == pytest.approx(min(1.0, max(high for _, high in both)), abs=1e-7)
    table = [[hits, n - hits] for hits, n in counted.values()]
    assert gap["p_value"] == near(stats.chi2_contingency(table, correction=False).pvalue)


def test_means_have_students_interval_and_welchs_tests(rows: pl.DataFrame, report: Report) -> None:
    losses = of_sites(rows, "brier")
    for site, loss in losses.items():
        row = report.groups.row(by_predicate=(pl.col("metric") == "brier") & (pl.col("group") == site), named=True)
        limits = stats.ttest_1samp(loss, 0.0).confidence_interval(0.95)
        assert (row["ci_low"], row["ci_high"]) == (near(limits.low), near(limits.high))
    for row in pairs_of(report, "brier"):
        welch = stats.ttest_ind(losses[row["group"]], losses[row["other_group"]], equal_var=False)
        assert row["p_value"] == near(welch.pvalue)
    several = anova_oneway(list(losses.values()), use_var="unequal", welch_correction=True)
    assert gap_of(report, "brier")["p_value"] == near(several.pvalue)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_means_of_patients_have_the_interval_of_cluster_robust_regression(rows: pl.DataFrame, engine: str) -> None:
    found = evaluated(rows, cluster="patient", engine=engine)
    for site in of_sites(rows, "brier"):
        part = rows.filter(pl.col("site") == site)
        constant = sm.OLS(part["brier"].to_numpy(), np.ones(part.height))
        fitted = constant.fit(cov_type="cluster", cov_kwds={"groups": part["patient"].to_numpy()}, use_t=True)
        row = found.groups.row(by_predicate=(pl.col("metric") == "brier") & (pl.col("group") == site), named=True)
        assert (row["ci_low"], row["ci_high"]) == tuple(map(near, fitted.conf_int(0.05)[0]))


def test_two_models_on_the_same_rows_have_the_paired_t_test(rows: pl.DataFrame) -> None:
    numbered = rows.with_row_index("image_id")
    other = numbered.with_columns(prob=(pl.col("prob") * 0.7 + 0.1).round(2))
    models = pl.concat([numbered.with_columns(model=pl.lit("a")), other.with_columns(model=pl.lit("b"))])
    compared = fmfair.compare(
        models, by="model", baseline="a", y_true="y", y_score="prob", attributes="site", metrics="brier"
    )
    row = compared.differences.row(by_predicate=pl.col("group").is_null(), named=True)
    loss = (other["prob"] - other["y"].cast(pl.Float64)) ** 2
    paired = stats.ttest_rel(loss.to_numpy(), rows["brier"].to_numpy())
    limits = paired.confidence_interval(0.95)
    assert row["p_value"] == near(paired.pvalue)
    assert (row["ci_low"], row["ci_high"]) == (near(limits.low), near(limits.high))
