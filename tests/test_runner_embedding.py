from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import embed_support
import numpy as np
import polars as pl
import pytest
from embed_support import Tiny, pictures, read
from polars.testing import assert_frame_equal

import fmfair
from fmfair.runners import embedding
from fmfair.runners.catalogue import part_size
from fmfair.runners.description import About
from fmfair.runners.embedding import How, embed
from fmfair.runners.parts import read_parts

COUNT = 43
QUIET = How(progress=False)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pictures(tmp_path_factory.mktemp("arrays"), COUNT)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "PART", 4)


def rows(folder: Path) -> pl.DataFrame:
    return read_parts(folder)[0].collect()


@pytest.fixture(scope="module")
def undisturbed(manifest: Any, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "PART", 4)
        embed(manifest, Tiny(), folder, read, QUIET)
    return rows(folder)


def test_every_image_has_a_row_that_says_what_became_of_it(undisturbed: pl.DataFrame) -> None:
    by_image = undisturbed.group_by("sample_id", maintain_order=True).agg(pl.col("status").first(), pl.len())

    assert by_image["sample_id"].to_list() == [f"s{i}" for i in range(COUNT)]
    for i, status, count in zip(range(COUNT), by_image["status"], by_image["len"], strict=True):
        assert status == ("unreadable" if i % 7 == 6 else "not_finite" if i % 11 == 10 else "ok")
        assert count == (3 if i % 5 == 4 and i % 7 != 6 else 1)
    bad = undisturbed.filter(pl.col("status") != "ok")
    assert bad["feature"].null_count() == bad["shared"].null_count() == bad.height
    assert set(bad["reason"]) == {"not an array", "the model's output is not finite"}
    good = undisturbed.filter(pl.col("status") == "ok")
    assert good["reason"].null_count() == good.height
    assert good.schema["feature"] == pl.Array(pl.Float32, 5)
    assert good["feature"].null_count() == 0


@pytest.mark.parametrize("how", [How(1, 1), How(3, 4), How(64, 2)])
def test_batches_and_workers_change_nothing(how: How, manifest: Any, undisturbed: pl.DataFrame, tmp_path: Path) -> None:
    embed(manifest, Tiny(), tmp_path, read, how)

    assert_frame_equal(rows(tmp_path), undisturbed, rel_tol=1e-5, abs_tol=1e-5)


def test_shards_make_the_same_table_together(manifest: Any, undisturbed: pl.DataFrame, tmp_path: Path) -> None:
    left = [embed(manifest, Tiny(), tmp_path, read, How(job=job, jobs=3, progress=False)).left for job in (2, 0, 1)]

    assert left == [8, 4, 0]  # of eleven parts, those of other jobs
    assert_frame_equal(rows(tmp_path), undisturbed)


@pytest.fixture(scope="module")
def killed() -> Iterator[Callable[..., None]]:
    """Begins a run in a process of its own, and kills it a few moments later."""
    if not hasattr(os, "fork"):
        pytest.skip("the runs are forked")
    command, moments = [sys.executable, embed_support.__file__], random.Random(5)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as runs:
        assert runs.stdin is not None
        assert runs.stdout is not None
        reads, writes = runs.stdout, runs.stdin

        def kill(*words: object) -> None:
            print(*words, file=writes, flush=True)
            number = int(reads.readline())
            time.sleep(moments.random() * 0.1)
            os.kill(number, signal.SIGKILL)
            assert reads.readline() == "ended\n"

        yield kill
        runs.kill()


def test_a_run_that_is_killed_ten_times_ends_as_an_undisturbed_one(
    manifest: Any, undisturbed: pl.DataFrame, tmp_path: Path, killed: Callable[..., None]
) -> None:
    there = []
    for _ in range(10):
        killed(manifest.root, COUNT, tmp_path)
        there.append(len(list(tmp_path.glob("part-*.parquet"))))
    embed(manifest, Tiny(), tmp_path, read, QUIET)

    assert there == sorted(there)
    assert there[0] < 11, "the first run ended before it was killed"
    assert_frame_equal(rows(tmp_path), undisturbed)


def test_a_retry_that_is_killed_loses_nothing(tmp_path: Path, killed: Callable[..., None]) -> None:
    manifest, folder = pictures(tmp_path / "arrays", COUNT), tmp_path / "runs"
    embed(manifest, Tiny(), folder, read, QUIET)
    for i in range(COUNT):
        if i % 7 == 6 or i % 11 == 10:
            np.save(tmp_path / "arrays" / f"{i}.npy", np.full((2, 3, 4, 4), i / COUNT, np.float32))
    embed(manifest, Tiny(), tmp_path / "mended", read, QUIET)

    for _ in range(5):
        killed(manifest.root, COUNT, folder, "retry")
        assert rows(folder)["sample_id"].unique(maintain_order=True).to_list() == [f"s{i}" for i in range(COUNT)]
    embed(manifest, Tiny(), folder, read, QUIET, retry=True)

    assert_frame_equal(rows(folder), rows(tmp_path / "mended"), rel_tol=1e-5)


def test_what_is_there_is_not_made_again(manifest: Any, tmp_path: Path) -> None:
    embed(manifest, Tiny(), tmp_path, read, QUIET)
    before = {p.name: p.stat().st_mtime_ns for p in tmp_path.glob("part-*")}
    tally = embed(manifest, Tiny(), tmp_path, read, QUIET)

    assert tally.images == 0
    assert {p.name: p.stat().st_mtime_ns for p in tmp_path.glob("part-*")} == before


def test_another_model_or_other_images_are_refused(manifest: Any, tmp_path: Path) -> None:
    embed(manifest, Tiny(), tmp_path, read, QUIET)

    with pytest.raises(fmfair.FmfairError, match=r"model\.seed was 0 and is 1"):
        embed(manifest, Tiny(seed=1), tmp_path, read, QUIET)
    otherwise: Any = SimpleNamespace(**{**vars(manifest), "about": About("arrays", reading="window=0:100")})
    with pytest.raises(fmfair.FmfairError, match='reading was "" and is "window=0:100"'):
        embed(otherwise, Tiny(), tmp_path, read, QUIET)


def of_rows(manifest: Any, rows: list[int], root: Path | None = None) -> Any:
    """The manifest of some rows, in their order."""
    return SimpleNamespace(table=manifest.table[rows], root=root or manifest.root, about=manifest.about)


def files(folder: Path) -> dict[str, int]:
    return {p.name: p.stat().st_mtime_ns for p in folder.glob("part-*")}


def test_a_manifest_that_has_grown_has_its_new_images_encoded_alone(
    manifest: Any, undisturbed: pl.DataFrame, tmp_path: Path
) -> None:
    nights = [list(range(20)), list(range(31)), [42, *range(2, 42)]]
    before: dict[str, int] = {}
    for rows_of_night, new in zip(nights, (20, 11, 12), strict=True):
        tally = embed(of_rows(manifest, rows_of_night), Tiny(), tmp_path, read, QUIET)
        assert (tally.images, tally.faults.images) == (new, len(rows_of_night))
        assert before.items() <= files(tmp_path).items()
        before = files(tmp_path)

    assert embed(manifest, Tiny(), tmp_path, read, QUIET).images == 0
    by_name = rows(tmp_path).sort("sample_id", "slice")
    assert_frame_equal(by_name, undisturbed.sort("sample_id", "slice"), rel_tol=1e-5, abs_tol=1e-5)


def test_some_of_the_images_in_another_order_leave_nothing_to_do(manifest: Any, tmp_path: Path) -> None:
    embed(manifest, Tiny(), tmp_path, read, QUIET)
    before = files(tmp_path)

    assert embed(of_rows(manifest, list(range(40, 3, -1))), Tiny(), tmp_path, read, QUIET).images == 0
    assert files(tmp_path) == before


def test_other_images_are_refused_in_words(manifest: Any, tmp_path: Path) -> None:
    embed(manifest, Tiny(), tmp_path / "run", read, QUIET)
    moved = of_rows(manifest, list(range(COUNT)))
    moved.table = moved.table.with_columns(
        path=pl.when(pl.int_range(COUNT) < 3).then(pl.lit("40.npy")).otherwise("path")
    )

    with pytest.raises(fmfair.FmfairError, match="3 of 43 images have another path than then"):
        embed(moved, Tiny(), tmp_path / "run", read, QUIET)
    # Files of the same names somewhere else may be others.
    elsewhere = pictures(tmp_path / "elsewhere", COUNT)
    with pytest.raises(fmfair.FmfairError, match=r"43 images below .*arrays\d*/? then, and 40 below .*elsewhere now"):
        embed(of_rows(elsewhere, list(range(40))), Tiny(), tmp_path / "run", read, QUIET)
    assert embed(elsewhere, Tiny(), tmp_path / "run", read, QUIET).images == 0  # all of them have moved
    # What is added lies where they are now.
    assert embed(pictures(tmp_path / "elsewhere", COUNT + 3), Tiny(), tmp_path / "run", read, QUIET).images == 3


def test_of_an_unfinished_run_only_what_is_wanted_now_is_encoded(manifest: Any, tmp_path: Path) -> None:
    embed(manifest, Tiny(), tmp_path, read, How(jobs=2, progress=False))  # 23 of 43 images, in every other part
    before = files(tmp_path)

    few = of_rows(manifest, list(range(6)))
    assert embed(few, Tiny(), tmp_path, read, QUIET).images == 2
    assert rows(tmp_path)["sample_id"].n_unique() == 25
    assert embed(manifest, Tiny(), tmp_path, read, QUIET).images == 18
    assert rows(tmp_path)["sample_id"].n_unique() == COUNT
    assert before.items() <= files(tmp_path).items()


def test_sets_of_any_size_are_shared_by_jobs(manifest: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert [part_size(count, embedding.PART) for count in (1, 400, 5_000, 10**6)] == [64, 64, 79, 1024]
    many = of_rows(manifest, [5] * 400)
    many.table = many.table.with_columns(sample_id=pl.int_range(400).cast(pl.String))

    assert [embed(many, Tiny(), tmp_path, read, How(job=j, jobs=2, progress=False)).images for j in (1, 0)] == [
        192,
        208,
    ]


def test_what_a_killed_run_left_is_removed_once_it_is_old(manifest: Any, tmp_path: Path) -> None:
    old, new, own = (tmp_path / f".{name}.tmp" for name in ("0" * 32, "1" * 32, "mine"))
    for file in (old, new, own):
        file.touch()
    for file in (old, own):
        os.utime(file, (0, 0))

    embed(manifest, Tiny(), tmp_path, read, QUIET)

    assert [file.exists() for file in (old, new, own)] == [False, True, True]


def test_a_full_disk_leaves_whole_parts_and_says_so(
    manifest: Any, undisturbed: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = pl.DataFrame.write_parquet, []

    def full(frame: pl.DataFrame, file: Any, **options: Any) -> None:
        calls.extend([file] if "status" in frame.columns else [])
        if len(calls) == 4:
            Path(file).write_bytes(b"half")
            raise OSError(28, "No space left on device")
        write(frame, file, **options)

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(fmfair.FmfairError, match=r"cannot write .*No space left on device"):
            embed(manifest, Tiny(), tmp_path, read, QUIET)
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith(".l")) == [
        "_images.parquet", "_run.json", "part-00000.parquet", "part-00001.parquet", "part-00002.parquet",
    ]  # fmt: skip
    embed(manifest, Tiny(), tmp_path, read, QUIET)
    assert_frame_equal(rows(tmp_path), undisturbed)


def test_an_interrupted_run_leaves_nothing_behind(
    manifest: Any, undisturbed: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = pl.DataFrame.write_parquet

    def interrupted(frame: pl.DataFrame, file: Any, **options: Any) -> None:
        write(frame, file, **options)
        if "s8" in frame["sample_id"] and "status" in frame.columns:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", interrupted)
        with pytest.raises(KeyboardInterrupt, match="stopped; 8 of 43 images are kept, the same command goes on"):
            embed(manifest, Tiny(), tmp_path, read, QUIET)

    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".locks", "_images.parquet", "_run.json", "part-00000.parquet", "part-00001.parquet"
    ]  # fmt: skip
    assert not [t.name for t in threading.enumerate() if t.name.startswith(("decode", "gather"))]
    embed(manifest, Tiny(), tmp_path, read, QUIET)
    assert_frame_equal(rows(tmp_path), undisturbed)


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"job": 2, "jobs": 2}])
def test_impossible_ways_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(fmfair.FmfairError):
        How(**options)
