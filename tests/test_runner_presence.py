"""Which of many files there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from releases import images

from fmfair.runners.presence import FEW, missing_files


@pytest.mark.parametrize("others", [0, FEW])
def test_files_folders_with_files_and_links_are_there(tmp_path: Path, others: int) -> None:
    """One by one where few are looked for in a folder, and by one look at it where many are."""
    images(tmp_path, "a/x.png", "a/volume/1.dcm", "a/hidden/.DS_Store", "a/nested/inner/1.dcm", "elsewhere/y.png")
    (tmp_path / "a" / "empty").mkdir()
    (tmp_path / "a" / "link.png").symlink_to(tmp_path / "elsewhere" / "y.png")
    (tmp_path / "a" / "folder").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "a" / "broken.png").symlink_to(tmp_path / "nothing")
    there = ["a/x.png", "a/volume", "a/link.png", "a/folder"]
    lost = ["a/empty", "a/hidden", "a/nested", "a/broken.png", "a/X.png", "a/x.png/y", "b/x.png", "a/\0"]

    for path in there:
        assert missing_files(tmp_path, [path] * (1 + others)) == []
    for path in lost:
        assert missing_files(tmp_path, [path] * (1 + others)) == [path] * (1 + others)
    assert missing_files(tmp_path, [*there, *lost]) == lost


def test_a_folder_is_looked_at_once_for_all_files_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"photos/{n:05}.jpg" for n in range(2000)]
    images(tmp_path, *names[:-3])
    looks: list[object] = []
    monkeypatch.setattr("fmfair.runners.presence._is_image", looks.append)

    assert missing_files(tmp_path, names) == names[-3:]
    assert looks == []
