"""With `--conventions fairmedfm`, the options of the published command line give the numbers that it prints."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import DATA, DICE, refused, scored, written
from fairmedfm.cli import main as published_main

CHOICE = np.random.default_rng(7)
N = 200
TABLE = pl.DataFrame(
    {
        "id": range(N),
        "label": CHOICE.integers(0, 2, N),
        "prob": (CHOICE.random(N) * 50).round() / 50,
        "sex": CHOICE.choice(["F", "M"], N),
        "race": [[None, "A", "B", "C"][i] for i in CHOICE.integers(0, 4, N)],
        "age": CHOICE.integers(20, 90, N),
    }
)
CLASSES = TABLE.select(
    "sex",
    diagnosis=pl.when(pl.col("label") == 1).then(pl.lit("malignant")).otherwise(pl.lit("benign")),
    prob_malignant="prob",
    prob_benign=1 - pl.col("prob"),
)
GAPPED = TABLE.with_columns(
    label=pl.when(pl.col("id") > 5).then("label"), prob=pl.when(pl.col("id") % 40 != 7).then("prob")
)


def published(*args: object) -> dict[str, dict[str, Any]]:
    """The summaries that the published command line prints, by attribute."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        published_main(["score", *map(str, args)])
    found: dict[str, dict[str, Any]] = json.loads(out.getvalue())
    return found


def assert_agree(*args: object) -> None:
    """Both command lines, given the same arguments, print the same summaries."""
    theirs = published(*args)
    ours = scored(*args, "--conventions", "fairmedfm").report["summary"]
    assert [row["attribute"] for row in ours] == list(theirs)
    for row in ours:
        expected = theirs[row["attribute"]]
        assert expected
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        ["--sensitive", "sex"],
        ["--sensitive", "sex", "race"],
        ["--sensitive", "sex", "age", "--bins", "age=40,60"],
        ["--sensitive", "sex", "age", "--bins", "age=q4"],
        ["--sensitive", "sex", "race", "--intersectional"],
        ["--sensitive", "sex", "--label-col", "label", "--prob-col", "prob"],
        ["--sensitive", "sex", "--pos-label", "0"],
        ["--sensitive", "sex", "--score-type", "logit"],
        ["--sensitive", "sex", "--task", "cls"],
        ["--bins", "age=40,60"],
    ],
)
def test_the_summary_of_scores_is_the_published_one(tmp_path: Path, options: list[str]) -> None:
    assert_agree(written(tmp_path, TABLE), *options)


@pytest.mark.parametrize(
    "options",
    [
        ["--pos-label", "malignant"],
        ["--pos-label", "benign"],
        ["--pos-label", "malignant", "--score-column", "1"],
        ["--pos-label", "malignant", "--score-column", "0"],
    ],
)
def test_the_positive_class_is_found_among_score_columns_as_published(tmp_path: Path, options: list[str]) -> None:
    path = written(tmp_path, CLASSES)

    for names in (("prob_malignant", "prob_benign"), ("prob_benign", "prob_malignant")):
        assert_agree(path, "--label", "diagnosis", "--score", *names, "--sensitive", "sex", *options)


def test_a_score_column_is_found_by_a_part_of_its_name_as_published(tmp_path: Path) -> None:
    path = written(tmp_path, CLASSES.rename({"prob_malignant": "a_malignantish", "prob_benign": "b"}))
    args = (path, "--label", "diagnosis", "--score", "a_malignantish", "b", "--sensitive", "sex", "--pos-label")

    assert_agree(*args, "malignant")
    assert (
        "positive class 'malignant': score column 'a_malignantish'"
        in scored(*args, "malignant", "--conventions", "fairmedfm").err
    )


def test_rows_without_label_or_score_are_left_out_as_published(tmp_path: Path) -> None:
    path = written(tmp_path, GAPPED)
    args = ("--sensitive", "sex", "--conventions", "fairmedfm")

    assert_agree(path, "--sensitive", "sex")
    assert "warning: 11 rows with a missing label or score left out" in scored(path, *args).err
    assert "has 6 missing values" in refused(path, *args, "--missing-labels", "raise")
    assert "that cannot be used: 5 missing" in refused(path, *args, "--missing-scores", "raise")


def test_a_joined_table_gives_the_published_summary(tmp_path: Path) -> None:
    images = written(tmp_path, TABLE.select("id", "label", "prob"), "images.csv")
    people = written(tmp_path, TABLE.select("sex", "race", person="id")[:150], "people.csv")

    assert_agree(images, "--metadata", people, "--on", "id=person", "--sensitive", "sex", "race")


def test_dice_gives_the_published_summary(tmp_path: Path) -> None:
    path = written(tmp_path, DICE.with_columns(prob=0.5, label=1))

    assert_agree(path, "--task", "seg", "--sensitive", "sex")
    assert_agree(written(tmp_path, DICE), "--dice-col", "dice", "--sensitive", "sex")


@pytest.mark.parametrize("options", [[], ["--mask-label", "2"], ["--mask-threshold", "0.8"], ["--empty-score", "0"]])
def test_masks_give_the_published_summary(tmp_path: Path, options: list[str]) -> None:
    chance = np.random.default_rng(3)
    for i in range(8):
        whole = chance.integers(0, 3, (4, 4)) * (i % 4 > 0)
        np.save(tmp_path / f"t{i}.npy", whole)
        np.save(tmp_path / f"p{i}.npy", whole * 0.45 if i % 2 and not options else np.roll(whole, 1))
    names = {"pred_path": [f"p{i}.npy" for i in range(8)], "gt_path": [f"t{i}.npy" for i in range(8)]}
    path = written(tmp_path, pl.DataFrame({**names, "sex": ["F", "M"] * 4}))

    assert_agree(path, "--pred-mask", "pred_path", "--true-mask", "gt_path", "--sensitive", "sex", *options)


def test_real_labels_of_chest_xrays_give_the_published_summary() -> None:
    assert_agree(
        *(DATA / "nih_expert_labels.csv", "--label", "expert_pneumothorax", "--score", "nlp_pneumothorax"),
        *("--sensitive", "sex", "view", "age", "--bins", "age=40,60", "--intersectional"),
    )
