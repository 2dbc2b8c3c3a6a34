"""Whole files and folders: what is written appears at once under its name, or not at all."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError

PathLike = str | os.PathLike[str]

# A temporary file that was not written to for an hour is one that a killed process left: no table takes as long.
LEFT_OVER_S = 3600
_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.tmp")
# Paths are taken from the working folder, and swapped: AT_FDCWD, and RENAME_EXCHANGE or RENAME_SWAP.
_HERE, _SWAP = -100, 2


@contextmanager
def whole_file(path: PathLike) -> Iterator[Path]:
    """Gives a temporary path beside `path`, which is renamed to `path` if the block ends without an error.

    Parent folders are made. What exists and is no regular file, such as `/dev/stdout`, is written to directly.

    Raises:
        FmfairError: The path is a folder, or cannot be written.
    """
    given = Path(path).expanduser()
    with _worded(given):
        if given.is_dir():
            raise FmfairError(f"cannot write {given}: it is a folder; name a file in it")
        if given.exists() and not given.is_file():
            yield given
            return
        target = _prepared(given)
        temporary = _beside(target)
        try:
            yield temporary
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: PathLike, foreign: Callable[[Path], list[str]]) -> Iterator[Path]:
    """Gives a temporary folder beside `path`, which takes its place if the block ends without an error.

    Args:
        path: The folder to make or to replace. Parent folders are made.
        foreign: The names in an existing folder that must not be replaced.

    Raises:
        FmfairError: The path is a file, holds foreign files, or cannot be written.
    """
    given = Path(path).expanduser()
    with _worded(given):
        if given.exists() and not given.is_dir():
            raise FmfairError(f"cannot write the folder {given}: a file has that name")
        target = _prepared(given)
        kept = foreign(target) if target.exists() else []
        if kept:
            raise FmfairError(
                f"cannot replace the folder {given}: it holds files that fmfair did not write ({', '.join(kept[:5])}"
                f"{', ...' if len(kept) > 5 else ''}); name a new folder, for example one inside it"
            )
        temporary = _beside(target)
        try:
            temporary.mkdir()
            yield temporary
            _take_place(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def remove_left_over(folder: Path) -> None:
    """Removes the temporary files of a folder that no process can still be at, as one that was killed leaves them."""
    for file in folder.glob(".*.tmp"):
        with suppress(OSError):
            if _TEMPORARY.fullmatch(file.name) and file.is_file() and time.time() - file.stat().st_mtime > LEFT_OVER_S:
                file.unlink()


def _take_place(new: Path, target: Path) -> None:
    """Rename a folder over another, in one step where the system has one; else the other is put back on failure."""
    if not target.exists():
        new.rename(target)
        return
    if _exchange(new, target):
        return  # the old one lies where the new one was, and is removed with it
    old = _beside(target)
    target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        with suppress(OSError):
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step of the system; False where it or the file system has no such step."""
    system: Any = ctypes.CDLL(None) if os.name == "posix" else None
    paths = os.fsencode(one), os.fsencode(other)
    if hasattr(system, "renameat2"):  # Linux
        return bool(system.renameat2(_HERE, paths[0], _HERE, paths[1], _SWAP) == 0)
    if hasattr(system, "renamex_np"):  # macOS
        return bool(system.renamex_np(*paths, _SWAP) == 0)
    return False


def _prepared(path: Path) -> Path:
    """The path behind links, so that a link stays one; its parent folder exists afterwards."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _beside(target: Path) -> Path:
    return target.with_name(f".{uuid.uuid4().hex}.tmp")


@contextmanager
def _worded(path: Path) -> Iterator[None]:
    """Errors of the operating system as ours."""
    try:
        yield
    except OSError as error:
        raise FmfairError(f"cannot write {path}: {error.strerror or error}") from error
