"""The engine in DuckDB: measures groupings and compares groups by running the files of `fmfair.sql`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import polars as pl

from fmfair.curves import BIN_OF, SCHEMA
from fmfair.database.connection import Database
from fmfair.database.samples import StoredSamples
from fmfair.ece_chance import ECE, ece_chance
from fmfair.gaps import COLUMNS, KEY
from fmfair.groupings import Grouping
from fmfair.metrics.metric import Metric
from fmfair.metrics.to_sql import requested_table
from fmfair.notes import Notes
from fmfair.options import Options, Threshold, as_number
from fmfair.said import note_one_sided, wanted_thresholds
from fmfair.spread import NO_SPREAD, with_spread
from fmfair.thresholds import FIXED, per_by_key

# The files that measure, in order; between the two lines come those that are run for a few groupings at a time.
_ONCE = ("score_bins", "thresholds", "confusion", "calibration")
_LAST = ("rates", "reasons", "measured")

# What the table `measured` calls the columns of `measures.long_table`, and the types that these have.
_LONG: Mapping[str, tuple[str, pl.DataType]] = MappingProxyType(
    {
        "grouping": ("grouping", pl.UInt32()),
        "cell": ("local", pl.UInt64()),
        "listed": ("cell", pl.UInt32()),
        "order": ("position", pl.UInt16()),
        "metric": ("metric", pl.String()),
        "t": ("t", pl.UInt32()),
        "threshold": ("threshold", pl.Float64()),
        "threshold_rule": ("threshold_rule", pl.String()),
        "value": ("value", pl.Float64()),
        "n": ("n", pl.Int64()),
        "n_pos": ("n_pos", pl.Int64()),
        "weight": ("weight", pl.Float64()),
        "denominator": ("denominator", pl.Int64()),
        "note": ("note", pl.String()),
    }
)
_WANTED: Mapping[str, pl.DataType] = MappingProxyType(
    {"t": pl.Int32(), "rule": pl.String(), "by": pl.Int32(), "threshold": pl.Float64()}
)


_NOT_FITTED = pl.DataFrame(
    schema={
        "cell": pl.Int32,
        **dict.fromkeys(("calibration_intercept", "calibration_slope"), pl.Float64),
        "fit_note": pl.String,
    }
)
# The rows, in all groupings together, that are sorted in less time than DuckDB takes to read a file.
_FEW_ROWS = 200_000


class DatabaseEngine:
    """Measures the samples in the view `samples` of a database."""

    def __init__(self, database: Database, samples: StoredSamples, options: Options, notes: Notes) -> None:
        self.database = database
        self.samples = samples
        self.options = options
        self.notes = notes

    def measure(self, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The long table of `measures.long_table`; `listed` are the cells to list for each grouping."""
        cells = self._cells = self._numbered(groupings, listed)
        self._put_inputs(groupings, cells)
        for name in ("metrics", "blocks", *_ONCE):
            self.database.script(name)
        self._collect("ranking", "ranked", len(groupings))
        if any(m.family == "fitted" for m in self.options.metrics):
            self._collect("fit", "fitted", len(groupings))
        else:
            self.database.put("fitted", _NOT_FITTED)
        for name in _LAST:
            self.database.script(name)
        whole = cells.filter(pl.col("grouping") == groupings.index(Grouping())).select("cell")
        confusion = self.database.fetch("FROM confusion ORDER BY cell, t")
        note_one_sided(confusion.join(whole, on="cell", how="semi"), self.samples.by.height, self.notes)
        found = self.database.fetch("FROM measured ORDER BY cell, position, t")
        found = found.join(cells, on="cell", how="left", maintain_order="left")
        long = found.select(pl.col(ours).cast(dtype).alias(name) for name, (ours, dtype) in _LONG.items())
        return long if self.options.ci is None else self._with_spread(long, confusion, cells, len(groupings))

    def _with_spread(
        self, long: pl.DataFrame, confusion: pl.DataFrame, cells: pl.DataFrame, groupings: int
    ) -> pl.DataFrame:
        """The long table with what is known of the spread of every value; some groupings may have no cells."""
        self.database.script("units")
        self._collect("spread", "varied", groupings)
        if self.samples.weighted or self.samples.clustered:
            self._collect("moments", "moments", groupings)
            confusion = confusion.join(self.database.fetch("FROM moments"), on=["cell", "t"], how="left")
        spread = self.database.fetch(
            "SELECT v.* EXCLUDE (position), r.metric FROM varied AS v JOIN requested AS r USING (position)"
        )
        spreads = [NO_SPREAD, spread.with_columns(pl.col("cell").cast(pl.UInt64))]
        if any(m.name == ECE for m in self.options.metrics):
            self.database.script("ece_chance")
            bins = self.database.fetch("FROM chance_bins ORDER BY cell, bin")
            spreads.append(ece_chance(bins.with_columns(pl.col("cell").cast(pl.UInt64))))
        place = cells.select(pl.col("grouping").cast(pl.UInt32), pl.col("cell", "local").cast(pl.UInt64))
        spread, confusion = (
            table.with_columns(pl.col("cell").cast(pl.UInt64))
            .join(place, on="cell")
            .drop("cell")
            .rename({"local": "cell"})
            for table in (pl.concat(spreads, how="diagonal"), confusion)
        )
        return with_spread(long, spread, confusion, self.options.metrics)

    def curves(self, groupings: Sequence[Grouping], wanted: Sequence[int]) -> list[pl.DataFrame]:
        """The tables of `curves.score_curves`, once the groupings were measured."""
        del groupings  # their cells are in the database already
        self.database.set({"groupings": list(wanted), "curve_bins": BIN_OF.tolist()})
        self.database.script("curves")
        self.database.set({"groupings": None})
        found = self.database.fetch("FROM curves ORDER BY cell, bin")
        cells = self._cells.select(pl.col("cell", "grouping").cast(pl.Int32), "local")
        found = found.join(cells, on=["cell", "grouping"]).drop("cell").rename({"local": "cell"})
        return [
            found.filter(pl.col("grouping") == i).select(pl.col(c).cast(t) for c, t in SCHEMA.items()) for i in wanted
        ]

    def compare(
        self, groups: pl.DataFrame, overall: pl.DataFrame, metrics: Sequence[Metric], least_for_worst: int = 1
    ) -> pl.DataFrame:
        """The table of `gaps.compare`."""
        place = [pl.col(name).alias("position" if name == "order" else name) for name in KEY]
        ordered = groups.with_row_index("cell_order").select(*place, "cell_order", "group", "value", "in_gaps", "note")
        self.database.put("group_values", ordered)
        self.database.put("whole_values", overall.select(*place, "value"))
        self.database.put("requested", requested_table(metrics))
        self.database.set({"least_for_worst": least_for_worst})
        self.database.script("gaps")
        found = self.database.fetch("FROM compared")
        return found.select(pl.col(name).cast(_COMPARED.get(name, found.schema[name])) for name in COLUMNS)

    def _numbered(self, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The cells of all groupings: `cell` (numbered through), `grouping`, `local`, `by` and `scope`."""
        parts = [
            cells.select(pl.lit(i, pl.Int32).alias("grouping"), pl.col("cell").alias("local"), pl.col("by"))
            for i, cells in enumerate(listed)
        ]
        cells = pl.concat(parts).with_row_index("cell").with_columns(pl.col("cell", "by").cast(pl.Int32))
        whole_of = pl.Series([groupings.index(self._scope(g)) for g in groupings], dtype=pl.Int32)
        cells = cells.with_columns(whole_of.gather(cells["grouping"]).alias("whole"))
        wholes = cells.select(pl.col("grouping").alias("whole"), "by", pl.col("cell").alias("scope"))
        return cells.join(wholes, on=["whole", "by"], how="left", maintain_order="left").drop("whole")

    def _scope(self, grouping: Grouping) -> Grouping:
        """The grouping of all rows on which the thresholds of a grouping are tuned."""
        per_attribute = self.options.conventions.threshold_per_attribute
        return grouping.all_rows(self.samples.incomplete) if per_attribute else Grouping()

    def _put_inputs(self, groupings: Sequence[Grouping], cells: pl.DataFrame) -> None:
        """The input tables and variables of the SQL files, but for `samples`."""
        scale, conventions = self.samples.scale, self.options.conventions
        profiles = self.samples.seen.with_row_index("profile")
        members = [
            profiles.select("profile", g.cell().alias("local"), pl.lit(i, pl.Int32).alias("grouping")).drop_nulls()
            for i, g in enumerate(groupings)
        ]
        numbered = pl.concat(members).join(cells, on=["grouping", "local"], how="inner", maintain_order="left")
        self.database.put("members", numbered.select(pl.col("profile", "grouping", "cell").cast(pl.Int32)))
        self.database.put("cells", cells.select("cell", "grouping", "by", "scope"))
        self.database.put("wanted", pl.DataFrame(list(self._wanted()), _WANTED, orient="row"))
        self.database.put("requested", requested_table(self.options.metrics))
        self.database.set(
            {
                "strict": conventions.strict,
                "smoothed_f1": conventions.smoothed_f1,
                "ece_on_group_range": conventions.ece_on_group_range,
                "weighted": self.samples.weighted,
                "scored": scale is not None,
                "probability": scale is not None and scale.is_probability,
                "decided": self.samples.decided,
                "clustered": self.samples.clustered,
                "groupings": None,
            }
        )

    def _wanted(self) -> Iterator[tuple[int, str, int | None, float | None]]:
        """The rows of the table `wanted`."""
        scale = self.samples.scale
        wanted: Sequence[Threshold] = ()
        if scale is not None and any(m.at_threshold for m in self.options.metrics):
            wanted = wanted_thresholds(self.options, scale, decided=self.samples.decided, notes=self.notes)
        for t, item in enumerate(wanted):
            if isinstance(item, Mapping):
                for by, value in enumerate(per_by_key(item, self.samples.by)):
                    yield t, FIXED, by, value
            else:
                number = as_number(item)
                yield t, FIXED if number is not None else str(item), None, number

    def _collect(self, name: str, table: str, groupings: int) -> None:
        """Run a file for a few groupings at a time.

        Two are the two halves of `blocks.sql`, neither larger than the samples; one halves them, where memory is short.
        Of few samples there are more: what takes its time then is that DuckDB reads the file.
        """
        found, at_once = [], max(1 if self.database.limited else 2, _FEW_ROWS // max(self.samples.n, 1))
        for first in range(0, groupings, at_once):
            self.database.set({"groupings": list(range(first, min(first + at_once, groupings)))})
            self.database.script(name)
            found.append(self.database.fetch(f"FROM {table}"))
        self.database.set({"groupings": None})
        self.database.put(table, pl.concat(found))


_COMPARED: Mapping[str, pl.DataType] = MappingProxyType(
    {"grouping": pl.UInt32(), "by": pl.UInt32(), "order": pl.UInt16(), "t": pl.UInt32(), "n_groups": pl.Int64()}
)
