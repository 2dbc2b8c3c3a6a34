"""The images that a folder of embeddings is of, and the part that each of them is in.

The list lies beside the parts. Images that are not in it become parts of their own, so that a data set which gets new
rows is never encoded again; what is encoded stays. A manifest may be of some of the images, and in another order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from fmfair.atomic import whole_file
from fmfair.errors import FmfairError, plural
from fmfair.runners.provenance import METADATA, table_hash

# The columns of a manifest that embeddings depend on; labels, groups and splits may change.
IMAGES = ("sample_id", "path")
FILE = "_images.parquet"
# A run is made of about so many parts, which jobs share out among them, of so many images at least.
PARTS, FEWEST = 64, 64


def part_size(images: int, most: int) -> int:
    """How many of so many images are a part.

    Examples:
        >>> [part_size(images, 1024) for images in (400, 10_000, 1_000_000)]
        [64, 157, 1024]
    """
    return min(most, max(FEWEST, math.ceil(images / PARTS)))


@dataclass(frozen=True)
class Catalogue:
    """Images in parts.

    Attributes:
        table: `sample_id`, `path` and `part` (Int32, from 0), in the order of the parts.
        root: The folder that the paths start from.
    """

    table: pl.DataFrame
    root: str

    @classmethod
    def of(cls, images: pl.DataFrame, root: Path, size: int) -> Catalogue:
        """The images of a manifest, so many in a part."""
        return cls(_in_parts(images.select(IMAGES), size, 0), str(Path(root).resolve()))

    @classmethod
    def read(cls, folder: Path) -> Catalogue | None:
        """That of a folder; None where there is none.

        Raises:
            FmfairError: It is damaged.
        """
        file = folder / FILE
        if not file.is_file():
            return None
        try:
            root = json.loads(pl.read_parquet_metadata(file)[METADATA])["root"]
            return cls(pl.read_parquet(file, glob=False).select(*IMAGES, "part"), root)
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
            raise FmfairError(
                f"{file} is damaged: {error}; remove it, and the same command makes it again from its manifest"
            ) from error

    def write(self, folder: Path) -> None:
        """Writes it into a folder, in place of the one that is there."""
        about = {METADATA: json.dumps({"kind": "images", "root": self.root})}
        with whole_file(folder / FILE) as path:
            self.table.write_parquet(path, compression="zstd", metadata=about)

    @cached_property
    def parts(self) -> dict[int, pl.DataFrame]:
        """The images of each part by its number: `sample_id` and `path`."""
        found = self.table.partition_by("part", maintain_order=True, include_key=False, as_dict=True)
        return {number: images for (number,), images in found.items()}

    def hash(self, number: int) -> str:
        """What a part keeps of the images that it is of."""
        return table_hash(self.parts[number])

    def lacking(self, other: Catalogue) -> pl.DataFrame:
        """The images of another list that this one does not have."""
        return other.table.select(IMAGES).join(self.table, on="sample_id", how="anti", maintain_order="left")

    def without(self, missing: Sequence[int], other: Catalogue) -> Catalogue:
        """Without those of these parts that are of images which another list does not have."""
        some = self.table.filter(pl.col("part").is_in(missing))
        gone = some.join(other.table, on="sample_id", how="anti")["part"].unique()
        return Catalogue(self.table.filter(~pl.col("part").is_in(gone.implode())), self.root) if len(gone) else self

    def grown(self, other: Catalogue) -> Catalogue:
        """With the images of another list that this one does not have, in parts of their own."""
        size = max((images.height for images in other.parts.values()), default=1)
        new = _in_parts(self.lacking(other), size, max(self.parts, default=-1) + 1)
        return Catalogue(pl.concat([self.table, new]), self.root) if new.height else self

    def below(self, other: Catalogue) -> Catalogue:
        """The same images below the folder of another list, which `check` took for the same files."""
        return self if self.root == other.root else Catalogue(self.table, other.root)

    def check(self, other: Catalogue, folder: Path) -> None:
        """Makes sure that images of the same name are the same images.

        Raises:
            FmfairError: Some have another path, or it is another list of images, which lie below another folder.
        """
        both = other.table.join(self.table, on="sample_id", suffix="_then")
        moved = both.filter(pl.col("path") != pl.col("path_then")).height
        then, now = self.table.height, other.table.height
        if moved:
            what = "has" if moved == 1 else "have"
            raise FmfairError(
                f"{folder} holds embeddings of other images: {moved:,} of {plural(now, 'image')} {what} another path "
                "than then. Name another output folder, or remove this one"
            )
        if self.root != other.root and not both.height == then == now:
            raise FmfairError(
                f"{folder} holds embeddings of other images: {plural(then, 'image')} below {self.root} then, and "
                f"{now:,} below {other.root} now. Where these are the same files say root={self.root!r}; otherwise "
                "name another output folder"
            )


def _in_parts(images: pl.DataFrame, size: int, first: int) -> pl.DataFrame:
    return images.with_columns(part=(pl.int_range(pl.len()) // size + first).cast(pl.Int32))
