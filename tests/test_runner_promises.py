"""What the documentation promises of runs: each promise with the test that fails where it is broken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from embed_support import Tiny, pictures, read
from runner_tiny import DIM, STEPS, painted, pixels, ran, tiny_models
from stand_ins import registered, stand_in
from test_runner_probe import SPLIT, X, Y, embeddings, manifest  # noqa: F401 (a fixture)

from fmfair.errors import FmfairError
from fmfair.runners import embedding
from fmfair.runners.batches import reader
from fmfair.runners.embedding import How, embed
from fmfair.runners.manifest import Manifest, read_manifest
from fmfair.runners.models.encoder import Features
from fmfair.runners.models.loading import declared_identity, load_model
from fmfair.runners.models.registry import models, register, unregister
from fmfair.runners.parts import read_parts
from fmfair.runners.predictions import Embedded, pooled
from fmfair.runners.probe import Probe, linear_probe
from fmfair.runners.prompts import read_prompts
from fmfair.runners.roles import Roles
from fmfair.runners.sgd import Head, Schedule, train
from fmfair.runners.usages import Study

QUIET = How(progress=False, workers=1)


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    any_size = {"image": {"steps": STEPS, "size": 8, "sizes": "any"}, "feature": {"dim": DIM}}
    with tiny_models():
        register({"name": "any_size", **any_size}, builder=pixels)
        yield
        unregister("any_size")


@pytest.fixture
def table(tmp_path: Path) -> pl.DataFrame:
    return painted(tmp_path).with_columns(sample_id=pl.format("s{}", pl.int_range(pl.len())))


def a_study(table: pl.DataFrame, folder: Path, model: str = "tiny_towers", load: Any = None, **labels: str) -> Study:
    """Of labels with their positive prompts; that of `y` is `bc`."""
    table.write_csv(folder / "table.csv")
    texts = "".join(
        f'[{label}]\nnegative = "a"\npositive = "{text}"\n' for label, text in ({"y": "bc"} | labels).items()
    )
    (folder / "prompts.toml").write_text(texts)
    roles = Roles(labels=["y", *labels])
    of_table = read_manifest(folder / "table.csv", roles=roles, prompts=read_prompts(folder / "prompts.toml"))
    return Study(of_table, model, folder / "runs", load or (lambda: load_model(model, device="cpu")))


def written(file: Path) -> pl.DataFrame:
    return pl.read_parquet(file, hive_partitioning=False)


def model_of(file: Path) -> dict[str, Any]:
    """What predictions say of their model."""
    found: dict[str, Any] = json.loads(pl.read_parquet_metadata(file)["fmfair"])["model"]
    return found


def cosines(study: Study, rows: pl.DataFrame, text: str) -> Any:
    """Of images and a text, by the model alone, one by one."""
    encoder = study.loaded
    decode = reader(encoder, study.manifest)
    shared = torch.cat(
        [encoder.encode_images(decode(study.manifest.root / p)[0][1][None]).shared for p in rows["path"]]
    )
    vectors = encoder.encode_texts([text])
    assert vectors is not None
    return torch.nn.functional.cosine_similarity(shared.double(), vectors.double()).numpy()


def test_shares_of_the_work_are_those_that_were_asked_for(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "PART", 4)
    place = tmp_path / "runs" / "embeddings" / "dataset=table" / "model=tiny_pixels"

    for share, there in (("2/3", [1, 4]), ("1/3", [0, 1, 3, 4]), ("3/3", [0, 1, 2, 3, 4, 5])):
        assert ran("embed", table, tmp_path, "--shard", share).status == 0
        assert sorted(place.glob("part-*.parquet")) == [place / f"part-{k:05}.parquet" for k in there]

    assert read_parts(place)[0].collect()["sample_id"].to_list() == table["sample_id"].to_list()


@pytest.mark.parametrize("usage", ["linear_probe", "zero_shot", "embed"])
def test_images_of_the_same_names_at_other_paths_are_other_images(
    table: pl.DataFrame, tmp_path: Path, usage: str
) -> None:
    a_study(table, tmp_path).embed(QUIET)
    moved = a_study(table.with_columns(path=pl.col("path").reverse()), tmp_path)

    with pytest.raises(FmfairError, match="holds embeddings of other images"):
        getattr(moved, usage)(how=QUIET)
    assert not (tmp_path / "runs" / "predictions").exists()


class Broken(Tiny):
    """One number of the second image of every batch is no number."""

    place, value = "feature", float("nan")

    def encode_images(self, batch: torch.Tensor) -> Features:
        found = super().encode_images(batch)
        getattr(found, self.place)[1, 2] = self.value
        return found


@pytest.mark.parametrize("place", ["feature", "shared"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_an_embedding_with_one_number_that_is_not_finite_is_told(place: str, value: float, tmp_path: Path) -> None:
    encoder = Broken()
    encoder.place, encoder.value = place, value

    embed(pictures(tmp_path / "arrays", 4), encoder, tmp_path / "runs", read, QUIET)

    found = read_parts(tmp_path / "runs")[0].collect()
    assert found["status"].to_list() == ["ok", "not_finite", "ok", "ok"]
    assert found["reason"].to_list() == [None, "the model's output is not finite", None, None]
    for name in ("feature", "shared"):
        assert found[name].is_null().to_list() == [False, True, False, False]


@pytest.mark.parametrize(("pool", "logit"), [("max", 3.0), ("mean", 2.0)])
@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_volume_is_predicted_from_its_good_slices_wherever_the_bad_one_lies(
    bad: int, pool: str, logit: float
) -> None:
    states: list[tuple[int, str, str | None]] = [(0, "ok", None)] * 2
    states.insert(bad, (0, "unreadable", "cut off"))
    rows = pl.DataFrame([*states, (1, "ok", None)], schema=["row", "status", "reason"], orient="row")

    found = pooled(Embedded(rows, np.zeros((3, 1), np.float32)), {"y_logit": np.array([3.0, 1.0, -1.0])}, pool)

    assert found["status"].to_list() == ["ok", "ok"]
    assert found["reason"].to_list() == ["1 of 3 slices left out: cut off", None]
    assert found["y_logit"].to_list() == [logit, -1.0]


@pytest.mark.parametrize("link", ["softmax", "sigmoid"])
def test_scores_follow_the_link_scale_and_bias_of_the_model(table: pl.DataFrame, tmp_path: Path, link: Any) -> None:
    """SigLIP was trained with a sigmoid; its entry says the softmax of a pair, and one of a user's may say that."""
    (tmp_path / "model").mkdir()
    entry, checkpoint = stand_in("siglip_b16", tmp_path / "model")
    assert entry.score.link == "softmax"
    with registered(replace(entry, score=replace(entry.score, link=link))):
        study = a_study(table, tmp_path, entry.name, lambda: load_model(entry.name, checkpoint, device="cpu"))
        found = written(study.zero_shot(how=QUIET))

    low, high = (cosines(study, table.filter(pl.col("split") == "test"), text) for text in ("a", "bc"))
    expected = np.exp(4.7) * high - 12.5 if link == "sigmoid" else np.exp(4.7) * (high - low)
    assert found["similarity"].to_numpy() == pytest.approx(high, abs=1e-5)
    assert found["y_logit"].to_numpy() == pytest.approx(expected, abs=1e-3)
    assert found["y_score"].to_numpy() == pytest.approx(1 / (1 + np.exp(-expected)), rel=1e-2)


def test_raw_similarities_to_classes_stand_beside_the_probabilities(table: pl.DataFrame, tmp_path: Path) -> None:
    study = a_study(table.with_columns(dark=1 - pl.col("y")), tmp_path, dark="another text")

    found = written(study.zero_shot(among="classes", how=QUIET))

    test = table.filter(pl.col("split") == "test")
    similar = {label: cosines(study, test, text) for label, text in (("y", "bc"), ("dark", "another text"))}
    for label, expected in similar.items():
        assert found.filter(label=label)["similarity"].to_numpy() == pytest.approx(expected, abs=1e-6)
    assert found["similarity_negative"].null_count() == found.height
    odds = 10 * (similar["y"] - similar["dark"])
    assert found.filter(label="y")["y_logit"].to_numpy() == pytest.approx(odds, abs=1e-5)


@pytest.mark.parametrize(
    ("dataset", "statistics"), [("MIMIC-CXR", "0.5056:0.252"), ("gf3300", "0.2756:0.1708"), ("mine", "clip")]
)
def test_the_benchmarks_preprocessing_has_the_statistics_of_the_data_set(
    table: pl.DataFrame, tmp_path: Path, dataset: str, statistics: str
) -> None:
    given = ("--dataset", dataset, "--preprocess", "fairmedfm", "--select", "last")

    said = ran("linear-probe", table, tmp_path, *given, model="any_size").out

    model = model_of(Path(said.partition(": ")[0]))
    assert model["preprocess"] == "fairmedfm"
    assert model["steps"] == [
        *("rgb", "resize:224:short:bicubic:pil", "crop:224", "scale"),
        f"normalise:{statistics}",
    ]


def test_a_model_s_own_preprocessing_is_the_default(table: pl.DataFrame, tmp_path: Path) -> None:
    for name, entry in models().items():
        assert declared_identity(name)["steps"] == list(entry.image.steps)
    assert load_model("any_size", device="cpu").identity["steps"] == STEPS
    said = ran("linear-probe", table, tmp_path, "--select", "last", model="any_size").out
    in_python = Study.of(read_manifest(tmp_path / "table.csv", roles=Roles(labels=["y"])), "any_size", tmp_path / "own")
    for file in (Path(said.partition(": ")[0]), in_python.linear_probe(Probe(select="last"), QUIET)[0]):
        assert (model_of(file)["preprocess"], model_of(file)["steps"]) == ("own", STEPS)


def test_attributes_reach_predictions_as_they_were_given(table: pl.DataFrame, tmp_path: Path) -> None:
    ages, words = [39.5 + i for i in range(24)], ["Female", "male", "F", "unknown"] * 6
    given = table.with_columns(age=pl.Series(ages), sex=pl.Series(words), code=pl.int_range(24) % 2)

    said = ran("linear-probe", given, tmp_path, "--select", "last", "--sensitive", "age", "sex", "code").out

    found = written(Path(said.partition(": ")[0]))
    expected = given.filter(pl.col("split") == "test")
    for name in ("age", "sex", "code"):
        assert found[name].to_list() == expected[name].to_list()
        assert found[name].dtype == expected[name].dtype


def test_the_head_of_the_best_epoch_is_kept(manifest: Manifest) -> None:  # noqa: F811 (a fixture)
    run = Schedule(epochs=40, learning_rate=0.5, lowest=0.5, warmup=0, batch_size=16, weight_decay=0.0)
    heads: list[Head] = []
    at = {split: np.flatnonzero(split == SPLIT) for split in ("train", "validation", "test")}
    rows, ones = torch.from_numpy(X[at["train"]]), np.ones(len(at["train"]), np.int64)
    last = train(lambda k: rows[k], Y[at["train"]], ones, X.shape[1], run, watch=lambda _, head: heads.append(head))

    def loss(head: Head) -> float:
        signed = np.where(Y == 1, 1, -1)[at["validation"]] * head.logits(X[at["validation"]])
        return float(np.logaddexp(0, -signed).mean())

    best = min(range(40), key=lambda k: loss(heads[k]))
    assert 0 < best < 39
    assert loss(heads[best]) < 0.9 * loss(last)

    found, (one,) = linear_probe(manifest, embeddings(), model="m", probe=Probe("sgd", schedule=run))

    assert one.chosen == {"epoch": best + 1, "loss": pytest.approx(loss(heads[best]))}
    assert one.head.coef.tolist() == heads[best].coef.tolist()
    assert found["y_logit"].to_numpy() == pytest.approx(heads[best].logits(X[at["test"]]))
