"""Choices of a usage: what changes predictions says so, is told, and may be kept beside others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import Result, run
from runner_tiny import painted, prompts, ran, refused, tiny_models, towers
from test_runner_studies import ENTRY

from fmfair.runners.models.encoder import Scale
from fmfair.runners.models.registry import register, unregister


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with tiny_models():
        yield


@pytest.fixture
def table(tmp_path: Path) -> pl.DataFrame:
    return painted(tmp_path)


def noted(table: pl.DataFrame, folder: Path, usage: str, *more: object, model: str = "tiny_towers") -> Result:
    """A run that is not quiet."""
    table.write_csv(folder / "table.csv")
    given = ("--model", model, "--output", folder / "runs", "--labels", "y", *more)
    result = run("run", usage, folder / "table.csv", *given)
    assert result.status == 0, result.err
    return result


def test_predictions_that_replace_others_say_so_and_variants_stay(table: pl.DataFrame, tmp_path: Path) -> None:
    given = ("--prompts", prompts(tmp_path))
    first = noted(table, tmp_path, "zero-shot", *given)
    assert "replaced" not in first.err + noted(table, tmp_path, "zero-shot", *given).err
    other = noted(table, tmp_path, "zero-shot", *given, "--scale", 3, "--splits", "train", "test").err
    assert (
        "replaced earlier predictions that were made otherwise: similarity.scale was 10.0 and is 3.0; splits " in other
    )
    assert "--variant" in other
    prompts(tmp_path, "longer")
    told = noted(table, tmp_path, "zero-shot", *given, "--scale", 3, "--splits", "train", "test").err
    assert 'prompts.y.positive was ["bc"] and is ["longer"]' in told

    kept = noted(table, tmp_path, "zero-shot", *given, "--variant", "scale 5", "--scale", 5)
    assert "replaced" not in kept.err
    file = Path(kept.out.partition(": ")[0])
    assert file.parent.name == "model=tiny_towers (scale 5)"
    assert (file.parent.parent / "model=tiny_towers" / file.name).is_file()
    assert pl.read_parquet(file, hive_partitioning=False)["model"].unique().to_list() == ["tiny_towers (scale 5)"]
    assert [p.name for p in (tmp_path / "runs/embeddings/dataset=table").iterdir()] == ["model=tiny_towers"]


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        (["--raw-images"], {"normalise_images": False}),
        (["--raw-texts"], {"normalise_texts": False}),
        (["--link", "sigmoid", "--ensemble", "max_logit"], {"link": "sigmoid", "ensemble": "max_logit"}),
        (["--scale", "2.5"], {"scale": 2.5}),
    ],
)
def test_every_part_of_a_convention_can_be_chosen(
    options: list[str], changed: dict[str, Any], table: pl.DataFrame, tmp_path: Path
) -> None:
    def convention(*more: str) -> dict[str, Any]:
        file = noted(table, tmp_path, "zero-shot", "--prompts", prompts(tmp_path), *more).out.partition(": ")[0]
        found: dict[str, Any] = json.loads(pl.read_parquet_metadata(file)["fmfair"])["configuration"]["similarity"]
        return found

    assert convention(*options) == {**convention(), **changed}


def test_a_probe_that_replaces_another_says_what_was_otherwise(table: pl.DataFrame, tmp_path: Path) -> None:
    sgd = ("--solver", "sgd", "--epochs", 1)
    assert "replaced" not in noted(table, tmp_path, "linear-probe", model="tiny_pixels").err
    told = noted(table, tmp_path, "linear-probe", *sgd, model="tiny_pixels").err
    assert 'probe.solver was "lbfgs" and is "sgd"; probe.schedule.epochs was 100 and is 1; to keep both' in told
    assert (
        "probe.seed was 0 and is 7"
        in noted(table, tmp_path, "linear-probe", *sgd, "--seed", 7, model="tiny_pixels").err
    )


def test_the_loss_of_a_probe_is_a_positive_number(table: pl.DataFrame, tmp_path: Path) -> None:
    result = noted(table, tmp_path, "linear-probe", model="tiny_pixels")

    found = re.search(r"note: y: strength [\d.e+-]+, loss ([\d.]+)\n", result.err)
    assert found is not None
    about = json.loads(pl.read_parquet_metadata(result.out.partition(": ")[0])["fmfair"])
    assert about["configuration"]["heads"]["y"]["loss"] == pytest.approx(float(found[1]), rel=1e-5)


def test_a_learned_scale_that_is_not_declared_is_refused_and_scale_1_is_told(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    given = ("--prompts", prompts(tmp_path))
    plain = replace(towers(None), scale=Scale())
    register(ENTRY, builder=lambda _: plain)
    try:
        told = refused("zero-shot", table, tmp_path, *given, "--scale", "learned", model="weighted")
        assert "there is no learned scale" in told
        assert not (tmp_path / "runs").exists()
        said = noted(table, tmp_path, "zero-shot", *given, model="weighted").err
        assert said.count("scale 1: the entry of weighted declares none") == 1
        assert "or say --scale" in said
        assert "scale 1:" not in noted(table, tmp_path, "zero-shot", *given, "--scale", 20, model="weighted").err
        assert "no learned scale" in refused(
            "zero-shot", table, tmp_path, *given, "--scale", "learned", model="weighted"
        )
    finally:
        unregister("weighted")
    assert "scale 1:" not in noted(table, tmp_path, "zero-shot", *given).err
    assert "no learned scale" in refused(
        "zero-shot", table, tmp_path, *given, "--scale", "learned", model="tiny_towers"
    )


def test_how_texts_are_read_and_scored_is_no_part_of_what_images_are(table: pl.DataFrame, tmp_path: Path) -> None:
    def predicted(**changed: Any) -> pl.DataFrame:
        register(ENTRY | changed, builder=towers, replacing=True)
        file = ran("zero-shot", table, tmp_path, "--prompts", prompts(tmp_path), model="weighted").out.partition(": ")[
            0
        ]
        return pl.read_parquet(file, hive_partitioning=False)

    try:
        first = predicted()
        part = tmp_path / "runs/embeddings/dataset=table/model=weighted/part-00000.parquet"
        when = part.stat().st_mtime_ns
        again = predicted(text={"tokenizer": "json", "context": 9})
        assert again.equals(first)
        said = json.loads(pl.read_parquet_metadata(part.with_name("texts.parquet"))["fmfair"])
        assert said["model"]["texts"]["context"] == 9
        # The convention that is kept beside the vectors follows the entry too.
        sigmoid = predicted(text={"tokenizer": "json", "context": 9}, score={"link": "sigmoid"})
        assert not sigmoid["y_score"].equals(first["y_score"])
        assert part.stat().st_mtime_ns == when
    finally:
        unregister("weighted")
