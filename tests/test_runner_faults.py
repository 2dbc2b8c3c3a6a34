"""What users get wrong in `fmfair run`: refused in words, and nothing made of it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from runner_tiny import DIM, STEPS, painted, pixels, prompts, ran, refused, tiny_models

from fmfair.cli.wording import in_flags
from fmfair.errors import FmfairError
from fmfair.runners.embedding import How
from fmfair.runners.manifest import KEY, read_manifest
from fmfair.runners.models.loading import load_model
from fmfair.runners.models.registry import register, unregister
from fmfair.runners.models.state import read_state
from fmfair.runners.parts import read_parts
from fmfair.runners.probe import Probe
from fmfair.runners.roles import Roles
from fmfair.runners.sgd import Schedule
from fmfair.runners.usages import Study


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with tiny_models():
        yield


@pytest.fixture
def table(tmp_path: Path) -> pl.DataFrame:
    return painted(tmp_path)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (("--dtype", "bfloat16"), 'dtype was "float32" and is "bfloat16"'),
        (("--feature", "cls"), 'feature was "pooler" and is "cls"'),
        (("--preprocess", "fairmedfm"), "takes images of 8 pixels only"),
        (("--checkpoint", "/nowhere/else"), "no checkpoint at /nowhere/else"),
        (("--reading", "window=0:100"), 'reading was "" and is "window=0:100"'),
        (("--reading", "windw=0:100"), "'windw=0:100' is not known"),
    ],
)
def test_embeddings_of_something_else_are_not_taken_for_what_is_asked(
    table: pl.DataFrame, tmp_path: Path, changed: tuple[str, str], told: str
) -> None:
    assert ran("embed", table, tmp_path).status == 0

    assert told in refused("linear-probe", table, tmp_path, *changed)
    assert ran("linear-probe", table, tmp_path, "--dtype", "float32").status == 0


def test_embeddings_of_another_model_or_other_weights_under_the_same_name_are_refused(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    def weighted(checkpoint: Path | None) -> Any:
        assert checkpoint is not None
        linear = torch.nn.Linear(DIM, DIM)
        linear.load_state_dict(torch.load(checkpoint, weights_only=True))
        return torch.nn.Sequential(pixels(None), linear)

    for name in ("one.pt", "two.pt"):
        torch.save(torch.nn.Linear(DIM, DIM).state_dict(), tmp_path / name)
    register({"name": "tiny_weights", "image": {"steps": STEPS, "size": 8}, "feature": {"dim": DIM}}, builder=weighted)
    try:
        named = ("--name", "mine", "--checkpoint", tmp_path / "one.pt")
        assert ran("linear-probe", table, tmp_path, *named, model="tiny_weights").status == 0
        assert ran("linear-probe", table, tmp_path, *named, model="tiny_weights").status == 0
        assert "weights was" in refused(
            "linear-probe", table, tmp_path, *named[:3], tmp_path / "two.pt", model="tiny_weights"
        )
        assert 'name was "tiny_weights" and is "tiny_pixels"' in refused("linear-probe", table, tmp_path, *named[:2])
    finally:
        unregister("tiny_weights")


def test_a_wrong_root_is_refused_before_anything_is_kept_of_it(table: pl.DataFrame, tmp_path: Path) -> None:
    told = refused("embed", table, tmp_path, "--root", tmp_path / "elsewhere")

    assert "none of 24 images is below" in told
    assert "--root" in told
    assert not (tmp_path / "runs").exists()
    assert "24 images encoded" in ran("embed", table, tmp_path).out


@pytest.mark.parametrize("usage", ["linear-probe", "zero-shot"])
def test_nothing_to_predict_is_told_before_images_are_encoded(table: pl.DataFrame, tmp_path: Path, usage: str) -> None:
    more = ("--prompts", prompts(tmp_path)) if usage == "zero-shot" else ()
    without = table.with_columns(split=pl.lit("train"))

    assert "did you mean 'test'?" in refused(usage, table, tmp_path, *more, "--splits", "tset", model="tiny_towers")
    assert "no image is in the split 'test'" in refused(usage, without, tmp_path, *more, model="tiny_towers")
    assert not (tmp_path / "runs").exists()


def test_labels_and_prompts_are_missed_before_images_are_encoded(table: pl.DataFrame, tmp_path: Path) -> None:
    unnamed = table.rename({"y": "dark"})

    assert "no labels to predict" in refused("linear-probe", unnamed, tmp_path, "--labels", ",")
    assert "there are no prompts" in refused("zero-shot", table, tmp_path, model="tiny_towers")
    assert "has no text tower" in refused("zero-shot", table, tmp_path)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", ["path", "split", "similarity", "similarity_negative", "status", "usage"])
def test_attributes_with_the_names_of_other_columns_are_refused(table: pl.DataFrame, tmp_path: Path, name: str) -> None:
    clash = table if name in table.columns else table.rename({"sex": name})

    assert f"'{name}'" in refused("linear-probe", clash, tmp_path, "--sensitive", name)


@pytest.mark.parametrize("given", [("--labels", "y", "y"), ("--labels", "y", "--sensitive", "y")])
def test_a_column_named_twice_is_refused(table: pl.DataFrame, tmp_path: Path, given: tuple[str, ...]) -> None:
    assert "'y' is named twice" in refused("embed", table, tmp_path, *given)


def test_a_name_that_no_system_takes_is_one_unreadable_image(table: pl.DataFrame, tmp_path: Path) -> None:
    long = table.with_columns(path=pl.when(pl.int_range(24) == 0).then(pl.lit("a" * 400)).otherwise("path"))

    assert "1 image unreadable (" in ran("embed", long, tmp_path).out
    assert "none of 1 image" in refused("embed", long.head(1), tmp_path, "--name", "other")


def test_paths_in_errors_keep_their_names_on_the_command_line(table: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")

    assert "/dataset=table/model=tiny_pixels/" in refused("embed", table, tmp_path)
    flags = {"model": "--model", "dice": "--dice"}
    assert in_flags("runs/model=a holds another; say model='b' or dice=/model=", flags) == (
        "runs/model=a holds another; say --model b or --dice/--model"
    )


def test_errors_name_the_options_of_the_command_line(table: pl.DataFrame, tmp_path: Path) -> None:
    assert refused("embed", table, tmp_path, model="rad_din").endswith(
        "no model 'rad_din'; did you mean 'rad_dino'?; --register adds models of your own\n"
    )
    assert "--device gpu is none of torch" in refused("embed", table, tmp_path, "--device", "gpu")


@pytest.mark.parametrize("device", ["meta", "cuda:99", "gpu"])
def test_devices_that_are_not_there_are_refused_in_words(table: pl.DataFrame, tmp_path: Path, device: str) -> None:
    assert f"--device {device} " in refused("embed", table, tmp_path, "--device", device)


@pytest.mark.parametrize("given", [("--workers", 0), ("--workers", -1), ("--batch-size", 0)])
def test_shares_of_the_work_are_at_least_one(table: pl.DataFrame, tmp_path: Path, given: tuple[str, int]) -> None:
    assert "must be at least 1" in refused("embed", table, tmp_path, *given)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_that_no_library_takes_are_refused(seed: int) -> None:
    with pytest.raises(FmfairError, match="between 0 and 4294967295"):
        Probe(seed=seed)


@pytest.mark.parametrize("given", [{"learning_rate": np.nan}, {"learning_rate": np.inf}, {"weight_decay": -1.0},
                                   {"weight_decay": np.nan}])  # fmt: skip
def test_schedules_of_no_number_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(FmfairError, match=next(iter(given))):
        Schedule(**given)  # type: ignore[arg-type]


def test_a_probe_that_diverges_is_refused(table: pl.DataFrame, tmp_path: Path) -> None:
    wild = ("--solver", "sgd", "--select", "last", "--learning-rate", "1e38", "--epochs", "9")

    assert "no longer finite" in refused("linear-probe", table, tmp_path, *wild)
    assert ran("linear-probe", table, tmp_path, "--solver", "sgd", "--epochs", "1").status == 0


def test_damaged_files_are_told_and_made_again_once_removed(table: pl.DataFrame, tmp_path: Path) -> None:
    ran("embed", table, tmp_path)
    folder = tmp_path / "runs" / "embeddings" / "dataset=table" / "model=tiny_pixels"
    part = folder / "part-00000.parquet"
    whole = part.read_bytes()
    (folder / "part-00007.parquet").write_bytes(b"of someone else")
    assert read_parts(folder)[0].collect().height == 24
    part.write_bytes(whole[:99])

    assert f"{part} is damaged" in refused("linear-probe", table, tmp_path)
    part.unlink()
    assert ran("linear-probe", table, tmp_path).status == 0
    (folder / "_run.json").write_text('{"schema_version": 1}')
    assert "was not written by this version" in refused("linear-probe", table, tmp_path)


def test_a_file_system_without_locks_is_no_other_job(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", no_locks)

    assert "24 images encoded" in ran("embed", table, tmp_path).out


@pytest.mark.parametrize(
    ("said", "told"),
    [("[]", "is damaged"), ("{}", "is damaged"), ('{"schema_version": "x"}', "is damaged"),
     ('{"schema_version": 99}', "newer than this one")],
)  # fmt: skip
def test_a_manifest_that_says_nothing_of_use_is_refused(
    table: pl.DataFrame, tmp_path: Path, said: str, told: str
) -> None:
    table.write_parquet(tmp_path / "table.parquet", metadata={KEY: said})

    with pytest.raises(FmfairError, match=told):
        read_manifest(tmp_path / "table.parquet")


@pytest.mark.parametrize("text", ["[1", "[1]", "{}"])
def test_an_index_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(text)

    with pytest.raises(FmfairError, match=r"is no index of files of weights|download it again"):
        read_state(index, wanted=bool, torchscript=False, safe_globals=())


def test_one_text_is_no_list_of_names(table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_csv(tmp_path / "table.csv")
    manifest = read_manifest(tmp_path / "table.csv", roles=Roles(labels=["y"]))
    study = Study(manifest, "tiny_pixels", str(tmp_path / "runs"), lambda: load_model("tiny_pixels"))  # type: ignore[arg-type]

    for splits in ("test", ()):
        with pytest.raises(FmfairError, match="is no list of splits"):
            study.linear_probe(splits=splits)
    assert study.linear_probe(how=How(progress=False))[0].is_file()


def test_a_file_of_models_says_what_is_wrong_in_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[mine]\n")
    with pytest.raises(FmfairError, match="'image' is missing") as error:
        register(file)
    assert "not TOML" not in str(error.value)


def test_a_folder_is_no_file_of_models(tmp_path: Path) -> None:
    with pytest.raises(FmfairError, match="cannot read the models of"):
        register(tmp_path)
