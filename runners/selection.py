"""Model selection: what a validation split says of a head, all together or for the group it serves worst."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Values heads on a validation split; more is better.

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
        """The judge of a label.

        Raises:
            FmfairError: No image of the split is usable, an attribute has too many values, or no group both classes.
        """
        if not len(y):
            raise FmfairError(f"label {label!r}: no image of the split 'validation' is usable")
        groups = table.select(attributes) if select == "worst_auc" else pl.DataFrame()
        many = [name for name in groups.columns if groups[name].n_unique() > MOST_GROUPS]
        if many:
            raise FmfairError(f"groups: {listing(many)} has more than {MOST_GROUPS} values; cut it into groups first")
        judge = cls(y, groups)
        if groups.width and judge.value(np.zeros(len(y))) == -np.inf:
            raise FmfairError(f"label {label!r}: no group of {listing(attributes)} has both classes in 'validation'")
        return judge

    def value(self, logits: Floats) -> float:
        """The lowest AUC of a group with both classes; without groups minus the mean cross-entropy."""
        if not self.groups.width:
            return float(-np.logaddexp(0.0, np.where(self.y == 1, -logits, logits)).mean())
        scored = self.groups.with_columns(pl.Series("\0y", self.y), pl.Series("\0s", logits))
        lowest = [
            scored.drop_nulls(name).group_by(name).agg(auc("\0y", "\0s").alias("\0auc"))["\0auc"].fill_nan(None).min()
            for name in self.groups.columns
        ]
        return min((float(v) for v in lowest if v is not None), default=-np.inf)  # type: ignore[arg-type]
