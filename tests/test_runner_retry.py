"""Images that could not be encoded are told by reason, and read again on request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import run
from embed_support import Tiny, pictures, read
from polars.testing import assert_frame_equal
from runner_tiny import painted, prompts, ran, refused, tiny_models

from fmfair.runners import embedding
from fmfair.runners.catalogue import Catalogue
from fmfair.runners.embedding import How, embed
from fmfair.runners.faults import Faults
from fmfair.runners.locks import Locks
from fmfair.runners.parts import Parts, read_parts

COUNT = 23
QUIET = How(progress=False)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "PART", 4)


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with tiny_models():
        yield


@pytest.fixture
def table(tmp_path: Path) -> pl.DataFrame:
    return painted(tmp_path)


def mend(folder: Path) -> None:
    """Pictures and volumes in place of what is no array or overflows."""
    rng = np.random.default_rng(8)
    for i in range(COUNT):
        if i % 7 == 6 or i % 11 == 10:
            np.save(folder / f"{i}.npy", rng.random((2, 3, 4, 4) if i == 13 else (3, 4, 4)).astype(np.float32))


def rows(folder: Path) -> pl.DataFrame:
    return read_parts(folder)[0].collect()


@pytest.fixture
def broken(tmp_path: Path) -> Any:
    """A manifest some of whose images were broken when they were encoded, and are mended now."""
    manifest = pictures(tmp_path / "arrays", COUNT)
    embed(manifest, Tiny(), tmp_path / "runs", read, QUIET)
    mend(tmp_path / "arrays")
    return manifest


@pytest.fixture
def mended(broken: Any, tmp_path: Path) -> pl.DataFrame:
    """What a run of nothing but mended images gives."""
    embed(broken, Tiny(), tmp_path / "whole", read, QUIET)
    return rows(tmp_path / "whole")


def test_a_retry_gives_what_a_run_of_mended_images_gives(broken: Any, mended: pl.DataFrame, tmp_path: Path) -> None:
    before = rows(tmp_path / "runs")
    untouched = {p: p.stat().st_mtime_ns for p in (tmp_path / "runs").glob("part-00000*")}
    seen: list[str] = []

    def watched(path: Path) -> Any:
        seen.append(path.stem)
        return read(path)

    assert embed(broken, Tiny(), tmp_path / "runs", watched, QUIET).images == 0
    assert_frame_equal(rows(tmp_path / "runs"), before)
    tally = embed(broken, Tiny(), tmp_path / "runs", watched, QUIET, retry=True)

    assert sorted(map(int, seen)) == [6, 10, 13, 20, 21]
    assert tally.images == 5
    assert tally.faults == Faults(COUNT)
    assert_frame_equal(rows(tmp_path / "runs"), mended, rel_tol=1e-5)
    assert all(p.stat().st_mtime_ns == when for p, when in untouched.items())


def test_what_is_still_broken_stays_as_it_is(broken: Any, mended: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "arrays" / "20.npy").write_bytes(b"still none")

    tally = embed(broken, Tiny(), tmp_path / "runs", read, QUIET, retry=True)

    assert str(tally.faults) == "1 image unreadable (not an array)"
    others = pl.col("sample_id") != "s20"
    assert_frame_equal(rows(tmp_path / "runs").filter(others), mended.filter(others), rel_tol=1e-5)
    assert rows(tmp_path / "runs")["sample_id"].unique(maintain_order=True).to_list() == [f"s{i}" for i in range(COUNT)]


def test_jobs_share_a_retry_and_leave_what_another_one_is_at(broken: Any, mended: pl.DataFrame, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "runs")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        left = [embed(broken, Tiny(), tmp_path / "runs", read, How(job=j, jobs=2), retry=True).left for j in range(2)]
        other.kill()
    assert left == [0, 1]
    assert rows(tmp_path / "runs").filter(pl.col("status") != "ok")["sample_id"].to_list() == ["s6"]
    embed(broken, Tiny(), tmp_path / "runs", read, QUIET, retry=True)
    assert_frame_equal(rows(tmp_path / "runs"), mended, rel_tol=1e-5)


HOLDER = """
import sys
from pathlib import Path
from fmfair.runners.locks import Locks
with Locks.of(Path(sys.argv[1])) as locks, locks.part(1) as ours:
    print(ours, flush=True)
    sys.stdin.read()
"""


def test_reasons_are_counted_and_the_commonest_told() -> None:
    reasons = ["is empty", "is empty", "does not exist", "has no pixels", "may not be read", "may not be read", None]
    states = [*["unreadable"] * 6, "ok"]
    names = [*"abcdef", "a"]

    faults = Faults.of(pl.LazyFrame({"sample_id": names, "status": states, "reason": reasons}))

    assert (faults.images, faults.unusable) == (6, 5)
    assert str(faults) == ("6 images unreadable (is empty: 2, may not be read: 2, does not exist: 1 and 1 more reason)")


def test_a_rerun_says_what_is_broken_and_a_retry_reads_it(table: pl.DataFrame, tmp_path: Path) -> None:
    whole = (tmp_path / "5.png").read_bytes()
    (tmp_path / "5.png").write_bytes(b"")
    (tmp_path / "7.png").unlink()
    broken = "2 images unreadable (does not exist: 1, is empty: 1): --retry reads them again"

    assert ran("embed", table, tmp_path).out.rstrip().endswith(f"images a second); {broken}")
    assert ran("embed", table, tmp_path).out.rstrip().endswith(f": nothing was left to do; {broken}")
    (tmp_path / "5.png").write_bytes(whole)
    told = ran("embed", table, tmp_path, "--retry").out
    assert ": 2 images encoded in" in told
    assert told.rstrip().endswith("; 1 image unreadable (does not exist): --retry reads them again")


@pytest.mark.parametrize("usage", ["linear-probe", "zero-shot"])
def test_a_split_without_one_usable_image_is_refused(table: pl.DataFrame, tmp_path: Path, usage: str) -> None:
    for path in table.filter(pl.col("split") == "test")["path"]:
        (tmp_path / path).write_bytes(b"")
    more = ("--prompts", prompts(tmp_path)) if usage == "zero-shot" else ()

    told = refused(usage, table, tmp_path, *more, model="tiny_towers")

    assert "no image of the split 'test' could be encoded, of 6: 6 images unreadable (is empty)" in told
    assert "fmfair run embed --retry" in told
    painted(tmp_path)
    assert ran("embed", table, tmp_path, "--retry", model="tiny_towers").status == 0
    assert "6 predictions\n" in ran(usage, table, tmp_path, *more, model="tiny_towers").out


def test_a_training_split_without_one_usable_image_is_refused(table: pl.DataFrame, tmp_path: Path) -> None:
    for path in table.filter(pl.col("split") != "test")["path"]:
        (tmp_path / path).write_bytes(b"")

    told = refused("linear-probe", table, tmp_path)

    assert "no image of the split 'train' could be encoded, of 12: 12 images unreadable (is empty)" in told
    assert "no image of the split 'validation' could be encoded" in told


def test_a_run_that_encodes_no_image_ends_with_1(table: pl.DataFrame, tmp_path: Path) -> None:
    for path in table["path"]:
        (tmp_path / path).write_bytes(b"")
    result = ran("embed", table, tmp_path)

    assert result.status == 1
    assert f"{table.height} images unreadable (is empty)" in result.out


def test_a_mostly_unreadable_split_is_a_warning(table: pl.DataFrame, tmp_path: Path) -> None:
    for path in table.filter(pl.col("split") == "test")["path"][:4]:
        (tmp_path / path).write_bytes(b"")
    (tmp_path / table["path"][0]).write_bytes(b"")
    table.write_csv(tmp_path / "table.csv")
    command = ["run", "linear-probe", tmp_path / "table.csv", "--model", "tiny_pixels", "--labels", "y"]

    result = run(*command, "--output", tmp_path / "runs")

    assert "warning: of 6 images of the split 'test': 4 images unreadable (is empty)" in result.err
    assert "note: of 12 images of the split 'train': 1 image unreadable" in result.err
    assert "6 predictions, 4 without a score" in result.out


def test_a_retry_below_a_wrong_root_is_refused(table: pl.DataFrame, tmp_path: Path) -> None:
    assert ran("embed", table, tmp_path).status == 0
    assert "none of 24 images is below" in refused("embed", table, tmp_path, "--root", tmp_path / "no", "--retry")


def test_parts_of_a_run_whose_description_was_removed_are_refused(tmp_path: Path) -> None:
    def begun(model: str, name: str) -> Parts:
        images = Catalogue.of(pl.DataFrame({"sample_id": [name], "path": [name]}), tmp_path, 1)
        with Locks.of(tmp_path) as locks:
            return Parts.begun(locks, images, {"model": model}, {})

    begun("a", "s").write(0, pl.DataFrame({"x": [1]}))
    (tmp_path / "_run.json").unlink()
    with pytest.raises(ValueError, match=r'part-00000.parquet is of another run: model was "a" and is "b"; remove it'):
        begun("b", "s")
    (tmp_path / "_run.json").unlink()
    (tmp_path / "_images.parquet").unlink()
    with pytest.raises(ValueError, match=r"part-00000.parquet is of another run: its images are others; remove it"):
        begun("a", "t")
