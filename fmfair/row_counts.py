"""How many rows of every profile there are of each kind: what must not be told of few rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from fmfair.samples import Samples


class RowCounter(Protocol):
    """Counts the rows of samples, wherever they are."""

    def two_values(self) -> float | None:
        """The larger of the scores where there are only two: decisions, of which a ranking tells the counts."""

    def patients(self) -> pl.DataFrame | None:
        """Columns `profile` and `unit`: each patient once per profile; None where patients are not told apart."""

    def counted(self, cuts: pl.DataFrame, *, strict: bool) -> pl.DataFrame:
        """The rows of every profile and kind.

        Args:
            cuts: Columns `by` and `threshold`, in rising order, each pair once.
            strict: Whether a score at a threshold lies below it.

        Returns:
            Columns `profile` (a position in the samples' `seen`), `rows`, and what tells them apart: for a
            classification `y`, `pred` where there are decisions, and `position`, how many cuts of its by-key a row lies
            on or above; for a segmentation a column per metric, of `both_empty` its value and of the others whether
            there is one.
        """


@dataclass(frozen=True)
class RowsInMemory:
    """Counts the rows of a table of samples."""

    samples: Samples

    def two_values(self) -> float | None:
        """See `RowCounter`."""
        if "prob" not in self.samples.frame.columns:
            return None
        values = self.samples.frame["prob"]
        return float(values.max()) if values.n_unique() == 2 else None  # type: ignore[arg-type]  # a float

    def patients(self) -> pl.DataFrame | None:
        """See `RowCounter`."""
        frame = self.samples.frame
        if "unit" not in frame.columns:
            return None
        known = [c for c in ("y", "dice", "iou") if c in frame.columns]
        whose = pl.DataFrame([self._profile, frame["unit"]])
        return whose.filter(frame.select(pl.any_horizontal(pl.col(known).is_not_null())).to_series()).unique()

    @property
    def _profile(self) -> pl.Series:
        return pl.Series("profile", self.samples.profiles.of_row, dtype=pl.UInt32)

    def counted(self, cuts: pl.DataFrame, *, strict: bool) -> pl.DataFrame:
        """See `RowCounter`."""
        frame, profile = self.samples.frame, self._profile
        if "y" in frame.columns:
            kinds = [frame[c] for c in ("y", "pred") if c in frame.columns]
            kinds += [self._positions(cuts, strict=strict)] if cuts.height else []
        else:
            known = [c for c in frame.columns if c in ("dice", "iou")]
            kinds = frame.select(pl.col(known).is_not_null()).get_columns()
            kinds += [frame[c] for c in ("both_empty",) if c in frame.columns]
        rows = pl.DataFrame([profile, *kinds])
        return rows.group_by(rows.columns).agg(rows=pl.len().cast(pl.Int64)).sort(rows.columns)

    def _positions(self, cuts: pl.DataFrame, *, strict: bool) -> pl.Series:
        by, prob = self.samples.frame["by"].to_numpy(), self.samples.frame["prob"].to_numpy()
        position = np.zeros(len(prob), dtype=np.int32)
        order = np.argsort(by, kind="stable")
        keys = np.arange(self.samples.by.height + 1)
        starts = np.searchsorted(by[order], keys)
        cut_starts = np.searchsorted(cuts["by"].to_numpy(), keys)
        places = cuts["threshold"].to_numpy()
        for i in np.unique(cuts["by"].to_numpy()).tolist():
            rows = order[starts[i] : starts[i + 1]]
            own = places[cut_starts[i] : cut_starts[i + 1]]
            position[rows] = np.searchsorted(own, prob[rows], side="left" if strict else "right")
        return pl.Series("position", position)
