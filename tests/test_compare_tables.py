"""Comparisons of models: which samples are paired, what is refused, what does not matter, and what is shown."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

import fmfair
from fmfair import Comparison, FmfairError

BASE = pl.DataFrame(
    {
        "model": ["a"] * 8 + ["b"] * 8,
        "image_id": [*range(8)] * 2,
        "label": [0, 1, 0, 1, 1, 0, 1, 0] * 2,
        "prob": [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1, 0.3, 0.8, 0.4, 0.7, 0.9, 0.2, 0.6, 0.5],
        "sex": ["F", "F", "M", "M"] * 4,
    }
)


@st.composite
def model_tables(draw: st.DrawFn) -> pl.DataFrame:
    """Up to three models on the same samples, with ties, small groups and one class."""
    n, models = draw(st.integers(1, 14)), draw(st.integers(2, 3))
    some = st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9])

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    sample = {
        "image_id": [*range(n)],
        "label": column(st.integers(0, 1)),
        "sex": column(st.sampled_from(["F", "M", None])),
        "site": column(st.sampled_from(["x", "y", "z"])),
        "patient": column(st.integers(0, 4)),
    }
    if not any(sample["sex"]):
        sample["sex"][0] = "F"
    return pl.concat(
        pl.DataFrame({"model": [f"m{i}"] * n, **sample, "prob": column(some)}, schema_overrides={"sex": pl.String})
        for i in range(models)
    )


METRICS = ["auc", "average_precision", "brier", "tpr", "ppv", "ece", "balanced_accuracy"]
NAMES = ["baseline", "model", "attribute", "group", "metric", "threshold"]


@examples(5, deadline=None)
@given(model_tables(), st.booleans(), st.randoms(use_true_random=False))
def test_random_tables(frame: pl.DataFrame, clustered: bool, random: Any) -> None:
    arguments: dict[str, Any] = {"attributes": ["sex", "site"], "score_type": "probability", "metrics": METRICS}
    if clustered:
        arguments["cluster"] = "patient"
    found = fmfair.compare(frame, **arguments)
    for table in (found.differences, found.gaps, found.tradeoff):
        for column in table.get_columns():
            if column.dtype.is_float():
                assert column.is_finite().all(), column
    for table in (found.differences, found.gaps):
        known = table.drop_nulls("ci_low")
        assert (known["ci_low"] <= known["difference"] + 1e-12).all()
        assert (known["ci_high"] >= known["difference"] - 1e-12).all()
        assert known["p_value"].is_between(0, 1).all()
    assert found.differences.filter(pl.col("difference").is_null())["note"].null_count() == 0

    # The order of the rows does not matter.
    order = [*range(frame.height)]
    random.shuffle(order)
    again = fmfair.compare(frame[order], **arguments)
    for one, other in ((found.differences, again.differences), (found.gaps, again.gaps)):
        assert_alike(one, other)

    # Nor does the order of the models, but for signs.
    turned = pl.concat(
        [frame.with_columns(model="z" + (9 - pl.col("model").str.slice(1).cast(pl.Int64)).cast(pl.String))]
    )
    mirrored = fmfair.compare(turned, **arguments)
    back = {f"z{9 - i}": f"m{i}" for i in range(10)}
    for one, other in ((found.differences, mirrored.differences), (found.gaps, mirrored.gaps)):
        kinds = [c for c in NAMES if c in one.columns]
        swapped = other.with_columns(
            pl.col("model").replace(back).alias("baseline"), pl.col("baseline").replace(back).alias("model")
        ).with_columns(-pl.col("difference"), ci_low=-pl.col("ci_high"), ci_high=-pl.col("ci_low"))
        assert_alike(one.sort(kinds, nulls_last=True), swapped.sort(kinds, nulls_last=True), only=MIRRORED)


MIRRORED = [*NAMES, "difference", "ci_low", "ci_high", "p_value", "p_holm", "n"]


def assert_alike(one: pl.DataFrame, other: pl.DataFrame, only: list[str] | None = None) -> None:
    for name in [c for c in one.columns if only is None or c in only]:
        if one[name].dtype.is_float():
            assert one[name].is_null().equals(other[name].is_null()), name
            apart = (one[name] - other[name]).abs()
            assert (apart.drop_nulls() < 1e-7).all(), name
        else:
            assert one[name].to_list() == other[name].to_list(), name


def test_only_samples_of_all_models_count() -> None:
    found = fmfair.compare(BASE.filter(~((pl.col("model") == "b") & (pl.col("image_id") < 2))), metrics="auc")
    assert found.differences["n"].max() == 6
    assert any("2 samples of 8 left out" in note for note in found.notes)
    dropped = BASE.with_columns(prob=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("prob"))
    assert fmfair.compare(dropped, metrics="auc", missing_scores="drop").differences["n"].max() == 7


def test_without_ids_rows_are_paired_by_position() -> None:
    found = fmfair.compare(BASE.drop("image_id"), metrics="auc")
    assert found.differences.equals(fmfair.compare(BASE, metrics="auc").differences)
    assert any("paired by their position" in note for note in found.notes)


def test_other_by_keys_stay_by_keys() -> None:
    frame = pl.concat(
        [BASE.with_columns(dataset=pl.lit("x")), BASE.with_columns(dataset=pl.lit("y"), prob=1 - pl.col("prob"))]
    )
    found = fmfair.compare(frame, metrics="auc")
    whole = found.differences.filter(pl.col("attribute").is_null())
    assert whole.select("dataset", "baseline", "model", "difference").rows() == [
        ("x", "a", "b", pytest.approx(0.125)),
        ("y", "a", "b", pytest.approx(-0.125)),
    ]
    one = frame.filter((pl.col("dataset") == "x") | (pl.col("model") == "a"))
    only = fmfair.compare(one, metrics="auc")
    assert only.differences["dataset"].unique().to_list() == ["x"]
    assert any("'dataset=y': only one model" in note for note in only.notes)


def test_a_baseline_is_compared_with_each_other_model() -> None:
    frame = pl.concat([BASE, BASE.filter(pl.col("model") == "b").with_columns(model=pl.lit("c"))])
    every = fmfair.compare(frame, metrics="auc").differences.select("baseline", "model").unique()
    assert sorted(every.rows()) == [("a", "b"), ("a", "c"), ("b", "c")]
    some = fmfair.compare(frame, baseline="c", metrics="auc").differences.select("baseline", "model").unique()
    assert sorted(some.rows()) == [("c", "a"), ("c", "b")]


MODEL, IMAGE = pl.col("model"), pl.col("image_id")


@pytest.mark.parametrize(
    ("frame", "arguments", "message"),
    [
        (BASE, {"by": "network"}, "by='network': no column 'network'"),
        (BASE.filter(MODEL == "a"), {}, "there is only one model, 'a'"),
        (BASE, {"baseline": "A"}, "baseline='A' is not one of the models: 'a', 'b'; did you mean 'a'?"),
        (BASE, {"headline": "dice"}, "headline='dice' is not one of the metrics"),
        (BASE, {"ci": None}, "give a level such as 0.95"),
        (pl.concat([BASE, BASE.head(1)]), {}, "'image_id' repeats within a model (2 rows, e.g. 0)"),
        (
            BASE.with_columns(label=pl.when((MODEL == "b") & (IMAGE < 3)).then(1 - pl.col("label")).otherwise("label")),
            {},
            "they differ on the label in 3 samples",
        ),
        (
            BASE.with_columns(sex=pl.when((MODEL == "b") & (IMAGE < 2)).then(pl.lit("M")).otherwise("sex")),
            {},
            "they differ on the attribute 'sex' in 2 samples",
        ),
        (BASE.with_columns(image_id=pl.int_range(pl.len())), {}, "no sample is scored by all models"),
        (BASE.drop("image_id").head(15), {}, "different numbers of rows (a: 8, b: 7)"),
        (BASE.with_columns(image_id=pl.when(IMAGE > 0).then(IMAGE)), {}, "'image_id' has 2 missing values"),
        (BASE.with_columns(model=pl.when(IMAGE > 0).then(MODEL)), {}, "2 rows without the name of a model"),
    ],
)
def test_refusals(frame: pl.DataFrame, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(FmfairError) as raised:
        fmfair.compare(frame, **arguments)
    assert message in str(raised.value)


def test_values_of_segmentations_are_compared_by_rows() -> None:
    n = 20
    random = np.random.default_rng(0)
    one, other = random.random(n), random.random(n)
    frame = pl.DataFrame(
        {"model": ["a"] * n + ["b"] * n, "image_id": [*range(n)] * 2, "dice": [*one, *other], "sex": ["F", "M"] * n}
    )
    found = fmfair.compare(frame, dice="dice")
    got = found.differences.filter(pl.col("attribute").is_null()).row(0, named=True)
    apart = other - one
    assert got["difference"] == pytest.approx(apart.mean())
    assert got["ci_high"] == pytest.approx(apart.mean() + 2.093024054408263 * apart.std(ddof=1) / math.sqrt(n))
    assert got["ci_method"] == "paired t"
    assert found.tradeoff["metric"].unique().to_list() == ["dice"]


def test_the_bootstrap_gives_what_has_no_closed_form() -> None:
    random = np.random.default_rng(1)
    n = 90
    y = random.integers(0, 2, n)
    sample = {"image_id": np.arange(n), "label": y, "site": random.choice(["x", "y", "z"], n)}
    parts = [{"model": [m] * n, **sample, "prob": np.clip(0.3 * y + 0.7 * random.random(n), 0, 1)} for m in "ab"]
    frame = pl.concat(map(pl.DataFrame, parts))
    metrics = ["auc", "mcc", "ece"]
    without = fmfair.compare(frame, metrics=metrics)
    drawn = fmfair.compare(frame, metrics=metrics, bootstrap=200)
    unknown = without.differences.filter(pl.col("metric") != "auc")
    assert unknown["ci_low"].null_count() == unknown.height
    assert unknown["note"].unique().to_list() == ["no closed form; a bootstrap gives it"]
    assert without.gaps["note"].unique().to_list() == [
        "more than two groups: no closed form; a bootstrap gives a rough interval"
    ]
    assert drawn.differences.filter(pl.col("metric") == "mcc")["ci_low"].null_count() == 0
    assert drawn.differences.filter(pl.col("metric") == "auc").equals(
        without.differences.filter(pl.col("metric") == "auc")
    )
    assert drawn.gaps["ci_low"].null_count() == 0
    assert all(note.startswith("exploratory") for note in drawn.gaps["note"])
    again = fmfair.compare(frame.sample(fraction=1, shuffle=True, seed=2), metrics=metrics, bootstrap=200)
    assert_alike(drawn.gaps, again.gaps)


def test_balanced_accuracy_differs_by_what_both_rates_do() -> None:
    random = np.random.default_rng(1)
    n = 90
    y = random.integers(0, 2, n)
    sample = {"image_id": np.arange(n), "label": y, "sex": random.choice(["F", "M"], n)}
    parts = [{"model": [m] * n, **sample, "prob": np.clip(0.3 * y + 0.7 * random.random(n), 0, 1)} for m in "ab"]
    frame = pl.concat(map(pl.DataFrame, parts))
    rates = fmfair.compare(frame, metrics=["tpr", "tnr"]).differences.filter(pl.col("attribute").is_null())
    closed = fmfair.compare(frame, metrics=["balanced_accuracy"])
    drawn = fmfair.compare(frame, metrics=["balanced_accuracy", "net_benefit"], bootstrap=200)
    known = closed.differences.row(by_predicate=pl.col("attribute").is_null(), named=True)
    reach = [(r["ci_high"] - r["ci_low"]) / 2 for r in rates.iter_rows(named=True)]
    assert (known["ci_high"] - known["ci_low"]) / 2 == pytest.approx(math.hypot(*reach) / 2, rel=0.05)
    assert known["difference"] == pytest.approx(rates["difference"].mean())
    assert known["ci_method"] == "MOVER, paired"
    assert closed.gaps["ci_method"].to_list() == ["influence, t"]
    benefit = drawn.differences.filter(pl.col("metric") == "net_benefit")
    assert benefit["ci_method"].unique().to_list() == ["paired bootstrap, percentile"]


def test_no_model_is_beaten_that_is_not() -> None:
    random = np.random.default_rng(3)
    n = 40
    y, sex = random.integers(0, 2, n), random.choice(["F", "M"], n)
    parts = [
        {"model": [f"m{i}"] * n, "image_id": np.arange(n), "label": y, "sex": sex, "prob": random.random(n)}
        for i in range(7)
    ]
    found = fmfair.compare(pl.concat(map(pl.DataFrame, parts)), metrics=["auc", "brier"], headline="brier")
    rows = found.tradeoff.select("model", "utility", "gap", "not_beaten", "beaten_by").rows()
    for model, utility, gap, kept, by in rows:
        beating = [m for m, u, g, *_ in rows if u <= utility and g <= gap and (u < utility or g < gap)]
        assert kept == (not beating), model
        assert (by or "") == ", ".join(beating)
    overall = fmfair.evaluate(pl.concat(map(pl.DataFrame, parts)), metrics="brier")
    gaps = overall.gaps.filter(pl.col("statistic") == "difference")["value"].to_list()
    assert found.tradeoff["gap"].to_list() == pytest.approx(gaps)


def test_forms(tmp_path: Path) -> None:
    found = fmfair.compare(BASE, baseline="a", metrics=["auc", "accuracy"])
    text = repr(found)
    assert "fmfair comparison: 2 models on the same 8 samples: a, b; baseline a" in text
    assert "For whom a model is worse\nno group is shown to be served worse" in text
    assert "nobody" in text
    assert found._repr_html_().startswith('<div class="fmfair-report')
    held = json.loads(found.to_json(tmp_path / "found.json"))
    assert list(held)[-3:] == ["differences", "gaps", "tradeoff"]
    assert held["metadata"]["models"] == ["a", "b"]
    found.write_parquet(tmp_path / "found")
    back = Comparison.read_parquet(tmp_path / "found")
    assert back.differences.equals(found.differences)
    assert back.notes == found.notes
    assert repr(back) == text
    assert str(found.write_csv(which="tradeoff")).startswith('"attribute","metric"')
    with pytest.raises(FmfairError, match="no frame 'groups'"):
        found.to_frame("groups")


def test_groups_that_are_served_worse_are_named() -> None:
    random = np.random.default_rng(4)
    n = 400
    y, sex = random.integers(0, 2, n), np.array(["F", "M"] * (n // 2))
    good = np.clip(0.5 * y + 0.5 * random.random(n), 0, 1)
    bad = np.where(sex == "F", random.random(n), good)
    parts = [
        {"model": [m] * n, "image_id": np.arange(n), "label": y, "sex": sex, "prob": p}
        for m, p in (("old", good), ("new", bad))
    ]
    text = repr(fmfair.compare(pl.concat(map(pl.DataFrame, parts)), baseline="old", metrics="auc"))
    worse = text.split("For whom a model is worse\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[:5] for line in worse[1:]] == [["sex", "F", "auc", "new", "old"]]
