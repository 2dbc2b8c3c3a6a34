"""Small numbers hidden from a report: from its values, before anything is made of them, and from what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fmfair.errors import plural
from fmfair.groupings import Grouping
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.row_counts import RowCounter
from fmfair.samples import Cohort, missing_group_note
from fmfair.small_cells import BOTH_EMPTY, OF_SCORES, Hidden, Place, hidden_cells
from fmfair.summary import shown_threshold
from fmfair.thresholds import DECIDED, FIXED

# The note of a number that is not shown.
SUPPRESSED = "suppressed"
# What is hidden of a row of the long table: nothing, its value, the numbers of its classes too, everything.
NOTHING, VALUE, CLASSES, ALL = range(4)
# What such a row is of; all else in it are numbers, or words on them.
_PLACE: Mapping[str, pl.DataType] = {"grouping": pl.UInt32(), "cell": pl.UInt64()}
_NAMES = ("grouping", "cell", "listed", "order", "metric", "t", "threshold", "threshold_rule", "note")


@dataclass(frozen=True)
class Suppression:
    """What is hidden of the values of a report.

    Attributes:
        least: The smallest number of rows that is shown.
        hidden: The cells of which something is hidden.
        groupings: How the samples are divided.
        by_of: The by-key of every listed cell.
    """

    least: int
    hidden: Hidden
    groupings: Sequence[Grouping]
    by_of: pl.Series

    @classmethod
    def of(
        cls,
        long: pl.DataFrame,
        samples: Cohort,
        groupings: Sequence[Grouping],
        listed: Sequence[pl.DataFrame],
        rows: RowCounter,
        options: Options,
    ) -> Suppression:
        """What must be hidden of the values of a long table; see `small_cells.hidden_cells`."""
        least, strict = options.suppress_below or 0, options.conventions.strict
        by_of = pl.concat([cells["by"] for cells in listed])
        at = long.filter(pl.col("t").is_not_null() & pl.col("value").is_not_null())
        asked = at.select("grouping", "t", "threshold", by_of.gather(at["listed"]).alias("by")).unique()
        first = shown_threshold(options, asked)
        hidden = hidden_cells(asked, samples, groupings, rows, least, strict=strict, first=first)
        return cls(least, hidden, groupings, by_of)

    def applied(self, long: pl.DataFrame) -> pl.DataFrame:
        """The long table with NULL for what is hidden, the reason in `note`, and a column `suppressed`."""
        whole = {**dict.fromkeys(self.hidden.classes, CLASSES), **dict.fromkeys(self.hidden.all, ALL)}
        of_cell = pl.DataFrame(
            [(*place, level) for place, level in whole.items()], {**_PLACE, "level": pl.Int8}, orient="row"
        )
        parts = [(*place, name) for name, places in self.hidden.values.items() for place in places]
        of_value = pl.DataFrame(parts, {**_PLACE, "of": pl.String}, orient="row").with_columns(
            own=pl.lit(VALUE, pl.Int8)
        )
        of = (
            pl.when(pl.col("t").is_not_null())
            .then(pl.col("t").cast(pl.String))
            .otherwise(pl.when(pl.col("metric") == BOTH_EMPTY).then("metric").otherwise(pl.lit(OF_SCORES)))
        )
        place = list(_PLACE)
        rows = long.with_columns(of.alias("of")).join(of_cell, on=place, how="left", maintain_order="left")
        rows = rows.join(of_value, on=[*place, "of"], how="left", maintain_order="left")
        level = pl.max_horizontal(pl.col("level", "own").fill_null(NOTHING))
        shown_to = {"n": CLASSES, "weight": CLASSES, "n_pos": VALUE}
        tuned = ~pl.col("threshold_rule").is_in([FIXED, DECIDED])
        keys = [cell for grouping, cell in self.hidden.classes if self.groupings[grouping] == Grouping()]
        unseen = self.by_of.gather(long["listed"]).is_in(keys)
        return rows.with_columns(
            *(
                pl.when(level <= shown_to.get(c, NOTHING)).then(pl.col(c)).alias(c)
                for c in long.columns
                if c not in _NAMES
            ),
            # A rule chooses the score of one row, which says much of few.
            pl.when(~(tuned & unseen)).then("threshold").alias("threshold"),
            pl.when(level > NOTHING).then(pl.lit(SUPPRESSED)).otherwise("note").alias("note"),
            suppressed=level > NOTHING,
        ).drop("of", "level", "own")

    def note(self, notes: Notes) -> None:
        """Says what is hidden, but not how much: whether a number is small itself or tells another is not said."""
        notes.warn(
            f"suppress_below={self.least}: no number of 1 to {self.least - 1} rows of a group, nor of those "
            "among them that its values count, is shown or can be calculated from what is shown; what is hidden for "
            f"that is NULL with the note {SUPPRESSED!r}"
        )
        for number, grouping in enumerate(self.groupings):
            if grouping.parts or grouping == Grouping():
                self._note_grouping(number, grouping, notes)
        for name, rows in self.hidden.lacking.items():
            lacking = "rows" if rows is None else plural(rows, "row")
            notes.warn(missing_group_note(name, lacking) + (", how many is suppressed" if rows is None else ""))

    def _note_grouping(self, number: int, grouping: Grouping, notes: Notes) -> None:
        """Which numbers of how many groups are hidden."""

        def own(places: set[Place]) -> set[Place]:
            return {place for place in places if place[0] == number}

        everything, classes = own(self.hidden.all), own(self.hidden.classes)
        values = own(set().union(*self.hidden.values.values()))
        several = self.by_of.n_unique() > 1
        told = (
            (everything, "everything"),
            (classes - everything, "positives, negatives and values"),
            (values - classes, "some values"),
        )
        if grouping.parts:
            name, over = grouping.attribute, " (over all by-keys)" if several else ""
            said = [f"{what} of {plural(len(cells), 'group')}" for cells, what in told if cells]
        else:
            name, over = "all rows", ""
            said = [f"{what} of {plural(len(cells), 'by-key')}" if several else what for cells, what in told if cells]
        if said:
            notes.warn(f"suppress_below={self.least}: {name}: {', '.join(said)} hidden{over}")
