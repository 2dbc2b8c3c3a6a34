"""Embeddings of images that come and go: whatever happens, a folder ends with what another would hold."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from embed_support import Tiny, read
from polars.testing import assert_frame_equal

from fmfair.runners import catalogue, embedding
from fmfair.runners.description import About
from fmfair.runners.embedding import How, embed
from fmfair.runners.parts import read_parts

IMAGES = 14


class Killed(BaseException):
    """What ends a run in the middle."""


class Folder:
    """Pictures, some of which cannot be read, and a folder of embeddings of some of them."""

    def __init__(self, place: Path, random: Random) -> None:
        self.pictures, self.run, self.random = place / "pictures", place / "run", random
        self.pictures.mkdir(parents=True)
        for number in range(IMAGES):
            self.draw(number, random.random() < 0.6)

    def draw(self, number: int, good: bool) -> None:
        pixels = np.random.default_rng(number).random((2, 3, 4, 4) if number % 5 == 4 else (3, 4, 4))
        file = self.pictures / f"{number}.npy"
        np.save(file, pixels.astype(np.float32))
        if not good:
            file.write_bytes(b"no array")

    def some(self) -> Any:
        """A manifest of some of the pictures, in any order."""
        names = self.random.sample(range(IMAGES), self.random.randint(1, IMAGES))
        table = pl.DataFrame({"sample_id": [f"s{n}" for n in names], "path": [f"{n}.npy" for n in names]})
        return SimpleNamespace(table=table, root=self.pictures, about=About("arrays"))

    def embed(self) -> None:
        embed(self.some(), Tiny(), self.run, read, How(progress=False, workers=1), retry=self.random.random() < 0.3)

    def share(self) -> None:
        how = How(job=self.random.randrange(2), jobs=2, progress=False, workers=1)
        embed(self.some(), Tiny(), self.run, read, how, retry=self.random.random() < 0.3)

    def stop(self) -> None:
        left = iter(range(self.random.randint(0, 6)))

        def until(path: Path) -> Any:
            if next(left, None) is None:
                raise Killed
            return read(path)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(embedding, "complete", lambda *_: True)
            with suppress(Killed):
                embed(self.some(), Tiny(), self.run, until, How(progress=False, workers=1))

    def lose(self) -> None:
        for part in sorted(self.run.glob("part-*"))[self.random.randrange(5) :: 5]:
            part.unlink()

    def mend(self) -> None:
        self.draw(self.random.randrange(IMAGES), good=True)


def rows(folder: Path) -> pl.DataFrame:
    return read_parts(folder)[0].collect().sort("sample_id", "slice")


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_the_last_images_have_their_own_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "PART", 4)
    monkeypatch.setattr(catalogue, "FEWEST", 2)
    folder = Folder(tmp_path, Random(seed))
    for _ in range(8):
        folder.random.choice([folder.embed, folder.share, folder.stop, folder.lose, folder.mend])()

    last, quiet = folder.some(), How(progress=False, workers=1)
    embed(last, Tiny(), folder.run, read, quiet, retry=True)
    embed(last, Tiny(), tmp_path / "alone", read, quiet)

    found = rows(folder.run)
    assert not found.select("sample_id", "slice").is_duplicated().any()
    wanted = found.join(last.table, on="sample_id", how="semi", maintain_order="left")
    assert_frame_equal(wanted, rows(tmp_path / "alone"), rel_tol=1e-5, abs_tol=1e-5)
