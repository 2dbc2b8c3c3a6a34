"""Model selection: what a validation split says of a head, all together or for the group it serves worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.errors import FmfairError, listing
from fmfair.metrics import auc
from fmfair.runners.similarity import Floats

# An attribute of more values is a measurement, whose groups need cut points.
MOST_GROUPS = 20


@dataclass(frozen=True)
class Judge:
    """Values heads on a validation split.

    Attributes:
        y: The labels.
        groups: The group of every image, by attribute; none where the loss decides.
    """

    y: npt.NDArray[np.int64]
    groups: pl.DataFrame

    @classmethod
    def of(
        cls, label: str, table: pl.DataFrame, y: npt.NDArray[np.int64], select: str, attributes: Sequence[str]
    ) -> Judge:
        """The judge of a label; a missing attribute, NULL or NaN, is no group.

        Raises:
            FmfairError: No image of the split is usable, an attribute has too many values, or no group both classes.
        """
        if not len(y):
            raise FmfairError(f"label {label!r}: no image of the split 'validation' is usable")
        groups = table.select(attributes).fill_nan(None) if select == "worst_auc" else pl.DataFrame()
        many = [name for name in groups.columns if groups[name].drop_nulls().n_unique() > MOST_GROUPS]
        if many:
            raise FmfairError(f"groups: {listing(many)} has more than {MOST_GROUPS} values; cut it into groups first")
        judge = cls(y, groups)
        if groups.width and judge.worst_auc(np.zeros(len(y))) is None:
            raise FmfairError(f"label {label!r}: no group of {listing(attributes)} has both classes in 'validation'")
        return judge

    def value(self, logits: Floats) -> dict[str, float]:
        """What decides between heads, by name, and after it what decides between equals: the loss."""
        loss = {"loss": self.loss(logits)}
        lowest = self.worst_auc(logits)
        return loss if lowest is None else {"worst_auc": lowest, **loss}

    def loss(self, logits: Floats) -> float:
        """The mean cross-entropy, every image counting alike."""
        return float(np.logaddexp(0.0, np.where(self.y == 1, -logits, logits)).mean())

    def worst_auc(self, logits: Floats) -> float | None:
        """The lowest AUC of a group with both classes; None where there is none."""
        found = []
        for group in self.groups:
            scored = pl.DataFrame({"y": self.y, "s": logits, "group": group}).drop_nulls("group")
            found += scored.group_by("group").agg(auc("y", "s").alias("auc"))["auc"].drop_nulls().to_list()
        return min(found, default=None)


def better(value: Mapping[str, float], than: Mapping[str, float]) -> bool:
    """Whether a head of this value is to be preferred; of two that are equal in all the first one is.

    Examples:
        >>> better({"worst_auc": 0.8, "loss": 0.4}, {"worst_auc": 0.8, "loss": 0.5})
        True
        >>> better({"worst_auc": 0.8, "loss": 0.4}, {"worst_auc": 0.9, "loss": 0.5})
        False
    """
    return _order(value) > _order(than)


def _order(value: Mapping[str, float]) -> list[float]:
    return [-v if name == "loss" else v for name, v in value.items()]
