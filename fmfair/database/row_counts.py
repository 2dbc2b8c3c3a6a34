"""How many rows of every profile there are of each kind: the SQL twin of `fmfair.row_counts`."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fmfair.database.connection import Database
from fmfair.database.samples import StoredSamples


@dataclass(frozen=True)
class RowsInDatabase:
    """Counts the rows of the view `samples`."""

    database: Database
    samples: StoredSamples

    def two_values(self) -> float | None:
        """See `RowCounter`."""
        if self.samples.scale is None:
            return None
        low, high = self.database.fetch("SELECT min(prob), max(prob) FROM samples").row(0)
        between = "SELECT count(*) FROM (FROM samples WHERE prob > $1 AND prob < $2 LIMIT 1)"
        two = low < high and not self.database.fetch(between, [low, high]).item()
        return float(high) if two else None

    def patients(self) -> pl.DataFrame | None:
        """See `RowCounter`."""
        if not self.samples.clustered:
            return None
        found = self.database.fetch("SELECT DISTINCT profile, unit FROM samples")
        return found.with_columns(pl.col("profile").cast(pl.UInt32))

    def counted(self, cuts: pl.DataFrame, *, strict: bool) -> pl.DataFrame:
        """See `RowCounter`."""
        kinds = ["y", *(["pred"] if self.samples.decided else [])]
        source = "samples AS s"
        if cuts.height:
            place = "nextafter(threshold, 'infinity'::DOUBLE)" if strict else "threshold"
            numbered = cuts.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("by").alias("position"))
            self.database.put("suppression_cuts", numbered)
            self.database.put("suppression_keys", self.samples.seen.select("by").with_row_index("profile"))
            kinds.append("coalesce(c.position, 0) AS position")
            source += (
                " JOIN suppression_keys AS k ON s.profile = k.profile ASOF LEFT JOIN "
                f'(SELECT "by", position, {place} AS place FROM suppression_cuts) AS c '
                'ON k."by" = c."by" AND s.prob >= c.place'
            )
        query = f"SELECT s.profile, {', '.join(kinds)}, count(*) AS rows FROM {source} GROUP BY ALL"
        return self.database.fetch(query).with_columns(pl.col("profile").cast(pl.UInt32), pl.col("rows").cast(pl.Int64))
