"""`fmfair models`: what is told of every model, and of models of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fmfair.cli import main
from fmfair.runners.models.registry import models, register, unregister

ALWAYS = ("kind", "licence", "gated", "get it", "verified", "image", "steps", "feature", "example")


@pytest.mark.parametrize("name", sorted(models()))
def test_all_that_is_declared_of_a_model_is_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", name]) == 0
    title, blank, *lines = capsys.readouterr().out.splitlines()

    entry = models()[name]
    assert (title, blank) == (f"{entry.title} ({name})", "")
    keys = [line[:14].strip() for line in lines]
    assert set(ALWAYS) <= set(keys)
    assert all(len(line) <= 100 or line.startswith("example") for line in lines)
    facts = " ".join(line[14:] for line in lines)
    files = [Path(name).name if entry.source.package else name for name in entry.source.files]
    for said in (entry.model.licence, *entry.model.trained_on, *entry.feature.alternatives, *files):
        assert said in facts
    assert f"--model {name}" in lines[-1]
    assert ("--checkpoint" in lines[-1]) == (not entry.source.hub_id and not entry.source.package)
    assert " or and " not in facts


def test_a_model_of_the_users_is_told_without_words_on_downloads(capsys: pytest.CaptureFixture[str]) -> None:
    image = {"steps": ["rgb", "resize:32:squash:bilinear:pil", "scale"], "size": 32}
    entry: dict[str, Any] = {"name": "mine", "image": image, "feature": {"dim": 48}}
    register(entry, builder=lambda _: None)
    try:
        assert main(["models", "mine"]) == 0
    finally:
        unregister("mine")

    assert capsys.readouterr().out.splitlines() == [
        "mine",
        "",
        "kind          images",
        "licence       not stated",
        "gated         no",
        "get it        it is made by the function that was given to register(), from the checkpoint where one",
        "              is named.",
        "verified      with nothing: it has not been run",
        "loader        a function of yours",
        "image         32 x 32 pixels",
        "steps         rgb, resize:32:squash:bilinear:pil, scale",
        "feature       48 numbers",
        "example       fmfair run linear-probe MANIFEST --model mine --output runs",
    ]


def test_a_file_of_models_is_listed_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[mine]\nimage = { steps = ["rgb", "resize:224:squash:bilinear", "scale"], size = 224 }\n'
        'feature = { dim = 512, take = "spatial_mean" }\n'
        'loader = { family = "torchvision", arch = "resnet18" }\n',
        encoding="utf-8",
    )
    try:
        assert main(["models", "--register", str(path)]) == 0
        listed = capsys.readouterr().out.splitlines()
        assert main(["models", "mine"]) == 0
    finally:
        unregister("mine")
    assert listed[0].split()[:3] == ["name", "title", "dim"]
    assert len(listed) == len(models()) + 2
    assert "(the entry names no source). Put it into any folder" in " ".join(capsys.readouterr().out.split())
    assert main(["models", "--register", str(tmp_path / "none.toml")]) == 2
