"""A tiny model of every loader family, saved and loaded as its checkpoints are, from images to a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from stand_ins import registered, stand_in

from fmfair.cli import main
from fmfair.runners import About, How, Manifest, Probe, Prompts, Study, load_model
from fmfair.runners.faults import Faults
from fmfair.runners.models.loading import LOADERS
from fmfair.runners.models.registry import models

DATA = Path(__file__).parent / "data"
# A model of each loader.
FAMILIES = {entry.loader.family: name for name, entry in reversed(models().items())}
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


@pytest.mark.parametrize("family", LOADERS)
def test_every_family_goes_from_images_to_a_report(family: str, radiographs: Manifest, tmp_path: Path) -> None:
    entry, checkpoint = stand_in(FAMILIES[family], tmp_path)
    size = entry.image.size  # tiny models are fed smaller images than their steps make; those have tests of their own
    steps = ("rgb", f"resize:{size}:squash:bilinear:pil", "scale", "normalise:half")
    entry = replace(entry, image=replace(entry.image, steps=steps))
    runs, results = tmp_path / "runs", tmp_path / "results"
    with registered(entry):
        study = Study(radiographs, entry.name, runs, lambda: load_model(entry.name, checkpoint, device="cpu"))
        assert study.embed(QUIET).faults == Faults(radiographs.table.height)
        study.linear_probe(Probe(select="last"), QUIET)
        if entry.reads_text:
            study.zero_shot(how=QUIET)

    score = ["score", str(runs / "predictions"), "--sensitive", "kind", "--cluster", "patient_id", "--metrics", "auc"]
    written = ["--html", str(tmp_path / "report.html")] if family == "open_clip" else []
    assert main([*score, "--ci", "none", "--output", str(results), "--quiet", *written]) == 0
    overall, groups = (pl.read_parquet(results / f"{frame}.parquet") for frame in ("overall", "groups"))
    assert overall["usage"].to_list() == ["linear-probe", "zero-shot"][: 1 + entry.reads_text]
    assert overall["n"].to_list() == [16] * overall.height
    assert overall["value"].is_between(0, 1).all()
    assert set(groups["group"]) == {"picture", "volume"}
    assert all("kind" in Path(page).read_text(encoding="utf-8") for page in written[1:])
