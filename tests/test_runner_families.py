"""A tiny model of every loader family, saved and loaded as its checkpoints are, from images to a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from stand_ins import registered, stand_in

import fmfair
from fmfair.runners import About, How, Manifest, Probe, Prompts, Study, load_model
from fmfair.runners.faults import Faults

DATA = Path(__file__).parent / "data"
# A model of each family, and whether it reads texts.
FAMILIES = {
    "clip_b32": True,
    "siglip_b16": True,
    "clip_b32_openai": True,
    "conch": True,
    "dinov2_base": False,
    "medmae": False,
    "c2l": False,
}
QUIET = How(batch_size=5, workers=1, progress=False)


@pytest.fixture(scope="module")
def radiographs(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """16 chest radiographs, and as many volumes of two slices of a brain, in one place after the other."""
    folder = tmp_path_factory.mktemp("radiographs")
    found, brain = np.load(DATA / "chest_radiographs.npz"), np.load(DATA / "brain_slices.npz")["image"]
    for i, pixels in enumerate(found["image"]):
        np.save(folder / f"{i}.npy", pixels)
        np.save(folder / f"{i + 16}.npy", np.roll(brain[:, :, i % 3 : i % 3 + 2], i, axis=0).transpose(2, 1, 0))
    order = np.arange(32)
    table = pl.DataFrame(
        {
            "sample_id": order.astype(str),
            "patient_id": (order % 16).astype(str),
            "path": [f"{i}.npy" for i in order],
            "split": np.where(order % 2 == 0, "train", "test"),
            "pneumonia": found["pneumonia"][order % 16],
            "kind": np.where(order < 16, "picture", "volume"),
        }
    )
    prompts = {"pneumonia": Prompts(("normal",), ("pneumonia",), ("a photo of {}", "chest x ray {}"))}
    return Manifest(table, ("pneumonia",), ("kind",), folder, About("radiographs", prompts=prompts))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_goes_from_images_to_a_report(name: str, radiographs: Manifest, tmp_path: Path) -> None:
    entry, checkpoint = stand_in(name, tmp_path)
    size = entry.image.size  # tiny models are fed smaller images than their steps make; those have tests of their own
    steps = ("rgb", f"resize:{size}:squash:bilinear:pil", "scale", "normalise:half")
    entry = replace(entry, image=replace(entry.image, steps=steps))
    with registered(entry):
        study = Study(
            radiographs, entry.name, tmp_path / "runs", lambda: load_model(entry.name, checkpoint, device="cpu")
        )
        assert study.embed(QUIET).faults == Faults(radiographs.table.height)
        files = [study.linear_probe(Probe(select="last"), QUIET)[0]]
        files += [study.zero_shot(how=QUIET)] if FAMILIES[name] else []

    for file in files:
        found = pl.read_parquet(file, hive_partitioning=False)
        assert found["y_score"].is_between(0, 1).all()
        report = fmfair.evaluate(
            str(file), attributes=["kind"], cluster="patient_id", metrics=["auc", "brier"], ci=None
        )
        assert report.overall["value"].null_count() == 0
        assert set(report.groups["group"]) == {"picture", "volume"}
