"""Published and worked values of intervals, tests and gaps through `evaluate`, by both engines."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from command_line import DATA
from small_tables import T

import fmfair

COLUMNS: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "by": []}
BOTH = pytest.mark.parametrize("engine", ["polars", "duckdb"], scope="module")


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-9, rel=0)


def integrated(value: float) -> Any:
    return pytest.approx(value, abs=1e-7, rel=0)


class Reports:
    """The reports of the thirty images by one engine, each made once."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self._made: dict[str, fmfair.Report] = {}

    def of(self, **given: Any) -> fmfair.Report:
        key = repr(sorted(given.items()))
        if key not in self._made:
            self._made[key] = fmfair.evaluate(T, engine=self.engine, **{**COLUMNS, "metrics": "all", **given})
        return self._made[key]

    def value(self, metric: str, group: str | None = None, **given: Any) -> dict[str, Any]:
        report = self.of(**given)
        asked = pl.col("metric") == metric
        if group is None:
            return report.overall.row(by_predicate=asked, named=True)
        return report.groups.row(by_predicate=asked & (pl.col("group") == group), named=True)

    def gap(self, metric: str, statistic: str = "difference", **given: Any) -> dict[str, Any]:
        asked = (pl.col("metric") == metric) & (pl.col("statistic") == statistic)
        return self.of(**given).gaps.row(by_predicate=asked, named=True)

    def pair(self, metric: str, first: str, second: str, **given: Any) -> dict[str, Any]:
        asked = (pl.col("metric") == metric) & (pl.col("group") == first) & (pl.col("other_group") == second)
        return self.of(**given, reference={"group": second}).pairs.row(by_predicate=asked, named=True)


@pytest.fixture(scope="module")
def reports(engine: str) -> Reports:
    return Reports(engine)


def limits(row: dict[str, Any]) -> tuple[float, float]:
    return row["ci_low"], row["ci_high"]


@BOTH
@pytest.mark.parametrize(
    ("group", "auc", "logit", "newcombe", "wald"),
    [
        (None, 0.842222222222, (0.61109964074, 0.947736377045), (0.642595416572, 0.936037958937), 0.687233024245),
        ("A", 0.94, (0.431800033585, 0.996913362141), (0.568840721201, 0.993735487533), 0.798664987114),
        ("B", 0.916666666667, (0.367961386002, 0.995211618972), (0.534695167317, 0.989077367576), 0.728069044321),
        ("C", 0.625, (0.106126840611, 0.959010266388), (0.284640930692, 0.870105678559), 0.148814345438),
    ],
)
def test_auc(
    reports: Reports,
    group: str | None,
    auc: float,
    logit: tuple[float, float],
    newcombe: tuple[float, float],
    wald: float,
) -> None:
    row = reports.value("auc", group)
    assert row["value"] == near(auc)
    assert limits(row) == (near(min(logit[0], newcombe[0])), near(max(logit[1], newcombe[1])))
    assert row["ci_method"] == "DeLong, logit t and Newcombe 5"
    plain = reports.value("auc", group, metrics="auc", auc_interval="wald")
    assert limits(plain) == (near(wald), near(min(1.0, 2 * auc - wald)))


@BOTH
@pytest.mark.parametrize(
    ("pair", "p", "holm", "logit"),
    [
        ("AB", 0.848483041308, 0.848483041308, (-0.490900577837, 0.574982330268)),
        ("AC", 0.24074748781, 0.722242463431, (-0.293136550387, 0.836985139946)),
        ("BC", 0.286658272338, 0.722242463431, (-0.350704209916, 0.816451065318)),
    ],
)
def test_pairs_of_auc(reports: Reports, pair: str, p: float, holm: float, logit: tuple[float, float]) -> None:
    row = reports.pair("auc", *pair, metrics=["auc", "tpr"])
    assert (row["p_value"], row["p_holm"], row["p_method"]) == (near(p), near(holm), "DeLong, t")
    # Newcombe's limits lie within those of the logit here.
    assert limits(row) == (near(logit[0]), near(logit[1]))


@BOTH
def test_several_groups(reports: Reports) -> None:
    auc = reports.gap("auc")
    assert (auc["value"], auc["p_value"]) == (near(0.315), near(0.287488196371))
    assert auc["chance_gap_95"] == integrated(0.500273248649)
    assert reports.gap("auc", "equity_scaled")["value"] == near(0.606157536985)
    assert reports.gap("auc", "equity_scaled_std")["value"] == near(0.736652774671)
    assert reports.gap("accuracy")["p_value"] == near(0.82999516482)
    named = {
        ("tpr", "difference"): 1 / 3,
        ("fpr", "difference"): 1 / 12,
        ("equalized_odds", "difference"): 1 / 3,
        ("equalized_odds", "score"): 0.791666666667,
    }
    assert {key: reports.gap(*key)["value"] for key in named} == {key: near(value) for key, value in named.items()}


@BOTH
def test_patients(reports: Reports) -> None:
    auc = reports.value("auc", cluster="patient")
    # Obuchowski's logit interval with 9 degrees of freedom, and below it Newcombe's on 11 and 10 patients.
    assert auc["ci_high"] == near(0.948000224003)
    assert auc["ci_low"] < 0.609829914377
    plain = reports.value("auc", cluster="patient", metrics="auc", auc_interval="wald")
    assert ((plain["value"] - plain["ci_low"]) / 1.959963984540054) ** 2 == near(0.00520570344577)
    accuracy = {
        None: (0.571409282527, 0.890080616964),
        "A": (0.374955481225, 0.963862038655),
        "C": (0.32765003497, 0.970442700843),
    }
    for group, (low, high) in accuracy.items():
        assert limits(reports.value("accuracy", group, cluster="patient")) == (near(low), near(high))
    pair = reports.pair("accuracy", "A", "C", cluster="patient", metrics="accuracy")
    assert limits(pair) == (near(-0.457944928143), near(0.499965255968))


@BOTH
def test_weights(reports: Reports) -> None:
    assert reports.value("auc", weight="w")["value"] == near(0.864024390244)
    plain = reports.value("auc", weight="w", metrics="auc", auc_interval="wald")
    assert ((plain["value"] - plain["ci_low"]) / 1.959963984540054) ** 2 == near(0.00463344329997)


@BOTH
@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("partial_auc(fpr=(0, 0.2))", 0.685185185185),
        ("partial_auc(fpr=(0.1, 0.3))", 0.847222222222),
        ("partial_auc(tpr=(0.8, 1))", 0.765432098765),
    ],
)
def test_partial_auc(engine: str, asked: str, value: float) -> None:
    report = fmfair.evaluate(T, **COLUMNS, metrics=asked, engine=engine, ci=None)
    assert report.overall["value"].item() == near(value)


@BOTH
def test_average_precision(reports: Reports) -> None:
    whole, c = (reports.value("average_precision", group) for group in (None, "C"))
    assert (whole["value"], *limits(whole)) == (near(0.805763018658), near(0.478980570684), near(0.949287954742))
    assert (c["value"], *limits(c)) == (near(0.747222222222), near(0.179266826977), near(0.975613253696))
    assert reports.value("adjusted_auprc")["value"] == near(0.68842749811)
    assert reports.value("adjusted_auprc", "C")["value"] == near(0.429565318787)


@BOTH
def test_rates(reports: Reports) -> None:
    tpr = {
        "A": (0.375534629763, 0.963775891368),
        "B": (0.150038989152, 0.849961010848),
        "C": (0.436497177814, 0.969946630252),
    }
    for group, (low, high) in tpr.items():
        assert limits(reports.value("tpr", group)) == (near(low), near(high))
    pair = reports.pair("tpr", "C", "B", metrics=["auc", "tpr"])
    assert limits(pair) == (near(-0.195771234254), near(0.709013918417))


@BOTH
def test_calibration_and_losses(reports: Reports) -> None:
    ece = reports.value("ece")
    assert (ece["value"], ece["expected"]) == (near(0.188333333333), near(0.181884765845))
    assert ece["debiased"] == near(0.116301090879)
    assert reports.value("ece_squared")["value"] == near(0.0413555555556)
    assert (reports.value("brier")["value"], reports.value("bce")["value"]) == (near(0.17225), near(0.531695533152))
    brier = reports.value("brier", "A")
    assert (brier["value"], *limits(brier)) == (near(0.1165), near(0.00603968959567), near(0.226960310404))


def of_scores(pos: list[float], neg: list[float]) -> pl.DataFrame:
    return pl.DataFrame({"y": [1] * len(pos) + [0] * len(neg), "s1": pos + neg, "group": "x"})


@BOTH
@pytest.mark.parametrize(
    ("frame", "value", "low", "high"),
    [
        (of_scores([0.9] * 3, [0.1] * 27), 1.0, 0.676775840756, 1.0),
        (of_scores([0.9] * 15, [0.1] * 15), 1.0, 0.86475820562, 1.0),
        (of_scores([0.5] * 5, [0.5] * 5), 0.5, 0.205613057289, 0.794386942711),
        (of_scores([0.8], [0.1] * 8 + [0.9]), 8 / 9, 0.314576937755, 0.991737763606),
    ],
    ids=["3 and 27", "15 and 15", "all alike", "one positive"],
)
def test_auc_that_is_never_certain(engine: str, frame: pl.DataFrame, value: float, low: float, high: float) -> None:
    row = fmfair.evaluate(frame, **COLUMNS, metrics="auc", engine=engine).overall.row(0, named=True)
    assert (row["value"], *limits(row)) == (near(value), near(low), near(high))
    assert row["ci_method"] == "Newcombe 5"
    assert row["ci_note"] is not None


@BOTH
def test_what_is_undefined_is_null_and_the_rest_is_there(engine: str) -> None:
    negatives = pl.DataFrame({"y": [0] * 20, "s1": [0.4] * 20, "group": ["x", "y"] * 10})
    report = fmfair.evaluate(negatives, **COLUMNS, metrics="all", engine=engine)
    known = dict(report.overall.select("metric", "value").iter_rows())
    assert {known[m] for m in ("auc", "average_precision", "tpr", "ppv")} == {None}
    assert (known["accuracy"], known["brier"], known["ece"]) == (1.0, near(0.16), near(0.4))

    none_of_20 = fmfair.evaluate(of_scores([0.1] * 20, []), **COLUMNS, metrics="tpr", engine=engine).overall
    assert none_of_20.select("value", "ci_low").row(0) == (0.0, 0.0)
    assert none_of_20["ci_high"].item() == near(0.161125158053)

    one_patient = T.with_columns(patient=pl.when(pl.col("group") == "B").then(99).otherwise("patient"))
    groups = fmfair.evaluate(one_patient, **COLUMNS, metrics=["auc", "tpr"], cluster="patient", engine=engine).groups
    alone = groups.filter(pl.col("group") == "B")
    assert alone["value"].null_count() == 0
    assert alone["ci_low"].null_count() == 2
    assert set(alone["ci_note"]) == {"one patient only"}


@BOTH
def test_the_published_prostate_cancers_by_race(engine: str) -> None:
    """Recurrence by PSA of 313 men, as R's pROC has it, to the printed digits."""
    columns: dict[str, Any] = {"y_true": "Recurrence", "y_score": "PreopPSA", "attributes": "AA", "by": []}
    report = fmfair.evaluate(
        DATA / "blood_storage.csv",
        **columns,
        score_type="rank",
        missing_scores="drop",
        metrics="auc",
        auc_interval="wald",
        engine=engine,
    )

    numbers = ["value", "ci_low", "ci_high"]
    assert [round(x, 6) for x in report.overall.select(numbers).row(0)] == [0.725980, 0.655660, 0.796300]
    assert [round(x, 6) for x in report.groups.select(numbers).row(1)] == [0.590056, 0.426346, 0.753767]
    assert round(report.groups["value"][0], 6) == 0.747086
    assert [round(p, 6) for p in (report.pairs["p_value"][0], report.gaps["p_value"][0])] == [0.095078] * 2
