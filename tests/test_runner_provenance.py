"""What predictions say of how they were made, and files that appear as a whole or not at all."""

from __future__ import annotations

import datetime
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from runner_tiny import DIM, STEPS, painted, prompts, tiny_models

from fmfair.errors import FmfairError
from fmfair.runners.embedding import How
from fmfair.runners.manifest import read_manifest
from fmfair.runners.models.loading import load_model
from fmfair.runners.models.registry import register, unregister
from fmfair.runners.parts import SCHEMA_VERSION
from fmfair.runners.probe import Probe
from fmfair.runners.prompts import read_prompts
from fmfair.runners.provenance import PACKAGES, content_hash, table_hash
from fmfair.runners.roles import Roles
from fmfair.runners.sgd import Schedule
from fmfair.runners.similarity import Similarity
from fmfair.runners.usages import Study

QUIET = How(progress=False, workers=1)


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    entry = {"image": {"steps": STEPS, "size": 8}, "feature": {"dim": DIM}}
    with tiny_models():
        register({"name": "one", **entry}, builder=lambda _: weighted(1))
        register({"name": "two", **entry}, builder=lambda _: weighted(2))
        yield
        unregister("one")
        unregister("two")


@pytest.fixture
def table(tmp_path: Path) -> pl.DataFrame:
    return painted(tmp_path)


def weighted(seed: int) -> Any:
    torch.manual_seed(seed)
    layers = torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(DIM, DIM)
    return torch.nn.Sequential(*layers)


def a_study(table: pl.DataFrame, folder: Path, model: str = "one", positive: str = "bc") -> Study:
    table.write_csv(folder / "table.csv")
    given = read_prompts(prompts(folder, positive))
    manifest = read_manifest(folder / "table.csv", roles=Roles(labels=["y"]), prompts=given)
    return Study(manifest, model, folder / "runs", lambda: load_model(model, device="cpu"))


def about(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pl.read_parquet_metadata(file)["fmfair"])
    return found


def probed(table: pl.DataFrame, folder: Path, model: str = "one") -> dict[str, Any]:
    return about(a_study(table, folder, model).linear_probe(Probe(select="last"), QUIET)[0])


def test_predictions_of_a_probe_say_all_that_they_were_made_with(table: pl.DataFrame, tmp_path: Path) -> None:
    study = a_study(table, tmp_path)
    probe = Probe("sgd", seed=7, slices="max", schedule=Schedule(epochs=3, learning_rate=0.01))

    file, (fitted,) = study.linear_probe(probe, QUIET, splits=["validation", "test"])

    said, now = about(file), datetime.datetime.now().astimezone()
    assert (said["schema_version"], said["kind"], said["usage"]) == (SCHEMA_VERSION, "predictions", "linear-probe")
    assert said["model"].items() >= study.loaded.identity.items()
    assert said["manifest"] == table_hash(study.manifest.table)
    configuration = said["configuration"]
    assert configuration["probe"] == json.loads(json.dumps(asdict(probe)))
    assert (configuration["probe"]["seed"], configuration["probe"]["schedule"]["epochs"]) == (7, 3)
    assert configuration["splits"] == ["validation", "test"]
    assert configuration["heads"] == {"y": fitted.chosen}
    assert abs(now - datetime.datetime.fromisoformat(said["date"])) < datetime.timedelta(minutes=1)


def test_predictions_by_prompts_say_how_images_and_texts_were_compared(table: pl.DataFrame, tmp_path: Path) -> None:
    study = a_study(table, tmp_path, "tiny_towers")

    file = study.zero_shot(how=QUIET)

    said = about(file)
    assert (said["schema_version"], said["usage"]) == (SCHEMA_VERSION, "zero-shot")
    assert said["model"].items() >= study.loaded.identity.items()
    assert said["manifest"] == table_hash(study.manifest.table)
    assert said["versions"]["torch"] == metadata.version("torch")
    configuration = said["configuration"]
    assert configuration["similarity"] == asdict(Similarity(scale=10.0))
    assert (configuration["among"], configuration["slices"], configuration["splits"]) == ("pairs", "max", ["test"])
    assert "bc" in str(configuration["prompts"])


def test_other_weights_and_other_rows_have_other_hashes(table: pl.DataFrame, tmp_path: Path) -> None:
    first, again, other = (probed(table, tmp_path, model) for model in ("one", "one", "two"))
    changed = probed(table.with_columns(y=pl.lit(1) - pl.col("y")), tmp_path)

    assert first["model"]["weights"] == again["model"]["weights"] == changed["model"]["weights"]
    assert first["manifest"] == again["manifest"] == other["manifest"]
    assert first["model"]["weights"] != other["model"]["weights"]
    assert first["manifest"] != changed["manifest"]
    assert all(len(said) == 64 for said in (first["model"]["weights"], first["manifest"]))


def test_every_package_that_numbers_depend_on_is_named_with_its_version(table: pl.DataFrame, tmp_path: Path) -> None:
    said = probed(table, tmp_path)["versions"]

    reading = {"pillow", "pydicom", "nibabel"}
    running = {"torch", "torchvision", "transformers", "open_clip_torch", "timm", "tokenizers", "safetensors"}
    assert {"fmfair", "polars", "numpy", "scikit-learn", *reading, *running} == set(PACKAGES)
    assert said == {name: metadata.version(name) for name in PACKAGES}
    part = about(next((tmp_path / "runs" / "embeddings").rglob("part-*.parquet")))
    assert part["schema_version"] == SCHEMA_VERSION
    assert part["provenance"]["versions"] == said


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Path]]:
    """Once called, the disk is full in the middle of every Parquet file; gives the files that were begun."""
    whole = pl.DataFrame.write_parquet
    begun: list[Path] = []

    def half(self: pl.DataFrame, file: Path, **options: Any) -> None:
        whole(self, file, **options)
        os.truncate(file, Path(file).stat().st_size // 2)
        begun.append(Path(file))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill() -> list[Path]:
        monkeypatch.setattr(pl.DataFrame, "write_parquet", half)
        return begun

    return fill


@pytest.mark.parametrize("usage", ["linear_probe", "zero_shot"])
@pytest.mark.parametrize("earlier", [True, False])
def test_predictions_appear_whole_or_not_at_all(
    table: pl.DataFrame, tmp_path: Path, full: Callable[[], list[Path]], usage: str, *, earlier: bool
) -> None:
    study = a_study(table, tmp_path, "tiny_towers")
    study.embed(QUIET)
    if earlier:
        getattr(study, usage)()
    place = tmp_path / "runs" / "predictions"
    before = contents(place)

    begun = full()
    with pytest.raises(FmfairError, match=r"cannot write .*/part-00000\.parquet: No space left on device"):
        getattr(study, usage)()

    assert contents(place) == before
    assert bool(before) == earlier
    assert [(file.parent.name, file.match("*.parquet")) for file in begun] == [("model=tiny_towers", False)]


@pytest.mark.parametrize("earlier", [True, False])
def test_vectors_of_texts_appear_whole_or_not_at_all(
    table: pl.DataFrame, tmp_path: Path, full: Callable[[], list[Path]], *, earlier: bool
) -> None:
    study = a_study(table, tmp_path, "tiny_towers")
    study.embed(QUIET)
    if not earlier:
        study.texts.unlink()
    before = contents(study.embeddings)

    begun = full()
    with pytest.raises(FmfairError, match=r"cannot write .*/texts\.parquet: No space left on device"):
        a_study(table, tmp_path, "tiny_towers", "others").zero_shot()

    assert contents(study.embeddings) == before
    assert ("texts.parquet" in before) == earlier
    assert [(file.parent, file.match("*.parquet")) for file in begun] == [(study.embeddings, False)]


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, those with hidden names too."""
    files = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def test_predictions_are_bound_to_what_the_images_held(table: pl.DataFrame, tmp_path: Path) -> None:
    """The same names with other pixels are another data set."""
    before = probed(table, tmp_path)
    again = tmp_path / "again"
    again.mkdir()
    painted(again)
    same = probed(table, again)
    (again / table["path"][0]).write_bytes((again / table["path"][1]).read_bytes())
    shutil.rmtree(again / "runs")
    changed = probed(table, again)

    assert same["images"] == before["images"]
    assert changed["images"] != before["images"]
    assert changed["manifest"] == before["manifest"]


def test_embeddings_keep_the_hash_of_every_file(table: pl.DataFrame, tmp_path: Path) -> None:
    broken, lost = table["path"][0], table["path"][1]
    (tmp_path / broken).write_bytes(b"no picture")
    (tmp_path / lost).unlink()
    study = a_study(table, tmp_path)
    study.embed(QUIET)

    rows = pl.concat(pl.read_parquet(part) for part in sorted(study.embeddings.glob("part-*.parquet")))
    held = dict(zip(rows["path"], rows["content"], strict=True))
    assert held[broken] == hashlib.sha256(b"no picture").hexdigest()
    assert held[lost] is None
    for path in table["path"][2:]:
        assert held[path] == hashlib.sha256((tmp_path / path).read_bytes()).hexdigest()


def test_the_hash_of_a_folder_is_that_of_its_files_by_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "b.dcm").write_bytes(b"b")
        (tmp_path / name / "a.dcm").write_bytes(b"a")
    same = content_hash(tmp_path / "one")
    assert same == content_hash(tmp_path / "two")
    (tmp_path / "two" / "b.dcm").rename(tmp_path / "two" / "c.dcm")
    assert content_hash(tmp_path / "two") != same
    os.mkfifo(tmp_path / "pipe")
    assert content_hash(tmp_path / "pipe") is None  # and does not wait for one to write
