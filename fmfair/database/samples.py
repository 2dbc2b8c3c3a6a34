"""The samples of a database: the SQL twin of `fmfair.samples`.

By-keys and attributes are judged on their distinct combinations, the profiles; a row is then the number of its profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
import polars.selectors as cs

from fmfair.attributes import Attribute, check_bins, encode
from fmfair.database.binned import coded
from fmfair.database.levels import Levels, check_each
from fmfair.database.outcomes import Table, check_units, check_weights, read_parts
from fmfair.database.stored import Rows, finite_rows, score_samples, store
from fmfair.errors import FmfairError, Problems
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.repeats import refuse_repeats, telling_columns
from fmfair.samples import by_keys, check_zero_weights, note_constant, note_missing_groups, per_pair
from fmfair.scores import ScoreScale
from fmfair.tally import Tally

# Repeated ids whose rows are looked at to say what tells them apart.
LOOKED_AT = 100


@dataclass(frozen=True)
class StoredSamples:
    """What is known of samples whose rows are in a database, as the view `samples`; compare `fmfair.samples.Samples`.

    Attributes:
        by: One row per by-key, in order; its columns are the user's.
        attributes: The attributes in the user's order.
        seen: Columns `by`, `g0`, ... of every profile, those without an evaluated row included.
        evaluated: How many rows of each profile are evaluated.
        scale: How the scores were read; None when there are only decisions.
        weighted: Whether weights were given.
        decided: Whether decisions were given.
        clustered: Whether patients were told apart.
    """

    by: pl.DataFrame
    attributes: tuple[Attribute, ...]
    seen: pl.DataFrame
    evaluated: pl.Series
    scale: ScoreScale | None
    weighted: bool
    decided: bool
    clustered: bool = False

    @property
    def n(self) -> int:
        """How many samples there are."""
        return int(self.evaluated.sum())

    @property
    def has_rows(self) -> bool:
        """The rows are in the database."""
        return True

    @property
    def incomplete(self) -> frozenset[str]:
        """The columns of group codes that have missing values among the evaluated rows."""
        present = self.seen.filter(self.evaluated > 0)
        return frozenset(a.column for a in self.attributes if present[a.column].null_count())


def stored_samples(table: Table) -> StoredSamples:
    """The samples of a classification, as the view `samples` of the database.

    Raises:
        FmfairError: The table is empty, or a column cannot be used as what it was named for.
    """
    columns, options, notes = table.columns, table.options, table.notes
    if not int(table.database.fetch("SELECT count(*) FROM (FROM source LIMIT 1)").item()):
        raise FmfairError("the table has no rows")
    check_bins(options.bins, columns.attributes)
    # A number that is cut into groups may be a score or an id as well, and is itself for those.
    with_codes, numbers_coded = coded(table)
    profiles = _profiles(with_codes)
    by, numbers = by_keys(profiles.frame, columns.by)
    if not options.conventions.strict_input:
        _check_repeats(table)
    attributes, codes = _encoded(profiles, columns.attributes, numbers_coded, options, notes)
    seen = pl.DataFrame([numbers, *codes])
    check_units(table)
    weight = check_weights(table, profiles)
    parts = read_parts(table)
    rows = Rows(table, parts, profiles)
    store(rows)
    finite_rows(rows)
    scale = score_samples(rows)
    check_zero_weights(seen, weight, attributes)
    if columns.pairs:
        seen, by = per_pair(seen, by, tuple(columns.pairs))
    facts = _facts(table, seen)
    if scale is not None:
        note_constant(facts.filter(pl.col("rows") > 0).select("by", "low", "high"), by, notes)
    note_missing_groups(facts, attributes, options, notes, Tally(facts["rows"]))
    return StoredSamples(
        by,
        attributes,
        seen,
        facts["rows"],
        scale,
        weighted=weight is not None,
        decided=len(parts[0].judged) > 1,
        clustered=columns.cluster is not None,
    )


def _encoded(
    profiles: Levels,
    names: Sequence[str],
    numbers_coded: Mapping[str, tuple[Attribute, Notes]],
    options: Options,
    notes: Notes,
) -> tuple[tuple[Attribute, ...], list[pl.Series]]:
    """The attributes and the group codes of every profile."""
    attributes, codes, problems = [], [], Problems()
    for i, name in enumerate(names):
        if name in numbers_coded:
            attribute, said = numbers_coded[name]
            attributes.append(attribute)
            codes.append(profiles.frame[name].alias(attribute.column))
            notes.take(said)
            continue
        with problems.collecting():
            attribute, own = encode(profiles.frame[name], name, f"g{i}", options, notes, profiles.tally)
            attributes.append(attribute)
            codes.append(own)
    problems.raise_if_any()
    return tuple(attributes), codes


def _profiles(table: Table) -> Levels:
    """The distinct combinations of by-keys and attributes."""
    names = [*table.columns.by, *table.columns.attributes]
    try:
        return table.levels("profiles", names)
    except FmfairError:
        alone = [table.levels(f"alone_{i}", [name]) for i, name in enumerate(table.columns.attributes)]
        check_each(alone, table.columns.attributes, table.options)
        raise


def _check_repeats(table: Table) -> None:
    """A sample may occur once per by-key."""
    if table.columns.sample_id is None:
        return
    dtype = table.schema[table.columns.sample_id]
    if dtype.is_nested() or dtype == pl.Object:
        raise FmfairError(
            f"sample_id: column {table.columns.sample_id!r} has the type {dtype}; an id must be a number, text or date"
        )
    sample = table.names[table.columns.sample_id]
    keys = ", ".join([*(table.names[name] for name in table.columns.by), sample])
    counted = f"SELECT {sample} AS id, count(*) AS rows FROM source WHERE {sample} IS NOT NULL GROUP BY {keys}"
    repeated = int(table.database.fetch(f"SELECT coalesce(sum(rows - 1), 0)::BIGINT FROM ({counted})").item())
    if repeated:
        ids = table.database.fetch(
            f"SELECT {sample} AS id FROM (SELECT *, row_number() OVER () AS row FROM source) "
            f"WHERE {sample} IS NOT NULL GROUP BY {keys} HAVING count(*) > 1 ORDER BY min(row) LIMIT {LOOKED_AT}"
        )["id"].cast(dtype)
        refuse_repeats(
            table.columns,
            repeated,
            example=lambda: ids[0],
            telling=lambda: _telling(table, ids),
            notes=table.notes,
        )


def _telling(table: Table, ids: pl.Series) -> str:
    """The columns that tell the rows of some repeated ids apart."""
    if table.whole is None:
        return ""
    rows = table.whole.filter(cs.by_name(str(table.columns.sample_id)).as_expr().is_in(ids.implode()))
    return telling_columns(rows, table.columns)


def _facts(table: Table, seen: pl.DataFrame) -> pl.DataFrame:
    """`seen` with the evaluated `rows` of every profile and their lowest and highest score."""
    found = table.database.fetch(
        "SELECT profile, count(*) AS rows, min(score) AS low, max(score) AS high FROM samples GROUP BY profile"
    )
    numbered = seen.with_row_index("profile").with_columns(pl.col("profile").cast(pl.Int32))
    facts = numbered.join(found, on="profile", how="left", maintain_order="left").drop("profile")
    return facts.with_columns(pl.col("rows").fill_null(0))
