"""Which of many files there are. A folder is looked at once for all files in it, as each look may go over a network."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

# A folder in which fewer files are looked for may hold many others: each of these few is looked for by itself.
FEW = 4


def missing_files(root: Path, paths: Iterable[str]) -> list[str]:
    """The paths below the root where there is neither a file nor a folder with files in it."""
    asked = list(paths)
    folders: dict[str, list[str]] = {}
    for path in asked:
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, []).append(name)
    there = {folder: _there(root / folder, names) for folder, names in folders.items()}
    return [path for path in asked if not there[path.rpartition("/")[0]][path.rpartition("/")[2]]]


def _there(folder: Path, names: list[str]) -> Mapping[str, bool]:
    if len(names) < FEW:
        return {name: _is_image(os.path.join(folder, name)) for name in names}  # noqa: PTH118 (of 400,000)
    try:
        with os.scandir(folder) as entries:
            found = {entry.name: entry for entry in entries}
    except (OSError, ValueError):
        return dict.fromkeys(names, False)
    plain = {name for name in names if name in found and found[name].is_file(follow_symlinks=False)}
    return {name: name in plain or (name in found and _is_image(found[name].path)) for name in names}


def _is_image(path: str) -> bool:
    """Whether there is a file, or a folder that is not without files: those are the slices of a volume."""
    try:
        if not stat.S_ISDIR(os.stat(path).st_mode):  # noqa: PTH116 (of 400,000)
            return True
        with os.scandir(path) as entries:
            return any(entry.is_file() and not entry.name.startswith(".") for entry in entries)
    except (OSError, ValueError):  # a name may hold what no name of a file can
        return False
