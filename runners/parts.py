"""A long run as parts: each a Parquet file that is written whole, so that a killed run goes on where it stopped.

Part `k` holds the rows of the k-th part of the list of images, whatever job makes it. `_run.json` beside the parts says
what made them; whoever comes with anything else is refused. A part that is being made is locked for as long as its
process lives: several jobs may work in one folder, and none does what another one does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fmfair.atomic import remove_left_over, whole_file
from fmfair.errors import FmfairError, Problems, plural
from fmfair.runners.catalogue import FILE, Catalogue
from fmfair.runners.locks import Locks
from fmfair.runners.provenance import METADATA

SCHEMA_VERSION = 2
RUN = "_run.json"
_AGAIN = "remove it, and the same command makes it again"


@dataclass(frozen=True)
class Parts:
    """The parts of one run in one folder.

    Attributes:
        locks: Those of the folder where they lie.
        images: What they are of.
        identity: What the rows depend on beside the images: the same in every job of a run.
        provenance: What else is recorded: versions, the date, the device.
    """

    locks: Locks
    images: Catalogue
    identity: Mapping[str, Any]
    provenance: Mapping[str, Any]

    @classmethod
    def begun(
        cls, locks: Locks, wanted: Catalogue, identity: Mapping[str, Any], provenance: Mapping[str, Any]
    ) -> Parts:
        """The run of a folder, begun with these images, or with those of them that it does not have yet.

        What is wanted stays listed until these locks are closed.

        Raises:
            FmfairError: The folder holds parts of something else, or damaged ones.
        """
        folder = locks.folder
        with locks.beginning():
            _check_run(folder / RUN, identity)
            images = _listed(locks, wanted)
            remove_left_over(folder)
        parts = cls(locks, images, identity, provenance)
        _check_parts(folder, parts.there(), images, identity)
        return parts

    @property
    def folder(self) -> Path:
        """Where the parts lie."""
        return self.locks.folder

    def there(self, job: int = 0, jobs: int = 1) -> list[int]:
        """The numbers of the parts that are there, of every `jobs`-th one from `job` on."""
        return [k for k in list(self.images.parts)[job::jobs] if self._path(k).exists()]

    def missing(self, job: int = 0, jobs: int = 1) -> list[int]:
        """The numbers of the parts that are not there yet, of every `jobs`-th one from `job` on."""
        return [k for k in list(self.images.parts)[job::jobs] if not self._path(k).exists()]

    @contextmanager
    def claimed(self, number: int, *, there: bool = False) -> Iterator[bool]:
        """Whether the part is ours to make, or where it is `there` to replace: no other process is at it.

        It is locked until the block ends.
        """
        with self.locks.part(number) as ours:
            yield ours and self._path(number).exists() == there

    def rows(self) -> pl.LazyFrame:
        """The rows of the parts that are there, of which there is at least one."""
        return _scanned([self._path(k) for k in self.there()])

    def read(self, number: int) -> pl.DataFrame:
        """The rows of a part that is there."""
        return _scanned([self._path(number)]).collect()

    def write(self, number: int, rows: pl.DataFrame) -> None:
        """Writes a part under a temporary name, and renames it."""
        about = {
            "schema_version": SCHEMA_VERSION,
            "part": number,
            "images": self.images.hash(number),
            "identity": dict(self.identity),
            "provenance": dict(self.provenance),
        }
        with whole_file(self._path(number)) as path:
            rows.write_parquet(path, compression="zstd", metadata={METADATA: json.dumps(about, ensure_ascii=False)})

    def _path(self, number: int) -> Path:
        return part_file(self.folder, number)


def _check_run(file: Path, identity: Mapping[str, Any]) -> None:
    """Says what the run is, or makes sure that what was begun here is the same."""
    described = {"schema_version": SCHEMA_VERSION, "identity": dict(identity)}
    if not file.exists():
        with whole_file(file) as path:
            path.write_text(json.dumps(described, indent=1, ensure_ascii=False), encoding="utf-8")
    changed = list(changes(described_run(file), json.loads(json.dumps(described))))
    if changed:
        raise FmfairError(
            f"{file.parent} holds a run of something else: {'; '.join(changed)}. Name another folder, or remove this "
            "one"
        )


def _listed(locks: Locks, wanted: Catalogue) -> Catalogue:
    """The images of the run: those of the folder that are encoded or wanted, and those that are wanted beside them."""
    folder = locks.folder
    there = Catalogue.read(folder)
    if there is None:
        wanted.write(folder)
        return wanted
    there.check(wanted, folder)
    kept = there.without([k for k in there.parts if not part_file(folder, k).exists()], wanted)
    if kept is not there and not locks.alone():
        raise FmfairError(
            f"another job is still at work in {folder}, and images are to be encoded there that are not among these "
            f"{plural(wanted.table.height, 'image')}; wait until it has ended, or name another output folder"
        )
    grown = kept.grown(wanted).below(wanted)
    if grown is not there:
        grown.write(folder)
    return grown


def described_run(file: Path) -> dict[str, Any]:
    """What `_run.json` says.

    Raises:
        FmfairError: It is not readable as what this version writes.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FmfairError(f"{file} is damaged: {error}; {_AGAIN}") from error
    known = isinstance(found, dict) and found.get("schema_version") == SCHEMA_VERSION
    if not known or not isinstance(found.get("identity"), dict):
        raise FmfairError(f"{file} was not written by this version of fmfair (schema version {SCHEMA_VERSION})")
    described: dict[str, Any] = found
    return described


def read_parts(folder: Path | str) -> tuple[pl.LazyFrame, dict[str, Any]]:
    """The rows of a complete run, and what it is of.

    Raises:
        FmfairError: There is no run, several, or one that is not complete.
    """
    root = Path(folder).expanduser()
    found = sorted(root.rglob(RUN)) if root.is_dir() else []
    if len(found) != 1:
        what = "no run" if not found else f"{len(found)} runs ({', '.join(str(f.parent) for f in found[:3])})"
        raise FmfairError(f"{root} holds {what}; name the folder that holds one, with a file {RUN}")
    run, place = described_run(found[0]), found[0].parent
    images = Catalogue.read(place)
    if images is None:
        raise FmfairError(f"{place} has no {FILE}; the same command makes it again")
    parts = [part_file(place, k) for k in images.parts]
    there = [part for part in parts if part.exists()]
    if len(there) != len(parts):
        raise FmfairError(
            f"{place} is not complete: {len(there)} of {plural(len(parts), 'part')} are there; the same command makes "
            "the rest"
        )
    _check_parts(place, images.parts, images, run["identity"])
    return _scanned(parts), run


def complete(folder: Path, wanted: Catalogue) -> bool:
    """Whether a folder holds all parts of its run, and they are of all images of a list; not whether they are sound."""
    there = Catalogue.read(folder) if (folder / RUN).exists() else None
    if there is None or there.lacking(wanted).height:
        return False
    return all(part_file(folder, k).exists() for k in there.parts)


def _scanned(parts: list[Path]) -> pl.LazyFrame:
    return pl.scan_parquet(parts, hive_partitioning=False, glob=False)


def _check_parts(folder: Path, numbers: Iterable[int], images: Catalogue, identity: Mapping[str, Any]) -> None:
    """Refuses parts that are damaged, or that were left of another run whose description was removed."""
    problems, now = Problems(), json.loads(json.dumps(dict(identity)))
    for number in numbers:
        part = part_file(folder, number)
        try:
            about = dict(json.loads(pl.read_parquet_metadata(part).get(METADATA, "{}")))
        except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
            problems.add(f"{part} is damaged: {error}; {_AGAIN}")
            continue
        changed = list(changes(about.get("identity"), now, "identity"))
        if about.get("images") != images.hash(number):
            changed.append("its images are others")
        if changed:
            problems.add(f"{part} is of another run: {'; '.join(changed)}; {_AGAIN}")
    problems.raise_if_any()


@contextmanager
def sound(folder: Path) -> Iterator[None]:
    """Names the damaged parts of a folder where a block cannot read what it needs of them.

    Raises:
        FmfairError: Some are damaged where only their whole content shows it.
    """
    try:
        yield
    except pl.exceptions.PolarsError:
        problems = Problems()
        for part in sorted(folder.glob("part-*.parquet")):
            try:
                _scanned([part]).collect()
            except pl.exceptions.PolarsError as error:  # noqa: PERF203 (each by itself)
                problems.add(f"{part} is damaged: {error}; {_AGAIN}")
        problems.raise_if_any()
        raise


def part_file(folder: Path, number: int) -> Path:
    """The file of a part."""
    return folder / f"part-{number:05d}.parquet"


def changes(began: Any, now: Any, name: str = "") -> Iterator[str]:
    """What differs between two descriptions, by its place."""
    if isinstance(began, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*began, *now]):
            yield from changes(began.get(key), now.get(key), f"{name}.{key}" if name else key)
    elif began != now:
        yield f"{name.removeprefix('identity.')} was {_short(began)} and is {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
