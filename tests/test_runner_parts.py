from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

import fmfair
from fmfair.runners.catalogue import Catalogue
from fmfair.runners.locks import Locks
from fmfair.runners.parts import Parts, read_parts
from fmfair.runners.provenance import table_hash, versions


def images(count: int, root: Path = Path("pictures")) -> Catalogue:
    """So many images, each in a part of its own."""
    names = [f"s{i}" for i in range(count)]
    return Catalogue.of(pl.DataFrame({"sample_id": names, "path": names}), root, 1)


@contextmanager
def at_work(folder: Path, count: int = 3, **identity: object) -> Iterator[Parts]:
    with Locks.of(folder) as locks:
        yield Parts.begun(locks, images(count), {"model": "m", **identity}, {"versions": {"x": "1"}})


def make(folder: Path, count: int = 3, **identity: object) -> Parts:
    with at_work(folder, count, **identity) as run:
        return run


def test_a_run_is_read_when_it_is_complete(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    run.write(0, pl.DataFrame({"a": [1, 2]}))
    run.write(2, pl.DataFrame({"a": [5]}))

    assert run.missing() == [1]
    with pytest.raises(fmfair.FmfairError, match="not complete: 2 of 3 parts are there; the same command makes"):
        read_parts(tmp_path)
    run.write(1, pl.DataFrame({"a": [3, 4]}))

    rows, described = read_parts(tmp_path)
    assert rows.collect()["a"].to_list() == [1, 2, 3, 4, 5]
    assert described["identity"] == {"model": "m"}


def test_jobs_take_every_so_many_parts(tmp_path: Path) -> None:
    run = make(tmp_path, count=5)

    assert [run.missing(job, 2) for job in range(2)] == [[0, 2, 4], [1, 3]]


def test_another_configuration_is_refused_and_named(tmp_path: Path) -> None:
    make(tmp_path, steps=["rgb"], size={"side": 224})

    with pytest.raises(fmfair.FmfairError) as error:
        make(tmp_path, steps=["grey"], size={"side": 320})

    assert 'steps was ["rgb"] and is ["grey"]' in str(error.value)
    assert "size.side was 224 and is 320" in str(error.value)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fmfair.FmfairError, match="holds no run; name the folder that holds one"):
        read_parts(tmp_path)
    (tmp_path / "_run.json").write_text("{")
    with pytest.raises(fmfair.FmfairError, match=r"_run\.json is damaged: .*; remove it, and the same command makes"):
        read_parts(tmp_path)
    (tmp_path / "_run.json").write_text('{"schema_version": 99}')
    with pytest.raises(fmfair.FmfairError, match="not written by this version"):
        read_parts(tmp_path)


def test_every_part_says_where_it_comes_from(tmp_path: Path) -> None:
    run = make(tmp_path)
    run.write(1, pl.DataFrame({"a": [1]}))

    file = pq.ParquetFile(tmp_path / "part-00001.parquet")
    about = json.loads(file.metadata.metadata[b"fmfair"])
    assert about["identity"] == {"model": "m"}
    assert about["provenance"] == {"versions": {"x": "1"}}
    assert (about["schema_version"], about["part"]) == (2, 1)
    assert about["images"] == table_hash(pl.DataFrame({"sample_id": ["s1"], "path": ["s1"]}))
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Other processes, which hold a lock of the folder until they are killed."""
    with ExitStack() as others:

        def hold(what: str) -> subprocess.Popen[str]:
            script = textwrap.dedent(
                f"""
                import sys
                from contextlib import nullcontext
                from pathlib import Path
                import polars as pl
                from fmfair.runners.catalogue import Catalogue
                from fmfair.runners.locks import Locks
                from fmfair.runners.parts import Parts
                names = ["s0", "s1", "s2"]
                images = Catalogue.of(pl.DataFrame({{"sample_id": names, "path": names}}), Path("pictures"), 1)
                with Locks.of(Path({str(tmp_path)!r})) as locks:
                    parts = Parts.begun(locks, images, {{"model": "m"}}, {{}})
                    with {what} as held:
                        print(held, flush=True)
                        sys.stdin.read()
                """
            )
            command = [sys.executable, "-c", script]
            other = others.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            others.callback(other.kill)
            assert other.stdout is not None
            assert other.stdout.readline().strip() == "True"
            return other

        yield hold


@pytest.mark.skipif(os.name != "posix", reason="locks of the kind that the system frees")
def test_a_part_that_another_process_makes_is_left_to_it_until_it_dies(
    tmp_path: Path, holder: Callable[[str], subprocess.Popen[str]]
) -> None:
    other = holder("parts.claimed(1)")
    with at_work(tmp_path) as run:
        claims = []
        for number in range(3):
            with run.claimed(number) as ours:
                claims.append(ours)
        other.send_signal(signal.SIGKILL)
        other.wait()
        with run.claimed(1) as ours:
            claims.append(ours)

    assert claims == [True, False, True, True]


@pytest.mark.skipif(os.name != "posix", reason="locks of the kind that the system frees")
def test_what_a_job_at_work_is_to_make_stays_listed_also_while_it_makes_no_part(
    tmp_path: Path, holder: Callable[[str], subprocess.Popen[str]]
) -> None:
    other = holder("nullcontext(True)")

    with pytest.raises(fmfair.FmfairError, match=r"another job is still at work in .* not among these 2 images; wait"):
        make(tmp_path, count=2)
    assert list(make(tmp_path, count=4).images.parts) == [0, 1, 2, 3]
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert list(make(tmp_path, count=2).images.parts) == [0, 1]


def test_a_part_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    with at_work(tmp_path) as run:
        run.write(0, pl.DataFrame({"a": [1]}))
        with run.claimed(0) as ours:
            assert not ours


def test_of_two_jobs_that_begin_at_once_the_first_says_what_the_run_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beginning = Locks.beginning

    @contextmanager
    def late(locks: Locks) -> Iterator[None]:
        with beginning(locks):
            with monkeypatch.context() as patch:
                patch.setattr(Locks, "beginning", beginning)
                make(tmp_path, model="first")
            yield

    monkeypatch.setattr(Locks, "beginning", late)
    with pytest.raises(fmfair.FmfairError, match='model was "first" and is "second"'):
        make(tmp_path, model="second")
    assert '"first"' in (tmp_path / "_run.json").read_text()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(fmfair.FmfairError, match=r"cannot write .*: Permission denied"):
        make(tmp_path)


def test_names_of_folders_are_no_patterns(tmp_path: Path) -> None:
    run = make(tmp_path / "run[1]*", count=1)
    run.write(0, pl.DataFrame({"a": [1]}))

    assert read_parts(run.folder)[0].collect()["a"].to_list() == [1]


def test_hashes_follow_the_content() -> None:
    frame = pl.DataFrame({"a": [1, None], "b": ["x", "y"]})

    assert table_hash(frame) == table_hash(frame.clone())
    assert table_hash(frame) != table_hash(frame.with_columns(pl.col("a").cast(pl.Int8)))
    assert versions(["polars", "no-such-package"]) == {"polars": pl.__version__}
