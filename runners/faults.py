"""Images without an embedding: how many there are, and why; never which, as names may be those of patients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from fmfair.errors import Problems, plural
from fmfair.notes import Notes
from fmfair.runners.tables import OK

if TYPE_CHECKING:
    from fmfair.runners.manifest import Manifest

# Reasons that are told of each status, the commonest first.
REASONS_SHOWN = 3


@dataclass(frozen=True)
class Faults:
    """What a table of embeddings says of images that could not be encoded.

    Attributes:
        images: How many images there are, a volume counting once.
        unusable: Those of which nothing could be encoded.
        reasons: Status, reason and number of images, the commonest first; a volume counts if a slice of it does.

    Examples:
        >>> states = ["ok", "unreadable", "unreadable", "unreadable"]
        >>> reasons = [None, "is empty", "does not exist", "is empty"]
        >>> str(Faults.of(pl.LazyFrame({"sample_id": list("abcd"), "status": states, "reason": reasons})))
        '3 images unreadable (is empty: 2, does not exist: 1)'
    """

    images: int = 0
    unusable: int = 0
    reasons: tuple[tuple[str, str, int], ...] = ()

    @classmethod
    def of(cls, embeddings: pl.LazyFrame) -> Faults:
        """The faults of a table of embeddings."""
        rows = embeddings.select("sample_id", "status", "reason").collect()
        good = pl.col("status") == OK
        counts = rows.filter(~good).group_by("status", "reason").agg(pl.col("sample_id").n_unique().alias("images"))
        ordered = counts.sort(pl.col("images"), "status", "reason", descending=[True, False, False])
        every = rows["sample_id"].n_unique()
        return cls(every, every - rows.filter(good)["sample_id"].n_unique(), tuple(ordered.rows()))

    def __str__(self) -> str:
        statuses = dict.fromkeys(status for status, *_ in self.reasons)
        return ", ".join(self._of_status(status) for status in statuses)

    def _of_status(self, status: str) -> str:
        found = [(reason, count) for s, reason, count in self.reasons if s == status]
        shown = [f"{reason}: {count:,}" if len(found) > 1 else reason for reason, count in found[:REASONS_SHOWN]]
        more = f" and {plural(len(found) - REASONS_SHOWN, 'more reason')}" if len(found) > REASONS_SHOWN else ""
        total = sum(count for _, count in found)
        return f"{plural(total, 'image')} {status.replace('_', ' ')} ({', '.join(shown)}{more})"


def check_usable(images: pl.LazyFrame, manifest: Manifest, used: Sequence[Sequence[str]], notes: Notes) -> None:
    """Notes the images that could not be encoded, of each of several choices of splits.

    Raises:
        FmfairError: None of the images of some splits could.
    """
    problems = Problems()
    for splits in used:
        rows = manifest.of_split(*splits).lazy().select("sample_id")
        faults = Faults.of(images.join(rows, on="sample_id", how="semi"))
        split = f"the split {' and '.join(map(repr, splits))}"
        again = "once the files are mended, fmfair run embed --retry or Study.embed(retry=True) reads them again"
        if faults.unusable == faults.images:
            problems.add(f"no image of {split} could be encoded, of {faults.images:,}: {faults}; {again}")
        elif faults.reasons:
            told = notes.warn if 2 * faults.unusable > faults.images else notes.say
            told(f"of {plural(faults.images, 'image')} of {split}: {faults}; {again}")
    problems.raise_if_any()
