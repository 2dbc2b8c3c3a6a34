"""The files that a report is made from: their names, without the folders above, and their SHA-256."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Thread
from typing import Any

from fmfair import readers
from fmfair.errors import FmfairError

# More files of one table than these are told together, by one hash of all their names and hashes.
MOST = 20
_CHUNK = 1 << 20
_AT_WORK: ContextVar[bool] = ContextVar("at work", default=False)


class InputFiles:
    """Hashes files beside the work that reads them.

    Attributes:
        found: By table, such as `frame`, its files by the names they go by.
    """

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.found = {table: _files(source) for table, source in tables.items()}
        self._hashes: dict[Path, str | None] = {}
        self._stopped = False
        self._work = Thread(target=self._hash, daemon=True)

    def start(self) -> None:
        """Begins to hash."""
        self._work.start()

    def stop(self) -> None:
        """Gives up what is not hashed yet."""
        self._stopped = True

    def facts(self) -> dict[str, Any]:
        """What the metadata say: a name and a hash for every file; nothing where no table is a file.

        A file that is no longer there has no hash.
        """
        self._work.join()
        entries = [entry for table, files in self.found.items() for entry in self._entries(table, files)]
        return {"inputs": entries} if entries else {}

    def _entries(self, table: str, files: Mapping[str, Path]) -> list[dict[str, Any]]:
        hashes = {name: self._hashes.get(path) for name, path in files.items()}
        if len(files) <= MOST:
            return [{"table": table, "name": name, "sha256": digest} for name, digest in hashes.items()]
        lines = "".join(f"{digest}  {name}\n" for name, digest in hashes.items())
        together = hashlib.sha256(lines.encode()).hexdigest()
        return [{"table": table, "name": f"{len(files):,} files", "sha256": together}]

    def _hash(self) -> None:
        for files in self.found.values():
            for path in files.values():
                self._hashes[path] = self._digest(path)

    def _digest(self, path: Path) -> str | None:
        digest = hashlib.sha256()
        try:
            with path.open("rb") as file:
                while (chunk := file.read(_CHUNK)) and not self._stopped:
                    digest.update(chunk)
        except OSError:
            return None
        return None if self._stopped else digest.hexdigest()


@contextmanager
def hashed(**tables: Any) -> Iterator[InputFiles]:
    """Hashes the files behind tables while something is made of them; stops if that fails.

    Within another one nothing is hashed again.

    Examples:
        >>> with hashed(frame={"label": [0, 1]}) as files:
        ...     files.facts()
        {}
    """
    files = InputFiles({} if _AT_WORK.get() else tables)
    outermost = _AT_WORK.set(True)
    files.start()
    try:
        yield files
    finally:
        files.stop()
        _AT_WORK.reset(outermost)


def _files(source: Any) -> Mapping[str, Path]:
    """The files behind a table, each by its path below the folder that was named; what cannot be read has none."""
    if not isinstance(source, str | os.PathLike):
        return {}
    try:
        paths, base = readers.files_of(os.fspath(source))
    except (FmfairError, OSError):
        return {}
    return {path.relative_to(base).as_posix(): path for path in sorted(paths)}
