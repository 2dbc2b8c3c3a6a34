"""Predictions are the same whether images were encoded once or in every epoch, in which batches, by how many jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from stand_ins import registered, stand_in
from test_runner_probe import own_loop

from fmfair.runners import About, How, Manifest, Probe, Prompts, Study, embedding, load_model
from fmfair.runners.batches import reader
from fmfair.runners.sgd import Schedule

DATA = Path(__file__).parent / "data"
QUIET = How(batch_size=5, workers=2, progress=False)
SCHEDULE = Schedule(epochs=6, learning_rate=0.05, batch_size=5, warmup=2, weight_decay=0.05)
Made = Callable[[str], Study]


@pytest.fixture(scope="module")
def radiographs(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """16 chest radiographs, each of them and its mirror image."""
    folder = tmp_path_factory.mktemp("radiographs")
    found = np.load(DATA / "chest_radiographs.npz")
    for i, pixels in enumerate(found["image"]):
        np.save(folder / f"{i}.npy", pixels[::4, ::4])
        np.save(folder / f"{i + 16}.npy", pixels[::4, ::-4])
    order = np.arange(32)
    table = pl.DataFrame(
        {
            "sample_id": order.astype(str),
            "patient_id": (order % 16).astype(str),
            "path": [f"{i}.npy" for i in order],
            "split": np.array(["train", "train", "validation", "test"])[order % 4],
            "pneumonia": found["pneumonia"][order % 16],
            "side": np.where(order < 16, "left", "right"),
        }
    )
    prompts = {"pneumonia": Prompts(("normal",), ("pneumonia",), ("a photo of {}", "chest x ray {}"))}
    return Manifest(table, ("pneumonia",), ("side",), folder, About("radiographs", prompts=prompts))


@pytest.fixture(scope="module")
def made(radiographs: Manifest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Makes studies of a tiny CLIP, each in a folder of its own, in parts of four images."""
    folder = tmp_path_factory.mktemp("studies")
    entry, checkpoint = stand_in("clip_b32", folder)
    steps = ("rgb", f"resize:{entry.image.size}:squash:bilinear:pil", "scale", "normalise:half")
    entry = replace(entry, image=replace(entry.image, steps=steps))
    with registered(entry), pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "PART", 4)
        yield lambda name: Study(
            radiographs, entry.name, folder / name, lambda: load_model(entry.name, checkpoint, device="cpu")
        )


class Anew:
    """The features of a split, from the files of its images whenever they are asked for."""

    def __init__(self, study: Study, split: str) -> None:
        self.model, self.asked = study.loaded, 0
        self.read = reader(self.model, study.manifest)
        self.rows = study.manifest.of_split(split)
        self.paths = [study.manifest.root / path for path in self.rows["path"]]
        self.y = self.rows["pneumonia"].to_numpy().astype(np.int64)

    def __call__(self, at: Any) -> Any:
        self.asked += len(at)
        return self.model.encode_images(torch.stack([self.read(self.paths[i])[0][1] for i in at])).feature

    def one_by_one(self) -> Any:
        """All features, the last one first, each alone in its batch."""
        return torch.cat([self([i]) for i in reversed(range(len(self.paths)))]).flip(0).double().numpy()


def scores(file: Path) -> Any:
    return pl.read_parquet(file, hive_partitioning=False)["y_score"].to_numpy()


def test_a_probe_on_embeddings_predicts_what_one_that_encodes_in_every_epoch_does(made: Made) -> None:
    study = made("every-epoch")
    file, _ = study.linear_probe(Probe("sgd", select="last", schedule=SCHEDULE, seed=3), QUIET)

    train, test = (Anew(study, split) for split in ("train", "test"))
    layer = own_loop(train, study.loaded.dim, torch.from_numpy(train.y), SCHEDULE, seed=3)

    assert train.asked == SCHEDULE.epochs * 16
    with torch.no_grad():
        expected = torch.softmax(layer(test(range(8))), dim=1)[:, 1].numpy()
    assert np.ptp(expected) > 0.01
    kept = json.loads(pl.read_parquet_metadata(file)["fmfair"])["configuration"]
    assert (kept["probe"]["solver"], kept["probe"]["seed"], kept["probe"]["schedule"]) == ("sgd", 3, asdict(SCHEDULE))
    assert kept["heads"] == {"pneumonia": {"epoch": 6}}
    assert scores(file) == pytest.approx(expected, abs=1e-5)


def test_a_regression_on_embeddings_predicts_what_it_does_on_images_encoded_anew(made: Made) -> None:
    study = made("regression")
    file, _ = study.linear_probe(Probe(select="last"), QUIET)

    train, test = (Anew(study, split) for split in ("train", "test"))
    peer = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(train.one_by_one(), train.y)

    assert scores(file) == pytest.approx(peer.predict_proba(test.one_by_one())[:, 1], abs=1e-5)


def predicted(study: Study, usage: str, how: How = QUIET) -> pl.DataFrame:
    """The predictions of a usage, in full."""
    if usage == "zero-shot":
        file = study.zero_shot(how=how)
    else:
        probe = Probe(usage, seed=5, schedule=SCHEDULE)
        file = study.linear_probe(probe, how)[0]
    return pl.read_parquet(file, hive_partitioning=False)


USAGES = ("lbfgs", "sgd", "zero-shot")


@pytest.fixture(scope="module")
def usual(made: Made) -> dict[str, pl.DataFrame]:
    """What is predicted after one undisturbed run."""
    return {usage: predicted(made("usual"), usage) for usage in USAGES}


def assert_same(made: Made, name: str, usual: dict[str, pl.DataFrame], how: How = QUIET) -> None:
    for usage in USAGES:
        found = predicted(made(name), usage, how)
        assert found["y_score"].n_unique() == 8
        assert_frame_equal(found, usual[usage], rel_tol=0, abs_tol=1e-5)


def test_the_same_seed_repeats_every_bit(made: Made, usual: dict[str, pl.DataFrame]) -> None:
    for name in ("usual", "again"):
        for usage in USAGES:
            assert predicted(made(name), usage).equals(usual[usage])
    other = Probe("sgd", seed=6, schedule=SCHEDULE)
    assert not np.array_equal(scores(made("usual").linear_probe(other, QUIET)[0]), usual["sgd"]["y_score"].to_numpy())


@pytest.mark.parametrize("how", [How(1, 1, progress=False), How(32, 4, progress=False)], ids=["one", "all"])
def test_predictions_depend_neither_on_batches_nor_on_workers(
    how: How, made: Made, usual: dict[str, pl.DataFrame]
) -> None:
    assert_same(made, f"batch-{how.batch_size}", usual, how)


def test_predictions_depend_neither_on_jobs_nor_on_a_resumed_run(made: Made, usual: dict[str, pl.DataFrame]) -> None:
    for job in (2, 0, 1):
        made("jobs").embed(How(3, 1, job, 3, progress=False))
    assert_same(made, "jobs", usual)
    for number in (0, 3, 7):
        (made("jobs").embeddings / f"part-{number:05}.parquet").unlink()
    made("jobs").texts.unlink()
    assert_same(made, "jobs", usual, How(2, 1, progress=False))
