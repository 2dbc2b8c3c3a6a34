"""Models of a segmentation on the same samples: mean Dice and IoU by group, by paired tests, from values or masks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import run
from polars.testing import assert_frame_equal
from scipy import stats

import fmfair
from fmfair import FmfairError

N = 60


def wide(seed: int = 0) -> pl.DataFrame:
    """One row per sample with the Dice of two models; on scanner GE the new one is worse."""
    random = np.random.default_rng(seed)
    scanner = np.array(["GE", "Siemens", "Philips"] * (N // 3))
    old = random.beta(8, 2, N)
    new = np.clip(old + random.normal(0.02, 0.03, N) - 0.15 * (scanner == "GE"), 0, 1)
    sex = np.array(["F", "F", "F", "M", "M", "M"] * (N // 6))
    return pl.DataFrame(
        {"image_id": range(N), "patient": np.arange(N) // 2, "scanner": scanner, "sex": sex, "old": old, "new": new}
    )


def long(table: pl.DataFrame) -> pl.DataFrame:
    """One row per sample and model."""
    keys = ["image_id", "patient", "scanner", "sex"]
    found = table.unpivot(index=keys, on=["old", "new"], variable_name="model", value_name="dice")
    return found.with_columns(iou=pl.col("dice") / (2 - pl.col("dice")))


def differences(found: fmfair.Comparison, metric: str = "dice") -> dict[tuple[Any, Any], dict[str, Any]]:
    rows = found.differences.filter(pl.col("metric") == metric)
    return {(row["attribute"], row["group"]): row for row in rows.iter_rows(named=True)}


def gap(found: fmfair.Comparison, attribute: str) -> dict[str, Any]:
    return found.gaps.filter(pl.col("attribute") == attribute, pl.col("metric") == "dice").row(0, named=True)


def test_every_group_has_the_paired_t_test() -> None:
    table = wide()
    found = differences(fmfair.compare(long(table), baseline="old", attributes=["scanner", "sex"]))

    parts: dict[tuple[str | None, str | None], pl.DataFrame] = {(None, None): table}
    parts |= {(a, g): table.filter(pl.col(a) == g) for a in ("scanner", "sex") for g in table[a].unique()}
    assert set(found) == set(parts)
    for key, part in parts.items():
        expected = stats.ttest_rel(part["new"], part["old"])
        interval = expected.confidence_interval(0.95)
        row = found[key]
        assert row["ci_method"] == "paired t"
        assert (row["n"], row["difference"]) == (
            part.height,
            pytest.approx((part["new"] - part["old"]).to_numpy().mean()),
        )
        assert (row["ci_low"], row["ci_high"]) == (pytest.approx(interval.low), pytest.approx(interval.high))
        assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-6)


def test_the_gap_of_two_groups_is_compared_by_the_differences_of_the_samples() -> None:
    table = wide()
    row = gap(fmfair.compare(long(table), baseline="old", attributes="sex"), "sex")

    means = table.group_by("sex", maintain_order=True).agg(pl.col("old", "new").mean())
    gaps = {model: float(np.ptp(means[model].to_numpy())) for model in ("old", "new")}
    assert (row["gap_baseline"], row["gap_model"]) == (pytest.approx(gaps["old"]), pytest.approx(gaps["new"]))
    # Both models favour the same sex here, so that the difference of the gaps is that of the paired differences.
    assert means["old"].arg_max() == means["new"].arg_max()
    apart = table.with_columns(d=pl.col("new") - pl.col("old"))
    expected = stats.ttest_ind(
        *(apart.filter(sex=sex)["d"] for sex in means.sort("old", descending=True)["sex"]), equal_var=False
    )
    assert row["ci_method"] == "influence, t"
    assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-6)
    assert row["difference"] == pytest.approx(gaps["new"] - gaps["old"])


def test_whole_patients_vary_where_they_are_named() -> None:
    table = wide()
    row = differences(fmfair.compare(long(table), baseline="old", attributes="sex", cluster="patient"))[None, None]

    of_patients = table.group_by("patient").agg(d=(pl.col("new") - pl.col("old")).sum())["d"].to_numpy()
    mean = of_patients.sum() / N
    sums = of_patients - 2 * mean
    count = len(sums)
    reach = stats.t.ppf(0.975, count - 1) * np.sqrt(count / (count - 1) * (sums**2).sum()) / N
    assert row["ci_high"] - row["difference"] == pytest.approx(reach)


def test_the_columns_of_values_are_found_by_name_where_there_are_no_labels() -> None:
    frame = long(wide()).drop("iou").rename({"dice": "DSC"})

    found = fmfair.compare(frame, baseline="old", attributes="sex")

    assert found.metadata["columns"]["values"] == {"dice": "DSC"}
    assert found.metadata["task"] == "comparison of models, segmentation"
    assert found.differences.columns == fmfair.compare(frame, dice="DSC", attributes="sex").differences.columns


def test_iou_is_compared_beside_dice_and_metrics_chooses() -> None:
    frame = long(wide())
    both = fmfair.compare(frame, dice="dice", iou="iou", attributes="sex")
    one = fmfair.compare(frame, dice="dice", iou="iou", attributes="sex", metrics="iou")

    assert both.differences["metric"].unique(maintain_order=True).to_list() == ["dice", "iou"]
    assert one.differences["metric"].unique().to_list() == ["iou"] == one.tradeoff["metric"].unique().to_list()
    assert_frame_equal(one.differences, both.differences.filter(metric="iou"))
    with pytest.raises(FmfairError, match="metrics: there are values of 'dice', not of 'iou'"):
        fmfair.compare(frame, dice="dice", attributes="sex", metrics="iou")


def test_a_sample_that_one_model_has_no_value_of_is_left_out_of_all() -> None:
    table = wide()
    frame = long(table).with_columns(
        dice=pl.when((pl.col("image_id") == 3) & (pl.col("model") == "new")).then(None).otherwise("dice")
    )

    found = fmfair.compare(frame, dice="dice", baseline="old", attributes="sex")

    left = fmfair.compare(long(table.filter(pl.col("image_id") != 3)), dice="dice", baseline="old", attributes="sex")
    assert_frame_equal(found.differences, left.differences)
    assert any("1 sample of 60 left out that not every model has a usable row of" in note for note in found.notes)


def test_a_bootstrap_gives_the_gaps_between_more_than_two_groups() -> None:
    frame = long(wide())
    closed = fmfair.compare(frame, dice="dice", baseline="old", attributes=["scanner", "sex"])
    drawn = fmfair.compare(frame, dice="dice", baseline="old", attributes=["scanner", "sex"], bootstrap=400)

    assert gap(closed, "scanner")["note"].startswith("more than two groups: no closed form")
    row = gap(drawn, "scanner")
    assert row["ci_method"] == "paired bootstrap, percentile"
    assert row["ci_low"] <= row["difference"] <= row["ci_high"]
    assert (row["p_value"] < 0.05) is not (row["ci_low"] <= 0 <= row["ci_high"])
    assert row["worst_group_model"] == "GE"
    # What has a closed form keeps it.
    assert_frame_equal(drawn.differences, closed.differences)
    assert_frame_equal(drawn.gaps.filter(attribute="sex"), closed.gaps.filter(attribute="sex"))
    again = fmfair.compare(
        frame.sample(fraction=1.0, shuffle=True, seed=1),
        dice="dice",
        baseline="old",
        attributes=["scanner", "sex"],
        bootstrap=400,
    )
    assert gap(again, "scanner")["ci_low"] == pytest.approx(row["ci_low"], abs=1e-12)


def masks(folder: Path) -> pl.DataFrame:
    """Paths of masks of two models for six samples; of one sample all masks are empty."""
    random = np.random.default_rng(2)
    rows = []
    for sample in range(6):
        true = (random.random((8, 8)) < 0.5) & (sample != 5)
        np.save(folder / f"true{sample}.npy", true.astype(np.uint8))
        for model, share in (("old", 0.1), ("new", 0.3)):
            pred = true ^ ((random.random((8, 8)) < share) & (sample != 5))
            np.save(folder / f"{model}{sample}.npy", pred.astype(np.uint8))
            rows.append((model, sample, "FM"[sample % 2], f"{model}{sample}.npy", f"true{sample}.npy"))
    return pl.DataFrame(rows, schema=["model", "image_id", "sex", "pred_mask", "true_mask"], orient="row")


def with_folder(table: pl.DataFrame, folder: Path) -> pl.DataFrame:
    return table.with_columns(pl.format(f"{folder}/{{}}", c).alias(c) for c in ("pred_mask", "true_mask"))


@pytest.mark.parametrize("empty", ["one", "drop"])
def test_masks_give_what_their_dice_gives(tmp_path: Path, empty: str) -> None:
    frame = with_folder(masks(tmp_path), tmp_path)

    found = fmfair.compare(frame, baseline="old", empty=empty)

    overall = {
        model: fmfair.evaluate_segmentation(rows, empty=empty)
        .overall.filter(pl.col("metric") == "dice")["value"]
        .item()
        for (model,), rows in frame.partition_by("model", as_dict=True).items()
    }
    row = differences(found)[None, None]
    assert (row["value_baseline"], row["value_model"]) == (pytest.approx(overall["old"]), pytest.approx(overall["new"]))
    assert row["n"] == (6 if empty == "one" else 5)
    assert set(found.differences["metric"]) == {"dice", "iou", "both_empty"}
    assert found.metadata["headline"] == "dice"


def test_the_command_line_compares_values_and_masks(tmp_path: Path) -> None:
    masks(tmp_path).write_csv(tmp_path / "masks.csv")

    result = run("compare", tmp_path / "masks.csv", "--baseline", "old", "--empty", "drop")

    found = fmfair.compare(with_folder(masks(tmp_path), tmp_path), baseline="old", empty="drop")
    assert result.status == 0
    assert "Utility and gap: dice" in result.out
    assert result.out == f"{replace(found, notes=())!r}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dice": "dice", "y_score": "iou"}, "'y_score' and 'dice' are columns of two tasks; name those of one"),
        ({"dice": "dice", "thresholds": 0.5}, "thresholds: only for a classification, but this is a segmentation"),
        (
            {"dice": "dice", "missing_scores": "drop", "ignore": [1]},
            "ignore, missing_scores: only for a classification",
        ),
        ({"y_true": "sex", "empty": "drop"}, "empty: only for a segmentation, but this is a classification"),
        ({"dice": "dice", "metrics": "auc"}, "no metric 'auc'"),
        ({"pred_mask": "dice"}, "no segmentation columns found"),
        ({"dice": "dice", "empty": "two"}, "empty='two'"),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(FmfairError) as raised:
        fmfair.compare(long(wide()), attributes="scanner", **arguments)
    assert message in str(raised.value)
