"""Checkpoints: what is fetched, what is said of a missing one, that none is run, and what the README says of them."""

from __future__ import annotations

import os
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from releases import RELEASES
from stand_ins import registered, stand_in
from test_runner_models_entries import readme_rows

from fmfair.errors import FmfairError
from fmfair.runners.datasets import recipe, recipes
from fmfair.runners.models.hub import fetch, fetch_texts
from fmfair.runners.models.loading import LOADERS, load_model
from fmfair.runners.models.registry import find, models


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Repositories and revisions that are asked for; there is no network, and nothing in the cache."""
    found: list[tuple[str, str | None]] = []

    def ask(repository: str, *, revision: str | None = None, **_: object) -> Any:
        found.append((repository, revision))
        raise LocalEntryNotFoundError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", ask)
    monkeypatch.setattr(huggingface_hub, "list_repo_files", ask)
    monkeypatch.delenv("FMFAIR_MODELS", raising=False)
    return found


def test_the_revision_of_an_entry_is_what_is_downloaded(asked: list[tuple[str, str | None]]) -> None:
    with_files, plain = find("biovil_t"), find("rad_dino")
    pinned = replace(plain, source=replace(plain.source, revision="v2"))

    for entry, revision in ((with_files, "v1.0"), (pinned, "v2"), (plain, None)):
        with pytest.raises(FmfairError, match="could not be fetched"):
            fetch(entry)
        assert set(asked) == {(entry.source.hub_id, revision)}
        asked.clear()
    with pytest.raises(FmfairError, match="could not be fetched"):
        fetch_texts(with_files, "google/a", local=False)
    assert asked == [("google/a", None)]  # which is another repository


@pytest.mark.parametrize("name", list(models()))
def test_a_missing_checkpoint_says_what_to_download_under_which_licence_and_where_to_put_it(
    name: str, asked: list[tuple[str, str | None]], tmp_path: Path
) -> None:
    entry = find(name)
    (tmp_path / "empty").mkdir()
    places: list[Path | None] = [tmp_path / "none.pt", tmp_path / "empty"]
    for given in [*places, *([] if entry.source.package else [None])]:
        with pytest.raises(FmfairError) as caught:
            load_model(name, given, device="cpu")
        said = str(caught.value)
        for file in entry.source.files:
            assert Path(file).name in said
        if entry.source.hub_id:
            assert f"https://huggingface.co/{entry.source.hub_id}" in said
        assert entry.source.where in said
        assert f"Licence: {entry.model.licence}" in said
        assert ("accepting its terms" in said) == entry.model.gated
        assert "name the file or folder as checkpoint=" in said
        assert f"$FMFAIR_MODELS/{name}/" in said
        assert given is None or str(given) in said
    assert bool(asked) == bool(entry.source.hub_id and not entry.source.package)


class Runs:
    """What a pickle could do."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.mark}",)


OF_FAMILY = {entry.loader.family: name for name, entry in reversed(models().items())}


@pytest.mark.parametrize("family", list(LOADERS))
def test_no_loader_runs_what_a_file_of_weights_holds(family: str, tmp_path: Path) -> None:
    """Each of the files of a model in turn is a pickle that would do something."""
    entry, checkpoint = stand_in(OF_FAMILY[family], tmp_path)
    folder, mark = checkpoint if checkpoint.is_dir() else checkpoint.parent, tmp_path / "it_ran"
    weights = [f for f in folder.rglob("*") if f.suffix in (".pt", ".pth", ".bin", ".ckpt", ".tar", ".safetensors")]
    assert weights
    with registered(entry):
        for file in weights:
            kept = file.read_bytes()
            for save in (torch.save, lambda found, path: path.write_bytes(pickle.dumps(found))):
                save({"state_dict": {"x": torch.ones(1)}, "more": Runs(mark)}, file)
                with pytest.raises(FmfairError, match=re.escape(str(file))) as caught:
                    load_model(entry.name, checkpoint, device="cpu")
                assert "was not read" in str(caught.value)
                assert not mark.exists()
            file.write_bytes(kept)
        assert load_model(entry.name, checkpoint, device="cpu").report.params > 0


# What the README says of the access to a data set, and how its recipe begins to.
ACCESS = {
    "open": "Open: ",
    "application": "Apply at ",
    "credentialed": "Credentialed access ",
    "on request": "On request ",
}


def rows_of_readme(heading: str) -> tuple[str, list[list[str]]]:
    """A section, and the cells of its table."""
    text = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
    section = re.split(r"\n#+ ", text.partition(f"\n{heading}\n")[2])[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return section, [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines[1:]]


def test_the_readme_has_a_row_for_every_recipe_and_says_how_they_were_verified() -> None:
    section, rows = rows_of_readme("## Data sets")

    assert sorted(name for name, *_ in rows) == list(recipes())
    for name, title, _, _, attributes, access, checked in rows:
        how = recipe(name)
        assert re.split("[ ,]", how.title)[0] in title
        assert how.access.startswith(ACCESS[access])
        assert {"sex", "age"} <= {word.strip().partition(" ")[0] for word in attributes.split(",")}
        assert name in RELEASES
        assert checked == "imitation" + "; the released table, without images" * (name == "nih_cxr14")
    said = " ".join(section.split())
    assert "An imitation is small and made by the tests" in said
    assert "no recipe was run on a whole release" in said


def test_the_readme_has_no_other_rows_of_models() -> None:
    _, rows = rows_of_readme("### Models")

    assert rows == [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in readme_rows()]
