from __future__ import annotations

import os
from pathlib import Path

import pytest

from fmfair.atomic import whole_file, whole_folder
from fmfair.errors import FmfairError


def nothing_foreign(folder: Path) -> list[str]:
    assert folder.is_dir()
    return []


def test_a_file_is_replaced_at_once_and_keeps_the_usual_permissions(tmp_path: Path) -> None:
    path, usual = tmp_path / "a.txt", tmp_path / "usual.txt"
    path.write_text("old")
    usual.write_text("")

    with whole_file(path) as file:
        file.write_text("new")
        assert path.read_text() == "old"

    assert path.read_text() == "new"
    assert path.stat().st_mode == usual.stat().st_mode
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "usual.txt"]


@pytest.mark.parametrize("existing", ["old", None])
def test_a_failure_in_the_block_leaves_what_was_there(tmp_path: Path, existing: str | None) -> None:
    path = tmp_path / "a.txt"
    if existing is not None:
        path.write_text(existing)

    def write_half() -> None:
        with whole_file(path) as file:
            file.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()

    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == ({"a.txt": existing} if existing else {})


def test_a_failed_rename_is_our_error_and_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)

    with (
        pytest.raises(FmfairError, match=r"cannot write .*a\.txt: Permission denied"),
        whole_file(tmp_path / "a.txt") as f,
    ):
        f.write_text("x")

    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_place_of_a_file_and_a_file_in_place_of_a_folder_are_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(FmfairError, match="it is a folder"), whole_file(tmp_path):
        pass
    with pytest.raises(FmfairError, match="a file has that name"), whole_folder(tmp_path / "file", nothing_foreign):
        pass
    with pytest.raises(FmfairError, match="cannot write"), whole_file(tmp_path / "file" / "below"):
        pass

    assert (tmp_path / "file").read_text() == "x"


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)

    with whole_file(link) as file:
        file.write_text("new")

    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    with whole_file(pipe) as file:
        file.write_text("text")

    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_new_folder_appears_whole_with_its_parents(tmp_path: Path) -> None:
    target = tmp_path / "new" / "results"

    with whole_folder(target, nothing_foreign) as folder:
        (folder / "a").write_text("x")
        assert not target.exists()

    assert [p.name for p in target.iterdir()] == ["a"]
    assert [p.name for p in target.parent.iterdir()] == ["results"]


def test_a_folder_is_put_back_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "results"
    target.mkdir()
    (target / "old").write_text("x")
    rename, calls = Path.rename, []

    def fail_the_second(self: Path, other: Path) -> Path:
        calls.append(other)
        if len(calls) == 2:
            raise OSError(16, "Device or resource busy")
        return rename(self, other)

    monkeypatch.setattr(Path, "rename", fail_the_second)
    monkeypatch.setattr("fmfair.atomic._exchange", lambda *_: False)  # as on a system that cannot swap folders

    with pytest.raises(FmfairError, match="busy"), whole_folder(target, nothing_foreign) as folder:
        (folder / "new").write_text("y")

    assert [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*")] == ["results", "results/old"]


def test_foreign_files_are_named_and_only_the_first_five_of_many(tmp_path: Path) -> None:
    names = [f"f{i}" for i in range(7)]

    with pytest.raises(FmfairError, match=r"\(f0, f1, f2, f3, f4, \.\.\.\)"), whole_folder(tmp_path, lambda _: names):
        pass
