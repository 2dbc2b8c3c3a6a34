"""How a manifest is made from a release: what the user may choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmfair.errors import Problems, check_choice
from fmfair.notes import Notes
from fmfair.runners.datasets.recipe import Recipe
from fmfair.runners.splits import RATIO

SPLIT_RULES = ("patients", "released", "fairmedfm")
LABEL_RULES = ("standard", "fairmedfm")
MISSING_IMAGES = ("raise", "drop", "keep")


@dataclass(frozen=True)
class Choices:
    """How a manifest is made.

    Attributes:
        split: `patients`, seeded and by patient; `released`, as it came with the data set; `fairmedfm`, by the
            published rule on the rows that it is applied to.
        labels: `standard`, or `fairmedfm` as the published benchmark reads them.
        missing_images: Of rows whose image is not found: `raise` an error, `drop` them, or `keep` them unseen.
        seed: Of the split by patient.
        ratio: Of the split by patient: the shares of training, validation and test.
        balance: Of the split by patient: attributes and labels whose combinations are shared out alike.
        bins: Where numbers of `balance` are cut.
    """

    split: str = "patients"
    labels: str = "standard"
    missing_images: str = "raise"
    seed: int = 0
    ratio: Sequence[float] = RATIO
    balance: Sequence[str] = ()
    bins: Mapping[str, Sequence[float]] | None = None

    def __post_init__(self) -> None:
        problems = Problems()
        for option, known in (("split", SPLIT_RULES), ("labels", LABEL_RULES), ("missing_images", MISSING_IMAGES)):
            with problems.collecting():
                check_choice(option, getattr(self, option), known)
        if self.split != "patients" and self.balance:
            problems.add(f"balance= is for splits by patient; split={self.split!r} is what it is")
        problems.raise_if_any()


@dataclass(frozen=True)
class Job:
    """One data set to be made a manifest of: the recipe, the folder of the release, the choices, and the notes."""

    how: Recipe
    root: Path
    chosen: Choices
    notes: Notes
