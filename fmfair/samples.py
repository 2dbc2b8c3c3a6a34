"""The table of samples: what every metric starts from, one row per sample and by-key.

Columns: `by` (number of the by-key, UInt32), `g0`, `g1`, ... (group codes, UInt32, NULL where missing), and for
a classification `y` (0/1), `score` (what is ranked), `prob` (what is compared with thresholds and calibrated), `bce`
(cross-entropy of the row), `logit` (where one is at hand), `pred` (decisions already made), `weight`; for a
segmentation a column per metric (`dice`, `iou`, `both_empty`) and `weight`. The user's own names are kept beside the
table, so that no name of theirs can clash with one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import polars as pl

from fmfair import scores
from fmfair.attributes import Attribute, check_bins, encode
from fmfair.columns import GAPS, GROUPS
from fmfair.errors import FmfairError, Problems, listing, plural, rows_at
from fmfair.hashing import id_hashes
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.outcomes import read_outcomes, weights
from fmfair.profiles import Profiles, find_profiles
from fmfair.repeats import check_repeats
from fmfair.roles import Columns
from fmfair.scores import ScoreScale
from fmfair.tally import EACH, Tally


class Cohort(Protocol):
    """What is known of the samples wherever their rows are: see `Samples` for the attributes."""

    @property
    def by(self) -> pl.DataFrame: ...  # noqa: D102
    @property
    def attributes(self) -> tuple[Attribute, ...]: ...  # noqa: D102
    @property
    def seen(self) -> pl.DataFrame: ...  # noqa: D102
    @property
    def scale(self) -> ScoreScale | None: ...  # noqa: D102
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def weighted(self) -> bool: ...  # noqa: D102
    @property
    def clustered(self) -> bool: ...  # noqa: D102
    @property
    def has_rows(self) -> bool: ...  # noqa: D102
    @property
    def incomplete(self) -> frozenset[str]: ...  # noqa: D102


@dataclass(frozen=True)
class Samples:
    """The table of samples and what its numbers stand for.

    Attributes:
        frame: The table, see the module's docstring.
        by: One row per by-key, in order; its columns are the user's.
        attributes: The attributes in the user's order.
        profiles: The by-keys and group codes that occur in the input, in rows without a label too, and which of them
            each sample has.
        scale: How the scores were read; None when there are only decisions or values.
    """

    frame: pl.DataFrame
    by: pl.DataFrame
    attributes: tuple[Attribute, ...]
    profiles: Profiles
    scale: ScoreScale | None = None

    @property
    def seen(self) -> pl.DataFrame:
        """Columns `by`, `g0`, ... of all profiles: which groups there are."""
        return self.profiles.table

    @property
    def n(self) -> int:
        """How many samples there are."""
        return self.frame.height

    @property
    def weighted(self) -> bool:
        """Whether weights were given."""
        return "weight" in self.frame.columns

    @property
    def clustered(self) -> bool:
        """Whether patients were told apart."""
        return "unit" in self.frame.columns

    @property
    def has_rows(self) -> bool:
        """Whether the rows themselves are at hand, not only how many there are."""
        return True

    @cached_property
    def incomplete(self) -> frozenset[str]:
        """The columns of group codes that have missing values."""
        return frozenset(a.column for a in self.attributes if self.frame[a.column].null_count())


def classification_samples(
    table: pl.DataFrame,
    source: pl.LazyFrame,
    columns: Columns,
    options: Options,
    notes: Notes,
    beside: Sequence[pl.Series] = (),
) -> Samples:
    """The samples of a classification.

    Args:
        table: The needed columns.
        source: The whole table, looked at only to word an error.
        columns: Which column plays which part.
        options: What the user asked for.
        notes: Says what was left out or assumed.
        beside: More columns of the rows, to be kept in the table of samples.

    Raises:
        FmfairError: The table is empty, or a column cannot be used as what it was named for.
    """
    context, by, attributes = _context(table, source, columns, options, notes)
    context = context.with_columns(
        *unit_column(table, columns.cluster), *drawn_column(table, columns, options), *beside
    )
    weight = weights(table, columns.weight, options)
    outcomes = read_outcomes(table, weight, columns, options, notes)
    check_zero_weights(context, weight, attributes)
    if outcomes.pairs:
        context, by = per_pair(context, by, outcomes.pairs)
    profiles = _profiles(context, by, attributes)
    if not outcomes.kept.all():
        context, profiles = context.filter(outcomes.kept), profiles.of(outcomes.kept)
    # In one piece, as the work on arrays needs every column.
    frame = pl.concat([context, outcomes.rows], how="horizontal").rechunk()
    if outcomes.scale is not None:
        note_constant(_score_ranges(frame, by), by, notes)
    note_missing_groups(frame, attributes, options, notes)
    return Samples(frame, by, attributes, profiles, outcomes.scale)


def value_samples(
    table: pl.DataFrame,
    source: pl.LazyFrame,
    columns: Columns,
    options: Options,
    notes: Notes,
    beside: Sequence[pl.Series] = (),
) -> Samples:
    """The samples of a segmentation: one column per metric (`dice`, `iou`), NULL where the sample has no value.

    Raises:
        FmfairError: The table is empty, or a value lies outside [0, 1].
    """
    context, by, attributes = _context(table, source, columns, options, notes)
    context = context.with_columns(
        *unit_column(table, columns.cluster), *drawn_column(table, columns, options), *beside
    )
    frame = context.with_columns(_value(table[name], name, metric) for metric, name in columns.values.items())
    if not columns.from_masks:
        _note_missing_values(frame, columns, notes)
    weight = weights(table, columns.weight, options)
    check_zero_weights(context, weight, attributes)
    profiles = _profiles(context, by, attributes)
    if weight is not None:
        frame, profiles = frame.with_columns(weight).filter(weight > 0), profiles.of(weight > 0)
    if not frame.select(pl.any_horizontal(pl.col(list(columns.values)).is_not_null().any())).item():
        raise FmfairError(f"no row is left to evaluate: every value in {listing(columns.values.values())} is missing")
    note_missing_groups(frame, attributes, options, notes)
    return Samples(frame, by, attributes, profiles)


def unit_column(table: pl.DataFrame, cluster: str | None) -> list[pl.Series]:
    """The number of each row's patient, as a column `unit`; none where patients are not told apart.

    Raises:
        FmfairError: A patient is missing, or the column has a type that cannot be told apart.
    """
    if cluster is None:
        return []
    values = table[cluster]
    check_unit_type(values.dtype, cluster)
    missing = values.is_null() | (values.is_nan() if values.dtype.is_float() else False)
    refuse_missing_units(cluster, int(missing.sum()), lambda: rows_at(missing.arg_true().to_list()))
    return [(values.rank("dense") - 1).cast(pl.UInt32).alias("unit")]


def drawn_column(table: pl.DataFrame, columns: Columns, options: Options) -> list[pl.Series]:
    """A number for what the bootstrap draws, as a column `drawn`: the patient, else the sample; none without ids."""
    name = columns.cluster or columns.sample_id
    return [] if options.bootstrap is None or name is None else [id_hashes(table[name]).alias("drawn")]


def check_unit_type(dtype: pl.DataType, cluster: str) -> None:
    """Raises where the column of patients has a type that cannot be told apart."""
    if dtype.is_nested() or dtype == pl.Object:
        raise FmfairError(f"cluster: column {cluster!r} has the type {dtype}; a patient must be a number, text or date")


def refuse_missing_units(cluster: str, missing: int, where: Callable[[], str]) -> None:
    """Raises where patients are missing."""
    if missing:
        raise FmfairError(
            f"cluster: column {cluster!r} has {plural(missing, 'missing value')} ({where()}); say whose rows these "
            "are, or leave them out"
        )


def _profiles(context: pl.DataFrame, by: pl.DataFrame, attributes: Sequence[Attribute]) -> Profiles:
    return find_profiles(context, by.height, {a.column: len(a.labels) for a in attributes})


def _score_ranges(frame: pl.DataFrame, by: pl.DataFrame) -> pl.DataFrame:
    """The smallest and the largest score of every by-key."""
    low, high = pl.col("score").min().alias("low"), pl.col("score").max().alias("high")
    if by.height == 1:
        return frame.select(pl.lit(0, pl.UInt32).alias("by"), low, high)
    return frame.group_by("by").agg(low, high)


def _value(values: pl.Series, name: str, metric: str) -> pl.Series:
    """A metric's value per sample, in [0, 1], NaN as NULL."""
    value = scores.as_float(values, name, metric).fill_nan(None).alias(metric)
    outside = ((value < 0.0) | (value > 1.0)).fill_null(False)
    if outside.any():
        raise FmfairError(
            f"{metric}: column {name!r} has {plural(int(outside.sum()), 'value')} outside [0, 1] "
            f"({rows_at(outside.arg_true().to_list())})"
        )
    return value


def _note_missing_values(frame: pl.DataFrame, columns: Columns, notes: Notes) -> None:
    for metric, name in columns.values.items():
        missing = frame[metric].null_count()
        if missing:
            notes.warn(f"{metric}: {notes.counted(missing, 'sample')} with a missing value in {name!r} left out")


def _context(
    table: pl.DataFrame, source: pl.LazyFrame, columns: Columns, options: Options, notes: Notes
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[Attribute, ...]]:
    """By-key numbers and group codes of every row, the by-keys, and the attributes."""
    if table.is_empty():
        raise FmfairError("the table has no rows")
    check_bins(options.bins, columns.attributes)
    by, numbers = by_keys(table, columns.by)
    if not options.conventions.strict_input:
        check_repeats(table, source, columns, numbers, notes)
    attributes, codes = _encoded(table, columns.attributes, options, notes)
    return pl.DataFrame([numbers, *codes]), by, attributes


def _encoded(
    table: pl.DataFrame, names: Sequence[str], options: Options, notes: Notes
) -> tuple[tuple[Attribute, ...], list[pl.Series]]:
    """The attributes and their group codes; a few columns are encoded at once, and noted in their order."""
    said = [Notes() for _ in names]
    problems = Problems()
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        waiting = [pool.submit(encode, table[name], name, f"g{i}", options, said[i]) for i, name in enumerate(names)]
    coded = []
    for future, own in zip(waiting, said, strict=True):
        with problems.collecting():
            coded.append(future.result())
        notes.take(own)
    problems.raise_if_any()
    return tuple(attribute for attribute, _ in coded), [codes for _, codes in coded]


def by_keys(table: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, pl.Series]:
    """The distinct by-keys in order, and the number of each row's.

    Raises:
        FmfairError: A by-key has a type that cannot be told apart, or the name of a column of the results.
    """
    taken = [name for name in by if name in GROUPS or name in GAPS]
    if taken:
        raise FmfairError(f"by-key {listing(taken)} has the name of a column of the results; rename it")
    if not by:
        return pl.DataFrame(height=1), pl.select(pl.repeat(0, table.height, dtype=pl.UInt32).alias("by")).to_series()
    problems = Problems()
    for name in by:
        if table[name].dtype.is_nested() or table[name].dtype in (pl.Object, pl.Binary):
            problems.add(f"by-key {name!r} has the type {table[name].dtype}; it must hold text, numbers or dates")
    problems.raise_if_any()
    # Under names of our own, since Polars reads names such as `*` and `^x$` as patterns.
    rows = pl.DataFrame({f"k{i}": table[name] for i, name in enumerate(by)})
    # Tables often come by-key after by-key: only the first row of every run of equal ones is looked up.
    changes = [pl.col(c).ne_missing(pl.col(c).shift()) for c in rows.columns]
    first = rows.select(pl.any_horizontal(pl.int_range(pl.len()) == 0, *changes)).to_series()
    runs = rows.filter(first)
    keys = runs.unique().sort(rows.columns, nulls_last=True)
    numbered = keys.with_row_index("by")
    found = runs.join(numbered, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")
    numbers = found["by"].cast(pl.UInt32).gather(first.cum_sum() - 1)
    return pl.DataFrame({name: keys[f"k{i}"] for i, name in enumerate(by)}), numbers


def per_pair(context: pl.DataFrame, by: pl.DataFrame, pairs: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Group codes once per pair of labels=, whose names become the last by-key, `label`."""
    if "label" in by.columns:
        raise FmfairError("labels= makes the by-key 'label', but by= already holds a column of that name")
    names = pl.DataFrame({"label": list(pairs)})
    keys = by.join(names, how="cross", maintain_order="left_right") if by.width else names
    number = pl.col("by") * len(pairs)
    return pl.concat([context.with_columns(number + i) for i in range(len(pairs))]), keys


def check_zero_weights(context: pl.DataFrame, weight: pl.Series | None, attributes: Sequence[Attribute]) -> None:
    """A group whose rows all have weight zero would vanish; that is an error that names it."""
    if weight is None or (weight > 0).all():
        return
    problems = Problems()
    for attribute in attributes:
        rows = pl.DataFrame([context[attribute.column].alias("code"), weight]).drop_nulls("code")
        lost = rows.group_by("code").agg(pl.col("weight").max()).filter(pl.col("weight") == 0)["code"].sort()
        if len(lost):
            names = [attribute.labels[c] for c in lost]
            problems.add(f"weight: {attribute.name} {listing(names)} has only rows of weight zero")
    problems.raise_if_any()


def note_constant(ranges: pl.DataFrame, by: pl.DataFrame, notes: Notes) -> None:
    """A gap of 0 between equal scores must not be read as fairness.

    Args:
        ranges: The smallest and the largest score, `low` and `high`, of every by-key, or of parts of it.
        by: The by-keys.
        notes: Says in which by-keys all scores are equal.
    """
    ranges = ranges.group_by("by").agg(pl.col("low").min(), pl.col("high").max())
    flat = ranges.filter(pl.col("low") == pl.col("high")).sort("by")["by"]
    if flat.is_empty():
        return
    where = ""
    if len(flat) < by.height:
        names = [" & ".join(str(v) for v in row) for row in by[flat.head(5)].iter_rows()]
        more = f" and {len(flat) - 5} more" if len(flat) > 5 else ""
        where = f" in {len(flat)} of {by.height} by-keys ({', '.join(names)}{more})"
    notes.warn(
        f"y_score is constant{where}: every sample has the same score, so that AUC is 0.5 and a gap of 0 says nothing"
    )


def note_missing_groups(
    frame: pl.DataFrame, attributes: Sequence[Attribute], options: Options, notes: Notes, tally: Tally = EACH
) -> None:
    """Says how many rows have an attribute missing, where those are left out.

    Where small numbers are suppressed that is said later, when it is known whether it would tell one.
    """
    if options.missing_groups == "keep" or options.suppress_below is not None:
        return
    for attribute in attributes:
        missing = tally.count(frame[attribute.column].is_null())
        if missing:
            notes.warn(missing_group_note(attribute.name, plural(missing, "row")))


def missing_group_note(attribute: str, rows: str) -> str:
    """What is said of rows that have an attribute missing."""
    return (
        f"{attribute}: {rows} with a missing value left out for this attribute "
        "(missing_groups='keep' shows them as a group)"
    )
