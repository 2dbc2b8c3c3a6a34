"""Locks of the jobs that work in one folder; the system frees those of a process that ends, however it ends.

They are bytes of one file, which stays open while a job works: a process that closes a file loses all its locks of it.
Some network file systems, and some systems, have no such locks: jobs there may do a part twice, with the same result.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fmfair.errors import FmfairError

FILE = ".locks"
# The bytes that are locked while a job begins, and shared by all that work; the parts have those of their numbers.
_BEGINS, _WORKS = 1 << 40, (1 << 40) + 1


@dataclass(frozen=True)
class Locks:
    """The locks of a folder, as long as its file is open.

    Attributes:
        folder: The folder.
        file: The file in which bytes are locked.
    """

    folder: Path
    file: IO[bytes]

    @classmethod
    @contextmanager
    def of(cls, folder: Path) -> Iterator[Locks]:
        """Opens those of a folder, which is made, and frees what is left of them when the block ends.

        Raises:
            FmfairError: The folder cannot be written.
        """
        path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = path.open("a+b")
        except OSError as error:
            raise FmfairError(f"cannot write {path}: {error.strerror or error}") from error
        with file:
            yield cls(folder, file)

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """Waits until no other job begins; none does until the block ends, and then this one is at work."""
        _lock(self.file, _BEGINS, wait=True)
        try:
            yield
            _lock(self.file, _WORKS, shared=True)
        finally:
            _free(self.file, _BEGINS)

    def alone(self) -> bool:
        """Whether no other job is at work; asked while this one begins."""
        return _lock(self.file, _WORKS)

    @contextmanager
    def part(self, number: int) -> Iterator[bool]:
        """Whether the part is ours until the block ends: no other job is at it."""
        ours = _lock(self.file, number)
        try:
            yield ours
        finally:
            if ours:
                _free(self.file, number)


def _lock(file: IO[bytes], number: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Locks a byte; False where another process has locked it. True also where there are no such locks."""
    try:
        import fcntl
    except ImportError:  # a system without them
        return True
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.lockf(file, kind if wait else kind | fcntl.LOCK_NB, 1, number)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)  # of a lock that another process holds
    return True


def _free(file: IO[bytes], number: int) -> None:
    try:
        import fcntl
    except ImportError:
        return
    with suppress(OSError):
        fcntl.lockf(file, fcntl.LOCK_UN, 1, number)
