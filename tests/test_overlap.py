"""Groups compared with all rows: worked values, plain loops, both engines, and what cannot be known."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from engines import assert_same_frames
from scipy import stats
from small_tables import T
from statistics_data import GROUP, PATIENT, S1, W, Y
from test_spread import influences

import fmfair

COLUMNS: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "by": []}
METRICS = ["auc", "average_precision", "tpr", "accuracy", "balanced_accuracy", "brier"]


def evaluated(frame: pl.DataFrame = T, **given: Any) -> fmfair.Report:
    """The report of both engines, which agree on all pairs."""
    arguments: dict[str, Any] = {**COLUMNS, "metrics": METRICS, "reference": {"group": "overall"}, **given}
    polars, duckdb = (fmfair.evaluate(frame, engine=engine, **arguments) for engine in ("polars", "duckdb"))
    assert_same_frames(duckdb.pairs, polars.pairs, 1e-9 if "weight" in given else 1e-12)
    return polars


def with_all(report: fmfair.Report, metric: str, group: str) -> dict[str, Any]:
    asked = (pl.col("metric") == metric) & (pl.col("group") == group) & (pl.col("other_group") == "overall")
    return report.pairs.row(by_predicate=asked, named=True)


def test_the_worked_auc_of_a_group_against_all_rows() -> None:
    row = with_all(evaluated(), "auc", "A")

    assert row["difference"] == pytest.approx(0.0977777777778, abs=1e-12)
    expected = 2 * stats.t.sf(0.0977777777778 / math.sqrt(0.00603763303533), 29)
    assert (row["p_value"], row["p_method"]) == (pytest.approx(expected, abs=1e-9), "influence, t")
    assert row["ratio_low"] is None


@pytest.mark.parametrize("given", [{}, {"cluster": "patient"}, {"weight": "w"}])
@pytest.mark.parametrize("metric", ["auc", "tpr", "accuracy"])
def test_limits_and_test_are_those_of_loops_over_rows_and_patients(metric: str, given: dict[str, Any]) -> None:
    report = evaluated(**given)
    weight = W if "weight" in given else [1.0] * 30
    unit = PATIENT if "cluster" in given else list(range(30))
    rows = list(zip(Y, S1, weight, unit, strict=True))
    whole = _influences(rows, metric)
    sure = {row["group"]: row for row in report.groups.filter(pl.col("metric") == metric).iter_rows(named=True)}
    of_all = report.overall.row(by_predicate=pl.col("metric") == metric, named=True)

    for group in "ABC":
        at = [i for i in range(30) if GROUP[i] == group]
        own = dict(zip(at, _influences([rows[i] for i in at], metric), strict=True))
        u = {c: sum(own.get(i, 0.0) for i in range(30) if unit[i] == c) for c in set(unit)}
        v = {c: sum(whole[i] for i in range(30) if unit[i] == c) for c in set(unit)}
        many = len(u)
        variance = many / (many - 1) * sum((u[c] - v[c]) ** 2 for c in u)
        r = sum(u[c] * v[c] for c in u) / math.sqrt(sum(x * x for x in u.values()) * sum(x * x for x in v.values()))
        row, one = with_all(report, metric, group), sure[group]
        down, up = one["value"] - one["ci_low"], of_all["ci_high"] - of_all["value"]
        expected = row["difference"] - math.sqrt(down**2 + up**2 - 2 * r * down * up)
        assert row["ci_low"] == pytest.approx(expected, abs=1e-9)
        assert row["ci_method"].startswith("overlapping, MOVER, ")
        p = 2 * stats.t.sf(abs(row["difference"]) / math.sqrt(variance), many - 1)
        assert row["p_value"] == pytest.approx(p, abs=1e-9)


def _influences(rows: list[tuple[int, float, float, int]], metric: str) -> list[float]:
    if metric == "auc":
        return influences(rows, "auc")
    counted = [(y == 1 or metric == "accuracy", float((s >= 0.5) == (y == 1)), w) for y, s, w, _ in rows]
    total = sum(w for inside, _, w in counted if inside)
    rate = sum(w * x for inside, x, w in counted if inside) / total
    return [w * (x - rate) / total if inside else 0.0 for inside, x, w in counted]


def test_a_group_that_is_all_rows_is_not_compared_with_itself() -> None:
    row = with_all(evaluated(T.with_columns(group=pl.lit("A"))), "auc", "A")

    assert (row["difference"], row["ci_low"], row["p_value"], row["note"]) == (0.0, None, None, "the group is all rows")


def test_all_rows_are_those_with_the_attribute() -> None:
    missing = T.with_columns(group=pl.when(pl.col("group") == "C").then(None).otherwise("group"))
    found = with_all(evaluated(missing), "auc", "A")
    expected = with_all(evaluated(T.filter(pl.col("group") != "C")), "auc", "A")

    assert {k: v for k, v in found.items() if k != "p_holm"} == pytest.approx(
        {k: v for k, v in expected.items() if k != "p_holm"}
    )


def test_what_has_no_influences_needs_a_bootstrap() -> None:
    alone = with_all(evaluated(metrics=["net_benefit"]), "net_benefit", "A")
    assert (alone["ci_low"], alone["note"]) == (None, "how it varies with all rows is not known")

    drawn = with_all(evaluated(metrics=["net_benefit"], bootstrap=100), "net_benefit", "A")
    assert drawn["ci_low"] < drawn["difference"] < drawn["ci_high"]
    dice = pl.DataFrame({"dice": [0.9, 0.7, 0.8, 0.6], "site": ["x", "x", "z", "z"]})
    report = fmfair.evaluate_segmentation(dice, attributes="site", reference={"site": "overall"})
    assert with_all(report, "dice", "x")["note"] == "how it varies with all rows is not known"


def test_a_group_that_is_called_so_is_meant() -> None:
    named = T.with_columns(group=pl.col("group").replace("B", "overall"))
    row = with_all(evaluated(named), "auc", "A")

    assert row["p_value"] == pytest.approx(0.848483041308, abs=1e-9)


def test_every_by_key_has_all_rows_of_its_own() -> None:
    models = pl.concat([T.with_columns(model=pl.lit("a")), T[5:].with_columns(model=pl.lit("b"))])
    report = evaluated(models, by="model")
    alone = evaluated(T[5:])

    numbers = ["difference", "ci_low", "ci_high", "p_value"]
    assert report.pairs.filter(pl.col("model") == "b").select(numbers).equals(alone.pairs.select(numbers))
