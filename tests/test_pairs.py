"""Pairs of groups: worked values, references, margins, and what must hold on any table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from property_tests import examples
from small_tables import T, tables

import fmfair

COLUMNS: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "by": []}


def pairs(frame: pl.DataFrame, **given: Any) -> dict[tuple[str, str, str], dict[str, Any]]:
    report = fmfair.evaluate(frame, **{**COLUMNS, "ci": 0.95, **given})
    return {(r["metric"], r["group"], r["other_group"]): r for r in report.pairs.iter_rows(named=True)}


def test_worked_values() -> None:
    found = pairs(T, reference={"group": "B"})
    worked = {
        ("A", "B"): (0.848483041308, 0.848483041308, -0.490900577837, 0.574982330268),
        ("A", "C"): (0.24074748781, 0.722242463431, -0.293136550387, 0.836985139946),
        ("C", "B"): (0.286658272338, 0.722242463431, -0.816451065318, 0.350704209916),
    }
    for (first, second), (p, adjusted, low, high) in worked.items():
        row = found["auc", first, second]
        assert row["p_value"] == pytest.approx(p, abs=1e-9)
        assert row["p_holm"] == pytest.approx(adjusted, abs=1e-9)
        assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
    tpr = found["tpr", "C", "B"]
    assert (tpr["ci_low"], tpr["ci_high"]) == (pytest.approx(-0.195771234254), pytest.approx(0.709013918417))
    assert tpr["ratio"] == pytest.approx(5 / 3)
    assert (tpr["ratio_low"], tpr["ratio_high"]) == (pytest.approx(0.724738416650), pytest.approx(5.585888719498))


def test_patients_of_one_group_each() -> None:
    row = pairs(T, cluster="patient", reference={"group": "C"})["accuracy", "A", "C"]
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(-0.457944928143), pytest.approx(0.499965255968))


def test_the_largest_group_is_the_reference_of_many() -> None:
    frame = pl.DataFrame({"y": [0, 1] * 130, "s1": [k / 260 for k in range(260)]}).with_columns(
        group=pl.format("{}", pl.int_range(pl.len()) % 25 + 10)
    )
    frame = pl.concat([frame, frame.filter(pl.col("group") == "17")])
    others = {second for metric, _, second in pairs(frame, metrics="auc")}
    assert others == {"17"}
    assert len(pairs(frame, metrics="auc")) == 24


def test_a_margin_gives_a_verdict() -> None:
    many = pl.concat([T] * 40)
    seen = {m: pairs(many, margins={"auc": m})["auc", "C", "A"]["verdict"] for m in (0.01, 0.3, 0.9)}
    assert seen == {0.01: "shown", 0.3: "cannot tell", 0.9: "excluded"}
    report = fmfair.evaluate(many, **COLUMNS, ci=0.95, margins={"auc": 0.9})
    judged = report.gaps.filter(pl.col("verdict").is_not_null())
    assert judged.select("metric", "statistic", "verdict").rows() == [("auc", "difference", "excluded")]


def test_what_cannot_be_asked() -> None:
    for asked, message in (
        ({"reference": {"sex": "M"}}, "'sex' is none of the attributes 'group'"),
        ({"reference": {"group": "b"}}, "group has no group 'b'"),
        ({"margins": {"auc": -1}}, "-1 for 'auc' is not a number above 0"),
        ({"margins": {"aucc": 0.1}}, "'aucc' is none of the metrics"),
        ({"margins": 0.1}, "is not a mapping"),
        ({"reference": "M"}, "is not a mapping"),
        ({"margins": {"auc": 0.1}, "ci": None}, "which ci=None leaves out"),
    ):
        with pytest.raises(fmfair.FmfairError, match=message):
            pairs(T, **asked)


def test_pairs_are_written_and_read(tmp_path: Path) -> None:
    report = fmfair.evaluate(T, **COLUMNS, ci=0.95)
    report.write_parquet(tmp_path / "report")
    assert fmfair.Report.read_parquet(tmp_path / "report").pairs.equals(report.pairs)
    (tmp_path / "report" / "pairs.parquet").unlink()
    assert fmfair.Report.read_parquet(tmp_path / "report").pairs.is_empty()
    assert fmfair.evaluate(T, **COLUMNS, ci=None).pairs.is_empty()


@examples(20)
@given(frame=tables())
def test_pairs_of_any_table(frame: pl.DataFrame) -> None:
    for row in pairs(frame, metrics="all").values():
        assert row["difference"] == row["value"] - row["other_value"]
        if row["ci_low"] is not None:
            assert row["ci_low"] <= row["difference"] <= row["ci_high"]
            assert row["ci_low"] < row["ci_high"]
        if row["p_value"] is not None:
            assert row["p_value"] <= row["p_holm"] <= 1
        if row["ratio_low"] is not None:
            assert row["ratio_low"] <= row["ratio"]
            assert row["ratio_high"] is None or row["ratio"] <= row["ratio_high"]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_what_rounding_leaves_of_0_makes_no_ratio(engine: str) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    score = np.where(y == 1, rng.random(40) * 0.4, 0.5 + rng.random(40) * 0.4)  # every positive below every negative
    score[25:] = rng.random(15)
    columns = {"y": y, "s1": score, "group": ["b"] * 25 + ["a"] * 15, "w": rng.choice([0.1, 0.3, 0.7, 1.1], 40)}
    row = pairs(pl.DataFrame(columns), metrics="auc", weight="w", engine=engine)["auc", "a", "b"]
    assert row["other_value"] == pytest.approx(0.0, abs=1e-12)
    assert (row["ratio"], row["ratio_low"], row["ratio_high"]) == (None, None, None)
