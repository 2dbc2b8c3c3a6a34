"""Images are decoded ahead of the model within limits, and nothing keeps their pixels."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from embed_support import Tiny, pictures, read
from runner_tiny import painted, refused, tiny_models

from fmfair.errors import FmfairError
from fmfair.runners import batches, embedding
from fmfair.runners.batches import decoded, gathered, made_ahead
from fmfair.runners.embedding import How, embed
from fmfair.runners.models.encoder import Features


class Counting:
    """Reads volumes of one size, and counts those that are read and not taken yet."""

    def __init__(self, slices: int) -> None:
        self.slices, self.read, self.taken, self.most = slices, 0, 0, 0
        self.lock = threading.Lock()

    def __call__(self, _: Path) -> list[tuple[int | None, Any]]:
        with self.lock:
            self.read += 1
            self.most = max(self.most, self.read - self.taken)
        return [(i, torch.zeros(3, 4, 4)) for i in range(self.slices)]


@pytest.mark.parametrize(("slices", "most"), [(1, 8), (100, 2)])
def test_what_is_decoded_ahead_is_limited_in_files_and_in_bytes(
    slices: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BYTES_AHEAD", 8 * 3 * 4 * 4 * 4)  # of eight pictures
    counting = Counting(slices)

    rows = []
    for image in decoded([Path(str(i)) for i in range(40)], counting, 2):
        if image.slice == 0:
            time.sleep(0.002)
            counting.taken += 1
        rows.append((image.row, image.slice))

    assert rows == [(i, k) for i in range(40) for k in range(slices)]
    assert counting.most <= most + 2  # the file that is asked for, and the one that is looked at
    assert counting.most > most // 2


def test_the_next_item_is_made_while_one_is_used() -> None:
    begun = [threading.Event() for _ in range(4)]

    def items() -> Any:
        for number in range(4):
            begun[number].set()
            yield number

    found = []
    for number in made_ahead(items()):
        if number < 3:
            assert begun[number + 1].wait(5)
        found.append(number)
    assert found == [0, 1, 2, 3]


def test_what_is_made_ahead_ends_with_its_consumer_and_passes_errors_on() -> None:
    closed = []

    def items() -> Any:
        try:
            yield 1
            raise ValueError("no more")
        finally:
            closed.append(True)

    with pytest.raises(ValueError, match="no more"):
        list(made_ahead(items()))
    ahead = made_ahead(x for x in range(9))
    assert next(ahead) == 0
    ahead.close()
    assert closed == [True]
    assert not [t for t in threading.enumerate() if t.name.startswith("gather")]


def test_the_pixels_of_a_batch_are_gone_once_the_model_has_seen_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = pictures(tmp_path / "arrays", 30)
    alive: list[int] = []
    seen: list[weakref.ref[torch.Tensor]] = []

    def watched(path: Path) -> list[tuple[int | None, torch.Tensor]]:
        found = read(path)
        seen.extend(weakref.ref(pixels) for _, pixels in found)
        return found

    table = embedding._table

    def counted(*args: Any) -> Any:
        alive.append(sum(ref() is not None for ref in seen))
        return table(*args)

    monkeypatch.setattr(embedding, "_table", counted)
    embed(manifest, Tiny(), tmp_path / "runs", watched, How(4, 2, progress=False))

    assert len(seen) > 30
    assert alive == [0]


def test_batches_are_pinned_where_a_gpu_copies_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, pinned = pictures(tmp_path / "arrays", 6), []

    def pin(batch: torch.Tensor) -> torch.Tensor:
        pinned.append(len(batch))
        return batch

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)

    embed(manifest, Tiny(), tmp_path / "cpu", read, How(2, 1, progress=False))
    assert pinned == []
    on_gpu: Any = Tiny(device=SimpleNamespace(type="cuda"))  # type: ignore[arg-type]
    embed(manifest, on_gpu, tmp_path / "gpu", read, How(2, 1, progress=False))
    assert pinned == [2, 2, 2, 2]  # of five pictures and a volume of three
    with pytest.raises(StopIteration):
        next(gathered([], 2, pinned=True))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB.\nmore"), "a smaller batch_size= needs less memory"),
        (ValueError("Input image size (4*4) doesn't match model (224*224).\n"), r"shape \(2, 3, 4, 4\): Input image"),
        (FmfairError("of its own"), "^of its own$"),
    ],
)
def test_what_goes_wrong_in_a_model_is_told_in_a_line(error: Exception, told: str, tmp_path: Path) -> None:
    class Failing(Tiny):
        def encode_images(self, _: torch.Tensor) -> Features:
            raise error

    with pytest.raises(FmfairError, match=told) as raised:
        embed(pictures(tmp_path / "arrays", 4), Failing(), tmp_path / "runs", read, How(2, progress=False))
    assert "\n" not in str(raised.value)


def test_a_missing_package_stops_the_run_and_is_no_fault_of_an_image(tmp_path: Path) -> None:
    def lacking(_: Path) -> Any:
        raise FmfairError("this needs pydicom")

    with pytest.raises(FmfairError, match=r"^this needs pydicom$"):
        embed(pictures(tmp_path / "arrays", 4), Tiny(), tmp_path / "runs", lacking, How(progress=False))
    assert not list((tmp_path / "runs").glob("part-*"))


@pytest.fixture
def _models() -> Iterator[None]:
    with tiny_models():
        yield


@pytest.mark.usefixtures("_models")
@pytest.mark.parametrize("shard", ["3/2", "0/1", "1/0", "0/0", "-1/2", "a/b", "1", "1/2/3", ""])
def test_shards_that_are_none_are_refused(shard: str, tmp_path: Path) -> None:
    told = refused("embed", painted(tmp_path), tmp_path, f"--shard={shard}")

    assert "such as 2/4" in told
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "options",
    [{"batch_size": 1.5}, {"workers": True}, {"job": "0"}, {"jobs": None}, {"progress": "no"}, {"batch_size": 0}],
)
def test_ways_of_another_type_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(FmfairError, match=f"{next(iter(options))}=.* must be"):
        How(**options)
